"""``zorkgpt map``: draws the map of a story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import folded, print_error, print_folded, print_line, terminal_width, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from zorkgpt.mapping.map_graph import MapGraph


MapFormat = Literal["text", "mermaid", "svg", "png"]
_BY_ENDING: dict[str, MapFormat] = {"": "text", ".txt": "text", ".mmd": "mermaid", ".svg": "svg", ".png": "png"}


def draw(
    form: Annotated[
        MapFormat | None,
        typer.Option("--format", help="By default that of the FILE's ending (.mmd, .svg, .png), else text."),
    ] = None,
    to: common_options.ToFile = None,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Print or save the map of the story that was played last."""
    from managers.map_manager import SAVE_INTERVAL
    from zorkgpt.mapping.map_graph import MapGraph
    from zorkgpt.report.played_run import read_current_state

    ending = to.suffix.lower() if to is not None else ""
    by_ending = _BY_ENDING.get(ending)
    if form is None and by_ending is None:
        raise ConfigurationError(f"{to}: the ending {ending} is not a format of a map; use .txt, .mmd, .svg or .png")
    if form is not None and ending not in ("", ".txt") and by_ending not in (None, form):
        raise ConfigurationError(f"--format {form} does not fit the file {to}, whose ending means {by_ending}")
    form = form or by_ending or "text"
    folder, configuration = common_options.folder_and_configuration(workdir, story)
    heading = common_options.heading(folder)
    graph = MapGraph.read(folder / configuration.map_state_file, lambda problem: print_error(f"zorkgpt: {problem}"))
    if graph is None or not graph.rooms:
        print_line(f"Nothing is on the map in {folder} yet.")
        return
    try:
        state = read_current_state(folder)
    except StoreError as error:
        print_error(f"zorkgpt: {error}; the location of the player is unknown")
        state = None
    here = state.location.id if state and state.location and state.location.id in graph.rooms else None
    content = _drawn(graph, here, form, to)
    if to is None:
        if form == "text":
            print_folded(f"{heading}: {counted(len(graph.rooms), 'room')}\n")
        print_line(content.decode())
        if form == "text" and state and state.location and here is None:
            name = state.location.name
            print_line(
                f"\nThe player is at {name}, which is not on the map yet: it is saved every {SAVE_INTERVAL} turns."
            )
    else:
        write_file(to, content)
        print_line(f"The map of {counted(len(graph.rooms), 'room')} is written to {to}.")


def _drawn(graph: MapGraph, here: int | None, form: MapFormat, to: Path | None) -> bytes:
    """Return the map in that format. In a terminal that is too narrow for the text, it is a line for each room."""
    from rich.cells import cell_len

    from zorkgpt.cli.map_text import draw_text, list_rooms

    if form == "mermaid":
        return graph.render_mermaid().encode()
    if form == "text":
        drawn = draw_text(graph, here)
        width = terminal_width() if to is None else None
        is_too_wide = width is not None and any(cell_len(line) > width for line in drawn.splitlines())
        return ("\n".join(folded(list_rooms(graph, here), width)) if is_too_wide else drawn).encode()
    if to is None:
        raise ConfigurationError(f"--format {form} is a picture: name a file for it with --to FILE")
    common_options.require_packages("matplotlib")
    from zorkgpt.report.map_picture import draw_map

    return draw_map(graph, here, form)
