"""What happens in a run, in order: the lines of the journal and the news for whoever watches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from session.values import Observation, StoryFacts, TurnRecord

EpisodeEnd = Literal["won", "lost", "over", "turn_limit", "interrupted", "paused", "failed"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins.

    folder: where it is written down
    story_choice, model: in words, which story and model, and why those
    assistance: the help that the agent is given
    """

    run_id: str
    folder: str
    story: StoryFacts
    story_choice: str
    model: str
    assistance: tuple[str, ...]
    episodes: int
    max_turns: int
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """The story is at its opening, its random numbers drawn from ``seed``."""

    episode: int
    seed: int
    opening: Observation
    kind: Literal["episode_started"] = "episode_started"


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """A model call gave a usable answer. Token counts are the server's; ``seconds`` is wall time."""

    role: str
    prompt_sha256: str
    answer: dict[str, object]
    reasoning: str
    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    requests: int
    seconds: float
    kind: Literal["model_answered"] = "model_answered"


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model call gave no usable answer, after all retries."""

    role: str
    prompt_sha256: str
    error: str
    seconds: float
    kind: Literal["model_failed"] = "model_failed"


@dataclass(frozen=True, slots=True)
class TurnPlayed:
    """A turn is complete; ``seconds`` from the observation before it to the one after."""

    record: TurnRecord
    seconds: float
    kind: Literal["turn_played"] = "turn_played"


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode is over.

    score, best_score: ``None`` where the story keeps none
    rooms: how many were seen in it
    reason: in one line, where it was paused or failed
    """

    episode: int
    end: EpisodeEnd
    turns: int
    score: int | None
    best_score: int | None
    max_score: int | None
    rooms: int
    seconds: float
    reason: str = ""
    kind: Literal["episode_ended"] = "episode_ended"


@dataclass(frozen=True, slots=True)
class RunPaused:
    """The run cannot go on now; ``reason`` is one line for a person."""

    reason: str
    kind: Literal["run_paused"] = "run_paused"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """All episodes were played, or the run was interrupted."""

    episodes: int
    kind: Literal["run_ended"] = "run_ended"


Event = Annotated[
    RunStarted | EpisodeStarted | ModelAnswered | ModelFailed | TurnPlayed | EpisodeEnded | RunPaused | RunEnded,
    Field(discriminator="kind"),
]
