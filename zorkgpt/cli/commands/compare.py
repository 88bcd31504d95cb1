"""``zorkgpt compare``: runs side by side."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

import typer

from session.text import counted, cut_at, one_line
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import NOTHING, as_count, fitted, of_maximum, print_error, terminal_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from zorkgpt.report.compared_runs import ComparedRun, KnownOfStory, PointsReached, RunComparison


def compare(
    one: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or its folder.")],
    other: Annotated[str, typer.Argument(metavar="RUN", help="Another one.")],
    as_json: common_options.AsJson = False,
    workdir: common_options.Workdir = None,
) -> None:
    """Print two runs side by side. Shows milestones, usage, and what each run knew and learnt."""
    from session.files.run_folders import find_run
    from zorkgpt.report.compared_runs import compare as compare_runs

    now = common_options.configuration_in(workdir)
    folders: list[Path] = [find_run(now.zork_game_workdir, run) for run in (one, other)]
    comparison = compare_runs(folders, now.prices)
    if as_json:
        typer.echo(comparison_as_json(comparison))
        return
    typer.echo("\n".join(comparison_lines(comparison, terminal_width())))
    if not comparison.is_of_one_story:
        print_error("zorkgpt: these are runs of different stories: neither points nor turns can be compared")


WIDEST = 27
"""Characters of a cell: two of them and the names of the rows fit into 80 columns."""


def comparison_lines(comparison: RunComparison, width: int | None = None) -> list[str]:
    """Return the runs as columns of a table; what was not there to be measured is a dash.

    width: columns of the terminal, ``None`` for none
    """
    runs = comparison.runs
    rows = [("RUN", *(run.figures.run.run_id for run in runs))]
    rows += [(name, *map(_cut, map(figure, runs))) for name, figure in _FIGURES.items()]
    helps = [run.figures.manifest.assistance or ("none",) for run in runs]
    rows += _named("assistance", zip_longest(*helps, fillvalue=""))
    rows.append(("KNOWN", *("start → end" for _ in runs)))
    rows += [(name, *(_change(run, name) for run in runs)) for name in ("memories", "knowledge", "rooms", "routes")]
    rows.append(("MILESTONES", *("turn" for _ in runs)))
    for milestone in comparison.milestones:
        rows.append((counted(milestone.score, "point"), *map(_turns, runs, milestone.reached)))
    return fitted(rows, width)


def comparison_as_json(comparison: RunComparison) -> str:
    """Return the comparison as one object, in ASCII, so that no control character is written as such."""
    runs = [
        {
            "run_id": run.figures.run.run_id,
            "story": run.figures.manifest.story,
            "model": run.figures.run.model,
            "assistance": run.figures.manifest.assistance,
            "state": run.figures.run.state,
            "episodes": run.figures.run.episodes,
            "turns": run.figures.run.turns,
            "best_score": run.figures.run.best_score,
            "max_score": run.figures.run.max_score,
            "calls": run.calls,
            "tokens": run.figures.run.tokens,
            "dollars": run.dollars,
            "known_at_start": run.at_start and asdict(run.at_start),
            "known_at_end": run.at_end and asdict(run.at_end),
        }
        for run in comparison.runs
    ]
    return json.dumps({"runs": runs, "milestones": [asdict(each) for each in comparison.milestones]}, indent=2)


_FIGURES: dict[str, Callable[[ComparedRun], str]] = {
    "story": lambda run: run.figures.manifest.story,
    "model": lambda run: run.figures.run.model,
    "state": lambda run: run.figures.run.state,
    "episodes": lambda run: f"{run.figures.run.episodes}/{as_count(run.figures.run.planned)}",
    "turns": lambda run: as_count(run.figures.run.turns),
    "best score": lambda run: of_maximum(run.figures.run.best_score, run.figures.run.max_score),
    "model calls": lambda run: as_count(run.calls),
    "tokens": lambda run: as_count(run.figures.run.tokens),
    "dollars": lambda run: NOTHING if run.dollars is None else f"{run.dollars:.4f}",
}


def _named(name: str, lines: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield rows of several lines, the name on the first one alone."""
    for place, line in enumerate(lines):
        yield ("" if place else name, *line)


def _change(run: ComparedRun, name: str) -> str:
    return f"{_of(run.at_start, name)} → {_of(run.at_end, name)}"


def _of(known: KnownOfStory | None, name: str) -> str:
    return NOTHING if known is None else as_count(getattr(known, name))


def _turns(run: ComparedRun, reached: Sequence[PointsReached]) -> str:
    """Return the turn of the first episode that had the points, and of the quickest one where that is another."""
    if not reached:
        return NOTHING
    quickest = min(reached, key=lambda each: each.turn)
    told = [reached[0], *([quickest] if quickest.turn < reached[0].turn else [])]
    if len(run.figures.episodes) == 1:
        return str(told[0].turn)
    return ", then ".join(f"{each.turn} (ep. {each.episode})" for each in told)


def _cut(text: str) -> str:
    return cut_at(one_line(text), WIDEST, "…") or NOTHING
