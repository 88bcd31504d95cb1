import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { PageMap, PageRoom, Way } from "./data";
import { placeOf, wayBetween, type Journey } from "./journey";
import { spelled } from "./written";

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

interface Drawn {
  journey: Journey;
  index: number;
  chosen: number | null;
  choose: (room: number) => void;
  small?: boolean;
}

const centre = (room: PageRoom): [number, number] => [room.x * CELL.x, room.y * CELL.y];

/** The map as it was known at a moment, with the way that the episode had taken. */
export function Plan({ journey, index, chosen, choose, small = false }: Drawn) {
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
  const here = placeOf(journey.steps[index]!);
  const frame = small ? around(rooms.get(here ?? -1) ?? map.rooms[0]) : whole(map.rooms);
  const path = useMemo(() => pathOf(journey, index, map, rooms), [journey, index, map, rooms]);
  const isKnown = (met: number | string) => (journey.firsts.get(met) ?? 0) <= index;

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
          <marker id={small ? "arrow-small" : "arrow"} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path class="arrow" d="M0,0L8,4L0,8Z" />
          </marker>
        </defs>
        <g ref={drawing}>
          {map.ways.filter((way) => way.shown !== "named").map((way) => <WayLine key={`${way.from_id} ${way.to_id} ${way.there.join()}`} way={way} rooms={rooms} known={isKnown(wayBetween(way.from_id, way.to_id))} marker={small ? "arrow-small" : "arrow"} />)}
          <path class="path" d={path.join("")} />
          <path class="path path-latest" d={path.slice(-LATEST).join("")} />
          {map.rooms.map((room) => (
            <RoomBox key={room.id} room={room} age={ages.get(room.id)} known={isKnown(room.id)} named={namedFrom(room, map, rooms, isKnown)} here={room.id === here} chosen={room.id === chosen} choose={choose} focusable={!small} />
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
function pathOf(journey: Journey, index: number, map: PageMap, rooms: Map<number, PageRoom>): string[] {
  const path: string[] = [];
  let last: PageRoom | undefined;
  for (const step of journey.episode(journey.steps[index]!.episode).filter((each) => each.index <= index)) {
    const room = rooms.get(placeOf(step) ?? -1);
    if (room && last && room !== last) {
      const pair = [last.id, room.id];
      const isLine = map.ways.some((way) => way.shown !== "named" && pair.includes(way.from_id) && pair.includes(way.to_id));
      if (isLine) path.push(`M${centre(last).join()}L${centre(room).join()}`);
    }
    last = room ?? last;
  }
  return path;
}

/** The ways out of a room that no line shows, each in a few words. */
function namedFrom(room: PageRoom, map: PageMap, rooms: Map<number, PageRoom>, isKnown: (met: string) => boolean): string[] {
  return map.ways.filter((way) => way.shown === "named" && isKnown(wayBetween(way.from_id, way.to_id))).flatMap((way) => [
    ...(way.from_id === room.id && way.there.length ? [`${way.there.join(", ")} > ${rooms.get(way.to_id)?.name}`] : []),
    ...(way.to_id === room.id && way.back.length ? [`${way.back.join(", ")} > ${rooms.get(way.from_id)?.name}`] : []),
  ]);
}

function whole(rooms: PageRoom[]): [number, number, number, number] {
  const [xs, ys] = [rooms.map((room) => room.x), rooms.map((room) => room.y)];
  const [left, top] = [Math.min(0, ...xs), Math.min(0, ...ys)];
  const [right, bottom] = [Math.max(0, ...xs), Math.max(0, ...ys)];
  return [(left - 0.7) * CELL.x, (top - 0.7) * CELL.y, (right - left + 1.4) * CELL.x, (bottom - top + 1.4) * CELL.y];
}

function around(room: PageRoom | undefined): [number, number, number, number] {
  const [x, y] = room ? centre(room) : [0, 0];
  return [x - 1.6 * CELL.x, y - 1.7 * CELL.y, 3.2 * CELL.x, 3.4 * CELL.y];
}

function WayLine({ way, rooms, known, marker }: { way: Way; rooms: Map<number, PageRoom>; known: boolean; marker: string }) {
  const [one, other] = [rooms.get(way.from_id), rooms.get(way.to_id)];
  if (!one || !other || one === other) return null;
  const [from, to] = [edge(one, other), edge(other, one)];
  return (
    <line
      class={`way ${way.shown === "dotted" ? "way-other" : ""} ${known ? "" : "unknown"}`}
      x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]}
      marker-end={way.back.length ? undefined : `url(#${marker})`}
    >
      <title>{spelled(`${one.name} – ${way.there.join(", ")} – ${other.name}${way.back.length ? `, back ${way.back.join(", ")}` : ""}`)}</title>
    </line>
  );
}

/** Where the line between the middles of two rooms leaves the first one's box. */
function edge(room: PageRoom, other: PageRoom): [number, number] {
  const [[x, y], [toX, toY]] = [centre(room), centre(other)];
  const [dx, dy] = onEdge(toX - x, toY - y);
  return [x + dx, y + dy];
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
