import "./style.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Report } from "../../build/report_types";
import { AblationPage } from "./ablation";
import { IndexPage } from "./index_page";
import { RunsPage } from "./runs_page";

const EVERY = 2000; // milliseconds
const page = document.getElementById("page")!;

/** The page of a report, which is renewed from that address for as long as the run goes on. */
function Page({ first, address }: { first: Report; address: string | undefined }) {
  const [report, setReport] = useState(first);
  const follows = Boolean(address) && report.follow && location.protocol !== "file:";
  useEffect(() => {
    if (!follows) return undefined;
    let tag = "";
    let timer = 0;
    const look = async () => {
      try {
        const answer = await fetch(address!, { cache: "no-cache", headers: tag ? { "If-None-Match": tag } : {} });
        const next = answer.headers.get("ETag") ?? "";
        if (answer.status === 200 && (next !== tag || !next)) setReport((await answer.json()) as Report);
        tag = next;
      } catch {
        // the server is unreachable; try again at the next poll
      }
      timer = window.setTimeout(look, EVERY);
    };
    timer = window.setTimeout(look, EVERY);
    return () => window.clearTimeout(timer);
  }, [follows, address]);
  if (report.kind === "index") return <IndexPage report={report} />;
  return report.kind === "ablation" ? <AblationPage report={report} /> : <RunsPage report={report} />;
}

/** Unpack the report out of its element, gzip in base64, and show it. */
async function open() {
  const element = document.getElementById("zorkgpt-data");
  if (!element) throw new Error("there is no run in it");
  const bytes = Uint8Array.from(atob(element.textContent!.trim()), (character) => character.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const report = (await new Response(plain).json()) as Report;
  element.remove();
  page.replaceChildren();
  render(<Page first={report} address={element.dataset.follow} />, page);
}

open().catch((error: unknown) => {
  page.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
});
