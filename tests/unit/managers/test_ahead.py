"""The points that games have brought are known with their distance, and what has been done in this game is marked."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from managers.ahead import MOST_POINTS, Ahead, MemoriesAhead
from managers.episodes import death_lines
from managers.map_manager import MapManager
from session.commands import Vocabulary
from session.context import PromptSection
from session.memory import Memory
from session.values import AgentNote, Proposal, TurnRecord
from tests.fixtures.dye_works import BANNER, GATE, LOFT, MORDANT, VATS, section_text
from tests.unit.managers.episode_parts import EpisodePlay
from tests.unit.managers.objective_parts import Memories


class Games(EpisodePlay):
    """Episodes with a map and the points that are ahead; the opening is at the gate, the vats are east of it."""

    def __init__(self, workdir: Path, **options: Any) -> None:
        super().__init__(workdir, lambda *_: {}, episode=1, **options)
        log = structlog.get_logger()
        self.things: dict[tuple[int | None, str], frozenset[int]] = {}
        self.map = MapManager(log, self.config, self.state, aims=self.aims, directions=("east", "west", "up"))
        self.ahead = Ahead(
            log,
            self.config,
            self.state,
            self.manager,
            map_manager=self.map,
            things_of=self.things_of,
            directions=("east", "west", "up"),
            vocabulary=Vocabulary(9, frozenset(), objects={"vat": (7,), "tub": (6, 7), "lamp": (8,)}),
        )
        self.learners = (self.map, self.manager)
        self.start(1)

    def things_of(self, location_id: int | None, command: str) -> frozenset[int]:
        return self.things.get((location_id, command), frozenset())

    def aims(self) -> list[str]:
        return [*self.knowledge.plan(), *self.state.notes]

    def start(self, episode: int) -> None:
        self.begin(episode)
        for manager in (self.map, self.ahead):
            manager.reset(self.state)

    def end(self, episode: int) -> None:
        """End the episode and begin the next."""
        self.manager.end("turn_limit")
        self.start(episode + 1)

    @property
    def points_shown(self) -> str:
        return section_text(self.ahead, self.now)

    @property
    def ahead_of(self) -> list[str]:
        """The points that can still be won."""
        lines = [line for line in self.points_shown.splitlines() if line.startswith("+")]
        return [points for line in lines for points in line.split("; ")]


@pytest.fixture
def games(tmp_path: Path) -> Games:
    return Games(tmp_path)


def first_game(games: Games) -> None:
    """Points at the gate, for coming to the vats, and there."""
    games.turn("fill lamp", score=5)
    games.turn("east", location=VATS, score=10)
    games.turn("dip banner in vat", score=25)
    games.end(1)


def test_each_scoring_command_is_shown_with_points_place_and_distance_until_it_is_done(games: Games) -> None:
    first_game(games)
    assert games.ahead_of == ["+5 fill lamp, L11, here", "+5 east, L11, here", "+15 dip banner in vat, L31, 1 move"]
    games.turn("fill lamp", score=5)
    games.turn("wait")
    assert games.ahead_of == ["+5 east, L11, here", "+15 dip banner in vat, L31, 1 move"]
    assert "done: +5 fill lamp (turn 1)" in games.points_shown
    games.turn("east", score=10, location=VATS)
    games.turn("dip banner in vat", score=25)
    assert games.points_shown == "done: +5 fill lamp (turn 1); +5 east (turn 3); +15 dip banner in vat (turn 4)"


def test_what_is_lost_in_this_game_is_shown(games: Games) -> None:
    first_game(games)
    games.turn("fill lamp", score=5)
    games.turn("wait")
    games.turn("drop lamp", score=2)
    assert games.points_shown.splitlines()[1:] == [
        "done: +5 fill lamp (turn 1)",
        "lost in this game: -3 drop lamp (turn 3)",
    ]


def test_a_scoring_command_with_a_pronoun_is_shown_with_the_command_that_names_the_thing(games: Games) -> None:
    games.turn("examine lamp")
    games.turn("take it", score=5)
    games.end(1)
    assert games.ahead_of == ["+5 take it after examine lamp, L11, here"]


def ended_before(games: Games) -> list[str]:
    lines = [line for line in games.points_shown.splitlines() if line.startswith("Ended before: ")]
    return [end for line in lines for end in line.removeprefix("Ended before: ").split("; ")]


def ending_games(games: Games) -> None:
    """One game is lost by a death at the gate, the next one won in the loft, which is up from the vats."""
    games.turn("drink dye", died=True)
    games.turn("jump", died=True, ending="lost", max_score=30)
    games.manager.end("lost")
    games.start(2)
    games.turn("east", location=VATS)
    games.turn("up", location=LOFT, score=26)
    games.turn("ring bell", ending="won", max_score=30)
    games.manager.end("won")
    games.start(3)


def test_what_ended_earlier_games_is_shown_at_and_beside_its_place_with_points_episode_and_turn(games: Games) -> None:
    ending_games(games)
    died = ["jump, L11, here: you died", "the story ended, lost with 0 points out of 30 (episode 1, turn 2)"]
    drunk = "drink dye, L11, here: you died (episode 1, turn 1)"
    assert ended_before(games) == [*died, drunk]
    games.turn("east", location=VATS)
    won = f"ring bell, L{LOFT.num}, 1 move: the story ended, won with 26 points out of 30 (episode 2, turn 3)"
    assert ended_before(games)[0] == won


def test_what_ended_an_earlier_game_is_shown_from_afar_if_a_plan_or_note_leads_there(games: Games) -> None:
    ending_games(games)
    assert "ring bell" not in games.points_shown
    games.state.notes.append(f"Go to Location {LOFT.num}")
    assert ended_before(games)[0].startswith(f"ring bell, L{LOFT.num}, 2 moves: the story ended, won with 26 points")


def test_points_where_the_story_once_carried_the_player_have_that_distance(games: Games) -> None:
    games.turn("wait", location=VATS)
    games.turn("dip banner in vat", score=15)
    games.turn("up", location=LOFT)
    games.turn("ring bell", score=20)
    games.end(1)
    once = "wait carried you once"
    assert games.ahead_of == [
        f"+15 dip banner in vat, L31, 1 move, {once}",
        f"+5 ring bell, L{LOFT.num}, 2 moves, likewise (1 move from L31)",
    ]


def test_the_second_place_with_points_has_its_distance_from_the_first_one(games: Games) -> None:
    first_game(games)
    games.turn("up", location=LOFT)
    assert games.ahead_of == [
        "+5 fill lamp, L11, 1 move, back?",
        "+5 east, L11, 1 move, back?",
        "+15 dip banner in vat, L31, 2 moves, 1 back? (1 move from L11)",
    ]


def test_what_was_done_before_a_deadly_command_is_shown_with_it(games: Games) -> None:
    games.turn("read sign", score=5)
    games.turn("put bell on sill", score=5)
    games.turn("read sign", score=5, died=True)
    games.manager.end("turn_limit")
    games.start(2)
    after = "after `read sign`, `put bell on sill`"
    assert ended_before(games) == [f"read sign {after}, L11, here: you died (episode 1, turn 3)"]


def test_a_death_that_won_points_is_shown_with_them_and_not_as_an_end(games: Games) -> None:
    games.turn("read sign", score=0)
    games.turn("ring bell", score=10, died=True)
    games.manager.end("turn_limit")
    assert games.manager.summary is not None
    assert "on `ring bell` after `read sign` (+10): " in "".join(death_lines(games.manager.summary))
    games.start(2)
    assert ended_before(games) == []
    assert games.ahead_of == ["+10 ring bell, L11, here (you died in episode 1, turn 2)"]


def test_points_of_this_game_are_listed_as_done_beside_those_of_earlier_games(tmp_path: Path) -> None:
    games = Games(tmp_path)
    games.turn("fill lamp", score=5)
    assert games.points_shown == "", "the prompt has the whole game"
    games.end(1)
    games.turn("dip banner", score=5)
    assert games.points_shown == "+5 fill lamp, L11, here\ndone: +5 dip banner (turn 1)"


def test_points_for_coming_to_a_room_are_done_by_whatever_way_the_player_came(games: Games) -> None:
    first_game(games)
    games.turn("up", location=LOFT)
    games.turn("west", location=VATS, score=5)
    assert games.ahead_of == ["+5 fill lamp, L11, 1 move, back?", "+15 dip banner in vat, L31, here"]


def test_points_are_done_by_other_words_for_the_same_things(games: Games) -> None:
    first_game(games)
    games.turn("east", location=VATS, score=5)
    games.turn("dip banner in lamp")
    assert "+15 dip banner in vat, L31, here" in games.ahead_of
    games.turn("dip banner in tub", score=20)
    assert games.ahead_of == ["+5 fill lamp, L11, 1 move, back?"]
    assert "+15 dip banner in tub (turn 3)" in games.points_shown
    games.end(2)
    assert games.ahead_of == ["+5 fill lamp, L11, here", "+5 east, L11, here", "+15 dip banner in vat, L31, 1 move"]


def test_points_are_listed_in_the_order_in_which_the_best_game_won_them(games: Games) -> None:
    games.turn("wring banner", score=5)
    games.turn("stir vat", score=10)
    games.end(1)
    games.turn("stir vat", score=5)
    games.turn("fill lamp", score=10)
    games.turn("wring banner", score=15)
    games.end(2)
    assert games.ahead_of == [f"+5 {command}, L11, here" for command in ("stir vat", "fill lamp", "wring banner")]


def test_what_brought_no_points_this_time_says_so(games: Games) -> None:
    first_game(games)
    games.turn("fill lamp", "There is no oil.")
    assert "+5 fill lamp, L11, here (no point in turn 1)" in games.ahead_of


def test_commands_that_lost_points_in_an_earlier_game_are_shown_unless_they_ended_it(games: Games) -> None:
    games.turn("fill lamp", score=5)
    games.turn("east", location=VATS, score=5)
    games.turn("push keeper", score=3)
    games.turn("drink dye", score=0, died=True)
    games.end(1)
    lost = [line for line in games.points_shown.splitlines() if line.startswith("Lost before, during: ")]
    assert lost == [f"Lost before, during: -2 push keeper, L{VATS.num}, 1 move"]


def test_what_brought_no_points_in_a_later_game_says_so_unless_the_points_were_won_in_another_way(
    games: Games,
) -> None:
    first_game(games)
    games.turn("fill lamp")
    games.turn("east", location=VATS)
    games.turn("dip banner in vat", score=0)
    games.turn("dip banner in tub", score=15)
    games.turn("dip gate", score=20)
    games.end(2)
    told = "+5 fill lamp, L11, here"
    assert games.ahead_of[0] == f"{told} (no point in episode 2, turn 1)"
    assert "(no point" not in "".join(games.ahead_of[1:])
    games.turn("fill lamp", score=5)
    games.end(3)
    assert games.ahead_of[0] == told


def test_points_for_a_number_that_differed_by_game_are_one_line_and_done_by_any_number(games: Games) -> None:
    for episode, number in enumerate((502, 314), start=1):
        games.turn(f"keeper, {number}", score=5)
        games.end(episode)
    assert games.ahead_of == ["+5 keeper, 502 (the number differed by game: 502, 314), L11, here"]
    games.turn("keeper, 271", score=5)
    assert games.points_shown == "done: +5 keeper, 271 (turn 1)"
    games.end(3)
    for episode in range(4, 10):
        games.turn(f"keeper, {episode}", score=5)
        games.end(episode)
    assert games.ahead_of == ["+5 keeper, 502 (the number differed by game: 502, 314, 271, 4, 5, 6, 3 more), L11, here"]


def test_commands_with_other_numbers_that_one_game_won_both_are_apart(games: Games) -> None:
    games.turn("stir vat 1", score=5)
    games.turn("ring bell", score=10)
    games.turn("stir vat 2", score=15)
    games.end(1)
    games.turn("stir vat 3", score=5)
    games.end(2)
    commands = ("stir vat 1", "ring bell", "stir vat 2", "stir vat 3")
    assert games.ahead_of == [f"+5 {command}, L11, here" for command in commands]
    games.turn("stir vat 4", score=5)
    assert len(games.ahead_of) == len(commands)


def test_points_that_the_turns_left_do_not_reach_are_marked(tmp_path: Path) -> None:
    games = Games(tmp_path, max_turns_per_episode=3)
    first_game(games)
    games.turn("up", location=LOFT)
    games.turn("down", location=GATE)
    assert games.ahead_of == ["+5 fill lamp, L11, here", "+5 east, L11, here"]
    assert re.search(r"Too far.*: \+15 dip banner in vat, L31, 1 move$", games.points_shown, re.MULTILINE)


def test_of_very_many_points_the_first_are_shown_and_the_others_counted(games: Games) -> None:
    for number in range(1, MOST_POINTS + 4):
        games.turn(f"stir vat {number}", score=number)
    games.end(1)
    assert len(games.ahead_of) == MOST_POINTS + 1
    assert games.ahead_of[-1] == "3 more"


def test_a_small_model_is_not_shown_them(tmp_path: Path) -> None:
    games = Games(tmp_path, agent={"reasoning_length": 0})
    assert games.ahead.section(games.now) is None


def test_a_line_of_the_plan_says_which_of_its_commands_are_done_at_its_place(games: Games) -> None:
    games.turn("east", location=VATS)
    games.turn("west", location=GATE)
    games.knowledge.planned = (
        "`take jar` at L11, then dip banner, or rub jar, fill jar, examine jar",
        "Dip banner at Blue Vats (31)",
        "Go up",
        "kick gate",
        "Guess: `up` at Blue Vats (31) leads to the roof, but down does not",
        "Then `up`",
    )
    games.start(2)
    games.turn("take jar", inventory=(MORDANT,))
    games.turn("dip banner", score=1, state_hash="0000000a")
    games.turn("rub jar", state_hash="0000000a")
    games.turn("examine jar", state_hash="0000000a")
    games.turn("fill jar", state_hash="0000000b")
    games.turn("up", location=LOFT)
    lines = dict(re.findall(r"^Of line (\d) of the plan, done: (.*)$", games.points_shown, re.MULTILINE))
    assert lines == {"1": "take jar, L11, turn 1; dip banner, L11, turn 2"}
    games.turn("down", location=VATS)
    games.turn("up", state_hash="0000000b")
    lines = dict(re.findall(r"^Of line (\d) of the plan, without effect: (.*)$", games.points_shown, re.MULTILINE))
    assert lines == {"1": "rub jar, L11, turn 3", "5": "up, L31, turn 8"}
    games.turn("dip banner", score=2)
    lines = dict(re.findall(r"^Of line (\d) of the plan, done: (.*)$", games.points_shown, re.MULTILINE))
    assert lines["2"] == "dip banner, L31, turn 9"
    games.turn("up", location=LOFT)  # line 5 may mean it for another way
    lines = dict(re.findall(r"^Of line (\d) of the plan, done: (.*)$", games.points_shown, re.MULTILINE))
    assert lines.keys() == {"1", "2"}


def test_places_of_the_plan_and_of_notes_are_on_the_map_with_their_distance(games: Games) -> None:
    rooms = games.map.game_map
    for room in range(100, 130):
        rooms.add_connection(room - 1 if room > 100 else GATE.num, "east", room)
        rooms.add_exits(room, ["north"])
    rooms.add_room(127, "Eel Weir")
    assert "L120" not in games.map.local_view()
    games.knowledge.planned = ("Cut the cord at the Eel Weir", "then to Location 120")
    note = Proposal("wait", note=AgentNote("The key is in L118"))
    games.state.record(TurnRecord(1, 1, games.now, (note,), (), replace(games.now, text="Time passes.")))
    line = next(line for line in games.map.local_view().splitlines() if line.startswith("In plan"))
    assert re.findall(r"L(\d+) [^(;]*\((\d+)\)", line) == [("118", "19"), ("120", "21"), ("127", "28")]


@pytest.mark.parametrize("enabled", [True, False])
def test_without_knowledge_of_earlier_episodes_no_points_are_known(tmp_path: Path, enabled: bool) -> None:
    games = Games(tmp_path, knowledge={"enabled": enabled})
    first_game(games)
    assert bool(games.ahead_of) == enabled


def stands(title: str, text: str = "") -> Memory:
    return Memory("NOTE", title, 1, "3", None, text or title, "permanent")


def arrivals_at_the_vats(number: int, text: str) -> list[Memory]:
    return [replace(stands(f"Arrival at Blue Vats {each}", text), persistence="core") for each in range(number)]


class Places(Games):
    """Games with vats and loft on the map, where these things are remembered; the plan names the vats."""

    def __init__(self, workdir: Path, *of_the_vats: Memory, plan: str = "L31", way: tuple[int, ...] = ()) -> None:
        super().__init__(workdir)
        for place in (VATS, LOFT):
            self.map.game_map.add_room(place.num, place.name)
        self.knowledge.planned = (plan,)
        self.memories = Memories({VATS.num: [*of_the_vats]})
        self.memories_ahead = MemoriesAhead(
            *(structlog.get_logger(), self.config, self.state, self.map, self.memories),
            planned=lambda: way,
        )

    @property
    def section(self) -> PromptSection:
        section = self.memories_ahead.section(self.now)
        assert section is not None
        return section

    @property
    def lines(self) -> list[str]:
        return self.section.text.splitlines()


def test_memories_of_places_that_the_plan_names_are_shown_whole_until_the_player_comes_there(tmp_path: Path) -> None:
    told = "Take the mordant along. " * 12
    boil = replace(stands("Boil", told), episode=0)
    games = Places(tmp_path, boil, stands("Old").superseded("Boil", 3), plan="Look about")
    games.memories.memory_cache[LOFT.num] = [stands("Dry")]
    assert games.lines == []
    games.knowledge.planned = ("Then dip it at the Blue Vats (31)",)
    assert games.section.text == f"L31 Blue Vats: [NOTE] Boil: {told.strip()}"
    for way, place in (("east", VATS), ("west", GATE)):
        games.turn(way, location=place)
        assert games.lines == []


def test_memories_ahead_stand_in_the_order_of_the_plans_commands(tmp_path: Path) -> None:
    known = replace(stands("Lift"), score_change=5), stands("Dry")
    for way, places in (((LOFT.num, VATS.num, LOFT.num), ["L44", "L31"]), ((VATS.num,), ["L31", "L44"])):
        games = Places(tmp_path / places[0], *known, plan=f"L{VATS.num} at last, after L{LOFT.num}", way=way)
        games.memories.memory_cache[LOFT.num] = [*known]
        assert [line.partition(" ")[0] for line in games.lines] == places * 2


def test_what_brought_points_comes_first_of_memories_ahead_and_arrivals_last(tmp_path: Path) -> None:
    arrivals, scored = arrivals_at_the_vats(9, "word " * 120), replace(stands("Dip banner"), score_change=5)
    first, second, *_, last = Places(tmp_path, *arrivals, stands("Dry"), scored).lines
    assert ["Dip banner" in first, "Dry" in second] == [True] * 2
    assert re.fullmatch(r"\((\d) more memories of places ahead left out: \1 x arrival\)", last)


def test_of_arrivals_whose_text_is_among_the_earlier_games_only_the_locations_are_named(tmp_path: Path) -> None:
    games = Places(
        tmp_path, *arrivals_at_the_vats(1, "Vats (2 sentences left out) steam."), stands("Boil", "Vats steam.")
    )
    games.memories.memory_cache[LOFT.num] = [
        replace(stands("Arrival at Drying Loft", "It is dry."), persistence="core")
    ]
    games.knowledge.planned = ("L31, then L44",)
    whole = games.lines
    games.memories_ahead._is_in_games = "Blue Vats Vats steam. It is dry. The loft is cold.".__contains__
    boil, loft, named = games.lines
    assert [boil, loft] == [line for line in whole if "Arrival at Blue Vats" not in line]
    assert named == "(arrivals shown in the earlier games: L31)", "the text of the other one is that of another place"
    assert games.section.refers_to == ("Earlier games",)
    assert games.section.instead is not None
    assert games.section.instead.text.splitlines() == whole


def test_memories_of_places_with_known_points_are_ahead(tmp_path: Path) -> None:
    places = Places(tmp_path, stands("Boil"), plan="Look about")
    places.turn("east", location=VATS)
    places.turn("stir vat", score=5)
    places.end(1)
    places.memories_ahead._planned = lambda: places.ahead.places
    places.memories_ahead.reset(places.state)
    assert places.ahead.places == [VATS.num]
    assert places.section.text == "L31 Blue Vats: [NOTE] Boil: Boil"


def test_memories_ahead_without_room_are_named_by_their_titles(tmp_path: Path) -> None:
    rules, key = (
        [stands(f"Rule {number}", "word " * 60) for number in range(9)],
        replace(stands("Key"), text="word " * 400),
    )
    shown = Places(tmp_path, *arrivals_at_the_vats(2, "A room."), replace(key, category="SUCCESS"), *rules).section
    whole = shown.text.count("word " * 59)
    assert 0 < whole < 9
    assert shown.text.startswith("L31 Blue Vats: [NOTE] Rule 8: word"), "the newest comes first"
    assert "\nL31 Blue Vats: [SUCCESS] Key (text left out)\n" in shown.text
    assert shown.text.count("[NOTE] Rule") == 9
    assert len(shown.shows) == shown.text.count(": word") + shown.text.count(": A room.")


def test_memories_ahead_without_room_for_their_titles_are_counted_by_kind(tmp_path: Path) -> None:
    rules = [stands(f"Rule {number} {'word ' * 20}", "word " * 40) for number in range(30)]
    shown = Places(tmp_path, replace(stands("Key"), category="SUCCESS"), *rules).section
    left = 30 - shown.text.count("[NOTE] Rule")
    assert 0 < left < 30
    assert shown.text.endswith(f"({left + 1} more memories of places ahead left out: {left} x NOTE, SUCCESS)")


def test_memories_ahead_that_are_not_proven_are_marked(tmp_path: Path) -> None:
    games = Places(tmp_path, replace(stands("Rule"), status="TENTATIVE"))
    assert games.section.text == "L31 Blue Vats: [NOTE - TENTATIVE] Rule: Rule"


JAR = frozenset({MORDANT.num})


def test_points_for_the_same_thing_at_the_same_place_are_won_once_by_any_command(games: Games) -> None:
    games.turn("take all", score=3, inventory=(MORDANT,))
    games.turn("open gate", score=6)
    games.things = {(GATE.num, command): JAR for command in ("take all", "get jar", "take jar")}
    games.end(1)
    games.turn("get jar", score=3, inventory=(MORDANT,))
    games.turn("unlock gate", score=6)
    assert games.ahead_of == ["+3 open gate, L11, here"]
    assert "done: +3 get jar (turn 1)" in games.points_shown
    games.end(2)
    games.turn("take jar", score=3, inventory=(MORDANT,))
    assert games.ahead_of == ["+3 open gate, L11, here", "+3 unlock gate, L11, here"]


def test_points_of_one_game_and_for_other_things_are_others(games: Games) -> None:
    games.turn("take jar", score=3, inventory=(MORDANT,))
    games.turn("drop jar", inventory=())
    games.turn("grab jar", score=6, inventory=(MORDANT,))
    games.turn("take banner", score=9, inventory=(MORDANT, BANNER))
    games.things = {(GATE.num, f"{verb} jar"): JAR for verb in ("take", "grab")}
    games.things[GATE.num, "take banner"] = frozenset({BANNER.num})
    games.end(1)
    assert len(games.ahead_of) == 3
    games.turn("take jar", score=3, inventory=(MORDANT,))
    assert games.ahead_of == ["+3 grab jar, L11, here", "+3 take banner, L11, here"]
