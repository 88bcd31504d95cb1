import { useEffect, useState } from "preact/hooks";
import type { Report } from "./data";

const EVERY = 2000; // milliseconds

/** The report, renewed from that address for as long as the run goes on. */
export function useFollowed(first: Report, address: string | undefined): Report {
  const [report, setReport] = useState(first);
  const follows = Boolean(address) && report.follow;
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
