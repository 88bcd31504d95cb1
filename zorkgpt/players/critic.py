"""The critic: judges a proposal before it is played (docs/specification.md, Critic)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

from session.commands import plain_command
from session.context import PromptSection
from session.errors import LanguageModelError
from session.text import cut_at
from session.tries import Tries
from session.values import Observation, Proposal, TurnRecord, Verdict
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.players.object_check import LONGEST_OUTCOME, ObjectCheck, Opinion
from zorkgpt.prompts.loader import fill_prompt

_REPEATED = "With everything you can see as it is now, you have typed here, and each time this was the answer:"

CriticMode = Literal["object_tree", "hybrid", "llm"]


class CriticAnswer(BaseModel):
    """The reason, and the judgement that follows from it."""

    reason: str = Field(description="Why, in one sentence to the player")
    accepted: bool = Field(description="Whether the command should be played")
    confidence: float = Field(ge=0, le=1, description="How sure you are of that")


class Critic:
    """Judges proposals: by the story's own tables first, and by a model where ``mode`` says so.

    object_tree: never asks a model
    hybrid: asks if the tables have no opinion, if the same command failed before in the very same world, and if play
        goes round in circles
    llm: asks on every proposal that the tables do not refuse

    A hybrid critic does not ask only because all that the player notices is as it was: a second blow in a fight, a
    second coin in a slot, a second turn of waiting look the same, and win games.

    failures: model calls that gave no judgement; the proposal was played
    """

    def __init__(
        self,
        model: LanguageModel,
        check: ObjectCheck,
        mode: CriticMode = "hybrid",
    ) -> None:
        self._model = model
        self._check = check
        self._mode = mode
        self.tries = check.tries
        self.failures = 0

    @property
    def system_prompt(self) -> str:
        """The fixed instructions."""
        return fill_prompt("critic")

    def reset(self, tries: Tries) -> None:
        """Begin a new episode, whose turns ``tries`` will have."""
        self.tries = tries
        self._check.reset(tries)

    def learn(self, turn: TurnRecord) -> None:
        """Let later judgements know of the turn."""
        self._check.learn(turn)

    def judge(
        self, observation: Observation, proposal: Proposal, context: Callable[[], str], circle: str = ""
    ) -> Verdict:
        """Return whether the proposal should be played.

        context: makes the text of what the model may know, the proposal included
        circle: the warning that play goes round in circles; "" if it does not
        Never raises ``LanguageModelError``: a critic that cannot be asked does not stop play.
        """
        opinion = self._check.opinion(observation, proposal.action)
        if opinion.kind == "refuse":
            return Verdict(accepted=False, reason=opinion.reason, source=opinion.source)
        repetition = self._repetition(observation, proposal.action) or circle
        if self._asks(opinion, repetition):
            tried = f"\n\n{PromptSection('Tried before', repetition).render()}" if repetition else ""
            prompt = Prompt(system=self.system_prompt, user=context() + tried)
            try:
                answer = self._model.complete("critic", prompt, CriticAnswer).value
            except LanguageModelError as error:
                self.failures += 1
                return Verdict(accepted=True, reason=f"The critic could not be asked: {error}")
            return Verdict(accepted=answer.accepted, reason=answer.reason, source="llm", confidence=answer.confidence)
        return Verdict(accepted=True, reason=repetition, source=opinion.source)

    def _repetition(self, observation: Observation, action: str) -> str:
        """Return a sentence on what came of the command before; "" if it was not typed with all as it is now.

        If its outcomes differ, there is chance in it, and trying again may help: then it is "" as well.
        """
        outcomes = self.tries.outcomes(observation, action)
        if len(set(outcomes)) != 1:
            return ""
        times = "once" if len(outcomes) == 1 else f"{len(outcomes)} times"
        return f"{_REPEATED} `{plain_command(action)}` ({times}): {cut_at(outcomes[0], LONGEST_OUTCOME)}"

    def _asks(self, opinion: Opinion, repetition: str) -> bool:
        if self._mode == "hybrid":
            return opinion.kind == "none" or bool(repetition)
        return self._mode == "llm"
