"""Every way in which an episode ends, or stops on its way, in real stories: it is summed up once, and as it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, count, repeat
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from pydantic import BaseModel

from managers.episodes import SUMMARIES_FILE, EpisodeSummary, parse_summaries
from session.events import EpisodeEnded, Event, ModelAnswered, TurnPlayed
from session.values import Ending, Location
from tests.episodes.test_routes_run import LOFT, MILL, play_mill
from tests.fixtures.scripted_llm import ScriptedLLM
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from tests.fixtures.whole_run import play_run, resume_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role, TokenUsage

INTO_THE_MUD = ("north", "east", "east", "east")
OFF_THE_CLIFF = ("s", "e", "e", "e", "jump")
OFF_THE_CLIFF_AGAIN = ("e", "s", "e", "e", "s", "n", "e", "jump")
DEADLY_SEED = 3
TWO_DEATHS: dict[str, Any] = {"episodes": 2, "max_turns_per_episode": len(INTO_THE_MUD)}
LEARNED_ONCE = (SUMMARIES_FILE, "knowledgebase.md")
OPTIONS: dict[str, Any] = {"critic": {"mode": "object_tree", "max_rejections": 0}}
CALL = TokenUsage(prompt=100, completion=10)


def player_of(commands: Iterable[str]) -> ScriptedLLM:
    """A model that plays these commands and learns nothing but what a death teaches."""
    remaining = iter(commands)

    def reply(role: Role, _prompt: Prompt, schema: type[BaseModel]) -> dict[str, object]:
        if role == "agent":
            return {"reasoning": "", "action": next(remaining)}
        if schema.__name__ == "EpisodeAnswer":
            return {"deaths": [{"turn": len(INTO_THE_MUD), "text": "Mud swallows whoever walks on."}]}
        return {"memories": []} if role == "memory" else {}

    return ScriptedLLM(reply, usage=CALL)


def summaries(folder: Path) -> list[EpisodeSummary]:
    """The summaries in the work folder, each of which must be valid."""
    *lines, last = parse_summaries((folder / SUMMARIES_FILE).read_text(encoding="utf-8")).lines
    assert last == ("", None)
    return [summary for line, summary in lines if summary is not None or pytest.fail(line)]


def learned(folder: Path) -> list[str]:
    """What the files hold that the end of an episode adds to."""
    return [(folder / name).read_text(encoding="utf-8") for name in LEARNED_ONCE]


def play_once(
    story: Path, folder: Path, commands: tuple[str, ...], *, turns: int | None = None, seed: int = 1
) -> tuple[EpisodeEnded, EpisodeSummary]:
    """How an episode of these commands ended, and its summary in the file, which must agree."""
    limit = turns or len(commands) + 1
    run = play_run(story, player_of(commands), folder, seed=seed, max_turns_per_episode=limit, **OPTIONS)
    (ended,), (summary,) = run.episodes, summaries(folder)
    assert (summary.end, summary.turns, summary.rooms) == (ended.end, ended.turns, ended.rooms)
    assert (summary.score, summary.best_score, summary.max_score) == (ended.score, ended.best_score, ended.max_score)
    return ended, summary


@pytest.fixture(scope="module")
def unstopped(own_story: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Event], list[str]]:
    """The events of two deadly episodes without a stop, and what was learned of them."""
    folder = tmp_path_factory.mktemp("unstopped")
    run = play_run(own_story, player_of(INTO_THE_MUD * 2), folder, **TWO_DEATHS, **OPTIONS)
    return list(run.events), learned(folder)


def deaths(summary: EpisodeSummary) -> list[int]:
    return [death.last.turn for death in summary.deaths]


@pytest.mark.parametrize(
    ("commands", "turns", "end", "died_at", "won"),
    [
        (WALKTHROUGH, 10, "turn_limit", [], 20),
        (INTO_THE_MUD, 4, "lost", [4], 0),
        (WALKTHROUGH, None, "won", [], 100),
    ],
    ids=["turn limit", "a deadly turn, even the last that may be played", "won"],
)
def test_an_episode_ends_by_a_death_a_victory_or_its_turn_limit(
    own_story: Path,
    tmp_path: Path,
    commands: tuple[str, ...],
    turns: int | None,
    end: str,
    died_at: list[int],
    won: int,
) -> None:
    ended, summary = play_once(own_story, tmp_path, commands, turns=turns)
    assert (ended.end, ended.turns, ended.score) == (end, turns or len(commands), won)
    assert sum(scored.change for scored in summary.scored) == won
    assert deaths(summary) == died_at
    assert summary.is_instructive is (end != "turn_limit")
    assert [[step.action for step in death.steps] for death in summary.deaths] == [list(commands) for _ in died_at]


def test_a_stuck_episode_ends_after_a_countdown_that_points_and_achieved_objectives_begin_anew(
    own_story: Path, tmp_path: Path
) -> None:
    commands, turns, shown = chain(WALKTHROUGH[:10], repeat("wait")), count(1), []
    notes = {13: {"new": "Wait for the tide"}, 16: {"done": 1}}

    def reply(role: Role, prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
        if role != "agent":
            return {"memories": []} if role == "memory" else {}
        left = re.search(
            r"\nWithout a point or an objective marked as achieved, the episode ends after (\d+) more", prompt.user
        )
        shown.append(int(left[1]) if left else None)
        return {"reasoning": "", "action": next(commands), "objective": notes.get(next(turns))}

    run = play_run(
        own_story, ScriptedLLM(reply), tmp_path, max_turns_without_progress=12, max_turns_per_episode=60, **OPTIONS
    )
    assert [record.turn for record in run.turns if record.score_change] == [2, 8, 10]
    assert shown == [None] * 4 + [10, 9, 8, 7] + [None] * 4 + [10, 9, 8, 7] + [None] * 2 + [*range(10, 0, -1)]
    (ended,), (summary,) = run.episodes, summaries(tmp_path)
    assert (ended.end, ended.turns, summary.end) == ("stuck", 28, "stuck")
    assert verify_run(own_story, tmp_path).difference is None


@pytest.mark.stories
def test_a_death_that_is_survived_does_not_end_an_episode_and_the_third_does(zork1: Path, tmp_path: Path) -> None:
    commands = (*OFF_THE_CLIFF, *OFF_THE_CLIFF_AGAIN, *OFF_THE_CLIFF_AGAIN)
    ended, summary = play_once(zork1, tmp_path, commands, seed=DEADLY_SEED)
    assert (ended.end, ended.score, ended.best_score) == ("lost", -30, 0)
    assert deaths(summary) == [5, 13, 21]
    assert {death.last.action for death in summary.deaths} == {"jump"}


@pytest.mark.parametrize("turn", range(1, 5))
def test_an_episode_that_ctrl_c_stops_is_summed_up_when_it_has_ended(
    own_story: Path, tmp_path: Path, unstopped: tuple[list[Event], list[str]], turn: int
) -> None:
    stop = Flag()

    def interrupt(event: Event) -> None:
        if isinstance(event, TurnPlayed) and event.record.turn == turn:
            stop.set()

    model = player_of(INTO_THE_MUD * 2)
    run = play_run(own_story, model, tmp_path, show=interrupt, stop=stop, **TWO_DEATHS, **OPTIONS)
    assert run.end == "interrupted"
    assert (tmp_path / SUMMARIES_FILE).exists() == (turn == len(INTO_THE_MUD))
    assert resume_run(own_story, model, tmp_path).end == "done"
    assert learned(tmp_path) == unstopped[1]


def test_an_episode_during_whose_end_the_run_is_cut_off_is_summed_up_once(
    own_story: Path, tmp_path: Path, unstopped: tuple[list[Event], list[str]]
) -> None:
    events, whole = unstopped
    last_turns = [at for at, event in enumerate(events) if isinstance(event, TurnPlayed) and event.record.after.died]
    ends = [at for at, event in enumerate(events) if isinstance(event, EpisodeEnded)]
    moments = [at for turn, end in zip(last_turns, ends, strict=True) for at in range(turn, end + 1)]
    assert {type(events[at]) for at in moments} == {TurnPlayed, ModelAnswered, EpisodeEnded}
    for moment in moments:
        folder, model = tmp_path / str(moment), player_of(INTO_THE_MUD * 2)
        countdown = iter(range(moment, -1, -1))

        def watch(_event: Event, countdown: Iterator[int] = countdown) -> None:
            if not next(countdown):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            play_run(own_story, model, folder, show=watch, **TWO_DEATHS, **OPTIONS)
        assert resume_run(own_story, model, folder).end == "done"
        assert learned(folder) == whole, events[moment]


TOLD: dict[Ending, str] = {
    "won": "the story was WON",
    "lost": "the story was LOST",
    "over": "the story ENDED, without a sign that it was won or lost",
}


@pytest.mark.parametrize("changes", [{}, {"score": 5}, {"location": Location(13, "Cellar")}], ids=str)
@pytest.mark.parametrize("ending", [*TOLD, None])
def test_every_question_at_the_end_says_how_the_story_ended_and_by_which_command(
    tmp_path: Path, ending: Ending | None, changes: dict[str, Any]
) -> None:
    model = player_of(("up", "pull rope", "wait", "wait"))
    last = replace(LOFT, text="And so it is.", moves=2, ending=ending, **changes)
    on: dict[str, Any] = {"simple_memory": {"visits_in_question": 1}, "knowledge": {"enabled": True}, "objectives": {}}
    on |= {"controls": {"reflection": True}, "max_turns_per_episode": 2}
    play_mill(tmp_path, model, {**MILL, "pull rope": last}, MILL, **on)
    prompts = "\n".join(call.prompt.user for call in model.calls if call.role != "agent")
    if ending is None:
        assert not any(words in prompts for words in TOLD.values())
        return
    memory, analysis = prompts.split("LOCATION: Loft")[1].split("=== FOR TASK 1 ===")[:2]
    reflection, knowledge, episode = re.split(r"=== FOR TASK [23] ===", analysis)[:3]
    words = TOLD[ending]
    assert re.search(rf"Turn 2: pull rope \(.*{words}\)", memory)
    assert f"Turn 2: With this command {words} (likely PERMANENT)" in memory
    assert f"And so it is. [{words}]" in reflection
    assert re.search(rf"Turn 2 at Loft \(12\) \[[^]]*{words}[^]]*\]: pull rope", knowledge)
    outcome = "came to the story's end" if ending == "over" else f"was {ending}"
    report = rf"Episode 1 {outcome} after 2 turns, by `pull rope` at Loft \(12\)"
    assert re.search(report, episode)
    assert any(re.search(report, call.prompt.user) for call in model.calls if call.role == "agent")
