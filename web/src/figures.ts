// Numbers, times and events as a person or a spreadsheet reads them. What is not known is a dash.
import type { PageEvent } from "../../build/report_types";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (value: number | null | undefined) => (value == null ? "–" : whole.format(value));

export const short = (value: number | null | undefined) =>
  value == null ? "–" : Math.abs(value) < 1000 ? String(Math.round(value * 100) / 100) : new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);

export function dollars(value: number | null | undefined): string {
  if (value == null) return "–";
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(2)}`;
}

/** What calls cost: a turn without a call costs nothing, and a call of unknown price is named. */
export function costInWords({ dollars: known, unpriced }: { dollars: number | null; unpriced: number }): string {
  if (!unpriced) return dollars(known ?? 0);
  return known === null ? "no price known" : `${dollars(known)} and ${plural(unpriced, "call")} of unknown price`;
}

/** Tokens of calls; a call that the server did not count is named. */
export function tokensInWords({ tokens, uncounted }: { tokens: number | null; uncounted: number }, unit = ""): string {
  return short(tokens) + unit + (tokens !== null && uncounted ? ` and ${plural(uncounted, "call")} of unknown count` : "");
}

/** The names of models without the folder or organisation before each. */
export const shortName = (models: string[]) => models.map((model) => model.replace(/^.*\/(?=[^/]+$)/, "")).join(", ");

export const share = (value: number | null) => (value === null ? "–" : `${Math.round(1000 * value) / 10} %`);

export function seconds(value: number | null | undefined): string {
  if (value == null) return "–";
  if (value < 100) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  const minutes = Math.round(value / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const ofMaximum = (value: number | null, most: number | null) => (value === null || most === null ? count(value) : `${count(value)} of ${count(most)}`);

export const signed = (value: number) => (value > 0 ? `+${short(value)}` : short(value).replace("-", "−"));

export const plural = (number: number, one: string, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

const ENDS: Record<string, string> = { crashed: "the story crashed", turn_limit: "turn limit", unfinished: "not finished" };

export const endInWords = (end: string) => ENDS[end] ?? end;

/** An event that is no turn and no model call, in a line; `null` for one that tells a reader nothing. */
export function inWords(event: PageEvent["event"]): string | null {
  switch (event.kind) {
    case "game_failed":
      return `${event.command || "looking ahead"}: ${event.error}`;
    case "memory_removed":
      return `Memory removed: ${event.title}`;
    case "memory_given":
      return event.answer.should_remember
        ? `Remembered by the player: ${event.answer.memory_title}`
        : `Invalidated by the player: ${event.answer.invalidate_memory_titles}`;
    case "file_edited":
      return `Edited by someone else: ${event.file}`;
    case "run_paused":
      return `Paused: ${event.reason}`;
    case "options_changed":
      return `Options changed: ${Object.entries(event.options).map(([name, value]) => `${name} = ${value ?? "unset"}`).join(", ")}`;
    case "routes_proven":
      return `Tried out: ${plural(event.routes.length, "route")}`;
    default:
      return null;
  }
}

/** Let the browser save a text as a file. */
export function download(name: string, text: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: name.endsWith(".csv") ? "text/csv" : "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Rows as CSV. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function asCsv(rows: object[]): string {
  const cell = (value: unknown) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [Object.keys(rows[0] ?? {}), ...rows.map(Object.values)].map((row) => `${row.map(cell).join(",")}\n`).join("");
}
