import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

interface Rows {
  count: number;
  chosen: number;
  height: number; // of a row, in pixels
  label: string;
  row: (index: number) => ComponentChildren;
  choose: (index: number) => void;
  rowClass?: (index: number) => string;
}

const AROUND = 8; // rows drawn beyond what is seen

/** A list of any length, of which only the rows in sight are in the document. */
export function LongList({ count, chosen, height, label, row, choose, rowClass }: Rows) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });

  useEffect(() => {
    const element = box.current!;
    const look = () => setSeen({ top: element.scrollTop, height: element.clientHeight });
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  useLayoutEffect(() => {
    const element = box.current!;
    const top = chosen * height;
    if (chosen >= 0 && (top < element.scrollTop + height || top + 2 * height > element.scrollTop + element.clientHeight))
      element.scrollTop = top - element.clientHeight / 3;
  }, [chosen, height, count]);

  const first = Math.max(0, Math.floor(seen.top / height) - AROUND);
  const last = Math.min(count, Math.ceil((seen.top + seen.height) / height) + AROUND);
  const drawn = Array.from({ length: Math.max(0, last - first) }, (_, each) => first + each);

  function move(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!step || !count) return;
    event.preventDefault();
    event.stopPropagation();
    choose(Math.min(count - 1, Math.max(0, chosen + step)));
  }

  return (
    <div
      ref={box} class="long-list" role="listbox" tabIndex={0} aria-label={label} onKeyDown={move}
      aria-activedescendant={chosen >= first && chosen < last ? `row-${chosen}` : undefined}
    >
      <div class="long-list-all" role="presentation" style={{ height: `${count * height}px` }}>
        {drawn.map((index) => (
          <div
            key={index} id={`row-${index}`} role="option" aria-selected={index === chosen} aria-setsize={count} aria-posinset={index + 1}
            class={`row ${rowClass?.(index) ?? ""}`} onClick={() => choose(index)}
            style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
