"""``zorkgpt model``: the model that runs in this process when no server is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import LanguageModelUnavailable
from session.processes import program
from zorkgpt.cli.terminal import print_line

if TYPE_CHECKING:
    from zorkgpt.llm.embedded.model_store import ModelStore

app = typer.Typer(help="The embedded model: fetch it, find it.", no_args_is_help=True)


@app.command()
def pull(
    quiet: Annotated[bool, typer.Option("--quiet", help="No bar, no word unless it fails.")] = False,
) -> None:
    """Fetch the embedded model unless it is there. Prints where it is."""
    from zorkgpt.cli.screen import DownloadBar

    with DownloadBar(quiet=quiet) as bar:
        path = _store().pull(bar)
    if not quiet:
        typer.echo(path)


@app.command()
def path() -> None:
    """Print where the embedded model is; exit status 1 if it is not there."""
    store = _store()
    if not store.is_pulled:
        raise LanguageModelUnavailable(f"the embedded model is not there yet: `{program()} model pull` fetches it")
    typer.echo(store.path)


@app.command("list")
def list_models() -> None:
    """Print the model files, the embedded model first, there or not."""
    store = _store()
    where = store.path if store.is_pulled else f"not there yet: {program()} model pull"
    print_line(_line(store.packaged.name, store.packaged.size, store.packaged.license, where))
    for other in store.others():
        print_line(_line(other.stem, other.stat().st_size, "", other))


def _store() -> ModelStore:
    from zorkgpt.llm.embedded.model_store import ModelStore

    return ModelStore()


def _line(name: str, size: int, license_name: str, where: object) -> str:
    return f"{name:<24} {size / 1e6:>7,.0f} MB  {license_name:<10}  {where}"
