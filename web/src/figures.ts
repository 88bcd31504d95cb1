// Numbers and times as a person reads them. What is not known is a dash.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (value: number | null | undefined) => (value == null ? "–" : whole.format(value));

export const short = (value: number | null | undefined) =>
  value == null ? "–" : Math.abs(value) < 1000 ? String(Math.round(value * 100) / 100) : new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);

export function dollars(value: number | null | undefined): string {
  if (value == null) return "–";
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(2)}`;
}

export function seconds(value: number | null | undefined): string {
  if (value == null) return "–";
  if (value < 100) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  const minutes = Math.round(value / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const signed = (value: number) => (value > 0 ? `+${short(value)}` : short(value).replace("-", "−"));

export const plural = (number: number, one: string, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

const ENDS: Record<string, string> = {
  crashed: "the story crashed",
  turn_limit: "turn limit",
  unfinished: "not finished",
};

export const endInWords = (end: string) => ENDS[end] ?? end;
