import type { Ref } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { plural } from "./figures";
import { linesIn, MARKS, type Journey, type Step } from "./journey";
import { Choice } from "./table";
import { Gain, Written } from "./written";

const ROW = 34; // pixels
const AROUND = 8; // rows drawn beyond what is seen

export interface Filter {
  text: string;
  role: string; // "" for any
  place: string; // the id of a room, "" for any
  happened: string; // a kind of mark, "" for any
  scored: boolean;
  remembered: boolean; // a memory stood in the prompt
  prompts: boolean; // the text may stand in a prompt, too
}

export const NO_FILTER: Filter = { text: "", role: "", place: "", happened: "", scored: false, remembered: false, prompts: false };

export const isFiltering = ({ text, role, place, happened, scored, remembered }: Filter) =>
  Boolean(text.trim() || role || place || happened || scored || remembered);

/** The steps that pass the filter, in order. */
export function found(journey: Journey, filter: Filter): Step[] {
  const sought = filter.text.trim().toLowerCase();
  const lines = sought && filter.prompts ? journey.run.lines.map((line) => line.toLowerCase().includes(sought)) : [];
  return journey.steps.filter((step) => {
    if (filter.happened && !step.marks.some((mark) => mark.kind === filter.happened)) return false;
    if (filter.place && String(step.place) !== filter.place) return false;
    if (filter.scored && !step.scoreChange) return false;
    if (filter.remembered && !step.read.some((key) => journey.memories.has(key))) return false;
    if (filter.role && !step.calls.some((call) => call.event.role === filter.role)) return false;
    return !sought || journey.wordsOf(step).includes(sought) || step.calls.some((call) => linesIn(call.prompt?.user ?? [], lines).includes(true));
  });
}

interface Finder {
  journey: Journey;
  steps: Step[];
  filter: Filter;
  setFilter: (filter: Filter) => void;
  index: number;
  choose: (index: number) => void;
  search: Ref<HTMLInputElement>;
}

/** The turns of the run as a list, all of them or those that are sought. */
export function FinderPanel({ journey, steps, filter, setFilter, index, choose, search }: Finder) {
  const roles = [...new Set(journey.run.figures.usage.map((use) => use.role))];
  const [rooms, kinds] = useMemo(() => {
    const names = new Map(journey.steps.flatMap(({ place, placeName }) => (place === null ? [] : [[place, placeName] as const])));
    const happened = new Set(journey.steps.flatMap(({ marks }) => marks.map(({ kind }) => kind)));
    return [
      [...names].sort((one, other) => one[1].localeCompare(other[1])).map(([id, name]) => [id, `${name} (${id})`] as const),
      Object.entries(MARKS).filter(([kind]) => happened.has(kind)),
    ];
  }, [journey]);
  const set = (change: Partial<Filter>) => setFilter({ ...filter, ...change });

  return (
    <section class="finder" aria-label="Turns">
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          ref={search} type="search" aria-label="Search the turns" placeholder="Search the turns  ( / )"
          value={filter.text} onInput={(event) => set({ text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === "Enter" && steps[0]) choose((steps.find((step) => step.index > index) ?? steps[0]).index);
          }}
        />
        <details class="filters">
          <summary>Filter</summary>
          <Choice name="Role asked" value={filter.role} options={[["", "any"], ...roles.map((role) => [role, role] as const)]} choose={(role) => set({ role })} />
          <Choice name="Room" value={filter.place} options={[["", "any"], ...rooms]} choose={(place) => set({ place })} />
          <Choice name="What happened" value={filter.happened} options={[["", "any"], ...kinds]} choose={(happened) => set({ happened })} />
          <label class="check"><input type="checkbox" checked={filter.scored} onChange={(event) => set({ scored: event.currentTarget.checked })} /> Score changed</label>
          <label class="check"><input type="checkbox" checked={filter.remembered} onChange={(event) => set({ remembered: event.currentTarget.checked })} /> Memory used</label>
          <label class="check"><input type="checkbox" checked={filter.prompts} onChange={(event) => set({ prompts: event.currentTarget.checked })} /> Search prompts, too</label>
        </details>
        <p class="found" role="status">
          {isFiltering(filter) ? (
            <>
              {plural(steps.length, "turn")} found <button type="button" class="quiet" onClick={() => setFilter(NO_FILTER)}>Show all</button>
            </>
          ) : (
            plural(steps.filter((step) => step.turn > 0).length, "turn")
          )}
        </p>
      </form>
      <TurnList steps={steps} index={index} choose={choose} named={isFiltering(filter) && journey.episodes.size > 1} />
    </section>
  );
}

/** A list of turns, of which only those in sight are in the document; `named`: with the number of their episode. */
function TurnList({ steps, index, choose, named }: { steps: Step[]; index: number; choose: (index: number) => void; named: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const chosen = steps.findIndex((step) => step.index === index);
  const first = Math.max(0, Math.floor(scrolled / ROW) - AROUND);
  const drawn = steps.slice(first, Math.ceil((scrolled + screen.height) / ROW) + AROUND);

  useLayoutEffect(() => {
    const { scrollTop, clientHeight } = box.current!;
    const top = chosen * ROW;
    const isInSight = top >= scrollTop + ROW && top + 2 * ROW <= scrollTop + clientHeight;
    if (chosen >= 0 && !isInSight) box.current!.scrollTop = top - clientHeight / 3;
  }, [chosen, steps.length]);

  function move(event: KeyboardEvent) {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!by || !steps.length) return;
    event.preventDefault();
    choose(steps[Math.min(steps.length - 1, Math.max(0, chosen + by))]!.index);
  }

  return (
    <div
      ref={box} class="turn-list" role="listbox" tabIndex={0} aria-label="Turns" onKeyDown={move}
      onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}
      aria-activedescendant={drawn.some((step) => step.index === index) ? `row-${chosen}` : undefined}
    >
      <div role="presentation" style={{ height: `${steps.length * ROW}px` }}>
        {drawn.map(({ index: at, episode, turn, seen, proposal, scoreChange, placeName }, each) => (
          <div
            key={at} id={`row-${first + each}`} role="option" aria-selected={at === index} aria-setsize={steps.length} aria-posinset={first + each + 1}
            class={turn === 0 ? "row row-opening" : "row"} onClick={() => choose(at)}
            style={{ transform: `translateY(${(first + each) * ROW}px)`, height: `${ROW}px` }}
          >
            <span class="row-number">{turn === 0 ? `e${episode}` : named ? `e${episode} t${turn}` : turn}</span>
            <span class="row-command"><Written text={proposal?.action ?? (turn ? "not played" : "Opening")} /></span>
            <Gain points={scoreChange} />
            {seen.died && <span class="loss">died</span>}
            <span class="row-place"><Written text={placeName} /></span>
          </div>
        ))}
      </div>
    </div>
  );
}
