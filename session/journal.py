"""The run folder: ``manifest.json`` says what is run, ``journal.jsonl`` what happened, one event a line.

Both are plain JSON. A line of the journal is ``{"v": 1, "seq": N, "at": ISO-8601, "event": {"kind": ...}}``; it is
appended and flushed before anybody learns from the event, so that a kill loses at most the turn in flight.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from session.atomic_write import write_atomically
from session.errors import StoreError
from session.events import Event, TurnPlayed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typing_extensions import Self

JOURNAL_VERSION = 1
_EVENTS: TypeAdapter[Event] = TypeAdapter(Event)


class Manifest(BaseModel):
    """What is run, complete enough to run it again.

    configuration: every option in force, without keys
    story_sha256, seeds: the story file and the seed of each episode
    versions: of Python and of the packages that decide what happens
    assistance: the help that the agent is given (decision 28)
    """

    model_config = ConfigDict(frozen=True)

    run_id: str
    created: str
    command: tuple[str, ...]
    configuration: dict[str, Any]
    story: str
    story_sha256: str
    seeds: tuple[int, ...]
    model: str
    versions: dict[str, str]
    assistance: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One event with its place (``seq`` counts from 1) and time (ISO 8601, UTC).

    event: ``None`` for one of a kind that this program does not know
    """

    seq: int
    at: str
    event: Event | None


class Journal:
    """Appends events to the ``journal.jsonl`` of a run folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seq = 0
        try:
            # Unbuffered: what a full disk refused must not be tried again when the file is closed.
            self._file = (folder / "journal.jsonl").open("ab", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from error

    @classmethod
    def create(cls, runs: Path, manifest: Manifest) -> Self:
        """A new run folder ``runs/<run-id>`` holds the manifest and an empty journal.

        Raises ``StoreError`` where it cannot be made.
        """
        folder = runs / manifest.run_id
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"cannot make the run folder {folder}: {error.strerror}") from error
        write_atomically(folder / "manifest.json", manifest.model_dump_json(indent=2).encode() + b"\n")
        return cls(folder)

    def append(self, event: Event) -> None:
        """The event is in the file; a played turn is also on the disk (fsync). Raises ``StoreError``."""
        self._seq += 1
        line = {
            "v": JOURNAL_VERSION,
            "seq": self._seq,
            "at": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "event": _EVENTS.dump_python(event, mode="json"),
        }
        try:
            self._write(json.dumps(line).encode("ascii") + b"\n")
            if isinstance(event, TurnPlayed):
                os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """The file is closed; nothing more can be appended. Raises ``StoreError``."""
        try:
            self._file.close()
        except OSError as error:
            raise self._unwritable(error) from error

    def _write(self, line: bytes) -> None:
        while line:
            line = line[self._file.write(line) :]

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(f"cannot write the journal in {self.folder}: {error.strerror}")


def new_run_id() -> str:
    """A name for a run that sorts by time and meets no other: ``20260131-184500-1a2b``."""
    return f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run folder. Raises ``StoreError`` where it is missing or broken."""
    try:
        return Manifest.model_validate_json((folder / "manifest.json").read_bytes())
    except OSError as error:
        raise StoreError(f"cannot read the manifest in {folder}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise StoreError(f"{folder / 'manifest.json'} is not a manifest: {first['msg']}") from error


def read_journal(folder: Path) -> Iterator[JournalLine]:
    """The events of a run folder, in order; a last line that was cut by a kill is left out.

    Raises ``StoreError`` naming the line that cannot be understood, or that a later version wrote.
    """
    path = folder / "journal.jsonl"
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    for number, line in enumerate(lines[:-1], start=1):
        try:
            entry = json.loads(line)
            if entry["v"] != JOURNAL_VERSION:
                raise StoreError(f"{path}:{number}: version {entry['v']!r} of the journal; {JOURNAL_VERSION} is known")
            yield JournalLine(entry["seq"], entry["at"], _event(entry["event"]))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{path}:{number}: not a line of a journal") from error


def _event(entry: object) -> Event | None:
    """``None`` for a kind that is not known: other versions have others."""
    try:
        return _EVENTS.validate_python(entry)
    except ValidationError as error:
        if error.errors()[0]["type"] == "union_tag_invalid":
            return None
        raise
