"""What the episodes of a run scored, and how much of that a route of an earlier one brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.events import EpisodeEnded, EpisodeStarted, TurnPlayed
from session.text import counted

if TYPE_CHECKING:
    from managers.routes.document import RouteBook
    from session.events import Event


class Gains:
    """Follows the events of a run, for the line at its end. A walk to a location is no route."""

    def __init__(self) -> None:
        self._ended: list[EpisodeEnded] = []
        self._locations: set[int] = set()
        self._route: int | None = None
        self._points = 0
        self._follows = False

    def see(self, event: Event) -> None:
        """Take an event into account."""
        if isinstance(event, EpisodeStarted):
            self._route, self._points, self._follows = None, 0, False
        elif isinstance(event, EpisodeEnded):
            self._ended.append(event)
        elif isinstance(event, TurnPlayed):
            record = event.record
            if record.after.location is not None:
                self._locations.add(record.after.location.num)
            set_out = record.proposals[-1]
            if not record.is_of_route or set_out.wants_way:
                self._follows = record.is_of_route and set_out.follow is not None
                self._route = set_out.follow or self._route
            if self._follows:
                self._points += record.score_change or 0

    def line(self, book: RouteBook) -> str:
        """Say what was learnt, and what the first and the last episode scored; "" where that tells nothing.

        book: the routes that are known now
        """
        if len(self._ended) < 2 or any(each.score is None for each in self._ended):  # noqa: PLR2004  to compare
            return ""
        first, last = self._ended[0], self._ended[-1]
        learnt = f"{counted(len(self._locations), 'location')}, {counted(len(book.routes), 'route')}"
        scored = f"episode {first.episode}: {counted(first.score or 0, 'point')}; episode {last.episode}: {last.score}"
        return f"Learnt: {learnt}. {scored[:1].upper()}{scored[1:]}{self._by_route(book)}."

    def _by_route(self, book: RouteBook) -> str:
        route = None if self._route is None else book.find(self._route)
        if not self._points:
            return ""
        return f", of which {self._points} by a route{f' of episode {route.episode}' if route else ''}"
