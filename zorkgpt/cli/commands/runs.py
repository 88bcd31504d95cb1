"""``zorkgpt runs``: lists, shows, exports and deletes runs."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from session.errors import ConfigurationError, reported_as
from session.text import counted, cut_at, one_line, printable, who_plays
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import AsJson, OfStory, RunOrLatest, ToFile, Workdir
from zorkgpt.cli.terminal import (
    NOTHING,
    as_cell,
    as_count,
    as_tokens,
    cell_lines,
    folded,
    of_maximum,
    print_error,
    print_json,
    print_line,
    print_table,
    table_lines,
    terminal_width,
    write_file,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zorkgpt.llm.run_model import RepeatedCall
    from zorkgpt.report.figures import RunFigures
    from zorkgpt.report.run_summary import RunSummary

LIST_WIDTH = 80  # columns into which the list fits
LONGEST_STORY, LONGEST_MODEL = 11, 10  # characters there

app = typer.Typer(name="runs", help="The runs that were played.", no_args_is_help=True)


Format = Literal["markdown", "md", "json", "csv", "atif"]


@app.command("list")
def list_runs(story: OfStory = None, as_json: AsJson = False, workdir: Workdir = None) -> None:
    """Print every run of every story, the newest first."""
    from session.files.run_folders import run_folders
    from zorkgpt.report.run_summary import summarise

    folder = common_options.configuration_in(workdir).zork_game_workdir
    folders = common_options.folders_of(folder, story)
    summaries = [summarise(each) for each in run_folders(folders)]
    if as_json:
        print_json(summaries)
    elif not summaries:
        inner = next((each for depth in ("*/*", "*/*/*") for each in folder.glob(f"{depth}/runs")), None)
        hint = f"; those of an ablation are in work folders of their own: --workdir {inner.parent}" if inner else ""
        print_line(f"No run yet in {folder}{hint}.")
    else:
        _print_list(summaries)


def _print_list(runs: Sequence[RunSummary]) -> None:
    """Print a heading, and each run with its remarks below it. In a narrow terminal each figure has a line."""
    heading = ("RUN", "STORY", "PLAYER", "EPISODES", "TURNS", "BEST", "STATE")
    rows = [
        (
            run.run_id,
            as_cell(run.story, LONGEST_STORY),
            as_cell(run.player or ", ".join(run.model), LONGEST_MODEL),
            f"{run.episodes}/{as_count(run.planned)}",
            str(run.turns),
            of_maximum(run.best_score, run.max_score),
            run.state,
        )
        for run in runs
    ]
    width = terminal_width() or LIST_WIDTH
    is_narrow = width < LIST_WIDTH
    first, *lines = table_lines([heading, *rows])
    shown = [] if is_narrow else [first]
    for run, row, line in zip(runs, rows, lines, strict=True):
        shown += cell_lines(heading, row, width) if is_narrow else [line]
        remarks = [f"fork of {one_line(run.forked_from)}"] if run.forked_from else []
        remarks += [f"assisted by {', '.join(run.assistance)}"] if run.assistance else []
        remarks += [cut_at(printable(one_line(run.reason)), LIST_WIDTH - 2, "…")] if run.reason else []
        for remark in remarks:
            shown += folded(f"  {remark}", width if is_narrow else None)
    typer.echo("\n".join(shown))


@app.command()
def show(run: RunOrLatest = None, story: OfStory = None, as_json: AsJson = False, workdir: Workdir = None) -> None:
    """Print the episodes, metrics and model usage of a run."""
    from zorkgpt.report.figures import figures_of
    from zorkgpt.report.played_run import read_run

    folder, now = common_options.run_and_configuration(workdir, run, story)
    figures = figures_of(read_run(folder), now.prices)
    if as_json:
        print_json(figures)
    else:
        print_figures(figures)


def print_figures(figures: RunFigures) -> None:
    """Print all the figures of a run, in four parts."""
    run, manifest = figures.run, figures.manifest
    facts = [
        ("Run", run.run_id),
        ("State", f"{run.state}: {run.reason}" if run.reason else run.state),
        ("Begun", run.created[:16].replace("T", " ") or NOTHING),
        ("Story", f"{manifest.story} (sha256 {manifest.story_sha256})"),
        ("Player", who_plays(manifest.player, manifest.model, manifest.server, manifest.engine)),
        *[("Changed", change.describe()) for change in run.changes],
        ("Assistance", ", ".join(manifest.assistance) or "none"),
        *([("Points", figures.points)] if figures.points else []),
        ("Seeds", ", ".join(map(str, manifest.seeds))),
        ("Versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items())),
        ("Command", " ".join(manifest.command)),
        *([("Forked from", manifest.forked_from)] if manifest.forked_from else []),
    ]
    print_table(facts, wraps=True)
    names = ("TURNS", "SCORE", "BEST", "ROOMS", "REPEATED", "MEMORY TOKENS", "BY ROUTES", "MILESTONES")
    episodes: list[Sequence[str]] = [
        (
            *(str(each.episode), str(each.seed), each.end, str(each.turns)),
            of_maximum(each.score, each.max_score),
            as_count(each.best_score),
            as_count(each.rooms),
            _share(each.repeated_actions),
            _number(each.memory_tokens),
            f"{NOTHING if each.route_points is None else format(each.route_points, '+')} in {each.route_turns}"
            if each.route_turns
            else NOTHING,
            ", ".join(f"{best.score} at T{best.turn}" for best in each.milestones) or NOTHING,
        )
        for each in figures.episodes
    ]
    typer.echo("\nEPISODES")
    print_table([("EPISODE", "SEED", "END", *names), *episodes])
    metrics = figures.metrics
    turns = [
        (f"turns to {counted(each.score, 'point')}", ", ".join(map(as_count, each.turns)), "by episode")
        for each in metrics.milestones
    ]
    typer.echo("\nMETRICS")
    print_table(
        [
            ("repeated actions", _share(metrics.repeated_actions), "of turns"),
            ("location memory", _number(metrics.memory_tokens), "tokens a turn"),
            ("locations with a memory", _share(metrics.memory_coverage), "of those visited"),
            ("core memories on return visits", as_count(metrics.core_downgrades), "downgraded"),
            ("tentative memories", as_count(metrics.tentative_memories), "left over"),
            ("objectives proposed", as_count(metrics.objectives), ""),
            ("objectives with a location", _share(metrics.objectives_located), "of objectives"),
            ("objectives with a source", _share(metrics.objectives_cited), "of objectives"),
            ("objective update", _number(metrics.objective_tokens), "tokens"),
            ("objective update", _number(metrics.objective_seconds, digits=1), "seconds"),
            ("commands of routes", _share(metrics.route_turns), "of turns"),
            ("won by routes", as_count(metrics.route_points), "points"),
            ("player not asked", as_count(metrics.calls_saved), "turns"),
            *turns,
        ],
        wraps=True,
    )
    if not figures.usage:
        return
    usage: list[Sequence[str]] = [
        ("ROLE", "CALLS", "FAILED", "PROMPT TOKENS", "CACHED", "ANSWER TOKENS", "SECONDS", "DOLLARS")
    ]
    for role in figures.usage:
        prompt, answer = (
            as_tokens(each, role.calls, role.uncounted) for each in (role.prompt_tokens, role.completion_tokens)
        )
        tokens = (prompt, as_count(role.cached_tokens), answer)
        dollars = NOTHING if role.dollars is None else f"{role.dollars:.4f}"
        if role.dollars is not None and role.unpriced:
            dollars += f" and {counted(role.unpriced, 'call')} of unknown price"
        calls = (as_count(role.calls), as_count(role.failed))
        usage.append((role.role, *calls, *tokens, _number(role.seconds, digits=1), dollars))
    typer.echo("\nMODELS")
    print_table(usage)


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1%}"


def _number(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"


@app.command()
def delete(
    run: RunOrLatest = None,
    story: OfStory = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    workdir: Workdir = None,
) -> None:
    """Delete the folder of a run, and of a fork its work folder. What a run taught the work folder stays."""
    from session.files.run_folders import claimed, is_fork, require_run_folder

    folder, _ = common_options.run_and_configuration(workdir, run, story)
    require_run_folder(folder)
    doomed = folder.parent.parent if is_fork(folder) else folder
    try:
        is_sure = yes or typer.confirm(printable(f"Delete {doomed}?"))
    except typer.Abort:  # Ctrl-C, or the input has ended
        is_sure = False
        typer.echo()
    if not is_sure:
        typer.echo("Nothing was deleted; --yes deletes without asking.")
        raise typer.Exit(1)
    with reported_as(f"cannot delete {doomed}"), claimed(folder):
        shutil.rmtree(doomed)
    print_line(f"Deleted {doomed}.")


@app.command()
def export(
    run: RunOrLatest = None,
    story: OfStory = None,
    to: ToFile = None,
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="markdown or md: to read; json: all figures and turns; csv: one line a turn; atif: for Harbor.",
        ),
    ] = "markdown",
    prompts: Annotated[
        bool, typer.Option("--prompts", help="With every prompt and its answer, rebuilt by playing the run again.")
    ] = False,
    workdir: Workdir = None,
) -> None:
    """Write down a whole run: what was seen, thought and played."""
    from zorkgpt.report.exports import as_atif, as_csv, as_json, as_markdown
    from zorkgpt.report.pages import repeat
    from zorkgpt.report.played_run import read_run

    folder, now = common_options.run_and_configuration(workdir, run, story)
    played = read_run(folder)
    if played.summary.state == "damaged":
        print_error(f"Run {folder.name}: {played.summary.reason}. What was played up to there is exported.")
    calls: list[RepeatedCall] = []
    if prompts:
        if form in ("csv", "atif"):
            raise ConfigurationError(f"--prompts: {form.upper()} cannot contain prompts; use --format markdown or json")
        replayed = repeat(folder, now, asked=calls.append)
        if replayed.difference is not None:
            print_error(
                f"This version plays run {folder.name} differently from turn {replayed.turns + 1} on: "
                "no prompt after it can be rebuilt."
            )
    written = {"markdown": as_markdown, "md": as_markdown, "json": as_json}.get(form)
    text = printable(written(played, calls) if written else as_atif(played) if form == "atif" else as_csv(played))
    if to is None:
        typer.echo(text, nl=False)
    else:
        write_file(to, text.encode())
        print_line(f"Run {folder.name} is written to {to}.")
