"""The figures of a run: by episode, of failed commands, of what was gained and learned, and of its models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.known import Known
from managers.memory.document import parse_memories
from managers.routes.document import RouteBook
from session.events import EpisodeStarted, Event, RunEnded, TurnPlayed
from session.files.run_folders import MEMORIES_AT_END
from session.game_configuration import GameConfiguration
from session.game_state import NewBest
from session.knowledge import KnowledgeEntry, KnowledgeLine
from session.memory import INVALIDATION_MARKER, Memory
from session.route import Goal, Route, RouteStep, Waypoint
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict
from tests.fixtures.report_data import text_of
from tests.fixtures.run_events import answered, failed
from tests.fixtures.typed_command import typed
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, after, ended, played, started, turn, write_run
from zorkgpt.ablation.measures import measure
from zorkgpt.cli.commands.runs import print_figures
from zorkgpt.cli.terminal import NOTHING
from zorkgpt.llm.budget import Spending
from zorkgpt.report.figures import (
    Milestone,
    RunFigures,
    core_downgrades,
    figures_of,
    gains_line,
    has_failed,
    repeat_failures,
)
from zorkgpt.report.played_run import read_run
from zorkgpt.report.repetition import (
    changes_between,
    lines_kept,
)

IN_LOFT = after(SEEN, location=LOFT, score=5)
MEMORIES = """\
## Location 31: Blue Vats

**[NOTE] Mordant first**
Then dye.

**[NOTE - TENTATIVE] Sluice**
Perhaps.

## Location 44: Drying Loft

**[NOTE - SUPERSEDED] Rung**
[Superseded at T3 by "Ladder"]
~~Rotten.~~
"""


def two_episodes() -> list[Event]:
    return [
        started(),
        played(turn(1, "pull chain"), 1.0, 100),
        played(turn(2, "pull chain"), 1.0, 100),
        played(turn(3, "up", location=LOFT, score=5, world_hash="2"), 2.0, 100),
        played(turn(4, "drop banner", IN_LOFT, score=3, world_hash="3"), 2.0, 0),
        ended(),
        started(2),
        played(turn(1, "pull chain", episode=2), 1.0, 300),
        played(turn(2, "up", episode=2, location=LOFT, score=12, world_hash="2"), 1.0, 500),
        ended(2, "won"),
        RunEnded(2),
    ]


def figures(tmp_path: Path, events: list[Event], **more: Any) -> RunFigures:
    return figures_of(read_run(write_run(tmp_path, events, **more)))


def objectives(*found: dict[str, Any], **more: Any) -> Event:
    return answered(role="analysis", answer={"reasoning": "", "objectives": list(found)}, **more)


# by episode


def test_an_episode_has_the_figures_of_its_turns(tmp_path: Path) -> None:
    first, second = figures(tmp_path, two_episodes()).episodes
    assert (first.episode, first.seed, first.end, first.turns) == (1, 10, "turn_limit", 4)
    assert (first.rooms, first.seconds) == (2, 6)
    assert (first.score, first.best_score, first.max_score) == (3, 5, 50)
    assert first.milestones == (NewBest(turn=3, score=5),)
    assert (first.repeated_actions, first.memory_tokens) == (0.25, 75)
    assert (second.end, second.milestones) == ("won", (NewBest(2, 12),))
    assert (second.repeated_actions, second.memory_tokens) == (0.5, 400)


def test_points_won_back_are_no_milestone_and_an_episode_that_was_cut_off_is_unfinished(tmp_path: Path) -> None:
    turns = [played(turn(number, "wait", score=score)) for number, score in enumerate([5, 0, 5, 10], 1)]
    (only,) = figures(tmp_path, [started(), *turns]).episodes
    assert only.milestones == (NewBest(1, 5), NewBest(4, 10))
    assert (only.end, only.turns, only.score) == ("unfinished", 4, 10)


# metrics


def test_the_metrics_of_a_run_are_over_all_its_turns_and_its_memories_that_are_not_given_up(tmp_path: Path) -> None:
    metrics = figures(tmp_path, two_episodes(), memories=MEMORIES).metrics
    assert metrics.repeated_actions == pytest.approx(2 / 6)
    assert metrics.memory_tokens == pytest.approx(1100 / 6)
    assert metrics.milestones == (Milestone(5, (3, 2)), Milestone(12, (None, 2)))
    assert (metrics.memory_coverage, metrics.tentative_memories) == (0.5, 1)


def test_memories_of_a_run_without_an_end_are_those_of_the_work_folder_unless_memories_are_off(tmp_path: Path) -> None:
    (tmp_path / "Notes.md").write_text(MEMORIES)
    elsewhere = {"simple_memory": {"memory_file": "Notes.md"}}
    assert figures(tmp_path, two_episodes(), configuration=elsewhere).metrics.tentative_memories == 1
    none = {"simple_memory": {"enabled": False}}
    found = figures(tmp_path / "none", two_episodes(), memories=MEMORIES, configuration=none)
    metrics = found.metrics
    assert (metrics.memory_tokens, metrics.memory_coverage, metrics.tentative_memories) == (None, None, None)
    assert found.episodes[0].memory_tokens is None


def test_objectives_are_judged_by_their_location_and_their_source(tmp_path: Path) -> None:
    update = objectives(
        {"text": "Dip the banner", "location_id": 31, "evidence": "Memory at Location 31"},
        {"text": "Stay out of the fumes (knowledge: they kill)", "location_id": 58, "evidence": ""},
        {"text": "Climb", "location_id": 44, "evidence": "turn 3"},
        {"text": "Go on", "location_id": None, "evidence": "untried exit up"},
        {"text": "Turn the memorable knob", "location_id": 44, "evidence": "factual"},
        {"text": "Look", "location_id": None, "evidence": ""},
        prompt=1000,
        completion=200,
        seconds=2.0,
    )
    metrics = figures(tmp_path, [started(), update, objectives(prompt=600, seconds=4.0)]).metrics
    assert metrics.objectives == 6
    assert (metrics.objectives_located, metrics.objectives_cited) == (4 / 6, 4 / 6)
    assert (metrics.objective_tokens, metrics.objective_seconds) == (900, 3.0)


@pytest.mark.parametrize(
    ("role", "answer"),
    [("analysis", {"lines": []}), ("analysis", {"objectives": "none"}), ("agent", {"objectives": []})],
)
def test_answers_to_other_questions_are_no_objectives(tmp_path: Path, role: str, answer: dict[str, Any]) -> None:
    metrics = figures(tmp_path, [started(), answered(role=role, answer=answer)]).metrics
    assert (metrics.objectives, metrics.objective_tokens) == (None, None)


def test_what_was_not_played_or_has_no_score_and_no_places_is_not_measured(tmp_path: Path) -> None:
    metrics = figures(tmp_path / "none", []).metrics
    assert (metrics.repeated_actions, metrics.memory_tokens, metrics.memory_coverage) == (None, None, None)
    assert (metrics.core_downgrades, metrics.objectives, metrics.objectives_located) == (None, None, None)
    assert metrics.milestones == ()
    opening = Observation("Fog.")
    found = figures(tmp_path, [started(opening=opening), played(turn(1, "wait", opening))])
    assert (found.episodes[0].best_score, found.episodes[0].rooms) == (None, None)
    assert (found.metrics.repeated_actions, found.metrics.memory_coverage) == (None, None)


# models


def test_usage_is_told_by_role_with_its_price_and_failures_cost_only_time(tmp_path: Path) -> None:
    calls: list[Event] = [
        answered(role="memory", prompt=50, completion=5, seconds=1.0),
        answered(prompt=1_000_000, cached=80, completion=100_000, seconds=2.0),
        answered(),
        failed(3.0),
    ]
    options = {"agent_model": "named", "prices": {"named": {"input": 2.0, "output": 10.0}}}
    agent, memory = figures(tmp_path, [started(), *calls], configuration=options).usage
    assert (agent.role, agent.calls, agent.failed, agent.seconds) == ("agent", 3, 1, 5.0)
    assert (agent.retries, agent.median_seconds, agent.longest_seconds) == (0, 2.0, 3.0)
    assert (agent.prompt_tokens, agent.cached_tokens, agent.completion_tokens) == (1_000_000, 80, 100_000)
    assert (agent.dollars, agent.unpriced) == (3.0, 1)
    assert (memory.role, memory.calls, memory.failed) == ("memory", 1, 0)


def test_a_model_of_a_public_server_has_its_price_though_the_key_is_not_written_down(tmp_path: Path) -> None:
    model = "gpt-4.1-mini"
    events: list[Event] = [started(), answered(model, prompt=1_000_000)]
    (agent,) = figures(tmp_path, events, configuration={"agent_model": model}).usage
    assert agent.dollars is not None
    assert 0.1 < agent.dollars < 10


def test_tokens_of_some_calls_alone_are_not_shown_as_those_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = [answered(prompt=700, completion=70), answered(), answered(role="memory", prompt=100, completion=10)]
    found = figures(tmp_path, [started(), *calls, played(turn(1, "wait")), ended(), RunEnded(1)])
    assert [(role.role, role.prompt_tokens, role.uncounted) for role in found.usage] == [
        ("agent", 700, 1),
        ("memory", 100, 0),
    ]
    print_figures(found)
    agent, memory = (line.split() for line in capsys.readouterr().out.splitlines()[-2:])
    assert agent[:6] == ["agent", "2", "0", "700", "of", "1"]
    assert memory[:4] == ["memory", "1", "0", "100"]
    assert measure(found.run.folder, "dyeworks", "full", 1).tokens is None
    shown = typed("compare", *[str(found.run.folder)] * 2).text.splitlines()
    assert next(line.count("880 of 2 calls") for line in shown if line.startswith("tokens")) == 2


@pytest.mark.parametrize(("options", "dollars"), [({}, 0.0), ({"agent_model": 5}, None)])
def test_the_embedded_model_costs_nothing_and_options_of_another_version_leave_the_price_unknown(
    tmp_path: Path, options: dict[str, Any], dollars: float | None
) -> None:
    (agent,) = figures(tmp_path, [started(), answered("small", prompt=9)], configuration=options).usage
    assert (agent.dollars, agent.unpriced) == (dollars, int(dollars is None))


def by_route(record: TurnRecord) -> TurnRecord:
    return replace(record, verdicts=(Verdict(accepted=True, source="route"),))


def test_what_routes_won_and_saved_is_told_by_episode_and_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The agent's model chose the route in the first turn; in the next two, only the memory model was called."""
    first = by_route(turn(1, "up", location=LOFT))
    second = by_route(turn(2, "pull chain", first.after, score=5))
    third = by_route(turn(3, "drop banner", second.after, score=3))
    found = figures(
        tmp_path,
        [
            *(started(), answered(), played(first), played(second), answered(role="memory"), played(third)),
            *(answered(), played(turn(4, "down", third.after, score=13)), ended()),
            *(started(2), answered(), played(turn(1, "wait", episode=2)), ended(2), RunEnded(2)),
        ],
    )
    with_route, without = found.episodes
    assert (with_route.route_turns, with_route.route_points, with_route.calls_saved) == (3, 3, 2)
    assert (without.route_turns, without.route_points, without.calls_saved) == (0, 0, 0)
    metrics = found.metrics
    assert (metrics.route_turns, metrics.route_points, metrics.calls_saved) == (3 / 5, 3, 2)
    print_figures(found)
    lines = capsys.readouterr().out.splitlines()
    assert any(" +3 in 3 " in line for line in lines)
    assert [line.split() for line in lines if "routes" in line or "not asked" in line] == [
        ["commands", "of", "routes", "60.0%", "of", "turns"],
        ["won", "by", "routes", "3", "points"],
        ["player", "not", "asked", "2", "turns"],
    ]


def test_points_of_routes_rooms_and_tokens_are_unknown_where_nothing_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a story without a score and without locations, by a server that counts no tokens."""
    fog = Observation("Fog.")
    uncounted = objectives(prompt=0, completion=0)
    walked = played(by_route(turn(1, "up", fog)))
    found = figures(tmp_path, [started(1, fog), uncounted, walked, played(turn(2, "wait", fog))])
    (episode,) = found.episodes
    assert (episode.rooms, episode.route_turns, episode.route_points) == (None, 1, None)
    assert (found.metrics.route_points, found.metrics.objective_tokens) == (None, None)
    print_figures(found)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["won", "by", "routes", NOTHING, "points"] in lines
    assert any(line[-4:] == [NOTHING, "in", "1", NOTHING] for line in lines)


def test_points_of_routes_are_unknown_if_one_of_their_turns_lacks_the_score(tmp_path: Path) -> None:
    blind = by_route(replace(turn(2, "dip"), before=replace(SEEN, score=None)))
    seen = by_route(turn(1, "up", score=5))
    assert figures(tmp_path, [started(), played(seen), played(blind)]).metrics.route_points is None


def test_what_a_deleted_copy_of_the_memories_contained_is_not_taken_from_the_file_of_today(tmp_path: Path) -> None:
    run = write_run(tmp_path, two_episodes(), memories=MEMORIES)
    (run / MEMORIES_AT_END).rename(tmp_path / "Memories.md")
    metrics = figures_of(read_run(run)).metrics
    assert (metrics.memory_coverage, metrics.tentative_memories) == (None, None)


VAT = GameObject(7, "vat", parent=31)
BANNER = GameObject(8, "banner", parent=31)
AMONG_THINGS = replace(SEEN, inventory=(), visible=(VAT, BANNER))


@pytest.mark.parametrize(
    ("effect", "failed"),
    [
        ({}, True),
        ({"moves": 9, "text": "Time passes, and it smells differently."}, True),
        ({"location": LOFT}, False),
        ({"location": None}, False),
        ({"score": 5}, False),
        ({"world_hash": "00000002"}, False),
        ({"died": True}, False),
        ({"ending": "over"}, False),
    ],
    ids=lambda effect: "/".join(effect) if isinstance(effect, dict) else "",
)
def test_a_command_has_failed_if_it_had_no_effect(effect: dict[str, Any], failed: bool) -> None:
    assert has_failed(turn(1, "pull chain", **effect)) is failed


def test_only_what_changes_in_sight_is_an_effect() -> None:
    lit = replace(VAT, attributes=frozenset({11}))
    assert has_failed(turn(1, "pull chain", AMONG_THINGS, world_hash="00000002"))
    assert not has_failed(turn(1, "light vat", AMONG_THINGS, visible=(lit, BANNER)))


def test_where_no_object_tree_is_known_only_a_refusal_is_certain() -> None:
    assert not has_failed(turn(1, "pull chain", Observation("Steam.", SEEN.location)))
    assert has_failed(turn(1, "save", Observation("Steam."), refusal="no saving"))


PULLED, WENT = turn(1, "pull chain"), turn(1, "north")


@pytest.mark.parametrize(
    ("records", "repeats"),
    [
        ((PULLED, turn(2, "Pull   CHAIN"), turn(3, "push chain"), turn(1, "pull chain", episode=2)), [0, 1, 0, 1]),
        ((PULLED, turn(4, "pull chain", after(SEEN, location=LOFT))), [0, 0]),
        ((turn(1, "pull chain", world_hash="00000002"), turn(2, "pull chain")), [0, 0]),
        ((WENT, turn(2, "north", location=LOFT)), [0, 1]),
        ((turn(1, "pull chain", Observation("Fog.", world_hash="00000001")),), [None]),
    ],
    ids=["in any episode", "elsewhere", "it worked before", "it works now", "place unknown"],
)
def test_a_command_repeats_a_failure_at_the_same_place(records: tuple[TurnRecord, ...], repeats: list[int]) -> None:
    assert list(repeat_failures(records)) == repeats


YARD = Observation("A yard.", Location(1, "Yard"), score=0)
HALL = Observation("A hall.", Location(2, "Hall"), score=20)
ROUTE = Route(0, Goal("score", 20), Waypoint(1, "Yard", 0), (RouteStep("north", Waypoint(2, "Hall", 20)),), 2)
BOOK = RouteBook().with_episode(RouteBook(routes=(ROUTE,)))


def episode(number: int, score: int | None, most: int | None = None, *, follows: int | None = None) -> Iterator[Event]:
    yield EpisodeStarted(number, 1, YARD)
    if follows is not None:
        proposal, verdict = Proposal("north", follow=follows), Verdict(accepted=True, source="route")
        yield TurnPlayed(TurnRecord(number, 1, YARD, (proposal,), (verdict,), HALL), 0.1)
    seen = replace(HALL, score=score, max_score=most)
    yield TurnPlayed(TurnRecord(number, 2, HALL, (Proposal("look"),), (Verdict(accepted=True),), seen), 0.1)


KNOWN = Known(parse_memories(MEMORIES).memories(), routes=tuple(BOOK.routes))


def line(
    tmp_path: Path,
    *episodes: Iterable[Event],
    known: Known = KNOWN,
    tokens: int = 0,
    configuration: GameConfiguration | None = None,
) -> str:
    run = read_run(write_run(Path(mkdtemp(dir=tmp_path)), chain(*episodes)))
    configuration = configuration or GameConfiguration()
    spending = Spending(configuration, dollars=tokens / 1000, tokens=tokens)
    return gains_line(figures_of(run), configuration, 2, known, spending)


def test_the_points_on_a_route_are_told(tmp_path: Path) -> None:
    episodes = (episode(1, 5, 50), episode(2, 20, 50), episode(3, 25, 50, follows=1))
    assert line(tmp_path, *episodes, tokens=4000) == (
        "Learned so far: 2 locations, 1 route, 2 memories, 0 lines of knowledge. Episode 3: 25 of 50 points, of which "
        "20 by routes. Cost: 4,000 tokens, $4.0000."
    )
    started_at, walked, last = episode(2, 20, 50, follows=1)
    assert isinstance(walked, TurnPlayed)
    walk = replace(walked, record=replace(walked.record, proposals=(Proposal("north", go_to=2),)))
    assert line(tmp_path, (started_at, walk, last)).endswith("Episode 2: 20 of 50 points."), "a walk is no route"
    assert line(tmp_path, episode(1, 5), episode(2, 0)).endswith("Episode 2: 0 points.")
    assert line(tmp_path, episode(1, 5, 350)).endswith("Episode 1: 5 of 350 points.")


def test_a_cost_states_the_calls_whose_tokens_or_price_are_unknown(tmp_path: Path) -> None:
    run, configuration = read_run(write_run(tmp_path, episode(1, 5))), GameConfiguration()
    spending = Spending(configuration, dollars=1.5, tokens=990, unpriced=Counter(m=1), uncounted=Counter(m=2, n=11))
    assert gains_line(figures_of(run), configuration, 2, KNOWN, spending).endswith(
        " Cost: 990 tokens and 13 calls of unknown count, $1.5000 and 1 call of unknown price."
    )


def test_a_story_without_a_score_has_none_and_of_what_was_learned_that_is_told_which_lasts(tmp_path: Path) -> None:
    assert line(tmp_path) == ""
    unscored = Observation("A yard.", Location(1, "Yard"))
    told = line(tmp_path, [EpisodeStarted(1, 1, unscored)])
    assert told == "Learned so far: 2 locations, 1 route, 2 memories, 0 lines of knowledge."
    known = Known(ephemeral={31: [STEAM]}, knowledge=(KnowledgeEntry("LESSONS LEARNED", KnowledgeLine("Look twice.")),))
    told = line(tmp_path, episode(1, 5), known=known)
    assert "0 routes, 0 memories, 1 line of knowledge." in told


def test_what_a_run_does_not_learn_is_not_none_of_it(tmp_path: Path) -> None:
    off = GameConfiguration.model_validate(
        {kind: {"enabled": False} for kind in ("simple_memory", "knowledge", "routes")}
    )
    told = line(tmp_path, episode(1, 5), known=Known(), configuration=off)
    assert told == "Learned so far: 2 locations. Episode 1: 5 points."


STEAM = Memory("DANGER", "Steam burns", 1, "12-14", -2, "Wear the gloves.", "permanent")


def test_what_is_new_changed_and_gone_is_told_and_nothing_else() -> None:
    cold = replace(STEAM, title="Cold is safe")
    wrong = replace(STEAM, status="SUPERSEDED", superseded_by=INVALIDATION_MARKER, invalidation_reason="No burns.")
    before, after = (
        Known(memories).items() for memories in ({31: [STEAM, cold], 44: [cold]}, {31: [wrong, cold], 45: [cold]})
    )
    changes = {change.key: (change.before, change.after) for change in changes_between(before, after)}
    assert list(changes) == ["m:31:steam burns:1", "m:44:cold is safe:1", "m:45:cold is safe:1"]
    was, given_up = changes["m:31:steam burns:1"]
    assert was is not None
    assert given_up is not None
    assert (was.tags[2], given_up.tags[2]) == ("active", "invalidated")
    assert given_up.text == "Wear the gloves.\nInvalidated: No burns."
    unexplained = Known({31: [replace(wrong, invalidation_reason=None)]}).items()["m:31:steam burns:1"]
    assert unexplained.text == "Wear the gloves.\nInvalidated: no reason given"
    assert changes["m:44:cold is safe:1"][1] is None
    assert changes["m:45:cold is safe:1"][0] is None


LINES = st.sampled_from(["", "a", "b", "ab", "\r", "\u2028", "\ud800"])


@given(st.lists(st.lists(LINES).map("\n".join)))
def test_every_text_comes_back_to_the_letter(texts: list[str]) -> None:
    table: dict[str, int] = {}
    kept = [lines_kept(text, table) for text in texts]
    assert [text_of(list(ranges), list(table)) for ranges in kept] == texts


def test_each_line_is_kept_once_and_lines_in_a_row_are_one_range() -> None:
    table: dict[str, int] = {}
    assert lines_kept("one\ntwo\nthree", table) == (0, 3)
    assert lines_kept("two\nthree\nfour\none", table) == (1, 3, 0, 1)
    assert list(table) == ["one", "two", "three", "four"]


UP, AGAIN = (played(turn(number, "up", location=LOFT)) for number in (1, 3))
DOWN = played(turn(2, "down", after(SEEN, location=LOFT), location=SEEN.location))
WAIT, WAIT_MORE = (played(turn(number, "wait")) for number in (1, 2))
REFUSED = played(turn(1, "save", refusal="no saving"))


def asked(*persistences: str, role: str = "memory") -> Event:
    memories = [{"should_remember": True, "persistence": each} for each in persistences]
    return answered(role=role, answer={"memories": memories})


def brief(persistence: str) -> Event:
    return answered(role="memory", answer={"turn": 1, "category": "NOTE", "persistence": persistence})


@pytest.mark.parametrize(
    ("events", "downgrades"),
    [
        pytest.param([UP, asked("core", "core"), DOWN, asked("core")], 0, id="first visits"),
        pytest.param([UP, DOWN, AGAIN, asked("core", "permanent", "core")], 2, id="return visit"),
        pytest.param([UP, DOWN, AGAIN, brief("core"), brief("permanent")], 1, id="an answer that is one memory"),
        pytest.param([WAIT, asked("core"), WAIT_MORE, asked("core")], 1, id="new only until asked about"),
        pytest.param([WAIT, replace(failed(1.0), role="memory"), WAIT_MORE, asked("core")], 1, id="unanswered"),
        pytest.param([UP, DOWN, AGAIN, asked("core", role="analysis")], 1, id="in one answer with other questions"),
        pytest.param([UP, asked("core"), started(2), UP, asked("core")], 0, id="another episode"),
        pytest.param([REFUSED, WAIT_MORE, asked("core")], 0, id="a refused turn is no visit"),
        pytest.param([UP, answered()], None, id="never asked"),
    ],
)
def test_core_memories_of_visits_that_are_not_new_are_counted(events: list[Event], downgrades: int | None) -> None:
    assert core_downgrades([started(), *events]) == downgrades
