"""The answer in what a model wrote: its thoughts set aside, its JSON found and validated."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from session.errors import ResponseInvalid, problems_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zorkgpt.llm.language_model import Answer

_DECODER = json.JSONDecoder()
_FENCE = "```"
_MARK = re.compile(r"<(?P<closing>/?)(?:think|thinking|reflection)\s*>|(?P<brace>\{)", re.IGNORECASE)
_TORN = re.compile(r"(t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?|u[0-9a-fA-F]{0,4})?")
"""What the decoder has left of a literal, a number or an escape that breaks off; nothing between two of them."""


class AnswerIncomplete(ResponseInvalid):
    """The answer is empty or breaks off: another draw may be whole."""


class SchemaIgnored(ResponseInvalid):
    """The answer is one that a server which holds models to a schema would not have let pass."""


@dataclass(frozen=True, slots=True)
class SplitText:
    """What a model wrote, in two parts.

    answer: the text without its thoughts
    reasoning: the thoughts, without their tags, a blank line between two of them
    unclosed: that part of ``reasoning`` which no closing tag ended; an answer may be lost in it
    """

    answer: str
    reasoning: str
    unclosed: str = ""


def read_answer(split: SplitText, schema: type[Answer]) -> Answer:
    """Return the last JSON object of the answer that fits ``schema``.

    An answer at the end of thoughts that were never closed counts; a draft within thoughts does not.
    Raises ``AnswerIncomplete`` for nothing or half an object, else ``ResponseInvalid`` with what is wrong.
    """
    objects = list(json_objects(split.answer)) or _last_words(split.unclosed)
    if not objects and not split.answer:
        raise AnswerIncomplete("the answer is empty")
    problem: ResponseInvalid = SchemaIgnored("there is no JSON object in it")
    for written in reversed(objects):
        try:
            return schema.model_validate_json(written)
        except ValidationError as error:
            problem = _misfit(error)
    if breaks_off(split.answer):
        raise AnswerIncomplete("the answer breaks off in the middle of its JSON")
    raise problem


def split_reasoning(text: str) -> SplitText:
    """Set the thoughts in ``<think>``, ``<thinking>`` and ``<reflection>`` apart from the rest.

    Tags may be nested, and any of them closes any other. An opening tag without an end holds all
    the text after it, a closing tag without a beginning all the text before it. Tags within a JSON
    object are part of that object.
    """
    answer: list[str] = []
    thoughts: list[str] = []
    depth = position = 0
    mark = _MARK.search(text)
    while mark:
        resume = mark.end()
        if mark["brace"]:
            end = _object_end(text, mark.start()) if depth == 0 else None
            if end is not None:
                answer.append(text[position:end])
                position = resume = end
        else:
            (thoughts if depth else answer).append(text[position : mark.start()])
            position = resume
            if not mark["closing"]:
                depth += 1
            elif depth:
                depth -= 1
            else:
                thoughts, answer = [*thoughts, "".join(answer)], []
        mark = _MARK.search(text, resume)
    rest = text[position:]
    unclosed = rest.strip() if depth else ""
    (thoughts if depth else answer).append(rest)
    return SplitText("".join(answer).strip(), joined(thoughts), unclosed)


def joined(thoughts: list[str]) -> str:
    """Join the thoughts that are not blank, with a blank line between two."""
    return "\n\n".join(thought.strip() for thought in thoughts if thought.strip())


def json_objects(text: str) -> Iterator[str]:
    """Yield the outermost whole JSON objects of ``text`` as they are written, in their order.

    Objects within one that the text breaks off are parts of it, and left out.
    """
    return (text[span.start : span.end] for span in _spans(text) if span.end is not None)


def breaks_off(text: str) -> bool:
    """Tell whether ``text`` ends in the middle of a JSON object."""
    return any(span.end is None for span in _spans(text))


class _Span(NamedTuple):
    """Where an outermost object is; ``end`` is ``None`` where the text ends within it."""

    start: int
    end: int | None


def _spans(text: str) -> Iterator[_Span]:
    start = text.find("{")
    while start >= 0:
        end = _object_end(text, start)
        if end is not None:
            yield _Span(start, end)
        elif _is_cut(text, start):
            yield _Span(start, None)
            return
        start = text.find("{", end or start + 1)


def _object_end(text: str, start: int) -> int | None:
    """Return the position after the JSON value that begins at ``start``, ``None`` where there is none."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (json.JSONDecodeError, RecursionError):
        return None


def _is_cut(text: str, start: int) -> bool:
    try:
        _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return error.msg.startswith("Unterminated string") or bool(_TORN.fullmatch(text[error.pos :].rstrip()))
    except RecursionError:
        return False
    return False


def _last_words(thoughts: str) -> list[str]:
    text = thoughts.removesuffix(_FENCE).rstrip()
    return [written for written in json_objects(text) if text.endswith(written)]


def _misfit(error: ValidationError) -> ResponseInvalid:
    message = "; ".join(problems_in(error, "the object"))
    ignored = any(problem["type"] == "missing" for problem in error.errors())
    return SchemaIgnored(message) if ignored else ResponseInvalid(message)
