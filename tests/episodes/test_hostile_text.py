"""Text from a model, a server, a file or a file name is shown on the terminal without effect on it."""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.command_line import Ran, environment, ran, ran_on_a_terminal
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Streams, says_error
from tests.fixtures.troubled_server import WORDS, answer_to

CLIPBOARD, LINK, TITLE = "\x1b]52;c;b3duZWQ=\x07", "\x1b]8;;http://evil.example\x1b\\here", "\x1b]0;owned\x07"
HOSTILE = f"{CLIPBOARD}{LINK}{TITLE}\x1b[2J\x9b31m\x90\x85\b\r\u202eth\u2066gir\u200b\u200d\ufeff\u2028\U000e0041"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
DRAWING = re.compile(r"\r?(?:\x1b\[(?:1A|2K|\?25[lh]))+")
"""With these the lines below the story are drawn anew; no hostile text holds one."""


pytestmark = pytest.mark.slow  # each case starts the program


class Hostile:
    """Answers with something of the right shape that has the hostile text in every string."""

    def play(self, handler: Handler) -> None:
        answer = answer_to(handler.server.asked[-1].body).replace('"ephemeral"', '"permanent"')  # for the file
        for word in (*WORDS, "frotz"):
            answer = answer.replace(word, json.dumps(f"{HOSTILE} {word}")[1:-1])
        Streams((answer,)).play(handler)


def not_to_be_obeyed(ran: Ran, *, coloured: bool = False) -> set[str]:
    """The characters in all that was printed that a terminal does more with than show them."""
    text = (ran.out + ran.err).decode()
    seen = DRAWING.sub("", COLOURS.sub("", text.replace("\r\n", "\n"))) if coloured else text
    return {each for each in seen if not (each == "\n" or each.isprintable() or unicodedata.category(each) == "Zs")}


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer(Hostile(), models=(HOSTILE,)) as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, own_story: Path) -> Path:
    """A folder with a hostile name for the story, and options to match."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copy(own_story, folder / f"{TITLE}\u202e\n.z5")
    escaped = "".join(f"\\U{ord(each):08X}" for each in HOSTILE)
    (folder / "zorkgpt.toml").write_text(f'critic_model = "{escaped}"\n')
    return folder


PLAYED = [
    ("memories", "show", "--all"),
    ("memories", "show", "--json"),
    ("memories", "show", HOSTILE),
    ("memories", "check"),
    ("memories", "invalidate", "1", HOSTILE, "--reason", "x"),
    ("runs", "list"),
    ("runs", "show"),
    ("runs", "show", HOSTILE),
    ("status",),
    ("config", "show"),
    ("--debug", "runs", "show", HOSTILE),
    (HOSTILE,),
]


@pytest.fixture(scope="module")
def played(server: MisbehavingServer, folder: Path) -> list[Ran]:
    """A run through a pipe, as JSON, and on a terminal."""
    command = ("run", "--base-url", server.base_url, "--max-turns", "20", "--game", f"{TITLE}\u202e\n.z5")
    env = environment(ZORKGPT_CRITIC__MODE="llm", ZORKGPT_OBJECTIVE_UPDATE_INTERVAL="2")
    return [
        ran(folder, *command, env=env),
        ran(folder, *command, "--json", env=env),
        ran_on_a_terminal(folder, *command, env=env),
    ]


def test_a_run_shows_what_the_model_says_and_obeys_none_of_it(played: list[Ran]) -> None:
    for each in played:
        assert each.status == 0, each
        assert not not_to_be_obeyed(each, coloured=True)
    for each in played[:2]:
        assert not not_to_be_obeyed(each)
        assert b"x1b]52;c;b3duZWQ=" in each.out or b"u001b]52;c;b3duZWQ=" in each.out


@pytest.mark.usefixtures("played")
@pytest.mark.parametrize("arguments", PLAYED, ids=range(len(PLAYED)))
def test_what_was_learned_and_written_is_shown_and_not_obeyed(folder: Path, arguments: tuple[str, ...]) -> None:
    shown = ran(folder, *arguments)
    assert shown.out + shown.err
    assert not not_to_be_obeyed(shown)


@pytest.mark.usefixtures("played")
@pytest.mark.parametrize("arguments", [("memories", "show"), ("config", "show"), ("nothing", HOSTILE)], ids=range(3))
def test_a_terminal_gets_colours_and_nothing_else_to_obey(folder: Path, arguments: tuple[str, ...]) -> None:
    shown = ran_on_a_terminal(folder, *arguments)
    assert shown.out
    assert not not_to_be_obeyed(shown, coloured=True)


@pytest.mark.usefixtures("played")
def test_the_hostile_text_is_really_there_to_be_shown(folder: Path) -> None:
    run_id = min((folder / "game_files" / "runs").iterdir()).name
    for shown in (ran(folder, "memories", "show"), ran(folder, "runs", "export", run_id)):
        assert b"52;c;b3duZWQ=\\x07" in shown.out
        assert not not_to_be_obeyed(shown)


def test_names_and_errors_of_a_server_are_shown_and_not_obeyed(server: MisbehavingServer, folder: Path) -> None:
    listed = ran(folder, "doctor", "--base-url", server.base_url)
    assert b"\\x1b]52;c;b3duZWQ=" in listed.out
    assert not not_to_be_obeyed(listed)
    refused = says_error(400, f"no response_format {HOSTILE}")
    failed = says_error(403, HOSTILE)
    with MisbehavingServer(refused, refused, failed) as angry:
        shown = ran(folder, "run", "--base-url", angry.base_url, "--max-turns", "1", "--workdir", "angry")
    assert shown.status == 1
    assert b"refuses response_format" in shown.err
    assert b"\\x1b]52;c;b3duZWQ=" in shown.out
    assert not not_to_be_obeyed(shown)
