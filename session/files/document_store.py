"""Files of the work folder that several processes and people write, and documents kept in step with them.

See docs/records/specification.md, Files that people edit, and Atomic writes; ADR 31 explains how a run writes them.
"""

from __future__ import annotations

import os
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from typing import Generic, Protocol, TypeAlias, TypeVar

from typing_extensions import override

from session.errors import StoreError, reported_as
from session.events import FileEdited, FileWritten
from session.files.recording import Recording
from session.files.shared_files import (
    QUIET,
    backup_of,
    history_of,
    is_lost,
    last_version,
    locked,
    read_shared,
    short_digest,
    versions_until,
    write_atomically,
)

NEVER_LOOKED: tuple[int, ...] = ()
"""The signature of a file that was not read yet: no file has it."""


class Rendered(Protocol):
    """A document that renders the content of its file."""

    def render(self) -> str:
        """Return the text of the file."""


@dataclass(frozen=True, slots=True)
class PlainText:
    """A document that is its text."""

    text: str = ""

    def render(self) -> str:
        """Return the text."""
        return self.text


D = TypeVar("D", bound=Rendered)

_LONGEST_WAIT = 4.0  # seconds, less than others wait for the lock
_POLL = 0.05  # seconds
_WATCHED = 8
_WATCH_TIME = 60.0  # seconds


Edit: TypeAlias = Callable[[D], D]
"""Returns the document with a change, or the same object if there is nothing to do. It may be applied again, to a newer
document."""


class SharedStore(ABC):
    """Keeps what a manager learns in one file of the work folder.

    recording: what the run reads and writes, as its journal has it; ``None`` outside a run
    is_due: whether there is something to write

    In a run a file is read at the start of each turn (:meth:`look`) and written after it (:meth:`prepare`, then
    :meth:`write`), without forcing it to the disk. While recorded turns are repeated, neither touches the disk. Reading
    and writing raise ``StoreError``; what could not be written stays due.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording: Recording | None = None
        self.is_due = False
        self._signature: tuple[int, ...] | None = None
        self._left: tuple[int, ...] | None = None  # the signature after the last own write

    @property
    def holds(self) -> bool:
        """Whether changes wait for the end of the turn, as in a run."""
        return self.recording is not None

    @property
    def digest(self) -> str | None:
        """SHA-256 of what the file contains or is about to, 64 hex digits; ``None`` if it is not compared."""
        return None

    def hold(self, recording: Recording, base: bytes | None = None, *, returns: bool = False) -> None:
        """Take part in a run. If this ``returns`` to an earlier moment, begin with ``base``, the content then."""
        self.recording = recording
        if returns or recording.is_repeating:
            self._return_to(base)

    @abstractmethod
    def _return_to(self, base: bytes | None) -> None:
        """Begin with that content, as the file had it before the turns that are to be repeated."""

    @abstractmethod
    def commit(self) -> None:
        """Write what is due, outside a run."""

    @abstractmethod
    def look(self) -> None:
        """Take in what others wrote into the file since the last look."""

    def prepare(self, locks: ExitStack) -> None:
        """Lock the file, take in what others wrote, and record what is about to be written, if that matters."""

    @abstractmethod
    def write(self) -> None:
        """Write what was prepared."""

    def _recorded_edit(self, live: Callable[[], FileEdited | None]) -> FileEdited | None:
        if self.recording is None:
            return live()
        return self.recording.get(FileEdited, live, lambda event: event.file == self.path.name)

    def _record_write(self, before: str | None, after: str) -> None:
        if self.recording is not None:
            self.recording.emit(FileWritten(self.path.name, before or "", after))

    def _claim(self, locks: ExitStack) -> bool:
        """Lock the file until it is written; return false if turns are repeated, which leave it alone."""
        if not self._is_repeating:
            locks.enter_context(locked(self.path))
        return not self._is_repeating

    @property
    def _is_repeating(self) -> bool:
        return self.recording is not None and self.recording.is_repeating

    def _stat(self) -> tuple[int, ...] | None:
        """Return what changes whenever the file is replaced, ``None`` if it does not exist."""
        with reported_as(f"{self.path} cannot be read"), suppress(FileNotFoundError):
            stat = self.path.stat()
            return stat.st_mtime_ns, stat.st_size, stat.st_ino
        return None

    def _replace(self, content: bytes) -> None:
        """Write ``content``; ``NAME.backup`` keeps the version before."""
        is_noted = self.holds or history_of(self.path).exists()
        write_atomically(self.path, content, durable=not self.holds, with_backup=True, with_history=is_noted)
        self._signature = self._left = self._stat()

    def let_go(self) -> None:
        """Forget the replaced versions, before a checkpoint."""


class DocumentStore(SharedStore, Generic[D]):
    """The document of one file, kept in step with it.

    An edit is always applied to the file's current content, under a lock, so that changes by others are kept. If it
    cannot be written, it is still part of ``document``, and is written with the next one.

    parse: from the file's text to a document whose ``render()`` is that text

    Every read, also the first one, raises ``StoreError`` if the file cannot be read or is not UTF-8.
    """

    def __init__(self, path: Path, parse: Callable[[str], D]) -> None:
        super().__init__(path)
        self._parse = parse
        self.document = self._saved = parse("")
        self._content: bytes | None = None
        self._unsaved: list[Edit[D]] = []
        self._repetition: _Repetition[D] | None = None  # until the file is compared with what turns wrote into it
        self._is_unwritten = False  # the file does not have the content that others gave it, but this:
        self._on_disk: bytes | None = None
        self._replaced: list[_Replaced] = []
        weakref.finalize(self, _close, self._replaced)
        self.look()

    @property
    def unsaved(self) -> int:
        """The number of edits that are in ``document`` and not yet in the file."""
        return len(self._unsaved)

    @property
    @override
    def digest(self) -> str:
        return sha256(self._rendered()).hexdigest()

    @override
    def hold(self, recording: Recording, base: bytes | None = None, *, returns: bool = False) -> None:
        super().hold(recording, base, returns=returns)
        self._left = None if self._is_repeating else self._stat()

    @override
    def _return_to(self, base: bytes | None) -> None:
        self._content = base or None
        self._saved = self.document = self._parse(self._decoded(base or b""))
        self._repetition, self._signature = _Repetition(self.path, self._content), NEVER_LOOKED

    @override
    def look(self) -> None:
        self._take_in(self._found_unlocked)

    def _found_unlocked(self) -> FileEdited | None:
        if self._repetition is None:
            return self._found_edit()
        with locked(self.path):
            _wait_while(self._is_unfinished)
            return self._found_edit()

    @override
    def let_go(self) -> None:
        _close(self._replaced)

    def defer(self, edit: Edit[D]) -> bool:
        """Make an edit that is written with the next one that is applied; return false if it had nothing to do."""
        edited = edit(self.document)
        if edited is self.document:
            return False
        self.document = edited
        self._unsaved.append(edit)
        return True

    def apply(self, edit: Edit[D]) -> bool:
        """Make an edit and write it with all unsaved ones; return false if it had nothing to do.

        In a run they are in ``document`` and are due. Raises ``StoreError`` if the file cannot be written.
        """
        if self.holds:
            is_effective = self.defer(edit)
            self.is_due = self.is_due or is_effective
            return is_effective
        self._unsaved.append(edit)
        try:
            return any(saved is edit for saved in self._save())
        except StoreError:
            self._replay()
            self.demand()
            raise

    def demand(self) -> None:
        """Let every unsaved edit be written with the next commit."""
        self.is_due = bool(self._unsaved)

    @override
    def commit(self) -> None:
        if self.is_due:
            self._save()

    @override
    def prepare(self, locks: ExitStack) -> None:
        if self._claim(locks):
            _wait_while(self._is_being_written)
            if not (self._repetition is None and self._is_unfinished()):
                self._signature = NEVER_LOOKED  # a file may have changed within the resolution of its time
        self._take_in(self._found_edit)
        if self._unsaved or self._is_unwritten:
            self._record_write(_sha256(self._content), self.digest)

    @override
    def write(self) -> None:
        if self._unsaved or self._is_unwritten:
            content = self._rendered()
            if self._repetition is None:
                self._watch()
                self._replace(content)
            else:
                self._repetition.add(content or None, self._unsaved)
            self._content, self._saved, self._unsaved = content or None, self.document, []
        self.is_due = self._is_unwritten = False

    def _take_in(self, live: Callable[[], FileEdited | None]) -> None:
        repetition = self._repetition
        edited = self._recorded_edit(live)
        if edited is None:
            return
        self._saved = self._parse(edited.text)
        self._content = edited.text.encode() or None
        self._is_unwritten = edited.is_unwritten
        self.is_due = self.is_due or edited.is_unwritten
        if repetition is not None:
            if edited.lacks:
                self._unsaved, self.is_due = [*repetition.latest(edited.lacks), *self._unsaved], True
            repetition.add(self._content)
        self._replay()

    def _found_edit(self) -> FileEdited | None:
        """Return what others wrote since the file was last read or written, ``None`` if they did not.

        The first time after a repetition, a write that did not reach the disk is made again. A file that is not
        finished is read later, even if it is replaced meanwhile.
        """
        signature = self._stat()
        if signature == self._signature:
            return self._late_edit()
        content = read_shared(self.path) or None
        is_known = content == (self._on_disk if self._is_unwritten else self._content)
        if self.holds and self._signature and not is_known and self._is_unfinished():
            return None
        if is_known:
            self._repetition, self._signature = None, signature
            return self._late_edit()
        lacks = 0
        if self._repetition is not None:
            lacks, is_unchanged = self._repetition.lacking(content)
            if lacks and is_unchanged:
                self._replace(self._content or b"")
                self._repetition = None
                return None
        text = self._decoded(content or b"")
        if self._is_unwritten:
            text = _merged(self._decoded(self._on_disk or b""), text, self._decoded(self._content or b""))
        self._parse(text)  # what cannot be read is not recorded
        self._repetition, self._signature, self._on_disk = None, signature, content
        return FileEdited(self.path.name, text, lacks, self._is_unwritten)

    def _watch(self) -> None:
        """Keep the file that is about to be replaced open: a person may still be writing it."""
        signature, now = self._signature, time.monotonic()
        if not self.holds or not signature:
            return
        while self._replaced and (len(self._replaced) >= _WATCHED or now - self._replaced[0].at > _WATCH_TIME):
            os.close(self._replaced.pop(0).descriptor)
        content = self._on_disk if self._is_unwritten else self._content
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
            self._replaced.append(_Replaced(descriptor, (signature[0], signature[1]), content or b"", now))

    def _is_being_written(self) -> bool:
        """Return whether a person or a program other than this one has just changed the file; see ``QUIET``."""
        if any(now != each.known and _is_recent(now[0]) for each in self._replaced for now in [each.signature()]):
            return True
        signature = self._stat()
        if signature is None or signature == self._left or not _is_recent(signature[0]):
            return self.holds and self._is_unfinished()
        if self.holds:
            return last_version(self.path) != short_digest(read_shared(self.path)) or self._is_unfinished()
        backup = backup_of(self.path)  # no run comes back to it: only a file that is not finished is waited for
        return (backup.exists() and signature[1] < backup.stat().st_size) or self._is_unfinished()

    def _is_unfinished(self) -> bool:
        """Return whether others have just changed the file, and it ends within a line: the rest may still come."""
        signature = self._stat()
        if signature is None or signature == self._left or not _is_recent(signature[0], _LONGEST_WAIT):
            return False
        content = read_shared(self.path) or b""
        return not content.endswith(b"\n") and last_version(self.path) != short_digest(content)

    def _late_edit(self) -> FileEdited | None:
        """Return the content with what a person has written into a version that was replaced meanwhile."""
        for at, replaced in enumerate(self._replaced):
            signature = replaced.signature()
            if signature == replaced.known or _is_recent(signature[0]):
                continue
            content = os.pread(replaced.descriptor, signature[1], 0)
            if not content.endswith(b"\n") and _is_recent(signature[0], _LONGEST_WAIT):
                continue
            self._replaced[at] = replace(replaced, known=signature, content=content)  # the rest may still come
            theirs = self._decoded(content)
            known = self._decoded(self._content or b"")
            text = _merged(self._decoded(replaced.content), theirs, known)
            if text != known:
                self._parse(text)
                if not self._is_unwritten:
                    self._on_disk = self._content
                return FileEdited(self.path.name, text, is_unwritten=True)
        return None

    def _save(self) -> list[Edit[D]]:
        """Write the unsaved edits, outside a run, and return those that had something to do."""
        with locked(self.path):
            _wait_while(self._is_being_written)
            self._signature = NEVER_LOOKED  # a file may have changed within the resolution of its time
            self._take_in(self._found_edit)
            self._replay()
            saved = self._unsaved
            self.write()
        return saved

    def _replay(self) -> None:
        """Apply the unsaved edits to what the file contains, and drop those that have nothing left to do."""
        self.document, edits, self._unsaved = self._saved, self._unsaved, []
        for edit in edits:
            self.defer(edit)

    def _rendered(self) -> bytes:
        return (self._content or b"") if self.document is self._saved else self.document.render().encode()

    def _decoded(self, content: bytes) -> str:
        if content and is_lost(content):
            raise StoreError(
                f"{self.path} contains zeros instead of text, as a power cut may leave it; "
                f"resume the run that was played, or copy {backup_of(self.path).name} over it"
            )
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise StoreError(
                f"{self.path}: byte {error.start} (0x{content[error.start]:02x}, in line {line}) is not UTF-8; "
                "save the file as UTF-8"
            ) from error


class _Repetition(Generic[D]):
    """The versions of a file that recorded turns have made, from the checkpoint on, while these are repeated."""

    def __init__(self, path: Path, content: bytes | None) -> None:
        self._path = path
        # The digest of each version, oldest first (``None`` for no file), and the run's edits that made it out of the
        # version before; none if others edited it.
        self._versions: list[tuple[str | None, tuple[Edit[D], ...]]] = []
        self.add(content)

    def add(self, content: bytes | None, edits: Iterable[Edit[D]] = ()) -> None:
        """Add a version."""
        self._versions.append((_sha256(content), tuple(edits)))

    def latest(self, number: int) -> list[Edit[D]]:
        """Return the run's edits of the latest versions."""
        return [edit for _, edits in self._versions[-number:] for edit in edits]

    def lacking(self, content: bytes | None) -> tuple[int, bool]:
        """Return how many of the latest versions did not reach the disk, and whether no one else edited the file."""
        reached = self._reached(content)
        return len(self._versions) - 1 - reached, self._versions[reached][0] == _sha256(content)

    def _reached(self, content: bytes | None) -> int:
        """Return the index of the version that the file had before others edited it, if they did (ADR 31)."""
        index_of = {digest: index for index, (digest, _) in enumerate(self._versions)}
        index_of_short = {digest[:16] if digest else "-": index for digest, index in index_of.items()}
        latest, backup = len(self._versions) - 1, backup_of(self._path)
        before = read_shared(backup)
        noted = versions_until(self._path, short_digest(before))
        is_linked = before is not None and self._path.exists() and self._path.samefile(backup)
        if is_linked:  # a kill between the link and the write
            return index_of.get(_sha256(content), index_of_short.get(last_version(self._path), latest))
        for digest in reversed(noted):
            if digest in index_of_short:
                return index_of_short[digest]
        kept = index_of.get(_sha256(before)) if before is not None and not noted else None
        return 0 if kept is None else min(kept + 1, latest)


@dataclass(frozen=True, slots=True)
class _Replaced:
    """A version of a file that was replaced, still open.

    known, content: its time of change (ns), its size (bytes) and its content then
    at: seconds of the monotonic clock
    """

    descriptor: int
    known: tuple[int, int]
    content: bytes
    at: float

    def signature(self) -> tuple[int, int]:
        """Return its time of change and size now."""
        status = os.fstat(self.descriptor)
        return status.st_mtime_ns, status.st_size


def _close(replaced: list[_Replaced]) -> None:
    while replaced:
        os.close(replaced.pop().descriptor)


def _merged(base: str, theirs: str, ours: str) -> str:
    """Return our text with the lines that they added to or removed from the base."""
    whole = [f"{text}\n" if text and not text.endswith("\n") else text for text in (base, theirs, ours)]
    before, after, lines = (text.splitlines(keepends=True) for text in whole)
    place = {
        old + number: new + number
        for old, new, length in SequenceMatcher(None, before, lines, autojunk=False).get_matching_blocks()
        for number in range(length)
    }
    for kind, first, last, start, end in reversed(SequenceMatcher(None, before, after, autojunk=False).get_opcodes()):
        if kind != "equal":
            at = next((place[old] + 1 for old in range(first - 1, -1, -1) if old in place), 0)
            for old in sorted((old for old in range(first, last) if old in place), reverse=True):
                del lines[place[old]]
            lines[at:at] = after[start:end]
    merged = "".join(lines)
    return merged if theirs.endswith("\n") or ours.endswith("\n") else merged.removesuffix("\n")


def _wait_while(is_busy: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LONGEST_WAIT
    while is_busy() and time.monotonic() < deadline:
        time.sleep(_POLL)


def _is_recent(time_ns: int, seconds: float = QUIET) -> bool:
    return abs(time.time_ns() - time_ns) < seconds * 1e9


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()
