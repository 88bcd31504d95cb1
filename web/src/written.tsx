import type { ComponentChildren } from "preact";

/** Characters that act on the text around them, or that no font draws: controls, changes of direction, lone surrogates. */
const ACTING = /[\p{Cs}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

interface Part {
  text: string;
  kind: "plain" | "acting" | "found";
}

/** Cut a text into what is drawn as it is, acting characters, and places where the sought text stands. */
export function partsOf(text: string, sought = ""): Part[] {
  const patterns = [ACTING.source];
  if (sought) patterns.push(sought.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const cut = text.replaceAll("\r\n", "\n").split(new RegExp(`(${patterns.join("|")})`, "giu"));
  return cut
    .map((part, index): Part => {
      if (index % 2 === 0) return { text: part, kind: "plain" };
      return ACTING.test(part) ? { text: part, kind: "acting" } : { text: part, kind: "found" };
    })
    .filter((part) => part.text);
}

const codeOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** The same as `Written` for where no element can stand: titles, options, labels. */
export const spelled = (text: string) => partsOf(text).map((part) => (part.kind === "acting" ? codeOf(part.text) : part.text)).join("");

/**
 * Text that a story, a model or a person wrote, as text and nothing else. A character that would act on what stands
 * around it is shown by its number.
 */
export function Written({ text, sought }: { text: string; sought?: string | undefined }) {
  return (
    <bdi>
      {partsOf(text, sought).map((part): ComponentChildren => {
        if (part.kind === "acting") return <span class="acting">{codeOf(part.text)}</span>;
        return part.kind === "found" ? <mark>{part.text}</mark> : part.text;
      })}
    </bdi>
  );
}
