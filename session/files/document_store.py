"""Files of the work folder that several processes and people write, and documents kept in step with them.

See docs/specification.md, Files that people edit, and Atomic writes; ADR 31 explains how a run writes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from session.errors import StoreError
from session.events import FileEdited, FileWritten
from session.files.inputs import Inputs
from session.files.shared_files import locked, read_shared, write_atomically

NEVER_LOOKED: tuple[int, ...] = ()
"""The signature of a file that was not read yet: no file has it."""


class Rendered(Protocol):
    """A document that renders the content of its file."""

    def render(self) -> str:
        """Return the text of the file."""
        ...


D = TypeVar("D", bound=Rendered)


class Edit(Protocol[D]):
    """A change to a document, as a value."""

    def apply_to(self, document: D) -> D:
        """Return the document with the change; the same object if there is nothing to do.

        It may be applied again, to a newer document.
        """
        ...


E = TypeVar("E", bound=Edit[Any])


class SharedStore(ABC):
    """Keeps what a manager learns in one file of the work folder.

    path: the file
    inputs: what the run reads and writes, as its journal has it; ``None`` outside a run

    In a run a file is read at the start of each turn (:meth:`look`) and written after each turn (:meth:`prepare`, then
    :meth:`write`), without forcing it to the disk. While recorded turns are repeated, neither touches the disk. The
    first live look compares the file with what the run had written into it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inputs: Inputs | None = None
        self._signature: tuple[int, ...] | None = None

    @property
    def holds(self) -> bool:
        """Whether changes wait for the end of the turn."""
        return self.inputs is not None

    @property
    def digest(self) -> str | None:
        """SHA-256 of what the file contains or is about to, 64 hex digits; ``None`` if it is not compared."""
        return None

    @property
    @abstractmethod
    def is_due(self) -> bool:
        """Whether there is something to write."""

    def hold(self, inputs: Inputs, base: bytes | None = None) -> None:
        """Take part in a run. If turns are to be repeated, begin with ``base`` instead of the file's content."""
        del base
        self.inputs = inputs

    @abstractmethod
    def commit(self) -> None:
        """Write what is due, outside a run. Raises ``StoreError``; it stays due in that case."""

    @abstractmethod
    def look(self) -> None:
        """Take in what others wrote into the file since the last look. Raises ``StoreError``."""

    @abstractmethod
    def prepare(self, locks: ExitStack) -> None:
        """Lock the file, take in what others wrote, and record what is about to be written. Raises ``StoreError``."""

    @abstractmethod
    def write(self) -> None:
        """Write what was prepared. Raises ``StoreError``; it stays due in that case."""

    def _recorded_edit(self, live: Callable[[], FileEdited | None]) -> FileEdited | None:
        if self.inputs is None:
            return live()
        return self.inputs.get(FileEdited, live, lambda event: event.file == self.path.name)

    def _record_write(self, before: str | None, after: str) -> None:
        if self.inputs is not None:
            self.inputs.emit(FileWritten(self.path.name, before or "", after))

    @property
    def _is_repeating(self) -> bool:
        return self.inputs is not None and self.inputs.is_repeating

    def _stat(self) -> tuple[int, ...] | None:
        """Return what changes whenever the file is replaced, ``None`` if it does not exist."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror or error}") from error
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _replace(self, content: bytes) -> None:
        """Write ``content``; ``NAME.backup`` keeps the version before."""
        write_atomically(self.path, content, durable=not self.holds, backup=backup_of(self.path))
        self._signature = self._stat()


@dataclass(slots=True)
class _History(Generic[E]):
    """What a file contained since the repeated episode began, oldest first, as the run knows it.

    digests: SHA-256 of each version, ``None`` for no file
    edits: those that made the version of the same index out of the one before; none for an edit by others
    """

    digests: list[str | None] = field(default_factory=list)
    edits: list[tuple[E, ...]] = field(default_factory=list)

    def add(self, digest: str | None, edits: tuple[E, ...] = ()) -> None:
        self.digests.append(digest)
        self.edits.append(edits)

    def index(self, digest: str | None) -> int | None:
        """Return the index of the latest version with that digest, ``None`` if there is none."""
        found = [index for index, each in enumerate(self.digests) if each == digest]
        return found[-1] if found else None


class DocumentStore(SharedStore, Generic[D, E]):
    """The document of one file, kept in step with it.

    An edit is always applied to the file's current content, under a lock, so that changes by others are kept.
    ``NAME.backup`` contains the version before the last write. If an edit cannot be written, it is still part of
    ``document``, and is written with the next one.

    parse: from the file's text to a document whose ``render()`` is that text

    The constructor and every read raise ``StoreError`` if the file cannot be read or is not UTF-8.
    """

    def __init__(self, path: Path, parse: Callable[[str], D]) -> None:
        super().__init__(path)
        self._parse = parse
        self.document = self._saved = parse("")
        self._latest_text = _DocumentText(self.document, b"", sha256().hexdigest())
        self._content: bytes | None = None
        self._content_digest: str | None = None
        self._unsaved: list[E] = []
        self._is_due = False
        self._history: _History[E] | None = None
        self.refresh()

    @property
    def is_due(self) -> bool:
        """Whether there is something to write."""
        return self._is_due

    @property
    def unsaved(self) -> int:
        """The number of edits that are in ``document`` and not yet in the file."""
        return len(self._unsaved)

    @property
    def digest(self) -> str:
        """SHA-256 of the document as it is now, 64 hex digits."""
        return self._text().digest

    def hold(self, inputs: Inputs, base: bytes | None = None) -> None:
        """Take part in a run; if turns are to be repeated, begin with ``base``, whatever the file contains now."""
        super().hold(inputs)
        if inputs.is_repeating:
            content = base or b""
            self._know(content or None)
            self._saved = self.document = self._parse(self._decoded(content))
            self._latest_text = _DocumentText(self.document, content, sha256(content).hexdigest())
            self._history = _History([self._content_digest], [()])
            self._signature = NEVER_LOOKED

    def refresh(self) -> bool:
        """Take in what others have written, and return whether that changed the document; in a run, ``look`` does."""
        known = self._saved
        if self.inputs is not None:
            if self.inputs.is_of_earlier_version:
                self._look()
        elif self._stat() != self._signature:
            self._read()
            self._replay()
        return self._saved is not known

    def look(self) -> None:
        """Take in what others wrote into the file since the last look. Raises ``StoreError``."""
        if self._history is not None and not self._is_repeating:
            with locked(self.path):
                self._look()
        else:
            self._look()

    def defer(self, edit: E) -> None:
        """Make an edit that may wait: it is written with the next one that is applied."""
        self._make(edit)

    def apply(self, edit: E) -> bool:
        """Make an edit and write it with all unsaved ones; return false if it had nothing to do.

        In a run they are in ``document`` and are due. Raises ``StoreError`` if the file cannot be written.
        """
        if self.holds:
            is_effective = self._make(edit)
            self._is_due = self._is_due or is_effective
            return is_effective
        self._unsaved.append(edit)
        try:
            self._save()
        except StoreError:
            self._replay()
            self.demand()
            raise
        is_effective = any(unsaved is edit for unsaved in self._unsaved)
        self._unsaved, self._is_due = [], False
        return is_effective

    def demand(self) -> None:
        """Let every unsaved edit be written with the next commit."""
        self._is_due = bool(self._unsaved)

    def commit(self) -> None:
        """Write what is due, outside a run. Raises ``StoreError``; it stays due in that case."""
        if self._is_due:
            self._save()
            self._unsaved, self._is_due = [], False

    def prepare(self, locks: ExitStack) -> None:
        """Lock the file, take in what others wrote, and record what is about to be written. Raises ``StoreError``."""
        if not self._is_repeating:
            locks.enter_context(locked(self.path))
            self._signature = NEVER_LOOKED  # a file may have changed within the resolution of its time
        self._look()
        if self._unsaved:
            self._record_write(self._content_digest, self._text().digest)

    def write(self) -> None:
        """Write what was prepared. Raises ``StoreError``; it stays due in that case."""
        if self._unsaved:
            text = self._text()
            if self._history is None:
                self._replace(text.content)
            else:
                self._history.add(text.digest, tuple(self._unsaved))
            self._content, self._content_digest, self._saved = text.content, text.digest, self.document
            self._unsaved = []
        self._is_due = False
        if self._history is not None and not self._is_repeating:
            self.look()

    def _look(self) -> None:
        edited = self._recorded_edit(self._found_edit)
        if edited is None:
            return
        content = edited.text.encode() or None
        self._saved = self._parse(edited.text)
        self._know(content)
        if edited.lacks and self._history is not None:
            lost = [edit for edits in self._history.edits[-edited.lacks :] for edit in edits]
            self._unsaved, self._is_due = [*lost, *self._unsaved], True
        if self._history is not None:
            self._history.add(self._content_digest)
        if not self._is_repeating:
            self._history = None
        self._replay()

    def _found_edit(self) -> FileEdited | None:
        """Return what others wrote since the file was last read or written, ``None`` if they did not.

        The first time after a repetition, a write that did not reach the disk is made again.
        """
        signature = self._stat()
        if signature == self._signature:
            return None
        content = read_shared(self.path) or None
        lacks, edited = 0, None
        if content != (self._content or None):
            if self._history is not None:
                reached = self._version_reached(self._history, content)
                lacks = len(self._history.digests) - 1 - reached
                if lacks and self._history.digests[reached] == _sha256(content):
                    self._replace(self._content or b"")
                    self._history = None
                    return None
            edited = FileEdited(self.path.name, self._decoded(content or b""), lacks)
        else:
            self._history = None
        self._signature = signature
        return edited

    def _version_reached(self, history: _History[E], content: bytes | None) -> int:
        """Return the index of the version from which ``content`` comes: the later ones did not reach the disk.

        Content that is an earlier version is one whose successors were lost, unless the backup is the last version but
        one and older: then the last write did reach the disk, and a person has undone it. Any other content is edited
        from the version after that of the backup.
        """
        latest = len(history.digests) - 1
        backup = backup_of(self.path)
        before = read_shared(backup)
        kept = None if before is None else history.index(_sha256(before))
        found = history.index(_sha256(content))
        if found is not None:
            is_undone = kept == latest - 1 and kept is not None and self._is_newer_than(backup)
            return latest if is_undone else found
        return latest if kept is None else min(kept + 1, latest)

    def _is_newer_than(self, other: Path) -> bool:
        mine = self._stat()
        return mine is None or mine[0] > other.stat().st_mtime_ns

    def _save(self) -> None:
        with locked(self.path):
            self._read()
            self._replay()
            if self._unsaved:
                text = self._text()
                self._replace(text.content)
                self._content, self._content_digest, self._saved = text.content, text.digest, self.document

    def _make(self, edit: E) -> bool:
        """Apply an edit to the document, and return whether it had anything to do."""
        edited = edit.apply_to(self.document)
        if edited is self.document:
            return False
        self.document = edited
        self._unsaved.append(edit)
        return True

    def _replay(self) -> None:
        """Apply the unsaved edits to what the file contains, and drop those that have nothing left to do."""
        document, effective = self._saved, []
        for edit in self._unsaved:
            edited = edit.apply_to(document)
            if edited is not document:
                effective.append(edit)
            document = edited
        self.document, self._unsaved = document, effective

    def _read(self) -> None:
        """Read the file, and parse it if its bytes are not those known."""
        signature, content = self._stat(), read_shared(self.path)
        if content != self._content:
            self._saved = self._parse(self._decoded(content or b""))
            self._know(content)
        self._signature = signature

    def _text(self) -> _DocumentText:
        """Return the content of the document's file, rendered once."""
        if self._latest_text.document is not self.document:
            content = self.document.render().encode()
            self._latest_text = _DocumentText(self.document, content, sha256(content).hexdigest())
        return self._latest_text

    def _know(self, content: bytes | None) -> None:
        self._content, self._content_digest = content, _sha256(content)

    def _decoded(self, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise StoreError(
                f"{self.path}: byte {error.start} (0x{content[error.start]:02x}, in line {line}) is not UTF-8; "
                "save the file as UTF-8"
            ) from error


class _DocumentText(NamedTuple):
    """The content of a document's file, and its SHA-256."""

    document: Rendered
    content: bytes
    digest: str


def backup_of(path: Path) -> Path:
    """Return the path at which the version before the last write of a shared file is kept."""
    return path.with_name(f"{path.name}.backup")


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()
