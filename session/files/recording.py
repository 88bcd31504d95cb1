"""The events of a run in the order of its journal: first the recorded ones, then new ones (ADR 31)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from session.errors import ZorkGPTError
from session.events import (
    EpisodeEnded,
    EpisodeStarted,
    Event,
    MemoryGiven,
    ModelAnswered,
    ModelFailed,
    Proposed,
    RunPaused,
    TurnPlayed,
)
from session.files.journal import Journal, JournalLine

E = TypeVar("E", bound=Event)

_TIMED = (ModelAnswered, ModelFailed, Proposed, TurnPlayed, EpisodeEnded)


class RecordingEnded(ZorkGPTError):
    """Every recorded event was repeated, and the recording does not contain the end of the run."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place at which a repetition differs from the recording.

    line: line number in the journal, from 1
    expected: the event in that line; ``None`` if the journal has no such line
    found: the event that came instead, or the text of a prompt that was not recorded
    """

    line: int
    expected: Event | None
    found: Event | str


class Diverged(ZorkGPTError):
    """A run was not repeated as it was recorded.

    message: what this means for the user, if a comparison was not what the user asked for
    """

    def __init__(self, difference: Difference, message: str = "") -> None:
        super().__init__(message or f"line {difference.line} of the journal is not repeated")
        self.difference = difference


class Recording:
    """Repeats the recorded events of a run in order, then takes live ones and appends them to the journal.

    recorded: the journal lines to repeat; a pause at their end is ignored
    show: called with each new event, and with the repeated ones in a replay or if ``shows_repeated``
    journal: receives new events; ``None`` for a replay, which ends when the recording does
    repeated: called after each repeated turn of a run that is resumed, with the number of repeated turns and of all
    """

    def __init__(
        self,
        show: Callable[[Event], None],
        journal: Journal | None = None,
        recorded: Iterable[JournalLine] = (),
        repeated: Callable[[int, int], None] = lambda _done, _all: None,
        *,
        shows_repeated: bool = False,
    ) -> None:
        self._shows_repeated = shows_repeated or journal is None
        self._counts: list[Callable[[Event], None]] = []
        self._show = show
        self._journal = journal
        self._repeated = repeated
        self._lines = deque(recorded)
        self._pause: JournalLine | None = None  # is cut off when the run goes on
        while self._lines and isinstance(self._lines[-1].event, RunPaused):
            self._pause = self._lines.pop()
        self._before = self._lines[0].seq - 1 if self._lines else 0
        self._all_turns = self.turns = sum(isinstance(line.event, TurnPlayed) for line in self._lines)

    def count_with(self, count: Callable[[Event], None]) -> None:
        """Call ``count`` with every further event, repeated or new, before it is shown."""
        self._counts.append(count)

    @property
    def is_repeating(self) -> bool:
        """Whether recorded events are left."""
        return bool(self._lines)

    @property
    def next_event(self) -> Event | None:
        """The next event to repeat; ``None`` if none is left."""
        return self._lines[0].event if self._lines else None

    def get(
        self, kind: type[E], live: Callable[[], E | None], matches: Callable[[E], bool] = lambda _event: True
    ) -> E | None:
        """Return the recorded event if it is next; if nothing is left to repeat, get a live one and record it.

        Raises ``RecordingEnded`` for a replay that has nothing left, and ``StoreError``.
        """
        recorded = self.next_event
        if isinstance(recorded, kind) and matches(recorded):
            self.emit(recorded)
            return recorded
        if self.is_repeating:
            return None
        if self._journal is None:
            raise RecordingEnded("the recording ends here")
        event = live()
        if event is not None:
            self.emit(event)
        return event

    def emit(self, event: Event) -> None:
        """Compare an event with the next recorded one, or append it to the journal if none is left.

        If the turn in flight goes on differently, the rest of the recording is cut off; ``Diverged`` is raised if whole
        turns would be lost. Also raises ``RecordingEnded`` for a replay that has nothing left, and ``StoreError``.
        """
        if isinstance(event, RunPaused) and self.is_repeating:
            self._show(event)  # not recorded: the next resume repeats the rest
            return
        if self._lines:
            line = self._lines[0]
            if line.event is not None and is_same(line.event, event):
                self._take(event)
                return
            if self.turns or self._journal is None:
                raise Diverged(self.difference(event))
        if self._journal is None:
            raise RecordingEnded("the recording ends here")
        dropped = self._lines[0] if self._lines else self._pause
        if dropped is not None:
            self._journal.cut(dropped.start)
            self._lines.clear()
            self._pause = None
        self._journal.append(event)
        self._count(event)
        self._show(event)

    def next_turn(self) -> tuple[list[Event], TurnPlayed] | None:
        """Repeat the events before the next recorded turn and return them with that turn, which is not taken yet.

        ``None`` if the turn that comes next was not recorded to its end, or began anew after a memory.
        """
        for line in self._lines:
            if isinstance(line.event, TurnPlayed):
                break
            if line.event is None or isinstance(line.event, EpisodeStarted | EpisodeEnded | MemoryGiven):
                return None
        else:
            return None
        before = []
        while (event := self._lines[0].event) is not line.event:
            if event is not None:
                before.append(event)
                self._take(event)
        return before, line.event

    def sync(self) -> None:
        """Force the journal to the disk, unless events are repeated. Raises ``StoreError``."""
        if self._journal is not None and not self.is_repeating:
            self._journal.sync()

    def difference(self, found: Event | str) -> Difference:
        """Return the difference between the next recorded event and ``found``, which came instead."""
        return Difference(self._before + 1, self.next_event, found)

    def _count(self, event: Event) -> None:
        for count in self._counts:
            count(event)

    def _take(self, event: Event) -> None:
        line = self._lines.popleft()
        self._before = line.seq
        if self._journal is not None:
            self._journal.skip(line)
        self._count(event)
        if self._shows_repeated:
            self._show(event)
        if isinstance(event, TurnPlayed):
            self.turns -= 1
            if self._journal is not None:
                self._repeated(self._all_turns - self.turns, self._all_turns)


def is_same(recorded: Event, found: Event) -> bool:
    """Return whether two events are equal, apart from durations and the estimated tokens of memories."""
    if isinstance(found, TurnPlayed) and isinstance(recorded, TurnPlayed):
        found = replace(found, memory_tokens=recorded.memory_tokens)
    return timeless(recorded) == timeless(found)


def timeless(event: Event) -> Event:
    """Return the event with its duration set to 0."""
    return replace(event, seconds=0.0) if isinstance(event, _TIMED) else event
