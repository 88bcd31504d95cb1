// What a report is made of, as `zorkgpt report` writes it into the page. `null`: not recorded, or not known.
import type { GameObject, PageCall, PageRun, PageTurn, Report } from "./report_types";

export type * from "./report_types";

const FORMAT = 2;

/** Unpack the report out of its element: gzip in base64. */
export async function unpacked(element: HTMLElement): Promise<Report> {
  const packed = atob(element.textContent!.trim());
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const report = (await new Response(plain).json()) as Report;
  if (report.format !== FORMAT) throw new Error(`it is of format ${report.format}, and this page shows format ${FORMAT}`);
  return report;
}

/** Return a text from the run's table of lines (first, count, first, count ...); `null` if it is not known. */
export function textOf(run: PageRun, ranges: number[] | undefined): string | null {
  if (!ranges) return null;
  const lines: string[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    const first = ranges[at]!;
    for (let line = first; line < first + ranges[at + 1]!; line++) lines.push(run.lines[line] ?? "");
  }
  return lines.join("\n");
}

/** The id of the room that the turn ended in. */
export const placeOf = ({ seen }: PageTurn) => seen.location?.num ?? null;

export const placeNameOf = ({ seen: { location } }: PageTurn) => (location ? location.name || `Location #${location.num}` : "");

export const namesOf = (things: GameObject[] | null) => things && things.map(({ name, num }) => name || `object #${num}`);

/** What was proposed last, which is what was played; none at the opening and in a turn that was not played. */
export const playedIn = (turn: PageTurn) => turn.proposals.at(-1) ?? null;

export const isUnplayed = (turn: PageTurn) => turn.turn > 0 && !turn.proposals.length;

/** Tokens and dollars of model calls; dollars are those of the calls with a known price. */
export function costOf(calls: PageCall[]) {
  const cost = { prompt: 0, cached: 0, completion: 0, dollars: null as number | null };
  for (const { event, dollars } of calls) {
    cost.prompt += event.prompt_tokens;
    cost.cached += event.cached_tokens;
    cost.completion += event.completion_tokens;
    if (dollars !== null) cost.dollars = (cost.dollars ?? 0) + dollars;
  }
  return cost;
}
