"""Inspect's figures of a run are unknown if the score of an episode is."""

from __future__ import annotations

import pytest


def test_a_run_with_an_episode_without_a_known_score_has_no_mean() -> None:
    inspect_task = pytest.importorskip("zorkgpt.inspect_task", reason="inspect is not installed")
    rows = [{"score": 20, "best_score": 30}, {"score": None, "best_score": None}]
    assert inspect_task.shares_of_maximum(rows[:1], 100) == {"score": 0.2, "last_score": 0.2, "best_score": 0.3}
    assert inspect_task.shares_of_maximum(rows, 100) == {}
    assert inspect_task.shares_of_maximum(rows[1:], 100) == {}
    assert inspect_task.shares_of_maximum([], 100) == {}
