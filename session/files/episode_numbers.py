"""Episode numbers: integers that go up across the runs of one work folder (decision 19)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from session.errors import StoreError
from session.files.atomic_write import write_atomically
from session.files.shared_files import locked, read_shared

if TYPE_CHECKING:
    from pathlib import Path


def take_episode_numbers(workdir: Path, count: int) -> int:
    """The first of the next ``count`` numbers, which no other run of this work folder gets. Raises ``StoreError``."""
    path = workdir / "episodes.json"
    with locked(path):
        last = _last(path)
        write_atomically(path, json.dumps({"last_episode": last + count}).encode() + b"\n")
    return last + 1


def _last(path: Path) -> int:
    content = read_shared(path)
    if content is None:
        return 0
    try:
        last = json.loads(content)["last_episode"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f'{path} holds no episode number; put {{"last_episode": N}} there') from error
    if not isinstance(last, int) or last < 0:
        raise StoreError(f"{path}: last_episode is {last!r}, not a count of episodes")
    return last
