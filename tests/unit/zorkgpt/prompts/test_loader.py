"""Prompts are whole or refused."""

from __future__ import annotations

import pytest

from zorkgpt.prompts.loader import fill_prompt, prompt_fields


def test_a_prompt_without_fields_is_its_file() -> None:
    assert prompt_fields("agent") == frozenset()
    assert fill_prompt("agent").startswith("You play a text adventure")


def test_a_field_without_a_place_is_refused() -> None:
    with pytest.raises(TypeError, match="no place for solution"):
        fill_prompt("agent", solution="north")


def test_a_prompt_that_does_not_exist_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        fill_prompt("walkthrough")
