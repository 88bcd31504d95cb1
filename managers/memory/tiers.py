"""What is remembered, in two tiers: the file's, kept across episodes, and the episode's own (seed 1, Dual Cache)."""

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
    """The store of a file of memories. Raises ``StoreError``."""
    return DocumentStore(path, parse_memories, _STATES)


class MemoryTiers:
    """Both caches by location id, the one in step with the file ``path``, and every change to them.

    persistent: core and permanent memories, as the file has them
    ephemeral: ephemeral memories, which never touch the disk
    store: keeps the file in step
    refused: revisions that would have broken a rule
    is_failing: the file could not be read or written the last time; what is pending is tried again with the next

    owner: in whose log everything goes. A file that fails is one error there, until it works again.
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
        """The location's memories, the persistent ones first, those given up too; what others wrote is among them."""
        self._refresh()
        return [*self.persistent.get(location_id, ()), *self.ephemeral.get(location_id, ())]

    def visit(self, location_id: int, episode: int) -> None:
        """The location was visited once more; the file will say so with the next change to it."""
        self.store.defer(CountedVisit(location_id, episode))

    def revise(self, revision: Revision) -> bool:
        """The revision is made in both tiers, and its part of the file is on the disk.

        False where it breaks a rule or has nothing to do, and nothing is changed; and where the file cannot be
        written, the caches being changed all the same.
        """
        self._refresh()
        location_id = revision.location_id
        persistent, ephemeral = self.persistent.get(location_id, []), self.ephemeral.get(location_id, [])
        refusal = revision.refusal(persistent, ephemeral)
        if refusal:
            self.refused += 1
            self._owner.log_warning("memory refused", location_id=location_id, title=revision.title, reason=refusal)
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
        """No memory of that title is left; false where there was none. Raises ``StoreError``."""
        key, were_ephemeral = text_key(title), sum(map(len, self.ephemeral.values()))
        for location_id, memories in self.ephemeral.items():
            self.ephemeral[location_id] = [memory for memory in memories if text_key(memory.title) != key]
        is_done = self.store.apply(Removal(title))
        self.follow()
        return is_done or sum(map(len, self.ephemeral.values())) < were_ephemeral

    def commit(self) -> None:
        """What is due is in the file if it can be written, and what others wrote is known.

        Raises ``StoreError`` where changes are held for this.
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
        """Show what the store holds."""
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
