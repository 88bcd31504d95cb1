"""Verbs as players write them, where a story's dictionary has only their first letters."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files

USED_AT_LEAST = 2
"""How often players have to have typed a word: what was typed once is a slip as often as not."""


def whole_verb(verb: str, letters: int) -> str:
    """Return the word that players most often type for a verb; ``letters``: after how many a dictionary cuts words.

    Where they type none that begins so, the verb is returned as it is.
    """
    if len(verb) < letters:
        return verb
    usage = _usage()
    words = [word for word in usage if word.startswith(verb) and usage[word] >= USED_AT_LEAST]
    return max(words, key=usage.__getitem__, default=verb)


@lru_cache(maxsize=1)
def _usage() -> dict[str, int]:
    """Return how often each word began a command in transcripts of many games, as Jericho has counted."""
    usage: dict[str, int] = json.loads(files("jericho").joinpath("clubfloyd_verb_counts.json").read_text("utf-8"))
    return usage
