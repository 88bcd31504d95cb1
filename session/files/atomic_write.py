"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from session.errors import StoreError
from session.files.shared_files import real_place


def write_atomically(path: Path | str, content: bytes, *, durable: bool = True) -> None:
    """The file holds ``content`` and is on the disk; a kill at any instant leaves the old or the new file.

    durable: false does not wait for the disk, which takes milliseconds: a power cut may then lose the file
    A kill may also leave a hidden ``.NAME.….tmp`` beside it, which nothing reads. A symbolic link stays one:
    the file behind it is replaced, unless that is outside the link's folder. Raises ``StoreError``.
    """
    target = real_place(Path(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        _write(temporary, content, durable=durable)
        temporary.replace(target)
        if durable:
            _sync_folder(target.parent)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _write(path: Path, content: bytes, *, durable: bool) -> None:
    with path.open("xb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """The rename itself is on the disk: without this a power cut could undo it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
