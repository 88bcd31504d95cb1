"""Prints how long ``Memories.md`` takes to read, to edit and to write: ``python -m benchmarks.memories_file``.

It should show at most 10 ms at the median, to read or to edit a file of 200 kB, and to keep a memory in a file of 800,
waiting for the disk apart; with 100,000 memories a time that grows with their number. An edit is timed with the writing
out of the whole text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from benchmarks.tables import Row, show
from managers.memory.document import parse_memories
from managers.simple_memory_manager import SimpleMemoryManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import Memory

MEMORIES_A_LOCATION = 8
MOST = {64: 10.0}  # ms, by locations; 64 of them are 200 kB
MOST_TO_KEEP = {100: 10.0}
TIMES_KEPT = 21
TEXT = "The lamp is lit with one command and lasts for long; without it what lives in the dark comes near. " * 3


def memory(number: int) -> Memory:
    """Return a memory of the usual size."""
    return Memory(
        category="DISCOVERY",
        title=f"Brass lamp number {number} lights the way down",
        episode=number + 1,
        turns=f"{number}-{number + 2}",
        score_change=5,
        text=TEXT.strip(),
        persistence="core",
    )


def file_of(locations: int) -> str:
    """Return a whole file as the program writes it."""
    document = parse_memories("").add_memory(0, "Lamp Room", memory(0))
    for number in range(1, MEMORIES_A_LOCATION):
        document = document.add_memory(0, "Lamp Room", memory(number))
    title, section = document.render().split("\n\n", maxsplit=1)
    sections = (section.replace("Location 0", f"Location {number}", 1) for number in range(1, locations + 1))
    return "\n\n".join((title, "\n".join(sections)))


def milliseconds(work: Callable[[], object], times: int) -> float:
    """Return the median processor time of ``times`` runs: nothing here waits, and the machine may be shared."""
    seconds = []
    for _ in range(times):
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return median(seconds) * 1000


def superseded(memory_there: Memory) -> Memory:
    """Return the memory, superseded if it is the fourth of its location."""
    return memory_there.superseded("Better", 9) if memory_there.title == memory(3).title else memory_there


def row(locations: int, times: int) -> Row:
    """Return the durations for a file of so many locations."""
    text = file_of(locations)
    document = parse_memories(text)
    count = sum(map(len, document.memories().values()))
    added = memory(count)
    works: dict[str, Callable[[], object]] = {
        "read": lambda: parse_memories(text),
        "add a memory": lambda: document.add_memory(locations // 2, "", added).render(),
        "add a section": lambda: document.add_memory(locations + 1, "Quay", added).render(),
        "supersede": lambda: document.revise(locations // 2, superseded).render(),
    }
    durations = {f"to {name}, ms": milliseconds(work, times) for name, work in works.items()}
    return {"memories": count, "kB": len(text) // 1000, **durations, "at most": MOST.get(locations)}


def keeping_row(locations: int) -> Row:
    """Return how long the manager takes to add a memory to a file of so many locations."""
    working, waiting = [], []
    with TemporaryDirectory() as folder:
        (Path(folder) / "Memories.md").write_text(file_of(locations), encoding="utf-8")
        config = GameConfiguration(zork_game_workdir=Path(folder))
        manager = SimpleMemoryManager(logging.getLogger(__name__), config, GameState())
        for number in range(TIMES_KEPT):
            work, wall = process_time(), perf_counter()
            manager.add_memory(locations // 2, "Lamp Room", memory(1_000_000 + number))
            working.append(process_time() - work)
            waiting.append(perf_counter() - wall)
    return {
        "memories": locations * MEMORIES_A_LOCATION,
        "to add one, ms": median(working) * 1000,
        "at most": MOST_TO_KEEP.get(locations),
        "with the disk, ms": median(waiting) * 1000,
    }


if __name__ == "__main__":
    show([row(64, times=51), row(100, times=51), row(1_250, times=9), row(12_500, times=3)], "The text")
    # A file of more memories is refused for its length.
    show([keeping_row(locations) for locations in (100, 1_250, 4_000)], "To keep a memory in the file")
