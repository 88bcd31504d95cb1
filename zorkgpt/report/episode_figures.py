"""The figures of each episode of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from session.events import EpisodeEnd
from zorkgpt.report.failed_commands import FailedCommands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zorkgpt.report.played_run import PlayedEpisode


@dataclass(frozen=True, slots=True)
class NewBest:
    """A score that was higher than any before it in the episode: points, and the turn that brought it."""

    turn: int
    score: int


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
    """

    episode: int
    seed: int
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


def episode_figures(episodes: Iterable[PlayedEpisode], *, has_memories: bool) -> tuple[EpisodeFigures, ...]:
    """The figures of the episodes of one run, given in order."""
    ledger = FailedCommands()
    return tuple(_figures(episode, ledger, has_memories=has_memories) for episode in episodes)


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that there are, ``None`` where there is none. Of booleans: the share that is true."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _figures(episode: PlayedEpisode, ledger: FailedCommands, *, has_memories: bool) -> EpisodeFigures:
    seen, turns, ended = episode.observations, episode.turns, episode.ended
    return EpisodeFigures(
        episode=episode.started.episode,
        seed=episode.started.seed,
        end=ended.end if ended else "unfinished",
        turns=len(turns),
        score=seen[-1].score,
        best_score=max((each.score for each in seen if each.score is not None), default=None),
        max_score=seen[-1].max_score,
        rooms=len({each.location.num for each in seen if each.location}),
        seconds=round(sum(turn.played.seconds for turn in turns), 3),
        milestones=tuple(_milestones(episode)),
        repeated_actions=mean(ledger.repeats(turn.played.record) for turn in turns),
        memory_tokens=mean(turn.played.memory_tokens for turn in turns) if has_memories else None,
    )


def _milestones(episode: PlayedEpisode) -> Iterator[NewBest]:
    best = episode.started.opening.score
    for turn in episode.turns:
        score = turn.played.record.after.score
        if score is not None and best is not None and score > best:
            yield NewBest(turn.played.record.turn, score)
        if score is not None:
            best = score if best is None else max(best, score)
