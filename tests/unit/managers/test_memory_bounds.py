"""How much a model is shown of a visit and of what is remembered there, and how much of its answer is kept."""

from __future__ import annotations

import re
from pathlib import Path

from tests.fixtures.dye_works import VATS
from tests.fixtures.held_stores import held
from tests.unit.managers.memory_parts import MemoryPlay, manager_in, memory
from zorkgpt.llm.stand_ins import Reply

MARK = len(" […]")


def nothing(*_: object) -> Reply:
    return {"memories": []}


def longest(letter: str, text: str) -> int:
    """The length of the longest run of the letter, on both sides of a cut."""
    return max(map(len, re.findall(f"{letter}+", text.replace(" […]", ""))), default=0)


def asked_about(play: MemoryPlay) -> str:
    """The latest prompt, after a visit to the vats in which something changed."""
    play.turn("north", "q" * 9000, location=VATS)
    play.turn("stir vat", "r" * 9000, world_hash="1")
    play.manager.end("over")
    return play.prompts[-1]


def test_of_all_texts_together(tmp_path: Path) -> None:
    """Arrival, response and reason share what the budget leaves alike."""
    play = MemoryPlay(tmp_path, nothing)
    play.turn("north", "q" * 9000, location=VATS)
    play.turn("stir vat", "r" * 9000, world_hash="1")
    play.turn("x" * 9000, "Hm.", world_hash="2")  # its reason is "because of" it
    play.manager.end("over")
    prompt = play.prompts[-1]
    arrival, response, reason = (longest(letter, prompt) for letter in "qrx")
    assert abs(response - arrival) < arrival / 10
    assert 1500 < arrival < 4000
    assert abs(reason - arrival) < arrival / 10
    assert longest("x", prompt.split("RECENT ACTION SEQUENCE:")[1].split("AGENT'S REASONING:")[0]) == 200 - MARK
    assert 15_900 < len(play.llm.calls[-1].prompt.system + prompt) <= 16_000


def test_of_what_is_remembered(tmp_path: Path) -> None:
    """Half of the room, shared alike."""
    play = MemoryPlay(tmp_path, nothing)
    for number in range(20):
        play.manager.add_memory(VATS.num, VATS.name, memory(f"{number:02}", text="x" * 900))
    prompt = asked_about(play)
    lines = re.findall(r"^- \[NOTE - PERMANENT - ACTIVE\] (\d\d): (x+)$", prompt.replace(" […]", ""), re.MULTILINE)
    assert [number for number, _ in lines] == [f"{number:02}" for number in range(20)]
    assert max(len(text) for _, text in lines) - min(len(text) for _, text in lines) <= 1
    known = prompt.split("EXISTING MEMORIES:\n")[1].split("\n\n")[0]
    assert 0 < (16_000 - len(play.llm.calls[-1].prompt.system)) / 2 - len(known) < 400


def test_no_memory_takes_more_than_a_quarter_of_what_the_agent_is_shown(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, simple_memory={"max_tokens": 100})
    for title in ("one", "two", "three"):
        manager.add_memory(VATS.num, VATS.name, memory(title, text="x" * 900))
    lines = manager.get_location_memory(VATS.num).splitlines()
    assert [len(line) for line in lines] == [100, 100, 100]
    assert [line[:15] for line in lines] == ["[NOTE] one: xxx", "[NOTE] two: xxx", "[NOTE] three: x"]


def test_a_memory_that_is_cut_keeps_its_title(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, simple_memory={"max_tokens": 100})
    title = "`open drawer`: a can of oil, a brass key and a tobacco tin, and a letter"
    manager.add_memory(VATS.num, VATS.name, memory(title, text="A drawer, and what it contains. " * 20))
    assert f"[NOTE] {title}: " in manager.get_location_memory(VATS.num)


def test_what_was_considered_in_several_visits_is_written_down_by_one_commit_in_the_same_keys_each_time(
    tmp_path: Path,
) -> None:
    """A run of another version knows the news by the same keys."""
    play = MemoryPlay(tmp_path, nothing)
    held(tmp_path, play.manager)
    play.turn("stir vat", "It swirls.", world_hash="1")
    play.manager.consider()
    play.turn("pull beam", "You can't.", world_hash="2")
    play.manager.consider()
    assert not (tmp_path / "memory_news.txt").exists()
    play.manager.commit()
    assert (tmp_path / "memory_news.txt").read_text().split() == [
        "bf989b26882c3c64",
        "e761a9b593c7a632",
        "a7a5de7d0df3735f",
    ]
