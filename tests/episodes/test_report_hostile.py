"""The report of a run whose model wrote code for browsers and invalid text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from session.files.run_folders import find_run
from tests.fixtures.report_data import calls_of, data_in, event_of, text_of
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.typed_command import printed
from tests.fixtures.whole_run import play_run
from zorkgpt.llm.language_model import Prompt, Role

SURROGATE, SPELLED_OUT = "\ud83d", "\\ud83d"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\x1b]0;owned\x07\u202eth\u2066gir\u2028{{7*7}}"
LONG = f"{HOSTILE} {SURROGATE} " + "why not " * 12_500 + "?"
COMMANDS = ("north", f"say {HOSTILE}", "look")


def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, Any]:
    del schema
    if role == "agent":
        turn = int(prompt.user.partition("## Turn\n")[2].split()[0])
        return {"reasoning": LONG, "action": COMMANDS[(turn - 1) % len(COMMANDS)]}
    if role == "memory":
        remembered = {"category": "NOTE", "memory_title": HOSTILE, "memory_text": HOSTILE, "persistence": "permanent"}
        return {"memories": [{"should_remember": True, "turn": 1, **remembered}]}
    return {"accepted": True, "reason": HOSTILE, "confidence": 0.5}


pytestmark = pytest.mark.usefixtures("in_own_folder")


def test_all_of_it_is_data_and_its_prompts_are_those_of_the_recorded_checksums(own_story: Path) -> None:
    options: dict[str, Any] = {
        "objectives": {"enabled": False},
        "knowledge": {"enabled": False},
        "extractor": {"mode": "none"},
    }
    play_run(own_story, ScriptedLLM(reply), Path("work"), max_turns_per_episode=6, **options)
    printed("report", str(find_run(Path("work"))), "--game", str(own_story))
    page = Path("report.html").read_text(encoding="utf-8")
    assert re.findall(r"<script[^>]*>", page.partition("</head>")[2])[0].startswith('<script type="application/json"')
    assert "owned" not in page
    (run,) = data_in(page)["runs"]
    calls = [call for turn in run["turns"] for call in calls_of(turn)]
    assert (run["prompts"], run["notes"], {call["prompt"]["agrees"] for call in calls}) == ("rebuilt", [], {True})
    spelled_out = LONG.replace(SURROGATE, SPELLED_OUT)
    played = event_of(run["turns"][1], "turn_played")
    assert played is not None
    assert played["record"]["proposals"][-1]["reasoning"] == spelled_out
    assert {call["event"]["kind"] for call in calls} == {"model_answered"}
    asked = [call for call in calls if call["event"]["role"] == "agent"]
    assert {call["event"]["answer"]["reasoning"] for call in asked} == {spelled_out}
    assert any(HOSTILE in text_of(call["prompt"]["user"], run["lines"]) for call in asked)
    assert any(item["title"].startswith("</script>") for item in run["end"] if item["kind"] == "memory")
    assert not re.search("[\ud800-\udfff]", page + str(run))
