"""Seeds that are far apart: with near seeds the interpreter's first random numbers are nearly the same (ADR 6)."""

from __future__ import annotations

import hashlib

HIGHEST_SEED = 2**31 - 1
"""The interpreter takes a C int. It would truncate a higher seed, possibly to 0, which means "no seed"."""


def derived_seed(seed: int, number: int, purpose: str) -> int:
    """Return the seed with this ``number`` for ``purpose``. Number 1 is ``seed`` itself.

    Each other one is 1 plus the remainder of the SHA-256 of ``purpose/seed/number``, as a big-endian number, divided by
    ``HIGHEST_SEED``.
    """
    if number == 1:
        return seed
    digest = hashlib.sha256(f"{purpose}/{seed}/{number}".encode()).digest()
    return 1 + int.from_bytes(digest, "big") % HIGHEST_SEED
