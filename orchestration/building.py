"""Builds who plays and who learns in a run: the only place that knows what each of them needs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from managers.circling import CirclingDetector
from managers.context_manager import ContextManager
from managers.episode_synthesizer import EpisodeSynthesizer
from managers.knowledge_manager import KnowledgeManager
from managers.lexicon_manager import SYNTAX_TOKENS, LexiconManager
from managers.map_manager import MapManager
from managers.objective_manager import ObjectiveManager
from managers.simple_memory_manager import SimpleMemoryManager
from managers.state_manager import StateManager
from orchestration.learning import Learning
from orchestration.turn import Offer, Turn, freshest, freshest_first
from session.game_state import GameState
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.players.agent import Agent
from zorkgpt.players.critic import Critic
from zorkgpt.players.extractor import Extractor
from zorkgpt.players.object_check import ObjectCheck

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from game_interface.core.game import Game
    from session.game_configuration import GameConfiguration
    from session.token_counter import TokenCounter
    from session.values import StoryFacts
    from session.vocabulary import Vocabulary
    from zorkgpt.llm.language_model import LanguageModel


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
        offer=_offer(configuration),
    )


def _offer(configuration: GameConfiguration) -> Offer | None:
    if "fresh-actions" in configuration.assist:
        return freshest
    return freshest_first if "valid-actions" in configuration.assist else None


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
    lexicon = LexiconManager(log, configuration, state, vocabulary, directions=story.directions)
    shown_map = map_manager if configuration.map.shown else None
    memory = None
    if configuration.simple_memory.enabled:
        memory = SimpleMemoryManager(
            log,
            configuration,
            state,
            model,
            directions=story.directions,
            tokens=tokens,
            syntax=lexicon.known_at,
        )
    context = ContextManager(log, configuration, state, tokens=tokens)
    circling = CirclingDetector(log, configuration, state)
    knowledge = KnowledgeManager(
        log, configuration, state, model, memory_manager=memory, map_manager=shown_map, tokens=tokens
    )
    objectives = None
    if configuration.objectives.enabled:
        syntax = partial(lexicon.text, SYNTAX_TOKENS)
        objectives = ObjectiveManager(
            log, configuration, state, knowledge, shown_map, memory, tokens=tokens, syntax=syntax
        )
    check = ObjectCheck(vocabulary, map_manager.game_map, MovementAnalyzer(story.directions))
    state_manager = StateManager(log, configuration, state)
    learning = Learning(
        options=configuration,
        context=context,
        critic=Critic(model, check, configuration.critic.mode),
        map=map_manager,
        lexicon=lexicon,
        memory=memory,
        circling=circling,
        knowledge=knowledge,
        objectives=objectives,
        episodes=EpisodeSynthesizer(log, configuration, state, knowledge, state_manager, tokens=tokens),
        state=state_manager,
    )
    state_manager.show(learning.managers)
    return learning
