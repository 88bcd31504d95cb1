"""Prompts know no game: neither Zork's rooms nor its objects, by their own names.

Source: docs/specification.md, No game knowledge.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story

PROMPTS = sorted((Path(__file__).parents[2] / "zorkgpt" / "prompts").glob("*.md"))
TELLING_WORDS = {
    "zork", "grue", "troll", "thief", "cyclops", "mailbox", "leaflet", "lantern", "sceptre", "trident", "frobozz",
}  # fmt: skip


def words_of(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z]+', text.lower()))} "


def test_there_are_prompts() -> None:
    assert len(PROMPTS) >= 5


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda path: path.stem)
def test_no_prompt_names_what_only_zork_has(prompt: Path) -> None:
    assert not TELLING_WORDS & set(words_of(prompt.read_text(encoding="utf-8")).split())


@pytest.mark.stories
def test_no_prompt_holds_a_name_of_zorks_own_object_table(zork1: Path) -> None:
    story = Story.load(zork1)
    table = ObjectTable(story)
    names = {words_of(table.name(number)) for number in range(1, table.count + 1)}
    names = {name for name in names if len(name.split()) > 1}
    assert len(names) > 100
    text = " ".join(words_of(prompt.read_text(encoding="utf-8")) for prompt in PROMPTS)
    assert sorted(name for name in names if name in text) == []
