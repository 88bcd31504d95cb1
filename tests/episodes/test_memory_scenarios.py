"""What memories are for, played from end to end, each time with a control that lacks the part in question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import BaseModel

from game_interface.core.jericho_interface import JerichoInterface
from managers.memory.outcome import ZMachineContext
from managers.simple_memory_manager import SimpleMemoryManager
from session.game_configuration import GameConfiguration, SimpleMemoryOptions
from session.game_state import GameState
from session.memory import Memory, MemoryStatus
from session.values import GameObject, Location, Proposal, TurnRecord, Verdict
from tests.fixtures.dye_works import OPENING
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.fixtures.walkthrough import WINNING_SEED, get_zork1_walkthrough
from tests.unit.managers.memory_parts import MemoryPlay, learned
from zorkgpt.llm.language_model import Prompt, Role

Answer = dict[str, object]
KITCHEN, LIVING_ROOM = 203, 193


@dataclass(frozen=True)
class Scenario:
    """Commands from one place, each with the story's answer and what it changed, and a model that reads its prompt."""

    place: Location
    steps: tuple[tuple[str, str, dict[str, Any]], ...]
    model: Callable[[str], Answer | None]
    taught: str


def remembered(title: str, text: str, persistence: str = "permanent", **fields: object) -> Answer:
    return learned(title, persistence, memory_text=text, **fields)


def sequence_in(prompt: str) -> str:
    return prompt.split("RECENT ACTION SEQUENCE:")[1].split("AGENT'S REASONING:", maxsplit=1)[0]


def window_model(prompt: str) -> Answer | None:
    """Knows the procedure only if it is shown that the window was opened before."""
    played = sequence_in(prompt)
    if "open window" in played and "enter window" in played and played.index("open") < played.index("enter"):
        return remembered("Window leads in", "(1) examine window, (2) open window, (3) enter window.")
    return None


def troll_model(prompt: str) -> Answer | None:
    """Blames the gift for the death only if it is shown both."""
    played = sequence_in(prompt)
    if "cleaves you" in played and "give lunch" in played:
        return remembered(
            "Troll attacks after accepting gift",
            "The gift strategy fails.",
            category="DANGER",
            supersedes_memory_titles=["Troll accepts lunch gift"] if "Troll accepts lunch gift" in prompt else [],
        )
    if "give lunch" in played:
        return remembered("Troll accepts lunch gift", "Reaction unclear.", status="TENTATIVE")
    return None


WINDOW = Scenario(
    Location(79, "Behind House"),
    (
        ("examine window", "The window is slightly ajar. Perhaps you could open it further.", {}),
        ("open window", "With some effort, you open the window wide enough to pass through.", {}),
        ("enter window", "You climb through the window.", {"location": Location(203, "Kitchen")}),
    ),
    window_model,
    "Window leads in",
)
TROLL = Scenario(
    Location(152, "Troll Room"),
    (
        ("give lunch to troll", "The troll graciously accepts the lunch and eats it hungrily.", {"inventory": ()}),
        ("go north", "The troll swings his axe and cleaves you in twain!", {"died": True}),
    ),
    troll_model,
    "Troll attacks after accepting gift",
)
SCENARIOS = pytest.mark.parametrize("scenario", [WINDOW, TROLL], ids=["window", "troll"])


class Replay(MemoryPlay):
    """A scenario from its beginning, with a window of four turns."""

    def __init__(self, workdir: Path, scenario: Scenario) -> None:
        super().__init__(
            workdir,
            lambda _role, prompt, _schema: scenario.model(prompt.user) or {"memories": []},
            memory_sampling={"memory_history_window": 4},
        )
        self.scenario = scenario
        self.begin(1, replace(OPENING, location=scenario.place, inventory=(GameObject(9, "lunch"),)))

    def visit_at_a_time(self) -> None:
        for number, (action, text, after) in enumerate(self.scenario.steps):
            self.turn(action, text, world_hash=str(number), **after)
        self.manager.end()

    def call_by_call(self, *, with_history: bool) -> None:
        self.learners = ()
        for number, (action, text, changes) in enumerate(self.scenario.steps):
            record = self.turn(action, text, world_hash=str(number), **changes)
            if not with_history:
                self.state.turns.clear()
            before, after, place = record.before, record.after, self.scenario.place
            context: ZMachineContext = {
                "score_delta": record.score_change,
                "location_changed": record.moved,
                "location_after": after.location.num if after.location else None,
                "inventory_before": before.inventory,
                "inventory_after": after.inventory,
                "world_changed": before.world_hash != after.world_hash,
                "sight_changed": record.did_something,
                "died": after.died,
            }
            self.manager.record_action_outcome(place.num, place.name, record.action, record.after.text, context)

    @property
    def kept(self) -> list[Memory]:
        assert set(self.manager.memory_cache) <= {self.scenario.place.num}
        return self.manager.memory_cache.get(self.scenario.place.num, [])

    @property
    def standing(self) -> list[str]:
        return [memory.title for memory in self.kept if memory.status != MemoryStatus.SUPERSEDED]


@SCENARIOS
def test_a_procedure_is_learned_where_it_began_with_its_history_alone(tmp_path: Path, scenario: Scenario) -> None:
    replay = Replay(tmp_path, scenario)
    replay.call_by_call(with_history=True)
    assert replay.standing == [scenario.taught]
    replay = Replay(tmp_path / "visit", scenario)
    replay.visit_at_a_time()
    assert replay.standing == [scenario.taught]
    assert len(replay.llm.calls) == 1
    replay = Replay(tmp_path / "control", scenario)
    replay.call_by_call(with_history=False)
    assert replay.llm.calls
    assert scenario.taught not in replay.standing


def test_a_tentative_memory_is_superseded_by_what_came_later(tmp_path: Path) -> None:
    replay = Replay(tmp_path, TROLL)
    replay.call_by_call(with_history=True)
    gift, attack = replay.kept
    assert (gift.status, gift.superseded_by, gift.superseded_at_turn) == ("SUPERSEDED", attack.title, 2)
    assert (attack.status, attack.category, attack.turns) == ("ACTIVE", "DANGER", "2")
    control = Replay(tmp_path / "control", TROLL)
    control.call_by_call(with_history=False)
    assert [(memory.title, memory.status) for memory in control.kept] == [("Troll accepts lunch gift", "TENTATIVE")]


def sword_model(_role: Role, prompt: Prompt, _schema: type[BaseModel]) -> Reply:
    """Remembers what any sensible model would about the sword, and nothing else."""
    news = prompt.user.split("WHAT IS NEW HERE:")[1]
    memories = []
    if "FIRST VISIT" in news and "sword" in prompt.user.split("EXISTING MEMORIES:")[0]:
        memories.append(remembered("Sword spawns here", "Seen on arrival.", persistence="core"))
    if "drop sword" in news and "Placement action" in news:
        memories.append(remembered("Dropped sword here", "Left for later.", persistence="ephemeral"))
    return {"memories": memories}


class Episodes:
    """Zork I, played by script, with the memories of a work folder. ``options``: of the memories, by name."""

    def __init__(self, game: JerichoInterface, workdir: Path, llm: ScriptedLLM, **options: int) -> None:
        self.game = game
        config = GameConfiguration(zork_game_workdir=workdir, simple_memory=SimpleMemoryOptions(**options))
        self.manager = SimpleMemoryManager(
            structlog.get_logger(), config, GameState(), llm, directions=game.facts.directions
        )

    def play(self, number: int, commands: Iterable[str]) -> None:
        """The commands were played from the story's opening; the episode has not ended yet."""
        state = GameState(episode=number)
        state.begin(self.game.reset(WINNING_SEED))
        self.manager.reset(state)
        for turn, command in enumerate(commands, start=1):
            before = self.game.observation
            after = self.game.step(command)
            record = TurnRecord(number, turn, before, (Proposal(command),), (Verdict(accepted=True),), after)
            state.record(record)
            self.manager.learn(record)


@pytest.mark.stories
def test_a_sword_dropped_in_one_episode_is_not_believed_to_lie_there_in_the_next(zork1: Path, tmp_path: Path) -> None:
    way = ("south", "east", "open window", "west", "west")
    with JerichoInterface(zork1) as game:
        episodes = Episodes(game, tmp_path, ScriptedLLM(sword_model), visits_in_question=1)
        manager = episodes.manager
        episodes.play(1, (*way, "take sword", "east", "drop sword", "west", "east"))
        assert "[NOTE] Dropped sword here: Left for later. [session]" in manager.get_location_memory(KITCHEN)
        assert "[NOTE] Sword spawns here: Seen on arrival. [spawn]" in manager.get_location_memory(LIVING_ROOM)
        episodes.play(2, way[:-1])
        assert game.observation.location == Location(KITCHEN, "Kitchen")
        assert "sword" not in manager.get_location_memory(KITCHEN)
        assert "Sword spawns here" in manager.get_location_memory(LIVING_ROOM)
        assert "Dropped sword" not in (tmp_path / "Memories.md").read_text()


@pytest.mark.stories
def test_the_walkthrough_is_worth_few_questions_and_a_second_time_hardly_any(zork1: Path, tmp_path: Path) -> None:
    """At most 10 % of the turns of a first episode, 1 % of a second one; about each point once."""
    commands = get_zork1_walkthrough()

    def reply(_role: Role, prompt: Prompt, _schema: type[BaseModel]) -> Reply:
        places = re.findall(r"\(ID: (\d+)\)", prompt.user.split("EXISTING MEMORIES:")[0])
        facts = [(f"Fact {len(llm.calls)} of {place}", int(place)) for place in places]
        return {"memories": [remembered(title, "Of use.", persistence="core", location_id=at) for title, at in facts]}

    llm = ScriptedLLM(reply)
    shares, scoring_turns = [], []
    with JerichoInterface(zork1) as game:
        episodes = Episodes(game, tmp_path, llm)
        for number in (1, 2):
            llm.calls.clear()
            episodes.play(number, commands)
            episodes.manager.end()
            assert game.observation.ending == "won"
            shares.append(len(llm.calls) / len(commands))
            news = "\n".join(call.prompt.user.split("WHAT IS NEW HERE:")[1] for call in llm.calls)
            scoring_turns.append(news.count(", score "))
    assert shares[0] <= 0.1
    assert shares[1] <= 0.01
    assert scoring_turns == [43, 0]


@pytest.mark.stories
def test_a_second_episode_is_asked_about_what_was_discovered_in_it_alone(zork1: Path, tmp_path: Path) -> None:
    """Not about known points, rooms walked through, a way that is barred, a thing that is not there, a look around."""
    to_the_living_room = ("north", "east", "open window", "enter window", "west")
    way = (*to_the_living_room, "take all", "move rug", "open trapdoor", "turn on lantern", "down")
    llm = ScriptedLLM(lambda *_: {"memories": [remembered("The way in", "`enter window`: +10; `down`: +25.")]})
    with JerichoInterface(zork1) as game:
        episodes = Episodes(game, tmp_path, llm)
        episodes.play(1, (*way, "look"))
        episodes.manager.end()
        llm.calls.clear()
        episodes.play(2, (*way, "west", "examine vial", "look", "south", "east", "take painting"))
        episodes.manager.end()
    (asked,) = [call.prompt.user for call in llm.calls]
    assert asked.startswith("LOCATION: Gallery ")
    assert "take painting (stayed, score +4, now carries painting)" in asked
