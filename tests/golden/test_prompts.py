"""Every prompt as a model gets it, whole: changing a word shows in review."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from session.knowledge import INSIGHTS, KnowledgeLine, Source
from tests.fixtures.dye_works import BANNER, GATE, MORDANT, VATS
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import play_run
from tests.golden.golden_file import as_shown, assert_golden
from tests.unit.managers.episode_parts import EpisodePlay
from tests.unit.managers.knowledge_parts import KnowledgePlay, answer, line
from zorkgpt.llm.language_model import Prompt, Role

TURNS = 14


@pytest.fixture(scope="module")
def model(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> ScriptedLLM:
    """A model that was called in every role over fourteen turns of the packaged story."""
    commands = iter(WALKTHROUGH)

    def reply(role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent":
            return {"reasoning": "It is the next step of my plan.", "action": next(commands)}
        if role == "critic":
            return {"reason": "Nothing speaks against it.", "accepted": True, "confidence": 0.5}
        if role == "info_ext":
            return {"is_room_description": True, "exits": ["north", "up"], "in_combat": False}
        if role == "memory":
            return {"memories": []}
        goal = {"text": "Bring the glass home", "location_id": None}
        return {"objectives": [goal], "reasoning": "The story asks for it."}

    asked = ScriptedLLM(reply)
    folder = tmp_path_factory.mktemp("golden")
    options: dict[str, Any] = {
        "critic": {"mode": "llm"},
        "extractor": {"mode": "separate"},
        "objective_update_interval": 5,
        "knowledge": {"enabled": False},  # its prompts have files of their own
    }
    play_run(own_story, asked, folder, max_turns_per_episode=TURNS, **options)
    return asked


@pytest.mark.parametrize("role", ["agent", "critic", "info_ext", "analysis", "memory"])
def test_the_latest_prompt_of_each_role(model: ScriptedLLM, role: Role) -> None:
    latest = [call.prompt for call in model.calls if call.role == role][-1]
    assert_golden(f"{role}_prompt.txt", as_shown(latest))


def test_the_prompt_of_an_assisted_agent(own_story: Path, tmp_path: Path) -> None:
    asked = ScriptedLLM(lambda _role, _prompt, _schema: {"reasoning": "", "action": "north"})
    options: dict[str, Any] = {
        "assist": "valid-actions",
        "extractor": {"mode": "none"},
        "critic": {"mode": "object_tree"},
    }
    play_run(own_story, asked, tmp_path, max_turns_per_episode=2, **options)
    latest = [call.prompt for call in asked.calls if call.role == "agent"][-1]
    assert_golden("assisted_agent_prompt.txt", as_shown(latest))


def test_the_question_about_an_episode_and_the_hand_over(tmp_path: Path) -> None:
    nothing: dict[str, object] = {}
    play = EpisodePlay(tmp_path, [nothing, nothing], episode=3)
    play.die()
    play.manager.end("turn_limit")
    play.begin(4)
    play.knowledge.shown = "Dangers:\n- The vats are deep."
    play.knowledge.insight_lines = {
        INSIGHTS[0]: (KnowledgeLine("Mind the step"),),
        INSIGHTS[1]: (KnowledgeLine("Lamps burn out", (Source(1, 40, 44), Source(3, 1, 1))),),
    }
    play.turn("take banner", "Taken.", score=5)
    play.turn("east", "Steam hangs over the vats.", location=VATS)
    play.turn("dip banner", "The dye\n\nruns off.", score=3)
    play.die()
    play.turn("east", "Steam hangs over the vats.", location=VATS)
    play.turn("wait", "The fumes take you. " * 20, location=GATE, died=True)
    play.manager.end("lost")
    play.begin(5)
    shown = as_shown(play.llm.calls[-1].prompt)
    assert_golden("episode_prompt.txt", f"{shown}\n\n=== hand-over ===\n{play.manager.handover}")


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
