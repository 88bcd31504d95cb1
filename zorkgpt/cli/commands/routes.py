"""``zorkgpt routes``: shows, removes and exports the commands that led somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError
from session.text import counted, printable
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import AsJson, OfStory, ToFile, Workdir, of_story
from zorkgpt.cli.terminal import print_folded, print_json, print_line, print_table

if TYPE_CHECKING:
    from pathlib import Path

    from managers.route_manager import RouteStore
    from session.route import Route

app = typer.Typer(name="routes", help="Commands that led to points, rooms and things.", no_args_is_help=True)

Number = Annotated[int, typer.Argument(help="Number of a route.")]


@app.command()
def show(
    number: Annotated[int | None, typer.Argument(help="Only this one, a command a line.")] = None,
    as_json: AsJson = False,
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Print every route, or what each command of one led to."""
    from managers.routes.document import route_line

    store = _store(workdir, story)
    routes = store.document.routes if number is None else (_route(store, number),)
    lines = (f"{route_line(route, names=store.document.names)}{_later_starts(route)}" for route in routes)
    if as_json:
        print_json(routes)
    elif number is not None:
        (route,) = routes
        rows = [("", "(opening)", route.start.place, "")]
        for place, step in enumerate(route.steps, start=1):
            to = step.leads_to
            rows.append((str(place), step.command, to.place, "" if to.score is None else f"score {to.score}"))
        print_folded(*lines)
        print_table(rows, wraps=True)
    elif routes:
        print_folded(f"Routes{of_story(store.path.parent)}, {store.path}:", *lines)
    else:
        print_line(f"No route is known in {store.path}.")


@app.command()
def why(number: Number, story: OfStory = None, workdir: Workdir = None) -> None:
    """Print where a route came from, and whether it held.

    These are the turn that taught it, the turns whose prompts contained it, and how its last command went since.
    """
    from managers.known import route_key

    _route(_store(workdir, story), number)
    common_options.print_origins(common_options.origins(workdir, story), [route_key(number)])


@app.command()
def remove(number: Number, story: OfStory = None, workdir: Workdir = None) -> None:
    """Remove a route; it can be learned again."""
    store = _store(workdir, story)
    key = _route(store, number).key
    store.apply(lambda book: book.without(key))
    print_line(f"Route {number} is removed from {store.path}.")


@app.command()
def export(number: Number, to: ToFile = None, story: OfStory = None, workdir: Workdir = None) -> None:
    """Write a route as a script of commands. zorkgpt replay --from-actions FILE plays it."""
    from managers.routes.document import route_aim
    from session.files.shared_files import write_atomically

    route = _route(_store(workdir, story), number)
    head = f"# Route {route.number}: {route_aim(route)} in {counted(len(route.steps), 'command')}"
    script = "".join(f"{line}\n" for line in (printable(head), *route.commands))
    if to is None:
        typer.echo(printable(script), nl=False)
    else:
        write_atomically(to, script.encode())
        print_line(f"Route {number} is written to {to}.")


def _later_starts(route: Route) -> str:
    """Return how often the route was followed from a later command on, which its record does not count."""
    return "".join(
        f"; from command {done + 1} on it worked in {tries.worked} of {counted(tries.followed, 'episode')}"
        for done, tries in sorted(route.joined.items())
    )


def _store(workdir: Path | None, story: str | None) -> RouteStore:
    from managers.route_manager import open_routes

    return open_routes(common_options.folder_and_configuration(workdir, story)[0])


def _route(store: RouteStore, number: int) -> Route:
    route = store.document.find(number)
    if route is None:
        known = ", ".join(str(each.number) for each in store.document.routes) or "none"
        raise ConfigurationError(f"there is no route {number} in {store.path}; it has {known}")
    return route
