"""The recorded events that a run has to repeat: the end of a journal, or all of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from session.errors import ZorkGPTError
from session.events import EpisodeEnded, EpisodeStarted, Event, ModelAnswered, ModelFailed, RunPaused, TurnPlayed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from session.files.journal import JournalLine
    from session.values import Observation

_TIMED = (ModelAnswered, ModelFailed, TurnPlayed, EpisodeEnded)


class RecordingEnded(ZorkGPTError):
    """Everything that was recorded was repeated, and the recording has no end of the run."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a repetition is not as it was recorded.

    line: of the journal, from 1
    expected: the event in that line, ``None`` where the journal has no such line
    found: the event that came instead; text where a model was asked something that was not recorded
    """

    line: int
    expected: Event | None
    found: Event | str


class Diverged(ZorkGPTError):
    """A run was not repeated as it was recorded.

    told: what that means for a person who wanted something else than to compare
    """

    def __init__(self, difference: Difference, told: str = "") -> None:
        super().__init__(told or f"line {difference.line} of the journal is not repeated")
        self.difference = difference


class Recording:
    """The recorded events that are still to be repeated, in order."""

    def __init__(self, lines: Iterable[JournalLine] = ()) -> None:
        self._lines = deque(lines)
        self._repeated = self._lines[0].seq - 1 if self._lines else 0
        self._turns = sum(isinstance(line.event, TurnPlayed) for line in self._lines)

    @property
    def next_line(self) -> JournalLine | None:
        """The next line to repeat, ``None`` when all were repeated."""
        return self._lines[0] if self._lines else None

    @property
    def next_event(self) -> Event | None:
        """The next event to repeat, ``None`` when all were repeated."""
        return self._lines[0].event if self._lines else None

    @property
    def turns(self) -> int:
        """How many played turns are still to be repeated."""
        return self._turns

    @property
    def is_over(self) -> bool:
        """Whether everything was repeated, except that the run was paused then."""
        return not self._lines or isinstance(self.next_event, RunPaused)

    def answer(self, role: str, prompt_sha256: str) -> ModelAnswered | ModelFailed | None:
        """Return the recorded answer to the prompt, if that is the next event, else ``None``."""
        event = self.next_event
        if not isinstance(event, ModelAnswered | ModelFailed):
            return None
        return event if (event.role, event.prompt_sha256) == (role, prompt_sha256) else None

    def take(self, event: Event) -> JournalLine | None:
        """Take away and return the next line if it holds this event, durations aside; else return ``None``."""
        if not self._lines or self._lines[0].event is None or not is_same(self._lines[0].event, event):
            return None
        self._repeated = self._lines[0].seq
        self._turns -= isinstance(event, TurnPlayed)
        return self._lines.popleft()

    def drop(self) -> None:
        """Forget everything that is still to be repeated."""
        self._lines.clear()
        self._turns = 0

    def difference(self, found: Event | str) -> Difference:
        """Return the difference between the next event and ``found``, which came instead."""
        return Difference(self._repeated + 1, self.next_event, found)


def is_same(recorded: Event, found: Event) -> bool:
    """Say whether two events are equal, durations aside, and the most points there are where nobody knew them then."""
    return timeless(recorded) == timeless(_as_far_as_known_then(found, recorded))


def _as_far_as_known_then(found: Event, recorded: Event) -> Event:
    """Return ``found`` without a maximum of points that an earlier version, which recorded the run, could not read."""
    if isinstance(found, EpisodeStarted) and isinstance(recorded, EpisodeStarted):
        return replace(found, opening=_without_maximum(found.opening, recorded.opening))
    if isinstance(found, TurnPlayed) and isinstance(recorded, TurnPlayed):
        turn, then = found.record, recorded.record
        before, after = _without_maximum(turn.before, then.before), _without_maximum(turn.after, then.after)
        return replace(found, record=replace(turn, before=before, after=after))
    if isinstance(found, EpisodeEnded) and isinstance(recorded, EpisodeEnded) and recorded.max_score is None:
        return replace(found, max_score=None)
    return found


def _without_maximum(found: Observation, recorded: Observation) -> Observation:
    return replace(found, max_score=None) if recorded.max_score is None else found


def timeless(event: Event) -> Event:
    """Return the event with its duration set to 0."""
    return replace(event, seconds=0.0) if isinstance(event, _TIMED) else event
