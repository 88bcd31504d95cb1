import { useMemo, useState } from "preact/hooks";
import type { Item, RunMoment } from "./data";
import { plural } from "./figures";
import { ItemText, KINDS, Moments } from "./items";
import { momentOf, type Journey } from "./journey";

/** All that was known at a moment: memories, knowledge, routes and objectives, with the turns that taught them. */
export function LearntView({ journey, index, run }: { journey: Journey; index: number; run: number }) {
  const [text, setText] = useState("");
  const known = useMemo(() => [...journey.knownAt(index).values()], [journey, index]);
  const taught = useMemo(() => {
    const turns = new Map<string, RunMoment[]>();
    for (const step of journey.steps) {
      for (const { key } of step.changes) turns.set(key, [...(turns.get(key) ?? []), momentOf(step)]);
    }
    return turns;
  }, [journey]);
  const sought = text.trim().toLowerCase();
  const fits = (item: Item) => !sought || `${item.title}\n${item.text}\n${item.tags.join(" ")}`.toLowerCase().includes(sought);
  const step = journey.steps[index]!;
  return (
    <div class="learnt-view">
      <p class="labels">
        {journey.run.learnt_known ? `What was known after episode ${step.episode}, turn ${step.turn}` : "What was known at the end; which turn taught it is not known"}
      </p>
      <input type="search" aria-label="Search what was learnt" placeholder="Search what was learnt" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <div class="learnt-kinds">
        {Object.entries(KINDS).map(([kind, title]) => {
          const items = known.filter((item) => item.kind === kind && fits(item));
          return (
            <section key={kind}>
              <h2>{title} <span class="label">{plural(items.length, "entry", "entries")}</span></h2>
              <ul class="items">
                {items.map((item) => (
                  <li key={item.key} class={item.tags.includes("superseded") ? "gone" : ""}>
                    <ItemText item={item} />
                    <Moments moments={taught.get(item.key) ?? []} run={run} most={6} />
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </div>
    </div>
  );
}
