"""What the page of a report is given, and how a run becomes that.

The TypeScript types of ``web/`` are generated from these classes by ``make page``. ``None`` always means that a run did
not record the value, or that it is not known.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from session.events import (
    EpisodeStarted,
    FileEdited,
    GameFailed,
    MemoryRemoved,
    ModelAnswered,
    ModelFailed,
    OptionsChanged,
    RoutesProven,
    RunPaused,
    TurnPlayed,
)
from session.resolved_configuration import as_settings
from session.text import counted
from session.values import Observation, Proposal, Verdict
from zorkgpt.llm.run_model import PLAYING_ROLES
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import Way, lay_out
from zorkgpt.report.figures import EpisodeFigures, RoleUsage, figures_of, priced_calls
from zorkgpt.report.learnt import AtEnd, Item, ItemChange, items_of
from zorkgpt.report.played_run import ModelCall, PlayedEpisode, PlayedRun
from zorkgpt.report.repetition import RebuiltPrompt, Repetition, RunMoment

PAGE_FORMAT = 2
MilestoneKind = Literal["score", "room", "thing"]
MarkKind = Literal["death", "won", "lost", "room", "score", "memory", "knowledge", "route", "objective"]


@dataclass(frozen=True, slots=True)
class Note:
    """What cannot be shown, and why, in a sentence; ``moment``: from when on."""

    text: str
    moment: RunMoment | None = None


@dataclass(frozen=True, slots=True)
class PageCall:
    """A model call with its rebuilt prompt and its price."""

    event: ModelCall
    prompt: RebuiltPrompt | None
    dollars: float | None


@dataclass(frozen=True, slots=True)
class PageTurn:
    """A turn. Number 0 is the opening; a later turn without a proposal was not played, although models were called.

    seen: the observation after it, without the object tree
    proposals, verdicts: as in ``TurnRecord``
    read: the keys of the items that the agent was shown
    events: what else happened, a line each
    """

    turn: int
    seen: Observation
    calls: tuple[PageCall, ...]
    read: tuple[str, ...]
    changes: tuple[ItemChange, ...]
    events: tuple[str, ...]
    proposals: tuple[Proposal, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    score_change: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PageEpisode:
    """An episode with its turns, the opening first."""

    figures: EpisodeFigures
    turns: tuple[PageTurn, ...]


@dataclass(frozen=True, slots=True)
class PageRoom:
    """A room of the map: its cell, when it was first seen in the run, and the exits that lead nowhere known."""

    id: int
    name: str
    x: int
    y: int
    first: RunMoment | None
    untried: tuple[str, ...]
    refused: dict[str, str]


@dataclass(frozen=True, slots=True)
class PageWay:
    """All ways between two rooms, and when one of them was first walked in the run."""

    way: Way
    first: RunMoment | None


@dataclass(frozen=True, slots=True)
class PageMap:
    """The map at the end of the run."""

    rooms: tuple[PageRoom, ...]
    ways: tuple[PageWay, ...]


@dataclass(frozen=True, slots=True)
class PageMilestone:
    """Something that runs of one story may have in common; ``turns``: when each episode first had it."""

    key: str
    kind: MilestoneKind
    label: str
    turns: dict[int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlighted moment."""

    moment: RunMoment
    kind: MarkKind
    label: str


@dataclass(frozen=True, slots=True)
class PageRun:
    """A run.

    lines: the lines that prompts are made of
    learnt_known: whether the turns contain what was learnt from them
    """

    id: str
    story: str
    story_sha256: str
    model: str
    assistance: tuple[str, ...]
    versions: dict[str, str]
    created: str
    command: str
    forked_from: str
    state: str
    reason: str
    planned: int
    configuration: dict[str, Any]
    notes: tuple[Note, ...]
    prompts: Literal["rebuilt", "partly", "none"]
    usage: tuple[RoleUsage, ...]
    metrics: dict[str, int | float | None]
    lines: tuple[str, ...]
    start: tuple[Item, ...]
    learnt_known: bool
    end: tuple[Item, ...]
    map: PageMap | None
    milestones: tuple[PageMilestone, ...]
    marks: tuple[Mark, ...]
    episodes: tuple[PageEpisode, ...]


@dataclass(frozen=True, slots=True)
class PageData:
    """All that the page of runs is given; ``follow``: a run is still being played."""

    program: str
    runs: tuple[PageRun, ...] = ()
    follow: bool = False
    kind: Literal["runs"] = "runs"
    format: int = PAGE_FORMAT


def page_of_run(run: PlayedRun, repeated: Repetition, at_end: AtEnd, notes: Iterable[Note] = ()) -> PageRun:
    """Return the content of the run's page.

    repeated: the run's repetition, up to the turn that could be repeated
    notes: why it was not complete
    """
    manifest, summary, figures = run.manifest, run.summary, figures_of(run)
    calls, happenings = _by_moment(run, repeated)
    rebuilt = repeated.is_whole and all(call.prompt and call.prompt.agrees for each in calls.values() for call in each)
    graph = repeated.map if repeated.is_whole else at_end.map
    metrics = asdict(figures.metrics)
    del metrics["milestones"]

    def turn(number: int, seen: Observation, episode: int, played: TurnPlayed | None = None) -> PageTurn:
        moment = RunMoment(episode, number)
        return PageTurn(
            turn=number,
            seen=replace(seen, parents=()),
            calls=tuple(calls.get(moment, ())),
            read=repeated.shown.get(moment, ()),
            changes=tuple(repeated.changes.get(moment, ())),
            events=tuple(happenings.get(moment, ())),
            proposals=played.record.proposals if played else (),
            verdicts=played.record.verdicts if played else (),
            score_change=played.record.score_change if played else None,
            seconds=played.seconds if played else None,
        )

    def turns(episode: PlayedEpisode) -> Iterator[PageTurn]:
        number, played = episode.started.episode, [each.played for each in episode.turns]
        yield turn(0, episode.started.opening, number)
        yield from (turn(each.record.turn, each.record.after, number, each) for each in played)
        unplayed = RunMoment(number, len(played) + 1)
        if episode.ended is None and (unplayed in calls or unplayed in happenings):
            yield turn(unplayed.turn, replace(episode.observations[-1], text="", died=False), number)

    return PageRun(
        id=summary.run_id,
        story=manifest.story,
        story_sha256=manifest.story_sha256,
        model=manifest.model,
        assistance=manifest.assistance,
        versions=manifest.versions,
        created=manifest.created,
        command=shlex.join(manifest.command),
        forked_from=manifest.forked_from,
        state=summary.state,
        reason=summary.reason,
        planned=len(manifest.seeds),
        configuration=manifest.configuration,
        notes=tuple(notes),
        prompts="rebuilt" if rebuilt else "partly" if repeated.prompts else "none",
        usage=figures.usage,
        metrics=metrics,
        lines=repeated.table.lines,
        start=items_of(repeated.start),
        learnt_known=repeated.is_whole,
        end=items_of(repeated.known if repeated.is_whole else at_end.known),
        map=None if graph is None else _map(graph, run.episodes),
        milestones=_milestones(run.episodes, figures.episodes),
        marks=_marks(run.episodes, repeated.changes),
        episodes=tuple(
            PageEpisode(found, tuple(turns(episode)))
            for episode, found in zip(run.episodes, figures.episodes, strict=True)
        ),
    )


def _by_moment(
    run: PlayedRun, repeated: Repetition
) -> tuple[dict[RunMoment, list[PageCall]], dict[RunMoment, list[str]]]:
    """Sort model calls, and lines about other events, by the turn that they led to or came from."""
    calls: defaultdict[RunMoment, list[PageCall]] = defaultdict(list)
    happenings: defaultdict[RunMoment, list[str]] = defaultdict(list)
    prices, prompts = priced_calls(run), iter(repeated.prompts)
    moment = RunMoment(run.manifest.first_episode, 0)
    for event in run.events:
        following = moment._replace(turn=moment.turn + 1)
        match event:
            case EpisodeStarted():
                moment = RunMoment(event.episode, 0)
            case TurnPlayed():
                moment = RunMoment(event.record.episode, event.record.turn)
            case ModelAnswered() | ModelFailed():
                at = following if event.role in PLAYING_ROLES else moment
                calls[at].append(PageCall(event, next(prompts, None), next(prices).dollars))
            case GameFailed():
                happenings[following].append(f"{event.command or 'looking ahead'}: {event.error}")
            case MemoryRemoved():
                happenings[following].append(event.title)
            case FileEdited(file=line) | RunPaused(reason=line):
                happenings[moment].append(line)
            case OptionsChanged():
                happenings[moment].append(as_settings(event.options))
            case RoutesProven():
                happenings[moment].append(counted(len(event.routes), "route"))
    return calls, happenings


def _milestones(episodes: Sequence[PlayedEpisode], figures: Sequence[EpisodeFigures]) -> tuple[PageMilestone, ...]:
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


def _marks(episodes: Iterable[PlayedEpisode], changes: Mapping[RunMoment, Iterable[ItemChange]]) -> tuple[Mark, ...]:
    """Return deaths, ends, new best scores, discoveries and what was learnt, in the order of the run."""
    marks: list[Mark] = []
    rooms: set[int] = set()
    best: int | None = None
    for episode in episodes:
        ending = None
        for turn, seen in enumerate(episode.observations):
            moment, place = RunMoment(episode.started.episode, turn), seen.location.label if seen.location else ""
            if seen.location is not None and seen.location.num not in rooms:
                rooms.add(seen.location.num)
                marks.append(Mark(moment, "room", place))
            if seen.died:
                marks.append(Mark(moment, "death", place))
            if seen.ending in ("won", "lost") and seen.ending != ending:
                marks.append(Mark(moment, seen.ending, place))
            if seen.score is not None and best is not None and seen.score > best:
                marks.append(Mark(moment, "score", f"{seen.score} points"))
            ending = seen.ending
            best = seen.score if best is None else max(best, seen.score or best)
    for moment, changed in changes.items():
        new = (change.after for change in changed if change.before is None and change.after is not None)
        marks += (Mark(moment, item.kind, item.title) for item in new)
    return tuple(sorted(marks, key=lambda mark: mark.moment))


def _map(graph: MapGraph, episodes: Iterable[PlayedEpisode]) -> PageMap:
    """Return the map laid out, with when its rooms and ways were first met in these episodes."""
    rooms: dict[int, RunMoment] = {}
    walks: dict[frozenset[int], RunMoment] = {}
    for episode in episodes:
        before = None
        for turn, seen in enumerate(episode.observations):
            if seen.location is not None:
                moment, here = RunMoment(episode.started.episode, turn), seen.location.num
                rooms.setdefault(here, moment)
                if before is not None and before != here:
                    walks.setdefault(frozenset((before, here)), moment)
            before = seen.location.num if seen.location else None
    layout, names = lay_out(graph, next(iter(rooms), None)), graph.distinct_names
    return PageMap(
        tuple(
            PageRoom(
                id=number,
                name=names[number],
                x=x,
                y=y,
                first=rooms.get(number),
                untried=graph.untried_exits(number),
                refused=graph.refused_exits(number),
            )
            for number, (x, y) in layout.cells.items()
        ),
        tuple(PageWay(way, walks.get(frozenset((way.from_id, way.to_id)))) for way in layout.ways),
    )
