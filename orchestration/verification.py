"""Plays a run again from its journal, without a model, to prove that it comes out the same."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from typing import TYPE_CHECKING

from orchestration.bootstrap import assemble
from orchestration.managers import shared_files
from orchestration.resumption import matching_snapshot, require_story
from orchestration.run_record import CheckedRecord
from session.configuration.option_groups import BudgetOptions
from session.errors import StoreError
from session.events import (
    EpisodeStarted,
    GameFailed,
    ModelAnswered,
    ModelFailed,
    RunEnded,
    RunStarted,
    TurnPlayed,
)
from session.files.journal import JournalLine, read_journal, read_manifest
from session.files.recording import Difference, Diverged, Recording, RecordingEnded, is_same
from session.files.run_folders import (
    AT_START,
    digests_at_start,
)
from zorkgpt.llm.journaled import PLAYING_ROLES, RepeatedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from game_interface.core.game import Game
    from managers.base_manager import BaseManager
    from orchestration.opening import Parts
    from session.events import Event
    from session.game_configuration import GameConfiguration
    from zorkgpt.llm.language_model import Prompt, Role


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay.

    turns: how many were repeated
    is_whole: whether the recording goes to the end of the run
    difference: the first difference, ``None`` where there is none
    """

    turns: int
    is_whole: bool
    difference: Difference | None = None


def verify(
    configuration: GameConfiguration,
    parts: Parts,
    folder: Path,
    show: Callable[[Event], None],
    asked: Callable[[RepeatedCall], None] | None = None,
    meet: Callable[[Sequence[BaseManager]], None] | None = None,
    *,
    salvages: bool = False,
) -> Replayed:
    """Play a run again with its recorded answers, in a temporary work folder, and compare.

    asked: told of every prompt, the first one that is not the recorded one included
    meet: given the managers before the first episode, to look at what they know whenever it is told of something
    salvages: repeat a damaged journal as far as it can be read, whatever the snapshot is of
    Every prompt, observation, verdict and shared file has to be the recorded one. Raises ``StoreError`` where the
    story, the journal, the snapshot or what the run began with is not what it was, naming it.
    """
    manifest, lines = read_manifest(folder), list(_readable(folder) if salvages else read_journal(folder))
    require_story(manifest, parts)
    if not salvages:
        matching_snapshot(folder, lines)
    _require_intact_beginning(folder, lines)
    turns = 0

    moment = (manifest.first_episode, 0)

    def count(event: Event) -> None:
        nonlocal turns, moment
        turns += isinstance(event, TurnPlayed)
        if isinstance(event, TurnPlayed):
            moment = (event.record.episode, event.record.turn)
        elif isinstance(event, EpisodeStarted):
            moment = (event.episode, 0)
        show(event)

    def tell(role: Role, prompt: Prompt) -> None:
        recorded = record.recording.next_event
        if asked is not None and isinstance(recorded, ModelAnswered | ModelFailed):
            episode, turn = moment
            asked(RepeatedCall(episode, turn + (role in PLAYING_ROLES), role, prompt, recorded))

    is_whole = any(isinstance(line.event, RunEnded) for line in lines)
    with TemporaryDirectory(prefix="zorkgpt-replay-") as scratch:
        unlimited = configuration.model_copy(update={"zork_game_workdir": Path(scratch), "budgets": BudgetOptions()})
        shared_files(unlimited).restore_from(folder / AT_START)
        record = CheckedRecord(Recording(lines[1:]), count)
        with assemble(unlimited, replace(parts, model=None), manifest, record, Flag(), asked=tell) as run:
            if meet is not None:
                meet(run.orchestrator.learning.managers)
            try:
                run.play()
            except RecordingEnded:
                return Replayed(turns, is_whole=False)
            except Diverged as divergence:
                return Replayed(turns, is_whole, divergence.difference)
    return Replayed(turns, is_whole)


def verify_actions(parts: Parts, folder: Path, show: Callable[[Event], None]) -> Replayed:
    """Give the run's commands to the story again, and nothing else; every observation has to be the recorded one.

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
            if not is_same(event, found):
                return Replayed(turns, is_whole=True, difference=Difference(line.seq, event, found))
            turns, has_failed = turns + isinstance(event, TurnPlayed), False
            show(event)
    return Replayed(turns, any(isinstance(line.event, RunEnded) for line in lines))


def _readable(folder: Path) -> Iterator[JournalLine]:
    with suppress(StoreError):
        yield from read_journal(folder)


def _require_intact_beginning(folder: Path, lines: Sequence[JournalLine]) -> None:
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
