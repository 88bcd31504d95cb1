import { useMemo, useState } from "preact/hooks";
import { addressOf } from "./address";
import { Chart, type Series } from "./chart";
import { placeNameOf, playedIn, type PageEpisode, type PageMilestone } from "./data";
import { count, dollars, endInWords, plural, short, signed } from "./figures";
import type { Journey } from "./journey";
import { spelled, Written } from "./written";

interface Side {
  run: number;
  episode: number;
}

/** Two episodes side by side, of two runs or of one, aligned by what both of them reached. */
export function CompareView({ journeys }: { journeys: Journey[] }) {
  const [sides, setSides] = useState<[Side, Side]>(() => startingSides(journeys));
  const [chosen, setChosen] = useState<string | null>(null);
  const episodes = sides.map((side) => episodeOf(journeys, side)) as [PageEpisode, PageEpisode];
  const milestones = useMemo(() => aligned(journeys, sides), [journeys, sides]);
  const series = sides.map((_, each): Series => ({
    name: each ? "right" : "left",
    shade: each,
    points: episodes[each]!.turns.flatMap((turn): [number, number][] => (turn.seen.score === null ? [] : [[turn.turn, turn.seen.score]])),
  }));
  const row = milestones.find((each) => each.key === chosen) ?? milestones.find(({ turns: [one, other] }) => one !== other) ?? milestones[0];
  const set = (each: number, side: Side) => setSides((before) => (each ? [before[0], side] : [side, before[1]]));
  const stories = new Set(sides.map((side) => journeys[side.run]!.run.story_sha256));

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
          {sides.map((side, each) => <SideTurns key={each} name={each ? "Right" : "Left"} episode={episodes[each]!} run={side.run} turn={row.turns[each]} label={row.label} />)}
        </div>
      )}
    </div>
  );
}

function startingSides(journeys: Journey[]): [Side, Side] {
  const last = (run: number) => journeys[run]!.run.episodes.at(-1)!.figures.episode;
  if (journeys.length > 1) return [{ run: 0, episode: last(0) }, { run: 1, episode: last(1) }];
  return [{ run: 0, episode: journeys[0]!.run.episodes[0]!.figures.episode }, { run: 0, episode: last(0) }];
}

const episodeOf = (journeys: Journey[], side: Side) => journeys[side.run]!.run.episodes.find((each) => each.figures.episode === side.episode)!;

interface Aligned {
  key: string;
  label: string;
  turns: [number | undefined, number | undefined];
}

/** The milestones of either side in the order in which they were reached. */
function aligned(journeys: Journey[], sides: [Side, Side]): Aligned[] {
  const all = new Map<string, PageMilestone>();
  for (const side of sides) for (const each of journeys[side.run]!.run.milestones) if (!all.has(each.key)) all.set(each.key, each);
  const reached = ({ turns }: Aligned) => turns.filter((turn) => turn !== undefined);
  const turnOf = (side: Side, key: string) => journeys[side.run]!.run.milestones.find((each) => each.key === key)?.turns[side.episode];
  return [...all.values()]
    .map(({ key, label }): Aligned => ({ key, label, turns: [turnOf(sides[0], key), turnOf(sides[1], key)] }))
    .filter((each) => reached(each).length > 0)
    .sort((one, other) => Math.min(...reached(one)) - Math.min(...reached(other)));
}

function SideChoice({ name, journeys, side, set }: { name: string; journeys: Journey[]; side: Side; set: (side: Side) => void }) {
  const { run } = journeys[side.run]!;
  const { figures } = episodeOf(journeys, side);
  const last = journeys[side.run]!.episode(side.episode).at(-1);
  return (
    <section class="side" aria-label={name}>
      <div class="side-fields">
        {journeys.length > 1 && (
          <label class="field">
            {name}: run
            <select value={side.run} onChange={(event) => {
              const chosen = Number(event.currentTarget.value);
              set({ run: chosen, episode: journeys[chosen]!.run.episodes.at(-1)!.figures.episode });
            }}>
              {journeys.map((each, number) => <option key={each.run.id} value={number}>{number + 1}: {spelled(each.run.model)}, {spelled(each.run.id)}</option>)}
            </select>
          </label>
        )}
        <label class="field">
          {name}: episode
          <select value={side.episode} onChange={(event) => set({ ...side, episode: Number(event.currentTarget.value) })}>
            {run.episodes.map(({ figures: { episode } }) => <option key={episode} value={episode}>{episode}</option>)}
          </select>
        </label>
      </div>
      <dl class="facts">
        <div><dt>Model</dt><dd><Written text={run.model} /></dd></div>
        <div><dt>Assistance</dt><dd><Written text={run.assistance.join(", ") || "none"} /></dd></div>
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

function SideTurns({ name, episode, run, turn, label }: { name: string; episode: PageEpisode; run: number; turn: number | undefined; label: string }) {
  if (turn === undefined) return <section class="side" aria-label={`${name}, turns`}><p class="label">Did not reach <Written text={label} />.</p></section>;
  const shown = episode.turns.slice(Math.max(0, turn - LEADING), turn + 1);
  return (
    <section class="side" aria-label={`${name}, turns`}>
      <p class="labels">{plural(shown.length, "turn")} up to <Written text={label} /></p>
      {shown.map((each) => {
        const [played, change] = [playedIn(each), each.score_change];
        return (
          <article key={each.turn} class="short-turn">
            <p class="labels"><a href={addressOf(run, [episode.figures.episode, each.turn])}>turn {each.turn}</a> <span><Written text={placeNameOf(each)} /></span>{change ? <strong class={change > 0 ? "gain" : "loss"}>{signed(change)}</strong> : null}</p>
            {played && <p class="command"><span aria-hidden="true">&gt; </span><Written text={played.action} /></p>}
            <div class="story"><Written text={each.seen.text.trim()} /></div>
            {played?.reasoning && <blockquote><Written text={played.reasoning} /></blockquote>}
          </article>
        );
      })}
    </section>
  );
}
