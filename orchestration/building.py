"""Builds who learns in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.base_manager import ManagerParts
from managers.map_manager import MapManager
from orchestration.learning import Learning
from orchestration.managers import build_managers
from session.game_state import GameState
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.players.critic import Critic
from zorkgpt.players.object_check import ObjectCheck

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from session.game_configuration import GameConfiguration
    from session.token_counter import TokenCounter
    from session.values import StoryFacts
    from session.vocabulary import Vocabulary
    from zorkgpt.llm.language_model import LanguageModel


def build_learning(
    configuration: GameConfiguration,
    model: LanguageModel,
    log: FilteringBoundLogger,
    story: StoryFacts,
    vocabulary: Vocabulary,
    tokens: TokenCounter,
) -> Learning:
    """Build the managers of a run and its critic."""
    parts = ManagerParts(log, configuration, GameState(), model, story, vocabulary, tokens)
    managers = build_managers(parts)
    check = ObjectCheck(vocabulary, parts.get(MapManager).game_map, MovementAnalyzer(story.directions))
    return Learning(managers, Critic(model, check, configuration.critic.mode))
