import { sum } from "d3-array";
import type {
  EpisodeStarted, GameObject, Item, ItemChange, ModelAnswered, ModelFailed, Observation, PageEvent, PageRun, Proposal, TurnPlayed,
} from "../../build/report_types";
import { inWords } from "./figures";

/** A model call. */
export interface PageCall extends PageEvent {
  event: ModelAnswered | ModelFailed;
}

interface Spent {
  tokens: number | null; // of the calls that the server counted; null if there are none
  uncounted: number; // calls that it did not count
  dollars: number | null; // of the calls with a known price; null if there are none
  unpriced: number; // calls without one
}

/** A moment of a run with what had come about until then. */
export interface Step {
  index: number;
  episode: number;
  turn: number; // 0: the opening
  turnOfRun: number; // of all episodes together; at an opening that of the turn before
  href: string;
  seen: Observation; // after it
  place: number | null; // the id of the room that it ended in
  placeName: string;
  played: TurnPlayed | undefined; // none at the opening, and in a turn that was not played
  proposal: Proposal | undefined; // the last one, which is what was played
  scoreChange: number | null;
  calls: PageCall[];
  cost: ReturnType<typeof costOf>;
  events: string[]; // what else happened
  read: string[];
  changes: ItemChange[];
  marks: { kind: string; label: string }[]; // deaths, ends, new best scores, discoveries and what was learned
  rooms: number | null; // of the episode; null if no location was known
  spent: Spent;
  spentInEpisode: Spent;
}

/** Kinds of marks, with their names. */
export const MARKS: Record<string, string> = {
  death: "Deaths", won: "Victories", lost: "Defeats", score: "Points", room: "Rooms discovered",
  memory: "Memories learned", knowledge: "Knowledge", route: "Routes", objective: "Objectives",
};

/** An address such as `#e2t47`, `#r2e2t47` or `#e2t47/map`; `run`: from 0. */
export function addressOf(run: number, episode: number, turn: number, view = "turn"): string {
  return `#${run ? `r${run + 1}` : ""}e${episode}t${turn}${view === "turn" ? "" : `/${view}`}`;
}

export const namesOf = (things: GameObject[] | null) => things && things.map(({ name, num }) => name || `object #${num}`);

export const wayBetween = (one: number, other: number) => `${Math.min(one, other)} ${Math.max(one, other)}`;

/** What is in these ranges (first, count, first, count ...) of a list that has an entry for each line of a run. */
export function linesIn<Entry>(ranges: number[], entries: Entry[]): Entry[] {
  return ranges.flatMap((first, at) => (at % 2 ? [] : entries.slice(first, first + ranges[at + 1]!)));
}

export const isCounted = ({ event }: PageCall) => event.prompt_tokens + event.completion_tokens > 0 || !event.requests;

/** What model calls took. Prompt, cached and answers are `null` if the server did not count all of them; see also `Spent`. */
function costOf(calls: PageCall[]) {
  const counted = calls.filter(isCounted);
  const uncounted = calls.filter((call) => !isCounted(call) && !(call.event.kind === "model_failed" && call.event.failure === "unavailable")).length;
  const all = (of: (call: PageCall) => number) => (uncounted ? null : sum(counted, of));
  return {
    prompt: all(({ event }) => event.prompt_tokens),
    cached: all(({ event }) => event.cached_tokens),
    completion: all(({ event }) => event.completion_tokens),
    tokens: uncounted && !counted.length ? null : sum(counted, ({ event }) => event.prompt_tokens + event.completion_tokens),
    uncounted,
    dollars: calls.some((call) => call.dollars !== null) ? sum(calls, (call) => call.dollars) : null,
    unpriced: calls.filter(({ event, dollars }) => dollars === null && (event.kind === "model_answered" || event.prompt_tokens + event.completion_tokens > 0)).length,
  };
}

/** A run as one row of moments, its episodes one after another; `number`: of the run on the page, from 0. */
export class Journey {
  readonly steps: Step[] = [];
  /** The steps of each episode, by its number, oldest first. */
  readonly episodes = new Map<number, Step[]>();
  /** The step at which a room (by its id) or a way (as of `wayBetween`) was first met. */
  readonly firsts = new Map<number | string, number>();
  /** The keys of all memories that the run ever had. */
  readonly memories: Set<string>;
  private readonly words: string[] = [];

  constructor(readonly run: PageRun, readonly number: number) {
    const learned = run.turns.flatMap(({ changes }) => changes.flatMap(({ after }) => after ?? []));
    const items = [...run.start, ...run.end, ...learned];
    this.memories = new Set(items.filter(({ kind }) => kind === "memory").map(({ key }) => key));
    let rooms = new Set<number>();
    let best: number | null = null;
    for (const { episode, turn, events, read, changes } of run.turns) {
      const index = this.steps.length;
      if (turn === 0) {
        rooms = new Set();
        this.episodes.set(episode, []);
      }
      const [last, before] = [this.steps.at(-1), this.episode(episode).at(-1)];
      const happened = events.map(({ event }) => event);
      const played = happened.find((event): event is TurnPlayed => event.kind === "turn_played");
      const started = happened.find((event): event is EpisodeStarted => event.kind === "episode_started");
      const seen = played?.record.after ?? started?.opening ?? { ...before!.seen, text: "", died: false };
      const { location, score, ending } = seen;
      const place = location?.num ?? null;
      const placeName = location ? location.name || `Location #${location.num}` : "";

      const marks: Step["marks"] = changes.flatMap(({ before: old, after }) => (old || !after ? [] : [{ kind: after.kind, label: after.title }]));
      if (place !== null) {
        rooms.add(place);
        if (!this.firsts.has(place)) marks.push({ kind: "room", label: placeName });
        const met = before && before.place !== null && before.place !== place ? [place, wayBetween(before.place, place)] : [place];
        for (const each of met) if (!this.firsts.has(each)) this.firsts.set(each, index);
      }
      if (seen.died) marks.push({ kind: "death", label: placeName });
      if ((ending === "won" || ending === "lost") && before?.seen.ending !== ending) marks.push({ kind: ending, label: placeName });
      if (best !== null && score !== null && score > best) marks.push({ kind: "score", label: `${score} points` });
      if (score !== null) best = Math.max(best ?? score, score);

      const calls = events.filter((each): each is PageCall => each.event.kind === "model_answered" || each.event.kind === "model_failed");
      const cost = costOf(calls);
      const add = ({ tokens, uncounted, dollars, unpriced }: Spent = { tokens: 0, uncounted: 0, dollars: null, unpriced: 0 }): Spent => ({
        tokens: cost.tokens === null ? tokens || null : (tokens ?? 0) + cost.tokens,
        uncounted: uncounted + cost.uncounted,
        dollars: cost.dollars === null ? dollars : (dollars ?? 0) + cost.dollars,
        unpriced: unpriced + cost.unpriced,
      });
      const step: Step = {
        index, episode, turn, turnOfRun: (last?.turnOfRun ?? 0) + (turn > 0 ? 1 : 0), seen, place, placeName, played, calls, cost, read, changes, marks,
        href: addressOf(number, episode, turn),
        proposal: played?.record.proposals.at(-1),
        scoreChange: !played || !before || score === null || before.seen.score === null ? null : score - before.seen.score,
        events: happened.flatMap((event) => inWords(event) ?? []),
        rooms: rooms.size || null,
        spent: add(last?.spent),
        spentInEpisode: add(before?.spentInEpisode),
      };
      this.steps.push(step);
      this.episodes.get(episode)!.push(step);
    }
  }

  /** The steps of an episode. */
  episode(number: number): Step[] {
    return this.episodes.get(number) ?? [];
  }

  /** The step of a moment: the nearest that there is. */
  indexOf(episode: number, turn: number): number {
    const steps = this.episode(episode);
    return steps[Math.max(0, Math.min(turn, steps.length - 1))]?.index ?? 0;
  }

  /** What was known after the step of that index. */
  knownAt(index: number): Map<string, Item> {
    if (!this.run.learned_known) return new Map(this.run.end.map((item) => [item.key, item]));
    const known = new Map(this.run.start.map((item) => [item.key, item]));
    for (const { key, after: item } of this.steps.slice(0, index + 1).flatMap((step) => step.changes)) {
      if (item) known.set(key, item);
      else known.delete(key);
    }
    return known;
  }

  /** The latest call of the same role before this one whose prompt is known. */
  callBefore(index: number, call: PageCall): PageCall | undefined {
    const isAlike = (other: PageCall) => other.event.role === call.event.role && other.prompt !== null;
    const { calls } = this.steps[index]!;
    const inTurn = calls.slice(0, calls.indexOf(call)).findLast(isAlike);
    return inTurn ?? this.steps.slice(0, index).findLast((step) => step.calls.some(isAlike))?.calls.findLast(isAlike);
  }

  /** A text from the run's table of lines; `null` if it is not known. */
  textOf(ranges: number[] | undefined): string | null {
    return ranges ? linesIn(ranges, this.run.lines).join("\n") : null;
  }

  /** All that was written in a turn but prompts, in lower case, for the search. */
  wordsOf(step: Step): string {
    const written = () => {
      const { proposals = [], verdicts = [] } = step.played?.record ?? {};
      const said = proposals.flatMap((each, at) => [each.action, each.reasoning, verdicts[at]?.reason ?? ""]);
      const answers = step.calls.flatMap(({ event }) => (event.kind === "model_failed" ? [event.error] : [JSON.stringify(event.answer), event.reasoning, event.text]).concat(event.unusable));
      const learned = step.changes.flatMap(({ after }) => (after ? [after.title, after.text] : []));
      return [step.seen.text, step.placeName, step.seen.refusal ?? "", ...said, ...answers, ...learned, ...step.events];
    };
    return (this.words[step.index] ??= written().join("\n").toLowerCase());
  }
}
