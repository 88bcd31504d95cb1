"""An ablation on a real Dask cluster of this machine, one of whose two workers is killed."""

from __future__ import annotations

import csv
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from session.errors import ConfigurationError, GameError
from tests.fixtures.command_line import ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.small_ablation import scripted_plan
from tests.fixtures.troubled_server import Answers
from zorkgpt.ablation.ablation import Ablation, play_locally
from zorkgpt.ablation.plan import AblationPlan

distributed = pytest.importorskip("distributed")
from zorkgpt.ablation.cluster import play_on_cluster, store  # noqa: E402  needs Dask

if TYPE_CHECKING:
    from distributed import LocalCluster

NO_SCHEDULER = "tcp://127.0.0.1:1"


@pytest.fixture(scope="module")
def plan(own_story: Path) -> AblationPlan:
    return scripted_plan(own_story, "full,no-memory", pairs=3, episodes=2, turns=12)


def transcripts(ablation: Ablation) -> dict[str, list[tuple[str, str]]]:
    """Every command with the story's answer, by run."""
    told = {}
    for journal in ablation.folder.rglob("journal.jsonl"):
        events = [json.loads(line)["event"] for line in journal.read_text().splitlines()]
        records = [event["record"] for event in events if event["kind"] == "turn_played"]
        run = str(journal.relative_to(ablation.folder).parents[2])
        told[run] = [(record["proposals"][-1]["action"], record["after"]["text"]) for record in records]
    return told


def scores(table: Path) -> list[tuple[str, ...]]:
    """Of every episode, what is not a measure of time."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return [tuple(value for name, value in row.items() if "seconds" not in name) for row in rows]


def two_workers() -> LocalCluster:
    cluster: LocalCluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    return cluster


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of Dask's own, when a worker dies
def test_a_worker_that_is_killed_half_way_changes_nothing(plan: AblationPlan, tmp_path: Path) -> None:
    here = Ablation(plan, tmp_path / "here")
    assert len(list(here.play(partial(play_locally, size=2)))) == 6
    there = Ablation(plan, tmp_path / "there")
    with two_workers() as cluster:
        playing = there.play(partial(play_on_cluster, address=cluster.scheduler_address))
        done = [next(playing)]
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        done += playing
    assert sorted(task.folder for task in done) == sorted(task.folder for task in plan.tasks())
    assert transcripts(there) == transcripts(here)
    assert [run.score for run in there.runs()] == [run.score for run in here.runs()]


@pytest.mark.slow
def test_as_typed_the_cluster_gives_the_results_of_this_machine(
    tmp_path: Path, clean_environment: pytest.MonkeyPatch
) -> None:
    clean_environment.setenv("OPENAI_API_KEY", "for-the-server-alone")
    with MisbehavingServer(Answers()) as server, two_workers() as cluster:
        options = ("--base-url", server.base_url, "--model", "served", "--arms", "full,no-memory")
        lengths = ("--pairs", "2", "--episodes", "2", "--max-turns", "6")
        for out, *workers in (("here", "--workers", "2"), ("there", "--scheduler", cluster.scheduler_address)):
            shown = ran(tmp_path, "ablate", *options, *lengths, *workers, "--out", out)
            assert shown.status == 0, shown
            assert b"4 of 4: " in shown.out
    here, there = (scores(tmp_path / out / "episodes.csv") for out in ("here", "there"))
    assert len(here) == 2 * 2 * 2
    assert there == here


def test_a_scheduler_that_is_not_there_is_an_error_in_one_line(plan: AblationPlan, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no Dask scheduler answers there"):
        next(Ablation(plan, tmp_path).play(partial(play_on_cluster, address=NO_SCHEDULER, seconds=1)))


def test_no_worker_can_have_a_file_written_outside_of_its_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(GameError, match="sent a file outside of"):
        store({"../outside": b"x"}, folder)
    assert not (tmp_path / "outside").exists()
