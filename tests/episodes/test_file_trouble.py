"""Files that are not as they should be end a command in one line; nothing is lost, and nothing outside is touched."""

from __future__ import annotations

import ctypes
import hashlib
import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.fixtures.command_line import COMMAND, Ran, environment, ran
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import typed

pytestmark = pytest.mark.slow  # each case starts the program

OWN_WORDS = "**[NOTE - PERMANENT] A human's own words** *(Ep1, T1)*\nThe flags are wet.\n"
MEMORIES = f"# Location memories\n\n## Location 35: Forecourt\n\n{OWN_WORDS}"
STORY, ROOM = 100_000, 1_000_000
"""Bytes: enough for a copy of the story, and for one of the interpreter."""
HUGE = 100 * 2**20
SHARED = ("Memories.md", "map_state.json", "story.json", "episodes.json", "knowledgebase.md")
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder with memories in it, beside what is none of its business."""
    (tmp_path / "outside.md").write_text("precious")
    work = tmp_path / "work"
    work.mkdir()
    (work / "Memories.md").write_text(MEMORIES)
    return work


@pytest.fixture
def play(server: MisbehavingServer, work: Path, clean_environment: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Plays in the work folder for long enough that Memories.md is written; with options in a process of its own."""
    clean_environment.chdir(work.parent)

    def run(*, turns: int = 12, **more: Any) -> Ran:
        command = ("run", "--max-turns", str(turns), "--quiet", "--base-url", server.base_url, "--workdir", str(work))
        return ran(work.parent, *command, **more) if more else typed(*command)

    return run


def listing(folder: Path) -> dict[str, str]:
    """Every name below ``folder`` but the locks', with what is there: a folder, a link to somewhere, a content."""
    return {
        str(path.relative_to(folder)): _content(path)
        for path in folder.rglob("*")
        if path.suffix != ".lock" and not path.name.endswith(".backup")
    }


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"


def the_line(shown: Ran) -> str:
    """The error line of a command that could not continue."""
    assert shown.status in {1, 2}, shown
    assert b"Traceback" not in shown.out + shown.err
    lines = shown.lines or [line for line in shown.out.decode().splitlines() if line.startswith("Paused")]
    assert len(lines) == 1, shown
    return lines[0]


def obeying_modes() -> None:
    """The process has only the rights that file modes give, even as root."""
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


def test_a_work_folder_that_cannot_be_written_is_left_as_it_is(work: Path, play: Callable[..., Ran]) -> None:
    work.chmod(0o555)
    before = listing(work.parent)
    line = the_line(play(preexec_fn=obeying_modes))
    assert "Permission denied" in line
    assert str(work) in line
    command = ("memories", "add", "35", "Title", "text", "--workdir", str(work))
    line = the_line(ran(work.parent, *command, preexec_fn=obeying_modes))
    assert "Memories.md cannot be locked for writing: Permission denied" in line
    assert listing(work.parent) == before


def test_a_folder_that_cannot_be_written_is_named_with_the_option_that_chooses_another(
    in_own_folder: Path, server: MisbehavingServer
) -> None:
    locked = in_own_folder / "locked"
    locked.mkdir(mode=0o555)
    for command, option in (
        (("run", "--base-url", server.base_url), "--workdir"),
        (("play",), "--workdir"),
        (("ablate", "--arms", "full", "--player", "random", "--pairs", "1"), "--out"),
    ):
        line = the_line(ran(locked, *command, preexec_fn=obeying_modes))
        assert "Permission denied" in line
        assert option in line
    made = ran(in_own_folder, "run", "--base-url", server.base_url, "--workdir", "locked", preexec_fn=obeying_modes)
    assert the_line(made).endswith(
        "the work folder locked cannot be written: Permission denied; choose another (--workdir; workdir in Python)"
    )
    assert not list(locked.iterdir())


def test_a_file_where_the_work_folder_should_be_is_left_as_it_is(
    in_own_folder: Path, server: MisbehavingServer
) -> None:
    (in_own_folder / "file").write_text("precious")
    before = listing(in_own_folder)
    for command in (("run", "--base-url", server.base_url), ("memories", "show"), ("memories", "add", "1", "T", "x")):
        line = the_line(typed(*command, "--workdir", "file/work"))
        assert "Not a directory" in line
    assert (
        the_line(typed("play", "--workdir", "file"))
        == "zorkgpt: file is a file, not a folder; choose another (--workdir; workdir in Python)"
    )
    assert listing(in_own_folder) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--workdir", ""), "--workdir is empty; expected a folder"),
        (("play", "--workdir", " "), "--workdir is empty; expected a folder"),
        (("status", "--workdir="), "--workdir is empty; expected a folder"),
        (
            ("run", "--set", "zork_game_workdir="),
            "zork_game_workdir on the command line: expected a path, not an empty text",
        ),
    ],
)
def test_a_work_folder_without_a_name_is_not_the_current_folder(
    in_own_folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    shown = typed(*arguments)
    assert (shown.status, shown.lines) == (2, [f"zorkgpt: {message}"])
    assert not list(in_own_folder.iterdir())


@pytest.mark.parametrize(
    ("room", "memories", "refused"),
    [
        (0, 0, "no temporary folder can be made"),
        (3_000, 0, "the story cannot be copied"),
        (2 * STORY, 0, "the interpreter cannot be copied"),
        (ROOM, ROOM, "start/Memories.md cannot be written"),
        (ROOM, ROOM - len(MEMORIES) - 10, "Memories.md cannot be written"),
    ],
)
def test_a_full_disk_is_said_and_every_file_that_was_there_is_whole(
    work: Path, play: Callable[..., Ran], room: int, memories: int, refused: str
) -> None:
    """No file may grow past ``room`` bytes, so that writes fail in the middle, as on a full disk."""
    with (work / "Memories.md").open("a") as file:
        file.write("." * memories)
    before = listing(work.parent)
    line = the_line(play(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))))
    assert refused in line
    after = listing(work.parent)
    assert after["outside.md"] == before["outside.md"]
    assert not [name for name in after if name.endswith(".tmp")]
    text = (work / "Memories.md").read_text()
    assert OWN_WORDS in text
    assert text.endswith("." * memories)


def link_out(path: Path) -> None:
    path.symlink_to(path.parents[1] / "outside.md")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def latin(path: Path) -> None:
    path.write_bytes(b"# A title\n\nCaf\xe9\n")


def seconds_of_children() -> float:
    """The processor's time of the processes that have ended, which does not depend on what else the machine does."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        *((name, link_out, " is a link to OUTSIDE, outside of its folder") for name in SHARED),
        *((name, huge, " is not read: it has 100 MiB") for name in SHARED[:2]),
        *((name, latin, ": byte 14 (0xe9, in line 3) is not UTF-8") for name in ("Memories.md", "knowledgebase.md")),
    ],
)
def test_a_shared_file_that_cannot_be_used_is_refused_at_once_and_stays(
    work: Path, play: Callable[..., Ran], name: str, make: Callable[[Path], None], message: str
) -> None:
    (work / name).unlink(missing_ok=True)
    make(work / name)
    before, start = listing(work.parent), seconds_of_children()
    limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30))} if make is huge else {}
    line = the_line(play(**limited))
    assert seconds_of_children() - start < 20
    assert f"{work / name}{message}".replace("OUTSIDE", str(work.parent / "outside.md")) in line
    after = listing(work.parent)
    assert [after[place] for place in ("outside.md", f"work/{name}")] == [
        before[place] for place in ("outside.md", f"work/{name}")
    ]


def test_a_link_out_of_the_work_folder_keeps_memories_from_being_shown_and_changed(work: Path) -> None:
    (work / "Memories.md").rename(work.parent / "elsewhere.md")
    (work / "Memories.md").symlink_to("../elsewhere.md")
    before = listing(work.parent)
    for command in (("show",), ("check",), ("add", "35", "T", "x"), ("invalidate", "35", "T", "--reason", "x")):
        line = the_line(typed("memories", *command, "--workdir", str(work)))
        assert "outside of its folder" in line
    assert listing(work.parent) == before


def test_a_link_within_the_work_folder_is_followed(work: Path, play: Callable[..., Ran]) -> None:
    (work / "kept").mkdir()
    (work / "Memories.md").rename(work / "kept" / "mine.md")
    (work / "Memories.md").symlink_to("kept/mine.md")
    assert play().status == 0
    assert (work / "Memories.md").is_symlink()
    assert OWN_WORDS in (work / "kept" / "mine.md").read_text()


def test_a_map_that_cannot_be_read_is_kept_beside_a_new_one(work: Path, play: Callable[..., Ran]) -> None:
    (work / "map_state.json").write_bytes(b"Caf\xe9")
    assert play().status == 0
    (kept,) = [path for path in work.glob("map_state*") if path.is_file() and path.read_bytes() == b"Caf\xe9"]
    assert kept.name != "map_state.json"


def test_a_lock_that_somebody_holds_is_waited_for_and_then_said(work: Path, server: MisbehavingServer) -> None:
    before = listing(work)
    names = ("Memories.md", "story.json", "episodes.json", "map_state.json")
    with ExitStack() as held, ThreadPoolExecutor() as pool:
        folders = [shutil.copytree(work, work.parent / f"locked {name}") for name in names]
        for name, folder in zip(names, folders, strict=True):
            held.enter_context(FileLock(folder / f"{name}.lock"))
        run = ("run", "--max-turns", "12", "--quiet", "--base-url", server.base_url, "--workdir")
        shown = list(pool.map(lambda folder: ran(folder, *run, "."), folders))
    for name, folder, each in zip(names, folders, shown, strict=True):
        assert f"{name} is still locked by another program after 10 s" in the_line(each)
        after = listing(folder)
        changed = {place for place in before if after[place] != before[place]}
        # The map is due last: what the turns before that taught of locations stands in its file already.
        assert changed <= ({"Memories.md"} if name == "map_state.json" else set())
        assert set(MEMORIES.splitlines()) <= set((folder / "Memories.md").read_text().splitlines())


@pytest.mark.parametrize("option", ["simple_memory.memory_file", "knowledge_file", "map_state_file"])
def test_an_option_that_names_a_file_elsewhere_is_refused(in_own_folder: Path, option: str) -> None:
    (in_own_folder / "zorkgpt.toml").write_text(f'{option} = "../x"\n')
    before = listing(in_own_folder)
    line = the_line(typed("run"))
    assert line.startswith(f"zorkgpt: {option} in ")
    assert "expected a plain file name" in line
    assert listing(in_own_folder) == before


def test_a_story_with_a_crafted_name_gets_a_folder_within_the_work_folder(
    tmp_path: Path, server: MisbehavingServer, own_story: Path
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "...z5").write_bytes(own_story.read_bytes() + b"\0" * 512)
    command = ("run", "--max-turns", "1", "--quiet", "--base-url", server.base_url)
    for arguments in ((), ("--game", "...z5")):
        assert ran(tmp_path / "here", *command, *arguments).status == 0
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"game_files", "...z5"}
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    assert len(list((tmp_path / "here" / "game_files").glob("story-*/runs/*"))) == 1


@pytest.mark.parametrize(
    "name", ["Memories.md", "episode_summaries.jsonl", "knowledgebase.md", "routes.json", "transcripts.md"]
)
def test_a_run_that_cannot_begin_leaves_none_that_would_be_resumed_instead_of_an_earlier_one(
    play: Callable[..., Ran], work: Path, name: str
) -> None:
    play(turns=2)
    (work / name).write_bytes(b"\xff\xfe")
    before = listing(work)
    assert name in the_line(play(turns=2))
    assert listing(work) == before


@pytest.mark.parametrize("place", [b"\xff.z5", b"\xff/story.z5"])
def test_a_run_that_cannot_begin_leaves_no_work_folder_that_was_not_there(
    tmp_path: Path, own_story: Path, clean_environment: pytest.MonkeyPatch, place: bytes
) -> None:
    """The run's files cannot hold the story's path, which is not valid text."""
    clean_environment.chdir(tmp_path)
    story = tmp_path / os.fsdecode(place)
    story.parent.mkdir(exist_ok=True)
    shutil.copyfile(own_story, story)
    shown = ran(tmp_path, "run", "--game", str(story), "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert "is not UTF-8" in the_line(shown)
    assert not (tmp_path / "game_files").exists()


LAST_ANSWER = 6


@dataclass
class Does:
    """Answers, and does something before its sixth answer."""

    trouble: Callable[[], object]
    answers: int = 0

    def play(self, handler: Handler) -> None:
        self.answers += 1
        if self.answers == LAST_ANSWER:
            self.trouble()
        Answers().play(handler)


@pytest.mark.parametrize("command", [("run",), ("runs", "list"), ("config", "show"), ("memories", "show")])
def test_a_current_folder_that_is_gone_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    shell = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *COMMAND, *command]
    shown = subprocess.run(shell, cwd=folder, env=environment(), capture_output=True, check=False)
    (line,) = shown.stderr.decode().splitlines()
    assert line.startswith(f"zorkgpt: the current folder, {folder}, is gone")
    assert shown.returncode == 1


def run_with(folder: Path, trouble: Callable[[], object]) -> Ran:
    with MisbehavingServer(Does(trouble)) as server:
        command = ("run", "--max-turns", "9", "--quiet", "--base-url", server.base_url, "--workdir", "work")
        return ran(folder, *command)


@pytest.mark.parametrize("name", ["", "work", "work/runs"])
def test_a_run_whose_folder_is_gone_is_not_said_to_go_on(tmp_path: Path, name: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    shown = run_with(here, lambda: shutil.rmtree(here / name))
    assert shown.status == 1
    assert "To resume" not in shown.out.decode()
    assert "is gone: the run cannot continue" in shown.out.decode().splitlines()[-1]
    if not name:
        assert shown.lines[-1].startswith(f"zorkgpt: the current folder, {here}, is gone")


def test_a_run_that_is_played_to_its_end_and_cannot_keep_copies_of_its_files_fails(tmp_path: Path) -> None:
    def put_in_the_way() -> None:
        (run,) = (tmp_path / "work" / "runs").glob("*-*")
        (run / "end").write_bytes(b"")

    shown = run_with(tmp_path, put_in_the_way)
    assert "Episode 1 stopped at the turn limit" in shown.text
    assert (shown.status, len(shown.lines)) == (1, 1)
    assert shown.lines[0].startswith("zorkgpt: cannot make the folder work/runs/")
