"""Reads a whole run: what was planned, what happened, and what was remembered at its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from managers.memory.document import parse_memories
from session.errors import StoreError
from session.events import EpisodeEnded, EpisodeStarted, Event, ModelAnswered, ModelFailed, TurnPlayed
from session.files.journal import Manifest, read_journal, read_manifest
from session.files.run_folders import MEMORIES_AT_END
from session.memory import Memory
from session.values import Observation
from zorkgpt.report.run_summary import RunSummary, summarise

ModelCall = ModelAnswered | ModelFailed


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """A turn with the model calls since the turn before it.

    The calls that learnt from the turn before are among these.
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
        it holds now; ``None`` if the run kept no memories
    """

    summary: RunSummary
    manifest: Manifest
    events: tuple[Event, ...]
    memories: dict[int, list[Memory]] | None

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


def read_run(folder: Path) -> PlayedRun:
    """Read the intact part of the run in that folder. Raises ``StoreError`` without a manifest."""
    manifest = read_manifest(folder)
    summary = summarise(folder)
    events: list[Event] = []
    try:
        events.extend(line.event for line in read_journal(folder) if line.event is not None)
    except StoreError as error:
        summary = replace(summary, state="damaged", reason=str(error))
    return PlayedRun(summary, manifest, tuple(events), _memories(folder, manifest))


def _memories(folder: Path, manifest: Manifest) -> dict[int, list[Memory]] | None:
    options = manifest.configuration.get("simple_memory")
    options = options if isinstance(options, dict) else {}
    if not options.get("enabled", True):
        return None
    at_end = folder / MEMORIES_AT_END
    now = folder.parent.parent / options.get("memory_file", "Memories.md")
    for path in (at_end, now):
        try:
            return parse_memories(path.read_text(encoding="utf-8", errors="replace")).memories()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error
    return {}
