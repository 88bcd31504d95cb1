"""What options add to the requests of a role: fields, how much the model thinks, and marks for the server's cache."""

from __future__ import annotations

import json
from os.path import commonprefix
from pathlib import Path
from typing import Any

import pytest

from session.events import ModelAnswered
from session.files.journal import read_manifest
from session.files.run_folders import find_run
from tests.fixtures.command_line import Ran
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Streams, says_error
from tests.fixtures.run_traces import events_of
from tests.fixtures.troubled_server import Answers, answer_to
from tests.fixtures.typed_command import typed

pytestmark = pytest.mark.usefixtures("in_own_folder")

SMALLEST_CACHED = 1024  # tokens of a prefix, as at Anthropic
TURNS = 100
MARKED = tuple(word for role in ("agent", "memory", "analysis") for word in ("--set", f"llm.{role}.cache_control=true"))


def plain(body: dict[str, Any]) -> dict[str, Any]:
    """The request with the text of each message in one piece."""
    messages = [
        {**message, "content": "".join(part["text"] for part in message["content"])}
        if isinstance(message["content"], list)
        else message
        for message in body["messages"]
    ]
    return {**body, "messages": messages}


class Caches:
    """Has a prompt's beginning in its cache only up to a part that was marked in an earlier request, as Anthropic."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    def play(self, handler: Handler) -> None:
        body = handler.server.asked[-1].body
        text, cached, marked = "", 0, []
        for message in body["messages"]:
            content = message["content"]
            for part in [{"text": content}] if isinstance(content, str) else content:
                assert part["text"].strip()
                text += part["text"]
                cached = len(text) if text in self.known else cached
                if part.get("cache_control") == {"type": "ephemeral"}:
                    marked.append(text)
        assert len(marked) <= 4
        self.known.update(each for each in marked if len(each) >= 4 * SMALLEST_CACHED)
        usage = {
            "prompt_tokens": len(text) // 4,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": cached // 4},
        }
        Streams((answer_to(plain(body)),), usage=usage).play(handler)


class TakesTextOnly:
    """Refuses prompts in parts, with the words of a server that knows only text."""

    def play(self, handler: Handler) -> None:
        if any(isinstance(message["content"], list) for message in handler.server.asked[-1].body["messages"]):
            says_error(400, "messages.0.content: Input should be a valid string").play(handler)
        else:
            Answers().play(handler)


def played(folder: Path, server: MisbehavingServer, *options: str, turns: int = TURNS) -> Ran:
    there = ("--base-url", server.base_url, "--workdir", str(folder / "work"), "--quiet")
    return typed("run", *there, "--max-turns", str(turns), *options)


def calls(folder: Path) -> list[ModelAnswered]:
    return [event for event in events_of(find_run(folder / "work")) if isinstance(event, ModelAnswered)]


def repeated_share(server: MisbehavingServer) -> float:
    """The share of the prompts that a server which needs no marks has in its cache."""
    texts = ["".join(message["content"] for message in plain(asked.body)["messages"]) for asked in server.asked]
    lengths = [
        max((len(commonprefix((text, earlier))) for earlier in texts[:number]), default=0)  # noqa: RUF071  not of paths
        for number, text in enumerate(texts)
    ]
    return sum(length for length in lengths if length >= 4 * SMALLEST_CACHED) / sum(map(len, texts))


def cached_share(folder: Path) -> float:
    answered = calls(folder)
    return sum(call.cached_tokens for call in answered) / sum(call.prompt_tokens for call in answered)


@pytest.mark.slow
def test_marks_let_a_server_that_needs_them_cache_most_of_the_prompts_which_stay_the_same(tmp_path: Path) -> None:
    with MisbehavingServer(Caches()) as before, MisbehavingServer(Caches()) as after:
        assert played(tmp_path / "before", before).status == 0
        assert played(tmp_path / "after", after, *MARKED).status == 0
    assert [plain(asked.body) for asked in after.asked] == [asked.body for asked in before.asked]
    assert cached_share(tmp_path / "before") == 0
    assert cached_share(tmp_path / "after") > 0.75 * repeated_share(after)


def test_a_server_that_takes_text_only_is_sent_parts_once_and_plays_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with MisbehavingServer(TakesTextOnly()) as server:
        shown = played(tmp_path, server, *MARKED, turns=3)
    assert shown.status == 0, shown
    first, *others = [asked.body for asked in server.asked]
    assert plain(first) != first
    assert sum(call.cached_tokens for call in calls(tmp_path)) == 0
    assert others[0] == plain(first)
    assert all(plain(body) == body for body in others)
    (line,) = caplog.messages
    assert "refuses cache_control as sent" in line


@pytest.mark.slow
def test_more_fields_and_the_effort_to_think_are_sent_for_their_role_alone(tmp_path: Path) -> None:
    more = {"top_a": 0.2, "provider": {"order": ["one", "two"]}}
    both = ("--set", "extractor.mode=separate")
    chosen = ("--set", f"llm.agent.extra_body={json.dumps(more)}", "--set", "llm.info_ext.reasoning_effort=low")
    with MisbehavingServer(Answers()) as server, MisbehavingServer(Answers()) as other:
        assert played(tmp_path / "chosen", server, *both, *chosen, turns=3).status == 0
        assert played(tmp_path / "default", other, *both, turns=3).status == 0
    added: dict[str, dict[str, Any]] = {"agent": more, "info_ext": {"reasoning_effort": "low"}}
    roles = [call.role for call in calls(tmp_path / "chosen")]
    assert {"agent", "info_ext"} <= set(roles)
    default = [asked.body for asked in other.asked]
    assert [asked.body for asked in server.asked] == [
        body | added.get(role, {}) for body, role in zip(default, roles, strict=True)
    ]
    written = read_manifest(find_run(tmp_path / "chosen" / "work")).configuration["llm"]
    assert (written["agent"]["extra_body"], written["info_ext"]["reasoning_effort"]) == (more, "low")


@pytest.mark.parametrize(
    ("option", "value", "field"),
    [
        ("llm.agent.reasoning_effort", "low", "reasoning_effort"),
        ("llm.memory.extra_body", '{"top_a": 1}', "top_a"),
    ],
)
def test_a_field_that_the_server_does_not_know_is_an_error_with_its_option_before_anything_is_played(
    in_own_folder: Path, option: str, value: str, field: str
) -> None:
    with MisbehavingServer(Answers()) as server:
        server.trial = says_error(400, f"Unrecognized request argument supplied: {field}")
        shown = typed("run", "--base-url", server.base_url, "--workdir", "work", "--set", f"{option}={value}")
    assert (shown.status, server.asked) == (2, [])
    (line,) = shown.lines
    assert f"the server rejects {field!r} ({option}): 400: Unrecognized request argument supplied" in line
    assert not (in_own_folder / "work").exists()
