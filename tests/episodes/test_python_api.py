"""A Python program plays, resumes, replays and reads runs with ``zorkgpt.api``, and ``docs/python.md`` shows it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

import zorkgpt.api
from session.errors import ConfigurationError
from session.events import ModelAnswered, Proposed
from session.values import derived_seed
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import printed, refused
from zorkgpt.api import Situation, open_game, play, read_run, replay, resume

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = ("north", "look", "south", "take all", "look")
UNTYPED: Any = 1.5
"""No argument of these functions may be this, but a time limit."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> Path:
    clean_environment.chdir(tmp_path)
    return tmp_path


class Player:
    """Plays commands over and over; ``seen`` holds what it was shown."""

    def __init__(self) -> None:
        self.seen: list[Situation] = []
        self._commands = cycle(COMMANDS)

    def __call__(self, situation: Situation) -> str:
        self.seen.append(situation)
        return next(self._commands)


@pytest.mark.slow
def test_every_example_of_the_page_runs_and_one_drives_an_agent_function_for_ten_turns() -> None:
    namespace: dict[str, object] = {"__name__": "examples"}
    for example in EXAMPLES:
        exec(compile(example, "docs/python.md", "exec"), namespace)
    assert len(EXAMPLES) >= 7
    assert 10 in [read_run(run).summary.turns for run in Path("game_files/runs").iterdir()]


def test_the_example_of_the_readme_runs() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^    (from zorkgpt .*)\n\n    (.*)$", readme, re.MULTILINE)
    exec(compile("\n".join(example), "README.md", "exec"), {})
    assert read_run().summary.turns == 10


def test_a_function_is_shown_what_the_machine_says_and_its_runs_episodes_and_turns_are_rows_of_plain_values() -> None:
    player = Player()
    run = play(agent=player, max_turns=3, episodes=2)
    records = [turn.played.record for episode in run.episodes for turn in episode.turns]
    assert [record.action for record in records[:3]] == list(COMMANDS[:3])
    assert [situation.observation for situation in player.seen] == [record.before for record in records]
    assert records[1].before.text in player.seen[1].prompt
    assert (run.summary.player, run.summary.model) == ("Player()", ())
    turns, episodes, runs = (
        list(rows) for rows in (zorkgpt.api.turns(run), zorkgpt.api.episodes(run), zorkgpt.api.runs())
    )
    assert [(row["episode"], row["turn"], row["command"]) for row in turns[:2]] == [(1, 1, "north"), (1, 2, "look")]
    assert [row["turns"] for row in episodes] == [3, 3]
    assert [(row["run_id"], row["state"]) for row in runs] == [(run.summary.run_id, "done")]
    values = {type(value) for row in (*turns, *episodes, *runs) for value in row.values()}
    assert values <= {str, int, float, bool, type(None)}


def test_importing_the_api_imports_nothing_else_and_a_function_that_plays_needs_no_client_engine_or_door() -> None:
    script = """
import json, sys
before = set(sys.modules)
from zorkgpt import api
ours = sorted(name for name in sys.modules.keys() - before if name.split(".")[0] not in sys.stdlib_module_names)
api.play(agent=lambda _: "look", max_turns=1)
print(json.dumps([ours, list(sys.modules), dir(api), api.__all__]))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported, used, listed, public = json.loads(ran.stdout)
    assert imported == ["zorkgpt", "zorkgpt.api"]
    doors = {"gymnasium", "mcp", "inspect_ai", "huggingface_hub", "opentelemetry", "scipy", "matplotlib", "distributed"}
    assert not {"openai", "xllamacpp", "typer", "pandas", *doors} & set(used)
    assert listed == public
    assert {"play", "ablate", "Situation", "ZorkGPTError"} <= set(public)
    assert not hasattr(zorkgpt.api, "IsolatedGame")


def test_no_module_of_the_package_has_the_name_of_a_public_function() -> None:
    """Importing such a module would put it in the place of the function."""
    modules = {path.stem for path in Path(zorkgpt.api.__file__).parent.glob("*.py")}
    assert modules & set(zorkgpt.api.__all__) == set()


@pytest.mark.slow
def test_an_ablation_returns_a_row_for_each_episode_and_goes_on_in_the_folder_of_the_command() -> None:
    given: dict[str, Any] = {"player": "random", "episodes": 2, "max_turns": 5, "out": "out"}
    rows = zorkgpt.api.ablate(["full", "no-routes"], pairs=1, **given)
    assert [(row["arm"], row["pair"], row["episode"], row["seed"]) for row in rows] == [
        (arm, 1, number, derived_seed(1, number, "episode")) for arm in ("full", "no-routes") for number in (1, 2)
    ]
    for row in rows:
        run = read_run(str(row["run"]))
        assert (row["story"], row["turns"], row["player"], row["max_score"]) == ("tidehouse", 5, "random", 100)
        assert row["score"] == run.episodes[int(row["episode"] or 0) - 1].observations[-1].score
    assert sum(int(row["calls"] or 0) for row in rows[2:]) == 0
    command = "ablate --arms full,no-routes --player random --pairs 2 --episodes 2 --max-turns 5 --out out"
    assert "4 runs of 2 episodes, 2 done" in printed(*command.split())
    more = zorkgpt.api.ablate("full,no-routes", pairs=2, **given)
    first = derived_seed(1, 2, "pair")
    seeds = [first, derived_seed(first, 2, "episode")]
    assert (more[:4], [row["seed"] for row in more[4:]]) == (rows, seeds * 2)
    with pytest.raises(ConfigurationError, match="out contains another ablation"):
        zorkgpt.api.ablate("full,no-map", pairs=2, **given)


def test_a_function_may_be_given_commands_to_choose_from() -> None:
    def last(situation: Situation) -> str:
        return situation.choices[-1]

    run = play(agent=last, max_turns=3, options={"assist": "valid-actions"})
    assert run.summary.assistance == ("valid-actions",)
    with pytest.raises(ValueError, match="'dance', which is not one of the commands"):
        play(agent=lambda _: "dance", max_turns=1, options={"assist": "valid-actions"})


def test_what_a_function_raises_is_raised_and_the_run_goes_on_behind_the_turns_before() -> None:
    with pytest.raises(RuntimeError):  # StopIteration, as a generator's end, would mean something else
        play(agent=given_up_after(2), max_turns=4)
    assert (read_run().summary.state, read_run().summary.turns) == ("killed", 2)
    run = resume(agent=Player())
    assert (run.summary.state, run.summary.turns) == ("done", 4)
    assert replay().turns == 4
    assert replay().difference is None


def given_up_after(turns: int) -> zorkgpt.api.Agent:
    commands = iter(COMMANDS[:turns])

    def agent(_situation: Situation) -> str:
        command = next(commands, None)
        if command is None:
            raise RuntimeError("nothing is left to try")
        return command

    return agent


@pytest.mark.parametrize(
    ("returned", "error", "told"),
    [
        (None, TypeError, "returned None; expected a string"),
        (" ", ValueError, "returned an empty command$"),
        ("take \udcff", ValueError, r"'take \\udcff', which contains half"),
        (zorkgpt.api.Action("north", note="\ud800"), ValueError, "half"),
        (zorkgpt.api.Action(go_to=99), ValueError, "not possible now"),
        (zorkgpt.api.Action("look", note=UNTYPED), TypeError, "its note is float; expected str$"),
        (zorkgpt.api.Action(UNTYPED), TypeError, "its command is float; expected str$"),
        (zorkgpt.api.Action(follow=UNTYPED), TypeError, "its follow is float; expected int . None$"),
    ],
)
def test_a_function_that_returns_no_text_is_told_so(returned: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        play(agent=lambda _: returned, max_turns=1)


def test_a_session_is_played_turn_by_turn_with_what_was_learned_as_values() -> None:
    with zorkgpt.api.session(max_turns=6) as session:
        first = session.situation
        assert first is not None
        assert (first.turn, first.turns_left, first.map.untried) == (1, 5, {32: ("north",)})
        session.act("north", note="Mind the otter")
        second = session.act("north", reasoning="There is a house.")
        assert second is not None
        assert second.map.exits[32] == {"north": 35}
        assert second.map.way(46, 32) == ("south", "south")
        assert second.map.presumed == {32: {}, 35: {"south": 32}, 46: {"south": 35}}, "every location has an entry"
        assert "There is a house." in second.prompt
        assert "1. Mind the otter" in second.prompt
        back = session.go_to(32)
        assert back is not None
        assert (back.turn, back.observation.location and back.observation.location.num) == (5, 32)
        with pytest.raises(ValueError, match="An empty command does nothing"):
            session.act("  ")
        with pytest.raises(ValueError, match="route 7 does not begin here"):
            session.follow(7)
        with pytest.raises(ValueError, match="no way from here to location 99 is known"):
            session.go_to(99)
    with pytest.raises(ValueError, match="the session has ended"):
        session.act("look")
    assert (session.run.summary.state, session.run.summary.turns) == ("paused", 4)
    with zorkgpt.api.session(session.run.summary.run_id) as session:
        turns = [situation.turn for situation in session if session.act("look") or True]
    assert (turns, session.run.summary.state) == ([5, 6], "done")
    assert replay().difference is None


@pytest.mark.parametrize(
    "options",
    [{"routes.enabled": False}, pytest.param({"assist": "valid-actions"}, marks=pytest.mark.slow)],
    ids=["without routes", "with a list"],
)
def test_a_session_walks_whatever_else_it_may_do(options: dict[str, object]) -> None:
    with zorkgpt.api.session(max_turns=8, options=options) as session:
        for command in ("north", "north", "south", "south", "north", "north"):
            session.act(command)
        session.go_to(32)
    (episode,) = session.run.episodes
    last = [turn.played.record for turn in episode.turns[6:]]
    assert [(record.action, record.after.location_id) for record in last] == [("south", 35), ("south", 32)]


def test_a_session_follows_a_route_of_an_earlier_episode() -> None:
    with zorkgpt.api.session(max_turns=4, episodes=2) as session:
        for command in ("north", "north", "look", "look"):
            session.act(command)
        situation = session.situation
        assert situation is not None
        (route,) = (route for route in situation.routes if route.goal.kind == "score")
        arrived = session.follow(route.number, reasoning="Five points are safe.")
        assert arrived is not None
        assert (arrived.turn, arrived.observation.score) == (3, 5)


def test_what_a_session_remembers_follows_the_rules_for_models_and_is_resumed_replayed_and_forked() -> None:
    with zorkgpt.api.session(max_turns=4) as session:
        seen = session.remember(32, "Gate", "The gate stands on a causeway of stone.", persistence="core")
        session.act("north")
        unseen = session.remember(35, "Smuggler", "Elvis sings every evening.", persistence="core")
        session.remember(32, "Otter", "The otter bites.")
        session.invalidate(32, "OTTER", reason="It is a statue.")
        session.act("look")
        mine = session.remember(35, "Dropped", "My lamp lies here.", persistence="ephemeral")
        assert session.situation is not None
        assert "My lamp lies here." in session.situation.prompt
        with pytest.raises(ValueError, match="location 99 is not on the map"):
            session.remember(99, "Nowhere", "Nothing.")
        with pytest.raises(ValueError, match="has a memory of this title"):
            session.remember(35, "dropped", "Again.")
        with pytest.raises(ValueError, match="the title contains a control character"):
            session.invalidate(35, "\x1b[2J", reason="It clears the screen.")
    assert [memory.persistence for memory in (seen, unseen, mine)] == ["core", "permanent", "ephemeral"]
    file = Path("game_files/Memories.md").read_text(encoding="utf-8")
    assert "[NOTE - PERMANENT] Smuggler" in file
    assert '[Invalidated at T1: "It is a statue."]' in file
    assert "Dropped" not in file
    with zorkgpt.api.session(session.run.summary.run_id) as session:
        assert session.situation is not None
        assert session.situation.memories[35] == (unseen, mine)
        session.act("south")
    assert replay().difference is None
    with MisbehavingServer(Answers()) as server:
        fork = ["replay", "--fork-at", "1", "--model", "some-model", "--base-url", server.base_url]
        printed(*fork)
    (forked,) = Path("game_files/forks").glob("*/runs/*")
    assert replay(forked).difference is None
    assert "Smuggler" in (forked.parents[1] / "Memories.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"episodes": UNTYPED}, "^episodes is 1.5; expected a whole number$"),
        ({"agent": UNTYPED}, "^agent is float; expected a function$"),
        ({"show": UNTYPED}, "^show is float; expected a function$"),
        ({"stop": UNTYPED}, "^stop is float; expected a threading.Event$"),
        ({"options": [("critic.mode", "llm")]}, "^options is list; expected a mapping of names to values$"),
        ({"options": {1: "llm"}}, "^options is dict; expected a mapping of names to values$"),
    ],
)
def test_an_argument_of_the_wrong_type_is_named_before_anything_is_played(arguments: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        play(**{"agent": Player(), **arguments})
    assert not Path("game_files").exists()
    if "episodes" not in arguments:
        with pytest.raises(ConfigurationError, match=told):
            resume(**arguments)


@pytest.mark.parametrize(
    ("function", "name"), [(play, "turns"), (zorkgpt.api.session, "turns"), (zorkgpt.api.ablate, "workdir")]
)
def test_an_argument_that_does_not_exist_is_an_error_as_of_any_function(function: Any, name: str) -> None:
    required = ["full"] if function is zorkgpt.api.ablate else []
    with pytest.raises(TypeError, match=f"^unexpected keyword argument '{name}'$"):
        function(*required, **{name: 3})
    assert not list(Path.cwd().iterdir())


def test_wrong_arguments_of_an_ablation_and_of_a_game_are_named_before_anything_is_played() -> None:
    player: Any = "randomly"
    with pytest.raises(ConfigurationError, match="player is randomly; expected model or random"):
        zorkgpt.api.ablate("full", player=player)
    with pytest.raises(ConfigurationError, match=r"critic\.mode among the arguments should be"):
        zorkgpt.api.ablate("full,critic.mode=cruel", player="random")
    with pytest.raises(ConfigurationError, match=r"^max_turns among the arguments should be"):
        zorkgpt.api.ablate("full", player="random", max_turns=0)
    for name, (number, expected) in product(
        ("workers", "pairs", "episodes"), {0: "at least 1", "2": "a whole"}.items()
    ):
        arguments: Any = {name: number}
        with pytest.raises(ConfigurationError, match=f"^{name} is {number!r}; expected {expected}"):
            zorkgpt.api.ablate("full", player="random", **arguments)
    with pytest.raises(zorkgpt.api.StoryError, match=r"no story file .*/no-such-story\.z5;"):
        zorkgpt.api.ablate("full", player="random", games="no-such-story.z5")
    limit: Any
    for limit in (-1, float("nan"), "10"):
        with pytest.raises(
            ConfigurationError, match=f"^time_limit is {limit!r}; expected a number of seconds above 0$"
        ):
            open_game(time_limit=limit)
    with pytest.raises(ConfigurationError, match=r"^story is float; expected the path of a file$"):
        open_game(UNTYPED)
    Path("notes.txt").touch()
    with pytest.raises(ConfigurationError, match="not empty and contains no ablation"):
        zorkgpt.api.ablate("full", player="random", out=".")
    assert [each.name for each in Path().iterdir()] == ["notes.txt"]


def test_an_error_of_a_session_is_raised_where_its_next_turn_is_awaited() -> None:
    with zorkgpt.api.session(game="no-such-story.z5") as session, pytest.raises(zorkgpt.api.StoryError):
        next(iter(session))


def test_an_agent_may_be_a_coroutine_function_and_is_played_without_a_model_and_without_a_critic() -> None:
    async def agent(_situation: Situation) -> zorkgpt.api.Action:
        await asyncio.sleep(0)
        return zorkgpt.api.Action("take the unseen elephant", reasoning="on and on")

    run = play(agent=agent, max_turns=2)
    records = [turn.played.record for turn in run.episodes[0].turns]
    assert [(len(record.proposals), record.reasoning) for record in records] == [(1, "on and on")] * 2
    assert not any(isinstance(event, ModelAnswered) for event in run.events)
    assert sum(isinstance(event, Proposed) for event in run.events) == 2


def test_a_run_of_a_function_is_not_gone_on_with_by_a_model_that_nobody_named() -> None:
    with pytest.raises(RuntimeError):
        play(agent=given_up_after(1), max_turns=2)
    with pytest.raises(ConfigurationError, match=r"played by agent\(\), a function of a Python program"):
        resume()
    assert "continue with zorkgpt.api.resume and a function, or with --model M and a model" in refused(2, "resume")
    assert "played by agent(), a function of a Python program" in refused(2, "replay", "--fork-at", "1")
    with MisbehavingServer(Answers()) as server:
        printed("resume", "--model", "some-model", "--base-url", server.base_url)
        assert read_run().summary.state == "done"
        fork = ["replay", "--fork-at", "1", "--model", "some-model", "--base-url", server.base_url]
        printed(*fork)


def test_a_wrong_option_is_named_and_a_resumed_run_takes_budgets_and_nothing_that_would_make_it_another() -> None:
    with pytest.raises(ConfigurationError, match=r"critic\.mood"):
        play(agent=Player(), options={"critic.mood": "llm"})
    with pytest.raises(ConfigurationError) as wrong:
        play(agent=Player(), max_turns=0)
    assert str(wrong.value) == "max_turns among the arguments should be greater than 0"
    with pytest.raises(ConfigurationError, match=r"^seed among the arguments should"):
        play(agent=Player(), seed=0)
    with pytest.raises(ConfigurationError, match="episodes is 0"):
        play(agent=Player(), episodes=0)
    with pytest.raises(RuntimeError):
        play(agent=given_up_after(1), max_turns=2)
    with pytest.raises(ConfigurationError, match="only models, servers, sampling and budgets"):
        resume(agent=Player(), options={"critic.mode": "llm"})
    assert resume(agent=Player(), options={"budgets.max_time": "1h"}).summary.state == "done"
