"""The control of an ablation: the right number of memories, at the wrong locations."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def shuffled_location(location_id: int, known_ids: Collection[int], seed: int) -> int | None:
    """The location whose memories ``location_id`` is shown instead of its own.

    ``None`` where it has none, and where no other location has any. Those with memories (``known_ids``) stand in a
    circle, in an order drawn by ``seed``, and each is shown the next one's; a location that joins them changes what
    one other is shown.
    """
    circle = sorted(known_ids, key=lambda known: (_place(known, seed), known))
    if location_id not in known_ids or len(circle) == 1:
        return None
    return circle[(circle.index(location_id) + 1) % len(circle)]


def _place(location_id: int, seed: int) -> bytes:
    return hashlib.sha256(f"{seed} {location_id}".encode()).digest()
