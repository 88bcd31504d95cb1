"""A key is sent to its server only, whatever the server does with it."""

from __future__ import annotations

import math
from base64 import b64encode
from pathlib import Path

import pytest

from tests.fixtures.command_line import Ran, environment, ran
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Step, Streams, says_error
from tests.fixtures.troubled_server import WORDS, answer_to

pytestmark = pytest.mark.slow  # each case starts the program

KEY = "sk-planted-0123456789abcdef"
CRITICS_KEY = "sk-another-fedcba9876543210"
AT_ONCE = {"Retry-After": "0"}


class Echo:
    """Repeats the ``Authorization`` header in every answer, and as it is and in Base64 in every fourth, an error.

    After ``answers`` more requests the key is refused, by its name; it may be a number that never comes.
    """

    def __init__(self, answers: float = math.inf) -> None:
        self.answers = answers
        self._requests = 0

    def play(self, handler: Handler) -> None:
        self._requests += 1
        self.answers -= 1
        header = handler.headers["Authorization"]
        spelt = f"{header} alias {b64encode(header.encode()).decode()}"
        self._step(spelt, answer_to(handler.server.asked[-1].body)).play(handler)

    def _step(self, spelt: str, answer: str) -> Step:
        if self.answers < 0:
            return says_error(401, f"no such key: {spelt}")
        if self._requests % 4 == 0:
            return says_error(500, f"cannot serve {spelt}", headers=AT_ONCE)
        if self._requests % 7 == 0:
            return Streams((), more_events=(f'data: {{"error": {{"message": "not for {spelt}"}}}}\n\n',))
        for word in WORDS:
            answer = answer.replace(word, f"{spelt} {word}")
        return Streams((answer,))


def every_byte(folder: Path, shown: list[Ran]) -> dict[str, bytes]:
    """What is in the files below ``folder``, by their names, and what was printed, by its place in ``shown``."""
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return files | {f"{place}": each.out + each.err for place, each in enumerate(shown)}


def leaks(written: dict[str, bytes]) -> list[tuple[str, str]]:
    """The places that contain a key, with the text around it."""
    return [
        (place, repr(content[max(0, content.index(spelt) - 100) :][:200]))
        for place, content in written.items()
        for key in (KEY, CRITICS_KEY)
        for spelt in spellings(key)
        if spelt in content + place.encode()
    ]


def spellings(key: str) -> list[bytes]:
    """The key in plain text, and its parts that are the same in Base64 at any offset."""
    encoded = (b64encode(b"x" * before + key.encode())[4:-4] for before in range(3))
    return [key.encode(), *encoded]


IN_THE_ENVIRONMENT = environment(OPENAI_API_KEY=KEY, ZORKGPT_LLM__CRITIC__API_KEY=CRITICS_KEY, OPENAI_LOG="debug")
MODELS = (f"model {KEY}", CRITICS_KEY)


def test_a_key_is_in_nothing_that_a_run_writes_or_shows(tmp_path: Path) -> None:
    work = tmp_path / "work"
    workdir = ("--workdir", str(work))
    env = IN_THE_ENVIRONMENT | {"ZORKGPT_OBJECTIVE_UPDATE_INTERVAL": "3", "ZORKGPT_CRITIC__MODE": "llm"}
    echo = Echo()
    with MisbehavingServer(echo, models=MODELS) as server:
        run = ("run", "--max-turns", "5", *workdir, "--base-url", server.base_url)
        shown = [ran(tmp_path, *run, env=env)]
        echo.answers = 10
        shown.append(ran(tmp_path, "--debug", *run, "--json", env=env))
        sent = {asked.headers["authorization"] for asked in server.asked}
    run_id = min((work / "runs").iterdir()).name
    looks = (("memories", "show", "--all"), ("runs", "list"), ("runs", "export", run_id), ("status",))
    shown += [ran(tmp_path, *look, *workdir, env=env) for look in looks]
    assert sent == {f"Bearer {KEY}", f"Bearer {CRITICS_KEY}"}
    assert [each.status for each in shown] == [0, 1, 0, 0, 0, 0], shown
    written = every_byte(work, shown)
    assert sum(content.count(b"[key]") for content in written.values()) > 50
    assert leaks(written) == []


@pytest.mark.parametrize("where", ["environment", "file", ".env"])
def test_a_key_is_not_shown_by_those_who_look_at_options_and_servers(tmp_path: Path, where: str) -> None:
    env = IN_THE_ENVIRONMENT if where == "environment" else environment()
    if where == "file":
        (tmp_path / "zorkgpt.toml").write_text(f'[llm]\napi_key = "{KEY}"\ncritic.api_key = "{CRITICS_KEY}"\n')
    elif where == ".env":
        (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\nZORKGPT_LLM__CRITIC__API_KEY={CRITICS_KEY}\n")
    with MisbehavingServer(Echo(answers=0), models=MODELS) as server:
        shown = [
            ran(tmp_path, *arguments, env=env)
            for arguments in (
                ("doctor", "--base-url", server.base_url),
                ("config", "show"),
                ("config", "show", "--json"),
                ("--debug", "run", "--base-url", server.base_url, "--workdir", "work"),
            )
        ]
    assert [each.status for each in shown] == [0, 0, 0, 1], shown
    assert b"[key]" in shown[0].out
    assert leaks(every_byte(tmp_path / "work", shown)) == []


@pytest.mark.parametrize("address", [f"http://user:{KEY}@localhost:1/v1", f"http://localhost:1/v1?api_key={KEY}"])
def test_an_address_with_a_key_in_it_is_refused_without_repeating_it(tmp_path: Path, address: str) -> None:
    shown = [
        ran(tmp_path, "run", "--base-url", address),
        ran(tmp_path, "--debug", "doctor", "--base-url", address),
        ran(tmp_path, "config", "show", env=environment(OPENAI_BASE_URL=address)),
    ]
    assert [each.status for each in shown] == [2, 2, 2]
    assert leaks(every_byte(tmp_path, shown)) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [("run",), ("doctor",), ("ablate",), ("memories", "check")])
def test_a_key_is_not_sent_where_a_file_says_that_others_can_write(tmp_path: Path, command: tuple[str, ...]) -> None:
    """A shared folder with another user's configuration in it."""
    below = tmp_path / "shared" / "mine"
    below.mkdir(parents=True)
    (tmp_path / "shared" / ".git").mkdir()
    planted = tmp_path / "shared" / "zorkgpt.toml"
    with MisbehavingServer(Echo(), models=MODELS) as server:
        planted.write_text(f'llm.base_url = "{server.base_url}"\n')
        planted.chmod(0o666)
        shown = ran(below, *command, env=environment(OPENAI_API_KEY=KEY))
    (line,) = shown.lines
    assert shown.status == 2
    assert line.startswith(f"zorkgpt: {planted} is not used because it belongs to {planted.owner()}")
    assert server.asked == []
    assert leaks(every_byte(tmp_path, [shown])) == []
