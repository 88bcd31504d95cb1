"""How much of what was played, known and remembered the model that updates knowledge is shown, in characters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from session.values import Location
from tests.unit.managers.knowledge_parts import KnowledgePlay, answer, line
from zorkgpt.llm.stand_ins import Reply

WORDS = "word " * 100
UNASKED = {"knowledge_update_interval": 900}
"""Nothing is asked before the end."""


def nothing_new(*_: object) -> Reply:
    return answer()


def longest(letter: str, text: str) -> int:
    """The length of the longest run of the letter, on both sides of a cut."""
    return max(map(len, re.findall(f"{letter}+", text.replace(" […]", ""))), default=0)


def parts(prompt: str) -> dict[str, str]:
    """The fields of the prompt."""
    pattern = r"WHAT IS KNOWN:\n(.*)\n\nREMEMBERED.*?:\n(.*)\n\nEPHEMERAL.*?:\n(.*)\n\nPLAYED.*?:\n(.*)"
    found = re.fullmatch(pattern, prompt.strip(), re.DOTALL)
    assert found is not None
    return dict(zip(("known", "remembered", "ephemeral", "played"), found.groups(), strict=True))


def prompt_of(play: KnowledgePlay) -> str:
    play.manager.end()
    return play.prompts[-1]


def test_of_a_turn_a_short_place_and_command_and_the_whole_response(tmp_path: Path) -> None:
    play = KnowledgePlay(tmp_path, nothing_new)
    play.turn(location=Location(31, "p" * 900))
    play.turn("a" * 900, "r" * 9000, score=5)
    _, told = prompt_of(play).split("Turn 2")
    mark = len(" […]")
    assert [longest(letter, told) for letter in "par"] == [60 - mark, 200 - mark, 9000]


def test_the_cause_of_a_death_stands_there_however_little_room_there_is(tmp_path: Path) -> None:
    play = KnowledgePlay(tmp_path, nothing_new, prompt_budgets={"analysis": 2400})
    for _ in range(9):
        play.turn("wait", WORDS)
    play.turn("read writing", f"You read. {'The sand glows green. ' * 200}It bites your throat.", died=True)
    assert "The sand glows green. It bites your throat.\n" in f"{prompt_of(play)}\n"


def test_a_memory_is_told_whole(tmp_path: Path) -> None:
    play = KnowledgePlay(tmp_path, nothing_new)
    play.turn(score=5)
    for persistence in ("ephemeral", "permanent"):
        play.remember("1", persistence, title=f"Of {persistence} use, {WORDS}".strip())
    shown = parts(prompt_of(play))
    assert f"Of permanent use, {WORDS.strip()}: It lies here." in shown["remembered"]
    assert f"Of ephemeral use, {WORDS.strip()}: It lies here." in shown["ephemeral"]


def test_responses_are_shortened_little_by_little_those_without_a_fact_first(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    for budget in (11_000, 9000, 7000, 5000, 3000, 2600):
        play = KnowledgePlay(tmp_path / str(budget), nothing_new, **UNASKED, prompt_budgets={"analysis": budget})
        for score in range(1, 31):
            play.turn(f"stir {score}", "t" * 500, score=score)
            play.turn("wait", "o" * 500)
        played = parts(prompt_of(play))["played"]
        seen.append((longest("t", played), longest("o", played)))
    telling, others = zip(*seen, strict=True)
    assert telling[:3] == (500,) * 3
    assert 500 > telling[3] > telling[4] > 150
    assert others[0] == 500 > others[1] > others[2] > 150
    assert others[3:] == (1,) * 3


def test_what_is_known_and_remembered_leaves_room_for_what_was_played(tmp_path: Path) -> None:
    """Known lines have two fifths of the room, memories three twentieths of either kind, and turns the rest."""
    play = KnowledgePlay(tmp_path, nothing_new, **UNASKED, prompt_budgets={"analysis": 8000})
    known = "".join(f"- {number} {WORDS}\n" for number in range(200))
    play.file.write_text(f"# Knowledge Base\n\n## LESSONS LEARNED\n{known}")
    for number in range(200):
        play.turn(f"stir {number}", "t" * 500, score=number + 1)
        for persistence in ("ephemeral", "permanent"):
            play.remember(str(number + 1), persistence, title=f"{number} {WORDS}")
    lengths = {name: len(text) for name, text in parts(prompt_of(play)).items()}
    room = sum(lengths.values())
    assert {name: round(length / room * 20) for name, length in lengths.items()} == {
        "known": 8,
        "remembered": 3,
        "ephemeral": 3,
        "played": 6,
    }


def test_a_small_model_chooses_from_the_latest_eight_turns_told_in_a_few_words(tmp_path: Path) -> None:
    play = KnowledgePlay(
        tmp_path,
        lambda *_: {"turn": 12, "section": "PUZZLE SOLUTIONS"},
        **UNASKED,
        prompt_budgets={"analysis": 1500},
    )
    for score in range(1, 13):
        play.turn("a" * 900, "r" * 900, score=score)
    prompt = prompt_of(play)
    assert re.findall(r"^Turn (\d+):", prompt, re.MULTILINE) == [str(turn) for turn in range(5, 13)]
    assert (longest("a", prompt), longest("r", prompt)) == (80 - len(" […]"), 160 - len(" […]"))


def test_a_line_is_kept_with_four_hundred_characters(tmp_path: Path) -> None:
    play = KnowledgePlay(tmp_path, [answer(line("x" * 900, 1))])
    play.turn(score=5)
    play.manager.end()
    (kept,) = play.known
    assert kept == f"- {'x' * 198} […]{'x' * 198} *(Ep1, T1)*"


def test_the_latest_three_hundred_turns_wait_for_an_update(tmp_path: Path) -> None:
    play = KnowledgePlay(tmp_path, nothing_new, **UNASKED, prompt_budgets={"analysis": 60_000})
    for score in range(1, 311):
        play.turn(score=score)
    turns = re.findall(r"^Turn (\d+) at", prompt_of(play), re.MULTILINE)
    assert (turns[0], turns[-1], len(turns)) == ("11", "310", 300)


@pytest.mark.parametrize(("turns", "is_asked"), [(4, False), (5, True)])
def test_five_turns_in_which_something_was_gained_are_worth_a_question(
    tmp_path: Path, turns: int, *, is_asked: bool
) -> None:
    play = KnowledgePlay(tmp_path, nothing_new)
    play.turn("north", "Blue Vats", location=Location(31, "Blue Vats"))
    for _ in range(turns - 1):
        play.turn()
    play.manager.end()
    assert bool(play.llm.calls) is is_asked


def test_what_is_known_takes_a_fifth_of_the_agents_prompt(tmp_path: Path) -> None:
    play = KnowledgePlay(tmp_path, prompt_budgets={"agent": 1000}, knowledge={"max_tokens": 5000})
    lines = "".join(f"- {number:02} {'x' * 72}\n" for number in range(40))
    play.file.write_text(f"# Knowledge Base\n\n## LESSONS LEARNED\n{lines}")
    play.begin(2)
    section = play.manager.section(play.now)
    assert section is not None
    assert 700 < len(section.text) <= 800


def test_what_was_taken_and_archived_adds_up(tmp_path: Path) -> None:
    answers = [
        answer(line("Mordant goes in first.", 5)),
        answer(line("Mordant goes in before the banner.", 15, replaces=[1]), line("Alum goes in last.", 15)),
        answer(line("Alum goes in last of all.", 25, replaces=[2])),
    ]
    play = KnowledgePlay(tmp_path, answers)
    play.play(30)
    assert {name: play.metrics[name] for name in ("updates", "taken", "archived")} == {
        "updates": 3,
        "taken": 4,
        "archived": 2,
    }
