"""A server of the Model Context Protocol, whose client plays, with the extra ``mcp`` (docs/mcp.md)."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from secrets import compare_digest
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, ToolAnnotations
from pydantic import Field, SecretStr, ValidationError
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from session.errors import ConfigurationError, ZorkGPTError, first_problem
from session.events import EpisodeEnded, EpisodeStarted, Event, RunStarted, TurnPlayed
from session.files.journal import read_manifest
from session.files.run_folders import latest_runs, story_folders
from session.game_state import LONGEST_NOTE
from session.memory import Persistence
from session.options import TOKEN_VARIABLE
from session.resolved_configuration import is_loopback
from session.text import cut_at, one_line, out_of, printable, quoted, text_key, without_blank_lines
from zorkgpt.api.sessions import Session, Situation, require_text
from zorkgpt.report.exports import as_markdown
from zorkgpt.report.pages import RunPage, page_data
from zorkgpt.report.played_run import read_run
from zorkgpt.report.run_summary import summarise
from zorkgpt.report.server import page_with

if TYPE_CHECKING:
    from mcp_types import CallToolResult, InputRequiredResult

    from session.game_configuration import GameConfiguration

LONGEST_ERROR = 300  # characters
PATH = "/mcp"
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
INSTRUCTIONS = """\
You play a text adventure with these tools. Call `situation` first, then `act` with one command at a time until the
episode ends. Everything is recorded, and the map and routes are learned from what you do. Remember what would help a
player who comes to a location again, in this episode or in a later one: your memories are shown to you there."""

_OWN_LINES = (
    r"\[Turn |> |- \[|Episode \d|Not played: |Routes to follow |Commands to choose |The run has ended|"
    r"(?:You are at )?\d+ .*: (?:no known exits|.* to \d)"
)
"""The beginnings of lines of answers that are not the story's."""

OpenSession = Callable[[Path | None, str, Callable[[Event], None]], Session]
"""Begins a session, or continues the run in a folder. Takes the player's name, and what is called with each event."""


Command = Annotated[str, Field(description='what to type, such as "north" or "take lamp"')]
Reasoning = Annotated[str, Field(description="why you play it, in a sentence or two, for the record")]
Route = Annotated[int, Field(description="number of a route to follow from here")]
Until = Annotated[int | None, Field(description="number of the last command to play, from 1; all by default")]
Number = Annotated[int, Field(description="number of a location on the map")]
NumberOrName = Annotated[int | str, Field(description="number of a location on the map, or the name of one or several")]
Title = Annotated[str, Field(description="title of the memory, a few words; each title once per location")]
Text = Annotated[str, Field(description="what to remember, in one or two sentences")]
Tier = Annotated[
    Persistence,
    Field(
        description='"core" for what the story shows on arrival (before your first command there), "permanent" for how '
        'the game works, "ephemeral" for what applies to this episode only'
    ),
]
Reason = Annotated[str, Field(description="what showed that the memory is false")]
Note = Annotated[str, Field(description=f"at most {LONGEST_NOTE} characters, with the notes since your last command")]


class ClientsRun:
    """The run that a client plays. Its methods are the tools; their docstrings describe them to the client.

    client: the client's name
    folder: of the run, ``None`` before the first tool is called
    """

    def __init__(self, open_session: OpenSession, workdir: Path, story_sha256: str) -> None:
        self.client = "a client"
        self.folder: Path | None = None
        self._open_session = open_session
        self._workdir = workdir
        self._story_sha256 = story_sha256
        self._session: Session | None = None
        self._events: list[Event] = []
        self._note = ""

    def situation(self) -> str:
        """Show where you are and everything that is known: history, map, memories, routes, inventory, score."""
        now = self._now()
        return self._news(f"{now.prompt.rstrip()}\n") if now else self._news()

    def act(self, command: Command, reasoning: Reasoning = "") -> str:
        """Play one command, and return the story's answer."""
        return self._play(lambda session: session.act(command, reasoning=reasoning, note=self._note))

    def follow(self, route: Route, until: Until = None, reasoning: Reasoning = "") -> str:
        """Play the commands of a route that begins here, until one of them has another result than before."""
        return self._play(lambda session: session.follow(route, until=until, reasoning=reasoning, note=self._note))

    def go_to(self, location: Number, reasoning: Reasoning = "") -> str:
        """Walk to a location on the map, if a way is known."""
        return self._play(lambda session: session.go_to(location, reasoning=reasoning, note=self._note))

    def remember(self, location: Number, title: Title, text: Text, tier: Tier = "permanent") -> str:
        """Remember something of a location. It is shown whenever you are there."""
        memory = self._playing().remember(location, title, text, persistence=tier)
        changed = (
            ""
            if memory.persistence == tier
            else f" instead of {tier}: core is for what the story shows on arrival, before a command there"
        )
        return printable(f"Remembered at location {location} as {memory.persistence}{changed}: {memory.title}")

    def invalidate(self, location: Number, title: Title, reason: Reason) -> str:
        """Mark a memory as false. It stays in the file, but is no longer shown."""
        self._playing().invalidate(location, title, reason=reason)
        return printable(f"Invalidated at location {location}: {one_line(title)}")

    def recall(self, location: NumberOrName) -> str:
        """Show the memories of a location on the map."""
        now = self._require_now()
        named = [each for each, name in now.map.locations.items() if text_key(name) == text_key(str(location))]
        found = [each for each in now.map.locations if str(each) == str(location).strip()] or named
        if not found:
            raise ValueError(f"location {location} is not on the map")
        lines = [line for each in found for line in _memories(now, each)]
        return printable("\n".join(lines)) or f"Nothing is remembered of location {location}."

    def map(self) -> str:
        """Show all known locations, with their numbers, their exits and the exits that have not been tried."""
        now = self._require_now()
        here = now.observation.location
        lines = (
            f"{'You are at ' if here and here.num == each else ''}{_exits(now, each)}" for each in now.map.locations
        )
        return printable("\n".join(lines))

    def note(self, text: Note) -> str:
        """Keep a line in view for the rest of the episode. It is recorded with your next command."""
        note = "; ".join(filter(None, (self._note, one_line(text))))
        require_text("the note", note, LONGEST_NOTE)
        self._note = note
        return printable(f"Noted, with your next command: {note}")

    def close(self) -> None:
        """Pause the run."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _opened(self) -> Session:
        """Return the session; the first time, begin a run or resume the latest one that a client has not finished."""
        if self._session is None:
            stories = story_folders(self._workdir).items()
            folders = [folder for folder, story in stories if story and story.sha256 == self._story_sha256]
            self.folder = next(filter(_is_unfinished, latest_runs(folders)), None)
            name = re.sub(r"[^\w .-]", "", self.client, flags=re.ASCII)[:40].strip() or "a client"
            self._session = self._open_session(self.folder, f"{name} over MCP", self._see)
        return self._session

    def _see(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.folder = Path(event.folder)
        self._events.append(event)

    def _now(self) -> Situation | None:
        """Return the situation, ``None`` after the end of the run. After an error, the next call resumes the run."""
        session = self._opened()
        try:
            now = session.situation
        except (ZorkGPTError, ValueError):
            self.close()
            raise
        if now is None and (summary := session.run.summary).state != "done":
            self.close()
            raise ValueError(f"the run is {summary.state}: {summary.reason}")
        return now

    def _require_now(self) -> Situation:
        now = self._now()
        if now is None:
            raise ValueError("the run has ended")
        return now

    def _playing(self) -> Session:
        self._require_now()
        return self._opened()

    def _play(self, do: Callable[[Session], object]) -> str:
        do(self._playing())
        self._note = ""
        return self._news()

    def _news(self, known: str = "") -> str:
        """Return what has happened since the last call, or ``known``, and a summary of the situation."""
        now = self._now()
        happened = [known] if known else [line for event in self._events for line in _event_lines(event)]
        self._events.clear()
        if now is not None:
            return printable("\n".join([*happened, *_present(now)]))
        return printable("\n".join([*happened, "The run has ended. To begin another, restart this server."]))


class Server(MCPServer[None]):
    """Calls one tool at a time, each in a thread of its own, and reports every error in one line."""

    def __init__(self, run: ClientsRun) -> None:
        super().__init__("zorkgpt", version=version("zorkgpt"), instructions=INSTRUCTIONS, log_level="WARNING")
        self._run = run
        self._one_at_a_time = anyio.Lock()
        reading: list[Callable[..., str]] = [run.situation, run.recall, run.map]
        acting: list[Callable[..., str]] = [run.act, run.follow, run.go_to, run.remember, run.invalidate, run.note]
        for tool in (*reading, *acting):
            hints = ToolAnnotations(read_only_hint=tool in reading)
            self.add_tool(tool, annotations=hints, structured_output=False)

    @override
    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        async with self._one_at_a_time:
            if context is not None and (client := context.session.client_params):
                self._run.client = client.client_info.name
            try:
                return await super().call_tool(name, arguments, context)
            except ToolError as error:
                cause = error.__cause__
                if cause is not None and not isinstance(cause, ZorkGPTError | ValueError):
                    raise
                problem = first_problem(cause, name) if isinstance(cause, ValidationError) else str(cause or error)
                raise ToolError(printable(cut_at(one_line(problem), LONGEST_ERROR))) from error

    @override
    async def run_stdio_async(self) -> None:
        """Serve over standard input and output. A message that cannot be read is answered with an error, too."""
        async with stdio_server() as (messages, answers):
            sender, received = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def check() -> None:
                async with sender:
                    async for message in messages:
                        if not isinstance(message, ValidationError):
                            await sender.send(message)
                        elif (error := _unreadable(message)) is not None:
                            await answers.send(SessionMessage(error))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(check)
                options = self._lowlevel_server.create_initialization_options()
                await self._lowlevel_server.run(received, answers, options)

    async def run_http(self, listener: socket.socket, token: SecretStr | None) -> None:
        """Serve over HTTP. On a loopback address, requests under another name are refused, too."""
        is_local = ip_address(listener.getsockname()[0]).is_loopback
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=is_local,
            allowed_hosts=[f"{name}:*" for name in _LOCAL_NAMES],
            allowed_origins=[f"http://{name}:*" for name in _LOCAL_NAMES],
        )
        app = _Guard(self.streamable_http_app(streamable_http_path=PATH, transport_security=security), token)
        settings = uvicorn.Config(app, log_config=None, log_level="warning", timeout_graceful_shutdown=1)
        await uvicorn.Server(settings).serve(sockets=[listener])


class _Guard:
    """Refuses HTTP requests without the token, and those of pages that come from elsewhere."""

    def __init__(self, app: ASGIApp, token: SecretStr | None) -> None:
        self._app = app
        self._expected = (
            None if token is None else f"Bearer {token.get_secret_value().strip()}".encode(errors="surrogateescape")
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            given = dict(headers.raw).get(b"authorization", b"")
            if self._expected is not None and not compare_digest(given, self._expected):
                refusal = HTTPStatus.UNAUTHORIZED
            elif (origin := headers.get("origin")) is not None and origin.partition("://")[2] != headers.get("host"):
                refusal = HTTPStatus.FORBIDDEN
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            marks = {"www-authenticate": "Bearer"} if refusal == HTTPStatus.UNAUTHORIZED else None
            await PlainTextResponse(refusal.phrase, refusal, marks)(scope, receive, send)


def listen(address: str, token: SecretStr | None) -> socket.socket:
    """Return a socket that listens at ``HOST:PORT``; port 0 is any free one.

    Raises ``ConfigurationError`` if it cannot, and for an address that other computers reach if there is no token.
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise ConfigurationError(f"--http {address}: expected HOST:PORT, such as 127.0.0.1:8765")
    if token is None and not is_loopback(host):
        raise ConfigurationError(
            f"--http {address} can be reached from other computers: set {TOKEN_VARIABLE} to a secret that clients send"
        )
    try:
        family, *_, place = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        return socket.create_server(place[:2], family=family)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is not the name of a host"
        raise ConfigurationError(f"--http {address} cannot be used: {reason}") from error


def url_of(listener: socket.socket) -> str:
    """Return the URL for clients."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def serve(
    open_session: OpenSession,
    configuration: GameConfiguration,
    story_sha256: str,
    listener: socket.socket | None = None,
    token: SecretStr | None = None,
) -> None:
    """Serve over standard input and output until the client closes them, then pause the run.

    listener: serve over HTTP there instead, until the program is interrupted
    token: what each HTTP request must send as its bearer token
    """
    run = ClientsRun(open_session, configuration.zork_game_workdir, story_sha256)
    server = Server(run)

    def folder() -> Path:
        if run.folder is None:
            raise ResourceError("no run has begun: call the tool situation first")
        return run.folder

    @server.resource("zorkgpt://transcript", title="Transcript of the run", mime_type="text/markdown")
    def transcript() -> str:
        return printable(as_markdown(read_run(folder(), for_player=True)))

    @server.resource("zorkgpt://report", title="Report of the run, a page for a browser", mime_type="text/html")
    def report() -> str:
        return page_with(page_data([RunPage(folder(), configuration, for_player=True)]))

    with closing(run):
        if listener is None:
            server.run("stdio")
        else:
            anyio.run(partial(server.run_http, listener, token))


def _unreadable(error: ValidationError) -> JSONRPCError | None:
    """Return the answer to a message that cannot be read; ``None`` if it is a notification, which has no answer."""
    problem = error.errors(include_url=False)[0]
    is_json = problem["type"] != "json_invalid"
    message: object = problem["input"]
    if isinstance(message, str):
        try:
            message = json.loads(message)  # reads half of a surrogate pair
        except (ValueError, RecursionError):
            message = None
    fields = message if isinstance(message, dict) else {}
    if "method" in fields and "id" not in fields:
        return None
    number = fields.get("id")
    if not isinstance(number, int | str) or isinstance(number, bool) or not str(number).isprintable():
        number = None
    text = f"The message cannot be read: {printable(cut_at(one_line(problem['msg']), LONGEST_ERROR))}"
    return JSONRPCError(
        jsonrpc="2.0", id=number, error=ErrorData(code=INVALID_REQUEST if is_json else PARSE_ERROR, message=text)
    )


def _is_unfinished(run: Path) -> bool:
    """Return whether a client has played the run and can continue it."""
    try:
        is_clients = read_manifest(run).player_kind == "client"
    except ZorkGPTError:
        return False
    return is_clients and summarise(run).state in ("paused", "killed")


def _event_lines(event: Event) -> Iterator[str]:
    if isinstance(event, EpisodeStarted):
        yield f"Episode {event.episode} begins.\n\n{_shown(event.opening.text)}\n"
    elif isinstance(event, TurnPlayed):
        record = event.record
        yield from (f"Not played: {one_line(wish)} ({one_line(reason)})" for wish, reason in record.rejections)
        yield f"> {one_line(record.action)}\n{_shown(record.after.text)}\n"
    elif isinstance(event, EpisodeEnded):
        points = "" if event.score is None else f", with {out_of(event.score, event.max_score)} points"
        yield f"Episode {event.episode} has ended after {event.turns} turns ({event.end}){points}.\n"


def _present(now: Situation) -> Iterator[str]:
    """Yield lines with the turn, the place and what is known there."""
    seen, here = now.observation, now.observation.location
    score = "" if seen.score is None else f", score {seen.score} of {seen.max_score or 'an unknown maximum'}"
    yield f"[Turn {now.turn}, at most {now.turns_left} more{score}]"
    if here is not None:
        yield _exits(now, here.num)
        yield from _memories(now, here.num)
    if now.routes:
        goals = (
            f"{each.number} ({each.goal.kind} {one_line(each.goal.name) or each.goal.number})" for each in now.routes
        )
        yield f"Routes to follow from here: {', '.join(goals)}"
    if now.choices:
        yield f"Commands to choose from: {'; '.join(now.choices)}"


def _exits(now: Situation, location: int) -> str:
    ways, back = (
        ", ".join(f"{command} to {end}" for command, end in exits.get(location, {}).items())
        for exits in (now.map.exits, now.map.presumed)
    )
    untried: Sequence[str] = now.map.untried.get(location, ())
    parts = [
        f"{location} {now.map.locations.get(location, '')}: {ways or 'no known exits'}",
        *([f"presumed ways back: {back}"] if back else []),
        *([f"untried: {', '.join(untried)}"] if untried else []),
        *([] if now.map.has_all_exits(location) else ["there may be other exits"]),
    ]
    return one_line("; ".join(parts))


def _shown(text: str) -> str:
    """Return the story's text with a bar before each line that looks like one of this server's own."""
    return quoted(without_blank_lines(text).strip(), _OWN_LINES)


def _memories(now: Situation, location: int) -> Iterator[str]:
    for memory in now.memories.get(location, ()):
        yield f"- {memory.headline(memory.persistence)}: {one_line(memory.text)}"
