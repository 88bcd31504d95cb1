"""Files of the work folder that several processes and people write, and documents kept in step with them.

See docs/specification.md, Files that people edit, and Atomic writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from typing_extensions import override

from session.errors import StoreError
from session.files.atomic_write import overwrite, write_atomically
from session.files.shared_files import locked, read_shared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pydantic import TypeAdapter
    from typing_extensions import Self

_UNHEARD_OF = b"\xff"  # what no document holds: it is no UTF-8


class Rendered(Protocol):
    """A document that can say what its file holds."""

    def render(self) -> str:
        """Return the text of the file."""
        ...


D = TypeVar("D", bound=Rendered)


class Edit(Protocol[D]):
    """A change to a document, as a value that can be kept in a snapshot."""

    def apply_to(self, document: D) -> D:
        """Return the document with the change; the very same where there is nothing to do.

        It may be applied again, to a newer document.
        """
        ...


E = TypeVar("E", bound=Edit[Any])
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class StoreState(Generic[Kept]):
    """What of a store is not in its file: plain values, for a snapshot that is taken before edits are committed.

    edits: not yet in the file, oldest first
    is_due: they are about to be written; false where they may wait
    before, after: SHA-256 of the file without and with them, ``None`` where there is no file
    reads: how often the file was looked at
    """

    edits: tuple[Kept, ...] = ()
    is_due: bool = False
    before: str | None = None
    after: str | None = None
    reads: int = 0

    def committed(self) -> StoreState[Kept]:
        """Return the state as it is once what is due has reached the file."""
        return StoreState((), False, self.after, self.after, self.reads + 1) if self.is_due else self


class Committable(Protocol):
    """What a store says of itself for a snapshot."""

    def committed(self) -> Self:
        """Return the same as it is once what is due has reached the file."""
        ...


class Watch(Protocol):
    """Told of every look at a shared file, and of what others wrote there: what a replay must know of the world."""

    def reading(self, path: Path, read: int) -> bool:
        """Take note that the file is about to be looked at for the ``read``-th time.

        Return false where what others wrote must not be seen yet: turns are repeated that were played before.
        """
        ...

    def noticed(self, path: Path, read: int, text: str) -> None:
        """Take note that the file held ``text`` in that look, which this program did not write; "" where it is gone."""
        ...


S = TypeVar("S", bound=Committable)


class SharedStore(ABC, Generic[S]):
    """Keeps what a manager learns in one file of the work folder.

    path: the file
    holds: changes wait for :meth:`commit`, so that a snapshot can be taken before the file changes, and are not
        forced to the disk: what a power cut undoes is made again from the journal (ADR 18)
    watch: told of looks at the file
    copies: folder of the run's own copies of shared files, as they are at its snapshot; ``None`` for none
    states: reads and writes what :meth:`state` returns, as JSON
    """

    states: TypeAdapter[S]

    def __init__(self, path: Path) -> None:
        self.path = path
        self.holds = False
        self.watch: Watch | None = None
        self.copies: Path | None = None
        self._signature: tuple[int, ...] | None = None
        self._reads = 0

    @property
    def digest(self) -> str | None:
        """SHA-256 of what the file holds or is about to, 64 hex digits; ``None`` where nobody compares it."""
        return None

    @property
    @abstractmethod
    def is_due(self) -> bool:
        """Whether the next :meth:`commit` has something to write."""

    def hold(self, watch: Watch, copies: Path | None = None) -> None:
        """Let changes wait for :meth:`commit` from now on, and tell ``watch`` of looks at the file."""
        self.holds, self.watch, self.copies = True, watch, copies

    def keep(self) -> None:
        """Copy what the file is known to hold into ``copies``, for :meth:`restore`. Raises ``StoreError``."""

    @abstractmethod
    def commit(self) -> None:
        """Write what is due. Raises ``StoreError``; it stays due then."""

    @abstractmethod
    def refresh(self) -> object:
        """Take in what others have written."""

    @abstractmethod
    def state(self) -> S:
        """Return what is not in the file yet, as plain values for a snapshot."""

    @abstractmethod
    def restore(self, state: S) -> None:
        """Go back to what :meth:`state` returned, whether it has reached the file since or not."""

    def _look(self) -> bool:
        self._reads += 1
        return self.watch is None or self.watch.reading(self.path, self._reads)

    def _notice(self, text: str) -> None:
        if self.watch is not None:
            self.watch.noticed(self.path, self._reads, text)

    def _stat(self) -> tuple[int, ...] | None:
        """Return what changes whenever the file is replaced, ``None`` where there is none."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror or error}") from error
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _replace(self, content: bytes) -> None:
        """Write ``content``; ``NAME.backup`` is what was there before, where something was."""
        write_atomically(self.path, content, durable=not self.holds, backup=backup_of(self.path))
        self._signature = self._stat()


class DocumentStore(SharedStore[StoreState[E]], Generic[D, E]):
    """The document of one file, kept in step with it.

    An edit is always made to what the file holds at that moment, under a lock, so that whatever others wrote since
    stays. ``NAME.backup`` holds the version before the last write. An edit that cannot be written is part of
    ``document`` all the same, and is tried again with every later one.

    parse: from the file's text to a document whose ``render()`` is that text

    Raises ``StoreError``, when made and whenever it reads, for a file that cannot be read or is no UTF-8.
    """

    def __init__(self, path: Path, parse: Callable[[str], D], states: TypeAdapter[StoreState[E]]) -> None:
        super().__init__(path)
        self.states = states
        self._parse = parse
        self.document = self._saved = parse("")
        self._latest_text = _DocumentText(self.document, b"", sha256().hexdigest())
        self._content: bytes | None = None
        self._content_digest: str | None = None
        self._kept: bytes | None = _UNHEARD_OF
        self._unsaved: list[E] = []
        self._is_due = False
        self.refresh()

    @property
    @override
    def is_due(self) -> bool:
        return self._is_due

    @property
    def unsaved(self) -> int:
        """Edits that are in ``document`` and not yet in the file."""
        return len(self._unsaved)

    @property
    def digest(self) -> str:
        """SHA-256 of the document as it stands, 64 hex digits."""
        return self._text().digest

    def refresh(self) -> bool:
        """Take in what others have written, and return whether that changed the document."""
        if not self._look() or self._stat() == self._signature:
            return False
        known = self._saved
        self._read()
        self._replay()
        return self._saved is not known

    def defer(self, edit: E) -> None:
        """Make an edit that may wait: it goes to the file with the next one that is applied."""
        self._make(edit)

    def apply(self, edit: E) -> bool:
        """Make an edit and write it with all unsaved ones; return false where it had nothing to do.

        Where the store ``holds``, they are in ``document`` and are due. Raises ``StoreError`` where the file cannot
        be written.
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
        """Write what is due. Raises ``StoreError``; it stays due then."""
        if self._is_due:
            self._save()
            self._unsaved = []
            self._is_due = False

    def state(self) -> StoreState[E]:
        """Return what a snapshot has to hold so that :meth:`restore` makes every edit."""
        after = self.digest if self._is_due else self._content_digest
        return StoreState(tuple(self._unsaved), self._is_due, self._content_digest, after, self._reads)

    def restore(self, state: StoreState[E]) -> None:
        """Make the edits of ``state``, whether a commit reached the file after it was taken or not.

        Where the file is neither what it was before them nor what it was to be, somebody has edited it: the edits are
        made to the run's own copy of the file, if it has one, and the next look takes in what the other wrote.
        """
        found = self._content_digest
        is_applied = state.is_due and state.before != state.after == found
        self._unsaved = [] if is_applied else list(state.edits)
        self._is_due = state.is_due and not is_applied
        self._reads = state.reads + is_applied  # the commit had looked
        if found not in {state.before, state.after}:
            self._go_back(state.before)
        self._replay()

    def keep(self) -> None:
        """Copy what the file is known to hold into ``copies``, if it is new. Raises ``StoreError``."""
        if self.copies is not None and self._content is not self._kept:
            overwrite(self.copies / self.path.name, self._content or b"")
            self._kept = self._content

    def _go_back(self, digest: str | None) -> None:
        """Take the run's copy for what the file holds, if it has this digest, until the next look."""
        copy = read_shared(self.copies / self.path.name) if self.copies is not None else None
        if copy is not None and digest == _sha256(copy or None):
            self._saved = self._parse(self._decoded(copy))
            self._know(copy or None)
        else:
            self._know(_UNHEARD_OF)
        self._signature = None

    def _save(self) -> None:
        with locked(self.path):
            self._look()
            known = self._saved
            self._read()
            if self._saved is not known or not self.holds:  # else the edits are in the document already
                self._replay()
            if self._unsaved:
                self._write()

    def _make(self, edit: E) -> bool:
        """Make an edit to the document as it stands, and return whether it had anything to do."""
        edited = edit.apply_to(self.document)
        if edited is self.document:
            return False
        self.document = edited
        self._unsaved.append(edit)
        return True

    def _replay(self) -> None:
        """Make the unsaved edits to what the file holds, and drop those that have nothing left to do."""
        document, effective = self._saved, []
        for edit in self._unsaved:
            edited = edit.apply_to(document)
            if edited is not document:
                effective.append(edit)
            document = edited
        self.document, self._unsaved = document, effective

    def _write(self) -> None:
        text = self._text()
        self._replace(text.content)
        self._content, self._content_digest = text.content, text.digest
        self._saved = self.document

    def _read(self) -> None:
        """Read the file, and parse it where its bytes are not those known."""
        signature, content = self._stat(), read_shared(self.path)
        if content != self._content:
            text = self._decoded(content or b"")
            self._saved = self._parse(text)
            self._know(content)
            self._notice(text)
        self._signature = signature

    def _text(self) -> _DocumentText:
        """Return what the file of the document would hold, made once for the snapshot and for the file."""
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
    """What the file of a document holds, and its SHA-256."""

    document: Rendered
    content: bytes
    digest: str


def backup_of(path: Path) -> Path:
    """Return where the version before the last write of a shared file is kept."""
    return path.with_name(f"{path.name}.backup")


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()
