"""``zorkgpt config``, ``zorkgpt doctor`` and ``zorkgpt model``, and the page that documents every option."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from session.game_configuration import GameConfiguration
from session.model_files import MODEL_DIR_VARIABLE
from session.resolved_configuration import load_configuration
from tests.fixtures.command_line import environment, ran_on_a_terminal
from tests.fixtures.misbehaving_server import MisbehavingServer, says_error
from tests.fixtures.typed_command import printed, refused, typed
from zorkgpt.llm.embedded.model_store import SMOLLM2

KEY = "sk-nobody-may-see-this"
PAGE = Path(__file__).parents[5] / "docs" / "reference" / "configuration.md"


@pytest.fixture
def options_in_a_folder(in_own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (in_own_folder / "zorkgpt.toml").write_text("agent_model = 'big[red]'\ncritic_model = \"\\u001b[2J\"\n")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.usefixtures("options_in_a_folder")
def test_a_pipe_gets_one_aligned_line_an_option() -> None:
    lines = printed("config", "show").splitlines()
    assert len(lines) == len(list(load_configuration({}, {}, Path.cwd()).shown()))
    model = next(line for line in lines if line.startswith("agent_model "))
    assert re.fullmatch(r"agent_model +big\[red\] +agent_model in .*zorkgpt\.toml", model)
    assert any(re.match(r"critic_model +\\x1b\[2J  ", line) for line in lines)
    assert len({line.index(" default") for line in lines if line.endswith(" default")}) == 1


@pytest.mark.usefixtures("options_in_a_folder")
def test_json_has_value_and_origin_of_every_option_but_no_key() -> None:
    assert KEY not in printed("config", "show")
    assert KEY not in printed("config", "show", "--json")
    shown = json.loads(printed("config", "show", "--json"))
    assert shown["llm.api_key"] == {"value": "set", "from": "OPENAI_API_KEY in the environment"}
    assert shown["game.seed"] == {"value": 1, "from": "default"}


@pytest.mark.usefixtures("options_in_a_folder")
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


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer(says_error(500), models=("big",)) as running:
        yield running


@pytest.mark.usefixtures("in_own_folder")
def test_all_well_is_status_0_and_a_tick_a_line(server: MisbehavingServer, own_story: Path) -> None:
    lines = printed("doctor", "--base-url", server.base_url, "--model", "big", "--game", str(own_story)).splitlines()
    subjects = ("Python", "Jericho", "Work folder", "Story", "Run", "Key", "Server", "Model")
    assert [line[:13].rstrip() for line in lines] == [f"✓ {subject}" for subject in subjects]


@pytest.mark.usefixtures("in_own_folder")
def test_a_need_that_is_not_met_is_status_1_with_its_mend(
    server: MisbehavingServer, own_story: Path, clean_environment: pytest.MonkeyPatch
) -> None:
    clean_environment.setenv("ZORKGPT_KNOWLEDGE_FILE", "routes.json")
    shown = typed("doctor", "--base-url", server.base_url, "--model", "big", "--game", str(own_story))
    (failed,) = [line for line in shown.text.splitlines() if line.startswith("✗")]
    assert re.match("✗ Run .*two files of the work folder would have the name routes.json", failed)
    assert shown.status == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(MODEL_DIR_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def pulled(folder: Path) -> Path:
    """A file of the model's name and size: what a pull leaves is taken on trust."""
    path = folder / Path(SMOLLM2.member).name
    with path.open("wb") as file:
        file.truncate(SMOLLM2.size)
    return path


@pytest.mark.usefixtures("folder")
def test_without_the_model_list_says_so_and_path_names_the_command_that_fetches_it() -> None:
    assert "not there yet" in printed("model", "list")
    assert "zorkgpt model pull" in refused(1, "model", "path")


def test_a_model_that_is_there_is_listed_with_its_license_and_pulled_without_a_word_if_quiet(
    pulled: Path, folder: Path
) -> None:
    for command in ("path", "pull"):
        assert printed("model", command) == f"{pulled}\n"
    assert printed("model", "pull", "--quiet") == ""
    (folder / "mine.gguf").write_bytes(b"")
    first, second = printed("model", "list").splitlines()
    assert first.startswith(SMOLLM2.name)
    assert all(part in first for part in ("98 MB", "Apache-2.0", str(pulled)))
    assert second.endswith("mine.gguf")
