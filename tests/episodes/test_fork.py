"""A fork repeats a run up to a turn and goes on differently, in a work folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from orchestration.history import Branch
from session.errors import LanguageModelUnavailable
from session.events import EpisodeStarted, Event, MemoryRemoved, ProposalReviewed, RunEnded, TurnPlayed
from session.files.journal import read_manifest
from session.files.run_folders import find_run
from session.files.shared_files import FORKS
from session.values import Proposal
from tests.fixtures.doomed_run import STORY, decided_by_prompt
from tests.fixtures.prompted_run import fork_of, play_prompted, prompted, resume_with
from tests.fixtures.run_traces import contents_of, files_of, journal_of
from tests.fixtures.scripted_llm import Reply, ScriptedLLM
from tests.fixtures.whole_run import play_run, verify_run
from zorkgpt.llm.language_model import Prompt, Role

pytestmark = pytest.mark.slow  # each case plays two runs

TURNS = 20
EPHEMERAL = "The lamp is lit"
KEPT, LOST = "The stair is slippery", "The bell is cracked"
MEMORIES = "# Location Memories\n" + "".join(
    f"""
## Location {place}: Somewhere

**[DANGER - PERMANENT] {KEPT}** *(Ep1, T2)*
Hold the rail.

**[NOTE - PERMANENT] {LOST}** *(Ep1, T3)*
It does not ring.
"""
    for place in range(30, 100)
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work folder of a run of two episodes that began with two memories."""
    folder = tmp_path_factory.mktemp("original")
    (folder / "Memories.md").write_text(MEMORIES)
    play_prompted(STORY, folder, turns=TURNS, model=prompted(lives), episodes=2)
    return folder


def lives(role: Role, prompt: Prompt, schema: type[BaseModel]) -> Reply:
    """An agent that never goes east into the deadly mud, so that its episodes have all their turns."""
    reply = decided_by_prompt(role, prompt, schema)
    return reply | {"action": "look"} if role == "agent" and reply["action"] == "east" else reply


def waits(role: Role, prompt: Prompt, schema: type[BaseModel]) -> Reply:
    """Another agent: it waits all day."""
    if role == "agent":
        return {"reasoning": "Who knows.", "action": "wait"}
    return decided_by_prompt(role, prompt, schema)


def up_to(events: list[Event], branch: Branch) -> list[Event]:
    """The events to the branch's turn, without the run's own start."""
    records = {index: event.record for index, event in enumerate(events) if isinstance(event, TurnPlayed)}
    (end,) = [index for index, turn in records.items() if (turn.episode, turn.turn) == (branch.episode, branch.turn)]
    return events[1 : end + 1]


def agent_prompts(model: ScriptedLLM) -> list[str]:
    return [call.prompt.user for call in model.calls if call.role == "agent"]


@pytest.mark.parametrize("branch", [Branch(1, 1), Branch(1, 13), Branch(1, TURNS), Branch(2, 1), Branch(2, 19)])
def test_a_fork_repeats_up_to_its_turn_goes_on_differently_and_leaves_the_original_alone(
    original: Path, branch: Branch
) -> None:
    before = contents_of(original, but=FORKS)
    fork = fork_of(STORY, original, branch, prompted(waits))
    assert fork.played.end == "done"
    assert fork.folder.parent == original / FORKS
    assert contents_of(original, but=FORKS) == before
    beginning = up_to(journal_of(original), branch)
    assert journal_of(fork.folder)[1 : len(beginning) + 1] == beginning
    later = [turn for turn in fork.played.turns if (turn.episode, turn.turn) > (branch.episode, branch.turn)]
    assert {turn.action for turn in later if not turn.is_of_route} == {"wait"}
    assert read_manifest(find_run(fork.folder)).forked_from == find_run(original).name
    assert isinstance(journal_of(fork.folder)[-1], RunEnded)


def test_a_fork_that_goes_on_alike_is_the_same_run(original: Path) -> None:
    fork = fork_of(STORY, original, Branch(1, 9), prompted(lives))
    assert journal_of(fork.folder)[1:] == journal_of(original)[1:]
    assert files_of(fork.folder) == files_of(original)


@pytest.mark.parametrize("branch", [Branch(1, 7), Branch(1, TURNS)])
def test_a_fork_is_repeated_exactly_with_a_memory_gone_too(original: Path, branch: Branch) -> None:
    without = Branch(branch.episode, branch.turn, (LOST,))
    fork = fork_of(STORY, original, without, prompted(waits))
    replayed = verify_run(STORY, fork.folder)
    assert (replayed.turns, replayed.is_whole, replayed.difference) == (len(fork.played.turns), True, None)
    assert [event.episode for event in journal_of(fork.folder) if isinstance(event, EpisodeStarted)] == [1, 2]


def test_a_fork_of_a_fork_is_a_run_as_any_other(original: Path) -> None:
    fork = fork_of(STORY, original, Branch(1, 5, (LOST,)), prompted(waits))
    again = fork_of(STORY, fork.folder, Branch(1, 12), prompted(lives))
    beginning = up_to(journal_of(fork.folder), Branch(1, 12))
    assert MemoryRemoved(LOST) in beginning
    assert journal_of(again.folder)[1 : len(beginning) + 1] == beginning
    assert verify_run(STORY, again.folder).difference is None


def test_a_memory_taken_out_is_in_no_later_prompt_and_in_no_later_file_of_the_fork_alone(original: Path) -> None:
    model, usual = prompted(waits), prompted(waits)
    fork = fork_of(STORY, original, Branch(1, 6, (LOST.upper(),)), model)
    control = fork_of(STORY, original, Branch(1, 6), usual)
    assert any(KEPT in prompt for prompt in agent_prompts(model))
    assert any(LOST in prompt for prompt in agent_prompts(usual))
    assert not any(LOST in call.prompt.user for call in model.calls if call.role in {"agent", "memory"})
    assert LOST not in (fork.folder / "Memories.md").read_text()
    assert KEPT in (fork.folder / "Memories.md").read_text()
    for folder in (original, control.folder):
        assert LOST in (folder / "Memories.md").read_text()
    events = journal_of(fork.folder)
    before = [
        event.record for event in events[: events.index(MemoryRemoved(LOST.upper()))] if isinstance(event, TurnPlayed)
    ]
    assert [(record.episode, record.turn) for record in before] == [(1, turn) for turn in range(1, 7)]


def remembers_for_now(role: Role, prompt: Prompt, schema: type[BaseModel]) -> Reply:
    """Every visit leaves the same memory, of this episode alone."""
    if role != "memory":
        return lives(role, prompt, schema)
    memory = {"should_remember": True, "memory_title": EPHEMERAL, "memory_text": "For now.", "persistence": "ephemeral"}
    return {"memories": [memory]}


def test_a_memory_of_this_episode_alone_can_be_taken_out(tmp_path: Path) -> None:
    """An ephemeral memory is nowhere but in prompts."""
    play_prompted(STORY, tmp_path, turns=TURNS, model=prompted(remembers_for_now))
    fork = fork_of(STORY, tmp_path, Branch(1, TURNS - 1, (EPHEMERAL,)), prompted(waits))
    assert MemoryRemoved(EPHEMERAL) in journal_of(fork.folder)


def test_a_fork_that_was_paused_is_resumed_like_any_run(original: Path) -> None:
    whole = fork_of(STORY, original, Branch(1, 8, (LOST,)), prompted(waits))
    calls = 0

    def goes_away(role: Role, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        nonlocal calls
        calls += role == "agent"
        return waits(role, prompt, schema) if calls <= 4 else LanguageModelUnavailable("gone")

    paused = fork_of(STORY, original, Branch(1, 8, (LOST,)), prompted(goes_away))
    assert paused.played.end == "paused"
    assert resume_with(STORY, paused.folder, prompted(waits)).end == "done"
    assert journal_of(paused.folder)[1:] == journal_of(whole.folder)[1:]
    assert verify_run(STORY, paused.folder).difference is None


def test_what_a_person_decided_about_a_later_command_of_a_course_is_not_in_a_fork(tmp_path: Path) -> None:
    def replies(role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> Reply:
        return {"action": "look", "then": ["look", "look"], "stop_at": "place"} if role == "agent" else {"memories": []}

    def review(proposal: Proposal) -> ProposalReviewed:
        return ProposalReviewed(proposal.wish, next(decisions, proposal.wish))

    decisions = iter(["look", "wait"])
    options: dict[str, Any] = {"max_turns_per_episode": 2, "critic": {"mode": "object_tree"}}
    run = play_run(STORY, ScriptedLLM(replies), tmp_path, review=review, knowledge={"enabled": False}, **options)
    fork = fork_of(STORY, tmp_path, Branch(1, 1), ScriptedLLM(replies)).played
    assert [[turn.action for turn in each.turns] for each in (run, fork)] == [["look", "wait"], ["look", "look"]]
