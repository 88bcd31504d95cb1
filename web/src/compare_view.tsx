import { useMemo, useState } from "preact/hooks";
import { addressOf } from "./address";
import { Chart, type Series } from "./chart";
import { Choice } from "./choice";
import { namesOf, type EpisodeFigures } from "./data";
import { count, dollars, endInWords, plural, short, signed } from "./figures";
import { namesOfRuns } from "./heading";
import { momentOf, placeNameOf, playedIn, type Journey, type Step } from "./journey";
import { Table, type Column } from "./table";
import { Written } from "./written";

interface Side {
  run: number;
  episode: number;
}

/** Two episodes side by side, of two runs or of one, aligned by what both of them reached. */
export function CompareView({ journeys }: { journeys: Journey[] }) {
  const [sides, setSides] = useState<[Side, Side]>(() => startingSides(journeys));
  const [chosen, setChosen] = useState<string | null>(null);
  const episodes = sides.map((side) => journeys[side.run]!.episode(side.episode));
  const figures = sides.map((side) => figuresOf(journeys, side));
  const milestones = useMemo(() => aligned(milestonesOf(figures[0]!, episodes[0]!), milestonesOf(figures[1]!, episodes[1]!)), [journeys, sides]);
  const series = sides.map((_, each): Series => ({
    name: each ? "right" : "left",
    shade: each,
    points: episodes[each]!.flatMap(({ turn, seen }): [number, number][] => (seen.score === null ? [] : [[turn, seen.score]])),
  }));
  const row = milestones.find((each) => each.key === chosen) ?? milestones.find(({ turns: [one, other] }) => one !== other) ?? milestones[0];
  const turnOf = ({ run, episode }: Side, turn: number | null) => (turn === null ? "–" : <a href={addressOf(run, [episode, turn])}>turn {turn}</a>);
  const columns: Column<Aligned>[] = [
    {
      name: "Reached", of: ({ label }) => label,
      cell: ({ key, label }) => <button type="button" class="quiet" aria-pressed={key === row?.key} onClick={() => setChosen(key)}><Written text={label} /></button>,
    },
    { name: "Left", of: ({ turns: [one] }) => one, cell: ({ turns: [one] }) => turnOf(sides[0], one) },
    { name: "Right", of: ({ turns: [, other] }) => other, cell: ({ turns: [, other] }) => turnOf(sides[1], other) },
    { name: "Turns later on the right", of: laterBy, cell: (each) => (laterBy(each) === null ? "–" : signed(laterBy(each)!)) },
  ];
  const set = (each: number, side: Side) => setSides((before) => (each ? [before[0], side] : [side, before[1]]));
  const stories = new Set(sides.map((side) => journeys[side.run]!.run.figures.manifest.story_sha256));

  return (
    <div class="compare-view">
      {stories.size > 1 && <p class="note">These are runs of two stories; what they reached cannot be compared.</p>}
      <div class="two-sides">
        {sides.map((side, each) => <SideChoice key={each} name={each ? "Right" : "Left"} journeys={journeys} side={side} set={(to) => set(each, to)} />)}
      </div>
      <div class="two-sides">
        <section>
          <h2>Milestones</h2>
          {milestones.length === 0 && <p class="label">Neither of the two reached anything.</p>}
          {milestones.length > 0 && <Table label="Milestones" rows={milestones} columns={columns} chosen={({ key }) => key === row?.key} />}
        </section>
        <Chart title="Score: left in blue, right in amber" height={180} series={series.filter((each) => each.points.length)} across="turn" />
      </div>
      {row && (
        <div class="two-sides">
          {sides.map((side, each) => <SideTurns key={each} name={each ? "Right" : "Left"} steps={episodes[each]!} run={side.run} turn={row.turns[each]} label={row.label} />)}
        </div>
      )}
    </div>
  );
}

const lastOf = (journeys: Journey[], run: number): Side => ({ run, episode: journeys[run]!.steps.at(-1)!.episode });

function startingSides(journeys: Journey[]): [Side, Side] {
  if (journeys.length > 1) return [lastOf(journeys, 0), lastOf(journeys, 1)];
  return [{ run: 0, episode: journeys[0]!.steps[0]!.episode }, lastOf(journeys, 0)];
}

interface Aligned {
  key: string;
  label: string;
  turns: [number | null, number | null];
}

const laterBy = ({ turns: [one, other] }: Aligned) => (one === null || other === null ? null : other - one);

const figuresOf = (journeys: Journey[], side: Side) => journeys[side.run]!.run.figures.episodes.find((each) => each.episode === side.episode)!;

type Reached = Map<string, { label: string; turn: number }>;

/** When an episode first had each new best score, each room and each thing that was carried. */
function milestonesOf({ milestones }: EpisodeFigures, steps: Step[]): Reached {
  const reached: Reached = new Map(milestones.map(({ score, turn }) => [`score ${score}`, { label: `${score} points`, turn }]));
  const reach = (key: string, label: string, turn: number) => reached.has(key) || reached.set(key, { label, turn });
  for (const step of steps) {
    if (step.seen.location) reach(`room ${step.seen.location.num}`, placeNameOf(step), step.turn);
    for (const thing of step.seen.inventory ?? []) reach(`thing ${thing.num}`, namesOf([thing])![0]!, step.turn);
  }
  return reached;
}

/** The milestones of either side in the order in which they were reached. */
function aligned(one: Reached, other: Reached): Aligned[] {
  const first = ({ turns }: Aligned) => Math.min(...turns.map((turn) => turn ?? Infinity));
  return [...new Map([...other, ...one])]
    .map(([key, { label }]): Aligned => ({ key, label, turns: [one.get(key)?.turn ?? null, other.get(key)?.turn ?? null] }))
    .sort((left, right) => first(left) - first(right));
}

function SideChoice({ name, journeys, side, set }: { name: string; journeys: Journey[]; side: Side; set: (side: Side) => void }) {
  const journey = journeys[side.run]!;
  const { manifest, episodes } = journey.run.figures;
  const figures = figuresOf(journeys, side);
  const last = journey.episode(side.episode).at(-1);
  return (
    <section class="side" aria-label={name}>
      <div class="side-fields">
        {journeys.length > 1 && (
          <Choice name={`${name}: run`} value={side.run} options={namesOfRuns(journeys)} choose={(run) => set(lastOf(journeys, Number(run)))} />
        )}
        <Choice
          name={`${name}: episode`} value={side.episode} options={episodes.map(({ episode }) => [episode, String(episode)])}
          choose={(episode) => set({ ...side, episode: Number(episode) })}
        />
      </div>
      <dl class="facts">
        <div><dt>Model</dt><dd><Written text={manifest.model} /></dd></div>
        <div><dt>Assistance</dt><dd><Written text={manifest.assistance.join(", ") || "none"} /></dd></div>
        <div><dt>Score</dt><dd>{short(figures.score)}{figures.best_score !== figures.score && ` (best ${short(figures.best_score)})`}</dd></div>
        <div><dt>End</dt><dd>{endInWords(figures.end)}</dd></div>
        <div><dt>Turns</dt><dd>{count(figures.turns)}</dd></div>
        <div><dt>Rooms</dt><dd>{count(figures.rooms)}</dd></div>
        <div><dt>Tokens</dt><dd>{short(last?.episodeTokens)}</dd></div>
        <div><dt>Cost</dt><dd>{dollars(last?.episodeDollars)}</dd></div>
      </dl>
    </section>
  );
}

const LEADING = 3; // turns that are shown before a milestone

function SideTurns({ name, steps, run, turn, label }: { name: string; steps: Step[]; run: number; turn: number | null | undefined; label: string }) {
  if (turn == null) return <section class="side" aria-label={`${name}, turns`}><p class="label">Did not reach <Written text={label} />.</p></section>;
  const shown = steps.slice(Math.max(0, turn - LEADING), turn + 1);
  return (
    <section class="side" aria-label={`${name}, turns`}>
      <p class="labels">{plural(shown.length, "turn")} up to <Written text={label} /></p>
      {shown.map((each) => {
        const [played, change] = [playedIn(each), each.scoreChange];
        return (
          <article key={each.turn} class="short-turn">
            <p class="labels"><a href={addressOf(run, momentOf(each))}>turn {each.turn}</a> <span><Written text={placeNameOf(each)} /></span>{change ? <strong class={change > 0 ? "gain" : "loss"}>{signed(change)}</strong> : null}</p>
            {played && <p class="command"><span aria-hidden="true">&gt; </span><Written text={played.action} /></p>}
            <div class="story"><Written text={each.seen.text.trim()} /></div>
            {played?.reasoning && <blockquote><Written text={played.reasoning} /></blockquote>}
          </article>
        );
      })}
    </section>
  );
}
