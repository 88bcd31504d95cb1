import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { short } from "./figures";

const SKYLINE = { width: 1000, height: 40 };
export const MARGIN = { left: 46, right: 12, top: 8, bottom: 22 };

export interface Series {
  name: string;
  shade: number; // 0 to 1, from the first to the latest
  points: [number, number][];
}

interface Drawn {
  title: string;
  height: number;
  series: Series[];
  across: string; // what the x axis counts
  now?: number | undefined;
  borders?: number[];
  pick?: (x: number) => void;
  dots?: boolean; // without them a value stays until the next
  format?: (value: number) => string;
}

/** Lines over turns or episodes; a click picks the place on the x axis. */
export function Chart({ title, height, series, across, now, borders = [], pick, dots = false, format = short }: Drawn) {
  const { box, width } = useWidth();
  const { x, y, lines, empty } = useMemo(() => {
    const all = series.flatMap((each) => each.points);
    const [left = 0, right = 1] = extent(all, ([x]) => x);
    const [low = 0, high = 0] = extent([[0, 0], ...all], ([, y]) => y);
    const x = scaleLinear([left, Math.max(right, left + 1)], [MARGIN.left, width - MARGIN.right]);
    const y = scaleLinear([low, high > low ? high : low + 1], [height - MARGIN.bottom, MARGIN.top]).nice(4);
    const lines = series.map((each) => each.points.map(([px, py], at) => `${at ? (dots ? `L${x(px).toFixed(1)},` : `H${x(px).toFixed(1)}V`) : `M${x(px).toFixed(1)},`}${y(py).toFixed(1)}`).join(""));
    return { x, y, lines, empty: all.length === 0 };
  }, [series, width, height, dots]);
  const whole = x.ticks(Math.max(2, Math.floor(width / 90))).filter(Number.isInteger);
  return (
    <figure class="chart" ref={box}>
      <figcaption>{title} <span class="label">by {across}</span></figcaption>
      {empty ? <p class="label">Not recorded.</p> : (
        <svg
          width={width} height={height} role="img" aria-label={`${title}: ${series.map((each) => `${each.name} ${format(each.points.at(-1)?.[1] ?? 0)} at the end`).slice(0, 6).join(", ")}`}
          class={pick ? "pickable" : ""}
          onClick={(event) => pick?.(x.invert(event.clientX - event.currentTarget.getBoundingClientRect().left))}
        >
          {y.ticks(4).map((tick) => (
            <g key={tick} class="tick">
              <line x1={MARGIN.left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} />
              <text x={MARGIN.left - 6} y={y(tick) + 4} text-anchor="end">{format(tick)}</text>
            </g>
          ))}
          {whole.map((tick) => <text key={tick} class="tick-x" x={x(tick)} y={height - 6} text-anchor="middle">{tick}</text>)}
          {borders.map((at) => <line key={at} class="border" x1={x(at)} x2={x(at)} y1={MARGIN.top} y2={height - MARGIN.bottom} />)}
          {lines.map((line, each) => <path key={each} class="curve" d={line} style={{ "--age": `${Math.round(series[each]!.shade * 100)}%` }}><title>{series[each]!.name}</title></path>)}
          {dots && series.map((each) => each.points.map(([px, py]) => <circle key={`${each.name} ${px}`} class="dot" cx={x(px)} cy={y(py)} r={3.5} style={{ "--age": `${Math.round(each.shade * 100)}%` }} />))}
          {now !== undefined && <line class="now" x1={x(now)} x2={x(now)} y1={MARGIN.top} y2={height - MARGIN.bottom} />}
        </svg>
      )}
    </figure>
  );
}

/** The width of a box in pixels, as it is now. */
export function useWidth() {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.floor(entry!.contentRect.width))));
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  return { box, width };
}

/** A small curve of values, with a line at each border, and unknown values left out; `label`: for readers who cannot see it. */
export function Skyline({ values, borders = [], label }: { values: (number | null)[]; borders?: number[]; label?: string }) {
  const [low = 0, high = 1] = extent([0, 1, ...values.flatMap((value) => value ?? [])]);
  const x = (index: number) => ((index / Math.max(1, values.length - 1)) * SKYLINE.width).toFixed(1);
  const y = (value: number) => (SKYLINE.height - 2 - ((value - low) / (high - low)) * (SKYLINE.height - 6)).toFixed(1);
  return (
    <svg class="skyline" viewBox={`0 0 ${SKYLINE.width} ${SKYLINE.height}`} preserveAspectRatio="none" role={label ? "img" : undefined} aria-label={label} aria-hidden={!label}>
      {label && <title>{label}</title>}
      <path d={`M0,${SKYLINE.height}${values.map((value, index) => value === null ? "" : `L${x(index)},${y(value)}`).join("")}${values.length === 1 ? `H${SKYLINE.width}` : ""}L${SKYLINE.width},${SKYLINE.height}Z`} />
      {borders.map((at) => <line key={at} x1={x(at)} x2={x(at)} y1={0} y2={SKYLINE.height} />)}
    </svg>
  );
}
