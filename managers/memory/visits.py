"""The visit that goes on, and what of it is news (decision 15)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from managers.memory.outcome import ActionOutcome
from managers.memory.revision import MemoryEdit
from session.files.document_store import StoreState
from session.memory import Memory

if TYPE_CHECKING:
    from session.values import TurnRecord

LONGEST_WAIT = 5  # turns that news may wait for the visit to end


@dataclass(frozen=True, slots=True)
class MemoryState:
    """What the memory manager alone knows of an episode: plain values, for a snapshot.

    ephemeral: memories by location id
    news: of the visit that goes on, not yet considered
    visited: locations in which a turn was begun
    location_id: the location of the visit that goes on
    ephemeral_turns: those whose like was once found to be true of an episode alone
    file: what is not in ``Memories.md`` yet
    considered: keys of outcomes that the file of news does not know yet
    counts: the metrics of ``get_status``
    """

    ephemeral: dict[int, tuple[Memory, ...]] = field(default_factory=dict)
    news: tuple[ActionOutcome, ...] = ()
    visited: frozenset[int] = frozenset()
    location_id: int | None = None
    ephemeral_turns: frozenset[int] = frozenset()
    file: StoreState[MemoryEdit] = field(default_factory=StoreState)
    considered: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)

    def committed(self) -> MemoryState:
        """The same once what is due has reached the files."""
        return replace(self, file=self.file.committed(), considered=())


class VisitTracker:
    """Follows an episode from visit to visit, and holds back news until they can be considered together.

    news: of the visit that goes on, oldest first, all of one location
    visited: locations in which a turn was begun
    location_id: where the last turn was begun
    """

    def __init__(
        self,
        news: tuple[ActionOutcome, ...] = (),
        visited: frozenset[int] = frozenset(),
        location_id: int | None = None,
    ) -> None:
        self.news = news
        self.visited = visited
        self.location_id = location_id

    def enter(self, location_id: int) -> bool:
        """A turn begins at the location; true where it is the episode's first there."""
        is_first = location_id not in self.visited
        self.visited |= {location_id}
        self.location_id = location_id
        return is_first

    def add(self, outcome: ActionOutcome) -> None:
        """The news is held back; the same twice in a visit counts once."""
        if outcome.key not in {pending.key for pending in self.news}:
            self.news = (*self.news, outcome)

    def take(self) -> tuple[ActionOutcome, ...]:
        """The news, which are held back no longer."""
        news, self.news = self.news, ()
        return news

    def is_due(self, record: TurnRecord, *, flush_on_death: bool) -> bool:
        """After this turn the news should wait no longer: the player left or died, the story ended, or time passed."""
        if not self.news:
            return False
        after = record.after
        is_over = record.moved or after.location is None or after.ending is not None or (after.died and flush_on_death)
        return is_over or record.turn - self.news[0].turn + 1 >= LONGEST_WAIT
