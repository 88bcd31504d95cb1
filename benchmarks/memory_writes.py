"""Prints what it costs to keep a memory, file and all: ``python -m benchmarks.memory_writes``.

It should show at most 10 ms with 800 memories, at the median, waiting for the disk apart.
"""

from __future__ import annotations

import logging
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from benchmarks.memories_file import MEMORIES_A_LOCATION, file_of, memory
from benchmarks.tables import Row, show
from managers.simple_memory_manager import SimpleMemoryManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState

TIMES = 21
SIZES = (100, 1_250, 4_000)  # locations; a file of more memories is refused for its length
MOST = {100: 10.0}  # ms


def row(locations: int) -> Row:
    """Return how long additions to a file of so many locations take."""
    working, waiting = [], []
    with TemporaryDirectory() as folder:
        (Path(folder) / "Memories.md").write_text(file_of(locations), encoding="utf-8")
        config = GameConfiguration(zork_game_workdir=Path(folder))
        manager = SimpleMemoryManager(logging.getLogger(__name__), config, GameState())
        for number in range(TIMES):
            work, wall = process_time(), perf_counter()
            manager.add_memory(locations // 2, "Lamp Room", memory(1_000_000 + number))
            working.append(process_time() - work)
            waiting.append(perf_counter() - wall)
    return {
        "memories": locations * MEMORIES_A_LOCATION,
        "to add one, ms": median(working) * 1000,
        "at most": MOST.get(locations),
        "with the disk, ms": median(waiting) * 1000,
    }


if __name__ == "__main__":
    show([row(locations) for locations in SIZES])
