"""Reads, locks and opens files that others may have left in any state: too big, a pipe, a link to somewhere else."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from filelock import FileLock, Timeout

from session.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 16 * 1024 * 1024
"""In bytes: a hundred times what years of play leave in a file."""
LOCK_TIMEOUT = 10.0  # seconds; a write takes milliseconds
LOCK_POLL = 0.005  # seconds


@contextmanager
def locked(path: Path, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Lock the file against other writers within the block, by ``NAME.lock`` beside it; its folder is made if need be.

    Raises ``StoreError`` where that is not possible, or where another has it locked for more than ``timeout`` seconds.
    """
    lock = FileLock(f"{path}.lock", timeout=timeout)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(poll_interval=LOCK_POLL)
    except Timeout as error:
        raise StoreError(f"{path} is locked by another program, and still was after {timeout:g} s") from error
    except FileExistsError as error:
        raise StoreError(f"{path.parent} is a file, not a folder") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be locked for writing: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()


def read_shared(path: Path) -> bytes | None:
    """Return what the file holds, or ``None`` where there is no file.

    Raises ``StoreError`` for a file that cannot be read, and without reading any of it for one of more than
    ``LARGEST`` bytes, for a pipe, a folder or a device, and for a link out of its folder.
    """
    try:
        with open(real_place(path), "rb", opener=_without_waiting) as file:
            return _content(path, file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error


def read_whole(path: Path) -> bytes:
    """Return what a file holds, however long it is.

    Raises ``OSError`` where it cannot be read, ``StoreError`` for what :func:`read_shared` refuses.
    """
    with open(real_place(path), "rb", opener=_without_waiting) as file:
        _require_ordinary(path, file)
        return file.read()


def open_to_append(path: Path) -> FileIO:
    """Open the file for writing at its end without a buffer; it is made where there is none.

    Raises ``OSError``, and ``StoreError`` for a pipe, a folder or a device, and for a link out of its folder.
    """
    file = FileIO(real_place(path), "ab", opener=_without_waiting)
    _require_ordinary(path, file)
    return file


def append_whole(file: FileIO, content: bytes) -> None:
    """Append the content to a file without a buffer, whole or nothing of it. Raises ``OSError``."""
    before = os.fstat(file.fileno()).st_size
    try:
        while content:
            content = content[file.write(content) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(file.fileno(), before)
        raise


def real_place(path: Path) -> Path:
    """Return where the file is, behind a link if ``path`` is one.

    Raises ``StoreError`` for a link out of the folder that it is in: nothing outside is read or written. The folder
    itself may be reached through links.
    """
    folder = Path(os.path.realpath(path.parent))
    if path.name not in {"", ".."} and not path.is_symlink():
        return folder / path.name
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(folder):
        raise StoreError(f"{path} is a link out of its folder, to {target}; put the file itself there")
    if target.is_symlink():
        raise StoreError(f"{path} is a link that leads nowhere but to itself")
    return target


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe, too, opens at once, whether somebody writes to it or not."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def _require_ordinary(path: Path, file: BinaryIO | FileIO) -> os.stat_result:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path} cannot be used: it is no ordinary file")
    return status


def _content(path: Path, file: BinaryIO) -> bytes:
    status = _require_ordinary(path, file)
    content = b"" if status.st_size > LARGEST else file.read(LARGEST + 1)
    if max(status.st_size, len(content)) > LARGEST:
        raise StoreError(
            f"{path} is not read: it has {status.st_size / 2**20:,.0f} MiB, more than the {LARGEST / 2**20:.0f} MiB "
            "that such a file may have; move it away, or shorten it"
        )
    return content
