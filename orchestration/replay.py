"""Plays a run again from its journal: to prove it, or to go on differently from one of its turns."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import TYPE_CHECKING

from orchestration.bootstrap import Run, assemble, started
from orchestration.resumption import matching_snapshot, open_resumed_run, require_story
from orchestration.run_record import CheckedRecord
from orchestration.story_binding import bind_to_story
from session.configuration.option_groups import BudgetOptions
from session.errors import ConfigurationError, StoreError, ZorkGPTError
from session.events import (
    EpisodeStarted,
    GameFailed,
    MemoryRemoved,
    ModelAnswered,
    ModelFailed,
    RunEnded,
    RunPaused,
    RunStarted,
    TurnPlayed,
)
from session.files.journal import Journal, JournalLine, Manifest, new_run_id, read_journal, read_manifest
from session.files.recording import Difference, Diverged, Recording, RecordingEnded
from session.files.run_folders import (
    AT_START,
    RUNS,
    digests_at_start,
    fork_folder,
    keep_shared_files,
    restore_shared_files,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from game_interface.core.game import Game
    from orchestration.bootstrap import Parts
    from session.events import Event
    from session.game_configuration import GameConfiguration


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay.

    turns: that were repeated
    is_whole: the recording goes to the end of the run
    difference: the first one, ``None`` where there is none
    """

    turns: int
    is_whole: bool
    difference: Difference | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a fork leaves its run, and how.

    episode, turn: the last turn that is repeated
    without: titles of memories that are gone from then on
    """

    episode: int
    turn: int
    without: tuple[str, ...] = ()


def verify(configuration: GameConfiguration, parts: Parts, folder: Path, show: Callable[[Event], None]) -> Replayed:
    """The run of that folder was played again with its recorded answers, in a work folder that is gone again.

    Every prompt, observation, verdict and shared file has to be the recorded one. Raises ``StoreError`` where the
    story, the journal, the snapshot or what the run began with is not what it was, naming it.
    """
    manifest, lines = read_manifest(folder), list(read_journal(folder))
    require_story(manifest, parts)
    _require_intact(folder, lines)
    turns = 0

    def count(event: Event) -> None:
        nonlocal turns
        turns += isinstance(event, TurnPlayed)
        show(event)

    is_whole = any(isinstance(line.event, RunEnded) for line in lines)
    with TemporaryDirectory(prefix="zorkgpt-replay-") as scratch:
        unlimited = configuration.model_copy(update={"zork_game_workdir": Path(scratch), "budgets": BudgetOptions()})
        restore_shared_files(unlimited, folder / AT_START)
        record = CheckedRecord(Recording(lines[1:]), count)
        with assemble(unlimited, replace(parts, model=None), manifest, record, Flag()) as run:
            try:
                run.play()
            except RecordingEnded:
                return Replayed(turns, is_whole=False)
            except Diverged as divergence:
                return Replayed(turns, is_whole, divergence.difference)
    return Replayed(turns, is_whole)


def verify_actions(parts: Parts, folder: Path, show: Callable[[Event], None]) -> Replayed:
    """The run's commands were given to the story again, and nothing else; every observation has to be the recorded one.

    Raises ``StoreError`` where the story or the journal is not what it was.
    """
    manifest, lines = read_manifest(folder), list(read_journal(folder))
    require_story(manifest, parts)
    turns, has_failed = 0, False
    for line in lines:
        event = line.event
        if isinstance(event, GameFailed):
            has_failed = True
        elif isinstance(event, EpisodeStarted | TurnPlayed):
            found = _repeated(parts.game, event, has_failed=has_failed)
            if found != event:
                return Replayed(turns, is_whole=True, difference=Difference(line.seq, event, found))
            turns, has_failed = turns + isinstance(event, TurnPlayed), False
            show(event)
    return Replayed(turns, any(isinstance(line.event, RunEnded) for line in lines))


@contextmanager
def open_fork(
    configuration: GameConfiguration,
    parts: Parts,
    folder: Path,
    branch: Branch,
    *,
    show: Callable[[Event], None],
    stop: Flag,
) -> Iterator[Run]:
    """A new run in a work folder of its own repeats that one up to the branch, and is then played by ``parts.model``.

    Raises ``ConfigurationError`` where the run has no such turn, and, leaving nothing behind, where there is no such
    memory at that turn; ``Diverged``, leaving nothing behind, where it is not repeated.
    """
    manifest, lines = read_manifest(folder), list(read_journal(folder))
    require_story(manifest, parts)
    recorded = _up_to(lines, branch)
    run_id = new_run_id()
    own = fork_folder(configuration.zork_game_workdir, run_id)
    forked = configuration.model_copy(update={"zork_game_workdir": own})
    new = _forked(manifest, forked, parts, run_id)
    run_folder = _beginning(forked, parts, folder, new, [*recorded, *map(MemoryRemoved, branch.without)])
    with (
        _undone_on(own, ConfigurationError, Diverged),
        open_resumed_run(forked, parts, run_folder, show=show, stop=stop) as run,
    ):
        yield run


def _beginning(
    configuration: GameConfiguration, parts: Parts, folder: Path, manifest: Manifest, events: Sequence[Event]
) -> Path:
    """The run folder of a fork that is to repeat these events; all of it is there or nothing."""
    own = configuration.zork_game_workdir
    unready = configuration.model_copy(update={"zork_game_workdir": own.with_name(f".{own.name}")})
    restore_shared_files(unready, folder / AT_START)
    bind_to_story(unready.zork_game_workdir, parts.game.facts)
    journal = Journal.create(unready.zork_game_workdir / RUNS, manifest)
    keep_shared_files(unready, journal.folder / AT_START)
    run_started = started(configuration, parts, manifest, journal.folder)
    run_folder = own / RUNS / manifest.run_id
    for event in (replace(run_started, folder=str(run_folder)), *events):
        journal.append(event)
    journal.close()
    unready.zork_game_workdir.rename(own)
    return run_folder


@contextmanager
def _undone_on(folder: Path, *errors: type[ZorkGPTError]) -> Iterator[None]:
    """The folder is gone where the block raises one of these."""
    try:
        yield
    except errors:
        rmtree(folder)
        raise


def _require_intact(folder: Path, lines: Sequence[JournalLine]) -> None:
    matching_snapshot(folder, lines)
    if not lines or not isinstance(lines[0].event, RunStarted):
        raise StoreError(f"the journal in {folder} does not tell how its run began")
    now = digests_at_start(folder)
    for name, digest in lines[0].event.files.items():
        if now.get(name) != digest:
            raise StoreError(f"{folder / name} is not what it was when the run began")


def _repeated(game: Game, event: EpisodeStarted | TurnPlayed, *, has_failed: bool) -> EpisodeStarted | TurnPlayed:
    if isinstance(event, EpisodeStarted):
        return replace(event, opening=game.reset(event.seed))
    if has_failed and event.record.after.refusal is not None:
        return event
    return replace(event, record=replace(event.record, after=game.step(event.record.action)))


def _up_to(lines: Sequence[JournalLine], branch: Branch) -> list[Event]:
    """The events after the run's start up to the branch, with what was learnt from its last turn.

    Where an episode ends with that turn the next one has begun.
    """
    at = next(
        (
            index
            for index, line in enumerate(lines)
            if isinstance(line.event, TurnPlayed)
            and (line.event.record.episode, line.event.record.turn) == (branch.episode, branch.turn)
        ),
        None,
    )
    if at is None:
        raise ConfigurationError(f"the run has no turn {branch.turn} in episode {branch.episode}")
    end = at + 1
    while end < len(lines) and not _is_beyond(lines[end].event):
        end += 1
    if end < len(lines) and isinstance(lines[end].event, RunEnded):
        raise ConfigurationError(f"the run ends with turn {branch.turn} of episode {branch.episode}")
    return [line.event for line in lines[1:end] if line.event is not None]


def _is_beyond(event: Event | None) -> bool:
    """It belongs to the next turn, or to the end of the run."""
    asked = isinstance(event, ModelAnswered | ModelFailed) and event.role == "agent"
    return asked or isinstance(event, RunPaused | RunEnded | GameFailed)


def _forked(manifest: Manifest, configuration: GameConfiguration, parts: Parts, run_id: str) -> Manifest:
    return manifest.model_copy(
        update={
            "run_id": run_id,
            "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "configuration": configuration.without_keys(),
            "model": parts.model.description if parts.model else manifest.model,
            "forked_from": manifest.run_id,
        }
    )
