import { useEffect, useRef } from "preact/hooks";
import { render } from "preact";
import type { Journey } from "./journey";
import { Gain, Written } from "./written";

/** The whole story of a run for paper: it is put into the page only while the page is printed. */
export function Transcript({ journey }: { journey: Journey }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const paper = matchMedia("print");
    const write = () => render(<Episodes journey={journey} />, box.current!);
    const clear = () => render(null, box.current!);
    const change = () => (paper.matches ? write() : clear());
    addEventListener("beforeprint", write);
    addEventListener("afterprint", clear);
    paper.addEventListener("change", change);
    return () => {
      removeEventListener("beforeprint", write);
      removeEventListener("afterprint", clear);
      paper.removeEventListener("change", change);
    };
  }, [journey]);
  return <div class="transcript page" ref={box} />;
}

function Episodes({ journey }: { journey: Journey }) {
  return (
    <>
      {[...journey.episodes].map(([episode, steps]) => (
        <section key={episode}>
          <h2>Episode {episode}</h2>
          {steps.map(({ turn, proposal, seen, scoreChange }) => (
            <div key={turn}>
              {proposal && <p class="command">&gt; <Written text={proposal.action} /> <Gain points={scoreChange} /></p>}
              <div class="story"><Written text={seen.text.trim()} /></div>
            </div>
          ))}
        </section>
      ))}
    </>
  );
}
