"""The folders of the repository, the names of test files, and what Git ignores in the work folder."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "orchestration",
    "managers",
    "session",
    "game_interface",
    "infrastructure",
    "zorkgpt",
    "tests",
    "game_files",
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_the_specified_layout_has_a_file_that_git_keeps(folder: str) -> None:
    kept = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert kept.split()


def test_no_file_has_the_marks_of_an_unfinished_merge() -> None:
    """A prompt had both versions of a paragraph, and its golden file, too."""
    found = subprocess.run(
        ["git", "grep", "-lE", "^(<{7}|>{7}) "], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (1, "")


def test_a_unit_test_is_named_after_the_module_or_package_that_it_tests() -> None:
    unit = ROOT / "tests" / "unit"
    tested = {
        path: path.relative_to(unit).with_name(path.stem.removeprefix("test_")) for path in unit.rglob("test_*.py")
    }
    named = [file for file, name in tested.items() if (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file()]
    assert len(named) > 50
    assert sorted(set(tested) - set(named)) == []


@pytest.mark.parametrize(
    ("file", "is_ignored"),
    [
        ("Memories.md", False),
        ("knowledgebase.md", False),
        ("routes.json", False),
        ("transcripts.md", False),
        ("zork1/Memories.md", False),
        ("README.md", False),
        ("map_state.json", True),
        ("Memories.md.backup", True),
        ("Memories.md.lock", True),
        ("runs/20260101-000000-0000/start/Memories.md", True),
        ("zork1/runs/20260101-000000-0000/journal.jsonl", True),
    ],
)
def test_git_ignores_the_work_folder_except_for_what_people_edit(file: str, *, is_ignored: bool) -> None:
    checked = subprocess.run(["git", "check-ignore", "-q", "--no-index", f"game_files/{file}"], cwd=ROOT, check=False)
    assert (checked.returncode == 0) == is_ignored


def test_each_commit_is_checked_by_what_make_check_runs() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ncheck:")[2].partition("\n\n")[0]
    commands = [line.strip().replace("$(BIN)/", ".venv/bin/") for line in recipe.splitlines()[1:]]
    hooks = re.findall(r"entry: ([^,]+),", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert hooks == commands
