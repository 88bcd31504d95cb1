"""The end of an episode gives the exact opening of the next game, which can be followed as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from managers.ahead import MEMORIES_AHEAD
from managers.episode_synthesizer import LAST_EPISODE_TITLE
from managers.memory.document import parse_memories
from managers.plan import commands_in
from session.memory import Memory
from tests.episodes.test_courses import course_in
from tests.fixtures.doomed_run import decided_by_prompt
from tests.fixtures.run_traces import journal_of
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import WholeRun, killing_after, play_run, resume_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role

TURNS = 24
OPTIONS: dict[str, Any] = {
    "max_turns_per_episode": TURNS,
    "critic": {"mode": "object_tree"},
    "objectives": {"enabled": False},
    "simple_memory": {"enabled": False},
}
PLANNED = (*WALKTHROUGH[:9], "jump", *WALKTHROUGH[9:14])


def turn_of(prompt: Prompt) -> int:
    return int(prompt.user.partition("## Turn\n")[2].split()[0])


class Planner:
    """Plays the walkthrough, plans its first commands with a wait, and follows that plan in the second episode."""

    def __init__(self, commands: object = PLANNED, *, leaves_at: int = 0) -> None:
        self._commands, self._leaves_at = commands, leaves_at

    def __call__(self, role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if "plan" in schema.model_fields:
            commands = self._commands if "PLAN SO FAR ===\n- " not in prompt.user else None
            return {"plan": ["Wait on the landing"], "commands": commands}
        if role != "agent":
            return decided_by_prompt(role, prompt, schema)
        if "`follow` 0" not in prompt.user:
            return {"action": WALKTHROUGH[turn_of(prompt) - 1]}
        return {"action": "wait", "follow": 0} if turn_of(prompt) == 1 else {"action": "look"}


def play(story: Path, folder: Path, reply: Any = None, **options: Any) -> tuple[WholeRun, list[str]]:
    model = ScriptedLLM(reply or Planner())
    run = play_run(story, model, folder, **{"episodes": 2, **OPTIONS, **options})
    return run, [call.prompt.user for call in model.calls if call.role == "agent"]


def test_the_next_game_is_shown_the_commands_whole_and_follows_them(own_story: Path, tmp_path: Path) -> None:
    run, prompts = play(own_story, tmp_path)
    opening = prompts[TURNS]
    line = next(each for each in opening.splitlines() if "`follow` 0" in each)
    numbered = ", ".join(f"{number}. {command}" for number, command in enumerate(PLANNED, start=1))
    assert line.startswith("`follow` 0 plays 15 commands, ")
    assert "; command 10 never played there; command 11 not played in this order before: " in line
    assert re.sub(r" \(\+\d+(?: expected)?, \d+ so far\)", "", line).endswith(numbered)
    assert "8. take key (+5, 10 so far), " in line
    (kept,) = (line for line in (tmp_path / "knowledgebase.md").read_text().splitlines() if "Commands: " in line)
    assert commands_in(kept.removeprefix("- ").partition(" *(")[0]) == PLANNED
    second = [turn for turn in run.turns if turn.episode == 2]
    assert [turn.action for turn in second[:10]] == list(PLANNED[:10])
    assert {turn.verdicts[-1].source for turn in second[:9]} == {"then"}
    assert f"Not played: {', '.join(numbered.split(', ')[10:])}." in course_in(prompts[TURNS + 1])
    assert "`follow` 0 goes on with the plan: its command 11, " in course_in(prompts[TURNS + 1]), "its rest is offered"


def test_commands_that_no_game_has_played_at_their_place_are_named_in_the_prompt(
    own_story: Path, tmp_path: Path
) -> None:
    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        answer = Planner((*PLANNED, "sing to chest", *WALKTHROUGH[14:16], "juggle"))(role, prompt, schema)
        if "plan" in schema.model_fields:
            shown.append(prompt.user.partition("PLAN SO FAR ===")[2].partition("===")[0])
            answer["plan"] = ["Wait on the landing", "Guess: `fly`, then `dance`"]
        return answer

    shown: list[str] = []
    _, prompts = play(own_story, tmp_path, reply)
    section = prompts[TURNS].partition(f"## {LAST_EPISODE_TITLE}\n")[2].partition("\n\n## ")[0]
    assert "Plan for this episode:\n1. Wait on the landing\n2. Guess: `fly`, then `dance`\n" in section
    assert "; commands 10, 16, 19 never played there; " in section
    assert "; commands 16, 19 never played there; " in shown[1], "the wait was played meanwhile"


def test_that_all_of_it_was_played_is_stated_and_not_before(own_story: Path, tmp_path: Path) -> None:
    _, prompts = play(own_story, tmp_path, Planner(WALKTHROUGH[:9]))
    told = ["All commands of the plan are played." in prompt for prompt in prompts]
    assert (told[:TURNS], told[TURNS], told[TURNS + 1]) == ([False] * TURNS, False, True)


def test_memories_of_places_on_its_way_are_shown_until_the_player_comes_there(own_story: Path, tmp_path: Path) -> None:
    chest = Memory("NOTE", "Chest", 1, "6", 0, "The tin is in the chest.", "permanent")
    file = parse_memories("").add_memory(74, "Keeper's Bedroom", chest)
    (tmp_path / "Memories.md").write_text(file.render(), encoding="utf-8")
    _, prompts = play(own_story, tmp_path, simple_memory={"enabled": True})
    ahead = [prompt.partition(f"## {MEMORIES_AHEAD}\n")[2].partition("\n## ")[0] for prompt in prompts]
    shown = ["L74 Keeper's Bedroom: [NOTE] Chest: The tin is in the chest." in each for each in ahead]
    assert (shown[0], shown[TURNS], shown[TURNS + 1]) == (False, True, False)


def test_its_rest_is_offered_where_a_command_without_a_known_result_has_led_in_this_game(
    own_story: Path, tmp_path: Path
) -> None:
    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        is_next = role == "agent" and "its command 4, `dance` (never played here)." in prompt.user
        return {"action": "dance"} if is_next else Planner((*WALKTHROUGH[:3], "dance", "spin"))(role, prompt, schema)

    _, prompts = play(own_story, tmp_path, reply)
    assert "goes on with the plan: its command 5, `spin` (never played here)." in course_in(prompts[-1])


def offered_after(commands: list[str], prompts: list[str]) -> list[str]:
    """Return what the prompts of the second episode offer after each of its commands."""
    sections = [course_in(prompt) for prompt in prompts[TURNS + 1 : TURNS + 1 + len(commands)]]
    found = [re.search(r"goes on with the plan: its command (\d+, `.*)\.$", each) for each in sections]
    return [each[1].replace("`", "") if each else "" for each in found]


def played_by_hand(commands: list[str], *planned: str) -> Any:
    """Return a model that plays these commands in the second episode, although it has a plan."""

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if role != "agent" or "`follow` 0" not in prompt.user:
            return Planner(planned or WALKTHROUGH[:9])(role, prompt, schema)
        turn = turn_of(prompt)
        if turn == 8 and len(commands) == 7:
            return {"action": "wait", "follow": 0, "stop_at": "failure"}
        return {"action": commands[turn - 1] if turn <= len(commands) else "look"}

    return reply


def test_it_goes_on_after_what_was_done_in_whatever_order_where_that_is(own_story: Path, tmp_path: Path) -> None:
    commands = ["north", "north", "up", "west", "open chest", "east", "down", "take lamp", "up", "west"]
    _, prompts = play(own_story, tmp_path, played_by_hand(commands))
    assert offered_after(commands, prompts) == [
        "2, north",
        "3, take lamp",
        "5, west (command 3 not played)",
        "6, open chest (command 3 not played)",
        "7, open tin (command 3 not played)",
        *("", "3, take lamp", "", "", "7, open tin"),
    ]


def test_it_is_followed_up_to_a_command_that_was_done_before(own_story: Path, tmp_path: Path) -> None:
    commands = ["north", "north", "up", "west", "open chest", "east", "down"]
    run, prompts = play(own_story, tmp_path, played_by_hand(commands))
    assert [turn.action for turn in run.turns[TURNS + 7 : TURNS + 11]] == ["take lamp", "up", "west", "look"]
    told = course_in(prompts[TURNS + 8])
    assert "followed up to `west`, in 3 commands. Its command 6, `open chest`, was done before." in told
    assert "its command 7, `open tin`." in told


@pytest.mark.parametrize(
    ("commands", "offered"),
    [
        (["north", "north", "get lamp"], "4, up"),
        (["north", "north", "take all"], "4, up"),
        (["walk north", "walk north"], "3, take lamp (commands 1 to 2 not played)"),
    ],
    ids=["a thing got by another command", "a thing got with others", "moves that are left out"],
)
def test_what_was_done_in_other_words_counts(
    own_story: Path, tmp_path: Path, commands: list[str], offered: str
) -> None:
    _, prompts = play(own_story, tmp_path, played_by_hand(commands))
    assert offered_after(commands, prompts)[-1] == offered


def test_a_command_that_was_played_at_another_place_is_not_called_unplayed(own_story: Path, tmp_path: Path) -> None:
    commands = ["jump", "north", "north", "up"]
    _, prompts = play(own_story, tmp_path, played_by_hand(commands, "north", "north", "jump", "up", "west"))
    assert offered_after(commands, prompts)[-1] == "5, west (command 3 played, but not as planned)"


def test_its_commands_keep_their_numbers_when_it_is_followed_again(own_story: Path, tmp_path: Path) -> None:
    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent" and "its command 11" in prompt.user:
            return {"action": "wait", "follow": 0, "until": 12}
        return Planner()(role, prompt, schema)

    run, prompts = play(own_story, tmp_path, reply)
    eleventh, twelfth = run.turns[TURNS + 10 : TURNS + 12]
    assert [turn.action for turn in (eleventh, twelfth)] == list(PLANNED[10:12])
    assert twelfth.proposals[-1].reasoning == "On the plan: command 12 of 12."
    assert "`follow` 0 goes on with the plan: its command 13, " in course_in(prompts[TURNS + 2])


def test_a_plan_without_new_commands_keeps_them_and_checks_them_again(own_story: Path, tmp_path: Path) -> None:
    shown: list[str] = []

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if "plan" in schema.model_fields:
            shown.append(prompt.user.partition("PLAN SO FAR ===")[2].partition("===")[0])
        return Planner()(role, prompt, schema)

    play(own_story, tmp_path, reply)
    assert "; command 11 not played in this order before: " in shown[1], (
        "the question about the next plan has it as it is now"
    )
    kept = [line for line in (tmp_path / "knowledgebase.md").read_text().splitlines() if "Commands: " in line]
    assert len(kept) == 1
    assert "; command 11 not played in this order before: " in kept[0], "it was played in the second episode"


def test_no_commands_are_followed_if_the_plan_has_none(own_story: Path, tmp_path: Path) -> None:
    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent" and prompt.user.endswith(f"1 of {TURNS}, {TURNS} left") and "`0`" not in prompt.user:
            return {"action": "wait", "follow": 0} if "follow 0" not in prompt.user else {"action": "look"}
        return Planner([])(role, prompt, schema)

    run, prompts = play(own_story, tmp_path, reply, episodes=1)
    assert run.turns[0].verdicts[0].reason == "the plan has no commands"
    assert "Commands: " not in (tmp_path / "knowledgebase.md").read_text()
    assert "`follow` 0" not in "".join(prompts)


def test_a_command_that_failed_with_the_same_words_when_the_plan_was_made_does_not_stop_it(
    own_story: Path, tmp_path: Path
) -> None:
    played = ("down", "look", *WALKTHROUGH)

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent" and "`follow` 0" not in prompt.user:
            return {"action": played[turn_of(prompt) - 1]}
        return Planner(("down", *WALKTHROUGH[:3]))(role, prompt, schema)

    run, prompts = play(own_story, tmp_path, reply)
    assert [turn.action for turn in run.turns[TURNS : TURNS + 4]] == ["down", *WALKTHROUGH[:3]]
    assert course_in(prompts[TURNS + 1]).startswith("The plan was followed to its end, in 4 commands.")


@pytest.fixture(scope="module")
def whole(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run that was not stopped. No test changes it."""
    folder = tmp_path_factory.mktemp("whole")
    play(own_story, folder)
    return folder


@pytest.mark.parametrize("turn", [5, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (1, 10, 11))])
def test_a_run_that_is_killed_on_the_plan_and_resumed_equals_one_that_was_not(
    own_story: Path, tmp_path: Path, whole: Path, turn: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        play(own_story, tmp_path, show=killing_after(2, turn))
    resume_run(own_story, ScriptedLLM(Planner()), tmp_path)
    assert journal_of(tmp_path) == journal_of(whole)
    assert verify_run(own_story, tmp_path).difference is None
