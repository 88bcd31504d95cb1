import { min, sort } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import type { EpisodeFigures } from "../../build/report_types";
import { Chart, type Series } from "./chart";
import { costInWords, count, endInWords, plural, short, signed, tokensInWords } from "./figures";
import { Fact, namesOfRuns } from "./heading";
import { addressOf, namesOf, type Journey, type Step } from "./journey";
import { Choice, Table, type Column } from "./table";
import { Gain, Written } from "./written";

interface Side {
  run: number;
  episode: number;
}

/** Two episodes side by side, of two runs or of one, aligned by what both of them reached. */
export function CompareView({ journeys }: { journeys: Journey[] }) {
  const [sides, setSides] = useState<[Side, Side]>(() => (
    journeys.length > 1 ? [lastOf(journeys, 0), lastOf(journeys, 1)] : [{ run: 0, episode: journeys[0]!.steps[0]!.episode }, lastOf(journeys, 0)]
  ));
  const [chosen, setChosen] = useState<string | null>(null);
  const episodes = sides.map((side) => journeys[side.run]!.episode(side.episode));
  const milestones = useMemo(() => milestonesOf(sides.map((side) => figuresOf(journeys, side)), episodes), [journeys, sides]);
  const series = sides.map((_, each): Series => ({
    name: each ? "right" : "left",
    shade: each,
    points: episodes[each]!.flatMap(({ turn, seen }): [number, number][] => (seen.score === null ? [] : [[turn, seen.score]])),
  }));
  const row = milestones.find((each) => each.key === chosen) ?? milestones.find(({ turns: [one, other] }) => one !== other) ?? milestones[0];
  const turnOf = ({ run, episode }: Side, turn: number | null) => (turn === null ? "–" : <a href={addressOf(run, episode, turn)}>turn {turn}</a>);
  const columns: Column<Milestone>[] = [
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
    <>
      {stories.size > 1 && <p class="note">These are runs of two stories; what they reached cannot be compared.</p>}
      <div class="two-sides">
        {sides.map((side, each) => <SideChoice key={each} name={each ? "Right" : "Left"} journeys={journeys} side={side} set={(to) => set(each, to)} />)}
      </div>
      <div class="two-sides">
        <section>
          <h2>Milestones</h2>
          {milestones.length === 0 && <p class="label">Neither of the two is known to have reached anything.</p>}
          {milestones.length > 0 && <Table label="Milestones" rows={milestones} columns={columns} chosen={({ key }) => key === row?.key} />}
        </section>
        <Chart title="Score: left in blue, right in amber" height={180} series={series.filter((each) => each.points.length)} across="turn" />
      </div>
      {row && (
        <div class="two-sides">
          {sides.map((_, each) => <SideTurns key={each} name={each ? "Right" : "Left"} steps={episodes[each]!} turn={row.turns[each]} label={row.label} />)}
        </div>
      )}
    </>
  );
}

const lastOf = (journeys: Journey[], run: number): Side => ({ run, episode: journeys[run]!.steps.at(-1)!.episode });

interface Milestone {
  key: string;
  label: string;
  turns: [number | null, number | null];
}

const laterBy = ({ turns: [one, other] }: Milestone) => (one === null || other === null ? null : other - one);

const figuresOf = (journeys: Journey[], side: Side) => journeys[side.run]!.run.figures.episodes.find((each) => each.episode === side.episode)!;

/** When each episode first had each new best score, each room and each thing that was carried, in that order. */
function milestonesOf(figures: EpisodeFigures[], episodes: Step[][]): Milestone[] {
  const milestones = new Map<string, Milestone>();
  episodes.forEach((steps, side) => {
    const reach = (key: string, label: string, turn: number) => {
      const milestone = milestones.get(key) ?? { key, label, turns: [null, null] };
      milestone.turns[side] ??= turn;
      milestones.set(key, milestone);
    };
    for (const { score, turn } of figures[side]!.milestones) reach(`score ${score}`, `${score} points`, turn);
    for (const { seen, placeName, turn } of steps) {
      if (seen.location) reach(`room ${seen.location.num}`, placeName, turn);
      for (const thing of seen.inventory ?? []) reach(`thing ${thing.num}`, namesOf([thing])![0]!, turn);
    }
  });
  return sort([...milestones.values()], ({ turns }) => min(turns, (turn) => turn));
}

function SideChoice({ name, journeys, side, set }: { name: string; journeys: Journey[]; side: Side; set: (side: Side) => void }) {
  const journey = journeys[side.run]!;
  const { run: { player }, manifest, episodes } = journey.run.figures;
  const figures = figuresOf(journeys, side);
  const last = journey.episode(side.episode).at(-1);
  return (
    <section class="side" aria-label={name}>
      <div class="fields">
        {journeys.length > 1 && (
          <Choice name={`${name}: run`} value={side.run} options={namesOfRuns(journeys)} choose={(run) => set(lastOf(journeys, Number(run)))} />
        )}
        <Choice
          name={`${name}: episode`} value={side.episode} options={episodes.map(({ episode }) => [episode, String(episode)])}
          choose={(episode) => set({ ...side, episode: Number(episode) })}
        />
      </div>
      <dl class="facts">
        <Fact name={player ? "Player" : "Model"}><Written text={player || manifest.model.join(", ")} /></Fact>
        <Fact name="Assistance"><Written text={manifest.assistance.join(", ") || "none"} /></Fact>
        <Fact name="Score">{short(figures.score)}{figures.best_score !== figures.score && ` (best ${short(figures.best_score)})`}</Fact>
        <Fact name="End">{endInWords(figures.end)}</Fact>
        <Fact name="Turns">{count(figures.turns)}</Fact>
        <Fact name="Rooms">{count(figures.rooms)}</Fact>
        <Fact name="Tokens">{last ? tokensInWords(last.spentInEpisode) : "–"}</Fact>
        <Fact name="Cost">{last ? costInWords(last.spentInEpisode) : "–"}</Fact>
      </dl>
    </section>
  );
}

const LEADING = 3; // turns that are shown before a milestone

function SideTurns({ name, steps, turn, label }: { name: string; steps: Step[]; turn: number | null | undefined; label: string }) {
  if (turn == null) return <section class="side" aria-label={`${name}, turns`}><p class="label">Not known to have reached <Written text={label} />.</p></section>;
  const shown = steps.slice(Math.max(0, turn - LEADING), turn + 1);
  return (
    <section class="side" aria-label={`${name}, turns`}>
      <p class="labels">{plural(shown.length, "turn")} up to <Written text={label} /></p>
      {shown.map(({ turn: each, href, placeName, scoreChange, proposal, seen }) => (
        <article key={each} class="short-turn">
          <p class="labels"><a href={href}>turn {each}</a> <span><Written text={placeName} /></span><Gain points={scoreChange} /></p>
          {proposal && <p class="command"><span aria-hidden="true">&gt; </span><Written text={proposal.action} /></p>}
          <div class="story"><Written text={seen.text.trim()} /></div>
          {proposal?.reasoning && <blockquote><Written text={proposal.reasoning} /></blockquote>}
        </article>
      ))}
    </section>
  );
}
