import type { Journey, Step } from "./journey";

export interface Filter {
  text: string;
  role: string; // "" for any
  place: number | null;
  scored: boolean;
  remembered: boolean; // a memory stood in the prompt
}

export const NO_FILTER: Filter = { text: "", role: "", place: null, scored: false, remembered: false };

export const isFiltering = (filter: Filter) =>
  Boolean(filter.text.trim() || filter.role || filter.scored || filter.remembered) || filter.place !== null;

/** The steps that pass the filter, in order. */
export function found(journey: Journey, filter: Filter): Step[] {
  const sought = filter.text.trim().toLowerCase();
  return journey.steps.filter((step) => {
    const { turn } = step;
    if (filter.place !== null && turn.place !== filter.place) return false;
    if (filter.scored && !turn.score_change) return false;
    if (filter.remembered && !turn.read.some((key) => key.startsWith("m:"))) return false;
    if (filter.role && !turn.calls.some((call) => call.role === filter.role)) return false;
    return !sought || journey.wordsOf(step).includes(sought);
  });
}
