"""The prompts about knowledge as a model gets them, whole: changing a word shows in review."""

from __future__ import annotations

from pathlib import Path

from tests.fixtures.dye_works import BANNER, GATE, MORDANT, VATS
from tests.golden.golden_file import as_shown, assert_golden
from tests.unit.managers.knowledge_parts import KnowledgePlay, answer, line

BY_HAND = "## DANGERS & THREATS\n\n- Never swim in the river.\n"


def play_on(play: KnowledgePlay) -> None:
    """Ten turns: a banner is dyed, then the player dies."""
    play.turn("take banner", "Taken.", inventory=(BANNER,))
    play.turn("east", "Blue Vats\nSteam rises from two vats.", location=VATS)
    play.turn("dip banner in vat", "The dye runs off.")
    play.turn("take jar", "Taken.", inventory=(BANNER, MORDANT))
    play.turn("dip banner in mordant", "The banner soaks it up.")
    play.turn("dip banner in vat", "It comes out a deep blue.", score=5)
    now = play.state.turn_count
    play.remember(str(now - 5), title="Banner was taken")
    play.remember(f"{now - 2}", title="Jar was taken")
    play.remember(f"{now - 3}-{now}", "permanent", "Mordant before dye")
    play.turn("drop jar", "Dropped.", inventory=(BANNER,))
    play.turn("drink dye", "You should not have done that.", died=True, location=GATE, inventory=(), score=0)
    play.turn("look", "The gate creaks.")
    play.turn("wait")


def test_the_prompt_of_an_update(tmp_path: Path) -> None:
    play = KnowledgePlay(tmp_path, [answer(line("Cloth takes dye twice", 3)), answer()], knowledge={"max_tokens": 1000})
    play.file.write_text(BY_HAND)
    play_on(play)
    play.manager.process_periodic_update()
    play_on(play)
    play.manager.process_periodic_update()
    assert_golden("knowledge_prompt.txt", as_shown(play.llm.calls[-1].prompt))


def test_the_prompt_of_a_consolidation(tmp_path: Path) -> None:
    lines = [line(f"Rule {number} of the dye works", number) for number in (1, 2, 3)]
    play = KnowledgePlay(tmp_path, [answer(*lines), {"lines": [], "cut": []}], knowledge={"max_tokens": 10})
    play.file.write_text(BY_HAND)
    play_on(play)
    play.manager.process_periodic_update()
    assert_golden("knowledge_consolidation_prompt.txt", as_shown(play.llm.calls[-1].prompt))


def test_the_prompt_of_a_small_model(tmp_path: Path) -> None:
    play = KnowledgePlay(
        tmp_path, [{"turn": 8, "section": "DEATH & DANGER ANALYSIS"}], prompt_budgets={"analysis": 1500}
    )
    play_on(play)
    play.manager.process_periodic_update()
    assert_golden("knowledge_brief_prompt.txt", as_shown(play.llm.calls[-1].prompt))
