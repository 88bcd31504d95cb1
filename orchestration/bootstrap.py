"""Builds a run out of a configuration: the only place that knows what every part is made of."""

from __future__ import annotations

import platform
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from game_interface.core.game import Game
from game_interface.core.isolated import IsolatedGame
from game_interface.core.story import Story
from game_interface.core.vocabulary import read_vocabulary
from managers.circling import CirclingDetector
from managers.context_manager import ContextManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.simple_memory_manager import SimpleMemoryManager
from managers.state_manager import StateManager
from orchestration.learning import Learning
from orchestration.model_choice import ChosenModel, choose_model
from orchestration.run_log import open_log
from orchestration.story_binding import bind_to_story
from orchestration.story_choice import ChosenStory, choose_story
from orchestration.turn import Turn
from orchestration.zork_orchestrator import Plan, ZorkOrchestrator
from session.episode_numbers import take_episode_number
from session.events import RunStarted
from session.game_state import GameState
from session.journal import Journal, Manifest, new_run_id
from session.run_folders import MEMORIES_AT_END, MEMORIES_AT_START, RUNS, keep_copy
from session.token_counter import TokenCounter
from session.vocabulary import Vocabulary
from zorkgpt.llm.breaker import CircuitBreaker
from zorkgpt.llm.language_model import LanguageModel
from zorkgpt.llm.recording import RecordedModel
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.players.agent import Agent
from zorkgpt.players.critic import Critic
from zorkgpt.players.extractor import Extractor
from zorkgpt.players.object_check import ObjectCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from threading import Event as Flag

    from structlog.typing import FilteringBoundLogger

    from session.events import Event
    from session.game_configuration import GameConfiguration
    from session.values import StoryFacts
    from zorkgpt.llm.model_store import Progress

_PACKAGES = ("zorkgpt", "jericho", "openai", "xllamacpp")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run is played with; the caller closes game and model."""

    game: Game
    model: ChosenModel
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
    story = choose_story(configuration)
    with ExitStack() as stack:
        game = stack.enter_context(
            IsolatedGame(story.path, seed=configuration.game.seed, time_limit=configuration.game.time_limit)
        )
        model = stack.enter_context(choose_model(configuration, progress, stop))
        yield Parts(game, model, story, read_vocabulary(Story.load(story.path)))


@contextmanager
def open_run(
    configuration: GameConfiguration,
    parts: Parts,
    *,
    episodes: int,
    show: Callable[[Event], None],
    stop: Flag,
) -> Iterator[ZorkOrchestrator]:
    """A run folder exists and the orchestrator is ready to play; every event goes to the journal, then to ``show``."""
    workdir = configuration.zork_game_workdir
    bind_to_story(workdir, parts.game.facts)
    seeds = tuple(configuration.game.seed + episode for episode in range(episodes))
    manifest = _manifest(configuration, parts, seeds)
    journal = Journal.create(workdir / RUNS, manifest)

    def emit(event: Event) -> None:
        journal.append(event)
        show(event)

    memories = workdir / configuration.simple_memory.memory_file
    keep_copy(memories, journal.folder / MEMORIES_AT_START)
    with ExitStack() as stack:
        stack.callback(keep_copy, memories, journal.folder / MEMORIES_AT_END)
        stack.callback(journal.close)
        log = stack.enter_context(open_log(journal.folder / "log.jsonl"))
        emit(_started(configuration, parts, manifest, journal.folder))
        tokens = TokenCounter()
        model = CircuitBreaker(RecordedModel(parts.model.model, emit, tokens))
        learning = build_learning(configuration, model, log, parts.game.facts, parts.vocabulary, tokens)
        yield ZorkOrchestrator(
            game=parts.game,
            turn=build_turn(configuration, model, parts.game, learning),
            learning=learning,
            plan=Plan(seeds=seeds, max_turns=configuration.max_turns_per_episode),
            emit=emit,
            take_number=partial(take_episode_number, workdir),
            stop=stop,
        )


def _started(configuration: GameConfiguration, parts: Parts, manifest: Manifest, folder: Path) -> RunStarted:
    return RunStarted(
        run_id=manifest.run_id,
        folder=str(folder),
        story=parts.game.facts,
        story_choice=parts.story.describe(),
        model=parts.model.description,
        assistance=manifest.assistance,
        episodes=len(manifest.seeds),
        max_turns=configuration.max_turns_per_episode,
    )


def build_turn(configuration: GameConfiguration, model: LanguageModel, game: Game, learning: Learning) -> Turn:
    """The players of a run around its game."""
    reader = configuration.extractor.mode
    return Turn(
        game=game,
        agent=Agent(model, reads=reader == "inline", reasoning_length=configuration.agent.reasoning_length),
        critic=learning.critic,
        context=learning.context,
        extractor=Extractor(model) if reader == "separate" else None,
        max_rejections=configuration.critic.max_rejections,
        offer_valid_actions="valid-actions" in configuration.assist,
    )


def build_learning(
    configuration: GameConfiguration,
    model: LanguageModel,
    log: FilteringBoundLogger,
    story: StoryFacts,
    vocabulary: Vocabulary,
    tokens: TokenCounter,
) -> Learning:
    """What learns in a run, built in the order of its dependencies (seed 0)."""
    state = GameState()
    map_manager = MapManager(log, configuration, state, directions=story.directions)
    memory = None
    if configuration.simple_memory.enabled:
        memory = SimpleMemoryManager(log, configuration, state, model, directions=story.directions, tokens=tokens)
    context = ContextManager(log, configuration, state, tokens=tokens)
    circling = CirclingDetector(log, configuration, state)
    objectives = None
    if configuration.objectives.enabled:
        objectives = ObjectiveManager(log, configuration, state, _Knowledge(model), map_manager, memory, tokens=tokens)
    check = ObjectCheck(vocabulary, map_manager.game_map, MovementAnalyzer(story.directions))
    shown = [manager for manager in (map_manager, memory, context, circling, objectives) if manager]
    return Learning(
        context=context,
        critic=Critic(model, check, configuration.critic.mode),
        map=map_manager,
        memory=memory,
        circling=circling,
        objectives=objectives,
        state=StateManager(log, configuration, state, shown),
    )


@dataclass(frozen=True, slots=True)
class _Knowledge:
    """Lends its model to the objectives, until there is a knowledge manager to do that."""

    model: LanguageModel


def _manifest(configuration: GameConfiguration, parts: Parts, seeds: tuple[int, ...]) -> Manifest:
    facts = parts.game.facts
    return Manifest(
        run_id=new_run_id(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=tuple(sys.argv),
        configuration=configuration.without_keys(),
        story=facts.name,
        story_sha256=facts.sha256,
        seeds=seeds,
        model=parts.model.description,
        versions={"python": platform.python_version()} | {name: version(name) for name in _PACKAGES},
        assistance=tuple(sorted(configuration.assist)),
    )
