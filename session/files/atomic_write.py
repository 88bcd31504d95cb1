"""Writes files so that they are replaced whole or not at all (docs/specification.md, Atomic writes)."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from session.errors import StoreError
from session.files.shared_files import real_place

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
_YOUNG = 10.0
"""Seconds: a younger file may belong to a process that has not locked it yet."""


def write_atomically(
    path: Path | str,
    content: bytes,
    *,
    durable: bool = True,
    mode: int | None = None,
    backup: Path | None = None,
) -> None:
    """Replace the file by one with this content; a kill at any instant leaves the old or the new file.

    durable: wait until it is on the disk, which takes milliseconds; without that a power cut may lose the file
    mode: the file's permissions; by default those that it had, or those of any new file
    backup: where the file that is replaced is kept, in place of the one before it
    A kill may also leave a hidden ``.NAME.….tmp`` beside it, which :func:`remove_leftovers` removes. Of a symbolic link
    the file behind it is replaced. Raises ``StoreError``, also for a link out of its folder.
    """
    try:
        target = real_place(Path(path))
    except OSError as error:  # the current folder is gone
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    is_replaced = False
    try:
        with temporary.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it has its name: see remove_leftovers
            _write(file, content, target, durable=durable, mode=mode)
            if backup is not None and target.exists():
                _keep(target, backup)
            temporary.replace(target)
            is_replaced = True
        if durable:
            sync_folder(target.parent)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if not is_replaced:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder, but not those of processes that live."""
    for path in folder.glob(".*.tmp"):
        if _TEMPORARY.fullmatch(path.name):
            with suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - path.stat().st_mtime > _YOUNG:
                    path.unlink()


def overwrite(path: Path, content: bytes) -> None:
    """Write the content over what a file holds, without waiting for the disk; a kill may leave a part of either.

    A new file is for the user alone. Raises ``StoreError``.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(descriptor, content, 0)
            os.ftruncate(descriptor, len(content))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


def force_to_disk(path: Path) -> None:
    """Wait until a file is on the disk under its name, if there is one. Raises ``StoreError``."""
    try:
        with path.open("rb") as file:
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


def permissions(path: Path) -> int | None:
    """Return the permissions of a file, for copies of it; ``None`` where there is none."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


def _write(file: BinaryIO, content: bytes, replaced: Path, *, durable: bool, mode: int | None) -> None:
    _hand_over(file.fileno(), replaced, mode)
    file.write(content)
    file.flush()
    if durable:
        os.fsync(file.fileno())


def _hand_over(descriptor: int, replaced: Path, mode: int | None) -> None:
    """Give a file owner and permissions of the one that it replaces."""
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


def _keep(path: Path, backup: Path) -> None:
    """Let a file that is about to be replaced stay under the name ``backup``."""
    backup.unlink(missing_ok=True)
    try:
        backup.hardlink_to(path)
    except OSError:  # not every file system has links
        shutil.copyfile(path, backup)
        shutil.copymode(path, backup)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: without this a power cut could undo a rename."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
