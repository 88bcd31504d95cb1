"""Keeps all memories in two tiers: persistent ones in a file, ephemeral ones for one episode.

A change is made as a whole or not at all (docs/specification.md, Memory tiers, Superseding and invalidating, and Memory
titles).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from managers.base_manager import BaseManager
from managers.memory.document import MemoriesDocument, parse_memories
from session.errors import StoreError
from session.files.document_store import DocumentStore
from session.memory import INVALIDATION_MARKER, Memory, MemoryStatus
from session.text import text_key
from session.values import Location


@dataclass(frozen=True, slots=True)
class Revision:
    """A new memory, and the titles of those that it supersedes or that were proven false; any of them may be missing.

    turn: the turn in which the old memories were superseded or invalidated

    Raises ``ValueError`` for an invalid location id.
    """

    location_id: int
    location_name: str = ""
    new: Memory | None = None
    superseded: tuple[str, ...] = ()
    invalidated: tuple[str, ...] = ()
    reason: str = ""
    turn: int | None = None

    def __post_init__(self) -> None:
        require_location_id(self.location_id)

    @property
    def new_persistent(self) -> Memory | None:
        """The new memory, if it is for the file."""
        return None if self.new is None or self.new.persistence == "ephemeral" else self.new

    @property
    def new_ephemeral(self) -> Memory | None:
        """The new memory, if it is for this episode alone."""
        return None if self.new_persistent is not None else self.new

    def refusal(self, persistent: Sequence[Memory], ephemeral: Sequence[Memory]) -> str:
        """Return why the revision is not allowed, or "".

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
            return "a memory of this title already exists"
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

        Returns the same document if nothing changes or a memory of the new title already exists.
        """
        new = self.new_persistent
        for_file = self if new is not None else replace(self, superseded=())
        revised = document.revise(self.location_id, for_file.revised)
        if new is None:
            return revised
        if stands(revised.memories().get(self.location_id, []), new.title):
            return document
        return revised.add_memory(self.location_id, self.location_name, new)


@dataclass(frozen=True, slots=True)
class CountedVisit:
    """One more visit to a location, which the file counts if it has a section for it.

    name: of the location, for a user's heading without a name
    """

    location_id: int
    episode: int
    name: str = ""

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document with the visit."""
        return document.update_visits(self.location_id, self.episode).with_name(self.location_id, self.name)


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of all memories of a title, wherever they are."""

    title: str

    def apply_to(self, document: MemoriesDocument) -> MemoriesDocument:
        """Return the document without those memories."""
        key = text_key(self.title)
        return document.revise(None, lambda memory: None if text_key(memory.title) == key else memory)


MemoryEdit = Revision | CountedVisit | Removal


def require_location_id(location_id: object) -> None:
    """Raise ``ValueError`` for an invalid location id, which the file could not represent."""
    if not isinstance(location_id, int) or isinstance(location_id, bool) or location_id < 0:
        raise ValueError(f"{location_id!r} is not a location id: expected a whole number, not negative")


def stands(memories: Iterable[Memory], title: str) -> bool:
    """Return whether one of the memories has that title and was not given up."""
    key = text_key(title)
    return any(memory.status != MemoryStatus.SUPERSEDED and text_key(memory.title) == key for memory in memories)


def open_memories(path: Path) -> DocumentStore[MemoriesDocument, MemoryEdit]:
    """Open the store of a file of memories. Raises ``StoreError``."""
    return DocumentStore(path, parse_memories)


class MemoryTiers:
    """Holds all memories by location id and makes every change to them.

    persistent: core and permanent memories, in the order of the file; memories added here are written to the file, too
    ephemeral: ephemeral memories, which are never written
    store: keeps the file and ``persistent`` in step
    refused: number of revisions that would have broken a rule
    is_failing: the last read or write failed; pending changes are retried with the next write

    owner: the manager whose log is used; repeated failures are logged once

    The constructor raises ``StoreError`` if the file cannot be read.
    """

    def __init__(self, path: Path, owner: BaseManager) -> None:
        self.persistent: dict[int, list[Memory]] = {}
        self.ephemeral: dict[int, list[Memory]] = {}
        self.refused = 0
        self.is_failing = False
        self._owner = owner
        self.store = open_memories(path)
        self._document: MemoriesDocument | None = None
        self._followed: dict[int, list[Memory]] = {}
        self.follow_file()

    def at(self, location_id: int) -> list[Memory]:
        """Return the memories of a location, persistent ones first, including superseded ones and changes by others."""
        self._refresh()
        return [*self.persistent.get(location_id, ()), *self.ephemeral.get(location_id, ())]

    def visit(self, location: Location, episode: int) -> None:
        """Count a visit to the location. It is written with the next change."""
        self._follow()
        self.store.defer(CountedVisit(location.num, episode, location.name))
        self._document = self.store.document  # a visit changes no memory

    def revise(self, revision: Revision) -> bool:
        """Apply the revision to both tiers, and write the file.

        Returns false if the revision breaks a rule or changes nothing. Also returns false if the file cannot be
        written; the tiers are then changed and the write is retried later.
        """
        self._refresh()
        location_id, new = revision.location_id, revision.new
        persistent, ephemeral = self.persistent.get(location_id, []), self.ephemeral.get(location_id, [])
        refusal = revision.refusal(persistent, ephemeral)
        if new is not None and refusal:
            self.refused += 1
            self._owner.log_warning(
                "memory refused", location_id=location_id, title=new.title, text=new.text, reason=refusal
            )
            return False
        is_done = revision.new_ephemeral is not None or revision.concerns(ephemeral)
        if is_done:
            added = [] if revision.new_ephemeral is None else [revision.new_ephemeral]
            self.ephemeral[location_id] = [*map(revision.revised, ephemeral), *added]
            if self._owner.config.debug_ephemeral:
                self._owner.log_info(
                    "ephemeral memories changed",
                    location_id=location_id,
                    new=new.title if new else None,
                    given_up=[*revision.superseded, *revision.invalidated],
                )
        if revision.new_persistent is not None or revision.concerns(persistent):
            is_done = self._attempt(lambda: self.store.apply(revision))
            self._follow()
        if is_done:
            self._log(revision, [*persistent, *ephemeral])
        return is_done

    def remove(self, title: str) -> bool:
        """Remove the memories of that title. Returns whether any existed. Raises ``StoreError``."""
        self._refresh()
        key, is_done = text_key(title), False
        for location_id, memories in self.ephemeral.items():
            kept = [memory for memory in memories if text_key(memory.title) != key]
            is_done = is_done or kept != memories
            self.ephemeral[location_id] = kept
        is_done = self.store.apply(Removal(title)) or is_done
        self._follow()
        return is_done

    def commit(self) -> None:
        """Write pending changes, outside a run. A failure to write is logged."""
        self._refresh()
        if self.store.is_due:
            self._attempt(self.store.commit)
            self._follow()

    def follow_file(self) -> None:
        """Update ``persistent`` after the store has read the file, and log parts that cannot be parsed."""
        if self.store.document is self._document:
            return
        self._follow()
        for problem in self.store.document.problems():
            self._owner.log_warning(
                "not understood in the file of memories",
                file=str(self.store.path),
                line=problem.line,
                problem=problem.message,
            )

    def _follow(self) -> None:
        """Set ``persistent`` to the content of the store."""
        if self.store.document is not self._document:
            self._document = self.store.document
            self.persistent.clear()
            self.persistent.update(self._document.memories())
            self._followed = {location_id: list(memories) for location_id, memories in self.persistent.items()}

    def _refresh(self) -> None:
        """Write the memories that were added to ``persistent`` without :meth:`revise`, and read changes by others."""
        if self.persistent != self._followed:
            given = [
                Revision(location_id, new=memory)
                for location_id, memories in self.persistent.items()
                for memory in memories
                if memory not in self._followed.get(location_id, ())
            ]
            self._document = None
            self._follow()
            for revision in given:
                self.revise(revision)
        if self._attempt(self.store.refresh):
            self.follow_file()

    def _attempt(self, access: Callable[[], bool | None]) -> bool:
        """Read or write the file, and return whether that changed anything. A failure is logged."""
        try:
            is_done = bool(access())
        except StoreError as error:
            if not self.is_failing:
                self._owner.log_error(
                    "memories are not in their file; they are kept, and tried again with the next", error=str(error)
                )
            self.is_failing = True
            return False
        self.is_failing = self.is_failing and self.store.is_due
        return is_done

    def _log(self, revision: Revision, before: Sequence[Memory]) -> None:
        """Log the new memory and the superseded ones. ``before``: the location's memories before the revision."""
        where, new = {"location_id": revision.location_id}, revision.new
        if new is not None:
            kind = "ephemeral memory added" if new.persistence == "ephemeral" else "memory added to the file"
            about = {"persistence": new.persistence, "category": new.category, "title": new.title}
            self._owner.log_info(kind, **where, **about)
        for old in before:
            now = revision.revised(old)
            if now is old:
                continue
            if now.superseded_by == INVALIDATION_MARKER:
                self._owner.log_info("memory invalidated", **where, title=old.title, reason=revision.reason)
            elif new is not None:
                is_upgrade = old.persistence == "ephemeral" != new.persistence
                levels = {"persistence": old.persistence, "new_persistence": new.persistence}
                kind = "memory upgraded" if is_upgrade else "memory superseded"
                self._owner.log_info(kind, **where, title=old.title, new_title=new.title, **levels)
