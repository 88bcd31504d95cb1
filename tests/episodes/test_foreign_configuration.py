"""No command uses paths out of the folder that its configuration file came with."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.errors import ConfigurationError
from tests.fixtures.typed_command import typed
from zorkgpt import api


@pytest.fixture
def home(in_own_folder: Path, clean_environment: pytest.MonkeyPatch) -> Path:
    """A home folder beside the current one, whose file names a work folder and a file of the former."""
    folder, clone = in_own_folder / "home", in_own_folder / "clone"
    (folder / ".ssh").mkdir(parents=True)
    (folder / ".ssh" / "authorized_keys").write_text("mine")
    clone.mkdir()
    text = "zork_game_workdir = '~/.ssh'\nsimple_memory.memory_file = 'authorized_keys'\n"
    (clone / "zorkgpt.toml").write_text(text, encoding="utf-8")
    clean_environment.setenv("HOME", str(folder))
    clean_environment.delenv("XDG_CONFIG_HOME", raising=False)
    clean_environment.chdir(clone)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        *("run", "play", "resume", "replay", "status", "watch", "map", "report", "report --all", "doctor", "mcp"),
        *("runs list", "runs show", "runs export", "runs delete --yes", "compare a b", "prompt", "config show"),
        *("memories show", "memories check", "knowledge show", "routes show"),
        "ablate --arms full,no-memory --dry-run",
    ],
)
def test_no_command_does(home: Path, command: str) -> None:
    shown = typed(*command.split())
    assert (shown.status, b"config trust" in shown.err) == (2, True), shown
    assert [path.name for path in (home / ".ssh").iterdir()] == ["authorized_keys"]
    assert (home / ".ssh" / "authorized_keys").read_text() == "mine"


def test_nor_does_a_program(home: Path) -> None:
    for call in (
        lambda: api.play(max_turns=1),
        api.resume,
        api.read_run,
        lambda: list(api.runs()),
        api.replay,
        lambda: api.ablate("full,no-memory"),
    ):
        with pytest.raises(ConfigurationError, match="config trust"):
            call()
    assert [path.name for path in (home / ".ssh").iterdir()] == ["authorized_keys"]
