"""Hides keys in a server's texts, which may repeat them in an error, an answer or the name of a model."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote

HIDDEN = "[key]"
_SHORTEST_UNIQUE = 8
"""Characters. A shorter key may be a word, such as ``ollama``, and is hidden only as a whole word."""


class Secrets:
    """Keys that must not be shown, in every encoding that a text may use."""

    def __init__(self, keys: Iterable[str | None]) -> None:
        given = {key for key in keys if key}
        unique = {key for key in given if len(key) >= _SHORTEST_UNIQUE}
        forms = sorted({form for key in unique for form in _forms(key)}, key=len, reverse=True)
        words = [rf"(?<!\w){_spelt(key)}(?!\w)" for key in sorted(given - unique)]
        self._in_names = [_spelt(form) for form in forms]
        self._in_texts = [*self._in_names, *words]

    def hidden(self, text: str) -> str:
        """Return ``text`` with ``[key]`` for every key: plain, percent-encoded, in Base64 or in JSON escapes."""
        return _replaced(self._in_texts, text)

    def hidden_in_name(self, name: str) -> str:
        """Return the name of a model without keys; one like ``ollama/llama3`` may contain a short key and keeps it."""
        return _replaced(self._in_names, name)


def _replaced(patterns: list[str], text: str) -> str:
    return re.sub("|".join(patterns), HIDDEN, text) if patterns else text


def _forms(key: str) -> Iterator[str]:
    yield key
    yield quote(key, safe="")
    for before in range(3):
        # The text before the key shifts it within Base64's groups of three bytes; only whole groups are predictable.
        encoded = b64encode(bytes(before) + key.encode()).decode().rstrip("=")
        whole = encoded[-(-before * 8 // 6) : (before + len(key.encode())) * 8 // 6]
        yield whole
        yield whole.replace("+", "-").replace("/", "_")


def _spelt(form: str) -> str:
    """Return a pattern for ``form`` in which any character may be an escape of JSON."""
    return "".join(rf"(?:\\?{re.escape(each)}|\\u(?i:{ord(each):04x}))" for each in form)
