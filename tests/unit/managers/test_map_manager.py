from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import structlog

from managers.map_manager import SAVE_INTERVAL, MapManager
from session.commands import Vocabulary
from session.game_configuration import ExtractorOptions, GameConfiguration
from session.game_state import GameState
from session.values import GameObject, Location, Observation, Proposal, Reading, TurnRecord
from tests.fixtures.held_stores import held
from tests.unit.zorkgpt.mapping.turns import at, death, turn, walk
from zorkgpt.mapping.map_graph import MapGraph
from zorkgpt.mapping.map_values import Edge
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.mapping.navigation import local_view, shortest_path, untried_from


def manager_in(workdir: Path, *, here: int | None = None) -> MapManager:
    state = GameState(latest=Observation("", None if here is None else Location(here, "")))
    return MapManager(structlog.get_logger(), GameConfiguration(zork_game_workdir=workdir), state)


@pytest.fixture
def manager(tmp_path: Path) -> MapManager:
    """The player is in the hall."""
    return manager_in(tmp_path, here=49)


def on_disk(workdir: Path) -> MapGraph:
    graph = MapGraph.load_from_json(workdir / "map_state.json")
    assert graph is not None
    return graph


def test_a_walk_is_on_disk_at_once_and_a_known_one_at_the_end_of_the_episode(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    assert manager.game_map == MapGraph()
    assert list(tmp_path.iterdir()) == []
    manager.learn(turn(at(1, "Landing"), "n", at(2, "Reed Bank")))
    assert manager.game_map.room_names == {1: "Landing", 2: "Reed Bank"}
    assert manager.game_map.connections == {1: {"north": 2}}
    assert on_disk(tmp_path) == manager_in(tmp_path).game_map == manager.game_map
    manager.learn(walk(1, "north", 2))
    assert on_disk(tmp_path).connection_verifications == {Edge(1, "north"): 1}
    manager.end("turn_limit")
    manager.commit()
    assert on_disk(tmp_path).connection_verifications == {Edge(1, "north"): 2}


def test_in_a_run_it_waits_for_every_tenth_turn(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    held(tmp_path, manager)
    for number in range(1, 2 * SAVE_INTERVAL + 1):
        manager.learn(replace(walk(number, "n", number + 1), turn=number))
        manager.commit()
        written = number // SAVE_INTERVAL * SAVE_INTERVAL
        assert (len(on_disk(tmp_path).connections) if written else 0) == written
    before = (tmp_path / "map_state.json").stat()
    manager.learn(replace(walk(1, "n", 2), turn=3 * SAVE_INTERVAL))
    manager.commit()
    assert (tmp_path / "map_state.json").stat() == before


def test_a_room_that_was_dark_when_the_player_last_came_says_so(manager: MapManager) -> None:
    for text, mark in (("Darkness\nIt is pitch dark, and you can't see a thing.", " (dark)"), ("Hall\nA hall.", "")):
        manager.learn(turn(at(49), "north", said(46, "Hall", text)))
        assert f"L46 Hall{mark}: south -> L49" in local_view(MapGraph.from_dict(manager.game_map.to_dict()), 49, 2)


def test_a_room_stays_dark_if_only_that_is_printed_until_the_story_describes_it(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, here=46)
    for text, mark in (("Darkness\n", " (dark)"), ("A stair leads down into darkness.\n", "")):
        manager.learn(turn(at(49), "north", said(46, "Hall", text)))
        assert f"L46 Hall{mark}: " in local_view(manager.game_map, 49, 2)
    manager.learn(turn(at(49), "north", said(46, "Hall", "Darkness\n")))
    manager.learn(
        turn(said(46, "Hall", "Darkness\n"), "rub ring", said(46, "Hall", "The ring glows.\n\nHall\nA hall."))
    )
    assert "L46 Hall: " in local_view(manager.game_map, 49, 2)


def test_what_somebody_says_names_no_exits(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, here=35)
    speech = '"You must go out into the world.\n\n"Look east." A monk bows.\n\n\u201cOr west,\u201d he says.'
    manager.learn(turn(at(33), "north", said(35, "Chapel", f"Chapel\nThe exit is south.\n\n{speech} A stair goes up.")))
    assert "untried, read from the text: up" in manager.local_view()


def said(location_id: int, name: str, text: str) -> Observation:
    return replace(at(location_id, name), text=text)


STUDY = said(32, "Study", "The stairs lead to a spacious chamber.\n\nStudy\nA doorway leads south, a path south-east.")
HALL = said(49, "Hall", "Hall\nA massive oak door, set in the southern wall, leads out.")


class TestWhatThePromptSaysOfExits:
    def test_a_room_that_was_entered_or_begun_in_has_its_untried_exits_before_a_model_has_read_of_them(
        self, tmp_path: Path
    ) -> None:
        manager = manager_in(tmp_path / "entered", here=32)
        manager.learn(turn(at(29, "Roof"), "down", STUDY))
        assert manager.local_view() == (
            "L32 Study (here): up -> L29 (back?); untried, read from the text: south, southeast\nL29 Roof: down -> L32"
        )
        manager, state = manager_in(tmp_path / "begun in"), GameState(episode=2)
        state.begin(replace(STUDY, text=f"You dream of the north.\n\n{STUDY.text}"))
        manager.reset(state)
        assert manager.local_view() == "L32 Study (here): untried, read from the text: south, southeast"

    def test_what_a_model_reads_corrects_what_a_text_names_without_an_exit(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, here=45)
        church = said(
            45, "North Side", "North Side\nPaths lead southeast and southwest. The south tower looms to the east."
        )
        manager.learn(turn(at(43), "ne", church))
        assert manager.game_map.untried_exits(45) == ("southeast", "south", "east")
        read = turn(church, "look", church)
        for exits, untried in ((("se", "southwest", "up"), ("southeast", "up")), ((), ("up",))):
            reading = Reading(is_room_description=True, exits=exits)
            manager.learn(replace(read, proposals=(replace(read.proposals[0], reading=reading),)))
            assert manager.game_map.untried_exits(45) == untried
        manager.learn(turn(at(43), "ne", church))
        assert manager.game_map.untried_exits(45) == ("up", "southeast"), "what was misread does not come back"
        assert MapGraph.from_dict(manager.game_map.to_dict()).misread_exits == {45: {"south", "east"}}
        reading = Reading(is_room_description=True, exits=("south",))
        manager.learn(replace(read, proposals=(replace(read.proposals[0], reading=reading),)))
        assert "south" in manager.game_map.untried_exits(45)

    @pytest.mark.parametrize("is_in_text", [True, False])
    def test_a_named_exit_that_something_passing_bars_is_listed_from_afar_also_when_pruned_if_the_text_has_it(
        self, manager: MapManager, is_in_text: bool
    ) -> None:
        manager.game_map.named_exits = {49: {"west", "south"}} if is_in_text else {}
        manager.game_map.add_connection(60, "north", 49)
        manager.game_map.add_exits(49, ["west"])
        manager.game_map.add_connection(6, "north", 60)
        for is_shown in (True, True, is_in_text):
            manager.learn(turn(HALL, "west", said(49, "Hall", "You are too afraid to move.")))
            manager.learn(turn(HALL, "up", said(49, "Hall", "There is no way up.")))
            elsewhere = local_view(manager.game_map, 60, 2)
            refused = "led nowhere: up (There is no way up.), west (You are too afraid to move.)"
            assert f"L49 Hall: south -> L60 (back?); {refused}\n" in f"{elsewhere}\n"
            assert "untried: " not in elsewhere
            farther = local_view(manager.game_map, 6, 1)
            assert ("L49 Hall (2): led nowhere: west (You are too afraid to move.)" in farther) == is_shown
            assert ("too afraid" in untried_from(manager.game_map, 6)) == is_shown

    def test_an_exit_that_was_tried_and_refused_says_so_with_the_storys_words_and_is_not_untried(
        self, manager: MapManager
    ) -> None:
        manager.game_map.add_exits(49, ["south"])
        refused = said(49, "Hall", "You can't, since the oak door is in the way.\n\nCharles shrugs.")
        manager.learn(turn(HALL, "south", refused))
        assert manager.local_view() == (
            "L49 Hall (here): led nowhere: south (You can't, since the oak door is in the way.)"
        )
        manager.learn(turn(refused, "south", at(60, "Path")))
        assert manager.local_view() == (
            "L49 Hall (here): south (blocked at first: You can't, since the oak door is in the way.) -> L60\n"
            "L60 Path: north -> L49 (back?)"
        )
        assert not manager.game_map.is_shut(door := Edge(49, "south"))
        manager.reset()
        assert manager.game_map.is_shut(door)
        words = (
            "The graveyard is surrounded on all sides by an iron-barred fence. The only exit is the gate to the east."
        )
        manager.learn(turn(HALL, "west", said(49, "Hall", words)))
        manager.learn(turn(HALL, "north", said(49, "Hall", f"{'A wall. ' * 30}Dig!")))
        assert f"west ({words})" in manager.local_view()
        assert f"north ({'A wall. ' * 30}Dig!)" in manager.local_view()

    def test_a_known_exit_that_a_later_game_refuses_at_first_is_blocked_at_first_from_then_on(
        self, manager: MapManager
    ) -> None:
        door, refused = Edge(49, "down"), said(49, "Hall", "The lid is closed.")
        manager.learn(turn(HALL, "down", at(60, "Path")))
        manager.learn(turn(HALL, "down", refused))
        assert not manager.game_map.is_shut(door, is_new_game=True), "it was shut after the player had gone there"
        manager.reset()
        manager.learn(turn(HALL, "down", refused))
        manager.learn(turn(HALL, "down", at(60, "Path")))
        assert not manager.game_map.is_shut(door)
        assert "down (blocked at first: The lid is closed.) -> L60" in local_view(manager.game_map, 49, 1)
        manager.reset()
        assert manager.game_map.is_shut(door)

    def test_a_vehicle_that_is_boarded_is_no_failed_exit_and_no_untried_one(self, tmp_path: Path) -> None:
        manager, text = manager_in(tmp_path, here=49), "Hall\nThe only way in is a skiff."
        manager.learn(turn(at(60), "east", said(49, "Hall", text)))
        assert manager.game_map.untried_exits(49) == ("in",)
        skiff = replace(said(49, "Hall", "You get into the skiff."), inside=GameObject(7, "skiff", 49))
        manager.learn(turn(said(49, "Hall", text), "in", skiff))
        manager.learn(turn(at(60), "east", said(49, "Hall", text)))
        assert manager.game_map.untried_exits(49) == ()
        assert "nowhere" not in manager.local_view()

    def test_a_way_that_leads_back_in_a_vehicle_is_tried_and_one_that_is_refused_or_leaves_it_is_not(
        self, tmp_path: Path
    ) -> None:
        manager, text = manager_in(tmp_path, here=49), "Maze\nPrivet runs east and west. The way leads out."
        driven = replace(said(49, "Maze", text), inside=GameObject(7, "roller", 49))
        manager.learn(turn(at(60), "north", replace(driven, inside=None)))
        manager.learn(turn(driven, "west", replace(driven, text="Maze (in the roller)\nPrivet runs east.")))
        manager.learn(turn(driven, "east", replace(driven, text="You can't drive through privet.")))
        manager.learn(turn(driven, "out", replace(driven, text="You get out.\n\nMaze\nPrivet.", inside=None)))
        assert manager.game_map.untried_exits(49) == ("east", "out")
        assert "west -> L49 again" in manager.local_view()

    def test_the_words_of_a_text_alone_do_not_win_over_what_the_player_has_read_in_it(self, tmp_path: Path) -> None:
        text = "Bridge\nSheer walls rise to the north and west. A path wanders east."
        manager, bridge = manager_in(tmp_path, here=89), said(89, "Bridge", text)
        manager.learn(turn(at(91), "north", bridge))
        assert "untried, read from the text: north, west, east" in manager.local_view()
        read = turn(bridge, "east", at(85))
        reading = Reading(is_room_description=True, exits=("east", "south"))
        manager.learn(replace(read, proposals=(replace(read.proposals[0], reading=reading),)))
        manager.learn(turn(at(85), "west", bridge))
        assert manager.game_map.untried_exits(89) == ()
        assert "read from" not in local_view(manager.game_map, 89, 1)

    def test_no_exit_is_marked_if_no_model_reads_any(self, tmp_path: Path) -> None:
        config = GameConfiguration(zork_game_workdir=tmp_path, extractor=ExtractorOptions(mode="none"))
        manager = MapManager(structlog.get_logger(), config, GameState(latest=HALL))
        manager.learn(turn(at(60), "north", said(49, "Hall", "Hall\nA path leads east.")))
        assert "untried: east" in manager.local_view()

    def test_another_command_that_leads_there_is_a_way(self, manager: MapManager) -> None:
        gate = said(
            46, "Gate", "Gate\nA stair goes up, and a passage leads down. The way in is shut. Only west is open."
        )
        manager.learn(turn(at(49), "north", gate))
        manager.learn(turn(gate, "climb stair", at(51, "Landing")))
        manager.learn(turn(gate, "enter boat", at(52, "Boat")))
        manager.learn(turn(gate, "put coin in slot", at(53, "Yard")))
        assert manager.game_map.untried_exits(46) == ("west", "down")
        manager.learn(turn(gate, "climb down passage", at(54, "Cave")))
        assert manager.game_map.untried_exits(46) == ("west",)
        assert manager.game_map.connections[46].keys() == {
            "climb stair",
            "enter boat",
            "put coin in slot",
            "climb down passage",
        }

    def test_a_walk_that_leads_back_is_tried_and_never_pruned(self, manager: MapManager) -> None:
        for _ in range(5):
            manager.learn(turn(HALL, "north", said(49, "Hall", "You run.\n\nHall\n\nIt is dusty.")))
        assert manager.local_view() == "L49 Hall (here): north -> L49 again"
        assert "nowhere" not in untried_from(manager.game_map, 49)
        assert not manager.game_map.is_pruned(49, "north")
        assert manager.game_map.refused_exits(49) == {}, "nor on the page of the run"
        manager.learn(turn(HALL, "up", said(49, "Hall", "Too high.")))
        manager.learn(turn(HALL, "up", said(49, "Hall", "Hall")))
        assert manager.local_view() == "L49 Hall (here): north -> L49 again; up (Too high.) -> L49 again"

    @pytest.mark.parametrize(
        ("question", "awaits_answer", "answers"),
        [
            ("The cemetery is fearful. Are you sure?\n\n(Please type YES or NO.)", True, ["yes"]),
            ("Which way do you want to go, left or right?", True, ["left"]),
            ("1) Down the lane\n2) Back", True, ["1"]),
            ("A guard bars the way.\n\nDo you pay him, or do you sneak?", True, ["sneak"]),
            ("Are you sure?", True, ["yes", "y"]),
            ("Which door do you mean, the north door or the south door?", False, ["north"]),
            ("What do you want to enter?", False, ["the boat"]),
        ],
    )
    def test_a_question_is_no_refusal_and_its_answer_is_no_way_without_it(
        self, manager: MapManager, question: str, answers: list[str], *, awaits_answer: bool
    ) -> None:
        manager.movements = MovementAnalyzer(vocabulary=Vocabulary(9, frozenset({"sneak"}), verbs=frozenset({"sneak"})))
        manager.game_map.add_exits(49, ["west"])
        here = replace(HALL, moves=4, inventory=(), visible=())
        asked = replace(here, text=question, awaits_answer=awaits_answer)
        for _ in range(5):
            manager.learn(turn(here, "west", asked))
        assert not manager.game_map.is_pruned(49, "west")
        assert "nowhere" not in untried_from(manager.game_map, 49) + manager.local_view()
        for answer in answers[:-1]:
            manager.learn(turn(asked, answer, asked))
        last = turn(asked, answers[-1], at(62, "Corner"))
        manager.learn(last)
        line = ", then ".join(["west", *answers])
        assert f"{line} (episode 1, turn {last.turn}) -> L62" in local_view(manager.game_map, 49, 1)
        assert manager.game_map.connections.get(49, {}) == {}
        assert shortest_path(manager.game_map, 49, 62) is None

    def test_a_command_after_a_question_to_which_it_is_no_answer_is_a_way(self, manager: MapManager) -> None:
        manager.movements = MovementAnalyzer(vocabulary=Vocabulary(9, frozenset({"enter"}), verbs=frozenset({"enter"})))
        asking = said(49, "Hall", "You are told nothing.\n\nWhat next?")
        manager.learn(turn(HALL, "ask guard", asking))
        manager.learn(turn(asking, "north", at(50)))
        manager.learn(turn(asking, "enter boat", at(51)))
        assert manager.game_map.connections[49] == {"north": 50, "enter boat": 51}

    def test_a_refusal_in_the_form_of_a_question_counts_as_one(self, manager: MapManager) -> None:
        refused = replace(HALL, text='"Where are you going?" asks the guard.\n\nWhat next?', moves=5)
        for _ in range(3):
            manager.learn(turn(replace(HALL, moves=4), "west", refused))
        assert manager.game_map.is_pruned(49, "west")

    def test_an_exit_that_only_killed_is_shown_as_taken_with_the_storys_words(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, here=1)
        fatal = death(1, "n", 7)
        manager.learn(replace(fatal, after=replace(fatal.after, text="You fall.", ending="lost")))
        assert 7 in manager.game_map.rooms, "the story ended there"
        fell = f"you died in L7 Location #7 (episode 1, turn {fatal.turn}): You fall."
        assert f"north ({fell})" in manager.local_view()
        manager.learn(replace(fatal, turn=99, after=replace(fatal.after, text="You fall.", ending="lost")))
        manager.learn(replace(fatal, after=replace(fatal.after, text="It is pitch black. Something eats you.")))
        manager.learn(death(1, "jump", 7))
        eaten = f"you died, in the dark (episode 1, turn {fatal.turn}): It is pitch black. Something eats you."
        assert manager.local_view().startswith(f"L1 Location #1 (here): taken before: north ({fell} Later: {eaten})")
        assert manager.game_map.untried_exits(1) == ("north",)
        manager.learn(walk(1, "north", 2))
        assert "died" not in manager.local_view()

    @pytest.mark.parametrize("moves", [True, False], ids=["in another room", "on the spot"])
    @pytest.mark.parametrize("ending", ["won", "over", "lost"])
    def test_an_exit_that_ended_the_story_says_so_with_points_and_turn(
        self, manager: MapManager, ending: Literal["won", "over", "lost"], *, moves: bool
    ) -> None:
        last = walk(49, "north", 60) if moves else turn(HALL, "north", said(49, "Hall", ""))
        after = replace(last.after, text="You go home.", ending=ending, score=26, max_score=30)
        manager.learn(replace(last, episode=2, turn=31, after=after))
        manager.reset(GameState(episode=3))
        manager.game_state.begin(HALL)
        place = " in L60 Location #60" if moves else ""
        told = f"the story ended, {ending}, with 26 of 30 points{place} (episode 2, turn 31): You go home."
        assert f"north ({told})" in manager.local_view()
        assert "led nowhere" not in manager.local_view()
        manager.learn(walk(49, "north", 61))
        assert "ended" not in manager.local_view(), "it works without that"


def test_a_distance_names_the_command_on_the_way_that_may_not_lead_there_again(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, here=22)
    manager.learn(walk(22, "attack spy", 29))
    manager.learn(walk(29, "down", 32))
    assert "(2, attack spy unsure)" in local_view(manager.game_map, 22, 2, named=(32,))
    manager.learn(walk(22, "attack spy", 29))
    assert "(2)" in local_view(manager.game_map, 22, 2, named=(32,))


@pytest.mark.parametrize("command", ["take shadows", "wait", "open door. north", "read chant", "yes"])
def test_where_the_story_carried_the_player_is_on_the_map_though_no_path_leads_there(
    tmp_path: Path, command: str
) -> None:
    manager = manager_in(tmp_path, here=22)
    manager.learn(replace(turn(at(22, "Void"), command, at(29, "Roof")), episode=1, turn=3))
    manager.learn(walk(29, "down", 32))
    graph = on_disk(tmp_path)
    assert graph.connections == {29: {"down": 32}}
    view = local_view(manager.game_map, 22, 2, named=(32,))
    assert view.splitlines()[0] == f"L22 Void (here): {command} (carried you, episode 1, turn 3) -> L29 Roof"
    assert f"(2, {command} carried you once)" in view
    assert "no way known" not in view
    assert shortest_path(manager.game_map, 22, 29) is None, "go_to does not take it"
    manager.learn(walk(22, "up", 29))
    assert "carried" not in local_view(manager.game_map, 22, 2, named=(32,))


@pytest.mark.parametrize("known", [walk(22, "northwest", 29), walk(29, "southeast", 22)], ids=["walked", "presumed"])
def test_the_end_of_a_scene_does_not_replace_where_an_exit_leads(tmp_path: Path, known: TurnRecord) -> None:
    manager = manager_in(tmp_path, here=22)
    manager.learn(known)
    edges = on_disk(tmp_path).connections
    vial, rucksack = GameObject(5, "vial"), GameObject(6, "rucksack")
    before = replace(at(22), inventory=(vial,))
    manager.learn(replace(turn(before, "nw", replace(at(33, "Office"), inventory=(rucksack,))), turn=10))
    manager.learn(walk(33, "east", 34))
    graph = on_disk(tmp_path)
    assert {**graph.connections, 33: {}} == {**edges, 33: {}}
    line = manager.local_view().splitlines()[0]
    assert "; northwest (carried you, episode 1, turn 10) -> L33 Office" in line
    assert "northwest -> L29" in line
    path = shortest_path(graph, 22, 29)
    assert path is not None
    assert path.commands == ("northwest",)
    assert "(2, northwest carried you once)" in local_view(graph, 22, 2, named=(34,))
    manager.learn(turn(before, "nw", replace(at(40), inventory=(vial,))))
    assert manager.game_map.connections[22]["northwest"] == 40, "the player kept everything, so it was a walk"


def test_a_place_to_which_the_story_took_the_player_is_as_far_as_the_turns_until_then(tmp_path: Path) -> None:
    manager = manager_in(tmp_path, here=20)
    came = turn(at(19, "Porch"), "north", at(20, "Chapel"))
    stays = [turn(at(20, "Chapel"), command, at(20, "Chapel")) for command in ("pray", "examine rod", "pray", "wait")]
    carried = turn(at(20, "Chapel"), "wait", at(22, "Quarters"))
    turns = [replace(each, turn=number) for number, each in enumerate((came, *stays, carried), start=1)]
    for each in turns:
        manager.game_state.turns.append(each)
        manager.learn(each)
    view = local_view(manager.game_map, 20, 2, named=(22,))
    assert "; wait (carried you, after 4 turns here, episode 1, turn 6) -> L22 Quarters" in view
    manager.learn(walk(22, "north", 25))
    assert "(6, wait carried you once)" in local_view(on_disk(tmp_path), 20, 2, named=(25,))


def test_a_death_a_key_and_a_turn_back_in_time_carry_nobody(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    manager.learn(death(1, "wait", 2))
    manager.learn(turn(replace(at(1, "Landing"), awaits_key=True), "x", at(2, "Reed Bank")))
    manager.learn(turn(at(1, "Landing"), "undo", at(2, "Reed Bank")))
    assert manager.game_map.carries == {}


def test_the_views_are_of_where_the_player_is_as_far_as_configured(tmp_path: Path) -> None:
    walks = (walk(1, "n", 2), walk(2, "n", 3), walk(3, "n", 4), walk(4, "n", 5))
    for radius, rooms in ((1, ["L2", "Other"]), (2, ["L2", "L1", "L3", "Other"]), (3, ["L2", "L1", "L3", "L4"])):
        config = GameConfiguration.model_validate({"zork_game_workdir": tmp_path, "map": {"local_radius": radius}})
        manager = MapManager(structlog.get_logger(), config, GameState(latest=Observation("", Location(2, ""))))
        for step in walks:
            manager.learn(step)
        assert [line.split()[0] for line in manager.local_view().splitlines()] == rooms
    assert manager_in(tmp_path, here=None).local_view() == ""


def test_a_key_is_no_exit_and_neither_a_menu_nor_its_reading_names_one(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    for exit_, to_id in (("north", 1), ("east", 2)):
        manager.learn(walk(1, exit_, to_id))
    menu = replace(at(1, "Landing"), awaits_key=True, text="Landing\nN = next, to the south: Credits")
    reading = Reading(is_room_description=True, exits=("west",), in_combat=False)
    for key in ("n", "east", "south"):
        pressed = turn(menu, key, menu)
        manager.learn(replace(pressed, proposals=(Proposal(key, reading=reading),)))
    assert manager.game_map.connections == {1: {"east": 2}}
    assert [edge.exit for edge in manager.game_map.exit_failure_counts] == ["north"]
    assert manager.game_map.untried_exits(1) == ()
