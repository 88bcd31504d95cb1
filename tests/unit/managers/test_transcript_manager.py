"""The best and the latest game: kept at an episode's end, and the same in every prompt of an episode."""

from __future__ import annotations

from pathlib import Path

import structlog

from managers.transcript_manager import TRANSCRIPTS_FILE, TranscriptManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Location, Observation, Proposal, TurnRecord

GATE = Observation("Gate\nLooms clatter.", Location(11, "Gate"), score=0)


def played(workdir: Path, episode: int, *scores: int | None, **options: object) -> TranscriptManager:
    """A manager after an episode in which each turn brought the score to one of these."""
    state = GameState(episode=episode)
    state.begin(GATE)
    config = GameConfiguration.model_validate({"zork_game_workdir": workdir, **options})
    manager = TranscriptManager(structlog.get_logger(), config, state)
    for turn, score in enumerate(scores, start=1):
        after = Observation(f"Done {turn}.", GATE.location, score=score)
        state.record(TurnRecord(episode, turn, state.latest, (Proposal(f"pull {turn}"),), (), after))
    return manager


def shown(manager: TranscriptManager) -> str:
    section = manager.section(GATE)
    return section.text if section else ""


def test_an_opening_is_shown_once_and_that_of_an_earlier_game_if_this_game_shows_another_or_none(
    tmp_path: Path,
) -> None:
    first = played(tmp_path, 1, 5)
    first.game_state.opening = "Gate\nLooms clatter.  \nRelease 3 / Serial number 990101 / Inform v6.15\n"
    first.finish("turn_limit")
    assert "Start:\nAs in this game, below.\n" in shown(played(tmp_path, 2))
    assert "Start:\nGate\nLooms clatter.\n" in shown(played(tmp_path, 2, prompt_budgets={"history": 0}))
    another = played(tmp_path, 2, 9)
    another.game_state.opening = "Gate\nLooms are still."
    assert "Start:\nGate\nLooms clatter.\n" in shown(another)
    another.finish("turn_limit")
    third = played(tmp_path, 3, prompt_budgets={"history": 0})
    assert shown(third).index("Looms are still.") < shown(third).index("Looms clatter.")


def test_an_episode_without_a_turn_is_not_kept(tmp_path: Path) -> None:
    played(tmp_path, 1).finish("left")
    assert not (tmp_path / TRANSCRIPTS_FILE).exists()


def test_what_is_shown_stays_during_an_episode_and_follows_the_file_in_the_next(tmp_path: Path) -> None:
    played(tmp_path, 1, 5).finish("turn_limit")
    manager = played(tmp_path, 2, 9)
    before = shown(manager)
    (tmp_path / TRANSCRIPTS_FILE).write_text("")
    manager.stores[0].look()
    manager.followed()
    assert shown(manager) == before
    manager.finish("turn_limit")
    manager.reset(GameState(episode=3))
    assert shown(manager).startswith("Episode 2, 9 points:")


def test_only_whole_texts_of_the_games_in_the_prompt_are_shown_there(tmp_path: Path) -> None:
    first = played(tmp_path, 1, 5)
    first.game_state.opening = "Gate\nLooms clatter."
    first.finish("turn_limit")
    another = played(tmp_path, 2)
    another.game_state.opening = "Gate\nLooms are still."
    assert [another.shows(text) for text in ("Looms\n clatter.", "Done 1.", "Looms clatter. It is dark.")] == [
        *(True, True, False)
    ]
    assert not played(tmp_path, 2, prompt_budgets={"earlier_games": 0}).shows("Looms clatter.")


def test_the_commands_of_the_games_in_the_prompt_are_known_if_all_have_room(tmp_path: Path) -> None:
    played(tmp_path, 1, 5, 6).finish("turn_limit")
    assert played(tmp_path, 2).commands() == {"episode 1": ["pull 1", "pull 2"]}
    assert played(tmp_path, 2, prompt_budgets={"earlier_games": 0}).commands() == {}
    played(tmp_path, 3, *range(1000)).finish("turn_limit")
    assert "left out for want of room" in shown(played(tmp_path, 4))
    assert played(tmp_path, 4).commands() == {}


def test_the_questions_at_an_episodes_end_have_the_same_games_within_a_quarter_of_their_budget(tmp_path: Path) -> None:
    played(tmp_path, 1, *range(1000)).finish("turn_limit")
    manager = played(tmp_path, 2, 500)
    manager.finish("turn_limit")
    material = manager.material()
    assert material.startswith("\n\n=== EARLIER GAMES, WITH EVERY COMMAND ===\nEpisode 1, 999 points:\n\nStart:\nGate")
    assert "Episode 2" not in material
    assert 10_000 < len(material) < 15_100 < len(shown(manager))


def test_nothing_is_shown_without_room_but_the_game_is_kept(tmp_path: Path) -> None:
    played(tmp_path, 1, 5, prompt_budgets={"earlier_games": 0}).finish("turn_limit")
    for budgets in ({"earlier_games": 0}, {"agent": 4000}):
        manager = played(tmp_path, 2, prompt_budgets=budgets)
        assert (shown(manager), len(manager.games)) == ("", 1)
