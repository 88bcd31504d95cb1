"""The answer in what a model wrote: its thoughts set aside, its JSON found and validated.

Every text is read in one pass, whatever is in it: a model may write a million braces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from pydantic import ValidationError

from session.errors import ResponseInvalid, problems_in
from zorkgpt.llm.language_model import Answer

MOST_NESTED = 100
"""Objects and lists within one another; what is nested deeper is no JSON of ours."""
_MOST_TRIED = 100
"""Objects of one answer that are held against its schema, the last ones first."""
_MOST_PROBLEMS = 100
_FENCE = "```"
_BRACE = re.compile(r"""\{(?=[ \t\n\r]*(?:["}]|\Z))""")
"""A brace that may begin an object."""
_MARK = re.compile(rf"<(?P<closing>/?)(?:think|thinking|reflection)\s*>|(?P<brace>{_BRACE.pattern})", re.IGNORECASE)
_CHARACTERS = r"""[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"""
_TOKEN = re.compile(
    r"[ \t\n\r]*(?:(?P<open>[{\[])|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)"
    rf'|(?P<string>"{_CHARACTERS}")'
    r"|(?P<atom>true|false|null|NaN|-?Infinity|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?))"
)
_TORN = re.compile(
    rf'[ \t\n\r]*(?:"{_CHARACTERS}(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?'
    r"|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-|\.|[eE][+-]?)?\s*"
)
"""What may be left of a text that breaks off within a value: half a string, literal or number, or nothing."""
_VALUE = frozenset({"open", "string", "atom"})
_VALUE_OR_END = _VALUE | {"close"}
_KEY = frozenset({"string"})
_KEY_OR_END = _KEY | {"close"}
_COLON = frozenset({"colon"})
_COMMA_OR_END = frozenset({"comma", "close"})


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
    spans = list(_JsonText(split.answer).spans())
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
    json = _JsonText(text)
    answer: list[str] = []
    thoughts: list[str] = []
    depth = position = 0
    mark = _MARK.search(text)
    while mark:
        resume = mark.end()
        if mark["brace"]:
            end = json.object_end(mark.start()) if depth == 0 else None
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
    return (text[span.start : span.end] for span in _JsonText(text).spans() if span.end is not None)


class _Span(NamedTuple):
    """Where an outermost object is; ``end`` is ``None`` where the text ends within it."""

    start: int
    end: int | None


class _JsonText:
    """A text in which JSON objects are looked for, beginning at any of its braces.

    Of each object and list that was read it is kept how it ended, so that none is read again from its own beginning
    after the object around it has turned out not to be one.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[int, int] = {}
        self._torn: set[int] = set()
        self._wrong: set[int] = set()

    def spans(self) -> Iterator[_Span]:
        """Yield where the outermost objects are, up to one that the text breaks off."""
        brace = _BRACE.search(self._text)
        while brace:
            start = brace.start()
            end = self.object_end(start)
            if end is not None:
                yield _Span(start, end)
            elif start in self._torn:
                yield _Span(start, None)
                return
            brace = _BRACE.search(self._text, end or start + 1)

    def object_end(self, start: int) -> int | None:
        """Return the position after the object whose brace is at ``start``, ``None`` where it is not a whole one."""
        if start not in self._ends and start not in self._torn and start not in self._wrong:
            text, position = self._text, start
            around: list[int] = []  # the beginnings of the objects and lists that are open
            expected = _VALUE
            while around or position == start:
                token = _TOKEN.match(text, position)
                kind = token.lastgroup if token else None
                if token is None or kind not in expected or (kind == "open" and len(around) == MOST_NESTED):
                    break
                position = token.end()
                if kind == "open":
                    around.append(position - 1)
                    expected = _KEY_OR_END if text[position - 1] == "{" else _VALUE_OR_END
                elif kind == "close":
                    if text[around[-1]] + text[position - 1] not in {"{}", "[]"}:
                        break
                    self._ends[around.pop()] = position
                    expected = _COMMA_OR_END
                elif kind == "comma":
                    expected = _KEY if text[around[-1]] == "{" else _VALUE
                elif kind == "colon":
                    expected = _VALUE
                else:
                    expected = _COLON if expected in {_KEY, _KEY_OR_END} else _COMMA_OR_END
            (self._torn if _TORN.fullmatch(text, position) else self._wrong).update(around)
        return self._ends.get(start)


def _last_words(thoughts: str) -> list[str]:
    text = thoughts.removesuffix(_FENCE).rstrip()
    return [written for written in json_objects(text) if text.endswith(written)]


def _misfit(error: ValidationError) -> ResponseInvalid:
    if error.error_count() > _MOST_PROBLEMS:
        return ResponseInvalid(f"{error.error_count()} values in it do not fit")
    message = "; ".join(problems_in(error, "the object"))
    ignored = any(problem["type"] == "missing" for problem in error.errors())
    return SchemaIgnored(message) if ignored else ResponseInvalid(message)
