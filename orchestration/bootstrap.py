"""Builds a run out of a configuration, from its story and model to its journal."""

from __future__ import annotations

import platform
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from game_interface.core.game import Game
from game_interface.core.isolated import IsolatedGame
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from orchestration.building import build_learning, build_turn
from orchestration.committer import Keeper
from orchestration.model_choice import ChosenModel, choose_model
from orchestration.restoring_game import RestoringGame
from orchestration.run_log import open_log
from orchestration.run_record import ContinuedRecord, FileWatch, Record
from orchestration.story_binding import bind_to_story
from orchestration.story_choice import ChosenStory, choose_story
from orchestration.zork_orchestrator import Plan, RunEnd, Standing, ZorkOrchestrator
from session.events import MemoryRemoved, RunStarted
from session.files.journal import Journal, Manifest, new_run_id
from session.files.recording import Recording
from session.files.run_folders import (
    AT_END,
    AT_START,
    RUNS,
    claimed,
    digests_at_start,
    keep_shared_files,
    take_episode_numbers,
)
from session.token_counter import TokenCounter
from session.vocabulary import Vocabulary
from zorkgpt.llm.breaker import CircuitBreaker
from zorkgpt.llm.budget import BudgetedModel, Spending
from zorkgpt.llm.journaled import RecordedModel, ReplayedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event as Flag

    from session.events import Event
    from session.game_configuration import GameConfiguration
    from zorkgpt.llm.embedded.model_store import Progress

_PACKAGES = ("zorkgpt", "jericho", "openai", "xllamacpp")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run is played with; the caller closes game and model. ``model``: ``None`` where it is only repeated."""

    game: Game
    model: ChosenModel | None
    story: ChosenStory
    vocabulary: Vocabulary


@contextmanager
def open_parts(
    configuration: GameConfiguration, progress: Progress | None = None, stop: Flag | None = None
) -> Iterator[Parts]:
    """The story is at its opening in a process of its own and the model is ready to answer.

    ``progress`` is told of a model that has to be fetched first; ``stop`` ends a wait for a model. Raises
    ``ConfigurationError``, ``StoryError``, ``LanguageModelUnavailable``.
    """
    with open_story(configuration) as parts, choose_model(configuration, progress, stop) as model:
        yield replace(parts, model=model)


@contextmanager
def open_story(configuration: GameConfiguration) -> Iterator[Parts]:
    """The story is at its opening in a process of its own; there is no model.

    Raises ``ConfigurationError``, ``StoryError``.
    """
    story = choose_story(configuration)
    options = configuration.game
    with IsolatedGame(story.path, seed=options.seed, time_limit=options.time_limit) as game:
        yield Parts(game, None, story, read_vocabulary(Story.load(story.path)))


@contextmanager
def open_run(
    configuration: GameConfiguration,
    parts: Parts,
    *,
    episodes: int,
    show: Callable[[Event], None],
    stop: Flag,
) -> Iterator[Run]:
    """A run folder exists and the run is ready to be played; every event goes to the journal, then to ``show``.

    Where the run cannot begin there is no run folder.
    """
    workdir = configuration.zork_game_workdir
    bind_to_story(workdir, parts.game.facts)
    manifest = _manifest(configuration, parts, episodes)
    with ExitStack() as stack:
        journal = Journal.create(workdir / RUNS, manifest)
        undoing = stack.enter_context(ExitStack())
        undoing.callback(rmtree, journal.folder, ignore_errors=True)
        stack.enter_context(claimed(journal.folder))
        stack.callback(journal.close)
        keep_shared_files(configuration, journal.folder / AT_START)
        stack.callback(keep_shared_files, configuration, journal.folder / AT_END)
        record = ContinuedRecord(journal, Recording(), show)
        run = stack.enter_context(assemble(configuration, parts, manifest, record, stop, journal))
        record.emit(started(configuration, parts, manifest, journal.folder))
        undoing.pop_all()
        yield run


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is ready to be played.

    folder: of its journal, or of what is written without one
    keeper: commits its turns
    standing: where it begins
    """

    folder: Path
    orchestrator: ZorkOrchestrator
    keeper: Keeper
    standing: Standing = field(default_factory=Standing)

    def play(self) -> RunEnd:
        """The run was played to its end, or paused on the way. Raises ``StoreError``."""
        return self.orchestrator.play(self.standing)


@contextmanager
def assemble(
    configuration: GameConfiguration,
    parts: Parts,
    manifest: Manifest,
    record: Record,
    stop: Flag,
    journal: Journal | None = None,
) -> Iterator[Run]:
    """The parts of a run, put together at its beginning.

    record: gets the events, and has the answers that are given again
    journal: of the run; without one it is only repeated, in a work folder of its own, and no snapshots are taken
    """
    spending = Spending(configuration)

    def emit(event: Event) -> None:
        record.emit(event)
        spending.count(event)

    tokens = TokenCounter()
    replayed = ReplayedModel(record.recording, parts.model.model if parts.model else None)
    breaker = CircuitBreaker(RecordedModel(replayed, emit, tokens))
    model = BudgetedModel(breaker, spending)
    game = RestoringGame(parts.game, emit, record.recording)
    folder = journal.folder if journal else configuration.zork_game_workdir
    with open_log(folder / "log.jsonl") as log:
        learning = build_learning(configuration, model, log, game.facts, parts.vocabulary, tokens)
        learning.hold(FileWatch(record))
        keeper = Keeper(journal, game, learning, tokens, breaker, spending)

        def remove_memories() -> None:
            while isinstance(removed := record.recording.next_event, MemoryRemoved):
                emit(removed)
                learning.remove_memory(removed.title)

        yield Run(
            folder,
            ZorkOrchestrator(
                game=game,
                turn=build_turn(configuration, model, game, learning),
                learning=learning,
                plan=Plan(manifest.seeds, configuration.max_turns_per_episode, manifest.first_episode),
                emit=emit,
                commit=keeper.commit,
                stop=stop,
                before_turn=remove_memories,
            ),
            keeper,
        )


def started(configuration: GameConfiguration, parts: Parts, manifest: Manifest, folder: Path) -> RunStarted:
    """The first event of the run in that folder."""
    return RunStarted(
        run_id=manifest.run_id,
        folder=str(folder),
        story=parts.game.facts,
        story_choice=parts.story.describe(),
        model=manifest.model,
        assistance=manifest.assistance,
        episodes=len(manifest.seeds),
        max_turns=configuration.max_turns_per_episode,
        files=digests_at_start(folder),
    )


def _manifest(configuration: GameConfiguration, parts: Parts, episodes: int) -> Manifest:
    facts = parts.game.facts
    seed = configuration.game.seed
    return Manifest(
        run_id=new_run_id(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=tuple(sys.argv),
        configuration=configuration.without_keys(),
        story=facts.name,
        story_path=str(parts.story.path.resolve()),
        story_sha256=facts.sha256,
        seeds=tuple(range(seed, seed + episodes)),
        first_episode=take_episode_numbers(configuration.zork_game_workdir, episodes),
        model=parts.model.description if parts.model else "none",
        versions={"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        assistance=tuple(sorted(configuration.assist)),
    )
