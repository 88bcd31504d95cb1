"""The report runs what it can, says what it left out, fails where a benchmark does, and keeps the figures."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.comparison_report import MARK, Benchmark, as_json, as_markdown, benchmarks, main, report, text_above
from benchmarks.stories import OWN_STORY, user_stories, walkthrough_of
from benchmarks.tables import Table, as_text
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH

if TYPE_CHECKING:
    import pytest

NEED_A_MODEL = {"embedded_turn", "first_return"}
HELPERS = {"comparison_report", "stories", "tables"}
TABLE = "from benchmarks.tables import show; show([{'story': 'mill', 'ms': 12.345, 'at most': None}], 'Speed')"


def test_every_benchmark_that_needs_no_model_is_in_the_report() -> None:
    folder = Path(__file__).parents[3] / "benchmarks"
    modules = {path.stem for path in folder.glob("[!_]*.py")}
    assert set(benchmarks(has_stories=True)) == modules - NEED_A_MODEL - HELPERS


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


def test_nothing_is_logged_between_the_tables(capfd: pytest.CaptureFixture[str]) -> None:
    report({"memory_writes": benchmarks(has_stories=False)["memory_writes"]})
    assert "[info" not in capfd.readouterr().out


def test_a_failure_is_told_at_the_end_and_the_others_are_run(capfd: pytest.CaptureFixture[str]) -> None:
    found = report({"one": _python("raise SystemExit(3)"), "two": _python("print('12 ms')")})
    assert [each.failed for each in found.values()] == [True, False]
    out = capfd.readouterr().out
    assert "12 ms" in out
    assert out.endswith("Failed: one\n")


def test_figures_are_printed_below_their_headings_and_kept(capfd: pytest.CaptureFixture[str]) -> None:
    (found,) = report({"one": _python(TABLE)}).values()
    assert found.tables == [Table("Speed", [{"story": "mill", "ms": 12.345, "at most": None}])]
    assert "Speed:\nstory  ms    at most\nmill   12.3  \N{EN DASH}\n" in capfd.readouterr().out


def test_the_figures_can_be_had_as_json_and_as_markdown() -> None:
    found = report({"one": _python(TABLE)})
    figures = json.loads(as_json("A machine", found))["benchmarks"]["one"]
    assert (figures["failed"], figures["tables"][0]["rows"][0]["ms"]) == (False, 12.345)
    assert "`python -m benchmarks.one`\n\nSpeed:\n\n| story | ms | at most |\n" in as_markdown("A machine", found)


def test_a_page_keeps_what_stands_above_the_figures(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    assert text_above(page) == ""
    page.write_text(f"# Performance\n\n{MARK}\n\nOld figures.\n")
    assert text_above(page) == f"# Performance\n\n{MARK}\n\n"


def test_a_table_in_markdown_has_numbers_on_the_right() -> None:
    table = Table("", [{"story": "a|b", "turns": 1234, "share": 0.25}])
    assert table.markdown() == "| story | turns | share |\n| --- | ---: | ---: |\n| a\\|b | 1,234 | 0.25 |"


def test_a_number_has_the_digits_that_count() -> None:
    assert list(map(as_text, (1234.5, 100.0, 12.345, 0.01234, "x", None))) == [
        *("1,234", "100", "12.3", "0.0123", "x"),
        "\N{EN DASH}",
    ]


def test_an_unknown_name_is_said_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed"]) == 2
    assert "no benchmark: speed; there are performance_metrics, " in capsys.readouterr().err


def _python(script: str) -> Benchmark:
    return Benchmark("Q?", (sys.executable, "-c", script))
