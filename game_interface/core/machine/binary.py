"""Numbers as the Z-machine stores them."""

from __future__ import annotations


def word(content: bytes, address: int) -> int:
    """The big-endian 16-bit word at ``address``; 0 beyond the end."""
    return int.from_bytes(content[address : address + 2], "big") if address + 1 < len(content) else 0
