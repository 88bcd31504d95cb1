"""The critic calls its model as its mode requires, and uses the verdict regardless of its confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from session.commands import ParserFamily, Vocabulary
from session.context import AgentContext, PromptSection
from session.errors import LanguageModelUnavailable
from session.game_state import Tries
from session.values import GameObject, Observation, Proposal, TurnRecord, Verdict
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.unit.zorkgpt.players.dye_works import (
    BANNER,
    BASKET,
    LOFT,
    LOOM,
    PARENTS,
    SPOOL,
    VATS,
    in_the_loft,
    learn,
    moment,
    turn,
    vocabulary,
)
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
    context = AgentContext((PromptSection("Proposed command", action),))
    return judging.judge(observation or moment(), Proposal(action), lambda: context)


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


WHICH = "Which do you mean, the old Miller, or the board?"


@pytest.mark.parametrize(
    ("action", "text", "calls"),
    [
        ("Yes", "Are you sure?", 0),
        (OPEN, "Are you sure?", 1),
        ("old miller", WHICH, 0),
        ("mill", WHICH, 1),
    ],
)
def test_the_model_is_not_asked_about_an_answer_that_the_question_names(action: str, text: str, calls: int) -> None:
    judging, model = critic("llm", ACCEPTS)
    assert judge(judging, action, moment(text)).accepted
    assert len(model.calls) == calls


def test_nor_about_the_answer_that_a_story_awaits_after_any_text() -> None:
    judging, model = critic("llm")
    assert judge(judging, "yes", replace(moment("You hesitate."), awaits_answer=True)).accepted
    assert not model.calls
    judging, _ = critic("object_tree")
    assert judge(judging, CERTAIN_TO_FAIL, replace(moment("Echoes."), awaits_answer=True)).accepted


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
        learn(judging, turn(AT_HAND, moment(), moment("No" * 210)))
    assert judge(judging, AT_HAND).reason.endswith(f"`take basket` (3 times): {'No' * 198} […]")


def check(words: Vocabulary | None = None, graph: MapGraph | None = None) -> ObjectCheck:
    words = words or vocabulary()
    return ObjectCheck(words, graph or MapGraph(), MovementAnalyzer(words.directions))


def kind_of(opinion: Verdict | None) -> str:
    return "none" if opinion is None else "accept" if opinion.accepted else "refuse"


def kind(action: str, observation: Observation | None = None, *, family: ParserFamily = "infocom") -> str:
    return kind_of(check(vocabulary(family)).opinion(observation or moment(), action))


def knowing(*rooms: int) -> MapGraph:
    graph = MapGraph()
    for num in rooms:
        graph.add_room(num)
    return graph


TAKEABLE, STATIC = 17, 18


@pytest.mark.parametrize(
    ("names", "attributes", "expected"),
    [
        ({"takeable": TAKEABLE}, set(), "none"),
        ({"takeable": TAKEABLE}, {TAKEABLE}, "accept"),
        ({"static": STATIC}, {STATIC}, "none"),
        ({"static": STATIC}, set(), "accept"),
        ({}, set(), "accept"),
    ],
)
def test_whether_a_fixed_thing_can_be_taken_is_left_to_the_model(
    names: dict[str, int], attributes: set[int], expected: str
) -> None:
    words = vocabulary()
    judge = ObjectCheck(words, MapGraph(), MovementAnalyzer(words.directions), names)
    basket = GameObject(BASKET, "basket", VATS, frozenset(attributes))
    here = replace(moment(), visible=(basket,))
    assert kind_of(judge.opinion(here, "take basket")) == expected
    assert kind_of(judge.opinion(here, "dip basket")) == "accept"
    assert kind_of(judge.opinion(here, "take banner in basket")) == "accept"


def with_parent(num: int, parent: int, text: str = "You stand among the vats.") -> Observation:
    return moment(text, parents=(*PARENTS[:num], parent, *PARENTS[num + 1 :]))


LISTS = ("take basket and banner", "take basket, banner, and the basket.", "take grey-banner")


ACCEPTED = (
    "take basket",
    "dip banner in basket",
    "wait",
    "north",
    "go up",
    "take all",
    "ask basket about loom",
    *LISTS,
)
LEFT_OPEN = (
    *("", "banner", "take spool", "wait. north", "take basket and", "take basket and wait", "ask loom about basket"),
    # topics, orders and lists of things elsewhere
    *("ask loom", "wait for loom", "dip banner about loom", "banner, take loom", "take loom and banner"),
)


@pytest.mark.parametrize(
    ("action", "expected"), [*((action, "accept") for action in ACCEPTED), *((action, "none") for action in LEFT_OPEN)]
)
def test_what_names_only_things_at_hand_is_accepted_and_all_else_is_open(action: str, expected: str) -> None:
    assert kind(action) == expected


@pytest.mark.parametrize(
    ("action", "observation", "expected"),
    [
        ("take mordant", moment("A jar of mordant stands here."), "accept"),
        ("take spool", with_parent(SPOOL, BANNER), "accept"),
        ("take mordant", replace(moment(), visible=(GameObject(BASKET, "jar of mordant", VATS),)), "accept"),
        ("take loom", replace(moment(), awaits_key=True), "accept"),
        ("take spool", with_parent(SPOOL, LOOM), "refuse"),
        ("dip banner in loom", moment(), "refuse"),
        ("take loom", moment("Through the window you see a loom."), "none"),
        ("take loom", moment("What do you want to take?"), "none"),
        ("gazebo", moment("What is your name?"), "none"),
        (AT_HAND, moment("Would you take it?"), "accept"),
        ("take loom", moment(parents=(*PARENTS[:LOOM], SPOOL, LOOM, *PARENTS[SPOOL + 1 :])), "none"),
        ("take loom", replace(moment(), parents=()), "none"),
        ("take loom", replace(moment(), location=None), "none"),
    ],
    ids=[
        *("told of", "in something carried", "known by its short name", "the story waits for a key"),
        *("in something elsewhere", "the second thing", "seen from afar", "a question", "a question for a word"),
        "at hand after a question",
        *("a tree that runs in a circle", "no tree", "no place"),
    ],
)
def test_the_moment_decides_what_is_certain(action: str, observation: Observation, expected: str) -> None:
    assert kind(action, observation) == expected


@pytest.mark.parametrize(
    ("action", "family", "expected"),
    [
        ("take loom", "inform", "none"),  # only places where the player was are known to be rooms
        ("frobnicate banner", "infocom", "refuse"),  # that parser stumbles on any word that it does not know
        ("frobnicate banner", "inform", "refuse"),  # this one on the first for certain
        ("take gazebo", "inform", "none"),
        ("frobnicate banner", "unknown", "none"),
    ],
)
def test_the_family_of_the_parser_decides_what_is_certain(action: str, family: ParserFamily, expected: str) -> None:
    opinion = check(vocabulary(family)).opinion(moment(), action)
    assert kind_of(opinion) == expected
    assert (opinion is not None and "'frobnicate'" in opinion.reason) == (expected == "refuse")


class TestAbsentThings:
    def test_a_thing_in_another_room_is_refused_by_its_name(self) -> None:
        opinion = check().opinion(moment(), "take the loom.")
        assert opinion
        assert (opinion.accepted, opinion.source) == (False, "object_tree")
        assert "'loom'" in opinion.reason
        assert kind_of(check(vocabulary("inform"), knowing(VATS, LOFT)).opinion(moment(), "take loom")) == "refuse"

    @pytest.mark.parametrize("action", ["take spool", "take river", "take mordant", "take grey loom", "take it"])
    def test_what_is_hidden_here_nowhere_or_no_object_or_shares_a_word_is_not(self, action: str) -> None:
        assert kind(action) != "refuse"

    @pytest.mark.parametrize("family", ["infocom", "inform"])
    def test_a_living_thing_in_another_room_is_not_since_magic_and_words_may_reach_it(
        self, family: ParserFamily
    ) -> None:
        graph, words = knowing(VATS, LOFT), vocabulary(family)
        assert kind_of(check(words, graph).opinion(moment(), "take loom")) == "refuse"
        assert kind_of(check(replace(words, animate=frozenset({LOOM})), graph).opinion(moment(), "take loom")) == "none"

    def test_nor_is_one_after_a_question_for_yes_or_no(self) -> None:
        assert kind_of(check().opinion(moment("Quit? (Please type YES or NO.)"), "take loom")) == "none"

    def test_nor_is_one_after_a_verb_that_need_not_touch_it(self) -> None:
        words = vocabulary()
        words = replace(words, words=words.words | {"abraca"}, verbs=words.verbs | {"abraca"})
        assert kind_of(check(words).opinion(moment(), "abracadabra loom")) == "none"

    def test_every_word_of_a_phrase_has_to_name_the_thing_in_informs_stories_alone(self) -> None:
        graph = knowing(VATS, LOFT)
        assert kind_of(check(vocabulary("inform"), graph).opinion(moment(), "take grey loom")) == "refuse"
        assert kind_of(check(vocabulary("infocom"), graph).opinion(moment(), "take grey loom")) == "none"

    def test_what_the_text_here_and_not_elsewhere_told_of_earlier_in_the_episode_is_not_absent(self) -> None:
        told = check()
        learn(told, turn("wait", in_the_loft("A loom."), in_the_loft("Time passes.")))
        assert kind_of(told.opinion(moment(), "take loom")) == "refuse"
        learn(told, turn("wait", moment("A loom rattles overhead."), moment("Time passes.")))
        assert kind_of(told.opinion(moment(), "take loom")) == "none"
        told.reset(Tries())
        assert kind_of(told.opinion(moment(), "take loom")) == "refuse"

    def test_an_answer_that_echoes_the_command_tells_of_nothing(self) -> None:
        answered = check()
        answer = moment("You see no loom here, but a treadle.")
        learn(answered, turn("take loom", moment(), answer))
        assert kind_of(answered.opinion(answer, "take loom")) == "refuse"
        assert kind_of(answered.opinion(answer, "take treadle")) == "none"
        learn(answered, turn("wait", answer, moment()))
        assert kind_of(answered.opinion(moment(), "take loom")) == "refuse"

    def test_a_preposition_that_a_thing_elsewhere_has_as_a_name_parts_the_phrases_all_the_same(self) -> None:
        words = vocabulary("inform")
        words = replace(words, objects={**words.objects, "in": (LOOM,)}, mentions={**words.mentions, "in": (LOOM,)})
        judge = check(words, knowing(VATS, LOFT))
        assert kind_of(judge.opinion(moment(), "dip banner in basket")) == "accept"
        assert kind_of(judge.opinion(moment(), "dip banner in loom")) == "refuse"

    def test_a_word_that_something_here_may_answer_to_in_its_own_way_is_not_refused(self) -> None:
        words = vocabulary()
        words = replace(words, mentions={**words.mentions, "loom": (LOOM, BASKET)})
        assert kind_of(check(words).opinion(moment(), "take loom")) == "accept"


@pytest.mark.parametrize("action", ["take 7", 'dip "gazebo"', "take x-ray", "lightning banner"])
def test_numbers_quotations_marks_and_words_told_apart_by_no_letter_kept_are_not_refused(action: str) -> None:
    words = vocabulary()
    words = replace(words, words=words.words | {"lightn"})
    assert kind_of(check(words).opinion(moment(), action)) != "refuse"


def failing(*tries: TurnRecord, graph: MapGraph | None = None) -> ObjectCheck:
    """Return a check that has seen these turns, with a map on which the exit north of the vats is pruned."""
    graph = graph or MapGraph()
    for _ in range(3):
        graph.record_failure(VATS, "north", prune_after=3)
    judge = check(graph=graph)
    for each in tries:
        learn(judge, each)
    return judge


def shut(world: str = "w1", answer: str = "The gate is shut.") -> TurnRecord:
    """Return a turn in which the exit north of the vats failed, in that state of the world."""
    return turn("north", moment(world=world), moment(answer, world=world))


def no_way(exit_: str = "north", answer: str = "There is no way there.") -> TurnRecord:
    """Return a turn in which an exit of the vats failed."""
    return turn(exit_, moment(), moment(answer))


REFUSED = moment("There is no way there.")
"""The player was just refused an exit of the vats."""


NO_WAYS = (no_way("up"), *[no_way()] * 3)
SAILING, NEWS = no_way(answer="You are still sailing north."), no_way(answer="There is no way there. A bell rings.")
QUESTION = "(Please type YES or NO.)"
WALKED_ABOUT = (*NO_WAYS, turn("up", moment(), replace(in_the_loft(), world_hash="w2")))
TURNED = turn("north", moment(), moment("There is no way there.", world="w2"))
NOWHERE = turn("up", moment(world=""), moment("The gate is shut.", world=""))
AROUND = turn("up", moment(), moment("Blue Vats (in a trance)\nThe vats run on to the north."))
EXITS: dict[str, tuple[Sequence[TurnRecord], Observation, str]] = {
    "another room": (NO_WAYS, in_the_loft(), "accept"),
    "an answer that no other exit had, as of a vehicle that is steered": ([SAILING] * 4, SAILING.after, "none"),
    "an answer with news": ([*NO_WAYS, NEWS], NEWS.after, "none"),
    "a question": ([no_way(exit_, QUESTION) for exit_ in ("up", *["north"] * 3)], moment(QUESTION), "none"),
    "a text since then": (NO_WAYS, replace(REFUSED, text="Time passes."), "none"),
    "a clock that has gone on": (NO_WAYS, replace(REFUSED, moves=9), "none"),
    "tries in another episode alone": ((), moment(), "none"),
    "tries in other states alone, as in a desert": (
        [shut(f"w{each}") for each in (2, 3, 4)],
        moment(world="w5"),
        "none",
    ),
    "a change with the tries before, as of a wheel": ([no_way("up"), TURNED, TURNED, no_way()], REFUSED, "none"),
    "a change while the player walked about": (WALKED_ABOUT, replace(REFUSED, world_hash="w3"), "none"),
    "no change while the player walked about": (WALKED_ABOUT, REFUSED, "refuse"),
    "answers that differ": ([no_way("up"), no_way(answer="A dog growls."), *[no_way()] * 3], REFUSED, "none"),
    "a state that is not known": ([NOWHERE, *[shut("")] * 3], NOWHERE.after, "none"),
    "a walk that led back to the same place, as in a maze": ([no_way("up"), AROUND, *[no_way()] * 3], REFUSED, "none"),
}


class TestExits:
    def test_an_exit_that_just_failed_again_in_this_very_state_of_the_world_is_refused_however_it_is_worded(
        self,
    ) -> None:
        opinion = failing(*NO_WAYS).opinion(REFUSED, "Go north")
        assert opinion
        assert (opinion.accepted, opinion.source) == (False, "map")
        assert "'north'" in opinion.reason
        assert "There is no way there." in opinion.reason

    def test_another_exit_is_not(self) -> None:
        assert kind_of(failing(*NO_WAYS).opinion(REFUSED, "up")) == "accept"

    @pytest.mark.parametrize("case", EXITS)
    def test_it_is_certain_to_fail_only_if_nothing_speaks_against_it(self, case: str) -> None:
        tries, now, expected = EXITS[case]
        assert kind_of(failing(*tries).opinion(now, "north")) == expected
