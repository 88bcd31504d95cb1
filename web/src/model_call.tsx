import { useState } from "preact/hooks";
import { textOf, type PageCall, type PageRun, type RunMoment } from "./data";
import { download } from "./download";
import { count, dollars, plural, seconds } from "./figures";
import { Changed, Written } from "./written";

interface Shown {
  run: PageRun;
  call: PageCall;
  moment: RunMoment;
  before: () => PageCall | undefined;
  sought: string;
}

/** A model call: a line of figures that opens into the exact prompt and the answer. */
export function ModelCall({ run, call, moment, before, sought }: Shown) {
  const { event } = call;
  const [open, setOpen] = useState(false);
  return (
    <details class="call" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="call-role">{event.role}</span>
        <span class="label">
          {event.kind === "model_failed" && <strong class="loss">failed </strong>}
          {count(event.prompt_tokens)} → {plural(event.completion_tokens, "token")}, {seconds(event.seconds)}
          {call.dollars !== null && `, ${dollars(call.dollars)}`}
          {event.requests > 1 && `, ${event.requests} requests`}
        </span>
      </summary>
      {open && <Opened run={run} call={call} moment={moment} before={before()} sought={sought} />}
    </details>
  );
}

function Opened({ run, call: { event, prompt }, moment: [episode, turn], before, sought }: Omit<Shown, "before"> & { before: PageCall | undefined }) {
  const [system, user] = [textOf(run, prompt?.system), textOf(run, prompt?.user)];
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
        <pre class="machine" tabIndex={0}><Written text={JSON.stringify(event.answer, null, 2)} sought={sought} /></pre>
      )}
      {event.kind === "model_answered" && event.reasoning && <><h4>Thoughts</h4><pre class="machine" tabIndex={0}><Written text={event.reasoning} sought={sought} /></pre></>}
      {event.kind === "model_answered" && event.text && <Raw title="The answer as the model wrote it" text={event.text} sought={sought} />}
      {event.unusable.map((text, each) => <Raw key={each} title={`Answer ${each + 1}, which could not be used`} text={text} sought={sought} />)}
      {user === null ? <p class="label">The prompt could not be rebuilt; its SHA-256 is all that the run kept.</p> : (
        <Prompt now={user} before={textOf(run, before?.prompt?.user)} sought={sought} />
      )}
      <Instructions run={run} now={prompt?.system} before={before?.prompt?.system} />
    </div>
  );
}

function Raw({ title, text, sought }: { title: string; text: string; sought: string }) {
  return <details><summary>{title}</summary><pre class="machine" tabIndex={0}><Written text={text} sought={sought} /></pre></details>;
}

function Prompt({ now, before, sought }: { now: string; before: string | null; sought: string }) {
  const [marks, setMarks] = useState(true);
  return (
    <>
      <h4>
        Prompt
        {before !== null && (
          <label class="check"><input type="checkbox" checked={marks} onChange={(event) => setMarks(event.currentTarget.checked)} /> mark what changed since this role was last asked</label>
        )}
      </h4>
      {before !== null && marks ? <Changed before={before} now={now} sought={sought} /> : <pre class="machine" tabIndex={0}><Written text={now} sought={sought} /></pre>}
    </>
  );
}

function Instructions({ run, now, before }: { run: PageRun; now: number[] | undefined; before: number[] | undefined }) {
  const text = textOf(run, now);
  if (!text) return null;
  const same = before !== undefined && textOf(run, before) === text;
  return (
    <details>
      <summary>Instructions <span class="label">{same ? "as the last time" : before ? "changed since the last time" : "the first of this role"}</span></summary>
      {before && !same ? <Changed before={textOf(run, before)!} now={text} /> : <pre class="machine" tabIndex={0}><Written text={text} /></pre>}
    </details>
  );
}
