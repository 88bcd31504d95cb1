"""The pytest plugin: its fixtures, what it reports, and that it is light where no test uses it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.command_line import environment
from zorkgpt.testing import PlayCommands, ScriptedRun

ROOT = Path(__file__).parents[3]
PROJECT = ROOT / "examples" / "own-story"


def output_of(folder: Path, test: str, *options: str, configuration: str = "") -> str:
    """Return what pytest prints of a project with one test file."""
    if not (folder / "pyproject.toml").exists():
        (folder / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{configuration}")
    (folder / "test_it.py").write_text(test)
    plugin = ("-p", "zorkgpt.testing", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "--strict-config", *plugin, *options]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False).stdout


def test_a_walkthrough_is_played_from_the_opening_each_time(
    play_commands: PlayCommands, walkthrough: list[str]
) -> None:
    seen = play_commands(walkthrough)
    assert (len(seen), seen[-1].score, seen[-1].ending) == (len(walkthrough), 100, "won")
    assert play_commands(walkthrough[:3], seed=7)[-1].score == 5


def test_a_command_after_the_end_fails_the_test_with_its_number(
    play_commands: PlayCommands, walkthrough: list[str]
) -> None:
    with pytest.raises(
        pytest.fail.Exception, match=rf"command {len(walkthrough) + 1}, 'look', did not reach the story"
    ):
        play_commands([*walkthrough, "look"])


def test_a_scripted_run_is_a_run_that_learns(scripted_run: ScriptedRun, walkthrough: list[str], tmp_path: Path) -> None:
    run = scripted_run(walkthrough[:5], episodes=2)
    assert [len(episode.turns) for episode in run.episodes] == [5, 5]
    assert run.summary.best_score == 5
    scripted_run(iter(["look"]))
    assert len(list((tmp_path / "game_files" / "runs").glob("*/journal.jsonl"))) == 2
    assert "storm lamp" in (tmp_path / "game_files" / "routes.json").read_text()


def test_a_missing_file_fails_with_the_option_to_set(tmp_path: Path) -> None:
    test = "".join(f"def test_{fixture}({fixture}): pass\n" for fixture in ("story", "play_commands", "walkthrough"))
    told = output_of(tmp_path, test, "--tb=line", "-rN", configuration="zorkgpt_walkthrough = none.txt\n")
    story, commands, walkthrough = re.findall(r"Failed: (.*)", told)
    assert story.startswith("zorkgpt_story is not set")
    assert commands == story
    assert walkthrough.endswith("none.txt, which is not a file")


def test_a_project_that_uses_no_fixture_imports_nothing_of_the_program_and_may_have_its_own_of_the_same_names(
    tmp_path: Path,
) -> None:
    test = (
        "import pytest\n"
        "import sys\n"
        "OURS = {'zorkgpt', 'zorkgpt.testing'}\n"
        "def test_it():\n"
        "    names = ('zorkgpt', 'session', 'managers', 'orchestration', 'game_interface', 'jericho', 'pydantic')\n"
        "    assert {name for name in sys.modules if name.split('.')[0] in names} <= OURS\n"
    )
    test += "@pytest.fixture\ndef story(): return 7\ndef test_own(story): assert story == 7\n"
    assert "2 passed" in output_of(tmp_path, test)


@pytest.mark.slow
def test_the_example_of_the_page_passes(tmp_path: Path, story: Path) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    ((settings, test),) = re.findall(
        r"^```ini\n(.*?)^```$.*?^```python plugin\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    (tmp_path / "pyproject.toml").write_text(settings)
    shutil.copy(story, tmp_path / "story.z5")
    shutil.copy(ROOT / "tests" / "stories" / "tidehouse.txt", tmp_path / "walkthrough.txt")
    assert "2 passed" in output_of(tmp_path, test)
