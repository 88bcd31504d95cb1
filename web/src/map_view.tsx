import { extent, pairs } from "d3-array";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PageMap, PageRoom, Way } from "../../build/report_types";
import { plural } from "./figures";
import { wayBetween, type Journey, type Step } from "./journey";
import { Items, Moments } from "./learned";
import { spelled, Written } from "./written";

const CELL = { x: 138, y: 76 };
const BOX = { x: 96, y: 40 };
const LETTERS = 14; // of a room's name, on one of its two lines
const NAMED = 4; // ways that no line shows, named below a room's box
const NAMED_LETTERS = 26; // of each of them
const LATEST = 12; // steps of the path that stand out
const STUB = 13; // length of an exit that leads nowhere yet

const DIRECTIONS: Record<string, [number, number]> = {
  north: [0, -1], south: [0, 1], east: [1, 0], west: [-1, 0],
  northeast: [1, -1], northwest: [-1, -1], southeast: [1, 1], southwest: [-1, 1],
  n: [0, -1], s: [0, 1], e: [1, 0], w: [-1, 0], ne: [1, -1], nw: [-1, -1], se: [1, 1], sw: [-1, 1],
  up: [0.45, -1], u: [0.45, -1], down: [0.45, 1], d: [0.45, 1],
};

const centre = (room: PageRoom): [number, number] => [room.x * CELL.x, room.y * CELL.y];

/** The whole map, and what is known of the room that was clicked. */
export function MapView({ journey, step }: { journey: Journey; step: Step }) {
  const [chosen, setChosen] = useState<number | null>(null);
  const { map } = journey.run;
  if (!map?.rooms.length) return <p class="label">This run kept no map.</p>;
  return (
    <>
      <section aria-label="Map">
        <Plan journey={journey} step={step} chosen={chosen ?? step.place} choose={setChosen} />
        <ul class="legend" aria-label="Signs">
          <li><span class="sign sign-early" />first rooms</li>
          <li><span class="sign sign-late" />latest rooms</li>
          <li><span class="sign sign-earlier" />known from an earlier run</li>
          <li><span class="sign sign-unknown" />not yet seen at this turn</li>
          <li><span class="sign-line" />the way so far</li>
          <li>○ exit not tried</li>
          <li>⊢ exit refused</li>
        </ul>
      </section>
      <RoomPanel journey={journey} step={step} room={chosen ?? step.place} />
    </>
  );
}

function RoomPanel({ journey, step, room: id }: { journey: Journey; step: Step; room: number | null }) {
  const room = journey.run.map!.rooms.find((each) => each.id === id);
  const known = useMemo(() => [...journey.knownAt(step.index).values()].filter((item) => item.kind === "memory" && item.place === id), [step, id]);
  const turns = useMemo(() => journey.steps.filter(({ place }) => place === id), [journey, id]);
  if (!room) return <aside class="around"><p class="label">Click a room.</p></aside>;
  const refused = Object.entries(room.refused);
  return (
    <aside class="around" aria-label="Room">
      <h2><Written text={room.name || `Location #${room.id}`} /> <span class="label">{room.id}</span></h2>
      {turns[0] ? <Moments steps={[turns[0]]} /> : <p class="label">Known from an earlier run.</p>}
      {room.untried.length > 0 && <section><h3>Not tried</h3><p><Written text={room.untried.join(", ")} /></p></section>}
      {refused.length > 0 && (
        <section>
          <h3>Refused</h3>
          <dl class="plain">{refused.map(([command, answer]) => <div key={command}><dt><Written text={command} /></dt><dd><Written text={answer} /></dd></div>)}</dl>
        </section>
      )}
      <section>
        <h3>{plural(known.length, "memory", "memories")}{journey.run.learned_known ? "" : " at the end of the run"}</h3>
        <Items items={known} />
      </section>
      <section>
        <h3>{plural(turns.length, "turn")} that ended here</h3>
        <Moments steps={turns} />
      </section>
    </aside>
  );
}

interface Drawn {
  journey: Journey;
  step: Step;
  chosen: number | null;
  choose: (room: number) => void;
  small?: boolean;
}

/** The map as it was known at a moment, with the way that the episode had taken. */
export function Plan({ journey, step, chosen, choose, small = false }: Drawn) {
  const map = journey.run.map!;
  const svg = useRef<SVGSVGElement>(null);
  const drawing = useRef<SVGGElement>(null);
  const zooming = useRef<ZoomBehavior<SVGSVGElement, unknown>>(null);
  const rooms = useMemo(() => new Map(map.rooms.map((room) => [room.id, room])), [map]);
  /** How early each room was first visited: 0 for the first room of the run, 1 for the latest. */
  const ages = useMemo(() => {
    const visits = [...journey.firsts.keys()].filter((met) => rooms.has(met as number));
    return new Map(visits.map((id, order) => [id, order / Math.max(1, visits.length - 1)]));
  }, [map, journey]);
  const [middle, first] = [rooms.get(step.place ?? -1) ?? map.rooms[0], { x: 0, y: 0 }];
  const frame = small ? frameOf([middle ?? first], 1.6, 1.7) : frameOf([first, ...map.rooms], 0.7, 0.7);
  const path = useMemo(() => pathOf(journey, step, map, rooms), [step, map, rooms]);
  const isKnown = (met: number | string) => (journey.firsts.get(met) ?? 0) <= step.index;

  useEffect(() => {
    if (small) return undefined;
    const target = select(svg.current!);
    const group = drawing.current!;
    zooming.current = zoom<SVGSVGElement, unknown>()
      .scaleExtent([0.4, 8])
      .on("zoom", (event: { transform: { toString(): string } }) => group.setAttribute("transform", event.transform.toString()));
    target.call(zooming.current).on("dblclick.zoom", null);
    return () => void target.on(".zoom", null);
  }, [small]);

  const scale = (by: number) => zooming.current!.scaleBy(select(svg.current!), by);
  return (
    <div class={small ? "plan plan-small" : "plan"}>
      <svg ref={svg} viewBox={frame.join(" ")} style={small ? {} : { aspectRatio: `${frame[2]} / ${frame[3]}` }} role="group" aria-label={`Map of ${map.rooms.length} rooms`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path class="arrow" d="M0,0L8,4L0,8Z" />
          </marker>
        </defs>
        <g ref={drawing}>
          {map.ways.filter((way) => way.shown !== "named").map((way) => <WayLine key={`${way.from_id} ${way.to_id} ${way.there.join()}`} way={way} rooms={rooms} known={isKnown(wayBetween(way.from_id, way.to_id))} />)}
          <path class="path" d={path.join("")} />
          <path class="path path-latest" d={path.slice(-LATEST).join("")} />
          {map.rooms.map((room) => (
            <RoomBox key={room.id} room={room} age={ages.get(room.id)} known={isKnown(room.id)} named={namedFrom(room, map, rooms, isKnown)} here={room.id === step.place} chosen={room.id === chosen} choose={choose} focusable={!small} />
          ))}
        </g>
      </svg>
      {!small && (
        <div class="plan-buttons">
          <button type="button" aria-label="Larger" onClick={() => scale(1.4)}>+</button>
          <button type="button" aria-label="Smaller" onClick={() => scale(1 / 1.4)}>−</button>
          <button type="button" onClick={() => zooming.current!.transform(select(svg.current!), zoomIdentity)}>Whole map</button>
        </div>
      )}
    </div>
  );
}

/** The moves of the episode along the lines of the map, each as a piece of an SVG path. */
function pathOf(journey: Journey, { episode, index }: Step, map: PageMap, rooms: Map<number, PageRoom>): string[] {
  const lines = new Set(map.ways.flatMap((way) => (way.shown === "named" ? [] : [wayBetween(way.from_id, way.to_id)])));
  const visited = journey.episode(episode).filter((each) => each.index <= index).flatMap(({ place }) => rooms.get(place ?? -1) ?? []);
  return pairs(visited)
    .filter(([from, to]) => from !== to && lines.has(wayBetween(from.id, to.id)))
    .map(([from, to]) => `M${centre(from).join()}L${centre(to).join()}`);
}

/** The ways out of a room that no line shows, each in a few words. */
function namedFrom(room: PageRoom, map: PageMap, rooms: Map<number, PageRoom>, isKnown: (met: string) => boolean): string[] {
  return map.ways.filter((way) => way.shown === "named" && isKnown(wayBetween(way.from_id, way.to_id))).flatMap((way) => [
    ...(way.from_id === room.id && way.there.length ? [`${way.there.join(", ")} > ${rooms.get(way.to_id)?.name}`] : []),
    ...(way.to_id === room.id && way.back.length ? [`${way.back.join(", ")} > ${rooms.get(way.from_id)?.name}`] : []),
  ]);
}

/** The view box of an SVG that shows those cells of the map, and so many cells around them. */
function frameOf(cells: { x: number; y: number }[], aside: number, above: number): [number, number, number, number] {
  const [[left = 0, right = 0], [top = 0, bottom = 0]] = [extent(cells, ({ x }) => x), extent(cells, ({ y }) => y)];
  return [(left - aside) * CELL.x, (top - above) * CELL.y, (right - left + 2 * aside) * CELL.x, (bottom - top + 2 * above) * CELL.y];
}

function WayLine({ way, rooms, known }: { way: Way; rooms: Map<number, PageRoom>; known: boolean }) {
  const [one, other] = [rooms.get(way.from_id), rooms.get(way.to_id)];
  if (!one || !other || one === other) return null;
  const [[x1, y1], [x2, y2]] = [centre(one), centre(other)];
  const [dx, dy] = onEdge(x2 - x1, y2 - y1);
  return (
    <line
      class={`way ${way.shown === "dotted" ? "way-other" : ""} ${known ? "" : "unknown"}`}
      x1={x1 + dx} y1={y1 + dy} x2={x2 - dx} y2={y2 - dy}
      marker-end={way.back.length ? undefined : "url(#arrow)"}
    >
      <title>{spelled(`${one.name} – ${way.there.join(", ")} – ${other.name}${way.back.length ? `, back ${way.back.join(", ")}` : ""}`)}</title>
    </line>
  );
}

/** Where a line from the middle of a box in that direction leaves the box. */
function onEdge(dx: number, dy: number): [number, number] {
  const share = Math.min(BOX.x / 2 / Math.abs(dx || 1e-9), BOX.y / 2 / Math.abs(dy || 1e-9));
  return [dx * share, dy * share];
}

interface Box {
  room: PageRoom;
  age: number | undefined;
  known: boolean;
  named: string[];
  here: boolean;
  chosen: boolean;
  choose: (room: number) => void;
  focusable: boolean;
}

function RoomBox({ room, age, known, named, here, chosen, choose, focusable }: Box) {
  const [x, y] = centre(room);
  const name = spelled(room.name) || `Location #${room.id}`;
  const lines = folded(name);
  const labels = named.map((words) => cut(spelled(words), NAMED_LETTERS));
  if (labels.length > NAMED) labels.splice(NAMED - 1, Infinity, `and ${labels.length - NAMED + 1} more`);
  return (
    <g
      class={`room ${known ? (age === undefined ? "room-earlier" : "") : "unknown"} ${here ? "here" : ""} ${chosen ? "chosen" : ""}`}
      transform={`translate(${x},${y})`} style={{ "--age": `${Math.round((age ?? 0) * 100)}%` }}
      role="button" tabindex={focusable ? 0 : -1} aria-label={`${name}${here ? ", here" : ""}`} aria-pressed={chosen}
      onClick={() => choose(room.id)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(room.id);
      }}
    >
      <title>{[`${name} (${room.id})`, ...named.map(spelled)].join("\n")}</title>
      {known && room.untried.map((command) => <Stub key={command} command={command} kind="untried" />)}
      {known && Object.keys(room.refused).map((command) => <Stub key={command} command={command} kind="refused" />)}
      <rect x={-BOX.x / 2} y={-BOX.y / 2} width={BOX.x} height={BOX.y} rx={5} />
      {lines.map((line, each) => <text key={each} y={(each - (lines.length - 1) / 2) * 13 + 4}>{line}</text>)}
      {labels.map((line, each) => <text key={each} class="named" x={-BOX.x / 2} y={BOX.y / 2 + 9 * (each + 1)}>{line}</text>)}
    </g>
  );
}

/** An exit that was not tried (a ring), or that the story refused (a bar). */
function Stub({ command, kind }: { command: string; kind: "untried" | "refused" }) {
  const direction = DIRECTIONS[command];
  if (!direction) return null;
  const [dx, dy] = direction;
  const length = Math.hypot(dx, dy);
  const [x, y] = onEdge(dx, dy);
  const [endX, endY] = [x + (dx / length) * STUB, y + (dy / length) * STUB];
  return (
    <g class={`stub ${kind}`}>
      <line x1={x} y1={y} x2={endX} y2={endY} />
      {kind === "untried" ? <circle cx={endX} cy={endY} r={3} /> : (
        <line x1={endX - (dy / length) * 5} y1={endY + (dx / length) * 5} x2={endX + (dy / length) * 5} y2={endY - (dx / length) * 5} />
      )}
      <title>{spelled(`${command}: ${kind}`)}</title>
    </g>
  );
}

function cut(text: string, letters: number): string {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

/** A name on at most two lines. */
function folded(name: string): string[] {
  if (name.length <= LETTERS) return [name];
  const words = name.split(" ");
  let first = "";
  while (words.length > 1 && `${first} ${words[0]}`.trim().length <= LETTERS) first = `${first} ${words.shift()}`.trim();
  return first ? [first, cut(words.join(" "), LETTERS)] : [cut(name, LETTERS)];
}
