import { useEffect } from "preact/hooks";
import type { IndexData, IndexedRun } from "../../build/report_types";
import { Skyline } from "./chart";
import { costInWords, ofMaximum, plural, short, shortName, tokensInWords } from "./figures";
import { Table, type Column } from "./table";
import { spelled, Written } from "./written";

const NUMBERED = 8; // episodes, at most, whose scores are also given as numbers

const placeOf = ({ run }: IndexedRun) => run.folder.replace(/\/?runs\/[^/]*$/, "");

const helpOf = ({ run }: IndexedRun) => run.assistance.join(", ");

/** The rows come in the order in which the runs were begun, the latest first; a clock may have been wrong. */
const columnsOf = (index: IndexedRun[]): Column<IndexedRun>[] => [
  {
    name: "Run",
    of: (row) => -index.indexOf(row),
    cell: (row) => (
      <>
        {row.link ? <a href={row.link}><Written text={row.run.run_id} /></a> : <Written text={row.run.run_id} />}
        <div class="label"><Written text={[row.run.created.slice(0, 16).replace("T", " "), placeOf(row)].filter(Boolean).join(", ")} /></div>
      </>
    ),
  },
  { name: "Best score", of: ({ run }) => run.best_score, cell: ({ run, of_milestones }) => ofMaximum(run.best_score, run.max_score) + (of_milestones ? " of milestones" : ""), filter: "least" },
  {
    name: "By episode",
    of: ({ scores }) => scores.at(-1) ?? null,
    cell: ({ scores }) => scores.some((score) => score !== null) && (
      <>
        <Skyline values={scores} label={`Scores by episode: ${scores.map(short).join(", ")}`} />
        {scores.length <= NUMBERED && <div class="label">{scores.map(short).join(" ")}</div>}
      </>
    ),
  },
  { name: "Begun", of: ({ run }) => run.created, filter: "since", hidden: true },
  { name: "Story", of: ({ run }) => run.story, filter: "choose" },
  {
    name: "Model",
    of: ({ run }) => run.player || shortName(run.model),
    cell: (row) => (
      <span title={spelled(row.run.model.join(", "))}>
        <Written text={row.run.player || shortName(row.run.model)} />
        {helpOf(row) && <div class="label"><Written text={`with ${helpOf(row)}`} /></div>}
      </span>
    ),
    filter: "choose",
  },
  { name: "Assistance", of: (row) => helpOf(row) || "none", filter: "choose", hidden: true },
  { name: "Episodes", of: ({ run }) => run.episodes, cell: ({ run }) => ofMaximum(run.episodes, run.planned) },
  { name: "Turns", of: ({ run }) => run.turns },
  { name: "Tokens", of: ({ run }) => run.tokens, cell: ({ run }) => tokensInWords(run) },
  { name: "Cost", of: (row) => row.dollars, cell: (row) => (row.dollars === null ? "–" : costInWords(row)), filter: "most" },
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
      <main class="page"><Table label="Runs" rows={index} columns={columnsOf(index)} search="run" /></main>
    </>
  );
}
