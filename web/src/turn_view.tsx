import { useMemo } from "preact/hooks";
import { addressOf } from "./address";
import { namesOf, type Item, type RunMoment } from "./data";
import { dollars, plural, seconds, short, signed } from "./figures";
import { ChangedItem, ItemText } from "./items";
import { costOf, momentOf, placeNameOf, placeOf, playedIn, type Journey, type Step } from "./journey";
import { ModelCall } from "./model_call";
import { Plan } from "./plan";
import { Written } from "./written";

interface Shown {
  journey: Journey;
  index: number;
  run: number;
  sought: string;
  openMap: () => void;
  goTo: (moment: RunMoment) => void;
}

/** One turn: what the story said, the command and why, and everything that was asked and learnt around it. */
export function TurnView({ journey, index, run, sought, openMap, goTo }: Shown) {
  const step = journey.steps[index]!;
  const before = step.turn > 0 ? journey.steps[index - 1] : undefined;
  const { episode, turn, seen, scoreChange, calls } = step;
  const [played, place, cost] = [playedIn(step), placeOf(step), costOf(calls)];
  return (
    <>
      <article class="turn" aria-label={`Episode ${episode}, turn ${turn}`}>
        <p class="labels">
          <a href={addressOf(run, momentOf(step))}>Episode {episode}, turn {turn}</a>
          <span><Written text={placeNameOf(step) || "place not known"} /></span>
          {seen.score !== null && <span>{seen.score} {seen.score === 1 ? "point" : "points"}</span>}
          {scoreChange ? <strong class={scoreChange > 0 ? "gain" : "loss"}>{signed(scoreChange)}</strong> : null}
          {seen.died && <strong class="loss">died</strong>}
          {seen.ending && <strong>{seen.ending}</strong>}
        </p>
        {played && <h2 class="command"><span aria-hidden="true">&gt; </span><Written text={played.action} sought={sought} /></h2>}
        {!played && <h2 class="command opening">{turn ? "A turn that was not played" : `Opening of episode ${episode}`}</h2>}
        {seen.refusal && <p class="note">Not given to the story: <Written text={seen.refusal} /></p>}
        <div class="story"><Written text={seen.text.trim()} sought={sought} /></div>
        {step.events.map((event, each) => <p key={each} class="note"><Written text={event} sought={sought} /></p>)}
        <Reasoning step={step} sought={sought} />
        <Verdicts step={step} sought={sought} />
        <Learnt journey={journey} index={index} />
        {calls.length > 0 && (
          <section>
            <h3>{plural(calls.length, "model call")}</h3>
            {calls.map((call, each) => (
              <ModelCall key={`${index}/${each}`} run={journey.run} call={call} moment={momentOf(step)} before={() => journey.callBefore(index, call)} sought={sought} />
            ))}
          </section>
        )}
      </article>
      <aside class="around" aria-label="Around this turn">
        {journey.run.map && (
          <section>
            <h3>Map so far <button type="button" class="quiet" onClick={openMap}>Open the map</button></h3>
            <Plan journey={journey} index={index} chosen={place} choose={(room) => {
              const first = journey.firsts.get(room);
              if (first !== undefined) goTo(momentOf(journey.steps[first]!));
            }} small />
          </section>
        )}
        <Belongings step={step} before={before} />
        <Known journey={journey} index={index} />
        <Read step={step} />
        <section>
          <h3>This turn took</h3>
          <dl class="plain">
            <div><dt>Time</dt><dd>{seconds(step.played?.seconds)}</dd></div>
            <div><dt>Prompt</dt><dd>{plural(cost.prompt, "token")}{cost.cached ? `, ${short(cost.cached)} cached` : ""}</dd></div>
            <div><dt>Answers</dt><dd>{plural(cost.completion, "token")}</dd></div>
            <div><dt>Cost</dt><dd>{cost.dollars === null ? "no price known" : dollars(cost.dollars)}</dd></div>
            {seen.moves !== null && <div><dt>The story counts</dt><dd>{plural(seen.moves, "move")}</dd></div>}
            <div><dt>Run so far</dt><dd>{short(step.tokens)} tokens{step.dollars === null ? "" : `, ${dollars(step.dollars)}`}</dd></div>
          </dl>
        </section>
      </aside>
    </>
  );
}

function Reasoning({ step, sought }: { step: Step; sought: string }) {
  const [played, verdict] = [playedIn(step), step.played?.record.verdicts.at(-1)];
  if (verdict?.accepted && verdict.source === "route") return <p class="labels">Played along a route that was learnt; no model chose it.</p>;
  if (!played?.reasoning) return null;
  return (
    <section class="reasoning">
      <h3>Why</h3>
      <blockquote tabIndex={0}><Written text={played.reasoning} sought={sought} /></blockquote>
    </section>
  );
}

const SOURCES: Record<string, string> = {
  parser: "the parser",
  object_tree: "the objects in sight",
  map: "the map",
  llm: "a model",
  route: "a route",
};

function Verdicts({ step, sought }: { step: Step; sought: string }) {
  const { proposals = [], verdicts = [] } = step.played?.record ?? {};
  const judged = verdicts
    .map((verdict, at) => ({ verdict, proposal: proposals[at]! }))
    .filter(({ verdict, proposal }) => !verdict.accepted || verdict.reason || verdict.confidence !== null || proposal.follow !== null || proposal.go_to !== null);
  if (!judged.length) return null;
  return (
    <section>
      <h3>Verdicts</h3>
      <ul class="verdicts">
        {judged.map(({ proposal, verdict }, index) => (
          <li key={index}>
            <span class={verdict.accepted ? "gain" : "loss"}>{verdict.accepted ? "accepted" : "sent back"}</span>{" "}
            <code><Written text={proposal.action} sought={sought} /></code>
            {proposal.follow !== null && <span class="label"> to follow route {proposal.follow}</span>}
            {proposal.go_to !== null && <span class="label"> to walk to room {proposal.go_to}</span>}
            {verdict.reason && <>: <Written text={verdict.reason} sought={sought} /></>}
            {SOURCES[verdict.source] && (
              <span class="label"> – {SOURCES[verdict.source]}{verdict.confidence !== null && `, ${Math.round(verdict.confidence * 100)} % sure`}</span>
            )}
            {!verdict.accepted && proposal.reasoning && (
              <details><summary>Why it was proposed</summary><p><Written text={proposal.reasoning} sought={sought} /></p></details>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Learnt({ journey, index }: { journey: Journey; index: number }) {
  const { read, changes } = journey.steps[index]!;
  const used = useMemo(() => {
    const known = read.length ? journey.knownAt(index, false) : new Map<string, Item>();
    return read.flatMap((key) => known.get(key) ?? []);
  }, [journey, index]);
  return (
    <>
      {changes.length > 0 && (
        <section>
          <h3>Learnt from this turn</h3>
          <ul class="items changes" tabIndex={0}>{changes.map((change) => <ChangedItem key={change.key} change={change} />)}</ul>
        </section>
      )}
      {used.length > 0 && (
        <section>
          <details>
            <summary>{plural(used.length, "thing")} learnt before stood in the prompt</summary>
            <ul class="items">{used.map((item) => <li key={item.key}><ItemText item={item} /></li>)}</ul>
          </details>
        </section>
      )}
    </>
  );
}

function Belongings({ step: { seen }, before }: { step: Step; before: Step | undefined }) {
  const [carried, had, visible] = [namesOf(seen.inventory), namesOf(before?.seen.inventory ?? null), namesOf(seen.visible)];
  if (carried === null) return <section><h3>Carried</h3><p class="label">The story does not tell.</p></section>;
  const gone = had ? had.filter((name) => !carried.includes(name)) : [];
  return (
    <section>
      <h3>Carried</h3>
      {carried.length + gone.length === 0 && <p class="label">Nothing.</p>}
      <ul class="carried">
        {carried.map((name, each) => (
          <li key={each}>{had && !had.includes(name) ? <ins><Written text={name} /></ins> : <Written text={name} />}</li>
        ))}
        {gone.map((name, each) => <li key={`gone ${each}`}><del><Written text={name} /></del></li>)}
      </ul>
      {visible && visible.length > 0 && <p class="label">In sight: <Written text={visible.join(", ")} /></p>}
    </section>
  );
}

/** What a model read out of the story's text before the turn. */
function Read({ step }: { step: Step }) {
  const reading = step.played?.record.proposals[0]?.reading;
  if (!reading) return null;
  const told = [reading.is_room_description && "a room's description", reading.exits.length > 0 && `exits ${reading.exits.join(", ")}`, reading.in_combat && "a fight"];
  return <section><h3>Read out of the text</h3><p class="label"><Written text={told.filter(Boolean).join("; ") || "nothing"} /></p></section>;
}

function Known({ journey, index }: { journey: Journey; index: number }) {
  const step = journey.steps[index]!;
  const known = useMemo(() => [...journey.knownAt(index).values()], [journey, index]);
  const here = known.filter((item) => item.kind === "memory" && item.place !== null && item.place === placeOf(step) && !item.tags.includes("superseded"));
  const aims = !journey.run.learnt_known ? [] : known.filter((item) => item.kind === "objective" && item.tags.includes("active"));
  return (
    <>
      {here.length > 0 && (
        <section>
          <h3>Remembered here{journey.run.learnt_known ? "" : " at the end of the run"}</h3>
          <ul class="items">{here.map((item) => <li key={item.key}><ItemText item={item} /></li>)}</ul>
        </section>
      )}
      {aims.length > 0 && (
        <section>
          <h3>Objectives</h3>
          <ul class="items">{aims.map((item) => <li key={item.key}><Written text={item.title || item.text} /></li>)}</ul>
        </section>
      )}
    </>
  );
}
