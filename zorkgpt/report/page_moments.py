"""The moments of a run that stand out: milestones, by which runs are compared, marks, and the map by first visits."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from zorkgpt.mapping.map_layout import lay_out
from zorkgpt.report.page_data import Mark, PageMap, PageMilestone, PageRoom, PageWay
from zorkgpt.report.repetition import RunMoment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from session.values import Observation
    from zorkgpt.mapping.map_graph import MapGraph
    from zorkgpt.report.figures import EpisodeFigures
    from zorkgpt.report.learnt import ItemChange
    from zorkgpt.report.page_data import MilestoneKind
    from zorkgpt.report.played_run import PlayedEpisode


def milestones_of(episodes: Sequence[PlayedEpisode], figures: Sequence[EpisodeFigures]) -> tuple[PageMilestone, ...]:
    """Return every new best score, every room and every thing that was carried, each with when episodes had it."""
    turns: defaultdict[tuple[MilestoneKind, int], dict[int, int]] = defaultdict(dict)
    labels: dict[tuple[MilestoneKind, int], str] = {}
    for episode, found in zip(episodes, figures, strict=True):
        number = episode.started.episode
        for best in found.milestones:
            labels["score", best.score] = f"{best.score} points"
            turns["score", best.score].setdefault(number, best.turn)
        for turn, seen in enumerate(episode.observations):
            if seen.location is not None:
                labels.setdefault(("room", seen.location.num), seen.location.label)
                turns["room", seen.location.num].setdefault(number, turn)
            for thing in seen.inventory or ():
                labels.setdefault(("thing", thing.num), thing.name or f"object #{thing.num}")
                turns["thing", thing.num].setdefault(number, turn)
    return tuple(
        PageMilestone(f"{kind}:{number}", kind, labels[kind, number], turns[kind, number]) for kind, number in turns
    )


def marks_of(episodes: Sequence[PlayedEpisode], changes: Mapping[RunMoment, Iterable[ItemChange]]) -> tuple[Mark, ...]:
    """Return deaths, ends, new best scores, discoveries and what was learnt, in the order of the run."""
    marks = [*_marks_of_play(episodes)]
    for moment, changed in changes.items():
        new = (change.after for change in changed if change.before is None and change.after is not None)
        marks += (Mark(moment, item.kind, item.title) for item in new)
    return tuple(sorted(marks, key=lambda mark: mark.moment))


def map_of(graph: MapGraph, episodes: Sequence[PlayedEpisode]) -> PageMap:
    """Return the map laid out, with when its rooms and ways were first met in these episodes."""
    rooms, ways = first_visits(episodes), _first_walks(episodes)
    start = next(iter(rooms), None)
    layout, names = lay_out(graph, start), graph.distinct_names
    return PageMap(
        tuple(
            PageRoom(
                number,
                names[number],
                *cell,
                rooms.get(number),
                graph.untried_exits(number),
                graph.refused_exits(number),
            )
            for number, cell in layout.cells.items()
        ),
        tuple(
            PageWay(
                way.from_id,
                way.to_id,
                way.there,
                way.back,
                way.shown,
                min(
                    filter(None, (ways.get((way.from_id, way.to_id)), ways.get((way.to_id, way.from_id)))), default=None
                ),
            )
            for way in layout.ways
        ),
    )


def first_visits(episodes: Iterable[PlayedEpisode]) -> dict[int, RunMoment]:
    """Return when each room was first seen, by its id."""
    found: dict[int, RunMoment] = {}
    for episode in episodes:
        for turn, seen in enumerate(episode.observations):
            if seen.location is not None:
                found.setdefault(seen.location.num, RunMoment(episode.started.episode, turn))
    return found


def _first_walks(episodes: Iterable[PlayedEpisode]) -> dict[tuple[int, int], RunMoment]:
    found: dict[tuple[int, int], RunMoment] = {}
    for episode in episodes:
        for turn in episode.turns:
            record = turn.played.record
            if record.before.location is not None and record.after.location is not None and record.moved:
                rooms = record.before.location.num, record.after.location.num
                found.setdefault(rooms, RunMoment(record.episode, record.turn))
    return found


def _marks_of_play(episodes: Iterable[PlayedEpisode]) -> Iterator[Mark]:
    rooms: set[int] = set()
    best: int | None = None
    for episode in episodes:
        ending = None
        for turn, seen in enumerate(episode.observations):
            moment = RunMoment(episode.started.episode, turn)
            if seen.location is not None and seen.location.num not in rooms:
                rooms.add(seen.location.num)
                yield Mark(moment, "room", seen.location.label)
            if seen.died:
                yield Mark(moment, "death", _place(seen))
            if seen.ending in ("won", "lost") and seen.ending != ending:
                yield Mark(moment, seen.ending, _place(seen))
            if seen.score is not None and best is not None and seen.score > best:
                yield Mark(moment, "score", f"{seen.score} points")
            ending = seen.ending
            best = seen.score if best is None else max(best, seen.score or best)


def _place(seen: Observation) -> str:
    return seen.location.label if seen.location else ""
