"""One turn: look, think, play, and a record of it all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from game_interface.core.game import Game
from managers.context_manager import NOTHING_LEARNT, ContextManager, Rejection
from session.errors import LanguageModelError
from session.values import TurnRecord, Verdict
from zorkgpt.players.agent import Agent
from zorkgpt.players.extractor import Extractor

if TYPE_CHECKING:
    from session.context import Notes
    from session.game_state import GameState
    from session.values import Observation, Proposal

MAX_PROPOSALS = 3


@dataclass(frozen=True, slots=True)
class Turn:
    """Plays turns.

    extractor: reads the story's text where the agent does not; a failure of its costs only the reading
    offer_valid_actions: assistance (decision 28)
    """

    game: Game
    agent: Agent
    context: ContextManager
    extractor: Extractor | None = None
    offer_valid_actions: bool = False

    def play(self, state: GameState, notes: Notes = NOTHING_LEARNT) -> TurnRecord:
        """The next turn was played; nothing has learnt from it yet.

        A proposal that is not played is asked for again with the reason, at most twice; then the turn passes
        with the refusal as its outcome. Raises ``LanguageModelError`` with the story untouched, or ``GameError``.
        """
        before = self.game.observation
        valid_actions = _freshest_first(self.game.valid_actions(), state) if self.offer_valid_actions else None
        proposals: list[Proposal] = []
        verdicts: list[Verdict] = []
        after = before
        while len(proposals) < MAX_PROPOSALS:
            proposals.append(self._propose(before, notes, valid_actions, proposals, verdicts))
            after = self.game.step(proposals[-1].action)
            verdicts.append(_verdict(after))
            if verdicts[-1].accepted:
                break
        return TurnRecord(
            episode=state.episode,
            turn=state.turn_count + 1,
            before=before,
            proposals=self._with_reading(proposals, before),
            verdicts=tuple(verdicts),
            after=after,
        )

    def _propose(
        self,
        before: Observation,
        notes: Notes,
        valid_actions: tuple[str, ...] | None,
        proposals: list[Proposal],
        verdicts: list[Verdict],
    ) -> Proposal:
        rejections = [
            Rejection(proposal.action, verdict.reason) for proposal, verdict in zip(proposals, verdicts, strict=True)
        ]
        context = self.context.get_agent_context(
            before,
            notes,
            valid_actions=valid_actions,
            rejections=rejections,
            system=self.agent.system_prompt(assisted=valid_actions is not None),
        )
        return self.agent.propose(context)

    def _with_reading(self, proposals: list[Proposal], before: Observation) -> tuple[Proposal, ...]:
        if self.extractor is None:
            return tuple(proposals)
        try:
            reading = self.extractor.read(before.text)
        except LanguageModelError as error:
            self.context.log_warning("the text was not read", error=str(error))
            return tuple(proposals)
        return (replace(proposals[0], reading=reading), *proposals[1:])


def _freshest_first(actions: tuple[str, ...], state: GameState) -> tuple[str, ...]:
    """The least played here come first: small models favour what a list begins with."""
    return tuple(sorted(actions, key=lambda action: state.times_played[state.current_room_id, action]))


def _verdict(after: Observation) -> Verdict:
    if after.refusal is None:
        return Verdict(accepted=True)
    return Verdict(accepted=False, reason=after.refusal, source="parser")
