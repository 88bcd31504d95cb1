"""What the model is shown when it is asked about objectives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from managers.objective_manager import NO_KNOWLEDGE, ObjectiveManager
from managers.prompting import LEFT_OUT
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import Memory
from session.objective import Objective
from session.token_counter import TokenCounter
from session.values import Location, Observation
from tests.fixtures.dye_works import BANNER, GATE, LOFT, MORDANT, VATS
from tests.golden.golden_file import assert_golden
from tests.unit.managers.objective_parts import LentModel, Memories, ObjectivePlay, found
from zorkgpt.llm.language_model import TokenUsage
from zorkgpt.llm.scripted import ScriptedLLM

if TYPE_CHECKING:
    from pathlib import Path

    from zorkgpt.llm.language_model import Prompt

KNOWLEDGE = "# Dye works\nThe fumes kill within two turns; wear the smoke hood. $5 buys one."
SYNTAX = (
    "Changed something: dip OBJECT in OBJECT; take OBJECT; unbar OBJECT with OBJECT\n"
    "Only these answers so far: climb OBJECT (The … has no rungs.)"
)


def memory(title: str = "Fixing the blue", **others: object) -> Memory:
    fields = {"category": "SUCCESS", "episode": 1, "turns": "3-5", "score_change": 5, "persistence": "permanent"}
    return Memory(title=title, text="Add the mordant,\nthen dip the banner.", **{**fields, **others})  # type: ignore[arg-type]  # fields by name


def test_where_memories_are_shuffled_so_they_are_here(tmp_path: Path) -> None:
    known = {GATE.num: [memory("Of the gate")], VATS.num: [memory("Of the vats")]}
    for whose, shown in ((GATE.num, "Of the gate"), (VATS.num, "Of the vats"), (None, "")):
        play = ObjectivePlay(tmp_path, memories=Memories(known, shuffled={GATE.num: whose}))
        text = play.manager._get_memories_with_adjacent(GATE.num)
        assert [title for title in ("Of the gate", "Of the vats") if title in text] == ([shown] if shown else [])


def bare_manager(workdir: Path) -> ObjectiveManager:
    """Without map and without memories."""
    config = GameConfiguration(zork_game_workdir=workdir)
    play = ObjectivePlay(workdir)
    return ObjectiveManager(play.manager.logger, config, GameState(), LentModel(ScriptedLLM(), workdir))


def afternoon(workdir: Path, **options: object) -> ObjectivePlay:
    """Twenty-one turns at the dye works, with knowledge, memories and a map; asked at turns 1, 11 and 21."""
    (workdir / "knowledgebase.md").write_text(KNOWLEDGE)
    gone = memory("The loft is locked", category="DANGER").superseded("The loft is open", 4)
    memories = Memories({VATS.num: [gone, memory()]}, {LOFT.num: [memory("Key on the beam", persistence="ephemeral")]})
    replies = [
        found("Rest a while", "Dip the banner"),
        {"completed": [{"id": 2, "turn": 9}], "dropped": [{"id": 1, "reason": "pointless"}]},
        {},
    ]
    play = ObjectivePlay(workdir, replies, memories=memories, **{"objective_update_interval": 10, **options})
    play.manager.syntax = lambda: SYNTAX
    play.turn("take banner", "Taken.", inventory=(BANNER,))
    play.turn("east", "Vats steam here.\n\nA ladder leads up.", location=VATS)
    play.map.note_exits(VATS, ["up", "south"])
    play.wait_until(7)
    play.turn("dip banner", "The banner turns blue!", score=5)
    play.turn("up", "It is dusty here.", location=LOFT)
    play.map.note_exits(LOFT, ["southwest"])
    for score in range(6, 11):
        play.turn("sort yarn", "A skein is sorted.", score=score)
    play.manager.process_periodic_update()
    play.turn("jump", "You land among the vats, dead for a moment.", location=VATS, died=True, inventory=(MORDANT,))
    for score in range(11, 15):
        play.turn("sort yarn", "A skein is sorted.", score=score)
    play.wait_until(21)
    return play


def last_prompt(play: ObjectivePlay) -> Prompt:
    return play.llm.calls[-1].prompt


def test_the_whole_prompt(tmp_path: Path) -> None:
    prompt = last_prompt(afternoon(tmp_path))
    assert_golden("objectives_prompt.txt", f"{prompt.system}\n\n--- user ---\n\n{prompt.user}")


def test_without_the_enhancement_only_recent_play_is_shown(tmp_path: Path) -> None:
    whole = last_prompt(afternoon(tmp_path)).user
    (tmp_path / "map_state.json").unlink()
    options = {"enable_enhanced_objectives": False, "objective_update_interval": 7}
    recent = last_prompt(afternoon(tmp_path, **options)).user
    assert recent.startswith("=== OBJECTIVES SO FAR ===")
    assert whole.endswith(recent[recent.index("=== FACTS ===") :])


def test_where_no_form_is_known_it_is_said(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{}])
    play.wait_until(20)
    assert "=== COMMAND SYNTAX ===\n(none)\n" in last_prompt(play).user


def test_recent_play_is_the_last_twenty_turns(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{}], objective_update_interval=30)
    play.wait_until(30)
    user = last_prompt(play).user
    assert "Turn 11: wait\n  Why: because of wait\n  Response: Time passes." in user
    assert "Turn 10: wait" not in user


def test_facts_ended_objectives_and_untried_exits_are_shown_up_to_a_limit(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{}], objective_update_interval=71)
    for turn in range(1, 71):
        play.turn(score=turn)
    rooms = [Location(100 + number, "") for number in range(20)]
    for room in rooms:
        play.map.game_map.add_connection(GATE.num, f"door {room.num}", room.num)
        play.map.note_exits(room, ["up"])
    ended = [Objective(number, "Wring", 1, status="dropped") for number in range(20)]
    play.manager.restore(replace(play.manager.state(), objectives=tuple(ended)))
    play.state.turn_count = 71
    play.manager.process_periodic_update()
    user = last_prompt(play).user
    assert [user.count(sign) for sign in ("score +1", "Wring", "untried up")] == [60, 10, 10]
    assert "now 70" in user


def test_the_servers_count_of_tokens_is_learnt_from(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    tokens = TokenCounter()
    model = ScriptedLLM([{}], usage=TokenUsage(prompt=100_000))
    manager = ObjectiveManager(
        play.manager.logger, play.config, GameState(turn_count=20), LentModel(model, tmp_path), tokens=tokens
    )
    manager.process_periodic_update()
    assert tokens.tokens_per_character > TokenCounter().tokens_per_character


def test_knowledge_is_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text(KNOWLEDGE)
    assert bare_manager(tmp_path)._get_full_knowledge() == KNOWLEDGE


def test_without_a_file_or_in_an_empty_one_there_is_no_knowledge(tmp_path: Path) -> None:
    assert bare_manager(tmp_path)._get_full_knowledge() == NO_KNOWLEDGE
    (tmp_path / "knowledgebase.md").write_text(" \n")
    assert bare_manager(tmp_path)._get_full_knowledge() == NO_KNOWLEDGE


def test_next_door_is_where_a_passage_leads_or_comes_from(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.map.game_map.add_connection(GATE.num, "east", VATS.num)
    play.map.game_map.add_connection(LOFT.num, "jump", GATE.num)
    assert play.manager._get_adjacent_room_ids(GATE.num) == [VATS.num, LOFT.num]
    assert play.manager._get_adjacent_room_ids(LOFT.num) == [GATE.num]
    assert play.manager._get_adjacent_room_ids(LOFT.num, max_depth=2) == [GATE.num, VATS.num]
    assert bare_manager(tmp_path)._get_adjacent_room_ids(GATE.num) == []


def test_memories_of_this_location_come_first(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, memories=Memories({GATE.num: [memory()]}))
    assert play.manager._get_memories_with_adjacent(GATE.num) == (
        "## Memories for Current Location 11 (Dye Works Gate):\n"
        "  - [SUCCESS] Fixing the blue\n    Add the mordant, then dip the banner."
    )


def test_memories_of_at_most_five_locations_next_door_three_each(tmp_path: Path) -> None:
    doors = range(100, 107)
    play = ObjectivePlay(tmp_path, memories=Memories({door: [memory(f"M{n}") for n in range(4)] for door in doors}))
    play.map.game_map.add_connection(GATE.num, "down", 99)
    for door in doors:
        play.map.game_map.add_connection(GATE.num, f"door {door}", door)
    text = play.manager._get_memories_with_adjacent(GATE.num)
    assert text.startswith(
        "\n## Memories for Adjacent Locations:\n\n**Location 100 (Location #100):**\n  - [SUCCESS] M0"
    )
    assert text.count("**Location") == 5
    assert text.count("[SUCCESS]") == 15


def test_where_nothing_is_remembered_it_is_said(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, memories=Memories())
    play.map.game_map.add_connection(GATE.num, "east", VATS.num)
    nothing = "No memories available for current or adjacent locations"
    assert play.manager._get_memories_with_adjacent(GATE.num) == nothing
    assert play.manager._get_memories_with_adjacent(None) == nothing
    assert bare_manager(tmp_path)._get_memories_with_adjacent(GATE.num) == "No memory data available"


def test_a_status_is_shown_unless_it_is_active(tmp_path: Path) -> None:
    manager = bare_manager(tmp_path)
    text = manager._format_memories([memory("Sure"), memory("Perhaps", status="TENTATIVE")])
    assert text.splitlines()[::2] == ["  - [SUCCESS] Sure", "  - [SUCCESS] Perhaps [TENTATIVE]"]
    assert manager._format_memories([]) == "  (No memories)"
    assert manager._format_memories([memory(f"M{n}") for n in range(9)]).count("[SUCCESS]") == 5


def test_the_map_has_diagram_routes_untried_exits_and_figures(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.turn("east", location=VATS)
    play.turn("west", location=GATE)
    play.map.note_exits(VATS, ["up"])
    assert play.manager._get_map_context() == (
        "## Map Visualization (Mermaid Format)\n"
        + play.map.game_map.render_mermaid()
        + "\n\nNote: Node IDs match location IDs in memories (L11 = Location 11)\n**Current location**: L11\n\n"
        + play.manager._get_routing_summary(GATE.num)
        + "\n\n## Untried Exits (nearest first)\n- Location 31 (Blue Vats): untried up; way there: east\n"
        "\n## Exploration Statistics\n- Rooms discovered: 2\n- Current location: Dye Works Gate (ID: 11)"
    )
    assert bare_manager(tmp_path)._get_map_context() == "No map data available"


def test_routes_are_the_maps_own(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.turn("east", location=VATS)
    assert play.manager._get_routing_summary(VATS.num) == play.map.routing_summary()
    assert bare_manager(tmp_path)._get_routing_summary(GATE.num) == "No routing data available"


def test_a_place_that_is_not_known_is_said_to_be_so(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{}], memories=Memories())
    play.now = Observation("Fog.")
    play.wait_until(20)
    assert "- Score: not known\n- Location: not known\n- Inventory: nothing" in last_prompt(play).user


def test_the_largest_world_stays_under_fifteen_thousand_tokens(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text("Beware of the fumes. " * 5000)
    memories = Memories({room: [memory(f"{n} " + "word " * 200) for n in range(20)] for room in range(1, 400)})
    play = ObjectivePlay(tmp_path, [{}], memories=memories, objective_update_interval=200)
    for room in range(2, 400):
        play.map.game_map.add_room(room, "A hall with a very long name " * 3)
        for back in range(1, min(room, 7)):
            play.map.game_map.add_connection(room, f"passage {back}", room - back)
    for number in range(200):
        play.turn("say " + "ah " * 60, "The echo answers. " * 100, score=number + 1)
    play.manager.process_periodic_update()
    prompt = last_prompt(play)
    assert TokenCounter().estimate(prompt.system + prompt.user) <= 15_000
    assert "graph TD" not in prompt.user
    assert "## Current Location: 11 (Dye Works Gate)" in prompt.user
    assert "Beware of the fumes." in prompt.user


def test_what_is_left_out_goes_in_the_written_order(tmp_path: Path) -> None:
    """The smaller the budget the more is gone, and what went at a larger one is gone at a smaller one, too."""
    gone_before: set[str] = set()
    order: list[str] = []
    for budget in range(2100, 800, -12):
        user = last_prompt(afternoon(tmp_path, prompt_budgets={"analysis": budget})).user
        gone = {name for name, sign in SIGNS.items() if sign not in user}
        assert gone_before <= gone
        assert len(gone - gone_before) <= 1
        order += gone - gone_before
        gone_before = gone
    assert order == [
        "drawn map",
        "knowledge",
        "routing",
        "syntax",
        "memories",
        "earlier play",
        "earlier facts",
        "facts",
        "play",
    ]
    assert user.count(LEFT_OUT) == 6
    assert "2: Dip" not in user
    assert "completed in turn 11: Dip the banner" in user


SIGNS = {
    "drawn map": "graph TD",
    "knowledge": "The fumes kill",
    "routing": "**Available Exits:**",
    "syntax": "dip OBJECT in OBJECT",
    "memories": "Fixing the blue",
    "earlier facts": "Turn 1, Location 11: gained grey banner",
    "facts": "Turn 15, Location 44: gained jar of mordant",
    "earlier play": "The banner turns blue!",
    "play": "Turn 21: wait",
}
