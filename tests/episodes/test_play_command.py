"""``zorkgpt play`` as typed: a person chooses the commands; everything else is as in any run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestration.parts import open_parts
from session.errors import ConfigurationError
from session.events import EpisodeEnded, Event, ModelAnswered, ModelFailed, RunPaused, TurnPlayed
from session.files.run_folders import find_run
from session.game_configuration import AgentOptions, GameConfiguration, GameOptions, PlayerKind
from tests.fixtures.command_line import Ran, typed_on_a_terminal
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Streams
from tests.fixtures.run_traces import events_of
from tests.fixtures.troubled_server import answer_to
from tests.fixtures.typed_command import typed

pytestmark = pytest.mark.usefixtures("in_own_folder")

CTRL_C = "\x03"


def entered(lines: str, *arguments: str) -> Ran:
    """The command was run with these lines on its standard input."""
    return typed(*arguments, "--workdir", "work", lines=lines)


def events(folder: Path) -> list[Event]:
    return events_of(find_run(folder / "work"))


def actions(folder: Path) -> list[str]:
    return [event.record.action for event in events(folder) if isinstance(event, TurnPlayed)]


@pytest.mark.parametrize("end", ["quit\n", *(pytest.param(end, marks=pytest.mark.slow) for end in ("", "Q\n"))])
def test_lines_are_commands_until_they_end_and_what_was_walked_is_learned(tmp_path: Path, end: str) -> None:
    played = entered(f"# to the lamp\nlook\nn. n\n\nsave\n  # it is here\ntake lamp\n{end}", "play")
    assert (played.status, played.err) == (0, b"")
    assert actions(tmp_path) == ["look", "n", "n", "take lamp"]
    shown = played.text
    assert "a person plays tidehouse.z5" in shown
    assert "\n1 episode, in work/runs/" in shown
    assert "for testing the story" not in shown
    assert "Progress is saved automatically; Ctrl-C pauses and shows how to resume; quit ends the episode." in shown
    assert "Episode 1 was left after 4 turns: score 5 of 100, 3 rooms" in shown
    assert len(json.loads((tmp_path / "work" / "map_state.json").read_text())["rooms"]) == 3
    assert json.loads((tmp_path / "work" / "routes.json").read_text())["routes"]
    assert not any(isinstance(event, ModelFailed) for event in events(tmp_path))
    assert typed("replay", "--workdir", "work").out.endswith(b" is repeated exactly: 4 turns\n")


class Lasting:
    """Answers with memories for the file, regardless of the tier drawn from the prompt."""

    def play(self, handler: Handler) -> None:
        answer = answer_to(handler.server.asked[-1].body).replace('"ephemeral"', '"permanent"')
        Streams((answer,)).play(handler)


def test_a_configured_model_learns_from_what_a_person_does(tmp_path: Path) -> None:
    with MisbehavingServer(Lasting()) as server:
        each_visit = "simple_memory.visits_in_question=1"
        played = entered("n\nn\ntake lamp\nn\n", "play", "--base-url", server.base_url, "--set", each_visit)
    assert played.status == 0
    answers = [event for event in events(tmp_path) if isinstance(event, ModelAnswered)]
    roles = {event.role for event in answers}
    assert {"memory", "info_ext"} <= roles
    assert "agent" not in roles
    assert "## Location" in (tmp_path / "work" / "Memories.md").read_text()
    assert typed("replay", "--workdir", "work").status == 0


@pytest.mark.slow
def test_ctrl_c_pauses_and_resume_asks_the_person_again_and_counts_what_both_sittings_taught(tmp_path: Path) -> None:
    paused = typed_on_a_terminal(tmp_path, ["n. n\r", CTRL_C], "play", "--workdir", "work")
    assert paused.status == 130
    assert "To resume: " in paused.text
    assert isinstance(events(tmp_path)[-1], RunPaused)
    resumed = typed_on_a_terminal(tmp_path, ["take lamp\r", "quit\r"], "resume", "--workdir", "work")
    assert resumed.status == 0
    assert "Learned so far: 3 locations, " in resumed.text
    assert actions(tmp_path) == ["n", "n", "take lamp"]
    (end,) = [event for event in events(tmp_path) if isinstance(event, EpisodeEnded)]
    assert end.end == "left"


@pytest.mark.parametrize(
    ("player", "words"),
    [
        ("person", "no terminal input"),
        ("random", r"agent\.player is random.*\bablate\b"),
        ("function", r"agent\.player is function.*\bapi\b"),
        ("client", r"agent\.player is client.*\bmcp\b"),
    ],
)
def test_a_player_of_another_command_is_named_with_that_command(
    own_story: Path, player: PlayerKind, words: str
) -> None:
    configuration = GameConfiguration(game=GameOptions(file=own_story), agent=AgentOptions(player=player))
    with pytest.raises(ConfigurationError, match=words), open_parts(configuration):
        pass
