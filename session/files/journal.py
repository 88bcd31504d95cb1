"""The files of a run folder: ``manifest.json`` with the run's plan, and ``journal.jsonl`` with its events, one a
line.

Both are plain JSON. A line of the journal is ``{"v": 5, "seq": N, "at": ISO-8601, "event": {"kind": ...}, "sum":
HEX}``. It is written before anything is learned from the event, so that a kill loses at most the turn that is being
played. ``sum`` is a checksum of the line and all lines before it, so that a change anywhere is found in its line.

A line has no default values, and does not repeat the content of earlier lines. If a turn begins with the last
observation, it has no ``before``, and its ``after`` has ``moved`` instead of ``parents``: the objects with a new
parent, and that parent. :func:`read_journal` restores both.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError
from typing_extensions import Self

from session.errors import StoreError, first_problem, reported_as
from session.events import EVENTS, Event, Names, TurnPlayed, observation_in
from session.files.shared_files import (
    FORKS,
    RUNS,
    GrowingFile,
    append_whole,
    force_to_disk,
    open_ordinary,
    open_to_append,
    read_whole,
    require_no_link,
    write_atomically,
)
from session.values import Observation, Seed

JOURNAL_VERSION = 5
_OTHER_VERSION = "a run can be read by the version of the program that recorded it"
_CHANGED = "the line or one before it was changed after it was written"
JOURNAL_FILE, MANIFEST = "journal.jsonl", "manifest.json"
_IN_LINE_BEFORE: Mapping[str, Any] = {"record": {"before": True, "after": {"parents": True}}}
_JSON = json.JSONEncoder(separators=(",", ":"))

L = TypeVar("L")


class Manifest(BaseModel):
    """What is run, in enough detail to run it again (docs/records/specification.md, Runs and journals).

    configuration: the value of every option but the keys
    seeds, first_episode: the seed of each episode, and the number of the first one
    player: the name of the player if the agent's model does not play, else ""
    model, server, engine: as in ``RunStarted``
    versions: of Python and of the packages that decide what happens
    forked_from: the id of the run that this one is a fork of, "" for none
    """

    model_config = ConfigDict(frozen=True)

    run_id: str
    created: str
    command: tuple[str, ...]
    configuration: dict[str, Any]
    story: str
    story_path: str
    story_sha256: str
    seeds: tuple[Seed, ...]
    first_episode: int
    model: Names
    versions: dict[str, str]
    assistance: tuple[str, ...]
    player: str
    server: Names
    engine: str = ""
    forked_from: str = ""

    @property
    def player_kind(self) -> str:
        """The value of ``agent.player``, "" if the configuration has none."""
        agent = self.configuration.get("agent")
        return str(agent.get("player", "")) if isinstance(agent, dict) else ""


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One line of a journal.

    seq: its number, from 1
    at: when it was written (ISO 8601, UTC)
    event: ``None`` for a kind of event that this program does not know
    start, end: where the line and the next one begin, in bytes
    """

    seq: int
    at: str
    event: Event | None
    sum: str = ""
    start: int = 0
    end: int = 0


class Journal:
    """Appends events to the ``journal.jsonl`` of a run folder.

    last: the line after which to go on; ``None`` for an empty journal
    seen: the latest observation up to that line
    """

    def __init__(self, folder: Path, last: JournalLine | None = None, seen: Observation | None = None) -> None:
        self.folder = folder
        self._seen = seen
        self.seq = last.seq if last else 0
        self.sum = last.sum if last else ""
        self._problem = f"cannot write the journal in {folder}"
        with reported_as(self._problem):
            # Unbuffered: what a full disk refused must not be tried again when the file is closed.
            self._file = open_to_append(folder / JOURNAL_FILE)

    @classmethod
    def create(cls, runs: Path, manifest: Manifest) -> Self:
        """Make a new run folder ``runs/<run-id>`` with the manifest and an empty journal, for the user alone.

        Raises ``StoreError``.
        """
        folder = runs / manifest.run_id
        require_no_link(*way_to(folder))
        try:
            content = manifest.model_dump_json(indent=2).encode() + b"\n"
        except PydanticSerializationError as error:
            given = [*manifest.command, manifest.story_path]
            raise StoreError(f"a path or an argument is not UTF-8: {', '.join(map(ascii, given))}") from error
        with reported_as(f"cannot make the run folder {folder}"):
            folder.mkdir(mode=0o700, parents=True)
        journal = cls(folder)
        (folder / JOURNAL_FILE).chmod(0o600)  # it may say where keys are sent
        for made in (folder / JOURNAL_FILE, folder, runs):
            force_to_disk(made)
        write_atomically(folder / MANIFEST, content, mode=0o600)  # last: with it the folder is a run
        return journal

    @classmethod
    def reopen(cls, folder: Path, lines: Sequence[JournalLine], last: JournalLine | None) -> Self:
        """Open the journal of a run folder to go on after ``last``, with ``lines`` still in the file.

        What a kill left behind these lines is cut off. Raises ``StoreError``.
        """
        observations = (observation_in(line.event) for line in reversed(lines[: last.seq if last else 0]))
        journal = cls(folder, last, next(filter(None, observations), None))
        journal.cut(lines[-1].end if lines else 0)
        return journal

    def append(self, event: Event) -> None:
        """Write the event to the file; see :meth:`sync`. Raises ``StoreError``."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        entry = {"v": JOURNAL_VERSION, "seq": self.seq + 1, "at": now, "event": _shortened(event, self._seen)}
        body = _JSON.encode(entry)
        line_sum = _sum(self.sum, body.encode("ascii"))
        with reported_as(self._problem):
            append_whole(self._file, f"{body[:-1]}{_SUM_FIELD % line_sum}\n".encode("ascii"))
        self.seq, self.sum = self.seq + 1, line_sum
        self._seen = observation_in(event) or self._seen

    def skip(self, line: JournalLine) -> None:
        """Go on after that line, which is in the file already."""
        self.seq, self.sum = line.seq, line.sum
        self._seen = observation_in(line.event) or self._seen

    def cut(self, start: int) -> None:
        """Cut the file off before that byte. Raises ``StoreError``."""
        with reported_as(self._problem):
            os.ftruncate(self._file.fileno(), start)

    def sync(self) -> None:
        """Wait until all lines are on the disk (fsync). Raises ``StoreError``."""
        with reported_as(self._problem):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, after which nothing can be appended. Raises ``StoreError``."""
        with reported_as(self._problem):
            self._file.close()


def new_run_id() -> str:
    """Return a new run id, which sorts by time and is like no other: ``20260131-184500-1a2b``."""
    return f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run folder.

    Raises ``StoreError`` if it is missing or invalid, or if a link is in the run folder or on the way to it.
    """
    with reported_as(f"cannot read the manifest in {folder}"):
        require_no_link(*way_to(folder), *folder.rglob("*"))
        content = read_whole(folder / MANIFEST)
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        problem = f"is not a manifest that this version reads ({first_problem(error)}); {_OTHER_VERSION}"
        raise StoreError(f"{folder / 'manifest.json'} {problem}") from error


def way_to(folder: Path) -> list[Path]:
    """Return a run folder and those above it, as far as the program made and named them."""
    runs, fork, forks, *_ = *folder.absolute().parents, *[Path()] * 3
    own = [folder, runs] if runs.name == RUNS else [folder]
    return [*own, fork, forks] if len(own) > 1 and forks.name == FORKS else own


def has_turn(folder: Path) -> bool:
    """Return whether the journal of that folder contains a turn. The rest of the journal is not read."""
    with suppress(OSError, StoreError), open_ordinary(folder / JOURNAL_FILE) as file:
        return any(b'"kind":"turn_played"' in line for line in file)
    return False


def read_journal(folder: Path) -> Iterator[JournalLine]:
    """Yield the lines of a run's journal in order, but not a last one that a kill cut short.

    Raises ``StoreError`` naming the line that cannot be understood, that was changed, or that another version wrote.
    """
    return read_lines(folder, _LineReader().read)


def read_lines(folder: Path, read: Callable[[bytes, str], L]) -> Iterator[L]:
    """Yield the result of ``read`` for each line of a run's journal, except a last line that a kill truncated.

    read: takes a line and its place, ``FILE:NUMBER``, and raises ``ValueError`` or the like for an invalid line
    Raises ``StoreError`` naming that line.
    """
    path = folder / JOURNAL_FILE
    with reported_as(f"cannot read {path}"):
        lines = read_whole(path).split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        yield _understood(read, line, f"{path}:{number}")
    with suppress(ValueError, RecursionError):  # what a kill cut short is not JSON
        json.loads(lines[-1][:-1])
        raise StoreError(f"{path}:{len(lines)}: its line end was changed after it was written")


def checked(read: Callable[[bytes, str], L]) -> Callable[[bytes, str], L]:
    """Return ``read``, for the lines of one journal in order, with a check of each line's sum after it."""
    chain = ""

    def read_checked(line: bytes, place: str) -> L:
        nonlocal chain
        result, chain = read(line, place), _sum(chain, line[:-_SUM_LENGTH] + b"}")
        if not line.endswith((_SUM_FIELD % chain).encode("ascii")):
            raise StoreError(f"{place}: {_CHANGED}")
        return result

    return read_checked


def _understood(read: Callable[[bytes, str], L], line: bytes, place: str) -> L:
    try:
        return read(line, place)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{place}: not a line of a journal") from error


class JournalFollower:
    """Reads the journal of a run that another process plays, each line once; it changes nothing."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_FILE
        self._seen: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self._reader = _LineReader()
        self._file = GrowingFile(self._path)

    def new_lines(self) -> list[JournalLine]:
        """Return the lines that were written since the last call, also those in the place of lines that were cut off.

        Raises ``StoreError`` for a journal that cannot be read from its start either.
        """
        if self._file.was_cut:
            self._begin()
        try:
            lines = self._read()
        except StoreError:  # longer lines may have taken the place of those that were cut off
            self._begin()
            lines = self._read()
        found = [line for line in lines if line.sum not in self._seen]
        self._seen.update(line.sum for line in found)
        return found

    def _read(self) -> list[JournalLine]:
        return [_understood(self._reader.read, line, str(self._path)) for line in self._file.new_lines()]


class _LineReader:
    """Reads the lines of a journal in order, each whole and checked against its sum."""

    def __init__(self) -> None:
        self._last = JournalLine(0, "", None)
        self._seen: Observation | None = None

    def read(self, line: bytes, place: str) -> JournalLine:
        last, entry = self._last, json.loads(line)
        require_known_version(entry["v"], place)
        chain = _sum(last.sum, line[:-_SUM_LENGTH] + b"}")
        if entry["sum"] != chain or entry["seq"] != last.seq + 1:
            raise StoreError(f"{place}: {_CHANGED}")
        try:
            event = EVENTS.validate_python(_whole(entry["event"], self._seen))
        except ValidationError as error:
            if error.errors()[0]["type"] != "union_tag_invalid":
                raise
            event = None  # of a kind that only another version knows
        self._seen = observation_in(event) or self._seen
        end = last.end + len(line) + 1
        self._last = JournalLine(entry["seq"], entry["at"], event, chain, last.end, end)
        return self._last


def require_known_version(version: object, place: str) -> None:
    """Raise ``StoreError`` for a line of a version that this program does not read."""
    if version != JOURNAL_VERSION:
        raise StoreError(f"{place}: version {version!r} of the journal, not {JOURNAL_VERSION}; {_OTHER_VERSION}")


def _shortened(event: Event, seen: Observation | None) -> dict[str, Any]:
    """Return the event as JSON, without default values and without what was ``seen`` in the line before."""
    goes_on = isinstance(event, TurnPlayed) and event.record.before == seen
    known = _IN_LINE_BEFORE if goes_on else None
    short = {**EVENTS.dump_python(event, mode="json", exclude=known, exclude_defaults=True), "kind": event.kind}
    if isinstance(event, TurnPlayed) and goes_on:
        old, new, after = event.record.before.parents, event.record.after.parents, short["record"]["after"]
        if len(old) == len(new):
            pairs = enumerate(zip(old, new, strict=True))
            after["moved"] = {number: parent for number, (before, parent) in pairs if before != parent}
        else:
            after["parents"] = new
    return short


def _whole(entry: dict[str, Any], seen: Observation | None) -> dict[str, Any]:
    """Return what :func:`_shortened` was given; ``entry`` is used up."""
    record = entry.get("record")
    if record is None or "before" in record:
        return entry
    if seen is None:
        raise ValueError("a turn without an observation before it")
    after = record["after"]
    if "moved" in after:
        parents = list(seen.parents)
        for number, parent in after.pop("moved").items():
            parents[int(number)] = parent
        after["parents"] = parents
    return {**entry, "record": {**record, "before": seen}}


_SUM_FIELD = ', "sum": "%s"}'
_SUM_DIGITS = 16
_SUM_LENGTH = len(_SUM_FIELD % ("0" * _SUM_DIGITS))


def _sum(before: str, body: bytes) -> str:
    return hashlib.sha256(before.encode() + body).hexdigest()[:_SUM_DIGITS]
