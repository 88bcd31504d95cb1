"""Prints how long ``Memories.md`` takes to read and a memory to add: ``python -m benchmarks.memories_file``.

It should show at most 10 ms for either with a file of 200 kB, at the median, and with 100,000 memories a time that
grows with their number. An addition is timed with the writing out of the whole text.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time

from benchmarks.tables import Row, show
from managers.memory.document import parse_memories
from session.memory import Memory

MEMORIES_A_LOCATION = 8
MOST = {64: 10.0}  # ms for either, by locations; 64 of them are 200 kB
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


if __name__ == "__main__":
    show([row(64, times=51), row(100, times=51), row(1_250, times=9), row(12_500, times=3)])
