import { useMemo } from "preact/hooks";
import { addressOf } from "./address";
import { costOf, isUnplayed, namesOf, placeNameOf, placeOf, playedIn, type Item, type ItemChange, type PageTurn, type RunMoment } from "./data";
import { dollars, plural, seconds, short, signed } from "./figures";
import { ChangedItem, ItemText } from "./items";
import type { Journey } from "./journey";
import { ModelCall } from "./model_call";
import { Plan } from "./plan";
import { Written } from "./written";

const MOST_CHANGES = 6; // that are shown unasked

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
  const before = index > 0 && step.turn.turn > 0 ? journey.steps[index - 1]!.turn : null;
  const { turn } = step;
  const { seen } = turn;
  const [played, place, cost] = [playedIn(turn), placeOf(turn), costOf(turn.calls)];
  return (
    <>
      <article class="turn" aria-label={`Episode ${step.episode}, turn ${turn.turn}`}>
        <p class="labels">
          <a href={addressOf(run, [step.episode, turn.turn])}>Episode {step.episode}, turn {turn.turn}</a>
          <span><Written text={placeNameOf(turn) || "place not known"} /></span>
          {seen.score !== null && <span>{seen.score} {seen.score === 1 ? "point" : "points"}</span>}
          {turn.score_change ? <strong class={turn.score_change > 0 ? "gain" : "loss"}>{signed(turn.score_change)}</strong> : null}
          {seen.died && <strong class="loss">died</strong>}
          {seen.ending && <strong>{seen.ending}</strong>}
        </p>
        {played && <h2 class="command"><span aria-hidden="true">&gt; </span><Written text={played.action} sought={sought} /></h2>}
        {turn.turn === 0 && <h2 class="command opening">Opening of episode {step.episode}</h2>}
        {isUnplayed(turn) && <h2 class="command opening">A turn that was not played</h2>}
        {seen.refusal && <p class="note">Not given to the story: <Written text={seen.refusal} /></p>}
        <div class="story"><Written text={seen.text.trim()} sought={sought} /></div>
        {turn.events.map((event, each) => <p key={each} class="note"><Written text={event} sought={sought} /></p>)}
        <Reasoning turn={turn} sought={sought} />
        <Verdicts turn={turn} sought={sought} />
        <Learnt journey={journey} index={index} />
        {turn.calls.length > 0 && (
          <section>
            <h3>{plural(turn.calls.length, "model call")}</h3>
            {turn.calls.map((call, each) => (
              <ModelCall key={`${index}/${each}`} run={journey.run} call={call} before={() => journey.callBefore(index, call)} sought={sought} />
            ))}
          </section>
        )}
      </article>
      <aside class="around" aria-label="Around this turn">
        {journey.run.map && (
          <section>
            <h3>Map so far <button type="button" class="quiet" onClick={openMap}>Open the map</button></h3>
            <Plan journey={journey} index={index} chosen={place} choose={(room) => {
              const first = journey.steps.find((each) => placeOf(each.turn) === room);
              if (first) goTo([first.episode, first.turn.turn]);
            }} small />
          </section>
        )}
        <Belongings turn={turn} before={before} />
        <Known journey={journey} index={index} />
        <Read turn={turn} />
        <section>
          <h3>This turn took</h3>
          <dl class="plain">
            <div><dt>Time</dt><dd>{seconds(turn.seconds)}</dd></div>
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

function Reasoning({ turn, sought }: { turn: PageTurn; sought: string }) {
  const [played, verdict] = [playedIn(turn), turn.verdicts.at(-1)];
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

function Verdicts({ turn, sought }: { turn: PageTurn; sought: string }) {
  const judged = turn.verdicts
    .map((verdict, at) => ({ verdict, proposal: turn.proposals[at]! }))
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
  const { turn } = journey.steps[index]!;
  const used = useMemo(() => {
    if (!turn.read.length) return [];
    const known = journey.knownAt(index, false);
    return turn.read.flatMap((key): Item[] => (known.get(key) ? [known.get(key)!] : []));
  }, [journey, index]);
  const list = (shown: ItemChange[]) => <ul class="items">{shown.map((change) => <ChangedItem key={change.key} change={change} />)}</ul>;
  const more = turn.changes.length - MOST_CHANGES;
  return (
    <>
      {turn.changes.length > 0 && (
        <section>
          <h3>Learnt from this turn</h3>
          {list(turn.changes.slice(0, MOST_CHANGES))}
          {more > 0 && <details><summary>{plural(more, "more change")}</summary>{list(turn.changes.slice(MOST_CHANGES))}</details>}
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

function Belongings({ turn, before }: { turn: PageTurn; before: PageTurn | null }) {
  const [carried, had, visible] = [namesOf(turn.seen.inventory), namesOf(before?.seen.inventory ?? null), namesOf(turn.seen.visible)];
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
function Read({ turn }: { turn: PageTurn }) {
  const reading = turn.proposals[0]?.reading;
  if (!reading) return null;
  const told = [reading.is_room_description && "a room's description", reading.exits.length > 0 && `exits ${reading.exits.join(", ")}`, reading.in_combat && "a fight"];
  return <section><h3>Read out of the text</h3><p class="label"><Written text={told.filter(Boolean).join("; ") || "nothing"} /></p></section>;
}

function Known({ journey, index }: { journey: Journey; index: number }) {
  const { turn } = journey.steps[index]!;
  const known = useMemo(() => [...journey.knownAt(index).values()], [journey, index]);
  const here = known.filter((item) => item.kind === "memory" && item.place !== null && item.place === placeOf(turn) && !item.tags.includes("superseded"));
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
