import { diffLines } from "diff";
import { useMemo } from "preact/hooks";
import { signed } from "./figures";

const PATIENCE = 300; // milliseconds; texts with less in common are shown without marks
const UNCHANGED_SHOWN = 2; // lines around a change

/** Characters that act on the text around them, or that no font draws: controls, changes of direction, lone surrogates. */
const ACTING = /[\p{Cs}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

/** Cut a text at each acting character and each place where the sought text stands; these are at the odd indices. */
function partsOf(text: string, sought = ""): string[] {
  const patterns = [ACTING.source];
  if (sought) patterns.push(sought.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return text.replaceAll("\r\n", "\n").split(new RegExp(`(${patterns.join("|")})`, "giu"));
}

const codeOf = (character: string) => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** The same as `Written` for places that allow only text: titles, options, labels. */
export const spelled = (text: string) => partsOf(text).map((part, index) => (index % 2 ? codeOf(part) : part)).join("");

/**
 * Text that a story, a model or a person wrote, as text and nothing else. A character that would act on what stands
 * around it is shown by its number.
 */
export function Written({ text, sought }: { text: string; sought?: string | undefined }) {
  return (
    <bdi>
      {partsOf(text, sought).map((part, index) => {
        if (index % 2 === 0) return part;
        return ACTING.test(part) ? <span class="acting">{codeOf(part)}</span> : <mark>{part}</mark>;
      })}
    </bdi>
  );
}

/** A long text of a model, a prompt or a file, which scrolls on its own. */
export function Machine({ text, sought }: { text: string; sought?: string }) {
  return <pre class="machine" tabIndex={0}><Written text={text} sought={sought} /></pre>;
}

/** A change of the score, if there was one. */
export function Gain({ points }: { points: number | null }) {
  return points ? <strong class={points > 0 ? "gain" : "loss"}>{signed(points)}</strong> : null;
}

/** A text with its new lines marked, and those that are gone struck through; long stretches of the same fold away. */
export function Changed({ before, now, sought }: { before: string; now: string; sought?: string | undefined }) {
  const changes = useMemo(() => diffLines(before, now, { timeout: PATIENCE }), [before, now]);
  if (!changes) return <Machine text={now} sought={sought} />;
  return (
    <pre class="machine" tabIndex={0}>
      {changes.map((change, index) => {
        if (change.added) return <ins key={index} class="lines"><Written text={change.value} sought={sought} /></ins>;
        if (change.removed) return <del key={index} class="lines"><Written text={change.value} sought={sought} /></del>;
        return <Same key={index} text={change.value} first={index === 0} last={index === changes.length - 1} sought={sought} />;
      })}
    </pre>
  );
}

function Same({ text, first, last, sought }: { text: string; first: boolean; last: boolean; sought: string | undefined }) {
  const lines = text.split(/(?<=\n)/);
  const [from, to] = [first ? 0 : UNCHANGED_SHOWN, lines.length - (last ? 0 : UNCHANGED_SHOWN)];
  if (to - from < 4) return <Written text={text} sought={sought} />;
  return (
    <>
      <Written text={lines.slice(0, from).join("")} />
      <details class="same">
        <summary>{to - from} lines as before</summary>
        <Written text={lines.slice(from, to).join("")} sought={sought} />
      </details>
      <Written text={lines.slice(to).join("")} />
    </>
  );
}
