import { useMemo } from "preact/hooks";
import type { Journey } from "./journey";

const WIDTH = 1000;
const HEIGHT = 40;

/** A slider over all turns of the run, before a small curve of the score. */
export function Scrubber({ journey, index, choose }: { journey: Journey; index: number; choose: (index: number) => void }) {
  const { steps } = journey;
  const step = steps[index]!;
  const skyline = useMemo(() => {
    const borders = steps.filter((each) => each.turn === 0 && each.index > 0).map((each) => each.index);
    return <Skyline values={steps.map((each) => each.seen.score ?? 0)} borders={borders} />;
  }, [steps]);
  return (
    <div class="scrubber">
      <button type="button" aria-label="Turn before" disabled={index === 0} onClick={() => choose(index - 1)}>‹</button>
      <div class="scrubber-track">
        {skyline}
        <input
          type="range" aria-label="Turn" aria-valuetext={`Episode ${step.episode}, turn ${step.turn}`}
          min={0} max={steps.length - 1} value={index} onInput={(event) => choose(Number(event.currentTarget.value))}
        />
      </div>
      <button type="button" aria-label="Next turn" disabled={index === steps.length - 1} onClick={() => choose(index + 1)}>›</button>
      <span class="scrubber-moment" aria-hidden="true">e{step.episode} t{step.turn}</span>
    </div>
  );
}

/** A small curve of values, with a line at each border; `label`: for readers who cannot see it. */
export function Skyline({ values, borders = [], label }: { values: number[]; borders?: number[]; label?: string }) {
  const [low, high] = values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [0, 1]) as [number, number];
  const x = (index: number) => ((index / Math.max(1, values.length - 1)) * WIDTH).toFixed(1);
  const y = (value: number) => (HEIGHT - 2 - ((value - low) / (high - low)) * (HEIGHT - 6)).toFixed(1);
  return (
    <svg class="skyline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role={label ? "img" : undefined} aria-label={label} aria-hidden={!label}>
      {label && <title>{label}</title>}
      <path d={`M0,${HEIGHT}${values.map((value, index) => `L${x(index)},${y(value)}`).join("")}${values.length === 1 ? `H${WIDTH}` : ""}L${WIDTH},${HEIGHT}Z`} />
      {borders.map((at) => <line key={at} x1={x(at)} x2={x(at)} y1={0} y2={HEIGHT} />)}
    </svg>
  );
}
