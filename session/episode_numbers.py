"""Episode numbers: integers that go up across the runs of one work folder (decision 19)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from filelock import FileLock

from session.atomic_write import write_atomically
from session.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path


def take_episode_number(workdir: Path) -> int:
    """The next number, which no other run of this work folder gets. Raises ``StoreError``."""
    path = workdir / "episodes.json"
    try:
        workdir.mkdir(parents=True, exist_ok=True)
        with FileLock(workdir / "episodes.json.lock"):
            number = _last(path) + 1
            write_atomically(path, json.dumps({"last_episode": number}).encode() + b"\n")
    except OSError as error:
        raise StoreError(f"cannot count episodes in {path}: {error.strerror}") from error
    return number


def _last(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        last = json.loads(path.read_bytes())["last_episode"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f'{path} holds no episode number; put {{"last_episode": N}} there') from error
    if not isinstance(last, int) or last < 0:
        raise StoreError(f"{path}: last_episode is {last!r}, not a count of episodes")
    return last
