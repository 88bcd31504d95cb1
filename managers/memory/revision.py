"""Changes to the memories of a location, each made as a whole or not at all.

See docs/specification.md, Superseding and invalidating, and Memory titles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from session.memory import Memory, MemoryStatus
from session.text import text_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from managers.memory.document import MemoriesDocument


@dataclass(frozen=True, slots=True)
class Revision:
    """A new memory, and the titles of those that it supersedes or that were proven false; any of them may be missing.

    reason: why the invalidated ones are false
    turn: in which the old memories were given up

    Raises ``ValueError`` for what is no location's id.
    """

    location_id: int
    location_name: str = ""
    new: Memory | None = None
    superseded: tuple[str, ...] = ()
    invalidated: tuple[str, ...] = ()
    reason: str = ""
    turn: int | None = None
    kind: Literal["revision"] = "revision"

    def __post_init__(self) -> None:
        require_location_id(self.location_id)

    @property
    def title(self) -> str | None:
        """Return the title of the new memory, if there is one."""
        return None if self.new is None else self.new.title

    @property
    def new_persistent(self) -> Memory | None:
        """Return the new memory, if it is for the file."""
        return None if self.new is None or self.new.persistence == "ephemeral" else self.new

    @property
    def new_ephemeral(self) -> Memory | None:
        """Return the new memory, if it is for this episode alone."""
        return None if self.new_persistent is not None else self.new

    def refusal(self, persistent: Sequence[Memory], ephemeral: Sequence[Memory]) -> str:
        """Return why the revision may not be made, or "" where it may.

        persistent, ephemeral: the location's core and permanent memories, and its ephemeral ones
        """
        if self.new is None:
            return ""
        old = next((memory for memory in persistent if any(stands([memory], title) for title in self.superseded)), None)
        if self.new_ephemeral is not None and old is not None:
            return (
                f"a {old.persistence} memory is never superseded by an ephemeral one: it would be gone with the episode"
            )
        if stands(map(self.revised, (*persistent, *ephemeral)), self.new.title):
            return "a memory of this title stands already"
        return ""

    def concerns(self, memories: Sequence[Memory]) -> bool:
        """Return whether the revision gives up one of these memories."""
        return any(stands(memories, title) for title in (*self.superseded, *self.invalidated))

    def revised(self, memory: Memory) -> Memory:
        """Return the memory, superseded or invalidated if the revision gives it up."""
        if memory.status == MemoryStatus.SUPERSEDED:
            return memory
        key = text_key(memory.title)
        if key in map(text_key, self.invalidated):
            return memory.invalidated(self.reason, self.turn)
        if self.new is not None and key in map(text_key, self.superseded):
            return memory.superseded(self.new.title, self.turn)
        return memory

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document with the revision.

        The very same document is returned where there is nothing to do, or a memory of the new title stands already.
        """
        new = self.new_persistent
        for_file = self if new is not None else replace(self, superseded=())
        revised = document.revise(self.location_id, for_file.revised)
        if new is None:
            return revised
        if stands(revised.memories_at(self.location_id), new.title):
            return document
        return revised.add_memory(self.location_id, self.location_name, new)


@dataclass(frozen=True, slots=True)
class CountedVisit:
    """One more visit to a location, which the file counts if it has a section for it.

    name: of the location, for a heading that somebody wrote without one
    """

    location_id: int
    episode: int
    name: str = ""
    kind: Literal["visited"] = "visited"

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document with the visit."""
        return document.update_visits(self.location_id, self.episode).with_name(self.location_id, self.name)


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of all memories of a title, wherever they are."""

    title: str
    kind: Literal["removed"] = "removed"

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document without those memories."""
        return document.remove_memory(self.title)


MemoryEdit = Revision | CountedVisit | Removal


def require_location_id(location_id: object) -> None:
    """Raise ``ValueError`` for what is no location's id; the file would show it as something else, or not at all."""
    if not isinstance(location_id, int) or isinstance(location_id, bool) or location_id < 0:
        raise ValueError(f"{location_id!r} is no location: ids are whole numbers and not negative")


def stands(memories: Iterable[Memory], title: str) -> bool:
    """Return whether one of the memories has that title and was not given up."""
    key = text_key(title)
    return any(memory.status != MemoryStatus.SUPERSEDED and text_key(memory.title) == key for memory in memories)
