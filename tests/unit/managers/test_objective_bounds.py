"""How much the model that finds objectives is shown, and how much of what it finds is kept and shown, in characters."""

from __future__ import annotations

import re
from pathlib import Path

from session.memory import Memory
from tests.fixtures.dye_works import GATE
from tests.unit.managers.objective_parts import Memories, ObjectivePlay
from zorkgpt.llm.stand_ins import Reply

MARK = len(" […]")


def nothing(*_: object) -> Reply:
    return {}


def longest(letter: str, text: str) -> int:
    """The length of the longest run of the letter, on both sides of a cut."""
    return max(map(len, re.findall(f"{letter}+", text.replace(" […]", ""))), default=0)


def memories(count: int, title: str = "M", text: str = "Stir.") -> list[Memory]:
    return [Memory("NOTE", f"{title}{number}", 1, "1", None, text, "permanent") for number in range(count)]


def test_of_a_command_and_of_a_title_two_hundred_characters(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, nothing, memories=Memories({GATE.num: memories(1, "t" * 900)}))
    play.turn("a" * 900)
    play.wait_until(20)
    prompt = play.prompts[-1]
    assert (longest("a", prompt.split("Why: ")[0]), longest("t", prompt)) == (200 - MARK, 200 - MARK)


def test_memories_share_their_room_alike(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, nothing, memories=Memories({GATE.num: memories(7, text="x" * 9000)}))
    text = play.manager._memories_part(GATE.num).fit(1600)[0]
    assert text.count("[NOTE]") == 7
    assert 1500 < len(text) <= 1600


def test_of_what_was_found_the_beginning_is_kept_and_shown(tmp_path: Path) -> None:
    objective = {"text": "x" * 900, "evidence": "e" * 900}
    play = ObjectivePlay(tmp_path, [{"objectives": [objective]}])
    play.wait_until(20)
    (kept,) = play.manager.objectives
    assert (len(kept.text), len(kept.evidence)) == (400, 200)
