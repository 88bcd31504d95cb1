"""The critic: accepts or rejects a proposal before it is played (docs/specification.md, Critic)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, Field

from session.commands import plain_command
from session.context import PromptSection
from session.errors import LanguageModelError
from session.game_state import Tries
from session.text import cut_at
from session.values import Observation, Proposal, TurnRecord, Verdict
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.players.object_check import LONGEST_OUTCOME, ObjectCheck
from zorkgpt.prompts.loader import fill_prompt

_REPEATED = "With everything you can see as it is now, you have typed here, and each time this was the answer:"

CriticMode = Literal["object_tree", "hybrid", "llm"]


class CriticAnswer(BaseModel):
    """The reason, and the judgement that follows from it."""

    reason: str = Field(description="Why, in one sentence to the player")
    accepted: bool = Field(description="Whether the command should be played")
    confidence: float = Field(ge=0, le=1, description="How sure you are of that")


class Critic:
    """Judges proposals by the story's own tables first, then by a model, depending on ``mode``.

    - object_tree: never calls a model
    - hybrid: calls it if the tables have no opinion, if the same command had one and the same outcome before in this
      state of the world, or if play goes round in circles
    - llm: calls it for every proposal that the tables do not refuse

    A hybrid critic does not call the model merely because everything that the player notices is unchanged. A second
    blow in a fight, a second coin in a slot and a second turn of waiting look unchanged, and they win games.

    failures: the number of failed model calls; their proposals were played
    """

    def __init__(self, model: LanguageModel, check: ObjectCheck, mode: CriticMode = "hybrid") -> None:
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
        """Begin a new episode; ``tries`` will contain its turns."""
        self.tries = tries
        self._check.reset(tries)

    def learn(self, turn: TurnRecord) -> None:
        """Take the turn into account in later judgements."""
        self._check.learn(turn)

    def judge(
        self, observation: Observation, proposal: Proposal, context: Callable[[], str], circle: str = ""
    ) -> Verdict:
        """Return whether the proposal should be played.

        context: returns the prompt's text, the proposal included
        circle: the warning that play goes round in circles; "" if it does not

        Accepts the proposal if the model call fails, so that ``LanguageModelError`` never stops play.
        """
        opinion = self._check.opinion(observation, proposal.action)
        if opinion.kind == "refuse":
            return Verdict(accepted=False, reason=opinion.reason, source=opinion.source)
        outcomes, repetition = self.tries.outcomes(observation, proposal.action), circle
        if len(set(outcomes)) == 1:  # different outcomes are a sign of chance, and trying again may help
            times = "once" if len(outcomes) == 1 else f"{len(outcomes)} times"
            told = f"`{plain_command(proposal.action)}` ({times}): {cut_at(outcomes[0], LONGEST_OUTCOME)}"
            repetition = f"{_REPEATED} {told}"
        is_doubtful = opinion.kind == "none" or bool(repetition)
        if self._mode == "llm" or (self._mode == "hybrid" and is_doubtful):
            tried = f"\n\n{PromptSection('Tried before', repetition).render()}" if repetition else ""
            prompt = Prompt(system=self.system_prompt, user=context() + tried)
            try:
                answer = self._model.complete("critic", prompt, CriticAnswer).value
            except LanguageModelError as error:
                self.failures += 1
                return Verdict(accepted=True, reason=f"The critic could not be asked: {error}")
            return Verdict(accepted=answer.accepted, reason=answer.reason, source="llm", confidence=answer.confidence)
        return Verdict(accepted=True, reason=repetition, source=opinion.source)
