"""Thoughts that a model writes into its answer, told apart from the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from zorkgpt.llm.openai.json_text import object_end

_MARK = re.compile(r"<(?P<closing>/?)(?:think|thinking|reflection)\s*>|(?P<brace>\{)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SplitText:
    """What a model wrote, parted.

    answer: the text without its thoughts
    reasoning: the thoughts, without their tags, a blank line between two of them
    unclosed: that part of ``reasoning`` which no closing tag ended; an answer may be lost in it
    """

    answer: str
    reasoning: str
    unclosed: str = ""


def split_reasoning(text: str) -> SplitText:
    """The thoughts in ``<think>``, ``<thinking>`` and ``<reflection>`` parted from the rest.

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
            end = object_end(text, mark.start()) if depth == 0 else None
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
    """The thoughts that are not blank, a blank line between two."""
    return "\n\n".join(thought.strip() for thought in thoughts if thought.strip())
