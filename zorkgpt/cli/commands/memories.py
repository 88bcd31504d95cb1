"""``zorkgpt memories``: shows, checks and edits what is remembered."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from session.errors import ConfigurationError, StoreError
from session.text import counted, one_line, printable, text_key
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import AsJson, OfStory, RunOrLatest, Workdir, of_story
from zorkgpt.cli.terminal import (
    folded,
    print_error,
    print_folded,
    print_json,
    print_line,
    print_problems,
    terminal_width,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from managers.memory.document import MemoriesDocument, VisitCount
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
    as_json: AsJson = False,
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Print what is remembered."""
    store, map_file = _opened(workdir, story)
    document, wanted = store.document, None if location is None else _location_id(store, map_file, location)
    found = {
        location_id: [each for each in memories if everything or not each.is_given_up]
        for location_id, memories in document.memories().items()
        if wanted in (None, location_id)
    }
    found = {location_id: memories for location_id, memories in found.items() if memories}
    if as_json:
        names = document.names()
        on_map = {room.id: room.visits for room in _graph(map_file).rooms.values()}
        shown = [
            {
                "location_id": location_id,
                "location_name": names[location_id],
                **_visits(document.visits_at(location_id), on_map.get(location_id, 0)),
                "memories": memories,
            }
            for location_id, memories in found.items()
        ]
        print_json(shown)
    elif found:
        print_folded(f"Memories{of_story(store.path.parent)}, {store.path}:")
        _print_memories(document, ((place, "", each) for place, memories in found.items() for each in memories))
    else:
        print_line(f"Nothing is remembered{' there' if location else ''} in {store.path}.")


@app.command()
def check(as_json: AsJson = False, story: OfStory = None, workdir: Workdir = None) -> None:
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
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Add a memory."""
    from managers.memory.document import Revision
    from session.memory import Memory

    store, map_file = _opened(workdir, story)
    location_id = _location_id(store, map_file, location)
    rooms = _graph(map_file).rooms
    is_unknown = rooms and location_id not in {*rooms, *store.document.names()}
    name = name or (rooms[location_id].name if location_id in rooms else "")
    if not text.strip():
        raise ConfigurationError("the text is empty: write what the player should know there")
    try:
        memory = Memory(category, title, 0, "", None, text.strip(), persistence)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    if not store.apply(Revision(location_id, name, memory).apply_to):
        raise ConfigurationError(f"location {location_id} has a memory of this title already: {memory.title}")
    if is_unknown:
        print_error(f"zorkgpt: location {location_id} is not on the map; its memory is added anyway")
    print_line(f"{store.path}: added at location {location_id}: {memory.title}")


@app.command()
def invalidate(
    location: LocationArgument,
    title: Annotated[str, typer.Argument(help="The whole title; case and white space do not count.")],
    reason: Annotated[str, typer.Option(help="Why it is not true.")],
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Mark a memory as proven false. It stays in the file and is no longer believed."""
    from managers.memory.document import Revision

    if not reason.strip():
        raise ConfigurationError("--reason is empty: explain why the memory is not true")
    store, map_file = _opened(workdir, story)
    location_id = _location_id(store, map_file, location)
    if not store.apply(Revision(location_id, invalidated=(title,), reason=reason).apply_to):
        there = store.document.memories().get(location_id, [])
        titles = [memory.title for memory in there if not memory.is_given_up]
        raise ConfigurationError(
            f"location {location_id} has no memory of this title: {title}{_closest(title, titles)}"
        )
    print_line(f"{store.path}: invalidated at location {location_id}: {title}")


@app.command()
def diff(run: RunOrLatest = None, story: OfStory = None, workdir: Workdir = None) -> None:
    """Print what a run added, superseded and invalidated.

    What people and other runs changed meanwhile is printed apart.
    """
    from managers.memory.document import open_memories
    from managers.memory.run_changes import changes_of
    from session.files.run_folders import MEMORIES_AT_END, MEMORIES_AT_START

    folder, configuration = common_options.run_and_configuration(workdir, run, story)
    start, end = folder / MEMORIES_AT_START, folder / MEMORIES_AT_END
    if not start.exists():
        raise StoreError(f"{folder} keeps no {MEMORIES_AT_START}: what the run learned is unknown")
    now = folder.parent.parent / configuration.simple_memory.memory_file
    file = end if end.exists() else now
    after, (own, others) = open_memories(file).document, changes_of(folder, file, now.name)
    print_folded(f"What run {folder.name}{of_story(folder.parent.parent)} taught:")
    _print_memories(after, ((each.location_id, f"{each.kind} ", each.memory) for each in own))
    if not own:
        typer.echo("No memory has changed.")
    if others:
        print_folded("What people and other runs changed meanwhile:")
        _print_memories(after, ((each.location_id, f"{each.kind} ", each.memory) for each in others))


@app.command()
def why(
    title: Annotated[str, typer.Argument(help="A title, or a part of one; case and backticks do not count.")],
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Print where a memory came from, and whether it held.

    These are the turns that taught it, who wrote and changed it, and the turns whose prompts contained it. The runs of
    the story are repeated without a model, which takes as long as their reports.
    """
    origins = common_options.origins(workdir, story)
    names = {each.key: each for each in origins.items.values()}
    for change in origins.changes:
        names |= {each.key: each for each in (change.change.before, change.change.after) if each}
    memories, renamed = [item for item in names.values() if item.kind == "memory"], origins.renamed()
    titles = {text_key(item.title): item.title for item in memories}
    part = text_key(title).replace("`", "")
    keys = {text_key(title)} & titles.keys() or {key for key in titles if part and part in key.replace("`", "")}
    if not keys:
        raise ConfigurationError(f"no memory has or had this title: {title}{_closest(title, titles.values())}")
    found = [item for item in memories if text_key(item.title) in keys]
    if len(keys) > 1 and len({renamed.get(item.key, item.key) for item in found}) > 1:
        raise ConfigurationError(f"several titles contain {title}: {'; '.join(titles[key] for key in sorted(keys))}")
    common_options.print_origins(origins, list(dict.fromkeys(renamed.get(item.key, item.key) for item in found)))


@app.command()
def log(as_json: AsJson = False, story: OfStory = None, workdir: Workdir = None) -> None:
    """Print every change of the memories, and what made it.

    That is a run and its turn, or "by hand".
    """
    origins = common_options.origins(workdir, story)
    changes = [each for each in origins.changes if each.is_of_memory]
    if as_json:
        print_json(changes)
        return
    for change in changes:
        item = change.change.item
        place = "" if item.place is None else f" at location {item.place}"
        name = f"{change.id} " if change.id else ""
        print_folded(f"{name}{change.verb}{place}: {item.title}, {change.source}")
    if not changes:
        typer.echo("No change of a memory is known.")
    print_folded(*origins.problems)


@app.command()
def undo(
    what: Annotated[str, typer.Argument(help="Id of a run; or RUN/NUMBER, a change as the log prints it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Write the file without asking.")] = False,
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Take back what a run wrote into the memories. What people wrote or edited stays.

    Prints what would be done. On a terminal it then asks; elsewhere nothing is written without --yes.
    """
    from zorkgpt.report.undo import undone

    origins, (store, _) = common_options.origins(workdir, story), _opened(workdir, story)
    own = [each for each in origins.changes if each.id and each.is_of_memory]
    changes = [each for each in own if what in (each.id, each.run)]
    if not changes:
        known = ", ".join(dict.fromkeys(each.run for each in own)) or "none"
        message = " ".join(
            (f"no run and no change {what} is known to have written a memory; these did: {known}.", *origins.problems)
        )
        raise ConfigurationError(message)
    print_folded(*undone(store.document, changes, origins)[1], *origins.problems)
    if yes or (sys.stdin.isatty() and typer.confirm(printable(f"Write {store.path}?"))):
        is_changed = store.apply(lambda document: undone(document, changes, origins)[0])
        print_line(f"{store.path}: {'written' if is_changed else 'nothing to take back'}")
    else:
        typer.echo("Nothing was written; --yes writes it.")


@app.command()
def at(
    episode: Annotated[int, typer.Argument(help="Number of an episode.")],
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Print the memories as they were at the end of an episode."""
    origins = common_options.origins(workdir, story)
    items = origins.ends.get(episode)
    if items is None:
        known = ", ".join(str(each) for each, end in sorted(origins.ends.items()) if end is not None) or "none"
        raise ConfigurationError(f"what was remembered at the end of episode {episode} is unknown; known: {known}")
    memories = [item for item in items.values() if item.kind == "memory" and item.is_lasting]
    for item in memories:
        print_folded(f"Location {item.place}: {item.title} [{', '.join(item.tags)}]")
        print_folded(*(f"    {line}" for line in item.text.splitlines()))
    if not memories:
        print_line(f"No memory is known at the end of episode {episode}.")
    print_folded(*origins.problems)


def _opened(workdir: Path | None, story: str | None) -> tuple[DocumentStore[MemoriesDocument], Path]:
    """Return the opened memories of a story, and the file of its map."""
    from managers.memory.document import open_memories

    folder, configuration = common_options.folder_and_configuration(workdir, story)
    return open_memories(folder / configuration.simple_memory.memory_file), folder / configuration.map_state_file


def _visits(counted_in_file: VisitCount | None, on_map: int) -> dict[str, object]:
    """Return the visits to a location. The episodes of visits that only the map has counted are unknown."""
    if counted_in_file is not None:
        return {"visits": counted_in_file.count, "episodes": counted_in_file.episodes}
    return {"visits": on_map, "episodes": None if on_map else ()}


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

    from session.memory import MemoryStatus

    styles = {MemoryStatus.ACTIVE: "bold", MemoryStatus.TENTATIVE: "yellow", MemoryStatus.SUPERSEDED: "dim strike"}
    console = Console(highlight=False, soft_wrap=True)
    names, latest, width = document.names(), None, terminal_width()

    def put(text: str, style: str = "") -> None:
        for line in folded(text, width):
            indent = len(line) - len(line.lstrip())
            console.print(Text(line[:indent]).append(line[indent:], style))

    for location_id, mark, memory in found:
        if location_id != latest:
            name = one_line(names.get(location_id, ""))
            put(f"Location {location_id}{f': {name}' if name else ''}", "bold cyan")
            latest = location_id
        put(f"  {mark}{memory.headline(memory.category, memory.persistence.upper())}", styles[memory.status])
        at = "" if memory.superseded_at_turn is None else f" at T{memory.superseded_at_turn}"
        lines = memory.text.split("\n")
        if memory.is_invalidated:
            lines.insert(0, f"Invalidated{at}: {memory.invalidation_reason or 'no reason given'}")
        elif memory.superseded_by is not None:
            lines.insert(0, f'Superseded{at} by "{memory.superseded_by}"')
        for line in lines:
            put(f"    {line}")
