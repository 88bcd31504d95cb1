import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { addressOf, readAddress, VIEWS, type View } from "./address";
import { Choice } from "./choice";
import { CompareView } from "./compare_view";
import { CurvesView } from "./curves_view";
import type { PageData, RunMoment } from "./data";
import { FinderPanel, found, isFiltering, NO_FILTER, type Filter } from "./finder_panel";
import { Heading, namesOfRuns } from "./heading";
import { Journey, momentOf } from "./journey";
import { LearntView } from "./learnt_view";
import { MapView } from "./map_view";
import { Scrubber } from "./scrubber";
import { TurnView } from "./turn_view";
import { spelled } from "./written";

const TITLES: Record<View, string> = { turn: "Turn", map: "Map", curves: "Curves", learnt: "Learnt", compare: "Compare" };
const ADDRESS_DELAY = 200; // milliseconds; browsers refuse an address that changes with every key

export interface Place {
  run: number;
  index: number;
  view: View;
}

/** The page of one or more runs: a moment of one of them, and ways to look at it. */
export function RunsPage({ report }: { report: PageData }) {
  const journeys = useMemo(() => report.runs.map((run) => new Journey(run)), [report]);
  const [place, setPlace] = useState<Place>(() => placeOf(journeys, location.hash));
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const [helps, setHelps] = useState(false);
  const search = useRef<HTMLInputElement>(null);

  const journey = journeys[place.run]!;
  const index = Math.min(place.index, journey.steps.length - 1);
  const step = journey.steps[index];
  const steps = useMemo(() => (isFiltering(filter) ? found(journey, filter) : journey.steps), [journey, filter]);

  const go = useCallback((change: Partial<Place>) => setPlace((before) => ({ ...before, ...change })), []);
  const goTo = useCallback(
    (moment: RunMoment, run = place.run) => go({ run, index: journeys[run]!.indexOf(moment), view: "turn" }),
    [journeys, place.run],
  );

  useFollowing(journeys, place, go);
  useAddressBar(journeys, place, setPlace);
  useEffect(() => {
    document.title = step ? `${spelled(journey.run.figures.manifest.story)}, episode ${step.episode}, turn ${step.turn}` : "ZorkGPT report";
  }, [step]);

  useKeys({
    ArrowRight: () => go({ index: neighbour(steps, index, 1) }),
    ArrowLeft: () => go({ index: neighbour(steps, index, -1) }),
    Home: () => steps[0] && go({ index: steps[0].index }),
    End: () => steps.length > 0 && go({ index: steps[steps.length - 1]!.index }),
    e: () => go({ index: journey.episodeFrom(index, 1) }),
    E: () => go({ index: journey.episodeFrom(index, -1) }),
    "/": () => search.current?.focus(),
    "?": () => setHelps(true),
    ...Object.fromEntries(VIEWS.map((view, number) => [String(number + 1), () => go({ view })])),
  });

  if (!step) return <main class="page"><Heading run={journey.run} journey={journey} program={report.program} /><p>No episode of this run was begun.</p></main>;
  const views = VIEWS.filter((view) => view !== "compare" || journeys.length > 1 || journey.episodes.size > 1);
  return (
    <>
      <a class="skip" href="#content">Skip to the turn</a>
      <Heading run={journey.run} journey={journey} number={place.run} program={report.program}>
        {journeys.length > 1 && <Choice name="Run" value={place.run} options={namesOfRuns(journeys)} choose={(run) => go({ run: Number(run), index: 0 })} />}
      </Heading>
      <div class="bar">
        <nav class="views" aria-label="Views">
          {views.map((view) => (
            <a key={view} href={addressOf(place.run, momentOf(step), view)} aria-current={view === place.view ? "page" : undefined}>{TITLES[view]}</a>
          ))}
          <button type="button" class="quiet" onClick={() => setHelps(true)}>Keys</button>
        </nav>
        <Scrubber journey={journey} index={index} choose={(chosen) => go({ index: chosen })} />
      </div>
      <main id="content" tabIndex={-1} class={`page view-${place.view}`}>
        {place.view === "turn" && (
          <>
            <FinderPanel journey={journey} steps={steps} filter={filter} setFilter={setFilter} index={index} choose={(chosen) => go({ index: chosen })} search={search} />
            <TurnView journey={journey} index={index} run={place.run} sought={filter.text.trim()} openMap={() => go({ view: "map" })} goTo={goTo} />
          </>
        )}
        {place.view === "map" && <MapView journey={journey} index={index} run={place.run} />}
        {place.view === "curves" && <CurvesView journey={journey} index={index} goTo={goTo} run={place.run} />}
        {place.view === "learnt" && <LearntView journey={journey} index={index} run={place.run} />}
        {place.view === "compare" && <CompareView journeys={journeys} />}
      </main>
      {helps && <KeysHelp close={() => setHelps(false)} />}
    </>
  );
}

const KEYS: [string, string][] = [
  ["→  ←", "next turn, turn before (of those found, while searching)"],
  ["Home  End", "first turn, last turn"],
  ["e  E", "next episode, episode before"],
  ["/", "search"],
  ["Esc", "leave the search, close this"],
  ["1 to 5", "turn, map, curves, learnt, compare"],
  ["?", "these keys"],
];

function KeysHelp({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="keys-title" onClose={close}>
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, does]) => <div key={key}><dt>{key.split("  ").map((each) => <kbd key={each}>{each}</kbd>)}</dt><dd>{does}</dd></div>)}
      </dl>
      <form method="dialog"><button type="submit">Close</button></form>
    </dialog>
  );
}

function placeOf(journeys: Journey[], hash: string): Place {
  const { run, moment, view } = readAddress(hash);
  const chosen = journeys[run] ? run : 0;
  return { run: chosen, index: moment ? journeys[chosen]!.indexOf(moment) : 0, view };
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
      if (step) history.replaceState(null, "", addressOf(place.run, momentOf(step), place.view));
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
