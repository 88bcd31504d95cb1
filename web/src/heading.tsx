import type { ComponentChildren } from "preact";
import type { Metrics, RoleUsage } from "../../build/report_types";
import { asCsv, costInWords, count, download, plural, seconds, share, short, shortName, tokensInWords } from "./figures";
import { addressOf, type Journey, type Step } from "./journey";
import { Table, type Column } from "./table";
import { Machine, Written } from "./written";

/** The runs to choose from. */
export const namesOfRuns = (journeys: Journey[]) =>
  journeys.map(({ run: { figures } }, number) => [number, `${number + 1}: ${figures.run.player || shortName(figures.manifest.model)}, ${figures.run.run_id}`] as const);

const tokensOf = ({ calls, uncounted }: RoleUsage, tokens: number | null) =>
  count(tokens) + (tokens !== null && uncounted ? ` of ${plural(calls - uncounted, "call")}` : "");

const USAGE: Column<RoleUsage>[] = [
  { name: "Role", of: (use) => use.role },
  { name: "Calls", of: (use) => use.calls },
  { name: "Failed", of: (use) => use.failed },
  { name: "Retries", of: (use) => use.retries },
  { name: "Prompt", of: (use) => use.prompt_tokens, cell: (use) => tokensOf(use, use.prompt_tokens) },
  { name: "Cached", of: (use) => use.cached_tokens },
  { name: "Answer", of: (use) => use.completion_tokens, cell: (use) => tokensOf(use, use.completion_tokens) },
  { name: "Median", of: (use) => use.median_seconds, cell: (use) => seconds(use.median_seconds) },
  { name: "Longest", of: (use) => use.longest_seconds, cell: (use) => seconds(use.longest_seconds) },
  { name: "Time", of: (use) => use.seconds, cell: (use) => seconds(use.seconds) },
  { name: "Cost", of: (use) => use.dollars, cell: (use) => costInWords(use) },
];

/** The figures of a run as `zorkgpt runs show` names them. */
const FIGURES: [Exclude<keyof Metrics, "milestones">, string, (value: number | null) => string][] = [
  ["repeated_actions", "Repeated actions, of turns", share],
  ["memory_tokens", "Location memory, tokens a turn", short],
  ["memory_coverage", "Visited locations with a memory", share],
  ["core_downgrades", "Core memories on return visits, downgraded", count],
  ["tentative_memories", "Tentative memories left over", count],
  ["objectives", "Objectives proposed", count],
  ["objectives_located", "Objectives with a location", share],
  ["objectives_cited", "Objectives with a source", share],
  ["objective_tokens", "Tokens of an objective update", short],
  ["objective_seconds", "Time of an objective update", seconds],
  ["route_turns", "Commands of routes, of turns", share],
  ["route_points", "Points won by routes", count],
  ["calls_saved", "Turns in which the player was not asked", count],
];

/** A command as a shell takes it. */
const typed = (words: string[]) => words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(" ");

/** The figures of a turn, with the names that `zorkgpt runs export --format csv` has for them. */
function figuresOf({ episode, turn, seen, place, placeName, proposal, scoreChange, rooms, played, calls, cost }: Step) {
  return {
    episode, turn, location_id: place, location: placeName, command: proposal?.action ?? "",
    score: seen.score, score_change: scoreChange, rooms, seconds: played?.seconds ?? null,
    calls: calls.length, prompt_tokens: cost.prompt, cached_tokens: cost.cached, completion_tokens: cost.completion, dollars: cost.dollars,
  };
}

/** What was played, by whom and with what help, and what came of it. */
export function Heading({ journey, program, children }: { journey: Journey; program: string; children?: ComponentChildren }) {
  const { run, number, steps } = journey;
  const { run: summary, manifest, episodes, metrics, usage } = run.figures;
  const spent = steps.at(-1)?.spent;
  const tables = {
    turns: () => steps.filter((step) => step.turn > 0).map(figuresOf),
    episodes: () => episodes.map(({ milestones: _, ...figures }) => figures),
    calls: () => usage,
  };
  const seeds = [...new Set(episodes.map((episode) => String(episode.seed)))];
  return (
    <header class="heading">
      <div class="heading-title">
        <h1><Written text={manifest.story} /></h1>
        {children}
      </div>
      <dl class="facts">
        {summary.player && <Fact name="Player"><Written text={summary.player} /></Fact>}
        {manifest.model.length > 0 && <Fact name="Model"><Written text={manifest.model.join(", ")} /></Fact>}
        <Fact name="Assistance"><Written text={manifest.assistance.join(", ") || "none"} /></Fact>
        <Fact name="Best score">{summary.best_score === null ? "unknown" : `${summary.best_score}${summary.max_score ? ` of ${summary.max_score}` : ""}`}</Fact>
        <Fact name="Episodes">{episodes.length < manifest.seeds.length ? `${episodes.length} of ${manifest.seeds.length}` : episodes.length}</Fact>
        <Fact name="Turns">{count(summary.turns)}</Fact>
        <Fact name="Tokens">{spent ? tokensInWords(spent) : "–"}</Fact>
        <Fact name="Cost">{spent ? costInWords(spent) : "–"}</Fact>
        <Fact name={seeds.length === 1 ? "Seed" : "Seeds"}>{seeds.length > 4 ? `${seeds.slice(0, 2).join(", ")} and ${seeds.length - 2} more` : seeds.join(", ") || "–"}</Fact>
        <Fact name="State"><Written text={summary.state} /></Fact>
        <Fact name="Versions"><Written text={[program, manifest.versions.python && `Python ${manifest.versions.python}`].filter(Boolean).join(", ")} /></Fact>
      </dl>
      {summary.reason && <p class="note"><Written text={summary.reason} /></p>}
      {run.notes.length > 0 && (
        <ul class="notes" tabIndex={0} aria-label="What this report cannot show">
          {run.notes.map(({ text, moment }, index) => (
            <li key={index} class="note"><Written text={text} />{moment && <> <a href={addressOf(number, ...moment)}>Episode {moment[0]}, turn {moment[1]}</a></>}</li>
          ))}
        </ul>
      )}
      <details class="about">
        <summary>About this run</summary>
        <Table label="Model calls by role" rows={usage} columns={USAGE} />
        <div class="about-columns">
          <dl class="plain">
            <Fact name="Run"><Written text={manifest.run_id} /></Fact>
            <Fact name="Begun"><Written text={manifest.created} /></Fact>
            <Fact name="Command"><code><Written text={typed(manifest.command)} /></code></Fact>
            {manifest.forked_from && <Fact name="Forked from"><Written text={manifest.forked_from} /></Fact>}
            <Fact name="Story, SHA-256"><code><Written text={manifest.story_sha256} /></code></Fact>
            <Fact name="Prompts">{{ rebuilt: "rebuilt by repeating the run, and compared by hash", partly: "rebuilt in part", none: "not rebuilt" }[run.prompts]}</Fact>
            {Object.entries(manifest.versions).map(([name, version]) => <Fact key={name} name={name}><Written text={String(version)} /></Fact>)}
          </dl>
          <div>
            <p class="labels">
              CSV:
              {Object.entries(tables).map(([name, rows]) => (
                <button key={name} type="button" class="quiet" onClick={() => download(`${summary.run_id}-${name}.csv`, asCsv(rows()))}>{name}</button>
              ))}
            </p>
            <dl class="plain">
              {FIGURES.map(([figure, name, inWords]) => <Fact key={figure} name={name}>{inWords(metrics[figure])}</Fact>)}
            </dl>
            <details>
              <summary>Configuration</summary>
              <Machine text={JSON.stringify(manifest.configuration, null, 2)} />
            </details>
          </div>
        </div>
      </details>
    </header>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}
