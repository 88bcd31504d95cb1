"""``memories why``, ``log``, ``undo`` and ``at``, ``knowledge why`` and ``routes why``, as typed, on played runs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from managers.memory.document import parse_memories
from session.files.run_folders import AT_START, MEMORIES_AT_START, run_folders
from session.memory import Memory, MemoryStatus
from tests.fixtures.recorded_run import WORK, play_here
from tests.fixtures.rewritten_journal import asked_differently
from tests.fixtures.typed_command import typed

EDITED = "**[SUCCESS-CORE] Truth  of 46** *(Ep1, T3)*\nA person corrected this.\n"
LATER = "\n## Location 500: Attic\n\n**[NOTE] Written later**\nMind the step.\n"


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a person edited the memories during the first of two runs, between them and after them."""
    folder = tmp_path_factory.mktemp("played")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        play_here()
        memories = WORK / "Memories.md"
        text = memories.read_text(encoding="utf-8")
        old = next(block for block in text.split("\n\n") if "] Truth of 46**" in block)
        memories.write_text(text.replace(f"{old}\n", EDITED), encoding="utf-8")
        (WORK / "memory_news.txt").unlink()  # everything is considered again
        play_here(episodes=1, is_edited=False)
        memories.write_text(memories.read_text(encoding="utf-8") + LATER, encoding="utf-8")
    return folder


@pytest.fixture
def played(two_runs: Path, in_own_folder: Path) -> list[str]:
    """The ids of the runs, oldest first; their work folder is in the current folder."""
    shutil.copytree(two_runs, in_own_folder, dirs_exist_ok=True)
    return [run.name for run in reversed(run_folders([WORK]))]


def _believed() -> dict[str, Memory]:
    text = (WORK / "Memories.md").read_text(encoding="utf-8")
    found = [each for memories in parse_memories(text).memories().values() for each in memories]
    return {each.title: each for each in found if each.status != MemoryStatus.SUPERSEDED}


def test_why_prints_the_turn_that_taught_a_memory_its_writer_its_prompts_and_whether_it_held(played: list[str]) -> None:
    found = typed("memories", "why", "truth OF 35").text
    taught, _, later = found.partition("Written and changed:")
    assert "Episode 1, turn 2, Forecourt, score +5" in taught
    assert "    > north\n    Hall\n    Whitewashed walls" in taught
    assert f"{played[0]}/3 added after episode 1, turn 2\n" in later
    assert "answer of scripted as memory, prompt " in later
    assert "Shown to the player 4 times: episode 1, turn 5, 7; episode 2, turn 2; episode 3, turn 2\n" in later
    assert "north at Forecourt: " in later


def test_why_of_a_memory_that_a_run_gave_up_names_the_run_and_the_turn(played: list[str]) -> None:
    found = typed("memories", "why", "Truth of 35").text
    assert re.search(rf"{played[1]}/\d+ superseded after episode 3, turn 2\n", found)


@pytest.mark.usefixtures("played")
def test_why_of_a_memory_whose_turns_a_person_counted_without_end_prints_those_that_were_played() -> None:
    memories = WORK / "Memories.md"
    endless = f"{LATER}\n**[NOTE] Endless** *(Ep1, T2-999999999)*\nIt goes on.\n"
    memories.write_text(memories.read_text(encoding="utf-8").replace(LATER, endless), encoding="utf-8")
    assert "Episode 1, turn 2, Forecourt, score +5" in typed("memories", "why", "endless").text


def test_why_of_a_memory_written_by_hand_says_so_and_that_it_cites_no_turn(played: list[str]) -> None:
    found = typed("memories", "why", "written later").text
    assert "added by hand, after the latest run" in found
    assert "unknown: it cites no turn" in found
    assert "Shown to the player 0 times\n" in found
    during = typed("memories", "why", "By hand").text
    assert f"seen after episode 1, turn 4 of run {played[0]}" in during
    assert "Shown to the player 6 times" in during


def test_why_of_a_title_that_never_was_names_the_closest_one(played: list[str]) -> None:
    del played
    assert "Truth of 35" in typed("memories", "why", "Truth off 35").err.decode()


def test_why_takes_a_part_of_a_title_that_no_other_has_with_or_without_its_backticks(played: list[str]) -> None:
    whole = typed("memories", "why", "Written later").text
    assert typed("memories", "why", "`written` LAT").text == whole
    assert "Truth of 35 (location 35)" in typed("memories", "why", "of 35").text
    several = typed("memories", "why", "truth")
    assert several.status == 2
    assert "Truth of 35; Truth of 46" in several.err.decode()
    del played


def test_why_of_knowledge_and_of_a_route_print_their_turns_and_records(played: list[str]) -> None:
    knowledge = typed("knowledge", "why", "1").text
    assert "Taught by:\n  Episode 1, turn 2, Forecourt" in knowledge
    assert "answer of scripted as analysis" in knowledge
    route = typed("routes", "why", "3").text
    assert f"Episode 1, turn 3, Hall, run {played[0]}:\n    > take lamp\n    Taken." in route
    assert "; worked in " in route
    assert typed("knowledge", "why", "99").status == 2


def test_the_log_has_every_change_with_its_run_and_turn_or_by_hand(played: list[str]) -> None:
    lines = typed("memories", "log").text.splitlines()
    by_hand = [line for line in lines if "by hand" in line]
    assert [line.partition(",")[0] for line in by_hand] == [
        "added at location 35: By hand",
        "changed at location 46: Truth of 46",
        "added at location 500: Written later",
    ]
    own = [line for line in lines if line not in by_hand]
    assert all(line.startswith((f"{played[0]}/", f"{played[1]}/")) for line in own)
    assert any("superseded" in line for line in own)
    assert all(line.count(run) <= 1 for line in lines for run in played)
    assert len(json.loads(typed("memories", "log", "--json").out)) == len(lines)


def test_undoing_a_run_keeps_what_people_wrote_and_restores_it_byte_for_byte(played: list[str]) -> None:
    memories, before = WORK / "Memories.md", (WORK / "runs" / played[1] / MEMORIES_AT_START).read_bytes()
    now = memories.read_bytes()
    assert EDITED.encode() not in now
    would = typed("memories", "undo", played[1])
    assert (would.status, memories.read_bytes()) == (0, now)
    assert "Nothing was written" in would.text
    assert "taken back" in would.text
    assert typed("memories", "undo", played[1], "--yes").status == 0
    assert EDITED.encode() in memories.read_bytes()
    assert {*_believed()} == {
        *(each.title for found in parse_memories(before.decode()).memories().values() for each in found),
        "Written later",
    }
    assert memories.with_name("Memories.md.backup").read_bytes() == now
    assert typed("memories", "check").status == 0


def test_undoing_a_run_leaves_a_memory_that_a_person_has_edited_since(played: list[str]) -> None:
    done = typed("memories", "undo", played[0], "--yes").text
    assert "Arrival at Hall: taken back" in done
    left = _believed()
    assert "Arrival at Hall" not in left
    assert {"By hand", "Written later"} <= {*left}
    assert "Truth of 46: kept" in done


def test_one_change_can_be_undone_and_an_unknown_one_is_an_error_that_names_the_runs(played: list[str]) -> None:
    before = {*_believed()}
    assert typed("memories", "undo", f"{played[0]}/1", "--yes").status == 0
    assert before - {*_believed()} == {"Arrival at Causeway"}
    wrong = typed("memories", "undo", f"{played[0]}/999")
    assert (wrong.status, played[1] in wrong.err.decode()) == (2, True)


def test_at_prints_what_was_remembered_at_the_end_of_an_episode(played: list[str]) -> None:
    del played
    first, last = typed("memories", "at", "1").text, typed("memories", "at", "3").text
    assert "Location 35: Truth of 35 [DISCOVERY, permanent, active]" in first
    assert "Landing" not in first
    assert "superseded" in last
    assert typed("memories", "at", "9").status == 2


def test_what_a_run_that_cannot_be_repeated_was_shown_is_said_to_be_unknown(played: list[str]) -> None:
    start = WORK / "runs" / played[1] / AT_START / "Memories.md"
    start.write_bytes(start.read_bytes() + b"\n<!-- changed -->\n")
    found = typed("memories", "why", "Truth of 35").text
    assert f"Note: Run {played[1]}: it cannot be repeated" in found
    assert f"in run {played[1]}; by the run or by others, which is unknown" in typed("memories", "log").text
    refused = typed("memories", "undo", played[1])
    assert refused.status == 2


def test_a_run_of_a_version_with_other_prompts_still_shows_who_wrote_what(played: list[str]) -> None:
    asked_differently(WORK / "runs" / played[1], call=3)
    found = typed("memories", "why", "Truth of 35").text
    assert re.search(rf"{played[1]}/\d+ superseded after episode 3, turn 2\n", found)
    assert f"Note: Run {played[1]}: this version builds 1 other prompt: what they showed is inferred." in found
    assert "taken back" in typed("memories", "undo", played[1]).text
