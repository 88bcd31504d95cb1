import { extent, max } from "d3-array";
import { scaleLinear } from "d3-scale";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { AblationData, ComparedPair, Comparison } from "../../build/report_types";
import { useWidth } from "./chart";
import { count, endInWords, plural, short, signed } from "./figures";
import { Fact } from "./heading";
import { Choice, Table, type Column } from "./table";
import { spelled, Written } from "./written";

const LABELS = 190; // pixels to the left of a row of points, on a wide screen
const ROW = 84;
const LEVELS = 7; // of points that would hide each other, above each other
const BOTTOM = 26;

/** The page of an ablation: what differs between the arms, and every pair and every episode that this was taken from. */
export function AblationPage({ report }: { report: AblationData }) {
  const { results } = report;
  const { plan } = results;
  const [arms, stories] = [Object.keys(plan.arms), Object.keys(plan.stories)];
  const title = `${arms.join(", ")}: ${stories.join(", ")}`;
  useEffect(() => void (document.title = `Ablation: ${spelled(title)}`), [title]);
  const [measure, setMeasure] = useState(report.decisive);
  const rows = useMemo(() => results.runs.map((run, at): Row => ({ run, folder: report.folders[at]!, link: report.links[at]! })), [report]);
  return (
    <>
      <header class="heading">
        <h1><Written text={title} /></h1>
        <dl class="facts">
          <Fact name="Models"><Written text={results.models.join(", ")} /></Fact>
          <Fact name="Assistance"><Written text={results.assistance || "none"} /></Fact>
          <Fact name="Arms"><Written text={arms.join(", ")} /></Fact>
          <Fact name="Pairs">{count(plan.pairs)}</Fact>
          <Fact name="Episodes of a run">{count(plan.episodes)}</Fact>
          <Fact name="Versions"><Written text={[report.program, ...results.versions].join("; ")} /></Fact>
        </dl>
        {report.notes.map((note, each) => <p key={each} class="note"><Written text={note.text} /></p>)}
        {results.command && <p class="labels"><code><Written text={results.command} /></code></p>}
      </header>
      <main class="page ablation">
        <section>
          <h2>Results</h2>
          {results.conclusions.map((sentence, each) => <p key={each} class="conclusion"><Written text={sentence} /></p>)}
          <p class="label"><Written text={results.unit} /></p>
        </section>
        <section>
          <h2>Differences, pair by pair</h2>
          <Choice name="Measure" value={measure} options={report.measures.map((each) => [each, each.replaceAll("_", " ")])} choose={setMeasure} />
          {results.comparisons.map((each, row) => each.measure === measure && <Difference key={row} comparison={each} points={report.points[row] ?? []} />)}
        </section>
        {stories.map((story) => (
          <section key={story}>
            <h2>Every episode <span class="label"><Written text={story} /></span></h2>
            <Episodes story={story} report={report} />
          </section>
        ))}
        <section>
          <h2>Runs</h2>
          <Table label="Runs" rows={rows} columns={RUNS} search="run" />
        </section>
      </main>
    </>
  );
}

interface StripRow {
  name: string;
  points: { value: number | null; label: string; age: number }[]; // age: 0 for the first of a run, to 1
  mean: number | null;
  low: number | null;
  high: number | null;
}

/** Rows of points over one axis, each with its mean and interval below. A strip of one row has no names, but a line at 0. */
function Strip({ label: title, rows, children }: { label: string; rows: StripRow[]; children: ComponentChildren }) {
  const { box, width } = useWidth();
  const named = rows.length > 1;
  const [least = 0, most = 0] = extent([0, ...rows.flatMap(({ points, low, high }) => [low, high, ...points.map(({ value }) => value)])], Number);
  const [left, top] = !named ? [16, 0] : width > 600 ? [LABELS, 0] : [16, 20];
  const x = scaleLinear(least < most ? [least, most] : [-1, 1], [left, width - 16]).nice();
  const whole = rows.length * (ROW + top);
  return (
    <figure class="strip" ref={box}>
      <figcaption>{children}</figcaption>
      {rows.some(({ points }) => points.some(({ value }) => value !== null)) && (
        <svg width={width} height={whole + BOTTOM} role="img" aria-label={spelled(title)}>
          {x.ticks(5).map((tick) => (
            <g key={tick} class="tick">
              <line x1={x(tick)} x2={x(tick)} y1={0} y2={whole} />
              <text x={x(tick)} y={whole + 16} text-anchor="middle">{short(tick)}</text>
            </g>
          ))}
          {!named && <line class="zero" x1={x(0)} x2={x(0)} y1={0} y2={whole} />}
          {rows.map(({ name, points, mean, low, high }, row) => {
            const middle = row * (ROW + top) + top + ROW / 2;
            return (
              <g key={name}>
                {named && <text class="arm" x={left === 16 ? 16 : 0} y={left === 16 ? middle - ROW / 2 - 4 : middle + 4}>{spelled(name)}</text>}
                {spread(points, x).map(({ label, age, at, height }) => (
                  <circle key={label} class={named ? "dot" : "point"} cx={at} cy={middle - 8 + height} r={4} style={{ "--age": `${Math.round(100 * age)}%` }}>
                    <title>{spelled(label)}</title>
                  </circle>
                ))}
                {low !== null && high !== null && <line class="interval" x1={x(low)} x2={x(high)} y1={middle + 30} y2={middle + 30} />}
                {mean !== null && <circle class="mean" cx={x(mean)} cy={middle + 30} r={4.5} />}
              </g>
            );
          })}
        </svg>
      )}
    </figure>
  );
}

function Difference({ comparison: each, points }: { comparison: Comparison; points: ComparedPair[] }) {
  const unit = each.is_share ? "% of the maximum" : "";
  const found = each.difference === null ? "" : `mean ${signed(each.difference)}${each.low === null || each.high === null ? "" : `, 95 % from ${signed(each.low)} to ${signed(each.high)}`}`;
  const pairs = points.map(({ story, pair, first, other, difference }) => ({
    value: difference, age: 0, label: `pair ${pair}, ${story}: ${short(first)} against ${short(other)}, ${signed(difference ?? 0)}`,
  }));
  return (
    <Strip label={`${each.first} minus ${each.other}: ${found}`} rows={[{ name: "", points: pairs, mean: each.difference, low: each.low, high: each.high }]}>
      <strong><Written text={`${each.first} − ${each.other}`} /></strong> <span class="label"><Written text={each.story} /> {unit}</span>
      <div>{found}{each.p !== null && `, p = ${each.p.toPrecision(2)}`}, {plural(each.pairs, "pair")}</div>
      {each.why_not && <span class="label"> <Written text={each.why_not} /></span>}
    </Strip>
  );
}

/** Move points that would hide each other: up and down, and a little aside where there are many. */
function spread(points: StripRow["points"], x: (value: number) => number) {
  const taken = new Map<number, number>();
  return points.flatMap(({ value, label, age }) => {
    if (value === null) return [];
    const at = x(value);
    const order = taken.get(Math.round(at / 6)) ?? 0;
    taken.set(Math.round(at / 6), order + 1);
    const level = Math.ceil((order % LEVELS) / 2) * (order % 2 ? 1 : -1);
    return [{ label, age, at: at + 5 * Math.floor(order / LEVELS), height: 8 * level }];
  });
}

/** A row for each arm, a point for each episode by its score; the shade tells how late in its run it was. */
function Episodes({ story, report: { results, decisive } }: { story: string; report: AblationData }) {
  const arms = Object.keys(results.plan.arms);
  const rows = arms.map((arm): StripRow => {
    const { score = null, low = null, high = null } = results.scores.find((each) => each.story === story && each.arm === arm && each.measure === decisive) ?? {};
    const points = results.runs.filter((run) => run.story === story && run.arm === arm).flatMap((run) => run.episodes.map((episode, number) => ({
      value: episode.score, age: number / Math.max(1, run.episodes.length - 1),
      label: `${arm}, pair ${run.pair}, episode ${number + 1}: ${short(episode.score)} points, ${endInWords(episode.end)}`,
    })));
    return { name: arm, points, mean: score, low, high };
  });
  return (
    <Strip label={`Points at the end of every episode, by arm: ${arms.join(", ")}`} rows={rows}>
      <span class="label">Points at the end of each episode; from blue, the first of a run, to amber, its last. The bar is the mean of the arm, with its 95 % interval.</span>
    </Strip>
  );
}

type Row = { run: AblationData["results"]["runs"][number]; folder: string; link: string | null };

const RUNS: Column<Row>[] = [
  { name: "Run", of: (row) => row.folder, cell: ({ link, folder }) => (link ? <a href={link}><Written text={folder} /></a> : <Written text={folder} />) },
  { name: "Story", of: ({ run }) => run.story, filter: "choose" },
  { name: "Arm", of: ({ run }) => run.arm, filter: "choose" },
  { name: "Pair", of: ({ run }) => run.pair },
  { name: "Seed", of: ({ run }) => run.seed, cell: ({ run }) => run.seed },
  { name: "Points by episode", of: ({ run }) => run.episodes.map((episode) => short(episode.score)).join(", ") },
  { name: "Best", of: ({ run }) => max(run.episodes, (episode) => episode.best_score) ?? null },
  { name: "Rooms", of: ({ run }) => max(run.episodes, (episode) => episode.rooms) ?? null },
];
