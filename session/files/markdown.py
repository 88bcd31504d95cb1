"""What every Markdown file that people edit has: line ends of some kind, and empty lines between paragraphs."""

from __future__ import annotations

import re

BYTE_ORDER_MARK = "\ufeff"

_LINE_END = re.compile(r"\r\n?|\n")


def usual_line_end(text: str) -> str:
    """The line end that most lines of the text have."""
    if "\r" not in text:
        return "\n"
    windows, unix = text.count("\r\n"), text.count("\n")
    if not unix:
        return "\r"
    return "\r\n" if 2 * windows > unix else "\n"


def gap_after(text: str, line_end: str) -> str:
    """The line ends that are missing behind ``text`` for the next line to begin a paragraph."""
    if not text.endswith(("\n", "\r")):
        return line_end * 2
    return "" if not _LINE_END.split(text)[-2].strip() else line_end
