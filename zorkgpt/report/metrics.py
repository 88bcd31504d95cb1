"""The seeds' own success metrics, computed from a run's folder.

``None`` always means that there was nothing to measure.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from managers.objectives.book import FoundObjective, ObjectivesAnswer
from session.events import ModelAnswered, TurnPlayed
from session.memory import MemoryStatus
from zorkgpt.report.core_memories import core_downgrades
from zorkgpt.report.episode_figures import EpisodeFigures, mean
from zorkgpt.report.failed_commands import FailedCommands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from session.events import Event
    from session.memory import Memory
    from zorkgpt.report.played_run import PlayedRun

_CITATION = re.compile(r"\b(?:memory|memories|knowledge)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Milestone:
    """A score, in points, that was a new best in some episode.

    turns: after how many turns each episode had as much, in the order of the episodes; ``None`` for never
    """

    score: int
    turns: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Metrics:
    """The success metrics of a run (seeds 1, 3 and 4; the targets are theirs).

    repeated_actions: share of the turns (0 to 1) whose command had failed at the same place before in this run; under
        0.05
    memory_tokens: of the location memory shown to the agent, a turn; 200 to 500
    milestones: lowest score first; fewer turns from episode to episode
    memory_coverage: share (0 to 1) of the locations in which a turn was begun that have a memory at the end, one given
        up not counting; 0.8 by episode 3
    core_downgrades: core memories proposed on return visits, which become permanent
    tentative_memories: left unconfirmed in the file at the end
    objectives: how many were proposed
    objectives_located: share (0 to 1) of these with a location id; over 0.8
    objectives_cited: share (0 to 1) of these that name a memory or knowledge as their source; over 0.6
    objective_tokens: of an update, prompt and answer, at the mean; 15,000 at most
    objective_seconds: of an update, at the mean; under 30
    """

    repeated_actions: float | None
    memory_tokens: float | None
    milestones: tuple[Milestone, ...]
    memory_coverage: float | None
    core_downgrades: int | None
    tentative_memories: int | None
    objectives: int | None
    objectives_located: float | None
    objectives_cited: float | None
    objective_tokens: float | None
    objective_seconds: float | None


def metrics_of(run: PlayedRun, episodes: Sequence[EpisodeFigures]) -> Metrics:
    """The metrics of the run; ``episodes`` are its figures by episode."""
    turns = [event for event in run.events if isinstance(event, TurnPlayed)]
    updates = list(_objective_updates(run.events))
    found = [objective for update in updates for objective in update.found]
    ledger = FailedCommands()
    return Metrics(
        repeated_actions=mean(ledger.repeats(turn.record) for turn in turns),
        memory_tokens=None if run.memories is None else mean(turn.memory_tokens for turn in turns),
        milestones=_milestones(episodes),
        memory_coverage=None if run.memories is None else _coverage(turns, run.memories),
        core_downgrades=core_downgrades(run.events),
        tentative_memories=None if run.memories is None else _tentative(run.memories),
        objectives=len(found) if updates else None,
        objectives_located=mean(each.location_id is not None for each in found),
        objectives_cited=mean(_cites(each) for each in found),
        objective_tokens=mean(update.answered.prompt_tokens + update.answered.completion_tokens for update in updates),
        objective_seconds=mean(update.answered.seconds for update in updates),
    )


class _Update(NamedTuple):
    answered: ModelAnswered
    found: list[FoundObjective]


def _objective_updates(events: Iterable[Event]) -> Iterator[_Update]:
    """The role answers other questions, too: an answer of another form is to one of those."""
    for event in events:
        if isinstance(event, ModelAnswered) and event.role == "analysis" and "objectives" in event.answer:
            with suppress(ValidationError):
                yield _Update(event, ObjectivesAnswer.model_validate(event.answer).objectives)


def _cites(objective: FoundObjective) -> bool:
    return _CITATION.search(f"{objective.text} {objective.evidence}") is not None


def _milestones(episodes: Sequence[EpisodeFigures]) -> tuple[Milestone, ...]:
    scores = sorted({best.score for episode in episodes for best in episode.milestones})
    return tuple(Milestone(score, tuple(_turns_to(score, episode) for episode in episodes)) for score in scores)


def _turns_to(score: int, episode: EpisodeFigures) -> int | None:
    return next((best.turn for best in episode.milestones if best.score >= score), None)


def _coverage(turns: Iterable[TurnPlayed], memories: dict[int, list[Memory]]) -> float | None:
    visited = {turn.record.before.location.num for turn in turns if turn.record.before.location}
    known = {
        location_id
        for location_id, each in memories.items()
        if any(memory.status != MemoryStatus.SUPERSEDED for memory in each)
    }
    return mean(location_id in known for location_id in visited)


def _tentative(memories: dict[int, list[Memory]]) -> int:
    return sum(memory.status == MemoryStatus.TENTATIVE for each in memories.values() for memory in each)
