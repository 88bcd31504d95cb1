"""A run: episodes from opening to end, and every way in which it can stop."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from threading import Event as Flag
from typing import TypeVar

import pytest
import structlog

from game_interface.core.restoring_game import RestoringGame
from managers.base_manager import ManagerParts
from orchestration.learning import build_learning
from orchestration.turn import Turn, build_critic
from orchestration.zork_orchestrator import ZorkOrchestrator
from session.commands import Vocabulary
from session.errors import LanguageModelUnavailable
from session.events import EpisodeEnded, EpisodeStarted, Event, FileWritten, RunEnded, RunPaused, TurnPlayed
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from session.values import GameObject, Location, Observation
from tests.fixtures.held_stores import held
from tests.fixtures.scripted_game import ScriptedGame
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from zorkgpt.players.agent import ModelPlayer

QUAY = Observation("Quay\nA boat lies here.", Location(1, "Quay"), (), (GameObject(7, "boat"),), score=0, moves=0)
BOAT = replace(QUAY, text="In the boat.", location=Location(2, "Boat"), score=10)
HOME = replace(BOAT, text="You are home.", location=Location(3, "Home"), score=25, ending="won")
REEF = replace(BOAT, text="You drown.", score=5, died=True, ending="lost")
VOCABULARY = Vocabulary(letters=9, words=frozenset(), directions=frozenset({"in"}))
SCRIPT = {"": QUAY, "board boat": BOAT, "row home": HOME, "row out": REEF}


E = TypeVar("E", bound=Event)


def says(*actions: str) -> list[Reply]:
    return [{"reasoning": f"because {action}", "action": action} for action in actions]


class Run:
    """An orchestrator on a scripted game and model, with its events."""

    def __init__(
        self,
        folder: Path,
        replies: Iterable[Reply],
        *,
        seeds: tuple[int, ...] = (1,),
        max_turns: int = 10,
        valid_actions: tuple[str, ...] = ("board boat",),
        assist: Collection[str] = (),
    ) -> None:
        self.model = ScriptedLLM(replies)
        self.game = ScriptedGame(SCRIPT, valid_actions=valid_actions)
        self.stop = Flag()
        self.checkpoints: list[int] = []
        configuration = GameConfiguration(
            zork_game_workdir=folder,
            critic={"mode": "object_tree"},
            simple_memory={"enabled": False},
            knowledge={"enabled": False},
            assist=assist,
        )
        log = structlog.wrap_logger(logging.getLogger("test"))
        parts = ManagerParts(log, configuration, GameState(), self.model, self.game.facts, VOCABULARY, TokenCounter())
        learning = build_learning(parts)
        stores = held(folder, *learning.managers)
        recording, self.events = stores.recording, stores.events
        self.orchestrator = ZorkOrchestrator(
            turn=Turn(
                configuration,
                RestoringGame(self.game, recording),
                ModelPlayer(self.model),
                build_critic(parts, learning),
                learning,
                recording,
                self.model,
                lambda _proposal: None,
            ),
            seeds=seeds,
            max_turns=max_turns,
            first_episode=5,
            stop=self.stop,
            checkpoint=lambda: self.checkpoints.append(len(self.events)),
        )

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def ended(self) -> EpisodeEnded:
        (event,) = self.of(EpisodeEnded)
        return event


def test_an_episode_goes_from_the_opening_to_the_victory_and_every_turn_is_recorded_whole(tmp_path: Path) -> None:
    run = Run(tmp_path, says("board boat", "row home"))
    assert run.orchestrator.play() == "done"
    played = [type(event) for event in run.events if not isinstance(event, FileWritten)]
    assert played == [EpisodeStarted, TurnPlayed, TurnPlayed, EpisodeEnded, RunEnded]
    assert (run.ended.end, run.ended.turns, run.ended.score, run.ended.rooms) == ("won", 2, 25, 3)
    first, second = (event.record for event in run.of(TurnPlayed))
    assert (first.episode, first.turn, first.before, first.after) == (5, 1, QUAY, BOAT)
    assert (second.turn, second.action, second.reasoning) == (2, "row home", "because row home")
    assert (second.score_change, second.moved) == (15, True)


def test_a_lost_game_keeps_the_best_score_apart_from_the_last(tmp_path: Path) -> None:
    run = Run(tmp_path, says("board boat", "row out"))
    run.orchestrator.play()
    assert (run.ended.end, run.ended.score, run.ended.best_score) == ("lost", 5, 10)


def test_each_episode_starts_clean_with_its_own_seed_and_number_and_ends_with_a_checkpoint(tmp_path: Path) -> None:
    run = Run(tmp_path, says("board boat", "row home") * 2, seeds=(8, 9))
    run.orchestrator.play()
    assert run.game.seeds == [8, 9]
    assert [event.episode for event in run.of(EpisodeStarted)] == [5, 6]
    assert "because board boat" not in run.model.calls[2].prompt.user
    ends = [place for place, event in enumerate(run.events) if isinstance(event, EpisodeEnded)]
    starts = [place for place, event in enumerate(run.events) if isinstance(event, EpisodeStarted | RunEnded)]
    moments = zip(ends, run.checkpoints, starts[1:], strict=True)
    assert [end < made <= start for end, made, start in moments] == [True] * 2


def test_a_stop_while_a_prompt_is_built_pauses_the_run_before_its_player_is_asked(tmp_path: Path) -> None:
    run = Run(tmp_path, says("board boat"))

    def stopped_in(turn: Turn) -> Turn:
        run.stop.set()
        return turn

    run.orchestrator.players = stopped_in
    assert run.orchestrator.play() == "interrupted"
    assert run.model.calls == []
    assert run.events[-1] == RunPaused("interrupted", 5, 0)


@pytest.mark.parametrize(
    ("answer", "paused"),
    [
        (says("wait")[0], RunPaused("interrupted", episode=5, turns=1)),
        (
            LanguageModelUnavailable("interrupted while waiting"),
            RunPaused("interrupted while waiting", episode=5, turns=0),
        ),
    ],
    ids=["the model answers", "the model is away"],
)
def test_an_interruption_ends_the_run_after_the_turn_in_flight(
    tmp_path: Path, answer: Reply, paused: RunPaused
) -> None:
    run = Run(tmp_path, [], seeds=(1, 2))

    def stop_while_answering(*_call: object) -> Reply:
        run.stop.set()
        return answer

    run.orchestrator.turn = replace(run.orchestrator.turn, player=ModelPlayer(ScriptedLLM(stop_while_answering)))
    assert run.orchestrator.play() == "interrupted"
    assert run.events[-1] == paused


def test_a_model_that_gives_no_answer_pauses_the_run_and_no_command_is_made_up(tmp_path: Path) -> None:
    run = Run(tmp_path, [*says("board boat"), LanguageModelUnavailable("the server is gone")])
    assert run.orchestrator.play() == "paused"
    assert run.events[-1] == RunPaused("the server is gone", episode=5, turns=1)
    assert not run.of(EpisodeEnded)
    assert run.game.observation == BOAT


def test_three_refusals_pass_the_turn_so_that_a_run_always_ends(tmp_path: Path) -> None:
    run = Run(tmp_path, says(*["save"] * 6), max_turns=2)
    assert run.orchestrator.play() == "done"
    assert (run.ended.end, run.ended.turns, len(run.model.calls)) == ("turn_limit", 2, 6)
    first, second = (event.record for event in run.of(TurnPlayed))
    assert first.after.refusal
    assert first.after.location == QUAY.location
    assert second.before == first.after


def test_valid_actions_are_shown_only_as_assistance(tmp_path: Path) -> None:
    run = Run(tmp_path, says("wait", "wait"), max_turns=1)
    run.orchestrator.play()
    assert "Commands that would do something now" not in run.model.calls[0].prompt.user
    actions = ("board boat", "wait")
    assisted = Run(
        tmp_path / "assisted", says("board boat"), max_turns=1, valid_actions=actions, assist={"valid-actions"}
    )
    assisted.orchestrator.play()
    assert "- board boat" in assisted.model.calls[0].prompt.user


def test_equally_fresh_actions_are_offered_in_an_order_that_depends_on_the_seed(tmp_path: Path) -> None:
    actions, shown = ("board boat", "wait", "row home", "sing", "swim"), []
    for number, seed in enumerate((1, 1, 2)):
        run = Run(
            tmp_path / str(number),
            says("wait"),
            seeds=(seed,),
            max_turns=1,
            valid_actions=actions,
            assist={"fresh-actions"},
        )
        run.orchestrator.play()
        shown.append([line[2:] for line in run.model.calls[0].prompt.user.splitlines() if line[2:] in actions])
    assert shown[0] == shown[1] != shown[2]
    assert sorted(shown[0]) == sorted(shown[2]) == sorted(actions)


@pytest.mark.parametrize(("assist", "last"), [("valid-actions", ["wait"]), ("fresh-actions", [])])
def test_of_the_valid_actions_the_least_played_here_come_first_or_are_all_there_is(
    tmp_path: Path, assist: str, last: list[str]
) -> None:
    actions = ("wait", "sing", "swim")
    run = Run(tmp_path, says("wait", "sing"), max_turns=2, valid_actions=actions, assist={assist})
    run.orchestrator.play()
    prompt = run.model.calls[-1].prompt.user
    offered = [line[2:] for line in prompt[prompt.index("Commands that would") :].splitlines() if line[2:] in actions]
    assert sorted(offered[:2]) == ["sing", "swim"]
    assert offered[2:] == last


def test_a_file_that_cannot_be_written_pauses_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path, says("board boat", "row home"))
    (tmp_path / "map_state.json").mkdir()
    assert run.orchestrator.play() == "paused"
    assert "map_state.json" in run.of(RunPaused)[0].reason
