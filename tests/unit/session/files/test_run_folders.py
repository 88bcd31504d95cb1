"""Runs are found and played by one process, and keep copies of the files that runs share."""

from __future__ import annotations

import multiprocessing
from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import rmtree

import pytest

from orchestration.learning import shared_files
from session.errors import GameError, StoreError
from session.events import Event, Proposed, RunPaused
from session.files.journal import Journal
from session.files.run_folders import (
    Checkpoint,
    SharedFile,
    SharedFiles,
    claimed,
    digests_at_start,
    find_run,
    fork_folder,
    latest_checkpoint,
    latest_runs,
    make_checkpoint,
    put_last,
    run_folders,
    take_episode_numbers,
)
from session.game_configuration import GameConfiguration
from session.values import Proposal
from tests.fixtures.run_events import turn_played
from tests.unit.zorkgpt.report.dye_runs import manifest

RUN = "20260131-184500-1a2b"
LATER_RUN = "20260302-091500-9f9f"
PLAYED = turn_played(1.0)


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    for run in (RUN, LATER_RUN):
        (tmp_path / "runs" / run).mkdir(parents=True)
        (tmp_path / "runs" / run / "manifest.json").touch()
    (tmp_path / "runs" / "notes").mkdir()
    return tmp_path


def test_a_run_is_found_by_its_id_and_by_its_path(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = workdir / "runs" / RUN
    assert find_run(workdir, RUN) == folder
    assert find_run(workdir / "elsewhere", str(folder)) == folder
    monkeypatch.chdir(folder)
    assert find_run(workdir, ".") == folder


@pytest.mark.parametrize(
    ("run", "named"),
    [
        ("20260131-184500-1a2c", f"no run 20260131-184500-1a2c in .*; there is {RUN}"),
        ("x", f"no run x in .*; there is {LATER_RUN}, {RUN}$"),
        *((other, "no run") for other in ("notes", "", ".", "../runs", f"../../{RUN}")),
    ],
)
def test_what_is_no_run_is_an_error_that_names_the_closest_or_else_the_last_ones(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, run: str, named: str
) -> None:
    (workdir / "runs" / "deep").mkdir()
    monkeypatch.chdir(workdir / "runs" / "deep")
    with pytest.raises(StoreError, match=named):
        find_run(workdir, run)


def test_a_work_folder_in_place_of_a_run_is_an_error_with_the_option(workdir: Path, tmp_path: Path) -> None:
    for among in (workdir, tmp_path / "empty"):
        with pytest.raises(StoreError, match=f"a work folder, not a run: name it with --workdir {workdir}, or"):
            find_run(among, str(workdir))


def test_where_there_are_no_runs_the_error_says_so_unless_they_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="has no runs yet"):
        find_run(tmp_path, RUN)
    with pytest.raises(StoreError, match=f"^no runs in {tmp_path / 'runs'}; start one with"):
        find_run(tmp_path)
    (tmp_path / "runs").write_text("no folder")
    for look in (lambda: find_run(tmp_path), lambda: run_folders([tmp_path])):
        with pytest.raises(StoreError, match=r"runs cannot be read: Not a directory"):
            look()


def test_a_run_whose_manifest_is_gone_is_not_no_run(workdir: Path) -> None:
    (workdir / "runs" / RUN / "manifest.json").unlink()
    with pytest.raises(StoreError, match=f"run {RUN} cannot be read: it has no manifest"):
        find_run(workdir, RUN)
    assert find_run(workdir).name == LATER_RUN
    (workdir / "runs" / LATER_RUN / "manifest.json").unlink()
    with pytest.raises(StoreError, match=r"no run in .*runs can be read"):
        find_run(workdir)


def test_a_fork_of_a_fork_is_beside_it_and_in_the_list(workdir: Path) -> None:
    first = fork_folder(workdir, "20260401-000000-0001")
    second = fork_folder(first, "20260501-000000-0002")
    assert (first.parent, second.parent) == (workdir / "forks", workdir / "forks")
    for fork in (first, second, second.with_name(".unready")):
        (fork / "runs" / fork.name).mkdir(parents=True)
    assert [folder.name for folder in run_folders([workdir])] == ["notes", second.name, first.name, LATER_RUN, RUN]


def test_two_processes_never_get_the_same_episode_number(tmp_path: Path) -> None:
    assert [take_episode_numbers(tmp_path / "new", count) for count in (1, 3, 2)] == [1, 2, 5]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        numbers = pool.map(partial(take_episode_numbers, count=1), [tmp_path] * 20, chunksize=1)
    assert sorted(numbers) == list(range(1, 21))


@pytest.mark.parametrize("content", ["", "[]", '{"last_episode": "x"}', '{"last_episode": -1}'])
def test_a_broken_file_of_episode_numbers_is_left_alone_and_its_mend_is_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "episodes.json").write_text(content)
    with pytest.raises(StoreError, match="last_episode"):
        take_episode_numbers(tmp_path, 1)
    assert (tmp_path / "episodes.json").read_text() == content


def test_a_folder_in_the_place_of_a_shared_file_is_named(tmp_path: Path) -> None:
    files = SharedFiles(tmp_path / "work", (SharedFile("Memories.md"),))
    (tmp_path / "work" / "Memories.md").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"Memories.md cannot be removed: "):
        files.restore_from(tmp_path / "start")


def test_without_a_name_it_is_the_newest_that_has_a_manifest_and_a_turn_or_a_player(
    workdir: Path, tmp_path: Path
) -> None:
    (workdir / "runs" / "20260303-000000-0000").mkdir()
    assert find_run(workdir).name == LATER_RUN
    folder = tmp_path / "played"
    for run, event in ((RUN, PLAYED), (LATER_RUN, RunPaused("no connection", 1, 0))):
        journal = Journal.create(folder / "runs", manifest(run))
        journal.append(event)
        journal.close()
    assert find_run(folder).name == RUN
    with claimed(folder / "runs" / LATER_RUN):
        assert find_run(folder).name == LATER_RUN
    assert find_run(folder).name == RUN
    rmtree(folder / "runs" / RUN)
    assert find_run(folder).name == LATER_RUN


def begun(workdir: Path, run: str, event: Event = PLAYED) -> Path:
    """A run with a turn, or another event, that began now, whatever time its clock shows."""
    journal = Journal.create(workdir / "runs", manifest(run))
    journal.append(event)
    journal.close()
    put_last(journal.folder)
    return journal.folder


AHEAD, NOW, SET_BACK = "20991231-235959-0001", "20260131-184500-0002", "20000101-000000-0003"


def test_a_command_that_is_called_like_a_turns_event_makes_no_run_that_was_played(tmp_path: Path) -> None:
    played = begun(tmp_path, NOW)
    begun(tmp_path, AHEAD, Proposed(Proposal("turn_played"), 1.0))
    assert find_run(tmp_path) == played


def test_the_latest_run_is_the_one_that_was_begun_or_resumed_last_whatever_the_clock_says(tmp_path: Path) -> None:
    runs = [begun(tmp_path, run) for run in (AHEAD, NOW, SET_BACK)]
    assert find_run(tmp_path) == runs[2]
    assert run_folders([tmp_path]) == latest_runs([tmp_path]) == runs[::-1]
    put_last(runs[1])
    assert latest_runs([tmp_path]) == [runs[1], runs[2], runs[0]]
    assert run_folders([tmp_path]) == runs[::-1]  # in the order in which they began


def test_runs_of_two_stories_and_forks_have_one_order(tmp_path: Path) -> None:
    other = tmp_path / "other"
    for folder in (tmp_path, other):
        folder.mkdir(exist_ok=True)
        (folder / "story.json").write_text('{"name": "dye", "sha256": "00"}')
    fork = fork_folder(tmp_path, NOW)
    runs = [begun(tmp_path, AHEAD), begun(fork, NOW), begun(other, SET_BACK), begun(tmp_path, "19991231-000000-0004")]
    assert run_folders([tmp_path, other]) == runs[::-1]
    put_last(runs[2])
    assert find_run(tmp_path) == runs[2]


@pytest.mark.parametrize("content", ["", "\0" * 64, "[]", '{"begun": -1}', '{"begun": 1' + "0" * 5000 + "}"])
def test_a_run_whose_order_is_not_recorded_comes_before_those_of_this_version(tmp_path: Path, content: str) -> None:
    earlier, later = begun(tmp_path, AHEAD), begun(tmp_path, NOW)
    (earlier / "order.json").write_text(content)
    assert run_folders([tmp_path]) == latest_runs([tmp_path]) == [later, earlier]


def test_the_manifest_and_the_copies_are_known_by_their_digests(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"cannot read what {tmp_path} keeps of its start: No such file"):
        digests_at_start(tmp_path)
    files = {"manifest.json": b"{}", "start/Memories.md": b"# M", "start/routes.json": b""}
    (tmp_path / "start").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert digests_at_start(tmp_path) == {name: sha256(content).hexdigest() for name, content in files.items()}


FILES = {
    "Memories.md": "# Memories\n",
    "knowledgebase.md": "# Knowledge Base\n",
    "knowledgebase.archive.md": "# Archive of the knowledge base\n",
    "map_state.json": "{}\n",
    "routes.json": '{"version": 1}\n',
    "memory_news.txt": "news\n",
    "episode_summaries.jsonl": '{"episode": 1}\n',
    "transcripts.md": "# Transcripts\n",
}


def files_in(work: Path) -> SharedFiles:
    return shared_files(GameConfiguration(zork_game_workdir=work))


def contents_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize("missing", [None, "routes.json"])
def test_every_file_that_runs_share_is_kept_and_comes_back_and_a_missing_one_is_empty(
    work: Path, tmp_path: Path, missing: str | None
) -> None:
    kept = dict(FILES)
    if missing:
        (work / missing).unlink()
        kept[missing] = ""
    files_in(work).copy_to(tmp_path / "copies")
    assert contents_of(tmp_path / "copies") == kept
    assert files_in(work).read(tmp_path / "copies") == {name: text.encode() for name, text in kept.items()}
    files_in(tmp_path / "far" / "away").restore_from(tmp_path / "copies")
    assert contents_of(tmp_path / "far" / "away") == {name: text for name, text in kept.items() if text}


def test_files_of_other_names_are_kept_under_the_names_that_every_run_has(tmp_path: Path) -> None:
    config = GameConfiguration(
        zork_game_workdir=tmp_path,
        knowledge_file="what.md",
        map_state_file="where.json",
        simple_memory={"memory_file": "who.md"},
    )
    files = shared_files(config)
    for name in ("what.md", "where.json", "who.md"):
        (tmp_path / name).write_text(name)
    copies = tmp_path / "copies"
    files.copy_to(copies)
    kept = {name: content for name, content in contents_of(copies).items() if content}
    assert kept == {"Memories.md": "who.md", "knowledgebase.md": "what.md", "map_state.json": "where.json"}
    assert files.read(copies)["where.json"] == b"where.json"


@pytest.mark.parametrize("error", [GameError("the interpreter died"), KeyboardInterrupt()], ids=repr)
def test_the_files_are_copied_after_a_block_that_failed_and_its_error_is_not_replaced(
    work: Path, tmp_path: Path, error: BaseException
) -> None:
    def fail(copies: Path) -> None:
        with files_in(work).copied_at_end(copies):
            raise error

    with pytest.raises(type(error)):
        fail(tmp_path / "end")
    assert list((tmp_path / "end").iterdir())
    (tmp_path / "taken").write_text("no folder")
    with pytest.raises(type(error)):
        fail(tmp_path / "taken")
    with pytest.raises(StoreError), files_in(work).copied_at_end(tmp_path / "taken"):
        pass


def test_copies_of_an_earlier_end_are_gone_while_a_run_goes_on_and_a_kill_leaves_none_or_all(
    work: Path, tmp_path: Path
) -> None:
    copies = tmp_path / "end"
    with files_in(work).copied_at_end(copies):
        pass
    whole = contents_of(copies)
    with files_in(work).copied_at_end(copies):
        assert not copies.exists()
    assert contents_of(copies) == whole
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("end")] == ["end"]
    (work / max(whole)).unlink(missing_ok=True)
    (work / max(whole)).mkdir()
    with pytest.raises(StoreError), files_in(work).copied_at_end(copies):
        pass
    assert not copies.exists()


def test_a_file_that_comes_back_may_be_read_by_whom_it_might_be(work: Path, tmp_path: Path) -> None:
    (work / "routes.json").chmod(0o640)
    files_in(work).copy_to(tmp_path / "copies")
    (work / "routes.json").unlink()
    files_in(work).restore_from(tmp_path / "copies")
    assert (work / "routes.json").stat().st_mode & 0o777 == 0o640


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def test_the_latest_checkpoint_is_found_and_older_ones_are_removed(work: Path, run: Path) -> None:
    assert latest_checkpoint(run) == Checkpoint(0, "", run / "start")
    for seq in (9, 10, 100):
        (work / "Memories.md").write_text(f"after line {seq}")
        make_checkpoint(run, seq, "abc", files_in(work))
    found = latest_checkpoint(run)
    assert (found.seq, found.sum) == (100, "abc")
    assert (found.copies / "Memories.md").read_text() == "after line 100"
    assert len(list((run / "checkpoints").iterdir())) == 1


def test_a_checkpoint_that_was_not_finished_does_not_count_and_a_damaged_one_is_named(work: Path, run: Path) -> None:
    make_checkpoint(run, 9, "abc", files_in(work))
    files_in(work).copy_to(run / "checkpoints" / "000000000012")
    assert latest_checkpoint(run).seq == 9
    (latest_checkpoint(run).copies / "line.json").write_text("[]")
    with pytest.raises(StoreError, match=r"line\.json does not name a line of the journal"):
        latest_checkpoint(run)
