"""Inspect plays stories with its own models: the command, its log, its limits, and the journals that the log names."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from session.errors import WaitInterrupted
from session.values import derived_seed
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Says
from tests.fixtures.troubled_server import answer_to
from zorkgpt import api

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

pytestmark = pytest.mark.slow

ALONE = {
    "critic.mode": "object_tree",
    "extractor.mode": "none",
    "knowledge.enabled": False,
    "objectives.enabled": False,
    "simple_memory.enabled": False,
    "assist": "valid-actions",
}
SCRIPTED = """
import itertools
import json

import anyio
from inspect_ai import Task, task, task_with
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from zorkgpt.inspect_task import story

REQUESTS = itertools.count(1)


async def answer(messages, _tools, _choice, config):
    number = next(REQUESTS)
    if "Turn 4" in messages[1].text and %(stalls)s:
        await anyio.sleep_forever()
    choices = config.response_schema.json_schema.properties["action"].enum
    action = "north" if "north" in choices else choices[0]
    assert number != 2 or "cannot be used" in messages[-1].text
    text = "I go north." if number == 1 else json.dumps({"reasoning": "", "action": action})
    output = ModelOutput.from_content("mocked", text)
    output.usage = ModelUsage(input_tokens=60, output_tokens=10, total_tokens=110, input_tokens_cache_read=40)
    return output


@task
def scripted() -> Task:
    model = get_model("mockllm/model", custom_outputs=answer)
    return task_with(story(episodes=2, max_turns=5, options=%(options)s), model=model)
"""


def evaluated(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> EvalLog:
    """The log that ``inspect eval`` writes."""
    command = [str(Path(sys.executable).with_name("inspect")), "eval", *arguments, "--display", "plain"]
    where = {"PATH": "/usr/bin:/bin", "HOME": str(folder), **(environment or {})}
    ran = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=False)
    (log,) = (folder / "logs").glob("*.eval")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    read: EvalLog = pytest.importorskip("inspect_ai.log").read_eval_log(str(log))
    return read


def scripted(folder: Path, *arguments: str, stalls: bool = False) -> EvalLog:
    """The log of an evaluation of ``mockllm``, whose first answer is unusable, and which always goes north."""
    (folder / "scripted.py").write_text(SCRIPTED % {"stalls": stalls, "options": ALONE})
    return evaluated(folder, "scripted.py", *arguments)


class Answers:
    """Answers each request with JSON of its schema, as a whole."""

    def play(self, handler: Handler) -> None:
        message = {"role": "assistant", "content": answer_to(handler.server.asked[-1].body)}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        cached = {"prompt_tokens_details": {"cached_tokens": 40}}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        frame = {"id": "1", "object": "chat.completion", "created": 1, "model": "served"}
        Says(200, {**frame, "choices": [choice], "usage": {**usage, **cached}}).play(handler)


def journal(sample: Any) -> api.PlayedRun:
    """The run that a sample of the log links."""
    return api.read_run(sample.store["zorkgpt:run"])


def test_the_command_plays_a_run_an_epoch_and_its_log_links_journals_that_replay(tmp_path: Path) -> None:
    with MisbehavingServer(Answers()) as server:
        log = evaluated(
            tmp_path,
            *("zorkgpt/story", "-T", "episodes=2", "-T", "max_turns=4", "-T", "seed=7", "--epochs", "2"),
            *("--model", "openai/gpt-4.1-mini", "--model-base-url", server.base_url),
            environment={"OPENAI_API_KEY": "sk-for-a-test"},
        )
        forms = [asked.body["response_format"]["json_schema"] for asked in server.asked]
    assert (log.status, log.eval.task, log.results and log.results.completed_samples) == ("success", "zorkgpt/story", 2)
    assert all(form["strict"] and "$ref" not in json.dumps(form) for form in forms)
    assert {"AgentAnswer", "ReadingAgentAnswer"} & {form["name"] for form in forms}
    spent = 0
    for sample, first in zip(log.samples or [], (7, derived_seed(7, 2, "epoch")), strict=True):
        run = journal(sample)
        seeds = (first, derived_seed(first, 2, "episode"))
        assert (run.summary.state, run.manifest.seeds) == ("done", seeds)
        assert (run.summary.model, run.summary.engine) == (("openai/gpt-4.1-mini",), "Inspect")
        assert run.summary.folder.is_relative_to(tmp_path / "inspect")
        (score,) = (sample.scores or {}).values()
        ends = [episode.observations[-1].score or 0 for episode in run.episodes]
        assert isinstance(score.value, dict)
        assert score.value["score"] == sum(ends) / 2 / 100
        used = {(row["prompt_tokens"], row["cached_tokens"]) for row in calls(run)}
        assert used == {(100, 40)}
        spent += len(calls(run))
        assert api.replay(run.summary.folder, workdir=run.summary.folder.parent.parent).difference is None
    assert spent == len(server.asked)


def calls(run: api.PlayedRun) -> list[dict[str, Any]]:
    lines = map(json.loads, (run.summary.folder / "journal.jsonl").read_text().splitlines())
    return [line["event"] for line in lines if line["event"]["kind"] == "model_answered"]


def test_an_unusable_answer_is_requested_again_by_the_run_and_the_score_is_the_share_of_the_maximum(
    tmp_path: Path,
) -> None:
    log = scripted(tmp_path)
    (sample,) = log.samples or []
    run = journal(sample)
    assert [call["requests"] for call in calls(run)[:2]] == [2, 1]
    (score,) = (sample.scores or {}).values()
    assert score.value == {"score": 0.05, "last_score": 0.05, "best_score": 0.05}
    assert log.results is not None
    assert log.results.scores[0].metrics["mean"].value == 0.05
    played = [event.data for event in sample.events if event.event == "info"]
    assert played[0] == {"command": "north", "score": 0}
    assert len(played) == 10


@pytest.mark.parametrize(
    ("limit", "stalls", "reason"),
    [(("--token-limit", "300"), False, "Token limit exceeded"), (("--time-limit", "5"), True, "Inspect cancelled")],
)
def test_a_limit_of_inspect_pauses_the_run_and_what_was_played_is_scored(
    tmp_path: Path, limit: tuple[str, str], stalls: bool, reason: str
) -> None:
    log = scripted(tmp_path, *limit, stalls=stalls)
    (sample,) = log.samples or []
    run = journal(sample)
    assert log.status == "success"
    assert sample.limit is not None
    assert (sample.limit.type, run.summary.state) == (limit[0][2:].removesuffix("-limit"), "paused")
    assert reason in run.summary.reason
    assert sample.scores


def test_a_call_that_begins_after_inspect_has_cancelled_the_sample_is_interrupted() -> None:
    anyio, task = pytest.importorskip("anyio"), pytest.importorskip("zorkgpt.inspect_task")
    is_cancelled, raised = Event(), list[BaseException]()

    def play() -> None:
        is_cancelled.wait()
        try:
            task._on_loop(anyio.lowlevel.checkpoint_if_cancelled)
        except WaitInterrupted as error:
            raised.append(error)

    async def sample() -> None:
        with anyio.CancelScope() as scope:
            for later in (scope.cancel, is_cancelled.set):
                asyncio.get_running_loop().call_later(0.1, later)
            await anyio.to_thread.run_sync(play)

    thread = Thread(target=anyio.run, args=(sample,), daemon=True)
    thread.start()
    thread.join(30)
    assert (thread.is_alive(), len(raised)) == (False, 1)


def test_what_cannot_be_played_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for argument, problem in (
        ("game=missing.z5", "There is no story file"),
        ("options={critic.mode:llm}", "a space after each colon"),
    ):
        command = [str(Path(sys.executable).with_name("inspect")), "eval", "zorkgpt/story", "-T", argument]
        ran = subprocess.run(
            [*command, "--model", "mockllm/model"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, problem in " ".join(ran.stdout.split())) == (1, True), ran.stdout
        assert "Traceback" not in ran.stdout
    task = pytest.importorskip("zorkgpt.inspect_task")
    monkeypatch.chdir(tmp_path)
    for arguments, problem in (
        ({"episodes": 0}, "episodes is 0; expected at least 1"),
        ({"max_turns": 0}, "max_turns among the arguments should be greater than 0"),
        ({"options": {"critic.mood": "llm"}}, "critic.mood"),
    ):
        with pytest.raises(task.PrerequisiteError, match=problem):  # of which the command prints the text alone
            task.story(**arguments)


def test_a_run_with_an_episode_without_a_known_score_has_no_mean() -> None:
    shares = pytest.importorskip("zorkgpt.inspect_task").shares_of_maximum
    rows = [{"score": 20, "best_score": 30}, {"score": None, "best_score": None}]
    assert shares(rows[:1], 100) == {"score": 0.2, "last_score": 0.2, "best_score": 0.3}
    assert shares(rows, 100) == shares(rows[1:], 100) == shares([], 100) == {}
