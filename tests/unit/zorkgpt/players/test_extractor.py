"""The extractor reads in a call of its own."""

from __future__ import annotations

from session.values import Reading
from zorkgpt.llm.stand_ins import ScriptedLLM
from zorkgpt.players.extractor import Extractor


def test_the_text_is_read_in_the_role_info_ext() -> None:
    model = ScriptedLLM([{"is_room_description": True, "exits": ["north", "in"], "in_combat": True}])
    assert Extractor(model).read("Mill\nA mill.") == Reading(True, ("north", "in"), True)
    (call,) = model.calls
    assert (call.role, call.prompt.user) == ("info_ext", "Mill\nA mill.")
