"""Loads an unknown story file in a child process first, because a bad one can crash the process."""

from __future__ import annotations

import threading

from jericho.defines import BINDINGS_DICT

from game_interface.core.machine.interpreter import private_folder
from game_interface.core.machine.story import Story
from game_interface.core.process.fork_helper import GameProcess
from game_interface.core.process.served_game import opening_request
from session.errors import GameError, StoryError

OPENING_LIMIT = 20.0
"""Seconds within which a story must open, including the search for the status of an unknown story."""

_lock = threading.Lock()
_faults: dict[str, str | None] = {}


def require_loadable(story: Story) -> None:
    """Raise ``StoryError`` with the reason if the interpreter cannot open ``story`` in a child process.

    Each file is tried once per process; files that Jericho knows are not tried.
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
    with private_folder() as folder:
        try:
            process = GameProcess(folder)
            answer = process.request(opening_request(story.path.absolute(), 1, use_profile=True), OPENING_LIMIT)
        except GameError as error:
            return str(error)
        process.kill()
    return None if answer.startswith(b"+") else answer[1:].decode()
