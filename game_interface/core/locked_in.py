"""Determines whether a story still accepts commands, by trying answers and restoring the machine."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection

from game_interface.core.commands import keypress
from game_interface.core.endings import offers_a_new_game
from game_interface.core.machine.interpreter import Interpreter
from game_interface.core.story_text import told_text

_COMMANDS = ("look", "inventory")
"""Two commands that every story answers differently during play."""
_ANSWERS = ("yes", "no", "y", "n", "1", "2", "3", "")
_KEYS = ("enter", "space", "q", "n", "y", "1", "2", "3")
_ECHO = re.compile(r"\b(?:look|inventory|wait|yes|no|y|n)\b", re.IGNORECASE)
"""Words of the tried answers that a story may echo."""
_PATIENCE = 12
"""Turns for which a scene may ignore commands before it ends by itself."""
_MOST_ANSWERS = 12
"""Distinct texts after which the search stops: a story that prints so many is still running."""
_LONG = {"line": 120, "key": 0}
"""Longest answer, in characters, that only rejects input, by kind of prompt; a rejected key has no answer."""


def reads_commands(interpreter: Interpreter) -> bool:
    """Return whether the story, which waits for a line, gives different answers to different commands."""
    start, answers = interpreter.snapshot(), set()
    try:
        for command in _COMMANDS:
            interpreter.restore(start)
            answers.add(_answer(interpreter, command))
            if interpreter.stop:
                return False
        return len(answers) > 1 and not all(map(offers_a_new_game, answers))
    finally:
        interpreter.restore(start)


def is_locked_in(interpreter: Interpreter, command_places: Collection[int]) -> bool:
    """Return whether no possible answer leads back into the story. The interpreter is restored afterwards.

    If an answer leads to another question, answers to that question are tried too.

    command_places: the known values of ``Interpreter.prompt_place`` at which the story reads commands. Reaching one of
        them from a question counts as back in the story, even if the next turn is deadly.
    """
    start, asked = interpreter.snapshot(), interpreter.prompt_place not in command_places
    states, seen = deque([start]), set[str]()

    def is_back() -> bool:
        if interpreter.stop or interpreter.prompt == "key":
            return False
        return (interpreter.prompt_place in command_places) is asked or reads_commands(interpreter)

    try:
        if interpreter.prompt == "line" and reads_commands(interpreter):
            return False
        while states:
            state = states.popleft()
            interpreter.restore(state)
            for reply in (*_COMMANDS, *_ANSWERS) if interpreter.prompt == "line" else _KEYS:
                interpreter.restore(state)
                text = _answer(interpreter, reply)
                if interpreter.stop or text in seen:
                    continue
                if is_back() or (len(text) > _LONG[interpreter.prompt] and not offers_a_new_game(text)):
                    return False
                seen.add(text)
                if len(seen) > _MOST_ANSWERS:
                    return False
                states.append(interpreter.snapshot())
        interpreter.restore(start)
        for _ in range(_PATIENCE):
            _answer(interpreter, "wait")
        return not is_back()
    finally:
        interpreter.restore(start)


def _answer(interpreter: Interpreter, reply: str) -> str:
    """Return what the story prints after ``reply``, without echoes of the tried answers."""
    line = keypress(reply) if interpreter.prompt == "key" else reply.encode("ascii")
    return _ECHO.sub("", told_text(interpreter.send(line), interpreter.version))
