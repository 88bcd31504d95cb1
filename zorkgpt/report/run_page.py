"""Tells a run to the page of a report: turn by turn, with its map, its milestones and what cannot be shown."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal

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
from session.text import counted
from zorkgpt.llm.run_model import PLAYING_ROLES
from zorkgpt.report.figures import figures_of
from zorkgpt.report.learnt import items_of
from zorkgpt.report.page_data import Happening, Note, PageAttempt, PageCall, PageEpisode, PageRun, PageTurn, Tokens
from zorkgpt.report.page_moments import map_of, marks_of, milestones_of
from zorkgpt.report.repetition import RebuiltPrompt, Repetition, RunMoment
from zorkgpt.report.usage import PricedCall, priced_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from session.events import Event
    from session.values import GameObject, Observation, Proposal, Verdict
    from zorkgpt.report.figures import EpisodeFigures
    from zorkgpt.report.files_at_end import AtEnd
    from zorkgpt.report.played_run import PlayedEpisode, PlayedRun


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
    number, turns = figures.episode, [_opening(episode, told)]
    turns += (_turn(each.played, told) for each in episode.turns)
    next_moment = RunMoment(number, figures.turns + 1)
    if episode.ended is None and (told.calls.get(next_moment) or told.events.get(next_moment)):
        turns.append(_unplayed(next_moment, episode.observations[-1], told))
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


def _opening(episode: PlayedEpisode, told: _Told) -> PageTurn:
    return _told_turn(RunMoment(episode.started.episode, 0), episode.started.opening, told)


def _unplayed(moment: RunMoment, seen: Observation, told: _Told) -> PageTurn:
    turn = _told_turn(moment, replace(seen, text="", died=False), told)
    return replace(turn, unplayed=True)


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
