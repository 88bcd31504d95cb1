"""``zorkgpt routes``: the commands that led somewhere, for people to read, remove and play themselves."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import OfStory, latest_folder, of_story
from zorkgpt.cli.terminal import columns, print_folded, print_line, printable

if TYPE_CHECKING:
    from managers.route_manager import RouteStore
    from session.route import KnownRoute

app = typer.Typer(help="Commands that led to points, rooms and things.", no_args_is_help=True)

Number = Annotated[int, typer.Argument(help="Number of a route.")]
RoutesFolder = Annotated[
    Path | None, typer.Option(help="Folder of the routes.", metavar="DIR", parser=common_options.folder)
]


@app.command()
def show(
    number: Annotated[int | None, typer.Argument(help="Only this one, a command a line.")] = None,
    as_json: common_options.AsJson = False,
    story: OfStory = None,
    workdir: RoutesFolder = None,
) -> None:
    """Print every route, or what each command of one led to."""
    from managers.routes.view import line

    store = _store(workdir, story)
    routes = store.document.routes if number is None else (_route(store, number),)
    if as_json:
        typer.echo(json.dumps([asdict(route) for route in routes], indent=2))
    elif number is not None:
        print_folded(line(routes[0]))
        print_line("\n".join(columns([list(map(printable, row)) for row in _steps(routes[0])])))
    elif routes:
        print_folded(f"Routes{of_story(store.path.parent)}, {store.path}:", *map(line, routes))
    else:
        print_line(f"No route is known in {store.path}.")


@app.command()
def remove(number: Number, story: OfStory = None, workdir: RoutesFolder = None) -> None:
    """Remove a route; it can be learnt again."""
    from managers.routes.document import RemovedRoute

    store = _store(workdir, story)
    store.apply(RemovedRoute(_route(store, number).key))
    print_line(f"Route {number} is removed from {store.path}.")


@app.command()
def export(
    number: Number,
    to: Annotated[Path | None, typer.Option(help="File to write instead of printing.", metavar="FILE")] = None,
    story: OfStory = None,
    workdir: RoutesFolder = None,
) -> None:
    """Write a route as a script of commands. zorkgpt replay --from-actions FILE plays it."""
    from managers.routes.view import aim
    from session.files.shared_files import write_atomically

    route = _route(_store(workdir, story), number)
    head = f"# Route {route.number}: {aim(route)} in {counted(len(route.steps), 'command')}"
    script = "".join(f"{line}\n" for line in (printable(head), *route.commands))
    if to is None:
        typer.echo(script, nl=False)
    else:
        write_atomically(to, script.encode())
        print_line(f"Route {number} is written to {to}.")


def _store(workdir: Path | None, story: str | None) -> RouteStore:
    from managers.route_manager import open_routes

    return open_routes(latest_folder(common_options.configuration_in(workdir).zork_game_workdir, story))


def _route(store: RouteStore, number: int) -> KnownRoute:
    route = store.document.find(number)
    if route is None:
        known = ", ".join(str(each.number) for each in store.document.routes) or "none"
        raise ConfigurationError(f"there is no route {number} in {store.path}; there is {known}")
    return route


def _steps(route: KnownRoute) -> list[list[str]]:
    """Return a row for each command of the route: its number, the command, where it led and the score then."""
    points = [(step.command, step.leads_to) for step in route.steps]
    rows = [
        [str(number), command, point.place, "" if point.score is None else f"score {point.score}"]
        for number, (command, point) in enumerate(points, start=1)
    ]
    return [["", "(opening)", route.start.place, ""], *rows]
