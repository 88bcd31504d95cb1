import { useMemo } from "preact/hooks";
import type { Journey, Step } from "./journey";

const WIDTH = 1000;
const HEIGHT = 40;

/** A slider over all turns of the run, before a small curve of the score. */
export function Scrubber({ journey, index, choose }: { journey: Journey; index: number; choose: (index: number) => void }) {
  const { steps } = journey;
  const step = steps[index]!;
  const { line, bounds } = useMemo(() => skyline(steps), [steps]);
  return (
    <div class="scrubber">
      <button type="button" aria-label="Turn before" disabled={index === 0} onClick={() => choose(index - 1)}>‹</button>
      <div class="scrubber-track">
        <svg class="skyline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path d={line} />
          {bounds.map((x) => <line key={x} x1={x} x2={x} y1={0} y2={HEIGHT} />)}
        </svg>
        <input
          type="range"
          min={0}
          max={steps.length - 1}
          value={index}
          aria-label="Turn"
          aria-valuetext={`Episode ${step.episode}, turn ${step.turn}`}
          onInput={(event) => choose(Number(event.currentTarget.value))}
        />
      </div>
      <button type="button" aria-label="Next turn" disabled={index === steps.length - 1} onClick={() => choose(index + 1)}>›</button>
      <span class="scrubber-moment" aria-hidden="true">e{step.episode} t{step.turn}</span>
    </div>
  );
}

/** The curve of the score, and where episodes begin. */
function skyline(steps: Step[]) {
  const scores = steps.map((step) => step.seen.score ?? 0);
  const [low, high] = scores.reduce(([least, most], score) => [Math.min(least, score), Math.max(most, score)], [0, 1]) as [number, number];
  const x = (index: number) => ((index / Math.max(1, scores.length - 1)) * WIDTH).toFixed(1);
  const y = (score: number) => (HEIGHT - 2 - ((score - low) / (high - low)) * (HEIGHT - 6)).toFixed(1);
  return {
    line: `M0,${HEIGHT}${scores.map((score, index) => `L${x(index)},${y(score)}`).join("")}L${WIDTH},${HEIGHT}Z`,
    bounds: steps.filter((step) => step.turn === 0 && step.index > 0).map((step) => x(step.index)),
  };
}
