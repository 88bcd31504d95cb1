"""``zorkgpt run --step`` as typed: a person plays, edits or refuses what the agent proposes."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.events import ProposalReviewed, TurnPlayed
from session.files.run_folders import find_run
from session.values import TurnRecord
from tests.fixtures.command_line import Ran, typed_on_a_terminal
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.run_traces import events_of
from tests.fixtures.troubled_server import Answers
from tests.fixtures.typed_command import typed

pytestmark = pytest.mark.usefixtures("in_own_folder")

CTRL_C, CTRL_U = "\x03", "\x15"


def turns(folder: Path) -> list[TurnRecord]:
    return [event.record for event in events_of(find_run(folder / "work")) if isinstance(event, TurnPlayed)]


def reviews(folder: Path) -> list[ProposalReviewed]:
    return [event for event in events_of(find_run(folder / "work")) if isinstance(event, ProposalReviewed)]


def stepped(folder: Path, server: MisbehavingServer, keys: list[str], turns: int, once: bytes = b"> ") -> Ran:
    arguments = ("--max-turns", str(turns), "--workdir", "work", "--base-url", server.base_url)
    return typed_on_a_terminal(folder, keys, "run", "--step", *arguments, once=once)


def test_a_proposal_is_played_edited_or_refused_with_a_reason_that_the_agent_reads(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        played = stepped(tmp_path, server, ["\r", "r it is too early for that\r", "e north\r", "a\r"], 4)
        asked = [asked.body["messages"][1]["content"] for asked in server.asked]
    assert played.status == 0
    first, second, *_ = turns(tmp_path)
    accepted, refused, edited = reviews(tmp_path)
    assert accepted == ProposalReviewed(first.action, first.action)
    assert refused == ProposalReviewed(second.proposals[0].action, "", "it is too early for that")
    assert (edited.action, edited.played) == (second.proposals[1].action, "north")
    assert second.action == "north"
    assert [verdict.source for verdict in second.verdicts] == ["person"] * 3
    told = f"## Not played this turn\n- `{refused.action}`: it is too early for that"
    assert sum(told in prompt for prompt in asked) == 1
    assert len(turns(tmp_path)) == 4
    assert typed("replay", "--workdir", "work").out.endswith(b" is repeated exactly: 4 turns\n")


@pytest.mark.slow
def test_a_run_that_is_paused_at_a_proposal_goes_on_with_what_was_decided_and_asks_again(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        paused = stepped(tmp_path, server, ["\r", "r not now\r", CTRL_C], 2)
        assert paused.status == 130
        resumed = typed_on_a_terminal(tmp_path, ["e look\r"], "resume", "--step", "--workdir", "work")
    assert resumed.status == 0
    assert [review.reason for review in reviews(tmp_path)] == ["", "not now", ""]
    assert turns(tmp_path)[1].action == "look"
    assert typed("replay", "--workdir", "work").status == 0


@pytest.mark.slow
def test_what_the_story_may_not_be_given_and_what_is_no_key_is_said_at_once(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        keys = ["e save\r", f"{CTRL_U}日本\r", f"{CTRL_U}look\r", "now\r", "\r"]
        shown = stepped(tmp_path, server, keys, 2, once=b"> |Command: ").text
    assert [review.played for review in reviews(tmp_path)] == ["look", turns(tmp_path)[1].action]
    assert "Progress is saved automatically; Ctrl-C pauses " in shown
    assert "The story reads plain English letters only, not '日'." in shown
    assert "'now' is not a choice: Enter alone plays it; e, r or a, then Enter, " in shown


@pytest.mark.parametrize("more", [(), ("--quiet",), ("--json",)])
def test_without_a_terminal_it_says_what_it_takes(more: tuple[str, ...]) -> None:
    refused = typed("run", "--step", "--workdir", "work", *more)
    assert refused.status == 2
    assert refused.lines == ["zorkgpt: --step asks about each command: it needs a terminal, without --quiet and --json"]
