"""The recorded events that a run is to repeat: the tail of a journal, or all of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from session.errors import ZorkGPTError
from session.events import EpisodeEnded, Event, ModelAnswered, ModelFailed, RunPaused, TurnPlayed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from session.files.journal import JournalLine

_TIMED = (ModelAnswered, ModelFailed, TurnPlayed, EpisodeEnded)


class RecordingEnded(ZorkGPTError):
    """What was recorded is repeated whole, and the run was recorded no further."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a repetition leaves its recording.

    line: of the journal, from 1
    expected: the event there, ``None`` where the journal has ended
    found: the event that came instead; text for a prompt that nobody was asked
    """

    line: int
    expected: Event | None
    found: Event | str


class Diverged(ZorkGPTError):
    """A run did not repeat its recording."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(f"line {difference.line} of the journal is not repeated")
        self.difference = difference


class Recording:
    """Recorded events in order, each there until it was repeated."""

    def __init__(self, lines: Iterable[JournalLine] = ()) -> None:
        self._lines = deque(lines)
        self._repeated = self._lines[0].seq - 1 if self._lines else 0

    @property
    def next_line(self) -> JournalLine | None:
        """The line that comes next, ``None`` when all were repeated."""
        return self._lines[0] if self._lines else None

    @property
    def next_event(self) -> Event | None:
        """The event that comes next, ``None`` when all were repeated."""
        return self._lines[0].event if self._lines else None

    @property
    def turns(self) -> int:
        """Played turns that are still to be repeated."""
        return sum(isinstance(line.event, TurnPlayed) for line in self._lines)

    @property
    def is_over(self) -> bool:
        """All were repeated, or all but that the run was paused then, for whatever reason of that day."""
        return not self._lines or isinstance(self.next_event, RunPaused)

    def answer(self, role: str, prompt_sha256: str) -> ModelAnswered | ModelFailed | None:
        """How that prompt was answered, where this is what comes next."""
        event = self.next_event
        if not isinstance(event, ModelAnswered | ModelFailed):
            return None
        return event if (event.role, event.prompt_sha256) == (role, prompt_sha256) else None

    def take(self, event: Event) -> JournalLine | None:
        """The next line, which is past now, if it holds this event, times aside; else ``None``."""
        if not self._lines or self._lines[0].event is None or not is_same(self._lines[0].event, event):
            return None
        self._repeated = self._lines[0].seq
        return self._lines.popleft()

    def drop(self) -> None:
        """Nothing more is to be repeated."""
        self._lines.clear()

    def difference(self, found: Event | str) -> Difference:
        """That ``found`` came instead of what comes next."""
        return Difference(self._repeated + 1, self.next_event, found)


def is_same(one: Event, other: Event) -> bool:
    """Equal, durations aside."""
    return timeless(one) == timeless(other)


def timeless(event: Event) -> Event:
    """The event without its durations."""
    return replace(event, seconds=0.0) if isinstance(event, _TIMED) else event
