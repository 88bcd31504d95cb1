"""A player without a model in a run: its proposals are recorded, and repeated from the journal (ADR 31)."""

from __future__ import annotations

import time
from collections.abc import Callable

from session.events import MemoryGiven, Proposed
from session.files.recording import Diverged, Recording
from session.values import Proposal
from zorkgpt.players.player import Leave, Player, Remember, TurnContext


class RecordedPlayer:
    """Repeats the recorded proposals, then calls ``player`` and records what it proposes.

    player: ``None`` if the run is only repeated
    require_budget: called before each call; raises ``BudgetSpent``
    """

    def __init__(
        self,
        player: Player | None,
        recording: Recording,
        require_budget: Callable[[], None],
    ) -> None:
        self.name = player.name if player else ""
        self._player = player
        self._recording = recording
        self._require_budget = require_budget

    def propose(self, context: TurnContext) -> Proposal | Remember | Leave:
        """Return the recorded proposal, else the player's. Raises ``Diverged`` and ``RecordingEnded``."""
        if isinstance(given := self._recording.next_event, MemoryGiven):
            return Remember(given)
        memory: Remember | None = None

        def live() -> Proposed | None:
            nonlocal memory
            if self._player is None:
                raise Diverged(self._recording.difference("a player that is not here proposes a command"))
            self._require_budget()
            start = time.monotonic()
            answer = self._player.propose(context)
            if isinstance(answer, Remember):
                memory = answer
                return None
            seconds = round(time.monotonic() - start, 3)
            return Proposed(None if isinstance(answer, Leave) else answer, seconds)

        proposed = self._recording.get(Proposed, live)
        if memory is not None:
            return memory
        if proposed is None:
            raise Diverged(self._recording.difference("the player proposes a command"))
        return proposed.proposal or Leave()
