"""The snapshot of a run on the disk: plain text with a checksum, replaced whole."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from session.errors import StoreError
from session.files.atomic_write import write_atomically
from session.files.shared_files import read_whole

if TYPE_CHECKING:
    from pathlib import Path

SNAPSHOT = "snapshots/last.json"
COMMITTED = "snapshots/committed"
_VERSION = 1
_FORMAT = re.compile(rb"zorkgpt-snapshot-(\d{1,9}) ")


def write_snapshot(folder: Path, content: bytes) -> None:
    """Replace the snapshot of the run folder, and wait until it is on the disk. Raises ``StoreError``."""
    path = folder / SNAPSHOT
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {path.parent}: {error.strerror}") from error
    write_atomically(path, _seal(content) + content)


def read_snapshot(folder: Path) -> bytes | None:
    """Return the snapshot of the run folder, ``None`` where there is none yet.

    Raises ``StoreError`` for one that is damaged or that another version of the program wrote.
    """
    path = folder / SNAPSHOT
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


def mark_committed(folder: Path, seq: int) -> None:
    """Note that everything known at the journal's line ``seq`` was written to the shared files.

    Raises ``StoreError``.
    """
    write_atomically(folder / COMMITTED, b"%d\n" % seq, durable=False)


def is_committed(folder: Path, seq: int) -> bool:
    """Say whether that was noted by :func:`mark_committed`; a power cut may have lost the note."""
    try:
        return (folder / COMMITTED).read_bytes() == b"%d\n" % seq
    except OSError:
        return False


def _seal(content: bytes) -> bytes:
    return b"zorkgpt-snapshot-%d %s\n" % (_VERSION, sha256(content).hexdigest().encode())


_SEAL_SIZE = len(_seal(b""))
