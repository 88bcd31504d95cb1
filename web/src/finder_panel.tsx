import type { Ref } from "preact";
import { useMemo } from "preact/hooks";
import { Choice } from "./choice";
import { LANES } from "./curves_view";
import { plural, signed } from "./figures";
import { placeNameOf, placeOf, playedIn, type Journey, type Step } from "./journey";
import { LongList } from "./long_list";
import { Written } from "./written";

const ROW = 34; // pixels

export interface Filter {
  text: string;
  role: string; // "" for any
  place: number | null;
  happened: string; // a kind of mark, "" for any
  scored: boolean;
  remembered: boolean; // a memory stood in the prompt
  prompts: boolean; // the text may stand in a prompt, too
}

export const NO_FILTER: Filter = { text: "", role: "", place: null, happened: "", scored: false, remembered: false, prompts: false };

export const isFiltering = (filter: Filter) =>
  Boolean(filter.text.trim() || filter.role || filter.happened || filter.scored || filter.remembered) || filter.place !== null;

/** The steps that pass the filter, in order. */
export function found(journey: Journey, filter: Filter): Step[] {
  const sought = filter.text.trim().toLowerCase();
  const lines = sought && filter.prompts ? journey.run.lines.map((line) => line.toLowerCase().includes(sought)) : null;
  const happened = new Set(journey.marks().flatMap((mark) => (mark.kind === filter.happened ? [mark.index] : [])));
  return journey.steps.filter((step) => {
    if (filter.happened && !happened.has(step.index)) return false;
    if (filter.place !== null && placeOf(step) !== filter.place) return false;
    if (filter.scored && !step.scoreChange) return false;
    if (filter.remembered && !step.read.some((key) => key.startsWith("m:"))) return false;
    if (filter.role && !step.calls.some((call) => call.event.role === filter.role)) return false;
    return !sought || journey.wordsOf(step).includes(sought) || (lines !== null && step.calls.some((call) => hasLine(call.prompt?.user, lines)));
  });
}

/** Whether one of the lines that a prompt is made of has the words; `lines`: whether each line of the run has. */
function hasLine(ranges: number[] = [], lines: boolean[]): boolean {
  return ranges.some((first, at) => at % 2 === 0 && lines.slice(first, first + ranges[at + 1]!).includes(true));
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
  const roles = useMemo(() => [...new Set(journey.run.figures.usage.map((use) => use.role))], [journey]);
  const rooms = useMemo(() => {
    const names = new Map<number, string>();
    for (const step of journey.steps) if (step.seen.location) names.set(step.seen.location.num, placeNameOf(step));
    return [...names].sort((one, other) => one[1].localeCompare(other[1])).map(([id, name]) => [id, `${name} (${id})`] as const);
  }, [journey]);
  const kinds = useMemo(() => LANES.filter(([kind]) => journey.marks().some((mark) => mark.kind === kind)), [journey]);
  const chosen = useMemo(() => steps.findIndex((step) => step.index === index), [steps, index]);
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
          <Choice name="Room" value={filter.place ?? ""} options={[["", "any"], ...rooms]} choose={(id) => set({ place: id ? Number(id) : null })} />
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
      <LongList
        count={steps.length} chosen={chosen} height={ROW} label="Turns" choose={(row) => choose(steps[row]!.index)}
        row={(row) => <TurnRow step={steps[row]!} named={isFiltering(filter) && journey.episodes.size > 1} />}
        rowClass={(row) => (steps[row]!.turn === 0 ? "row-opening" : "")}
      />
    </section>
  );
}

/** `named`: with the number of its episode. */
function TurnRow({ step, named }: { step: Step; named: boolean }) {
  const { episode, turn, seen, scoreChange: change } = step;
  return (
    <>
      <span class="row-number">{turn === 0 ? `e${episode}` : named ? `e${episode} t${turn}` : turn}</span>
      <span class="row-command"><Written text={playedIn(step)?.action ?? (turn ? "not played" : "Opening")} /></span>
      {change ? <span class={change > 0 ? "gain" : "loss"}>{signed(change)}</span> : null}
      {seen.died && <span class="loss">died</span>}
      <span class="row-place"><Written text={placeNameOf(step)} /></span>
    </>
  );
}
