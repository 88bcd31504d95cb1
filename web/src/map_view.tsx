import { useMemo, useState } from "preact/hooks";
import { plural } from "./figures";
import { ItemText, Moments } from "./items";
import { momentOf, placeOf, type Journey } from "./journey";
import { Plan } from "./plan";
import { Written } from "./written";

/** The whole map, and what is known of the room that was clicked. */
export function MapView({ journey, index, run }: { journey: Journey; index: number; run: number }) {
  const here = placeOf(journey.steps[index]!);
  const [chosen, setChosen] = useState<number | null>(null);
  const { map } = journey.run;
  if (!map?.rooms.length) return <p class="label">This run kept no map.</p>;
  return (
    <div class="map-view">
      <section aria-label="Map">
        <Plan journey={journey} index={index} chosen={chosen ?? here} choose={setChosen} />
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
      <RoomPanel journey={journey} index={index} run={run} room={chosen ?? here} />
    </div>
  );
}

function RoomPanel({ journey, index, run, room: id }: { journey: Journey; index: number; run: number; room: number | null }) {
  const room = journey.run.map!.rooms.find((each) => each.id === id);
  const known = useMemo(() => [...journey.knownAt(index).values()].filter((item) => item.kind === "memory" && item.place === id), [journey, index, id]);
  const turns = useMemo(() => journey.steps.filter((step) => placeOf(step) === id).map(momentOf), [journey, id]);
  if (!room) return <aside class="around"><p class="label">Click a room.</p></aside>;
  const refused = Object.entries(room.refused);
  return (
    <aside class="around" aria-label="Room">
      <h2 class="room-name"><Written text={room.name || `Location #${room.id}`} /> <span class="label">{room.id}</span></h2>
      {turns[0] ? <Moments moments={[turns[0]]} run={run} /> : <p class="label">Known from an earlier run.</p>}
      {room.untried.length > 0 && <section><h3>Not tried</h3><p><Written text={room.untried.join(", ")} /></p></section>}
      {refused.length > 0 && (
        <section>
          <h3>Refused</h3>
          <dl class="plain">{refused.map(([command, answer]) => <div key={command}><dt><Written text={command} /></dt><dd><Written text={answer} /></dd></div>)}</dl>
        </section>
      )}
      <section>
        <h3>{plural(known.length, "memory", "memories")}{journey.run.learnt_known ? "" : " at the end of the run"}</h3>
        <ul class="items">{known.map((item) => <li key={item.key} class={item.tags.includes("superseded") ? "gone" : ""}><ItemText item={item} /></li>)}</ul>
      </section>
      <section>
        <h3>{plural(turns.length, "turn")} that ended here</h3>
        <Moments moments={turns} run={run} />
      </section>
    </aside>
  );
}
