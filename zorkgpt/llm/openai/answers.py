"""The answer in what a model wrote: its thoughts set aside, its JSON found and validated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from pydantic import ValidationError

from session.errors import ResponseInvalid, problems_in
from zorkgpt.llm.language_model import Answer

_MOST_TRIED = 100
"""Objects of one answer that are held against its schema, the last ones first; and so many of the first and of the last
braces are tried as beginnings of objects. More are not an answer, and each try may take as long as the text is."""
_MOST_PROBLEMS = 100
_FENCE = "```"
_BRACE = re.compile(r"""\{(?=[ \t\n\r]*(?:["}]|\Z))""")
"""A brace that may begin an object."""
_MARK = re.compile(rf"<(?P<closing>/?)(?:think|thinking|reflection)\s*>|(?P<brace>{_BRACE.pattern})", re.IGNORECASE)
_DECODER = json.JSONDecoder()
_TORN = re.compile(r"\s*|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.\d*|(?:\.\d+)?[eE][+-]?\d*")
"""What is left of a text that ends within an object, from the place on that is not JSON."""
_LONGEST_ESCAPE = 5  # characters after the backslash, "u" among them


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
    spans = list(_spans(split.answer))
    objects = [split.answer[span.start : span.end] for span in spans if span.end] or _last_words(split.unclosed)
    if not objects and not split.answer:
        raise AnswerIncomplete("the answer is empty")
    problem: ResponseInvalid = SchemaIgnored("there is no JSON object in it")
    for written in islice(reversed(objects), _MOST_TRIED):
        try:
            return schema.model_validate_json(written)
        except ValidationError as error:
            problem = _misfit(error)
    if spans and spans[-1].end is None:
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
    depth = position = failed = 0
    mark = _MARK.search(text)
    while mark:
        resume = mark.end()
        if mark["brace"]:
            end = _object_end(text, mark.start()) if depth == 0 and failed < _MOST_TRIED else None
            if end is not None:
                answer.append(text[position:end])
                position = resume = end
            failed += depth == 0 and end is None
        else:
            (thoughts if depth else answer).append(text[position : mark.start()])
            position = resume
            if not mark["closing"]:
                depth += 1
            elif depth:
                depth -= 1
            else:
                thoughts.append("".join(answer))
                answer.clear()
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


class _Span(NamedTuple):
    """Where an outermost object is; ``end`` is ``None`` where the text ends within it."""

    start: int
    end: int | None


def _spans(text: str) -> Iterator[_Span]:
    """Yield where the outermost objects are, up to one that the text breaks off."""
    starts = [brace.start() for brace in _BRACE.finditer(text)]
    if len(starts) > 2 * _MOST_TRIED:
        starts = starts[:_MOST_TRIED] + starts[-_MOST_TRIED:]
    read = 0
    for start in starts:
        if start < read:
            continue
        end = _object_end(text, start)
        if end is None and _is_torn(text[start:]):
            yield _Span(start, None)
            return
        if end is not None:
            yield _Span(start, end)
            read = end


def _object_end(text: str, start: int) -> int | None:
    """Return the position after the object whose brace is at ``start``, ``None`` if it is not whole JSON."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _is_torn(text: str) -> bool:
    """Return whether the text is the beginning of an object."""
    try:
        _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :]
        is_in_escape = error.msg.startswith("Invalid \\uXXXX") and len(rest) <= _LONGEST_ESCAPE
        return is_in_escape or error.msg.startswith("Unterminated string") or _TORN.fullmatch(rest) is not None
    except (ValueError, RecursionError):
        return False
    return False


def _last_words(thoughts: str) -> list[str]:
    text = thoughts.removesuffix(_FENCE).rstrip()
    return [written for written in json_objects(text) if text.endswith(written)]


def _misfit(error: ValidationError) -> ResponseInvalid:
    if error.error_count() > _MOST_PROBLEMS:
        return ResponseInvalid(f"{error.error_count()} values in it do not fit")
    message = "; ".join(problems_in(error, "the object"))
    ignored = any(problem["type"] == "missing" for problem in error.errors())
    return SchemaIgnored(message) if ignored else ResponseInvalid(message)
