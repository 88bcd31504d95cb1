"""Measures how well stories can be read that Jericho does not know, on those that it knows.

    python -m benchmarks.general_way [STORY ...]

plays the walkthrough of every story in the folder ZORKGPT_STORIES and of every one named, and prints a line for
each: how much of what is claimed agrees with Jericho's own reading, and at how many of the steps anything is claimed.
"inside" is the room against everything that the player is in, so it counts rooms around vehicles and chairs too. A
TextWorld story (``tw-*.z8``) needs the JSON that ``tw-make`` puts beside it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from jericho import FrotzEnv

from benchmarks.tables import Row, Value, show
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story
from game_interface.core.status.status_reader import status_reader
from session.errors import StoryError

if TYPE_CHECKING:
    from game_interface.core.status.status_reader import Status

CLAIMS = ("location", "inside", "score", "moves", "inventory")
_READS_TIMED = 2000


class FrotzEmulator:
    """A Jericho environment as an ``Emulator`` that a status reader is learned on."""

    def __init__(self, environment: FrotzEnv) -> None:
        self.environment = environment
        self._memory = bytearray(environment.frotz_lib.getRAMSize())
        self._view = (ctypes.c_ubyte * len(self._memory)).from_buffer(self._memory)

    def step(self, command: str) -> str:
        """Play ``command`` and return the story's answer."""
        return str(self.environment.step(command)[0])

    def memory(self) -> bytearray:
        """Return dynamic memory as it is now, in a buffer that is used again."""
        self.environment.frotz_lib.getRAM(self._view)
        return self._memory

    def save(self) -> tuple[object, ...]:
        """Return the whole machine."""
        state: tuple[object, ...] = self.environment.get_state()
        return state

    def restore(self, state: tuple[object, ...]) -> None:
        """Put the machine back to ``state``."""
        self.environment.set_state(state)


@dataclass(frozen=True, slots=True)
class Measurement:
    """How well one walkthrough was read.

    claimed, agreed: steps at which a figure was claimed, and at which it was Jericho's too
    learning: seconds until the first read
    reading: seconds for one read
    """

    name: str
    steps: int
    claimed: Counter[str]
    agreed: Counter[str]
    learning: float
    reading: float

    def agreement(self, claim: str) -> float | None:
        """Return the share of the claims that agreed; ``None`` if nothing was claimed."""
        return self.agreed[claim] / self.claimed[claim] if self.claimed[claim] else None

    def row(self) -> Row:
        """Return the figures by their headings: for each claim how much of it was right and how often it was made."""
        row: dict[str, Value] = {"story": self.name, "steps": self.steps}
        for claim in CLAIMS:
            agreement = self.agreement(claim)
            row[f"{claim} right, %"] = None if agreement is None else 100 * agreement
            row[f"{claim} claimed, %"] = 100 * self.claimed[claim] / self.steps
        return {**row, "to learn, ms": 1e3 * self.learning, "to read, µs": 1e6 * self.reading}


def walkthrough(path: Path, environment: FrotzEnv) -> list[str]:
    """Return the commands that win the story, from Jericho or TextWorld; none for other stories."""
    recorded = path.with_suffix(".json")
    if path.name.startswith("tw-") and recorded.exists():
        return [str(command) for command in json.loads(recorded.read_text())["metadata"]["walkthrough"]]
    return [str(command) for command in environment.get_walkthrough()]


def measure(path: Path) -> Measurement | None:
    """Read the story ``path`` along its walkthrough as if it were unknown; ``None`` where there is no walkthrough."""
    story = Story.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        environment = FrotzEnv(str(path))
        commands = walkthrough(path, environment)
    environment.seed(environment.bindings.get("seed", 1))  # 0 means the seed of Jericho's walkthrough
    environment.reset()
    emulator, table = FrotzEmulator(environment), ObjectTable(story)
    start = time.perf_counter()
    reader = status_reader(story, table, emulator)
    learning = time.perf_counter() - start
    claimed, agreed = Counter[str](), Counter[str]()
    for command in commands:
        emulator.step(command)
        status = reader.read(emulator.memory())
        judged = _judge(environment, table, emulator.memory(), status)
        claimed.update(list(judged))
        agreed.update(claim for claim, agrees in judged.items() if agrees)
    memory = emulator.memory()
    start = time.perf_counter()
    for _ in range(_READS_TIMED):
        reader.read(memory)
    reading = (time.perf_counter() - start) / _READS_TIMED
    return Measurement(path.name, len(commands), claimed, agreed, learning, reading) if commands else None


def _judge(environment: FrotzEnv, table: ObjectTable, memory: bytearray, status: Status) -> dict[str, bool]:
    """Return for each claim of ``status`` whether Jericho says the same."""
    player = environment.get_player_object()
    judged = {
        "location": (status.location, status.location == player.parent),
        "inside": (status.room, status.room in table.ancestors(memory, player.num)),
        "score": (status.score, status.score == environment.get_score()),
        "moves": (status.moves, status.moves == environment.get_moves()),
        "inventory": (status.player, _same_inventory(environment, table.children(memory, status.player or 0))),
    }
    return {name: agrees for name, (claim, agrees) in judged.items() if claim is not None}


def _same_inventory(environment: FrotzEnv, carried: list[int]) -> bool:
    """Return whether Jericho lists the same objects; its list ends at the first that it does not know."""
    known = takewhile(environment.get_object, carried)
    return [item.num for item in environment.get_inventory()] == list(known)


def stories(arguments: list[str]) -> list[Path]:
    """Return the stories of the folder ZORKGPT_STORIES, then those named."""
    folder = os.environ.get("ZORKGPT_STORIES")
    found = sorted(Path(folder).glob("*.z[1-8]")) if folder else []
    return [*found, *map(Path, arguments)]


def main() -> None:
    """Print the table, then why stories could not be measured."""
    rows: list[Row] = []
    left_out: list[str] = []
    for path in stories(sys.argv[1:]):
        try:
            measurement = measure(path)
        except StoryError as error:
            left_out.append(str(error))
            continue
        if measurement is None:
            left_out.append(f"Jericho has no walkthrough of {path.name}")
        else:
            rows.append(measurement.row())
    show(rows)
    print("\n".join(left_out))


if __name__ == "__main__":
    main()
