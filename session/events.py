"""What happens in a run, in order: the lines of the journal and the news for whoever watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from session.values import Observation, StoryFacts, TurnRecord

EpisodeEnd = Literal["won", "lost", "over", "turn_limit"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins.

    folder: where it is written down
    story_choice, model: in words, which story and model, and why those
    assistance: the help that the agent is given
    files: SHA-256 of the manifest and of the copies of the shared files, by their names in the run folder
    """

    run_id: str
    folder: str
    story: StoryFacts
    story_choice: str
    model: str
    assistance: tuple[str, ...]
    episodes: int
    max_turns: int
    files: Mapping[str, str] = field(default_factory=dict)
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
    """A model call gave a usable answer. Token counts are the server's; ``seconds`` is wall time.

    prompt_tokens, cached_tokens, completion_tokens: of all requests that it took
    question_tokens: of the prompt alone, in the request that was answered; 0 where that is not known
    """

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
    question_tokens: int = 0
    kind: Literal["model_answered"] = "model_answered"


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model call gave no usable answer, after all retries. Tokens are as in ``ModelAnswered``, of what came back."""

    role: str
    prompt_sha256: str
    error: str
    seconds: float
    model: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    kind: Literal["model_failed"] = "model_failed"


@dataclass(frozen=True, slots=True)
class TurnPlayed:
    """A turn is complete; ``seconds`` from the observation before it to the one after.

    memory_tokens: tokens of the location memory that the agent was shown
    """

    record: TurnRecord
    seconds: float
    memory_tokens: int = 0
    kind: Literal["turn_played"] = "turn_played"


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode is over.

    score, best_score: ``None`` where the story keeps none
    rooms: how many were seen in it
    """

    episode: int
    end: EpisodeEnd
    turns: int
    score: int | None
    best_score: int | None
    max_score: int | None
    rooms: int
    seconds: float
    kind: Literal["episode_ended"] = "episode_ended"


@dataclass(frozen=True, slots=True)
class GameFailed:
    """The interpreter crashed or hung over ``command`` and was put back to before it; ``command`` "" looked ahead."""

    command: str
    error: str
    kind: Literal["game_failed"] = "game_failed"


@dataclass(frozen=True, slots=True)
class FileEdited:
    """Somebody else has written a shared file.

    file: its name in the work folder
    read: in the how many-th look at the file that was found
    text: what the file holds since
    """

    file: str
    read: int
    text: str
    kind: Literal["file_edited"] = "file_edited"


@dataclass(frozen=True, slots=True)
class MemoryRemoved:
    """A person has the run go on without the memories of that title, from before the next turn."""

    title: str
    kind: Literal["memory_removed"] = "memory_removed"


@dataclass(frozen=True, slots=True)
class RunPaused:
    """The run does not go on now and can be resumed; ``reason`` is one line for a person.

    episode, turns: where it stands: turns played of that episode
    """

    reason: str
    episode: int
    turns: int
    kind: Literal["run_paused"] = "run_paused"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """All episodes were played.

    files: a digest of what each shared file holds, by its name in the work folder
    """

    episodes: int
    files: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["run_ended"] = "run_ended"


Event = Annotated[
    RunStarted
    | EpisodeStarted
    | ModelAnswered
    | ModelFailed
    | TurnPlayed
    | EpisodeEnded
    | GameFailed
    | FileEdited
    | MemoryRemoved
    | RunPaused
    | RunEnded,
    Field(discriminator="kind"),
]
