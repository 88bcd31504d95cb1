"""The measures of a run, read from its journal alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from session.errors import StoreError
from session.files.journal import JOURNAL_FILE
from session.files.run_folders import run_folders
from session.values import Seed
from zorkgpt.report.figures import EpisodeFigures, figures_of, total
from zorkgpt.report.played_run import read_run
from zorkgpt.report.run_summary import summarise


@dataclass(frozen=True, slots=True)
class RunMeasures:
    """The measures of one run of an ablation; ``None`` if there was nothing to measure.

    story: its name in the plan
    seed: of its first episode
    model: who played: the player, or its models, in words
    episodes: the figures of each, in order
    score: points at the end of an episode, the mean of all episodes; ``None`` if one of them is unknown
    last_three: the same for the last three episodes; ``None`` for fewer
    last_score: points at the end of the last episode
    best_score: the highest score at any time, in points
    max_score: the story's maximum in points; ``None`` if the story does not report it
    rooms: number of locations seen; ``None`` if no location was known
    turns_to_best: the turn in which the best score was reached, in the first episode that reached it
    repeated_actions: share of the turns (0 to 1) whose command had failed before at the same location
    calls, tokens: of all models; tokens of prompts and answers, as counted by the server
    seconds: wall time of all turns and of the learning after them; depends on the machine's load
    memory_tokens: tokens of location memory shown to the agent per turn
    memory_coverage: share (0 to 1) of the visited locations that have a memory at the end
    versions: of Python and of the packages that affect results, as text
    journal_sha256: digest of the journal from which all of this was read
    points: as in ``PlayedRun``
    """

    story: str
    arm: str
    pair: int
    seed: Seed
    model: str
    assistance: tuple[str, ...]
    episodes: tuple[EpisodeFigures, ...]
    score: float | None
    last_three: float | None
    last_score: float | None
    best_score: float | None
    max_score: int | None
    rooms: int | None
    turns_to_best: int | None
    repeated_actions: float | None
    calls: int
    tokens: int | None
    seconds: float
    memory_tokens: float | None
    memory_coverage: float | None
    versions: str
    journal_sha256: str
    points: str = ""


TURNS_TO_BEST = "turns to best"
LAST = 3  # episodes at the end of a run that show what had been learned by then
LEARNING_ROLES = ("memory", "analysis")
"""Roles that are asked after a turn, so that the turn's own seconds do not include them."""

MEASURES: Mapping[str, Callable[[RunMeasures], float | None]] = {
    "score": lambda run: run.score,
    "last three": lambda run: run.last_three,
    "last score": lambda run: run.last_score,
    "best score": lambda run: run.best_score,
    "rooms": lambda run: run.rooms,
    TURNS_TO_BEST: lambda run: run.turns_to_best,
    "repeated failures": lambda run: run.repeated_actions,
    "calls": lambda run: run.calls,
    "tokens": lambda run: run.tokens,
    "seconds": lambda run: run.seconds,
}
"""The measures that arms are compared by."""
DECISIVE = "score"
"""The measure that conclusions are drawn from; the others describe."""


SCORES = ("score", "last three", "last score", "best score")
"""The measures in points. Over several stories they are compared in percent of each story's maximum."""


def finished_run(workdir: Path) -> Path | None:
    """Return the folder of the completed run in a work folder, or ``None``. Its journal may have been changed since."""
    return next((run for run in run_folders([workdir]) if _is_finished(run)), None)


def _is_finished(run: Path) -> bool:
    state = summarise(run).state
    if state != "damaged" or not (run / JOURNAL_FILE).is_file():
        return state == "done"
    with suppress(ValueError, LookupError, TypeError):
        return bool(json.loads((run / JOURNAL_FILE).read_bytes().splitlines()[-1])["event"]["kind"] == "run_ended")
    return False


def measure(
    folder: Path, story: str, arm: str, pair: int, max_score: int | None = None, *, has_score: bool = False
) -> RunMeasures:
    """Return the measures of the run in a run folder. Raises ``StoreError``, also for a damaged journal.

    max_score: the story's maximum in points, if the story does not report it
    has_score: the story is known to have a score, so milestones are not counted
    """
    run = read_run(folder, for_player=has_score)
    if run.summary.state != "done":
        raise StoreError(f"{run.summary.reason}; without {folder.parent.parent} the same command plays it again")
    figures = figures_of(run)
    episodes, metrics, usage = figures.episodes, figures.metrics, figures.usage
    learning = [each.seconds for each in usage if each.role in LEARNING_ROLES]
    tokens = [each for role in usage for each in (role.prompt_tokens, role.completion_tokens)]
    best = max((each.best_score for each in episodes if each.best_score is not None), default=None)
    return RunMeasures(
        story=story,
        arm=arm,
        pair=pair,
        seed=run.manifest.seeds[0],
        model=run.manifest.player or ", ".join(run.manifest.model),
        assistance=run.manifest.assistance,
        episodes=episodes,
        score=_mean_score(episodes),
        last_three=_mean_score(episodes[-LAST:]) if len(episodes) >= LAST else None,
        last_score=episodes[-1].score,
        best_score=best,
        max_score=next((each.max_score for each in reversed(episodes) if each.max_score), max_score),
        rooms=len({seen.location.num for each in run.episodes for seen in each.observations if seen.location}) or None,
        turns_to_best=turns_to(best, episodes),
        repeated_actions=metrics.repeated_actions,
        calls=sum(role.calls for role in usage),
        tokens=None if any(role.uncounted for role in usage) else sum(filter(None, tokens)),
        seconds=round(sum(each.seconds for each in episodes) + sum(learning), 1),
        memory_tokens=metrics.memory_tokens,
        memory_coverage=metrics.memory_coverage,
        versions=", ".join(f"{name} {version}" for name, version in run.manifest.versions.items()),
        journal_sha256=hashlib.sha256((folder / JOURNAL_FILE).read_bytes()).hexdigest(),
        points=run.points,
    )


def _mean_score(episodes: Sequence[EpisodeFigures]) -> float | None:
    points = total(each.score for each in episodes)
    return None if points is None else points / len(episodes)


def share(run: RunMeasures, measure: str) -> float | None:
    """Return a measure in points as percent of the story's maximum, ``None`` if either is unknown."""
    points = MEASURES[measure](run)
    return None if points is None or not run.max_score else 100 * points / run.max_score


def turns_to(score: float | None, episodes: Iterable[EpisodeFigures]) -> int | None:
    """Return after how many turns the first episode that reached ``score`` had reached it.

    ``None`` for never, and for the score of an opening.
    """
    if score is None:
        return None
    turns = (episode.turns_to(score) for episode in episodes)
    return next((turn for turn in turns if turn is not None), None)
