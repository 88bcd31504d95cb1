"""A route that leads elsewhere than before, by chance or by an edit, stops there and is trusted less."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from pydantic import BaseModel

from orchestration.opening import ChosenStory, Parts
from orchestration.run import open_run
from session.commands import Vocabulary
from session.events import Event
from session.game_configuration import GameConfiguration
from session.text import counted
from session.values import GameObject, Location, Observation, Seed
from tests.fixtures.scripted_game import Script, ScriptedGame
from tests.fixtures.whole_run import WholeRun
from tests.unit.zorkgpt.players.dye_works import vocabulary
from zorkgpt.llm.language_model import LanguageModel, Prompt, Role
from zorkgpt.llm.run_model import ChosenModel
from zorkgpt.llm.stand_ins import ScriptedLLM

ROPE, MILLER = GameObject(21, "rope"), GameObject(22, "miller")
YARD = Observation("A yard.", Location(11, "Yard"), (), (), score=0, moves=0)
LOFT = replace(YARD, text="A loft, and a rope.", location=Location(12, "Loft"), visible=(ROPE,), moves=1)
ROPED = replace(LOFT, text="Taken.", inventory=(ROPE,), visible=(), moves=2)
CELLAR = replace(ROPED, text="A cellar full of flour.", location=Location(13, "Cellar"), score=5, moves=3)
MILL: Script = {"": YARD, "up": LOFT, "take rope": ROPED, "down": CELLAR}
WAY = ("up", "take rope", "down")


class ChangingMill(ScriptedGame):
    """Uses the next script in each further episode; the last one is repeated."""

    def __init__(self, *scripts: Script) -> None:
        super().__init__(scripts[0])
        self._scripts = scripts

    def reset(self, seed: Seed) -> Observation:
        self._script = self._scripts[min(len(self.seeds), len(self._scripts) - 1)]
        return super().reset(seed)


def play_mill(folder: Path, model: LanguageModel, *scripts: Script, episodes: int = 2, **options: Any) -> WholeRun:
    """Play a run at the mill to its end."""
    usual = {"critic": {"mode": "object_tree"}, "objectives": {"enabled": False}, "knowledge": {"enabled": False}}
    off = {"simple_memory": {"enabled": False}, "max_turns_per_episode": len(WAY)}
    configuration = GameConfiguration(zork_game_workdir=folder, **{**usual, **off, **options})
    events: list[Event] = []
    game = ChangingMill(*(scripts or (MILL,)))
    parts = Parts(game, ChosenModel(model, "scripted"), ChosenStory(folder / "mill.z5", "a test"), words())
    with open_run(configuration, parts, episodes=episodes, show=events.append, stop=Flag()) as run:
        end = run.play()
    return WholeRun(end, tuple(events))


def words() -> Vocabulary:
    """Return the vocabulary of the mill."""
    known = vocabulary()
    ways = frozenset({"up", "down"})
    return replace(
        known,
        words=known.words | ways | {"rope", "look"},
        nouns=known.nouns | {"rope"},
        verbs=known.verbs | {"look"},
        directions=ways,
        objects={"rope": (ROPE.num,)},
        mentions={"rope": (ROPE.num,)},
    )


def returning() -> ScriptedLLM:
    """A model that goes to the cellar, and then follows the first route that it is shown at the opening."""
    commands = cycle(WAY)

    def reply(_role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        at_opening = "How the story began" not in prompt.user
        if at_opening and "follow" in schema.model_fields:
            return {"action": "wait", "follow": int(prompt.user.split("## ROUTES\n")[1].split(":")[0])}
        return {"action": next(commands) if "follow" not in schema.model_fields else "wait"}

    return ScriptedLLM(reply)


def typed(*commands: str) -> list[dict[str, object]]:
    return [{"action": command} for command in commands]


def best_route(folder: Path) -> dict[str, object]:
    routes = json.loads((folder / "routes.json").read_text())["routes"]
    found: dict[str, object] = next(route for route in routes if route["goal"]["kind"] == "score")
    return found


def followed(run: WholeRun, episode: int) -> list[str]:
    return [turn.action for turn in run.turns if turn.is_of_route and turn.episode == episode]


CHANGED: dict[str, tuple[str, Observation, int, str]] = {
    "place": ("up", replace(LOFT, location=YARD.location), 1, "you are not at Loft but at Yard"),
    "unknown place": ("up", replace(LOFT, location=None), 1, "you are not at Loft but somewhere unknown"),
    "score": ("take rope", replace(ROPED, score=-2), 2, "the score is not 0 but -2"),
    "death": ("take rope", replace(ROPED, died=True), 2, "you died"),
    "missing": ("take rope", replace(ROPED, inventory=()), 2, "you do not carry all that you carried then"),
    "somebody": ("take rope", replace(ROPED, visible=(MILLER,)), 2, "this is new here: miller"),
    "needed": ("up", replace(LOFT, visible=()), 1, "something that the route needs is not here"),
    "refusal": (
        *("take rope", replace(LOFT, refusal="It would crash.", text="It would crash."), 2),
        "the command did not reach the story",
    ),
    "nameless": ("take rope", replace(ROPED, visible=(GameObject(9, ""),)), 2, "this is new here: object #9"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_it_stops_at_the_step_that_leads_elsewhere_and_the_next_prompt_says_why(tmp_path: Path, change: str) -> None:
    command, after, steps, reason = CHANGED[change]
    model = returning()
    run = play_mill(tmp_path, model, MILL, {**MILL, command: after})
    assert followed(run, 2) == list(WAY[:steps])
    told = model.calls[len(WAY) + 1].prompt.user
    assert f" stopped at `{command}` ({counted(steps, 'command')} played): {reason}." in told
    assert best_route(tmp_path)["stops"] == {str(steps): 1}


@pytest.mark.parametrize("has_changed", [False, True], ids=["nothing changed", "somebody came"])
def test_the_step_that_failed_is_no_beginning_of_another_route_until_something_has_changed(
    tmp_path: Path, *, has_changed: bool
) -> None:
    stuck = replace(LOFT, text="It sticks.")
    looked = replace(stuck, visible=(ROPE, MILLER)) if has_changed else stuck
    answers = iter([*typed(*WAY, "wait"), {"action": "wait", "follow": 2}, *typed("wait", "wait")])
    model = ScriptedLLM(lambda _role, _prompt, _schema: next(answers))
    play_mill(tmp_path, model, MILL, {**MILL, "take rope": stuck, "wait": looked}, max_turns_per_episode=4)
    *_, after_stop, later = [call.prompt.user for call in model.calls]
    offered = [prompt.partition("## ROUTES\n")[2].split("\n\n")[0] for prompt in (after_stop, later)]
    assert "stopped at `take rope`" in offered[0]
    assert [" from here" in each for each in offered] == [False, has_changed]


def test_the_step_that_stopped_a_route_is_considered_like_any_other_command(tmp_path: Path) -> None:
    stuck = replace(LOFT, text="It sticks, and it will not come off for any pulling at it.")
    answers = iter([*typed(*WAY, "wait"), {"action": "wait", "follow": 2}, *typed("down", "wait")])

    def reply(role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        return next(answers) if role == "agent" else {"memories": []}

    model = ScriptedLLM(reply)
    options: dict[str, Any] = {"max_turns_per_episode": 4, "simple_memory": {}}
    play_mill(tmp_path, model, MILL, {**MILL, "take rope": stuck}, **options)
    asked = [call.prompt.user for call in model.calls if call.role == "memory"]
    assert "Turn 2: take rope (the player stayed)" in asked[-1]


def test_a_route_that_stopped_often_says_where_and_then_is_not_offered_any_more(tmp_path: Path) -> None:
    shut = {**MILL, "down": replace(CELLAR, location=Location(12, "Loft"), score=0)}
    model = returning()
    run = play_mill(tmp_path, model, MILL, shut, episodes=5)
    assert [len(followed(run, episode)) for episode in range(2, 5)] == [3, 3, 3]
    openings = [call.prompt.user for call in model.calls if "How the story began" not in call.prompt.user]
    assert "worked in 1 of 2 episodes, stopped at command 3 (down)" in openings[2]
    assert "+5" not in openings[-1]


def test_a_location_is_walked_to_by_the_map_and_an_unknown_one_or_route_is_proposed_again(tmp_path: Path) -> None:
    wishes = [{"go_to": 99}, {}, {"go_to": 11}, {}, {"go_to": 12}]
    answers = iter([*typed(*WAY), {"action": "wait", "follow": 77}, *({"action": "wait", **wish} for wish in wishes)])
    model = ScriptedLLM(lambda _role, _prompt, _schema: next(answers))
    run = play_mill(tmp_path, model)
    assert [(turn.action, turn.is_of_route) for turn in run.turns[3:]] == [
        *[("wait", False)] * 2,
        ("up", True),
    ]
    refused = [verdict for turn in run.turns[3:] for verdict in turn.verdicts if not verdict.accepted]
    assert {verdict.source for verdict in refused} == {"route"}
    no_route, *others = [verdict.reason for verdict in refused]
    assert no_route.startswith("there is no route 77 from here; those that begin here: ")
    assert others == ["no way from here to location 99 is known", "you are there already"]
    assert no_route in model.calls[4].prompt.user
    assert "- `go_to 99`: no way from here to location 99 is known" in model.calls[5].prompt.user


def test_a_route_is_played_to_its_end_and_how_it_is_named_is_told_where_the_answer_has_a_field_for_it(
    tmp_path: Path,
) -> None:
    model = returning()
    run = play_mill(tmp_path, model)
    assert followed(run, 2) == list(WAY)
    assert [best_route(tmp_path)[key] for key in ("followed", "worked")] == [1, 1]
    asked = [(call.prompt, call.schema.model_fields) for call in model.calls if call.role == "agent"]
    assert {way for _, fields in asked for way in ("follow", "go_to") if way in fields} == {"follow", "go_to"}
    for prompt, fields in asked:
        text = f"{prompt.system}\n{prompt.user}"
        assert [f"`{way}`" in text for way in ("follow", "go_to")] == [way in fields for way in ("follow", "go_to")]
        assert ("write `wait`" in text) is ("follow" in fields or "go_to" in fields)
