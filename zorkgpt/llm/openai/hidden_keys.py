"""Hides keys in what a server says: it may repeat them in an error, in an answer, in the name of a model."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote

from session.configuration.option_groups import SHORTEST_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HIDDEN = "[key]"


class Secrets:
    """Keys that must not be shown, in every form in which a text may hold them."""

    def __init__(self, keys: Iterable[str | None]) -> None:
        forms = {form for key in keys if key and len(key) >= SHORTEST_KEY for form in _forms(key)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_spelt, longest_first))) if forms else None

    def hidden(self, text: str) -> str:
        """Return ``text`` with ``[key]`` for every key, whether plain, percent-encoded, in Base64 or JSON escapes."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text


def _forms(key: str) -> Iterator[str]:
    yield key
    yield quote(key, safe="")
    for before in range(3):
        # What stands before it moves the key within the groups of three bytes; those it has to itself are the same.
        encoded = b64encode(bytes(before) + key.encode()).decode().rstrip("=")
        whole = encoded[-(-before * 8 // 6) : (before + len(key.encode())) * 8 // 6]
        yield whole
        yield whole.replace("+", "-").replace("/", "_")


def _spelt(form: str) -> str:
    """Return a pattern for ``form`` in which any character may be an escape of JSON."""
    return "".join(rf"(?:\\?{re.escape(each)}|\\u(?i:{ord(each):04x}))" for each in form)
