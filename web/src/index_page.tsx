import { useEffect } from "preact/hooks";
import type { IndexData, IndexedRun } from "../../build/report_types";
import { Skyline } from "./chart";
import { dollars, ofMaximum, plural, short } from "./figures";
import { Table, type Column } from "./table";
import { Written } from "./written";

const placeOf = ({ run }: IndexedRun) => run.folder.replace(/\/?runs\/[^/]*$/, "");

const COLUMNS: Column<IndexedRun>[] = [
  {
    name: "Run",
    of: ({ run }) => run.run_id,
    cell: (row) => (
      <>
        {row.link ? <a href={row.link}><Written text={row.run.run_id} /></a> : <Written text={row.run.run_id} />}
        {placeOf(row) && <div class="label"><Written text={placeOf(row)} /></div>}
      </>
    ),
  },
  { name: "Begun", of: ({ run }) => run.created, cell: ({ run }) => <Written text={run.created.slice(0, 16).replace("T", " ")} />, filter: "since" },
  { name: "Story", of: ({ run }) => run.story, filter: "choose" },
  { name: "Model", of: ({ run }) => run.model, filter: "choose" },
  { name: "Assistance", of: ({ run }) => run.assistance.join(", ") || "none", filter: "choose" },
  { name: "Episodes", of: ({ run }) => run.episodes, cell: ({ run }) => ofMaximum(run.episodes, run.planned) },
  { name: "Turns", of: ({ run }) => run.turns },
  { name: "Best score", of: ({ run }) => run.best_score, cell: ({ run }) => ofMaximum(run.best_score, run.max_score), filter: "least" },
  {
    name: "By episode",
    of: ({ scores }) => scores.at(-1) ?? null,
    cell: ({ scores }) => scores.some((score) => score !== null) && <Skyline values={scores} label={`Scores by episode: ${scores.map(short).join(", ")}`} />,
  },
  { name: "Tokens", of: ({ run }) => run.tokens, cell: ({ run }) => short(run.tokens) },
  { name: "Cost", of: (row) => row.dollars, cell: (row) => dollars(row.dollars), filter: "most" },
  {
    name: "State",
    of: ({ run }) => run.state,
    cell: ({ run }) => <><span class={run.state === "damaged" ? "loss" : ""}>{run.state}</span>{run.reason && <div class="label reason"><Written text={run.reason} /></div>}</>,
    filter: "choose",
  },
];

/** The page of many runs: what came of each, with a link to its own page. */
export function IndexPage({ report: { index, program } }: { report: IndexData }) {
  useEffect(() => void (document.title = `ZorkGPT: ${plural(index.length, "run")}`), [index.length]);
  return (
    <>
      <header class="heading"><h1>Runs</h1><p class="label"><Written text={program} /></p></header>
      <main class="page"><Table label="Runs" rows={index} columns={COLUMNS} search="run" latest="Begun" /></main>
    </>
  );
}
