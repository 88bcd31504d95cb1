"""A model that cannot be used is noticed before a run exists."""

from __future__ import annotations

from pathlib import Path
from threading import Event as Flag

import pytest

from orchestration.history import Branch, open_fork
from orchestration.opening import open_parts
from orchestration.run import open_run
from session.errors import LanguageModelUnavailable
from session.files.journal import read_manifest
from session.files.run_folders import find_run
from session.game_configuration import GameConfiguration
from tests.fixtures.command_line import ran
from tests.fixtures.misbehaving_server import MisbehavingServer, Step, Streams, says_error

LOOKS = Streams(('{"reasoning": "It may help.", "action": "look"}',))
WRONG_KEY = says_error(401, "Incorrect API key provided")
WRONG_MODEL = says_error(404, "no such model")
SPENT_QUOTA = says_error(429, "You exceeded your current quota", code="insufficient_quota")


def configured(server: MisbehavingServer, workdir: Path) -> GameConfiguration:
    options = {
        "agent_model": "named",
        "llm": {"base_url": server.base_url, "patience": 0},
        "zork_game_workdir": workdir,
        "max_turns_per_episode": 2,
        "simple_memory": {"enabled": False},
        "knowledge": {"enabled": False},
        "objectives": {"enabled": False},
        "critic": {"mode": "object_tree"},
    }
    return GameConfiguration.model_validate(options)


def play(configuration: GameConfiguration) -> None:
    with (
        open_parts(configuration) as parts,
        open_run(configuration, parts, episodes=1, show=lambda _: None, stop=Flag()) as run,
    ):
        run.play()


def files_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("step", [WRONG_KEY, WRONG_MODEL, SPENT_QUOTA], ids=["key", "model", "quota"])
def test_an_unusable_model_uses_up_neither_a_run_nor_an_episode_number(tmp_path: Path, step: Step) -> None:
    with MisbehavingServer(LOOKS) as server:
        configuration = configured(server, tmp_path / "work")
        play(configuration)
        run, before = find_run(tmp_path / "work"), files_in(tmp_path)
        server.trial = step
        with pytest.raises(LanguageModelUnavailable, match="agent: named at"):
            play(configuration)
        assert files_in(tmp_path) == before
        with (
            pytest.raises(LanguageModelUnavailable),
            open_parts(configuration) as parts,
            open_fork(configuration, parts, run, Branch(1, 1), show=lambda _: None, stop=Flag()),
        ):
            pass
        assert files_in(tmp_path) == before
        server.trial = LOOKS
        play(configuration)
    assert read_manifest(find_run(tmp_path / "work")).first_episode == 2


def test_a_wrong_key_is_one_line_and_leaves_no_work_folder(tmp_path: Path) -> None:
    with MisbehavingServer(LOOKS) as server:
        server.trial = WRONG_KEY
        result = ran(tmp_path, "run", "--base-url", server.base_url, "--model", "named")
    assert (result.status, result.out) == (2, b"")
    assert len(result.lines) == 1
    assert "401: the server requires a key" in result.lines[0]
    assert list(tmp_path.iterdir()) == []
