"""``zorkgpt model``: downloads and lists the model that runs in this process."""

from __future__ import annotations

from typing import Annotated

import typer

from session.errors import LanguageModelUnavailable
from session.processes import program
from zorkgpt.cli.terminal import print_line

app = typer.Typer(help="The embedded model: fetch it, find it.", no_args_is_help=True)


@app.command()
def pull(
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing unless it fails.")] = False,
) -> None:
    """Fetch the embedded model unless it is there, and print its path."""
    from zorkgpt.cli.screen import download_bar
    from zorkgpt.llm.embedded.model_store import ModelStore

    with download_bar(quiet=quiet) as bar:
        path = ModelStore().pull(bar)
    if not quiet:
        typer.echo(path)


@app.command()
def path() -> None:
    """Print the path of the embedded model. Exit status 1 if it is missing."""
    from zorkgpt.llm.embedded.model_store import ModelStore

    store = ModelStore()
    if not store.is_pulled:
        raise LanguageModelUnavailable(f"the embedded model is missing: `{program()} model pull` fetches it")
    typer.echo(store.path)


@app.command("list")
def list_models() -> None:
    """Print the model files. The embedded model is first, even if it is missing."""
    from zorkgpt.llm.embedded.model_store import ModelStore

    store = ModelStore()
    place = store.path if store.is_pulled else f"not there yet: {program()} model pull"
    rows = [(store.packaged.name, store.packaged.size, store.packaged.license, place)]
    rows += [(other.stem, other.stat().st_size, "", other) for other in store.others()]
    for name, size, license_name, where in rows:
        print_line(f"{name:<24} {size / 1e6:>7,.0f} MB  {license_name:<10}  {where}")
