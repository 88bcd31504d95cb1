import { eventOf, isCall, type Item, type ItemChange, type Observation, type PageCall, type PageRun, type RunMoment, type TurnPlayed } from "./data";
import { inWords } from "./figures";

/** A highlighted moment. */
export interface Mark {
  index: number;
  moment: RunMoment;
  kind: string;
  label: string;
}

/** A moment of a run with what had come about until then; `tokens` and `dollars` are of the run as a whole. */
export interface Step {
  index: number;
  episode: number;
  turn: number; // 0: the opening
  seen: Observation; // after it
  played: TurnPlayed | undefined; // none at the opening, and in a turn that was not played
  scoreChange: number | null;
  calls: PageCall[];
  events: string[]; // what else happened
  read: string[];
  changes: ItemChange[];
  rooms: number; // of the episode
  tokens: number;
  dollars: number | null; // null if a call before it has no price
  episodeTokens: number;
  episodeDollars: number | null;
}

/** The id of the room that the turn ended in. */
export const placeOf = ({ seen }: Step) => seen.location?.num ?? null;

export const placeNameOf = ({ seen: { location } }: Step) => (location ? location.name || `Location #${location.num}` : "");

/** What was proposed last, which is what was played. */
export const playedIn = (step: Step) => step.played?.record.proposals.at(-1);

export const momentOf = ({ episode, turn }: Step): RunMoment => [episode, turn];

export const wayBetween = (one: number, other: number) => `${Math.min(one, other)} ${Math.max(one, other)}`;

/** The figures of a turn, with the names that `zorkgpt runs export --format csv` has for them. */
export function figuresOf(step: Step) {
  const { episode, turn, seen, calls, played } = step;
  const { prompt, cached, completion, dollars } = costOf(calls);
  return {
    episode, turn, location_id: placeOf(step), location: placeNameOf(step), command: playedIn(step)?.action ?? "",
    score: seen.score, score_change: step.scoreChange, rooms: step.rooms, seconds: played?.seconds ?? null,
    calls: calls.length, prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion, dollars,
  };
}

/** Tokens and dollars of model calls; dollars are those of the calls with a known price. */
export function costOf(calls: PageCall[]) {
  const sum = (value: (call: PageCall) => number) => calls.reduce((total, call) => total + value(call), 0);
  return {
    prompt: sum(({ event }) => event.prompt_tokens),
    cached: sum(({ event }) => event.cached_tokens),
    completion: sum(({ event }) => event.completion_tokens),
    dollars: calls.some((call) => call.dollars !== null) ? sum((call) => call.dollars ?? 0) : null,
  };
}

/** A run as one row of moments, its episodes one after another. */
export class Journey {
  readonly steps: Step[] = [];
  /** The steps of each episode, by its number, oldest first. */
  readonly episodes = new Map<number, Step[]>();
  /** The step at which a room (by its id) or a way (as of `wayBetween`) was first met. */
  readonly firsts = new Map<number | string, number>();
  private readonly words = new Map<number, string>();

  constructor(readonly run: PageRun) {
    let rooms = new Set<number>();
    for (const { episode, turn, events, read, changes } of run.turns) {
      const index = this.steps.length;
      if (turn === 0) {
        rooms = new Set();
        this.episodes.set(episode, []);
      }
      const [last, before] = [this.steps.at(-1), this.episode(episode).at(-1)];
      const played = eventOf(events, "turn_played");
      const seen = played?.record.after ?? eventOf(events, "episode_started")?.opening ?? { ...before!.seen, text: "", died: false };
      const calls = events.filter(isCall);
      const cost = costOf(calls);
      const add = (dollars: number | null) => (dollars === null || (cost.dollars === null && calls.length) ? null : dollars + (cost.dollars ?? 0));
      const [place, came] = [seen.location?.num, before?.seen.location?.num];
      if (place !== undefined) {
        rooms.add(place);
        if (!this.firsts.has(place)) this.firsts.set(place, index);
        const way = came === undefined || came === place ? null : wayBetween(came, place);
        if (way && !this.firsts.has(way)) this.firsts.set(way, index);
      }
      const step: Step = {
        index, episode, turn, seen, played, calls, read, changes,
        scoreChange: !played || !before || seen.score === null || before.seen.score === null ? null : seen.score - before.seen.score,
        events: events.flatMap(({ event }) => inWords(event) ?? []),
        rooms: rooms.size,
        tokens: (last?.tokens ?? 0) + cost.prompt + cost.completion,
        dollars: add(last ? last.dollars : 0),
        episodeTokens: (before?.episodeTokens ?? 0) + cost.prompt + cost.completion,
        episodeDollars: add(before ? before.episodeDollars : 0),
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
  indexOf([episode, turn]: RunMoment): number {
    const steps = this.episode(episode);
    return steps[Math.max(0, Math.min(turn, steps.length - 1))]?.index ?? 0;
  }

  /** The first step of the episode that is so many after the step's own. */
  episodeFrom(index: number, by: number): number {
    const numbers = [...this.episodes.keys()];
    const at = numbers.indexOf(this.steps[index]!.episode);
    return this.indexOf([numbers[Math.max(0, Math.min(numbers.length - 1, at + by))]!, 0]);
  }

  /** What was known before the step, or after it. */
  knownAt(index: number, after = true): Map<string, Item> {
    if (!this.run.learnt_known) return new Map(this.run.end.map((item) => [item.key, item]));
    const known = new Map(this.run.start.map((item) => [item.key, item]));
    for (const { key, after: item } of this.steps.slice(0, after ? index + 1 : index).flatMap((step) => step.changes)) {
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

  /** Deaths, ends, new best scores, discoveries and what was learnt, in the order of the run. */
  marks(): Mark[] {
    let best: number | null = null;
    return this.steps.flatMap((step): Mark[] => {
      const { index, turn, seen: { score, died, ending }, changes } = step;
      const place = placeNameOf(step);
      const isBest = best !== null && score !== null && score > best;
      if (score !== null) best = Math.max(best ?? score, score);
      const marks: [string, string][] = changes.flatMap(({ before, after }) => (before || !after ? [] : [[after.kind, after.title]]));
      if (this.firsts.get(placeOf(step) ?? "") === index) marks.push(["room", place]);
      if (died) marks.push(["death", place]);
      if ((ending === "won" || ending === "lost") && !(turn && this.steps[index - 1]!.seen.ending === ending)) marks.push([ending, place]);
      if (isBest) marks.push(["score", `${score} points`]);
      return marks.map(([kind, label]) => ({ index, moment: momentOf(step), kind, label }));
    });
  }

  /** All that was written in a turn but prompts, in lower case, for the search. */
  wordsOf(step: Step): string {
    let words = this.words.get(step.index);
    if (words === undefined) {
      const { proposals = [], verdicts = [] } = step.played?.record ?? {};
      const said = proposals.flatMap((each, at) => [each.action, each.reasoning, verdicts[at]?.reason ?? ""]);
      const answers = step.calls.flatMap(({ event }) => (event.kind === "model_failed" ? [event.error] : [JSON.stringify(event.answer), event.reasoning, event.text]).concat(event.unusable));
      const learnt = step.changes.flatMap(({ after }) => (after ? [after.title, after.text] : []));
      const all = [step.seen.text, placeNameOf(step), step.seen.refusal ?? "", ...said, ...answers, ...learnt, ...step.events];
      words = all.join("\n").toLowerCase();
      this.words.set(step.index, words);
    }
    return words;
  }
}
