"""A Markdown file that people edit, as a document of sections and blocks whose texts joined are the file again.

What the program understands of a block is its content; everything else is carried along unchanged, so that no edit
loses a byte of what people wrote (docs/records/specification.md, Files that people edit).
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from typing import Any, Generic, TypeVar, cast

from typing_extensions import Self

COMMENT = "<!--"
COMMENT_END = "-->"
BYTE_ORDER_MARK = "\ufeff"

_LINE_ENDS = ("\n", "\r")
_LINE_END = re.compile(r"\r\n?|\n")
_FIRST_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
_SPACE_AND_RULES = " \t\r\n-*_"
_ITEM_MARKS = ("- ", "* ", "+ ")
_SPECIAL = re.compile(r"\\|~{2,}|^~|~$|(?<=--)>|&(?=#\d)|[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])|&#(\d{1,7});", re.ASCII)
_SURROGATES = range(0xD800, 0xE000)
"""Numbers of no character: half a pair, which no UTF-8 can hold."""

Heading = TypeVar("Heading")
Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class MarkdownBlock(Generic[Content]):
    """Lines that belong together.

    text: exactly as in the file, including line ends
    problem: one sentence for users about what could not be parsed, or ""
    """

    text: str
    content: Content | None = None
    problem: str = ""


@dataclass(frozen=True)
class MarkdownSection(Generic[Heading, Content]):
    """A heading and the text below it, up to the next heading of its kind.

    heading: the parsed heading; its text is that of the first block
    """

    heading: Heading
    blocks: tuple[MarkdownBlock[Content], ...]

    @cached_property
    def text(self) -> str:
        """The text of all blocks; kept, since an edit leaves most sections of a file as they are."""
        return "".join(block.text for block in self.blocks)

    @cached_property
    def contents(self) -> tuple[Content, ...]:
        """What was understood of the blocks."""
        return tuple(block.content for block in self.blocks if block.content is not None)


@dataclass(frozen=True, slots=True)
class MarkdownProblem:
    """A place of the file that was not understood, or that is probably a mistake.

    line: where it begins, counted from 1
    message: one sentence that explains how to correct it
    """

    line: int
    message: str


@dataclass(frozen=True)
class MarkdownDocument(Generic[Heading, Content]):
    """A whole file. An edit returns a new document in which only the affected blocks differ.

    sections: in the order of the file; the first is the text above the first heading and may be empty
    line_end: the most frequent one in the file
    """

    sections: tuple[MarkdownSection[Heading, Content], ...]
    line_end: str

    def render(self) -> str:
        """Return the text of the file."""
        return "".join(section.text for section in self.sections)

    def problems(self) -> list[MarkdownProblem]:
        """Return what could not be understood, in the order of the file."""
        return self._marked(lambda _section, block: block.problem)

    def _marked(
        self, message: Callable[[MarkdownSection[Heading, Content], MarkdownBlock[Content]], str]
    ) -> list[MarkdownProblem]:
        """Return a problem for each block that has a message, with the line in which the block begins."""
        found, line = [], 1
        for section in self.sections:
            for block in section.blocks:
                if words := message(section, block):
                    found.append(MarkdownProblem(line, words))
                line += len(_LINE_END.findall(block.text))
        return found

    def with_blocks(self, at: int, blocks: tuple[MarkdownBlock[Content], ...]) -> Self:
        """Return the document with these as the blocks of section ``at``."""
        changed = replace(self.sections[at], blocks=blocks)
        return replace(self, sections=(*self.sections[:at], changed, *self.sections[at + 1 :]))

    def with_each_block(
        self,
        is_meant: Callable[[Heading], bool],
        change: Callable[[MarkdownBlock[Content]], MarkdownBlock[Content] | None],
    ) -> Self:
        """Return the document with ``change`` applied to every block of the sections that are meant, ``None`` for none.

        Where nothing changes this very document is returned.
        """
        document = self
        for at, section in enumerate(self.sections):
            if is_meant(section.heading):
                changed = _apart(block for block in map(change, section.blocks) if block is not None)
                if changed != section.blocks:
                    document = document.with_blocks(at, changed)
        return document

    def with_last_block(self, at: int, block: MarkdownBlock[Content], *, is_item: bool = False) -> Self:
        """Return the document with the block at the end of section ``at``, above closing blank lines and rules.

        Blank lines separate it from its neighbours.

        is_item: it is an item of a list, directly below another item and directly above a rule
        """
        blocks, end = self.sections[at].blocks, self.line_end
        start = len(blocks)
        while start > 1 and blocks[start - 1].content is None and not blocks[start - 1].text.strip(_SPACE_AND_RULES):
            start -= 1
        closing = start
        above, below = _ended(blocks[:closing], end), blocks[closing:]
        text_below = "".join(each.text for each in below)
        first_below = cast("re.Match[str]", _FIRST_LINE.match(text_below))[0]
        follows_item = is_item and bool(above) and above[-1].text.lstrip().startswith(_ITEM_MARKS)
        gap = "" if follows_item or not above or _ends_blank(above[-1].text) else end
        if is_item and gap and text_below and not text_below.strip():
            gap = first_below if first_below.endswith(_LINE_ENDS) else first_below + end
            below = _block_of(text_below[len(first_below) :])
        is_set_apart = (is_item or not first_below.strip()) if below else at + 1 == len(self.sections)
        return self.with_blocks(at, (*above, *_block_of(gap), block, *_block_of("" if is_set_apart else end), *below))

    def with_section(self, at: int, section: MarkdownSection[Heading, Content], title: str) -> Self:
        """Return the document with a new section in front of section ``at``, which is at least 1, below a blank line.

        title: the line that begins a file, for one that has no text above the new section
        """
        above, end = self.sections[:at], self.line_end
        texts = (block.text for section in reversed(above) for block in reversed(section.blocks))
        text_above = next(texts, BYTE_ORDER_MARK)
        blocks = above[-1].blocks
        if text_above == BYTE_ORDER_MARK and next(texts, None) is None:
            blocks = (*blocks, MarkdownBlock(f"{title}{end}{end}"))
        else:
            blocks = (*_ended(blocks, end), *_block_of("" if _ends_blank(text_above) else end))
        last = replace(above[-1], blocks=blocks)
        return replace(self, sections=(*above[:-1], last, section, *self.sections[at:]))


class MarkdownReader(ABC, Generic[Heading, Content]):
    """Splits any text into sections and blocks, in one pass over its lines.

    A subclass decides which line is a heading and where a block ends.

    heading: of the current section; at first a placeholder for the text above the first heading
    lines: with their line ends
    bare: the same lines without the white space around them
    at: index of the next line, from 0
    """

    __slots__ = ("_mark", "at", "bare", "heading", "line_end", "lines")

    def __init__(self, text: str, no_heading: Heading) -> None:
        self.heading = no_heading
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        self.line_end = usual_line_end(text)
        self.lines = StringIO(text[len(self._mark) :], newline="").readlines()
        self.bare = [line.strip() for line in self.lines]
        self.at = 0

    @abstractmethod
    def take_heading(self) -> MarkdownSection[Heading, Content] | None:
        """Take the next line if it is a heading, and return the section that it begins."""

    @abstractmethod
    def take_block(self) -> MarkdownBlock[Content]:
        """Take the block that begins with the next line, which is not a heading."""

    def sections(self) -> tuple[MarkdownSection[Heading, Content], ...]:
        """Read the whole text."""
        sections: list[MarkdownSection[Heading, Content]] = []
        blocks = list(_block_of(self._mark))
        while self.at < len(self.lines):
            begun = self.take_heading()
            if begun is None:
                blocks.append(self.take_block())
            else:
                sections.append(MarkdownSection(self.heading, tuple(blocks)))
                self.heading, blocks = begun.heading, list(begun.blocks)
        return (*sections, MarkdownSection(self.heading, tuple(blocks)))

    def take(self, end: int, content: Content | None = None, problem: str = "") -> MarkdownBlock[Content]:
        """Take the lines up to ``end``, which is not among them, as one block."""
        text = "".join(self.lines[self.at : end])
        self.at = end
        return MarkdownBlock(text, content, problem)

    def take_space(self) -> MarkdownBlock[Content]:
        """Take the blank line that is next, with those that follow it."""
        start = self.at
        while self.at < len(self.bare) and not self.bare[self.at]:
            self.at += 1
        return MarkdownBlock("".join(self.lines[start : self.at]))

    def take_comment(self, problem: str = "") -> MarkdownBlock[Content]:
        """Take the comment that begins with the next line; without an end, only that line with the ``problem``.

        A line that begins another comment ends the search, because the first one was meant to end before it.
        """
        for number in range(self.at, len(self.lines)):
            line = self.bare[number]
            if number > self.at and line.startswith(COMMENT):
                break
            if COMMENT_END in line:
                return self.take(number + 1)
        return self.take(self.at + 1, problem=problem)


def usual_line_end(text: str) -> str:
    """Return the line end that most lines of the text have."""
    if "\r" not in text:
        return "\n"
    windows, unix = text.count("\r\n"), text.count("\n")
    if not unix:
        return "\r"
    return "\r\n" if 2 * windows > unix else "\n"


def escape(text: str) -> str:
    """Return the text for use within a line. ``unescape`` restores it, except for halves of surrogate pairs."""
    return _SPECIAL.sub(escape_all, text)


def unescape(text: str) -> str:
    """Return the text of a line of Markdown. Numbers that are not characters are left as they are."""
    if "\\" not in text and "&#" not in text:
        return text
    return _ESCAPED.sub(_unescaped, text)


def escape_all(match: re.Match[str]) -> str:
    """Return what was matched with every character of it escaped."""
    marks = match[0]
    return "".join(f"\\{mark}" for mark in marks) if marks.isascii() and marks.isprintable() else by_number(marks)


def by_number(characters: str) -> str:
    """Return the characters written by their numbers: ``&#32;`` for a space."""
    return "".join(f"&#{ord(character)};" for character in characters)


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return match[1]
    number = int(match[2])
    is_character = number <= sys.maxunicode and number not in _SURROGATES
    return chr(number) if is_character else match[0]


def _ended(blocks: tuple[MarkdownBlock[Content], ...], line_end: str) -> tuple[MarkdownBlock[Content], ...]:
    """Return the blocks with a line end at the end of the last one."""
    if not blocks or blocks[-1].text.endswith(_LINE_ENDS):
        return blocks
    return (*blocks[:-1], replace(blocks[-1], text=blocks[-1].text + line_end))


def _apart(blocks: Iterable[MarkdownBlock[Content]]) -> tuple[MarkdownBlock[Content], ...]:
    r"""Return the blocks with the line ends of two neighbours apart: ``\r`` and ``\n`` would join to a single one."""
    apart: list[MarkdownBlock[Content]] = []
    for block in blocks:
        if apart and apart[-1].text.endswith("\r") and block.text.startswith("\n"):
            apart[-1] = replace(apart[-1], text=apart[-1].text + "\n")
        apart.append(block)
    return tuple(apart)


def _ends_blank(text: str) -> bool:
    """Whether the last line of the text is blank and ended, so that a new paragraph can begin below it."""
    return text.endswith(_LINE_ENDS) and not _LINE_END.split(text)[-2].strip()


def _block_of(text: str) -> tuple[MarkdownBlock[Any], ...]:
    return (MarkdownBlock(text),) if text else ()
