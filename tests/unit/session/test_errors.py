"""Validation errors become one line with the place and the problem."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from session.errors import first_problem, problems_in


class Inner(BaseModel):
    size: int
    name: str


class Outer(BaseModel):
    inner: Inner


def error_of(value: object) -> ValidationError:
    with pytest.raises(ValidationError) as raised:
        Outer.model_validate(value)
    return raised.value


def test_a_problem_is_named_by_its_place_or_by_the_name_of_the_whole() -> None:
    error = error_of({"inner": {"size": "wide"}})
    assert problems_in(error) == [
        "inner.size: Input should be a valid integer, unable to parse string as an integer",
        "inner.name: Field required",
    ]
    assert first_problem(error) == problems_in(error)[0]
    assert first_problem(error_of(7)).startswith("the file: ")
    assert first_problem(error_of(7), "the object").startswith("the object: ")
