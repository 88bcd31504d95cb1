import { costOf, dollarsAfter, placeNameOf, placeOf, type Item, type PageCall, type PageRun, type PageTurn, type RunMoment } from "./data";

/** A moment of a run with what had come about until then; tokens and dollars of the run as a whole. */
export interface Step {
  index: number;
  episode: number;
  turn: PageTurn;
  rooms: number; // of the episode
  tokens: number;
  dollars: number | null; // null where a call before it has no price
}

/** A run as one row of moments, its episodes one after another. */
export class Journey {
  readonly steps: Step[] = [];
  private readonly first = new Map<number, number>();
  private readonly words = new Map<number, string>();

  constructor(readonly run: PageRun) {
    let tokens = 0;
    let dollars: number | null = 0;
    for (const episode of run.episodes) {
      const number = episode.figures.episode;
      this.first.set(number, this.steps.length);
      const rooms = new Set<number>();
      for (const turn of episode.turns) {
        const [place, { prompt, completion }] = [placeOf(turn), costOf(turn.calls)];
        if (place !== null) rooms.add(place);
        tokens += prompt + completion;
        dollars = dollarsAfter(dollars, turn);
        this.steps.push({ index: this.steps.length, episode: number, turn, rooms: rooms.size, tokens, dollars });
      }
    }
  }

  /** The step of a moment: the nearest that there is. */
  indexOf([episode, turn]: RunMoment): number {
    const first = this.first.get(episode);
    if (first === undefined) return 0;
    const length = this.run.episodes.find((each) => each.figures.episode === episode)!.turns.length;
    return first + Math.max(0, Math.min(turn, length - 1));
  }

  /** The first step of the episode that is so many after the step's own. */
  episodeFrom(index: number, by: number): number {
    const numbers = [...this.first.keys()];
    const at = numbers.indexOf(this.steps[index]!.episode);
    const other = numbers[Math.max(0, Math.min(numbers.length - 1, at + by))]!;
    return this.first.get(other)!;
  }

  /** The steps of the same episode up to this one. */
  soFar(index: number): Step[] {
    return this.steps.slice(this.first.get(this.steps[index]!.episode)!, index + 1);
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
