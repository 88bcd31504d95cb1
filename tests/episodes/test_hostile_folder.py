"""No command runs code from the current folder or passes a key to a child process."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from session.files.shared_files import RUNS
from tests.fixtures.command_line import COMMAND, environment
from tests.fixtures.hostile_folder import HostileFolder, ran_and_watched
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.troubled_server import Answers

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="this system has no /proc to see the environment of a process in"
)

KEY = "sk-planted-0123456789abcdef"
SECRET = "planted-password-9876543210"
ENVIRONMENT = environment(
    OPENAI_API_KEY=KEY,
    ZORKGPT_LLM__CRITIC__API_KEY=SECRET,
    OTEL_EXPORTER_OTLP_HEADERS=f"authorization={SECRET}",
    DATABASE_URL=f"postgres://user:{SECRET}@localhost/",
    SOMEBODYS_PAT=SECRET,
)
LAUNCHERS = {"module": COMMAND, "script": (str(Path(sys.executable).with_name("zorkgpt")),)}


@pytest.fixture
def hostile(tmp_path: Path) -> HostileFolder:
    return HostileFolder(tmp_path / "hostile")


@pytest.fixture(params=["module", pytest.param("script", marks=pytest.mark.slow)])
def launcher(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return LAUNCHERS[request.param]


def is_safe(
    hostile: HostileFolder, launcher: tuple[str, ...], *arguments: str, status: int = 0, says: str = "", **more: str
) -> None:
    """The command ended so, started a child at least, and gave nothing of the folder and no key to any."""
    ran, environments = ran_and_watched(hostile.path, (*launcher, *arguments), ENVIRONMENT | more)
    assert (ran.status, hostile.sprung) == (status, []), ran
    assert says in (ran.out + ran.err).decode()
    assert environments
    assert not [each for each in environments.values() if KEY in each or SECRET in each]


@pytest.mark.slow
def test_commands_take_no_code_from_the_current_folder_and_give_no_key_to_a_child(
    hostile: HostileFolder, launcher: tuple[str, ...], own_story: Path
) -> None:
    with MisbehavingServer(Answers()) as server:
        there = ("--base-url", server.base_url, "--game", str(own_story))
        is_safe(hostile, launcher, "run", *there, "--max-turns", "2", "--workdir", "work")
        (run,) = (hostile.path / "work" / RUNS).iterdir()
        is_safe(hostile, launcher, "replay", run.name, "--workdir", "work")
        is_safe(hostile, launcher, "doctor", *there)


@pytest.mark.slow
def test_an_ablation_takes_no_code_from_the_current_folder_and_gives_its_key_to_the_server_alone(
    hostile: HostileFolder, launcher: tuple[str, ...], own_story: Path
) -> None:
    with MisbehavingServer(Answers()) as server:
        there = ("--base-url", server.base_url, "--game", str(own_story))
        arms = ("--arms", "full,no-memory", "--pairs", "1", "--episodes", "1", "--max-turns", "2")
        is_safe(hostile, launcher, "ablate", *there, *arms, "--out", "out", says="2 of 2")
        assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}


def test_a_model_is_fetched_and_tried_without_code_from_the_current_folder_or_a_key(
    hostile: HostileFolder, launcher: tuple[str, ...], own_story: Path, tmp_path: Path
) -> None:
    model = hostile.path / "model.gguf"
    model.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + b"\0" * 100)
    run = ("run", "--game", str(own_story), "--model", model.name, "--workdir", "work")
    is_safe(hostile, launcher, *run, status=2, says="llama.cpp cannot load it", OPENAI_API_KEY="")
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:1/", "PIP_RETRIES": "0", "ZORKGPT_MODEL_DIR": str(tmp_path / "m")}
    is_safe(hostile, launcher, "model", "pull", status=1, says="pip", **nowhere)
