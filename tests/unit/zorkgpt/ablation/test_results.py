"""The page of an ablation shows every pair behind each difference, and leads to the runs."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from session.events import EpisodeStarted, RunEnded
from session.values import Observation
from tests.fixtures.report_data import data_in
from tests.fixtures.small_ablation import measured_pairs
from tests.fixtures.typed_command import printed, refused, typed
from tests.unit.zorkgpt.report.dye_runs import ended, started, write_run
from zorkgpt.ablation.measures import RunMeasures
from zorkgpt.ablation.plan import WrittenPlan
from zorkgpt.ablation.results import REPORT_FILE, RESULTS_FILE, Results, results_of, write_report, write_results
from zorkgpt.report.figures import figures_of
from zorkgpt.report.played_run import read_run

STORIES = {"dyeworks": "5c" * 32}
FIRST = Path("out/full/1/runs/20260131-184500-1a2b")


pytestmark = pytest.mark.usefixtures("in_own_folder")


def written(measured: list[RunMeasures], *, pairs: int, stories: dict[str, str] = STORIES) -> None:
    """The results of an ablation in the folder ``out``; one of its runs is still there."""
    out = Path("out")
    out.mkdir()
    plan = WrittenPlan(arms={"full": {}, "no-memory": {}}, player="x:y", pairs=pairs, episodes=2, stories=stories)
    (out / "plan.json").write_text(plan.model_dump_json())
    results = results_of(plan, measured, command="zorkgpt ablate", assistance="none")
    (out / RESULTS_FILE).write_text(results.model_dump_json())
    assert write_run(out / "full" / "1", [started(), ended(), RunEnded(1)]).is_dir()


def reported(*options: str) -> dict[str, Any]:
    printed("report", "out", *options)
    data = data_in(Path("report.html").read_text(encoding="utf-8"))
    assert (data["kind"], data["follow"]) == ("ablation", False)
    return data


def test_every_difference_is_the_mean_of_the_pairs_that_are_shown_with_it() -> None:
    measured = [*measured_pairs("dyeworks", [1, 2, 3]), *measured_pairs("mill", [10, 20], most=100)]
    written(measured, pairs=3, stories={**STORIES, "mill": "00"})
    told = reported()
    compared = list(zip(told["results"]["comparisons"], told["points"], strict=True))
    assert len(compared) == 3 * len(told["measures"])
    for each, points in compared:
        differences = [point["difference"] for point in points if point["difference"] is not None]
        assert len(differences) == each["pairs"]
        if differences and len({point["story"] for point in points}) == 1:
            assert mean(differences) == pytest.approx(each["difference"])
    (_, score), _, (together, all_points) = (each for each in compared if each[0]["measure"] == told["decisive"])
    assert [(point["first"], point["other"]) for point in score] == [(2, 1), (3, 1), (4, 1)]
    assert [point["story"] for point in all_points] == ["dyeworks"] * 3 + ["mill"] * 2
    assert together["is_share"]


def test_what_is_not_played_or_gone_is_said_and_a_run_has_a_link_once_it_has_a_page() -> None:
    written(measured_pairs("dyeworks", [1, 2]), pairs=3)
    told = reported()
    assert [note["text"] for note in told["notes"]] == [
        "4 of 6 planned runs are shown: those whose pairs are complete.",
        "3 run folders missing: there is no link to them.",
    ]
    assert (told["folders"], told["links"]) == ([str(FIRST.relative_to("out")), "", "", ""], [None] * 4)
    assert reported("--with-runs")["links"] == [str(FIRST / "report.html"), None, None, None]
    (run,) = data_in((FIRST / "report.html").read_text(encoding="utf-8"))["runs"]
    assert run["figures"]["run"]["run_id"] == FIRST.name


def test_where_points_come_from_is_no_version(tmp_path: Path) -> None:
    points = "3 milestones of milestones.toml, which the player does not see"
    written([replace(run, points=points, versions="zorkgpt 0") for run in measured_pairs("dyeworks", [1])], pairs=1)
    results = Results.model_validate_json(Path("out", RESULTS_FILE).read_bytes())
    assert results.versions == ("zorkgpt 0",)
    assert reported()["notes"][0]["text"] == f"Points: {points}."
    opened = EpisodeStarted(1, 1, Observation(""))
    episodes = figures_of(read_run(write_run(tmp_path, [opened]))).episodes
    runs = tuple(replace(run, episodes=episodes) for run in results.runs)
    write_results(results.model_copy(update={"runs": runs}), tmp_path)
    for name in ("results.csv", "episodes.csv"):
        rows = csv.DictReader((tmp_path / name).read_text(encoding="utf-8").splitlines())
        assert {row["points_from"] for row in rows} == {points}
    write_report(results, tmp_path)
    assert f"- zorkgpt 0\n- Points: {points}\n" in (tmp_path / REPORT_FILE).read_text(encoding="utf-8")


def test_an_ablation_without_results_or_with_those_of_another_version_is_an_error() -> None:
    written(measured_pairs("dyeworks", [1]), pairs=1)
    results = Path("out", RESULTS_FILE)
    results.write_text('{"plan": {}}')
    assert b"is of another version of the program" in typed("report", "out").err
    results.unlink()
    assert b"has no results yet" in typed("report", "out").err
    assert b"report it alone, without --watch" in typed("report", "out", "out").err
    assert not Path("report.html").exists()


@pytest.mark.parametrize(
    "measured", [[], measured_pairs("mill", [1]), measured_pairs("../mill", [1])], ids=["none", "another", "outside"]
)
def test_results_whose_runs_are_not_those_of_the_plan_are_an_error_in_one_line(measured: list[RunMeasures]) -> None:
    written(measured_pairs("dyeworks", [1]), pairs=1)
    results = Results.model_validate_json(Path("out", RESULTS_FILE).read_bytes())
    Path("out", RESULTS_FILE).write_text(results.model_copy(update={"runs": tuple(measured)}).model_dump_json())
    assert "its runs do not match its plan" in refused(1, "report", "out")


def test_no_text_of_a_table_is_a_formula(tmp_path: Path) -> None:
    plan = WrittenPlan(arms={"full": {}, "no-memory": {}}, player="x:y", pairs=1, episodes=2, stories=STORIES)
    episodes = figures_of(read_run(write_run(tmp_path, [EpisodeStarted(1, 1, Observation(""))]))).episodes
    measured = [replace(each, model="=1+2", episodes=episodes) for each in measured_pairs("dyeworks", [1])]
    write_results(results_of(plan, measured, command="zorkgpt ablate", assistance="none"), tmp_path)
    rows = csv.DictReader((tmp_path / "results.csv").read_text(encoding="utf-8").splitlines())
    assert [row["model"] for row in rows] == ["'=1+2"] * 2
