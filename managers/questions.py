"""The questions at an episode's end, asked together in one call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, create_model

from session.errors import LanguageModelError, ResponseInvalid
from session.text import TokenCounter
from zorkgpt.llm.language_model import JointAnswer, LanguageModel, Prompt, Role, Task
from zorkgpt.prompts.loader import fill_prompt

SHARE_AT_END, LEAST_AT_END = 0.4, 5_000  # of a token budget, and tokens
SHARED_FIELDS: Final = frozenset({"reasoning"})
KNOWLEDGE_TEXT: Final = "knowledge"
INSIGHTS_TEXT: Final = "insights"
"""Kinds of texts that a prompt of several shows."""
_LESSONS: Final[Mapping[str, str]] = {
    "deaths": "why the player died or lost, and whether that won points",
    "memories": "what matters at one location",
    "lines": "what else this episode shows of the game, and of ways of playing it",
    "insights": "the rest, such as what only several episodes show together",
}
"""What belongs into each field of the common answer for lessons; into the first of them that fits."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Another form of a question, for a call with questions that show what it leaves out.

    schema: of the answer, with the same fields; ``None`` for that of the question
    """

    prompt: Prompt
    left_out: AbstractSet[int | str]
    schema: type[BaseModel] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a model.

    model: the model that answers if the question is asked alone
    schema: of the answer. Questions with a field of the same name are not asked together, except ``reasoning``
    answered: is called with the answer, or with the error if there is none; may return questions that follow from it
    shows: what the prompt contains that other questions of a call may leave out: turns by number, and kinds of texts
    beside: how it is asked in one call with questions that show what it then leaves out
    is_about_episode: it gets the texts on which a question about the episode is to be answered
    """

    model: LanguageModel
    role: Role
    prompt: Prompt
    schema: type[BaseModel]
    answered: Callable[[Any], Sequence[Question] | None]
    shows: AbstractSet[int | str] = frozenset()
    beside: Beside | None = None
    is_about_episode: bool = False

    def with_material(self, material: str) -> Question:
        """Return the question with this text at the end of its prompts if it is about the episode."""
        if not self.is_about_episode or not material:
            return self
        beside = self.beside and replace(self.beside, prompt=_with_material(self.beside.prompt, material))
        return replace(self, prompt=_with_material(self.prompt, material), beside=beside)

    def ask(self) -> BaseModel | LanguageModelError:
        """Return the model's answer, or why there is none."""
        try:
            return self.model.complete(self.role, self.prompt, self.schema).value
        except LanguageModelError as error:
            return error


def _with_material(prompt: Prompt, material: str) -> Prompt:
    return replace(prompt, user=prompt.user + material)


class ChosenTurn(BaseModel):
    """The turn that is most worth keeping."""

    turn: int


def choice_of(turns: Iterable[int]) -> type[ChosenTurn]:
    """Return the schema of an answer that names one of the turns."""
    numbers: Any = Literal[tuple(turns)]
    return create_model(ChosenTurn.__name__, __base__=ChosenTurn, __doc__=ChosenTurn.__doc__, turn=(numbers, ...))


def share_at_end(budget: int) -> int:
    """Return the tokens for one of the questions at an episode's end, so that all of them fit into ``budget``."""
    return max(int(SHARE_AT_END * budget), min(budget, LEAST_AT_END))


def ask_each(questions: Iterable[Question]) -> None:
    """Ask each of the questions by itself, and those that follow from it."""
    for question in questions:
        ask_each(question.answered(question.ask()) or ())


def ask_together(questions: Sequence[Question], budget: int, tokens: TokenCounter) -> None:
    """Ask the questions in one call of the role ``analysis``, and those that follow from them by themselves.

    A question for a small model, which would not fit into ``budget`` tokens with another one, is asked by itself. So
    is one with a field that another one has, and each question if the common answer is invalid.
    """
    room = tokens.characters(budget)
    together: list[Question] = []
    fields: set[str] = set()
    for question in questions:
        own = question.schema.model_fields.keys() - SHARED_FIELDS
        if own.isdisjoint(fields) and sum(each.prompt.length for each in (*together, question)) <= room:
            together.append(question)
            fields.update(own)
    answers = _answers_of_one_call(together) if len(together) > 1 else {}
    for question in questions:
        answer = answers.get(id(question)) or question.ask()
        ask_each(question.answered(answer) or ())


def _form_of(question: Question, asked: Sequence[Question]) -> tuple[Prompt, type[BaseModel]]:
    """Return the prompt and the schema of a question in a call with these questions, of which it is one."""
    beside, shown = question.beside, {text for other in asked if other is not question for text in other.shows}
    if beside is None or not beside.left_out <= shown:
        return question.prompt, question.schema
    return beside.prompt, beside.schema or question.schema


def _answers_of_one_call(questions: Sequence[Question]) -> dict[int, BaseModel | LanguageModelError]:
    """Return each question's part of the answer; nothing if the answer is invalid."""
    model = next((each.model for each in questions if each.role == "analysis"), questions[0].model)
    forms = [_form_of(each, questions) for each in questions]
    fields: dict[str, Any] = {
        name: (field.annotation, field) for _, schema in forms for name, field in schema.model_fields.items()
    }
    fields["tasks"] = (ClassVar[Sequence[Task]], [Task(each.role, each.prompt, each.schema) for each in questions])
    schema = create_model("LastLessons", __base__=JointAnswer, __doc__=JointAnswer.__doc__, **fields)
    numbered = list(enumerate((prompt for prompt, _ in forms), start=1))
    head = _common_instructions(fields)
    tasks = (f"=== TASK {n} ===\n{_without(each.system, head)}" for n, each in numbered)
    prompt = Prompt.of(
        "\n\n".join([*head, *tasks, fill_prompt("episode_end_answer")]),
        [f"=== FOR TASK {n} ===\n{each.user}" for n, each in numbered],
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


def _common_instructions(fields: Collection[str]) -> list[str]:
    """Return the paragraphs that are true of all tasks; of the fields for lessons those of the answer, if several."""
    kept = "\n".join(f"- `{name}`: {what}" for name, what in _LESSONS.items() if name in fields)
    lessons = fill_prompt("episode_end_lessons", fields=kept) if "\n" in kept else ""
    return fill_prompt("episode_end", lessons=lessons).split("\n\n")


def _without(text: str, known: Collection[str]) -> str:
    return "\n\n".join(paragraph for paragraph in text.split("\n\n") if paragraph not in known)
