import type { RunMoment } from "./data";

export const VIEWS = ["turn", "map", "curves", "learnt", "compare"] as const;
export type View = (typeof VIEWS)[number];

/** What the part of an address behind `#` says: a moment of a run (from 0), and how to look at it. */
export interface Address {
  run: number;
  moment: RunMoment | null;
  view: View;
}

/** Read `#e2t47`, `#r2e2t47`, `#e2t47/map` or `#map`. */
export function readAddress(hash: string): Address {
  const [, run, episode, turn, view] = /^#?(?:(?:r(\d+))?e(\d+)t(\d+))?\/?([a-z]*)$/.exec(hash) ?? [];
  return {
    run: run ? Number(run) - 1 : 0,
    moment: episode ? [Number(episode), Number(turn)] : null,
    view: VIEWS.find((each) => each === view) ?? "turn",
  };
}

export function addressOf(run: number, [episode, turn]: RunMoment, view: View = "turn"): string {
  return `#${run ? `r${run + 1}` : ""}e${episode}t${turn}${view === "turn" ? "" : `/${view}`}`;
}
