"""The agent proposes its model's command, limited to valid actions if they are offered."""

from __future__ import annotations

import pytest

from session.context import AgentContext, PromptSection
from session.errors import ResponseInvalid
from session.values import AgentNote, ObjectiveNote, Proposal, Reading
from zorkgpt.llm.stand_ins import ScriptedLLM
from zorkgpt.players.agent import Agent

SECTIONS = (PromptSection("Past", "You were in the yard."), PromptSection("Present", "You are in the shed."))


def test_the_proposal_is_the_models_answer_without_surrounding_blanks() -> None:
    model = ScriptedLLM([{"reasoning": " It is dark. ", "action": " light lamp\n"}])
    assert Agent(model).propose(AgentContext(SECTIONS)) == Proposal("light lamp", "It is dark.")


def test_the_sections_reach_the_model_in_their_order_after_the_fixed_instructions() -> None:
    model = ScriptedLLM([{"reasoning": "", "action": "look"}])
    Agent(model).propose(AgentContext(SECTIONS))
    call = model.calls[0]
    assert call.role == "agent"
    assert call.prompt.user == "## Past\nYou were in the yard.\n\n## Present\nYou are in the shed."
    assert "JSON" in call.prompt.system


@pytest.mark.parametrize(("action", "valid"), [("fly", ("north", "take oar")), ("", None)])
def test_an_action_outside_the_valid_ones_or_none_is_no_answer(action: str, valid: tuple[str, ...] | None) -> None:
    model = ScriptedLLM([{"reasoning": "", "action": action}])
    with pytest.raises(ResponseInvalid):
        Agent(model).propose(AgentContext(SECTIONS, valid_actions=valid))


def test_valid_actions_are_an_enumeration_in_the_schema() -> None:
    model = ScriptedLLM([{"reasoning": "I go on to the oar.", "action": "north"}])
    Agent(model, reasoning_length=80).propose(AgentContext(SECTIONS, valid_actions=("north", "take oar")))
    properties = model.calls[0].schema.model_json_schema()["properties"]
    assert properties["action"]["enum"] == ["north", "take oar"]


def test_equal_valid_actions_make_one_schema_whatever_the_turn() -> None:
    """To make one takes a millisecond, and its JSON more."""
    model, actions = ScriptedLLM([{"reasoning": "", "action": "north"}] * 2), ["north", "take oar"]
    for _ in range(2):
        Agent(model).propose(AgentContext(SECTIONS, valid_actions=tuple(actions)))
    assert model.calls[0].schema is model.calls[1].schema


def test_without_any_valid_action_the_agent_may_say_what_it_likes() -> None:
    model = ScriptedLLM([{"reasoning": "", "action": "yes"}])
    assert Agent(model).propose(AgentContext(SECTIONS, valid_actions=())).action == "yes"


def test_a_reading_agent_answers_with_its_reading_first() -> None:
    reading = {"is_room_description": True, "exits": ["up"], "in_combat": False}
    model = ScriptedLLM([{"reading": reading, "reasoning": "why", "action": "up"}])
    proposal = Agent(model, reads=True).propose(AgentContext(SECTIONS))
    assert proposal == Proposal("up", "why", Reading(is_room_description=True, exits=("up",)))
    assert list(model.calls[0].schema.model_json_schema()["properties"]) == ["reading", "reasoning", "action"]
    assert "in_combat" in model.calls[0].prompt.system


@pytest.mark.parametrize(
    "reading", [{}, {"reading": None}, {"reading": {"exits": "north", "in_combat": None}}, {"reading": "none"}]
)
def test_a_reading_that_is_left_out_or_wrong_costs_nothing(reading: dict[str, object]) -> None:
    model = ScriptedLLM([{**reading, "reasoning": "why", "action": "up"}])
    assert Agent(model, reads=True).propose(AgentContext(SECTIONS)) == Proposal("up", "why", Reading())


@pytest.mark.parametrize(
    ("objective", "note"),
    [
        ({"done": 2}, ObjectiveNote(done=2)),
        ({"done": None, "new": " Dye the banner "}, ObjectiveNote(new="Dye the banner")),
        ({"done": "3", "new": None}, ObjectiveNote(done=3)),
        (None, None),
        ({"done": None, "new": None}, None),
        ("Dye the banner", None),
        ({"done": "the second"}, None),
    ],
)
@pytest.mark.parametrize("reads", [True, False])
def test_an_answer_may_say_something_of_objectives_and_nonsense_costs_nothing(
    objective: object, note: ObjectiveNote | None, reads: bool
) -> None:
    model = ScriptedLLM([{"reasoning": "why", "action": "up", "objective": objective}])
    proposal = Agent(model, reads=reads, notes_objectives=True).propose(AgentContext(SECTIONS))
    assert (proposal.action, proposal.objective) == ("up", note)
    assert list(model.calls[0].schema.model_json_schema()["properties"])[-2:] == ["action", "objective"]
    assert "`objective`" in model.calls[0].prompt.system


def test_who_is_not_asked_for_objectives_says_nothing_of_them() -> None:
    model = ScriptedLLM([{"reasoning": "why", "action": "up", "objective": {"done": 1}}])
    assert Agent(model).propose(AgentContext(SECTIONS)).objective is None
    assert "`objective`" not in model.calls[0].prompt.system


def test_an_answer_without_reasoning_is_an_answer() -> None:
    assert Agent(ScriptedLLM([{"action": "up"}])).propose(AgentContext(SECTIONS)) == Proposal("up")


@pytest.mark.parametrize("reasoning", ["I look for a way up.", "I want to see what the tide, if it comes, will do."])
def test_a_bounded_reasoning_is_one_plain_sentence(reasoning: str) -> None:
    model = ScriptedLLM([{"reasoning": reasoning, "action": "up"}])
    assert Agent(model, reasoning_length=60).propose(AgentContext(SECTIONS)).reasoning == reasoning


@pytest.mark.parametrize("reasoning", ["<pre><code>", "I.", "I " + "x" * 70 + ".", "I think 2017_28_16."])
def test_a_model_that_rambles_beyond_the_bound_gave_no_answer(reasoning: str) -> None:
    model = ScriptedLLM([{"reasoning": reasoning, "action": "up"}])
    with pytest.raises(ResponseInvalid):
        Agent(model, reasoning_length=60).propose(AgentContext(SECTIONS))


@pytest.mark.parametrize("valid", [("north", "take oar"), None])
def test_an_agent_without_reasoning_is_asked_for_the_command_alone(valid: tuple[str, ...] | None) -> None:
    model = ScriptedLLM([{"action": "north"}])
    agent = Agent(model, reasoning_length=0)
    assert agent.propose(AgentContext(SECTIONS, valid_actions=valid)) == Proposal("north")
    assert list(model.calls[0].schema.model_json_schema()["properties"]) == ["action"]
    assert "reasoning`" not in model.calls[0].prompt.system
    assert '{"action":' in model.calls[0].prompt.system


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ({"text": "Red before blue"}, AgentNote("Red before blue")),
        ({"text": " Blue ", "number": 2}, AgentNote("Blue", 2)),
        ({"number": 1}, AgentNote("", 1)),
        ({"text": " "}, None),
        (None, None),
        ("nonsense", None),
        ({"number": "two"}, None),
    ],
)
def test_an_answer_may_keep_a_line_in_view_and_nonsense_costs_nothing(answer: object, note: AgentNote | None) -> None:
    model = ScriptedLLM([{"reasoning": "why", "action": "up", "note": answer}])
    proposal = Agent(model, keeps_notes=True).propose(AgentContext(SECTIONS))
    assert (proposal.action, proposal.note) == ("up", note)
    assert "`note`" in model.calls[0].prompt.system
