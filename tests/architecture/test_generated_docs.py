"""The pages of commands and options agree with the program."""

from __future__ import annotations

import pytest

from tests.generated_docs import COMMANDS, CONFIGURATION, MODELS, commands, pages

HOW = "make docs (or: .venv/bin/python -m tests.generated_docs) writes {} anew; commit what it wrote"


@pytest.mark.parametrize("page", [COMMANDS, CONFIGURATION, MODELS], ids=lambda page: page.stem)
def test_a_page_is_what_the_program_says(page: object) -> None:
    (path, text) = next(each for each in pages().items() if each[0] == page)
    assert path.read_text(encoding="utf-8") == text, HOW.format(path.name)


def test_every_command_and_every_group_is_there() -> None:
    found = list(commands())
    assert {("run",), ("runs",), ("runs", "list"), ()} <= set(found)
    assert len(found) > 20
