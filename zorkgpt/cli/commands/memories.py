"""``zorkgpt memories``: shows, checks and edits what is remembered."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted, one_line, printable, text_key
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import of_story
from zorkgpt.cli.terminal import print_error, print_json, print_line, print_problems

if TYPE_CHECKING:
    from collections.abc import Iterable

    from managers.memory.document import MemoriesDocument
    from session.files.document_store import DocumentStore
    from session.memory import Memory
    from zorkgpt.mapping.map_graph import MapGraph


app = typer.Typer(name="memories", help="What was learned at each location.", no_args_is_help=True)


Persistent = Literal["core", "permanent"]
"""The persistences that outlive an episode."""
LocationArgument = Annotated[
    str, typer.Argument(help="Number of a location, or its name as the file or the map has it.")
]
_NUMBER = re.compile(r"#?([0-9]{1,9})")


@app.command()
def show(
    location: Annotated[str | None, typer.Argument(help="Only this one, by number or name.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Superseded and invalidated ones, too.")] = False,
    as_json: common_options.AsJson = False,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Print what is remembered."""
    from session.memory import MemoryStatus

    store, map_file = _opened(workdir, story)
    document, wanted = store.document, None if location is None else _location_id(store, map_file, location)
    found = {
        location_id: [each for each in memories if everything or each.status != MemoryStatus.SUPERSEDED]
        for location_id, memories in document.memories().items()
        if wanted in (None, location_id)
    }
    found = {location_id: memories for location_id, memories in found.items() if memories}
    if as_json:
        names, visits = document.names(), document.visits()
        shown = [
            {
                "location_id": location_id,
                "location_name": names[location_id],
                "visits": visits[location_id].count if location_id in visits else 0,
                "episodes": visits[location_id].episodes if location_id in visits else (),
                "memories": memories,
            }
            for location_id, memories in found.items()
        ]
        print_json(shown)
    elif found:
        print_line(f"Memories{of_story(store.path.parent)}, {store.path}:")
        _print_memories(document, ((place, "", each) for place, memories in found.items() for each in memories))
    else:
        print_line(f"Nothing is remembered{' there' if location else ''} in {store.path}.")


@app.command()
def check(
    as_json: common_options.AsJson = False,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Print the problems of the memory file, line by line. Exit status 1 if there are any."""
    store, _ = _opened(workdir, story)
    problems = sorted([*store.document.problems(), *store.document.doubts()], key=lambda problem: problem.line)
    memories = store.document.memories()
    count = sum(map(len, memories.values()))
    found = f"{counted(count, 'memory', 'memories')} at {counted(len(memories), 'location')}, all understood"
    print_problems(store.path, problems, {"memories": count}, found, as_json=as_json)


@app.command()
def add(
    location: LocationArgument,
    title: Annotated[str, typer.Argument(help="One line that no other memory of the location has.")],
    text: Annotated[str, typer.Argument(help="What the player should know there.")],
    category: Annotated[
        str, typer.Option(help="SUCCESS, FAILURE, DISCOVERY, DANGER, NOTE or words of your own.")
    ] = "NOTE",
    persistence: Annotated[
        Persistent, typer.Option(help="core: seen on arrival; permanent: true in every episode.")
    ] = "permanent",
    name: Annotated[str, typer.Option(help="The location's name, if neither the file nor the map has it yet.")] = "",
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Add a memory."""
    from managers.memory.document import Revision
    from session.memory import Memory

    store, map_file = _opened(workdir, story)
    location_id = _location_id(store, map_file, location)
    rooms = _graph(map_file).rooms
    if rooms and location_id not in {*rooms, *store.document.names()}:
        print_error(f"zorkgpt: location {location_id} is not on the map; its memory is added all the same")
    name = name or (rooms[location_id].name if location_id in rooms else "")
    try:
        memory = Memory(category, title, 0, "", None, text.strip(), persistence)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    if not store.apply(Revision(location_id, name, memory).apply_to):
        raise ConfigurationError(f"location {location_id} has a memory of this title already: {memory.title}")
    print_line(f"{store.path}: added at location {location_id}: {memory.title}")


@app.command()
def invalidate(
    location: LocationArgument,
    title: Annotated[str, typer.Argument(help="The whole title; case and white space do not count.")],
    reason: Annotated[str, typer.Option(help="Why it is not true.")],
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Mark a memory as proven false. It stays in the file and is no longer believed."""
    from managers.memory.document import Revision
    from session.memory import MemoryStatus

    if not reason.strip():
        raise ConfigurationError("--reason is empty: explain why the memory is not true")
    store, map_file = _opened(workdir, story)
    location_id = _location_id(store, map_file, location)
    if not store.apply(Revision(location_id, invalidated=(title,), reason=reason).apply_to):
        there = store.document.memories().get(location_id, [])
        titles = [memory.title for memory in there if memory.status != MemoryStatus.SUPERSEDED]
        raise ConfigurationError(
            f"location {location_id} has no memory of this title: {title}{_closest(title, titles)}"
        )
    print_line(f"{store.path}: invalidated at location {location_id}: {title}")


@app.command()
def diff(
    run: common_options.RunOrLatest = None,
    story: common_options.OfStory = None,
    workdir: common_options.Workdir = None,
) -> None:
    """Print what a run added, superseded and invalidated, and what others changed meanwhile."""
    from managers.memory.document import open_memories
    from managers.memory.taught import changes_of
    from session.files.run_folders import MEMORIES_AT_END, MEMORIES_AT_START

    folder, configuration = common_options.run_and_configuration(workdir, run, story)
    start, end = folder / MEMORIES_AT_START, folder / MEMORIES_AT_END
    if not start.exists():
        raise StoreError(f"{folder} keeps no {MEMORIES_AT_START}: what the run learned is unknown")
    now = folder.parent.parent / configuration.simple_memory.memory_file
    file = end if end.exists() else now
    after, (own, others) = open_memories(file).document, changes_of(folder, file, now.name)
    print_line(f"What run {folder.name}{of_story(folder.parent.parent)} taught:")
    _print_memories(after, ((each.location_id, f"{each.kind} ", each.memory) for each in own))
    if not own:
        typer.echo("No memory has changed.")
    if others:
        print_line("What people and other runs changed meanwhile:")
        _print_memories(after, ((each.location_id, f"{each.kind} ", each.memory) for each in others))


def _opened(workdir: Path | None, story: str | None) -> tuple[DocumentStore[MemoriesDocument], Path]:
    """Return the opened memories of a story, and the file of its map."""
    from managers.memory.document import open_memories

    folder, configuration = common_options.folder_and_configuration(workdir, story)
    return open_memories(folder / configuration.simple_memory.memory_file), folder / configuration.map_state_file


def _graph(map_file: Path) -> MapGraph:
    """Return the map, an empty one if it cannot be read."""
    from zorkgpt.mapping.map_graph import MapGraph

    try:
        return MapGraph.read(map_file) or MapGraph()
    except StoreError:
        return MapGraph()


def _location_id(store: DocumentStore[MemoriesDocument], map_file: Path, wanted: str) -> int:
    """Return the number of the location with that number or name in the memories or on the map."""
    if number := _NUMBER.fullmatch(wanted):
        return int(number[1])
    graph = _graph(map_file)
    named = [*store.document.names().items(), *((room.id, room.name) for room in graph.rooms.values())]
    all_names = (*named, *graph.distinct_names.items())
    found = sorted({each for each, name in all_names if name and text_key(name) == text_key(wanted)})
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigurationError(f"several locations are called {wanted}; use {' or '.join(map(str, found))}")
    names = sorted({name for _, name in named if name})
    if not names:
        raise ConfigurationError(
            f"no location is called {wanted}: neither {store.path} nor {map_file} has a name yet; give its number"
        )
    known = _closest(wanted, names) or f"; its names: {', '.join(names)}"
    raise ConfigurationError(f"no location of {store.path.parent} is called {wanted}{known}")


def _closest(wanted: str, known: Iterable[str]) -> str:
    by_key = {text_key(each): each for each in known}
    closest = get_close_matches(text_key(wanted), by_key, n=1)
    return f"; there is {by_key[closest[0]]}" if closest else ""


def _print_memories(document: MemoriesDocument, found: Iterable[tuple[int, str, Memory]]) -> None:
    """Print memories with their marks below their locations. In a terminal, superseded ones are struck through."""
    from rich.console import Console
    from rich.text import Text

    from session.memory import INVALIDATION_MARKER, MemoryStatus

    styles = {MemoryStatus.ACTIVE: "bold", MemoryStatus.TENTATIVE: "yellow", MemoryStatus.SUPERSEDED: "dim strike"}
    console = Console(highlight=False, soft_wrap=True)
    names, latest = document.names(), None
    for location_id, mark, memory in found:
        if location_id != latest:
            name = one_line(names.get(location_id, ""))
            console.print(Text(printable(f"Location {location_id}{f': {name}' if name else ''}"), style="bold cyan"))
            latest = location_id
        markers = [memory.category, memory.persistence.upper()]
        markers += [memory.status] if memory.status != MemoryStatus.ACTIVE else []
        headline = Text(printable(memory.headline(*markers)), style=styles[memory.status])
        console.print(Text(f"  {mark}").append_text(headline))
        at = "" if memory.superseded_at_turn is None else f" at T{memory.superseded_at_turn}"
        lines = memory.text.split("\n")
        if memory.superseded_by == INVALIDATION_MARKER:
            lines.insert(0, f"Invalidated{at}: {memory.invalidation_reason or 'no reason given'}")
        elif memory.superseded_by is not None:
            lines.insert(0, f'Superseded{at} by "{memory.superseded_by}"')
        for line in lines:
            console.print(Text(f"    {printable(line)}"))
