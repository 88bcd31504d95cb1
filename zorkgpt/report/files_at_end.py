"""What the files of a run hold at its end; of a run without an end, what they hold now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from managers.knowledge.document import parse_knowledge
from managers.route_manager import ROUTES_FILE
from managers.routes.document import parse_routes
from session.errors import StoreError
from session.files.run_folders import AT_END
from session.files.shared_files import read_shared
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.report.learnt import Known, known_knowledge, known_memories, known_routes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from zorkgpt.report.played_run import PlayedRun

_KNOWLEDGE, _MAP = "knowledgebase.md", "map_state.json"


class AtEnd(NamedTuple):
    """What is known, and the map; ``None`` where there is none."""

    known: Known
    map: MapGraph | None


NOTHING_LEFT = AtEnd({}, None)


def read_end(folder: Path, run: PlayedRun, note: Callable[[str], None]) -> AtEnd:
    """Read what the run in that folder left behind; ``note`` is told of what cannot be read."""
    options = run.manifest.configuration
    known = known_memories(run.memories or {})
    for name, copy, read in (
        (options.get("knowledge_file", _KNOWLEDGE), _KNOWLEDGE, _knowledge),
        (ROUTES_FILE, ROUTES_FILE, _routes),
    ):
        path = _path(folder, str(name), copy)
        try:
            known |= read((read_shared(path) or b"").decode("utf-8", "replace"), path)
        except StoreError as error:
            note(str(error))
    return AtEnd(known, _map(_path(folder, str(options.get("map_state_file", _MAP)), _MAP), note))


def _path(folder: Path, name: str, copy: str) -> Path:
    """Return the copy of the file ``name`` from the end of the run, or where there are none, the file itself."""
    at_end = folder / AT_END
    return at_end / copy if at_end.is_dir() else folder.parent.parent / name


def _knowledge(text: str, _path: Path) -> Known:
    return known_knowledge(parse_knowledge(text).entries())


def _routes(text: str, path: Path) -> Known:
    return known_routes(parse_routes(text, path).routes)


def _map(path: Path, note: Callable[[str], None]) -> MapGraph | None:
    """Read a map; of one that was not there a run keeps an empty copy."""
    try:
        return MapGraph.read(path, note) if read_shared(path) else None
    except StoreError as error:
        note(str(error))
        return None
