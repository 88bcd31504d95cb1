import { group, max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { useMemo, useState } from "preact/hooks";
import { Chart, MARGIN, useWidth, type Series } from "./chart";
import { dollars, short } from "./figures";
import { MARKS, type Journey, type Step } from "./journey";
import { spelled } from "./written";

/** What of a step the x axis shows. */
const AXES = {
  turnOfRun: { name: "one after another", across: "turn of the run" },
  turn: { name: "laid over each other", across: "turn" },
  episode: { name: "at each episode's end", across: "episode" },
};
type Axis = keyof typeof AXES;

interface Measure {
  title: string;
  of: (step: Step) => number | null;
  format: (value: number) => string;
}

const MEASURES: Measure[] = [
  { title: "Score", of: (step) => step.seen.score, format: short },
  { title: "Rooms seen in the episode", of: (step) => step.rooms, format: short },
  { title: "Tokens", of: ({ spentInEpisode: { tokens, uncounted } }) => (uncounted ? null : tokens), format: short },
  { title: "Cost", of: ({ spentInEpisode: { dollars, unpriced } }) => (unpriced ? null : dollars ?? 0), format: dollars },
];

/** Score, rooms, tokens and dollars along the run, with what happened marked. */
export function CurvesView({ journey, step, goTo }: { journey: Journey; step: Step; goTo: (index: number) => void }) {
  const [axis, setAxis] = useState<Axis>("turnOfRun");
  const { steps } = journey;
  const episodes = useMemo(() => [...journey.episodes.values()], [journey]);
  const charts = useMemo(() => MEASURES.map((measure) => seriesOf(episodes, measure, axis)), [episodes, axis]);
  const borders = axis === "turnOfRun" ? episodes.slice(1).map(([opening]) => opening!.turnOfRun) : [];

  function pick(at: number) {
    const nearest = Math.round(at);
    if (axis === "turnOfRun") goTo((steps.find((each) => each.turnOfRun >= nearest) ?? steps.at(-1)!).index);
    else goTo(axis === "turn" ? journey.indexOf(step.episode, nearest) : journey.indexOf(nearest, Infinity));
  }

  return (
    <>
      <fieldset class="choice">
        <legend>Episodes</legend>
        {Object.entries(AXES).map(([each, { name }]) => (
          <label key={each} class="check"><input type="radio" name="axis" checked={axis === each} onChange={() => setAxis(each as Axis)} /> {name}</label>
        ))}
      </fieldset>
      {MEASURES.map(({ title, format }, each) => (
        <Chart
          key={title} title={title} height={each === 0 ? 210 : 130} series={charts[each]!} format={format}
          across={AXES[axis].across} now={step[axis]} borders={borders} pick={pick} dots={axis === "episode"}
        />
      ))}
      {axis !== "episode" && <Lanes steps={steps} axis={axis} />}
    </>
  );
}

function seriesOf(episodes: Step[][], measure: Measure, axis: Axis): Series[] {
  const pointsOf = (steps: Step[]) => steps.flatMap((step): [number, number][] => {
    const value = measure.of(step);
    return value === null ? [] : [[step[axis], value]];
  });
  const all = axis === "episode"
    ? [{ name: "episodes", shade: 0, points: pointsOf(episodes.map((episode) => episode.at(-1)!)) }]
    : episodes.map((episode, order) => ({
        name: `episode ${episode[0]!.episode}`,
        shade: axis === "turnOfRun" ? 0 : order / Math.max(1, episodes.length - 1),
        points: pointsOf(episode),
      }));
  return all.filter(({ points }) => points.length);
}

/** What happened, a row for each kind, under the charts and of their width. */
function Lanes({ steps, axis }: { steps: Step[]; axis: "turnOfRun" | "turn" }) {
  const { box, width } = useWidth();
  const x = scaleLinear([0, Math.max(1, max(steps, (step) => step[axis]) ?? 0)], [MARGIN.left, width - MARGIN.right]);
  const lanes = useMemo(() => group(steps.flatMap((step) => step.marks.map((mark) => ({ ...mark, step }))), ({ kind }) => kind), [steps]);
  return (
    <figure class="lanes" ref={box} aria-label="What happened">
      {Object.entries(MARKS).filter(([kind]) => lanes.has(kind)).map(([kind, name]) => (
        <div key={kind} class="lane">
          <span class="label">{name} {lanes.get(kind)!.length}</span>
          <svg width={width} height={18} role="group" aria-label={`${name}: ${lanes.get(kind)!.length}`}>
            <line x1={MARGIN.left} x2={width - MARGIN.right} y1={9} y2={9} />
            {lanes.get(kind)!.map(({ label, step }) => {
              const title = spelled(`${label} (episode ${step.episode}, turn ${step.turn})`);
              return (
                <a key={`${step.href} ${label}`} href={step.href} tabindex={-1} aria-label={title}>
                  <title>{title}</title>
                  <circle class={`mark mark-${kind}`} cx={x(step[axis])} cy={9} r={4.5} />
                </a>
              );
            })}
          </svg>
        </div>
      ))}
    </figure>
  );
}
