"""Measures how well stories unknown to Jericho can be read, on stories that it knows.

    python -m benchmarks.general_way [STORY ...]

Plays the walkthrough of every story in the folder ZORKGPT_STORIES and of every named one twice, side by side: as
Jericho knows it, and as if it were unknown. A line for each story shows how much of what is read from the unknown
story agrees with Jericho, at how many steps anything is read, and which ending each reads. For a story that Jericho
does not know, played with generic commands, only what is read can be shown. A TextWorld story (``tw-*.z8``) needs the
JSON that ``tw-make`` writes beside it.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from jericho.jericho import UnsupportedGameWarning

from benchmarks.stories import Walkthrough, walkthrough_or
from benchmarks.tables import Row, Value, show
from game_interface.core.jericho_interface import JerichoInterface
from session.errors import StoryError
from session.values import Ending, Observation
from tests.fixtures.walkthrough import begin_walkthrough

CLAIMS = ("location", "score", "moves", "inventory")
_ANY_STORY = ("look", "inventory", "north", "take all", "east", "up", "south", "wait", "west", "down", "out", "in") * 10


@dataclass(frozen=True, slots=True)
class Measurement:
    """How well one walkthrough was read.

    claimed, agreed: steps at which a figure was claimed, and at which it was Jericho's too
    known: whether Jericho knows the story
    ending, jerichos_ending: how it ended, read as an unknown story and as Jericho knows it
    opening, step: seconds to open the story, and for one step, as an unknown one
    """

    name: str
    steps: int
    claimed: Counter[str]
    agreed: Counter[str]
    known: bool
    ending: Ending | None
    jerichos_ending: Ending | None
    opening: float
    step: float

    def agreement(self, claim: str) -> float | None:
        """Return the share of the claims that agreed; ``None`` if nothing was claimed, or Jericho knows nothing."""
        return self.agreed[claim] / self.claimed[claim] if self.claimed[claim] and self.known else None

    def row(self) -> Row:
        """Return the figures by their headings: for each claim how much of it was right and how often it was made."""
        row: dict[str, Value] = {"story": self.name, "steps": self.steps}
        for claim in CLAIMS:
            agreement = self.agreement(claim)
            row[f"{claim} right, %"] = None if agreement is None else 100 * agreement
            row[f"{claim} claimed, %"] = 100 * self.claimed[claim] / self.steps
        ends = {"ends": self.ending or "", "by Jericho": self.jerichos_ending or ""}
        return {**row, **ends, "to open, ms": 1e3 * self.opening, "a step, µs": 1e6 * self.step}


def walkthrough(path: Path) -> Walkthrough:
    """Return the walkthrough of the story file ``path``, or generic commands if it has none."""
    recorded = path.with_suffix(".json")
    if path.name.startswith("tw-") and recorded.exists():
        return Walkthrough(path, 1, json.loads(recorded.read_text())["metadata"]["walkthrough"])
    return walkthrough_or(path, _ANY_STORY)


def measure(path: Path) -> Measurement:
    """Read the story ``path`` along its walkthrough as if it were unknown."""
    play = walkthrough(path)
    claimed, agreed = Counter[str](), Counter[str]()
    start = time.perf_counter()
    with JerichoInterface(path, use_profile=False) as game, JerichoInterface(path) as jericho:
        opening = time.perf_counter() - start
        begin_walkthrough(game, play.seed)
        begin_walkthrough(jericho, play.seed)
        seconds = 0.0
        for command in play.commands:
            start = time.perf_counter()
            seen = game.step(command)
            seconds += time.perf_counter() - start
            truth = jericho.step(command)
            claims = {claim: getattr(seen, claim) for claim in CLAIMS if getattr(seen, claim) is not None}
            claimed.update(claims.keys())
            agreed.update(claim for claim in claims if _value(seen, claim) == _value(truth, claim))
        return Measurement(
            name=path.name,
            steps=len(play.commands),
            claimed=claimed,
            agreed=agreed,
            known=jericho.facts.known,
            ending=seen.ending,
            jerichos_ending=truth.ending,
            opening=opening,
            step=seconds / len(play.commands),
        )


def _value(observation: Observation, claim: str) -> object:
    """Return what ``observation`` claims, objects by their numbers alone."""
    if claim == "location":
        return observation.location and observation.location.num
    if claim == "inventory":
        return observation.inventory and [item.num for item in observation.inventory]
    return getattr(observation, claim)


def stories(arguments: list[str]) -> list[Path]:
    """Return the stories of the folder ZORKGPT_STORIES, then those named."""
    folder = os.environ.get("ZORKGPT_STORIES")
    found = sorted(Path(folder).glob("*.z[1-8]")) if folder else []
    return [*found, *map(Path, arguments)]


def main() -> None:
    """Print the table, then why stories could not be measured."""
    warnings.simplefilter("ignore", UnsupportedGameWarning)
    rows: list[Row] = []
    left_out: list[str] = []
    for path in stories(sys.argv[1:]):
        try:
            rows.append(measure(path).row())
        except StoryError as error:
            left_out.append(str(error))
    show(rows)
    print("\n".join(left_out))


if __name__ == "__main__":
    main()
