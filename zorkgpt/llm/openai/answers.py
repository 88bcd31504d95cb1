"""Reads a model's answer: separates its reasoning, finds its JSON and validates it."""

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
"""The most objects of one answer that are validated, last ones first, and the most braces from the beginning and from
the end that are tried as starts of objects. The time for each try may grow with the length of the text."""
_MOST_PROBLEMS = 100
_FENCE = "```"
_BRACE = re.compile(r"""\{(?=[ \t\n\r]*(?:["}]|\Z))""")
"""A brace that may start an object."""
_MARK = re.compile(rf"<(?P<closing>/?)(?:think|thinking|reflection)\s*>|(?P<brace>{_BRACE.pattern})", re.IGNORECASE)
_DECODER = json.JSONDecoder()
_TORN = re.compile(r"\s*|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.\d*|(?:\.\d+)?[eE][+-]?\d*")
"""The rest of a truncated object, from the position of the JSON error on."""
_LONGEST_ESCAPE = 5  # characters after the backslash, "u" among them


class AnswerIncomplete(ResponseInvalid):
    """The answer is empty or truncated; another sample may be complete."""


class SchemaIgnored(ResponseInvalid):
    """The answer is one that a server with schema enforcement could not have returned."""


@dataclass(frozen=True, slots=True)
class SplitText:
    """A model's text, in two parts.

    answer: the text without the reasoning
    reasoning: the contents of all reasoning tags, separated by blank lines
    unclosed: the part of ``reasoning`` without a closing tag; it may contain the answer
    """

    answer: str
    reasoning: str
    unclosed: str = ""


def read_answer(split: SplitText, schema: type[Answer]) -> Answer:
    """Return the last JSON object of the answer that fits ``schema``.

    An object at the end of unclosed reasoning counts as an answer; a draft within the reasoning does not.
    Raises ``AnswerIncomplete`` for an empty or truncated answer, and ``ResponseInvalid`` with the problem otherwise.
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
    """Separate the reasoning in ``<think>``, ``<thinking>`` and ``<reflection>`` from the rest.

    Tags may be nested, and any closing tag closes any opening tag. An opening tag without a closing tag contains all
    text after it; a closing tag without an opening tag contains all text before it. Tags within a JSON object are part
    of that object.
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
    """Join the thoughts that are not blank, with blank lines between them."""
    return "\n\n".join(thought.strip() for thought in thoughts if thought.strip())


def json_objects(text: str) -> Iterator[str]:
    """Yield the outermost complete JSON objects of ``text``, unchanged and in order.

    Objects within a truncated object are parts of it and are left out.
    """
    return (text[span.start : span.end] for span in _spans(text) if span.end is not None)


class _Span(NamedTuple):
    """The position of an outermost object; ``end`` is ``None`` if the text ends within it."""

    start: int
    end: int | None


def _spans(text: str) -> Iterator[_Span]:
    """Yield the positions of the outermost objects, up to a truncated one."""
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
    """Return the position after the object that starts at ``start``, ``None`` if it is not complete JSON."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _is_torn(text: str) -> bool:
    """Return whether the text is the start of a truncated object."""
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
