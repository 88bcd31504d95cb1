"""The base class of all managers: dependencies, lifecycle, shared files and status."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import structlog
from structlog.typing import FilteringBoundLogger
from typing_extensions import Self, TypedDict, Unpack

from managers.known import Known
from managers.questions import Question, ask_each
from session.commands import Vocabulary
from session.context import PromptSection
from session.errors import StoreError
from session.events import EpisodeEnd
from session.files.document_store import SharedStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from session.values import Observation, StoryFacts, TurnRecord
from zorkgpt.llm.language_model import LanguageModel
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

Log: TypeAlias = logging.Logger | FilteringBoundLogger


class ManagerStatus(TypedDict):
    """The status of a manager in ``current_state.json``."""

    type: str
    state: dict[str, str | int | float | bool | None]
    metrics: dict[str, int | float]


class SharedParts(TypedDict, total=False):
    """What managers need to know about the run.

    tokens: counts the tokens of prompts
    vocabulary: the story's words
    directions: the story's own direction words (``StoryFacts.directions``)
    attribute_names: the numbers of the story's attributes by name; empty if they are not known
    """

    tokens: TokenCounter
    vocabulary: Vocabulary
    directions: Iterable[str]
    attribute_names: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ManagerParts:
    """What the managers of a run are built from.

    run: the name of the run's folder
    """

    logger: FilteringBoundLogger
    config: GameConfiguration
    game_state: GameState
    model: LanguageModel
    story: StoryFacts
    vocabulary: Vocabulary
    tokens: TokenCounter
    run: str = ""

    @property
    def shared(self) -> SharedParts:
        """The keyword arguments that every manager accepts."""
        return {
            "tokens": self.tokens,
            "vocabulary": self.vocabulary,
            "directions": self.story.directions,
            "attribute_names": self.story.attribute_names,
        }


class BaseManager(ABC):
    """Learns from turn records and contributes sections to prompts.

    A manager gets the managers that it uses by name, in its constructor, and never calls the orchestrator. To add a
    manager, write its module and list its class in ``orchestration.learning.MANAGERS``.

    files: the files in the work folder that the manager owns, if their names are constant
    stores: the stores of the manager's files, in the order in which they are written
    """

    files: ClassVar[Sequence[SharedFile]] = ()
    stores: Sequence[SharedStore] = ()

    def __init__(
        self, logger: Log, config: GameConfiguration, game_state: GameState, **shared: Unpack[SharedParts]
    ) -> None:
        self.logger: FilteringBoundLogger = (
            structlog.wrap_logger(logger) if isinstance(logger, logging.Logger) else logger
        )
        self.config = config
        self.game_state = game_state
        self.tokens = shared.get("tokens") or TokenCounter()
        self.vocabulary = shared.get("vocabulary") or Vocabulary(0, frozenset())
        self.attribute_names = shared.get("attribute_names", {})
        self.movements = MovementAnalyzer(shared.get("directions", ()), self.vocabulary)

    @classmethod
    def build(cls, parts: ManagerParts) -> Self | None:
        """Build a manager that uses no other one. Returns ``None`` if the configuration leaves it out."""
        return cls(parts.logger, parts.config, parts.game_state, **parts.shared)

    @classmethod
    def shared_files(cls, config: GameConfiguration) -> Sequence[SharedFile]:
        """Return the files in the work folder that the manager owns."""
        del config
        return cls.files

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin a new episode, in ``game_state`` if given. Knowledge from earlier episodes is kept.

        Outside a run, what others wrote into the files is read now. In a run, ``Learning`` does that every turn.
        """
        if game_state is not None:
            self.game_state = game_state
        for store in self.stores:
            try:
                if not store.holds:
                    store.look()
            except StoreError as error:
                self.log_warning("a shared file cannot be read", error=str(error))

    def learn(self, record: TurnRecord) -> object:
        """Learn from a turn. ``game_state`` already contains it."""

    def finish(self, end: EpisodeEnd) -> object:
        """Keep the facts of an episode that has ended."""

    def questions(self, outlooks: Sequence[str]) -> Sequence[Question]:
        """Return the questions about an episode that has ended.

        outlooks: of all managers; see :meth:`outlook`
        """
        del outlooks
        return ()

    def end(self, end: EpisodeEnd = "left", outlooks: Sequence[str] = ()) -> object:
        """Learn from an episode that has ended, and ask each question by itself."""
        self.finish(end)
        ask_each(self.questions(outlooks))
        return None

    def section(self, observation: Observation) -> PromptSection | None:
        """Return the manager's section of the agent's next prompt, or ``None``."""

    def outlook(self) -> str:
        """Return what a plan for the next episode should take into account, a line each; "" for nothing.

        It is called when every manager has finished the episode.
        """
        return ""

    def material(self) -> str:
        """Return texts on which the question about a finished episode is to be answered, with a heading; "" for none.

        They come on top of the question's own budget, and are never cut.
        """
        return ""

    def commit(self) -> None:
        """Write pending changes to the files, outside a run. Raises ``StoreError``."""
        for store in self.stores:
            store.commit()

    def followed(self) -> None:
        """Update the manager after its stores have read changes by other processes and people."""

    @abstractmethod
    def get_status(self) -> ManagerStatus:
        """Return the current status."""

    def known(self) -> Known:
        """Return what the manager knows, for reports, screens and programs. Reads no files and changes nothing."""
        return Known()

    def log_info(self, event: str, **fields: object) -> None:
        """Log an event with the manager's name and the episode."""
        self.logger.info(event, manager=type(self).__name__, episode=self.game_state.episode, **fields)

    def log_warning(self, event: str, **fields: object) -> None:
        """Log a warning with the manager's name and the episode."""
        self.logger.warning(event, manager=type(self).__name__, episode=self.game_state.episode, **fields)

    def log_error(self, event: str, **fields: object) -> None:
        """Log an error with the manager's name and the episode. The event and ``error`` also appear on the screen."""
        self.logger.error(event, manager=type(self).__name__, episode=self.game_state.episode, **fields)
