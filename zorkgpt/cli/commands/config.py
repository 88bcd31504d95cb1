"""``zorkgpt config``: the options, their values and where these came from."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import columns, print_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue
    from rich.table import Table

    from session.resolved_configuration import ShownOption

app = typer.Typer(help="The options in force.", no_args_is_help=True)

_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
_KINDS = {"integer": "whole number", "number": "number", "boolean": "true, false", "string": "text", "object": "table"}


@app.command()
def show(
    set_: common_options.Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Print every option, its value and where it came from. Keys are only shown as set or not."""
    options = list(common_options.resolve(common_options.settings(set_)).shown())
    if as_json:
        values = {option.name: {"value": option.value, "from": option.origin} for option in options}
        typer.echo(json.dumps(values, indent=2))
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(table_of(options))
    else:
        for line in columns(map(_cells, options)):
            typer.echo(line)


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


def table_of(options: Iterable[ShownOption]) -> Table:
    """Draw the options for a terminal; what is not a default stands out."""
    from rich.table import Table
    from rich.text import Text

    from session.resolved_configuration import DEFAULT

    drawn = Table("Option", "Value", "From", box=None, pad_edge=False)
    for option in options:
        style = "dim" if option.origin == DEFAULT else ""
        drawn.add_row(*(Text(cell, style=style, overflow="fold") for cell in _cells(option)))
    return drawn


def markdown_table() -> str:
    """Return every option with its kind, default and meaning, as a table in Markdown."""
    from session.configuration.options import options_of
    from session.game_configuration import GameConfiguration

    lines = ["| Option | Value | Default | Meaning |", "|---|---|---|---|"]
    for option in options_of(GameConfiguration):
        default = _as_text(option.schema.get("default"))
        shown_default = f"`{default}`" if default != "-" else ""
        lines.append(f"| `{option.name}` | {_kind(option.schema)} | {shown_default} | {option.schema['description']} |")
    return "\n".join(lines)


def _cells(option: ShownOption) -> tuple[str, str, str]:
    return option.name, _as_text(option.value), printable(option.origin)


def _as_text(value: JsonValue) -> str:
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, list):
        return ", ".join(_as_text(part) for part in value)
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
