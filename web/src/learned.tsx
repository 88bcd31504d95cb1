import { rollup } from "d3-array";
import { useMemo, useState } from "preact/hooks";
import type { Item, ItemChange } from "../../build/report_types";
import { plural } from "./figures";
import type { Journey, Step } from "./journey";
import { Changed, Written } from "./written";

const KINDS: Record<string, string> = { memory: "Memories", knowledge: "Knowledge", route: "Routes", objective: "Objectives" };

/** All that was known at a moment: memories, knowledge, routes and objectives, with the turns that taught them. */
export function LearnedView({ journey, step }: { journey: Journey; step: Step }) {
  const [text, setText] = useState("");
  const known = useMemo(() => [...journey.knownAt(step.index).values()], [step]);
  const taught = useMemo(() => {
    const lessons = journey.steps.flatMap((each) => each.changes.map(({ key }) => ({ key, step: each })));
    return rollup(lessons, (of) => of.map((lesson) => lesson.step), ({ key }) => key);
  }, [journey]);
  const sought = text.trim().toLowerCase();
  const fits = (item: Item) => !sought || `${item.title}\n${item.text}\n${item.tags.join(" ")}`.toLowerCase().includes(sought);
  return (
    <>
      <p class="labels">
        {journey.run.learned_known ? `What was known after episode ${step.episode}, turn ${step.turn}` : "What was known at the end; which turn taught it is not known"}
      </p>
      <input type="search" aria-label="Search what was learned" placeholder="Search what was learned" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <div class="learned-kinds">
        {Object.entries(KINDS).map(([kind, title]) => {
          const items = known.filter((item) => item.kind === kind && fits(item));
          return (
            <section key={kind}>
              <h2>{title} <span class="label">{plural(items.length, "entry", "entries")}</span></h2>
              <Items items={items} taught={taught} journey={journey} />
            </section>
          );
        })}
      </div>
    </>
  );
}

/** A list of things learned, with the turns that taught them if these are given by their keys, and their stories. */
export function Items({ items, taught, journey }: { items: Item[]; taught?: Map<string, Step[]>; journey?: Journey }) {
  return (
    <ul class="items">
      {items.map((item) => (
        <li key={item.key} class={item.tags.includes("superseded") ? "gone" : ""}>
          <ItemText item={item} />
          {taught && <Moments steps={taught.get(item.key) ?? []} most={6} />}
          {journey && item.kind !== "objective" && <StoryOf item={item} journey={journey} />}
        </li>
      ))}
    </ul>
  );
}

/** What became of something learned in this run: born, shown, confirmed, superseded. */
function StoryOf({ item, journey }: { item: Item; journey: Journey }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="label">Its story</summary>
      {open && (
        <dl class="plain">
          {Object.entries(storyOf(item, journey)).map(([name, steps]) => (
            <div key={name}><dt>{name}</dt><dd>{steps.length ? <Moments steps={steps} most={12} /> : "in no turn of this run"}</dd></div>
          ))}
        </dl>
      )}
    </details>
  );
}

/** The steps of each part of the story of something learned. The commands of its turns may have been played again since. */
function storyOf(item: Item, { steps, run }: Journey): Record<string, Step[]> {
  const { key } = item;
  const changes = steps.flatMap((step) => step.changes.filter((each) => each.key === key));
  const older = run.start.find((each) => each.key === key);
  const sources = [item, older, ...changes.map(({ after }) => after)].flatMap((each) => each?.sources ?? []);
  const isGone = (item: Item | null) => !item || item.tags.includes("superseded");
  const changed = (fits: (change: ItemChange) => boolean) => steps.filter((step) => step.changes.some((each) => each.key === key && fits(each)));
  const cited = steps.filter(({ episode, turn }) => sources.some(([cited, first, last]) => cited === episode && first <= turn && turn <= last));
  const { learned_known: isKnown, figures } = run;
  const placeBefore = (step: Step) => steps[step.index - 1]?.place ?? null;
  const isOfArrival = (step: Step) => item.tags.includes("core") && placeBefore(step) === item.place; // it cites the first turn of a visit
  const again = cited.filter((step) => !isOfArrival(step)).flatMap((first) => steps.slice(first.index + 1)
    .filter((step) => first.proposal && step.proposal?.action.toLowerCase() === first.proposal.action.toLowerCase() && placeBefore(first) !== null && placeBefore(step) === placeBefore(first))
    .map((step) => ({ step, isSame: step.seen.text === first.seen.text && step.scoreChange === first.scoreChange })));
  const repeated = (wanted: boolean) => [...new Set(again.filter(({ isSame }) => isSame === wanted).map(({ step }) => step))];
  return {
    "taught by": cited.map((step) => (isOfArrival(step) ? steps[step.index - 1]! : step)),
    ...(isKnown && {
      [older ? "born before this run; again" : "born"]: changed(({ before, after, by_others }) => !before && !!after && !by_others),
      "edited by hand or by others": changed(({ by_others }) => by_others),
    }),
    // what a player without a model was shown is not recorded
    ...(isKnown && !figures.run.player && { shown: steps.filter(({ read }) => read.includes(key)) }),
    "same command, same result": repeated(true),
    "same command, another result": repeated(false),
    ...(isKnown && { "superseded or gone": changed(({ before, after }) => !isGone(before) && isGone(after)) }),
  };
}

/** Something learned, whole. */
function ItemText({ item }: { item: Item }) {
  return (
    <>
      {item.title && <strong><Written text={item.title} /></strong>}{" "}
      <span class="label"><Written text={[item.kind, ...item.tags].join(", ")} /></span>
      {item.text && <p class="item-text"><Written text={textOf(item)} /></p>}
      {item.by && <p class="label"><Written text={item.by} /></p>}
    </>
  );
}

/** The text of something learned; the commands of a route are one line. */
const textOf = (item: Item) => (item.kind === "route" ? item.text.replaceAll("\n", ", ") : item.text);

const wholeOf = (item: Item) => [item.title, item.tags.join(", "), textOf(item)].filter(Boolean).join("\n");

/** Something that was learned, changed or given up, as a difference. */
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

/** Links to turns: the first of them, and how many there are besides. */
export function Moments({ steps, most = 40 }: { steps: Step[]; most?: number }) {
  return (
    <p class="moments">
      {steps.slice(0, most).map(({ href, episode, turn }) => <a key={href} href={href}>e{episode} t{turn}</a>)}
      {steps.length > most && <span class="label">and {steps.length - most} more</span>}
    </p>
  );
}
