"""A player that needs no model: it draws from the commands that were tried least at a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from orchestration.opening import Parts, open_story
from session.game_configuration import GameConfiguration
from session.resolved_configuration import EMBEDDED_PROFILE
from zorkgpt.llm.run_model import ChosenModel
from zorkgpt.llm.stand_ins import RandomModel

RANDOM_PROFILE: Mapping[str, object] = {
    **EMBEDDED_PROFILE,
    "assist": "valid-actions,proven-routes",
    "knowledge.enabled": False,
    "simple_memory.enabled": False,
}
"""Options of the random player: all valid actions, routes that were tried out, nothing that only a reader could use."""


@contextmanager
def open_random_player(configuration: GameConfiguration) -> Iterator[Parts]:
    """Open the story, and a model that draws at random from the seed of the agent's sampling."""
    model = RandomModel(configuration.role("agent").sampling.seed or 1)
    with open_story(configuration) as parts:
        yield replace(parts, model=ChosenModel(model, "random"))
