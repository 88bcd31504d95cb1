// What a report is made of, as `zorkgpt report` writes it into the page. `null`: not recorded, or not known.

/** A text as ranges of the run's table of lines: first, count, first, count ... */
export type Ranges = number[];
/** Episode and turn; turn 0 is the opening. */
export type Moment = [number, number];

export interface Report {
  format: number;
  kind: "runs" | "ablation";
  program: string;
  follow: boolean;
  runs: Run[];
  ablation: Ablation | null;
}

export interface Note {
  text: string;
  moment: Moment | null;
}

export interface Usage {
  role: string;
  calls: number;
  failed: number;
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  seconds: number;
  dollars: number | null;
  unpriced: number;
}

export interface Milestone {
  key: string;
  label: string;
  kind: string;
  turns: Record<string, number>; // by episode
}

export interface Mark {
  moment: Moment;
  kind: string;
  label: string;
}

export interface Run {
  id: string;
  story: string;
  story_sha256: string;
  model: string;
  assistance: string[];
  versions: Record<string, string>;
  created: string;
  command: string;
  forked_from: string;
  state: string;
  reason: string;
  planned: number;
  configuration: unknown;
  notes: Note[];
  prompts: "rebuilt" | "partly" | "none";
  usage: Usage[];
  metrics: Record<string, number | string | null>;
  lines: string[];
  start: Item[];
  learnt_known: boolean;
  end: Item[];
  map: StoryMap | null;
  milestones: Milestone[];
  marks: Mark[];
  episodes: Episode[];
}

export interface Episode {
  episode: number;
  seed: number | string;
  end: string;
  score: number | null;
  best_score: number | null;
  max_score: number | null;
  rooms: number;
  seconds: number | null;
  turns: Turn[];
}

export interface Attempt {
  command: string;
  reasoning: string;
  accepted: boolean;
  reason: string;
  source: string;
  confidence: number | null;
  follow: number | null;
  go_to: number | null;
}

export interface Turn {
  turn: number;
  at: string;
  command: string | null;
  unplayed: boolean;
  by_route: boolean;
  reasoning: string;
  attempts: Attempt[];
  text: string;
  refusal: string | null;
  from_id: number | null;
  place: number | null;
  place_name: string;
  score: number | null;
  score_change: number | null;
  moves: number | null;
  inventory: string[] | null;
  visible: string[] | null;
  died: boolean;
  ending: string | null;
  reading: { is_room_description: boolean; exits: string[]; in_combat: boolean } | null;
  seconds: number | null;
  tokens: { prompt: number; cached: number; completion: number };
  dollars: number | null;
  calls: Call[];
  read: string[];
  changes: Change[];
  events: { kind: string; text: string }[];
}

export interface Call {
  role: string;
  model: string;
  system: Ranges | null;
  user: Ranges | null;
  agrees: boolean | null;
  sha256: string;
  answer: unknown;
  thoughts: string;
  error: string | null;
  seconds: number;
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  requests: number | null;
  dollars: number | null;
}

/** Something learnt: a memory, a line of knowledge, a route or an objective. */
export interface Item {
  key: string;
  kind: string;
  title: string;
  text: string;
  place: number | null;
  tags: string[];
  by: string;
}

export interface Change {
  key: string;
  before: Item | null;
  after: Item | null;
}

export interface Room {
  id: number;
  name: string;
  x: number;
  y: number;
  first: Moment | null; // null: known from an earlier run
  untried: string[];
  refused: Record<string, string>;
}

export interface Way {
  from_id: number;
  to_id: number;
  there: string[];
  back: string[];
  shown: "solid" | "dotted" | "named"; // named: a room lies between, so that no line is drawn
  first: Moment | null;
}

export interface StoryMap {
  rooms: Room[];
  ways: Way[];
}

export interface Comparison {
  story: string;
  measure: string;
  is_share: boolean;
  first: string;
  other: string;
  pairs: number;
  difference: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  least_p: number | null;
  pairs_needed: number | null;
  pairs_to_detect: number | null;
  why_not: string;
  points: { pair: number; story: string; first: number | null; other: number | null; difference: number | null }[];
}

export interface ComparedRun {
  story: string;
  arm: string;
  pair: number;
  seed: number | string;
  model: string;
  max_score: number | null;
  folder: string;
  href: string | null;
  episodes: {
    seed: number | string;
    end: string;
    turns: number;
    score: number | null;
    best_score: number | null;
    rooms: number;
    seconds: number;
    milestones: { turn: number; score: number }[];
  }[];
}

export interface Ablation {
  title: string;
  command: string;
  assistance: string;
  models: string[];
  versions: string[];
  unit: string;
  arms: string[];
  stories: Record<string, string>;
  pairs: number;
  episodes: number;
  notes: Note[];
  conclusions: string[];
  scores: {
    story: string;
    measure: string;
    is_share: boolean;
    arm: string;
    runs: number;
    score: number | null;
    low: number | null;
    high: number | null;
  }[];
  comparisons: Comparison[];
  decisive: string;
  measures: string[];
  runs: ComparedRun[];
  milestones: { story: string; arm: string; score: number; reached: number; episodes: number; turns: number }[];
}

const FORMAT = 1;

/** Unpack the report out of its element: gzip in base64. */
export async function unpacked(element: HTMLElement): Promise<Report> {
  const packed = atob(element.textContent!.trim());
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const report = (await new Response(plain).json()) as Report;
  if (report.format !== FORMAT) throw new Error(`it is of format ${report.format}, and this page shows format ${FORMAT}`);
  return report;
}

/** Return a text from the run's table of lines; `null` where it is not known. */
export function textOf(run: Run, ranges: Ranges | null): string | null {
  if (!ranges) return null;
  const lines: string[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    const first = ranges[at]!;
    for (let line = first; line < first + ranges[at + 1]!; line++) lines.push(run.lines[line] ?? "");
  }
  return lines.join("\n");
}
