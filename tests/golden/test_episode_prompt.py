"""The complete question about an ended episode, and the complete report to the next one."""

from __future__ import annotations

from pathlib import Path

from session.knowledge import INSIGHTS, KnowledgeLine, Source
from tests.fixtures.dye_works import GATE, VATS
from tests.golden.golden_file import as_shown, assert_golden
from tests.unit.managers.episode_parts import EpisodePlay


def test_the_question_about_an_episode_and_the_hand_over(tmp_path: Path) -> None:
    nothing: dict[str, object] = {}
    play = EpisodePlay(tmp_path, [nothing, nothing], episode=3)
    play.die()
    play.manager.end("turn_limit")
    play.begin(4)
    play.knowledge.known = "Dangers:\n- The vats are deep."
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
    assert_golden("episode_prompt.txt", f"{shown}\n\n=== hand-over ===\n{play.manager.handover()}")
