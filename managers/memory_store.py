"""``Memories.md`` on the disk: shared with other processes and with people who edit it (decisions 13, 14)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock

from managers.memories_document import Document
from managers.memories_file import parse
from session.atomic_write import write_atomically
from session.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import stat_result
    from pathlib import Path

Edit = Callable[[Document], Document]
"""Gives the very same document back where there is nothing to do. It may be applied again, to a newer document."""

LOCK_TIMEOUT = 10.0  # seconds; a write takes milliseconds
LOCK_POLL = 0.005  # seconds


class MemoryStore:
    """The document of one file, kept in step with it.

    An edit is always made to what the file holds at that moment, under a lock, so that whatever others wrote since
    stays. ``NAME.backup`` holds the version before the last write. An edit that cannot be written is part of
    ``document`` all the same, and is tried again with every later one.

    Raises ``StoreError``, when made and whenever it reads, for a file that cannot be read or is no UTF-8.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.document = self._saved = parse("")
        self._backup = path.with_name(f"{path.name}.backup")
        self._lock = FileLock(f"{path}.lock", timeout=LOCK_TIMEOUT)
        self._content: bytes | None = None
        self._signature: tuple[int, ...] | None = None
        self._unsaved: list[Edit] = []
        self.refresh()

    @property
    def unsaved(self) -> int:
        """Edits that are in ``document`` and not yet in the file."""
        return len(self._unsaved)

    def refresh(self) -> bool:
        """``document`` shows what others have written; true where that changed it. Cheap where nobody has."""
        if self._stat() == self._signature:
            return False
        known = self._saved
        self._read()
        self._replay()
        return self._saved is not known

    def defer(self, edit: Edit) -> None:
        """The edit is in ``document`` and goes to the file with the next that is applied."""
        self._unsaved.append(edit)
        self._replay()

    def apply(self, edit: Edit) -> bool:
        """The edit and all unsaved ones are in the file, on the disk; false where this one had nothing to do.

        Raises ``StoreError`` where the file cannot be written.
        """
        self._unsaved.append(edit)
        try:
            self._save()
        except StoreError:
            self._replay()
            raise
        is_effective = edit in self._unsaved
        self._unsaved = []
        return is_effective

    def flush(self) -> None:
        """Every unsaved edit is in the file. Raises ``StoreError``."""
        if self._unsaved:
            self._save()
            self._unsaved = []

    def _save(self) -> None:
        with self._locked():
            self._read()
            self._replay()
            if self._unsaved:
                self._write()

    def _replay(self) -> None:
        """``document`` is the file's with the unsaved edits; those that have nothing left to do are dropped."""
        document, effective = self._saved, []
        for edit in self._unsaved:
            edited = edit(document)
            if edited is not document:
                effective.append(edit)
            document = edited
        self.document, self._unsaved = document, effective

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(poll_interval=LOCK_POLL)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be locked for writing: {error.strerror or error}") from error
        try:
            yield
        finally:
            self._lock.release()

    def _write(self) -> None:
        content = self.document.render().encode()
        if self._content is not None:
            write_atomically(self._backup, self._content, durable=False)
        write_atomically(self.path, content)
        self._content, self._saved, self._signature = content, self.document, self._stat()

    def _read(self) -> None:
        """``_saved`` is what the file holds; it is parsed only where its bytes are not those known."""
        signature = self._stat()
        try:
            content = None if signature is None else self.path.read_bytes()
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror or error}") from error
        if content != self._content:
            self._saved = parse(self._decoded(content or b""))
            self._content = content
        self._signature = signature

    def _decoded(self, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise StoreError(
                f"{self.path}: byte {error.start} (0x{content[error.start]:02x}, in line {line}) is not UTF-8; "
                "save the file as UTF-8"
            ) from error

    def _stat(self) -> tuple[int, ...] | None:
        try:
            return _signature(self.path.stat())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror or error}") from error


def _signature(stat: stat_result) -> tuple[int, ...]:
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
