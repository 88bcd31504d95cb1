import { addressOf } from "./address";
import type { Item, ItemChange, RunMoment } from "./data";
import { Changed, Written } from "./written";

export const KINDS: Record<string, string> = { memory: "Memories", knowledge: "Knowledge", route: "Routes", objective: "Objectives" };

/** Something learnt, whole. */
export function ItemText({ item }: { item: Item }) {
  return (
    <>
      {item.title && <strong><Written text={item.title} /></strong>}{" "}
      <span class="label"><Written text={[item.kind, ...item.tags].join(", ")} /></span>
      {item.text && <p class="item-text"><Written text={item.kind === "route" ? item.text.replaceAll("\n", ", ") : item.text} /></p>}
      {item.by && <p class="label"><Written text={item.by} /></p>}
    </>
  );
}

const wholeOf = (item: Item) => [item.title, item.tags.join(", "), item.text].filter(Boolean).join("\n");

/** Something that was learnt, changed or given up, as a difference. */
export function ChangedItem({ change: { before, after } }: { change: ItemChange }) {
  if (before && after) {
    return (
      <li class="changed">
        <span class="label">{after.kind} changed</span>
        <Changed before={wholeOf(before)} now={wholeOf(after)} />
      </li>
    );
  }
  if (after) return <li class="new"><ins><ItemText item={after} /></ins></li>;
  return before ? <li class="gone"><del><ItemText item={before} /></del></li> : null;
}

/** Links to moments: the first of them, and how many there are besides. */
export function Moments({ moments, run, most = 40 }: { moments: RunMoment[]; run: number; most?: number }) {
  return (
    <p class="moments">
      {moments.slice(0, most).map((moment) => <a key={moment.join()} href={addressOf(run, moment)}>e{moment[0]} t{moment[1]}</a>)}
      {moments.length > most && <span class="label">and {moments.length - most} more</span>}
    </p>
  );
}
