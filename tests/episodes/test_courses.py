"""Several commands of one answer are turns without a model call until something new happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from session.events import ModelAnswered, TurnPlayed
from session.files.run_folders import find_run
from session.values import GameObject, Location, Observation
from tests.episodes.test_routes_run import (
    CELLAR,
    LOFT,
    MILL,
    ROPE,
    ROPED,
    WAY,
    YARD,
    best_route,
    play_mill,
    typed,
)
from tests.fixtures.doomed_run import decided_by_prompt
from tests.fixtures.run_traces import events_of, journal_of
from tests.fixtures.scripted_game import Script
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import AGENT_ALONE, WholeRun, killing_after, play_run, resume_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.report.figures import figures_of
from zorkgpt.report.played_run import read_run

Answer = dict[str, object]
MENUS = Path(__file__).parents[1] / "stories" / "menus.z5"


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


def one_episode(folder: Path, *answers: Answer, script: Script, turns: int = 3) -> tuple[WholeRun, list[str]]:
    """Return an episode of these answers, and what each of its prompts says of the course before it."""
    model = answering(*answers)
    run = play_mill(folder, model, script, episodes=1, max_turns_per_episode=turns)
    return run, [course_in(call.prompt.user) for call in model.calls]


def test_further_commands_of_an_answer_are_turns_without_a_call(tmp_path: Path) -> None:
    run, prompts = second_episode(tmp_path, {"action": "up", "then": ["take rope", "down"]})
    assert len(prompts) == 1
    assert sources(run)[1:] == [("take rope", "then"), ("down", "then")]
    assert [turn.reasoning for turn in run.turns[4:]] == [f"On your course: command {n} of 3." for n in (2, 3)]
    assert run.turns[3].proposals[-1].then == ("take rope", "down")
    assert figures_of(read_run(find_run(tmp_path))).metrics.calls_saved == 2


def test_a_new_place_stops_them_and_the_next_prompt_names_what_remains(tmp_path: Path) -> None:
    model = answering({"reasoning": "A rope is up there.", "action": "up", "then": ["take rope", "down"]})
    run = play_mill(tmp_path, model, episodes=1)
    assert [turn.action for turn in run.turns] == ["up", "wait", "wait"]
    assert course_in(model.calls[1].prompt.user) == (
        "Your course was interrupted after `up` by a new place: Loft. Not played: `take rope`, `down`."
    )
    assert "## Your latest reason\nTurn 1: A rope is up there." in model.calls[1].prompt.user
    assert course_in(model.calls[2].prompt.user) == ""


KEY = GameObject(31, "brass key")
STOPPED = {
    "a new sentence": (replace(ROPED, text="Taken. It hums."), 'something new: "It hums."'),
    "a sentence that goes on": (replace(ROPED, text="It fits:\nthe rope. So."), 'new: "It fits: the rope." Not'),
    "a death": (replace(ROPED, died=True), "you died"),
    "a question": (replace(ROPED, text="Taken.", awaits_key=True), "the story waits for a key"),
    "a thing that the command does not name": (replace(ROPED, inventory=(ROPE, KEY)), "now you carry: brass key"),
    "no turn of the story": (
        replace(LOFT, text="Taken."),
        "it took no turn of the story, but one of the 3 turns of the episode",
    ),
    "nothing at all": (replace(LOFT, text="Taken.", moves=2, state_hash="5c5c"), "nothing changed"),
}


def test_a_new_place_that_stops_them_is_named_as_one(tmp_path: Path) -> None:
    attic = replace(LOFT, text="Attic\nDust.", location=Location(99, "Attic"))
    _, prompts = second_episode(tmp_path, {"action": "up", "then": ["wait"]}, script={**MILL, "up": attic})
    assert "was interrupted after `up` by a new place: Attic. Not played: `wait`." in course_in(prompts[1])
    same = replace(LOFT, text="Loft\nDust.", location=Location(99, "Loft"))
    _, prompts = second_episode(tmp_path / "same", {"action": "up", "then": ["wait"]}, script={**MILL, "up": same})
    assert "by a new place: L99 Loft. Not played: `wait`." in course_in(prompts[1])


@pytest.mark.parametrize("case", STOPPED)
def test_what_was_not_expected_stops_them(tmp_path: Path, case: str) -> None:
    after, reason = STOPPED[case]
    loft = replace(LOFT, state_hash="5c5c")
    script = {**MILL, "up": loft, "take rope": after}
    run, prompts = second_episode(tmp_path, {"action": "up", "then": ["take rope", "down"]}, script=script)
    assert [action for action, _ in sources(run)] == ["up", "take rope", "wait"]
    assert reason in course_in(prompts[1])
    assert course_in(prompts[1]).endswith("Not played: `down`.")


TRUNK, KNIFE = GameObject(33, "oak trunk"), GameObject(34, "knife")
CONFIRMING = {
    "a first confirmation": ((), "You take the rope.", (), True),
    "with news": ((), "You take the rope. It hums.", (), False),
    "of nothing that happened": ((ROPE,), "You take the rope.", (), False),
    "what was in sight there": ((), "Taken.", (TRUNK,), True),
    "what was not": ((), "Taken.", (TRUNK, KNIFE), False),
}


@pytest.mark.parametrize("case", CONFIRMING)
def test_a_new_sentence_that_confirms_a_command_or_lists_what_was_in_sight_stops_none(
    tmp_path: Path, case: str
) -> None:
    held, text, there, goes_on = CONFIRMING[case]
    yard = replace(YARD, visible=(TRUNK,))
    again = f"You can see {' and '.join(f'a {thing.name}' for thing in there)} here." if there else "A yard."
    script: Script = {
        "": yard,
        "up": replace(LOFT, inventory=held, visible=() if held else (ROPE,)),
        "take rope": replace(ROPED, text=text),
        "down": replace(yard, text=again, inventory=(ROPE,), visible=there or (TRUNK,), moves=3),
    }
    model = answering({"action": "up"}, {"action": "take rope", "then": ["down", "look"]})
    run = play_mill(tmp_path, model, script, episodes=1, max_turns_per_episode=4)
    assert ([source for _, source in sources(run, 1)[2:]] == ["then", "then"]) == goes_on


HAMPER, BOARD = GameObject(42, "basket"), GameObject(40, "board")
POINTS = "[Your score has just gone up by five points.]"
REVEALED = {
    "a thing": ("You open the basket, revealing a board.", (HAMPER, BOARD), 0, False),
    "how the points changed": (f"You open the basket.\n\n{POINTS}", (HAMPER,), 5, True),
    "no points": (f"You open the basket.\n\n{POINTS}", (HAMPER,), 0, False),
}


@pytest.mark.parametrize("case", REVEALED)
def test_a_new_sentence_about_points_stops_none_but_one_about_a_thing_does(tmp_path: Path, case: str) -> None:
    text, things, score, goes_on = REVEALED[case]
    opened = replace(YARD, text=text, visible=things, score=score, moves=1, attributes_hash="a")
    script: Script = {"": replace(YARD, visible=(HAMPER,)), "open basket": opened, "take board": opened}
    run, reports = one_episode(tmp_path, {"action": "open basket", "then": ["take board", "wait"]}, script=script)
    assert (sources(run, 1)[1] == ("take board", "then")) == goes_on
    assert ("something new: " in "".join(reports)) != goes_on


def test_a_thing_that_was_not_in_sight_there_before_is_news(tmp_path: Path) -> None:
    model = answering(*typed(*WAY, "wait"), {"action": "up", "then": ["take rope", "down", "look"]})
    cellar = replace(CELLAR, text="You can see a rope here.")
    play_mill(tmp_path, model, MILL, {**MILL, "down": cellar}, max_turns_per_episode=4)
    assert 'something new: "You can see a rope here."' in course_in(model.calls[5].prompt.user)

    found = replace(ROPED, text="You take the knife.", inventory=(ROPE, KNIFE))
    answer: Answer = {"action": "up", "then": ["take all", "wait"]}
    _, prompts = second_episode(tmp_path / "all", answer, script={**MILL, "take all": found})
    assert 'something new: "You take the knife."' in course_in(prompts[1])


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
    assert course_in(prompts[1]).startswith("Your course stopped before `save`. ")
    assert course_in(prompts[1]).endswith("Not played: `save`, `down`.")


def test_an_exit_that_leads_nowhere_stops_them(tmp_path: Path) -> None:
    wall = replace(LOFT, text="Taken.", moves=3)
    _, prompts = second_episode(tmp_path, {"action": "up", "then": ["down", "wait"]}, script={**MILL, "down": wall})
    assert "stopped at `down` (2 commands played): you are still at Loft. Not played: `wait`." in course_in(prompts[1])


@pytest.mark.parametrize("moves", [3, 2], ids=["a turn passes", "nothing else changes"])
@pytest.mark.parametrize("text", ["Loft\nDust lies east and west.", "You run.\n\nLoft"], ids=["anew", "by its name"])
def test_an_exit_after_which_the_place_is_described_again_was_not_refused(
    tmp_path: Path, text: str, moves: int
) -> None:
    again, loft = (replace(LOFT, text=told, moves=at, state_hash="5c5c") for told, at in ((text, moves), ("Loft", 2)))
    answer: Answer = {"action": "up", "then": ["west", "wait"], "stop_at": "failure"}
    run, prompts = second_episode(tmp_path, answer, script={**MILL, "up": loft, "west": again})
    assert sources(run)[1:] == [("west", "then"), ("wait", "then")], course_in(prompts[-1])
    assert len(prompts) == 1


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
    assert "Your course stopped before `drop rope`. Not played: `drop rope`, `down`." in prompt


def test_the_critic_is_not_shown_what_addresses_the_player(tmp_path: Path) -> None:
    model = answering({"action": "up", "then": ["take rope"]})
    play_mill(tmp_path, model, episodes=1, critic={"mode": "llm"})
    asked = {
        role: "".join(call.prompt.user for call in model.calls if call.role == role) for role in ("agent", "critic")
    }
    assert ("## COURSE" in asked["agent"], "## COURSE" in asked["critic"]) == (True, False)


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
    told = "stopped at `up` (1 command played): the story waits for a key. Not played: `down`."
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
    told = course_in(model.calls[-1].prompt.user)
    assert re.match(r'Your course after route \d+ was interrupted .*: "The wheel creaks." Not played: `down`.', told)


def test_at_most_twelve_are_played_and_a_line_of_several_commands_is_one_of_them_each(tmp_path: Path) -> None:
    script = {**MILL, "wait": replace(YARD, text="Time passes.")}
    for then, turns in ((["wait"] * 15, 13), (["wait. wait then wait"], 4)):
        answers: tuple[Answer, ...] = ({"action": "wait"}, {"action": "wait", "then": then})
        run, reports = one_episode(tmp_path / str(turns), *answers, script=script, turns=20)
        assert len([turn for turn in run.turns if turn.verdicts[-1].source == "then"]) == turns - 1
        told = "ended after `wait`: at most 12 further commands are played. Not played: `wait`, `wait`, `wait`."
        assert reports[2] == (f"Your course {told}" if len(then) > 12 else "")
    answers = ({"action": "wait"}, {"action": "wait. wait. wait", "then": ["wait"]})
    assert len(one_episode(tmp_path / "line", *answers, script=script, turns=5)[1]) == 2


def test_they_belong_to_the_full_answer_and_not_to_a_choice_from_a_list(tmp_path: Path) -> None:
    for profile, options, expected in (
        ("full", {}, True),
        ("list", {"assist": "valid-actions"}, False),
        ("brief", {"agent": {"reasoning_length": 80}}, False),
    ):
        answer: Answer = {"action": "wait", "reasoning": "I wait here for now."}
        model = answering(answer, answer, answer)
        play_mill(tmp_path / profile, model, episodes=1, **options)
        call = model.calls[0]
        for name in ("then", "stop_at"):
            assert (name in call.schema.model_fields, f"`{name}`" in call.prompt.system) == (expected, expected)


HOOKED = replace(YARD, text="A rope hangs from a hook.", moves=2, state_hash="a")
TAKEN = replace(YARD, text="It comes off the hook.", inventory=(ROPE,), moves=3, state_hash="b")
ROUTINE: Script = {
    "": YARD,
    "examine hook": HOOKED,
    "take rope": TAKEN,
    "read rope": replace(TAKEN, text="Its label says: MADE BY HAND.", moves=4, state_hash="c"),
    "ask miller": replace(TAKEN, text="The miller shrugs.", moves=5, state_hash="d"),
}
IN_LOFT = replace(LOFT, text="It creaks.", inventory=(ROPE,), moves=4)
AFTER_TAKING = {
    "a new place": (IN_LOFT, "interrupted after `up` by a new place: Loft."),
    "a refusal": (replace(TAKEN, text="It is too high.", moves=4), "you are still at Yard"),
    "a refusal at which something else happens": (
        replace(TAKEN, text="You loiter. A miller comes out.", visible=(KEY,), moves=4, state_hash="d"),
        "stopped at `up` (3 commands played): you are still at Yard. Not",
    ),
    "a death": (replace(TAKEN, text="You fall.", died=True, moves=4), "you died"),
    "a loss of points": (replace(IN_LOFT, score=-5), "your score fell by 5"),
    "a question": (replace(TAKEN, text="Up or down?", inventory=(), moves=4), "the text ends with a question"),
    "a key": (replace(TAKEN, text="It creaks.", awaits_key=True, score=1), "the story waits for a key"),
    "a thing that the command does not name": (
        replace(TAKEN, text="It creaks.", inventory=(KEY,)),
        "now you carry: brass key",
    ),
}
STOPPING = [("failure", case) for case in AFTER_TAKING] + [
    (stop_at, case) for stop_at in ("place", "end") for case in list(AFTER_TAKING)[:-1]
]


def routine(*then: str) -> Answer:
    return {"action": "examine hook", "then": then, "stop_at": "failure"}


def test_a_course_that_stops_at_failures_goes_on_over_new_sentences_and_all_texts_are_shown(tmp_path: Path) -> None:
    looks = [f"examine board {number}" for number in range(9)]
    told = "and the writing on it is long, so that its reader has to come back more than once."
    boards = {look: replace(TAKEN, text=f"Board {look[-1]} is {look[-1] * 9}, {told}", moves=9) for look in looks}
    model = answering(routine(*list(ROUTINE)[2:], *looks))
    options: dict[str, Any] = {"episodes": 1, "max_turns_per_episode": 15}
    run = play_mill(tmp_path, model, {**ROUTINE, **boards}, **options)
    assert [source for _, source in sources(run, 1)[1:13]] == ["then"] * 12
    assert len(model.calls) == 3
    shown = model.calls[1].prompt.user
    assert all(turn.after.text in shown for turn in run.turns[:13])
    assert run.turns[0].proposals[-1].stop_at == "failure"
    otherwise = {**routine(*list(ROUTINE)[2:]), "stop_at": "something else"}
    assert sources(one_episode(tmp_path / "news", otherwise, script=ROUTINE)[0], 1)[1][0] == "wait"


@pytest.mark.parametrize(("stop_at", "case"), STOPPING)
def test_a_course_that_stops_at_failures_or_at_places_still_stops_at(tmp_path: Path, stop_at: str, case: str) -> None:
    after, reason = AFTER_TAKING[case]
    answer = {**routine("take rope", "up", "down"), "stop_at": stop_at}
    run, reports = one_episode(tmp_path, answer, script={**ROUTINE, "up": after}, turns=4)
    assert [action for action, _ in sources(run, 1)][:3] == ["examine hook", "take rope", "up"]
    assert reason in reports[1]
    assert reports[1].endswith("Not played: `down`.")


@pytest.mark.parametrize("case", AFTER_TAKING)
def test_a_course_of_the_players_own_whose_last_command_failed_says_so(tmp_path: Path, case: str) -> None:
    after, reason = AFTER_TAKING[case]
    _, reports = one_episode(tmp_path, routine("take rope", "up"), script={**ROUTINE, "up": after}, turns=5)
    told = f"Your course was played to its end (3 commands); last: {reason}."
    assert reports[1] == (told if case in {"a refusal", "a death"} else "")


PLACED = (*(0 for _ in range(90)), YARD.location.num if YARD.location else 0, 90, 0)
WHILE_PLAYING: dict[str, tuple[Script, tuple[str, ...], str]] = {
    "a new answer to a command that did nothing": (
        {"pull hook": replace(HOOKED, text="It is fixed to the wall.", moves=3, state_hash="z")},
        ("pull hook", "take rope"),
        "`pull hook` by an answer that is new, while nothing visible changed: ",
    ),
    "what a waiting player is given, which is named once": (
        {"wait": replace(TAKEN, text="She gives you a brass key.", inventory=(ROPE, KEY), moves=4, state_hash="d")},
        ("take rope", "wait", "read rope"),
        "stopped at `wait` (3 commands played): now you carry: brass key. Not played: `read rope`.",
    ),
    "a place to which no move led, named with what was gained there": (
        {"read rope": replace(CELLAR, inventory=(ROPE, KEY), moves=4)},
        ("take rope", "read rope", "wait"),
        "stopped at `read rope` (3 commands played): you came to Cellar; now you carry: brass key.",
    ),
    "no first reading that changes nothing": (
        {"read board": replace(TAKEN, text="It is a coded message: impossible to say what it means.", moves=4)},
        ("take rope", "read board", "read rope"),
        "",
    ),
    **{
        f"no text after {answer}": (
            {answer: replace(HOOKED, text="He tells of his mill at length.", moves=3, state_hash="z")},
            (answer, "take rope"),
            "",
        )
        for answer in ("yes", "no")
    },
    "no new answer if what is there has moved": (
        {
            **{command: replace(seen, parents=PLACED) for command, seen in ROUTINE.items()},
            "pull hook": replace(HOOKED, text="You wake him.", parents=(*PLACED[:91], 0, 90), state_hash="z"),
        },
        ("pull hook", "take rope"),
        "",
    ),
    "no text about darkness behind a door": (
        {"read board": replace(HOOKED, text="Stairs lead down into darkness.", moves=9, state_hash="e")},
        ("read board", "take rope"),
        "",
    ),
}


@pytest.mark.parametrize("case", WHILE_PLAYING)
def test_a_course_that_stops_at_failures_is_stopped_by(tmp_path: Path, case: str) -> None:
    changed, then, report = WHILE_PLAYING[case]
    run, reports = one_episode(tmp_path, routine(*then), script={**ROUTINE, **changed}, turns=len(then) + 1)
    assert report in "".join(reports)
    assert ([source for _, source in sources(run, 1)[1:]] == ["then"] * len(then)) == (not report)


def test_a_walk_that_was_played_to_its_end_says_what_differed_there(tmp_path: Path) -> None:
    fallen = {**MILL, "down": replace(YARD, text="You slip.", awaits_key=True, moves=3)}
    model = answering(*typed(*WAY), {"action": "wait", "go_to": 13})
    run = play_mill(tmp_path, model, MILL, fallen)
    assert [action for action, _ in sources(run)] == ["up", "down", "wait"]
    told = course_in(model.calls[4].prompt.user)
    assert (
        told
        == "The way to Cellar was played to its end (2 commands); last: you are not at Cellar (L13) but at Yard (L11)."
    )


FOUND = replace(TAKEN, text="Dust.", moves=9, attributes_hash="f", state_hash="f")
NO_TURN = replace(TAKEN, state_hash="e")
MENTIONED = {
    "a rhetorical question": ("pull hook", replace(FOUND, text="It rings. Who would leave such a thing here?")),
    "a question about the player in what was read": ("read board", replace(FOUND, text='It says: "Have you paid?"')),
    "a question in what was examined": ("examine rope", replace(NO_TURN, text="Who would leave such a thing here?")),
    "a question in a description": ("look", replace(FOUND, text="Yard\nGrass. Where could you go from here?")),
    "a quotation": ("pull hook", replace(FOUND, text="It rings.\n\n\u201cWho goes there?\u201d")),
    "a question as the prompt": ("pull hook", replace(FOUND, text="It rings.\n\nWhat next?")),
}
ASKED = {
    "which thing is meant": ("read board", replace(NO_TURN, text="Which do you mean, the old or the new board?")),
    "what is missing": ("pull hook", replace(NO_TURN, text="Pull it with what?")),
    "a decision": ("pull hook", replace(FOUND, text="The miller comes. Do you want to buy the rope?")),
    "the name of the player": ("pull hook", replace(FOUND, text="He says: \u201cWhat is your name?\u201d")),
    "an answer that its text does not name": ("pull hook", replace(FOUND, text="Echoes.", awaits_answer=True)),
    "an answer while reading": ("read board", replace(FOUND, text="Is it long?", awaits_answer=True)),
}


@pytest.mark.parametrize("stop_at", ["failure", "place", "end"])
@pytest.mark.parametrize("case", MENTIONED)
def test_a_question_that_is_only_mentioned_does_not_stop_a_course(tmp_path: Path, case: str, stop_at: str) -> None:
    command, after = MENTIONED[case]
    answer = {**routine("take rope", command, "read rope"), "stop_at": stop_at}
    run, reports = one_episode(tmp_path, answer, script={**ROUTINE, command: after}, turns=4)
    assert [action for action, _ in sources(run, 1)] == ["examine hook", "take rope", command, "read rope"]
    assert len(reports) == 1


@pytest.mark.parametrize("stop_at", ["failure", "place", "end"])
@pytest.mark.parametrize("case", ASKED)
def test_a_question_to_the_player_stops_a_course(tmp_path: Path, case: str, stop_at: str) -> None:
    command, after = ASKED[case]
    answer = {**routine("take rope", command, "read rope"), "stop_at": stop_at}
    run, reports = one_episode(tmp_path, answer, script={**ROUTINE, command: after}, turns=4)
    assert [action for action, _ in sources(run, 1)][2:] == [command, "wait"]
    assert re.search(r"the text ends with a question|the story waits for an answer, not for a command", reports[1])


def test_a_walk_goes_on_over_a_question_that_a_description_contains(tmp_path: Path) -> None:
    asking = {**MILL, "up": replace(LOFT, text=f"{LOFT.text} Who built it?")}
    model = answering(*typed(*WAY), {"action": "wait", "go_to": 13, "stop_at": "failure"})
    run = play_mill(tmp_path, model, MILL, asking)
    assert "the text ends with a question" not in "".join(course_in(call.prompt.user) for call in model.calls[3:])
    assert [action for action, _ in sources(run)][:2] == ["up", "down"]


@pytest.mark.parametrize("stop_at", ["place", "end"])
def test_any_course_ends_when_three_commands_in_a_row_took_no_turn_of_the_story(tmp_path: Path, stop_at: str) -> None:
    nobody = replace(HOOKED, text="You seem to want to talk to someone, but I can't see whom.")
    asked = [f"{verb} miller" for verb in ("take", "read", "pull", "dip")]
    script = {**ROUTINE, **dict.fromkeys(asked, nobody)}
    answer = {**routine(*asked[:2], "take rope", *asked, "ask miller"), "stop_at": stop_at}
    run, reports = one_episode(tmp_path, answer, script=script, turns=9)
    assert [source for _, source in sources(run, 1)].count("then") == 7
    reason = "the last 3 commands took no turn of the story, but 3 of the 9 turns of the episode"
    assert f"{reason}. Not played: `ask miller`" in reports[1]


def test_a_note_of_the_story_on_what_was_named_last_is_no_sign_that_a_command_did_something(tmp_path: Path) -> None:
    names = {90: "hook", 91: "board", 92: "rope"}

    def named(number: int, text: str) -> Observation:
        things = [GameObject(each, name, 11, frozenset({31} if each == number else ())) for each, name in names.items()]
        return replace(YARD, text=text, visible=tuple(things), moves=number, state_hash=str(number))

    script: Script = {
        "": named(0, YARD.text),
        **{f"examine {name}": named(number, f"An old {name}.") for number, name in names.items()},
        "pull hook": named(90, "It is fixed to the wall."),
    }
    answer = routine("examine board", "examine rope", "pull hook", "north")
    _, reports = one_episode(tmp_path, answer, script=script, turns=5)
    assert "`pull hook` by an answer that is new, while nothing visible changed: " in reports[1]


def test_a_course_stops_at_the_answer_that_another_command_had_which_did_nothing(tmp_path: Path) -> None:
    refused = replace(TAKEN, text="The miller would not like that.", moves=4, state_hash="e")
    script = {**ROUTINE, "pull rope": refused, "dip rope": replace(refused, moves=5, state_hash="f")}
    again = {**routine("wait"), "action": "dip rope"}
    answers = (routine("take rope", "pull rope", "dip rope"), again)
    _, reports = one_episode(tmp_path, *answers, script=script, turns=6)
    assert "by an answer that is new, while" in reports[1]
    assert "it got the same answer as `pull rope` in turn 3. Not played: `wait`." in reports[2]


STAGES = {
    "is stopped by a thing that came into sight": ("wait", False),
    "goes on if a further command names the thing": ("read board", True),
    "goes on if a further command names all": ("take all", True),
}


@pytest.mark.parametrize("stop_at", ["failure", "place", "end"])
@pytest.mark.parametrize("case", STAGES)
def test_a_course_past_news(tmp_path: Path, case: str, stop_at: str) -> None:
    following, goes_on = STAGES[case]
    goes_on = goes_on or stop_at == "end"
    bared = replace(TAKEN, text="Behind it is a board.", visible=(BOARD,), moves=4, state_hash="e")
    script = {**ROUTINE, "pull hook": bared, following: replace(bared, text="Nothing.", moves=5, state_hash="f")}
    answer = {**routine("take rope", "pull hook", following, "read rope"), "stop_at": stop_at}
    run, reports = one_episode(tmp_path, answer, script=script, turns=5)
    assert ([source for _, source in sources(run, 1)].count("then") > 2) == goes_on
    report = f"stopped at `pull hook` (3 commands played): now in sight: board. Not played: `{following}`"
    assert (report in "".join(reports)) != goes_on


@pytest.mark.parametrize("stop_at", ["failure", "place", "end"])
def test_a_course_is_stopped_by_a_reading_that_leads_to_a_known_place(tmp_path: Path, stop_at: str) -> None:
    script = {**MILL, "read rope": replace(CELLAR, text="Cellar\nThe floor gives way.", moves=9)}
    answer: Answer = {"action": "up", "then": ["take rope", "read rope", "wait"], "stop_at": stop_at}
    model = answering(*typed(*WAY, "wait"), answer)
    run = play_mill(tmp_path, model, MILL, script, max_turns_per_episode=4)
    assert [action for action, _ in sources(run)][:3] == ["up", "take rope", "read rope"]
    assert "stopped at `read rope` (3 commands played): you came to Cellar. Not played: `wait`." in course_in(
        model.calls[-1].prompt.user
    )


def test_a_planned_command_that_is_now_answered_otherwise_and_does_nothing_stops_the_plan(tmp_path: Path) -> None:
    turned = replace(YARD, text="The hook turns.", moves=1, attributes_hash="a", state_hash="a")
    refused = replace(turned, text="You have no reason to do that.", moves=2, state_hash="b")
    first: Script = {"": YARD, "pull hook": turned, "read board": refused, "wait": replace(refused, score=5)}
    second = {**first, "pull hook": replace(refused, attributes_hash="")}
    answers = iter(typed("pull hook", "read board", *["wait"] * 18))

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> Answer:
        if "plan" in schema.model_fields:
            return {"plan": ["Turn the hook"], "commands": ["pull hook", "wait", "wait"]}
        if role != "agent":
            return decided_by_prompt(role, prompt, schema)
        follow: Answer = {"action": "wait", "follow": 0, "stop_at": "failure"}
        return next(answers, follow if "1 of 20" in prompt.user else {"action": "look"})

    model = ScriptedLLM(reply)
    run = play_mill(tmp_path, model, first, second, knowledge={"enabled": True}, max_turns_per_episode=20)
    assert [action for action, _ in sources(run)][:2] == ["pull hook", "look"]
    stopped = next(call.prompt.user for call in model.calls if "stopped at `pull hook`" in call.prompt.user)
    assert "it was answered otherwise here before. Not played: 2. wait, 3. wait." in course_in(stopped)


TRIALS: Script = {
    **ROUTINE,
    "pull hook": replace(TAKEN, text="It is fixed to the wall.", moves=4),
    "pull rope": replace(TAKEN, text="The rope is heavier than the miller.", moves=5, state_hash="e"),
    "pull miller": replace(TAKEN, text="You can't see any such thing.", moves=5, state_hash="e"),
    "ask hook": replace(TAKEN, text="The miller gives you something for it.", inventory=(KEY,), moves=6),
}


@pytest.mark.parametrize("stop_at", ["place", "end"])
def test_a_course_that_stops_at_places_tries_things_out_and_shows_all_texts(tmp_path: Path, stop_at: str) -> None:
    trials = list(TRIALS)[2:]
    model = answering({**routine(*trials, "up"), "stop_at": stop_at})
    script = {**TRIALS, "up": AFTER_TAKING["a refusal"][0]}
    run = play_mill(tmp_path, model, script, episodes=1, max_turns_per_episode=12)
    assert [source for _, source in sources(run, 1)[1 : len(trials) + 2]] == ["then"] * (len(trials) + 1)
    shown = model.calls[1].prompt.user
    assert all(turn.after.text in shown for turn in run.turns[: len(trials) + 2])


@pytest.mark.parametrize(("stop_at", "played"), [("place", 2), ("failure", 3), ("end", 3)])
def test_points_end_a_course_that_tries_things_out_and_no_other(tmp_path: Path, stop_at: str, played: int) -> None:
    script = {**TRIALS, "pull rope": replace(TAKEN, text="A bell rings.", score=5, moves=5, state_hash="e")}
    answer = {**routine("take rope", "pull rope", "read rope"), "stop_at": stop_at}
    run, reports = one_episode(tmp_path, answer, script=script, turns=6)
    assert [source for _, source in sources(run, 1)].count("then") == played
    assert ("`pull rope` (3 commands played): it won 5 points. Not played: `read rope`" in reports[1]) == (played == 2)


def test_without_a_known_location_a_new_sentence_stops_any_course(tmp_path: Path) -> None:
    nowhere = {command: replace(seen, location=None) for command, seen in ROUTINE.items()}
    _, reports = one_episode(tmp_path, routine("take rope"), script=nowhere)
    assert 'something new: "A rope hangs from a hook."' in reports[1]


def test_a_route_and_a_walk_may_stop_at_failures_only(tmp_path: Path) -> None:
    creaks = {**MILL, "take rope": replace(ROPED, text="Taken. It hums.")}
    ways: tuple[Answer, ...] = (
        {"follow": 2, "until": 2, "then": ["down"]},
        {"go_to": 12, "then": ["take rope", "down"]},
    )
    for number, way in enumerate(ways):
        answer = {"action": "wait", "stop_at": "failure", **way}
        run, prompts = second_episode(tmp_path / str(number), answer, script=creaks)
        assert [action for action, _ in sources(run)] == [*WAY]
        assert len(prompts) == 1


def test_what_a_command_brought_here_in_an_earlier_game_is_expected(tmp_path: Path) -> None:
    opened = replace(LOFT, text="Open.", inventory=(KEY,), moves=2)
    script = {**MILL, "open basket": opened, "down": replace(CELLAR, inventory=(KEY,))}
    model = answering(*typed("up", "open basket", "down"), {"action": "up", "then": ["open basket", "down"]})
    assert len(sources(play_mill(tmp_path, model, script))) == 3
    assert len(model.calls) == 4
    lost = {**script, "open basket": replace(opened, inventory=())}
    model = answering(*typed("up", "open basket", "down"), {"action": "up", "then": ["open basket", "down"]})
    play_mill(tmp_path / "first", model, lost, script)
    assert "now you carry: brass key" in course_in(model.calls[4].prompt.user)


def test_points_that_a_command_won_before_and_does_not_win_now_stop_a_course(tmp_path: Path) -> None:
    won = replace(TAKEN, text="The miller nods.", score=5)
    refused = replace(won, text="The miller does not nod.", score=0, state_hash="d")
    for name, second, is_stopped in (("lost", refused, True), ("won", won, False)):
        model = answering(
            *typed("take rope", "ask miller", "wait", "wait"), routine("take rope", "ask miller", "read rope")
        )
        scripts = [{**ROUTINE, "ask miller": each} for each in (won, second)]
        run = play_mill(tmp_path / name, model, *scripts, max_turns_per_episode=4)
        assert (sources(run)[-1] != ("read rope", "then")) == is_stopped
        course = course_in(model.calls[-1].prompt.user)
        assert ("it won no point, though it did here in an earlier game" in course) == is_stopped


@pytest.mark.parametrize(("score", "is_stopped"), [(5, False), (10, True)])
def test_points_that_a_command_won_before_stop_no_course_that_tries_things_out(
    tmp_path: Path, score: int, *, is_stopped: bool
) -> None:
    won = replace(TAKEN, text="The miller nods.", score=5)
    other = {**ROUTINE, "ask miller": replace(won, text="The miller laughs.", score=score)}
    answer = {**routine("take rope", "ask miller", "read rope"), "stop_at": "place"}
    model = answering(*typed("take rope", "ask miller", "wait", "wait"), answer)
    run = play_mill(tmp_path, model, {**ROUTINE, "ask miller": won}, other, max_turns_per_episode=4)
    assert (sources(run)[-1] != ("read rope", "then")) == is_stopped


@pytest.mark.parametrize("is_known", [False, True], ids=["new in any game", "printed in an earlier game"])
def test_what_comes_into_sight_while_the_player_waits_stops_a_course_once(tmp_path: Path, *, is_known: bool) -> None:
    falls = replace(TAKEN, text="A brass key falls from the chute.", visible=(KEY,), state_hash="d")
    script = {**ROUTINE, "wait": falls}
    first = typed("take rope", "wait" if is_known else "read rope", "look", "look")
    model = answering(*first, routine("take rope", "wait", "read rope"))
    run = play_mill(tmp_path, model, script, max_turns_per_episode=4)
    stopped = "stopped at `wait` (3 commands played): now in sight: brass key. Not played: `read rope`."
    assert (stopped in course_in(model.calls[-1].prompt.user)) != is_known
    assert (sources(run)[-1] == ("read rope", "then")) == is_known


def test_an_exit_in_vain_stops_no_course_if_the_player_went_on_with_the_same_command_in_this_game(
    tmp_path: Path,
) -> None:
    """A boat is steered by directions, and is the same place wherever it is."""
    sailing = replace(TAKEN, text="You sail up.", moves=4, state_hash="d")
    answers: tuple[Answer, ...] = (routine("take rope", "up", "up"), {"action": "up", "then": ["up", "look"]})
    run, reports = one_episode(tmp_path, *answers, script={**ROUTINE, "up": sailing}, turns=6)
    assert "stopped at `up` (3 commands played): you are still at Yard. Not played: `up`." in reports[1]
    assert [source for _, source in sources(run, 1)[3:5]] == ["none", "then"]
    assert "stopped at `up` (2 commands played): you are still at Yard. Not played: `look`." in reports[2]


KNOWN_EFFECTS = {
    "what comes into sight": (
        {"wait": replace(TAKEN, text="A key falls.", visible=(KEY,), moves=4, state_hash="d")},
        ("wait", "read rope"),
    ),
    "a question for a further answer": (
        {
            "ask miller": replace(TAKEN, text="Well?", awaits_answer=True, moves=4, state_hash="d"),
            "yes": replace(TAKEN, text="Sure?", awaits_answer=True, moves=4, state_hash="e"),
            "no": replace(TAKEN, text="Oh.", moves=5, state_hash="f"),
        },
        ("ask miller", "yes", "no"),
    ),
}


@pytest.mark.parametrize("case", KNOWN_EFFECTS)
def test_what_happened_before_the_same_next_command_in_an_earlier_game_stops_no_course(
    tmp_path: Path, case: str
) -> None:
    more, then = KNOWN_EFFECTS[case]
    game = ("examine hook", "take rope", *then)
    model = answering(*typed(*game), routine("take rope", *then))
    run = play_mill(tmp_path, model, {**ROUTINE, **more}, max_turns_per_episode=len(game))
    assert [source for _, source in sources(run)[1 : 2 + len(then)]] == ["then"] * (1 + len(then))


SPOKEN = {
    "a quotation of several sentences": (
        'Mr. Crisp drums his fingers. "Go! The shop closes at five. Hurry!"',
        'Mr. Crisp drums his fingers. "Wait! The shop closes at five. Hurry!"',
        'something new: "Wait! The shop closes at five. Hurry!" Not',
    ),
    "the middle of a quotation": (
        '"Go! The shop closes at five. Hurry!"',
        '"Go! The shop closes at six. Hurry! I say!"',
        'something new: "Go! The shop closes at six. Hurry! I say!" Not',
    ),
    "who speaks before it": ("Well.", 'Mr. Crisp says, "Wait!" He smiles.', "new: \"Mr. Crisp says, 'Wait!'\" Not"),
    "who speaks after it": ("Well.", '"Wait!" says Mr. Crisp. He smiles.', "new: \"'Wait!' says Mr. Crisp.\" Not"),
    "paragraphs of one speech": ("Well.", '"Wait. Sit down.\n\n"Eat. Now."\n\nWell.', 'new: "\'Wait. Sit down." Not'),
    "curly marks": ("Well.", "\u201cWait! Sit down.\u201d Well.", 'new: "Wait! Sit down." Not'),
}


@pytest.mark.parametrize("case", SPOKEN)
def test_the_sentence_that_stops_a_course_is_shown_whole_with_its_quotation(tmp_path: Path, case: str) -> None:
    known, spoken, told = SPOKEN[case]
    before, after = ({**MILL, "take rope": replace(ROPED, text=text)} for text in (known, spoken))
    model = answering(*typed(*WAY), {"action": "up", "then": ["take rope", "down"]})
    play_mill(tmp_path, model, before, after)
    assert told in course_in(model.calls[4].prompt.user)


TRAY, ON_TRAY, GEM = GameObject(40, "board"), GameObject(31, "brass key", 40), GameObject(30, "gem")
LANTERN = replace(ROPE, name="brass lantern")
ON_FLOOR = replace(YARD, text="Dust.", visible=(TRAY, ON_TRAY, LANTERN), moves=1)
LIFTED = replace(ON_FLOOR, inventory=(TRAY, ON_TRAY), visible=(LANTERN,), moves=2)
LAID = replace(ON_FLOOR, moves=3, state_hash="a")
ALIGHT = replace(ON_FLOOR, inventory=(LANTERN,), visible=(TRAY, ON_TRAY), moves=3)
FULL = replace(LIFTED, inventory=(TRAY, GEM), moves=3)
STOWED = replace(FULL, inventory=(TRAY, LANTERN), visible=(), parents=(*(0,) * 30, 40, *(0,) * 11), moves=4)
UNSTOWED = replace(STOWED, inventory=(TRAY, LANTERN, GEM), parents=())
WITHOUT_NAMING: dict[str, tuple[list[tuple[str, Observation]], bool]] = {
    "what is on a thing that is taken": ([("take board", LIFTED)], True),
    "what is on a thing that is laid down": ([("take board", LIFTED), ("dip board", LAID)], True),
    "a thing by another word than its name has": ([("take lamp", ALIGHT)], True),
    "what is put into a carried thing to make room": ([("take all", FULL), ("take lamp", STOWED)], True),
    "what comes out of a carried thing": ([("take all", FULL), ("take lamp", STOWED), ("pull hook", UNSTOWED)], True),
    "what is in something else": ([("take lamp", replace(ALIGHT, inventory=(LANTERN, ON_TRAY)))], False),
    "contents that were not in sight": ([("take board", LIFTED)], False),
    "another thing than the one taken": ([("take lamp", LIFTED)], False),
}


@pytest.mark.parametrize("lamp", ["rope", "hook"], ids=["a word of the story", "a word that names nothing"])
@pytest.mark.parametrize("case", WITHOUT_NAMING)
def test_what_is_gained_and_lost_is_named_by_the_object_tree(tmp_path: Path, case: str, lamp: str) -> None:
    played, is_named = WITHOUT_NAMING[case]
    steps = {command.replace("lamp", lamp): after for command, after in played}
    answer = {**routine(*steps, "look"), "action": "wait"}
    start = replace(ON_FLOOR, visible=(TRAY, LANTERN)) if "not in sight" in case else ON_FLOOR
    script = {"": replace(start, moves=0), "wait": start, **steps}
    run, reports = one_episode(tmp_path, answer, script=script, turns=6)
    assert [action for action, _ in sources(run, 1)][1 : len(steps) + 1] == [*steps]
    assert ("now you carry: " in reports[1]) != is_named
    assert (sources(run, 1)[len(steps) + 1] == ("look", "then")) == is_named


OPEN_BASKET, IN_HAND = GameObject(40, "basket"), GameObject(31, "brass key", 40)
KEPT = (*(0,) * 31, 40, *(0,) * 10)
ON_THE_WAY: dict[str, Script] = {
    "what was in sight when it was chosen": {
        "up": replace(LOFT, visible=(ROPE, KEY)),
        "take rope": replace(ROPED, visible=(KEY,)),
    },
    "what was in a carried thing": {
        "up": replace(LOFT, inventory=(OPEN_BASKET,), parents=KEPT),
        "take rope": replace(ROPED, inventory=(ROPE,), visible=(OPEN_BASKET, IN_HAND)),
    },
    "what is in a carried thing now": {
        "take rope": replace(ROPED, inventory=(OPEN_BASKET,), parents=(*(0,) * 21, 40, *(0,) * 20)),
        "up": replace(LOFT, inventory=(OPEN_BASKET,)),
    },
}


@pytest.mark.parametrize("case", ON_THE_WAY)
def test_a_route_is_not_stopped_by(tmp_path: Path, case: str) -> None:
    changed = {**MILL, **ON_THE_WAY[case]}
    model = answering(*typed(*WAY, "up"), {"action": "wait", "follow": 3})
    run = play_mill(tmp_path, model, MILL, changed)
    assert sources(run)[1:] == [("take rope", "route"), ("down", "route")]


def test_a_route_goes_on_if_a_command_brings_what_it_brought_here_in_another_game(tmp_path: Path) -> None:
    keyed = {**MILL, "take rope": replace(ROPED, inventory=(ROPE, KEY)), "down": replace(CELLAR, inventory=(ROPE, KEY))}
    for number, (second, is_expected) in enumerate(((keyed, True), (MILL, False))):
        answers = iter(typed(*WAY, *WAY))

        def reply(_role: Role, prompt: Prompt, _schema: type[BaseModel], left: Any = answers) -> Answer:
            routes = re.findall(r"^(\d+): \+5 ", prompt.user, re.MULTILINE)
            return next(left, {"action": "wait", "follow": min(map(int, routes), default=None)})

        model = ScriptedLLM(reply)
        play_mill(tmp_path / str(number), model, MILL, second, keyed, episodes=3)
        reports = [course_in(call.prompt.user) for call in model.calls[7:]]
        assert ("this is new here: brass key" not in "".join(reports)) == is_expected


def test_a_dark_place_that_the_command_led_to_in_an_earlier_game_is_expected(tmp_path: Path) -> None:
    dark = {**MILL, "down": replace(CELLAR, text="It is pitch black.", score=0), "wait": replace(CELLAR, score=0)}
    course: Answer = {"action": "up", "then": ["take rope", "down", "up"]}
    for first, is_expected in ((dark, True), ({**dark, "take rope": replace(ROPED, text="It is pitch black.")}, False)):
        way = [*WAY, "wait"] if is_expected else ["up", "take rope", "wait", "wait"]
        model = answering(*typed(*way), course)
        run = play_mill(tmp_path / str(is_expected), model, first, dark, max_turns_per_episode=4)
        assert (sources(run)[3] == ("up", "then")) == is_expected


@pytest.mark.parametrize(("answered", "is_expected"), [("yes", True), ("no", False)])
def test_a_question_that_was_answered_so_in_an_earlier_game_is_expected(
    tmp_path: Path, answered: str, is_expected: bool
) -> None:
    asks, fine = replace(YARD, text="Do you want the rope?", moves=1), replace(YARD, text="Fine.", moves=2)
    script = {"": YARD, "ask miller": asks, "yes": replace(TAKEN, text="Here."), "no": fine}
    model = answering(*typed("ask miller", answered, "wait"), {"action": "ask miller", "then": ["yes", "wait"]})
    run = play_mill(tmp_path, model, script)
    assert (sources(run)[1] == ("yes", "then")) == is_expected


@pytest.mark.parametrize(("went_on", "is_expected"), [("take rope", True), ("wait", False)])
def test_a_failure_after_which_an_earlier_game_went_on_alike_is_expected(
    tmp_path: Path, went_on: str, is_expected: bool
) -> None:
    script = {**ROUTINE, "up": replace(YARD, text="It is too high.", moves=1)}
    model = answering(*typed("up", went_on, "take rope"), {"action": "up", "then": ["take rope"]})
    run = play_mill(tmp_path, model, script)
    assert (sources(run)[1] == ("take rope", "then")) == is_expected


TURNS = 16
OPTIONS: dict[str, Any] = {**AGENT_ALONE, "max_turns_per_episode": TURNS}


@pytest.mark.parametrize("way", [{"then": [*WAY[1:]]}, {"follow": 1}], ids=str)
def test_the_question_about_objectives_waits_for_the_end_of_a_course(tmp_path: Path, way: Answer) -> None:
    asked: list[str] = []

    def reply(role: Role, prompt: Prompt, _schema: type[BaseModel]) -> Answer:
        asked.append("agent" if role == "agent" else re.findall(r"- Turn: \d+", prompt.user)[0])
        return next(answers, {"action": "wait"}) if role == "agent" else {}

    answers: Iterator[Answer] = iter([*typed(*WAY), {"action": "wait"}, {"action": "up", **way}])
    options: Any = {"objectives": {"enabled": True}, "objective_update_interval": 1, "max_turns_per_episode": 4}
    play_mill(tmp_path, ScriptedLLM(reply), **options)
    assert asked[-3:] == ["agent", "- Turn: 3", "agent"]


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


def test_a_second_episode_that_knows_the_words_takes_few_calls(whole: Path) -> None:
    events = events_of(find_run(whole))
    turns = [event.record for event in events if isinstance(event, TurnPlayed)]
    assert [turn.action for turn in turns[:TURNS]] == [turn.action for turn in turns[TURNS:]]
    calls = [sum(turn.verdicts[-1].source != "then" for turn in turns if turn.episode == each) for each in (1, 2)]
    assert sum(calls) == sum(isinstance(event, ModelAnswered) for event in events)
    assert calls[1] <= TURNS / 4 < calls[0]


@pytest.mark.parametrize("turn", [8, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (1, 3, 13, TURNS))])
def test_a_run_that_is_killed_within_a_course_and_resumed_equals_one_that_was_not(
    own_story: Path, tmp_path: Path, whole: Path, turn: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        play(own_story, tmp_path, show=killing_after(2, turn))
    resume_run(own_story, ScriptedLLM(by_the_book), tmp_path)
    assert journal_of(tmp_path) == journal_of(whole)
    assert verify_run(own_story, tmp_path).difference is None


def past_news(role: Role, prompt: Prompt, schema: type[BaseModel]) -> Answer:
    return {**by_the_book(role, prompt, schema), "stop_at": "failure"}


def test_a_first_episode_that_stops_at_failures_is_called_at_new_places(own_story: Path, tmp_path: Path) -> None:
    model = ScriptedLLM(past_news)
    run = play_run(own_story, model, tmp_path / "whole", **OPTIONS)
    assert [turn.action for turn in run.turns] == list(WALKTHROUGH[:TURNS])
    places = {turn.after.location for turn in run.turns if turn.moved}
    assert len(model.calls) <= len(places) + 1
    reports = [course_in(call.prompt.user).partition(" Not played")[0] for call in model.calls[1:]]
    assert all(" by a new place: " in report for report in reports)

    within = next(turn.turn for turn in run.turns if turn.verdicts[-1].source == "then" and turn.turn > TURNS / 2)
    show, killed = killing_after(1, within), tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        play_run(own_story, ScriptedLLM(past_news), killed, show=show, **OPTIONS)
    resume_run(own_story, ScriptedLLM(past_news), killed)
    assert journal_of(killed) == journal_of(tmp_path / "whole")
    assert verify_run(own_story, killed).difference is None


def test_keys_of_a_menu_are_a_course_if_it_stops_at_failures_only(tmp_path: Path) -> None:
    keys: Answer = {"action": "help", "then": ["n", "n", "escape", "look"], "stop_at": "failure"}
    rest: Answer = {"action": "n", "then": ["n", "escape", "look"]}
    for number, (stop_at, calls) in enumerate((("failure", 2), ("news", 5))):
        model = answering(keys, {**rest, "stop_at": stop_at}, {"action": "n"}, {"action": "escape"})
        folder = tmp_path / str(number)
        run = play_run(MENUS, model, folder, episodes=1, max_turns_per_episode=5, **AGENT_ALONE)
        assert [turn.action for turn in run.turns][:3] == ["help", "n", "n"]
        assert len(model.calls) == calls
    assert "the story waits for a key. Not played: `n`, `escape`" in course_in(model.calls[2].prompt.user)
