"""The memories of a location as the agent reads them (docs/specification.md, Location memory in prompts)."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from managers.prompting import as_many_as_fit
from session.memory import Memory, MemoryStatus
from session.text import cut_middle, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from session.configuration.option_groups import SimpleMemoryOptions
    from session.text import TokenCounter
    from session.values import Seed

TENTATIVE_HEADING = "⚠️  TENTATIVE MEMORIES (unconfirmed, may be invalidated):"
MARKERS = {"core": " [spawn]", "ephemeral": " [session]"}
LINES_AT_LEAST = 4  # no memory is longer than a quarter of the budget


def location_text(
    memories: Sequence[Memory], options: SimpleMemoryOptions, tokens: TokenCounter, *, show_markers: bool
) -> str:
    """Return the memories as text, a line each in their order, tentative ones below a heading of their own.

    Those that were given up are left out; "" where nothing is left. Within ``options.max_tokens`` dangers get room
    first, then the newest.
    """
    lines = {
        number: _line(memory, tokens, options.max_tokens // LINES_AT_LEAST, show_markers=show_markers)
        for number, memory in enumerate(memories)
        if memory.status != MemoryStatus.SUPERSEDED
    }
    kept = as_many_as_fit(
        _by_importance(memories, list(lines), options),
        lambda kept: tokens.estimate(_laid_out(memories, lines, kept)) <= options.max_tokens,
        skips=True,
    )
    return _laid_out(memories, lines, kept)


def last_turn(memory: Memory) -> int:
    """Return the last of the turns in which the memory was learnt, 0 where they are not known."""
    found: list[str] = re.findall(r"[0-9]+", memory.turns)
    return int(found[-1]) if found else 0


def shuffled_location(location_id: int, known_ids: Collection[int], seed: Seed) -> int | None:
    """Return the location whose memories are shown at ``location_id`` instead of its own, for an ablation's control.

    The locations with memories (``known_ids``) form a circle, in an order drawn by ``seed``, and each is shown the
    memories of the next; one that joins changes what one other is shown. Returns ``None`` for a location without
    memories, and where no other has any.
    """
    circle = sorted(known_ids, key=lambda known: (_place(known, seed), known))
    if location_id not in known_ids or len(circle) == 1:
        return None
    return circle[(circle.index(location_id) + 1) % len(circle)]


def _by_importance(memories: Sequence[Memory], numbers: list[int], options: SimpleMemoryOptions) -> list[int]:
    """Return the numbers of dangers, then of the newest; of successes and failures as many as the options allow."""
    room = {"SUCCESS": options.max_successful_actions_shown, "FAILURE": options.max_failed_actions_shown}
    newest_first = sorted(
        numbers, key=lambda number: (memories[number].episode, last_turn(memories[number]), number), reverse=True
    )
    chosen = []
    for number in newest_first:
        category = memories[number].category
        if room.get(category, 1) > 0:
            chosen.append(number)
            room[category] = room.get(category, len(memories)) - 1
    return sorted(chosen, key=lambda number: memories[number].category != "DANGER")


def _laid_out(memories: Sequence[Memory], lines: dict[int, str], kept: Collection[int]) -> str:
    confirmed = [lines[number] for number in sorted(kept) if memories[number].status == MemoryStatus.ACTIVE]
    tentative = [f"  {lines[number]}" for number in sorted(kept) if memories[number].status == MemoryStatus.TENTATIVE]
    if tentative:
        confirmed += ["", TENTATIVE_HEADING] if confirmed else [TENTATIVE_HEADING]
    return "\n".join(confirmed + tentative)


def _line(memory: Memory, tokens: TokenCounter, longest: int, *, show_markers: bool) -> str:
    marker = MARKERS.get(memory.persistence, "") if show_markers else ""
    characters = tokens.characters(longest)
    head = cut_middle(f"[{memory.category}] {memory.title}: ", characters)
    return head + cut_middle(one_line(memory.text), characters - len(head)) + marker


def _place(location_id: int, seed: Seed) -> bytes:
    return hashlib.sha256(f"{seed} {location_id}".encode()).digest()
