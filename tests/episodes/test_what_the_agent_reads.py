"""Two hundred turns of play, with each required part once in every prompt of the agent."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from session.text import description_in
from session.values import TurnRecord
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.walkthrough import WINNING_SEED, get_zork1_walkthrough
from tests.fixtures.whole_run import play_run
from zorkgpt.llm.language_model import Prompt, Role

TURNS = 200
LONG_LINE = 80


class Moment(NamedTuple):
    """A turn, and the prompt for its command."""

    turn: TurnRecord
    prompt: str


def moments_of(
    story: Path, folder: Path, commands: tuple[str, ...], *, reads_rooms: bool, **options: Any
) -> list[Moment]:
    """Every turn of the commands, with a model that takes each text for a room's description, or none."""
    left = iter(commands)
    prompts: list[str] = []

    def reply(role: Role, prompt: Prompt, _schema: type[BaseModel]) -> dict[str, Any]:
        if role != "agent":
            return {"memories": [], "objectives": [], "reasoning": "", "lines": []}
        prompts.append(prompt.user)
        return {"reading": {"is_room_description": reads_rooms}, "reasoning": "As planned.", "action": next(left)}

    options |= {"critic": {"mode": "object_tree"}, "max_turns_per_episode": len(commands)}
    run = play_run(story, ScriptedLLM(reply), folder, **options)
    return [Moment(turn, prompt) for turn, prompt in zip(run.turns, prompts, strict=True)]


@pytest.fixture(scope="module", params=["zork1", "zork1, in a window", "tidehouse"])
def moments(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Moment]:
    """A winning game."""
    folder = tmp_path_factory.mktemp("reads")
    if request.param.startswith("zork1"):
        options: dict[str, Any] = {"prompt_budgets": {"history": 0}} if request.param != "zork1" else {}
        commands = tuple(get_zork1_walkthrough()[:TURNS])
        zork1: Path = request.getfixturevalue("zork1")
        return moments_of(zork1, folder, commands, reads_rooms=True, seed=WINNING_SEED, **options)
    own_story: Path = request.getfixturevalue("own_story")
    return moments_of(own_story, folder, WALKTHROUGH, reads_rooms=False, seed=1)


def first_sentence(description: str) -> str:
    """The first sentence after the room's name, which stories that are brief do not print on coming back."""
    body = description.partition("\n")[2].strip()
    return re.split(r"(?<=[.!?])\s", body)[0]


def test_every_prompt_has_the_rooms_description(moments: list[Moment]) -> None:
    described: dict[int, str] = {}
    without = []
    for turn, prompt in moments:
        here = turn.before.location
        assert here is not None
        told = description_in(turn.before.text, here.name)
        if told and here.num not in described:
            described[here.num] = first_sentence(told)
        if described.get(here.num, "") not in prompt:
            without.append((turn.turn, here.name))
    assert without == []
    assert len(described) > 4


def test_only_the_latest_text_stands_in_a_prompt_twice_and_the_banner_in_the_first_alone(moments: list[Moment]) -> None:
    """The latest text is whole even where an earlier turn has its lines."""
    twice = [
        (turn.turn, line)
        for turn, prompt in moments
        for line, times in Counter(prompt.splitlines()).items()
        if times > 1 + (line in turn.before.text) and len(line) >= LONG_LINE
    ]
    assert twice == []
    for turn, prompt in moments:
        latest = prompt.partition(f"\nTurn {turn.turn - 1}:")[2] or prompt
        assert [line for line in turn.before.text.splitlines() if line.strip() not in latest] == []
    assert [turn.turn for turn, prompt in moments if "Serial number" in prompt] == [1]


def test_what_is_in_sight_was_named_on_the_screen_or_carried(moments: list[Moment]) -> None:
    screen = ""
    listed = 0
    for turn, prompt in moments:
        screen += f" {turn.before.text}".casefold()
        screen += " ".join(["", *(thing.name for thing in turn.before.inventory or ())]).casefold()
        for names in re.findall(r"^Here: (.*)$", prompt, re.MULTILINE):
            listed += 1
            words = re.sub(r" \(with |\)", ", ", names).split(", ")
            assert [name for name in filter(None, words) if name.casefold() not in " ".join(screen.split())] == []
    assert listed > len(moments) / 10


def test_what_was_tried_in_vain_is_listed_at_its_place(moments: list[Moment]) -> None:
    tried: dict[int, set[str]] = {}
    for turn, prompt in moments:
        here = turn.before.location
        assert here is not None
        listed = re.findall(r"^## Tried here, no visible change\n(.*)$", prompt, re.MULTILINE)
        commands = {name for names in listed for name in re.findall(r"`([^`]*)`", names)}
        assert commands <= tried.get(here.num, set())
        if turn.before.state_hash == turn.after.state_hash:
            tried.setdefault(here.num, set()).add(turn.action.lower())
