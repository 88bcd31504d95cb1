"""The agent: reads its context and proposes the next command."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    create_model,
    field_validator,
)

from session.values import Proposal
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.players.extractor import ReadingAnswer
from zorkgpt.prompts.loader import fill_prompt

if TYPE_CHECKING:
    from session.context import AgentContext


class AgentAnswer(BaseModel):
    """What the agent's model is asked for; reasoning first, so that the command follows from it."""

    reasoning: str = Field(default="", description="Why this command now, in a sentence or two")
    action: str = Field(min_length=1, description="The one command to type")


class ReadingAgentAnswer(BaseModel):
    """The same from an agent that reads the story's text for the map and the history, too.

    A model that leaves the reading out, or gets it wrong, has read nothing; that costs no turn.
    """

    reading: ReadingAnswer = Field(default_factory=ReadingAnswer)
    reasoning: str = Field(default="", description="Why this command now, in a sentence or two")
    action: str = Field(min_length=1, description="The one command to type")

    @field_validator("reading", mode="wrap")
    @classmethod
    def _nothing_for_nonsense(cls, value: object, validate: ValidatorFunctionWrapHandler) -> ReadingAnswer:
        try:
            reading: ReadingAnswer = validate(value)
        except ValidationError:
            return ReadingAnswer()
        return reading


@dataclass(frozen=True, slots=True)
class Agent:
    """Asks a model for the next command.

    reads: the answer holds a reading of the latest text, too
    reasoning_length: the reasoning is one plain sentence of at most so many characters, for models that would ramble;
        ``None``: free; 0: the answer has none
    """

    model: LanguageModel
    reads: bool = False
    reasoning_length: int | None = None

    def system_prompt(self, *, assisted: bool) -> str:
        """Return the fixed instructions; ``assisted`` agents choose from valid actions."""
        instructions = fill_prompt("agent_valid_actions" if assisted else "agent")
        answer = fill_prompt("agent_command" if self.reasoning_length == 0 else "agent_answer")
        reading = fill_prompt("agent_reading") if self.reads else ""
        return f"{instructions}\n\n{answer}\n\n{reading}".strip()

    def propose(self, context: AgentContext) -> Proposal:
        """Return the command that the model wants to play now.

        Raises ``LanguageModelError``: a command is never made up (docs/specification.md, No invented turns).
        """
        system = self.system_prompt(assisted=context.valid_actions is not None)
        prompt = Prompt(system=system, user=context.render())
        schema = _answer_schema(context.valid_actions, self.reasoning_length, reads=self.reads)
        completion = self.model.complete("agent", prompt, schema)
        answer = completion.value
        return Proposal(
            action=answer.action.strip(),
            reasoning=answer.reasoning.strip() or completion.reasoning,
            reading=answer.reading.reading() if isinstance(answer, ReadingAgentAnswer) else None,
        )


@lru_cache(maxsize=128)
def _answer_schema(
    valid_actions: tuple[str, ...] | None, reasoning_length: int | None, *, reads: bool
) -> type[AgentAnswer | ReadingAgentAnswer]:
    """Return the form of an answer that chooses from the valid actions, if there are any; the same one every time."""
    base: type[AgentAnswer | ReadingAgentAnswer] = ReadingAgentAnswer if reads else AgentAnswer
    if not valid_actions and reasoning_length is None:
        return base
    action: Any = Literal[valid_actions] if valid_actions else str
    return create_model(
        base.__name__,
        __base__=base,
        reasoning=_reasoning(reasoning_length),
        action=(action, Field(description="The one command to type")),
    )


def _reasoning(length: int | None) -> Any:  # noqa: ANN401  what create_model takes
    """Return the definition of a field for free words, or for one plain sentence about oneself, or of no field."""
    if length == 0:
        return (ClassVar[str], "")
    pattern = None if length is None else rf"^I [A-Za-z ,']{{8,{max(length, 12) - 3}}}\.$"
    return (str, Field(pattern=pattern))
