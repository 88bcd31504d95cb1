"""Opens what a run is played with: the story in a process of its own, and the model."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from game_interface.core.game import Game
from game_interface.core.isolated import IsolatedGame
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from orchestration.model_choice import choose_model
from orchestration.story import ChosenStory, choose_story
from orchestration.turn import Review
from session.commands import Vocabulary
from session.errors import ConfigurationError
from zorkgpt.llm.run_model import ChosenModel
from zorkgpt.llm.stand_ins import PERSON, AgentStandIn, person

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Event as Flag

    from session.game_configuration import GameConfiguration
    from zorkgpt.llm.embedded.model_store import Progress


@dataclass(frozen=True, slots=True)
class Parts:
    """What a run is played with; the caller closes game and model.

    model: ``None`` where the run is only repeated
    review: lets a person look at each proposal before it is played; ``None`` where nobody does
    """

    game: Game
    model: ChosenModel | None
    story: ChosenStory
    vocabulary: Vocabulary
    review: Review | None = None


@contextmanager
def open_parts(
    configuration: GameConfiguration,
    progress: Progress | None = None,
    stop: Flag | None = None,
    read_line: Callable[[], str] | None = None,
    review: Review | None = None,
) -> Iterator[Parts]:
    """Open the story in a process of its own, and the model.

    progress: told of a model that has to be fetched first
    stop: ends a wait for a model
    read_line: returns what a person types, where the configuration has a person play
    review: lets a person look at each proposal
    Raises ``ConfigurationError``, ``StoryError``, ``LanguageModelUnavailable``.
    """
    player = configuration.agent.player
    if player != "model" and read_line is None:
        raise ConfigurationError(f"agent.player is {player}, and here is no person who could be asked")
    with ExitStack() as stack:
        parts = stack.enter_context(open_story(configuration))
        model = None
        if player != "person-alone":
            model = stack.enter_context(choose_model(configuration, progress, stop))
        if player != "model" and read_line is not None:
            model = _with_person(person(read_line, parts.vocabulary, model.model if model else None), model)
        yield replace(parts, model=model, review=review)


def _with_person(person: AgentStandIn, others: ChosenModel | None) -> ChosenModel:
    if others is None:
        return ChosenModel(person, PERSON)
    return ChosenModel(person, f"{PERSON}, with {others.description} to learn from it,", others.waits)


@contextmanager
def open_story(configuration: GameConfiguration) -> Iterator[Parts]:
    """Open the story in a process of its own, without a model.

    Raises ``ConfigurationError``, ``StoryError``.
    """
    story = choose_story(configuration)
    options = configuration.game
    with IsolatedGame(story.path, seed=options.seed, time_limit=options.time_limit) as game:
        yield Parts(game, None, story, read_vocabulary(Story.load(story.path)))
