"""The snapshot of a run, how far the run was committed, and checkpoints to go back to after a power cut (ADR 18)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from session.errors import StoreError
from session.files.atomic_write import force_to_disk, overwrite, write_atomically
from session.files.shared_files import read_whole

if TYPE_CHECKING:
    from session.files.run_folders import SharedFiles

SNAPSHOTS = "snapshots"
SNAPSHOT = f"{SNAPSHOTS}/last.json"
COMMITTED = f"{SNAPSHOTS}/committed"
COPIES = f"{SNAPSHOTS}/files"
CHECKPOINTS = "checkpoint-*"
_VERSION = 1
_FORMAT = re.compile(rb"zorkgpt-snapshot-(\d{1,9}) ")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class CommitMark:
    """How far a run was committed.

    seq: the journal's line after which everything known was written to the shared files
    boot: names the time since the computer was started, "" where it does not say; another one means that what was
        not forced to the disk may be lost
    is_settled: everything was forced to the disk
    """

    seq: int
    boot: str
    is_settled: bool


def write_snapshot(folder: Path, content: bytes) -> None:
    """Replace the snapshot of the run folder, without waiting for the disk. Raises ``StoreError``."""
    path = folder / SNAPSHOT
    _make(path.parent)
    write_atomically(path, _seal(content) + content, durable=False)


def read_snapshot(folder: Path) -> bytes | None:
    """Return the snapshot of the run folder, ``None`` where there is none yet.

    Raises ``StoreError`` for one that is damaged or that another version of the program wrote.
    """
    return _read(folder / SNAPSHOT)


def copies_in(folder: Path) -> Path:
    """Make the run folder's place for copies of shared files as they are at the snapshot, and return it.

    Raises ``StoreError``.
    """
    copies = folder / COPIES
    for each in (copies.parent, copies):
        _make(each)
    return copies


def mark_committed(folder: Path, seq: int, *, is_settled: bool = False) -> None:
    """Note that everything known at the journal's line ``seq`` was written to the shared files.

    is_settled: wait until the note is on the disk; everything else is
    The note is overwritten in place, since it is shorter than what a disk writes at once. Raises ``StoreError``.
    """
    path = folder / COMMITTED
    _make(path.parent)
    overwrite(path, f"{seq:012d} {int(is_settled)} {boot_id()}\n".encode())
    if is_settled:
        force_to_disk(path)


def read_mark(folder: Path) -> CommitMark | None:
    """Return what :func:`mark_committed` noted last, ``None`` where there is no such note."""
    try:
        seq, is_settled, *boot = (folder / COMMITTED).read_text(encoding="ascii").split()
        return CommitMark(int(seq), "".join(boot), is_settled == "1")
    except (OSError, ValueError):
        return None


def make_checkpoint(folder: Path, seq: int, files: SharedFiles) -> None:
    """Force the snapshot, a copy of it and copies of the shared files to the disk, to go back to after a power cut.

    seq: the journal's line that the snapshot belongs to
    Raises ``StoreError``.
    """
    older = _checkpoints(folder)
    checkpoint = folder / SNAPSHOTS / CHECKPOINTS.replace("*", f"{seq:012d}")
    files.copy_to(checkpoint, durable=True)
    try:
        write_atomically(checkpoint / Path(SNAPSHOT).name, read_whole(folder / SNAPSHOT))
    except OSError as error:
        raise StoreError(f"{folder / SNAPSHOT} cannot be read: {error.strerror or error}") from error
    force_to_disk(folder / SNAPSHOT)
    mark_committed(folder, seq, is_settled=True)
    for each in older:
        if each != checkpoint:
            rmtree(each, ignore_errors=True)


def latest_checkpoint(folder: Path) -> tuple[Path, bytes] | None:
    """Return the newest checkpoint of the run folder and its snapshot, ``None`` where there is none.

    Raises ``StoreError``.
    """
    for checkpoint in reversed(_checkpoints(folder)):
        content = _read(checkpoint / Path(SNAPSHOT).name)
        if content is not None:
            return checkpoint, content
    return None


@cache
def boot_id() -> str:
    """Return what names the time since this computer was started, "" where it does not say."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _checkpoints(folder: Path) -> list[Path]:
    return sorted((folder / SNAPSHOTS).glob(CHECKPOINTS))


def _read(path: Path) -> bytes | None:
    try:
        sealed = read_whole(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    found = _FORMAT.match(sealed)
    if found and int(found[1]) != _VERSION:
        raise StoreError(f"{path} is of another version of the program: format {int(found[1])}, not {_VERSION}")
    seal, content = sealed[:_SEAL_SIZE], sealed[_SEAL_SIZE:]
    if seal != _seal(content):
        raise StoreError(f"{path} is damaged: it is not what was written")
    return content


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {folder}: {error.strerror}") from error


def _seal(content: bytes) -> bytes:
    return b"zorkgpt-snapshot-%d %s\n" % (_VERSION, sha256(content).hexdigest().encode())


_SEAL_SIZE = len(_seal(b""))
