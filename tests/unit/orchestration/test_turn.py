"""What a proposal goes through before it is played, and an interpreter that is killed or dies of a command."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from game_interface.core.restoring_game import RestoringGame
from managers.base_manager import ManagerParts
from orchestration.learning import build_learning
from orchestration.turn import Turn, build_critic
from session.commands import Vocabulary
from session.events import GameFailed, ProposalReviewed
from session.files.journal import Journal
from session.game_configuration import ExtractorOptions, GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from session.values import Location, Observation, Reading, TurnRecord, Verdict
from tests.fixtures.held_stores import HeldStores, held
from tests.fixtures.scripted_game import SCRIPTED_STORY, ScriptedGame
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from zorkgpt.cli.playing import Keyboard
from zorkgpt.cli.screen import Screen
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.players.agent import ModelPlayer

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
        parts = ManagerParts(log, config, GameState(), self.model, facts, VOCABULARY, TokenCounter())
        self.learning = build_learning(parts)
        self.turn = Turn(
            config,
            RestoringGame(game, recording := held(folder).recording),
            ModelPlayer(self.model, travels=True),
            build_critic(parts, self.learning),
            self.learning,
            recording,
            self.model,
            lambda _proposal: None,
        )
        self.state = self.learning.context.game_state
        self.state.begin(opening)

    def play(self) -> TurnRecord:
        record = self.turn.play(self.state)
        assert isinstance(record, TurnRecord)
        self.state.record(record)
        self.turn.critic.learn(record)
        self.learning.learn(record)
        return record

    @property
    def asked(self) -> list[str]:
        return [call.role for call in self.model.calls]


def test_an_extractor_reads_the_text_in_the_role_info_ext(tmp_path: Path) -> None:
    turns = Turns(tmp_path, ["down"])
    reader = ScriptedLLM([{"is_room_description": True, "exits": ["down", "in"], "in_combat": True}])
    separate = turns.turn.configuration.model_copy(update={"extractor": ExtractorOptions(mode="separate")})
    turns.turn = replace(turns.turn, configuration=separate, extractor=reader)
    assert turns.play().reading == Reading(True, ("down", "in"), True)
    (call,) = reader.calls
    assert (call.role, call.prompt.user) == ("info_ext", LOFT.text)


class TestSeveralCommandsOnALine:
    def test_they_are_split_into_turns_each_proposed_by_an_agent_that_has_seen_the_answer(self, tmp_path: Path) -> None:
        turns = Turns(tmp_path, ["down. south", "south"])
        first, second = turns.play(), turns.play()
        assert (first.action, first.after, second.action) == ("down", HALL, "south")
        assert turns.asked == ["agent", "critic"] * 2
        assert turns.learning.map.game_map.connections == {1: {"down": 2}, 2: {"south": 3}}
        assert [proposal.action for proposal in first.proposals] == ["down. south", "down"]
        reason = "A turn is one command: only 'down' is played now."
        assert first.verdicts[0] == Verdict(accepted=False, reason=reason, source="parser")

    @pytest.mark.parametrize(
        ("line", "played"),
        [
            *(("wait. wait then look", "wait"), ("ask mrs. smith.", "ask mrs. smith.")),
            *(("down and south", "down"), ("down, south, south", "down"), ("guard, down", "guard, down")),
        ],
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
        graph = turns.learning.map.game_map
        graph.add_connection(1, "down", 2)
        graph.add_connection(2, "south", 3)
        record = turns.play()
        assert (record.action, record.after) == ("down", HALL)
        assert turns.asked == ["agent"] * (refused + 1) + ["critic"]
        assert ["`go_to`" in call.prompt.system for call in turns.model.calls[:-1]] == [True] * min(refused + 1, 3) + [
            False
        ] * (refused == 3)


@pytest.mark.parametrize(
    ("review", "asked", "played"),
    [
        (None, [], ("down", "only")),
        (ProposalReviewed("down", "down"), [], ("down", "person")),
        (ProposalReviewed("down", "south"), [], ("south", "person")),
        (ProposalReviewed("down", "", "not that"), ["agent"], ("down", "person")),
    ],
)
def test_the_only_command_of_a_list_is_reviewed_by_a_person_who_reviews_proposals(
    tmp_path: Path, review: ProposalReviewed | None, asked: list[str], played: tuple[str, str]
) -> None:
    turns, decisions = Turns(tmp_path, [{"action": "down", "reasoning": ""}]), iter([review])
    turns.turn = replace(
        turns.turn,
        configuration=turns.turn.configuration.model_copy(update={"assist": frozenset({"valid-actions"})}),
        game=RestoringGame(ScriptedGame(SCRIPT, valid_actions=("down",)), turns.turn.recording),
        review=lambda proposal: next(decisions, ProposalReviewed(proposal.action, proposal.action)),
    )
    record = turns.play()
    assert (record.action, record.verdicts[-1].source) == played
    assert turns.asked == asked


@pytest.mark.parametrize(
    ("typed", "played"), [("", ("down", "route")), ("e down", ("down", "person")), ("e wait", ("wait", "person"))]
)
@pytest.mark.parametrize("beside", ["down", "wait"], ids=["down beside it", "wait beside it"])
def test_a_way_is_only_gone_if_the_person_accepts_it_and_not_if_the_command_beside_it_is_typed(
    tmp_path: Path, typed: str, played: tuple[str, str], beside: str
) -> None:
    class Person(Keyboard):
        def read_line(self, prompt: str, above: str = "", begun: str = "") -> str:
            del prompt, begun
            assert above == "Proposed: go_to 3"
            return typed

    turns = Turns(tmp_path, [{"action": beside, "go_to": 3}])
    turns.learning.map.game_map.add_connection(1, "down", 2)
    turns.learning.map.game_map.add_connection(2, "south", 3)
    turns.turn = replace(turns.turn, review=Person(Screen()).review)
    record = turns.play()
    assert (record.action, record.verdicts[-1].source) == played
    assert (turns.learning.courses.next_proposal is not None) == (typed == "")


QUAY = Observation("A boat lies here.", Location(1, "Quay"), score=0, moves=0)
BOAT = replace(QUAY, text="In the boat.", location=Location(2, "Boat"))


def test_a_recorded_failure_is_of_its_own_command_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(GameFailed("dive", "it hung"))
    journal.close()
    stores = HeldStores(tmp_path, [])
    game = RestoringGame(ScriptedGame({"": QUAY, "board boat": BOAT}), stores.recording)
    assert game.step("board boat") == BOAT
    assert stores.events == []
