"""The figures of a run: those of each episode, the success metrics, and what its models took.

``None`` always means that there was nothing to measure.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import ValidationError

from managers.memory.learner import VisitTracker
from managers.objectives.answer import FoundObjective, ObjectivesAnswer
from session.events import EpisodeEnd, EpisodeStarted, ModelAnswered, ModelFailed, TurnPlayed
from session.files.journal import Manifest
from session.game_state import EpisodeProgress, NewBest
from session.memory import MemoryStatus
from session.values import Seed
from zorkgpt.report.failed_commands import FailedCommands
from zorkgpt.report.run_summary import RunSummary
from zorkgpt.report.usage import NO_PRICES, RoleUsage, usage_by_role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from session.configuration.option_groups import PriceOptions
    from session.events import Event
    from session.memory import Memory
    from session.values import TurnRecord
    from zorkgpt.report.played_run import PlayedEpisode, PlayedRun

_SOURCE = re.compile(r"\b(?:memory|memories|knowledge|map|exits?|untried|facts?|turns? \d+|T\d+)\b", re.IGNORECASE)
"""What a prompt about objectives shows, as evidence names it."""


@dataclass(frozen=True, slots=True)
class EpisodeFigures:
    """What came of an episode.

    end: how it ended; ``unfinished`` where it has not
    score, best_score, max_score: points; ``None`` where the story keeps none
    rooms: how many were seen
    seconds: of its turns, from each observation to the next
    milestones: every new best score, first to last
    repeated_actions: share of the turns (0 to 1) whose command had failed at the same place before, in this episode or
        an earlier one of the run; ``None`` where no place was known
    memory_tokens: of the location memory shown to the agent, a turn; ``None`` where memories are off or no turn was
        played
    route_turns, route_points: turns whose command stood on a route that was followed, and the points won by these
    calls_saved: those of these turns for which the agent's model was not asked
    """

    episode: int
    seed: Seed
    end: EpisodeEnd | Literal["unfinished"]
    turns: int
    score: int | None
    best_score: int | None
    max_score: int | None
    rooms: int
    seconds: float
    milestones: tuple[NewBest, ...]
    repeated_actions: float | None
    memory_tokens: float | None
    route_turns: int
    route_points: int
    calls_saved: int

    def turns_to(self, score: float) -> int | None:
        """Return the turns after which the episode had won so many points; ``None`` for never."""
        return next((best.turn for best in self.milestones if best.score >= score), None)


@dataclass(frozen=True, slots=True)
class Milestone:
    """A score, in points, that was a new best in some episode.

    turns: after how many turns each episode had as much, in the order of the episodes; ``None`` for never
    """

    score: int
    turns: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Metrics:
    """The success metrics of a run, with the value that each should have.

    repeated_actions: share of the turns (0 to 1) whose command had failed at the same place before in this run; under
        0.05
    memory_tokens: of the location memory shown to the agent, a turn; 200 to 500
    milestones: lowest score first; fewer turns from episode to episode
    memory_coverage: share (0 to 1) of the locations in which a turn was begun that have a memory at the end, superseded
        ones not counting; 0.8 by episode 3
    core_downgrades: core memories proposed on return visits, which become permanent
    tentative_memories: left unconfirmed in the file at the end
    objectives: how many were proposed
    objectives_located: share (0 to 1) of these with a location id; over 0.8
    objectives_cited: share (0 to 1) of these that name a source: memory, knowledge, exit, fact or turn; over 0.6
    objective_tokens: of an update, prompt and answer, on average; 15,000 at most
    objective_seconds: of an update, on average; under 30
    route_turns: share of the turns (0 to 1) whose command stood on a route that was followed
    route_points: points won by these
    calls_saved: those of these turns for which the agent's model was not asked
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
    route_turns: float | None
    route_points: int
    calls_saved: int


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What a run was, what came of each episode, and what it took."""

    run: RunSummary
    manifest: Manifest
    episodes: tuple[EpisodeFigures, ...]
    metrics: Metrics
    usage: tuple[RoleUsage, ...]


def figures_of(run: PlayedRun, prices: Mapping[str, PriceOptions] = NO_PRICES) -> RunFigures:
    """Return the figures of the run; ``prices`` of models stand above those that it was begun with."""
    failed = FailedCommands()
    episodes = tuple(_episode(each, failed, has_memories=run.memories is not None) for each in run.episodes)
    return RunFigures(run.summary, run.manifest, episodes, _metrics(run, episodes), usage_by_role(run, prices))


def new_best_scores(episodes: Iterable[EpisodeFigures]) -> list[int]:
    """Return every score that was a new best in some episode, the lowest first."""
    return sorted({best.score for episode in episodes for best in episode.milestones})


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known, ``None`` where none is. Of booleans: the share that is true."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def core_downgrades(events: Iterable[Event]) -> int | None:
    """Count the core memories that a model proposed of a visit that was not the episode's first there, or not new.

    A visit is new until the model was first asked about it. ``None`` where no model has answered what to remember.
    """
    visit, is_new = VisitTracker(), False
    downgrades: int | None = None
    for event in events:
        if isinstance(event, EpisodeStarted):
            visit, is_new = VisitTracker(), False
        elif isinstance(event, TurnPlayed):
            location = event.record.before.location
            if location is not None and event.record.after.refusal is None and location.num != visit.location_id:
                is_new = visit.enter(location.num)
        elif isinstance(event, ModelAnswered | ModelFailed) and event.role == "memory":
            if isinstance(event, ModelAnswered):
                downgrades = (downgrades or 0) + (0 if is_new else _core_memories(event.answer))
            is_new = False
    return downgrades


def _core_memories(answer: dict[str, object]) -> int:
    """Count the core memories of an answer, which is a list of memories or a single one."""
    memories = answer.get("memories", [answer])
    if not isinstance(memories, list):
        return 0
    return sum(isinstance(memory, dict) and memory.get("persistence") == "core" for memory in memories)


def _episode(episode: PlayedEpisode, failed: FailedCommands, *, has_memories: bool) -> EpisodeFigures:
    turns = [turn.played for turn in episode.turns]
    by_route = [turn for turn in episode.turns if turn.played.record.is_of_route]
    progress = EpisodeProgress(episode.started.opening)
    for turn in turns:
        progress.count(turn.record, turn.seconds)
    return EpisodeFigures(
        episode=episode.started.episode,
        seed=episode.started.seed,
        end=episode.ended.end if episode.ended else "unfinished",
        turns=progress.turns,
        score=progress.latest.score,
        best_score=progress.best_score,
        max_score=progress.latest.max_score,
        rooms=len(progress.rooms),
        seconds=round(progress.seconds, 3),
        milestones=tuple(progress.new_bests),
        repeated_actions=mean(failed.repeats(turn.record) for turn in turns),
        memory_tokens=mean(turn.memory_tokens for turn in turns) if has_memories else None,
        route_turns=len(by_route),
        route_points=sum(_points(turn.played.record) for turn in by_route),
        calls_saved=sum(all(call.role != "agent" for call in turn.calls) for turn in by_route),
    )


def _points(record: TurnRecord) -> int:
    before, after = record.before.score, record.after.score
    return 0 if before is None or after is None else after - before


def _metrics(run: PlayedRun, episodes: Sequence[EpisodeFigures]) -> Metrics:
    turns = [event for event in run.events if isinstance(event, TurnPlayed)]
    updates = list(_objective_updates(run.events))
    found = [objective for update in updates for objective in update.found]
    failed = FailedCommands()
    return Metrics(
        repeated_actions=mean(failed.repeats(turn.record) for turn in turns),
        memory_tokens=None if run.memories is None else mean(turn.memory_tokens for turn in turns),
        milestones=tuple(
            Milestone(score, tuple(episode.turns_to(score) for episode in episodes))
            for score in new_best_scores(episodes)
        ),
        memory_coverage=None if run.memories is None else _coverage(turns, run.memories),
        core_downgrades=core_downgrades(run.events),
        tentative_memories=None if run.memories is None else _tentative(run.memories),
        objectives=len(found) if updates else None,
        objectives_located=mean(each.location_id is not None for each in found),
        objectives_cited=mean(_cites(each) for each in found),
        objective_tokens=mean(update.answered.prompt_tokens + update.answered.completion_tokens for update in updates),
        objective_seconds=mean(update.answered.seconds for update in updates),
        route_turns=mean(turn.record.is_of_route for turn in turns),
        route_points=sum(episode.route_points for episode in episodes),
        calls_saved=sum(episode.calls_saved for episode in episodes),
    )


class _Update(NamedTuple):
    answered: ModelAnswered
    found: list[FoundObjective]


def _objective_updates(events: Iterable[Event]) -> Iterator[_Update]:
    """Yield the answers that found objectives; the role ``analysis`` answers other questions, in another form."""
    for event in events:
        if isinstance(event, ModelAnswered) and event.role == "analysis" and "objectives" in event.answer:
            with suppress(ValidationError):
                yield _Update(event, ObjectivesAnswer.model_validate(event.answer).objectives)


def _cites(objective: FoundObjective) -> bool:
    return _SOURCE.search(f"{objective.text} {objective.evidence}") is not None


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
