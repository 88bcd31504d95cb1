"""The content of the prompt about objectives."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from managers.knowledge_manager import KnowledgeManager
from managers.objective_manager import NO_KNOWLEDGE, ObjectiveManager
from managers.objectives import Objective, play_part
from managers.prompting import LEFT_OUT
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.memory import Memory
from session.text import TokenCounter
from session.values import Location, Observation, Verdict
from tests.fixtures.dye_works import BANNER, GATE, LOFT, MORDANT, VATS
from tests.golden.golden_file import assert_golden
from tests.unit.managers.objective_parts import Memories, ObjectivePlay, found
from zorkgpt.llm.language_model import Prompt

KNOWLEDGE = "# Dye works\nThe fumes kill within two turns; wear the smoke hood. $5 buys one."


@pytest.fixture
def play(tmp_path: Path) -> ObjectivePlay:
    return ObjectivePlay(tmp_path, [{}])


def test_the_inventory_is_shown_with_the_state_of_things(play: ObjectivePlay) -> None:
    play.manager.attribute_names = {"lit": 20}
    play.turn("light lamp", inventory=(replace(BANNER, attributes=frozenset({20})), MORDANT), score=5)
    play.wait_until(20)
    assert f"{BANNER.name} (lit), {MORDANT.name}" in play.llm.calls[-1].prompt.user


def memory(title: str = "Fixing the blue", **others: object) -> Memory:
    fields = {"category": "SUCCESS", "episode": 1, "turns": "3-5", "score_change": 5, "persistence": "permanent"}
    return Memory(title=title, text="Add the mordant,\nthen dip the banner.", **{**fields, **others})  # type: ignore[arg-type]  # fields by name


def test_where_memories_are_shuffled_so_they_are_here(tmp_path: Path) -> None:
    known = {GATE.num: [memory("Of the gate")], VATS.num: [memory("Of the vats")]}
    for whose, shown in ((GATE.num, "Of the gate"), (VATS.num, "Of the vats"), (None, "")):
        play = ObjectivePlay(tmp_path, memories=Memories(known, shuffled={GATE.num: whose}))
        text = memories_text(play.manager, GATE.num)
        assert [title for title in ("Of the gate", "Of the vats") if title in text] == ([shown] if shown else [])


def bare_manager(workdir: Path) -> ObjectiveManager:
    """Without map and without memories."""
    config = GameConfiguration(zork_game_workdir=workdir)
    play = ObjectivePlay(workdir)
    logger, state = play.manager.logger, GameState()
    return ObjectiveManager(logger, config, state, KnowledgeManager(logger, config, state, play.llm))


def memories_text(manager: ObjectiveManager, location_id: int | None, characters: int = 20_000) -> str:
    return manager._memories_part(location_id).fit(characters).text


def map_text(manager: ObjectiveManager, characters: int = 20_000) -> str:
    return manager._map_part().fit(characters).text


def afternoon(workdir: Path, **options: object) -> ObjectivePlay:
    """Twenty-one turns at the dye works, with knowledge, memories and a map; calls at turns 1, 11 and 21."""
    (workdir / "knowledgebase.md").write_text(KNOWLEDGE)
    gone = memory("The loft is locked", category="DANGER").superseded("The loft is open", 4)
    memories = Memories({VATS.num: [gone, memory()]}, {LOFT.num: [memory("Key on the beam", persistence="ephemeral")]})
    replies = [
        found("Rest a while", "Dip the banner"),
        {"completed": [{"id": 2, "turn": 9}], "dropped": [{"id": 1, "reason": "pointless"}]},
        {},
    ]
    play = ObjectivePlay(workdir, replies, memories=memories, **{"objective_update_interval": 10, **options})
    play.turn("take banner", "Taken.", inventory=(BANNER,))
    play.turn("east", "Vats steam here.\n\nA ladder leads up.", location=VATS)
    play.map.game_map.add_exits(VATS.num, ["up", "south"])
    play.wait_until(7)
    play.turn("dip banner", "The banner turns blue!", score=5)
    play.turn("up", "It is dusty here.", location=LOFT)
    play.map.game_map.add_exits(LOFT.num, ["southwest"])
    for score in range(6, 11):
        play.turn("sort yarn", "A skein is sorted.", score=score)
    play.manager.process_periodic_update()
    play.turn("jump", "You land among the vats, dead for a moment.", location=VATS, died=True, inventory=(MORDANT,))
    for score in range(11, 15):
        play.turn("sort yarn", "A skein is sorted.", score=score)
    play.wait_until(21)
    return play


def told_turns(prompt: Prompt) -> list[int]:
    return [int(turn) for turn in re.findall(r"^Turn (\d+)", prompt.user, re.MULTILINE)]


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
    assert recent.startswith("=== HOW THE STORY BEGAN ===\nThe gate creaks.\n")
    assert whole.endswith(recent[recent.index("=== CURRENT STATE ===") :])
    assert "Fixing the blue" not in recent


def test_play_is_the_first_five_turns_and_the_last_twenty_or_those_since_the_last_update(tmp_path: Path) -> None:
    for interval, shown in ((15, 20), (30, 30)):
        play = ObjectivePlay(tmp_path, [{}, {}], objective_update_interval=interval)
        play.wait_until(30)
        assert told_turns(last_prompt(play)) == [*range(1, min(6, 31 - shown)), *range(31 - shown, 31)]


def test_the_description_of_a_room_stands_in_the_first_turn_that_has_it_and_every_answer_is_told(
    play: ObjectivePlay,
) -> None:
    room = "Dye Works Gate\n" + "Looms stand here and clatter on and on. " * 40
    for turn in range(1, 21):
        play.turn("look", f"{room}\nThread {turn} breaks.\n{'The weaver tells of it at length. ' * 5}")
    user = last_prompt(play).user
    assert [user.count(f"Thread {turn} breaks.") for turn in range(1, 20)] == [1] * 19
    assert user.count("[line as in turn 1]") >= 19


def test_what_a_text_says_before_and_after_the_description_of_its_room_keeps_its_order(play: ObjectivePlay) -> None:
    play.turn("up", "The ladder creaks.\n\nDrying Loft\nYarn hangs here.\n\nOn the beam is a key.", location=LOFT)
    play.wait_until(20)
    shown = last_prompt(play).user.split("Turn 1 ")[1].split("Turn 2")[0]
    assert [line.strip() for line in shown.splitlines()[1:]] == [
        "Response: The ladder creaks.",
        "Drying Loft: Yarn hangs here.",
        "On the beam is a key.",
    ]


def test_many_memories_leave_room_for_what_was_just_played(tmp_path: Path) -> None:
    clatter = "The loom clatters. " * 25
    known = [replace(memory(f"Weaving {number}"), text=clatter) for number in range(12)]
    play = ObjectivePlay(tmp_path, [{}], memories=Memories({GATE.num: known}))
    response = (
        "and the weaver repairs it, which takes the whole of the long and cold afternoon in the works, "
        "so that no other thread is pulled before the evening"
    )
    for number in range(1, 21):
        play.turn(f"pull thread {number}", f"Thread {number} breaks, {response}.")
        play.manager.process_periodic_update()
    user = last_prompt(play).user
    assert "more left out)" in user.split("=== MAP")[0]
    assert [number for number in range(1, 21) if f"Thread {number} breaks, {response}." not in user] == []


def test_for_want_of_room_the_descriptions_of_rooms_are_shortened_before_other_responses(play: ObjectivePlay) -> None:
    refusal = "You have nothing to dig with, and the floor of the works is hard. " * 4
    for number in range(1, 20):
        room = Location(100 + number, f"Loom {number}")
        play.turn(f"climb {number}", f"{room.name}\n" + f"Loom {number} clatters on. " * 60, location=room)
        if number == 4:
            play.turn("dig", refusal)
    responses = [line for line in last_prompt(play).user.splitlines() if line.startswith("  Response: ")]
    assert f"  Response: {refusal.strip()}" in responses
    assert sum(line.startswith("  Response: Loom ") for line in responses) < 19


def test_a_course_has_its_reason_once_at_its_first_turn(tmp_path: Path) -> None:
    shown = []
    for waited in (16, 14):
        play = ObjectivePlay(tmp_path / str(waited), [{}])
        play.wait_until(waited)
        play.turn("dip banner")
        while play.state.turn_count < 19:
            play.turn("stir vat", verdicts=(Verdict(accepted=True, source="then"),))
        play.wait_until(20)
        shown.append(re.findall(r"^Turn (\d+).*\n  Why: (.*)", last_prompt(play).user, re.MULTILINE))
    assert shown[0] == [("16", "because of wait"), ("17", "because of dip banner"), ("20", "because of wait")]
    assert shown[1] == [("15", "because of dip banner"), ("20", "because of wait")]


def test_the_plan_for_the_episode_and_the_notes_of_the_player_are_shown(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text("## NEXT EPISODE\n\n- Dye first, then dry\n")
    play = ObjectivePlay(tmp_path, [{}, {}])
    play.state.notes.append("red before blue")
    play.wait_until(20)
    user = last_prompt(play).user
    assert "=== PLAN FOR THIS EPISODE ===\n- Dye first, then dry\n\n" in user
    assert "=== THE PLAYER'S NOTES ===\n- red before blue\n\n" in user


def test_the_latest_objectives_that_have_ended_are_shown(play: ObjectivePlay) -> None:
    play.wait_until(19)
    play.manager.objectives = tuple(Objective(number, f"Wring {number}", 1, status="dropped") for number in range(30))
    play.turn()
    assert re.findall(r"Wring (\d+)", last_prompt(play).user) == ["25", "26", "27", "28", "29"]


def test_what_is_known_is_told_without_the_marks_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text(
        "# Knowledge Base\n\n<!-- mine -->\n## DANGERS & THREATS\n\n"
        "- Fumes kill. *(Ep1, T12; Ep2, T3-4)*\n\n## MINE\n\nBe quick\n"
    )
    play = ObjectivePlay(tmp_path, [{}])
    play.turn()
    shown = last_prompt(play).user.split("=== LOCATION")[0]
    assert shown == (
        "=== STRATEGIC KNOWLEDGE (General Wisdom) ===\nDANGERS & THREATS:\n- Fumes kill.\n\nMINE:\n- Be quick\n\n"
        "=== PLAN FOR THIS EPISODE ===\n(none)\n\n"
    )


def test_next_door_is_where_a_passage_leads_or_comes_from(tmp_path: Path) -> None:
    known = {location.num: [memory("Sure"), memory("Perhaps", status="TENTATIVE")] for location in (GATE, VATS, LOFT)}
    play = ObjectivePlay(tmp_path, memories=Memories(known))
    play.map.game_map.add_connection(GATE.num, "east", VATS.num)
    play.map.game_map.add_connection(LOFT.num, "jump", GATE.num)
    for location, doors in ((GATE, [VATS.num, LOFT.num]), (LOFT, [GATE.num])):
        text = memories_text(play.manager, location.num)
        assert re.findall(r"\*\*Location (\d+)", text) == [str(door) for door in doors]
        here = text.split("\n\n")[0].splitlines()
        assert here[1::2] == ["  - [SUCCESS] Sure", "  - [SUCCESS - TENTATIVE] Perhaps"]


def test_memories_of_the_locations_that_open_objectives_name_are_shown_wherever_they_are(tmp_path: Path) -> None:
    play = ObjectivePlay(
        tmp_path, memories=Memories({LOFT.num: [memory("Of the loft")], VATS.num: [memory("Of vats")]})
    )
    play.map.game_map.add_connection(GATE.num, "east", VATS.num)
    play.manager.objectives = (
        Objective(1, "Carry the key from L44 to Location 31", 1, location_id=31),
        Objective(2, "Dye", 1, status="dropped"),
    )
    assert memories_text(play.manager, GATE.num) == (
        "\n## Memories for Locations in Plan, Objectives or Notes:\n\n**Location 44 (Location #44):**\n"
        "  - [SUCCESS] Of the loft\n    Add the mordant, then dip the banner.\n"
        "\n**Location 31 (Location #31):**\n  - [SUCCESS] Of vats\n    Add the mordant, then dip the banner."
    )


def test_memories_of_the_locations_that_a_note_names_are_shown(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, memories=Memories({LOFT.num: [memory("Of the loft")]}))
    play.map.game_map.add_room(LOFT.num, LOFT.name)
    play.state.notes.append("The door in the drying loft is bolted.")
    assert "**Location 44 (Drying Loft):**\n  - [SUCCESS] Of the loft" in memories_text(play.manager, GATE.num)


def test_memories_of_at_most_five_locations_next_door_those_with_the_most_useful_ones(tmp_path: Path) -> None:
    doors = range(100, 107)
    known = {door: [memory(f"M{n}") for n in range(4)] for door in doors}
    known[106].append(memory("Fumes", category="DANGER"))
    known[500] = [memory("Far away")]
    play = ObjectivePlay(tmp_path, memories=Memories(known))
    play.map.game_map.add_connection(GATE.num, "down", 99)
    for door in doors:
        play.map.game_map.add_connection(GATE.num, f"door {door}", door)
    text = memories_text(play.manager, GATE.num)
    assert text.startswith(
        "\n## Memories for Adjacent Locations:\n\n**Location 100 (Location #100):**\n  - [SUCCESS] M0"
    )
    assert re.findall(r"\*\*Location (\d+)", text) == ["100", "101", "102", "103", "106"]
    assert text.count("[SUCCESS]") == 20
    assert text.endswith("(2 more adjacent locations with memories)\n(1 memory of other locations not shown)")


def test_where_there_is_not_room_for_all_memories_each_location_has_its_most_useful_ones(tmp_path: Path) -> None:
    """Dangers first, then what won points, then the newest, without what was given up."""
    here = [
        memory("Old", score_change=0, turns="1"),
        memory("Given up", category="DANGER").superseded("Better", 4),
        memory("New", score_change=0, turns="40"),
        memory("Points"),
        memory("Danger", category="DANGER", score_change=0),
    ]
    play = ObjectivePlay(tmp_path, memories=Memories({GATE.num: here, VATS.num: here}))
    play.map.game_map.add_connection(GATE.num, "east", VATS.num)
    order = ["Danger", "Points", "New", "Old"]
    seen = set()
    for characters in range(1400, 100, -20):
        text = memories_text(play.manager, GATE.num, characters)
        assert len(text) <= characters
        shown = [
            re.findall(r"- \[[A-Z -]+\] ([A-Za-z]+(?: up)?)", part) for part in text.split("## Memories for Adjacent")
        ]
        titles = [title for part in shown for title in part]
        assert all(part == order[: len(part)] for part in shown)
        seen.add(len(titles))
    assert seen >= set(range(2, 9))
    assert memories_text(play.manager, GATE.num).count("Add the mordant") == 8
    alike = [replace(memory(f"M{number}"), text="x" * 9000) for number in range(7)]
    text = memories_text(ObjectivePlay(tmp_path, memories=Memories({GATE.num: alike})).manager, GATE.num, 1600)
    assert text.endswith("(6 more left out)")
    assert 1500 < len(text) <= 1600


def test_what_is_not_known_is_said_to_be_so(tmp_path: Path) -> None:
    for content in (None, " \n"):
        if content is not None:
            (tmp_path / "knowledgebase.md").write_text(content)
        play = ObjectivePlay(tmp_path, [{}], memories=Memories())
        play.now = Observation("Fog.")
        play.wait_until(20)
        user = last_prompt(play).user
        assert f"(General Wisdom) ===\n{NO_KNOWLEDGE}\n" in user
        assert "- Score: not known\n- Location: not known\n- Inventory: nothing" in user
    play.map.game_map.add_connection(GATE.num, "east", VATS.num)
    nothing = "No memories available for current or adjacent locations"
    assert memories_text(play.manager, GATE.num) == memories_text(play.manager, None) == nothing
    bare = bare_manager(tmp_path)
    assert (memories_text(bare, GATE.num), map_text(bare)) == ("No memory data available", "No map data available")


@pytest.mark.parametrize(("most", "tokens"), [(None, 2800), (50_000, 15_000)], ids=["by default", "at most"])
def test_the_largest_world_stays_under_as_many_tokens(tmp_path: Path, most: int | None, tokens: int) -> None:
    (tmp_path / "knowledgebase.md").write_text("Beware of the fumes. " * 5000)
    memories = Memories({room: [memory(f"{n} " + "word " * 200) for n in range(20)] for room in range(1, 400)})
    options = {"max_tokens": most} if most else {}
    play = ObjectivePlay(tmp_path, [{}, {}], memories=memories, objective_update_interval=199, objectives=options)
    for room in range(2, 400):
        play.map.game_map.add_room(room, "A hall with a long name")
        for back in range(1, min(room, 7)):
            play.map.game_map.add_connection(room, f"passage {back}", room - back)
    for number in range(200):
        play.turn("say " + "ah " * 60, "The echo answers. " * 100, score=number + 1)
    prompt = last_prompt(play)
    assert 0.9 * tokens < TokenCounter().estimate(prompt.system + prompt.user) <= tokens
    assert told_turns(prompt)[-1] == 200
    assert "L11 Dye Works Gate (here): " in prompt.user
    assert "Beware of the fumes." in prompt.user


def test_knowledge_has_a_quarter_of_the_room_and_what_others_leave_goes_to_play(tmp_path: Path) -> None:
    (tmp_path / "knowledgebase.md").write_text(
        "".join(f"- The {n}th rule of the works is to wait.\n" for n in range(900))
    )
    play = ObjectivePlay(tmp_path, [{}, {}], memories=Memories({GATE.num: [memory()]}))
    for number in range(21):
        play.turn("wait", f"The pulp turns {number}. " * 30)
    user, budget = last_prompt(play).user, play.config.objectives.max_tokens
    knowledge, rest = user.split("=== LOCATION", 1)
    recent = rest.split("=== RECENT GAMEPLAY ===")[1].split("=== CURRENT")[0]
    assert 2 < len(recent) / len(knowledge) < 4
    assert TokenCounter().estimate(last_prompt(play).system + user) > 0.9 * budget


def test_ways_and_untried_exits_are_shown_once_as_the_agent_sees_them(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    play.turn("north", location=VATS)
    play.map.game_map.add_exits(VATS.num, ["up"])
    shown = map_text(play.manager)
    here = "L31 Blue Vats (here): south -> L11 (back?); untried: up"
    where = f"**Current location**: L{VATS.num}\n**Available Exits:**"
    assert shown.startswith(f"## Current and Adjacent Locations\n{where}\n{here}\nL11 Dye Works Gate: north -> L31\n\n")
    assert play.map.local_view() in shown
    assert shown.count("untried") == 1


def test_the_story_tells_what_it_is_about_and_its_banner_is_left_out(play: ObjectivePlay) -> None:
    aim = "The fair is tomorrow, and the grey banner has to hang there, blue: it is up to you to bring it home, dyed."
    opening = f"{aim}\n\nTHE DYE WORKS\nRelease 1 / Serial number 260101\n\nDye Works Gate\nIt creaks."
    play.begin(1, replace(play.now, text=opening))
    play.wait_until(20)
    assert f"=== HOW THE STORY BEGAN ===\n{aim}\n\nDye Works Gate\nIt creaks.\n\n===" in last_prompt(play).user


def test_the_speeches_of_the_first_turns_are_shown_when_they_are_no_longer_recent(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{}, {}])
    licence = "THE DYE WORKS\nThis is free software, under a licence."
    play.begin(1, replace(play.now, text=f"{licence}\n\nDye Works Gate\nThe master speaks."))
    play.turn("wait", '"Dye the banner blue!" he says.')
    play.wait_until(40)
    assert (
        f"{licence}\n\nDye Works Gate\nThe master speaks.\n"
        'Turn 1: wait: "Dye the banner blue!" he says.\nTurn 2: wait: Time passes.\n'
    ) in last_prompt(play).user


def test_a_map_that_is_too_large_is_not_drawn(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path)
    for room in range(200, 260):
        play.map.game_map.add_room(room, f"Hall {room}")
        play.map.game_map.add_connection(room, "east", room + 1)
    play.map.game_map.add_connection(GATE.num, "north", 230)
    assert map_text(play.manager).count('["Hall') == 60
    assert "graph TD" not in map_text(play.manager, 400)
    assert "L11 Location #11 (here): north -> L230" in map_text(play.manager, 400)
    assert map_text(play.manager, 400).endswith("\n\n(the drawing of the map is left out)")


def test_what_shares_the_room_goes_before_objectives_and_the_present_do(tmp_path: Path) -> None:
    user = last_prompt(afternoon(tmp_path, prompt_budgets={"analysis": 700})).user
    assert [sign for sign in SIGNS if SIGNS[sign] in user] == []
    assert user.count(LEFT_OUT) == 5
    assert "marked as achieved in turn 11: Dip the banner" in user
    assert "- Location: Blue Vats (ID: 31)" in user


SIGNS = {
    "drawn map": "graph TD",
    "knowledge": "The fumes kill",
    "routing": "(here): ",
    "memories": "Fixing the blue",
    "play": "Turn 21: wait",
}


def test_of_a_command_two_hundred_characters_are_shown_and_a_title_whole(tmp_path: Path) -> None:
    play = ObjectivePlay(tmp_path, [{}], memories=Memories({GATE.num: [memory("t" * 900)]}))
    play.turn("a" * 900)
    play.wait_until(20)
    shown = last_prompt(play).user.replace(" […]", "")
    assert [max(map(len, re.findall(run, shown.split("Why: ")[0]))) for run in ("a+", "t+")] == [196, 900]


def test_recent_answers_are_whole_and_earlier_ones_without_facts_are_left_out_for_them(tmp_path: Path) -> None:
    play = afternoon(tmp_path)
    found_in_ashes = (
        f"{'Shards lie in the ashes. ' * 5}A stopper is among them. {'Thunder rattles the roof. ' * 5}".strip()
    )
    for turn in range(1, 9):
        play.turn("search ashes", found_in_ashes.replace("A stopper", f"Stopper {turn}"))
    text, count, _ = play_part(play.state, play.manager.evidence, 8).fit(1500)
    shown = [f"Stopper {turn} is" in text for turn in range(1, 9)]
    assert shown == sorted(shown)
    assert {*shown} == {False, True}
    left_out = shown.count(False)
    assert len(re.findall(r" \[…\]$", text, re.MULTILINE)) >= left_out
    assert f"({play.state.turn_count - count} earlier left out)" in text
