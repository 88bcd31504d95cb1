"""The lines that show runs and their figures, the same in a terminal and in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.text import counted, cut_at, one_line
from zorkgpt.cli.printable import by_line, columns, fitted, folded, hanging, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from zorkgpt.report.figures import EpisodeFigures, Metrics, RunFigures
    from zorkgpt.report.run_summary import RunSummary
    from zorkgpt.report.usage import RoleUsage

NOTHING = "\N{EN DASH}"  # what was not there to be measured; never 0
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
        ("Begun", _moment(run.created)),
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


def _moment(created: str) -> str:
    return created[:16].replace("T", " ") or NOTHING


def _cut(text: str, longest: int) -> str:
    return cut_at(one_line(text), longest, "…") or NOTHING


def of_maximum(score: int | None, most: int | None) -> str:
    """Return a score, of the most there is where that is known."""
    return as_count(score) if score is None or most is None else f"{score}/{most}"


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1%}"


def as_count(value: int | None) -> str:
    """Return a whole number as people read it."""
    return NOTHING if value is None else f"{value:,}"


def _number(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"
