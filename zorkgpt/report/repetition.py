"""What playing a run again shows that its journal does not contain: the prompts, and what was known at each moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from managers.base_manager import BaseManager
from managers.map_manager import MapManager
from session.events import EpisodeEnded, EpisodeStarted, Event, TurnPlayed
from zorkgpt.llm.run_model import RepeatedCall
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.learnt import ItemChange, Known, changes_between, keys_shown, known_to

Ranges = tuple[int, ...]
"""A text: the number of a line and how many lines follow from it, again and again; () for "". """


class LineTable:
    """Distinct lines, in the order of their first occurrence. Prompts of a run share most of theirs."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """Every line that is kept."""
        return tuple(self._numbers)

    def keep(self, text: str) -> Ranges:
        """Keep the lines of the text and return their ranges: joined by line feeds they are the text again."""
        if not text:
            return ()
        ranges: list[int] = []
        following = -1
        for line in text.split("\n"):
            number = self._numbers.setdefault(line, len(self._numbers))
            if number == following:
                ranges[-1] += 1
            else:
                ranges += (number, 1)
            following = number + 1
        return tuple(ranges)


class RunMoment(NamedTuple):
    """A turn of an episode; 0 is the opening."""

    episode: int
    turn: int


@dataclass(frozen=True, slots=True)
class RebuiltPrompt:
    """A prompt in the lines of a table; ``agrees``: its checksum is the recorded one."""

    system: Ranges
    user: Ranges
    agrees: bool


class Repetition:
    """Collects prompts and changes of items while a run is repeated.

    prompts: of every repeated model call, in the order of the journal; in the lines of ``table``
    start, known: the items before the first episode, and the current ones
    changes: what was learnt from each turn
    shown: the keys of the items in the agent's prompt of each turn
    is_whole: whether the whole recorded run was repeated
    moment: the latest repeated turn
    """

    def __init__(self) -> None:
        self.table = LineTable()
        self.prompts: list[RebuiltPrompt] = []
        self.start: Known = {}
        self.known: Known = {}
        self.changes: defaultdict[RunMoment, list[ItemChange]] = defaultdict(list)
        self.shown: dict[RunMoment, tuple[str, ...]] = {}
        self.is_whole = False
        self.moment = RunMoment(0, 0)
        self._managers: Sequence[BaseManager] = ()
        self._is_known = True  # the managers have learnt nothing since the last look

    @property
    def map(self) -> MapGraph | None:
        """The map as it is now."""
        return next((each.game_map for each in self._managers if isinstance(each, MapManager)), None)

    def meet(self, managers: Sequence[BaseManager]) -> None:
        """Take the managers of the repeated run, before it begins."""
        self._managers = managers
        self.start = self.known = known_to(managers)

    def hear(self, call: RepeatedCall) -> None:
        """Take a call as it is made again."""
        prompt = call.prompt
        kept = RebuiltPrompt(self.table.keep(prompt.system), self.table.keep(prompt.user), call.is_as_recorded)
        self.prompts.append(kept)
        if call.role == "agent":
            self._look()
            self.shown[RunMoment(call.episode, call.turn)] = keys_shown(self.known, prompt.user)

    def see(self, event: Event) -> None:
        """Take an event as it happens again; the managers have learnt from the event before, but not from this one."""
        if isinstance(event, EpisodeStarted):
            self.moment = RunMoment(event.episode, 0)
        if isinstance(event, EpisodeStarted | TurnPlayed | EpisodeEnded):
            self._look()
            self._is_known = False
        if isinstance(event, TurnPlayed):
            self.moment = RunMoment(event.record.episode, event.record.turn)

    def end(self, *, is_whole: bool) -> None:
        """Take what the last turn taught."""
        self._look()
        self.is_whole = is_whole

    def _look(self) -> None:
        if self._is_known:
            return
        self._is_known = True
        now = known_to(self._managers)
        self.changes[self.moment] += changes_between(self.known, now)
        self.known = now
