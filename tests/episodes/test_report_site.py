"""``zorkgpt report --all``: a folder with the page of every run and an index of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from session.files.journal import JOURNAL_FILE
from session.files.run_folders import CHECKPOINTS
from tests.fixtures.command_line import COMMAND, environment
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.report_data import data_in
from tests.fixtures.typed_command import typed

pytestmark = pytest.mark.usefixtures("in_own_folder")


def index() -> dict[str, dict[str, Any]]:
    """What the index has of each run, by its folder; it is the same in the page and beside it."""
    data = json.loads(Path("site/report.json").read_bytes())
    assert data_in(Path("site/index.html").read_text(encoding="utf-8")) == data
    return {row["run"]["folder"]: row for row in data["index"]}


def test_every_run_has_a_row_and_each_that_can_be_read_a_page_which_is_written_once(own_story: Path) -> None:
    (recorded,) = (RECORDED / "runs").iterdir()
    whole, cut, lost = (Path("work/runs") / f"20260101-12000{number}-abcd" for number in range(3))
    for run in (whole, cut, lost):
        shutil.copytree(recorded, run)
    lines = (cut / JOURNAL_FILE).read_bytes().splitlines(keepends=True)
    (cut / JOURNAL_FILE).write_bytes(b"".join([*lines[:60], lines[60].replace(b'"event"', b'"tneve"', 1)]))
    (lost / "manifest.json").unlink()
    command = ("report", "--all", "--workdir", "work", "--game", str(own_story))
    assert typed(*command).text.startswith("2 new pages of 3 runs in site: ")
    rows = index()
    told = [rows[f"runs/{run.name}"] for run in (whole, cut, lost)]
    assert [row["run"]["state"] for row in told] == ["done", "damaged", "damaged"]
    assert [row["link"] for row in told] == [f"runs/{whole.name}.html", f"runs/{cut.name}.html", None]
    assert len(told[0]["scores"]) == told[0]["run"]["episodes"] > 1
    assert told[2]["run"]["reason"].startswith(f"cannot read the manifest in runs/{lost.name}: ")
    for row in told[:2]:
        page = data_in((Path("site") / row["link"]).read_text(encoding="utf-8"))
        assert page["runs"][0]["figures"]["run"]["turns"] == row["run"]["turns"]
    assert typed(*command).text.startswith("0 new pages of 3 runs")
    (cut / JOURNAL_FILE).write_bytes(b"".join(lines[:30]))
    shutil.rmtree(cut / CHECKPOINTS)  # as of a run that was killed then
    shutil.rmtree(lost)
    assert typed(*command).text.startswith("1 new page of 2 runs")
    (whole / JOURNAL_FILE).rename("journal")
    assert typed(*command).text.startswith("0 new pages of 2 runs")
    assert (index()[f"runs/{whole.name}"]["run"]["state"], index()[f"runs/{whole.name}"]["link"]) == ("damaged", None)
    Path("journal").rename(whole / JOURNAL_FILE)
    assert typed(*command).text.startswith("1 new page of 2 runs")
    assert {folder: row["run"]["state"] for folder, row in index().items()} == {
        f"runs/{whole.name}": "done",
        f"runs/{cut.name}": "killed",
    }


def test_the_index_has_each_page_once_it_is_written_so_that_a_kill_loses_none(own_story: Path) -> None:
    (recorded,) = (RECORDED / "runs").iterdir()
    for number in range(3):
        shutil.copytree(recorded, f"work/runs/20260101-12000{number}-abcd")
    command = ("report", "--all", "--workdir", "work", "--game", str(own_story))
    with subprocess.Popen([*COMMAND, *command], env=environment(), stdout=subprocess.PIPE) as writing:
        while writing.poll() is None:
            time.sleep(0.01)
            if Path("site/report.json").exists():
                links = [row["link"] for row in json.loads(Path("site/report.json").read_bytes())["index"]]
                if any(links):
                    writing.kill()
                    break
    assert not all(links)
    assert [Path("site", link).is_file() for link in links if link] == [True]
    assert typed(*command).text.startswith("2 new pages of 3 runs")
    assert all(row["link"] for row in index().values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--out", "site"), "--out is the folder of --all: add --all, or name a file with --to"),
        (("--all", "--to", "page.html"), "name the folders with --workdir and --out, and leave out RUNS, --to, --port"),
    ],
)
def test_an_option_that_would_have_no_effect_is_an_error(options: tuple[str, ...], words: str) -> None:
    result = typed("report", *options)
    assert (result.status, len(result.lines)) == (2, 1)
    assert words in result.lines[0]


def test_the_runs_of_an_ablation_are_listed_by_arm_and_pair(own_story: Path) -> None:
    (recorded,) = (RECORDED / "runs").iterdir()
    folders = {f"{arm}/{pair}/runs/{recorded.name}" for arm in ("full", "no-memory") for pair in (1, 2)}
    for folder in folders:
        shutil.copytree(recorded, Path("ablation") / folder)
    Path("ablation/plan.json").write_text("{}")
    assert typed("report", "--all", "--workdir", "ablation", "--game", str(own_story)).status == 0
    assert {folder: row["link"] for folder, row in index().items()} == {each: f"{each}.html" for each in folders}
