"""Where the runs of a work folder are, and what the memories were when each began and ended."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from session.errors import StoreError

RUNS = "runs"
MEMORIES_AT_START = "Memories.start.md"
MEMORIES_AT_END = "Memories.end.md"


def find_run(workdir: Path, run: str) -> Path:
    """The run folder of that id in ``workdir``, or the one that ``run`` is the path of.

    Raises ``StoreError`` naming the ids that come closest.
    """
    for folder in (workdir / RUNS / run, Path(run)):
        if (folder / "manifest.json").is_file():
            return folder
    ids = sorted((manifest.parent.name for manifest in (workdir / RUNS).glob("*/manifest.json")), reverse=True)
    if not ids:
        raise StoreError(f"there is no run {run}: {workdir / RUNS} holds none yet")
    closest = get_close_matches(run, ids, n=3) or ids[:1]
    raise StoreError(f"there is no run {run} in {workdir / RUNS}; there is {', '.join(closest)}")


def keep_copy(file: Path, copy: Path) -> None:
    """``copy`` holds what ``file`` holds, nothing where there is none. Raises ``StoreError``."""
    try:
        copy.write_bytes(file.read_bytes() if file.exists() else b"")
    except OSError as error:
        raise StoreError(f"cannot copy {file} to {copy}: {error.strerror}") from error
