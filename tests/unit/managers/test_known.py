"""What is known is one value, whose items have keys, and sections of prompts list the keys that they show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from managers.context_manager import ContextManager
from managers.known import Known, merged
from managers.objectives import Objective
from managers.simple_memory_manager import SimpleMemoryManager
from session.context import Place, PromptSection
from session.game_configuration import GameConfiguration, PromptBudgetOptions, SimpleMemoryOptions
from session.game_state import GameState
from session.knowledge import KnowledgeEntry, KnowledgeLine, Source
from session.memory import Memory
from session.route import Goal, Route, RouteStep, Waypoint
from session.values import Location, Observation

VATS = Observation("Steam.", Location(31, "Blue Vats"))
STEAM = Memory("DANGER", "Steam burns", 1, "12-14", -2, "Wear the gloves.", "permanent")
BLUE = KnowledgeEntry("PUZZLE SOLUTIONS", KnowledgeLine("Mordant comes first.", (Source(1, 3, 3), Source(2, 4, 6))))
WAY = Route(3, Goal("room", 44, "Drying Loft"), Waypoint(), (RouteStep("up", Waypoint()),), 2)


def test_items_say_what_they_are_where_they_hold_and_where_they_come_from() -> None:
    known = Known({31: [STEAM]}, knowledge=(BLUE,), routes=(WAY,)).items()
    told = [(item.kind, item.title, item.text, item.place, item.tags, item.by) for item in known.values()]
    assert told == [
        ("memory", "Steam burns", "Wear the gloves.", 31, ("DANGER", "permanent", "active"), "episode 1, turns 12-14"),
        ("knowledge", "PUZZLE SOLUTIONS", "Mordant comes first.", None, (), "episode 1, turn 3; episode 2, turns 4-6"),
        ("route", "Route 3: to Drying Loft", "up", None, (), "episode 2; worked in 1 of 1 episode"),
    ]


def test_a_line_that_many_episodes_confirmed_names_the_first_and_the_last_and_counts_the_others() -> None:
    line = KnowledgeLine("Mordant comes first.", tuple(Source(episode, 3, 4) for episode in range(1, 501)))
    (item,) = Known(knowledge=(KnowledgeEntry("PUZZLE SOLUTIONS", line),)).items().values()
    named = item.by.split("; ")
    assert (named[0], named[6], named[-1]) == (
        "episode 1, turns 3-4",
        "488 more, which the file names",
        "episode 500, turns 3-4",
    )
    assert len(named) == 13
    assert item.sources == line.sources


def test_memories_of_the_same_title_have_keys_of_their_own() -> None:
    assert len(Known({31: [STEAM, STEAM], 44: [STEAM]}, {31: [STEAM]}).items()) == 4


def test_an_item_has_its_status_and_whether_it_outlives_the_episode_as_values() -> None:
    given_up = replace(STEAM, status="SUPERSEDED")
    known = Known(
        {31: [given_up]}, {31: [replace(STEAM, persistence="ephemeral")]}, objectives=(Objective(1, "Dye", 3),)
    )
    found = [(item.kind, item.status, item.is_lasting) for item in known.items().values()]
    assert found == [("memory", "superseded", True), ("memory", "active", False), ("objective", "active", False)]


def test_what_several_managers_know_of_a_location_is_merged() -> None:
    one = Known({31: [STEAM]}, objectives=(Objective(1, "Dye the banner", 3),), episode=2)
    known = merged([one, Known(), Known({31: [STEAM], 44: [STEAM]})])
    assert list(known.items()) == ["m:31:steam burns:1", "m:31:steam burns:2", "m:44:steam burns:1", "o:2:1"]
    assert known.present(44) == {"objective": ("Dye the banner",), "memory": ("[permanent] Steam burns",), "route": ()}


class OtherFormat(SimpleMemoryManager):
    """Shows memories in another format."""

    def section(self, observation: Observation) -> PromptSection | None:
        section = super().section(observation)
        return section and replace(section, text=section.text.upper().replace(":", " --"))


@pytest.mark.parametrize("kind", [SimpleMemoryManager, OtherFormat])
@pytest.mark.parametrize("longest", [500, 40], ids=["whole lines", "lines that are cut"])
def test_a_section_lists_what_it_shows_in_whatever_format(
    tmp_path: Path, kind: type[SimpleMemoryManager], longest: int
) -> None:
    options = SimpleMemoryOptions(max_tokens=longest)
    config = GameConfiguration(zork_game_workdir=tmp_path, simple_memory=options)
    manager = kind(structlog.get_logger(), config, GameState())
    other = replace(STEAM, title="Steam burns " * 20, category="NOTE")
    gone = replace(STEAM, title="Steam is safe", status="SUPERSEDED", superseded_by=STEAM.title)
    for memory in (gone, other):
        manager.add_memory(31, "Blue Vats", memory)
    section = manager.section(VATS)
    assert section is not None
    (key,) = section.shows
    assert manager.known().items()[key].title == other.title.strip()


def fitted(budget: int, *sections: PromptSection) -> tuple[str, ...]:
    """The keys of what the agent's context shows within so many tokens."""
    config = GameConfiguration(prompt_budgets=PromptBudgetOptions(agent=budget))
    context = ContextManager(structlog.get_logger(), config, GameState())
    return context.get_agent_context(VATS, sections).shows


def test_a_prompt_shows_what_is_left_when_it_fits() -> None:
    one, two = (PromptSection("Seen", "Steam.", 3, Place.HERE, (key,)) for key in ("m:31:a:1", "m:31:b:1"))
    long, kept = PromptSection("Long", "Fog. " * 2000, 9, shows=("k:x:y",)), PromptSection("Held", "Fog. " * 2000)
    assert fitted(4000, one, two) == ("m:31:a:1", "m:31:b:1")
    assert fitted(1000, one, long) == ("m:31:a:1",)
    assert fitted(100, replace(kept, shows=("r:1",))) == ()
