import { useState } from "preact/hooks";
import { Changed } from "./changed";
import { textOf, type Call, type Ranges, type Run } from "./data";
import { count, dollars, plural, seconds } from "./figures";
import { Written } from "./written";

interface Shown {
  run: Run;
  call: Call;
  before: () => Call | null;
  sought: string;
}

/** A model call: a line of figures that opens into the exact prompt and the answer. */
export function ModelCall({ run, call, before, sought }: Shown) {
  const [open, setOpen] = useState(false);
  return (
    <details class="call" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="call-role">{call.role}</span>
        <span class="label">
          {call.error !== null && <strong class="loss">failed </strong>}
          {count(call.prompt_tokens)} → {plural(call.completion_tokens, "token")}, {seconds(call.seconds)}
          {call.dollars !== null && `, ${dollars(call.dollars)}`}
          {call.requests !== null && call.requests > 1 && `, ${call.requests} requests`}
        </span>
      </summary>
      {open && <Opened run={run} call={call} before={before()} sought={sought} />}
    </details>
  );
}

function Opened({ run, call, before, sought }: { run: Run; call: Call; before: Call | null; sought: string }) {
  const user = textOf(run, call.user);
  return (
    <div class="call-parts">
      <p class="label"><Written text={call.model} />{call.agrees === true && ", prompt rebuilt and equal by its SHA-256 "}{call.agrees === false && ", the prompt rebuilt is not the one that was sent "}<code title={call.sha256}>{call.sha256.slice(0, 12)}</code></p>
      <h4>Answer</h4>
      {call.error !== null ? <p class="note"><Written text={call.error} sought={sought} /></p> : (
        <pre class="machine" tabIndex={0}><Written text={JSON.stringify(call.answer, null, 2) ?? ""} sought={sought} /></pre>
      )}
      {call.thoughts && <><h4>Thoughts</h4><pre class="machine" tabIndex={0}><Written text={call.thoughts} sought={sought} /></pre></>}
      {user === null ? <p class="label">The prompt could not be rebuilt; its SHA-256 is all that the run kept.</p> : (
        <Prompt now={user} before={textOf(run, before?.user ?? null)} sought={sought} />
      )}
      <Instructions run={run} now={call.system} before={before?.system ?? null} />
    </div>
  );
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

function Instructions({ run, now, before }: { run: Run; now: Ranges | null; before: Ranges | null }) {
  const text = textOf(run, now);
  if (!text) return null;
  const same = before !== null && textOf(run, before) === text;
  return (
    <details>
      <summary>Instructions <span class="label">{same ? "as the last time" : before ? "changed since the last time" : "the first of this role"}</span></summary>
      {before && !same ? <Changed before={textOf(run, before)!} now={text} /> : <pre class="machine" tabIndex={0}><Written text={text} /></pre>}
    </details>
  );
}
