"""Several commands of one answer are turns without a model call until something new happens."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from orchestration.history import Branch
from session.events import Event, TurnPlayed
from session.files.run_folders import find_run
from session.values import GameObject, Location
from tests.episodes.test_routes_run import CELLAR, LOFT, MILL, ROPE, ROPED, WAY, YARD, best_route, play_mill, typed
from tests.fixtures.prompted_run import fork_of
from tests.fixtures.run_traces import journal_of
from tests.fixtures.scripted_game import Script
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import AGENT_ALONE, WholeRun, play_run, resume_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.scripted_llm import ScriptedLLM
from zorkgpt.report.figures import figures_of
from zorkgpt.report.played_run import read_run

Answer = dict[str, object]


def answering(*answers: Answer) -> ScriptedLLM:
    """A model whose agent gives these answers, and then waits."""
    left = iter(answers)
    return ScriptedLLM(lambda _role, _prompt, _schema: next(left, {"action": "wait"}))


def second_episode(folder: Path, *answers: Answer, script: Script = MILL, **options: Any) -> tuple[WholeRun, list[str]]:
    """Go to the cellar in one episode; return the run and the prompts of the next one, played with these answers."""
    model = answering(*typed(*WAY), *answers)
    run = play_mill(folder, model, MILL, script, **options)
    return run, [call.prompt.user for call in model.calls[len(WAY) :] if call.role == "agent"]


def sources(run: WholeRun, episode: int = 2) -> list[tuple[str, str]]:
    return [(turn.action, turn.verdicts[-1].source) for turn in run.turns if turn.episode == episode]


def course_in(prompt: str) -> str:
    return prompt.partition("## COURSE\n")[2].split("\n\n")[0]


def test_further_commands_of_an_answer_are_turns_without_a_call(tmp_path: Path) -> None:
    run, prompts = second_episode(tmp_path, {"action": "up", "then": ["take rope", "down"]})
    assert len(prompts) == 1
    assert sources(run)[1:] == [("take rope", "then"), ("down", "then")]
    assert [turn.reasoning for turn in run.turns[4:]] == [f"On your course: command {n} of 3." for n in (2, 3)]
    assert run.turns[3].proposals[-1].then == ("take rope", "down")
    assert figures_of(read_run(find_run(tmp_path))).metrics.calls_saved == 2


def test_the_latest_reason_is_that_of_the_answer_which_began_the_course(tmp_path: Path) -> None:
    answer: Answer = {"reasoning": "The rope is up there.", "action": "up", "then": ["take rope"]}
    _, prompts = second_episode(tmp_path, answer)
    assert "## Your latest reason\nTurn 1: The rope is up there." in prompts[1]


def test_a_new_place_stops_them_and_the_next_prompt_names_what_remains(tmp_path: Path) -> None:
    model = answering({"action": "up", "then": ["take rope", "down"]})
    run = play_mill(tmp_path, model, episodes=1)
    assert [turn.action for turn in run.turns] == ["up", "wait", "wait"]
    assert course_in(model.calls[1].prompt.user) == (
        'Your course was interrupted after `up` by something new: "A loft, and a rope." '
        "Not played: 2. take rope, 3. down."
    )
    assert course_in(model.calls[2].prompt.user) == ""


KEY = GameObject(31, "brass key")
STOPPED = {
    "a new sentence": (replace(ROPED, text="Taken. It hums."), 'something new: "It hums."'),
    "a sentence that goes on": (replace(ROPED, text="It fits:\nthe rope. So."), 'new: "It fits: the rope." Not'),
    "a death": (replace(ROPED, died=True), "you died"),
    "a question": (replace(ROPED, text="Taken.", awaits_key=True), "the story asks something"),
    "a thing that the command does not name": (replace(ROPED, inventory=(ROPE, KEY)), "now you carry: brass key"),
    "no turn of the story": (
        replace(LOFT, text="Taken."),
        "it took no turn of the story, but one of the 3 turns of the episode",
    ),
    "nothing at all": (replace(LOFT, text="Taken.", moves=2, state_hash="5c5c"), "it changed nothing at all"),
}


def test_a_new_place_that_stops_them_is_named_as_one(tmp_path: Path) -> None:
    attic = replace(LOFT, text="Attic\nDust.", location=Location(99, "Attic"))
    _, prompts = second_episode(tmp_path, {"action": "up", "then": ["wait"]}, script={**MILL, "up": attic})
    assert "was interrupted after `up` by a new place: Attic. Not played: 2. wait." in course_in(prompts[1])


@pytest.mark.parametrize("case", STOPPED)
def test_what_was_not_expected_stops_them(tmp_path: Path, case: str) -> None:
    after, reason = STOPPED[case]
    loft = replace(LOFT, state_hash="5c5c")
    script = {**MILL, "up": loft, "take rope": after}
    run, prompts = second_episode(tmp_path, {"action": "up", "then": ["take rope", "down"]}, script=script)
    assert [action for action, _ in sources(run)] == ["up", "take rope", "wait"]
    assert reason in course_in(prompts[1])
    assert course_in(prompts[1]).endswith("Not played: 3. down.")


def test_the_dark_stops_them(tmp_path: Path) -> None:
    dark = "It is pitch black."
    before = {**MILL, "wait": replace(YARD, text=dark, moves=1)}
    model = answering(*typed("wait", *WAY), {"action": "up", "then": ["take rope", "down"]})
    run = play_mill(tmp_path, model, before, {**MILL, "take rope": replace(ROPED, text=dark)}, max_turns_per_episode=4)
    assert [action for action, _ in sources(run)][:3] == ["up", "take rope", "wait"]
    assert "the story does not describe Loft, as in the dark" in course_in(model.calls[5].prompt.user)


def test_a_command_that_the_interpreter_refuses_is_not_played(tmp_path: Path) -> None:
    run, prompts = second_episode(tmp_path, {"action": "up", "then": ["save", "down"]})
    assert [action for action, _ in sources(run)] == ["up", "wait", "wait"]
    assert course_in(prompts[1]).startswith("Your course stopped before `save`: ")
    assert course_in(prompts[1]).endswith("Not played: 2. save, 3. down.")


def test_an_exit_that_leads_nowhere_stops_them(tmp_path: Path) -> None:
    wall = replace(LOFT, text="Taken.", moves=3)
    run, prompts = second_episode(tmp_path, {"action": "up", "then": ["down", "wait"]}, script={**MILL, "down": wall})
    assert "stopped at `down` (2 commands played): you did not move. Not played: 3. wait." in course_in(prompts[1])
    assert len(sources(run)) == 3


def test_things_that_the_command_names_may_be_taken_and_laid_down(tmp_path: Path) -> None:
    laid = replace(LOFT, text="Taken.", moves=3)
    script = {**MILL, "dip rope": laid, "take all": replace(ROPED, moves=4)}
    then = ["take rope", "dip rope", "take all"]
    model = answering(*typed(*WAY, "wait"), {"action": "up", "then": then})
    run = play_mill(tmp_path, model, MILL, script, max_turns_per_episode=4)
    assert sources(run)[1:] == [(command, "then") for command in then]


def test_the_critic_judges_the_first_by_model_and_the_rest_by_the_storys_tables(tmp_path: Path) -> None:
    def reply(role: Role, prompt: Prompt, _schema: type[BaseModel]) -> Answer:
        if role == "critic":
            return {"reason": "Why not?", "accepted": True, "confidence": 1}
        if "drop rope" in prompt.user:
            return {"action": "wait"}
        is_second = "Episode 1 " in prompt.user
        played = prompt.user.count("\nAction: ")
        return {"action": "up", "then": ["drop rope", "down"]} if is_second else {"action": WAY[min(played, 2)]}

    model = ScriptedLLM(reply)
    run = play_mill(tmp_path, model, critic={"mode": "llm"}, knowledge={"enabled": True})
    second = [turn for turn in run.turns if turn.episode == 2]
    assert [turn.action for turn in second[:2]] == ["up", "wait"]
    refused = second[1].verdicts[0]
    assert (second[1].proposals[0].action, refused.accepted, refused.source) == ("drop rope", False, "object_tree")
    prompt = next(call.prompt.user for call in model.calls if "`drop rope`" in call.prompt.user)
    assert f"- `drop rope`: {refused.reason}" in prompt
    assert f"Your course stopped before `drop rope`: {refused.reason} Not played: 2. drop rope, 3. down." in prompt


def test_a_route_or_a_walk_goes_on_with_them(tmp_path: Path) -> None:
    way: Answer = {"action": "wait", "follow": 2, "until": 2, "then": ["down"]}
    run, prompts = second_episode(tmp_path / "route", way)
    assert sources(run) == [("up", "route"), ("take rope", "route"), ("down", "then")]
    assert len(prompts) == 1
    script = {**MILL, "wait": replace(CELLAR, text="A cellar full of flour.")}
    walk: Answer = {"action": "wait", "go_to": 12, "then": ["take rope", "down"]}
    run, prompts = second_episode(tmp_path / "walk", walk, script=script)
    assert sources(run) == [("up", "route"), ("take rope", "then"), ("down", "then")]


def test_a_walk_stops_at_a_question(tmp_path: Path) -> None:
    asking = {**MILL, "up": replace(LOFT, awaits_key=True)}
    model = answering(*typed(*WAY), {"action": "wait", "go_to": 13})
    run = play_mill(tmp_path, model, MILL, asking)
    assert [action for action, _ in sources(run)] == ["up", "wait", "wait"]
    told = "stopped at `up` (1 command played): the story asks something. Not played: 2. down."
    assert f"The way to Cellar {told}" in course_in(model.calls[4].prompt.user)


def test_a_route_that_is_followed_to_its_end_counts_even_if_what_follows_it_stops(tmp_path: Path) -> None:
    answers = iter(typed(*WAY, "look", "look"))

    def reply(_role: Role, prompt: Prompt, _schema: type[BaseModel]) -> Answer:
        route = re.search(r"^(\d+): \+5 ", prompt.user, re.MULTILINE)
        follow: Answer = {"action": "wait", "follow": int(route[1]), "then": ["wait", "down"]} if route else {}
        return next(answers, follow or {"action": "look"})

    model = ScriptedLLM(reply)
    creaks = {**MILL, "wait": replace(CELLAR, text="The wheel creaks.")}
    run = play_mill(tmp_path, model, MILL, creaks, max_turns_per_episode=5)
    assert sources(run)[:4] == [*((command, "route") for command in WAY), ("wait", "then")]
    assert best_route(tmp_path)["worked"] == 1
    assert '"The wheel creaks." Not played: 5. down.' in course_in(model.calls[-1].prompt.user)


def test_at_most_twelve_are_played_and_a_line_of_several_commands_is_one_of_them_each(tmp_path: Path) -> None:
    script = {**MILL, "wait": replace(YARD, text="Time passes.")}
    for then, turns in ((["wait"] * 15, 13), (["wait. wait then wait"], 4)):
        model = answering({"action": "wait"}, {"action": "wait", "then": then})
        folder = tmp_path / str(turns)
        run = play_mill(folder, model, script, episodes=1, max_turns_per_episode=20)
        assert len([turn for turn in run.turns if turn.verdicts[-1].source == "then"]) == turns - 1
        told = "ended after `wait`: at most 12 further commands are played. Not played: 14. wait, 15. wait, 16. wait."
        assert course_in(model.calls[2].prompt.user) == (f"Your course {told}" if len(then) > 12 else "")
    model = answering({"action": "wait"}, {"action": "wait. wait. wait", "then": ["wait"]})
    run = play_mill(tmp_path / "line", model, script, episodes=1, max_turns_per_episode=5)
    assert len(model.calls) == 2


def test_they_belong_to_the_full_answer_and_not_to_a_choice_from_a_list(tmp_path: Path) -> None:
    for name, options, expected in (
        ("full", {}, True),
        ("list", {"assist": "valid-actions"}, False),
        ("brief", {"agent": {"reasoning_length": 80}}, False),
    ):
        answer: Answer = {"action": "wait", "reasoning": "I wait here for now."}
        model = answering(answer, answer, answer)
        play_mill(tmp_path / name, model, episodes=1, **options)
        call = model.calls[0]
        assert ("then" in call.schema.model_fields, "`then`" in call.prompt.system) == (expected, expected)


TURNS = 16
OPTIONS: dict[str, Any] = {
    **AGENT_ALONE,
    "max_turns_per_episode": TURNS,
}


def by_the_book(_role: Role, prompt: Prompt, _schema: type[BaseModel]) -> Answer:
    """Answer with the rest of the walkthrough's first commands."""
    played = int(prompt.user.partition("## Turn\n")[2].split()[0]) - 1
    first, *others = WALKTHROUGH[played : played + 13]
    return {"action": first, "then": others}


def play(story: Path, folder: Path, **options: Any) -> WholeRun:
    return play_run(story, ScriptedLLM(by_the_book), folder, **{"episodes": 2, **OPTIONS, **options})


@pytest.fixture(scope="module")
def whole(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run that was not stopped. No test changes it."""
    folder = tmp_path_factory.mktemp("whole")
    play(own_story, folder)
    return folder


def test_a_second_episode_that_knows_the_words_takes_few_calls(own_story: Path, tmp_path: Path) -> None:
    model = ScriptedLLM(by_the_book)
    run = play_run(own_story, model, tmp_path, episodes=2, **OPTIONS)
    assert [turn.action for turn in run.turns[:TURNS]] == [turn.action for turn in run.turns[TURNS:]]
    calls = [sum(turn.verdicts[-1].source != "then" for turn in run.turns if turn.episode == each) for each in (1, 2)]
    assert sum(calls) == len(model.calls)
    assert calls[1] <= TURNS / 4 < calls[0]


@pytest.mark.parametrize("turn", [8, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (1, 3, 13, TURNS))])
def test_a_run_that_is_killed_within_a_course_and_resumed_equals_one_that_was_not(
    own_story: Path, tmp_path: Path, whole: Path, turn: int
) -> None:
    def kill(event: Event) -> None:
        if isinstance(event, TurnPlayed) and (event.record.episode, event.record.turn) == (2, turn):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(own_story, tmp_path, show=kill)
    resume_run(own_story, ScriptedLLM(by_the_book), tmp_path)
    assert journal_of(tmp_path) == journal_of(whole)
    assert verify_run(own_story, tmp_path).difference is None


def test_a_fork_within_a_course_goes_on_along_it(own_story: Path, tmp_path: Path) -> None:
    play(own_story, tmp_path)
    waits = ScriptedLLM(lambda _role, _prompt, _schema: {"action": "wait"})
    fork = fork_of(own_story, tmp_path, Branch(2, 4), waits)
    second = [turn for turn in fork.played.turns if turn.episode == 2]
    assert [turn.verdicts[-1].source for turn in second[4:6]] == ["then"] * 2
