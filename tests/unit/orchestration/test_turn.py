"""What a proposal goes through before it is played: a line of several commands is parted, a useless one sent back."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from managers.base_manager import ManagerParts
from managers.context_manager import ContextManager
from managers.map_manager import MapManager
from managers.route_manager import RouteManager
from orchestration.learning import build_learning
from orchestration.turn import RestoringGame, Turn
from session.commands import Vocabulary
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from session.values import Location, Observation, Reading, TurnRecord, Verdict
from tests.fixtures.held_stores import held
from tests.fixtures.scripted_game import SCRIPTED_STORY, ScriptedGame
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.stand_ins import Reply, ScriptedLLM
from zorkgpt.players.agent import Agent

LOFT = Observation("A loft.", Location(1, "Loft"), (), (), moves=0)
HALL = Observation("A hall.", Location(2, "Hall"), (), (), moves=1)
YARD = Observation("A yard.", Location(3, "Yard"), (), (), moves=2)
SCRIPT = {"": LOFT, "down": HALL, "south": YARD, "down. south": YARD, "wait. wait then look": YARD}
DIRECTIONS = ("down", "south")
VOCABULARY = Vocabulary(
    letters=9,
    words=frozenset({"wait", "look", "ask", *DIRECTIONS}),
    verbs=frozenset({"wait", "look", "ask"}),
    directions=frozenset(DIRECTIONS),
)


class Turns:
    """Turns of a scripted story, with a critic whose model is always called and accepts everything."""

    def __init__(self, folder: Path, answers: Sequence[str | Reply], opening: Observation = LOFT) -> None:
        left = iter(answers)

        def reply(role: Role, _prompt: Prompt, *_schema: object) -> Reply:
            if role != "agent":
                return {"reason": "Why not?", "accepted": True, "confidence": 1}
            answer = next(left)
            return {"action": answer} if isinstance(answer, str) else answer

        self.model = ScriptedLLM(reply)
        facts = replace(SCRIPTED_STORY, directions=DIRECTIONS)
        game = ScriptedGame({**SCRIPT, "": opening}, facts=facts)
        config = GameConfiguration(zork_game_workdir=folder, critic={"mode": "llm"}, simple_memory={"enabled": False})
        log = structlog.wrap_logger(logging.getLogger("test"))
        self.learning = build_learning(
            ManagerParts(log, config, GameState(), self.model, facts, VOCABULARY, TokenCounter())
        )
        context = self.learning.get(ContextManager)
        inputs = held(folder).inputs
        playing = RestoringGame(game, inputs)
        self.turn = Turn(
            playing,
            Agent(self.model),
            self.learning.critic,
            context,
            inputs,
            vocabulary=VOCABULARY,
            routes=self.learning.find(RouteManager),
        )
        self.state = context.game_state
        self.state.begin(opening)

    def play(self) -> TurnRecord:
        record = self.turn.play(self.state)
        self.state.record(record)
        self.learning.learn(record)
        return record

    @property
    def asked(self) -> list[str]:
        return [call.role for call in self.model.calls]


def test_an_extractor_reads_the_text_in_the_role_info_ext(tmp_path: Path) -> None:
    turns = Turns(tmp_path, ["down"])
    reader = ScriptedLLM([{"is_room_description": True, "exits": ["down", "in"], "in_combat": True}])
    turns.turn = replace(turns.turn, extractor=reader)
    assert turns.play().reading == Reading(True, ("down", "in"), True)
    (call,) = reader.calls
    assert (call.role, call.prompt.user) == ("info_ext", LOFT.text)


class TestSeveralCommandsOnALine:
    def test_they_are_split_into_turns_each_proposed_by_an_agent_that_has_seen_the_answer(self, tmp_path: Path) -> None:
        turns = Turns(tmp_path, ["down. south", "south"])
        first, second = turns.play(), turns.play()
        assert (first.action, first.after, second.action) == ("down", HALL, "south")
        assert turns.asked == ["agent", "critic"] * 2
        assert turns.learning.get(MapManager).game_map.connections == {1: {"down": 2}, 2: {"south": 3}}
        assert [proposal.action for proposal in first.proposals] == ["down. south", "down"]
        reason = "A turn is one command: 'down' is played, and what follows it is for the next turns."
        assert first.verdicts[0] == Verdict(accepted=False, reason=reason, source="parser")

    @pytest.mark.parametrize(
        ("line", "played"), [("wait. wait then look", "wait"), ("ask mrs. smith.", "ask mrs. smith.")]
    )
    def test_the_first_is_played_and_a_stop_that_no_command_follows_parts_nothing(
        self, tmp_path: Path, line: str, played: str
    ) -> None:
        assert Turns(tmp_path, [line]).play().action == played


class TestCommandsThatCannotReachTheStory:
    @pytest.mark.parametrize("useless", ["   ", "look " * 600, "save"])
    def test_they_are_asked_for_again_without_the_critic(self, tmp_path: Path, useless: str) -> None:
        turns = Turns(tmp_path, [useless, "down"])
        record = turns.play()
        assert turns.asked == ["agent", "agent", "critic"]
        assert (record.action, record.verdicts[0].source) == ("down", "parser")
        assert record.verdicts[0].reason in turns.model.calls[1].prompt.user

    def test_a_story_that_waits_for_a_key_may_be_given_any(self, tmp_path: Path) -> None:
        turns = Turns(tmp_path, ["save", "down"], replace(LOFT, awaits_key=True))
        turns.play()
        assert turns.asked[:2] == ["agent", "critic"]


class TestLocationsThatCannotBeReached:
    @pytest.mark.parametrize("refused", [1, 2, 3])
    def test_the_agent_is_asked_again_and_what_stood_for_the_way_is_never_played(
        self, tmp_path: Path, refused: int
    ) -> None:
        nowhere: Reply = {"action": "wait", "go_to": 99}
        turns = Turns(tmp_path, [*[nowhere] * refused, "down"])
        graph = turns.learning.get(MapManager).game_map
        graph.add_connection(1, "down", 2)
        graph.add_connection(2, "south", 3)
        record = turns.play()
        assert (record.action, record.after) == ("down", HALL)
        assert turns.asked == ["agent"] * (refused + 1) + ["critic"]
        assert ["`go_to`" in call.prompt.user for call in turns.model.calls[:-1]] == [True] * min(refused + 1, 3) + [
            False
        ] * (refused == 3)
