"""The report runs what it can, says what it left out, and fails where a benchmark does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.comparison_report import Benchmark, benchmarks, main, report

if TYPE_CHECKING:
    import pytest

NEED_A_MODEL = {"embedded_turn"}


def test_every_benchmark_that_needs_no_model_is_in_the_report() -> None:
    folder = Path(__file__).parents[3] / "benchmarks"
    modules = {path.stem for path in folder.glob("[!_]*.py")}
    assert set(benchmarks(None)) == modules - NEED_A_MODEL - {"comparison_report"}


def test_without_stories_what_needs_them_is_left_out_and_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for folder in (None, tmp_path):
        assert report({"map_truth": benchmarks(folder)["map_truth"]}) == 0
        assert "Left out: ZORKGPT_STORIES" in capfd.readouterr().out


def test_stories_of_the_folder_are_measured(tmp_path: Path) -> None:
    (tmp_path / "mill.z5").touch()
    found = benchmarks(tmp_path)["map_truth"]
    assert (found.missing, found.command[-1]) == ("", str(tmp_path / "mill.z5"))


def test_a_failure_is_the_reports_own_and_the_others_are_run(capfd: pytest.CaptureFixture[str]) -> None:
    chosen = {
        "one": Benchmark("Q?", (sys.executable, "-c", "raise SystemExit(3)")),
        "two": Benchmark("Q?", (sys.executable, "-c", "print('12 ms')")),
    }
    assert report(chosen) == 1
    out = capfd.readouterr().out
    assert "12 ms" in out
    assert out.endswith("Failed: one\n")


def test_an_unknown_name_is_said_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed"]) == 2
    assert "no benchmark: speed; there are performance_metrics, " in capsys.readouterr().err
