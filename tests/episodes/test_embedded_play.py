"""The embedded model learns from one episode to the next, and the seed of a run decides what it plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event as Flag

import pytest

from managers.memory.document import parse_memories
from orchestration.parts import open_parts
from orchestration.run import open_run
from session.events import EpisodeEnded, EpisodeStarted, Event, TurnPlayed
from session.memory import Memory
from session.resolved_configuration import load_configuration
from zorkgpt.llm.embedded.model_store import ModelStore
from zorkgpt.llm.language_model import Answer, Completion, LanguageModel, Prompt, Role

EPISODES, TURNS = 2, 16


@dataclass
class Overheard:
    """A real model that records the agent's prompts by episode."""

    inner: LanguageModel
    prompts: list[list[str]] = field(default_factory=list)

    def complete(self, role: Role, prompt: Prompt, schema: type[Answer]) -> Completion[Answer]:
        if role == "agent":
            self.prompts[-1].append(prompt.user)
        return self.inner.complete(role, prompt, schema)


@pytest.mark.slow
@pytest.mark.embedded
def test_two_episodes_write_a_memory_and_the_second_is_shown_it_at_its_location(tmp_path: Path) -> None:
    if not ModelStore().is_pulled:
        pytest.skip("the embedded model is not there: zorkgpt model pull")
    overrides = {"zork_game_workdir": tmp_path / "work", "max_turns_per_episode": TURNS, "llm.engine": "embedded"}
    overrides["routes.enabled"] = False  # a route would lead the second episode away from where the first one played
    configuration = load_configuration(overrides, {}, tmp_path).configuration
    after_first: dict[int, list[Memory]] = {}
    visited: set[int] = set()
    stop = Flag()

    with open_parts(configuration) as parts:
        assert parts.model is not None
        model = Overheard(parts.model.model)
        file = configuration.zork_game_workdir / configuration.simple_memory.memory_file

        def watch(event: Event) -> None:
            if isinstance(event, EpisodeStarted):
                model.prompts.append([])
            elif isinstance(event, EpisodeEnded) and event.episode == 1 and file.exists():
                for num, memories in parse_memories(file.read_text(encoding="utf-8")).memories().items():
                    # the text on arrival is not repeated in a prompt that has the room's description
                    if learned := [memory for memory in memories if not memory.is_arrival]:
                        after_first[num] = learned
            elif isinstance(event, TurnPlayed) and event.record.episode == EPISODES and not event.record.is_of_route:
                visited.update([event.record.before.location.num] if event.record.before.location else [])
                if visited & after_first.keys():
                    stop.set()

        overheard = replace(parts, model=replace(parts.model, model=model))
        with open_run(configuration, overheard, episodes=EPISODES, show=watch, stop=stop) as run:
            assert run.play() != "paused"

    assert sum(map(len, after_first.values())) >= 1
    seen_again = [memory for num in visited for memory in after_first.get(num, ())]
    assert seen_again
    assert all(any(memory.title in prompt for prompt in model.prompts[1]) for memory in seen_again[:1])


def played(seed: int, folder: Path, unlike: Sequence[str] = ()) -> list[str]:
    """The commands of a short run with that seed, up to the first that is another than in ``unlike``."""
    overrides = {"game.seed": seed, "zork_game_workdir": folder / "work", "max_turns_per_episode": 5}
    configuration = load_configuration(overrides | {"llm.engine": "embedded"}, {}, folder).configuration
    commands: list[str] = []
    stop = Flag()

    def show(event: Event) -> None:
        if isinstance(event, TurnPlayed):
            commands.append(event.record.action)
            if unlike and commands != unlike[: len(commands)]:
                stop.set()

    with open_parts(configuration) as parts, open_run(configuration, parts, episodes=1, show=show, stop=stop) as run:
        run.play()
    return commands


@pytest.mark.slow
@pytest.mark.embedded
def test_the_embedded_model_plays_the_same_with_the_same_seed_and_differently_with_another(tmp_path: Path) -> None:
    if not ModelStore().is_pulled:
        pytest.skip("the embedded model is not there: zorkgpt model pull")
    folders = [tmp_path / name for name in ("first", "again", "other")]
    for folder in folders:
        folder.mkdir()
    first, again = (played(1, folder) for folder in folders[:2])
    assert first == again
    other = played(2, folders[2], unlike=first)
    assert other != first[: len(other)]
