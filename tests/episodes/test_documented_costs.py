"""The documentation shows the costs that a dry run prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.generated_docs import MODELS, PROTOCOL, with_dry_run

pytestmark = pytest.mark.slow  # each case rehearses whole episodes

HOW = "ZORKGPT_STORIES=... make docs writes {} anew; commit what it wrote"
_HOURS = re.compile(r" +(?:HOURS|\d+\.\d)$", re.MULTILINE)
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
NEAR = 0.02
"""How much a figure may differ: each word of a prompt changes it, and its three digits jump."""


def without_hours(page: str) -> str:
    """The page without the last column, which includes the time that this machine needs."""
    return _HOURS.sub("", page)


def assert_as_documented(path: Path, stories: Path) -> None:
    page, printed = (without_hours(text) for text in (path.read_text(encoding="utf-8"), with_dry_run(path, stories)))
    texts = [re.sub(" +", " ", _NUMBER.sub("N", text)) for text in (page, printed)]
    assert texts[0] == texts[1], HOW.format(path.name)
    figures = [[float(each.replace(",", "")) for each in _NUMBER.findall(text)] for text in (page, printed)]
    assert figures[0] == pytest.approx(figures[1], rel=NEAR), HOW.format(path.name)


def test_the_costs_of_the_example_are_those_of_the_command() -> None:
    assert_as_documented(MODELS, Path())


def test_the_costs_of_the_protocol_are_those_of_the_command(story_folder: Path) -> None:
    assert_as_documented(PROTOCOL, story_folder)
