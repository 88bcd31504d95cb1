"""The interpreter's process is killed from outside: the run continues unchanged, or reports the failure."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import get_args

import pytest
from pydantic import BaseModel

from game_interface.core.isolated import IsolatedGame
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from orchestration.parts import ChosenStory, Parts
from orchestration.run import open_run
from session.errors import GameError
from session.events import Event, GameFailed, RunEnded, RunPaused, TurnPlayed
from session.game_configuration import GameConfiguration
from session.values import Observation
from tests.fixtures.doomed_run import STORY, decided_by_prompt
from tests.fixtures.prompted_run import actions_of, prompted, resume_with
from tests.fixtures.run_traces import journal_of
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.fixtures.whole_run import verify_run
from zorkgpt.llm.language_model import Prompt, Role
from zorkgpt.llm.run_model import ChosenModel

TURNS = 12


def child_of(game: IsolatedGame) -> int:
    assert game._pid
    return game._pid


def kill(game: IsolatedGame) -> None:
    os.kill(child_of(game), signal.SIGKILL)


def play_isolated(game: IsolatedGame, model: ScriptedLLM, folder: Path, **options: object) -> list[Event]:
    """The events of a run of that game, which goes on to its end or pauses."""
    configuration = GameConfiguration.model_validate(
        {"zork_game_workdir": folder, "max_turns_per_episode": TURNS, "critic": {"max_rejections": 0}, **options}
    )
    events: list[Event] = []
    chosen = ChosenModel(model, ("scripted",))
    parts = Parts(game, chosen, ChosenStory(STORY, "a test"), read_vocabulary(Story.load(STORY)))
    with open_run(configuration, parts, episodes=1, show=events.append, stop=Flag()) as run:
        run.play()
    return events


def played(events: list[Event]) -> list[TurnPlayed]:
    return [event for event in events if isinstance(event, TurnPlayed)]


def is_repeated(folder: Path, turns: int = TURNS) -> None:
    """Both ways to play the run again end alike."""
    for replayed in (verify_run(STORY, folder), actions_of(STORY, folder)):
        assert (replayed.turns, replayed.is_whole, replayed.difference) == (turns, True, None)


class Killed(IsolatedGame):
    """Its process is killed before the commands of these numbers, from 1; one that is given again counts again."""

    at: tuple[int, ...] = (5,)
    commands = 0

    def step(self, command: str) -> Observation:
        self.commands += 1
        if self.commands in self.at:
            self.kill()
        return super().step(command)

    def kill(self) -> None:
        kill(self)


class KilledAtWork(Killed):
    """Its process is killed while a command is under way: it was stopped first, so it has not begun."""

    killer: Thread | None = None

    def kill(self) -> None:
        child = child_of(self)
        os.kill(child, signal.SIGSTOP)
        self.killer = Thread(target=_kill_once_asked, args=(child,))
        self.killer.start()

    def close(self) -> None:
        if self.killer:
            self.killer.join()
        super().close()


def _kill_once_asked(child: int) -> None:
    """Kill the process once the kernel has stopped it, with a request waiting."""
    while Path(f"/proc/{child}/stat").read_text().split()[2] != "T":
        os.sched_yield()
    os.kill(child, signal.SIGKILL)


class Hanging(Killed):
    def kill(self) -> None:
        os.kill(child_of(self), signal.SIGSTOP)


@pytest.mark.parametrize(
    "kind",
    [
        Killed,
        pytest.param(
            KilledAtWork,
            marks=pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc"),
        ),
        Hanging,
    ],
)
def test_a_process_that_is_killed_or_stopped_once_costs_nothing(kind: type[Killed], tmp_path: Path) -> None:
    with kind(STORY, time_limit=0.5 if kind is Hanging else 10.0) as game:
        kill(game)  # before the opening, too
        events = play_isolated(game, prompted(), tmp_path)
    with IsolatedGame(STORY) as game:
        undisturbed = play_isolated(game, prompted(), tmp_path / "undisturbed")
    assert [turn.record for turn in played(events)] == [turn.record for turn in played(undisturbed)]
    assert not [event for event in events if isinstance(event, GameFailed)]
    is_repeated(tmp_path)


@pytest.mark.parametrize(("kind", "time_limit"), [(Killed, 10.0), (Hanging, 0.5)])
def test_a_process_that_is_killed_or_hangs_twice_costs_the_command_and_twice_the_time_limit(
    kind: type[Killed], time_limit: float, tmp_path: Path
) -> None:
    model = prompted()
    start = time.monotonic()
    with kind(STORY, time_limit=time_limit) as game:
        game.at = (5, 6)
        events = play_isolated(game, model, tmp_path)
    (failure,) = [event for event in events if isinstance(event, GameFailed)]
    turns = played(events)
    assert len(turns) == TURNS
    failed = next(turn.record for turn in turns if failure.error in (turn.record.after.refusal or ""))
    assert failed.after.world_hash == failed.before.world_hash
    told = [call.prompt.user for call in model.calls if call.role == "agent"]
    assert any(f"The command did not work, and nothing has changed: {failure.error}" in prompt for prompt in told)
    is_repeated(tmp_path)
    assert time.monotonic() - start < 60


class KilledBeforeLooking(IsolatedGame):
    """Its process is killed before it looks ahead for these times; one that is repeated counts again."""

    at: tuple[int, ...] = (3,)
    looks = 0

    def valid_actions(self) -> tuple[str, ...]:
        self.looks += 1
        if self.looks in self.at:
            kill(self)
        return super().valid_actions()


def of_those_offered(role: Role, prompt: Prompt, schema: type[BaseModel]) -> Reply:
    """The agent takes the first of the actions that it may choose from, if it may not choose freely."""
    offered = get_args(schema.model_fields["action"].annotation) if role == "agent" else ()
    return {"reasoning": "", "action": offered[0]} if offered else decided_by_prompt(role, prompt, schema)


@pytest.mark.parametrize(("at", "failures"), [((3,), []), ((3, 4), [""])])
def test_a_process_killed_before_looking_ahead_costs_the_help_of_one_turn_at_most(
    at: tuple[int, ...], failures: list[str], tmp_path: Path
) -> None:
    with KilledBeforeLooking(STORY) as game:
        game.at = at
        events = play_isolated(
            game, prompted(of_those_offered), tmp_path, assist="valid-actions", max_turns_per_episode=4
        )
    assert [event.command for event in events if isinstance(event, GameFailed)] == failures
    assert len(played(events)) == 4
    is_repeated(tmp_path, turns=4)


class Gone(IsolatedGame):
    """Its process is killed and none takes its place until it ``comes_back``."""

    comes_back = False

    def step(self, command: str) -> Observation:
        kill(self)
        return super().step(command)

    def restore(self, state: object) -> Observation:
        if not self.comes_back:
            raise GameError("no process can be started")
        return super().restore(state)  # type: ignore[arg-type]  # whatever it is


def test_where_no_process_can_take_its_place_the_run_pauses_and_is_resumed_as_if_nothing_had_been(
    tmp_path: Path,
) -> None:
    with Gone(STORY) as game:
        events = play_isolated(game, prompted(), tmp_path)
    paused = events[-1]
    assert isinstance(paused, RunPaused)
    assert paused.reason == "no process can be started"
    replayed = verify_run(STORY, tmp_path)
    assert (replayed.turns, replayed.is_whole, replayed.difference) == (0, False, None)
    assert resume_with(STORY, tmp_path).end == "done"
    assert isinstance(journal_of(tmp_path)[-1], RunEnded)
    assert len(played(journal_of(tmp_path))) > 1
    assert verify_run(STORY, tmp_path).difference is None
