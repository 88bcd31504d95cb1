"""Takes back what a run wrote into the memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from managers.known import Item, Known, memory_keys
from managers.memory.document import MemoriesBlock, MemoriesDocument, parse_memories, stands, write_memory
from session.memory import Memory, MemoryStatus, MemoryStatusType
from zorkgpt.report.origins import OriginChange, Origins


def undone(
    document: MemoriesDocument, changes: Sequence[OriginChange], origins: Origins
) -> tuple[MemoriesDocument, list[str]]:
    """Take back changes of a run, latest first, and return a line for each change: what becomes of it, and why.

    A memory whose text has changed since then is left unchanged. One that was superseded or invalidated is restored as
    people wrote it, if they did.
    """
    lines: list[str] = []
    restored = set[tuple[str, Item | None]]()
    given_up = {(each.change.before, each.change.after) for each in origins.changes if each.is_own and each.gives_up}
    for change in reversed(changes):
        key, before, item = change.change.key, change.change.before, change.change.item
        current, block = Known(document.memories()).items().get(key), _block(document, key, item.place)
        goes_with_it = before is None and (change.change.after, current) in given_up  # by another run
        result = "can be taken back"
        if block is None or current is None:
            result = "no longer in the file under this title"
        elif current == before:
            result = "already as it was before"
        elif not (current == change.change.after or goes_with_it or (key, change.change.after) in restored):
            result = "kept, because it was changed since"
        elif before is None:
            document = _replaced(document, item.place, block, None)
        elif stands([each for each in document.memories()[item.place or 0] if each is not block.content], before.title):
            result = "kept, because another memory of this title is there now"
        else:
            versions = (parse_memories(text) for text in origins.texts)
            written = (each for each in versions if Known(each.memories()).items().get(key) == before)
            old = next((_block(each, key, item.place) for each in written), None)
            document = _replaced(document, item.place, block, old or _restored(block, before, document.line_end))
            restored.add((key, before))
        lines.append(f"{change.id} {change.verb}: {item.title}: {result}")
    return document, lines


def _block(document: MemoriesDocument, key: str, place: int | None) -> MemoriesBlock | None:
    """Return the block of the memory with that key, which is at that location."""
    blocks = [
        block
        for section in document.sections
        if section.heading is not None and section.heading.num == place
        for block in section.blocks
        if isinstance(block.content, Memory)
    ]
    keys = memory_keys(place or 0, (block.content for block in blocks if isinstance(block.content, Memory)))
    return dict(zip(keys, blocks, strict=True)).get(key)


def _restored(block: MemoriesBlock, item: Item, line_end: str) -> MemoriesBlock:
    """Return a superseded memory as it was before, rewritten."""
    memory = cast("Memory", block.content)
    status: MemoryStatusType = MemoryStatus.TENTATIVE if item.status == "tentative" else MemoryStatus.ACTIVE
    then = replace(memory, status=status, superseded_by=None, superseded_at_turn=None, invalidation_reason=None)
    return replace(block, text=write_memory(then, line_end) + line_end, content=then)


def _replaced(
    document: MemoriesDocument, place: int | None, old: MemoriesBlock, new: MemoriesBlock | None
) -> MemoriesDocument:
    return document.with_each_block(
        lambda heading: heading is not None and heading.num == place, lambda block: new if block is old else block
    )
