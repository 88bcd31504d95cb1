"""Counts the model calls and billed tokens of a recorded run, episode by episode, from its journal.

    python -m benchmarks.billed_tokens RUN_FOLDER [STORY]

repeats the run without a model, with the story that its manifest names or STORY, and counts the prompts as they are
built again. Tokens are estimated at four characters each. Those that a prompt shares with the one before of its role
are billed at a tenth, as servers with a cache do. A run of another version is counted with the prompts of this one and
the recorded answers; how many differ is printed.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import show
from benchmarks.turn_cost import billed_tokens
from session.events import EpisodeEnded, Event, TurnPlayed
from session.game_configuration import GameConfiguration
from zorkgpt.llm.run_model import RepeatedCall
from zorkgpt.report.pages import repeat


@dataclass
class Billed:
    """What an episode cost; its learning at the end is part of it."""

    turns: int = 0
    points: int | None = None
    calls: int = 0
    tokens: float = 0


def main(folder: Path, story: Path | None = None) -> None:
    """Print a row for each episode."""
    episodes: defaultdict[int, Billed] = defaultdict(Billed)
    before: dict[str, str] = {}
    others = 0

    def hear(call: RepeatedCall) -> None:
        nonlocal others
        text = call.prompt.system + call.prompt.user
        episode = episodes[call.episode]
        episode.calls += 1
        episode.tokens += billed_tokens(text, before.get(call.role, ""))
        before[call.role] = text
        others += not call.is_as_recorded

    def see(event: Event) -> None:
        if isinstance(event, TurnPlayed):
            episodes[event.record.episode].turns += 1
        elif isinstance(event, EpisodeEnded):
            episodes[event.episode].points = event.score

    now = GameConfiguration() if story is None else GameConfiguration(game={"file": story})
    repeat(folder, now, show=see, asked=hear, changed=lambda recorded: recorded)
    rows = [
        {
            "episode": number,
            "points": each.points,
            "turns": each.turns,
            "calls a turn": each.calls / each.turns,
            "billed tokens a turn": each.tokens / each.turns,
        }
        for number, each in sorted(episodes.items())
        if each.turns
    ]
    show(rows, f"Run {folder.name}")
    if others:
        print(f"{others} prompts are not the recorded ones.")


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit(__doc__)
    main(*map(Path, sys.argv[1:]))
