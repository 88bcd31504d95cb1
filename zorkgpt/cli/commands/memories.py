"""``zorkgpt memories``: what is remembered, shown, checked and edited."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted, one_line, text_key
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import OfStory, chosen_run, latest_folder, of_story
from zorkgpt.cli.terminal import print_error, print_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from managers.memory.document import MemoriesDocument
    from session.memory import Memory
    from zorkgpt.mapping.map_graph import MapGraph


app = typer.Typer(help="What was learnt at each location.", no_args_is_help=True)


class Persistent(str, Enum):
    """The persistences that outlive an episode."""

    CORE = "core"
    PERMANENT = "permanent"


LocationArgument = Annotated[
    str, typer.Argument(help="Number of a location, or its name as the file or the map has it.")
]
TitleArgument = Annotated[str, typer.Argument(help="The whole title; case and white space do not count.")]
MemoriesFolder = Annotated[
    Path | None, typer.Option(help="Folder of the memories.", metavar="DIR", parser=common_options.folder)
]

_NUMBER = re.compile(r"#?([0-9]{1,9})")


@app.command()
def show(
    location: Annotated[str | None, typer.Argument(help="Only this one, by number or name.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that were given up, too.")] = False,
    as_json: common_options.AsJson = False,
    story: OfStory = None,
    workdir: MemoriesFolder = None,
) -> None:
    """Print what is remembered."""
    files = _files(workdir, story)
    path = files.memories
    document = _document(path)
    memories = document.memories()
    if location is not None:
        location_id = _location_id(files, document, location)
        memories = {location_id: memories.get(location_id, [])}
    if not everything:
        memories = {location_id: _believed(each) for location_id, each in memories.items()}
    memories = {location_id: each for location_id, each in memories.items() if each}
    if as_json:
        typer.echo(json.dumps(_as_json(document, memories), indent=2))
    elif memories:
        print_line(f"Memories{of_story(path.parent)}, {path}:")
        _print_memories(document, (_Shown(place, "", each) for place, found in memories.items() for each in found))
    else:
        print_line(f"Nothing is remembered{' there' if location else ''} in {path}.")


@app.command()
def check(as_json: common_options.AsJson = False, story: OfStory = None, workdir: MemoriesFolder = None) -> None:
    """Print the problems of the memory file, line by line. Exit status 1 if there are any."""
    path = _files(workdir, story).memories
    document = _document(path)
    problems = sorted([*document.problems(), *document.doubts()], key=lambda problem: problem.line)
    memories = document.memories()
    count = sum(map(len, memories.values()))
    if as_json:
        found = [asdict(problem) for problem in problems]
        typer.echo(json.dumps({"file": str(path), "memories": count, "problems": found}, indent=2))
    else:
        for problem in problems:
            print_line(f"{path}:{problem.line}: {problem.message}")
        if not problems:
            found_ones = f"{counted(count, 'memory', 'memories')} at {counted(len(memories), 'location')}"
            print_line(f"{path}: {found_ones}, all understood")
    if problems:
        raise typer.Exit(1)


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
    ] = Persistent.PERMANENT,
    name: Annotated[str, typer.Option(help="The location's name, where neither the file nor the map has it yet.")] = "",
    story: OfStory = None,
    workdir: MemoriesFolder = None,
) -> None:
    """Add a memory."""
    from managers.memory.synthesis import Revision
    from managers.memory.tiers import open_memories
    from session.memory import Memory

    files = _files(workdir, story)
    path = files.memories
    store = open_memories(path)
    location_id = _location_id(files, store.document, location)
    graph = _map(files.map)
    if graph.rooms and location_id not in {*graph.rooms, *store.document.names()}:
        print_error(f"zorkgpt: location {location_id} is not on the map; its memory is added all the same")
    name = name or (graph.rooms[location_id].name if location_id in graph.rooms else "")
    try:
        memory = Memory(category, title, 0, "", None, text.strip(), persistence.value)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    if not store.apply(Revision(location_id, name, memory)):
        raise ConfigurationError(f"location {location_id} has a memory of this title already: {memory.title}")
    print_line(f"{path}: added at location {location_id}: {memory.title}")


@app.command()
def invalidate(
    location: LocationArgument,
    title: TitleArgument,
    reason: Annotated[str, typer.Option(help="Why it is not true.")],
    story: OfStory = None,
    workdir: MemoriesFolder = None,
) -> None:
    """Mark a memory as proven false. It stays in the file and is no longer believed."""
    from managers.memory.synthesis import Revision
    from managers.memory.tiers import open_memories

    if not reason.strip():
        raise ConfigurationError("--reason is empty: say why the memory is not true")
    files = _files(workdir, story)
    path = files.memories
    store = open_memories(path)
    location_id = _location_id(files, store.document, location)
    if not store.apply(Revision(location_id, invalidated=(title,), reason=reason)):
        titles = [memory.title for memory in _believed(store.document.memories().get(location_id, []))]
        raise ConfigurationError(
            f"location {location_id} has no memory of this title: {title}{_closest(title, titles)}"
        )
    print_line(f"{path}: invalidated at location {location_id}: {title}")


@app.command()
def diff(
    run: Annotated[str | None, typer.Argument(help="Id of a run, or its folder; the latest unless given.")] = None,
    story: OfStory = None,
    workdir: MemoriesFolder = None,
) -> None:
    """Print what a run added, superseded and invalidated."""
    from session.files.run_folders import MEMORIES_AT_END, MEMORIES_AT_START

    configuration = common_options.configuration_in(workdir)
    folder = chosen_run(configuration.zork_game_workdir, run, story)
    start, end = folder / MEMORIES_AT_START, folder / MEMORIES_AT_END
    if not start.exists():
        raise StoreError(f"{folder} keeps no {MEMORIES_AT_START}: what it taught cannot be told")
    now = folder.parent.parent / configuration.simple_memory.memory_file
    after = _document(end if end.exists() else now)
    found = after.changes_since(_document(start))
    print_line(f"What run {folder.name}{of_story(folder.parent.parent)} taught:")
    if found:
        _print_memories(after, (_Shown(each.location_id, f"{each.kind} ", each.memory) for each in found))
    else:
        typer.echo("No memory has changed.")


class _Shown(NamedTuple):
    location_id: int
    mark: str
    memory: Memory


class _Files(NamedTuple):
    memories: Path
    map: Path


def _files(workdir: Path | None, story: str | None) -> _Files:
    configuration = common_options.configuration_in(workdir)
    folder = latest_folder(configuration.zork_game_workdir, story)
    return _Files(folder / configuration.simple_memory.memory_file, folder / configuration.map_state_file)


def _document(path: Path) -> MemoriesDocument:
    from managers.memory.tiers import open_memories

    return open_memories(path).document


def _map(path: Path) -> MapGraph:
    """Return the map, which knows rooms without memories, too; an empty one where it cannot be read."""
    from zorkgpt.mapping.map_graph import MapGraph

    try:
        return MapGraph.read(path) or MapGraph()
    except StoreError:
        return MapGraph()


def _location_id(files: _Files, document: MemoriesDocument, wanted: str) -> int:
    """Return the number of a location that is wanted by number or by name, as the memories or the map have it."""
    number = _NUMBER.fullmatch(wanted)
    if number:
        return int(number[1])
    graph = _map(files.map)
    named = [*document.names().items(), *((room.id, room.name) for room in graph.rooms.values())]
    found = sorted(
        {
            location_id
            for location_id, name in (*named, *graph.distinct_names.items())
            if name and text_key(name) == text_key(wanted)
        }
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigurationError(f"several locations are called {wanted}: say {' or '.join(map(str, found))}")
    names = sorted({name for _, name in named if name})
    if not names:
        raise ConfigurationError(
            f"no location is called {wanted}: neither {files.memories} nor {files.map} has a name yet; give its number"
        )
    known = _closest(wanted, names) or f"; its names: {', '.join(names)}"
    raise ConfigurationError(f"no location of {files.memories.parent} is called {wanted}{known}")


def _closest(wanted: str, known: Iterable[str]) -> str:
    by_key = {text_key(each): each for each in known}
    closest = get_close_matches(text_key(wanted), by_key, n=1)
    return f"; there is {by_key[closest[0]]}" if closest else ""


def _believed(memories: Iterable[Memory]) -> list[Memory]:
    from session.memory import MemoryStatus

    return [memory for memory in memories if memory.status != MemoryStatus.SUPERSEDED]


def _as_json(document: MemoriesDocument, memories: dict[int, list[Memory]]) -> list[dict[str, object]]:
    names, visits = document.names(), document.visits()
    return [
        {
            "location_id": location_id,
            "location_name": names[location_id],
            "visits": visits[location_id].count if location_id in visits else 0,
            "episodes": visits[location_id].episodes if location_id in visits else (),
            "memories": [asdict(memory) for memory in each],
        }
        for location_id, each in memories.items()
    ]


def _print_memories(document: MemoriesDocument, found: Iterable[_Shown]) -> None:
    """Print memories below their locations, with colours on a terminal; superseded ones are struck through."""
    from rich.console import Console
    from rich.text import Text

    from session.memory import MemoryStatus

    styles = {MemoryStatus.ACTIVE: "bold", MemoryStatus.TENTATIVE: "yellow", MemoryStatus.SUPERSEDED: "dim strike"}
    console = Console(highlight=False, soft_wrap=True)
    names, latest = document.names(), None
    for location_id, mark, memory in found:
        if location_id != latest:
            name = one_line(names.get(location_id, ""))
            heading = printable(f"Location {location_id}{f': {name}' if name else ''}")
            console.print(Text(heading, style="bold cyan"))
            latest = location_id
        markers = [memory.category, memory.persistence.upper()]
        markers += [memory.status] if memory.status != MemoryStatus.ACTIVE else []
        headline = Text(printable(f"[{' - '.join(markers)}] {memory.title}"), style=styles[memory.status])
        console.print(Text(f"  {mark}").append_text(headline))
        for line in (*_reasons(memory), *printable(memory.text).split("\n")):
            console.print(Text(f"    {line}"))


def _reasons(memory: Memory) -> Sequence[str]:
    from session.memory import INVALIDATION_MARKER

    at = "" if memory.superseded_at_turn is None else f" at T{memory.superseded_at_turn}"
    if memory.superseded_by == INVALIDATION_MARKER:
        return [printable(f"Invalidated{at}: {memory.invalidation_reason or 'no reason given'}")]
    return [] if memory.superseded_by is None else [printable(f'Superseded{at} by "{memory.superseded_by}"')]
