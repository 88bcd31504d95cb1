"""A story as a Gymnasium environment, with the extra ``gym``."""

from __future__ import annotations

import string
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import Self, override

from game_interface.core.restoring_game import RestoringGame
from session.errors import require_count
from session.processes import install_extra
from zorkgpt import api

try:
    from gymnasium import Env, register, spaces
except ImportError as error:
    raise ImportError(f"gymnasium is not installed: `{install_extra('gym')}` installs it") from error

UNKNOWN = -(2**31)
"""The number in an observation that is unknown. A score can be -1."""

_CHARACTERS = frozenset(string.printable + "".join(map(chr, range(0xA1, 0x180))))
_TEXT = spaces.Text(100_000, min_length=0, charset=_CHARACTERS)
_NUMBER = spaces.Box(UNKNOWN, 2**31 - 1, (), np.int64)

Facts = dict[str, Any]


class TextAdventureEnv(Env[Facts, str]):
    """Plays a story; an action is a command, and the reward is the change of the score.

    An observation contains ``text``, the story's answer, and facts from the machine's memory: ``location`` and
    ``location_id``, the names of things in ``inventory`` and ``visible``, ``score`` and ``moves``. An unknown text or
    list is empty, an unknown number is ``UNKNOWN``. ``info`` contains ``unknown``, the names of what is unknown in the
    observation, ``score`` and ``max_score`` (``None`` if unknown), ``ending``, ``died`` and ``refusal``, the reason if
    the command did not reach the story, also if the interpreter crashed or hung. The reward is 0 while the score is
    unknown; then the change since the last known score follows.
    A copy (``copy.deepcopy``, ``pickle``) continues with a story process of its own. Raises ``StoryError`` if the file
    is not a story.

    story: the story file; ``None``: ``infrastructure/zork.z5`` if it is there, else the packaged story
    max_turns: the number of turns after which an episode is truncated
    valid_actions: whether ``info`` lists the commands that would change the world, which slows down each step
    render_mode: ``ansi``: ``render`` returns the story's latest text
    time_limit: seconds after which the interpreter is stopped and the command is refused
    """

    metadata: Facts = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  as Gymnasium declares it
    observation_space = spaces.Dict(
        {
            **dict.fromkeys(("text", "location"), _TEXT),
            **dict.fromkeys(("inventory", "visible"), spaces.Sequence(_TEXT)),
            **dict.fromkeys(("location_id", "score", "moves"), _NUMBER),
        }
    )
    action_space = spaces.Text(200, charset=_CHARACTERS)

    def __init__(
        self,
        story: Path | str | None = None,
        *,
        max_turns: int = 1000,
        valid_actions: bool = False,
        render_mode: str | None = None,
        time_limit: float = 10.0,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode is {render_mode!r}; expected 'ansi' or None")
        require_count("max_turns", max_turns)
        self.render_mode = render_mode
        self._game = RestoringGame(api.open_game(story, time_limit=time_limit))
        self._max_turns, self._lists_actions = max_turns, valid_actions
        self._turns, self._score = 0, self._game.observation.score

    @override
    def reset(self, *, seed: int | None = None, options: Facts | None = None) -> tuple[Facts, Facts]:
        super().reset(seed=seed, options=options)
        opening = self._game.reset(int(self.np_random.integers(1, 2**31)))
        self._turns, self._score = 0, opening.score
        return self._seen(opening)

    @override
    def step(self, action: str) -> tuple[Facts, float, bool, bool, Facts]:
        if not isinstance(action, str):
            raise TypeError(f"action is {action!r}; expected a command as text")
        after = self._game.step(action)
        self._turns += 1
        reward = 0.0
        if after.score is not None:
            reward = 0.0 if self._score is None else float(after.score - self._score)
            self._score = after.score
        observation, info = self._seen(after)
        return observation, reward, after.ending is not None, self._turns >= self._max_turns, info

    @override
    def render(self) -> str | None:
        return self._game.observation.text if self.render_mode == "ansi" else None

    @override
    def close(self) -> None:
        self._game.close()

    def __copy__(self) -> Self:
        return deepcopy(self)  # a shallow copy would play the same story

    def _seen(self, now: api.Observation) -> tuple[Facts, Facts]:
        texts = {"text": now.text, "location": now.location_label}
        things = {"inventory": now.inventory or (), "visible": now.visible or ()}
        numbers = {"location_id": now.location_id, "score": now.score, "moves": now.moves}
        observation: Facts = {name: _plain(text) for name, text in texts.items()}
        observation |= {name: tuple(_plain(each.name) for each in found) for name, found in things.items()}
        observation |= {name: np.array(UNKNOWN if number is None else number) for name, number in numbers.items()}
        info: Facts = {name: getattr(now, name) for name in ("ending", "died", "refusal")}
        info["unknown"] = tuple(name for name in self.observation_space if getattr(now, name) is None)
        for name in ("score", "max_score"):
            info[name] = None if (number := getattr(now, name)) is None else _Number(number)
        return observation, info | ({"valid_actions": self._game.valid_actions()} if self._lists_actions else {})


class _Number(int):
    """A number that a vector environment keeps among other objects, so that others in its array may be unknown."""


def _plain(text: str) -> str:
    return "".join(character if character in _CHARACTERS else "?" for character in text)


register(id="zorkgpt/Story-v0", entry_point="zorkgpt.gym:TextAdventureEnv")
