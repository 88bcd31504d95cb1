import { useMemo, useState } from "preact/hooks";
import type { GameObject, Observation, Reading } from "../../build/report_types";
import { costInWords, count, dollars, download, plural, seconds, short, tokensInWords } from "./figures";
import { Fact } from "./heading";
import { addressOf, isCounted, namesOf, type Journey, type PageCall, type Step } from "./journey";
import { ChangedItem, Items } from "./learned";
import { Plan } from "./map_view";
import { Changed, Gain, Machine, Written } from "./written";

/** One turn: what the story said, the command and why, and everything that was asked and learned around it. */
export function TurnView({ journey, step, sought, goTo }: { journey: Journey; step: Step; sought: string; goTo: (index: number) => void }) {
  const { index, episode, turn, href, seen, place, played, proposal, calls, cost, changes } = step;
  const [used, remembered, aims] = useMemo(() => {
    const [before, known] = [journey.knownAt(index - 1), [...journey.knownAt(index).values()]];
    return [
      step.read.flatMap((key) => before.get(key) ?? []),
      known.filter((item) => item.kind === "memory" && item.place !== null && item.place === place && !item.tags.includes("superseded")),
      known.filter((item) => journey.run.learned_known && item.kind === "objective" && item.tags.includes("active")),
    ];
  }, [step]);
  const verdict = played?.record.verdicts.at(-1);
  return (
    <>
      <article class="turn" aria-label={`Episode ${episode}, turn ${turn}`}>
        <p class="labels">
          <a href={href}>Episode {episode}, turn {turn}</a>
          <span><Written text={step.placeName || "place not known"} /></span>
          {seen.score !== null && <span>{seen.score} {seen.score === 1 ? "point" : "points"}</span>}
          <Gain points={step.scoreChange} />
          {seen.died && <strong class="loss">died</strong>}
          {seen.ending && <strong>{seen.ending}</strong>}
        </p>
        {proposal && <h2 class="command"><span aria-hidden="true">&gt; </span><Written text={proposal.action} sought={sought} /></h2>}
        {!proposal && <h2 class="command opening">{turn ? "A turn that was not played" : `Opening of episode ${episode}`}</h2>}
        {seen.refusal && <p class="note">Not given to the story: <Written text={seen.refusal} /></p>}
        <div class="story"><Written text={seen.text.trim()} sought={sought} /></div>
        {step.events.map((event, each) => <p key={each} class="note"><Written text={event} sought={sought} /></p>)}
        {verdict?.accepted && verdict.source === "route" ? <p class="labels">Played along a route that was learned; no model chose it.</p> : proposal?.reasoning && (
          <section>
            <h3>Why</h3>
            <blockquote tabIndex={0}><Written text={proposal.reasoning} sought={sought} /></blockquote>
          </section>
        )}
        <Verdicts step={step} sought={sought} />
        {changes.length > 0 && (
          <section>
            <h3>Learned from this turn</h3>
            <ul class="items changes" tabIndex={0}>{changes.map((change) => <ChangedItem key={change.key} change={change} />)}</ul>
          </section>
        )}
        {used.length > 0 && (
          <section>
            <details>
              <summary>{plural(used.length, "learned item")} in the prompt</summary>
              <Items items={used} />
            </details>
          </section>
        )}
        {calls.length > 0 && (
          <section>
            <h3>{plural(calls.length, "model call")}</h3>
            {calls.map((call, each) => <ModelCall key={`${index}/${each}`} journey={journey} step={step} call={call} sought={sought} />)}
          </section>
        )}
      </article>
      <aside class="around" aria-label="Around this turn">
        {journey.run.map && (
          <section>
            <h3>Map so far <a href={addressOf(journey.number, episode, turn, "map")}>Open the map</a></h3>
            <Plan journey={journey} step={step} chosen={place} choose={(room) => journey.firsts.has(room) && goTo(journey.firsts.get(room)!)} small />
          </section>
        )}
        <Belongings seen={seen} before={turn ? journey.steps[index - 1]!.seen.inventory : null} />
        {remembered.length > 0 && (
          <section>
            <h3>Remembered here{journey.run.learned_known ? "" : " at the end of the run"}</h3>
            <Items items={remembered} />
          </section>
        )}
        {aims.length > 0 && (
          <section>
            <h3>Objectives</h3>
            <ul class="items">{aims.map((item) => <li key={item.key}><Written text={item.title || item.text} /></li>)}</ul>
          </section>
        )}
        <Read reading={played?.record.proposals[0]?.reading} />
        <section>
          <h3>This turn took</h3>
          <dl class="plain">
            <Fact name="Time">{seconds(played?.seconds)}</Fact>
            <Fact name="Prompt">{cost.prompt === null ? "unknown" : plural(cost.prompt, "token")}{cost.cached ? `, ${short(cost.cached)} cached` : ""}</Fact>
            <Fact name="Answers">{cost.completion === null ? "unknown" : plural(cost.completion, "token")}</Fact>
            <Fact name="Cost">{costInWords(cost)}</Fact>
            {seen.moves !== null && <Fact name="The story counts">{plural(seen.moves, "move")}</Fact>}
            <Fact name="Run so far">{tokensInWords(step.spent, " tokens")}, {costInWords(step.spent)}</Fact>
          </dl>
        </section>
      </aside>
    </>
  );
}

const SOURCES: Record<string, string> = {
  parser: "the parser",
  object_tree: "the objects in sight",
  map: "the map",
  llm: "a model",
  route: "a route",
  only: "the only choice",
  then: "an earlier answer",
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

function Belongings({ seen, before }: { seen: Observation; before: GameObject[] | null }) {
  const [carried, had, visible] = [namesOf(seen.inventory), namesOf(before), namesOf(seen.visible)];
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
function Read({ reading }: { reading: Reading | null | undefined }) {
  if (!reading) return null;
  const told = [reading.is_room_description && "a room's description", reading.exits.length > 0 && `exits ${reading.exits.join(", ")}`, reading.in_combat && "a fight"];
  return <section><h3>Read out of the text</h3><p class="label"><Written text={told.filter(Boolean).join("; ") || "nothing"} /></p></section>;
}

interface Call {
  journey: Journey;
  step: Step;
  call: PageCall;
  sought: string;
}

/** A model call: a line of figures that opens into the exact prompt and the answer. */
function ModelCall({ journey, step, call, sought }: Call) {
  const { event } = call;
  const [open, setOpen] = useState(false);
  return (
    <details class="call" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{event.role}</strong>
        <span class="label">
          {event.kind === "model_failed" && <strong class="loss">failed </strong>}
          {isCounted(call) ? `${count(event.prompt_tokens)} → ${plural(event.completion_tokens, "token")}` : "unknown tokens"}, {seconds(event.seconds)}
          {call.dollars !== null && `, ${dollars(call.dollars)}`}
          {event.requests > 1 && `, ${event.requests} requests`}
        </span>
      </summary>
      {open && <Opened journey={journey} step={step} call={call} before={journey.callBefore(step.index, call)} sought={sought} />}
    </details>
  );
}

function Opened({ journey, step, call: { event, prompt }, before, sought }: Call & { before: PageCall | undefined }) {
  const [marks, setMarks] = useState(true);
  const { episode, turn } = step;
  const [system, user] = [journey.textOf(prompt?.system), journey.textOf(prompt?.user)];
  const [systemBefore, userBefore] = [journey.textOf(before?.prompt?.system), journey.textOf(before?.prompt?.user)];
  const call = { episode, turn, role: event.role, system, user, is_as_recorded: prompt?.agrees ?? null, recorded: event };
  return (
    <div class="call-parts">
      <p class="label"><Written text={event.model} />{prompt?.agrees === true && ", prompt rebuilt and equal by its SHA-256 "}{prompt?.agrees === false && ", the prompt rebuilt is not the one that was sent "}<code title={event.prompt_sha256}>{event.prompt_sha256.slice(0, 12)}</code></p>
      <p class="labels">
        {user !== null && "clipboard" in navigator && <button type="button" class="quiet" onClick={() => void navigator.clipboard.writeText(`${system}\n\n${user}`)}>Copy the prompt</button>}
        <button type="button" class="quiet" onClick={() => download(`e${episode}t${turn}-${event.role}.json`, JSON.stringify(call, null, 2))}>Download the call as JSON</button>
      </p>
      <h4>Answer</h4>
      {event.kind === "model_failed" ? <p class="note"><Written text={event.error} sought={sought} /></p> : (
        <Machine text={JSON.stringify(event.answer, null, 2)} sought={sought} />
      )}
      {event.kind === "model_answered" && event.reasoning && <><h4>Thoughts</h4><Machine text={event.reasoning} sought={sought} /></>}
      {event.kind === "model_answered" && event.text && (
        <details><summary>The answer as the model wrote it</summary><Machine text={event.text} sought={sought} /></details>
      )}
      {event.unusable.map((text, each) => (
        <details key={each}><summary>Answer {each + 1}, which could not be used</summary><Machine text={text} sought={sought} /></details>
      ))}
      {user === null ? <p class="label">The prompt could not be rebuilt; its SHA-256 is all that the run kept.</p> : (
        <>
          <h4>
            Prompt
            {userBefore !== null && (
              <label class="check"><input type="checkbox" checked={marks} onChange={(event) => setMarks(event.currentTarget.checked)} /> mark what changed since this role was last asked</label>
            )}
          </h4>
          {userBefore !== null && marks ? <Changed before={userBefore} now={user} sought={sought} /> : <Machine text={user} sought={sought} />}
        </>
      )}
      {system && (
        <details>
          <summary>Instructions <span class="label">{system === systemBefore ? "as the last time" : before ? "changed since the last time" : "the first of this role"}</span></summary>
          {systemBefore !== null && systemBefore !== system ? <Changed before={systemBefore} now={system} /> : <Machine text={system} />}
        </details>
      )}
    </div>
  );
}
