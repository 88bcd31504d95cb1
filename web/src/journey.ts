import { costOf, placeNameOf, placeOf, type Item, type PageCall, type PageRun, type PageTurn, type RunMoment } from "./data";

/** A moment of a run with what had come about until then; `tokens` and `dollars` are of the run as a whole. */
export interface Step {
  index: number;
  episode: number;
  turn: PageTurn;
  rooms: number; // of the episode
  tokens: number;
  dollars: number | null; // null if a call before it has no price
  episodeTokens: number;
  episodeDollars: number | null;
}

/** A run as one row of moments, its episodes one after another. */
export class Journey {
  readonly steps: Step[] = [];
  /** The steps of each episode, by its number, oldest first. */
  readonly episodes = new Map<number, Step[]>();
  private readonly words = new Map<number, string>();

  constructor(readonly run: PageRun) {
    let [tokens, dollars] = [0, 0 as number | null];
    for (const { figures: { episode }, turns } of run.episodes) {
      const rooms = new Set<number>();
      let [episodeTokens, episodeDollars] = [0, 0 as number | null];
      this.episodes.set(episode, turns.map((turn): Step => {
        const [place, cost] = [placeOf(turn), costOf(turn.calls)];
        const add = (before: number | null) => (before === null || (cost.dollars === null && turn.calls.length) ? null : before + (cost.dollars ?? 0));
        if (place !== null) rooms.add(place);
        tokens += cost.prompt + cost.completion;
        episodeTokens += cost.prompt + cost.completion;
        [dollars, episodeDollars] = [add(dollars), add(episodeDollars)];
        const step = { index: this.steps.length, episode, turn, rooms: rooms.size, tokens, dollars, episodeTokens, episodeDollars };
        this.steps.push(step);
        return step;
      }));
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
    const known = new Map(this.run.start.map((item) => [item.key, item]));
    if (!this.run.learnt_known) return new Map(this.run.end.map((item) => [item.key, item]));
    for (const step of this.steps.slice(0, after ? index + 1 : index)) {
      for (const { key, after: item } of step.turn.changes) {
        if (item) known.set(key, item);
        else known.delete(key);
      }
    }
    return known;
  }

  /** The latest call of the same role before this one whose prompt is known. */
  callBefore(index: number, call: PageCall): PageCall | null {
    let [at, before] = [index, this.steps[index]!.turn.calls.indexOf(call)];
    while (at >= 0) {
      const calls = this.steps[at]!.turn.calls;
      for (let each = before - 1; each >= 0; each--) {
        const other = calls[each]!;
        if (other.event.role === call.event.role && other.prompt) return other;
      }
      at -= 1;
      before = at >= 0 ? this.steps[at]!.turn.calls.length : 0;
    }
    return null;
  }

  /** All that was written in a turn but prompts, in lower case, for the search. */
  wordsOf(step: Step): string {
    let words = this.words.get(step.index);
    if (words === undefined) {
      const { turn } = step;
      const said = turn.proposals.flatMap((each, at) => [each.action, each.reasoning, turn.verdicts[at]?.reason ?? ""]);
      const answers = turn.calls.flatMap(({ event }) => (event.kind === "model_failed" ? [event.error] : [JSON.stringify(event.answer), event.reasoning]));
      const learnt = turn.changes.flatMap(({ after }) => (after ? [after.title, after.text] : []));
      const all = [turn.seen.text, placeNameOf(turn), turn.seen.refusal ?? "", ...said, ...answers, ...learnt, ...turn.events];
      words = all.join("\n").toLowerCase();
      this.words.set(step.index, words);
    }
    return words;
  }
}
