"""How a difference between a recorded event and one of a replay looks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from session.events import EVENTS
from session.files.inputs import timeless
from session.text import cut_at
from zorkgpt.cli.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.events import Event
    from session.files.inputs import Difference

LONGEST_SHOWN = 400  # characters of a value
MOST_SHOWN = 12  # differing values
NOTHING = "-"


def print_side_by_side(difference: Difference) -> None:
    """Print the values in which the two events differ, each as it was recorded and as it is now."""
    columns = [Column(header, overflow="fold") for header in ("", "recorded", "now")]
    table = Table(*columns, title=f"Line {difference.line} of the journal", show_lines=True)
    expected = _values(difference.expected)
    found = _values(difference.found)
    names = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    for name in names[:MOST_SHOWN]:
        cells = (name, expected.get(name, NOTHING), found.get(name, NOTHING))
        table.add_row(*(Text(cut_at(printable(cell), LONGEST_SHOWN)) for cell in cells))
    if len(names) > MOST_SHOWN:
        table.add_row(f"and {len(names) - MOST_SHOWN} more", "", "")
    Console(highlight=False).print(table)


def _values(event: Event | str | None) -> dict[str, str]:
    """Return the values of an event by their places in it; ``None`` stands for the end of a journal."""
    if event is None:
        return {"kind": "the journal ends"}
    if isinstance(event, str):
        return {"kind": event}
    fields = EVENTS.dump_python(timeless(event), mode="json")
    return dict(_leaves("", {"kind": fields["kind"], **fields}))


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for place, inner in enumerate(value):
            yield from _leaves(f"{name}[{place}]", inner)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value)
