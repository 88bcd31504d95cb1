"""``zorkgpt compare``: prints two runs side by side."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

import typer

from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.completion import run_ids
from zorkgpt.cli.terminal import NOTHING, as_cell, as_count, of_maximum, print_error, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zorkgpt.report.figures import ComparedRun, PointsReached

WIDEST = 27  # characters of a cell: two of them and the names of the rows fit into 80 columns
KNOWN = ("memories", "knowledge", "rooms", "routes")


def compare(
    one: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or its folder.", autocompletion=run_ids)],
    other: Annotated[str, typer.Argument(metavar="RUN", help="Another one.", autocompletion=run_ids)],
    as_json: common_options.AsJson = False,
    workdir: common_options.Workdir = None,
) -> None:
    """Print two runs side by side. Shows milestones, usage, and what each run knew and learnt."""
    from session.files.run_folders import find_run
    from zorkgpt.report.figures import compared_run, new_best_scores

    now = common_options.configuration_in(workdir)
    runs = [compared_run(find_run(now.zork_game_workdir, run), now.prices) for run in (one, other)]
    scores = new_best_scores(episode for run in runs for episode in run.figures.episodes)
    if as_json:
        milestones = [{"score": score, "reached": [run.reached(score) for run in runs]} for score in scores]
        print_json({"runs": list(map(_as_object, runs)), "milestones": milestones})
        return
    shown = list(map(_column, runs))
    helps = zip_longest(*(run.figures.manifest.assistance or ("none",) for run in runs), fillvalue="")
    rows = [
        ("RUN", *(run.figures.run.run_id for run in runs)),
        *((name, *(as_cell(column[name], WIDEST) for column in shown)) for name in shown[0] if name not in KNOWN),
        *(("" if place else "assistance", *line) for place, line in enumerate(helps)),
        ("KNOWN", *("start → end" for _ in shown)),
        *((name, *(column[name] for column in shown)) for name in KNOWN),
        ("MILESTONES", *("turn" for _ in shown)),
        *((counted(score, "point"), *(_turns(run, run.reached(score)) for run in runs)) for score in scores),
    ]
    print_table(rows)
    if len({run.figures.manifest.story_sha256 for run in runs}) > 1:
        print_error("zorkgpt: these are runs of different stories: neither points nor turns can be compared")


def _column(run: ComparedRun) -> dict[str, str]:
    summary = run.figures.run
    known = {
        name: " → ".join(
            NOTHING if each is None else as_count(getattr(each, name)) for each in (run.at_start, run.at_end)
        )
        for name in KNOWN
    }
    return {
        "story": run.figures.manifest.story,
        "model": summary.model,
        "state": summary.state,
        "episodes": f"{summary.episodes}/{as_count(summary.planned)}",
        "turns": as_count(summary.turns),
        "best score": of_maximum(summary.best_score, summary.max_score),
        "model calls": as_count(run.calls),
        "tokens": as_count(summary.tokens),
        "dollars": NOTHING if run.dollars is None else f"{run.dollars:.4f}",
        **known,
    }


def _turns(run: ComparedRun, reached: Sequence[PointsReached]) -> str:
    """Return the turn of the first episode that had the points, and of the quickest one if that is another."""
    if not reached:
        return NOTHING
    quickest = min(reached, key=lambda each: each.turn)
    shown = [reached[0], *([quickest] if quickest.turn < reached[0].turn else [])]
    if len(run.figures.episodes) == 1:
        return str(shown[0].turn)
    return ", then ".join(f"{each.turn} (ep. {each.episode})" for each in shown)


def _as_object(run: ComparedRun) -> dict[str, object]:
    summary, manifest = run.figures.run, run.figures.manifest
    return {
        "run_id": summary.run_id,
        "story": manifest.story,
        "model": summary.model,
        "assistance": manifest.assistance,
        **{name: getattr(summary, name) for name in ("state", "episodes", "turns", "best_score", "max_score")},
        "calls": run.calls,
        "tokens": summary.tokens,
        "dollars": run.dollars,
        "known_at_start": run.at_start,
        "known_at_end": run.at_end,
    }
