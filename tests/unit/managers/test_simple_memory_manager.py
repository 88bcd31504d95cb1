"""What is remembered, where, and for how long."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from managers.map_manager import MapManager
from managers.memory.prompt import TENTATIVE_HEADING, shuffled_location
from managers.simple_memory_manager import INVALIDATION_MARKER, MemoryStatus, SimpleMemoryManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from session.values import GameObject, Location, Observation, Proposal, TurnRecord
from tests.fixtures.dye_works import GATE, LOFT, VATS
from tests.fixtures.held_stores import held
from tests.unit.managers.memory_parts import MemoryPlay, learned, manager_in, memory, titles
from tests.unit.zorkgpt.mapping.turns import walk


def text_of(workdir: Path) -> str:
    file = workdir / "Memories.md"
    return file.read_text(encoding="utf-8") if file.exists() else ""


class TestRouting:
    def test_counts_and_breakdown_tell_the_tiers_apart(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, memory("a", "core"), memory("b"), memory("c"), memory("d", "ephemeral"))
        manager.add_memory(44, "Drying Loft", memory("e", "ephemeral"))
        manager.invalidate_memory(31, "c", "no")
        assert manager.get_memory_breakdown(31) == {"core": 1, "permanent": 1, "ephemeral": 1}
        assert (manager.get_persistent_count(), manager.get_persistent_count(44)) == (3, 0)
        assert (manager.get_ephemeral_count(), manager.get_ephemeral_count(31)) == (2, 1)

    @pytest.mark.parametrize("is_wanted", [True, False])
    def test_changes_are_logged_and_details_of_ephemeral_memories_if_wanted(
        self, tmp_path: Path, is_wanted: bool
    ) -> None:
        manager = manager_in(tmp_path, debug_ephemeral=is_wanted)
        with capture_logs() as logs:
            manager.add_memory(31, "Blue Vats", memory("Jar", "ephemeral"))
            manager.supersede_memory(31, "Blue Vats", "Jar", memory("Sluice"))
            manager.invalidate_memory(31, "Sluice", "gone")
        assert [entry["title"] for entry in logs if "text" in entry] == ["Jar"] * is_wanted
        told = [(entry["title"], entry.get("new_title")) for entry in logs if "title" in entry]
        assert told == [("Jar", None), ("Sluice", None), ("Jar", "Sluice"), ("Sluice", None)]

    def test_an_action_without_a_location_is_a_warning(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        with capture_logs() as logs:
            manager.record_action_outcome(None, "Unknown", "wait", "Time passes.", {"score_delta": 5})
        assert [entry["log_level"] for entry in logs] == ["warning"]
        assert text_of(tmp_path) == ""

    @pytest.mark.parametrize("location_id", ["31", 31.0, True, -1])
    def test_what_is_no_location_is_refused_and_nothing_is_lost(self, tmp_path: Path, location_id: Any) -> None:
        manager = manager_in(tmp_path, memory())
        before = text_of(tmp_path)
        changes: list[tuple[Callable[..., object], tuple[object, ...]]] = [
            (manager.add_memory, ("Nowhere", memory("New"))),
            (manager.supersede_memory, ("Nowhere", "Mordant first", memory("New"))),
            (manager.invalidate_memory, ("Mordant first", "no")),
            (manager.record_action_outcome, ("Nowhere", "wait", "Time passes.", {"score_delta": 5})),
        ]
        for change, arguments in changes:
            with pytest.raises(ValueError, match=r"is not a location id: expected a whole number, not negative"):
                change(location_id, *arguments)
        assert text_of(tmp_path) == before

    @pytest.mark.parametrize("is_held", [True, False])
    def test_what_a_caller_puts_into_the_cache_is_kept_like_any_memory(self, tmp_path: Path, is_held: bool) -> None:
        manager = manager_in(tmp_path)
        if is_held:
            held(tmp_path, manager)
        manager.add_memory(31, "Blue Vats", memory("Kept"))
        manager.memory_cache[44] = [memory("Given")]
        manager.memory_cache[31].append(memory("Added"))
        assert "Given" in manager.get_location_memory(44)
        manager.add_memory(11, "Gate", memory("Later"))
        manager.commit()
        known = manager_in(tmp_path).memory_cache
        assert [titles(known, place) for place in (GATE, VATS, LOFT)] == [["Later"], ["Kept", "Added"], ["Given"]]
        assert manager.memory_cache == known


class TestSupersession:
    @pytest.mark.parametrize(
        ("old", "new"),
        [("ephemeral", "ephemeral"), ("ephemeral", "permanent"), ("permanent", "permanent"), ("core", "core")],
    )
    def test_the_old_memory_is_marked_the_new_one_in_its_own_tier(self, tmp_path: Path, old: str, new: str) -> None:
        manager = manager_in(tmp_path, memory("Old way", old))
        assert manager.supersede_memory(31, "Blue Vats", "OLD  way", memory("New way", new, turns="50"))
        tiers = {"ephemeral": manager.ephemeral_cache}
        marked = tiers.get(old, manager.memory_cache)[31][0]
        assert (marked.status, marked.superseded_by, marked.superseded_at_turn) == ("SUPERSEDED", "New way", 50)
        assert titles(tiers.get(new, manager.memory_cache)) == ["New way"]
        assert manager_in(tmp_path).memory_cache == manager.memory_cache

    @pytest.mark.parametrize("old", ["core", "permanent"])
    def test_a_persistent_memory_is_never_superseded_by_an_ephemeral_one(self, tmp_path: Path, old: str) -> None:
        manager = manager_in(tmp_path, memory("Old way", old))
        with capture_logs() as logs:
            assert not manager.supersede_memory(31, "Blue Vats", "Old way", memory("New way", "ephemeral"))
        assert [entry["log_level"] for entry in logs] == ["warning"]
        assert f"a {old} memory is never superseded by an ephemeral one" in logs[0]["reason"]
        assert titles(manager.memory_cache) == ["Old way"]
        assert manager.ephemeral_cache == {}

    def test_a_title_is_never_found_by_a_part_of_it(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, memory("Fumes kill"))
        assert not manager.supersede_memory(31, "Blue Vats", "Fumes", memory("Fumes sting"))
        assert not manager.invalidate_memory(31, "Fumes", "no")
        assert titles(manager.memory_cache) == ["Fumes kill"]

    def test_a_memory_may_be_superseded_under_its_own_title(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, memory("Way", status=MemoryStatus.TENTATIVE))
        assert manager.get_location_memory(31).splitlines() == [TENTATIVE_HEADING, "  [NOTE] Way: About Way."]
        assert manager.supersede_memory(31, "Blue Vats", "Way", memory("Way", text="Confirmed."))
        assert manager.get_location_memory(31) == "[NOTE] Way: Confirmed."

    def test_ephemeral_memories_go_when_the_episode_ends_a_superseded_one_too(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, memory("Left jar here", "ephemeral"), memory("Wet", "ephemeral"))
        manager.supersede_memory(31, "Blue Vats", "Left jar here", memory("Jar opens the sluice"))
        assert manager.get_ephemeral_count(31) == 2
        assert "Left jar here" not in manager.get_location_memory(31)
        manager.reset_episode()
        assert manager.ephemeral_cache == {}
        assert titles(manager.memory_cache) == ["Jar opens the sluice"]


class TestInvalidation:
    def test_false_memories_are_marked_with_reason_and_turn_in_one_write(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, memory("a"), memory("b", "ephemeral"), memory("C", "core"))
        before = text_of(tmp_path)
        found = manager.invalidate_memories(location_id=31, memory_titles=["a", "b", "c", "x"], reason="No", turn=3)
        assert found == {"a": True, "b": True, "c": True, "x": False}
        assert (tmp_path / "Memories.md.backup").read_text() == before
        for kept in (*manager.memory_cache[31], *manager.ephemeral_cache[31]):
            assert (kept.status, kept.superseded_by) == ("SUPERSEDED", INVALIDATION_MARKER)
            assert (kept.invalidation_reason, kept.superseded_at_turn) == ("No", 3)
        assert not manager.invalidate_memory(31, "c", "again")
        assert [manager.get_location_memory(place) for place in (31, 44, None)] == ["", "", ""]

    def test_what_was_given_up_before_keeps_its_reason_and_the_turn_is_the_present_one(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, memory("Jar is here", "ephemeral"))
        manager.game_state.turn_count = 40
        manager.supersede_memory(31, "Blue Vats", "Jar is here", memory("Jar is here", "ephemeral"))
        manager.invalidate_memory(31, "Jar is here", "taken")
        old, new = manager.ephemeral_cache[31]
        assert (old.superseded_by, new.superseded_by) == ("Jar is here", INVALIDATION_MARKER)
        assert new.superseded_at_turn == 40


class TestView:
    @pytest.mark.parametrize("marks", [True, False])
    def test_persistent_memories_come_first_then_ephemeral_then_tentative_ones(
        self, tmp_path: Path, marks: bool
    ) -> None:
        manager = manager_in(
            tmp_path,
            memory("Left jar", "ephemeral"),
            memory("Maybe", status=MemoryStatus.TENTATIVE),
            memory("Banner hangs here", "core", text="On the\nbeam."),
            memory("Rule"),
            show_persistence_markers=marks,
        )
        assert manager.get_location_memory(31).splitlines() == [
            f"[NOTE] Banner hangs here: On the beam.{' [spawn]' * marks}",
            "[NOTE] Rule: About Rule.",
            f"[NOTE] Left jar: About Left jar.{' [session]' * marks}",
            "",
            TENTATIVE_HEADING,
            "  [NOTE] Maybe: About Maybe.",
        ]

    @pytest.mark.parametrize("is_small", [False, True])
    def test_what_was_repeated_in_this_game_says_in_which_turn_or_is_not_shown_to_a_small_model(
        self, tmp_path: Path, is_small: bool
    ) -> None:
        options = {"agent": {"reasoning_length": 0}} if is_small else {}
        oil = memory("Oil", text="Here `open tap`, then fill lamp.")
        manager = manager_in(tmp_path, oil, memory("Rule"), **options)
        here, oily = Observation("", Location(31, "Blue Vats"), (), ()), GameObject(7, "lamp", 31)
        filled = replace(here, visible=(oily,))
        assert "done" not in manager.get_location_memory(31)
        manager.game_state.record(TurnRecord(2, 1, here, (Proposal("fill lamp"),), (), filled))
        lines = manager.get_location_memory(31).splitlines()
        assert ["fill lamp done, turn 1" in line for line in lines if "Oil" in line] == [True] * (not is_small)
        assert any("Rule" in line for line in lines)
        assert not any("done" in line for line in lines if "Rule" in line)

    def test_where_they_are_shuffled_each_location_is_shown_anothers(self, tmp_path: Path) -> None:
        places = [31, 44, 52]
        for workdir, shuffled in ((tmp_path / "as it is", False), (tmp_path / "shuffled", True)):
            manager = manager_in(workdir, simple_memory={"shuffled": shuffled})
            for place in places:
                manager.add_memory(place, "", memory(f"Of {place}"))
            shown = [manager.shown_location(place) for place in places]
            assert sorted(filter(None, shown)) == places
            assert [whose == place for whose, place in zip(shown, places, strict=True)] == [not shuffled] * 3
            assert manager.shown_location(60) == (None if shuffled else 60)

    def test_no_memory_takes_more_than_a_quarter_and_one_that_is_cut_keeps_its_title(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path, simple_memory={"max_tokens": 100})
        long = "`open drawer`: a can of oil, a brass key and a tobacco tin, and a letter"
        for title in ("one", "two", long):
            manager.add_memory(31, "Blue Vats", memory(title, text="x" * 900))
        lines = manager.get_location_memory(31).splitlines()
        assert [len(line) for line in lines] == [100, 100, 100]
        heads = [re.sub(r" x* \[….*", "", line) for line in lines]
        assert heads == ["[NOTE] one:", "[NOTE] two:", f"[NOTE] {long}:"]

    def test_what_is_shown_keeps_to_the_budget_with_dangers_and_the_newest(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        manager.memory_cache[31] = [
            memory(f"Fact {number}", turns=str(number), text="word " * 40, episode=2) for number in range(40)
        ]
        manager.memory_cache[31][3] = memory("Fumes", category="DANGER", turns="1", text="kill " * 600)
        shown = manager.get_location_memory(31)
        assert TokenCounter().estimate(shown) <= 500
        assert "[DANGER] Fumes" in shown
        assert "Fact 39" in shown
        assert "Fact 0" not in shown

    def test_the_newest_successes_and_failures_are_shown_as_many_as_configured(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        manager.memory_cache[31] = [
            memory(f"{category} {number}", category=category, turns=str(number))
            for category in ("SUCCESS", "FAILURE")
            for number in range(1, 9)
        ]
        manager.memory_cache[31].append(memory("given up", category="SUCCESS", turns="9").superseded("x", 9))
        shown = manager.get_location_memory(31)
        assert [shown.count("[SUCCESS]"), shown.count("[FAILURE]")] == [5, 5]
        assert "SUCCESS 8" in shown
        assert "FAILURE 3" not in shown


class TestVisits:
    def test_memories_begin_with_the_number_of_visits_from_the_second_visit_on(self, tmp_path: Path) -> None:
        """The visit that begins is counted on arrival."""
        play = MemoryPlay(tmp_path, lambda *_: {"memories": []})
        memories = "[NOTE] Mordant first: About Mordant first."

        def told() -> list[str]:
            return play.manager.get_location_memory(GATE.num).splitlines()

        play.turn()
        play.manager.add_memory(GATE.num, GATE.name, memory())
        assert told() == [memories]
        play.turn("walk", location=VATS)
        for _ in range(2):
            play.turn("walk", location=GATE)
            assert told() == ["This is visit 2.", memories]
        play.begin(2)
        for _ in range(2):
            assert told() == ["This is visit 3, counted over 2 episodes.", memories]
            play.turn("look")
        play.manager.end()
        assert "**Visits:** 3 | **Episodes:** 1, 2" in text_of(tmp_path)

    def test_an_arrival_in_the_last_turn_counts_once(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path)
        play.manager.add_memory(VATS.num, VATS.name, memory())
        play.turn()
        play.turn("north", "Blue Vats", location=VATS)
        play.manager.end()
        assert "**Visits:** 2 | **Episodes:** 1" in text_of(tmp_path)
        play.begin(2)
        play.manager.commit()
        assert "**Visits:** 2 | **Episodes:** 1" in text_of(tmp_path)

    def test_where_nothing_is_remembered_no_visits_are_told(self, tmp_path: Path) -> None:
        (tmp_path / "Memories.md").write_text("## Location 11: Gate\n**Visits:** 7 | **Episodes:** 1, 2\n")
        assert manager_in(tmp_path).get_location_memory(11) == ""

    def test_a_persons_heading_without_a_name_gets_it_when_the_location_is_visited(self, tmp_path: Path) -> None:
        written = f"## Location {VATS.num}\n**[NOTE - PERMANENT] Mine**\nKeep this.\n"
        (tmp_path / "Memories.md").write_text(written)
        play = MemoryPlay(tmp_path)
        play.turn("north", "Blue Vats", location=VATS)
        play.turn()
        play.manager.end()
        assert f"## Location {VATS.num}: {VATS.name}\n" in text_of(tmp_path)
        assert "**[NOTE - PERMANENT] Mine**\nKeep this.\n" in text_of(tmp_path)

    def test_a_visit_costs_no_write_of_its_own(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path)
        play.manager.add_memory(VATS.num, VATS.name, memory())
        written = (tmp_path / "Memories.md").stat().st_mtime_ns
        play.turn("north", "Blue Vats", location=VATS)
        play.turn("south", "The gate creaks.", location=LOFT)
        assert (tmp_path / "Memories.md").stat().st_mtime_ns == written
        assert play.metrics["pending_edits"] == 1

    def test_those_before_the_first_memory_count(self, tmp_path: Path) -> None:
        config = GameConfiguration(zork_game_workdir=tmp_path)
        state = GameState(episode=1)
        map_manager = MapManager(structlog.get_logger(), config, state)
        manager = SimpleMemoryManager(structlog.get_logger(), config, state, map_manager=map_manager)
        for episode in (1, 2, 3):
            map_manager.reset(GameState(episode=episode))
            manager.reset(GameState(episode=episode))
            for step in (walk(11, "north", 31), walk(31, "south", 11))[: 1 if episode == 3 else 2]:
                map_manager.learn(replace(step, episode=episode))
        manager.add_memory(31, "Blue Vats", memory("Mordant first"))
        assert manager.get_location_memory(31).startswith("This is visit 3, counted over 3 episodes.\n")
        map_manager.end("over")
        map_manager.commit()
        again = MapManager(structlog.get_logger(), config, GameState())
        assert again.visits(31) == (3, 3)


class TestEpisodeState:
    def test_a_turn_that_never_reached_the_story_teaches_nothing(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path)
        record = play.turn("wait")
        visit = play.manager._visit
        known = replace(visit, news=[*visit.news], tried={*visit.tried}, laid_down=deepcopy(visit.laid_down))
        play.manager.learn(replace(record, turn=2, after=replace(record.after, refusal="no", died=True)))
        assert visit == known

    def test_the_figures_show_what_is_kept_and_how_learning_went(self, tmp_path: Path) -> None:
        play = MemoryPlay(tmp_path, [{"memories": [learned(), learned()]}, {"memories": [learned("Two")]}])
        play.turn("enter gate", "Blue Vats", location=VATS)
        play.turn("stir", "It swirls.", world_hash="1")
        play.manager.consider()
        status = play.manager.get_status()
        assert status["state"] == {"file": str(tmp_path / "Memories.md"), "writable": True}
        assert status["metrics"] == {
            "locations": 2,
            "persistent_memories": 2,
            "ephemeral_memories": 0,
            "pending_news": 0,
            "pending_edits": 0,
            "synthesis_calls": 2,
            "synthesis_failures": 0,
            "memories_learned": 2,
            "core_validation_downgrade": 0,
            "refused": 1,
        }


def test_a_removed_title_is_gone_from_every_location_and_both_tiers(tmp_path: Path) -> None:
    known = [memory("Mordant first"), memory("Alum last"), memory("Jar left here", "ephemeral")]
    manager = manager_in(tmp_path, *known, memory("Banner is wet", "ephemeral"))
    for each in known:
        manager.add_memory(LOFT.num, LOFT.name, each)
    written = text_of(tmp_path)
    assert not manager.remove_memory("Vats boil")
    assert text_of(tmp_path) == written
    assert manager.remove_memory("mordant  FIRST")
    assert manager.remove_memory("Jar left here")
    for location in (VATS, LOFT):
        assert titles(manager.memory_cache, location) == ["Alum last"]
        assert titles(manager_in(tmp_path).memory_cache, location) == ["Alum last"]
    assert titles(manager.ephemeral_cache) == ["Banner is wet"]
    assert titles(manager.ephemeral_cache, LOFT) == []


# Each location is shown another's memories: a permutation without a fixed point.

LOCATIONS = st.sets(st.integers(1, 600), min_size=2, max_size=40)
SEEDS = st.integers(1, 2**31)


@given(LOCATIONS, SEEDS)
def test_every_location_with_memories_is_shown_another_one_and_all_are_shown_once(known: set[int], seed: int) -> None:
    shown = {location: shuffled_location(location, known, seed) for location in known}
    assert all(location != other for location, other in shown.items())
    assert set(shown.values()) == known


@given(LOCATIONS, SEEDS)
def test_the_same_seed_shuffles_alike_whatever_the_order_of_the_locations(known: set[int], seed: int) -> None:
    for location in known:
        assert shuffled_location(location, sorted(known), seed) == shuffled_location(
            location, sorted(known, reverse=True), seed
        )


@given(LOCATIONS, SEEDS, st.integers(601, 700))
def test_one_more_location_changes_what_one_other_is_shown(known: set[int], seed: int, joining: int) -> None:
    before = {location: shuffled_location(location, known, seed) for location in known}
    after = {location: shuffled_location(location, {*known, joining}, seed) for location in known}
    assert sum(before[location] != after[location] for location in known) == 1


def test_another_seed_shuffles_otherwise() -> None:
    shown = [[shuffled_location(location, range(1, 20), seed) for location in range(1, 20)] for seed in (1, 2)]
    assert shown[0] != shown[1]


def test_a_location_without_memories_and_one_that_alone_has_some_are_shown_none() -> None:
    assert shuffled_location(7, {1, 2}, seed=1) is None
    assert shuffled_location(7, {7}, seed=1) is None
