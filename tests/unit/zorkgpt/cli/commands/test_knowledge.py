"""``zorkgpt knowledge`` as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fixtures.typed_command import typed

KNOWLEDGE = """# Knowledge Base

## DANGERS & THREATS

- Fumes kill. *(Ep1, T12-14)*

## PUZZEL SOLUTIONS

- Turn the wheel.

## My own heading

- Mind the otter.
"""


@pytest.fixture(autouse=True)
def work(in_own_folder: Path) -> Path:
    folder = in_own_folder / "game_files"
    folder.mkdir()
    (folder / "knowledgebase.md").write_text(KNOWLEDGE, encoding="utf-8")
    return folder


def test_it_is_shown_by_its_headings() -> None:
    assert typed("knowledge", "show").text == (
        "Knowledge, game_files/knowledgebase.md:\n"
        "DANGERS & THREATS\n  1. Fumes kill.\nPUZZEL SOLUTIONS\n  2. Turn the wheel.\n"
        "My own heading\n  3. Mind the otter.\n"
    )
    lines = json.loads(typed("knowledge", "show", "--json").out)
    assert lines[0] == {
        "section": "DANGERS & THREATS",
        "line": {"text": "Fumes kill.", "sources": [{"episode": 1, "first_turn": 12, "last_turn": 14}]},
    }


def test_a_heading_that_is_probably_misspelled_is_named_and_one_of_the_users_own_is_not() -> None:
    checked = typed("knowledge", "check")
    line = "game_files/knowledgebase.md:7: PUZZEL SOLUTIONS is probably PUZZLE SOLUTIONS, misspelled.\n"
    assert (checked.status, checked.text) == (1, line)
    assert [each["line"] for each in json.loads(typed("knowledge", "check", "--json").out)["problems"]] == [7]


def test_a_knowledge_base_without_problems_is_status_0(work: Path) -> None:
    (work / "knowledgebase.md").write_text(KNOWLEDGE.replace("PUZZEL", "Puzzle"), encoding="utf-8")
    assert typed("knowledge", "check").status == 0
    (work / "knowledgebase.md").unlink()
    assert typed("knowledge", "show").out == b"Nothing is known in game_files/knowledgebase.md.\n"
