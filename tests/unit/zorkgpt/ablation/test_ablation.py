"""A whole ablation in real processes: played, stopped, gone on with, and the same again."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from orchestration.parts import Parts
from session.errors import LanguageModelUnavailable, StoreError, ZorkGPTError
from session.game_configuration import GameConfiguration
from session.values import derived_seed
from tests.fixtures.small_ablation import scripted_plan
from zorkgpt.ablation.ablation import Ablation, RunProcess, order_for, play_locally
from zorkgpt.ablation.measures import RunMeasures, finished_run
from zorkgpt.ablation.plan import AblationPlan, claim
from zorkgpt.ablation.plot import draw, write_plot
from zorkgpt.ablation.results import results_of, write_report, write_results

pytestmark = pytest.mark.slow  # each run has a process of its own

PAIRS, EPISODES, TURNS = 1, 2, 12
ONE_BY_ONE, SIDE_BY_SIDE = (partial(play_locally, size=size) for size in (1, 2))


@pytest.fixture(scope="module")
def plan(own_story: Path) -> AblationPlan:
    return scripted_plan(own_story, "full,no-memory", pairs=PAIRS, episodes=EPISODES, turns=TURNS)


@pytest.fixture(scope="module")
def played(plan: AblationPlan, tmp_path_factory: pytest.TempPathFactory) -> Ablation:
    """An ablation that was played without a stop."""
    ablation = Ablation(plan, tmp_path_factory.mktemp("ablation") / "out")
    claim(ablation.folder, plan)
    assert len(list(ablation.play(SIDE_BY_SIDE))) == 2 * PAIRS
    return ablation


@contextmanager
def no_model(_configuration: GameConfiguration) -> Iterator[Parts]:
    raise LanguageModelUnavailable("nobody answers at all")
    yield


def without_times(run: RunMeasures) -> dict[str, object]:
    told = json.loads(json.dumps(run, default=lambda value: {name: getattr(value, name) for name in value.__slots__}))
    for each in (told, *told["episodes"]):
        del each["seconds"]
    del told["journal_sha256"]  # a journal has the times of its lines
    return dict(told)


def test_every_run_played_all_its_episodes_once_in_a_work_folder_of_its_own(played: Ablation) -> None:
    runs = played.runs()
    assert [(run.arm, run.pair, run.seed) for run in runs] == [("full", 1, 1), ("no-memory", 1, 1)]
    assert all(len(run.episodes) == EPISODES for run in runs)
    assert (played.folder / "full" / "1" / "Memories.md").exists()
    assert not (played.folder / "no-memory" / "1" / "Memories.md").exists()
    assert list(played.play(SIDE_BY_SIDE)) == []


def test_an_ablation_that_was_stopped_goes_on_and_comes_to_the_same(
    plan: AblationPlan, played: Ablation, tmp_path: Path
) -> None:
    ablation = Ablation(plan, tmp_path)
    playing = ablation.play(ONE_BY_ONE)
    next(playing)
    playing.close()
    assert [task.folder for task in ablation.done()] == ["full/1"]
    with pytest.raises(StoreError, match="no complete pair yet"):
        ablation.runs()
    assert [task.folder for task in ablation.play(ONE_BY_ONE)] == ["no-memory/1"]
    assert [*map(without_times, ablation.runs())] == [*map(without_times, played.runs())]


def test_with_more_pairs_those_that_are_done_are_told_of_and_the_new_ones_alone_are_played(
    plan: AblationPlan, played: Ablation, tmp_path: Path
) -> None:
    """The pairs that were done stay as they are, and the new ones have the seeds that they would have had at once."""
    shutil.copytree(played.folder, tmp_path, dirs_exist_ok=True)
    more = Ablation(replace(plan, pairs=2 * PAIRS), tmp_path)
    written = claim(tmp_path, more.plan)
    first = [("full", 1, 1), ("no-memory", 1, 1)]
    done = more.runs()
    assert [(run.arm, run.pair, run.seed) for run in done] == first
    write_report(results_of(written, done, command="zorkgpt ablate --so-far", assistance="none"), tmp_path)
    assert "2 pairs of 2 episodes (2 of 4 runs so far)" in (tmp_path / "report.md").read_text()
    assert [task.folder for task in more.play(ONE_BY_ONE)] == ["full/2", "no-memory/2"]
    runs = more.runs()
    assert [(run.arm, run.pair, run.seed) for run in runs] == [
        *first,
        *((arm, 2, derived_seed(1, 2, "pair")) for arm in ("full", "no-memory")),
    ]
    assert [run.journal_sha256 for run in runs[:2]] == [run.journal_sha256 for run in played.runs()]


def test_a_run_ends_with_whoever_asked_for_it(own_story: Path, tmp_path: Path) -> None:
    """The run is long, so that it cannot have come to its end before it notices."""
    plan = scripted_plan(own_story, "full,no-memory", pairs=PAIRS, episodes=100, turns=1_000)
    task = next(plan.tasks())
    run = RunProcess(task, order_for(task, tmp_path))
    run.close()
    assert finished_run(tmp_path) is None


def test_a_run_whose_order_never_comes_ends_without_a_word(
    capfd: pytest.CaptureFixture[str], plan: AblationPlan
) -> None:
    run = RunProcess(next(plan.tasks()), b"")
    run.close()
    assert capfd.readouterr() == ("", "")


def test_a_run_that_was_cut_short_is_begun_anew(plan: AblationPlan, played: Ablation, tmp_path: Path) -> None:
    ablation = Ablation(plan, tmp_path)
    for task in plan.tasks():
        (source,) = (played.folder / task.folder / "runs").iterdir()
        target = tmp_path / task.folder / "runs" / source.name
        target.mkdir(parents=True)
        for name in ("manifest.json", "journal.jsonl"):
            (target / name).write_bytes((source / name).read_bytes())
    journal = next((tmp_path / "full" / "1").rglob("journal.jsonl"))
    journal.write_bytes(journal.read_bytes()[:-200])
    assert [task.folder for task in ablation.play(SIDE_BY_SIDE)] == ["full/1"]
    assert ablation.runs()[0].score == played.runs()[0].score


def test_a_run_that_fails_ends_the_ablation_with_its_reason(own_story: Path, tmp_path: Path) -> None:
    plan = scripted_plan(own_story, "full,no-map", pairs=1, episodes=1, turns=2, opens=no_model)
    with pytest.raises(ZorkGPTError, match=r"(full|no-map), pair 1: nobody answers at all"):
        list(Ablation(plan, tmp_path).play(SIDE_BY_SIDE))


def test_results_name_the_assistance_everywhere_and_make_the_same_files_again(
    played: Ablation, plan: AblationPlan, tmp_path: Path
) -> None:
    for folder in (played.folder, tmp_path):
        results = results_of(
            claim(played.folder, plan), played.runs(), command="zorkgpt ablate", assistance="valid-actions", detect=10
        )
        write_results(results, folder)
        write_report(results, folder)
        write_plot(results, folder)
    for name in ("report.md", "results.csv", "episodes.csv", "results.json", "plot.png", "plot.svg"):
        assert (tmp_path / name).read_bytes() == (played.folder / name).read_bytes()
    for name in ("results.csv", "episodes.csv"):
        with (tmp_path / name).open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == (2 if name == "results.csv" else 2 * EPISODES)
        assert {line["assistance"] for line in lines} == {"valid-actions"}
    told = json.loads((tmp_path / "results.json").read_text())
    assert told["assistance"] == "valid-actions"
    assert [run["score"] for run in told["runs"]] == [run.score for run in played.runs()]
    assert "Assistance: valid-actions." in (tmp_path / "plot.svg").read_text()
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_equal_scores_are_drawn_on_axes_of_whole_points(played: Ablation, plan: AblationPlan) -> None:
    runs = [
        replace(run, episodes=tuple(replace(episode, score=5) for episode in run.episodes)) for run in played.runs()
    ]
    results = results_of(claim(played.folder, plan), runs, command="", assistance="none", detect=10)
    assert draw(results).get_supxlabel().endswith("Assistance: none.")
    marked = replace(results.runs[0], points="1 milestone of m.toml", score=1)
    of_milestones = draw(results.model_copy(update={"runs": (marked, *results.runs[1:])}))
    assert of_milestones.get_supxlabel().endswith(". Points: milestones.")
    scores, differences = draw(results).axes
    assert scores.get_ylim() == pytest.approx((4, 6))
    low, high = differences.get_xlim()
    assert high - low >= 2


def test_several_stories_are_told_one_by_one_and_together(own_story: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.z5"
    copy.write_bytes(own_story.read_bytes())
    plan = replace(
        scripted_plan(own_story, "full,no-memory", pairs=1, episodes=1, turns=12),
        stories={"tidehouse": own_story, "copy": copy},
    )
    ablation = Ablation(plan, tmp_path / "out")
    written = claim(ablation.folder, plan)
    assert len(list(ablation.play(SIDE_BY_SIDE))) == 4
    runs = ablation.runs({"tidehouse": 100, "copy": 100})
    results = results_of(written, runs, command="zorkgpt ablate --games", assistance="none")
    write_results(results, ablation.folder)
    write_report(results, ablation.folder)
    write_plot(results, ablation.folder)
    assert [run.story for run in results.runs] == ["tidehouse", "tidehouse", "copy", "copy"]
    assert [each.partition(",")[0] for each in results.conclusions] == ["tidehouse", "copy", "all 2 stories"]
    page = (ablation.folder / "report.md").read_text()
    for run in results.runs:
        (journal,) = (ablation.folder / run.story / run.arm / "1").rglob("journal.jsonl")
        assert hashlib.sha256(journal.read_bytes()).hexdigest() in page
