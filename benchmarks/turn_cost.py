"""What a turn costs in model calls and prompt tokens, over a whole walkthrough.

    python -m benchmarks.turn_cost [STORY]

plays the walkthrough of STORY (Zork I in the folder ZORKGPT_STORIES, else the story that ships) through the real
loop without memories, with a model that plausibly answers every role. Prints calls a turn by role, prompt tokens a
turn (estimated at four characters each), and how much of a prompt is a prefix shared with the role's previous one.
Temporary files only; no network.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from session.token_counter import FIRST_GUESS
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.walkthrough import get_zork1_walkthrough
from tests.fixtures.whole_run import play_run
from zorkgpt.llm.scripted import ScriptedLLM

if TYPE_CHECKING:
    from pydantic import BaseModel

    from zorkgpt.llm.language_model import Prompt, Role

ZORK_SEED = 12
PERCENTILE = 95
REASONING = (
    "I have looked at what the last response says and at what I carry. The way on is to do this now, "
    "because it follows from the plan that I made when I came here, and nothing speaks against it yet."
)


@dataclass(frozen=True, slots=True)
class TurnCost:
    """The figures of one replay.

    calls: model calls, by role
    tokens: of each turn's prompts, all roles together
    shared: by role, the share of each prompt's characters that its predecessor began with
    """

    turns: int
    score: int | None
    calls: Counter[str]
    tokens: list[int]
    shared: dict[str, list[float]]

    @property
    def calls_a_turn(self) -> float:
        """Model calls of all roles for one turn, on average."""
        return self.calls.total() / self.turns

    @property
    def shared_on_average(self) -> float:
        """The share over all prompts of all roles but each role's first."""
        return statistics.fmean(share for shares in self.shared.values() for share in shares)


@dataclass
class _Player:
    """Answers as a model that follows the walkthrough would, and measures what it is asked."""

    commands: Sequence[str]
    calls: Counter[str] = field(default_factory=Counter)
    tokens: list[int] = field(default_factory=list)
    shared: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _previous: dict[str, str] = field(default_factory=dict)

    def answer(self, role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        text = prompt.system + prompt.user
        if role == "agent":
            self.tokens.append(0)
        self.tokens[-1] += round(len(text) * FIRST_GUESS)
        self.calls[role] += 1
        if role in self._previous:
            self.shared[role].append(_common_prefix(text, self._previous[role]) / len(text))
        self._previous[role] = text
        return self._reply(role, schema)

    def _reply(self, role: Role, schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent":
            exits = {"is_room_description": True, "exits": ["north", "south", "up"], "in_combat": False}
            return {"reading": exits, "reasoning": REASONING, "action": self.commands[self.calls["agent"] - 1]}
        if role == "critic":
            return {"reason": "Nothing speaks against it.", "accepted": True, "confidence": 0.5}
        return _objectives(self.calls[role]) if "objectives" in schema.model_fields else {}


def _objectives(update: int) -> dict[str, object]:
    found = [
        {"text": f"Look for what lies behind the obstacle that turn {update * 20} showed", "location_id": None},
        {"text": f"Bring what was found by update {update} to where it is worth points", "location_id": None},
    ]
    return {"objectives": found, "reasoning": "From what was seen."}


def _common_prefix(text: str, other: str) -> int:
    """Characters that both begin with."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((place for place, (one, two) in pairs if one != two), min(len(text), len(other)))


def measure(story: Path, commands: Sequence[str], seed: int) -> TurnCost:
    """The cost of playing ``commands`` on ``story``, before memories and knowledge."""
    player = _Player(commands)
    with tempfile.TemporaryDirectory() as folder:
        model = ScriptedLLM(player.answer)
        options: dict[str, Any] = {
            "max_turns_per_episode": len(commands),
            "simple_memory": {"enabled": False},
            "knowledge": {"enabled": False},
        }
        (ended,) = play_run(story, model, Path(folder), seed=seed, **options).episodes
    return TurnCost(ended.turns, ended.score, player.calls, player.tokens, dict(player.shared))


def main() -> None:
    """Print the figures for the story named, or the one there is."""
    zork = Path(os.environ.get("ZORKGPT_STORIES", "")) / "zork1.z5"
    if len(sys.argv) > 1 or zork.is_file():
        cost = measure(Path(sys.argv[1]) if len(sys.argv) > 1 else zork, get_zork1_walkthrough(), ZORK_SEED)
    else:
        cost = measure(Path(str(files("game_interface.stories") / "tidehouse.z5")), WALKTHROUGH, 1)
    print(f"{cost.turns} turns, score {cost.score}")
    print(f"model calls a turn      {cost.calls_a_turn:.3f}   {dict(cost.calls)}")
    mean, percentile = statistics.fmean(cost.tokens), statistics.quantiles(cost.tokens, n=100)[PERCENTILE - 1]
    print(f"prompt tokens a turn    {mean:.0f} on average, {percentile:.0f} at the 95th percentile")
    shares = ", ".join(f"{role} {statistics.fmean(values):.2f}" for role, values in cost.shared.items())
    print(f"prefix shared           {cost.shared_on_average:.2f} of a prompt's characters   ({shares})")


if __name__ == "__main__":
    main()
