import { scaleLinear, type ScaleLinear } from "d3-scale";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useWidth } from "./chart";
import type { AblationData, ComparedPair, Comparison } from "./data";
import { count, endInWords, plural, short, signed } from "./figures";
import { Fact } from "./heading";
import { Table, type Column } from "./table";
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
          <h2>What came of it</h2>
          {results.conclusions.map((sentence, each) => <p key={each} class="conclusion"><Written text={sentence} /></p>)}
          <p class="label"><Written text={results.unit} /></p>
        </section>
        <section>
          <h2>Differences, pair by pair</h2>
          <label class="field">
            Measure
            <select value={measure} onChange={(event) => setMeasure(event.currentTarget.value)}>
              {report.measures.map((each) => <option key={each} value={each}>{each.replaceAll("_", " ")}</option>)}
            </select>
          </label>
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

function Difference({ comparison: each, points }: { comparison: Comparison; points: ComparedPair[] }) {
  const { box, width } = useWidth();
  const values = points.flatMap((point) => (point.difference === null ? [] : [point.difference]));
  const bounds = [0, ...values, each.low ?? 0, each.high ?? 0];
  const [least, most] = [Math.min(...bounds), Math.max(...bounds)];
  const x = scaleLinear(least < most ? [least, most] : [-1, 1], [16, width - 16]).nice();
  const unit = each.is_share ? "% of the maximum" : "";
  const found = each.difference === null ? "" : `mean ${signed(each.difference)}${each.low === null || each.high === null ? "" : `, 95 % from ${signed(each.low)} to ${signed(each.high)}`}`;
  return (
    <figure class="strip" ref={box}>
      <figcaption>
        <strong><Written text={`${each.first} − ${each.other}`} /></strong> <span class="label"><Written text={each.story} /> {unit}</span>
        <span class="strip-found">{found}{each.p !== null && `, p = ${each.p.toPrecision(2)}`}, {plural(each.pairs, "pair")}</span>
        {each.why_not && <span class="label"> <Written text={each.why_not} /></span>}
      </figcaption>
      {values.length > 0 && (
        <svg width={width} height={ROW + BOTTOM} role="img" aria-label={spelled(`${each.first} minus ${each.other}: ${found}`)}>
          <XAxis x={x} height={ROW} />
          <line class="zero" x1={x(0)} x2={x(0)} y1={0} y2={ROW} />
          {spread(points, (point) => (point.difference === null ? null : x(point.difference))).map(({ item, at, height }) => (
            <circle key={`${item.story} ${item.pair}`} class="point" cx={at} cy={36 + height} r={4}>
              <title>{spelled(`pair ${item.pair}, ${item.story}: ${short(item.first)} against ${short(item.other)}, ${signed(item.difference ?? 0)}`)}</title>
            </circle>
          ))}
          {each.low !== null && each.high !== null && <line class="interval" x1={x(each.low)} x2={x(each.high)} y1={72} y2={72} />}
          {each.difference !== null && <circle class="mean" cx={x(each.difference)} cy={72} r={5} />}
        </svg>
      )}
    </figure>
  );
}

/** Move points that would hide each other: up and down, and a little aside where there are many. */
function spread<T>(items: T[], place: (item: T) => number | null) {
  const taken = new Map<number, number>();
  return items.flatMap((item) => {
    const at = place(item);
    if (at === null) return [];
    const order = taken.get(Math.round(at / 6)) ?? 0;
    taken.set(Math.round(at / 6), order + 1);
    const level = Math.ceil((order % LEVELS) / 2) * (order % 2 ? 1 : -1);
    return [{ item, at: at + 5 * Math.floor(order / LEVELS), height: 8 * level }];
  });
}

function XAxis({ x, height }: { x: ScaleLinear<number, number>; height: number }) {
  return (
    <g class="tick">
      {x.ticks(5).map((tick) => (
        <g key={tick}>
          <line x1={x(tick)} x2={x(tick)} y1={0} y2={height} />
          <text x={x(tick)} y={height + 16} text-anchor="middle">{short(tick)}</text>
        </g>
      ))}
    </g>
  );
}

/** A row for each arm, a point for each episode by its score; the shade tells how late in its run it was. */
function Episodes({ story, report: { results, decisive } }: { story: string; report: AblationData }) {
  const { box, width } = useWidth();
  const arms = Object.keys(results.plan.arms);
  const runs = results.runs.filter((run) => run.story === story);
  const scores = runs.flatMap((run) => run.episodes.flatMap((episode) => (episode.score === null ? [] : [episode.score])));
  const left = width > 600 ? LABELS : 16;
  const x = scaleLinear([Math.min(0, ...scores), Math.max(1, ...scores)], [left, width - 16]).nice();
  const top = left === 16 ? 20 : 0;
  const whole = arms.length * (ROW + top);
  return (
    <figure class="strip" ref={box}>
      <figcaption class="label">Points at the end of each episode; from blue, the first of a run, to amber, its last. The bar is the mean of the arm, with its 95 % interval.</figcaption>
      <svg width={width} height={whole + BOTTOM} role="img" aria-label={`Points at the end of every episode, by arm: ${spelled(arms.join(", "))}`}>
        <XAxis x={x} height={whole} />
        {arms.map((arm, row) => {
          const middle = row * (ROW + top) + top + ROW / 2;
          const mean = results.scores.find((each) => each.story === story && each.arm === arm && each.measure === decisive);
          const points = runs.filter((run) => run.arm === arm).flatMap((run) => run.episodes.map((episode, number) => ({ run, episode, number })));
          return (
            <g key={arm}>
              <text class="arm" x={left === 16 ? 16 : 0} y={left === 16 ? middle - ROW / 2 - 4 : middle + 4}>{spelled(arm)}</text>
              {spread(points, ({ episode }) => (episode.score === null ? null : x(episode.score))).map(({ item, at, height }) => (
                <circle key={`${item.run.pair} ${item.number}`} class="dot" cx={at} cy={middle - 8 + height} r={4} style={{ "--age": `${Math.round((100 * item.number) / Math.max(1, item.run.episodes.length - 1))}%` }}>
                  <title>{spelled(`${arm}, pair ${item.run.pair}, episode ${item.number + 1}: ${short(item.episode.score)} points, ${endInWords(item.episode.end)}`)}</title>
                </circle>
              ))}
              {mean?.low != null && mean.high != null && <line class="interval" x1={x(mean.low)} x2={x(mean.high)} y1={middle + 30} y2={middle + 30} />}
              {mean?.score != null && <circle class="mean" cx={x(mean.score)} cy={middle + 30} r={4.5} />}
            </g>
          );
        })}
      </svg>
    </figure>
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
  { name: "Best", of: ({ run }) => run.episodes.reduce<number | null>((best, { best_score }) => (best_score === null ? best : Math.max(best ?? best_score, best_score)), null) },
  { name: "Rooms", of: ({ run }) => Math.max(0, ...run.episodes.map((episode) => episode.rooms)) },
];
