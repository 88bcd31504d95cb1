"""The data of the page of a run, turn by turn."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal

from session.events import (
    EpisodeStarted,
    Event,
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
from session.text import counted
from session.values import GameObject, Observation, Proposal, Verdict
from zorkgpt.llm.run_model import PLAYING_ROLES
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_layout import lay_out
from zorkgpt.report.figures import EpisodeFigures, PricedCall, figures_of, priced_calls
from zorkgpt.report.learnt import AtEnd, ItemChange, items_of
from zorkgpt.report.page_data import (
    Happening,
    Mark,
    MilestoneKind,
    Note,
    PageAttempt,
    PageCall,
    PageEpisode,
    PageMap,
    PageMilestone,
    PageRoom,
    PageRun,
    PageTurn,
    PageWay,
    Tokens,
)
from zorkgpt.report.played_run import PlayedEpisode, PlayedRun
from zorkgpt.report.repetition import RebuiltPrompt, Repetition, RunMoment


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


def page_of_run(run: PlayedRun, repeated: Repetition, at_end: AtEnd, notes: Iterable[Note] = ()) -> PageRun:
    """Return the run as a page shows it.

    repeated: what came of playing it again, as far as that was possible
    notes: why it was not possible
    """
    manifest, summary, figures = run.manifest, run.summary, figures_of(run)
    told = _gather(run, repeated)
    episodes = zip(run.episodes, figures.episodes, strict=True)
    graph = repeated.map if repeated.is_whole else at_end.map
    metrics = asdict(figures.metrics)
    del metrics["milestones"]
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
        prompts=_rebuilt(told, repeated),
        usage=figures.usage,
        metrics=metrics,
        lines=repeated.table.lines,
        start=items_of(repeated.start),
        learnt_known=repeated.is_whole,
        end=items_of(repeated.known if repeated.is_whole else at_end.known),
        map=None if graph is None else map_of(graph, run.episodes),
        milestones=milestones_of(run.episodes, figures.episodes),
        marks=marks_of(run.episodes, repeated.changes),
        episodes=tuple(_episode(episode, found, told) for episode, found in episodes),
    )


class _Told:
    """What belongs to each moment of a run besides its turn."""

    def __init__(self, repeated: Repetition) -> None:
        self.calls: defaultdict[RunMoment, list[PageCall]] = defaultdict(list)
        self.events: defaultdict[RunMoment, list[Happening]] = defaultdict(list)
        self.shown, self.changes = repeated.shown, repeated.changes


def _gather(run: PlayedRun, repeated: Repetition) -> _Told:
    """Sort calls and other events by the turn that they led to or came from."""
    told = _Told(repeated)
    prices, prompts = priced_calls(run), iter(repeated.prompts)
    moment = RunMoment(run.manifest.first_episode, 0)
    for event in run.events:
        if isinstance(event, EpisodeStarted):
            moment = RunMoment(event.episode, 0)
        elif isinstance(event, TurnPlayed):
            moment = RunMoment(event.record.episode, event.record.turn)
        elif isinstance(event, ModelAnswered | ModelFailed):
            at = moment._replace(turn=moment.turn + (event.role in PLAYING_ROLES))
            told.calls[at].append(_call(next(prices), next(prompts, None)))
        elif isinstance(event, GameFailed | MemoryRemoved):
            told.events[moment._replace(turn=moment.turn + 1)].append(Happening(event.kind, _line_on(event)))
        elif isinstance(event, FileEdited | RoutesProven | RunPaused | OptionsChanged):
            told.events[moment].append(Happening(event.kind, _line_on(event)))
    return told


def _line_on(event: Event) -> str:
    if isinstance(event, GameFailed):
        return f"{event.command or 'looking ahead'}: {event.error}"
    if isinstance(event, MemoryRemoved):
        return event.title
    if isinstance(event, FileEdited):
        return event.file
    if isinstance(event, RunPaused):
        return event.reason
    if isinstance(event, OptionsChanged):
        return ", ".join(f"{name} = {value}" for name, value in event.options.items())
    return counted(len(event.routes), "route") if isinstance(event, RoutesProven) else ""


def _call(priced: PricedCall, prompt: RebuiltPrompt | None) -> PageCall:
    call = priced.call
    return PageCall(
        role=call.role,
        model=call.model,
        system=prompt and prompt.system,
        user=prompt and prompt.user,
        agrees=prompt and prompt.agrees,
        sha256=call.prompt_sha256,
        answer=call.answer if isinstance(call, ModelAnswered) else None,
        thoughts=call.reasoning if isinstance(call, ModelAnswered) else "",
        error=call.error if isinstance(call, ModelFailed) else None,
        seconds=call.seconds,
        prompt_tokens=call.prompt_tokens,
        cached_tokens=call.cached_tokens,
        completion_tokens=call.completion_tokens,
        requests=call.requests if isinstance(call, ModelAnswered) else None,
        dollars=priced.dollars,
    )


def _rebuilt(told: _Told, repeated: Repetition) -> Literal["rebuilt", "partly", "none"]:
    calls = (call for each in told.calls.values() for call in each)
    if repeated.is_whole and all(call.agrees for call in calls):
        return "rebuilt"
    return "partly" if repeated.prompts else "none"


def _episode(episode: PlayedEpisode, figures: EpisodeFigures, told: _Told) -> PageEpisode:
    number, turns = figures.episode, [_told_turn(RunMoment(episode.started.episode, 0), episode.started.opening, told)]
    turns += (_turn(each.played, told) for each in episode.turns)
    next_moment = RunMoment(number, figures.turns + 1)
    if episode.ended is None and (told.calls.get(next_moment) or told.events.get(next_moment)):
        turn = _told_turn(next_moment, replace(episode.observations[-1], text="", died=False), told)
        turns.append(replace(turn, unplayed=True))
    return PageEpisode(
        episode=number,
        seed=figures.seed,
        end=figures.end,
        score=figures.score,
        best_score=figures.best_score,
        max_score=figures.max_score,
        rooms=figures.rooms,
        seconds=figures.seconds,
        turns=tuple(turns),
    )


def _turn(played: TurnPlayed, told: _Told) -> PageTurn:
    record = played.record
    turn = _told_turn(RunMoment(record.episode, record.turn), record.after, told)
    return replace(
        turn,
        command=record.action,
        by_route=record.is_of_route,
        reasoning=record.reasoning,
        attempts=tuple(map(_attempt, record.proposals, record.verdicts)),
        from_id=record.before.location.num if record.before.location else None,
        score_change=record.score_change,
        reading=record.reading,
        seconds=played.seconds,
    )


def _told_turn(moment: RunMoment, seen: Observation, told: _Told) -> PageTurn:
    """Return a turn without its command: what was seen after it, and all that belongs to its moment."""
    calls = tuple(told.calls.get(moment, ()))
    dollars = [call.dollars for call in calls if call.dollars is not None]
    return PageTurn(
        turn=moment.turn,
        text=seen.text,
        refusal=seen.refusal,
        place=seen.location.num if seen.location else None,
        place_name=seen.location.label if seen.location else "",
        score=seen.score,
        moves=seen.moves,
        inventory=_names(seen.inventory),
        visible=_names(seen.visible),
        died=seen.died,
        ending=seen.ending,
        tokens=Tokens(
            sum(call.prompt_tokens for call in calls),
            sum(call.cached_tokens for call in calls),
            sum(call.completion_tokens for call in calls),
        ),
        dollars=sum(dollars) if dollars else None,
        calls=calls,
        read=told.shown.get(moment, ()),
        changes=tuple(told.changes.get(moment, ())),
        events=tuple(told.events.get(moment, ())),
    )


def _attempt(proposal: Proposal, verdict: Verdict) -> PageAttempt:
    return PageAttempt(
        command=proposal.action,
        reasoning=proposal.reasoning,
        accepted=verdict.accepted,
        reason=verdict.reason,
        source=verdict.source,
        confidence=verdict.confidence,
        follow=proposal.follow,
        go_to=proposal.go_to,
    )


def _names(things: Sequence[GameObject] | None) -> tuple[str, ...] | None:
    return None if things is None else tuple(thing.name or f"object #{thing.num}" for thing in things)
