"""What one episode reached, the next one returns to along a route, which may be proven first or prove wrong."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from dataclasses import replace
from itertools import cycle, pairwise
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import override

from orchestration.history import Branch
from orchestration.parts import ChosenStory, Parts
from orchestration.route_proof import _Limits, _RouteTrial
from orchestration.run import open_run
from session.commands import Vocabulary
from session.events import EpisodeEnded, Event, GameFailed, ModelAnswered, RoutesProven, RunStarted, TurnPlayed
from session.files.run_folders import find_run
from session.game_configuration import GameConfiguration
from session.route import Goal, Proof, Route, RouteStep, Waypoint
from session.text import counted
from session.values import GameObject, Location, Observation, Seed
from tests.fixtures.doomed_run import decided_by_prompt
from tests.fixtures.prompted_run import fork_of
from tests.fixtures.run_traces import journal_of
from tests.fixtures.scripted_game import Script, ScriptedGame
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import AGENT_ALONE, WholeRun, killing_after, play_run, resume_run, verify_run
from tests.unit.zorkgpt.players.dye_works import vocabulary
from zorkgpt.llm.language_model import LanguageModel, Prompt, Role
from zorkgpt.llm.run_model import ChosenModel

TURNS = 11
OPTIONS: dict[str, Any] = {**AGENT_ALONE, "max_turns_per_episode": TURNS}


class Returning:
    """Plays the walkthrough once, and a look; then follows the route that wins most, and waits at its end."""

    def __init__(self) -> None:
        self.asked = 0
        self._commands = iter((*WALKTHROUGH[: TURNS - 1], "look"))

    def __call__(self, _role: Role, prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        self.asked += 1
        routes = prompt.user.partition("## ROUTES\n")[2].split("\n\n")[0]
        gains = {int(number): int(gain) for number, gain in re.findall(r"^(\d+): \+(\d+)", routes, re.MULTILINE)}
        if gains:
            return {"action": "look", "follow": max(gains, key=lambda number: gains[number])}
        return {"action": next(self._commands, "wait")}


def play(story: Path, folder: Path, model: ScriptedLLM, **options: Any) -> WholeRun:
    return play_run(story, model, folder, **{"episodes": 2, **OPTIONS, **options})


def test_the_second_episode_returns_to_the_best_score_without_a_model_call_in_between(
    own_story: Path, tmp_path: Path
) -> None:
    agent = Returning()
    model = ScriptedLLM(agent)
    run = play(own_story, tmp_path, model)
    first, second = run.episodes
    assert first.best_score
    assert second.best_score == first.best_score
    followed = [turn for turn in run.turns if turn.is_of_route]
    assert [turn.turn for turn in followed] == list(range(1, len(followed) + 1))
    played = [turn for turn in run.turns if turn.episode == 1]
    best = next(turn.turn for turn in played if turn.after.score == first.best_score)
    assert [turn.action for turn in followed] == [turn.action for turn in played[:best]]
    assert agent.asked == TURNS + 1 + TURNS - len(followed)

    sections = [call.prompt.user.partition("## ROUTES\n")[2].split("\n\n")[0] for call in model.calls]
    assert sections[:TURNS] == [""] * TURNS
    route = "in 10 turns, worked in 1 of 1 episode: 1 to 10 as in episode 1 (2: +5, "
    assert route in sections[TURNS]
    assert "## COURSE\nRoute 7 was followed to its end, in 10 commands.\n" in model.calls[TURNS + 1].prompt.user
    reasons = [turn.proposals[-1].reasoning for turn in followed[1:]]
    assert reasons == [f"On route 7, +{first.best_score} points: command {number} of 10." for number in range(2, 11)]


def test_the_current_state_is_up_to_date_when_the_agent_is_asked_first_and_after_a_route(
    own_story: Path, tmp_path: Path
) -> None:
    (tmp_path / "current_state.json").write_text('{"run": "an earlier one", "episode": 1, "turn": 7}')
    agent, shown = Returning(), []

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        state = json.loads((tmp_path / "current_state.json").read_text())
        shown.append((state["run"], state["episode"], state["turn"], state["score"]))
        return agent(role, prompt, schema)

    run = play(own_story, tmp_path, ScriptedLLM(reply))
    *_, last_of_route = (turn for turn in run.turns if turn.is_of_route)
    run_id, route_end = find_run(tmp_path).name, (2, last_of_route.turn, last_of_route.after.score)
    assert shown[0] == (run_id, 1, 0, 0)
    assert shown[TURNS : TURNS + 2] == [(run_id, 2, 0, 0), (run_id, *route_end)]


def test_no_model_is_asked_about_anything_while_a_route_is_followed(own_story: Path, tmp_path: Path) -> None:
    agent = Returning()

    def reply(role: Role, prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        return agent(role, prompt, schema) if role == "agent" else decided_by_prompt(role, prompt, schema)

    on: dict[str, Any] = {"objectives": {}, "simple_memory": {}, "knowledge": {}}
    often = {"objective_update_interval": 2, "knowledge_update_interval": 3}
    run = play(own_story, tmp_path, ScriptedLLM(reply), **on, **often)
    within = {  # turns that the next command of the same route follows
        (one.episode, one.turn)
        for one, other in pairwise(run.turns)
        if one.is_of_route and other.is_of_route and not other.proposals[-1].wants_way
    }
    asked: Counter[bool] = Counter()
    for event, follower in pairwise(event for event in run.events if not isinstance(event, EpisodeEnded)):
        if isinstance(event, TurnPlayed):
            is_within = (event.record.episode, event.record.turn) in within
            asked[is_within] += isinstance(follower, ModelAnswered) and follower.role != "agent"
    assert asked[False] > TURNS / 2
    assert len(within) > 1
    assert asked[True] == 0


@pytest.fixture(scope="module")
def whole(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run that was not stopped. No test changes it."""
    folder = tmp_path_factory.mktemp("whole")
    play(own_story, folder, ScriptedLLM(Returning()))
    return folder


@pytest.mark.parametrize(
    "turn", [1, 6, TURNS - 1, *(pytest.param(turn, marks=pytest.mark.slow) for turn in (2, 3, 4, 5, 7, 8, 9))]
)
def test_a_run_that_is_killed_at_a_step_of_a_route_and_resumed_equals_one_that_was_not(
    own_story: Path, tmp_path: Path, whole: Path, turn: int
) -> None:
    agent = Returning()
    with pytest.raises(KeyboardInterrupt):
        play(own_story, tmp_path, ScriptedLLM(agent), show=killing_after(2, turn))
    asked = agent.asked
    resume_run(own_story, ScriptedLLM(agent), tmp_path)
    assert agent.asked == asked + 1
    assert journal_of(tmp_path) == journal_of(whole)
    assert (tmp_path / "routes.json").read_text() == (whole / "routes.json").read_text()
    assert verify_run(own_story, tmp_path).difference is None


def test_a_run_that_stops_for_somebody_stops_in_the_middle_of_a_route_and_goes_on_there(
    own_story: Path, tmp_path: Path
) -> None:
    stop, agent = Flag(), Returning()

    def interrupt(event: Event) -> None:
        if isinstance(event, TurnPlayed) and (event.record.episode, event.record.turn) == (2, 4):
            stop.set()

    assert play(own_story, tmp_path, ScriptedLLM(agent), show=interrupt, stop=stop).end == "interrupted"
    resumed = resume_run(own_story, ScriptedLLM(agent), tmp_path)
    assert [turn.is_of_route for turn in resumed.turns] == [True] * 6 + [False]


def test_a_fork_in_the_middle_of_a_route_goes_on_along_it(own_story: Path, tmp_path: Path, whole: Path) -> None:
    waits = ScriptedLLM(lambda _role, _prompt, _schema: {"action": "wait"})
    fork = fork_of(own_story, shutil.copytree(whole, tmp_path / "work"), Branch(2, 4), waits)
    assert [turn.is_of_route for turn in fork.played.turns if turn.episode == 2] == [True] * 10 + [False]


def test_without_routes_nothing_is_learned_or_offered(own_story: Path, tmp_path: Path) -> None:
    model = ScriptedLLM(lambda _role, _prompt, _schema: {"action": "north"})
    play(own_story, tmp_path, model, routes={"enabled": False})
    assert not (tmp_path / "routes.json").exists()
    told = "".join(f"{call.prompt.system}{call.prompt.user}{call.schema.model_fields}" for call in model.calls)
    assert "`follow`" not in told
    assert "'follow'" not in told
    assert "ROUTES" not in told


def test_the_control_begins_a_route_in_its_middle_and_stops_there(own_story: Path, tmp_path: Path) -> None:
    model = ScriptedLLM(Returning())
    run = play(own_story, tmp_path, model, routes={"shuffled": True})
    assert next(turn.action for turn in run.turns if turn.is_of_route) == "open chest"
    assert "Route 7 stopped at `open chest` (1 command played): you are not at" in model.calls[TURNS + 1].prompt.user


def test_what_an_episode_tried_is_offered_to_the_next_one_last(own_story: Path, tmp_path: Path) -> None:
    chosen: list[str] = []

    def first(_role: Role, _prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        action = schema.model_json_schema()["properties"]["action"]
        offered = [each for each in action.get("enum", [action.get("const")]) if not each.startswith("follow route")]
        chosen.append(offered[0])
        return {"reasoning": "", "action": offered[0]}

    play(own_story, tmp_path, ScriptedLLM(first), assist="fresh-actions", max_turns_per_episode=2)
    first_time, _, second_time = chosen  # without the first turn of all, whose list has only one command
    assert first_time != second_time


DETOURS = (
    *("north", "south", "north", "west", "east", "north", "take lamp", "up", "west", "open chest", "take coat"),
    *("drop coat", "open tin", "take key", "look", "east", "unlock door with key", "up"),
)
PROVEN: dict[str, Any] = {
    **OPTIONS,
    "max_turns_per_episode": len(DETOURS),
    "assist": "proven-routes",
    "routes": {"proof_seeds": 2, "proof_seconds": 600},  # however busy the machine is
}


def wanderer() -> ScriptedLLM:
    commands = iter(DETOURS)
    return ScriptedLLM(lambda _role, _prompt, _schema: {"action": next(commands, "wait")})


def wander(story: Path, folder: Path, **options: Any) -> WholeRun:
    return play_run(story, wanderer(), folder, episodes=2, **{**PROVEN, **options})


def proofs(run: WholeRun) -> list[RoutesProven]:
    return [event for event in run.events if isinstance(event, RoutesProven)]


def routes_in(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "routes.json").read_text())["routes"]
    return found


def test_a_route_is_shortened_to_what_it_needs_and_a_second_one_carries_more(own_story: Path, tmp_path: Path) -> None:
    run = wander(own_story, tmp_path)
    best = run.episodes[0].best_score
    forms = [route for route in routes_in(tmp_path) if route["goal"] == {"kind": "score", "number": best}]
    shortest, richest = ([step["command"] for step in route["steps"]] for route in forms)
    assert shortest == [
        *("north", "north", "up", "west", "open chest", "open tin", "take key", "east", "unlock door with key"),
    ]
    assert richest == [*shortest[:2], "take lamp", *shortest[2:]]
    assert [route["proof"] for route in forms] == [{"worked": 2, "tried": 2}] * 2
    assert isinstance(run.events[0], RunStarted)
    assert run.events[0].assistance == ("proven-routes",)
    assert [proof.episode for proof in proofs(run)] == [1]
    assert not any(isinstance(event, GameFailed) for event in run.events)
    assert verify_run(own_story, tmp_path).difference is None


def test_without_the_assistance_nothing_is_tried(own_story: Path, tmp_path: Path) -> None:
    run = wander(own_story, tmp_path, assist=frozenset())
    assert proofs(run) == []
    assert max(len(route["steps"]) for route in routes_in(tmp_path)) > 12


@pytest.mark.slow
def test_a_proof_that_has_no_time_leaves_the_routes_as_they_were_and_is_made_up_for_later(
    own_story: Path, tmp_path: Path
) -> None:
    wander(own_story, tmp_path, routes={"proof_seconds": 1e-9})
    assert [route for route in routes_in(tmp_path) if "proof" in route] == []
    later = play_run(own_story, wanderer(), tmp_path, **PROVEN)
    assert len(proofs(later)[0].routes) > 5


def test_a_proof_ends_with_the_route_that_uses_up_its_commands(own_story: Path, tmp_path: Path) -> None:
    run = wander(own_story, tmp_path, routes={"proof_seeds": 1, "proof_commands": 1})
    assert {len(proof.routes) for proof in proofs(run)} == {1}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TurnPlayed, RoutesProven])
def test_a_run_that_is_killed_around_a_proof_and_resumed_equals_one_that_was_not(
    own_story: Path, tmp_path: Path, kind: type[Event]
) -> None:
    wander(own_story, tmp_path / "whole")

    def kill(event: Event) -> None:
        if isinstance(event, kind) and (not isinstance(event, TurnPlayed) or event.record.turn == len(DETOURS)):
            raise KeyboardInterrupt

    model = wanderer()
    with pytest.raises(KeyboardInterrupt):
        play_run(own_story, model, tmp_path / "killed", episodes=2, show=kill, **PROVEN)
    resume_run(own_story, model, tmp_path / "killed")
    assert journal_of(tmp_path / "killed") == journal_of(tmp_path / "whole")
    assert routes_in(tmp_path / "killed") == routes_in(tmp_path / "whole")


@pytest.mark.slow
def test_a_run_that_is_to_stop_does_not_wait_for_the_proof(own_story: Path, tmp_path: Path) -> None:
    stop = Flag()

    def interrupt(event: Event) -> None:
        if isinstance(event, TurnPlayed) and event.record.turn == len(DETOURS):
            stop.set()

    stopped = wander(own_story, tmp_path, show=interrupt, stop=stop)
    assert (stopped.end, proofs(stopped)) == ("interrupted", [])
    resumed = resume_run(own_story, wanderer(), tmp_path)
    assert [proof.episode for proof in proofs(resumed)] == [2]
    assert verify_run(own_story, tmp_path).difference is None


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
    parts = Parts(game, ChosenModel(model, ("scripted",)), ChosenStory(folder / "mill.z5", "a test"), words())
    with open_run(configuration, parts, episodes=episodes, show=events.append, stop=Flag()) as run:
        end = run.play()
    return WholeRun(end, tuple(events))


def words() -> Vocabulary:
    """Return the vocabulary of the mill."""
    known = vocabulary()
    ways = frozenset({"up", "down"})
    verbs = known.verbs | {"look", "examin", "read", "pull", "open", "yes", "no"}
    return replace(
        known,
        words=known.words | ways | verbs | {"rope", "hook", "miller", "board"},
        nouns=known.nouns | {"rope", "hook", "miller", "board"},
        verbs=verbs,
        directions=ways,
        objects={"rope": (ROPE.num,)},
        mentions={"rope": (ROPE.num,)},
    )


def returning() -> ScriptedLLM:
    """A model that goes to the cellar, and then follows the first route that it is shown at the opening."""
    commands = cycle(WAY)

    def reply(_role: Role, prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        _, is_offered, routes = prompt.user.partition("## ROUTES\n")
        if is_offered and "This game so far" not in prompt.user:
            return {"action": "wait", "follow": int(routes.split(":")[0])}
        return {"action": "wait" if is_offered else next(commands)}

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
    "place": ("up", replace(LOFT, location=YARD.location), 1, "you are not at Loft (L12) but at Yard (L11)"),
    "unknown place": ("up", replace(LOFT, location=None), 1, "you are not at Loft (L12) but somewhere unknown"),
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
    assert "to its end (2 commands); last: " in after_stop
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
    assert "Turn 2: take rope (stayed, it took no turn of the story)" in asked[-1]


def test_a_route_that_stopped_often_says_where_and_then_is_not_offered_any_more(tmp_path: Path) -> None:
    shut = {**MILL, "down": replace(CELLAR, location=Location(12, "Loft"), score=0)}
    model = returning()
    run = play_mill(tmp_path, model, MILL, shut, episodes=5, prompt_budgets={"earlier_games": 0})
    assert [len(followed(run, episode)) for episode in range(2, 5)] == [3, 3, 3]
    openings = [call.prompt.user for call in model.calls if "This game so far" not in call.prompt.user]
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
        assert ("`action` is `wait`" in text) is ("follow" in fields or "go_to" in fields)


DEADLY_YARD = Observation("A yard.", Location(1, "Yard"), (), (), score=0)
SAFE_LOFT = Observation("A loft.", Location(2, "Loft"), (), (), score=0)


class DangerousYard(ScriptedGame):
    """A story in which waiting kills with the second seed."""

    def __init__(self) -> None:
        super().__init__({"": DEADLY_YARD, "up": SAFE_LOFT})

    @override
    def reset(self, seed: Seed) -> Observation:
        super().reset(seed)
        self.observation = replace(DEADLY_YARD, moves=int(seed))
        return self.observation

    @override
    def step(self, command: str) -> Observation:
        is_deadly = command == "wait" and self.observation.moves == 2
        after = super().step(command)
        return replace(after, died=True) if is_deadly else after


def test_seeds_with_which_only_the_shortened_form_works_count() -> None:
    steps = (RouteStep("wait", Waypoint.of(DEADLY_YARD)), RouteStep("up", Waypoint.of(SAFE_LOFT)))
    route = Route(1, Goal("room", 2, "Loft"), Waypoint.of(DEADLY_YARD), steps, 1)
    (form,) = _RouteTrial(DangerousYard(), route, range(1, 4), _Limits(Flag(), math.inf, 100)).forms()
    assert form.commands == ("up",)
    assert form.proof == Proof(3, 3)
