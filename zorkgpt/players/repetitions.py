"""What was typed before in the very same state of the world, and what came of it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from session.values import Observation, TurnRecord

LONGEST_OUTCOME = 200
"""Characters of an outcome that are shown."""
MOST_SHOWN = 8


class _State(NamedTuple):
    """A state of the world that one can come back to."""

    world_hash: str
    location_id: int | None


class Repetitions:
    """The commands of one episode by the state they were typed in, as long as the outcome was the same each time."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A new episode begins; nothing was typed."""
        self._outcomes: defaultdict[_State, dict[str, list[str]]] = defaultdict(dict)

    def learn(self, turn: TurnRecord) -> None:
        """The turn's command and its outcome are known, unless it was a move, or never reached the story.

        A way that leads on may be walked as often as it is needed.
        """
        state = _state(turn.before)
        if state is not None and turn.after.refusal is None and not turn.moved:
            self._outcomes[state].setdefault(_plain(turn.action), []).append(turn.after.text.strip())

    def of(self, observation: Observation, command: str) -> str:
        """What there is to tell of an earlier ``command`` in this state, in a sentence; "" where there is nothing.

        Nothing is told where the outcomes differ: then there is chance in it, and trying again may help.
        """
        outcomes = self._in_state(observation).get(_plain(command), [])
        return _sentence(_plain(command), outcomes) if len(set(outcomes)) == 1 else ""

    def text(self, observation: Observation) -> str:
        """The same for every command, the latest last, for the agent; "" where there is nothing to tell."""
        told = (self.of(observation, command) for command in self._in_state(observation))
        return "\n".join([sentence for sentence in told if sentence][-MOST_SHOWN:])

    def _in_state(self, observation: Observation) -> dict[str, list[str]]:
        state = _state(observation)
        return self._outcomes.get(state, {}) if state else {}


def _state(observation: Observation) -> _State | None:
    if not observation.world_hash:
        return None
    return _State(observation.world_hash, observation.location.num if observation.location else None)


def _plain(command: str) -> str:
    return " ".join(command.lower().split()).strip(" .!")


def _sentence(command: str, outcomes: list[str]) -> str:
    outcome = " ".join(outcomes[0].split())
    if len(outcome) > LONGEST_OUTCOME:
        outcome = f"{outcome[:LONGEST_OUTCOME]}..."
    times = "once" if len(outcomes) == 1 else f"{len(outcomes)} times"
    answer = "the answer was" if len(outcomes) == 1 else "each time the answer was"
    return f"You have typed `{command}` here {times} in this very state; {answer}: {outcome}"
