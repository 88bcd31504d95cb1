"""Keeps all memories in two tiers: persistent ones in a file, ephemeral ones for one episode.

See docs/specification.md, Memory tiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from managers.base_manager import BaseManager
from managers.memory.document import MemoriesDocument, parse_memories
from managers.memory.synthesis import CountedVisit, MemoryEdit, Removal, Revision
from session.errors import StoreError
from session.files.document_store import DocumentStore
from session.memory import INVALIDATION_MARKER, Memory
from session.text import counted, text_key
from session.values import Location


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
        self.follow()
        self._report_problems()

    def at(self, location_id: int) -> list[Memory]:
        """Return the memories of a location, persistent ones first, including superseded ones and changes by others."""
        self._refresh()
        return [*self.persistent.get(location_id, ()), *self.ephemeral.get(location_id, ())]

    def visits(self, location_id: int, arrived_in: int | None = None, on_map: tuple[int, int] = (0, 0)) -> str:
        """Return a line with the numbers of visits and of episodes, or "" on the first visit.

        arrived_in: the episode of a visit that has just begun and is not counted in the file
        on_map: the visits and episodes counted by the map, including those before the location had a memory
        """
        known = self.store.document.visits_at(location_id)
        arrived = [] if arrived_in is None else [arrived_in]
        in_file = (known.count + len(arrived), len({*known.episodes, *arrived})) if known else (0, 0)
        count, episodes = max(in_file, on_map)
        return "" if count <= 1 else f"You've been here {count} times across {counted(episodes, 'episode')}.\n"

    def visit(self, location: Location, episode: int) -> None:
        """Count a visit to the location. It is written with the next change."""
        self.follow()
        self.store.defer(CountedVisit(location.num, episode, location.name))
        self._document = self.store.document  # a visit changes no memory

    def revise(self, revision: Revision) -> bool:
        """Apply the revision to both tiers, and write the file.

        Returns false if the revision breaks a rule or changes nothing. Also returns false if the file cannot be
        written; the tiers are then changed and the write is retried later.
        """
        self._refresh()
        location_id = revision.location_id
        persistent, ephemeral = self.persistent.get(location_id, []), self.ephemeral.get(location_id, [])
        refusal = revision.refusal(persistent, ephemeral)
        if refusal:
            self.refused += 1
            self._owner.log_warning(
                "memory refused",
                location_id=location_id,
                title=revision.title,
                text=revision.new.text if revision.new else "",
                reason=refusal,
            )
            return False
        has_ephemeral_part = revision.new_ephemeral is not None or revision.concerns(ephemeral)
        if has_ephemeral_part:
            new = [] if revision.new_ephemeral is None else [revision.new_ephemeral]
            self.ephemeral[location_id] = [*map(revision.revised, ephemeral), *new]
            self._log_ephemeral(revision)
        if revision.new_persistent is None and not revision.concerns(persistent):
            is_done = has_ephemeral_part
        else:
            is_done = self._revise_file(revision)
        if is_done:
            self._log(revision, [*persistent, *ephemeral])
        return is_done

    def remove(self, title: str) -> bool:
        """Remove the memories of that title. Returns whether any existed. Raises ``StoreError``."""
        self._take_in_given()
        key, were_ephemeral = text_key(title), sum(map(len, self.ephemeral.values()))
        for location_id, memories in self.ephemeral.items():
            self.ephemeral[location_id] = [memory for memory in memories if text_key(memory.title) != key]
        is_done = self.store.apply(Removal(title))
        self.follow()
        return is_done or sum(map(len, self.ephemeral.values())) < were_ephemeral

    def commit(self) -> None:
        """Write pending changes, outside a run. A failure to write is logged."""
        self._take_in_given()
        try:
            self.store.commit()
        except StoreError as error:
            self._report_failure(error)
        else:
            self.is_failing = False
        self.follow()
        self._read_what_others_wrote()

    def _revise_file(self, revision: Revision) -> bool:
        is_done = False
        try:
            is_done = self.store.apply(revision)
        except StoreError as error:
            self._report_failure(error)
        else:
            self.is_failing = False
        self.follow()
        return is_done

    def _take_in_given(self) -> None:
        """Write the memories that were added to ``persistent`` without :meth:`revise`."""
        if self.persistent == self._followed:
            return
        given = {
            location_id: [memory for memory in memories if memory not in self._followed.get(location_id, ())]
            for location_id, memories in self.persistent.items()
        }
        self._document = None
        self.follow()
        for location_id, memories in given.items():
            for memory in memories:
                self.revise(Revision(location_id, new=memory))

    def _refresh(self) -> None:
        self._take_in_given()
        self._read_what_others_wrote()

    def _read_what_others_wrote(self) -> None:
        try:
            is_new = self.store.refresh()
        except StoreError as error:
            self._report_failure(error)
            return
        if is_new:
            self.follow_file()

    def follow_file(self) -> None:
        """Update ``persistent`` after the store has read the file, and log parts that cannot be parsed."""
        if self.store.document is not self._document:
            self.follow()
            self._report_problems()

    def follow(self) -> None:
        """Set ``persistent`` to the content of the store."""
        if self.store.document is self._document:
            return
        self._document = self.store.document
        self.persistent.clear()
        self.persistent.update(self._document.memories())
        self._followed = {location_id: list(memories) for location_id, memories in self.persistent.items()}

    def _report_failure(self, error: StoreError) -> None:
        if not self.is_failing:
            self._owner.log_error(
                "memories are not in their file; they are kept, and tried again with the next", error=str(error)
            )
        self.is_failing = True

    def _report_problems(self) -> None:
        for problem in self.store.document.problems():
            self._owner.log_warning(
                "not understood in the file of memories",
                file=str(self.store.path),
                line=problem.line,
                problem=problem.message,
            )

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

    def _log_ephemeral(self, revision: Revision) -> None:
        if self._owner.config.debug_ephemeral:
            self._owner.log_info(
                "ephemeral memories changed",
                location_id=revision.location_id,
                new=revision.title,
                given_up=[*revision.superseded, *revision.invalidated],
            )
