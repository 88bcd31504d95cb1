"""The language model of a run, with all that stands between it and whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from session.changed_options import before_changes, changes_between
from session.events import OptionsChanged
from session.game_configuration import GameConfiguration
from session.token_counter import TokenCounter
from session.values import ROLES
from zorkgpt.llm.breaker import CircuitBreaker
from zorkgpt.llm.budget import BudgetedModel, Spending
from zorkgpt.llm.journaled import AnnouncedModel, Asked, RecordedModel, ReplayedModel, unwatched
from zorkgpt.llm.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from orchestration.model_choice import ChosenModel
    from session.events import Event
    from session.files.recording import Recording
    from zorkgpt.llm.language_model import LanguageModel, Prompt, Role

__all__ = ["Asked", "GuardedModel", "unwatched"]


class GuardedModel:
    """Asks within the budget, leaves alone what keeps failing, tells of every call, and repeats recorded answers.

    door: what managers and players ask
    breaker, spending, tokens: what a snapshot has to hold of it

    begun_with: the values of all options before the changes that the journal tells of
    chosen: the model itself, ``None`` where the run is only repeated
    recording: the answers that are given again
    emit: told of every call
    asked: told of every call before it is made
    """

    def __init__(
        self,
        configuration: GameConfiguration,
        begun_with: Mapping[str, Any],
        chosen: ChosenModel | None,
        recording: Recording,
        emit: Callable[[Event], None],
        asked: Asked,
    ) -> None:
        self.tokens = TokenCounter()
        self.spending = Spending(
            configuration, before_changes(configuration, GameConfiguration.model_validate(begun_with))
        )
        self._configuration = configuration
        self._chosen = chosen
        self._recording = recording
        self._compared: GameConfiguration | None = None
        self._emit = emit
        self._asked = asked
        live = AnnouncedModel(chosen.model, self._tell_changes) if chosen else None
        recorded = RecordedModel(ReplayedModel(recording, live), self.emit, self.tokens, self._before_call)
        unasked = [role for role in ROLES if role != "agent" and configuration.agent.player == "person-alone"]
        self.breaker = CircuitBreaker(recorded, unasked)
        self.door: LanguageModel = BudgetedModel(self.breaker, self.spending, chosen.waits if chosen else Waits())

    def emit(self, event: Event) -> None:
        """Pass the event on, and count what it cost."""
        self._emit(event)
        self.spending.count(event)

    def _before_call(self, role: Role, prompt: Prompt) -> None:
        """Repeat the changes of options that were made before this call, then tell of the call."""
        while isinstance(event := self._recording.next_event, OptionsChanged):
            self.emit(event)
        self._asked(role, prompt)

    def _tell_changes(self) -> None:
        """Tell, before a model is asked, of options that are others than the journal has it so far."""
        if self._compared is self.spending.in_force:
            return
        changes = changes_between(self.spending.in_force, self._configuration)
        if changes and self._chosen is not None:
            self.emit(OptionsChanged(changes, self._chosen.description))
        self._compared = self.spending.in_force
