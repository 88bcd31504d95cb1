"""``zorkgpt runs`` as typed."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from session.events import Event, RunEnded, RunPaused
from session.files.journal import JOURNAL_FILE
from session.files.run_folders import claimed
from tests.fixtures.run_events import answered
from tests.fixtures.typed_command import printed, refused, typed
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, after, ended, played, started, turn, write_run

GUIDE = Path(__file__).parents[5] / "docs" / "runs.md"
IN_LOFT = after(SEEN, location=LOFT)
MEMORIES = "## Location 31: Blue Vats\n**[NOTE] Mordant first**\nThen dye.\n"
OLD, NEW = "20260131-184500-1a2b", "20260201-090000-3c4d"
_run, _failure = partial(printed, "runs"), partial(refused, 1, "runs")


def dye_events() -> list[Event]:
    def asked(role: str, **answer: object) -> Event:
        return answered("small", role=role, prompt=900, cached=700, completion=60, seconds=1.25, answer=answer)

    objective = {"text": "Dip the banner", "location_id": 31, "evidence": "memory at Location 31"}
    return [
        started(),
        asked("agent"),
        played(turn(1, "pull chain"), 1.3),
        asked("agent"),
        played(turn(2, "pull chain"), 1.3),
        asked("analysis", objectives=[objective]),
        asked("agent"),
        played(turn(3, "up", location=LOFT), 1.3),
        asked("memory", memories=[{"should_remember": True, "persistence": "core"}]),
        asked("agent"),
        played(turn(4, "take banner", IN_LOFT, score=5, world_hash="00000002"), 1.3),
        ended(),
        started(2),
        asked("agent"),
        played(turn(1, "up", episode=2, location=LOFT), 1.3, 240),
        asked("agent"),
        played(turn(2, "take banner", IN_LOFT, episode=2, score=5, world_hash="00000002"), 1.3, 0),
    ]


@pytest.fixture(autouse=True)
def workdir(in_own_folder: Path) -> Path:
    """A work folder with a run that is done and a newer one that is paused."""
    folder = in_own_folder / "game_files"
    write_run(folder, [*dye_events(), ended(2), RunEnded(2)], OLD, memories=MEMORIES)
    paused = RunPaused("max-tokens 3000 reached: 3840 spent", episode=2, turns=2)
    changes: dict[str, Any] = {"created": "2026-02-01T09:00:00+00:00", "assistance": ("valid-actions",)}
    write_run(folder, [*dye_events()[:5], paused], NEW, **changes)
    return folder


def test_the_guide_shows_what_list_and_show_print() -> None:
    shown = re.findall(r"^```text\n\$ zorkgpt (.*)\n((?:.*\n)*?)```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [command for command, _ in shown] == ["runs list", f"runs show {OLD}"]
    for command, text in shown:
        assert _run(*command.split()[1:]) == text


# list


def test_list_shows_damaged_runs_with_the_reason(workdir: Path) -> None:
    (workdir / "runs" / OLD / "manifest.json").unlink()
    (workdir / "runs" / NEW / JOURNAL_FILE).write_text("nonsense\n")
    _, new, _assistance, why_new, old, why_old = _run("list").splitlines()
    assert new.endswith("damaged")
    assert why_new == f"  game_files/runs/{NEW}/{JOURNAL_FILE}:1: not a line of a journal"
    assert old.endswith("damaged")
    assert why_old.startswith("  cannot read the manifest")


def test_list_fits_80_columns_and_cuts_everything_but_the_assistance(workdir: Path) -> None:
    kinds = ("fresh-actions", "proven-routes", "valid-actions")
    won = turn(1, "dip", score=350, max_score=350)
    paused = RunPaused("The server, which is far away, said only that it cannot be reached at all. " * 3, 1, 1)
    names = {"story": "a story with a long name", "model": "org/a-model-of-many-words at http://localhost:1/v1"}
    events: list[Event] = [started(), played(won), paused]
    write_run(workdir, events, "20260301-000000-0000", assistance=kinds, forked_from=OLD, **names)
    row, fork, helped, reason = _run("list").splitlines()[1:5]
    assert row == "20260301-000000-0000  a story wi…  org/a-mod…  0/2       1      350/350  paused"
    assert (fork, helped) == (f"  fork of {OLD}", f"  assisted by {', '.join(kinds)}")
    assert len(reason) == 80
    assert reason.startswith("  The server, which is far away,")
    assert reason.endswith("…")
    assert max(map(len, _run("list").splitlines())) <= 80


def test_list_and_show_as_json_have_what_a_program_needs() -> None:
    new, old = json.loads(_run("list", "--json"))
    assert (new["run_id"], new["state"], new["turns"], new["tokens"]) == (NEW, "paused", 2, 1920)
    assert (old["best_score"], old["max_score"], old["episodes"], old["planned"]) == (5, 50, 2, 2)
    figures = json.loads(_run("show", OLD, "--json"))
    assert (figures["run"]["state"], figures["manifest"]["assistance"]) == ("done", [])
    assert figures["metrics"]["memory_coverage"] == 0.5
    assert [role["role"] for role in figures["usage"]] == ["agent", "analysis", "memory"]


def test_where_there_is_no_run_list_says_so(tmp_path: Path) -> None:
    assert _run("list", "--workdir", str(tmp_path / "empty")) == f"No run yet in {tmp_path / 'empty'}.\n"
    (tmp_path / "out" / "full" / "1" / "runs").mkdir(parents=True)
    assert f": --workdir {tmp_path / 'out' / 'full' / '1'}.\n" in _run("list", "--workdir", str(tmp_path / "out"))
    assert json.loads(_run("list", "--json", "--workdir", str(tmp_path / "empty"))) == []
    assert "no runs in" in _failure("show", "--workdir", str(tmp_path / "empty"))


# show


@pytest.mark.parametrize("command", ["show", "export"])
def test_a_run_is_named_by_its_id_or_folder_and_the_newest_is_the_default(workdir: Path, command: str) -> None:
    assert _run(command) == _run(command, NEW) == _run(command, str(workdir / "runs" / NEW)) != _run(command, OLD)


def test_show_has_the_help_given_the_origin_of_a_fork_and_a_dash_for_what_could_not_be_measured(workdir: Path) -> None:
    write_run(workdir, [], "20260301-000000-0000", assistance=("valid-actions",), forked_from=OLD)
    shown = _run("show", "20260301-000000-0000")
    assert re.search(r"^Assistance +valid-actions$", shown, re.MULTILINE)
    assert re.search(f"^Forked from +{OLD}$", shown, re.MULTILINE)
    assert re.search("^core memories on return visits +\N{EN DASH} +downgraded$", shown, re.MULTILINE)
    assert re.search("^objectives with a location +\N{EN DASH} +of objectives$", shown, re.MULTILINE)


def test_a_run_that_is_not_there_is_refused_with_the_closest_and_the_number_of_others(workdir: Path) -> None:
    more = [f"2026030{day}-000000-0000" for day in (1, 2)]
    for run in more:
        write_run(workdir, [], run)
    listed = ", ".join([NEW, OLD, more[1]])
    assert _failure("show", "x") == f"there is no run x in game_files; there is {listed} and 1 other"
    assert f"there is {OLD}" in _failure("show", "20260131-184500-1a2c")


# export


@pytest.mark.parametrize("form", ["markdown", "json", "csv"])
def test_a_file_holds_what_would_be_printed_and_needs_a_folder(tmp_path: Path, form: str) -> None:
    file = tmp_path / "run.out"
    assert _run("export", OLD, "--format", form, "--to", str(file)) == f"Run {OLD} is written to {file}.\n"
    assert file.read_text(encoding="utf-8") == _run("export", OLD, "--format", form)
    nowhere = tmp_path / "nowhere" / "run.md"
    assert _failure("export", OLD, "--to", str(nowhere)) == f"cannot write {nowhere}: No such file or directory"


@pytest.mark.parametrize("form", ["markdown", "json", "csv", "atif"])
def test_an_export_of_a_damaged_run_reports_that_it_is_not_whole(
    workdir: Path, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    journal = workdir / "runs" / OLD / JOURNAL_FILE
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:9]) + b"nonsense\n")
    shown = typed("runs", "export", OLD, "--format", form)
    (line,) = capfd.readouterr().err.splitlines()
    assert line == (
        f"Run {OLD}: game_files/runs/{OLD}/{JOURNAL_FILE}:10: not a line of a journal. "
        "What was played up to there is exported."
    )
    assert (shown.status, b"up" in shown.out, b"take banner" in shown.out) == (0, True, False)


# what stories and models print


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("show",),
        ("show", "--json"),
        *(("export", "bad", "--format", form) for form in ("markdown", "json", "csv")),
    ],
    ids=" ".join,
)
def test_control_characters_are_shown_not_obeyed(workdir: Path, arguments: tuple[str, ...]) -> None:
    evil = "\x1b]52;c;aGk=\x07\x9b2J\u202e\r"
    record = turn(1, f"say {evil}", text=evil, location=LOFT)
    events: list[Event] = [started(), played(record), RunPaused(evil, episode=1, turns=1)]
    write_run(workdir, events, "bad", model=f"M{evil}", story=f"S{evil}", command=(evil,))
    shown = _run(*arguments)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", shown)
    assert re.search(r"\\x1b|\\u001b", shown)


# delete


def test_a_run_is_deleted_after_a_yes_and_what_it_taught_stays(workdir: Path) -> None:
    (workdir / "Memories.md").write_text(MEMORIES)
    for answer in ("n\n", ""):  # without a terminal the input ends
        asked = typed("runs", "delete", lines=answer)
        assert (asked.status, asked.text.startswith(f"Delete game_files/runs/{NEW}? [y/N]")) == (1, True)
        assert asked.text.endswith("\nNothing was deleted; --yes deletes without asking.\n")
        assert (workdir / "runs" / NEW).is_dir()
    assert typed("runs", "delete", lines="y\n").status == 0
    assert not (workdir / "runs" / NEW).exists()
    assert _run("delete", OLD, "--yes") == f"Deleted game_files/runs/{OLD}.\n"
    assert not (workdir / "runs" / OLD).exists()
    assert (workdir / "Memories.md").read_text() == MEMORIES


def test_a_fork_is_deleted_with_its_work_folder_and_a_folder_that_is_only_called_forks_is_not(workdir: Path) -> None:
    fork = "20260301-000000-0000"
    for folder, parent in ((workdir / "forks" / fork, OLD), (workdir / "forks" / "mine", "")):
        write_run(folder, [], fork, forked_from=parent)
        _run("delete", fork, "--yes", "--workdir", str(folder))
        assert not (folder / "runs" / fork).exists()
    assert [each.name for each in (workdir / "forks").iterdir()] == ["mine"]
    assert (workdir / "runs" / OLD).is_dir()


def test_neither_a_folder_that_is_no_run_nor_a_run_that_is_being_played_is_deleted(workdir: Path) -> None:
    other = workdir / "extension"
    other.mkdir()
    (other / "manifest.json").write_text('{"manifest_version": 3}')
    assert "is not a run folder" in _failure("delete", str(other), "--yes")
    assert (other / "manifest.json").exists()
    with claimed(workdir / "runs" / OLD):
        assert "is being played" in _failure("delete", OLD, "--yes")
    assert (workdir / "runs" / OLD).is_dir()
