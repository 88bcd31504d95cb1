"""The documentation shows the costs that a dry run prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.generated_docs import MODELS, PROTOCOL, with_dry_run

pytestmark = pytest.mark.slow  # each case rehearses whole episodes

HOW = "ZORKGPT_STORIES=... make docs writes {} anew; commit what it wrote"
_HOURS = re.compile(r" +(?:HOURS|\d+\.\d)$", re.MULTILINE)


def without_hours(page: str) -> str:
    """The page without the last column, which includes the time that this machine needs."""
    return _HOURS.sub("", page)


def test_the_costs_of_the_example_are_those_of_the_command() -> None:
    page = MODELS.read_text(encoding="utf-8")
    assert without_hours(page) == without_hours(with_dry_run(MODELS, Path())), HOW.format(MODELS.name)


def test_the_costs_of_the_protocol_are_those_of_the_command(story_folder: Path) -> None:
    page = PROTOCOL.read_text(encoding="utf-8")
    assert without_hours(page) == without_hours(with_dry_run(PROTOCOL, story_folder)), HOW.format(PROTOCOL.name)
