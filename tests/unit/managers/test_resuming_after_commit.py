"""A run that was killed right after a commit resumes as one that was not, whoever has written the files since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import structlog
from pydantic import TypeAdapter, ValidationError

from managers.base_manager import ManagerSnapshot
from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from tests.fixtures.dye_works import VATS
from tests.unit.managers.episode_parts import EpisodePlay
from tests.unit.managers.knowledge_parts import NO_WATCH, KnowledgePlay, answer, line
from tests.unit.managers.lexicon_parts import changing, silent
from tests.unit.managers.lexicon_parts import manager_in as lexicon_in
from tests.unit.managers.memory_parts import MemoryPlay, learnt, memory, titles
from tests.unit.managers.memory_parts import manager_in as memories_in
from tests.unit.zorkgpt.mapping.turns import walk

if TYPE_CHECKING:
    from pathlib import Path

    from managers.base_manager import BaseManager


def killed_after_commit(manager: BaseManager) -> ManagerSnapshot:
    """What was due when the snapshot was taken is in the files since."""
    snapshot = manager.snapshot()
    manager.commit()
    assert manager.snapshot() != snapshot
    return snapshot


def resume(manager: BaseManager, snapshot: ManagerSnapshot) -> None:
    """As a run does it."""
    manager.hold(NO_WATCH)
    manager.restore_snapshot(snapshot, is_committed=True)
    manager.commit()


def goes_on_alike(manager: BaseManager, resumed: BaseManager) -> bool:
    """Also how often each file was looked at is the same: edits of others are recorded by that."""
    resume(resumed, killed_after_commit(manager))
    is_alike = resumed.snapshot() == manager.snapshot()
    return is_alike and resumed.get_status()["metrics"] == manager.get_status()["metrics"]


def map_in(workdir: Path) -> MapManager:
    return MapManager(structlog.get_logger(), GameConfiguration(zork_game_workdir=workdir), GameState())


def test_the_lexicon_counts_no_turn_twice(tmp_path: Path) -> None:
    manager = lexicon_in(tmp_path)
    manager.hold(NO_WATCH)
    manager.learn(changing("take basket", "Taken."))
    manager.show_all()
    snapshot = killed_after_commit(manager)
    other = lexicon_in(tmp_path)
    other.learn(silent("take river", "No."))
    other.show_all()
    resumed = lexicon_in(tmp_path)
    resume(resumed, snapshot)
    resumed.show_all()
    resumed.commit()
    assert resumed.lexicon == other.lexicon
    assert lexicon_in(tmp_path).lexicon == other.lexicon


def test_the_map_counts_no_walk_twice(tmp_path: Path) -> None:
    manager = map_in(tmp_path)
    manager.hold(NO_WATCH)
    manager.learn(walk(1, "north", 2))
    snapshot = killed_after_commit(manager)
    map_in(tmp_path).learn(walk(2, "up", 3))
    resumed = map_in(tmp_path)
    resume(resumed, snapshot)
    resumed.learn(walk(2, "west", 4))
    resumed.commit()
    found = map_in(tmp_path).game_map
    assert found.connections == {1: {"north": 2}, 2: {"up": 3, "west": 4}}
    assert set(found.connection_verifications.values()) == {1}


def test_a_memory_that_a_person_took_out_since_does_not_come_back(tmp_path: Path) -> None:
    manager = memories_in(tmp_path)
    manager.hold(NO_WATCH)
    manager.add_memory(VATS.num, VATS.name, memory("Mordant first"))
    snapshot = killed_after_commit(manager)
    (tmp_path / "Memories.md").write_text("")
    resumed = memories_in(tmp_path)
    resume(resumed, snapshot)
    resumed.add_memory(VATS.num, VATS.name, memory("Alum"))
    resumed.commit()
    assert titles(memories_in(tmp_path).memory_cache) == ["Alum"]


def test_news_that_were_considered_are_written_down_once(tmp_path: Path) -> None:
    play = MemoryPlay(tmp_path, [learnt()])
    play.manager.hold(NO_WATCH)
    play.turn("push lever", "The vats begin to stir.", score=5)
    play.manager.end("over")
    snapshot = killed_after_commit(play.manager)
    written = (tmp_path / "memory_news.txt").read_text()
    resume(memories_in(tmp_path), snapshot)
    assert written
    assert (tmp_path / "memory_news.txt").read_text() == written


def test_a_line_of_knowledge_that_a_person_took_out_since_does_not_come_back(tmp_path: Path) -> None:
    play = KnowledgePlay(tmp_path, [answer(line("Mordant goes in first.", 5))])
    play.manager.hold(NO_WATCH)
    play.play(10)
    snapshot = killed_after_commit(play.manager)
    assert play.known == ["- Mordant goes in first. *(Ep1, T5)*"]
    play.file.write_text("")
    resumed = KnowledgePlay(tmp_path, [answer(line("Alum goes in last.", 15))])
    for _ in range(10):
        resumed.turn()
    resume(resumed.manager, snapshot)
    resumed.play(10)
    resumed.manager.commit()
    assert resumed.known == ["- Alum goes in last. *(Ep1, T15)*"]


def test_a_summary_that_a_person_took_out_since_does_not_come_back(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path)
    play.manager.hold(NO_WATCH)
    play.turn()
    play.manager.end("over")
    snapshot = killed_after_commit(play.manager)
    file = tmp_path / "episode_summaries.jsonl"
    assert len(file.read_text().splitlines()) == 1
    file.write_text("")
    resumed = EpisodePlay(tmp_path)
    resume(resumed.manager, snapshot)
    resumed.begin(2)
    assert resumed.manager.handover() == ""
    assert file.read_text() == ""


def test_no_manager_knows_that_it_was_stopped(tmp_path: Path) -> None:
    lexicon, drawn = lexicon_in(tmp_path), map_in(tmp_path / "map")
    memories = MemoryPlay(tmp_path, [learnt()])
    knowledge = KnowledgePlay(tmp_path, [answer(line("Mordant goes in first.", 5))])
    episodes = EpisodePlay(tmp_path)
    for manager in (lexicon, drawn, memories.manager, knowledge.manager, episodes.manager):
        manager.hold(NO_WATCH)
    lexicon.learn(changing("take basket", "Taken."))
    lexicon.show_all()
    drawn.learn(walk(1, "north", 2))
    memories.turn("push lever", "The vats begin to stir.", score=5)
    memories.manager.end("over")
    knowledge.play(10)
    episodes.die()
    episodes.manager.end("over")
    assert goes_on_alike(lexicon, lexicon_in(tmp_path))
    assert goes_on_alike(drawn, map_in(tmp_path / "map"))
    assert goes_on_alike(memories.manager, memories_in(tmp_path))
    assert goes_on_alike(knowledge.manager, KnowledgePlay(tmp_path).manager)
    assert goes_on_alike(episodes.manager, EpisodePlay(tmp_path).manager)


@pytest.mark.parametrize("part", ["stores", "state"])
def test_a_snapshot_that_knows_more_is_refused_instead_of_losing_it(tmp_path: Path, part: str) -> None:
    manager = lexicon_in(tmp_path)
    adapter = TypeAdapter(ManagerSnapshot)
    snapshot = adapter.validate_json(adapter.dump_json(manager.snapshot()))
    known = snapshot.stores["lexicon.json"] if part == "stores" else snapshot.state
    known["more"] = 1
    with pytest.raises(ValidationError, match="more"):
        manager.restore_snapshot(snapshot)
