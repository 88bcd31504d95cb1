"""``memories why``, ``log``, ``undo`` and ``at``, ``knowledge why`` and ``routes why``, as typed, on played runs."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from managers.known import Known
from managers.memory.document import parse_memories
from session.events import Event, ModelAnswered
from session.files.journal import JOURNAL_FILE, MANIFEST
from session.files.run_folders import AT_END, AT_START, MEMORIES_AT_END, MEMORIES_AT_START, run_folders
from session.memory import Memory, MemoryStatus
from tests.fixtures.recorded_run import TURNS, WORK, Player, play_here
from tests.fixtures.rewritten_journal import asked_differently
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.typed_command import refused, typed
from tests.fixtures.whole_run import play_run
from zorkgpt import api
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.report.origins import OriginChange, Origins
from zorkgpt.report.repetition import changes_between
from zorkgpt.report.undo import undone

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


def _memories_text() -> str:
    return (WORK / "Memories.md").read_text(encoding="utf-8")


def _write_memories(text: str) -> None:
    (WORK / "Memories.md").write_text(text, encoding="utf-8")


def _log() -> list[str]:
    return typed("memories", "log").text.splitlines()


def _believed() -> dict[str, Memory]:
    found = [each for memories in parse_memories(_memories_text()).memories().values() for each in memories]
    return {each.title: each for each in found if each.status != MemoryStatus.SUPERSEDED}


def test_why_prints_the_turn_that_taught_a_memory_its_writer_its_prompts_and_whether_it_held(played: list[str]) -> None:
    found = typed("memories", "why", "truth OF 35").text
    taught, _, later = found.partition("Written and changed:")
    assert "Episode 1, turn 2, Forecourt, score +5" in taught
    assert "    > north\n    Hall\n    Whitewashed walls" in taught
    assert f"{played[0]}/3 added after episode 1, turn 2\n" in later
    assert "answer of scripted as memory, prompt " in later
    assert "Shown to the player 6 times: episode 1, turn 5, 7; episode 2, turn 1-2; episode 3, turn 1-2\n" in later
    assert "north at Forecourt: " in later


@pytest.mark.usefixtures("played")
def test_a_memory_of_an_arrival_is_taught_by_the_text_before_the_turn_that_it_cites() -> None:
    found = typed("memories", "why", "Arrival at Hall").text
    taught = found.partition("Taught by:")[2].partition("Written and changed:")[0]
    assert "Episode 1, before turn 3, Hall, run " in taught
    assert "    Whitewashed walls" in taught
    assert "take lamp" not in taught
    assert "Repeated since:\n  unknown: no command is known to compare with" in found


def test_why_of_a_memory_that_a_run_gave_up_names_the_run_and_the_turn(played: list[str]) -> None:
    found = typed("memories", "why", "Truth of 35").text
    assert re.search(rf"{played[1]}/\d+ invalidated after episode 3, turn 2\n", found)


@pytest.mark.usefixtures("played")
def test_why_of_a_memory_whose_turns_a_person_counted_without_end_prints_those_that_were_played() -> None:
    endless = f"{LATER}\n**[NOTE] Endless** *(Ep1, T2-999999999)*\nIt goes on.\n"
    _write_memories(_memories_text().replace(LATER, endless))
    assert "Episode 1, turn 2, Forecourt, score +5" in typed("memories", "why", "endless").text


def test_why_of_a_memory_written_by_hand_says_so_and_that_it_cites_no_turn(played: list[str]) -> None:
    found = typed("memories", "why", "written later").text
    assert "added by hand, after the latest run" in found
    assert "unknown: it cites no turn" in found
    assert "Shown to the player 0 times\n" in found
    during = typed("memories", "why", "By hand").text
    assert f"seen after episode 1, turn 4 of run {played[0]}" in during
    assert "Shown to the player 8 times" in during


def test_why_of_a_title_that_never_was_names_the_closest_one(played: list[str]) -> None:
    del played
    assert "Truth of 35" in typed("memories", "why", "Truth off 35").err.decode()


@pytest.mark.slow
def test_why_takes_a_part_of_a_title_that_no_other_has_with_or_without_its_backticks(played: list[str]) -> None:
    whole = typed("memories", "why", "Written later").text
    assert typed("memories", "why", "`written` LAT").text == whole
    assert "Truth of 35 (location 35)" in typed("memories", "why", "of 35").text
    assert "Truth of 35; Truth of 46" in refused(2, "memories", "why", "truth")
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
    lines = _log()
    by_hand = [line for line in lines if "by hand" in line]
    assert [line.partition(",")[0] for line in by_hand] == [
        "added at location 35: By hand",
        "changed at location 46: Truth of 46",
        "added at location 500: Written later",
    ]
    own = [line for line in lines if line not in by_hand]
    assert all(line.startswith((f"{played[0]}/", f"{played[1]}/")) for line in own)
    assert {line.split()[1] for line in own} >= {"superseded", "invalidated"}
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


def test_undoing_a_run_keeps_what_a_person_wrote_between_two_of_its_changes() -> None:
    memory = "# Memories\n\n## Location 1: Hall\n\n**[NOTE - PERMANENT{}] Lever** *(Ep1, T2)*\n{}\n"
    texts = (
        "# Memories\n",
        memory.format("", "It opens the gate."),
        memory.format("", "A person corrected this."),
        memory.format(" - SUPERSEDED", 'A person corrected this.\n[Superseded at T5 by "Gate"]'),
    )
    known = [Known(parse_memories(text).memories()).items() for text in texts]
    (added,), (edited,), (gave_up,) = (tuple(changes_between(one, other)) for one, other in pairwise(known))
    own = [OriginChange(f"run/{at}", "run", None, "", True, each) for at, each in enumerate((added, gave_up))]
    by_hand = OriginChange("", "run", None, "", False, edited)
    origins = Origins(changes=[own[0], by_hand, own[1]], texts=[texts[2]])
    document, lines = undone(parse_memories(texts[3]), own, origins)
    assert document.render() == texts[2]
    assert [line.rpartition(": ")[2] for line in lines] == ["can be taken back", "kept, because it was changed since"]


def test_undoing_a_run_leaves_a_memory_that_a_person_has_edited_since(played: list[str]) -> None:
    done = typed("memories", "undo", played[0], "--yes").text
    assert "Arrival at Hall: can be taken back" in done
    left = _believed()
    assert "Arrival at Hall" not in left
    assert {"By hand", "Written later"} <= {*left}
    assert "Truth of 46: kept" in done


def test_one_change_can_be_undone_and_an_unknown_one_is_an_error_that_names_the_runs(played: list[str]) -> None:
    before = {*_believed()}
    assert typed("memories", "undo", f"{played[0]}/1", "--yes").status == 0
    assert before - {*_believed()} == {"Arrival at Causeway"}
    assert played[1] in refused(2, "memories", "undo", f"{played[0]}/999")


@pytest.mark.slow
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
    assert (
        f"an unknown number of times in runs that are not whole, not repeatable or without a model: {played[1]}\n"
        in found
    )
    assert "by hand or by a run, which is unknown, seen after episode 3, turn " in typed("memories", "log").text
    assert refused(2, "memories", "undo", played[1])


def test_a_run_of_a_version_with_other_prompts_still_shows_who_wrote_what(played: list[str]) -> None:
    asked_differently(WORK / "runs" / played[1], call=3)
    found = typed("memories", "why", "Truth of 35").text
    assert re.search(rf"{played[1]}/\d+ invalidated after episode 3, turn 2\n", found)
    assert f"Note: Run {played[1]}: this version builds 1 other prompt: what they showed is inferred." in found
    assert "taken back" in typed("memories", "undo", played[1]).text


def play_once_more(before: Callable[[], object] = lambda: None, *, at: int = 9, **options: Any) -> None:
    """Play one more episode in the current folder; ``before`` is called before the agent's answer number ``at``."""
    player, asked = Player(0), 0
    options = {"simple_memory": {"visits_in_question": 1}, **options}

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, Any]:
        nonlocal asked
        asked += role == "agent"
        if role == "agent" and asked == at:
            before()
        return player.reply(role, prompt, schema)

    play_run(Path("tidehouse.z5"), ScriptedLLM(reply), WORK, max_turns_per_episode=TURNS, **options)


@pytest.mark.slow
def test_a_run_that_used_no_memories_did_not_remove_them_and_no_person_wrote_them_again(played: list[str]) -> None:
    before = _log()
    play_once_more(simple_memory={"enabled": False}, knowledge={"enabled": False}, routes={"enabled": False})
    play_once_more(simple_memory={"enabled": False})
    after = _log()
    assert [line.partition(",")[0] for line in after] == [line.partition(",")[0] for line in before]
    assert "By hand" in typed("memories", "at", "4").text
    for what in ("knowledge", "routes"):
        history = typed(what, "why", "1").text.partition("Written and changed:")[2].partition("Shown to")[0]
        assert "by hand" not in history
        assert history.count("added") == 1
    del played


def test_what_two_runs_wrote_at_once_is_neither_removed_nor_written_by_hand(in_own_folder: Path) -> None:
    play_here(episodes=1, is_edited=False)
    play_once_more(play_once_more)
    log = _log()
    assert sum("Better truth of 86" in line for line in log) == 1
    assert "by hand" not in "\n".join(log)
    assert in_own_folder.exists()


@pytest.mark.slow
def test_a_memory_that_a_person_believes_again_was_changed_by_hand_and_nothing_is_left_to_take_back(
    played: list[str],
) -> None:
    memories, older = WORK / "Memories.md", WORK / "runs" / played[1] / MEMORIES_AT_START
    memories.write_bytes(older.read_bytes())
    assert typed("memories", "why", "Truth of 35").text.count("changed by hand, after the latest run") == 1
    would = typed("memories", "undo", played[1], "--yes").text
    assert "Truth of 35: already as it was before" in would
    assert "taken back" not in would
    assert memories.read_bytes() == older.read_bytes()


@pytest.mark.slow
def test_a_memory_that_a_later_run_gave_up_goes_with_the_change_that_added_it(played: list[str]) -> None:
    assert "Truth of 35: can be taken back" in typed("memories", "undo", f"{played[0]}/3", "--yes").text
    assert "Truth of 35" not in (WORK / "Memories.md").read_text()
    assert "Truth of 35: no longer in the file under this title" in typed("memories", "undo", played[1], "--yes").text
    assert "Truth of 35" not in _believed()


@pytest.mark.slow
def test_changes_can_be_taken_back_one_after_another(played: list[str]) -> None:
    (given_up,) = [line.split()[0] for line in _log() if re.search("invalidated .*: Truth of 35", line)]
    assert "Truth of 35: can be taken back" in typed("memories", "undo", given_up, "--yes").text
    assert "Truth of 35" in _believed()
    assert "Truth of 35: can be taken back" in typed("memories", "undo", f"{played[0]}/3", "--yes").text
    assert "Truth of 35" not in _believed()


def test_what_was_changed_and_shown_in_runs_that_are_not_here_is_unknown(played: list[str]) -> None:
    shutil.rmtree(WORK / "runs" / played[0])
    *changes, note = _log()
    assert note == "No run that can be read here has episodes 1 to 2. What was changed and shown there is unknown."
    assert sum("by hand or by a run, which is unknown" in line for line in changes if "Truth of 35" in line) == 1
    assert not any(", by hand," in line for line in changes if "Written later" not in line)
    why = typed("memories", "why", "Truth of 70").text
    assert f"Note: {note}\n" in why
    assert re.search(r"^Shown to the player \d+ times? in the runs that can be read", why, re.MULTILINE)
    assert "Repeated since in the runs that can be read:\n" in why
    assert "Taught by:\n  unknown: no run here has the turns that it cites\n" in typed("routes", "why", "3").text
    shutil.rmtree(WORK / "runs" / played[1])
    *changes, note = _log()
    assert all("by hand or by a run, which is unknown" in line for line in changes)
    assert note.startswith("No run that can be read here has episodes 1 to 3.")


def test_of_a_fork_its_own_run_shows_what_changed_in_its_folder(played: list[str]) -> None:
    fork = WORK / "forks" / played[0]
    shutil.copytree(WORK / "runs" / played[0], fork / "runs" / played[0])
    shutil.copy(fork / "runs" / played[0] / MEMORIES_AT_END, fork)
    log = typed("memories", "log", "--workdir", str(fork)).text
    assert f"{played[0]}/1 added at location 32: Arrival at Causeway, after episode 1, turn 1\n" in log
    assert "after the latest run" not in log


def test_a_line_that_a_person_wrote_has_the_date_of_its_own_file(played: list[str]) -> None:
    knowledge = WORK / "knowledgebase.md"
    knowledge.write_text(knowledge.read_text("utf-8").replace("Two rules in one", "Three rules in one"), "utf-8")
    os.utime(WORK / "Memories.md", (0, 0))
    found = typed("knowledge", "why", "1").text
    assert f"the file was last written on {datetime.now(timezone.utc).date()}" in found
    del played


def test_a_run_whose_manifest_cannot_be_read_keeps_the_others_from_nothing(played: list[str]) -> None:
    (WORK / "runs" / played[0] / MANIFEST).write_text("{")
    log = _log()
    assert any(f"{played[1]}/" in line for line in log)
    assert log[-2].startswith(f"Run {played[0]}: ")


@pytest.mark.parametrize(
    ("is_cut", "has_end"), [(True, True), *(pytest.param(cut, False, marks=pytest.mark.slow) for cut in (True, False))]
)
def test_what_a_damaged_journal_does_not_have_is_not_taken_for_written_by_hand(
    played: list[str], *, is_cut: bool, has_end: bool
) -> None:
    run = WORK / "runs" / played[0]
    lines = (run / JOURNAL_FILE).read_bytes().splitlines(keepends=True)
    kept = lines[:40] if is_cut else [*lines[:40], b"{}\n", *lines[41:]]
    (run / JOURNAL_FILE).write_bytes(b"".join(kept))
    shutil.rmtree(run / "checkpoints")
    if not has_end:
        shutil.rmtree(run / AT_END)
    log = _log()
    of_run = [
        line for line in log if "By hand" not in line and "Truth of 46" not in line and "Written later" not in line
    ]
    assert any("by hand or by a run, which is unknown" in line for line in of_run)
    assert not any(", by hand," in line for line in of_run)
    assert f"Run {played[0]}: its journal" in log[-1]
    assert log[-1] in typed("memories", "undo", f"{played[0]}/1").text.splitlines()
    assert f"no run and no change {played[0]}/99" in typed("memories", "undo", f"{played[0]}/99").err.decode()


@pytest.mark.slow
def test_what_was_remembered_at_the_end_of_an_episode_lacks_what_people_wrote_later(played: list[str]) -> None:
    assert "corrected" not in typed("memories", "at", "2").text
    assert "corrected" in typed("memories", "at", "3").text or "superseded" in typed("memories", "at", "3").text
    play_once_more(lambda: shutil.copytree(WORK, "killed"))
    unfinished = typed("memories", "at", "4", "--workdir", "killed")
    assert (unfinished.status, unfinished.err.decode().strip()[-7:]) == (2, "1, 2, 3")
    del played


def _own_title(run: str) -> str:
    """Return a title that the run gave a memory which is still believed."""
    changes = json.loads(typed("memories", "log", "--json").out)
    titles = [each["change"]["after"]["title"] for each in changes if each["run"] == run and each["change"]["after"]]
    return str(next(title for title in titles if title in _believed() and "of" in title and "46" not in title))


@pytest.mark.slow
def test_a_memory_that_a_person_renamed_keeps_its_writer_and_its_prompts(played: list[str]) -> None:
    title = _own_title(played[0])
    before = typed("memories", "why", title).text
    (change,) = re.findall(rf"{played[0]}/\d+(?= added)", before)
    _write_memories(_memories_text().replace(f"] {title}**", "] Another name**"))
    log = _log()
    assert any(f"renamed from {title} at location" in line and ": Another name, by hand" in line for line in log)
    assert not any("removed" in line for line in log)
    found = typed("memories", "why", "another name").text
    assert f"  {change} added" in found
    assert "renamed from" in found
    (shown,) = re.findall("Shown to the player .*", before)
    assert shown in found
    assert typed("memories", "why", title).text == found
    assert "no longer in the file under this title" in typed("memories", "undo", change).text


def test_the_log_is_printed_if_the_number_of_episodes_cannot_be_read(played: list[str]) -> None:
    (WORK / "episodes.json").write_text("{")
    log = typed("memories", "log")
    assert log.status == 0
    assert f"{played[0]}/1 added" in log.text
    assert "contains no episode number" in log.text


def test_of_two_memories_with_one_text_it_is_not_stated_which_was_renamed(played: list[str]) -> None:
    (block,) = re.findall(r"\*\*\[DISCOVERY - PERMANENT\] Truth of 70\*\*.*\n.*\n", text := _memories_text())
    twin = block.replace("Truth of 70", "Twin", 1)
    _write_memories(text.replace(block, f"{block}\n{twin}"))
    play_once_more()
    text = _memories_text()
    _write_memories(text.replace("] Truth of 70**", "] Another name**").replace(twin, ""))
    changes = [line.partition(",")[0] for line in _log() if "after the latest run" in line]
    at = "at location 70:"
    assert changes == [f"removed {at} Truth of 70", f"removed {at} Twin", f"added {at} Another name"]
    del played


def test_which_memory_a_person_changed_is_unknown_if_several_have_its_title(played: list[str]) -> None:
    title, text = _own_title(played[0]), _memories_text()
    (headline,) = (line for line in text.splitlines() if f"] {title}**" in line)
    _write_memories(text.replace(headline, f"**[NOTE] {title}**\nMy own words.\n\n{headline}"))
    by_hand = [line for line in _log() if title in line and "by hand" in line]
    assert len(by_hand) == 2
    assert all("which memory of this title is unknown" in line for line in by_hand)


@pytest.mark.slow
def test_what_was_remembered_after_an_episode_that_two_runs_have_is_unknown(played: list[str]) -> None:
    assert typed("memories", "at", "1").status == 0
    other = WORK / "runs" / "20990101-000000-abcd"
    shutil.copytree(WORK / "runs" / played[0], other)
    end = other / AT_END / "Memories.md"
    end.write_text(end.read_text("utf-8").replace("Truth of", "Word of"), "utf-8")
    manifest = json.loads((other / MANIFEST).read_text())
    last = str(manifest["first_episode"] + len(manifest["seeds"]) - 1)
    assert f"at the end of episode {last} is unknown" in refused(2, "memories", "at", last)


def test_that_nothing_is_known_of_memories_is_stated(in_own_folder: Path) -> None:
    with api.session(workdir=WORK, max_turns=1, seed=1) as session:
        session.act("look")
    assert _log() == ["No change of a memory is known."]
    assert typed("memories", "at", "1").text == "No memory is known at the end of episode 1.\n"
    assert in_own_folder.exists()


def test_what_a_player_without_a_model_was_shown_is_unknown(played: list[str]) -> None:
    with api.session(game="tidehouse.z5", workdir=WORK, max_turns=3, seed=1) as session:
        for command in ("north", "north"):
            session.act(command)
    run = run_folders([WORK])[0].name
    assert (
        f"an unknown number of times in runs that are not whole, not repeatable or without a model: {run}"
        in typed("memories", "why", "By hand").text
    )
    del played


def test_the_writer_of_a_memory_is_the_answer_with_its_title_and_not_one_that_only_mentions_it(
    in_own_folder: Path,
) -> None:
    shutil.copyfile(Path(__file__).parents[4] / "game_interface/stories/tidehouse.z5", "tidehouse.z5")
    memory = {"should_remember": True, "category": "NOTE", "memory_text": "It is a hall.", "persistence": "permanent"}

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, Any]:
        if role == "memory":
            return {"memories": [{**memory, "memory_title": 'The "Hall"\n of  wind', "turn": 2}]}
        if schema.__name__ == "KnowledgeAnswer":
            line = {"section": "LESSONS LEARNED", "text": 'There is the "Hall" of wind.', "turns": [2]}
            return {"lines": [{**line, "replaces": []}]}
        return Player(0).reply(role, prompt, schema)

    play_run(Path("tidehouse.z5"), ScriptedLLM(reply), WORK, max_turns_per_episode=3, knowledge_update_interval=2)
    found = typed("memories", "why", "of wind").text
    assert "answer of scripted as memory" in found
    assert in_own_folder.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (bytes(99), "contains zeros"),
        pytest.param(b"\xff\xfe", "is not UTF-8", marks=pytest.mark.slow),
        (b"", ""),
        (None, ""),
    ],
    ids=["zeros", "no text", "empty", "gone"],
)
def test_what_a_power_cut_may_have_taken_from_the_file_was_not_removed_by_hand(
    played: list[str], content: bytes | None, words: str
) -> None:
    memories, before = WORK / "Memories.md", _log()[:-1] if words else []
    memories.unlink()
    if content is not None:
        memories.write_bytes(content)
    after = _log()
    if words:
        assert after[:-1] == before
        assert words in after[-1]
    else:
        removed = [line for line in after if line.startswith("removed")]
        assert len(removed) > 3
        told = "the file is not there" if content is None else "by hand or by a run, which is unknown"
        assert all(told in line for line in removed)
    del played


def test_runs_are_repeated_with_the_story_file_that_is_named(two_runs: Path, played: list[str]) -> None:
    story, elsewhere = two_runs / "tidehouse.z5", two_runs / "elsewhere.z5"
    whole = typed("memories", "why", "Truth of 35").text
    story.rename(elsewhere)
    try:
        assert "it cannot be repeated" in typed("memories", "why", "Truth of 35").text
        assert typed("memories", "why", "Truth of 35", "--game", str(elsewhere)).text == whole
    finally:
        elsewhere.rename(story)
    del played


def test_a_run_of_another_folder_shows_no_person_who_removed_what_it_knew(played: list[str]) -> None:
    other = WORK / "runs" / "20200101-000000-abcd"
    shutil.copytree(WORK / "runs" / played[0], other)
    (other / "order.json").unlink()
    log = _log()
    assert not any("removed" in line and ", by hand," in line for line in log)
    assert any("it has episode numbers of another run" in line for line in log)


def test_what_a_killed_run_may_not_have_written_stays_in_doubt_though_another_run_ended_before_the_kill(
    in_own_folder: Path,
) -> None:
    asked = list[Event]()

    def kill(event: Event) -> None:
        asked.extend([event] if isinstance(event, ModelAnswered) and event.role == "memory" else [])
        if len(asked) == 2:
            raise KeyboardInterrupt

    shutil.copyfile(str(files("game_interface.stories") / "tidehouse.z5"), in_own_folder / "tidehouse.z5")
    with suppress(KeyboardInterrupt):
        play_once_more(lambda: play_once_more(simple_memory={"enabled": False}), at=2, show=kill)
    shutil.rmtree(run_folders([WORK])[-1] / AT_END)  # a kill leaves none
    (removed,) = (line for line in _log() if line.startswith("removed"))
    assert "Truth of 46, by hand or by a run, which is unknown, " in removed
