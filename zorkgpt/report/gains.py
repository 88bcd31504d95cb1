"""What the episodes of a run scored, and how much of that a route of an earlier one brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.events import EpisodeStarted, TurnPlayed
from session.text import counted

if TYPE_CHECKING:
    from managers.routes.document import RouteBook
    from session.events import Event
    from session.values import Observation
    from zorkgpt.llm.budget import Spending


class Gains:
    """Follows the events of a run, for the line at its end. A walk to a location is no route.

    An event that is seen twice counts once.
    """

    def __init__(self) -> None:
        self._scores: dict[int, int] = {}
        self._most: int | None = None
        self._has_seen = False
        self._route: int | None = None
        self._points: dict[int, int] = {}
        self._follows = False

    def see(self, event: Event) -> None:
        """Take an event into account."""
        if isinstance(event, EpisodeStarted):
            self._see(event.episode, event.opening)
            self._route, self._points, self._follows = None, {}, False
        elif isinstance(event, TurnPlayed):
            record = event.record
            self._see(record.episode, record.after)
            set_out = record.proposals[-1]
            if not record.is_of_route or set_out.wants_way:
                self._follows = record.is_of_route and set_out.follow is not None
                self._route = set_out.follow or self._route
            if self._follows:
                self._points[record.turn] = record.score_change or 0

    def line(self, locations: int, book: RouteBook, memories: int, spending: Spending) -> str:
        """Say what was learnt, what the first and the last episode scored, and what it cost; "" where nothing was seen.

        locations: how many are on the map now
        book: the routes that are known now
        memories: how many are remembered beyond this episode
        spending: of the whole run
        """
        if not self._has_seen:
            return ""
        learnt = (
            counted(locations, "location"),
            counted(len(book.routes), "route"),
            counted(memories, "memory", "memories"),
        )
        dollars = f", ${spending.dollars:.4f}" if spending.dollars else ""
        cost = f" Cost: {spending.tokens:,} tokens{dollars}." if spending.tokens else ""
        return f"Learnt so far: {', '.join(learnt)}.{self._scored(book)}{cost}"

    def _see(self, episode: int, seen: Observation) -> None:
        self._has_seen = True
        if seen.score is not None:
            self._scores[episode] = seen.score
            self._most = seen.max_score

    def _scored(self, book: RouteBook) -> str:
        if not self._scores:
            return ""
        first, last = min(self._scores), max(self._scores)
        points = self._scores[first]
        of = "" if self._most is None else f" of {self._most}"
        scored = f" Episode {first}: {points}{of} {'point' if points == 1 and not of else 'points'}"
        return f"{scored}{f'; episode {last}: {self._scores[last]}' if last != first else ''}{self._by_route(book)}."

    def _by_route(self, book: RouteBook) -> str:
        route = None if self._route is None else book.find(self._route)
        points = sum(self._points.values())
        if not points:
            return ""
        return f", of which {points} by a route{f' of episode {route.episode}' if route else ''}"
