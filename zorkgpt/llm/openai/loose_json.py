"""Reads JSON objects that models write with errors: as Python or JavaScript, with comments, or inside a string."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import reduce
from operator import getitem
from typing import Any

_BRACE = re.compile("\\{(?=\\s*(?:[\"'\u201c\u2018}#/]|[A-Za-z_]\\w*\\s*:|\\Z))")
_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)"
    "|(?P<quote>[\"'\u201c\u2018])|(?P<mark>[{}\\[\\],:])"
    "|(?P<plain>[^\\s\"'\u201c\u201d\u2018\u2019{}\\[\\],:/#]+)",
    re.DOTALL,
)
_ENDS = {
    quote: re.compile(rf"\\.|{end}(?=\s*(?:[,:}}\]]|//|/\*|#|\Z))", re.DOTALL)
    for quote, end in {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019"}.items()
}
"""The end of a string: a quotation mark that could not be part of its text, since punctuation of JSON follows."""
_ESCAPE = re.compile(r'\\(.)|"', re.DOTALL)
_IN_STRING = re.compile(r'\{\s*\\+"')
_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_MOST_READ, _MOST_FAILED = 100, 10  # objects; each failure may have read up to the end of the text


def loose_objects(text: str) -> list[str]:
    """Return the outermost complete objects of ``text`` as JSON, in order.

    These may have trailing commas, comments, typographic or single quotation marks, keys without any, unescaped
    quotation marks and line ends in strings, and Python's words. A JSON string may contain the whole.
    """
    objects: list[str] = []
    position = failed = 0
    while len(objects) < _MOST_READ and failed < _MOST_FAILED and (brace := _BRACE.search(text, position)):
        found, end = _read_object(text, brace.start())
        if end is None:
            break
        if found is not None:
            objects.append(found)
        failed += found is None
        position = brace.end() if found is None else end
    if not objects and (start := _IN_STRING.search(text)):
        try:
            inner = json.loads(f'"{text[start.start() : text.rindex("}") + 1]}"', strict=False)
        except ValueError:
            return []
        return loose_objects(inner)
    return objects


def without_strings(written: str, places: Iterable[tuple[int | str, ...]]) -> str | None:
    """Return a JSON object with the strings at ``places`` replaced by the JSON in them; ``None`` if there is none."""
    is_changed = False
    try:
        value = json.loads(written)
    except ValueError:  # a number with too many digits
        return None
    for *path, last in places:
        try:
            node: Any = reduce(getitem, path, value)
            node[last] = json.loads(_WORDS.get(node[last], node[last]))
        except (LookupError, TypeError, ValueError, RecursionError):
            continue
        is_changed = True
    return json.dumps(value) if is_changed else None


def _read_object(text: str, start: int) -> tuple[str | None, int | None]:
    """Return the object at ``start`` as JSON, ``None`` if it is none, and its end, ``None`` if the text ends before."""
    written: list[str] = []
    depth, position = 0, start
    while token := _TOKEN.match(text, position):
        position, found = token.end(), token[0]
        if token["quote"]:
            end = next((each for each in _ENDS[found].finditer(text, position) if each[0][0] != "\\"), None)
            if end is None:
                return None, None
            written.append(f'"{_ESCAPE.sub(_escaped, text[position : end.start()])}"')
            position = end.end()
        elif token["plain"]:
            is_key = re.match(r"\s*:", text[position : position + 9]) is not None
            written.append(json.dumps(found) if is_key else _WORDS.get(found, found))
        elif token["mark"]:
            if found in "}]" and written[-1] == ",":
                written.pop()
            written.append(found)
            depth += (found in "{[") - (found in "}]")
            if not depth:
                return _as_json("".join(written)), position
    return None, (None if position == len(text) else position)


def _escaped(found: re.Match[str]) -> str:
    escaped: str | None = found[1]
    if escaped is None:
        return r"\""
    return found[0] if escaped in '"\\/bfnrtu' else {"'": "'", "\n": ""}.get(escaped, rf"\\{escaped}")


def _as_json(written: str) -> str | None:
    try:
        return json.dumps(json.loads(written, strict=False))
    except (ValueError, RecursionError):
        return None
