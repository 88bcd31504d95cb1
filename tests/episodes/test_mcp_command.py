"""``zorkgpt mcp``: a client plays over the Model Context Protocol, with the SDK's own client over stdio."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from subprocess import PIPE
from typing import IO, Any, cast

import anyio
import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

from mcp import MCPError
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation, TextContent, TextResourceContents, Tool

from tests.fixtures.command_line import COMMAND, environment, ran
from tests.fixtures.report_data import data_in
from zorkgpt.api import read_run, replay

pytestmark = pytest.mark.slow
RUN_WITH_ITS_ID = 'echo $$ > server.pid; exec "$0" -m zorkgpt mcp --workdir work "$@"'


def client_in(folder: Path, *arguments: str) -> Client:
    """Return a client whose server plays in ``folder`` and has written its process id into ``server.pid`` there."""
    command = ["-c", RUN_WITH_ITS_ID, sys.executable, *arguments]
    server = StdioServerParameters(command="sh", args=command, cwd=folder, env=environment())
    return Client(stdio_client(server), client_info=Implementation(name="te\x1b[2Jster; 1", version="1"))


async def called(client: Client, tool: str, **arguments: object) -> str:
    """Return the text of a tool's answer, with ``error: `` before that of an error."""
    result = await client.call_tool(tool, cast("dict[str, Any]", arguments))
    (content,) = result.content
    assert isinstance(content, TextContent)
    return f"error: {content.text}" if result.is_error else content.text


def test_two_episodes_with_a_kill_in_between_are_one_run_that_is_replayed_exactly(tmp_path: Path) -> None:
    async def play_until_killed() -> None:
        async with client_in(tmp_path, "--episodes", "2", "--max-turns", "4") as client:
            assert "Episode 1 begins" in await called(client, "act", command="north", reasoning="There is a house.")
            told = await called(client, "remember", location=35, title="Yard", text="A door north.", tier="core")
            assert told == "Remembered at location 35 as core: Yard"
            await called(client, "note", text="Mind the otter")
            await called(client, "act", command="north")
            await called(client, "act", command="look")
            assert "ended after 4 turns (turn_limit), with 5 of 100" in await called(client, "go_to", location=35)
            assert "[core] Yard: A door north." in await called(client, "follow", route=2, until=1)
            told = await called(client, "remember", location=32, title="Elvis", text="He sings there.", tier="core")
            assert told.endswith(
                "as permanent instead of core: core is for what the story shows on arrival, before a "
                "command there: Elvis"
            )
            os.kill(int((tmp_path / "server.pid").read_text()), signal.SIGKILL)
            with pytest.raises(MCPError):
                await called(client, "act", command="north")

    async def play_on() -> None:
        async with client_in(tmp_path, "--episodes", "7") as client:
            situation = await called(client, "situation")
            assert "[Turn 2, at most 2 more, score 0 of 100]" in situation
            assert "L35 Forecourt (here)" in situation
            assert await called(client, "recall", location=32) == "- [permanent] Elvis: He sings there."
            assert await called(client, "recall", location="forecourt") == "- [core] Yard: A door north."
            told = await called(client, "invalidate", location=32, title="elvis", reason="Nobody sings.")
            assert told == "Invalidated at location 32: elvis"
            for command in ("look", "look", "look"):
                told = await called(client, "act", command=command)
            assert "The run has ended" in told
            assert await called(client, "act", command="look") == "error: the run has ended"
            (transcript,) = (await client.read_resource("zorkgpt://transcript")).contents
            (report,) = (await client.read_resource("zorkgpt://report")).contents
            assert isinstance(transcript, TextResourceContents)
            assert isinstance(report, TextResourceContents)
            assert "> There is a house." in transcript.text
            (page,) = data_in(report.text)["runs"]
            assert page["figures"]["run"]["turns"] == 8

    anyio.run(play_until_killed)
    typed = ran(tmp_path, "resume", "--workdir", "work")
    assert "played by te2Jster 1 over MCP, a client: continue with" in typed.lines[-1]
    anyio.run(play_on)
    run = read_run(workdir=tmp_path / "work")
    assert (run.summary.state, run.summary.turns) == ("done", 8)
    assert [note.text for turn in run.episodes[0].turns for note in turn.played.record.notes] == ["Mind the otter"]
    assert replay(workdir=tmp_path / "work").difference is None
    assert "is repeated exactly" in ran(tmp_path, "replay", "--workdir", "work").text
    memories = (tmp_path / "work" / "Memories.md").read_text(encoding="utf-8")
    assert "**[NOTE - CORE] Yard**" in memories
    assert '[Invalidated at T1: "Nobody sings."]' in memories


def test_what_no_tool_can_use_is_an_error_in_one_line_and_play_goes_on(tmp_path: Path) -> None:
    unusable: list[tuple[str, dict[str, object]]] = [
        ("act", {"command": "x" * 1_000_000}),
        ("act", {"command": "\x1b[2Jnorth"}),
        ("act", {"command": 5}),
        ("act", {"reasoning": "no command"}),
        ("act", {"command": "north", "reasoning": "y" * 1_000_000}),
        ("follow", {"route": 10**30}),
        ("go_to", {"location": -1}),
        ("recall", {"location": 99}),
        ("remember", {"location": 99, "title": "t", "text": "x"}),
        ("remember", {"location": 32, "title": " ", "text": "x"}),
        ("remember", {"location": 32, "title": "\x00", "text": "x"}),
        ("remember", {"location": 32, "title": "t", "text": "x", "tier": "z" * 1_000_000}),
        ("invalidate", {"location": 32, "title": "unknown", "reason": "r"}),
        ("note", {"text": "n" * 1_000_000}),
        ("\x1b[2J", {}),
    ]

    async def play() -> None:
        async with client_in(tmp_path, "--max-turns", "3") as client:
            with pytest.raises(MCPError, match="no run has begun"):
                await client.read_resource("zorkgpt://transcript")
            for tool, arguments in unusable:
                told = await called(client, tool, **arguments)
                assert told.startswith("error: ")
                assert len(told) < 400
                assert told.isprintable()
            assert await called(client, "act", command="") == "error: An empty command does nothing."
            assert "Forecourt" in await called(client, "act", command="north")

    anyio.run(play)
    assert read_run(workdir=tmp_path / "work").summary.turns == 1
    assert read_run(workdir=tmp_path / "work").summary.player == "te2Jster 1 over MCP"
    wrong = ran(tmp_path, "mcp", "--game", "no-such-story.z5")
    assert (wrong.status, wrong.out, len(wrong.lines)) == (2, b"", 1)


def test_the_server_has_the_name_and_the_version_of_the_program(tmp_path: Path) -> None:
    async def introduced() -> Implementation | None:
        async with client_in(tmp_path) as client:
            return client.server_info

    server = anyio.run(introduced)
    assert server is not None
    assert (server.name, server.version) == ("zorkgpt", version("zorkgpt"))


def test_every_parameter_of_a_tool_is_described(tmp_path: Path) -> None:
    async def listed() -> dict[str, Any]:
        async with client_in(tmp_path) as client:
            tools = (await client.list_tools()).tools
            return {f"{tool.name} {name}": each for tool in tools for name, each in properties(tool).items()}

    parameters = anyio.run(listed)
    assert {"act command", "follow until", "recall location", "note text"} <= parameters.keys()
    assert [name for name, schema in parameters.items() if not schema.get("description")] == []


def properties(tool: Tool) -> dict[str, Any]:
    """Return the JSON schemas of a tool's parameters by name."""
    found: dict[str, Any] = tool.input_schema["properties"]
    return found


def test_exits_are_complete_only_when_every_direction_was_tried(tmp_path: Path) -> None:
    async def play() -> None:
        async with client_in(tmp_path, "--max-turns", "30") as client:
            assert "L32 Causeway" in (told := await called(client, "situation"))
            assert "there may be other exits" in told.splitlines()[-1]
            for direction in (
                "east",
                "west",
                "south",
                "northeast",
                "northwest",
                "southeast",
                "southwest",
                "up",
                "down",
            ):
                await called(client, "act", command=direction)
            await called(client, "act", command="north")
            lines = (await called(client, "map")).splitlines()
            assert [line.startswith("You are at ") for line in lines if "there may be other exits" in line] == [True]
            assert len(lines) == 2
            assert "no known exits; presumed ways back: south to 32; untried: north" in "".join(lines)

    anyio.run(play)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[IO[str], IO[str]]]:
    """The input and the output of a server that ends well."""
    command = [*COMMAND, "mcp", "--workdir", "work"]
    folder = tmp_path_factory.mktemp("served")
    with subprocess.Popen(command, cwd=folder, env=environment(), stdin=PIPE, stdout=PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdin, server.stdout
        server.stdin.close()
    assert server.returncode == 0


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("tools/call", {"name": "act", "arguments": {"command": "north \ud800"}}),
        ("tools/call", {"name": "act", "arguments": {"command": "north", "reasoning": "\udc00"}}),
        ("tools/call", {"name": "remember", "arguments": {"location": 32, "title": "\ud800t", "text": "x"}}),
        ("tools/call", {"name": "note", "arguments": {"\ud800": "x"}}),
        ("\udfff", {}),
        ("initialize", {"clientInfo": {"name": "\ud83d", "version": "1"}}),
    ],
    ids=["command", "reasoning", "title", "name of an argument", "method", "client"],
)
def test_half_of_a_surrogate_pair_is_answered_with_an_error_in_one_line(
    server: tuple[IO[str], IO[str]], method: str, parameters: dict[str, object]
) -> None:
    given, printed = server
    messages: list[dict[str, object]] = [
        {"id": "half", "method": method, "params": parameters},
        {"method": "notifications/\ud800"},
        {"id": "\ud800", "method": "ping"},
        {"id": 2, "method": "ping"},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    given.write("\n".join([*lines, "no JSON", ""]))
    given.flush()
    answers = [json.loads(printed.readline()) for _ in range(4)]
    assert [answer["id"] for answer in answers if "error" in answer] == ["half", None, None]
    assert all(answer["error"]["message"].isprintable() for answer in answers if "error" in answer)
    assert [answer["id"] for answer in answers if "result" in answer] == [2]


def test_no_tool_and_no_resource_reads_the_story_file_or_the_journal(tmp_path: Path, own_story: Path) -> None:
    """Every text and number of every tool names the files in turn; commands that read files reach no interpreter."""
    answers: list[str] = []

    async def play() -> None:
        async with client_in(tmp_path, "--game", str(own_story), "--max-turns", "500") as client:
            await called(client, "situation")
            (journal,) = (tmp_path / "work").rglob("journal.jsonl")
            paths = [str(own_story), str(journal), "../story.json", f"file://{journal}", "zorkgpt://journal"]
            for tool in (await client.list_tools()).tools:
                for path in paths:
                    texts = {name: path if "number" not in str(kind) else 1 for name, kind in properties(tool).items()}
                    answers.append(await called(client, tool.name, **texts))
            for command in ("restore", "restart", "save", "script", "replay", "#record", "undo", f"restore {journal}"):
                answers.append(await called(client, "act", command=command))
                answers.append(await called(client, "act", command=str(journal)))
            found = (await client.list_resources()).resources
            assert {str(each.uri) for each in found} == {"zorkgpt://transcript", "zorkgpt://report"}
            assert (await client.list_resource_templates()).resource_templates == []
            for path in paths:
                with pytest.raises(MCPError):
                    await client.read_resource(path)

    anyio.run(play)
    story, (journal,) = own_story.read_bytes(), (tmp_path / "work").rglob("journal.jsonl")
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    shown = "\n".join(answers)
    assert [line["sum"] for line in lines if line["sum"] in shown] == []
    assert not any(word in shown for word in ("world_hash", "state_hash", '"kind"', "story_sha256"))
    assert not any(story[at : at + 16].decode("latin-1") in shown for at in range(64, len(story) - 16, 512))
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")}
    assert written == {"work", "server.pid"}
