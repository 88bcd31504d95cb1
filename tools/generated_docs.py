"""Writes the pages that the program itself knows best: every command's help, every option. ``make docs``."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from typer.testing import CliRunner

from session.game_configuration import GameConfiguration
from session.options import options_of
from session.resolved_configuration import Kind, limited_kind
from tests.fixtures.command_line import COMMAND, environment
from zorkgpt.cli.commands.setup import as_text
from zorkgpt.cli.main import app

DOCS = Path(__file__).parents[1] / "docs"
REFERENCE, MODELS = DOCS / "reference", DOCS / "models.md"
COMMANDS, CONFIGURATION = REFERENCE / "commands.md", REFERENCE / "configuration.md"
PROTOCOL, PERFORMANCE = DOCS / "records" / "protocol.md", DOCS / "records" / "performance.md"
WIDTH = 100  # columns
_HEAD = """# Commands

The output of `zorkgpt COMMAND --help`, as written by `make docs`. [The other pages](../README.md) explain the commands.
"""
_MEASURED = ("model calls", "billed tokens")
"""The figures of a turn that the page on models takes from the one on performance."""
_ABLATE = re.compile(r"^(?:\$ )?zorkgpt (ablate (?:.*\\\n)*.*)$", re.MULTILINE)
_DRY_RUN = re.compile(r"^STORY  .*?(?=^```$)", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^\| Option \|.*(?:\n\|.*)+\n", re.MULTILINE)
_LIMITS = re.compile(r"^\| Options \|.*(?:\n\|.*)+\n", re.MULTILINE)
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
_KINDS = {"integer": "whole number", "number": "number", "boolean": "true, false", "string": "text", "object": "table"}


LIMITS: Mapping[Kind, tuple[str, str]] = {
    "work folder": ("a path within the file's folder", "not used: the folder in which the run is"),
    "story file": ("a path within the file's folder", "any path, if the story there has the run's digest"),
    "file name": (
        "a name with the ending of the default, if the work folder is within the file's folder",
        "a name with the ending of the default; another one only if your own options have it, too",
    ),
    "model": ("a name at a server, `hf:OWNER/REPO`, or a `.gguf` file within the file's folder", "any"),
    "prompts": ("`.md` files within the file's folder", "the texts; no file is read"),
    "URL": (
        "any; your key is sent there only if it is of this machine",
        "any; your key is sent there only if it is of this machine, or if your own options name the URL, too",
    ),
    "key": ("any", "none: a run stores no key"),
    "fields of requests": ("any, unless a key from elsewhere is sent along", "any"),
}
"""What a file that came with a folder, and the record of a run, may set for the options of each kind."""


@cache
def pages() -> dict[Path, str]:
    """Each page that is written from the program, as it should be now."""
    configuration = CONFIGURATION.read_text(encoding="utf-8")
    return {
        COMMANDS: "\n".join([_HEAD, *map(_section, commands())]),
        CONFIGURATION: _LIMITS.sub(lambda _: _limits() + "\n", _TABLE.sub(lambda _: _options() + "\n", configuration)),
        MODELS: _with_figures(MODELS.read_text(encoding="utf-8"), PERFORMANCE.read_text(encoding="utf-8")),
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


def _options() -> str:
    """Every option with its kind, default and meaning, as a table in Markdown."""
    lines = ["| Option | Value | Default | Meaning |", "|---|---|---|---|"]
    for option in options_of(GameConfiguration):
        default = as_text(option.schema.get("default"))
        shown_default = f"`{default}`" if default != "-" else ""
        lines.append(f"| `{option.name}` | {_kind(option.schema)} | {shown_default} | {option.schema['description']} |")
    return "\n".join(lines)


def _limits() -> str:
    """What files of a folder and recorded runs may set, as a table in Markdown."""
    lines = ["| Options | File in the current folder or above | Manifest and journal of a run |", "|---|---|---|"]
    for kind, (from_folder, recorded) in LIMITS.items():
        names = ", ".join(
            f"`{option.name}`" for option in options_of(GameConfiguration) if limited_kind(option) == kind
        )
        lines.append(f"| {names} | {from_folder} | {recorded} |")
    return "\n".join(lines)


def _kind(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return _kind(next(kind for kind in schema["anyOf"] if kind["type"] != "null"))
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema["type"] == "array":
        return f"list of {_kind(schema['items'])}"
    kind = "key" if schema.get("writeOnly") else schema.get("format", _KINDS[schema["type"]])
    return " ".join([kind, *(f"{sign} {schema[bound]}" for bound, sign in _BOUNDS.items() if bound in schema)])


def _with_figures(page: str, performance: str) -> str:
    """Return the page with each figure as it was measured cold and warm."""
    for figure in _MEASURED:
        measured = re.search(rf"^\| {figure} \| ([\d.,]+) \|.*?\| ([\d.,]+) \|", performance, re.MULTILINE)
        assert measured is not None
        page = re.sub(rf"^\| {figure} \|.*$", f"| {figure} | {measured[1]} | {measured[2]} |", page, flags=re.MULTILINE)
    return page


def with_dry_run(path: Path, stories: Path) -> str:
    """Return the page with what a dry run of the ``zorkgpt ablate`` above its output prints, without a key or a server.

    stories: the folder of the story files that the project does not contain
    """
    page = path.read_text(encoding="utf-8")
    shown = _DRY_RUN.search(page)
    assert shown is not None
    command = _ABLATE.findall(page, 0, shown.start())[-1]
    words = shlex.split(command.replace("\\\n", " "))
    places = [DOCS.parent / word if "/" in word else stories / word for word in words if word.endswith(".z5")]
    words = [word for word in words if not word.endswith(".z5") and word != "--dry-run"]
    with TemporaryDirectory() as folder:
        command_line = [*COMMAND, *words, *map(str, places), "--dry-run"]
        printed = subprocess.run(
            command_line, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True, check=True
        )
    return _DRY_RUN.sub(lambda _: printed.stdout, page)


def main() -> None:
    """Write every generated part; with stories, also the measured figures."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    stories = os.environ.get("ZORKGPT_STORIES")
    for path in (MODELS, *([PROTOCOL] if stories else [])):
        path.write_text(with_dry_run(path, Path(stories or "")), encoding="utf-8")


if __name__ == "__main__":
    main()
