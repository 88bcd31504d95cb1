"""A story file is loaded first in a process that may die of it."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from jericho.defines import BINDINGS_DICT

from game_interface.core.private_folder import PrivateFolder
from game_interface.core.process.fork_helper import GameProcess
from session.errors import GameError, StoryError

if TYPE_CHECKING:
    from game_interface.core.machine.story import Story

OPENING_LIMIT = 20.0
"""Seconds in which a story has to open; learning where an unknown one keeps its status is part of that."""

_lock = threading.Lock()
_faults: dict[str, str | None] = {}


def require_loadable(story: Story) -> None:
    """The interpreter does not die of ``story``, or ``StoryError`` says what happened to the process that tried.

    Each file is tried once per process; those that Jericho knows are not tried.
    """
    if story.md5 in BINDINGS_DICT:
        return
    with _lock:
        if story.sha256 not in _faults:
            _faults[story.sha256] = _fault(story)
        fault = _faults[story.sha256]
    if fault:
        raise StoryError(f"{story.path} cannot be played: {fault}")


def _fault(story: Story) -> str | None:
    folder = PrivateFolder()
    child = None
    try:
        child = GameProcess(folder.path)
        answer = child.request(json.dumps([str(story.path.absolute()), 1, True]).encode(), OPENING_LIMIT)
    except GameError as error:
        return str(error)
    finally:
        if child:
            child.kill()
        folder.remove()
    return None if answer.startswith(b"+") else answer[1:].decode()
