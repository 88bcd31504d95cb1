"""What the page of a report is given, and how a run becomes that: its journal's events, and what repeating it shows.

The TypeScript types of ``web/`` are generated from these classes by ``make page``. ``None`` always means that a run did
not record the value, or that it is not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from managers.known import Item, Items
from session.events import (
    EpisodeEnded,
    EpisodeStarted,
    Event,
    FileEdited,
    FileWritten,
    GameFailed,
    MemoryGiven,
    MemoryRemoved,
    ModelAnswered,
    ModelFailed,
    ProposalReviewed,
    RunEnded,
    RunMoment,
    RunStarted,
    TurnPlayed,
    moment_of,
)
from session.values import Observation
from zorkgpt.llm.run_model import PLAYING_ROLES
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import Way, lay_out
from zorkgpt.report.figures import RunFigures, figures_of, priced_calls
from zorkgpt.report.played_run import PlayedRun
from zorkgpt.report.repetition import ItemChange, RebuiltPrompt, Repetition
from zorkgpt.report.run_summary import RunSummary


@dataclass(frozen=True, slots=True)
class Note:
    """What cannot be shown, and why, in a sentence; ``moment``: from when on."""

    text: str
    moment: RunMoment | None = None


@dataclass(frozen=True, slots=True)
class PageEvent:
    """An event of the journal. A model call has its rebuilt prompt and its price.

    Object trees, the observation before a turn, which the event before has, and texts of edited files are left out.
    """

    event: Event
    prompt: RebuiltPrompt | None = None
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class PageTurn:
    """A turn of an episode, with the events that led to it or came of it.

    turn: 0 is the opening; a later turn without ``TurnPlayed`` was not played, although models were called
    read: the keys of the items that the agent was shown
    changes: each with the turns that the item did not cite before
    """

    episode: int
    turn: int
    events: tuple[PageEvent, ...]
    read: tuple[str, ...]
    changes: tuple[ItemChange, ...]


@dataclass(frozen=True, slots=True)
class PageRoom:
    """A room of the map: its cell, and the exits that lead nowhere known."""

    id: int
    name: str
    x: int
    y: int
    untried: tuple[str, ...]
    refused: dict[str, str]


@dataclass(frozen=True, slots=True)
class PageMap:
    """The map at the end of the run."""

    rooms: tuple[PageRoom, ...]
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class PageRun:
    """A run.

    figures: without paths of the computer that it was played on
    lines: the lines that prompts are made of
    learned_known: whether the turns contain what was learned from them
    """

    figures: RunFigures
    notes: tuple[Note, ...]
    prompts: Literal["rebuilt", "partly", "none"]
    lines: tuple[str, ...]
    start: tuple[Item, ...]
    learned_known: bool
    end: tuple[Item, ...]
    map: PageMap | None
    turns: tuple[PageTurn, ...]


@dataclass(frozen=True, slots=True)
class PageData:
    """All that the page of runs is given; ``follow``: a run is still being played."""

    program: str
    runs: tuple[PageRun, ...] = ()
    follow: bool = False
    kind: Literal["runs"] = "runs"


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A run in the index of a folder.

    run: its ``folder`` is relative to that of the index
    scores: of its episodes at their end, oldest first
    dollars: of the calls with a known price; ``None`` if there are none
    link: the URL of its page, relative to the index; ``None`` if it cannot be shown
    unpriced: how many calls have no known price
    of_milestones: whether its points are those of milestones
    """

    run: RunSummary
    scores: tuple[int | None, ...] = ()
    dollars: float | None = None
    link: str | None = None
    unpriced: int = 0
    of_milestones: bool = False


@dataclass(frozen=True, slots=True)
class IndexData:
    """All that the page of many runs is given; ``follow``: it is kept up to date."""

    program: str
    index: tuple[IndexedRun, ...]
    follow: bool = False
    kind: Literal["index"] = "index"


def page_of_run(
    run: PlayedRun,
    repeated: Repetition,
    known_at_end: Items | None = None,
    map_at_end: MapGraph | None = None,
    notes: Iterable[Note] = (),
) -> PageRun:
    """Return the content of the run's page.

    repeated: the run's repetition, up to the turn that could be repeated
    known_at_end, map_at_end: what was known and the map at the end of the run, if the repetition is incomplete
    notes: why it was not complete
    """
    figures = figures_of(run)
    calls = sum(isinstance(event, ModelAnswered | ModelFailed) for event in run.events)
    agree = sum(prompt.agrees for prompt in repeated.prompts)
    graph = repeated.map if repeated.is_whole else map_at_end
    seen = (observation.location for episode in run.episodes for observation in episode.observations)
    first = next((location.num for location in seen if location), None)
    return PageRun(
        figures=replace(
            figures,
            run=replace(figures.run, folder=Path(figures.run.folder.name)),
            manifest=run.manifest.model_copy(update={"story_path": Path(run.manifest.story_path).name}),
        ),
        notes=(*([Note(f"Points: {run.points}.")] if run.points else []), *notes),
        prompts="rebuilt" if repeated.is_whole and agree == calls else "partly" if repeated.prompts else "none",
        lines=tuple(repeated.lines),
        start=tuple(repeated.start.values()),
        learned_known=repeated.is_whole,
        end=tuple((repeated.known if repeated.is_whole else known_at_end or {}).values()),
        map=None if graph is None else _map(graph, first),
        turns=tuple(_turns(run, repeated)),
    )


def _map(graph: MapGraph, first: int | None) -> PageMap:
    """Return the map, laid out from the ``first`` room that was seen."""
    layout, names, refused = lay_out(graph, first), graph.distinct_names, graph.refused_exits_of(graph.rooms)
    rooms = (
        PageRoom(number, names[number], x, y, graph.untried_exits(number), refused.get(number, {}))
        for number, (x, y) in layout.cells.items()
    )
    return PageMap(tuple(rooms), tuple(layout.ways))


def _turns(run: PlayedRun, repeated: Repetition) -> Iterator[PageTurn]:
    """Yield the turns, and after the last one of an unfinished episode what was done for the next."""
    events: defaultdict[RunMoment, list[PageEvent]] = defaultdict(list)
    prices, prompts = priced_calls(run), iter(repeated.prompts)
    moment = RunMoment(run.manifest.first_episode, 0)
    for event in run.events:
        moment = moment_of(event) or moment
        at = following = moment._replace(turn=moment.turn + 1)
        prompt = dollars = None
        match event:
            case ModelAnswered() | ModelFailed():
                at = following if event.role in PLAYING_ROLES else moment
                prompt, (_, dollars) = next(prompts, None), next(prices)
            case RunStarted() | RunEnded() | FileWritten():
                continue
            case GameFailed() | MemoryGiven() | MemoryRemoved() | ProposalReviewed():
                pass
            case _:
                at = moment
        events[at].append(PageEvent(_without_repetitions(event), prompt, dollars))
    begun = {event.episode for event in run.events if isinstance(event, EpisodeStarted)}
    ended = {event.episode for event in run.events if isinstance(event, EpisodeEnded)}
    for moment, at_moment in events.items():
        is_played = any(isinstance(each.event, EpisodeStarted | TurnPlayed) for each in at_moment)
        if is_played or (moment.turn > 0 and moment.episode in begun - ended):
            changes = tuple(map(_with_new_sources, repeated.changes.get(moment, ())))
            yield PageTurn(*moment, tuple(at_moment), repeated.shown.get(moment, ()), changes)


def _with_new_sources(change: ItemChange) -> ItemChange:
    """Return the change with the turns that the item did not cite before: a line that is often confirmed has many."""
    if change.before is None:
        return change
    known, after = frozenset(change.before.sources), change.after
    new = after and replace(after, sources=tuple(each for each in after.sources if each not in known))
    return replace(change, before=replace(change.before, sources=()), after=new)


def _without_repetitions(event: Event) -> Event:
    """Return the event without what ``PageEvent`` leaves out."""
    if isinstance(event, TurnPlayed):
        after = replace(event.record.after, parents=())
        return replace(event, record=replace(event.record, before=Observation(""), after=after))
    if isinstance(event, EpisodeStarted):
        return replace(event, opening=replace(event.opening, parents=()))
    return replace(event, text="") if isinstance(event, FileEdited) else event
