"""``zorkgpt config``, and the page that documents every option."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from session.game_configuration import GameConfiguration
from session.resolved_configuration import load_configuration
from tests.fixtures.command_line import environment, ran_on_a_terminal
from zorkgpt.cli.main import app

KEY = "sk-nobody-may-see-this"
PAGE = Path(__file__).parents[4] / "docs" / "configuration.md"


@pytest.fixture(autouse=True)
def _in_a_folder_with_options(in_own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (in_own_folder / "zorkgpt.toml").write_text("agent_model = 'big[red]'\ncritic_model = \"\\u001b[2J\"\n")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_a_pipe_gets_one_aligned_line_an_option() -> None:
    lines = _run("show").splitlines()
    assert len(lines) == len(list(load_configuration({}, {}, Path.cwd()).shown()))
    model = next(line for line in lines if line.startswith("agent_model "))
    assert re.fullmatch(r"agent_model +big\[red\] +agent_model in .*zorkgpt\.toml", model)
    assert any(re.match(r"critic_model +\\x1b\[2J  ", line) for line in lines)
    assert len({line.index(" default") for line in lines if line.endswith(" default")}) == 1


def test_json_has_value_and_origin_of_every_option_but_no_key() -> None:
    assert KEY not in _run("show")
    assert KEY not in _run("show", "--json")
    shown = json.loads(_run("show", "--json"))
    assert shown["llm.api_key"] == {"value": "set", "from": "OPENAI_API_KEY in the environment"}
    assert shown["game.seed"] == {"value": 1, "from": "default"}


def test_a_terminal_gets_a_table_in_which_nothing_is_markup(tmp_path: Path) -> None:
    shown = ran_on_a_terminal(tmp_path, "config", "show", env=environment(COLUMNS="120")).out.decode()
    shown = re.sub(r"\x1b\[\d*m", "", shown)
    assert shown.split()[:3] == ["Option", "Value", "From"]
    assert re.search(r"agent_model +big\[red\] +agent_model in ", shown)


def test_the_pages_example_is_a_valid_file(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = tmp_path / "zorkgpt.toml"
    file.write_text(example)
    assert GameConfiguration.from_toml(file).memory_sampling.temperature == 0.3


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["config", *arguments])
    assert result.exit_code == 0, result.output
    return result.output
