"""``zorkgpt model`` as typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from session.errors import LanguageModelUnavailable
from session.model_files import MODEL_DIR_VARIABLE
from zorkgpt.cli.commands.setup import model_app as app
from zorkgpt.llm.embedded.model_store import SMOLLM2


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
    assert "not there yet" in CliRunner().invoke(app, ["list"]).output
    result = CliRunner().invoke(app, ["path"])
    assert isinstance(result.exception, LanguageModelUnavailable)
    assert "zorkgpt model pull" in str(result.exception)


def test_a_model_that_is_there_is_listed_with_its_license_and_pulled_without_a_word_if_quiet(
    pulled: Path, folder: Path
) -> None:
    for command in ("path", "pull"):
        assert CliRunner().invoke(app, [command]).stdout == f"{pulled}\n"
    assert CliRunner().invoke(app, ["pull", "--quiet"]).output == ""
    (folder / "mine.gguf").write_bytes(b"")
    first, second = CliRunner().invoke(app, ["list"]).output.splitlines()
    assert first.startswith(SMOLLM2.name)
    assert all(part in first for part in ("98 MB", "Apache-2.0", str(pulled)))
    assert second.endswith("mine.gguf")
