"""The critic: judges a proposal before it is played (decisions 22, 23)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from session.context import PromptSection
from session.errors import LanguageModelError
from session.values import Verdict
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.players.repetitions import Repetitions
from zorkgpt.prompts.loader import fill_prompt

if TYPE_CHECKING:
    from collections.abc import Callable

    from session.values import Observation, Proposal, TurnRecord
    from zorkgpt.players.object_check import ObjectCheck, Opinion

CriticMode = Literal["object_tree", "hybrid", "llm"]


class CriticAnswer(BaseModel):
    """What the critic's model is asked for; the reason first, so that the judgement follows from it."""

    reason: str = Field(description="Why, in one sentence to the player")
    accepted: bool = Field(description="Whether the command should be played")
    confidence: float = Field(ge=0, le=1, description="How sure you are of that")


class Critic:
    """Judges proposals: first by what is certain, then by what the model says, as ``mode`` has it.

    object_tree: never asks a model
    hybrid: asks where nothing is certain, and where the command came to the same before in this very world
    llm: asks on every proposal that is not refused for certain

    That all a player notices is as it was is enough for advice to the agent, and too little for doubt here: a second
    blow in a fight, a second coin in a slot, a second turn of waiting look the same, and win games.

    failures: model calls that gave no judgement; play went on with the proposal
    repetitions: what the agent may be told as well; fed by :meth:`learn`
    """

    def __init__(
        self,
        model: LanguageModel,
        check: ObjectCheck,
        mode: CriticMode = "hybrid",
        repetitions: Repetitions | None = None,
    ) -> None:
        self._model = model
        self._check = check
        self._mode = mode
        self.repetitions = repetitions or Repetitions()
        self.failures = 0

    @property
    def system_prompt(self) -> str:
        """The fixed instructions."""
        return fill_prompt("critic")

    def reset(self) -> None:
        """A new episode begins."""
        self._check.reset()
        self.repetitions.reset()

    def learn(self, turn: TurnRecord) -> None:
        """Later judgements know of the turn."""
        self._check.learn(turn)
        self.repetitions.learn(turn)

    def judge(self, observation: Observation, proposal: Proposal, context: Callable[[], str]) -> Verdict:
        """Whether the proposal should be played; ``context`` gives what the model may know, the proposal included.

        Never raises ``LanguageModelError``: a critic that cannot be asked does not stop play.
        """
        opinion = self._check.opinion(observation, proposal.action)
        if opinion.kind == "refuse":
            return Verdict(accepted=False, reason=opinion.reason, source=opinion.source)
        repetition = self.repetitions.of(observation, proposal.action)
        if self._asks(opinion, repetition):
            return self._ask(context(), repetition)
        return Verdict(accepted=True, reason=repetition, source=opinion.source)

    def _asks(self, opinion: Opinion, repetition: str) -> bool:
        if self._mode == "hybrid":
            return opinion.kind == "none" or bool(repetition)
        return self._mode == "llm"

    def _ask(self, context: str, repetition: str) -> Verdict:
        tried = f"\n\n{PromptSection('Tried before', repetition).render()}" if repetition else ""
        prompt = Prompt(system=self.system_prompt, user=context + tried)
        try:
            answer = self._model.complete("critic", prompt, CriticAnswer).value
        except LanguageModelError as error:
            self.failures += 1
            return Verdict(accepted=True, reason=f"The critic could not be asked: {error}")
        return Verdict(accepted=answer.accepted, reason=answer.reason, source="llm", confidence=answer.confidence)
