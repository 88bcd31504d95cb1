"""Files of the work folder that several processes and people write, and documents kept in step with them.

See docs/specification.md, Files that people edit, and Atomic writes; ADR 31 explains how a run writes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Generic, Protocol, TypeAlias, TypeVar

from pydantic import TypeAdapter, ValidationError
from typing_extensions import override

from session.errors import StoreError, first_problem, reported_as
from session.events import FileEdited, FileWritten
from session.files.inputs import Inputs
from session.files.markdown import BYTE_ORDER_MARK
from session.files.shared_files import locked, read_shared, write_atomically

T = TypeVar("T")

NEVER_LOOKED: tuple[int, ...] = ()
"""The signature of a file that was not read yet: no file has it."""


class Rendered(Protocol):
    """A document that renders the content of its file."""

    def render(self) -> str:
        """Return the text of the file."""
        ...


D = TypeVar("D", bound=Rendered)


Edit: TypeAlias = Callable[[D], D]
"""Returns the document with a change, or the same object if there is nothing to do. It may be applied again, to a newer
document."""


class SharedStore(ABC):
    """Keeps what a manager learns in one file of the work folder.

    inputs: what the run reads and writes, as its journal has it; ``None`` outside a run
    is_due: whether there is something to write

    In a run a file is read at the start of each turn (:meth:`look`) and written after each turn (:meth:`prepare`, then
    :meth:`write`), without forcing it to the disk. While recorded turns are repeated, neither touches the disk. The
    first live look compares the file with what the run had written into it. Reading and writing raise ``StoreError``;
    what could not be written stays due.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.inputs: Inputs | None = None
        self.is_due = False
        self._signature: tuple[int, ...] | None = None

    @property
    def holds(self) -> bool:
        """Whether changes wait for the end of the turn, as in a run."""
        return self.inputs is not None

    @property
    def digest(self) -> str | None:
        """SHA-256 of what the file contains or is about to, 64 hex digits; ``None`` if it is not compared."""
        return None

    def hold(self, inputs: Inputs, base: bytes | None = None) -> None:
        """Take part in a run. If turns are to be repeated, begin with ``base`` instead of the file's content."""
        del base
        self.inputs = inputs

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
        with reported_as(f"{self.path} cannot be read"):
            try:
                stat = self.path.stat()
            except FileNotFoundError:
                return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _replace(self, content: bytes) -> None:
        """Write ``content``; ``NAME.backup`` keeps the version before."""
        write_atomically(self.path, content, durable=not self.holds, backup=backup_of(self.path))
        self._signature = self._stat()


class DocumentStore(SharedStore, Generic[D]):
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
        self._content: bytes | None = None
        self._unsaved: list[Edit[D]] = []
        # While turns are repeated: the digest of each version of the file since they began, oldest first (``None`` for
        # no file), and the run's edits that made it out of the version before; none if others edited it.
        self._versions: list[tuple[str | None, tuple[Edit[D], ...]]] | None = None
        self.refresh()

    @property
    def unsaved(self) -> int:
        """The number of edits that are in ``document`` and not yet in the file."""
        return len(self._unsaved)

    @property
    @override
    def digest(self) -> str:
        return sha256(self._rendered()).hexdigest()

    @override
    def hold(self, inputs: Inputs, base: bytes | None = None) -> None:
        super().hold(inputs)
        if inputs.is_repeating:
            self._content = base or None
            self._saved = self.document = self._parse(self._decoded(base or b""))
            self._versions = [(_sha256(self._content), ())]
            self._signature = NEVER_LOOKED

    def refresh(self) -> bool:
        """Take in what others have written, and return whether that changed the document; in a run, ``look`` does."""
        known = self._saved
        if self.inputs is None or self.inputs.is_of_earlier_version:
            self._look()
        return self._saved is not known

    @override
    def look(self) -> None:
        is_first = self._versions is not None and not self._is_repeating
        with locked(self.path) if is_first else nullcontext():
            self._look()

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
        if not self._is_repeating:
            locks.enter_context(locked(self.path))
            self._signature = NEVER_LOOKED  # a file may have changed within the resolution of its time
        self._look()
        if self._unsaved:
            self._record_write(_sha256(self._content), self.digest)

    @override
    def write(self) -> None:
        if self._unsaved:
            content = self._rendered()
            if self._versions is None:
                self._replace(content)
            else:
                self._versions.append((_sha256(content or None), tuple(self._unsaved)))
            self._content, self._saved, self._unsaved = content or None, self.document, []
        self.is_due = False
        if self._versions is not None and not self._is_repeating:
            self.look()

    def _look(self) -> None:
        edited = self._recorded_edit(self._found_edit)
        if edited is None:
            return
        self._saved = self._parse(edited.text)
        self._content = edited.text.encode() or None
        if self._versions is not None:
            if edited.lacks:
                lost = [edit for _, edits in self._versions[-edited.lacks :] for edit in edits]
                self._unsaved, self.is_due = [*lost, *self._unsaved], True
            self._versions.append((_sha256(self._content), ()))
        if not self._is_repeating:
            self._versions = None
        self._replay()

    def _found_edit(self) -> FileEdited | None:
        """Return what others wrote since the file was last read or written, ``None`` if they did not.

        The first time after a repetition, a write that did not reach the disk is made again.
        """
        signature = self._stat()
        if signature == self._signature:
            return None
        content = read_shared(self.path) or None
        if content == self._content:
            self._versions, self._signature = None, signature
            return None
        lacks = 0
        if self._versions is not None:
            reached = self._version_reached([digest for digest, _ in self._versions], content)
            lacks = len(self._versions) - 1 - reached
            if lacks and self._versions[reached][0] == _sha256(content):
                self._replace(self._content or b"")
                self._versions = None
                return None
        edited = FileEdited(self.path.name, self._decoded(content or b""), lacks)
        self._signature = signature
        return edited

    def _version_reached(self, digests: list[str | None], content: bytes | None) -> int:
        """Return the index of the version from which ``content`` comes: the later ones did not reach the disk.

        Content that is an earlier version is one whose successors were lost, unless the backup is the last version but
        one and older: then the last write did reach the disk, and a person has undone it. Any other content is edited
        from the version after that of the backup.
        """
        index_of = {digest: index for index, digest in enumerate(digests)}
        latest = len(digests) - 1
        backup = backup_of(self.path)
        before = read_shared(backup)
        kept = None if before is None else index_of.get(_sha256(before))
        found = index_of.get(_sha256(content))
        if found is None:
            return latest if kept is None else min(kept + 1, latest)
        status = self._stat()
        is_newer = kept is not None and (status is None or status[0] > backup.stat().st_mtime_ns)
        return latest if is_newer and kept == latest - 1 else found

    def _save(self) -> list[Edit[D]]:
        """Write the unsaved edits, outside a run, and return those that had something to do."""
        with locked(self.path):
            self._signature = NEVER_LOOKED  # a file may have changed within the resolution of its time
            self._look()
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
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise StoreError(
                f"{self.path}: byte {error.start} (0x{content[error.start]:02x}, in line {line}) is not UTF-8; "
                "save the file as UTF-8"
            ) from error


def read_json(adapter: TypeAdapter[T], text: str, path: Path, otherwise: str) -> T:
    """Return the content of a JSON file, the value with all defaults for an empty one. Raises ``StoreError``.

    otherwise: what to say of another file, as in "is not a lexicon"
    """
    try:
        return adapter.validate_json(text.removeprefix(BYTE_ORDER_MARK) or "{}")
    except ValidationError as error:
        raise StoreError(
            f"{path} {otherwise} that this version reads ({first_problem(error)}); "
            "correct it, or move it away to start a new one"
        ) from error


def backup_of(path: Path) -> Path:
    """Return the path at which the version before the last write of a shared file is kept."""
    return path.with_name(f"{path.name}.backup")


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()
