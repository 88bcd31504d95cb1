import { scaleLinear } from "d3-scale";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { short } from "./figures";
import { spelled } from "./written";

const MARGIN = { left: 46, right: 12, top: 8, bottom: 22 };

export interface Series {
  name: string;
  shade: number; // 0 to 1, from the first to the latest
  points: [number, number][];
  dots?: boolean;
}

interface Drawn {
  title: string;
  height: number;
  series: Series[];
  across: string; // what the x axis counts
  now?: number | undefined;
  borders?: number[];
  pick?: (x: number) => void;
  steps?: boolean; // a value stays until the next
  format?: (value: number) => string;
}

/** Lines over turns or episodes; a click picks the place on the x axis. */
export function Chart({ title, height, series, across, now, borders = [], pick, steps = true, format = short }: Drawn) {
  const { box, width } = useWidth();
  const drawn = useMemo(() => {
    const all = series.flatMap((each) => each.points);
    const [left, right] = extent(all.map(([x]) => x));
    const [low, high] = extent([0, ...all.map(([, y]) => y)]);
    const x = scaleLinear([left, Math.max(right, left + 1)], [MARGIN.left, width - MARGIN.right]);
    const y = scaleLinear([low, high > low ? high : low + 1], [height - MARGIN.bottom, MARGIN.top]).nice(4);
    const lines = series.map((each) => each.points.map(([px, py], at) => `${at ? (steps ? `H${x(px).toFixed(1)}V` : `L${x(px).toFixed(1)},`) : `M${x(px).toFixed(1)},`}${y(py).toFixed(1)}`).join(""));
    return { x, y, lines, empty: all.length === 0 };
  }, [series, width, height, steps]);
  const { x, y, lines, empty } = drawn;
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
          {series.filter((each) => each.dots).map((each) => each.points.map(([px, py]) => <circle key={`${each.name} ${px}`} class="dot" cx={x(px)} cy={y(py)} r={3.5} style={{ "--age": `${Math.round(each.shade * 100)}%` }} />))}
          {now !== undefined && <line class="now" x1={x(now)} x2={x(now)} y1={MARGIN.top} y2={height - MARGIN.bottom} />}
        </svg>
      )}
    </figure>
  );
}

function extent(values: number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [0, 1];
}

export interface Lane {
  name: string;
  kind: string;
  marks: { x: number; label: string; href: string }[];
}

/** What happened, a row for each kind, under a chart of the same width. */
export function Lanes({ lanes, from, to }: { lanes: Lane[]; from: number; to: number }) {
  const { box, width } = useWidth();
  const x = scaleLinear([from, Math.max(to, from + 1)], [MARGIN.left, width - MARGIN.right]);
  return (
    <figure class="lanes" ref={box} aria-label="What happened">
      {lanes.map((lane) => (
        <div key={lane.kind} class="lane">
          <span class="lane-name">{lane.name} <span class="label">{lane.marks.length}</span></span>
          <svg width={width} height={18} role="group" aria-label={`${lane.name}: ${lane.marks.length}`}>
            <line class="lane-line" x1={MARGIN.left} x2={width - MARGIN.right} y1={9} y2={9} />
            {lane.marks.map((mark) => (
              <a key={`${mark.href} ${mark.label}`} href={mark.href} tabindex={-1} aria-label={spelled(mark.label)}>
                <title>{spelled(mark.label)}</title>
                <circle class={`mark mark-${lane.kind}`} cx={x(mark.x)} cy={9} r={4.5} />
              </a>
            ))}
          </svg>
        </div>
      ))}
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
