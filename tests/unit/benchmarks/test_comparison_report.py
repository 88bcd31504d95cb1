"""The report runs what it can, says what it left out, fails where a benchmark does, and keeps the figures."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from benchmarks.comparison_report import Benchmark, benchmarks, report
from benchmarks.stories import OWN_STORY, user_stories, walkthrough_of
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH


def test_without_stories_what_needs_them_is_left_out_and_said(capfd: pytest.CaptureFixture[str]) -> None:
    (found,) = report({"map_truth": benchmarks(has_stories=False)["map_truth"]}).values()
    assert not found.failed
    assert "Left out: ZORKGPT_STORIES" in capfd.readouterr().out
    assert not benchmarks(has_stories=True)["map_truth"].missing


def test_stories_that_nobody_knows_a_walkthrough_of_are_no_users_stories(
    tmp_path: Path, clean_environment: pytest.MonkeyPatch
) -> None:
    assert user_stories() == []
    shutil.copy(OWN_STORY, tmp_path / "mill.z5")
    clean_environment.setenv("ZORKGPT_STORIES", str(tmp_path))
    assert user_stories() == []
    assert walkthrough_of(tmp_path / "mill.z5").commands == WALKTHROUGH


def test_a_failure_is_told_at_the_end_and_the_others_are_run(capfd: pytest.CaptureFixture[str]) -> None:
    found = report({"one": _python("raise SystemExit(3)"), "two": _python("print('12 ms')")})
    assert [each.failed for each in found.values()] == [True, False]
    out = capfd.readouterr().out
    assert "12 ms" in out
    assert out.endswith("Failed: one\n")


def _python(script: str) -> Benchmark:
    return Benchmark("Q?", (sys.executable, "-c", script))
