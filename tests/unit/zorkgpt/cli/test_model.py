"""``zorkgpt model`` as typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from session.errors import LanguageModelUnavailable
from zorkgpt.cli.commands.setup import model_app as app
from zorkgpt.llm.embedded.model_store import MODEL_DIR_VARIABLE, SMOLLM2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(MODEL_DIR_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def pulled(folder: Path) -> Path:
    """A file of the model's name and size: what a pull leaves is taken on trust."""
    path = folder / SMOLLM2.filename
    with path.open("wb") as file:
        file.truncate(SMOLLM2.size)
    return path


@pytest.mark.usefixtures("folder")
def test_without_the_model_list_says_so_and_path_names_the_command_that_fetches_it() -> None:
    assert "not there yet" in CliRunner().invoke(app, ["list"]).output
    result = CliRunner().invoke(app, ["path"])
    assert isinstance(result.exception, LanguageModelUnavailable)
    assert "zorkgpt model pull" in str(result.exception)


def test_path_and_pull_print_where_the_model_is_and_quiet_prints_nothing(pulled: Path) -> None:
    for command in ("path", "pull"):
        assert CliRunner().invoke(app, [command]).stdout == f"{pulled}\n"
    assert CliRunner().invoke(app, ["pull", "--quiet"]).output == ""


def test_list_shows_the_packaged_model_with_its_license_and_the_users_own(pulled: Path, folder: Path) -> None:
    (folder / "mine.gguf").write_bytes(b"")
    first, second = CliRunner().invoke(app, ["list"]).output.splitlines()
    assert first.startswith(SMOLLM2.name)
    assert "98 MB" in first
    assert "Apache-2.0" in first
    assert first.endswith(str(pulled))
    assert second.endswith("mine.gguf")
