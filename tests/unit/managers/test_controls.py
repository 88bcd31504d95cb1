"""What other systems remember of earlier games: one lesson, and the turns most similar to the present one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import BaseModel

from managers.base_manager import BaseManager, ManagerParts
from managers.controls import GAMES_FILE, LESSON_FILE, Reflection, SimilarTurns
from managers.questions import ask_each
from orchestration.learning import shared_files
from session.commands import Vocabulary
from session.errors import ConfigurationError, LanguageModelUnavailable
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.text import TokenCounter
from session.values import Location, Observation, Proposal, StoryFacts, TurnRecord
from tests.fixtures.scripted_llm import ScriptedLLM
from zorkgpt.llm.language_model import Prompt, Role

GATE, VATS = Location(11, "Gate"), Location(31, "Blue Vats")
START = Observation("Gate\nLooms clatter behind a porter.", GATE, score=0)
FACTS = StoryFacts("dyeworks.z5", "dyeworks", "0" * 64, 5, 1, "260101", known=False, max_score=10)
Step = tuple[str, str, Location, int]
GAME: Sequence[Step] = (
    ("ask porter", "The porter shrugs.", GATE, 0),
    ("east", "Blue Vats\nSteam hides a crank.", VATS, 0),
    ("turn crank", "The sluice opens.", VATS, 5),
)


class Lessons:
    """A model that answers with the next lesson, or not at all after the last one."""

    def __init__(self, *lessons: str) -> None:
        self.prompts: list[Prompt] = []
        self._lessons = iter(lessons)

    def reply(self, _role: Role, prompt: Prompt, _schema: type[BaseModel]) -> dict[str, Any]:
        self.prompts.append(prompt)
        lesson = next(self._lessons, None)
        if lesson is None:
            raise LanguageModelUnavailable("no server")
        return {"lesson": lesson}


def built(
    kind: type[BaseManager],
    workdir: Path,
    episode: int,
    steps: Sequence[Step] = (),
    model: Lessons | None = None,
    **options: object,
) -> BaseManager:
    """The manager of that kind after these turns of the episode."""
    state = GameState(episode=episode)
    state.begin(START)
    config = GameConfiguration.model_validate(
        {"zork_game_workdir": workdir, "controls": {"reflection": True, "similar_turns": 5}, **options}
    )
    llm = ScriptedLLM((model or Lessons()).reply)
    parts = ManagerParts(structlog.get_logger(), config, state, llm, FACTS, Vocabulary(6, frozenset()), TokenCounter())
    manager = kind.build(parts)
    assert manager is not None
    for turn, (action, text, location, score) in enumerate(steps, start=1):
        after = Observation(text, location, score=score)
        state.record(TurnRecord(episode, turn, state.latest, (Proposal(action),), (), after))
    return manager


def shown(manager: BaseManager) -> str:
    section = manager.section(manager.game_state.latest)
    return section.text if section else ""


def end(manager: BaseManager) -> None:
    manager.finish("turn_limit")
    ask_each(manager.questions(()))


def test_neither_takes_part_or_has_a_file_unless_it_is_switched_on() -> None:
    names = {file.name for file in shared_files(GameConfiguration()).files}
    assert not names & {LESSON_FILE, GAMES_FILE}
    on = GameConfiguration.model_validate({"controls": {"reflection": True, "similar_turns": 5}})
    assert {file.name for file in shared_files(on).files} == names | {LESSON_FILE, GAMES_FILE}


def test_a_lesson_is_written_from_the_game_and_the_lesson_before_and_shown_in_the_next_games(tmp_path: Path) -> None:
    model = Lessons("Turn the crank.", "Turn the crank twice.")
    first = built(Reflection, tmp_path, 1, GAME, model)
    assert shown(first) == ""
    end(first)
    assert shown(first) == ""  # not in the game that it was learned from
    second = built(Reflection, tmp_path, 2, GAME[:1], model)
    assert shown(second) == "Turn the crank."
    end(second)
    assert (tmp_path / LESSON_FILE).read_text() == "Turn the crank twice.\n"
    asked = [prompt.user for prompt in model.prompts]
    assert "LESSON SO FAR:\n(none)" in asked[0]
    assert "Turn 3: turn crank (+5)\nThe sluice opens." in asked[0]
    assert "LESSON SO FAR:\nTurn the crank.\n" in asked[1]
    assert "turn crank" not in asked[1]


def test_the_lesson_stays_if_the_model_does_not_answer_or_nothing_was_played(tmp_path: Path) -> None:
    (tmp_path / LESSON_FILE).write_text("By hand: mind the fumes.\n")
    end(built(Reflection, tmp_path, 1, GAME, Lessons()))
    end(built(Reflection, tmp_path, 2, (), Lessons("Wait.")))
    assert shown(built(Reflection, tmp_path, 3)) == "By hand: mind the fumes."


def test_a_long_game_leaves_room_for_the_lesson_in_the_prompt(tmp_path: Path) -> None:
    model = Lessons("Wait.")
    steps = [(f"pull {n}", f"Nothing {n} happens. " * 30, GATE, 0) for n in range(400)]
    manager = built(Reflection, tmp_path, 1, steps, model)
    end(manager)
    (prompt,) = model.prompts
    assert prompt.length <= manager.tokens.characters(manager.config.prompt_budgets.analysis)
    assert "left out for want of room" in prompt.user


def test_the_turns_of_all_earlier_games_in_the_most_similar_situation_are_shown_first(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    end(built(SimilarTurns, tmp_path, 1, GAME))
    end(built(SimilarTurns, tmp_path, 2, [*GAME[:2], ("wait", "Fumes rise.", VATS, 0)]))
    end(built(SimilarTurns, tmp_path, 3, GAME[:1]))
    text = shown(built(SimilarTurns, tmp_path, 4, GAME[1:2]))
    assert text.startswith(
        "Episode 2, turn 3, L31: Blue Vats\nSteam hides a crank.\n> wait\nFumes rise.\n\nEpisode 1, turn 3, L31: "
    )
    assert "> turn crank (+5)\nThe sluice opens." in text
    assert (tmp_path / GAMES_FILE).read_text().startswith("# Transcripts\n\nEvery game. ")
    text = shown(built(SimilarTurns, tmp_path, 4))
    assert text.startswith("Episode 3, turn 1, at the start: Gate\nLooms clatter behind a porter.\n> ask porter\n")
    assert text.count("> ask porter") == 1


def test_no_more_turns_are_shown_than_set_and_none_of_this_game_or_without_a_word_in_common(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    steps = [(f"pull {n}", f"Lever {n} moves.", GATE, 0) for n in range(9)]
    manager = built(SimilarTurns, tmp_path, 1, steps)
    end(manager)
    assert shown(manager) == ""
    again = built(SimilarTurns, tmp_path, 2, steps[:4])
    assert shown(again).count("\n> ") == 5
    elsewhere = built(SimilarTurns, tmp_path, 2, [("go", "Nowhere.", VATS, 0)])
    assert shown(elsewhere) == ""


def test_the_turns_take_at_most_a_third_of_a_short_prompt(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    steps = [(f"pull {n}", f"Lever {n} moves. " * 90, GATE, 0) for n in range(9)]
    end(built(SimilarTurns, tmp_path, 1, steps))
    text = shown(built(SimilarTurns, tmp_path, 2, prompt_budgets={"agent": 1500}))
    assert text.count("\n> ") == 5
    assert len(text) <= 1500 * 4 / 3


def test_a_file_of_games_that_a_person_broke_or_emptied_is_no_error(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    for text in ("", "# Mine\n", "## Episode 1\n\n1. `` \n> ...\n"):
        (tmp_path / GAMES_FILE).write_text(text)
        assert shown(built(SimilarTurns, tmp_path, 2)) == ""


def test_a_missing_library_is_one_line_that_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(ConfigurationError, match=r"^bm25s is not installed: `.* install .*bm25.*` installs it$"):
        built(SimilarTurns, tmp_path, 1)
