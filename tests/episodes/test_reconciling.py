"""What people and other runs do to the shared files of a run that was stopped or killed is neither lost nor undone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from managers.memory.document import Revision, open_memories, parse_memories
from managers.memory.synthesis import VisitSynthesis
from session.events import FileEdited, ModelAnswered, RunEnded
from session.memory import Memory
from tests.fixtures.doomed_run import (
    STORY,
    Effects,
    effects_of_a_run,
    go_on,
    killed,
    killed_around_writing,
    killed_before_writing,
    play,
)
from tests.fixtures.run_traces import files_of, journal_of
from tests.fixtures.whole_run import verify_run

SHARED = ("Memories.md", "map_state.json", "routes.json", "transcripts.md", "episode_summaries.jsonl")
LATE = 0.55
"""The part of a run's effects after which it is killed: it has learned several memories then."""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Effects]:
    """The work folder of a run that was not stopped, and the points at which it could be killed."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, effects_of_a_run(folder)


@pytest.fixture
def whole(uninterrupted: tuple[Path, Effects]) -> Path:
    return uninterrupted[0]


@pytest.fixture
def effects(uninterrupted: tuple[Path, Effects]) -> int:
    return uninterrupted[1].total


def titles_in(folder: Path) -> list[str]:
    text = (folder / "Memories.md").read_text()
    return [memory.title for kept in parse_memories(text).memories().values() for memory in kept]


def stopped(folder: Path, effects: int) -> list[str]:
    """A run that was killed after it had learned; returns the titles of its memories."""
    assert killed(folder, kill_at=int(effects * LATE))
    titles = titles_in(folder)
    assert len(titles) > 1
    return titles


def add(folder: Path) -> None:
    memory = Memory("NOTE", "By hand", 0, "", None, "A person wrote this.", "permanent")
    assert open_memories(folder / "Memories.md").apply(Revision(32, "Somewhere", memory).apply_to)


def delete(folder: Path, title: str) -> None:
    """Take a memory, its heading line and its text, out of the file."""
    path = folder / "Memories.md"
    entry = re.compile(rf"^\*\*\[[^\n]*\] {re.escape(title)}\*\*[^\n]*\n[^\n]+\n\n?", re.MULTILINE)
    shortened, times = entry.subn("", path.read_text(), count=1)
    assert times == 1
    path.write_text(shortened)


def ended(folder: Path) -> None:
    """The run was played to its end, and is repeated exactly."""
    assert isinstance(journal_of(folder)[-1], RunEnded)
    assert verify_run(STORY, folder).difference is None


def resumed_after(folder: Path, effects: int, *, killed_again: bool) -> None:
    if killed_again:
        assert killed(folder, kill_at=effects // 8, resumes=True)
    go_on(folder)
    ended(folder)


AGAIN = pytest.mark.parametrize(
    "killed_again",
    [pytest.param(False, id="resumed"), pytest.param(True, id="resumed, killed and resumed", marks=pytest.mark.slow)],
)


@AGAIN
def test_memories_are_as_the_person_left_them(tmp_path: Path, effects: int, killed_again: bool) -> None:
    """One is added, one deleted and one edited."""
    expected = {*stopped(tmp_path, effects)}
    add(tmp_path)
    first, *_, last = titles_in(tmp_path)
    delete(tmp_path, first)
    path = tmp_path / "Memories.md"
    path.write_text(path.read_text().replace(last, f"{last}, mended"))
    resumed_after(tmp_path, effects, killed_again=killed_again)
    assert not {first, last} & {*titles_in(tmp_path)}
    assert {*expected, "By hand", f"{last}, mended"} - {first, last} <= {*titles_in(tmp_path)}
    kept = parse_memories((tmp_path / "Memories.md").read_text()).memories()
    assert all(len(memories) == len({memory.title for memory in memories}) for memories in kept.values())


def test_what_a_person_writes_into_the_knowledge_base_is_kept(tmp_path: Path, effects: int) -> None:
    stopped(tmp_path, effects)
    path = tmp_path / "knowledgebase.md"
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}\n## MY OWN\n\n- A person wrote this.\n")
    resumed_after(tmp_path, effects, killed_again=False)
    assert "- A person wrote this." in path.read_text()
    archive = tmp_path / "knowledgebase.archive.md"
    kept = path.read_text() + (archive.read_text() if archive.exists() else "")
    # a line that the next episode confirms has more sources
    assert all(line.partition(" *(")[0] in kept for line in before.splitlines())


def test_another_run_that_learns_in_the_same_folder_loses_nothing_of_either(tmp_path: Path, effects: int) -> None:
    own = stopped(tmp_path, effects)
    (run,) = (tmp_path / "runs").iterdir()
    aside = tmp_path.with_name(f"{tmp_path.name}-aside")
    run.rename(aside)
    play(tmp_path)
    (other,) = (tmp_path / "runs").iterdir()
    theirs = titles_in(tmp_path)
    other.rename(tmp_path.with_name(f"{tmp_path.name}-other"))
    aside.rename(run)
    go_on(tmp_path)
    ended(tmp_path)
    assert any(isinstance(event, FileEdited) for event in journal_of(tmp_path))
    assert {*own, *theirs} <= {*titles_in(tmp_path)}


def answered(folder: Path) -> set[str]:
    """The titles of the persistent memories that the model has answered before the run was stopped."""
    answers = [event.answer for event in journal_of(folder) if isinstance(event, ModelAnswered)]
    memories = [VisitSynthesis.model_validate(answer).memories for answer in answers if "memories" in answer]
    given = [memory for each in memories for memory in each if memory.persistence != "ephemeral"]
    return {memory.memory_title or "" for memory in given}


def edit_in_place(folder: Path) -> None:
    path = folder / "Memories.md"
    with path.open("a") as file:
        file.write("\n## Location 32: Somewhere\n\n**[NOTE - PERMANENT] By hand**\nA person wrote this.\n")


def edit_as_editors_do(folder: Path) -> None:
    """Write a new file and rename it."""
    path, new = folder / "Memories.md", folder / "Memories.md.new"
    new.write_text(path.read_text() if path.exists() else "# Location Memories\n")
    new.replace(path)
    edit_in_place(folder)


def add_twice(folder: Path) -> None:
    """Two commands of the program write the file, so that the backup is of neither."""
    add(folder)
    memory = Memory("NOTE", "By another command", 0, "", None, "A person wrote this, too.", "permanent")
    assert open_memories(folder / "Memories.md").apply(Revision(33, "Elsewhere", memory).apply_to)


EDITS = [add, add_twice, edit_in_place, edit_as_editors_do]
AIMED = range(2, 52, 3)
"""The kills, around every third write, so that each kind of edit comes after writes of each kind."""


@pytest.mark.parametrize(
    "kill_at", [at if at == AIMED[4] else pytest.param(at, marks=pytest.mark.slow) for at in AIMED]
)
def test_an_edit_after_a_kill_around_any_write_of_the_memories_loses_none_of_them(
    tmp_path: Path, whole: Path, kill_at: int
) -> None:
    assert killed_around_writing(tmp_path / "Memories.md", kill_at)
    if not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/journal.jsonl")):
        return
    known = answered(tmp_path) & {*titles_in(whole)}
    EDITS[kill_at % len(EDITS)](tmp_path)
    go_on(tmp_path)
    ended(tmp_path)
    found = titles_in(tmp_path)
    assert {"By hand", *known} <= {*found}
    kept = parse_memories((tmp_path / "Memories.md").read_text()).memories()
    assert all(len(memories) == len({memory.title for memory in memories}) for memories in kept.values())


@pytest.mark.parametrize("edit", [add, *(pytest.param(edit, marks=pytest.mark.slow) for edit in EDITS[1:])])
def test_an_edit_after_a_power_cut_loses_no_memory_of_the_open_episode(
    tmp_path_factory: pytest.TempPathFactory, whole: Path, effects: int, edit: Callable[[Path], None]
) -> None:
    for kill_at in range(int(effects * LATE), effects, effects // 20):  # until a power cut loses a memory
        folder, disk = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("disk")
        assert killed(folder, kill_at=kill_at, disk=disk)
        known = answered(folder) & {*titles_in(whole)}
        before = {*titles_in(folder)} if (folder / "Memories.md").exists() else set()
        if known - before:
            break
    assert known - before
    edit(folder)
    go_on(folder)
    ended(folder)
    assert {"By hand", *known} <= {*titles_in(folder)}


LOST = [
    pytest.param(b"", id="empty", marks=pytest.mark.slow),
    pytest.param(b"\0" * 4096, id="zeros", marks=pytest.mark.slow),
    pytest.param(None, id="half of it zeros"),
]


@pytest.mark.parametrize("content", LOST)
def test_files_that_a_power_cut_has_emptied_are_written_again_from_checkpoint_and_journal(
    tmp_path: Path, whole: Path, effects: int, content: bytes | None
) -> None:
    assert killed(tmp_path, kill_at=int(effects * 0.9))
    shared = [path for path in tmp_path.iterdir() if path.name in {*SHARED, "knowledgebase.md", "memory_news.txt"}]
    assert len(shared) >= len(SHARED)
    for path in shared:
        text = path.read_bytes()
        path.write_bytes(text[: len(text) // 2] + b"\0" * (len(text) // 2 + 64) if content is None else content)
    go_on(tmp_path)
    ended(tmp_path)
    assert journal_of(tmp_path) == journal_of(whole)
    assert files_of(tmp_path) == files_of(whole)


EACH_FILE = pytest.mark.parametrize(
    "name", [SHARED[0], *(pytest.param(name, marks=pytest.mark.slow) for name in SHARED[1:])]
)


@EACH_FILE
def test_a_kill_inside_the_write_of_a_shared_file_loses_nothing(tmp_path: Path, whole: Path, name: str) -> None:
    assert killed_before_writing(tmp_path / name)
    go_on(tmp_path)
    ended(tmp_path)
    assert journal_of(tmp_path) == journal_of(whole)
    assert files_of(tmp_path) == files_of(whole)


@EACH_FILE
def test_so_it_does_if_a_person_adds_a_memory_before_the_run_goes_on(tmp_path: Path, name: str) -> None:
    assert killed_before_writing(tmp_path / name)
    add(tmp_path)
    go_on(tmp_path)
    ended(tmp_path)
    assert "By hand" in titles_in(tmp_path)
