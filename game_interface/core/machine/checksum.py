"""Computes the CRC-32 of memory of which the greater part seldom changes, without reading that part through again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from game_interface.core.machine.story import DynamicMemory


class TwoPartChecksum:
    """The CRC-32 of two parts, of which the second is expected to be the same as the last time.

    A CRC is linear: it is what the second part has by itself, combined with what as many zeros make of the sum of the
    first. The latter is looked up byte by byte.

    length: of the second part, in bytes
    """

    def __init__(self, length: int) -> None:
        self._second, self._sum = b"", 0
        self._shifted = [_bytes_followed_by_zeros(bytes(length), first_bit) for first_bit in (0, 8, 16, 24)]

    def of(self, first: DynamicMemory, second: DynamicMemory) -> int:
        """Return the CRC-32 of ``first`` and ``second`` as one."""
        second = bytes(second)
        if second != self._second:
            self._second, self._sum = second, crc32(second)
        start = crc32(first)
        one, two, three, four = self._shifted
        return one[start & 0xFF] ^ two[start >> 8 & 0xFF] ^ three[start >> 16 & 0xFF] ^ four[start >> 24] ^ self._sum


def _bytes_followed_by_zeros(zeros: bytes, first_bit: int) -> list[int]:
    """Return what ``zeros`` make of each byte of a sum, the one that begins with ``first_bit``."""
    found, nothing = [0], crc32(zeros)
    for bit in range(first_bit, first_bit + 8):
        image = crc32(zeros, 1 << bit) ^ nothing
        found += [each ^ image for each in found]
    return found
