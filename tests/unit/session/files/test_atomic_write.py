from __future__ import annotations

import random
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from session.errors import StoreError
from session.files.atomic_write import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 300_000
KILLS = 12

WRITE_FOREVER = f"""
import sys
from itertools import cycle
from session.files.atomic_write import write_atomically
print("ready", flush=True)
for letter in cycle(b"abcdefgh"):
    write_atomically(sys.argv[1], bytes([letter]) * {SIZE})
"""


def test_the_file_is_created_and_replaced_with_nothing_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]


def test_a_kill_at_any_instant_leaves_one_whole_version(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"z" * SIZE)
    delays = random.Random(7)
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", WRITE_FOREVER, path], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            with pytest.raises(subprocess.TimeoutExpired):
                writer.wait(delays.uniform(0, 0.03))
            writer.send_signal(signal.SIGKILL)
        content = path.read_bytes()
        assert len(content) == SIZE
        assert len(set(content)) == 1


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "real.json"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link = tmp_path / "state.json"
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_file_that_cannot_be_written_is_a_store_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "no such folder" / "state.json"
    with pytest.raises(StoreError, match=r"state\.json cannot be written: No such file"):
        write_atomically(path, b"new")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    """A folder in the file's place: everything works but the last step."""
    path = tmp_path / "state.json"
    (path / "full").mkdir(parents=True)
    with pytest.raises(StoreError):
        write_atomically(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]
