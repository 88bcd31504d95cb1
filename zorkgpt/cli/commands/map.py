"""``zorkgpt map``: the map of a story, drawn."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len

from session.errors import ConfigurationError, StoreError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import OfStory, heading, latest_folder
from zorkgpt.cli.terminal import print_error, print_line, terminal_width

if TYPE_CHECKING:
    from zorkgpt.mapping.map_graph import MapGraph


class MapFormat(str, Enum):
    """What the map is drawn as."""

    TEXT = "text"
    MERMAID = "mermaid"
    SVG = "svg"
    PNG = "png"


_BY_ENDING = {".mmd": MapFormat.MERMAID, ".svg": MapFormat.SVG, ".png": MapFormat.PNG}


def draw(
    form: Annotated[
        MapFormat | None,
        typer.Option(
            "--format",
            help="text, mermaid, svg or png; else what the FILE's ending says (.mmd, .svg, .png), else text.",
        ),
    ] = None,
    to: Annotated[Path | None, typer.Option(help="File to write instead of printing.", metavar="FILE")] = None,
    story: OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Print or save the map of the story that was played last."""
    from zorkgpt.mapping.map_graph import MapGraph
    from zorkgpt.report.current_state import read_current_state

    form = _format_for(form, to)
    configuration = common_options.configuration_in(workdir)
    folder = latest_folder(configuration.zork_game_workdir, story)
    graph = MapGraph.read(folder / configuration.map_state_file, lambda problem: print_error(f"zorkgpt: {problem}"))
    if graph is None or not graph.rooms:
        print_line(f"Nothing is on the map yet: {heading(folder)}.")
        return
    state = read_current_state(folder)
    here = state.location.id if state and state.location and state.location.id in graph.rooms else None
    content = _drawn(graph, here, form, to)
    if to is None:
        if form == MapFormat.TEXT:
            print_line(f"{heading(folder)}: {counted(len(graph.rooms), 'room')}\n")
        print_line(content.decode())
        return
    try:
        to.write_bytes(content)
    except OSError as error:
        raise StoreError(f"cannot write {to}: {error.strerror}") from error
    print_line(f"The map of {counted(len(graph.rooms), 'room')} is written to {to}.")


def _format_for(form: MapFormat | None, to: Path | None) -> MapFormat:
    """Return the format that was asked for, or else the one that the file's ending says."""
    ending = to.suffix.lower() if to is not None else ""
    said = _BY_ENDING.get(ending)
    if form is None and said is None and ending not in ("", ".txt"):
        raise ConfigurationError(f"{to}: the ending {ending} names no format of a map; use .txt, .mmd, .svg or .png")
    if form is not None and said is not None and form != said:
        raise ConfigurationError(f"--format {form.value} does not fit the file {to}, whose ending says {said.value}")
    return form or said or MapFormat.TEXT


def _drawn(graph: MapGraph, here: int | None, form: MapFormat, to: Path | None) -> bytes:
    """Return the map in that form; where a terminal is too narrow for the text, a line for each room instead."""
    if form == MapFormat.MERMAID:
        return graph.render_mermaid().encode()
    if form == MapFormat.TEXT:
        from zorkgpt.cli.map_text import draw_text, list_rooms

        drawn = draw_text(graph, here)
        width = terminal_width() if to is None else None
        is_too_wide = width is not None and any(cell_len(line) > width for line in drawn.splitlines())
        return (list_rooms(graph, here) if is_too_wide else drawn).encode()
    if to is None:
        raise ConfigurationError(f"--format {form.value} is a picture: name a file for it with --to FILE")
    common_options.require_packages("matplotlib")
    from zorkgpt.report.map_picture import draw_map

    return draw_map(graph, here, "svg" if form == MapFormat.SVG else "png")
