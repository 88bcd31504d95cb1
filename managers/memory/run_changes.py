"""Distinguishes what a run has changed in its memories from what people and other runs have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from managers.memory.document import MemoriesDocument, MemoryChange, open_memories
from session.errors import StoreError
from session.files.journal import read_lines, read_manifest
from session.files.run_folders import MEMORIES_AT_START


def changes_of(run: Path, memory_file: Path, name: str) -> tuple[list[MemoryChange], list[MemoryChange]]:
    """Return the changes of memories since the run of that folder began: its own, and those of others.

    memory_file: the memories after the run
    name: of the memory file in the work folder, as the journal has it

    If others edited the file, the marks of a memory decide: a run notes its episode with each memory that it adds, and
    the turn with each that it gives up. Raises ``StoreError``.
    """
    after = open_memories(memory_file).document
    changes = after.changes_since(open_memories(run / MEMORIES_AT_START).document)
    if not _was_edited(run, name, after):
        return changes, []
    manifest = read_manifest(run)
    episodes = range(manifest.first_episode, manifest.first_episode + len(manifest.seeds))
    own = [change for change in changes if _is_own(change, episodes)]
    return own, [change for change in changes if change not in own]


def _is_own(change: MemoryChange, episodes: Sequence[int]) -> bool:
    if change.kind == "added":
        return change.memory.episode in episodes
    return change.kind in {"superseded", "invalidated"} and change.memory.superseded_at_turn is not None


def _was_edited(run: Path, name: str, after: MemoriesDocument) -> bool:
    """Return whether others edited the memories while the run was played, or since its last write."""

    def read(line: bytes, _place: str) -> tuple[str, str]:
        event = json.loads(line)["event"] if b'"file_edited"' in line or b'"file_written"' in line else {}
        return (event["kind"], event.get("after", "")) if event.get("file") == name else ("", "")

    found: list[tuple[str, str]] = []
    with suppress(StoreError):  # a damaged journal shows what it can
        found.extend(filter(any, read_lines(run, read)))
    if not found:
        return False
    kinds = {kind for kind, _ in found}
    return "file_edited" in kinds or found[-1][1] != sha256(after.render().encode()).hexdigest()
