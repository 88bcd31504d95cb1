"""The questions at an episode's end, asked together in one call."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, create_model

from session.errors import LanguageModelError, ResponseInvalid
from session.text import TokenCounter
from zorkgpt.llm.language_model import LanguageModel, Prompt, Role
from zorkgpt.prompts.loader import fill_prompt

SHARE_AT_END, LEAST_AT_END = 0.4, 5_000  # of a token budget, and tokens


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a model.

    model: the model that answers if the question is asked alone
    schema: of the answer. Its fields have other names than those of the other questions at an episode's end
    beside: by a field of another question's answer, the prompt in a call with it, without what its prompt contains
    """

    model: LanguageModel
    role: Role
    prompt: Prompt
    schema: type[BaseModel]
    beside: Mapping[str, Prompt] = field(default_factory=dict)

    def ask(self) -> BaseModel:
        """Return the model's answer. Raises ``LanguageModelError``."""
        return self.model.complete(self.role, self.prompt, self.schema).value


Ending = Generator[Question, Any, Any]
"""What a manager learns at an episode's end. It yields questions and is sent the answers; a ``LanguageModelError`` is
thrown where the question was yielded."""


class LastLessons(BaseModel):
    """The answers to all questions at an episode's end. ``tasks``: these questions."""

    tasks: ClassVar[Sequence[Question]] = ()


def share_at_end(budget: int) -> int:
    """Return the tokens for one of the questions at an episode's end, so that all of them fit into ``budget``."""
    return max(int(SHARE_AT_END * budget), min(budget, LEAST_AT_END))


def conclude(ending: Ending, answer: object = None) -> Any:  # noqa: ANN401  what the ending returns
    """Run an ending to its end, ask each of its questions by itself, and return its result.

    answer: the answer to the question that it has already yielded; an error is thrown
    """
    try:
        question = ending.throw(answer) if isinstance(answer, LanguageModelError) else ending.send(answer)
        while True:
            try:
                answer = question.ask()
            except LanguageModelError as error:
                question = ending.throw(error)
            else:
                question = ending.send(answer)
    except StopIteration as end:
        return end.value


def conclude_together(endings: Sequence[Ending], budget: int, tokens: TokenCounter) -> None:
    """Run endings to their ends; their first questions are asked in one call of the role ``analysis``.

    A question for a small model, which would not fit into ``budget`` tokens with another one, is asked by itself. So
    is each question if the common answer is invalid.
    """
    waiting = [(ending, question) for ending in endings if (question := next(ending, None)) is not None]
    room = tokens.characters(budget)
    together: list[Question] = []
    for _, question in waiting:
        if sum(each.prompt.length for each in (*together, question)) <= room:
            together.append(question)
    answers: dict[int, BaseModel | LanguageModelError] = {}
    if len(together) > 1:
        answers = _answers_of_one_call(together)
    for ending, question in waiting:
        found = answers.get(id(question))
        if found is None:
            try:
                found = question.ask()
            except LanguageModelError as error:
                found = error
        conclude(ending, found)


def _answers_of_one_call(questions: Sequence[Question]) -> dict[int, BaseModel | LanguageModelError]:
    """Return each question's part of the answer; nothing if the answer is invalid."""
    model = next((each.model for each in questions if each.role == "analysis"), questions[0].model)
    fields: dict[str, Any] = {
        name: (field.annotation, field) for each in questions for name, field in each.schema.model_fields.items()
    }
    schema = create_model(LastLessons.__name__, __base__=LastLessons, __doc__=LastLessons.__doc__, **fields)
    schema.tasks = questions
    prompts = [next((q.beside[name] for name in fields if name in q.beside), q.prompt) for q in questions]
    numbered = list(enumerate(prompts, start=1))
    prompt = Prompt(
        "\n\n".join([fill_prompt("episode_end"), *(f"=== TASK {n} ===\n{each.system}" for n, each in numbered)]),
        "\n\n".join(f"=== FOR TASK {n} ===\n{each.user}" for n, each in numbered),
    )
    try:
        answer = model.complete("analysis", prompt, schema).value
    except ResponseInvalid:
        return {}
    except LanguageModelError as error:
        return {id(each): error for each in questions}
    return {
        id(each): each.schema.model_construct(**{name: getattr(answer, name) for name in each.schema.model_fields})
        for each in questions
    }
