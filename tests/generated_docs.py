"""Writes the pages that the program itself knows best: every command's help, every option. ``make docs``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.testing import CliRunner

from zorkgpt.cli.config import markdown_table
from zorkgpt.cli.main import app

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[1] / "docs"
COMMANDS, CONFIGURATION = DOCS / "commands.md", DOCS / "configuration.md"
WIDTH = 100  # columns
_HEAD = """# Every command

What `zorkgpt COMMAND --help` says, as `make docs` writes it down. [The other pages](README.md) tell what for.
"""
_TABLE = re.compile(r"^\| Option \|.*(?:\n\|.*)+\n", re.MULTILINE)


def pages() -> dict[Path, str]:
    """Each page that is written from the program, as it should be now."""
    configuration = CONFIGURATION.read_text(encoding="utf-8")
    return {
        COMMANDS: "\n".join([_HEAD, *map(_section, commands())]),
        CONFIGURATION: _TABLE.sub(lambda _: markdown_table() + "\n", configuration),
    }


def commands() -> Iterator[tuple[str, ...]]:
    """The words that every command is called by, which is not hidden, groups before what is in them."""
    yield from _below(typer.main.get_command(app), ())


def _below(command: object, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield words
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        if not inner.hidden:
            yield from _below(inner, (*words, name))


def _section(words: tuple[str, ...]) -> str:
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="zorkgpt", terminal_width=WIDTH).output
    text = "\n".join(line.rstrip() for line in shown.strip().splitlines())
    return f"## {' '.join(['zorkgpt', *words])}\n\n```text\n{text}\n```\n"


def main() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
