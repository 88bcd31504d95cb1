"""A run written down, for people and for programs, is all there and does nothing but lie there."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_core import to_jsonable_python

from session.events import Event, RunPaused
from session.values import Observation, Proposal, Verdict
from tests.fixtures.atif import Trajectory
from tests.fixtures.recorded_run import RECORDED
from tests.fixtures.run_events import answered, failed
from tests.unit.zorkgpt.report.dye_runs import LOFT, SEEN, after, ended, played, started, turn, write_run
from zorkgpt import api
from zorkgpt.report.exports import TURN_COLUMNS, as_atif, as_csv, as_json, as_markdown, turn_rows
from zorkgpt.report.figures import figures_of
from zorkgpt.report.played_run import PlayedRun, read_run

CLIMB = turn(1, "climb ladder", location=LOFT, score=5, text="Drying Loft\nBanners hang here.\n\n   [dripping]")


def run_of(tmp_path: Path, *events: Event) -> PlayedRun:
    return read_run(write_run(tmp_path, [started(), *events]))


# rows


def test_a_row_tells_where_a_turn_was_begun_what_it_brought_and_the_model_calls_since_the_row_before(
    tmp_path: Path,
) -> None:
    calls: list[Event] = [answered(prompt=10, cached=9, completion=1), answered(role="memory", prompt=200), failed(1.0)]
    story = (calls[0], played(CLIMB, 2.5, 40), *calls[1:], played(replace(CLIMB, turn=2)))
    row, then = turn_rows(run_of(tmp_path, *story))
    shown = (1, 1, 31, "Blue Vats", "climb ladder", 5, 5, False, 2.5, 1, 10, 9, 1, 40, "")
    assert row == dict(zip(TURN_COLUMNS, shown, strict=True))
    assert (then["calls"], then["prompt_tokens"]) == (2, 200)


def test_csv_has_a_line_a_turn_and_nothing_for_what_is_not_known(tmp_path: Path) -> None:
    nowhere = Observation("Fog.")
    awkward = turn(2, 'say "a, b"\nto dyer', nowhere)
    refused = turn(3, "save", refusal="no saving")
    text = as_csv(run_of(tmp_path, played(CLIMB), played(awkward), played(refused)))
    climb, say, save = csv.DictReader(text.splitlines())
    assert (climb["location_id"], climb["location"], climb["score"], climb["refused"]) == (
        "31",
        "Blue Vats",
        "5",
        "False",
    )
    assert (say["command"], say["location_id"], say["location"], say["score"]) == ('say "a, b" to dyer', "", "", "")
    assert save["refused"] == "True"


@pytest.mark.parametrize("command", ["=1+2", "+1", "-1", "@sum", "\t=1"])
def test_csv_has_no_text_that_a_spreadsheet_executes(tmp_path: Path, command: str) -> None:
    (row,) = csv.DictReader(as_csv(run_of(tmp_path, played(turn(2, command, CLIMB.after)))).splitlines())
    assert row["command"] == f"'{command.strip()}"


# JSON


def test_json_has_all_figures_and_every_turn_with_its_texts(tmp_path: Path) -> None:
    sent_back = replace(CLIMB, proposals=(Proposal("fly"), *CLIMB.proposals), verdicts=(Verdict(False), Verdict(True)))
    run = run_of(tmp_path, played(sent_back), ended())
    plain = json.loads(as_json(run))
    (episode,) = plain["transcript"]
    assert (episode["episode"], episode["opening"]) == (1, "Steam.")
    (whole,) = episode["turns"]
    assert (whole["command"], whole["reasoning"], whole["not_played"]) == ("climb ladder", "Why not.", ["fly"])
    assert whole["text"] == CLIMB.after.text
    figures = to_jsonable_python(figures_of(run))
    assert figures == {name: value for name, value in plain.items() if name != "transcript"}
    assert figures["episodes"][0]["milestones"] == [{"turn": 1, "score": 5}]
    assert figures["manifest"]["story"] == "dyeworks"
    assert figures["metrics"]["objectives"] is None


# Markdown


def test_a_transcript_tells_what_was_seen_thought_and_played(tmp_path: Path) -> None:
    text = as_markdown(run_of(tmp_path, played(CLIMB), ended(end="won")))
    assert text == (
        "# Run 20260131-184500-1a2b\n\n"
        "- Story: dyeworks\n"
        "- Player: scripted\n"
        "- Assistance: none\n"
        "- Begun: 2026-01-31T18:45:00+00:00\n"
        "- State: killed: it stopped without an end, as after a crash\n\n"
        "## Episode 1\n\n"
        "    Steam.\n\n"
        "### Turn 1 · Blue Vats (31) · score 0\n\n"
        "> Why not.\n\n"
        "**\\> climb ladder**\n\n"
        "    Drying Loft\n"
        "    Banners hang here.\n\n"
        "       [dripping]\n\n"
        "*won*\n"
    )


def test_a_transcript_tells_what_was_sent_back_and_why_a_run_stands_still(tmp_path: Path) -> None:
    verdicts = (Verdict(accepted=False, reason="no wings"), Verdict(accepted=True))
    record = replace(CLIMB, proposals=(Proposal("fly"), *CLIMB.proposals), verdicts=verdicts)
    text = as_markdown(run_of(tmp_path, played(record), RunPaused("the server is down", episode=1, turns=1)))
    assert "Not played: fly (no wings)\n\n**\\> climb ladder**" in text
    far = replace(record, proposals=(Proposal("wait", go_to=99), *CLIMB.proposals))
    run = run_of(tmp_path / "far", played(far))
    assert "Not played: go\\_to 99 (no wings)" in as_markdown(run)
    assert json.loads(as_json(run))["transcript"][0]["turns"][0]["not_played"] == ["go_to 99"]
    assert json.loads(as_atif(run))["steps"][-1]["extra"]["not_played"] == ["go_to 99"]
    assert "- State: paused: the server is down\n" in text


def test_marks_in_what_was_written_are_no_markup(tmp_path: Path) -> None:
    record = turn(1, "say *hi* <b>", text="# Not a heading\n```\n<script>", location=LOFT)
    thought = replace(record, proposals=(Proposal(record.action, "[link](x) and\n# this"),))
    text = as_markdown(run_of(tmp_path, played(thought)))
    assert "**\\> say \\*hi\\* \\<b\\>**" in text
    assert "> \\[link\\](x) and\n> \\# this\n" in text
    assert "    # Not a heading\n    ```\n    <script>\n" in text


def test_a_turn_without_thought_score_or_place_leaves_them_out(tmp_path: Path) -> None:
    record = replace(turn(1, "wait", Observation("Fog.")), proposals=(Proposal("wait"),))
    assert "### Turn 1\n\n**\\> wait**\n\n    Nothing happens.\n" in as_markdown(run_of(tmp_path, played(record)))


def test_what_came_before_the_first_episode_belongs_to_none(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, [answered(), started(), played(turn(1, "wait", after(SEEN)))]))
    assert [len(episode.events) for episode in run.episodes] == [1]


# trajectories


def test_a_trajectory_has_the_calls_that_chose_each_command_and_steps_for_those_that_learned(tmp_path: Path) -> None:
    chosen = [answered(prompt=10, cached=9, completion=1), answered(role="critic", prompt=5, completion=2)]
    learned: list[Event] = [answered(role="memory", prompt=200), replace(failed(1.0), role="memory")]
    story: list[Event] = [*chosen, played(CLIMB), *learned]
    opening, climb, memory, failure = Trajectory.model_validate_json(as_atif(run_of(tmp_path, *story))).steps
    assert (opening.source, opening.observation) != ("agent", None)
    assert climb.tool_calls[0].arguments == {"command": "climb ladder"}
    assert climb.observation is not None
    assert climb.observation.results[0].content == CLIMB.after.text
    assert (climb.llm_call_count, climb.metrics and climb.metrics.prompt_tokens) == (2, 15)
    assert (memory.llm_call_count, memory.metrics and memory.metrics.prompt_tokens) == (1, 200)
    assert failure.extra == {"role": "memory"}


def test_a_followed_command_has_no_model_call_even_if_what_it_taught_had_one(tmp_path: Path) -> None:
    followed = replace(CLIMB, verdicts=(Verdict(accepted=True, source="route"),))
    story = (played(followed), answered(role="memory", prompt=200), played(replace(followed, turn=2)))
    steps = Trajectory.model_validate_json(as_atif(run_of(tmp_path, *story))).steps
    assert [step.llm_call_count for step in steps] == [None, 0, 1, 0]
    assert [step.metrics is None for step in steps] == [True, True, False, True]


def test_calls_for_a_command_that_was_not_played_are_steps_and_refused_proposals_are_named(tmp_path: Path) -> None:
    refused = replace(CLIMB, proposals=(Proposal("fly"), *CLIMB.proposals))
    story: list[Event] = [played(refused), answered(prompt=10), RunPaused("stopped", episode=1, turns=1)]
    _, climb, unplayed = Trajectory.model_validate_json(as_atif(run_of(tmp_path, *story))).steps
    assert climb.extra["not_played"] == ["fly"]
    assert (unplayed.extra, unplayed.tool_calls) == ({"role": "agent"}, [])
    assert unplayed.metrics is not None
    assert unplayed.metrics.prompt_tokens == 10


def test_tokens_that_the_server_did_not_count_are_left_out_of_a_trajectory(tmp_path: Path) -> None:
    story: list[Event] = [answered(prompt=0, completion=0), played(CLIMB), answered(role="memory", prompt=200)]
    trajectory = Trajectory.model_validate_json(as_atif(run_of(tmp_path, *story)))
    _, climb, memory = trajectory.steps
    assert climb.metrics is not None
    assert climb.metrics.prompt_tokens is None
    assert memory.metrics is not None
    assert memory.metrics.prompt_tokens == 200
    assert trajectory.final_metrics.total_prompt_tokens is None


def test_the_trajectories_of_a_recorded_run_and_of_one_that_has_not_begun_follow_the_schema(tmp_path: Path) -> None:
    (recorded,) = (RECORDED / "runs").iterdir()
    run = read_run(recorded)
    trajectory = Trajectory.model_validate_json(as_atif(run))
    commands = [step.tool_calls[0].arguments["command"] for step in trajectory.steps if step.tool_calls]
    assert commands == [turn.played.record.action for episode in run.episodes for turn in episode.turns]
    tokens = sum(step.metrics.prompt_tokens or 0 for step in trajectory.steps if step.metrics)
    assert tokens == trajectory.final_metrics.total_prompt_tokens
    assert len(Trajectory.model_validate_json(as_atif(read_run(write_run(tmp_path, [])))).steps) == 1


def test_rows_of_episodes_have_the_same_columns_with_and_without_a_new_best_score(tmp_path: Path) -> None:
    run = run_of(tmp_path, played(turn(1, "up", score=5)), ended(), started(2), ended(2))
    assert len({tuple(row) for row in api.episodes(run)}) == 1
    assert [row["assistance"] for row in api.runs(workdir=tmp_path)] == [""]


def test_tokens_that_a_server_does_not_count_are_unknown_in_rows_and_figures(tmp_path: Path) -> None:
    uncounted = answered(prompt=0, completion=0)
    run = run_of(tmp_path, uncounted, played(CLIMB))
    (row,) = turn_rows(run)
    assert (row["calls"], row["prompt_tokens"], row["completion_tokens"]) == (1, None, None)
    assert ",1,,,,0" in as_csv(run)
    assert figures_of(run).usage[0].prompt_tokens is None
    assert run.summary.tokens is None
    one_counted = run_of(tmp_path / "other", uncounted, answered(prompt=7), played(CLIMB))
    assert figures_of(one_counted).usage[0].prompt_tokens == 7
    assert [row["prompt_tokens"] for row in turn_rows(one_counted)] == [None]
    assert (one_counted.summary.tokens, one_counted.summary.uncounted) == (7, 1)
