import { diffLines, diffWordsWithSpace, type ChangeObject } from "diff";
import { useMemo } from "preact/hooks";
import { Written } from "./written";

const PATIENCE = 300; // milliseconds; texts with less in common are shown without marks
const UNCHANGED_SHOWN = 2; // lines around a change
type Change = ChangeObject<string>;

/** Return the changes from one text to another by lines, and by words where lines took each other's place. */
export function changesOf(before: string, now: string): Change[] | undefined {
  const lines = diffLines(before, now, { timeout: PATIENCE });
  return lines?.flatMap((line, index) => {
    const next = lines[index + 1];
    if (line.removed && next?.added) return diffWordsWithSpace(line.value, next.value, { timeout: PATIENCE }) ?? [line, next];
    return line.added && lines[index - 1]?.removed ? [] : [line];
  });
}

/** A text with what is new in it marked, and what is gone struck through; long stretches of the same fold away. */
export function Changed({ before, now, sought }: { before: string; now: string; sought?: string | undefined }) {
  const changes = useMemo(() => changesOf(before, now), [before, now]);
  if (!changes) return <pre class="machine"><Written text={now} sought={sought} /></pre>;
  return (
    <pre class="machine">
      {changes.map((change, index) => {
        if (change.added) return <ins key={index}><Written text={change.value} sought={sought} /></ins>;
        if (change.removed) return <del key={index}><Written text={change.value} sought={sought} /></del>;
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
