"""A run from another person: no command follows a link in it, or sends a key to its servers unasked."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from session.errors import ConfigurationError
from session.events import RunStarted
from session.files.journal import JOURNAL_FILE, MANIFEST, Journal, read_journal
from session.files.run_folders import find_run
from tests.fixtures.command_line import Ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.typed_command import typed
from zorkgpt import api

pytestmark = pytest.mark.usefixtures("in_own_folder")

PAUSED = ("--episodes", "3", "--max-turns", "2", "--max-tokens", "25", "--quiet", "--workdir")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, server: MisbehavingServer, own_story: Path) -> Path:
    """A work folder with a run that was paused after its first episode. No test changes it."""
    folder = tmp_path_factory.mktemp("recorded") / "work"
    shown = typed("run", "--game", str(own_story), "--base-url", server.base_url, *PAUSED, str(folder))
    assert shown.status == 1, shown
    (checkpoint,) = (find_run(folder) / "checkpoints").iterdir()
    assert checkpoint.is_dir()
    return folder


@pytest.fixture
def work(recorded: Path, tmp_path: Path) -> Path:
    """A copy of that work folder; beside it is ``documents``, with a folder and files of the user."""
    folder = tmp_path / "documents"
    for name in ("thesis/text.md", "Memories.md", "000000000001/text.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    return shutil.copytree(recorded, tmp_path / "work")


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def refused(shown: Ran, link: Path) -> bool:
    return shown.status == 1 and f"{link.name} is a link, which may lead outside of its folder" in shown.err.decode()


def resume(work: Path) -> Ran:
    return typed("resume", "--workdir", str(work), "--max-tokens", "1000000", "--quiet")


@pytest.mark.parametrize(
    "name", ["checkpoints", "checkpoints/000000000000", "start", "end", "run.lock", "log.jsonl", "budgets.json", "x"]
)
def test_no_link_in_a_run_folder_is_followed_and_nothing_behind_it_is_lost(work: Path, name: str) -> None:
    documents = work.with_name("documents")
    before, link = contents(documents), find_run(work) / name
    shutil.rmtree(link, ignore_errors=True)
    link.unlink(missing_ok=True)
    link.symlink_to(documents / "Memories.md" if link.suffix else documents)
    assert refused(resume(work), link)
    assert refused(typed("replay", "--workdir", str(work)), link)
    assert refused(typed("report", "--workdir", str(work)), link)
    assert contents(documents) == before


@pytest.mark.parametrize("name", ["start", "manifest.json", JOURNAL_FILE])
def test_nor_is_one_to_what_the_run_had_there(work: Path, name: str) -> None:
    link = find_run(work) / name
    moved = link.rename(work.with_name("documents") / name)
    link.symlink_to(moved)
    assert refused(resume(work), link)


@pytest.mark.parametrize(
    "command",
    [
        ("resume",),
        ("replay",),
        ("replay", "--fork-at", "1:1"),
        ("runs", "list"),
        ("runs", "show"),
        ("runs", "export"),
        ("runs", "delete", "--yes"),
        ("report",),
        ("report", "--all"),
        ("status",),
        ("run", "--max-turns", "1", "--quiet"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("is_named", [False, True])
def test_no_command_uses_runs_behind_a_link(
    work: Path, server: MisbehavingServer, own_story: Path, command: tuple[str, ...], *, is_named: bool
) -> None:
    run = find_run(work)
    moved = (work / "runs").rename(work.with_name("documents") / "runs")
    (work / "runs").symlink_to(moved)
    before = contents(work.with_name("documents"))
    takes_run = command[0] in {"resume", "replay"} or command[-1] in {"show", "export", "--yes"}
    if is_named and not takes_run:
        return
    more = ("--game", str(own_story), "--base-url", server.base_url) if command[0] == "run" else ()
    shown = typed(*command, *([run.name] if is_named else []), *more, "--workdir", str(work))
    assert refused(shown, work / "runs"), shown
    assert contents(work.with_name("documents")) == before


def test_a_fork_is_not_made_behind_a_link(work: Path) -> None:
    (work / "forks").symlink_to(work.with_name("documents"))
    before = contents(work.with_name("documents"))
    assert refused(typed("replay", "--fork-at", "1:1", "--workdir", str(work)), work / "forks")
    assert contents(work.with_name("documents")) == before


def test_only_checkpoints_of_the_program_are_removed(work: Path) -> None:
    own = find_run(work) / "checkpoints" / "holiday" / "beach.md"
    own.parent.mkdir()
    own.write_text("mine")
    assert resume(work).status == 0
    assert own.read_text() == "mine"


def test_a_report_is_not_written_through_a_link_out_of_the_folder(work: Path, tmp_path: Path) -> None:
    (work / "report.html").symlink_to("../documents/Memories.md")
    (work / "site").mkdir()
    (work / "site" / "runs").symlink_to("../../documents")
    before = contents(tmp_path / "documents")
    os.chdir(work)
    assert "outside of its folder" in typed("report", "--workdir", ".").err.decode()
    assert refused(typed("report", "--all", "--out", "site", "--workdir", "."), Path("runs"))
    assert contents(tmp_path / "documents") == before


def test_a_corrupt_map_is_not_kept_behind_a_link_to_nothing(
    work: Path, server: MisbehavingServer, own_story: Path
) -> None:
    aimed = work.with_name("documents") / "new.desktop"
    (work / "map_state.json").write_text('{"rooms": 1')
    (work / "map_state.json.corrupt").symlink_to(aimed)
    command = ("run", "--max-turns", "1", "--quiet", "--game", str(own_story), "--base-url", server.base_url)
    assert typed(*command, "--workdir", str(work)).status == 0
    assert not aimed.exists()
    assert (work / "map_state.json.corrupt-2").read_text() == '{"rooms": 1'


def test_journals_that_are_pipes_are_reported_without_waiting_for_them(work: Path) -> None:
    journal = find_run(work) / JOURNAL_FILE
    journal.unlink()
    os.mkfifo(journal)
    assert "damaged" in typed("runs", "list", "--workdir", str(work)).text


@pytest.mark.parametrize("door", ["resume", "fork", "api"])
def test_a_key_is_sent_to_a_server_of_the_run_only_if_the_user_names_it(
    server: MisbehavingServer, own_story: Path, tmp_path: Path, clean_environment: pytest.MonkeyPatch, door: str
) -> None:
    clean_environment.setenv("http_proxy", server.base_url.removesuffix("/v1"))
    there = ("--base-url", "http://models.invalid/v1", "--model", "m")
    assert typed("run", "--game", str(own_story), *there, *PAUSED, "work").status == 1
    clean_environment.setenv("OPENAI_API_KEY", "sk-only-for-mine")
    asked = len(server.asked)
    if door == "api":
        with pytest.raises(ConfigurationError, match=r"add --base-url http://models\.invalid/v1"):
            api.resume(workdir=tmp_path / "work")
    else:
        command = ("resume",) if door == "resume" else ("replay", "--fork-at", "1:1")
        shown = typed(*command, "--workdir", "work", "--quiet")
        assert "add --base-url http://models.invalid/v1" in shown.err.decode(), shown
    assert len(server.asked) == asked
    assert typed("resume", "--workdir", "work", "--quiet", "--max-tokens", "1000000", *there).status == 0
    assert server.asked[-1].headers["authorization"] == "Bearer sk-only-for-mine"


@pytest.mark.parametrize("door", ["resume", "fork", "api"])
def test_a_run_that_was_unpacked_into_a_home_folder_writes_no_file_of_another_kind(
    server: MisbehavingServer, own_story: Path, tmp_path: Path, clean_environment: pytest.MonkeyPatch, door: str
) -> None:
    clean_environment.setenv("ZORKGPT_SIMPLE_MEMORY__MEMORY_FILE", ".bashrc")
    shown = typed("run", "--game", str(own_story), "--base-url", server.base_url, *PAUSED, "home")
    assert shown.status == 1, shown
    clean_environment.delenv("ZORKGPT_SIMPLE_MEMORY__MEMORY_FILE")
    home = tmp_path / "home"
    (home / ".bashrc").write_text("mine")
    if door == "api":
        with pytest.raises(ConfigurationError, match=r"memory_file = \.bashrc"):
            api.resume(workdir=home)
    else:
        command = ("resume",) if door == "resume" else ("replay", "--fork-at", "1:1")
        shown = typed(*command, "--workdir", "home", "--max-tokens", "1000000", "--quiet")
        assert "simple_memory.memory_file = .bashrc" in shown.err.decode(), shown
    assert (home / ".bashrc").read_text() == "mine"


def test_what_a_manifest_contains_is_printed_without_control_characters(work: Path) -> None:
    run = find_run(work)
    manifest, events = json.loads((run / MANIFEST).read_bytes()), [line.event for line in read_journal(run)]
    manifest["story"], manifest["versions"] = "mill\x1b[31m", {"zorkgpt": "0\x1b[2J", "zorkgpt source": "another"}
    (run / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    (run / JOURNAL_FILE).unlink()
    journal, digest = Journal(run), sha256((run / MANIFEST).read_bytes()).hexdigest()
    for event in events:
        assert event is not None
        started = isinstance(event, RunStarted) and replace(event, files={**event.files, MANIFEST: digest})
        journal.append(started or event)
    journal.close()
    shown = typed("replay", "--from-actions", "--workdir", str(work))
    assert "of mill\\x1b[31m is repeated exactly" in shown.out.decode(), shown
    assert "recorded by zorkgpt 0\\x1b[2J" in shown.err.decode()
    assert b"\x1b" not in shown.out + shown.err
