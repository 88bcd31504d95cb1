import "./style.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { AblationPage } from "./ablation";
import { unpacked, type Report } from "./data";
import { IndexPage } from "./index_page";
import { RunsPage } from "./runs_page";

const EVERY = 2000; // milliseconds
const page = document.getElementById("page")!;

/** The report, renewed from that address for as long as the run goes on. */
function useFollowed(first: Report, address: string | undefined): Report {
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
        // nobody serves it at the moment; the next look may find somebody
      }
      timer = window.setTimeout(look, EVERY);
    };
    timer = window.setTimeout(look, EVERY);
    return () => window.clearTimeout(timer);
  }, [follows, address]);
  return report;
}

function Page({ first, follow }: { first: Report; follow: string | undefined }) {
  const report = useFollowed(first, follow);
  if (report.kind === "index") return <IndexPage report={report} />;
  return report.kind === "ablation" ? <AblationPage report={report} /> : <RunsPage report={report} />;
}

async function open() {
  const element = document.getElementById("zorkgpt-data");
  if (!element) throw new Error("there is no run in it");
  const report = await unpacked(element);
  const { follow } = element.dataset;
  element.remove();
  page.replaceChildren();
  render(<Page first={report} follow={follow} />, page);
}

open().catch((error: unknown) => {
  page.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
});
