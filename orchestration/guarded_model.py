"""The language model of a run, with all that stands between it and whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.token_counter import TokenCounter
from zorkgpt.llm.breaker import CircuitBreaker
from zorkgpt.llm.budget import BudgetedModel, Spending
from zorkgpt.llm.journaled import Asked, RecordedModel, ReplayedModel, unwatched
from zorkgpt.llm.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestration.model_choice import ChosenModel
    from session.events import Event
    from session.files.recording import Recording
    from session.game_configuration import GameConfiguration
    from zorkgpt.llm.language_model import LanguageModel

__all__ = ["Asked", "GuardedModel", "unwatched"]


class GuardedModel:
    """Asks within the budget, leaves alone what keeps failing, tells of every call, and repeats recorded answers.

    door: what managers and players ask
    breaker, spending, tokens: what a snapshot has to hold of it

    chosen: the model itself, ``None`` where the run is only repeated
    recording: the answers that are given again
    emit: told of every call
    asked: told of every call before it is made
    """

    def __init__(
        self,
        configuration: GameConfiguration,
        chosen: ChosenModel | None,
        recording: Recording,
        emit: Callable[[Event], None],
        asked: Asked,
    ) -> None:
        self.tokens = TokenCounter()
        self.spending = Spending(configuration)
        self._emit = emit
        replayed = ReplayedModel(recording, chosen.model if chosen else None)
        self.breaker = CircuitBreaker(RecordedModel(replayed, self.emit, self.tokens, asked))
        self.door: LanguageModel = BudgetedModel(self.breaker, self.spending, chosen.waits if chosen else Waits())

    def emit(self, event: Event) -> None:
        """Pass the event on, and count what it cost."""
        self._emit(event)
        self.spending.count(event)
