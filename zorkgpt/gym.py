"""A story as a Gymnasium environment: ``pip install 'zorkgpt[gym]'``."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from typing_extensions import override

from zorkgpt import api

_CHARACTERS = frozenset(string.printable + "".join(map(chr, range(0xA1, 0x180))))
_TEXT = spaces.Text(100_000, min_length=0, charset=_CHARACTERS)
_NUMBER = spaces.Box(-(2**31), 2**31 - 1, (), np.int64)

Facts = dict[str, Any]


class TextAdventureEnv(Env[Facts, str]):
    """Plays a story; an action is a command, and the reward is the change of the score.

    An observation contains ``text``, the story's answer, and facts from the machine's memory: ``location`` and
    ``location_id``, the names of things in ``inventory`` and ``visible``, ``score`` and ``moves``. An unknown text is
    empty, an unknown number -1. ``info`` contains ``max_score``, ``ending``, ``died`` and ``refusal``, the reason if
    the command did not reach the story. Raises ``StoryError`` if the file is not a story.

    story: the story file; ``None``: the packaged story
    max_turns: the number of turns after which an episode is truncated
    valid_actions: whether ``info`` lists the commands that would change the world, which slows down each step
    """

    observation_space = spaces.Dict(
        {
            **dict.fromkeys(("text", "location"), _TEXT),
            **dict.fromkeys(("inventory", "visible"), spaces.Sequence(_TEXT)),
            **dict.fromkeys(("location_id", "score", "moves"), _NUMBER),
        }
    )
    action_space = spaces.Text(200, charset=_CHARACTERS)

    def __init__(self, story: Path | str | None = None, *, max_turns: int = 1000, valid_actions: bool = False) -> None:
        self._game = api.open_game(story)
        self._max_turns, self._lists_actions = max_turns, valid_actions
        self._turns = 0

    @override
    def reset(self, *, seed: int | None = None, options: Facts | None = None) -> tuple[Facts, Facts]:
        super().reset(seed=seed, options=options)
        self._turns = 0
        return self._seen(self._game.reset(int(self.np_random.integers(1, 2**31))))

    @override
    def step(self, action: str) -> tuple[Facts, float, bool, bool, Facts]:
        before = self._game.observation.score or 0
        after = self._game.step(action)
        self._turns += 1
        observation, info = self._seen(after)
        is_over = after.ending is not None
        return observation, float((after.score or 0) - before), is_over, self._turns >= self._max_turns, info

    @override
    def close(self) -> None:
        self._game.close()

    def _seen(self, now: api.Observation) -> tuple[Facts, Facts]:
        texts = {"text": now.text, "location": now.location.label if now.location else ""}
        things = {"inventory": now.inventory or (), "visible": now.visible or ()}
        numbers = {"location_id": now.location.num if now.location else None, "score": now.score, "moves": now.moves}
        observation: Facts = {name: _plain(text) for name, text in texts.items()}
        observation |= {name: tuple(_plain(each.name) for each in found) for name, found in things.items()}
        observation |= {name: np.array(-1 if number is None else number) for name, number in numbers.items()}
        info: Facts = {name: getattr(now, name) for name in ("max_score", "ending", "died", "refusal")}
        return observation, info | ({"valid_actions": self._game.valid_actions()} if self._lists_actions else {})


def _plain(text: str) -> str:
    return "".join(character if character in _CHARACTERS else "?" for character in text)
