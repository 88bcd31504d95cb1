"""Finds out whether a story still takes commands, by trying answers on the machine and putting it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from game_interface.core.commands import keypress
from game_interface.core.endings import offers_a_new_game

if TYPE_CHECKING:
    from game_interface.core.machine.interpreter import Interpreter

_COMMANDS = ("look", "inventory")
"""Two commands that every story answers differently while it is played."""
_ANSWERS = ("yes", "no", "y", "n", "1", "2", "3", "")
_KEYS = ("enter", "space", "q", "n", "y", "1", "2", "3")
_PATIENCE = 12
"""Turns for which a scene may hold the player, taking no command, before it ends by itself."""
_LONG = {"line": 120, "key": 0}
"""Letters of an answer that does no more than turn a command down; a key that is not wanted has no answer at all."""


def is_locked_in(interpreter: Interpreter) -> bool:
    """Return whether nothing that the player could answer now leads back into the story.

    To everything it then says the same, asks again how to begin anew, or stops. The story is left as it was.
    """
    start = interpreter.snapshot()
    try:
        if interpreter.prompt == "line" and _tells_commands_apart(interpreter):
            return False
        for reply in _ANSWERS if interpreter.prompt == "line" else _KEYS:
            interpreter.restore(start)
            if _leads_on(interpreter, reply):
                return False
        interpreter.restore(start)
        for _ in range(_PATIENCE):
            _answer(interpreter, "wait")
        return interpreter.prompt == "key" or not _tells_commands_apart(interpreter)
    finally:
        interpreter.restore(start)


def _tells_commands_apart(interpreter: Interpreter) -> bool:
    """Return whether the story, which waits for a line, answers different commands differently."""
    start, answers = interpreter.snapshot(), set()
    for command in _COMMANDS:
        answers.add(_answer(interpreter, command))
        if interpreter.stop:
            return False
        interpreter.restore(start)
    return len(answers) > 1 and not all(map(offers_a_new_game, answers))


def _leads_on(interpreter: Interpreter, reply: str) -> bool:
    """Return whether ``reply`` leads to where commands are understood, or to a text that does not offer a new game."""
    text = _answer(interpreter, reply)
    if interpreter.stop:
        return False
    if interpreter.prompt == "line" and _tells_commands_apart(interpreter):
        return True
    return len(text) > _LONG[interpreter.prompt] and not offers_a_new_game(text)


def _answer(interpreter: Interpreter, reply: str) -> str:
    """Return what the story says to ``reply``, without the reply's own word."""
    line = keypress(reply) if interpreter.prompt == "key" else reply.encode("ascii")
    text = interpreter.send(line)
    return text.replace(reply, "") if reply else text
