"""Episode numbers go up, across processes too."""

from __future__ import annotations

import multiprocessing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from session.errors import StoreError
from session.files.episode_numbers import take_episode_numbers

if TYPE_CHECKING:
    from pathlib import Path


def test_numbers_go_up_from_one(tmp_path: Path) -> None:
    assert [take_episode_numbers(tmp_path / "new", count) for count in (1, 3, 2)] == [1, 2, 5]


def test_two_processes_never_get_the_same_number(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        numbers = pool.map(partial(take_episode_numbers, count=1), [tmp_path] * 20, chunksize=1)
    assert sorted(numbers) == list(range(1, 21))


@pytest.mark.parametrize("content", ["", "[]", '{"last_episode": "x"}', '{"last_episode": -1}'])
def test_a_broken_file_is_an_error_that_says_the_mend_and_is_left_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / "episodes.json").write_text(content)
    with pytest.raises(StoreError, match="last_episode"):
        take_episode_numbers(tmp_path, 1)
    assert (tmp_path / "episodes.json").read_text() == content
