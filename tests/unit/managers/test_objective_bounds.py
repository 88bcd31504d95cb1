"""How much the model that finds objectives is shown, and how much of what it finds is kept and shown, in characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from session.memory import Memory
from tests.fixtures.dye_works import GATE
from tests.unit.managers.objective_parts import Memories, ObjectivePlay, found

if TYPE_CHECKING:
    from pathlib import Path

    from zorkgpt.llm.scripted import Reply

MARK = len(" […]")


def nothing(*_: object) -> Reply:
    return {}


def longest(letter: str, text: str) -> int:
    """The length of the longest run of the letter, on both sides of a cut."""
    return max(map(len, re.findall(f"{letter}+", text.replace(" […]", ""))), default=0)


def memories(count: int, title: str = "M", text: str = "Stir.") -> list[Memory]:
    return [Memory("NOTE", f"{title}{number}", 1, "1", None, text, "permanent") for number in range(count)]


def test_of_a_turn_and_of_a_fact(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, nothing)
    play.turn("a" * 900, "r" * 900)
    play.wait_until(20)
    prompt = play.prompts[-1]
    reason = prompt.split("Why: ")[1].split("Response: ")[0]
    assert [longest("r", prompt), longest("a", prompt.split("Why: ")[0]), longest("a", reason)] == [
        200 - MARK,
        200 - MARK,
        200 - MARK - len("because of "),
    ]


def test_of_what_is_remembered_five_memories_in_a_few_words(tmp_path: Path) -> None:
    kept = memories(7, "t" * 900, "x" * 900)
    play = ObjectivePlay(tmp_path, nothing, memories=Memories({GATE.num: kept}))
    play.wait_until(20)
    prompt = play.prompts[-1]
    assert prompt.count("[NOTE]") == 5
    assert (longest("t", prompt), longest("x", prompt)) == (200 - MARK - 1, 240 - MARK)  # a title ends in its number


def test_of_what_is_known_five_thousand_tokens(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text("x" * 50_000)
    play = ObjectivePlay(tmp_path, nothing)
    play.wait_until(20)
    assert longest("x", play.prompts[-1]) == 20_000 - MARK


def test_for_want_of_room_the_latest_twelve_facts_and_three_turns_are_left_before_none_is(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    for budget in range(7000, 800, -50):
        play = ObjectivePlay(tmp_path / str(budget), nothing, prompt_budgets={"analysis": budget})
        for score in range(1, 41):
            play.turn(f"stir {score} {'word ' * 30}", "word " * 60, score=score)
        play.manager.process_periodic_update()
        prompt = play.prompts[-1]
        counts = (prompt.count("score +1"), len(re.findall(r"^Turn \d+: stir", prompt, re.MULTILINE)))
        if counts not in seen:
            seen.append(counts)
    assert seen == [(40, 20), (40, 3), (12, 3), (0, 3), (0, 0)]


def test_of_what_was_found_the_beginning_is_kept_and_shown(tmp_path: Path) -> None:
    objective = {"text": "x" * 900, "evidence": "e" * 900}
    play = ObjectivePlay(tmp_path, [{"objectives": [objective]}])
    play.wait_until(20)
    (kept,) = play.manager.objectives
    assert (len(kept.text), len(kept.evidence)) == (160, 200)


def test_the_agent_is_shown_objectives_in_eight_hundred_characters(tmp_path: Path) -> None:
    """Each takes a line of 100 characters and its end."""
    play = ObjectivePlay(
        tmp_path, [found(*(f"{number}{'x' * 99}"[:97] for number in range(9)))], objectives={"max_active": 9}
    )
    play.wait_until(20)
    lines = play.manager.text().splitlines()
    assert {len(line) for line in lines} == {100}
    assert [line[3] for line in lines] == [*"2345678"]
