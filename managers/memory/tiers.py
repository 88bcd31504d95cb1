"""Keeps all memories in two tiers: persistent ones in a file, ephemeral ones for the episode alone.

See docs/specification.md, Memory tiers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from managers.memory.document import parse_memories
from managers.memory.revision import CountedVisit, MemoryEdit, Removal
from session.errors import StoreError
from session.files.document_store import DocumentStore, StoreState
from session.text import text_key

if TYPE_CHECKING:
    from pathlib import Path

    from managers.base_manager import BaseManager
    from managers.memory.document import MemoriesDocument
    from managers.memory.revision import Revision
    from session.memory import Memory

_STATES: TypeAdapter[StoreState[MemoryEdit]] = TypeAdapter(StoreState[MemoryEdit])


def open_memories(path: Path) -> DocumentStore[MemoriesDocument, MemoryEdit]:
    """Open the store of a file of memories. Raises ``StoreError``."""
    return DocumentStore(path, parse_memories, _STATES)


class MemoryTiers:
    """Holds all memories by location id and makes every change to them.

    persistent: core and permanent memories, as the file has them
    ephemeral: ephemeral memories, which are never written
    store: keeps the file and ``persistent`` in step
    refused: how many revisions would have broken a rule
    is_failing: the file could not be read or written the last time; what is not written is tried again with the next

    owner: the manager whose log is used. A file that fails is one error there, until it works again.
    Raises ``StoreError``, when made, for a file that cannot be read.
    """

    def __init__(self, path: Path, owner: BaseManager) -> None:
        self.persistent: dict[int, list[Memory]] = {}
        self.ephemeral: dict[int, list[Memory]] = {}
        self.refused = 0
        self.is_failing = False
        self._owner = owner
        self.store = open_memories(path)
        self.follow()
        self._report_problems()

    def at(self, location_id: int) -> list[Memory]:
        """Return the memories of a location, persistent ones first, given up ones too, with what others wrote since."""
        self._refresh()
        return [*self.persistent.get(location_id, ()), *self.ephemeral.get(location_id, ())]

    def visit(self, location_id: int, episode: int) -> None:
        """Count a visit to the location; the file gets it with the next change."""
        self.store.defer(CountedVisit(location_id, episode))

    def revise(self, revision: Revision) -> bool:
        """Make the revision in both tiers, and write the file.

        Returns false where it breaks a rule or changes nothing. Where the file cannot be written it returns false,
        too, but the tiers are changed and the file gets the revision later.
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
        if revision.new_persistent is not None or revision.concerns(persistent):
            return self._revise_file(revision)
        return has_ephemeral_part

    def remove(self, title: str) -> bool:
        """Remove the memories of that title, and return whether there were any. Raises ``StoreError``."""
        key, were_ephemeral = text_key(title), sum(map(len, self.ephemeral.values()))
        for location_id, memories in self.ephemeral.items():
            self.ephemeral[location_id] = [memory for memory in memories if text_key(memory.title) != key]
        is_done = self.store.apply(Removal(title))
        self.follow()
        return is_done or sum(map(len, self.ephemeral.values())) < were_ephemeral

    def commit(self) -> None:
        """Write what is due into the file, and read what others wrote there.

        A file that cannot be written is logged; where changes are held for this method it raises ``StoreError``, too.
        """
        try:
            self.store.commit()
        except StoreError as error:
            self._report_failure(error)
            if self.store.holds:
                raise
        else:
            self.is_failing = False
        self.follow()
        self._refresh()

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

    def _refresh(self) -> None:
        try:
            is_new = self.store.refresh()
        except StoreError as error:
            self._report_failure(error)
            return
        if is_new:
            self.follow()
            self._report_problems()

    def follow(self) -> None:
        """Let ``persistent`` be what the store holds."""
        self.persistent.clear()
        self.persistent.update(self.store.document.memories())

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

    def _log_ephemeral(self, revision: Revision) -> None:
        if self._owner.config.debug_ephemeral:
            self._owner.log_info(
                "ephemeral memories changed",
                location_id=revision.location_id,
                new=revision.title,
                given_up=[*revision.superseded, *revision.invalidated],
            )
