"""Reads what runs leave: a whole run with its journal, and ``current_state.json`` of the latest one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from managers.base_manager import ManagerStatus
from managers.memory.document import parse_memories
from session.errors import StoreError, first_problem
from session.events import EpisodeEnded, EpisodeStarted, Event, ModelAnswered, ModelFailed, TurnPlayed, observation_in
from session.files.journal import Manifest, read_journal, read_manifest
from session.files.run_folders import AT_END, MEMORIES_AT_END
from session.files.shared_files import CURRENT_STATE_FILE, read_shared
from session.memory import Memory
from session.values import Observation
from zorkgpt.report.milestones import read_milestones, with_points
from zorkgpt.report.run_summary import RunSummary, summarise

ModelCall = ModelAnswered | ModelFailed


def has_counts(call: ModelCall) -> bool:
    """Return whether the tokens of a call are known: the server counted them, or no request was sent."""
    return bool(call.prompt_tokens or call.completion_tokens or not call.requests)


def uncounted(calls: Iterable[ModelCall]) -> int:
    """Return how many of the calls that were answered, usably or not, the server did not count."""
    return sum(not has_counts(call) and getattr(call, "failure", "") != "unavailable" for call in calls)


def tokens_in(calls: Sequence[ModelCall], tokens_of_call: Callable[[ModelCall], int]) -> int | None:
    """Return the tokens of the calls that the server counted, ``None`` if it counted none of them."""
    found = [tokens_of_call(call) for call in calls if has_counts(call)]
    return sum(found) if found or not calls else None


def tokens_of(call: ModelCall) -> str:
    """Return the tokens of the prompt and of the answer, "unknown" if the server did not count them."""
    return f"{call.prompt_tokens:,} + {call.completion_tokens:,}" if has_counts(call) else "unknown"


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """A turn with the model calls since the turn before it.

    The calls that learned from the turn before are among these.
    """

    played: TurnPlayed
    calls: tuple[ModelCall, ...]

    @property
    def answers(self) -> tuple[ModelAnswered, ...]:
        """The calls that were answered."""
        return tuple(call for call in self.calls if isinstance(call, ModelAnswered))


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """An episode, complete or not.

    events: from its start to the start of the next one
    """

    started: EpisodeStarted
    events: tuple[Event, ...]

    @property
    def turns(self) -> tuple[PlayedTurn, ...]:
        """Its turns, oldest first."""
        turns: list[PlayedTurn] = []
        calls: list[ModelCall] = []
        for event in self.events:
            if isinstance(event, ModelAnswered | ModelFailed):
                calls.append(event)
            elif isinstance(event, TurnPlayed):
                turns.append(PlayedTurn(event, tuple(calls)))
                calls = []
        return tuple(turns)

    @property
    def observations(self) -> tuple[Observation, ...]:
        """All observations: the opening, then the one after each turn."""
        after = (event.record.after for event in self.events if isinstance(event, TurnPlayed))
        return (self.started.opening, *after)

    @property
    def ended(self) -> EpisodeEnded | None:
        """How it ended; ``None`` if it has not."""
        return next((event for event in self.events if isinstance(event, EpisodeEnded)), None)


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """What is in a run folder.

    events: all of its journal that can be read
    memories: what ``Memories.md`` held at its end by location id, superseded ones too; for a run without an end what
        it holds now; ``None`` if the run kept no memories, or its copy of them is missing
    points: where they come from if no score is known and the story has milestones, or why these are not counted
    """

    summary: RunSummary
    manifest: Manifest
    events: tuple[Event, ...]
    memories: dict[int, list[Memory]] | None
    points: str = ""

    @property
    def episodes(self) -> tuple[PlayedEpisode, ...]:
        """Its episodes, oldest first."""
        found: list[tuple[EpisodeStarted, list[Event]]] = []
        for event in self.events:
            if isinstance(event, EpisodeStarted):
                found.append((event, []))
            elif found:
                found[-1][1].append(event)
        return tuple(PlayedEpisode(started, tuple(events)) for started, events in found)


def read_run(folder: Path, *, for_player: bool = False) -> PlayedRun:
    """Read the intact part of the run in that folder. Raises ``StoreError`` without a manifest.

    for_player: milestones are not counted, because what is read is shown to the player, or the story has a score
    """
    manifest = read_manifest(folder)
    summary = summarise(folder)
    events: list[Event] = []
    try:
        events.extend(line.event for line in read_journal(folder) if line.event is not None)
    except StoreError as error:
        summary = replace(summary, state="damaged", reason=str(error))
    points = ""
    seen = [each for each in map(observation_in, events) if each]
    if not for_player and seen and all(each.score is None for each in seen):
        milestones, points = read_milestones(Path(manifest.story_path), seen)
        if milestones:
            events = list(with_points(events, milestones))
            scores = [seen.score for seen in map(observation_in, events) if seen and seen.score is not None]
            most = sum(each.points for each in milestones)
            summary = replace(summary, best_score=max(scores, default=None), max_score=most)
    return PlayedRun(summary, manifest, tuple(events), _memories(folder, manifest), points)


def _memories(folder: Path, manifest: Manifest) -> dict[int, list[Memory]] | None:
    options = manifest.configuration.get("simple_memory")
    options = options if isinstance(options, dict) else {}
    if not options.get("enabled", True):
        return None
    has_copies = (folder / AT_END).is_dir()
    now = folder.parent.parent / options.get("memory_file", "Memories.md")
    content = read_shared(folder / MEMORIES_AT_END if has_copies else now)
    if content is None:
        return None if has_copies else {}
    return parse_memories(content.decode("utf-8", "replace")).memories()


def text_of(path: Path) -> str:
    """Return the text of a shared file or of its copy, "" if there is none. Raises ``StoreError``."""
    return (read_shared(path) or b"").decode("utf-8", "replace")


class CurrentLocation(BaseModel):
    """Where the player is."""

    id: int
    name: str


class CurrentState(BaseModel):
    """``current_state.json`` as ``StateManager`` writes it; keys that are not needed here are kept."""

    model_config = ConfigDict(extra="allow")

    run: str = ""
    timestamp: str
    episode: int
    turn: int
    location: CurrentLocation | None
    score: int | None
    managers: dict[str, ManagerStatus]
    present: dict[str, list[str]] = {}


def read_current_state(workdir: Path) -> CurrentState | None:
    """Return the state in the work folder's file, ``None`` if there is none.

    Raises ``StoreError`` if it cannot be read.
    """
    path = workdir / CURRENT_STATE_FILE
    content = read_shared(path)
    try:
        return None if content is None else CurrentState.model_validate_json(content)
    except ValidationError as error:
        problem = first_problem(error)
        raise StoreError(f"{path} is not a state file of this version ({problem}); the next run replaces it") from error
