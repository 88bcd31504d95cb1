"""Episodes are summed up from facts, submitted once if instructive, and reported in the past tense."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from managers.episodes import (
    INSTRUCTIONS_SHARE,
    SUMMARIES_FILE,
    Death,
    EpisodeSummary,
    Scored,
    Step,
    parse_summaries,
)
from managers.knowledge_manager import KnowledgeManager
from managers.map_manager import MapManager
from managers.questions import LEAST_AT_END, SHARE_AT_END
from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid, StoreError
from session.events import EpisodeEnd
from session.game_state import GameState
from session.knowledge import DEATH_ANALYSIS, INSIGHTS, PLAN_LINES, KnowledgeLine, Source
from session.memory import Memory
from session.text import TokenCounter
from session.values import Location, Verdict
from tests.fixtures.dye_works import GATE, VATS, section_text
from tests.fixtures.held_stores import held
from tests.unit.managers.episode_parts import EpisodePlay
from tests.unit.managers.objective_parts import Memories
from zorkgpt.prompts.loader import fill_prompt

SMALLEST_BUDGET = INSTRUCTIONS_SHARE * TokenCounter().estimate(fill_prompt("episode"))
NOTHING: dict[str, object] = {}
PATTERNS, PLACES, WAYS, DISCOVERIES = INSIGHTS
HOOD = KnowledgeLine("Put the hood on first", (Source(1, 3, 3),))
LAMP = KnowledgeLine("Lamps burn out", (Source(1, 40, 44), Source(2, 9, 9)))
BY_HAND = KnowledgeLine("Mind the step")


@pytest.fixture
def play(tmp_path: Path) -> EpisodePlay:
    return EpisodePlay(tmp_path, lambda *_: NOTHING)


def insight(text: str, heading: str = PATTERNS, **fields: object) -> dict[str, list[dict[str, object]]]:
    return {"insights": [{"heading": heading, "text": text, **fields}]}


def summaries(folder: Path) -> list[str]:
    return (folder / SUMMARIES_FILE).read_text(encoding="utf-8").splitlines()


def next_told(play: EpisodePlay, end: EpisodeEnd = "over") -> str:
    """The episode has ended, and the next one is told this."""
    play.manager.end(end)
    play.begin(play.state.episode + 1)
    return play.manager.handover


def test_a_summary_is_made_of_facts_alone(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path)
    play.turn("east", "Steam hangs over the vats.", location=VATS)
    play.turn("dip banner", "It turns blue!", score=15)
    play.turn("tear banner", "You have died, says the banner.", score=10)
    assert not play.manager.synthesize_inter_episode_wisdom()
    play.turn("west", "The gate creaks.", location=GATE)
    assert play.summed_up("turn_limit") == EpisodeSummary(
        episode=1,
        end="turn_limit",
        turns=4,
        score=10,
        best_score=15,
        max_score=50,
        rooms=2,
        scored=(Scored(2, VATS, "dip banner", 15), Scored(3, VATS, "tear banner", -5)),
    )
    assert play.llm.calls == []
    assert json.loads((tmp_path / "current_state.json").read_text())["episode"] == 1


def test_a_score_that_is_not_known_at_the_end_is_the_last_known_one_in_the_summary(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path)
    play.turn("dip banner", score=15)
    play.turn(score=None, max_score=None)
    assert "after 2 turns, with 15 points out of 50 and 1 room seen" in next_told(play)


def test_a_story_without_score_and_places_is_summed_up_without(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path)
    play.now = play.now.__class__("Fog.")
    play.state = GameState(episode=1)
    play.manager.reset(play.state)
    play.turn()
    summary = play.summed_up("over")
    assert (summary.score, summary.best_score, summary.rooms, summary.scored) == (None, None, 0, ())
    assert next_told(play).startswith("Episode 1 came to the story's end after 1 turn. The story")


def test_a_death_is_kept_with_the_turns_that_led_to_it(play: EpisodePlay) -> None:
    play.wait_until(9)
    play.die()
    play.die()
    first, second = play.summed_up("over").deaths
    assert [step.turn for step in first.steps] == [6, 7, 8, 9, 10, 11]
    assert [(step.turn, step.location, step.action) for step in second.steps] == [
        (12, GATE, "east"),
        (13, VATS, "drink dye"),
    ]
    assert second.last.response == "It tastes of tin. The fumes take you."


def judged(confidence: float) -> tuple[Verdict, ...]:
    return (Verdict(accepted=True, confidence=confidence),)


def test_the_critics_score_is_the_mean_confidence_in_what_was_played(play: EpisodePlay) -> None:
    against = Verdict(accepted=False, confidence=0.8)
    play.turn(verdicts=(against, *judged(0.9)))
    play.turn(verdicts=judged(0.5))
    play.turn(verdicts=(against,))
    play.turn(verdicts=(Verdict(accepted=True),))
    assert play.summed_up("turn_limit").critic_score == pytest.approx((0.9 + 0.5 - 0.8) / 3)


@pytest.mark.parametrize(
    ("happening", "end", "asked"),
    [
        (lambda play: play.die(), "lost", 1),
        (lambda play: play.die(), "turn_limit", 1),
        (lambda play: play.turn(score=50), "turn_limit", 1),
        (lambda play: play.turn(score=49), "won", 0),
        (lambda play: [play.turn(score=score) for score in (60, 40)], "over", 0),
        (lambda play: play.wait_until(100), "turn_limit", 1),
        (lambda play: play.wait_until(20), "turn_limit", 1),
        (lambda play: play.wait_until(19), "turn_limit", 0),
        (lambda play: play.turn(verdicts=judged(0.3)), "over", 1),
        (lambda play: play.turn(verdicts=judged(0.29)), "over", 0),
        (lambda play: play.wait_until(100), "won", 1),
    ],
)
def test_an_instructive_episode_is_asked_about(
    play: EpisodePlay, happening: Callable[[EpisodePlay], object], end: EpisodeEnd, asked: int
) -> None:
    happening(play)
    play.manager.end(end)
    assert [call.role for call in play.llm.calls] == ["analysis"] * asked


def test_the_plan_is_replaced_and_the_next_episode_reads_it_first(tmp_path: Path) -> None:
    first = {**NOTHING, "plan": ["Take the knife from the drawer along (a guess)"]}
    play = EpisodePlay(tmp_path, [first, {**NOTHING, "plan": None}, {**NOTHING, "plan": []}])
    for episode in (1, 2, 3):
        play.begin(episode)
        assert ("\n1. Take the knife" in section_text(play.manager, play.now)) == (episode > 1)
        play.wait_until(20)
        play.manager.end("turn_limit")
        assert ("=== PLAN SO FAR ===\nTake the knife" in play.prompt) == (episode > 1)
    assert play.knowledge.plan() == ()


def test_the_question_about_the_plan_has_what_the_managers_know_to_be_open(play: EpisodePlay) -> None:
    game_map = MapManager(structlog.get_logger(), play.config, play.state)
    game_map.game_map.add_room(GATE.num, GATE.name)
    game_map.game_map.add_exits(GATE.num, ["east"])
    play.state.notes.append("red before blue")
    play.wait_until(19)
    play.turn("look", f"{GATE.name}\nIt is shut.")
    play.manager.end("turn_limit", game_map.outlook().splitlines())
    untried = "Untried exits (moves from the start): L11 Dye Works Gate (0): east"
    latest = "Turn 20 at Dye Works Gate (11): look: Dye Works Gate: It is shut."
    assert f"=== FOR THE PLAN ===\n{untried}\nNoted: red before blue\n" in play.prompt
    assert play.prompt.endswith(latest)


def test_what_is_learned_comes_from_the_turns_that_led_to_a_death_or_that_an_insight_names(tmp_path: Path) -> None:
    hood = insight("Wear the hood", "death patterns ACROSS episodes", turns=[2, 1, 4, 2])
    answer = {
        "deaths": [{"turn": 5, "text": "Fumes  kill\nat the vats."}],
        "insights": [*insight("From nowhere")["insights"], *hood["insights"]],
    }
    play = EpisodePlay(tmp_path, [answer], episode=4)
    play.wait_until(3)
    play.lose()
    assert play.knowledge.lines == {DEATH_ANALYSIS: [KnowledgeLine("Fumes kill at the vats.", (Source(4, 1, 5),))]}
    assert play.knowledge.insight_lines[PATTERNS] == (
        KnowledgeLine("Wear the hood", (Source(4, 1, 2), Source(4, 4, 4))),
    )
    assert [heading in play.llm.calls[-1].prompt.system for heading in INSIGHTS] == [True] * 4
    assert play.metrics["refused"] == 1
    play.begin(5)
    assert not play.manager.synthesize_inter_episode_wisdom()
    assert len(play.llm.calls) == 1


YARN = KnowledgeLine("Yarn sells", (Source(3, 1, 1),))
BOTH = KnowledgeLine("Hood and lamp first", (*HOOD.sources, *LAMP.sources, Source(3, 2, 2)))
AGAIN = KnowledgeLine("put the HOOD on first", (*HOOD.sources, Source(3, 2, 2)))


@pytest.mark.parametrize(
    ("answer", "known", "expected"),
    [
        (
            insight("Yarn sells", DISCOVERIES, turns=[1]),
            {PATTERNS: (BY_HAND, HOOD), PLACES: (LAMP,)},
            {PATTERNS: (BY_HAND, HOOD), PLACES: (LAMP,), DISCOVERIES: (YARN,)},
        ),
        (
            insight("Hood and lamp first", WAYS, turns=[2], replaces=[1, 2]),
            {PATTERNS: (HOOD,), PLACES: (LAMP,)},
            {WAYS: (BOTH,)},
        ),
        *(
            (
                insight(AGAIN.text, turns=[2], replaces=replaces),
                {PATTERNS: (HOOD,)},
                {PATTERNS: (AGAIN,)},
            )
            for replaces in ([], [1])
        ),
        (insight("Mind the step", turns=[2], replaces=[1]), {PATTERNS: (BY_HAND,)}, {PATTERNS: (BY_HAND,)}),
    ],
    ids=[
        *("others stay", "merged ones keep their sources", "confirmed by its words", "confirmed by its number"),
        "a person's is not repeated",
    ],
)
def test_insights_are_added_merged_and_confirmed(
    tmp_path: Path,
    answer: dict[str, object],
    known: dict[str, tuple[KnowledgeLine, ...]],
    expected: dict[str, tuple[KnowledgeLine, ...]],
) -> None:
    play = EpisodePlay(tmp_path, [answer], episode=3)
    play.knowledge.insight_lines = known
    play.lose()
    assert play.knowledge.insight_lines == expected
    assert play.metrics["refused"] == 0


@pytest.mark.parametrize(
    "nonsense",
    [
        {"deaths": [{"turn": 1, "text": "The player died here."}]},
        {"deaths": [{"turn": 2, "text": " \n "}]},
        insight("From nowhere"),
        insight("Of a turn that was not played", turns=[2, 3]),
        insight("Of turn 0", turns=[0]),
        insight("Under no heading", "Lessons", turns=[1]),
        insight("Of an unknown insight alone", replaces=[3]),
        insight("Of one insight alone", replaces=[1, 1]),
        insight("Put the hood on first", replaces=[1]),
        insight("Of a person's insight alone", replaces=[2]),
        insight("  ", turns=[1]),
    ],
)
def test_what_makes_no_sense_changes_nothing_and_is_counted(tmp_path: Path, nonsense: dict[str, object]) -> None:
    play = EpisodePlay(tmp_path, [nonsense])
    known = play.knowledge.insight_lines = {PATTERNS: (HOOD, BY_HAND)}
    play.lose()
    assert (play.knowledge.lines, play.knowledge.insight_lines) == ({}, known)
    assert play.metrics["refused"] == 1
    assert play.metrics["failures"] == 0


@pytest.mark.parametrize("error", [LanguageModelUnavailable("down"), ResponseInvalid("no JSON")])
def test_a_model_that_fails_costs_its_words_only(tmp_path: Path, error: LanguageModelError) -> None:
    play = EpisodePlay(tmp_path, [error], episode=2)
    play.die()
    with capture_logs() as logs:
        summary = play.summed_up("lost")
    assert [log["error"] for log in logs if log["log_level"] == "warning"] == [str(error)]
    assert play.metrics["failures"] == 1
    assert len(summary.deaths) == len(summaries(tmp_path)) == 1
    quote = "It tastes of tin. The fumes take you."
    told = f'the player died at Blue Vats (31) on `drink dye` after `east`: "{quote}"'
    assert play.knowledge.lines == {DEATH_ANALYSIS: [KnowledgeLine(told, (Source(2, 1, 2),))]}


def test_a_story_that_was_lost_without_a_death_is_never_called_a_death(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, [{"deaths": [{"turn": 1, "text": "Waiting lost it."}]}, LanguageModelUnavailable("")])
    play.turn("wait", "You have missed your chance.", ending="lost")
    (known,) = play.summed_up("lost").ends
    assert known.how.startswith("the story ended, lost")
    assert "Loss in turn 1:\n" in play.prompt
    assert [line.text for line in play.knowledge.lines[DEATH_ANALYSIS]] == ["Waiting lost it."]
    play.begin(2)
    assert "the story was lost at Dye Works Gate (11) on `wait`: " in play.manager.handover
    assert "died" not in play.manager.handover
    play.turn("wait", "You have missed your chance.", ending="lost")
    play.manager.end("lost")
    assert "died" not in play.prompt
    assert play.knowledge.lines[DEATH_ANALYSIS][-1].text.startswith("the story was lost at Dye Works Gate (11) on ")


def test_the_same_death_of_several_earlier_episodes_is_described_once(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, [{}, {}, {}])
    for episode in (1, 2):
        play.die()
        play.manager.end("lost")
        play.begin(episode + 1)
    play.lose()
    asked = play.llm.calls[-1].prompt.user
    assert "In turn 2 of episode 1: as in turn 2 of episode 2\n" in asked
    assert "In turn 2 of episode 2: the player died at Blue Vats (31) on `drink dye` after `east`: " in asked
    assert asked.partition("=== THE EPISODE ===")[0].count("The fumes take you.") == 1


def test_a_spent_budget_is_not_swallowed_and_the_summary_is_kept(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, [BudgetSpent("no dollars left")])
    play.die()
    with pytest.raises(BudgetSpent):
        play.manager.end("lost")
    assert len(summaries(tmp_path)) == 1


def test_a_model_too_small_for_the_question_is_not_asked_and_deaths_are_told_alike_each_time(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, prompt_budgets={"analysis": SMALLEST_BUDGET - 1})
    for episode in (1, 2):
        play.begin(episode)
        play.die()
        play.manager.end("lost")
    first, second = play.knowledge.lines[DEATH_ANALYSIS]
    assert first.text == second.text
    assert first.sources != second.sources
    assert (play.llm.calls, play.metrics["failures"]) == ([], 0)


@pytest.mark.parametrize("budget", [SMALLEST_BUDGET, 3000, 4000, 6000, 15_000])
def test_a_prompt_keeps_to_its_budget_whatever_happened(tmp_path: Path, budget: int) -> None:
    play = EpisodePlay(tmp_path, lambda *_: NOTHING, episode=30, prompt_budgets={"analysis": budget})
    for episode in range(20, 30):
        play.begin(episode)
        play.manager.end("over")
    play.begin(30)
    play.knowledge.shown = "Vats are deep. " * 1000
    play.knowledge.insight_lines = {
        PLACES: (KnowledgeLine("Mind the step. " * 1000),),
        PATTERNS: tuple(KnowledgeLine(f"{number} {'stir ' * 60}", HOOD.sources) for number in range(90)),
        WAYS: tuple(KnowledgeLine(f"{number}", HOOD.sources) for number in range(900)),
    }
    endless = Location(99, "Cellar " * 90)
    for number in range(60):
        play.turn("dip " * 90, "The dye splashes. " * 90, score=number, location=endless)
        play.turn("drink " * 90, "Fumes, fumes! " * 90, died=number % 5 == 0)
    play.manager.end("lost")
    prompt = play.llm.calls[-1].prompt
    assert TokenCounter().estimate(prompt.system + prompt.user) <= budget
    assert "Death in turn 112:" in prompt.user
    assert "Episode 30 was lost after 120 turns" in prompt.user


def test_an_insight_that_there_was_no_room_for_stays_as_it_is(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, [insight("Stir", turns=[1], replaces=[90])], prompt_budgets={"analysis": 4000})
    many = tuple(KnowledgeLine(f"{number} " + "stir " * 60, HOOD.sources) for number in range(90))
    play.knowledge.insight_lines = {PATTERNS: many}
    play.lose()
    assert 0 < sum(f". {number} stir" in play.prompt for number in range(90)) < 20
    assert play.knowledge.insight_lines[PATTERNS] == (*many, KnowledgeLine("Stir", (Source(1, 1, 1),)))


def test_without_knowledge_nothing_is_drawn_and_nothing_handed_over(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, knowledge={"enabled": False})
    play.die()
    assert next_told(play, "lost") == ""
    assert (play.llm.calls, play.knowledge.lines) == ([], {})


def test_the_real_knowledge_base_takes_what_is_drawn_and_archives_what_is_replaced(tmp_path: Path) -> None:
    first = {"deaths": [{"turn": 2, "text": "Fumes kill at Blue Vats (31)."}], **insight("Wear the hood", turns=[2])}
    second = insight("Wear the hood before `east`", turns=[1], replaces=[1])
    play = EpisodePlay(tmp_path, [first, second])
    knowledge = KnowledgeManager(structlog.get_logger(), play.config, play.state, play.llm)
    play.manager.knowledge_manager = knowledge
    for episode in (1, 2):
        play.begin(episode)
        knowledge.reset(play.state)
        play.die()
        play.manager.end("lost")
    text = (tmp_path / "knowledgebase.md").read_text(encoding="utf-8")
    assert "- Fumes kill at Blue Vats (31). *(Ep1, T1-2)*" in text
    assert "- Wear the hood before `east` *(Ep1, T2; Ep2, T1)*" in text
    archive = (tmp_path / "knowledgebase.archive.md").read_text(encoding="utf-8")
    assert "- Wear the hood *(Ep1, T2)*" in archive


def test_the_real_plan_is_replaced_but_for_what_was_written_by_hand_and_is_no_knowledge(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path)
    file = tmp_path / "knowledgebase.md"
    file.write_text("## NEXT EPISODE\n- Try the loft\n\n## LESSONS LEARNED\n- Look twice\n", encoding="utf-8")
    knowledge = KnowledgeManager(structlog.get_logger(), play.config, play.state, play.llm)
    play.wait_until(20)
    for lines in ([f"{number}. Look twice" for number in range(9)], ["Look twice", "Look  twice", ""]):
        knowledge.replace_plan(lines)
    assert knowledge.plan() == ("Try the loft", "Look twice")
    text = file.read_text(encoding="utf-8")
    assert text.startswith("## NEXT EPISODE\n- Try the loft\n- Look twice *(Ep1, T1-20)*\n\n## LESSONS LEARNED\n")
    assert (tmp_path / "knowledgebase.archive.md").read_text(encoding="utf-8").count("Look twice") == PLAN_LINES
    knowledge.reset(play.state)
    assert knowledge.text(1000) == "LESSONS LEARNED:\n- Look twice"


TWO = "- Put the hood on first *(Ep1, T3)*\n- Lamps burn out *(Ep1, T40)*\n"
JOINED = "\n- Hood and lamp first *(Ep1, T3; Ep1, T40)*\n"


@pytest.mark.parametrize(
    ("episode", "ephemeral", "answer", "known", "counted"),
    [
        (2, "2", insight("The hood lies at the gate", turns=[2], replaces=[1]), TWO, "ephemeral"),
        (1, "1", insight("Wear the hood", turns=[2], replaces=[1]), TWO, "refused"),
        (2, "1-2", insight("Hood and lamp first", replaces=[1, 2]), JOINED, "archived"),
    ],
    ids=["of ephemeral turns but for what it replaces", "inheriting turns not played", "joined without a turn"],
)
def test_the_real_knowledge_base_judges_an_insight_before_it_replaces_others(
    tmp_path: Path, episode: int, ephemeral: str, answer: dict[str, object], known: str, counted: str
) -> None:
    play = EpisodePlay(tmp_path, [answer], episode=episode)
    dropped = Memory("NOTE", "Hood was dropped", episode, ephemeral, None, "It lies here.", "ephemeral")
    memories = Memories(ephemeral_cache={GATE.num: [dropped]})
    file = tmp_path / "knowledgebase.md"
    file.write_text(f"### {PATTERNS}\n{TWO}", encoding="utf-8")
    knowledge = KnowledgeManager(structlog.get_logger(), play.config, play.state, play.llm, memory_manager=memories)
    play.manager.knowledge_manager = knowledge
    play.lose()
    assert file.read_text(encoding="utf-8") == f"### {PATTERNS}\n{known}"
    metrics = knowledge.get_status()["metrics"]
    assert [name for name in ("ephemeral", "refused", "archived") if metrics[name]] == [counted]
    assert play.metrics["refused"] == 0


def test_insights_of_the_program_are_numbered_and_one_that_was_replaced_lends_no_sources(tmp_path: Path) -> None:
    first, second = insight("Hood on", turns=[1], replaces=[1]), insight("Hood off", replaces=[1, 2])
    play = EpisodePlay(tmp_path, [{"insights": [*first["insights"], *second["insights"]]}], episode=2)
    play.knowledge.insight_lines = {PATTERNS: (BY_HAND, HOOD), PLACES: (LAMP,)}
    play.lose()
    numbered = f"- Mind the step\n1. Put the hood on first\n{PLACES}:\n2. Lamps burn out\n"
    assert f"{PATTERNS}:\n{numbered}" in play.prompt
    assert [line.text for line in play.knowledge.insight_lines[PATTERNS]] == ["Mind the step", "Hood on"]
    assert play.knowledge.insight_lines[PLACES] == (LAMP,)
    assert play.metrics["refused"] == 1


def test_the_next_episode_is_told_how_the_last_one_ended_and_what_was_done_before_a_death(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, [NOTHING], episode=3)
    play.turn("dip banner", "It turns blue!", score=15)
    play.die()
    assert next_told(play, "lost") == (
        "Episode 3 was lost after 3 turns, with 15 points out of 50 and 2 rooms seen. "
        "The story has begun anew since: nothing done then is done now.\n"
        "In turn 3 of episode 3: the player died at Blue Vats (31) on `drink dye` after `dip banner`, `east`: "
        '"It tastes of tin. The fumes take you."'
    )
    assert [(each.action, each.change) for each in play.manager.known_points()] == [("dip banner", 15)]


def test_a_summary_waits_for_the_commit_and_for_one_that_can_be_made(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path)
    held(tmp_path, play.manager)
    assert next_told(play).startswith("Episode 1 ")
    (tmp_path / SUMMARIES_FILE).mkdir()
    with pytest.raises(StoreError):
        play.manager.commit()
    (tmp_path / SUMMARIES_FILE).rmdir()
    for _ in range(2):
        play.manager.commit()
        assert len(summaries(tmp_path)) == 1


def test_an_episode_is_told_all_through_it_of_the_latest_of_those_before_it_alone(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path)
    for episode in (2, 7, 5):
        EpisodePlay(tmp_path, episode=episode).manager.end("over")
    for now in (play, EpisodePlay(tmp_path, [NOTHING])):  # also if another process has played meanwhile
        now.begin(2)
        assert now.manager.handover == ""
        now.begin(8)
        assert now.manager.handover.startswith("Episode 7 ")
        now.begin(6)
        assert now.manager.handover.startswith("Episode 5 ")
    told = now.manager.handover
    EpisodePlay(tmp_path, episode=4).manager.end("won")
    EpisodePlay(tmp_path, episode=5).manager.end("won")
    now.lose()
    assert now.manager.handover == told


def test_an_episode_has_one_summary_the_latest_even_without_a_turn(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path)
    summary = play.summed_up("over")
    assert (summary.turns, summary.score, summary.best_score, summary.rooms) == (0, 0, 0, 1)
    play.turn(score=10)
    play.manager.end("turn_limit")
    (line,) = summaries(tmp_path)
    assert '"end": "turn_limit", "turns": 1, "score": 10' in line


def test_what_is_not_understood_in_the_file_is_told_and_stays(tmp_path: Path) -> None:
    file = tmp_path / SUMMARIES_FILE
    lines = ["# mine", "", '{"episode": 0, "end": "lost", "turns": 4, "deaths": [{"steps": []}]}']
    file.write_text("\n".join(lines), encoding="utf-8")
    with capture_logs() as logs:
        play = EpisodePlay(tmp_path)
    assert [log["lines"] for log in logs] == [[1, 3]]
    assert play.manager.handover == ""
    assert next_told(play).startswith("Episode 1 ")
    assert summaries(tmp_path)[:3] == lines


KNOWN, WORDS = "fumes " * 500, "word " * 100


def eventful(workdir: Path, budget: int = 30_000) -> EpisodePlay:
    """The eighth episode, with 45 points and then seven deaths; the seven before were ended after a turn."""
    play = EpisodePlay(workdir, lambda *_: NOTHING, prompt_budgets={"analysis": budget})
    play.knowledge.shown = KNOWN
    lines = (KnowledgeLine(f"{number} {WORDS}", (Source(1, number, number),)) for number in range(1, 20))
    play.knowledge.insight_lines = {"Environmental Knowledge": tuple(lines)}
    for episode in range(1, 8):
        play.begin(episode)
        play.turn()
        play.manager.end("over")
    play.begin(8)
    for score in range(1, 46):
        play.turn(f"stir vat {score} {WORDS}", score=score)
    for _ in range(7):
        for step in range(8):
            play.turn(f"step {step} {WORDS}", WORDS)
        play.turn(f"drink {WORDS}", WORDS, died=True)
    return play


def told(prompt: str) -> dict[str, list[str]]:
    """What the prompt has of each kind of thing."""
    deaths = prompt[prompt.index("Death in turn") :].split("Death in turn ")[1:]
    return {
        "earlier": re.findall(r"Episode (\d) came to", prompt[: prompt.index("Episode 8")]),
        "points": re.findall(r"`stir vat (\d+) ", prompt),
        "deaths": [death.split(":")[0] for death in deaths],
        "steps": [str(death.count("Response: ")) for death in deaths],
        "known": ["fumes"] * ("fumes " * 20 in prompt),
    }


def test_the_model_is_told_of_five_episodes_and_deaths_or_fewer_with_the_number_of_the_others(tmp_path: Path) -> None:
    """The last death never goes."""
    play = eventful(tmp_path)
    play.manager.end("over")
    assert "(5 earlier left out)" in play.prompt
    assert told(play.prompt) == {
        "earlier": ["3", "4", "5", "6", "7"],
        "points": [str(score) for score in range(6, 46)],
        "deaths": ["81", "90", "99", "108"],
        "steps": ["6"] * 4,
        "known": ["fumes"],
    }
    assert play.prompt.count("(3 earlier left out)") == 1, "deaths, of which there is no room for a fifth one"
    seen = [{"earlier": 5, "points": 40, "deaths": 4, "steps": 6, "known": 1}]
    for tokens in range(9000, 1200, -300):
        budget = tokens if tokens <= LEAST_AT_END else round(tokens / SHARE_AT_END)
        play = eventful(tmp_path / str(budget), budget)
        play.manager.end("over")
        if not play.llm.calls:
            break
        found = told(play.prompt)
        part = {name: len(each) for name, each in found.items()} | {"steps": int(found["steps"][-1])}
        if part != seen[-1]:
            seen.append(part)
    assert len(seen) > 4
    for fuller, shorter in pairwise(seen):
        assert all(shorter[name] <= fuller[name] for name in ("earlier", "deaths", "known")), seen
        assert shorter["points"] <= fuller["points"] + 2, seen  # the room that other parts leave differs a little
    assert all(part["deaths"] and part["steps"] for part in seen)


def test_the_next_player_is_told_of_deaths_with_three_commands(tmp_path: Path) -> None:
    play = EpisodePlay(tmp_path, lambda *_: NOTHING)
    for _ in range(4):
        play.turn("step 1")
        play.turn("step 2")
        play.turn("step 3")
        play.die()
    deaths = next_told(play)
    assert re.findall(r"In turn (\d+) of episode 1", deaths) == ["5", "10", "15", "20"]
    assert deaths.count("on `drink dye` after `step 2`, `step 3`, `east`: ") == 4


def test_the_next_player_is_told_which_command_ended_the_story(play: EpisodePlay) -> None:
    play.turn("fill lamp", score=5)
    play.turn("ring bell", "You have won.", ending="won", max_score=30)
    play.manager.end("won")
    play.begin(2)
    ended = "was won after 2 turns, by `ring bell` at Dye Works Gate (11), with 5 points out of 30"
    assert ended in play.manager.handover
    play.turn("wait")
    play.manager.end("turn_limit")
    play.begin(3)
    assert "reached its turn limit after 1 turn, with 0 points" in play.manager.handover


def test_the_next_player_is_told_so_in_1200_characters_and_of_each_death_the_whole_answer(play: EpisodePlay) -> None:
    for turn in range(1, 7):
        play.turn("drink dye", f"{'y' * 400} {turn} bites.", died=True)
    handover = next_told(play)
    assert 900 < len(handover) <= 1200
    assert re.findall("y+ (.) bites", handover) == ["5", "6"]
    assert {len(run) for run in re.findall("y+(?= )", handover) if len(run) > 20} == {400}
    assert "(4 earlier left out)" in handover


def test_of_a_long_command_the_beginning_is_told_and_of_a_long_response_what_there_is_room_for(
    play: EpisodePlay,
) -> None:
    play.turn("x" * 900, f"It {'y' * 9000} bites.", died=True)
    handover = next_told(play)
    assert max(map(len, re.findall("x+", handover))) == 80 - len(" […]")
    assert handover.endswith(' bites."')
    assert 1150 < len(handover) <= 1200


def test_the_cause_of_a_death_is_told_whole(play: EpisodePlay) -> None:
    cause = f"You read the chant aloud. {'The sand glows. ' * 60}The monster bites your throat."
    play.turn("read writing", cause, died=True)
    play.manager.end("over")
    assert f"Response: {cause}\n" in f"{play.prompt}\n"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LOCATIONS = st.none() | st.builds(Location, st.integers(1, 999), TEXTS)
STEPS = st.builds(Step, st.integers(1, 999), LOCATIONS, TEXTS, TEXTS)
SUMMARIES = st.builds(
    EpisodeSummary,
    episode=st.integers(1, 3),
    end=st.sampled_from(["won", "lost", "turn_limit"]),
    turns=st.integers(0, 999),
    scored=st.tuples(st.builds(Scored, st.integers(1, 999), LOCATIONS, TEXTS, st.integers(-9, 9))),
    deaths=st.tuples(st.builds(Death, st.tuples(STEPS, STEPS))),
    critic_score=st.none() | st.floats(-1, 1),
)


@given(st.text())
def test_reading_and_writing_changes_nothing(text: str) -> None:
    assert parse_summaries(text).render() == text


@given(TEXTS, st.lists(SUMMARIES))
def test_the_latest_summary_of_each_episode_reads_back(text: str, kept: list[EpisodeSummary]) -> None:
    document = parse_summaries(text)
    for summary in kept:
        document = document.with_summary(summary)
    known = {summary.episode: summary for summary in kept}
    assert parse_summaries(document.render()).before(4) == [known[episode] for episode in sorted(known)]
    assert document.render().startswith(text)


def test_half_a_character_of_a_broken_story_does_not_keep_a_summary_out_of_the_file() -> None:
    summary = EpisodeSummary(1, "over", 1, scored=(Scored(1, Location(11, "Gate \ud800"), "wait", 1),))
    document = parse_summaries("").with_summary(summary)
    (kept,) = parse_summaries(document.render().encode().decode()).before(2)
    assert kept.scored[0].location == Location(11, "Gate ?")
