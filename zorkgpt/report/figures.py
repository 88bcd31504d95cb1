"""The figures of runs: of their episodes, their learning and their models, alone and side by side.

``None`` always means that there was nothing to measure.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Literal

from pydantic import SecretStr, ValidationError

from managers.known import Known
from managers.memory.document import parse_memories
from managers.memory.synthesis import VisitTracker
from managers.objectives import FoundObjective, ObjectivesAnswer
from session.errors import StoreError
from session.events import EpisodeEnd, EpisodeStarted, Event, ModelAnswered, ModelFailed, OptionsChanged, TurnPlayed
from session.files.journal import Manifest
from session.game_configuration import GameConfiguration, PriceOptions
from session.game_state import EpisodeProgress, NewBest
from session.memory import MemoryStatus
from session.resolved_configuration import changed
from session.text import counted, one_line
from session.values import ROLES, Role, Seed, TurnRecord
from zorkgpt.llm.budget import Spending, cost_of
from zorkgpt.report.played_run import ModelCall, PlayedEpisode, PlayedRun, has_counts, text_of, tokens_in, uncounted
from zorkgpt.report.repetition import read_known
from zorkgpt.report.run_summary import RunSummary


def repeat_failures(records: Iterable[TurnRecord]) -> Iterator[bool | None]:
    """Yield whether the command of each turn had failed at its location before, in any episode of these turns.

    Yields ``None`` if the location is not known.
    """
    failed: set[tuple[int, str]] = set()
    for record in records:
        if record.before.location is None:
            yield None
            continue
        key = (record.before.location.num, one_line(record.action).casefold())
        yield key in failed
        if has_failed(record):
            failed.add(key)


def has_failed(record: TurnRecord) -> bool:
    """Return whether the command was refused or changed nothing that the player could notice.

    If it is not known what the player noticed, only a refused command counts as failed.
    """
    before, after = record.before, record.after
    if after.refusal is not None:
        return True
    return before.noticed is not None and before.noticed == after.noticed and not after.died and after.ending is None


@dataclass(frozen=True, slots=True)
class RoleUsage:
    """The calls of one role.

    calls, failed: of all calls, and of those that gave no answer
    prompt_tokens, cached_tokens, completion_tokens: of all calls that the server counted; ``None`` if it counted none
    uncounted: how many calls that were answered, usably or not, it did not count
    seconds: wall time of all calls
    retries: requests beyond the first of each call
    median_seconds, longest_seconds: of a call
    dollars: of the calls with a known price; ``None`` if there are none
    unpriced: how many calls that were answered, usably or not, have no known price
    """

    role: Role
    calls: int
    failed: int
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    uncounted: int
    seconds: float
    retries: int
    median_seconds: float
    longest_seconds: float
    dollars: float | None
    unpriced: int


def _usage(role: Role, priced: Sequence[tuple[ModelCall, float | None]]) -> RoleUsage:
    calls = [call for call, _ in priced]
    known = [dollars for call, dollars in priced if _was_answered(call) and dollars is not None]
    return RoleUsage(
        role=role,
        calls=len(calls),
        failed=sum(isinstance(call, ModelFailed) for call in calls),
        prompt_tokens=tokens_in(calls, lambda call: call.prompt_tokens),
        cached_tokens=tokens_in(calls, lambda call: call.cached_tokens),
        completion_tokens=tokens_in(calls, lambda call: call.completion_tokens),
        uncounted=uncounted(calls),
        seconds=round(sum(call.seconds for call in calls), 3),
        retries=sum(max(0, call.requests - 1) for call in calls),
        median_seconds=round(median(call.seconds for call in calls), 3),
        longest_seconds=max(call.seconds for call in calls),
        dollars=sum(known) if known else None,
        unpriced=sum(map(_was_answered, calls)) - len(known),
    )


def _was_answered(call: ModelCall) -> bool:
    """Return whether a model answered, usably or not, so that the call may cost something."""
    return isinstance(call, ModelAnswered) or bool(call.prompt_tokens or call.completion_tokens)


def priced_calls(
    run: PlayedRun, prices: Mapping[str, PriceOptions] = MappingProxyType({})
) -> Iterator[tuple[ModelCall, float | None]]:
    """Yield every model call of the run, in order, with its dollars, ``None`` if its price is not known.

    prices: override the run's
    """
    try:
        then = GameConfiguration.model_validate(run.manifest.configuration)
    except ValidationError:  # the run is of another version
        configuration = None
    else:
        configuration = _with_key(then.model_copy(update={"prices": {**then.prices, **prices}}))
    for event in run.events:
        if isinstance(event, OptionsChanged) and configuration is not None:
            configuration = _with_key(changed(configuration, event.options))
        elif isinstance(event, ModelAnswered | ModelFailed):
            yield event, None if configuration is None else cost_of(event, configuration)


def _with_key(configuration: GameConfiguration) -> GameConfiguration:
    """Return the configuration with a placeholder for the key, which runs do not keep, if a model needs one."""
    key = SecretStr("left out") if configuration.agent_model else None
    return configuration.model_copy(update={"llm": configuration.llm.model_copy(update={"api_key": key})})


_SOURCE = re.compile(r"\b(?:memory|memories|knowledge|map|exits?|untried|facts?|turns? \d+|T\d+)\b", re.IGNORECASE)
"""What a prompt about objectives shows, as evidence names it."""


@dataclass(frozen=True, slots=True)
class EpisodeFigures:
    """The results of an episode.

    end: how it ended; ``unfinished`` if it has not
    score, best_score, max_score: points; ``None`` if they were never known
    rooms: how many were seen; ``None`` if no location was known
    seconds: of its turns, from each observation to the next
    milestones: every new best score, first to last
    repeated_actions: share of the turns (0 to 1) whose command had failed at the same place before, in this episode or
        an earlier one of the run; ``None`` if no place was known
    memory_tokens: of the location memory shown to the agent, a turn; ``None`` if memories are off or no turn
        was played
    route_turns, route_points: turns whose command was taken from a route, and the points won by these; ``None`` if the
        score was not always known
    calls_saved: turns in which the player was not asked: on a course, or if its list had one command
    """

    episode: int
    seed: Seed
    end: EpisodeEnd | Literal["unfinished"]
    turns: int
    score: int | None
    best_score: int | None
    max_score: int | None
    rooms: int | None
    seconds: float
    milestones: tuple[NewBest, ...]
    repeated_actions: float | None
    memory_tokens: float | None
    route_turns: int
    route_points: int | None
    calls_saved: int

    def turns_to(self, score: float) -> int | None:
        """Return the number of the turn after which at least this score was first seen; ``None`` for none."""
        return next((best.turn for best in self.milestones if best.score >= score), None)


@dataclass(frozen=True, slots=True)
class Milestone:
    """A score, in points, that was a new best in some episode.

    turns: after how many turns each episode is known to have had as much, in the order of the episodes; ``None`` for
        none
    """

    score: int
    turns: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Metrics:
    """The success metrics of a run; docs/reference/figures.md defines them, with the value that each should have.

    repeated_actions, memory_coverage, objectives_located, objectives_cited, route_turns: shares (0 to 1)
    memory_tokens: a turn; objective_tokens, objective_seconds: of an update, on average
    milestones: lowest score first
    route_points: ``None`` if the score was not always known
    calls_saved: turns in which the player was not asked: on a course, or if its list had one command
    """

    repeated_actions: float | None
    memory_tokens: float | None
    milestones: tuple[Milestone, ...]
    memory_coverage: float | None
    core_downgrades: int | None
    tentative_memories: int | None
    objectives: int | None
    objectives_located: float | None
    objectives_cited: float | None
    objective_tokens: float | None
    objective_seconds: float | None
    route_turns: float | None
    route_points: int | None
    calls_saved: int


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What a run was, what came of each episode, and what it took; ``points``: as in ``PlayedRun``."""

    run: RunSummary
    manifest: Manifest
    episodes: tuple[EpisodeFigures, ...]
    metrics: Metrics
    usage: tuple[RoleUsage, ...]
    points: str = ""

    @property
    def dollars(self) -> float | None:
        """Of the calls with a known price; ``None`` if there are none."""
        known = [role.dollars for role in self.usage if role.dollars is not None]
        return sum(known) if known else None

    @property
    def unpriced(self) -> int:
        """How many calls that were answered, usably or not, have no known price."""
        return sum(role.unpriced for role in self.usage)


def figures_of(run: PlayedRun, prices: Mapping[str, PriceOptions] = MappingProxyType({})) -> RunFigures:
    """Return the figures of the run; ``prices`` of models override those that it was begun with."""
    repeated = list(repeat_failures(turn.played.record for episode in run.episodes for turn in episode.turns))
    of_episodes = iter(repeated)
    episodes = tuple(_episode(each, of_episodes, has_memories=run.memories is not None) for each in run.episodes)
    metrics = _metrics(run, episodes, mean(repeated))
    by_role: dict[Role, list[tuple[ModelCall, float | None]]] = {role: [] for role in ROLES}
    for call, dollars in priced_calls(run, prices):
        by_role.setdefault(call.role, []).append((call, dollars))
    usage = tuple(_usage(role, priced) for role, priced in by_role.items() if priced)
    return RunFigures(run.summary, run.manifest, episodes, metrics, usage, run.points)


def new_best_scores(episodes: Iterable[EpisodeFigures]) -> list[int]:
    """Return every score that was a new best in some episode, the lowest first."""
    return sorted({best.score for episode in episodes for best in episode.milestones})


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values, ``None`` if there are none. Of booleans: the share that is true."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def total(values: Iterable[int | None]) -> int | None:
    """Return the sum, ``None`` if one of the values is unknown."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def core_downgrades(events: Iterable[Event]) -> int | None:
    """Count the core memories that a model proposed for a visit that was not new, or not the episode's first there.

    A visit is new until the first call about it. Returns ``None`` if no model answered about memories, alone or at
    an episode's end with other questions.
    """
    visit, is_new = VisitTracker(), False
    downgrades: int | None = None
    for event in events:
        if isinstance(event, EpisodeStarted):
            visit, is_new = VisitTracker(), False
        elif isinstance(event, TurnPlayed):
            location = event.record.before.location
            if location is not None and event.record.after.refusal is None and location.num != visit.location_id:
                is_new = visit.enter(location.num)
        elif isinstance(event, ModelAnswered) and (event.role == "memory" or "memories" in event.answer):
            downgrades = (downgrades or 0) + (0 if is_new else _core_memories(event.answer))
            is_new = False
        elif isinstance(event, ModelFailed) and event.role == "memory":
            is_new = False
    return downgrades


def _core_memories(answer: dict[str, object]) -> int:
    """Count the core memories of an answer, which is a list of memories or a single one."""
    memories = answer.get("memories", [answer])
    if not isinstance(memories, list):
        return 0
    return sum(isinstance(memory, dict) and memory.get("persistence") == "core" for memory in memories)


def _on_routes(turns: Iterable[TurnRecord]) -> Iterator[TurnRecord]:
    """Yield the turns of an episode whose commands were taken from a route. A walk to a location is not a route."""
    walks = False
    for record in turns:
        if record.proposals[-1].wants_way:
            walks = record.proposals[-1].go_to is not None
        if record.is_of_route and not walks:
            yield record


def _episode(episode: PlayedEpisode, repeated: Iterator[bool | None], *, has_memories: bool) -> EpisodeFigures:
    """Return the figures of an episode; ``repeated``: for each turn from here on whether it repeats a failure."""
    turns = [turn.played for turn in episode.turns]
    by_route = list(_on_routes(turn.record for turn in turns))
    unasked = [turn for turn in episode.turns if turn.played.record.is_unasked]
    progress = EpisodeProgress(episode.started.opening)
    for turn in turns:
        progress.count(turn.record, turn.seconds)
    return EpisodeFigures(
        episode=episode.started.episode,
        seed=episode.started.seed,
        end=episode.ended.end if episode.ended else "unfinished",
        turns=progress.turns,
        score=progress.score,
        best_score=progress.best_score,
        max_score=progress.max_score,
        rooms=len(progress.rooms) or None,
        seconds=round(progress.seconds, 3),
        milestones=tuple(progress.new_bests),
        repeated_actions=mean(islice(repeated, len(turns))),
        memory_tokens=mean(turn.memory_tokens for turn in turns) if has_memories else None,
        route_turns=len(by_route),
        route_points=None if progress.score is None else total(record.score_change for record in by_route),
        calls_saved=sum(all(call.role != "agent" for call in turn.calls) for turn in unasked),
    )


def _metrics(run: PlayedRun, episodes: Sequence[EpisodeFigures], repeated_actions: float | None) -> Metrics:
    turns = [event for event in run.events if isinstance(event, TurnPlayed)]
    updates = list(_objective_updates(run.events))
    found = [objective for _, objectives in updates for objective in objectives]
    memories = [(place, memory) for place, each in (run.memories or {}).items() for memory in each]
    visited = {turn.record.before.location.num for turn in turns if turn.record.before.location}
    remembered = {place for place, memory in memories if not memory.is_given_up}
    return Metrics(
        repeated_actions=repeated_actions,
        memory_tokens=None if run.memories is None else mean(turn.memory_tokens for turn in turns),
        milestones=tuple(
            Milestone(score, tuple(episode.turns_to(score) for episode in episodes))
            for score in new_best_scores(episodes)
        ),
        memory_coverage=None if run.memories is None else mean(place in remembered for place in visited),
        core_downgrades=core_downgrades(run.events),
        tentative_memories=None
        if run.memories is None
        else sum(memory.status == MemoryStatus.TENTATIVE for _, memory in memories),
        objectives=len(found) if updates else None,
        objectives_located=mean(each.location_id is not None for each in found),
        objectives_cited=mean((_SOURCE.search(f"{each.text} {each.evidence}") is not None) for each in found),
        objective_tokens=mean(
            each.prompt_tokens + each.completion_tokens if has_counts(each) else None for each, _ in updates
        ),
        objective_seconds=mean(answered.seconds for answered, _ in updates),
        route_turns=sum(episode.route_turns for episode in episodes) / len(turns) if turns else None,
        route_points=total(episode.route_points for episode in episodes),
        calls_saved=sum(episode.calls_saved for episode in episodes),
    )


def _objective_updates(events: Iterable[Event]) -> Iterator[tuple[ModelAnswered, list[FoundObjective]]]:
    """Yield the answers with objectives; the role ``analysis`` also answers other questions, in another form."""
    for event in events:
        if isinstance(event, ModelAnswered) and event.role == "analysis" and "objectives" in event.answer:
            with suppress(ValidationError):
                yield event, ObjectivesAnswer.model_validate(event.answer).objectives


def gains_line(
    figures: RunFigures, configuration: GameConfiguration, locations: int, known: Known, spending: Spending
) -> str:
    """Return a line on what was learned, the last episode's score, and the cost; "" without an episode.

    locations, known: what is on the map, and what the managers know now
    """
    if not figures.episodes:
        return ""
    memories = sum(map(len, replace(known, ephemeral={}).believed.values()))
    learned = [counted(locations, "location")]
    learned += [counted(len(known.routes), "route")] if configuration.routes.enabled else []
    learned += [counted(memories, "memory", "memories")] if configuration.simple_memory.enabled else []
    if configuration.knowledge.enabled:
        learned.append(counted(len(known.knowledge), "line of knowledge", "lines of knowledge"))
    line = f"Learned so far: {', '.join(learned)}."
    last = next((each for each in reversed(figures.episodes) if each.score is not None), None)
    if last is not None and last.score is not None:
        points = counted(last.score, "point") if last.max_score is None else f"{last.score} of {last.max_score} points"
        points += " of milestones" if figures.points else ""
        points += f", of which {last.route_points} by routes" if last.route_points else ""
        line += f" Episode {last.episode}: {points}."
    return line + (f" Cost: {', '.join(spending.words)}." if spending.words else "")


def known_in(copies: Path) -> dict[str, int | None] | None:
    """Count the believed memories, lines of knowledge, rooms and routes in copies of the shared files.

    A number is ``None`` if its copy is missing. Returns ``None`` without a folder of copies. Raises ``StoreError``.
    """
    if not copies.is_dir():
        return None

    def fail(error: StoreError) -> None:
        raise error

    memories = parse_memories(text_of(copies / "Memories.md")).memories()
    known, graph = read_known(copies.joinpath, memories, logging.getLogger("zorkgpt").warning, fail)
    counts = {
        "Memories.md": ("memories", sum(map(len, known.believed.values()))),
        "knowledgebase.md": ("knowledge", len(known.knowledge)),
        "map_state.json": ("rooms", len(graph.rooms) if graph else 0),
        "routes.json": ("routes", len(known.routes)),
    }
    return {kind: count if (copies / name).exists() else None for name, (kind, count) in counts.items()}
