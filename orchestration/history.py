"""Resumes, replays and forks runs from their journals (ADR 31)."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import Literal

from pydantic import BaseModel

from managers.base_manager import BaseManager
from orchestration.learning import shared_files
from orchestration.parts import Parts, bind_to_story
from orchestration.recorded_configuration import require_files
from orchestration.run import Run, RunPosition, assemble, begin, started
from session.errors import ConfigurationError, StoreError
from session.events import (
    EpisodeEnded,
    EpisodeStarted,
    Event,
    GameFailed,
    MemoryRemoved,
    ModelAnswered,
    ModelFailed,
    OptionsChanged,
    ProposalReviewed,
    Proposed,
    RunEnded,
    RunMoment,
    RunPaused,
    RunStarted,
    TurnPlayed,
    moment_of,
)
from session.files.journal import Journal, JournalLine, Manifest, new_run_id, read_journal, read_manifest
from session.files.recording import Difference, Diverged, Recording, RecordingEnded, is_same
from session.files.run_folders import AT_END, AT_START, Checkpoint, claimed, fork_folder, latest_checkpoint, put_last
from session.files.shared_files import RUNS, require_no_link
from session.game_configuration import BudgetOptions, GameConfiguration
from session.processes import program
from session.resolved_configuration import HANDED_OVER, keep_budgets, rebuilt_with
from session.text import counted
from session.values import Observation
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.run_model import PLAYING_ROLES, RepeatedCall
from zorkgpt.mapping.map_graph import MapGraph

_LOG = logging.getLogger(__name__)


@contextmanager
def open_resumed_run(
    configuration: GameConfiguration,
    parts: Parts,
    folder: Path,
    *,
    show: Callable[[Event], None],
    stop: Flag,
    repeated: Callable[[int, int], None] = lambda _done, _all: None,
    forked_from: Path | None = None,
) -> Iterator[Run]:
    """Open a run to continue after its latest turn, whatever stopped it.

    Playing it first repeats the open episode from the latest checkpoint, then reconciles the shared files with what the
    run had written to them.

    repeated: called after each repeated turn with the number of repeated turns and the total
    forked_from: the original run of a new fork, for error messages; all events of a new fork are shown
    Raises ``StoreError`` if the run has ended, is in progress or is damaged; ``GameError``; and ``Diverged``, also
    during play, if a recorded turn is repeated with another result.
    """
    manifest = _manifest_in(folder, parts)
    with ExitStack() as stack:
        stack.enter_context(claimed(folder))
        lines = list(read_journal(folder))
        stack.enter_context(_divergence_explained(forked_from or folder, lines))
        if any(isinstance(line.event, RunEnded) for line in lines):
            raise StoreError(
                f"run {manifest.run_id} has ended; only a run that was interrupted or paused can be resumed"
            )
        if parts.model is not None and forked_from is None:
            parts.model.try_out(False)
        checkpoint = _checkpoint_in(folder, lines)
        done = checkpoint.seq or min(1, len(lines))
        journal = Journal.reopen(folder, lines, lines[done - 1] if done else None)
        stack.callback(journal.close)
        keep_budgets(folder, configuration.budgets)
        put_last(folder)
        for mended in shared_files(configuration).mend_from(checkpoint.copies):
            _LOG.warning("%s was lost, as in a power cut; it is written again from the run's checkpoint", mended)
        stack.enter_context(shared_files(configuration).copied_at_end(folder / AT_END))
        recording = Recording(show, journal, lines[done:], repeated, shows_repeated=forked_from is not None)
        run = stack.enter_context(
            assemble(
                configuration, parts, manifest, recording, stop, journal, copies=checkpoint.copies if lines else None
            )
        )
        for line in lines[:done]:
            if line.event is not None:
                run.model.count(line.event)
                if forked_from is not None:
                    show(line.event)
        if not lines:
            begin(configuration, parts, manifest, recording, folder)
        yield replace(run, position=_position(lines, done))


def _checkpoint_in(folder: Path, lines: Sequence[JournalLine]) -> Checkpoint:
    """Return the latest checkpoint of a run. Raises ``StoreError`` if it does not match the journal."""
    checkpoint = latest_checkpoint(folder)
    if checkpoint.seq and (checkpoint.seq > len(lines) or lines[checkpoint.seq - 1].sum != checkpoint.sum):
        raise StoreError(
            f"{checkpoint.copies} does not match the journal in the same folder: the journal was truncated or changed"
        )
    return checkpoint


def _position(lines: Sequence[JournalLine], done: int) -> RunPosition:
    """Return the position of a run whose first ``done`` lines need not be repeated."""
    index = sum(isinstance(line.event, EpisodeEnded) for line in lines[:done])
    position = RunPosition(index)
    for line in lines[done:]:
        if moment := moment_of(line.event):
            position = RunPosition(index, *moment)
    return position


@contextmanager
def _divergence_explained(run: Path, lines: Sequence[JournalLine]) -> Iterator[None]:
    """Raise a ``Diverged`` of the block with a message for the run in that folder, whose ``lines`` are repeated."""
    try:
        yield
    except Diverged as divergence:
        to_repeat = (line.event for line in lines[divergence.difference.line - 1 :])
        turn = next((event.record for event in to_repeat if isinstance(event, TurnPlayed)), None)
        place = f"turn {turn.turn} of episode {turn.episode}" if turn else "its latest turn"
        message = (
            f"run {run.name} cannot continue: with this version or these files it plays differently from {place} on; "
            f"{program()} replay {shlex.quote(str(run))} shows the difference"
        )
        raise Diverged(divergence.difference, message) from divergence


def _manifest_in(folder: Path, parts: Parts) -> Manifest:
    """Return the manifest of a run. Raises ``StoreError`` if the story is not the one that the run began with."""
    manifest = read_manifest(folder)
    if parts.game.facts.sha256 != manifest.story_sha256:
        raise StoreError(f"{parts.story.path} is not the story that run {manifest.run_id} was begun with")
    return manifest


@dataclass(frozen=True, slots=True)
class Branch:
    """The point at which a fork leaves its run.

    episode, turn: the last repeated turn
    without: titles of memories to remove after it
    """

    episode: int
    turn: int
    without: tuple[str, ...] = ()


@contextmanager
def open_fork(
    configuration: GameConfiguration,
    parts: Parts,
    folder: Path,
    branch: Branch,
    *,
    show: Callable[[Event], None],
    stop: Flag,
    repeated: Callable[[int, int], None] = lambda _done, _all: None,
) -> Iterator[Run]:
    """Open a new run in its own work folder that repeats the run up to the branch, then lets ``parts.model`` play.

    Raises ``ConfigurationError`` if the run has no such turn or, at that turn, no such memory, and ``Diverged`` if a
    turn is repeated with another result. No files are left behind then.
    """
    manifest, lines = _manifest_in(folder, parts), list(read_journal(folder))
    recorded = _up_to(lines, branch)
    if parts.model is not None:
        parts.model.try_out(True)
    begun_with = GameConfiguration.model_validate(manifest.configuration)
    before_model = rebuilt_with(configuration, begun_with, HANDED_OVER)
    new = manifest.model_copy(
        update={
            "run_id": new_run_id(),
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "configuration": before_model.without_keys(),
            "player": parts.player.name if parts.player else manifest.player,
            "model": parts.model.names if parts.model else manifest.model,
            "server": parts.model.servers if parts.model else manifest.server,
            "engine": parts.model.engine if parts.model else manifest.engine,
            "forked_from": manifest.run_id,
        }
    )
    own = fork_folder(configuration.zork_game_workdir, new.run_id)
    require_no_link(own.parent)
    forked = configuration.model_copy(update={"zork_game_workdir": own})
    _copy_beginning(forked, parts, folder, new, [*recorded, *map(MemoryRemoved, branch.without)])
    run_folder = own / RUNS / new.run_id
    try:
        with open_resumed_run(
            forked, parts, run_folder, show=show, stop=stop, repeated=repeated, forked_from=folder
        ) as run:
            yield run
    except (ConfigurationError, Diverged):
        rmtree(own)
        raise


def _copy_beginning(
    configuration: GameConfiguration, parts: Parts, folder: Path, manifest: Manifest, events: Sequence[Event]
) -> None:
    """Create the work folder of a fork that repeats these events, completely or not at all."""
    own = configuration.zork_game_workdir
    unready = configuration.model_copy(update={"zork_game_workdir": own.with_name(f".{own.name}")})
    shared_files(unready).restore_from(folder / AT_START)
    bind_to_story(unready.zork_game_workdir, parts.game.facts)
    journal = Journal.create(unready.zork_game_workdir / RUNS, manifest)
    shared_files(unready).copy_to(journal.folder / AT_START)
    run_started = started(configuration, parts, manifest, journal.folder)
    for event in (replace(run_started, folder=str(own / RUNS / manifest.run_id)), *events):
        journal.append(event)
    journal.close()
    unready.zork_game_workdir.rename(own)


def _up_to(lines: Sequence[JournalLine], branch: Branch) -> list[Event]:
    """Return the events from the start of the run to the branch, including what was learned from the last turn."""
    turns = [(at, line.event.record) for at, line in enumerate(lines) if isinstance(line.event, TurnPlayed)]
    end = next((at + 1 for at, turn in turns if (turn.episode, turn.turn) == (branch.episode, branch.turn)), None)
    if end is None:
        raise ConfigurationError(
            f"the run has no turn {branch.turn} in episode {branch.episode}; "
            f"it has {counted(len(turns), 'turn')} in all"
        )
    next_turn = TurnPlayed | Proposed | ProposalReviewed | RunPaused | RunEnded | GameFailed
    while end < len(lines) and not isinstance(event := lines[end].event, next_turn):
        if isinstance(event, ModelAnswered | ModelFailed) and event.role == "agent":
            break
        end += 1
    if end < len(lines) and isinstance(lines[end].event, RunEnded):
        raise ConfigurationError(
            f"the run ends with turn {branch.turn} of episode {branch.episode}: choose an earlier one"
        )
    events = [line.event for line in lines[1:end] if line.event is not None]
    return [event for event in events if not isinstance(event, OptionsChanged) or "agent.player" in event.options]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay.

    is_whole: whether the recording includes the end of the run
    """

    turns: int
    is_whole: bool
    difference: Difference | None = None


def verify(
    configuration: GameConfiguration,
    parts: Parts,
    folder: Path,
    show: Callable[[Event], None],
    asked: Callable[[RepeatedCall], None] = lambda _call: None,
    meet: Callable[[Sequence[BaseManager], MapGraph], None] = lambda _managers, _map: None,
    until: RunMoment | Literal["damage"] | None = None,
) -> Replayed:
    """Repeat a run with its recorded answers in a temporary work folder, and compare every event.

    asked: called with every prompt, including the first one that differs from the recorded one
    meet: called with the managers and the map before the first episode, so that ``show`` and ``asked`` can inspect them
    until: repeat no turn after this one, and read no more of the journal than that takes; ``None`` for all turns;
        ``damage`` for the readable part of a damaged journal, whatever the checkpoints are
    Every prompt, observation, verdict and shared file must match the recording. Raises ``StoreError`` with the name of
    the file if the story, the journal, a checkpoint or an initial file was changed.
    """
    manifest, lines = _manifest_in(folder, parts), _lines_from_start(folder, until)
    turns = 0
    moment = RunMoment(manifest.first_episode, 0)

    def count(event: Event) -> None:
        nonlocal turns, moment
        turns += isinstance(event, TurnPlayed)
        moment = moment_of(event) or moment
        show(event)

    def tell(role: Role, prompt: Prompt, schema: type[BaseModel]) -> None:
        recorded, (episode, turn) = recording.next_event, moment
        if isinstance(recorded, ModelAnswered | ModelFailed):
            asked(RepeatedCall(episode, turn + (role in PLAYING_ROLES), role, prompt, recorded, schema))

    is_whole = any(isinstance(line.event, RunEnded) for line in lines)
    with TemporaryDirectory(prefix="zorkgpt-replay-") as scratch:
        unlimited = configuration.model_copy(update={"zork_game_workdir": Path(scratch), "budgets": BudgetOptions()})
        recording = Recording(count, recorded=lines[1:])
        copies, alone = folder / AT_START, replace(parts, model=None, asked=tell)
        with assemble(unlimited, alone, manifest, recording, Flag(), copies=copies) as run:
            meet(run.orchestrator.learning.managers, run.orchestrator.learning.map.game_map)
            try:
                run.play()
            except RecordingEnded:
                return Replayed(turns, is_whole=False)
            except Diverged as divergence:
                return Replayed(turns, is_whole, divergence.difference)
    return Replayed(turns, is_whole)


def _lines_from_start(folder: Path, until: RunMoment | Literal["damage"] | None) -> list[JournalLine]:
    """Return the lines of a journal that can be repeated from the unchanged files of the run's start."""
    lines: list[JournalLine] = []
    last = None if until == "damage" else until
    with suppress(StoreError) if until == "damage" else nullcontext():
        for line in read_journal(folder):  # keeps the lines before an error
            event = line.event
            if last and isinstance(event, TurnPlayed) and (event.record.episode, event.record.turn) > last:
                break
            lines.append(line)
        else:
            if until != "damage":
                _checkpoint_in(folder, lines)
    if not lines or not isinstance(lines[0].event, RunStarted):
        raise StoreError(f"the journal in {folder} does not contain the start of its run")
    require_files(lines[0].event.files, folder)
    return lines


def _as_recorded(recorded: Observation, found: Observation) -> Observation:
    """Return ``found`` with what versions of the program differ in: things in sight, and whether a loss was a death."""
    if recorded.world_hash and recorded.world_hash == found.world_hash:
        found = replace(found, visible=recorded.visible)
    return replace(found, died=recorded.died) if recorded.ending == found.ending == "lost" else found


def verify_actions(parts: Parts, folder: Path, show: Callable[[Event], None]) -> Replayed:
    """Play only the run's commands again, and compare every observation with the recorded one.

    What is in sight is read from the story's memory, so that it is not compared if the hash of the objects is equal:
    the version that recorded the run may have read less. Nor is it whether a lost game was called a death.

    Raises ``StoreError`` if the story or the journal was changed.
    """
    _manifest_in(folder, parts)
    lines = list(read_journal(folder))
    turns, has_failed = 0, False
    for line in lines:
        event = line.event
        if isinstance(event, GameFailed):
            has_failed = True
        elif isinstance(event, EpisodeStarted | TurnPlayed):
            if isinstance(event, EpisodeStarted):
                found: Event = replace(event, opening=_as_recorded(event.opening, parts.game.reset(event.seed)))
            elif has_failed and event.record.after.refusal is not None:
                found = event
            else:
                after = _as_recorded(event.record.after, parts.game.step(event.record.action))
                found = replace(event, record=replace(event.record, after=after))
            if not is_same(event, found):
                return Replayed(turns, is_whole=True, difference=Difference(line.seq, event, found))
            turns, has_failed = turns + isinstance(event, TurnPlayed), False
            show(event)
    return Replayed(turns, any(isinstance(line.event, RunEnded) for line in lines))
