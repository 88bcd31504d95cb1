"""Models of a hub on loopback are pulled by the command, as a user types it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from session.errors import ConfigurationError
from session.model_files import LARGE, MODEL_DIR_VARIABLE, chosen_file
from session.resolved_configuration import EMBEDDED_PROFILE, load_configuration
from tests.fixtures.command_line import COMMAND, Ran, environment, ran, ran_on_a_terminal
from tests.fixtures.local_hub import Hub
from zorkgpt.llm.embedded.model_store import ModelStore

MODEL = b"GGUF" + bytes(range(256)) * 200_000  # several of the library's blocks

Command = Callable[..., Ran]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """A hub with a small file that is not a model, of which nothing but the bytes counts."""
    file = tmp_path / "served.gguf"
    file.write_bytes(MODEL)
    with Hub({"small.gguf": file, "README.md": file}) as opened:
        yield opened


@pytest.fixture
def command(tmp_path: Path, hub: Hub) -> Command:
    """Runs ``zorkgpt`` in an empty folder, with the hub and a folder of models of its own."""
    folder = tmp_path / "here"
    folder.mkdir()

    def run(*arguments: str, how: Command = ran, **more: str) -> Ran:
        own = {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path / "hf"),
            MODEL_DIR_VARIABLE: str(tmp_path / "models"),
        }
        return how(folder, *arguments, env=environment(**{**own, **more}))

    return run


def _first_line(folder: Path, *arguments: str, env: Mapping[str, str]) -> Ran:
    """Run the command until it has printed a line; a full prompt takes minutes on a slow computer."""
    with subprocess.Popen([*COMMAND, *arguments], cwd=folder, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        process.stdout.read()
    return Ran(process.returncode, line)


def _files(folder: Path) -> list[Path]:
    return [path for path in (folder / "models" / "hf").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_a_download_that_broke_off_continues_where_it_was_and_its_hash_is_checked(
    command: Command, hub: Hub, tmp_path: Path
) -> None:
    hub.breaks_after = len(MODEL) // 2
    first = command("model", "pull", "hf:owner/model")
    assert first.status == 1
    assert len(first.lines) == 1
    assert "answers 503; what arrived is kept" in first.lines[0]
    assert [path.suffix for path in _files(tmp_path)] == [".part"]

    hub.breaks_after = None
    second = command("model", "pull", "hf:owner/model", how=ran_on_a_terminal)
    assert (second.status, hub.starts[-1] > 0) == (0, True)
    assert all(shown in second.text for shown in ("Fetching", "Checking"))
    assert [path.name for path in _files(tmp_path)] == ["small.gguf"]
    assert _files(tmp_path)[0].read_bytes() == MODEL

    requests = len(hub.starts)
    assert command("model", "pull", "hf:owner/model:small.gguf", "--quiet").out == b""
    assert len(hub.starts) == requests
    assert "hf:owner/model:small.gguf" in command("model", "list").text


@pytest.mark.slow
def test_a_file_that_arrives_damaged_is_deleted(command: Command, hub: Hub, tmp_path: Path) -> None:
    hub.damaged = True
    refused = command("model", "pull", "hf:owner/model")
    assert (refused.status, _files(tmp_path)) == (1, [])
    assert "damaged" in refused.lines[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "environ", "status", "reason"),
    [
        ("hf:owner/gated", {}, 1, "accept its conditions at"),
        ("hf:owner/absent", {}, 1, "no such repository"),
        ("hf:owner/portal", {}, 1, "is not that of a Hugging Face hub"),
        ("hf:owner/model", {"HF_HUB_OFFLINE": "1"}, 1, "HF_HUB_OFFLINE is set"),
        ("hf:owner/model", {"HF_ENDPOINT": "http://127.0.0.1:9"}, 1, "no connection to http://127.0.0.1:9"),
        ("hf:owner/model:big.gguf", {}, 2, "has no model file big.gguf; name one, as in hf:owner/model:small.gguf"),
        ("hf:../model", {}, 2, "expected a model such as"),
    ],
)
def test_a_model_that_cannot_be_pulled_is_one_clear_line(
    command: Command, model: str, environ: dict[str, str], status: int, reason: str
) -> None:
    refused = command("model", "pull", model, **environ)
    assert (refused.status, len(refused.lines), refused.out) == (status, 1, b"")
    assert reason in refused.lines[0]


@pytest.mark.slow
@pytest.mark.embedded
def test_a_pulled_model_plays_offline_and_the_first_line_shows_which_prompts_it_gets(
    command: Command, hub: Hub
) -> None:
    """The packaged model plays, once as it is and once in a file that is as long as that of a large model."""
    store = ModelStore()
    if not store.is_pulled:
        pytest.skip("the embedded model is not there: zorkgpt model pull")
    hub.files = {"tiny-Q4_K_M.gguf": store.path, "tiny-Q8_0.gguf": store.path}
    missing = command("run", "--model", "hf:owner/model")
    assert (missing.status, len(missing.lines)) == (2, 1)
    assert "zorkgpt model pull hf:owner/model" in missing.lines[0]
    pulled = Path(command("model", "pull", "hf:owner/model").text.strip())
    run = ("run", "--model", "hf:owner/model", "--max-turns", "1", "--set", "agent_sampling.max_tokens=40")
    small = command(*run, HF_HUB_OFFLINE="1")
    assert (small.status, small.err) == (0, b"")
    assert small.text.startswith("tiny-Q4_K_M (embedded, prompts for a small model), assisted by")
    with pulled.open("r+b") as file:
        file.truncate(LARGE)
    large = command(*run, how=_first_line)
    assert large.text.startswith("tiny-Q4_K_M (embedded, full prompts) plays")


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["README.md", "model-f16.gguf"], "model-f16.gguf"),
        (["model-Q8_0.gguf", "model-Q4_K_M.gguf", "mmproj-model-f16.gguf"], "model-Q4_K_M.gguf"),
        (["a-q4_k_m-00001-of-00002.gguf", "a-q4_k_m-00002-of-00002.gguf", "a-q3_k_m.gguf"], "a-q3_k_m.gguf"),
    ],
)
def test_without_a_file_name_the_only_model_or_the_usual_quantization_is_chosen(files: list[str], chosen: str) -> None:
    assert chosen_file("hf:o/r", files) == chosen
    with pytest.raises(ConfigurationError, match="several model files; name one, as in hf:o/r:q2"):
        chosen_file("hf:o/r", ["q2/a.gguf", "q8/a.gguf"])
    with pytest.raises(ConfigurationError, match="no model in one GGUF file"):
        chosen_file("hf:o/r", ["../../a.gguf", "/etc/a.gguf", "a b.gguf"])


def test_a_large_file_gets_the_usual_defaults_and_a_small_one_those_for_small_models(tmp_path: Path) -> None:
    file = tmp_path / "some.gguf"
    budgets = []
    for size in (LARGE - 1, LARGE):
        with file.open("wb") as opened:
            opened.truncate(size)
        resolved = load_configuration({"agent_model": str(file)}, {}, tmp_path)
        budgets.append(resolved.configuration.prompt_budgets.agent)
    assert budgets == [EMBEDDED_PROFILE["prompt_budgets.agent"], 4000]
