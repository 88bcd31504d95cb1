"""Files that several processes share: their names, and how they are written, locked, and read while they grow."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path
from pwd import getpwuid
from typing import BinaryIO

from filelock import FileLock, Timeout

from session.errors import StoreError, reported_as

LARGEST = 16 * 1024 * 1024
"""In bytes: a hundred times what years of play leave in a file."""
LOCK_TIMEOUT = 10.0  # seconds; a write takes milliseconds
LOCK_POLL = 0.005  # seconds
QUIET = 1.0
"""Seconds after which a file that others write in place counts as complete."""
RUNS, FORKS, STORY_FILE, EPISODES = "runs", "forks", "story.json", "episodes.json"
CURRENT_STATE_FILE = "current_state.json"
RESERVED = frozenset({RUNS, FORKS, STORY_FILE, EPISODES, CURRENT_STATE_FILE})
"""Files and folders that every work folder may have besides the files of managers."""
RESERVED_ENDINGS = (".lock", ".backup", ".history")
ROOT_USER = 0

_TEMPORARY = re.compile(r"\.(.+)\.([0-9a-f]{8})\.tmp")
_LONGEST_HISTORY = 1024 * 1024
"""In bytes: some 24,000 writes."""
_LOST = b"\0" * 16
_YOUNG = 10.0
"""Seconds: a younger file may belong to a process that has not locked it yet."""


def write_atomically(
    path: Path,
    content: bytes,
    *,
    durable: bool = True,
    mode: int | None = None,
    with_backup: bool = False,
    with_history: bool = False,
) -> None:
    """Replace the file by one with this content; a kill at any instant leaves the old or the new file.

    durable: wait until it is on the disk; without that a power cut may lose the file
    mode: the file's permissions; by default those that it had, or those of any new file
    with_backup: the file that is replaced is kept (:func:`backup_of`), in place of the one before it
    with_history: the digests of both versions are noted, for :func:`versions_until`
    A kill may leave a hidden ``.NAME.….tmp``, see :func:`remove_leftovers`. Of a symbolic link the file behind it is
    replaced. Raises ``StoreError``, also for a link out of its folder.
    """
    with reported_as(f"{path} cannot be written"):
        target = real_place(path)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("xb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # until it has its name: see remove_leftovers
                _write(file, content, target, durable=durable, mode=mode)
                if with_history:
                    before = target.read_bytes() if target.exists() else None
                    _note(history_of(path), temporary, f"{short_digest(before)} {short_digest(content)}")
                if with_backup and target.exists():
                    _keep(target, backup_of(path))
                temporary.replace(target)
        finally:
            with suppress(OSError, StoreError):
                _discard(temporary)
        if durable:
            _force(target.parent)


def _write(file: BinaryIO, content: bytes, replaced: Path, *, durable: bool, mode: int | None) -> None:
    descriptor = file.fileno()
    try:
        old = replaced.stat()
    except FileNotFoundError:
        wanted = mode
    else:
        wanted = stat.S_IMODE(old.st_mode) if mode is None else mode
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(PermissionError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
    if wanted is not None:
        os.fchmod(descriptor, wanted)
    file.write(content)
    file.flush()
    if durable:
        os.fsync(descriptor)


def _keep(path: Path, backup: Path) -> None:
    """Let a file that is about to be replaced stay under the name ``backup``, atomically."""
    link = backup.with_name(f".{backup.name}.new")
    link.unlink(missing_ok=True)
    try:
        link.hardlink_to(path)
    except OSError:  # not every file system has links
        shutil.copyfile(path, link)
        shutil.copymode(path, link)
    try:
        link.replace(backup)
    finally:
        link.unlink(missing_ok=True)  # a rename does nothing if both are links to the same file


def backup_of(path: Path) -> Path:
    """Return the path at which the version before the last write of a shared file is kept."""
    return path.with_name(f"{path.name}.backup")


def history_of(path: Path) -> Path:
    """Return the path of the file that lists the writes of a shared file, see :func:`versions_until`."""
    return path.with_name(f"{path.name}.history")


def short_digest(content: bytes | None) -> str:
    """Return the first 16 hex digits of a version's SHA-256, "-" for no file and an empty one."""
    return sha256(content).hexdigest()[:16] if content else "-"


def _note(history: Path, temporary: Path, versions: str = "") -> None:
    """Append the token of a temporary file, with the versions before and after if it is about to be put in place."""
    token = temporary.name.split(".")[-2]
    with open_to_append(history) as file:
        append_whole(file, f"{token} {versions}".rstrip().encode() + b"\n")
        is_long = file.tell() > _LONGEST_HISTORY
    if is_long:
        lines = read_whole(history).splitlines(keepends=True)
        write_atomically(history, b"".join(lines[len(lines) // 2 :]), durable=False)


def _discard(temporary: Path) -> None:
    """Remove a temporary file that was not put in place, if it still exists, and note that."""
    name = _TEMPORARY.fullmatch(temporary.name)
    if name and temporary.exists():
        history = history_of(temporary.with_name(name[1]))
        if history.exists():
            _note(history, temporary)
        temporary.unlink()


def last_version(path: Path) -> str:
    """Return the version that the last noted write left in place; "" if none is noted. Raises ``StoreError``."""
    return next(reversed(versions_until(path, "")), "")


def versions_until(path: Path, before: str) -> list[str]:
    """Return the versions of a shared file that the noted writes found and left, oldest first (:func:`short_digest`).

    A write whose temporary file still exists or was removed did not happen: it counts with what it found.

    before: the version that the last write replaced, as its backup has it; "" for all writes. Without a note of it
        nothing is returned
    Raises ``StoreError``.
    """
    lines = [line.split() for line in (read_shared(history_of(path)) or b"").decode("ascii", "replace").splitlines()]
    undone = {line[0] for line in lines if len(line) == 1}
    last = max((at for at, line in enumerate(lines) if before in ("", *line[1:2])), default=-1)
    versions: list[str] = []
    for token, *found in lines[: last + 1]:
        is_undone = token in undone or path.with_name(f".{path.name}.{token}.tmp").exists()
        versions += found[:1] if is_undone else found
    return versions


def is_lost(content: bytes) -> bool:
    """Return whether a power cut may have lost the content of a file: it is empty, or has zeros in place of text."""
    return not content or _LOST in content


def _force(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk: a power cut could undo a rename."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def force_to_disk(path: Path) -> None:
    """Wait until a file or folder, if it exists, and its name are on the disk. Raises ``StoreError``."""
    with reported_as(f"{path} cannot be written"), suppress(FileNotFoundError):
        _force(path)
        _force(path.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder, but not those of processes that live."""
    for path in folder.glob(".*.tmp"):
        if _TEMPORARY.fullmatch(path.name):
            with suppress(OSError, StoreError), open_ordinary(path) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if abs(time.time() - path.stat().st_mtime) > _YOUNG:
                    _discard(path)


def permissions(path: Path) -> int | None:
    """Return the permissions of a file, for copies of it, or ``None`` if it does not exist."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


@contextmanager
def locked(path: Path, timeout: float = LOCK_TIMEOUT, busy: str = "") -> Iterator[None]:
    """Lock the file against other writers within the block, by ``NAME.lock`` beside it; its folder is made if need be.

    Raises ``StoreError``, with ``busy`` if another process has it locked for more than ``timeout`` seconds.
    """
    lock = FileLock(f"{path}.lock", timeout=timeout)
    make_folder(path.parent, f"{path} cannot be locked for writing")
    try:
        lock.acquire(poll_interval=LOCK_POLL)
    except Timeout as error:
        raise StoreError(busy or f"{path} is still locked by another program after {timeout:g} s") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be locked for writing: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()


def make_folder(folder: Path, problem: str = "") -> None:
    """Make a folder and those above it, unless they exist. Raises ``StoreError`` with the problem."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        place = Path(error.filename)
        what = f"a link to {place.readlink()}, which does not exist" if place.is_symlink() else "a file, not a folder"
        raise StoreError(f"{place} is {what}") from error
    except OSError as error:
        raise StoreError(f"{problem or f'cannot make the folder {folder}'}: {error.strerror or error}") from error


def require_no_link(*places: Path) -> None:
    """Raise ``StoreError`` if one of the places is a link.

    The program makes no links, so one within its own folders came with a downloaded folder and may lead anywhere.
    """
    link = next((place for place in places if place.is_symlink()), None)
    if link is not None:
        raise StoreError(f"{link} is a link, which may lead outside of its folder; put there what it leads to")


def places_below(top: Path, place: Path) -> list[Path]:
    """Return the place and each folder above it, up to ``top``, which is not among them."""
    return [place, *(each for each in place.parents if each != top and each.is_relative_to(top))]


def read_shared(path: Path) -> bytes | None:
    """Return the content of the file, or ``None`` if it does not exist.

    Raises ``StoreError``, also for files over ``LARGEST`` bytes, pipes, folders, devices and links out of the folder.
    """
    with reported_as(f"{path} cannot be read"), suppress(FileNotFoundError):
        return read_whole(path, LARGEST)
    return None


@contextmanager
def open_ordinary(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading. Raises ``OSError``, and ``StoreError`` for what :func:`read_shared` refuses."""
    with open(real_place(path), "rb", opener=_without_waiting) as file:
        _require_ordinary(path, file)
        yield file


def read_whole(path: Path, largest: int | None = None) -> bytes:
    """Return the content of a file of at most ``largest`` bytes. Raises as :func:`open_ordinary`."""
    with open_ordinary(path) as file:
        size = os.fstat(file.fileno()).st_size
        if largest is not None and size > largest:
            raise StoreError(
                f"{path} is not read: it has {size / 2**20:,.0f} MiB, more than the {largest / 2**20:.0f} MiB "
                "that such a file may have; move it away, or shorten it"
            )
        return file.read()


def open_to_append(path: Path) -> FileIO:
    """Open or make the file for writing at its end without a buffer. Raises as :func:`open_ordinary`."""
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
    """Return where the file is, behind a link if ``path`` is one. The folder itself may be reached through links.

    Raises ``StoreError`` for a link out of the folder that it is in: nothing outside is read or written.
    """
    folder = Path(os.path.realpath(path.parent))
    if path.name not in {"", ".."} and not path.is_symlink():
        return folder / path.name
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(folder):
        raise StoreError(f"{path} is a link to {target}, outside of its folder; replace it by the file itself")
    if target.is_symlink():
        raise StoreError(f"{path} is a symbolic link to itself")
    return target


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without blocking, even a pipe that no process writes to."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def _require_ordinary(path: Path, file: BinaryIO | FileIO) -> None:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise StoreError(f"{path} cannot be used: it is not a regular file")


class GrowingFile:
    """Reads the whole lines of a file, each once; a file that does not exist yet has none."""

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
        with reported_as(f"cannot read {self._path}"):
            written = read_whole(self._path)[self._read :]
        whole = written[: written.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.split(b"\n")[:-1]

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0


def is_plain_name(name: str) -> bool:
    """Return whether the name is a plain file name that cannot lead to another folder."""
    return name == Path(name).name and name not in {"", ".."} and name.isprintable()


def is_reserved(name: str) -> bool:
    """Return whether the name, in any case, is reserved for a file or folder that does not belong to a manager."""
    folded = name.casefold()
    return folded in RESERVED or folded.endswith(RESERVED_ENDINGS)


def archive_name(knowledge_file: str) -> str:
    """Return the name of the archive of a knowledge file."""
    path = Path(knowledge_file)
    return f"{path.stem}.archive{path.suffix}"


def writers_besides_user(status: os.stat_result) -> str:
    """Return in words which users other than root and the current one can write a file; "" if none can."""
    is_anothers = status.st_uid not in {os.geteuid(), ROOT_USER}
    if not is_anothers and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return ""
    try:
        owner = getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = f"user {status.st_uid}"
    return f"it belongs to {owner}{'' if is_anothers else ', and others can write it (to fix that: chmod go-w)'}"
