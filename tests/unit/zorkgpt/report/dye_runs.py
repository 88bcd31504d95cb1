"""Runs in an invented dye works, written by hand event by event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from session.events import EpisodeEnd, EpisodeEnded, EpisodeStarted, Event, TurnPlayed
from session.files.journal import Journal, Manifest
from session.files.run_folders import MEMORIES_AT_END
from session.files.shared_files import RUNS
from session.values import Location, Observation, Proposal, TurnRecord, Verdict

VATS = Location(31, "Blue Vats")
LOFT = Location(44, "Drying Loft")
SEEN = Observation("Steam.", VATS, score=0, max_score=50, moves=0, world_hash="00000001")


def after(before: Observation = SEEN, **changes: Any) -> Observation:
    """What was seen next; without changes nothing happened."""
    return replace(before, **{"text": "Nothing happens.", **changes})


def turn(number: int, action: str, before: Observation = SEEN, episode: int = 1, **changes: Any) -> TurnRecord:
    """A turn that led from ``before`` to the same with those changes."""
    seen = after(before, **changes)
    return TurnRecord(episode, number, before, (Proposal(action, "Why not."),), (Verdict(accepted=True),), seen)


def played(record: TurnRecord, seconds: float = 1.5, memory_tokens: int = 0) -> TurnPlayed:
    """The event of that turn."""
    return TurnPlayed(record, seconds, memory_tokens)


def started(episode: int = 1, opening: Observation = SEEN) -> EpisodeStarted:
    """The event of an episode's start, its seed ten times its number."""
    return EpisodeStarted(episode, episode * 10, opening)


def ended(episode: int = 1, end: EpisodeEnd = "turn_limit") -> EpisodeEnded:
    """The event of an episode's end, with figures that match no run, so that none can be taken from it."""
    return EpisodeEnded(episode, end, turns=99, score=99, best_score=99, max_score=99, rooms=99, seconds=99.0)


def manifest(run_id: str, **changes: Any) -> Manifest:
    """The manifest of a run of two episodes."""
    fields: dict[str, Any] = {
        "run_id": run_id,
        "created": "2026-01-31T18:45:00+00:00",
        "command": ("zorkgpt", "run"),
        "configuration": {},
        "story": "dyeworks",
        "story_path": "dyeworks.z5",
        "story_sha256": "5c" * 32,
        "seeds": (10, 20),
        "first_episode": 1,
        "model": ("scripted",),
        "versions": {"python": "3.12.0"},
        "assistance": (),
        "player": "",
        "server": (),
    }
    return Manifest(**{**fields, **changes})


def write_run(
    workdir: Path,
    events: Iterable[Event],
    run_id: str = "20260131-184500-1a2b",
    *,
    memories: str | None = None,
    **changes: Any,
) -> Path:
    """The folder of a run with these events; ``memories`` are those at its end, ``changes`` those to the manifest."""
    journal = Journal.create(workdir / RUNS, manifest(run_id, **changes))
    for event in events:
        journal.append(event)
    journal.close()
    if memories is not None:
        at_end = journal.folder / MEMORIES_AT_END
        at_end.parent.mkdir()
        at_end.write_text(memories, encoding="utf-8")
    return journal.folder
