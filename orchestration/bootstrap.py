"""Puts a run together out of a configuration, an opened story and a model."""

from __future__ import annotations

import gc
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from managers.state_manager import StateManager
from orchestration.building import build_learning
from orchestration.committer import Committer
from orchestration.guarded_model import Asked, GuardedModel, unwatched
from orchestration.managers import shared_files
from orchestration.restoring_game import RestoringGame
from orchestration.route_proof import build_route_proof
from orchestration.run_log import logged, open_log
from orchestration.run_record import ContinuedRecord, FileWatch, Record, Show, new_manifest, started
from orchestration.story import bind_to_story
from orchestration.turn import build_turn
from orchestration.zork_orchestrator import RunEnd, RunPlan, RunPosition, ZorkOrchestrator
from session.files.journal import Journal, Manifest
from session.files.run_folders import AT_END, RUN_LOG, RUNS, claimed, give_back_episode_numbers, remove_unused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event as Flag

    from orchestration.opening import Parts
    from session.game_configuration import GameConfiguration


@contextmanager
def open_run(
    configuration: GameConfiguration,
    parts: Parts,
    *,
    episodes: int,
    show: Show,
    stop: Flag,
    asked: Asked = unwatched,
) -> Iterator[Run]:
    """Make a run folder and put the run together; every event goes to the journal, then to ``show``.

    The agent's model is tried out first. If the run cannot begin, no folder is left behind, and no episode number is
    used up.
    asked: told what a model is being asked
    """
    workdir = configuration.zork_game_workdir
    if parts.model is not None:
        parts.model.try_out()
    with ExitStack() as stack:
        undoing = stack.enter_context(ExitStack())
        if not workdir.exists():
            undoing.callback(remove_unused, workdir)
        bind_to_story(workdir, parts.game.facts)
        manifest = new_manifest(configuration, parts, episodes)
        undoing.callback(give_back_episode_numbers, workdir, manifest.first_episode, episodes)
        journal = Journal.create(workdir / RUNS, manifest)
        undoing.callback(rmtree, journal.folder, ignore_errors=True)
        stack.enter_context(claimed(journal.folder))
        stack.callback(journal.close)
        record = ContinuedRecord(journal, show)
        run = stack.enter_context(assemble(configuration, parts, manifest, record, stop, journal, asked))
        run.committer.begin()
        stack.callback(run.committer.files.copy_to, journal.folder / AT_END)
        record.emit(started(configuration, parts, manifest, journal.folder))
        undoing.pop_all()
        yield run


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is ready to be played.

    folder: of its journal, or of what is written without one
    committer: commits its turns
    position: where it begins
    """

    folder: Path
    orchestrator: ZorkOrchestrator
    committer: Committer
    position: RunPosition = field(default_factory=RunPosition)

    @property
    def is_played(self) -> bool:
        """Whether all its episodes were played, and it only has to be ended."""
        return self.position.index == len(self.orchestrator.plan.seeds)

    def play(self) -> RunEnd:
        """Play the run to its end, or until it is paused. Raises ``StoreError``."""
        with _full_collections_seldom():
            end = self.orchestrator.play(self.position)
            self.orchestrator.learning.show()
            self.committer.leave()
            return end


@contextmanager
def _full_collections_seldom() -> Iterator[None]:
    """Let the collector of garbage pass over what was made before, and look through all the rest a tenth as often.

    Modules and managers outlive the run, and to look through them takes the time of thirty turns; what a turn leaves
    for the collector is nearly always new, and that is looked through as ever.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*thresholds[:2], 10 * thresholds[2])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


@contextmanager
def assemble(
    configuration: GameConfiguration,
    parts: Parts,
    manifest: Manifest,
    record: Record,
    stop: Flag,
    journal: Journal | None = None,
    asked: Asked = unwatched,
) -> Iterator[Run]:
    """Put the parts of a run together.

    record: takes the events, and has the recorded answers that are given again
    asked: told what a model is being asked
    journal: the run's journal; without one the run is only repeated, in a work folder of its own, without snapshots
    """
    recording = record.recording
    folder = journal.folder if journal else configuration.zork_game_workdir
    with open_log(folder / RUN_LOG) as log:
        told = logged(log, asked)
        model = GuardedModel(configuration, manifest.configuration, parts.model, recording, record.emit, told)
        game = RestoringGame(parts.game, model.emit, recording)
        learning = build_learning(configuration, model.door, log, game.facts, parts.vocabulary, model.tokens)
        learning.get(StateManager).run = folder.name
        committer = Committer(journal, game, learning, model, shared_files(configuration), FileWatch(record))
        yield Run(
            folder,
            ZorkOrchestrator(
                game=game,
                turn=build_turn(configuration, model, game, learning, parts, recording),
                learning=learning,
                plan=RunPlan(manifest.seeds, configuration.max_turns_per_episode, manifest.first_episode),
                emit=model.emit,
                commit=committer.commit,
                stop=stop,
                before_turn=partial(learning.repeat_removals, recording, model.emit),
                after_episode=build_route_proof(configuration, parts.game, learning, record, stop),
            ),
            committer,
        )
