"""``Memories.md`` outlives kills at any instant and two writers at once.

Source: docs/records/specification.md, Atomic writes.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from itertools import count
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
import structlog

from managers.memory.document import parse_memories
from tests.fixtures.forked import started
from tests.unit.managers.memory_parts import manager_in, memory

PLACES = 5
TEXT = "The dye runs off unless the mordant has dried for three turns. " * 4


def start_writer(workdir: Path, name: str) -> ForkServerProcess:
    """Start a writer in its own process. It appends the title of every added memory to ``done_file``."""
    return started(_write_forever, workdir, name)


def done_file(workdir: Path, name: str) -> Path:
    """Return the file with the titles of all memories that were written, one per line."""
    return workdir / f"{name}.done"


def _write_forever(workdir: Path, name: str) -> None:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    manager = manager_in(workdir)
    done = os.open(done_file(workdir, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in count():
        for title in (f"{name} {number}", f"common {number}"):
            place = number % PLACES
            if manager.add_memory(place, f"Vat {place}", memory(title, text=TEXT)):
                os.write(done, f"{title}\n".encode())


LONGEST_LIFE = 0.06  # seconds after the first write was reported
MOST_MEMORIES = 400  # then a fresh folder: the kills are to hit writes, not the reading of a long file
START_TIMEOUT = 30.0


def titles_in(workdir: Path) -> list[str]:
    document = parse_memories((workdir / "Memories.md").read_bytes().decode())
    assert document.problems() == []
    return [memory.title for memories in document.memories().values() for memory in memories]


def reported_in(workdir: Path) -> set[str]:
    return {title for file in workdir.glob("*.done") for title in file.read_text().splitlines()}


def is_writing(workdir: Path, name: str) -> bool:
    file = done_file(workdir, name)
    return file.exists() and file.stat().st_size > 0


def kill_two_writers(workdir: Path, round_number: int, moments: random.Random) -> None:
    """Two writers began, wrote at once, and were killed, each at a moment of its own."""
    names = [f"{writer}{round_number}" for writer in ("left", "right")]
    writers = [start_writer(workdir, name) for name in names]
    deadline = time.monotonic() + START_TIMEOUT
    while not any(is_writing(workdir, name) for name in names):
        assert time.monotonic() < deadline, "no writer began"
        time.sleep(0.001)
    for writer in writers:
        time.sleep(moments.uniform(0, LONGEST_LIFE))
        writer.kill()
    for writer in writers:
        writer.join()
        writer.close()


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_every_memory_reported_done_is_there_once_after_kills_at_random_instants(tmp_path: Path, kills: int) -> None:
    moments = random.Random(4)
    workdir = tmp_path / "0"
    workdir.mkdir()
    reported = 0
    for round_number in range(kills // 2):
        kill_two_writers(workdir, round_number, moments)
        titles = Counter(titles_in(workdir))
        assert reported_in(workdir) <= set(titles)
        assert [title for title, times in titles.items() if times > 1] == []
        if len(titles) > MOST_MEMORIES:
            reported += len(reported_in(workdir))
            workdir = tmp_path / str(round_number + 1)
            workdir.mkdir()
    assert reported + len(reported_in(workdir)) > kills
