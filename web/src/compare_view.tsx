import { useMemo, useState } from "preact/hooks";
import { addressOf } from "./address";
import { Chart, type Series } from "./chart";
import { namesOf, type EpisodeFigures } from "./data";
import { count, dollars, endInWords, plural, short, signed } from "./figures";
import { nameOf } from "./heading";
import { momentOf, placeNameOf, playedIn, type Journey, type Step } from "./journey";
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
          {milestones.length > 0 && (
            <div class="wide milestones" tabIndex={0} role="region" aria-label="Milestones">
              <table>
                <thead><tr><th scope="col">Reached</th><th scope="col">Left</th><th scope="col">Right</th><th scope="col">Turns later on the right</th></tr></thead>
                <tbody>
                  {milestones.map(({ key, label, turns: [one, other] }) => (
                    <tr key={key} class={key === row?.key ? "chosen" : ""}>
                      <th scope="row"><button type="button" class="quiet" aria-pressed={key === row?.key} onClick={() => setChosen(key)}><Written text={label} /></button></th>
                      <td>{one === undefined ? "–" : <a href={addressOf(sides[0].run, [sides[0].episode, one])}>turn {one}</a>}</td>
                      <td>{other === undefined ? "–" : <a href={addressOf(sides[1].run, [sides[1].episode, other])}>turn {other}</a>}</td>
                      <td>{one === undefined || other === undefined ? "–" : signed(other - one)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
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

function startingSides(journeys: Journey[]): [Side, Side] {
  const last = (run: number) => ({ run, episode: journeys[run]!.steps.at(-1)!.episode });
  return journeys.length > 1 ? [last(0), last(1)] : [{ run: 0, episode: journeys[0]!.steps[0]!.episode }, last(0)];
}

interface Aligned {
  key: string;
  label: string;
  turns: [number | undefined, number | undefined];
}

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
    .map(([key, { label }]): Aligned => ({ key, label, turns: [one.get(key)?.turn, other.get(key)?.turn] }))
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
          <label class="field">
            {name}: run
            <select value={side.run} onChange={(event) => {
              const chosen = Number(event.currentTarget.value);
              set({ run: chosen, episode: journeys[chosen]!.steps.at(-1)!.episode });
            }}>
              {journeys.map(({ run }, number) => <option key={run.figures.run.run_id} value={number}>{nameOf(run, number)}</option>)}
            </select>
          </label>
        )}
        <label class="field">
          {name}: episode
          <select value={side.episode} onChange={(event) => set({ ...side, episode: Number(event.currentTarget.value) })}>
            {episodes.map(({ episode }) => <option key={episode} value={episode}>{episode}</option>)}
          </select>
        </label>
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

function SideTurns({ name, steps, run, turn, label }: { name: string; steps: Step[]; run: number; turn: number | undefined; label: string }) {
  if (turn === undefined) return <section class="side" aria-label={`${name}, turns`}><p class="label">Did not reach <Written text={label} />.</p></section>;
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
