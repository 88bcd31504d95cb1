"""The events of a run: each is a line of the journal, and updates the displays of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field, JsonValue, TypeAdapter

from session.route import Route
from session.values import Observation, Proposal, Role, Seed, StoryFacts, TurnRecord

OptionValue = JsonValue
"""The value of an option that may change within a run."""

Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda names: [names] if names and isinstance(names, str) else names or ())
]
"""Journals of earlier versions have one text, which is read as one name."""

EpisodeEnd = Literal["won", "lost", "over", "crashed", "turn_limit", "stuck", "left"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins.

    story_choice: the story with the reason for the choice, in words
    model, server: the distinct names of the models and URLs of the servers of all roles
    engine: what calls the models if not their servers: "embedded" or "Inspect"
    model_choice: the reason for the choice of the model, "" if the user made it
    player: the name of the player if the agent's model does not play, else ""
    files: SHA-256 of the manifest and of the copies of the shared files, by their names in the run folder
    """

    run_id: str
    folder: str
    story: StoryFacts
    story_choice: str
    model: Names
    assistance: tuple[str, ...]
    episodes: int
    max_turns: int
    files: Mapping[str, str]
    player: str = ""
    server: Names = ()
    model_choice: str = ""
    engine: str = ""
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """An episode begins: the story was restarted, with ``seed`` for its random numbers."""

    episode: int
    seed: Seed
    opening: Observation
    kind: Literal["episode_started"] = "episode_started"


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """A model call gave a usable answer.

    prompt_tokens, cached_tokens, completion_tokens: of all requests of the call, as counted by the server
    question_tokens: of the prompt of the request that was answered; 0 if the server did not count it
    prompt_characters: of the prompt
    seconds: from the call to the answer
    text: the answer as the model wrote it, without ``reasoning``; "" if it is the JSON of ``answer`` and nothing else
    unusable: the beginnings of its answers before that could not be used, as it wrote them
    """

    role: Role
    prompt_sha256: str
    answer: dict[str, object]
    reasoning: str
    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    requests: int
    seconds: float
    question_tokens: int
    prompt_characters: int
    text: str = ""
    unusable: tuple[str, ...] = ()
    kind: Literal["model_answered"] = "model_answered"


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A model call gave no usable answer after all retries; the tokens are those of its answers.

    requests: 0 if none was sent
    unusable: the beginnings of its answers, as the model wrote them
    failure: whether the model was unavailable or its answers were invalid
    """

    role: Role
    prompt_sha256: str
    error: str
    failure: Literal["unavailable", "invalid"]
    seconds: float
    model: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    requests: int = 0
    unusable: tuple[str, ...] = ()
    kind: Literal["model_failed"] = "model_failed"


@dataclass(frozen=True, slots=True)
class Proposed:
    """A player without a model has proposed a command.

    proposal: ``None`` if the player ended the episode
    seconds: from the question to the answer
    """

    proposal: Proposal | None
    seconds: float
    kind: Literal["proposed"] = "proposed"


@dataclass(frozen=True, slots=True)
class TurnPlayed:
    """A turn was played.

    seconds: from the observation before it to the one after
    memory_tokens: of the location memories in the agent's prompt
    """

    record: TurnRecord
    seconds: float
    memory_tokens: int = 0
    kind: Literal["turn_played"] = "turn_played"


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """An episode ended.

    score, best_score, max_score: last known, highest and maximum score; ``None`` if it was never known
    rooms: number of locations that were seen, 0 if none was known
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
    """The interpreter crashed or hung on a command and was restored to the state before it.

    command: "" if it happened while valid actions were computed
    """

    command: str
    error: str
    kind: Literal["game_failed"] = "game_failed"


@dataclass(frozen=True, slots=True)
class FileEdited:
    """A person or another process has changed a shared file.

    file: its name in the work folder
    text: its content now; "" if it is gone
    lacks: how many of the run's last changes are missing, since an older version was edited
    is_unwritten: whether the file does not have this text yet, since a version was edited that the run had replaced
    """

    file: str
    text: str
    lacks: int = 0
    is_unwritten: bool = False
    kind: Literal["file_edited"] = "file_edited"


@dataclass(frozen=True, slots=True)
class FileWritten:
    """The run is about to write a shared file.

    before, after: SHA-256 of its content before and after, 64 hex digits; "" for no file
    """

    file: str
    before: str
    after: str
    kind: Literal["file_written"] = "file_written"


@dataclass(frozen=True, slots=True)
class OptionsChanged:
    """The run was resumed with other models, servers or sampling.

    options: the new values, by the options' names
    model, server, engine: the new ones
    """

    options: Mapping[str, OptionValue]
    model: Names
    server: Names
    engine: str = ""
    kind: Literal["options_changed"] = "options_changed"


@dataclass(frozen=True, slots=True)
class ProposalReviewed:
    """The user has decided on a proposal before it was played.

    action: the proposed command, route or location
    played: what to play, the proposed action or another command; "" if it is rejected
    reason: of a rejection, for the agent
    """

    action: str
    played: str
    reason: str = ""
    kind: Literal["proposal_reviewed"] = "proposal_reviewed"


@dataclass(frozen=True, slots=True)
class MemoryRemoved:
    """The memories with that title were removed before the next turn, as the options of a fork require."""

    title: str
    kind: Literal["memory_removed"] = "memory_removed"


@dataclass(frozen=True, slots=True)
class MemoryGiven:
    """The player has remembered something of a location, or invalidated a memory, before the next turn.

    answer: in the form of a model's answer (``VisitMemory``), always with the location
    """

    answer: dict[str, object]
    kind: Literal["memory_given"] = "memory_given"


@dataclass(frozen=True, slots=True)
class ProvenRoute:
    """The result of trying out a route.

    key, number, commands: of the original route
    forms: its replacements: the shortest form, and the one that carries most if it differs
    """

    key: str
    number: int
    commands: int
    forms: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class RoutesProven:
    """Routes were tried out after an episode, from the opening, with several seeds."""

    episode: int
    routes: tuple[ProvenRoute, ...]
    kind: Literal["routes_proven"] = "routes_proven"


@dataclass(frozen=True, slots=True)
class RunPaused:
    """The run stopped and can be resumed.

    reason: one line for the user
    episode, turns: the current episode and the number of its turns that were played
    """

    reason: str
    episode: int
    turns: int
    kind: Literal["run_paused"] = "run_paused"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """All episodes were played.

    files: SHA-256 of each shared file, by its name in the work folder
    """

    episodes: int
    files: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["run_ended"] = "run_ended"


Event = Annotated[
    RunStarted
    | EpisodeStarted
    | ModelAnswered
    | ModelFailed
    | Proposed
    | TurnPlayed
    | EpisodeEnded
    | GameFailed
    | FileEdited
    | FileWritten
    | OptionsChanged
    | ProposalReviewed
    | MemoryRemoved
    | MemoryGiven
    | RoutesProven
    | RunPaused
    | RunEnded,
    Field(discriminator="kind"),
]
EVENTS: TypeAdapter[Event] = TypeAdapter(Event)
"""Converts events to and from plain values for JSON."""


class RunMoment(NamedTuple):
    """A turn of an episode; 0 is the opening."""

    episode: int
    turn: int


def moment_of(event: Event | None) -> RunMoment | None:
    """Return the moment that an event brings the run to, ``None`` if it leaves it at the one before."""
    if isinstance(event, TurnPlayed):
        return RunMoment(event.record.episode, event.record.turn)
    return RunMoment(event.episode, 0) if isinstance(event, EpisodeStarted) else None


def observation_in(event: Event | None) -> Observation | None:
    """Return what the story showed last in an event, ``None`` if it showed nothing."""
    if isinstance(event, TurnPlayed):
        return event.record.after
    return event.opening if isinstance(event, EpisodeStarted) else None
