"""A run is repeated exactly, or the first difference is named; so is the run that is recorded here."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestration.history import Replayed
from session.errors import StoreError, StoryError, ZorkGPTError
from session.events import (
    EpisodeEnded,
    EpisodeStarted,
    Event,
    FileEdited,
    ModelAnswered,
    RunPaused,
    RunStarted,
    TurnPlayed,
)
from session.files.journal import JOURNAL_FILE, read_journal
from session.files.run_folders import find_run
from tests.fixtures.doomed_run import STORY, effects_of_a_run, killed, killed_before_writing
from tests.fixtures.prompted_run import Before, actions_of, play_prompted, prompted, resume_with
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.rewritten_journal import tamper
from tests.fixtures.run_traces import contents_of
from tests.fixtures.typed_command import typed
from tests.fixtures.whole_run import verify_run

TURNS = 200
"""Of a long run, which has an episode more than it takes: who plays at random may die early."""
SAMPLES = 12  # bytes of a file that are flipped, one at a time
PARTS = [0.45, *(pytest.param(part, marks=pytest.mark.slow) for part in (0.25, 0.95))]
"""Of the effects of a run up to the end of its last episode, after which it is killed."""
OWN_WORDS = "**[NOTE - PERMANENT] By hand** *(Ep1, T1)*\nThe banister is loose.\n"


def is_whole(replayed: Replayed, turns: int) -> bool:
    assert replayed.difference is None, replayed.difference
    return (replayed.is_whole, replayed.turns) == (True, turns)


def turns_of(folder: Path) -> int:
    """The number of turns of the newest run; a random player may die before an episode's last turn."""
    return sum(isinstance(line.event, TurnPlayed) for line in read_journal(find_run(folder)))


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def places(path: Path) -> list[int]:
    """Samples from all over the file, its first and its last byte among them."""
    last = path.stat().st_size - 1
    return sorted({last * step // (SAMPLES - 1) for step in range(SAMPLES)})


@pytest.fixture(scope="module")
def last_effect(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The number of effects of a run up to the end of its last episode."""
    return effects_of_a_run(tmp_path_factory.mktemp("counted")).ends[-1] - 20


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run of two short episodes, begun with memories there. No test changes it."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "Memories.md").write_text(f"# Location Memories\n\n## Location 35: Forecourt\n\n{OWN_WORDS}")
    play_prompted(STORY, folder, turns=15, episodes=2)
    return folder


@pytest.fixture
def copied(recorded: Path, tmp_path: Path) -> Path:
    """A copy of it that may be damaged."""
    return shutil.copytree(recorded, tmp_path / "work")


def check_long_run(story: Path, folder: Path) -> None:
    play_prompted(story, folder, turns=TURNS // 3, episodes=5)
    assert turns_of(folder) >= TURNS
    check_repeated(story, folder)


def check_repeated(story: Path, folder: Path) -> None:
    before, turns = contents_of(folder), turns_of(folder)
    assert is_whole(verify_run(story, folder), turns)
    assert is_whole(actions_of(story, folder), turns)
    assert contents_of(folder) == before


def test_a_run_is_repeated_exactly_and_nothing_of_it_is_touched(recorded: Path) -> None:
    check_repeated(STORY, recorded)


@pytest.mark.slow
def test_a_run_of_200_turns_is_repeated_exactly(tmp_path: Path) -> None:
    check_long_run(STORY, tmp_path)


@pytest.mark.slow
@pytest.mark.stories
@pytest.mark.parametrize("name", ["zork1.z5", "library.z5"])
def test_a_run_of_200_turns_is_repeated_exactly_on_other_stories(tmp_path: Path, story_folder: Path, name: str) -> None:
    check_long_run(story_folder / name, tmp_path)


# a single flipped byte


def test_a_flipped_byte_anywhere_in_the_journal_is_found_in_its_line(copied: Path) -> None:
    path = find_run(copied) / JOURNAL_FILE
    written = path.read_bytes()
    for at in places(path):
        flip(path, at)
        line = written.count(b"\n", 0, at) + 1
        with pytest.raises(StoreError, match=rf"journal\.jsonl:{line}:"):
            verify_run(STORY, copied)
        path.write_bytes(written)
    assert is_whole(verify_run(STORY, copied), turns_of(copied))


@pytest.mark.parametrize("name", ["manifest.json", "start/Memories.md"])
def test_a_flipped_byte_anywhere_in_what_a_run_keeps_is_found_and_its_file_named(copied: Path, name: str) -> None:
    path = find_run(copied) / name
    for at in places(path):
        flip(path, at)
        with pytest.raises(ZorkGPTError) as raised:
            verify_run(STORY, copied)
        assert str(path) in str(raised.value), at
        flip(path, at)
    assert is_whole(verify_run(STORY, copied), turns_of(copied))


def test_a_file_of_the_start_that_is_gone_is_found_and_named(copied: Path) -> None:
    path = find_run(copied) / "start" / "Memories.md"
    path.unlink()
    with pytest.raises(StoreError, match=str(path)):
        verify_run(STORY, copied)


def test_a_flipped_byte_anywhere_in_the_story_is_found_and_the_file_named(recorded: Path, tmp_path: Path) -> None:
    story = tmp_path / "copy.z5"
    shutil.copyfile(STORY, story)
    for at in places(story):
        flip(story, at)
        for repeat in (verify_run, actions_of):
            with pytest.raises((StoryError, StoreError), match=str(story)):
                repeat(story, recorded)
        flip(story, at)
    assert is_whole(verify_run(story, recorded), turns_of(recorded))


def test_a_checkpoint_of_a_journal_that_is_shorter_is_named(copied: Path) -> None:
    path = find_run(copied) / JOURNAL_FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-3]))
    with pytest.raises(StoreError, match="does not match the journal in the same folder"):
        verify_run(STORY, copied)


# a recording that is whole in itself, and tells of another run


def test_another_answer_is_the_first_difference(copied: Path) -> None:
    """A changed answer of a model shows in the next turn's record at the latest."""
    lines = list(read_journal(find_run(copied)))
    tenth = [line.seq for line in lines if isinstance(line.event, TurnPlayed)][9]
    answers = [line.seq for line in lines if isinstance(line.event, ModelAnswered) and line.event.role == "agent"]
    answer = max(seq for seq in answers if seq < tenth)
    tamper(find_run(copied), answer, lambda event: event["answer"].update(reasoning="because of something else"))
    replayed = verify_run(STORY, copied)
    assert replayed.turns == 9
    assert replayed.difference is not None
    assert replayed.difference.line > answer
    assert "because of something else" in str(replayed.difference.found)


def test_another_observation_is_the_first_difference_of_both_ways(copied: Path) -> None:
    fifth = [line for line in read_journal(find_run(copied)) if isinstance(line.event, TurnPlayed)][4]
    tamper(find_run(copied), fifth.seq, lambda event: event["record"]["after"].update(text="The sky falls."))
    for replayed in (verify_run(STORY, copied), actions_of(STORY, copied)):
        assert replayed.turns == 4
        assert replayed.difference is not None
        assert replayed.difference.line == fifth.seq
        expected, found = replayed.difference.expected, replayed.difference.found
        assert isinstance(expected, TurnPlayed)
        assert isinstance(found, TurnPlayed)
        assert expected.record.after.text == "The sky falls."
        assert found.record.after == fifth.event.record.after  # type: ignore[union-attr]


# files that people edit meanwhile


def append_to(path: Path, text: str) -> Callable[[], object]:
    def effect() -> None:
        path.write_text((path.read_text() if path.exists() else "") + text)

    return effect


def rename_a_room(path: Path) -> None:
    content = json.loads(path.read_text())
    content["rooms"][next(iter(content["rooms"]))]["name"] = "Somewhere by hand"
    path.write_text(json.dumps(content))


@pytest.mark.slow
def test_a_run_whose_files_were_edited_by_hand_meanwhile_is_repeated_exactly(tmp_path: Path) -> None:
    effects = {
        5: append_to(tmp_path / "Memories.md", f"\n## Location 35: Forecourt\n\n{OWN_WORDS}"),
        9: append_to(tmp_path / "knowledgebase.md", "\n## UNIVERSAL GAME MECHANICS\n\n- Doors are doors.\n"),
        30: lambda: rename_a_room(tmp_path / "map_state.json"),
        35: (tmp_path / "Memories.md").unlink,
    }
    once_a_turn = {"mode": "object_tree", "max_rejections": 0}
    played = play_prompted(STORY, tmp_path, turns=60, model=prompted(Before(effects)), critic=once_a_turn)
    noticed = {event.file for event in played.events if isinstance(event, FileEdited)}
    assert noticed == {"Memories.md", "knowledgebase.md", "map_state.json"}
    assert is_whole(verify_run(STORY, tmp_path), turns_of(tmp_path))


@pytest.mark.parametrize("part", PARTS)
def test_a_run_whose_files_were_edited_while_it_was_dead_is_repeated_exactly(
    tmp_path: Path, last_effect: int, part: float
) -> None:
    assert killed(tmp_path, kill_at=int(last_effect * part))
    check_edits_of_a_dead_run(tmp_path)


def test_so_is_one_that_was_killed_between_recording_a_write_and_writing(tmp_path: Path) -> None:
    """The edit of the file that was to be written was recorded before those of files that are looked at earlier."""
    assert killed_before_writing(tmp_path / "knowledgebase.md")
    check_edits_of_a_dead_run(tmp_path)


@pytest.mark.parametrize("last", [RunStarted, EpisodeEnded])
def test_so_is_one_that_was_killed_before_its_next_episode_began(tmp_path: Path, last: type[Event]) -> None:
    """Nothing is left to repeat: the run goes on from its copies of the files."""

    def kill(event: Event) -> None:
        if isinstance(event, EpisodeStarted) and event.episode == (1 if last is RunStarted else 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_prompted(STORY, tmp_path, turns=15, episodes=2, show=kill)
    journal = find_run(tmp_path) / JOURNAL_FILE
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    check_edits_of_a_dead_run(tmp_path)


def check_edits_of_a_dead_run(folder: Path) -> None:
    append_to(folder / "Memories.md", f"\n## Location 35: Forecourt\n\n{OWN_WORDS}")()
    append_to(folder / "knowledgebase.md", "\n## UNIVERSAL GAME MECHANICS\n\n- Doors are doors.\n")()
    resumed = resume_with(STORY, folder)
    noticed = [event.file for event in resumed.events if isinstance(event, FileEdited)]
    assert sorted(noticed) == ["Memories.md", "knowledgebase.md"]
    assert OWN_WORDS in (folder / "Memories.md").read_text()
    assert "Doors are doors." in (folder / "knowledgebase.md").read_text()
    replayed = verify_run(STORY, folder)
    assert (replayed.is_whole, replayed.difference) == (True, None)


# runs that are not whole


def test_a_paused_run_is_repeated_as_far_as_it_was_played_and_whole_once_it_was_resumed(tmp_path: Path) -> None:
    paused = play_prompted(STORY, tmp_path, budgets={"max_tokens": 40_000})
    assert isinstance(paused.events[-1], RunPaused)
    replayed = verify_run(STORY, tmp_path)
    assert (replayed.turns, replayed.is_whole, replayed.difference) == (len(paused.turns), False, None)
    resume_with(STORY, tmp_path, budgets={})
    assert is_whole(verify_run(STORY, tmp_path), turns_of(tmp_path))


@pytest.mark.parametrize("part", PARTS)
def test_a_killed_run_is_repeated_as_far_as_it_was_played(tmp_path: Path, last_effect: int, part: float) -> None:
    assert killed(tmp_path, kill_at=int(last_effect * part))
    turns = turns_of(tmp_path)
    replayed = verify_run(STORY, tmp_path)
    assert (replayed.turns, replayed.is_whole, replayed.difference) == (turns, False, None)
    assert turns > 0


SOMEBODYS_OWN = re.compile(rb"/(?:home|root|tmp|work|Users)\b|\\\\Users")
RECORDED_TURNS = 20


@pytest.fixture
def earlier(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> Path:
    """A copy of the recorded work folder."""
    clean_environment.chdir(tmp_path)
    return shutil.copytree(RECORDED, tmp_path / "work")


@pytest.mark.parametrize("way", ["--from-actions", "--verify"])
def test_a_run_that_was_recorded_before_is_repeated_exactly(earlier: Path, own_story: Path, way: str) -> None:
    before = contents_of(earlier)
    shown = typed("replay", way, "--workdir", str(earlier), "--game", str(own_story))
    told = f"Run {find_run(earlier).name} of tidehouse is repeated exactly: {RECORDED_TURNS} turns\n"
    assert (shown.status, shown.text) == (0, told)
    assert not shown.err or shown.err.decode().startswith("Note: recorded by zorkgpt ")
    assert contents_of(earlier) == before


def test_a_recorded_run_tells_nothing_of_the_machine_that_it_was_recorded_on(earlier: Path) -> None:
    told = {path: SOMEBODYS_OWN.findall(path.read_bytes()) for path in earlier.rglob("*") if path.is_file()}
    assert not {path: found for path, found in told.items() if found}
