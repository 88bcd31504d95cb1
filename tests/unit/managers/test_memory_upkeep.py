"""The content of ``Memories.md`` after memories were removed, invalidated, or quoted for a small model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from managers.simple_memory_manager import ZMachineContext
from session.memory import MemoryStatus
from tests.fixtures.dye_works import LOFT, MORDANT, VATS
from tests.unit.managers.memory_parts import MemoryPlay, learnt, manager_in, memory, titles


class TestTakingOut:
    def test_a_title_is_gone_from_every_location_and_both_tiers(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        for location in (VATS, LOFT):
            for title in ("Mordant first", "Alum last"):
                manager.add_memory(location.num, location.name, memory(title))
            manager.add_memory(location.num, location.name, memory("Jar left here", "ephemeral"))
        manager.add_memory(VATS.num, VATS.name, memory("Banner is wet", "ephemeral"))
        assert manager.remove_memory("mordant  FIRST")
        assert manager.remove_memory("Jar left here")
        for location in (VATS, LOFT):
            assert titles(manager.memory_cache, location) == ["Alum last"]
            assert titles(manager_in(tmp_path).memory_cache, location) == ["Alum last"]
        assert titles(manager.ephemeral_cache) == ["Banner is wet"]
        assert titles(manager.ephemeral_cache, LOFT) == []

    def test_a_title_that_nobody_gave_changes_nothing(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        manager.add_memory(VATS.num, VATS.name, memory("Mordant first"))
        manager.add_memory(VATS.num, VATS.name, memory("Jar left here", "ephemeral"))
        written = (tmp_path / "Memories.md").read_bytes()
        assert not manager.remove_memory("Alum last")
        assert (tmp_path / "Memories.md").read_bytes() == written
        assert titles(manager.ephemeral_cache) == ["Jar left here"]


def test_the_file_says_why_and_when_a_memory_was_given_up(tmp_path: Path) -> None:
    doubted = {"should_remember": False, "invalidate_memory_titles": ["Beam holds"], "invalidation_reason": "it broke"}
    play = MemoryPlay(tmp_path, [doubted])
    play.manager.add_memory(VATS.num, VATS.name, memory("Beam holds"))
    play.manager.record_action_outcome(31, "Blue Vats", "take beam", "You can't.", {})
    assert '[Invalidated at T1: "it broke"]' in (tmp_path / "Memories.md").read_text()


@pytest.mark.parametrize(
    ("after", "is_asked"), [((MORDANT.name,), False), ((), True), ((MORDANT.name, "grey banner"), True)]
)
def test_what_is_carried_as_before_is_no_news(tmp_path: Path, after: tuple[str, ...], *, is_asked: bool) -> None:
    play = MemoryPlay(tmp_path, [learnt()])
    context: ZMachineContext = {"inventory_before": (MORDANT.name,), "inventory_after": after}
    play.manager.record_action_outcome(31, "Blue Vats", "shake jar", "It sloshes.", context)
    assert bool(play.llm.calls) is is_asked


@pytest.mark.parametrize(("budget", "first_shown"), [(8000, 2), (4000, 2), (2600, 2), (2260, 5)])
def test_of_the_turns_before_the_oldest_are_left_out_before_texts_become_a_line(
    tmp_path: Path, budget: int, first_shown: int
) -> None:
    options = {"prompt_budgets": {"memory": budget}, "memory_sampling": {"memory_history_window": 10}}
    play = MemoryPlay(tmp_path, lambda *_: learnt(), **options)
    for turn in range(1, 15):
        play.turn(f"try {turn}", "word " * 200, world_hash=str(turn))
    play.manager.end("over")
    prompt = play.llm.calls[-1].prompt
    shown = re.findall(r"^Turn (\d+) \[.*\]: .*\nResponse: (.*)", prompt.user, re.MULTILINE)
    assert [int(turn) for turn, _ in shown] == list(range(first_shown, 15))  # 2: ten turns up to the first news, of 11
    assert min(len(response) for _, response in shown) > 280
    assert play.manager.tokens.estimate(prompt.system + prompt.user) <= budget


def test_a_location_without_a_name_has_its_number_alone(tmp_path: Path) -> None:
    manager_in(tmp_path).add_memory(31, "", memory("Mordant first"))
    assert "## Location 31\n" in (tmp_path / "Memories.md").read_text()


def test_giving_up_the_last_memory_of_a_file_adds_no_line_end_to_it(tmp_path: Path) -> None:
    manager_in(tmp_path).add_memory(VATS.num, VATS.name, memory("Beam holds"))
    file = tmp_path / "Memories.md"
    file.write_text(file.read_text().removesuffix("\n\n---\n"))
    manager_in(tmp_path).invalidate_memory(VATS.num, "Beam holds", "it broke")
    assert file.read_text().endswith("\n~~About Beam holds.~~")


def test_tentative_memories_alone_begin_with_their_heading(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    manager.add_memory(VATS.num, VATS.name, memory("Beam holds", status=MemoryStatus.TENTATIVE))
    heading, line = manager.get_location_memory(VATS.num).splitlines()
    assert "TENTATIVE" in heading
    assert line == "  [NOTE] Beam holds: About Beam holds."


def test_questions_and_memories_of_an_episode_add_up(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path, [learnt("One"), learnt("Two"), {"memories": []}])
    for number in range(3):
        play.turn(f"stir {number}", "It swirls.", world_hash=str(number + 1))
        play.manager.consider()
    assert (play.metrics["synthesis_calls"], play.metrics["memories_learnt"]) == (3, 2)


def test_news_are_written_down_in_a_work_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path / "far" / "away", [{"memories": []}])
    play.turn("stir", "It swirls.", world_hash="1")
    play.manager.end("over")
    assert (tmp_path / "far" / "away" / "memory_news.txt").read_text()
