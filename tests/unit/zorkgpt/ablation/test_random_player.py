"""The random model gives valid answers for every schema that real models get."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel, Field

from session.errors import ResponseInvalid
from tests.unit.zorkgpt.llm.asking import PROMPT, Move
from zorkgpt.ablation.random_player import RandomModel


class Chosen(BaseModel):
    action: Literal["north", "open box", "take box"]


class Remembered(BaseModel):
    category: Literal["SUCCESS"]
    text: str = Field(max_length=20)
    turns: list[int]
    persistent: bool
    trust: float
    location_id: int | None
    kept: Literal["always"] | None
    follow: int | None = None


class Remembering(BaseModel):
    memories: list[Remembered]


class Spelt(BaseModel):
    word: str = Field(pattern="^xyzzy$")


def test_every_choice_is_drawn_and_the_same_seed_draws_the_same() -> None:
    def drawn(seed: int) -> list[str]:
        model = RandomModel(seed)
        return [model.complete("agent", PROMPT, Chosen).value.action for _ in range(30)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert set(drawn(1)) == {"north", "open box", "take box"}


def test_who_may_type_anything_types_a_command() -> None:
    model = RandomModel(1)
    assert {model.complete("agent", PROMPT, Move).value.action for _ in range(99)} > {"north", "take all"}


def test_an_answer_of_parts_is_filled_part_by_part_and_a_number_that_may_be_missing_is() -> None:
    model = RandomModel(1)
    model.turn = 5
    first, second = (model.complete("memory", PROMPT, Remembering).value.memories[0] for _ in range(2))
    assert (first.turns, first.location_id, first.kept, first.follow) == ([5], None, "always", None)
    assert len(first.text) == 20
    assert first.text != second.text


def test_a_form_that_words_do_not_fit_into_is_an_answer_that_cannot_be_used() -> None:
    with pytest.raises(ResponseInvalid, match="no random Spelt for agent"):
        RandomModel(1).complete("agent", PROMPT, Spelt)
