"""Takes the story out of a Blorb archive, which holds its pictures and sounds, too (Blorb 2.0.4 §1, §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_ARCHIVE, _KIND = b"FORM", b"IFRS"
_Z_CODE, _GLULX = b"ZCOD", b"GLUL"
_CHUNK_HEADER = 8
"""Bytes before each chunk: what it is, and its length."""


def is_blorb(beginning: bytes) -> bool:
    """Return whether a file with this ``beginning``, of 12 bytes, is a Blorb archive."""
    return beginning[:4] == _ARCHIVE and beginning[8:12] == _KIND


def story_in_blorb(file: BinaryIO, largest: int) -> bytes | None:
    """Return the first ``largest`` bytes of the Z-machine story in the Blorb archive ``file``; ``None`` without one."""
    return next((file.read(min(size, largest)) for kind, size in _chunks(file) if kind == _Z_CODE), None)


def holds_glulx(file: BinaryIO) -> bool:
    """Return whether the story in the Blorb archive ``file`` is one for Glulx, another machine."""
    return any(kind == _GLULX for kind, _ in _chunks(file))


def _chunks(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield the kind and length of every chunk, with ``file`` at the beginning of its content."""
    at = 12
    while True:
        file.seek(at)
        header = file.read(_CHUNK_HEADER)
        if len(header) < _CHUNK_HEADER:
            return
        size = int.from_bytes(header[4:], "big")
        yield header[:4], size
        at += _CHUNK_HEADER + size + size % 2
