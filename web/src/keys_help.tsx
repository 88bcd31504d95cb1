import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["→  ←", "next turn, turn before (of those found, while searching)"],
  ["Home  End", "first turn, last turn"],
  ["e  E", "next episode, episode before"],
  ["/", "search"],
  ["Esc", "leave the search, close this"],
  ["1 to 5", "turn, map, curves, learnt, compare"],
  ["?", "these keys"],
];

export function KeysHelp({ close }: { close: () => void }) {
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
