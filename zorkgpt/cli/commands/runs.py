"""``zorkgpt runs``: the runs of a work folder, their figures and their transcripts."""

from __future__ import annotations

import shutil
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted, cut_at, one_line
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import OfStory, chosen_run, folders_of
from zorkgpt.cli.terminal import (
    NOTHING,
    as_count,
    by_line,
    columns,
    fitted,
    folded,
    hanging,
    of_maximum,
    print_error,
    print_line,
    printable,
    terminal_width,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from zorkgpt.llm.run_model import RepeatedCall
    from zorkgpt.report.figures import EpisodeFigures, Metrics, RoleUsage, RunFigures
    from zorkgpt.report.run_summary import RunSummary


app = typer.Typer(help="The runs that were played.", no_args_is_help=True)


class Format(str, Enum):
    """What an export looks like."""

    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"


RunsFolder = Annotated[
    Path | None, typer.Option(help="Folder of the runs.", metavar="DIR", parser=common_options.folder)
]


@app.command("list")
def list_runs(story: OfStory = None, as_json: common_options.AsJson = False, workdir: RunsFolder = None) -> None:
    """Print every run of every story, the newest first."""
    from session.files.run_folders import run_folders
    from zorkgpt.report.run_summary import summaries_as_json, summarise

    folder = common_options.configuration_in(workdir).zork_game_workdir
    summaries = [summarise(each) for each in run_folders(each.path for each in folders_of(folder, story))]
    if as_json:
        typer.echo(summaries_as_json(summaries))
    elif summaries:
        typer.echo("\n".join(list_lines(summaries, terminal_width())))
    else:
        print_line(f"No run yet in {folder}.")


@app.command()
def show(
    run: common_options.RunOrLatest = None,
    story: OfStory = None,
    as_json: common_options.AsJson = False,
    workdir: RunsFolder = None,
) -> None:
    """Print the episodes, metrics and model usage of a run."""
    from zorkgpt.report.exports import figures_as_json
    from zorkgpt.report.figures import figures_of
    from zorkgpt.report.played_run import read_run

    now = common_options.configuration_in(workdir)
    figures = figures_of(read_run(chosen_run(now.zork_game_workdir, run, story)), now.prices)
    if as_json:
        typer.echo(figures_as_json(figures))
    else:
        typer.echo("\n".join(show_lines(figures, terminal_width())))


@app.command()
def delete(
    run: common_options.RunOrLatest = None,
    story: OfStory = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    workdir: RunsFolder = None,
) -> None:
    """Delete the folder of a run, and of a fork all that is its own. What a run taught the work folder stays."""
    from session.files.run_folders import claimed, is_fork, require_run_folder

    folder = chosen_run(common_options.configuration_in(workdir).zork_game_workdir, run, story)
    require_run_folder(folder)
    doomed = folder.parent.parent if is_fork(folder) else folder
    if not yes:
        typer.confirm(printable(f"Delete {doomed}?"), abort=True)
    try:
        with claimed(folder):
            shutil.rmtree(doomed)
    except OSError as error:
        raise StoreError(f"cannot delete {doomed}: {error.strerror or error}") from error
    print_line(f"Deleted {doomed}.")


@app.command()
def export(
    run: common_options.RunOrLatest = None,
    story: OfStory = None,
    to: Annotated[Path | None, typer.Option(help="File to write instead of printing.", metavar="FILE")] = None,
    form: Annotated[
        Format,
        typer.Option("--format", help="markdown: to read; json: all figures and turns; csv: one line a turn."),
    ] = Format.MARKDOWN,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="With every prompt and its answer, rebuilt by playing the run again.")
    ] = False,
    workdir: RunsFolder = None,
) -> None:
    """Write down a whole run: what was seen, thought and played."""
    from zorkgpt.cli.pages import repeat
    from zorkgpt.report.exports import as_csv, as_json, as_markdown
    from zorkgpt.report.played_run import read_run

    now = common_options.configuration_in(workdir)
    folder = chosen_run(now.zork_game_workdir, run, story)
    played = read_run(folder)
    calls: list[RepeatedCall] = []
    if prompts:
        if form == Format.CSV:
            raise ConfigurationError("--prompts: a CSV has no room for prompts; --format markdown or json has")
        replayed = repeat(folder, now, asked=calls.append)
        if replayed.difference is not None:
            print_error(
                f"This version plays run {folder.name} differently after {counted(replayed.turns, 'turn')}: "
                "no prompt after that can be rebuilt."
            )
    written = {Format.MARKDOWN: as_markdown, Format.JSON: as_json}.get(form)
    text = printable(written(played, calls) if written else as_csv(played))
    if to is None:
        typer.echo(text, nl=False)
        return
    try:
        to.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {to}: {error.strerror}") from error
    print_line(f"Run {folder.name} is written to {to}.")


LIST_WIDTH = 80  # columns into which the list fits
LONGEST_STORY, LONGEST_MODEL = 11, 10  # characters there


def list_lines(summaries: Iterable[RunSummary], width: int | None = None) -> list[str]:
    """Return a heading, a line for each run and below it, where there is any, its help and why it is not done.

    width: columns of the terminal; ``None`` for none. In a narrow one each figure has a line.
    """
    runs = list(summaries)
    heading = ("RUN", "STORY", "MODEL", "EPISODES", "TURNS", "BEST", "STATE")
    rows = list(map(_list_row, runs))
    if width is not None and width < LIST_WIDTH:
        both = zip(runs, rows, strict=True)
        return folded((line for run, row in both for line in (*by_line(heading, row), *_remarks(run))), width)
    lines = columns([heading, *rows])
    return [lines[0], *(line for run, line in zip(runs, lines[1:], strict=True) for line in (line, *_remarks(run)))]


def show_lines(figures: RunFigures, width: int | None = None) -> Iterator[str]:
    """Yield all the figures of a run, in four parts. ``width``: columns of the terminal, ``None`` for none."""
    yield from hanging(_facts(figures), width)
    yield from ("", "EPISODES", *fitted(list(_episode_rows(figures.episodes)), width))
    yield from ("", "METRICS", *hanging(_metric_rows(figures.metrics), width))
    if figures.usage:
        yield from ("", "MODELS", *fitted(list(_usage_rows(figures.usage)), width))


def _list_row(run: RunSummary) -> tuple[str, ...]:
    return (
        run.run_id,
        _cut(run.story, LONGEST_STORY),
        _cut(run.model.partition(" at ")[0], LONGEST_MODEL),
        f"{run.episodes}/{as_count(run.planned)}",
        str(run.turns),
        of_maximum(run.best_score, run.max_score),
        run.state,
    )


def _remarks(run: RunSummary) -> Iterator[str]:
    if run.forked_from:
        yield f"  fork of {printable(one_line(run.forked_from))}"
    if run.assistance:
        yield f"  assisted by {', '.join(run.assistance)}"
    if run.reason:
        yield f"  {cut_at(printable(one_line(run.reason)), LIST_WIDTH - 2, '…')}"


def _facts(figures: RunFigures) -> list[tuple[str, str]]:
    run, manifest = figures.run, figures.manifest
    return [
        ("Run", run.run_id),
        ("State", f"{run.state}: {run.reason}" if run.reason else run.state),
        ("Begun", run.created[:16].replace("T", " ") or NOTHING),
        ("Story", f"{manifest.story} (sha256 {manifest.story_sha256})"),
        ("Model", manifest.model),
        *[("Changed", change.describe()) for change in run.changes],
        ("Assistance", ", ".join(manifest.assistance) or "none"),
        ("Seeds", ", ".join(map(str, manifest.seeds))),
        ("Versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items())),
        ("Command", " ".join(manifest.command)),
        *([("Forked from", manifest.forked_from)] if manifest.forked_from else []),
    ]


def _episode_rows(episodes: Iterable[EpisodeFigures]) -> Iterator[Sequence[str]]:
    figures = ("TURNS", "SCORE", "BEST", "ROOMS", "REPEATED", "MEMORY TOKENS", "BY ROUTES", "MILESTONES")
    yield ("EPISODE", "SEED", "END", *figures)
    for each in episodes:
        yield (
            str(each.episode),
            str(each.seed),
            each.end,
            str(each.turns),
            of_maximum(each.score, each.max_score),
            as_count(each.best_score),
            str(each.rooms),
            _share(each.repeated_actions),
            _number(each.memory_tokens),
            f"{each.route_points:+} in {each.route_turns}" if each.route_turns else NOTHING,
            ", ".join(f"{best.score} at T{best.turn}" for best in each.milestones) or NOTHING,
        )


def _metric_rows(metrics: Metrics) -> Iterator[Sequence[str]]:
    yield ("repeated actions", _share(metrics.repeated_actions), "of turns")
    yield ("location memory", _number(metrics.memory_tokens), "tokens a turn")
    yield ("locations with a memory", _share(metrics.memory_coverage), "of those visited")
    yield ("core memories on return visits", as_count(metrics.core_downgrades), "downgraded")
    yield ("tentative memories", as_count(metrics.tentative_memories), "left over")
    yield ("objectives proposed", as_count(metrics.objectives), "")
    yield ("objectives with a location", _share(metrics.objectives_located), "of objectives")
    yield ("objectives with a source", _share(metrics.objectives_cited), "of objectives")
    yield ("objective update", _number(metrics.objective_tokens), "tokens")
    yield ("objective update", _number(metrics.objective_seconds, digits=1), "seconds")
    yield ("commands of routes", _share(metrics.route_turns), "of turns")
    yield ("won by routes", as_count(metrics.route_points), "points")
    yield ("calls saved by routes", as_count(metrics.calls_saved), "")
    for milestone in metrics.milestones:
        yield (f"turns to {counted(milestone.score, 'point')}", ", ".join(map(as_count, milestone.turns)), "by episode")


def _usage_rows(usage: Iterable[RoleUsage]) -> Iterator[Sequence[str]]:
    yield ("ROLE", "CALLS", "FAILED", "PROMPT TOKENS", "CACHED", "ANSWER TOKENS", "SECONDS", "DOLLARS")
    for role in usage:
        yield (
            role.role,
            as_count(role.calls),
            as_count(role.failed),
            as_count(role.prompt_tokens),
            as_count(role.cached_tokens),
            as_count(role.completion_tokens),
            _number(role.seconds, digits=1),
            _dollars(role),
        )


def _dollars(role: RoleUsage) -> str:
    if role.dollars is None:
        return NOTHING
    unpriced = f" and {counted(role.unpriced, 'call')} of unknown price" if role.unpriced else ""
    return f"{role.dollars:.4f}{unpriced}"


def _cut(text: str, longest: int) -> str:
    return cut_at(one_line(text), longest, "…") or NOTHING


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1%}"


def _number(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"
