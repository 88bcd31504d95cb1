"""How memories look in a terminal; the same lines without colours in a pipe."""

from __future__ import annotations

import shlex
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from session.invocation import program
from session.memory import INVALIDATION_MARKER, MemoryStatus
from session.text import counted, one_line
from zorkgpt.cli.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from managers.memory.document import MemoriesDocument, MemoryChange
    from session.files.markdown import MarkdownProblem
    from session.memory import Memory

MOST_PROBLEMS = 5
_STYLES = {MemoryStatus.ACTIVE: "bold", MemoryStatus.TENTATIVE: "yellow", MemoryStatus.SUPERSEDED: "dim strike"}


def print_lines(lines: Iterable[Text]) -> None:
    """Print each on a line of its own, with colours where a terminal reads them."""
    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(line)


def memory_lines(document: MemoriesDocument, memories: Mapping[int, Sequence[Memory]]) -> Iterator[Text]:
    """Yield the memories of each location, superseded ones struck through; ``document`` knows the locations' names."""
    for location_id, each in memories.items():
        yield _heading(document, location_id)
        for memory in each:
            yield Text("  ").append_text(_headline(memory))
            yield from _details(memory)


def problem_lines(path: Path, problems: Sequence[MarkdownProblem]) -> list[str]:
    """Return a line for each of the first places of a file of memories that are not understood, for who plays on."""
    lines = [f"{path}:{problem.line}: {problem.message} Until then it is kept, but not used." for problem in problems]
    more = len(lines) - MOST_PROBLEMS
    if more <= 0:
        return lines
    check = f"{program()} memories check --workdir {shlex.quote(str(path.parent))}"
    return [*lines[:MOST_PROBLEMS], f"{path}: {counted(more, 'more place')} not understood: {check} names all"]


def change_lines(after: MemoriesDocument, found: Iterable[MemoryChange]) -> Iterator[Text]:
    """Yield the changes by location, each with the memory as it is now."""
    for location_id, each in groupby(found, attrgetter("location_id")):
        yield _heading(after, location_id)
        for change in each:
            yield Text(f"  {change.kind} ").append_text(_headline(change.memory))
            yield from _details(change.memory)


def _heading(document: MemoriesDocument, location_id: int) -> Text:
    name = one_line(document.names().get(location_id, ""))
    return Text(printable(f"Location {location_id}{f': {name}' if name else ''}"), style="bold cyan")


def _headline(memory: Memory) -> Text:
    markers = [memory.category, memory.persistence.upper()]
    if memory.status != MemoryStatus.ACTIVE:
        markers.append(memory.status)
    return Text(printable(f"[{' - '.join(markers)}] {memory.title}"), style=_STYLES[memory.status])


def _details(memory: Memory) -> Iterator[Text]:
    details = [*_reasons(memory), *printable(memory.text).split("\n")]
    return (Text(f"    {line}") for line in details)


def _reasons(memory: Memory) -> Sequence[str]:
    at = "" if memory.superseded_at_turn is None else f" at T{memory.superseded_at_turn}"
    if memory.superseded_by == INVALIDATION_MARKER:
        return [printable(f"Invalidated{at}: {memory.invalidation_reason or 'no reason given'}")]
    return [] if memory.superseded_by is None else [printable(f'Superseded{at} by "{memory.superseded_by}"')]
