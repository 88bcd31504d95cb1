"""Fixtures for every test: the story files, and an environment without options."""

from __future__ import annotations

import gc
import os
import signal
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ("zorkgpt.testing",)

STORIES_VARIABLE = "ZORKGPT_STORIES"

LONGEST = (
    *("test_ablation_instrument", "test_kills", "test_documented_commands", "test_embedded_play"),
    *("test_inspect_task", "test_ablation_cluster", "test_file_trouble", "test_ablate", "test_fuzzing"),
    *("test_documented_costs", "test_hostile_folder", "test_turn_cost", "test_play_on_stories"),
    *("test_installed_package", "test_keys_stay_hidden", "test_unusable_answers", "test_terminal_recordings"),
    *("test_run_command", "test_mcp_command", "test_mcp_over_http", "test_ablation", "test_memories_crash"),
    *("test_unattended_night", "test_document_store", "test_hand_over", "test_report_page", "test_resume_command"),
    *("test_python_api", "test_reconciling", "test_plan", "test_hugging_face", "test_hostile_text"),
)
"""The modules of slow tests that take 15 seconds or more of two cores, about in their order."""

# How long an example takes depends on the machine. `.ci/run` tries as many examples as Hypothesis does by default.
settings.register_profile("thorough", deadline=None)
settings.register_profile("everyday", deadline=None, max_examples=40)
settings.load_profile("everyday")

gc.set_threshold(50_000)  # the tests import and keep so much that the default takes a tenth of their time

# The tests start the program hundreds of times. Compiling all of its modules takes longer than most commands do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell without job control lets what it starts in the background ignore Ctrl-C, and so would the programs under test.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores


@pytest.hookimpl(trylast=True)  # pytest puts tests with the same parameter of a module side by side
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the modules that take longest, so that at the end no core waits for one of them on another."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


def pytest_collection_finish() -> None:
    """Exempt what was imported and collected from garbage collection, because it is kept to the end."""
    gc.freeze()


@pytest.fixture(scope="session")
def story_folder() -> Path:
    """The folder of story files that are not part of the project; tests skip without it."""
    folder = os.environ.get(STORIES_VARIABLE)
    if not folder:
        pytest.skip(f"{STORIES_VARIABLE} names no folder of story files")
    return Path(folder)


@pytest.fixture(scope="session")
def zork1(story_folder: Path) -> Path:
    """Zork I, release 88 (the user's own copy)."""
    return story_folder / "zork1.z5"


@pytest.fixture(scope="session")
def own_story() -> Path:
    """The story that ships with the program."""
    return Path(str(files("game_interface.stories") / "tidehouse.z5"))


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No option comes from the environment that the tests run in."""
    for name in os.environ:
        if name.startswith(("ZORKGPT_", "OPENAI_")):
            monkeypatch.delenv(name)
    return monkeypatch


@pytest.fixture
def in_own_folder(clean_environment: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The current folder, which is empty, and no option comes from the environment."""
    clean_environment.chdir(tmp_path)
    return tmp_path
