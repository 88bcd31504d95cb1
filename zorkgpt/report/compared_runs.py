"""Puts runs side by side: what each knew at its beginning and learnt, what that took, and when it won points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from managers.knowledge.document import parse_knowledge
from managers.memory.document import parse_memories
from managers.route_manager import ROUTES_FILE
from managers.routes.document import parse_routes
from session.files.run_folders import AT_END, AT_START
from session.game_configuration import PriceOptions
from session.memory import MemoryStatus
from session.values import Seed
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.figures import RunFigures, figures_of, new_best_scores
from zorkgpt.report.learnt import text_of
from zorkgpt.report.played_run import read_run


@dataclass(frozen=True, slots=True)
class KnownOfStory:
    """How much of a story was known at one moment.

    memories: those that are believed
    knowledge: lines about the game as a whole
    """

    memories: int
    knowledge: int
    rooms: int
    routes: int


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run among others.

    at_start, at_end: what was known; ``None`` if the run keeps no copy of that
    """

    figures: RunFigures
    at_start: KnownOfStory | None
    at_end: KnownOfStory | None

    @property
    def calls(self) -> int:
        """Of all models, answered or not."""
        return sum(role.calls for role in self.figures.usage)

    @property
    def dollars(self) -> float | None:
        """Of the calls whose price is known; ``None`` if there are none."""
        known = [role.dollars for role in self.figures.usage if role.dollars is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class PointsReached:
    """The turn after which an episode had won some points for the first time."""

    episode: int
    seed: Seed
    turn: int


@dataclass(frozen=True, slots=True)
class ComparedMilestone:
    """A score, in points, that was a new best in some episode of some run.

    reached: by run, in their order, the episodes that had as much, oldest first
    """

    score: int
    reached: tuple[tuple[PointsReached, ...], ...]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Runs side by side."""

    runs: tuple[ComparedRun, ...]
    milestones: tuple[ComparedMilestone, ...]

    @property
    def is_of_one_story(self) -> bool:
        """Whether all runs played the same story, so that their points and turns can be compared."""
        return len({run.figures.manifest.story_sha256 for run in self.runs}) == 1


def compare(folders: Sequence[Path], prices: Mapping[str, PriceOptions]) -> RunComparison:
    """Compare the runs of these folders; ``prices`` override those that they were begun with.

    Raises ``StoreError``.
    """
    runs = tuple(
        ComparedRun(figures_of(read_run(folder), prices), _known(folder / AT_START), _known(folder / AT_END))
        for folder in folders
    )
    scores = new_best_scores(episode for run in runs for episode in run.figures.episodes)
    return RunComparison(
        runs, tuple(ComparedMilestone(score, tuple(_reached(run.figures, score) for run in runs)) for score in scores)
    )


def _reached(figures: RunFigures, score: int) -> tuple[PointsReached, ...]:
    turns = ((each, each.turns_to(score)) for each in figures.episodes)
    return tuple(PointsReached(each.episode, each.seed, turn) for each, turn in turns if turn is not None)


def _known(copies: Path) -> KnownOfStory | None:
    """Return what the copies of the shared files in a run folder hold, ``None`` if there are none."""
    if not copies.is_dir():
        return None
    memories = parse_memories(text_of(copies / "Memories.md")).memories().values()
    map_file = copies / "map_state.json"
    graph = MapGraph.load_from_json(map_file) if text_of(map_file) else None
    routes = copies / ROUTES_FILE
    return KnownOfStory(
        memories=sum(memory.status != MemoryStatus.SUPERSEDED for each in memories for memory in each),
        knowledge=len(parse_knowledge(text_of(copies / "knowledgebase.md")).entries()),
        rooms=len(graph.rooms) if graph else 0,
        routes=len(parse_routes(text_of(routes), routes).routes),
    )
