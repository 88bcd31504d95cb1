// What a report is made of, as `zorkgpt report` writes it into the page. `null`: not recorded, or not known.
import type { GameObject, ModelAnswered, ModelFailed, PageEvent, PageRun, Report } from "../../build/report_types";

export type * from "../../build/report_types";

export type Event = PageEvent["event"];

/** A model call. */
export interface PageCall extends PageEvent {
  event: ModelAnswered | ModelFailed;
}

/** Unpack the report out of its element: gzip in base64. */
export async function unpacked(element: HTMLElement): Promise<Report> {
  const packed = atob(element.textContent!.trim());
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(plain).json()) as Report;
}

/** Return a text from the run's table of lines (first, count, first, count ...); `null` if it is not known. */
export function textOf(run: PageRun, ranges: number[] | undefined): string | null {
  if (!ranges) return null;
  const lines: string[] = [];
  for (let at = 0; at < ranges.length; at += 2) lines.push(...run.lines.slice(ranges[at], ranges[at]! + ranges[at + 1]!));
  return lines.join("\n");
}

export const isCall = (each: PageEvent): each is PageCall => each.event.kind === "model_answered" || each.event.kind === "model_failed";

/** The event of that kind, if it is among these. */
export function eventOf<K extends Event["kind"]>(events: PageEvent[], kind: K) {
  return events.find(({ event }) => event.kind === kind)?.event as Extract<Event, { kind: K }> | undefined;
}

export const namesOf = (things: GameObject[] | null) => things && things.map(({ name, num }) => name || `object #${num}`);
