"""One name for one thing: no two classes are called alike, and few modules know many others."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("session", "game_interface", "managers", "orchestration", "zorkgpt")
MOST_IMPORTS = 15


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("name", ["bootstrap", "building", "learning", "managers"])
def test_what_puts_the_parts_together_knows_few_modules_of_ours(name: str) -> None:
    tree = ast.parse((ROOT / "orchestration" / f"{name}.py").read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    ours = {module for module in imported if module.split(".")[0] in PACKAGES}
    assert len(ours) <= MOST_IMPORTS


def test_no_manager_module_begins_with_the_name_of_another() -> None:
    names = [path.stem for path in (ROOT / "managers").glob("*.py") if path.stem != "__init__"]
    firsts = [name.split("_")[0] for name in names]
    assert len(names) <= 18
    assert sorted(set(firsts)) == sorted(firsts)
