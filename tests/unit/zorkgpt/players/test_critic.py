"""The critic calls its model as its mode requires, and uses the verdict regardless of its confidence."""

from __future__ import annotations

from typing import Any

import pytest

from session.errors import LanguageModelUnavailable
from session.game_state import Tries
from session.values import Observation, Proposal, Verdict
from tests.unit.zorkgpt.players.dye_works import learn, moment, turn, vocabulary
from zorkgpt.llm.stand_ins import Reply, ScriptedLLM
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.players.critic import Critic, CriticMode, ObjectCheck

CERTAIN_TO_FAIL, AT_HAND, OPEN = "take loom", "take basket", "take spool"
ACCEPTS: dict[str, Any] = {"reason": "Worth a try.", "accepted": True, "confidence": 0.1}
REFUSES: dict[str, Any] = {"reason": "Look first.", "accepted": False, "confidence": 0.05}


def critic(mode: CriticMode = "hybrid", *replies: Reply) -> tuple[Critic, ScriptedLLM]:
    model = ScriptedLLM(replies)
    words = vocabulary()
    return Critic(model, ObjectCheck(words, MapGraph(), MovementAnalyzer(words.directions)), mode), model


def judge(judging: Critic, action: str, observation: Observation | None = None) -> Verdict:
    return judging.judge(observation or moment(), Proposal(action), lambda: f"## Proposed command\n{action}")


@pytest.mark.parametrize(
    ("mode", "asked", "sources"),
    [
        ("object_tree", [], ["object_tree", "object_tree", "none"]),
        ("hybrid", [OPEN], ["object_tree", "object_tree", "llm"]),
        ("llm", [AT_HAND, OPEN], ["object_tree", "llm", "llm"]),
    ],
)
def test_the_mode_decides_what_the_model_is_asked_about_and_a_verdict_names_who_decided(
    mode: CriticMode, asked: list[str], sources: list[str]
) -> None:
    judging, model = critic(mode, *[ACCEPTS] * 3)
    verdicts = [judge(judging, action) for action in (CERTAIN_TO_FAIL, AT_HAND, OPEN)]
    assert [verdict.accepted for verdict in verdicts] == [False, True, True]
    assert [verdict.source for verdict in verdicts] == sources
    assert [call.prompt.user.splitlines()[-1] for call in model.calls] == asked
    assert {call.role for call in model.calls} <= {"critic"}


def test_the_model_refuses_and_accepts_by_its_word_however_unsure() -> None:
    judging, _ = critic("hybrid", REFUSES, ACCEPTS)
    assert judge(judging, OPEN) == Verdict(accepted=False, reason="Look first.", source="llm", confidence=0.05)
    assert judge(judging, OPEN).accepted


def test_a_command_that_came_to_the_same_before_is_asked_about_with_that_evidence() -> None:
    judging, model = critic("hybrid", REFUSES)
    assert judge(judging, AT_HAND).accepted
    learn(judging, turn(AT_HAND, moment(), moment("It is too heavy.")))
    assert not judge(judging, AT_HAND).accepted
    tried = model.calls[0].prompt.user.split("## Tried before\n")[1]
    assert tried.endswith("was the answer: `take basket` (once): It is too heavy.")


def test_that_all_is_seen_as_it_was_is_not_enough_to_ask_about_a_command() -> None:
    judging, model = critic("hybrid")
    learn(judging, turn(AT_HAND, moment(), moment("You miss.", world="w2")))
    assert judge(judging, AT_HAND, moment(world="w2")) == Verdict(accepted=True, source="object_tree")
    assert model.calls == []


def test_without_a_model_a_repetition_is_told_and_let_through_unless_its_outcome_is_left_to_chance() -> None:
    judging, _ = critic("object_tree")
    learn(judging, turn(AT_HAND, moment(), moment("It is too heavy.")))
    verdict = judge(judging, AT_HAND)
    assert verdict.accepted
    assert "It is too heavy." in verdict.reason
    judging.reset(Tries())
    assert judge(judging, AT_HAND).reason == ""
    for outcome in ("You miss.", "You hit."):
        learn(judging, turn(AT_HAND, moment(), moment(outcome)))
    assert judge(judging, AT_HAND).reason == ""


@pytest.mark.parametrize("reply", [LanguageModelUnavailable("the server is down"), {"accepted": "perhaps"}])
def test_a_model_that_gives_no_judgement_does_not_stop_play(reply: Reply) -> None:
    judging, _ = critic("hybrid", reply)
    verdict = judge(judging, OPEN)
    assert (verdict.accepted, verdict.source, judging.failures) == (True, "none", 1)
    assert "could not be asked" in verdict.reason


def test_it_is_told_how_often_a_command_was_typed_and_a_long_outcome_is_cut() -> None:
    judging, _ = critic("object_tree")
    for _ in range(3):
        learn(judging, turn(AT_HAND, moment(), moment("No" * 31)))
    assert judge(judging, AT_HAND).reason.endswith(f"`take basket` (3 times): {'No' * 28} […]")
