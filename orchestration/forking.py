"""Goes on with a run differently from one of its turns, in a work folder of its own."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from shutil import rmtree
from typing import TYPE_CHECKING

from orchestration.managers import shared_files
from orchestration.resumption import open_resumed_run, require_story
from orchestration.run_record import started
from orchestration.story import bind_to_story
from session.errors import ConfigurationError, ZorkGPTError
from session.events import (
    GameFailed,
    MemoryRemoved,
    ModelAnswered,
    ModelFailed,
    OptionsChanged,
    RunEnded,
    RunPaused,
    TurnPlayed,
)
from session.files.journal import Journal, JournalLine, Manifest, new_run_id, read_journal, read_manifest
from session.files.recording import Diverged
from session.files.run_folders import (
    AT_START,
    RUNS,
    fork_folder,
)
from session.text import counted
from zorkgpt.llm.journaled import Asked, unwatched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from threading import Event as Flag

    from orchestration.bootstrap import Run
    from orchestration.opening import Parts
    from session.events import Event
    from session.game_configuration import GameConfiguration


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a fork leaves its run, and how.

    episode, turn: the last turn that is repeated
    without: titles of memories that are gone from then on
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
    asked: Asked = unwatched,
) -> Iterator[Run]:
    """Open a new run in a work folder of its own: it repeats the run up to the branch, then ``parts.model`` plays.

    asked: told what a model is being asked
    Raises ``ConfigurationError`` where the run has no such turn, and, leaving nothing behind, where there is no such
    memory at that turn; ``Diverged``, leaving nothing behind, where it is not repeated.
    """
    manifest, lines = read_manifest(folder), list(read_journal(folder))
    require_story(manifest, parts)
    recorded = _up_to(lines, branch)
    if parts.model is not None:
        parts.model.try_out()
    run_id = new_run_id()
    own = fork_folder(configuration.zork_game_workdir, run_id)
    forked = configuration.model_copy(update={"zork_game_workdir": own})
    new = _forked(manifest, forked, parts, run_id)
    run_folder = _beginning(forked, parts, folder, new, [*recorded, *map(MemoryRemoved, branch.without)])
    with (
        _undone_on(own, ConfigurationError, Diverged),
        open_resumed_run(forked, parts, run_folder, show=show, stop=stop, asked=asked, forked_from=folder) as run,
    ):
        yield run


def _beginning(
    configuration: GameConfiguration, parts: Parts, folder: Path, manifest: Manifest, events: Sequence[Event]
) -> Path:
    """Make the run folder of a fork that is to repeat these events: all of it, or nothing."""
    own = configuration.zork_game_workdir
    unready = configuration.model_copy(update={"zork_game_workdir": own.with_name(f".{own.name}")})
    shared_files(unready).restore_from(folder / AT_START)
    bind_to_story(unready.zork_game_workdir, parts.game.facts)
    journal = Journal.create(unready.zork_game_workdir / RUNS, manifest)
    shared_files(unready).copy_to(journal.folder / AT_START)
    run_started = started(configuration, parts, manifest, journal.folder)
    run_folder = own / RUNS / manifest.run_id
    for event in (replace(run_started, folder=str(run_folder)), *events):
        journal.append(event)
    journal.close()
    unready.zork_game_workdir.rename(own)
    return run_folder


@contextmanager
def _undone_on(folder: Path, *errors: type[ZorkGPTError]) -> Iterator[None]:
    """Remove the folder where the block raises one of these errors."""
    try:
        yield
    except errors:
        rmtree(folder)
        raise


def _up_to(lines: Sequence[JournalLine], branch: Branch) -> list[Event]:
    """Return the events from the run's start to the branch, with what was learnt from the last turn.

    Where an episode ends with that turn, the beginning of the next one is among them.
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
        turns = sum(isinstance(line.event, TurnPlayed) for line in lines)
        raise ConfigurationError(
            f"the run has no turn {branch.turn} in episode {branch.episode}; it has {counted(turns, 'turn')} in all"
        )
    end = at + 1
    while end < len(lines) and not _is_beyond(lines[end].event):
        end += 1
    if end < len(lines) and isinstance(lines[end].event, RunEnded):
        raise ConfigurationError(f"the run ends with turn {branch.turn} of episode {branch.episode}")
    events = [line.event for line in lines[1:end] if line.event is not None]
    return [event for event in events if not isinstance(event, OptionsChanged)]  # the fork's manifest has them


def _is_beyond(event: Event | None) -> bool:
    """Tell whether an event belongs to the next turn or to the end of the run."""
    asked = isinstance(event, ModelAnswered | ModelFailed) and event.role == "agent"
    return asked or isinstance(event, TurnPlayed | RunPaused | RunEnded | GameFailed)


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
