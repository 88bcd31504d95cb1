"""The agent proposes its model's command, limited to valid actions if they are offered."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from session.context import AgentContext, PromptSection
from session.errors import ResponseInvalid
from session.values import AgentNote, ObjectiveNote, Observation, Proposal, Reading
from tests.fixtures.scripted_llm import ScriptedLLM
from zorkgpt.llm.language_model import Task
from zorkgpt.llm.openai.answers import read_answer, split_reasoning
from zorkgpt.players.agent import ModelPlayer, without_marks
from zorkgpt.players.player import TurnContext

SECTIONS = (PromptSection("Past", "You were in the yard."), PromptSection("Present", "You are in the shed."))


def seen(valid: tuple[str, ...] | None = None) -> TurnContext:
    """What the agent may know on its second turn."""
    return TurnContext(Observation("You are in the shed."), 2, 9, lambda _system: AgentContext(SECTIONS), valid)


def proposed(answer: dict[str, object], valid: tuple[str, ...] | None = None, **options: Any) -> tuple[Proposal, Task]:
    """The proposal of an agent whose model answers that, and how the model was called."""
    model = ScriptedLLM([{"reasoning": "why", **answer}])
    proposal = ModelPlayer(model, **options).propose(seen(valid))
    (call,) = model.calls
    return proposal, call


def fields_of(call: Task) -> list[str]:
    return list(call.schema.model_json_schema()["properties"])


def test_the_model_gets_the_sections_in_their_order_and_its_answer_is_the_proposal_without_surrounding_blanks() -> None:
    proposal, call = proposed({"reasoning": " It is dark. ", "action": " light lamp\n"})
    assert proposal == Proposal("light lamp", "It is dark.")
    assert call.role == "agent"
    assert call.prompt.user == "## Past\nYou were in the yard.\n\n## Present\nYou are in the shed."
    assert "JSON" in call.prompt.system


@pytest.mark.parametrize(("action", "valid"), [("fly", ("north", "take oar")), ("", None)])
def test_an_action_outside_the_valid_ones_or_none_is_no_answer(action: str, valid: tuple[str, ...] | None) -> None:
    with pytest.raises(ResponseInvalid):
        proposed({"action": action}, valid)


def test_a_step_of_its_course_and_the_only_choice_need_no_call_of_the_model() -> None:
    player, step = ModelPlayer(ScriptedLLM([])), Proposal("wave")
    assert player.unasked(seen(("north",)), step) is step
    assert player.unasked(seen(("north",)), None) == Proposal(
        "north", "The only command on the list; no model was asked."
    )
    assert player.unasked(seen(("north", "up")), None) is player.unasked(seen(), None) is None


def test_valid_actions_are_an_enumeration_in_the_schema_unless_there_are_none() -> None:
    _, call = proposed({"action": "north"}, ("north", "take oar"))
    assert call.schema.model_json_schema()["properties"]["action"]["enum"] == ["north", "take oar"]
    assert proposed({"action": "yes"}, ())[0].action == "yes"


def test_equal_valid_actions_make_one_schema_whatever_the_turn() -> None:
    """To make one takes a millisecond, and its JSON more."""
    model, actions = ScriptedLLM([{"reasoning": "", "action": "north"}] * 2), ["north", "take oar"]
    for _ in range(2):
        ModelPlayer(model).propose(seen(tuple(actions)))
    assert model.calls[0].schema is model.calls[1].schema


def test_a_reading_agent_answers_with_its_reading_first() -> None:
    reading = {"is_room_description": True, "exits": ["up"], "in_combat": False}
    proposal, call = proposed({"reading": reading, "action": "up"}, reads=True)
    assert proposal == Proposal("up", "why", Reading(is_room_description=True, exits=("up",)))
    assert fields_of(call) == ["reading", "reasoning", "action"]
    assert "in_combat" in call.prompt.system


@pytest.mark.parametrize(
    "reading", [{}, {"reading": None}, {"reading": {"exits": "north", "in_combat": None}}, {"reading": "none"}]
)
def test_a_reading_that_is_left_out_or_wrong_costs_nothing(reading: dict[str, object]) -> None:
    assert proposed({**reading, "action": "up"}, reads=True)[0] == Proposal("up", "why", Reading())


@pytest.mark.parametrize(
    ("objective", "note"),
    [
        ({"done": 2}, ObjectiveNote(done=2)),
        ({"done": None, "new": " Dye the banner "}, ObjectiveNote(new="Dye the banner")),
        ({"done": "3", "new": None}, ObjectiveNote(done=3)),
        ({"done": [2, 4], "new": ["Dye it", " ", "Dry it "]}, ObjectiveNote(2, "Dye it", "", (4,), ("Dry it",))),
        ({"drop": [3, 4]}, ObjectiveNote(dropped=(3, 4))),
        ({"done": [2], "rest": " Dry it "}, ObjectiveNote(2, rest="Dry it")),
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
    answer: dict[str, object] = {"action": "up", "objective": objective}
    proposal, call = proposed(answer, reads=reads, notes_objectives=True)
    assert (proposal.action, proposal.objective) == ("up", note)
    assert fields_of(call)[-2:] == ["action", "objective"]
    assert "`objective`" in call.prompt.system
    unasked, call = proposed(answer, reads=reads)
    assert unasked.objective is None
    assert "`objective`" not in call.prompt.system


def test_an_answer_without_reasoning_is_an_answer() -> None:
    assert ModelPlayer(ScriptedLLM([{"action": "up"}])).propose(seen()) == Proposal("up")


@pytest.mark.parametrize("reasoning", ["I look for a way up.", "I want to see what the tide, if it comes, will do."])
def test_a_bounded_reasoning_is_one_plain_sentence(reasoning: str) -> None:
    assert proposed({"reasoning": reasoning, "action": "up"}, reasoning_length=60)[0].reasoning == reasoning


@pytest.mark.parametrize("reasoning", ["<pre><code>", "I.", "I " + "x" * 70 + ".", "I think 2017_28_16."])
def test_a_model_that_rambles_beyond_the_bound_gave_no_answer(reasoning: str) -> None:
    with pytest.raises(ResponseInvalid):
        proposed({"reasoning": reasoning, "action": "up"}, reasoning_length=60)


@pytest.mark.parametrize("valid", [("north", "take oar"), None])
def test_an_agent_without_reasoning_is_asked_for_the_command_alone(valid: tuple[str, ...] | None) -> None:
    proposal, call = proposed({"action": "north"}, valid, reasoning_length=0)
    assert proposal == Proposal("north")
    assert fields_of(call) == ["action"]
    assert "reasoning`" not in call.prompt.system
    assert '{"action":' in call.prompt.system


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
    proposal, call = proposed({"action": "up", "note": answer}, keeps_notes=True)
    assert (proposal.action, proposal.note) == ("up", note)
    assert "`note`" in call.prompt.system


MARKED = {
    "> north": "north",
    '"north"': "north",
    "'north'": "north",
    "`north`": "north",
    "**north**": "north",
    "<north>": "north",
    "\u201cnorth\u201d": "north",
    "```text\nnorth\n```": "north",
    "command: north": "north",
    "**Action:** `> north`": "north",
    '"say "hello""': 'say "hello"',
    '> ask guard "who goes there"': 'ask guard "who goes there"',
}


@pytest.mark.parametrize("written", MARKED)
def test_marks_around_a_command_are_taken_off_as_the_answer_is_read(written: str) -> None:
    schema = proposed({"action": "wait"})[1].schema
    answer = read_answer(split_reasoning(json.dumps({"action": written})), schema)
    assert answer.model_dump()["action"] == MARKED[written]
    assert schema.model_validate({"action": written}).model_dump()["action"] == written, "as it was recorded"


@pytest.mark.parametrize(
    "command",
    ['say "hello"', 'answer "a moment"', '"hello" said "bye"', 'guard, "open gate"', "'tis", '"', ">", "command robot"],
)
def test_marks_of_a_command_itself_stay(command: str) -> None:
    assert without_marks(command) == command


def test_a_marked_command_may_be_one_of_the_valid_actions() -> None:
    schema = proposed({"action": "north"}, ("north", "`x`"))[1].schema
    for written, action in (("> north", "north"), ("`x`", "`x`")):
        text = json.dumps({"reasoning": "", "action": written})
        assert read_answer(split_reasoning(text), schema).model_dump()["action"] == action


@pytest.mark.parametrize("valid", [None, ("up", "down")])
def test_the_player_of_the_page_on_extending_adds_its_instruction(valid: tuple[str, ...] | None) -> None:
    page = (Path(__file__).parents[4] / "docs" / "development" / "extending.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(next(code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "ModelPlayer" in code), names)
    model = ScriptedLLM([{"reasoning": "why", "action": "up"}])
    assert names["CautiousPlayer"](model, travels=True).propose(seen(valid)).action == "up"
    plain = ModelPlayer(model, travels=True).system_prompt(assisted=valid is not None)
    assert model.calls[0].prompt.system == f"{plain}\n\nPrefer what can be undone."
