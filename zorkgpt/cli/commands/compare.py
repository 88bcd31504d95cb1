"""``zorkgpt compare``: prints two runs side by side."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

import typer

from session.text import counted, who_plays
from zorkgpt.cli import common_options
from zorkgpt.cli.completion import run_ids
from zorkgpt.cli.terminal import (
    NOTHING,
    as_cell,
    as_count,
    as_tokens,
    of_maximum,
    print_error,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from zorkgpt.report.figures import RunFigures

WIDEST = 27  # characters of a cell: two of them and the names of the rows fit into 80 columns


def compare(
    one: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or its folder.", autocompletion=run_ids)],
    other: Annotated[str, typer.Argument(metavar="RUN", help="Another one.", autocompletion=run_ids)],
    as_json: common_options.AsJson = False,
    workdir: common_options.Workdir = None,
) -> None:
    """Print two runs side by side. Shows milestones, usage, and what each run knew and learned."""
    from session.files.run_folders import AT_END, AT_START, find_run
    from zorkgpt.report.figures import figures_of, known_in, new_best_scores
    from zorkgpt.report.played_run import read_run

    now = common_options.configuration_in(workdir)
    folders = [find_run(now.zork_game_workdir, run) for run in (one, other)]
    runs = [figures_of(read_run(folder), now.prices) for folder in folders]
    known = [(known_in(folder / AT_START), known_in(folder / AT_END)) for folder in folders]
    scores = new_best_scores(episode for run in runs for episode in run.episodes)
    if as_json:
        objects = [
            {**_as_object(run), "known_at_start": start, "known_at_end": end}
            for run, (start, end) in zip(runs, known, strict=True)
        ]
        milestones = [{"score": score, "reached": [_reached(run, score) for run in runs]} for score in scores]
        print_json({"runs": objects, "milestones": milestones})
        return
    shown = list(map(_column, runs))
    helps = zip_longest(*(run.manifest.assistance or ("none",) for run in runs), fillvalue="")
    kinds = ("memories", "knowledge", "rooms", "routes")
    rows = [
        ("RUN", *(run.run.run_id for run in runs)),
        *((name, *(as_cell(column[name], WIDEST) for column in shown)) for name in shown[0]),
        *(("" if place else "assistance", *line) for place, line in enumerate(helps)),
        ("KNOWN", *("start → end" for _ in shown)),
        *(
            (
                kind,
                *(" → ".join(as_count((each or {}).get(kind)) for each in moments) for moments in known),
            )
            for kind in kinds
        ),
        ("MILESTONES", *("turn" for _ in shown)),
        *((counted(score, "point"), *(_turns(run, score) for run in runs)) for score in scores),
    ]
    print_table(rows)
    if len({run.manifest.story_sha256 for run in runs}) > 1:
        print_error("zorkgpt: these are runs of different stories: neither points nor turns can be compared")
    elif len({bool(run.points) for run in runs}) > 1:
        print_error("zorkgpt: the points of some of these runs are of milestones: points cannot be compared")


def _column(figures: RunFigures) -> dict[str, str]:
    run, calls = figures.run, sum(role.calls for role in figures.usage)
    of_priced = f" of {counted(calls - figures.unpriced, 'call')}" if figures.unpriced else ""
    return {
        "story": figures.manifest.story,
        "player": who_plays(run.player, run.model, run.server, run.engine),
        "state": run.state,
        "episodes": f"{run.episodes}/{as_count(run.planned)}",
        "turns": as_count(run.turns),
        "best score": of_maximum(run.best_score, run.max_score)
        + (" of milestones" if figures.points and run.best_score is not None else ""),
        "model calls": as_count(calls),
        "tokens": as_tokens(run.tokens, calls, run.uncounted),
        "dollars": NOTHING if figures.dollars is None else f"{figures.dollars:.4f}{of_priced}",
    }


def _turns(figures: RunFigures, score: int) -> str:
    """Return the turn of the first episode that had the points, and of the quickest one if that is another."""
    turns = [(turn, each.episode) for each in figures.episodes if (turn := each.turns_to(score)) is not None]
    if not turns:
        return NOTHING
    if len(figures.episodes) == 1:
        return str(turns[0][0])
    quickest = min(turns)
    shown = [turns[0], *([quickest] if quickest[0] < turns[0][0] else [])]
    return ", then ".join(f"{turn} (ep. {episode})" for turn, episode in shown)


def _reached(figures: RunFigures, score: int) -> list[dict[str, object]]:
    return [
        {"episode": each.episode, "seed": each.seed, "turn": turn}
        for each in figures.episodes
        if (turn := each.turns_to(score)) is not None
    ]


def _as_object(figures: RunFigures) -> dict[str, object]:
    summary, manifest = figures.run, figures.manifest
    return {
        "run_id": summary.run_id,
        "story": manifest.story,
        "player": summary.player,
        "model": summary.model,
        "server": summary.server,
        "engine": summary.engine,
        "assistance": manifest.assistance,
        **({"points": figures.points} if figures.points else {}),
        **{name: getattr(summary, name) for name in ("state", "episodes", "turns", "best_score", "max_score")},
        "calls": sum(role.calls for role in figures.usage),
        "tokens": summary.tokens,
        "uncounted": summary.uncounted,
        "dollars": figures.dollars,
        "unpriced": figures.unpriced,
    }
