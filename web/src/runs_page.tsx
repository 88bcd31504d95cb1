import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PageData } from "../../build/report_types";
import { Skyline } from "./chart";
import { CompareView } from "./compare_view";
import { CurvesView } from "./curves_view";
import { FinderPanel, found, isFiltering, NO_FILTER, type Filter } from "./finder";
import { Heading, namesOfRuns } from "./heading";
import { addressOf, Journey, type Step } from "./journey";
import { LearnedView } from "./learned";
import { MapView } from "./map_view";
import { Choice } from "./table";
import { Transcript } from "./transcript";
import { TurnView } from "./turn_view";
import { spelled } from "./written";

const VIEWS = { turn: "Turn", map: "Map", curves: "Curves", learned: "Learned", compare: "Compare" } as const;
type View = keyof typeof VIEWS;
const VIEW_NAMES = Object.keys(VIEWS) as View[];
const ADDRESS_DELAY = 200; // milliseconds; browsers refuse an address that changes with every key

const KEYS: [string, string][] = [
  ["→  ←", "next turn, turn before (of those found, while searching)"],
  ["Home  End", "first turn, last turn"],
  ["e  E", "next episode, episode before"],
  ["/", "search"],
  ["Esc", "leave the search, close this"],
  ["1 to 5", "turn, map, curves, learned, compare"],
  ["?", "these keys"],
];

interface Place {
  run: number; // from 0
  index: number; // of the moment
  view: View;
}

/** The page of one or more runs: a moment of one of them, and ways to look at it. */
export function RunsPage({ report }: { report: PageData }) {
  const journeys = useMemo(() => report.runs.map((run, number) => new Journey(run, number)), [report]);
  const [place, setPlace] = useState<Place>(() => placeOf(journeys, location.hash));
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const search = useRef<HTMLInputElement>(null);
  const help = useRef<HTMLDialogElement>(null);

  const journey = journeys[place.run]!;
  const index = Math.min(place.index, journey.steps.length - 1);
  const step = journey.steps[index];
  const steps = useMemo(() => (isFiltering(filter) ? found(journey, filter) : journey.steps), [journey, filter]);

  const go = (change: Partial<Place>) => setPlace((before) => ({ ...before, ...change }));
  const choose = (chosen: number) => go({ index: chosen });
  const goTo = (chosen: number) => go({ index: chosen, view: "turn" });
  const goToEpisode = (by: 1 | -1) => {
    const openings = journey.steps.filter(({ turn }) => turn === 0);
    if (step) choose(neighbour(openings, journey.indexOf(step.episode, 0), by));
  };

  useFollowing(journeys, place, go);
  useAddressBar(journeys, place, setPlace);
  useEffect(() => {
    document.title = step ? `${spelled(journey.run.figures.manifest.story)}, episode ${step.episode}, turn ${step.turn}` : "ZorkGPT report";
  }, [step]);

  useKeys({
    ArrowRight: () => choose(neighbour(steps, index, 1)),
    ArrowLeft: () => choose(neighbour(steps, index, -1)),
    Home: () => choose(steps.at(0)?.index ?? index),
    End: () => choose(steps.at(-1)?.index ?? index),
    e: () => goToEpisode(1),
    E: () => goToEpisode(-1),
    "/": () => search.current?.focus(),
    "?": () => help.current?.showModal(),
    ...Object.fromEntries(VIEW_NAMES.map((view, number) => [String(number + 1), () => go({ view })])),
  });

  if (!step) return <main class="page"><Heading journey={journey} program={report.program} /><p>No episode of this run was begun.</p></main>;
  const views = VIEW_NAMES.filter((view) => view !== "compare" || journeys.length > 1 || journey.episodes.size > 1);
  return (
    <>
      <a class="skip" href="#content">Skip to the turn</a>
      <Heading journey={journey} program={report.program}>
        {journeys.length > 1 && <Choice name="Run" value={place.run} options={namesOfRuns(journeys)} choose={(run) => go({ run: Number(run), index: 0 })} />}
      </Heading>
      <div class="bar">
        <nav class="views" aria-label="Views">
          {views.map((view) => (
            <a key={view} href={addressOf(place.run, step.episode, step.turn, view)} aria-current={view === place.view ? "page" : undefined}>{VIEWS[view]}</a>
          ))}
          <button type="button" class="quiet" onClick={() => help.current!.showModal()}>Keys</button>
        </nav>
        <Scrubber steps={journey.steps} index={index} choose={choose} />
      </div>
      <main id="content" tabIndex={-1} class={`page view-${place.view}`}>
        {place.view === "turn" && (
          <>
            <FinderPanel journey={journey} steps={steps} filter={filter} setFilter={setFilter} index={index} choose={choose} search={search} />
            <TurnView journey={journey} step={step} sought={filter.text.trim()} goTo={goTo} />
          </>
        )}
        {place.view === "map" && <MapView journey={journey} step={step} />}
        {place.view === "curves" && <CurvesView journey={journey} step={step} goTo={goTo} />}
        {place.view === "learned" && <LearnedView journey={journey} step={step} />}
        {place.view === "compare" && <CompareView journeys={journeys} />}
      </main>
      {place.view === "turn" && <Transcript journey={journey} />}
      <dialog ref={help} aria-labelledby="keys-title">
        <h2 id="keys-title">Keys</h2>
        <dl class="keys">
          {KEYS.map(([key, does]) => <div key={key}><dt>{key.split("  ").map((each) => <kbd key={each}>{each}</kbd>)}</dt><dd>{does}</dd></div>)}
        </dl>
        <form method="dialog"><button type="submit">Close</button></form>
      </dialog>
    </>
  );
}

/** A slider over all turns of the run, before a small curve of the score. */
function Scrubber({ steps, index, choose }: { steps: Step[]; index: number; choose: (index: number) => void }) {
  const step = steps[index]!;
  const skyline = useMemo(() => {
    const borders = steps.filter((each) => each.turn === 0 && each.index > 0).map((each) => each.index);
    return <Skyline values={steps.map((each) => each.seen.score)} borders={borders} />;
  }, [steps]);
  return (
    <div class="scrubber">
      <button type="button" aria-label="Turn before" disabled={index === 0} onClick={() => choose(index - 1)}>‹</button>
      <div class="scrubber-track">
        {skyline}
        <input
          type="range" aria-label="Turn" aria-valuetext={`Episode ${step.episode}, turn ${step.turn}`}
          min={0} max={steps.length - 1} value={index} onInput={(event) => choose(Number(event.currentTarget.value))}
        />
      </div>
      <button type="button" aria-label="Next turn" disabled={index === steps.length - 1} onClick={() => choose(index + 1)}>›</button>
      <span class="scrubber-moment" aria-hidden="true">e{step.episode} t{step.turn}</span>
    </div>
  );
}

/** Read `#e2t47`, `#r2e2t47`, `#e2t47/map` or `#map`. */
function placeOf(journeys: Journey[], hash: string): Place {
  const [, run, episode, turn, view] = /^#?(?:(?:r(\d+))?e(\d+)t(\d+))?\/?([a-z]*)$/.exec(hash) ?? [];
  const journey = journeys[Number(run ?? 1) - 1] ?? journeys[0]!;
  return {
    run: journey.number,
    index: episode ? journey.indexOf(Number(episode), Number(turn)) : 0,
    view: VIEW_NAMES.find((each) => each === view) ?? "turn",
  };
}

/** The next one of the steps found, after the index or before it; the index itself where there is none. */
function neighbour(steps: { index: number }[], index: number, by: 1 | -1): number {
  const next = by > 0 ? steps.find((each) => each.index > index) : steps.findLast((each) => each.index < index);
  return next?.index ?? index;
}

/** A reader at the latest turn of a run that is being played stays at the latest; a run that took its place begins there. */
function useFollowing(journeys: Journey[], place: Place, go: (change: Partial<Place>) => void) {
  const last = useRef(journeys);
  useEffect(() => {
    const earlier = last.current[place.run];
    const before = earlier?.steps.length ?? 0;
    const { run, steps } = journeys[place.run]!;
    last.current = journeys;
    const isAnother = earlier !== undefined && earlier.run.figures.run.run_id !== run.figures.run.run_id;
    if (isAnother || (steps.length > before && place.index === before - 1 && before > 1)) go({ index: Math.max(0, steps.length - 1) });
  }, [journeys]);
}

/** The address bar names the moment, and a link or the way back leads to one. */
function useAddressBar(journeys: Journey[], place: Place, setPlace: (place: Place) => void) {
  useEffect(() => {
    const follow = (event: HashChangeEvent) => {
      const { hash } = new URL(event.newURL); // the timer below may have replaced that of the address bar since
      if (hash !== "#content") setPlace(placeOf(journeys, hash));
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [journeys]);
  useEffect(() => {
    const timer = setTimeout(() => {
      const step = journeys[place.run]!.steps[place.index];
      if (step) history.replaceState(null, "", addressOf(place.run, step.episode, step.turn, place.view));
    }, ADDRESS_DELAY);
    return () => clearTimeout(timer);
  }, [journeys, place]);
}

/** Do what a key stands for, unless it is typed into a field. */
function useKeys(keys: Record<string, () => unknown>) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const at = event.target instanceof HTMLElement ? event.target : document.body;
      const moves = event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
      const types = at.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
      if (event.key === "Escape" && types) at.blur();
      if (types || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (moves && at.matches("input[type=range]")) return;
      const act = latest.current[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
