"""A run that a person has begun is played on by a model, in the middle of an episode too."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.events import EpisodeEnded, ModelAnswered, OptionsChanged, Proposed, TurnPlayed
from session.files.run_folders import find_run
from tests.fixtures.command_line import environment, ran, typed_on_a_terminal
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.run_traces import events_of
from tests.fixtures.troubled_server import Answers

CTRL_C = "\x03"
MORE_TURNS = 3


def typed_without_a_person(folder: Path, *arguments: str) -> str:
    """The command was run with an empty standard input; returns its output."""
    env = environment(ZORKGPT_MAX_TURNS_PER_EPISODE=str(MORE_TURNS))
    result = ran(folder, *arguments, "--workdir", "work", env=env)
    assert result.status == 0, result
    return result.text


def players(run: Path) -> list[str]:
    """The player of each turn of the run: "person" or "model"."""
    found, latest = [], ""
    for event in events_of(run):
        if isinstance(event, Proposed):
            latest = "person"
        elif isinstance(event, ModelAnswered) and event.role == "agent":
            latest = "model"
        elif isinstance(event, TurnPlayed):
            found.append(latest)
    return found


@pytest.mark.slow
def test_a_model_that_learned_from_a_person_plays_on_where_the_person_has_paused(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        model = ("--model", "m", "--base-url", server.base_url)
        typed_on_a_terminal(tmp_path, ["n. n\r", CTRL_C], "play", "--workdir", "work", *model)
        shown = typed_without_a_person(tmp_path, "resume", *model)
    assert "m at http" in shown
    run = find_run(tmp_path / "work")
    assert players(run) == ["person"] * 2 + ["model"] * MORE_TURNS
    (change,) = [event for event in events_of(run) if isinstance(event, OptionsChanged)]
    assert change.options["agent.player"] == "model"
    (end,) = [event for event in events_of(run) if isinstance(event, EpisodeEnded)]
    assert (end.end, end.turns) == ("turn_limit", 2 + MORE_TURNS)
    assert f"is repeated exactly: {end.turns} turns" in typed_without_a_person(tmp_path, "replay")


@pytest.mark.slow
def test_a_model_plays_on_in_a_fork_of_a_persons_run(tmp_path: Path) -> None:
    assert ran(tmp_path, "play", "--workdir", "work", typed="n. n. take lamp\nquit\n").status == 0
    with MisbehavingServer(Answers()) as server:
        model = ("--model", "m", "--base-url", server.base_url)
        typed_without_a_person(tmp_path, "replay", "--fork-at", "2", *model)
    (fork,) = (tmp_path / "work" / "forks").glob("*/runs/*")
    assert players(fork) == ["person"] * 2 + ["model"] * MORE_TURNS
    turns = [event.record.action for event in events_of(fork) if isinstance(event, TurnPlayed)]
    assert turns[:2] == ["n", "n"]
    assert f"is repeated exactly: {len(turns)} turns" in typed_without_a_person(tmp_path, "replay", str(fork))


@pytest.mark.slow
def test_a_run_that_a_model_took_over_from_a_person_alone_is_forked_with_both_players(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        model = ("--model", "m", "--base-url", server.base_url)
        typed_on_a_terminal(tmp_path, ["n. n\r", CTRL_C], "play", "--workdir", "work")
        typed_without_a_person(tmp_path, "resume", *model)
        assert players(find_run(tmp_path / "work")) == ["person"] * 2 + ["model"] * MORE_TURNS
        typed_without_a_person(tmp_path, "replay", "--fork-at", "4", "--model", "other", "--base-url", server.base_url)
    (fork,) = (tmp_path / "work" / "forks").glob("*/runs/*")
    assert players(fork) == ["person"] * 2 + ["model"] * (len(players(fork)) - 2)
    named = [event.options["agent_model"] for event in events_of(fork) if isinstance(event, OptionsChanged)]
    assert named == ["m", "other"]
    assert "is repeated exactly" in typed_without_a_person(tmp_path, "replay", str(fork))
