"""Reads what may follow a verb in stories made with Inform, from both formats of its table of grammar lines.

The table starts with static memory: a word for each verb, counted down from 255, holds the address of its lines
(Inform Technical Manual §8.6).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from game_interface.core.machine.story import read_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from game_interface.core.machine.dictionary import DictionaryEntry
    from game_interface.core.machine.story import Story

_VERB = 0x01
_HIGHEST_VERB = 255
_OLD_LINE = 8
"""Bytes of a line of format 1: how many tokens count, six tokens, the action."""
_OLD_FREE = frozenset({7, 8, *range(48, 112)})
"""Special, number, and tokens that are read, or whose scope is set, by a routine of the story's own."""
_NEW_TOKEN, _NEW_LINE_END = 3, b"\x0f"
_NEW_ELEMENTARY, _NEW_FREE = 1, frozenset({5, 6})
_NEW_FIRST_FREE_ELEMENTARY = 7
"""Special, number, topic; below are the kinds of things at hand."""


class _Lines(NamedTuple):
    """All lines of one verb: whether any takes words that name nothing at hand, and the address behind the last."""

    free: bool
    end: int


def free_verbs(story: Story, entries: Sequence[DictionaryEntry]) -> frozenset[str] | None:
    """Return the verbs that take words which name nothing at hand; ``None`` where there is no such table."""
    verbs = [entry for entry in entries if len(entry.marks) > 1 and entry.marks[0] & _VERB]
    numbers = {verb.text: _HIGHEST_VERB - verb.marks[1] for verb in verbs}
    count = 1 + max(numbers.values(), default=0)
    addresses = [read_word(story.content, story.dynamic_size + 2 * number) for number in range(count)]
    if addresses[0] != story.dynamic_size + 2 * count or max(addresses) >= len(story.content):
        return None
    for read in (_new_lines, _old_lines):
        lines = [read(story.content, address) for address in addresses]
        if _join_up(addresses, lines):
            return frozenset(verb for verb, number in numbers.items() if lines[number].free)
    return None


def _join_up(addresses: list[int], lines: list[_Lines]) -> bool:
    """Return whether each verb's lines end where another's start, which is no accident in the right format."""
    ends = dict(zip(addresses, (each.end for each in lines), strict=True))
    return all(ends[address] == following for address, following in pairwise(sorted(ends)))


def _new_lines(content: bytes, address: int) -> _Lines:
    at, free = address + 1, False
    for _ in range(content[address]):
        at += 2
        while content[at : at + 1] not in (_NEW_LINE_END, b""):
            kind = content[at] & 0x0F
            free |= kind in _NEW_FREE
            free |= kind == _NEW_ELEMENTARY and read_word(content, at + 1) >= _NEW_FIRST_FREE_ELEMENTARY
            at += _NEW_TOKEN
        at += 1
    return _Lines(free, at)


def _old_lines(content: bytes, address: int) -> _Lines:
    starts = range(address + 1, address + 1 + content[address] * _OLD_LINE, _OLD_LINE)
    free = any(not _OLD_FREE.isdisjoint(content[at + 1 : at + _OLD_LINE - 1]) for at in starts)
    return _Lines(free, starts.stop)
