"""``zorkgpt config``: the options, their values and where these came from."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from session.configuration.options import options_of
from session.game_configuration import GameConfiguration
from session.resolved_configuration import DEFAULT, load_configuration
from zorkgpt.cli.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from session.resolved_configuration import ShownOption

app = typer.Typer(help="The options in force.", no_args_is_help=True)

_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
_KINDS = {"integer": "whole number", "number": "number", "boolean": "true, false", "string": "text", "object": "table"}


@app.command()
def show(as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """Print every option, its value and where it came from; keys only as set or not."""
    options = list(load_configuration({}, os.environ, Path.cwd()).shown())
    if as_json:
        typer.echo(json.dumps({option.name: _as_json(option) for option in options}, indent=2))
    elif sys.stdout.isatty():
        Console().print(table_of(options))
    else:
        for line in aligned(options):
            typer.echo(line)


@app.command(hidden=True)
def table() -> None:
    """Print the table of options in ``docs/configuration.md``."""
    typer.echo(markdown_table())


def table_of(options: Iterable[ShownOption]) -> Table:
    """The options for a terminal; what is not a default stands out."""
    drawn = Table("Option", "Value", "From", box=None, pad_edge=False)
    for option in options:
        style = "dim" if option.origin == DEFAULT else ""
        cells = (option.name, _in_words(option.value), printable(option.origin))
        drawn.add_row(*(Text(cell, style=style, overflow="fold") for cell in cells))
    return drawn


def aligned(options: Iterable[ShownOption]) -> list[str]:
    """The options as lines of three columns."""
    rows = [(option.name, _in_words(option.value), printable(option.origin)) for option in options]
    name_width, value_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    return [f"{name:<{name_width}}  {value:<{value_width}}  {origin}" for name, value, origin in rows]


def markdown_table() -> str:
    """Every option with its kind, default and meaning, in Markdown."""
    lines = ["| Option | Value | Default | Meaning |", "|---|---|---|---|"]
    for option in options_of(GameConfiguration):
        default = _in_words(option.schema.get("default"))
        shown_default = f"`{default}`" if default != "-" else ""
        lines.append(f"| `{option.name}` | {_kind(option.schema)} | {shown_default} | {option.schema['description']} |")
    return "\n".join(lines)


def _as_json(option: ShownOption) -> dict[str, JsonValue]:
    return {"value": option.value, "from": option.origin}


def _in_words(value: JsonValue) -> str:
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, list):
        return ", ".join(_in_words(part) for part in value)
    return printable(value) if isinstance(value, str) else json.dumps(value)


def _kind(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return _kind(next(kind for kind in schema["anyOf"] if kind["type"] != "null"))
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema["type"] == "array":
        return f"list of {_kind(schema['items'])}"
    kind = "key" if schema.get("writeOnly") else schema.get("format", _KINDS[schema["type"]])
    return " ".join([kind, *(f"{sign} {schema[bound]}" for bound, sign in _BOUNDS.items() if bound in schema)])
