"""Schemas as servers accept them; answers as values."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from session.errors import ResponseInvalid
from tests.unit.zorkgpt.llm.asking import MOVE, Move
from zorkgpt.llm.openai.reasoning import split_reasoning
from zorkgpt.llm.openai.structured import AnswerIncomplete, SchemaIgnored, read_answer, response_format


class Lamp(BaseModel):
    kind: Literal["lamp"]
    oil: int = Field(ge=0, le=100)


class Sword(BaseModel):
    kind: Literal["sword"]
    pattern: str = Field("plain", pattern="^[a-z]+$", description="as engraved")


class Chest(BaseModel):
    """What is in it."""

    first: Annotated[Lamp | Sword, Field(discriminator="kind")]
    others: set[str] = Field(default_factory=set, max_length=3)
    owner: Lamp = Field(description="whose it is")
    note: str | None = None


class Ledger(BaseModel):
    entries: dict[str, int]


def test_a_strict_schema_closes_objects_requires_all_and_knows_no_defaults() -> None:
    held = response_format(Chest, constraints=True)["json_schema"]
    assert isinstance(held, dict)
    assert held["name"] == "Chest"
    assert held["strict"] is True
    written = str(held["schema"])
    assert "'required': ['first', 'others', 'owner', 'note']" in written
    assert written.count("'additionalProperties': False") == written.count("'type': 'object'")
    assert all(word not in written for word in ("default", "oneOf", "discriminator"))
    assert "'maxItems': 3" in written


def test_without_constraints_only_the_shape_is_left() -> None:
    written = str(response_format(Chest, constraints=False))
    assert all(f"'{word}': " not in written for word in ("maxItems", "uniqueItems", "minimum", "maximum"))
    assert "'pattern': {'description': 'as engraved'" in written, "a property may be named like a keyword"
    assert "'enum'" in written or "'const'" in written


def test_a_schema_with_free_keys_is_not_strict() -> None:
    held = response_format(Ledger, constraints=True)["json_schema"]
    assert isinstance(held, dict)
    assert held["strict"] is False


@pytest.mark.parametrize(
    "text",
    [
        MOVE,
        f"```json\n{MOVE}\n```",
        f"My answer {{as asked}}: {MOVE} Good luck {{}}!",
        f'{{"action": "draft"}} No, better: {MOVE}',
        f"<think>Perhaps {{}}</think>{MOVE}<think>Hm",
        f"<think>I forgot to close this.\n{MOVE}\n",
        f"<think>I forgot to close this.\n```json\n{MOVE}\n```",
        f"Well. <think>I forgot to close this.\n{MOVE}",
        f"<think>{'Hm. { ' * 50_000}</think>{MOVE}",
    ],
    ids=range(9),
)
def test_the_answer_is_found_wherever_it_stands(text: str) -> None:
    assert read_answer(split_reasoning(text), Move).action == "light lamp"


@pytest.mark.parametrize("text", ["", " ", f"<think>{MOVE}</think>", f"<think>Or {MOVE}? No", MOVE[:-2]])
def test_a_draft_in_thoughts_or_half_an_answer_is_none(text: str) -> None:
    with pytest.raises(AnswerIncomplete):
        read_answer(split_reasoning(text), Move)


class Aims(BaseModel):
    """An answer of which every part may be left out."""

    aims: list[Move] = Field(default_factory=list)


@pytest.mark.parametrize("text", [f'{{"aims": [{MOVE}, {{"re', f'<think>So {{"aims": [{MOVE}'])
def test_a_part_of_an_answer_that_breaks_off_is_not_taken_for_the_whole(text: str) -> None:
    with pytest.raises(AnswerIncomplete):
        read_answer(split_reasoning(text), Aims)


def test_the_last_object_that_fits_is_the_answer() -> None:
    first = MOVE.replace("light lamp", "wait")
    assert read_answer(split_reasoning(f"{first} {MOVE} {{}}"), Move).action == "light lamp"


def test_what_is_wrong_is_said_by_field() -> None:
    with pytest.raises(SchemaIgnored, match="reasoning: Field required; action: Input should be a valid string"):
        read_answer(split_reasoning('{"action": 5}'), Move)
    with pytest.raises(ResponseInvalid, match="reasoning: String should have at most 200 characters") as caught:
        read_answer(split_reasoning(MOVE.replace("dark", "dark" * 60)), Move)
    assert not isinstance(caught.value, SchemaIgnored)


def test_a_compact_answer_is_held_to_no_white_space_between_its_fields() -> None:
    assert "'x-guidance': {'whitespace_flexible': False}" in str(response_format(Move, constraints=True, compact=True))
    assert "x-guidance" not in str(response_format(Move, constraints=True))
