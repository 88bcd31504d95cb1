"""Every message that the page on trouble explains is one that the program can print."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("session", "game_interface", "managers", "orchestration", "zorkgpt")
EXPLAINED = re.findall(
    r"^\| `([^`]+)` \|", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.fixture(scope="module")
def said() -> str:
    """Every text in the code, a line each, with ``…`` for what is filled in."""
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return "\n".join(text for path in files for text in texts_in(ast.parse(path.read_text(encoding="utf-8"))))


def texts_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("message", EXPLAINED)
def test_the_program_says_what_the_page_explains(message: str, said: str) -> None:
    assert message.removesuffix(": …") in said  # the system's reason is appended in one place for all
