import type { Ref } from "preact";
import { useMemo } from "preact/hooks";
import { isUnplayed, placeNameOf, playedIn } from "./data";
import { isFiltering, NO_FILTER, type Filter } from "./filter";
import { plural, signed } from "./figures";
import type { Journey, Step } from "./journey";
import { LongList } from "./long_list";
import { spelled, Written } from "./written";

const ROW = 34; // pixels

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
  const roles = useMemo(() => [...new Set(journey.run.usage.map((use) => use.role))], [journey]);
  const rooms = useMemo(() => {
    const names = new Map<number, string>();
    for (const { turn } of journey.steps) if (turn.seen.location) names.set(turn.seen.location.num, placeNameOf(turn));
    return [...names].sort((one, other) => one[1].localeCompare(other[1]));
  }, [journey]);
  const chosen = useMemo(() => steps.findIndex((step) => step.index === index), [steps, index]);
  const set = (change: Partial<Filter>) => setFilter({ ...filter, ...change });

  return (
    <section class="finder" aria-label="Turns">
      <form role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          ref={search}
          type="search"
          aria-label="Search the turns"
          placeholder="Search the turns  ( / )"
          value={filter.text}
          onInput={(event) => set({ text: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === "Enter" && steps[0]) choose((steps.find((step) => step.index > index) ?? steps[0]).index);
          }}
        />
        <details class="filters">
          <summary>Filter</summary>
          <label class="field">
            Role asked
            <select value={filter.role} onChange={(event) => set({ role: event.currentTarget.value })}>
              <option value="">any</option>
              {roles.map((role) => <option key={role} value={role}>{role}</option>)}
            </select>
          </label>
          <label class="field">
            Room
            <select value={filter.place ?? ""} onChange={(event) => set({ place: event.currentTarget.value ? Number(event.currentTarget.value) : null })}>
              <option value="">any</option>
              {rooms.map(([id, name]) => <option key={id} value={id}>{spelled(name)} ({id})</option>)}
            </select>
          </label>
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
            plural(steps.filter((step) => step.turn.turn > 0).length, "turn")
          )}
        </p>
      </form>
      <LongList
        count={steps.length}
        chosen={chosen}
        height={ROW}
        label="Turns"
        choose={(row) => choose(steps[row]!.index)}
        row={(row) => <TurnRow step={steps[row]!} named={isFiltering(filter) && journey.run.episodes.length > 1} />}
        rowClass={(row) => (steps[row]!.turn.turn === 0 ? "row-opening" : "")}
      />
    </section>
  );
}

/** `named`: with the number of its episode. */
function TurnRow({ step: { episode, turn }, named }: { step: Step; named: boolean }) {
  const change = turn.score_change;
  return (
    <>
      <span class="row-number">{turn.turn === 0 ? `e${episode}` : named ? `e${episode} t${turn.turn}` : turn.turn}</span>
      <span class="row-command"><Written text={playedIn(turn)?.action ?? (isUnplayed(turn) ? "not played" : "Opening")} /></span>
      {change ? <span class={change > 0 ? "gain" : "loss"}>{signed(change)}</span> : null}
      {turn.seen.died && <span class="loss">died</span>}
      <span class="row-place"><Written text={placeNameOf(turn)} /></span>
    </>
  );
}
