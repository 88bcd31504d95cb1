"""A file of lines that another process appends to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.errors import StoreError
from session.files.shared_files import read_whole

if TYPE_CHECKING:
    from pathlib import Path


class GrowingFile:
    """Reads the whole lines of a file, each once; a file that is not there yet has none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    @property
    def was_cut(self) -> bool:
        """Whether the file is shorter than what was read of it."""
        return self._size() < self._read

    def new_lines(self) -> list[bytes]:
        """Return the lines, without their ends, that were written since the last call. Raises ``StoreError``."""
        if self._size() <= self._read:
            return []
        try:
            written = read_whole(self._path)[self._read :]
        except OSError as error:
            raise StoreError(f"cannot read {self._path}: {error.strerror}") from error
        whole = written[: written.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.split(b"\n")[:-1]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0
