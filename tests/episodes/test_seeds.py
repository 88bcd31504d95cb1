"""The seed of a run decides what the embedded model plays."""

from __future__ import annotations

from pathlib import Path
from threading import Event as Flag

import pytest

from orchestration.opening import open_parts
from orchestration.run import open_run
from session.events import Event, TurnPlayed
from session.resolved_configuration import load_configuration
from zorkgpt.llm.embedded.model_store import ModelStore


def played(seed: int, folder: Path) -> list[str]:
    """The commands of a short run with that seed."""
    overrides = {"game.seed": seed, "zork_game_workdir": folder / "work", "max_turns_per_episode": 8}
    configuration = load_configuration(overrides | {"llm.engine": "embedded"}, {}, folder).configuration
    commands: list[str] = []

    def show(event: Event) -> None:
        if isinstance(event, TurnPlayed):
            commands.append(event.record.action)

    with open_parts(configuration) as parts, open_run(configuration, parts, episodes=1, show=show, stop=Flag()) as run:
        run.play()
    return commands


@pytest.mark.slow
@pytest.mark.embedded
def test_the_embedded_model_plays_the_same_with_the_same_seed_and_differently_with_another(tmp_path: Path) -> None:
    if not ModelStore().is_pulled:
        pytest.skip("the embedded model is not there: zorkgpt model pull")
    runs = []
    for number, seed in enumerate((1, 1, 2)):
        (tmp_path / str(number)).mkdir()
        runs.append(played(seed, tmp_path / str(number)))
    assert runs[0] == runs[1] != runs[2]
