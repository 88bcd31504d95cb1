import { placeOf, type PageRun } from "./data";
import type { Journey, Step } from "./journey";

export interface Filter {
  text: string;
  role: string; // "" for any
  place: number | null;
  scored: boolean;
  remembered: boolean; // a memory stood in the prompt
  prompts: boolean; // the text may stand in a prompt, too
}

export const NO_FILTER: Filter = { text: "", role: "", place: null, scored: false, remembered: false, prompts: false };

export const isFiltering = (filter: Filter) =>
  Boolean(filter.text.trim() || filter.role || filter.scored || filter.remembered) || filter.place !== null;

/** The steps that pass the filter, in order. */
export function found(journey: Journey, filter: Filter): Step[] {
  const sought = filter.text.trim().toLowerCase();
  const lines = sought && filter.prompts ? linesWith(journey.run, sought) : null;
  return journey.steps.filter((step) => {
    const { turn } = step;
    if (filter.place !== null && placeOf(turn) !== filter.place) return false;
    if (filter.scored && !turn.score_change) return false;
    if (filter.remembered && !turn.read.some((key) => key.startsWith("m:"))) return false;
    if (filter.role && !turn.calls.some((call) => call.event.role === filter.role)) return false;
    return !sought || journey.wordsOf(step).includes(sought) || (lines !== null && turn.calls.some((call) => hasLine(call.prompt?.user, lines)));
  });
}

/** For each line of the run's table, how many lines up to it have the words. */
function linesWith(run: PageRun, sought: string): Uint32Array {
  const counts = new Uint32Array(run.lines.length + 1);
  run.lines.forEach((line, at) => (counts[at + 1] = counts[at]! + Number(line.toLowerCase().includes(sought))));
  return counts;
}

function hasLine(ranges: number[] | undefined, counts: Uint32Array): boolean {
  for (let at = 0; ranges && at < ranges.length; at += 2) {
    const first = ranges[at]!;
    if (counts[first + ranges[at + 1]!]! > counts[first]!) return true;
  }
  return false;
}
