"""``zorkgpt config``: shows the options, their values and origins, and trusts files with addresses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import print_line, print_table, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

app = typer.Typer(help="The options in force.", no_args_is_help=True)

_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
_KINDS = {"integer": "whole number", "number": "number", "boolean": "true, false", "string": "text", "object": "table"}


@app.command()
def show(
    set_: common_options.Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Print every option, its value and its origin. Keys are only shown as set or not."""
    from session.resolved_configuration import DEFAULT

    options = list(common_options.resolve(common_options.settings(set_)).shown())
    if as_json:
        values = {option.name: {"value": option.value, "from": option.origin} for option in options}
        typer.echo(json.dumps(values, indent=2))
        return
    rows = [(option.name, _as_text(option.value), option.origin) for option in options]
    if not sys.stdout.isatty():
        print_table(rows, has_heading=False)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table("Option", "Value", "From", box=None, pad_edge=False)
    for row in rows:
        style = "dim" if row[-1] == DEFAULT else ""
        drawn.add_row(*(Text(printable(cell), style=style, overflow="fold") for cell in row))
    Console().print(drawn)


@app.command()
def trust(
    file: Annotated[str, typer.Argument(help="zorkgpt.toml, pyproject.toml or .env that gives an address.")],
) -> None:
    """Let keys be sent to the addresses in a file.

    A file that came with a folder, such as a clone, gets no key before. The trust ends when the file changes.
    """
    from session.resolved_configuration import trust as trust_file

    trust_file(Path(file))
    print_line(f"Keys may be sent to the addresses in {file}, until it changes.")


def markdown_table() -> str:
    """Return every option with its kind, default and meaning, as a table in Markdown."""
    from session.game_configuration import GameConfiguration
    from session.options import options_of

    lines = ["| Option | Value | Default | Meaning |", "|---|---|---|---|"]
    for option in options_of(GameConfiguration):
        default = _as_text(option.schema.get("default"))
        shown_default = f"`{default}`" if default != "-" else ""
        lines.append(f"| `{option.name}` | {_kind(option.schema)} | {shown_default} | {option.schema['description']} |")
    return "\n".join(lines)


def _as_text(value: JsonValue) -> str:
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, list):
        return ", ".join(_as_text(part) for part in value)
    return value if isinstance(value, str) else json.dumps(value)


def _kind(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return _kind(next(kind for kind in schema["anyOf"] if kind["type"] != "null"))
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema["type"] == "array":
        return f"list of {_kind(schema['items'])}"
    kind = "key" if schema.get("writeOnly") else schema.get("format", _KINDS[schema["type"]])
    return " ".join([kind, *(f"{sign} {schema[bound]}" for bound, sign in _BOUNDS.items() if bound in schema)])
