import { useMemo, useState } from "preact/hooks";
import { addressOf } from "./address";
import { Chart, Lanes, type Lane, type Series } from "./chart";
import type { RunMoment } from "./data";
import { dollars, short } from "./figures";
import { momentOf, type Journey, type Mark, type Step } from "./journey";

const AXES = { row: "one after another", over: "laid over each other", ends: "at each episode's end" } as const;
type Axis = keyof typeof AXES;

interface Measure {
  title: string;
  of: (step: Step) => number | null;
  format: (value: number) => string;
}

const MEASURES: Measure[] = [
  { title: "Score", of: (step) => step.seen.score, format: short },
  { title: "Rooms seen in the episode", of: (step) => step.rooms, format: short },
  { title: "Tokens", of: (step) => step.episodeTokens, format: short },
  { title: "Cost", of: (step) => step.episodeDollars, format: dollars },
];

export const LANES: [string, string][] = [
  ["death", "Deaths"], ["won", "Victories"], ["lost", "Defeats"], ["score", "Points"], ["room", "Rooms discovered"],
  ["memory", "Memories learnt"], ["knowledge", "Knowledge"], ["route", "Routes"], ["objective", "Objectives"],
];

/** Score, rooms, tokens and dollars along the run, with what happened marked. */
export function CurvesView({ journey, index, goTo, run }: { journey: Journey; index: number; goTo: (moment: RunMoment) => void; run: number }) {
  const [axis, setAxis] = useState<Axis>("row");
  const { steps } = journey;
  const step = steps[index]!;
  const episodes = useMemo(() => [...journey.episodes.values()], [journey]);
  const charts = useMemo(() => MEASURES.map((measure) => seriesOf(episodes, measure, axis)), [episodes, axis]);
  const borders = axis === "row" ? episodes.slice(1).map(([opening]) => opening!.index) : [];
  const now = { row: index, over: step.turn, ends: step.episode }[axis];
  const marks = useMemo(() => journey.marks(), [journey]);
  const lanes = useMemo(() => lanesOf(marks, axis, run), [marks, axis, run]);
  const longest = Math.max(...episodes.map((each) => each.length - 1));

  function pick(at: number) {
    if (axis === "row") {
      goTo(momentOf(steps[Math.round(Math.min(steps.length - 1, Math.max(0, at)))]!));
    } else if (axis === "over") goTo([step.episode, Math.max(0, Math.round(at))]);
    else goTo([Math.round(at), Infinity]);
  }

  return (
    <div class="curves-view">
      <fieldset class="choice">
        <legend>Episodes</legend>
        {Object.entries(AXES).map(([each, name]) => (
          <label key={each} class="check"><input type="radio" name="axis" checked={axis === each} onChange={() => setAxis(each as Axis)} /> {name}</label>
        ))}
      </fieldset>
      {MEASURES.map((measure, each) => (
        <Chart
          key={measure.title} title={measure.title} height={each === 0 ? 210 : 130} series={charts[each]!} format={measure.format}
          across={{ row: "turn of the run", over: "turn", ends: "episode" }[axis]} now={now} borders={borders} pick={pick} steps={axis !== "ends"}
        />
      ))}
      {axis !== "ends" && <Lanes lanes={lanes} from={0} to={axis === "row" ? steps.length - 1 : longest} />}
    </div>
  );
}

function seriesOf(episodes: Step[][], measure: Measure, axis: Axis): Series[] {
  if (axis === "ends") {
    const points = episodes.flatMap((episode): [number, number][] => {
      const at = measure.of(episode.at(-1)!);
      return at === null ? [] : [[episode[0]!.episode, at]];
    });
    return points.length ? [{ name: "episodes", shade: 0, points, dots: true }] : [];
  }
  return episodes.flatMap((episode, order): Series[] => {
    const points = episode.flatMap((step): [number, number][] => {
      const at = measure.of(step);
      return at === null ? [] : [[axis === "row" ? step.index : step.turn, at]];
    });
    const shade = axis === "row" || episodes.length < 2 ? 0 : order / (episodes.length - 1);
    return points.length ? [{ name: `episode ${episode[0]!.episode}`, shade, points }] : [];
  });
}

function lanesOf(all: Mark[], axis: Axis, run: number): Lane[] {
  return LANES.flatMap(([kind, name]): Lane[] => {
    const marks = all.filter((mark) => mark.kind === kind).map(({ index, moment, label }) => ({
      x: axis === "row" ? index : moment[1],
      label: `${label} (episode ${moment[0]}, turn ${moment[1]})`,
      href: addressOf(run, moment),
    }));
    return marks.length ? [{ name, kind, marks }] : [];
  });
}
