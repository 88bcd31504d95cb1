"""Objectives follow the agent's reports, and an episode with earlier knowledge begins with some."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

from pydantic import BaseModel

from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import play_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import ScriptedLLM

TURNS = 24
LOG, GLASS = "Read the keeper's log", "Bring the glass home"


class Player:
    """Plays the beginning of the walkthrough; the log is its own idea, the glass that of the analysis."""

    def __init__(self) -> None:
        self.commands = cycle(WALKTHROUGH[:TURNS])
        self.says: dict[int, object] = {2: {"new": LOG}, 14: {"done": 1}}
        self.turn = 0
        self.model = ScriptedLLM(self.reply)

    def reply(self, role: Role, _prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent":
            self.turn += 1
            return {"reasoning": "", "action": next(self.commands), "objective": self.says.get(self.turn)}
        if "objectives" in schema.model_fields:
            return {"objectives": [{"text": GLASS, "evidence": "knowledge of the house"}]}
        return {"memories": []}

    def objectives(self) -> list[list[str]]:
        """The lines of objectives in the agent's prompts, by turn."""
        prompts = [call.prompt.user for call in self.model.calls if call.role == "agent"]
        sections = [f"{prompt}\n\n".partition("## Objectives\n")[2].split("\n\n")[0] for prompt in prompts]
        return [section.splitlines() for section in sections]

    def asked(self) -> int:
        """The number of calls about objectives."""
        return sum("objectives" in call.schema.model_fields for call in self.model.calls)


def test_an_objective_comes_and_goes_with_the_agents_word_at_no_call(own_story: Path, tmp_path: Path) -> None:
    player = Player()
    play_run(own_story, player.model, tmp_path, max_turns_per_episode=18, knowledge={"enabled": False})
    own = [f"1. {LOG}"]
    assert player.objectives() == [[]] * 2 + [own] * 12 + [[]] * 4
    assert player.asked() == 0
    assert verify_run(own_story, tmp_path).difference is None


def test_an_episode_that_knows_something_has_objectives_in_its_second_prompt(own_story: Path, tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text("## PUZZLE SOLUTIONS\n\n- The glass belongs in its cradle.\n")
    player = Player()
    player.says = {}
    play_run(own_story, player.model, tmp_path, max_turns_per_episode=TURNS)
    assert player.objectives() == [[]] + [[f"1. {GLASS}"]] * (TURNS - 1)
    assert player.asked() == 2
