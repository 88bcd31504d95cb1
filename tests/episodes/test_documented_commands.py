"""Every command in the README and the docs is accepted, and each one that can be run here works.

It runs in a copy of a work folder that has runs, one of them killed, and something learned. A scripted server stands
in for every server in the docs; runs are shortened.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from session.files.run_folders import run_folders
from tests.fixtures.command_line import environment, ran
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.troubled_server import Answers
from zorkgpt import api
from zorkgpt.api import PlayedRun
from zorkgpt.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for folder in (".", "reference", "development", "records")
        for page in (ROOT / "docs" / folder).glob("*.md")
    ),
]
WRITTEN_BY_THE_PROGRAM = "commands.md"
_FENCED = re.compile(r"^```(\w*).*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\.venv/bin/|docker run .* )?zorkgpt (.*)$")
_INLINE = re.compile(r"(?<!`)`zorkgpt ([^`]+)`(?!`)")


@dataclass(frozen=True, slots=True)
class Shown:
    """A command as a page shows it, without ``zorkgpt`` and without a trailing comment.

    is_inline: it is part of a sentence, so it may be incomplete
    """

    page: str
    words: tuple[str, ...]
    is_inline: bool = False

    def __str__(self) -> str:
        return f"{self.page}: zorkgpt {shlex.join(self.words)}"


def shown_commands() -> list[Shown]:
    """Return every command once for each page that shows it."""
    pages = [page for page in PAGES if page.name != WRITTEN_BY_THE_PROGRAM]
    return list(dict.fromkeys(each for page in pages for each in _commands_of(page)))


def _indented(text: str) -> list[str]:
    return [line for line in _FENCED.sub("", text).splitlines() if line.startswith("    ")]


def _commands_of(page: Path) -> Iterator[Shown]:
    text = page.read_text(encoding="utf-8")
    prose = _FENCED.sub("", text)
    indented = [line.strip() for line in _indented(text)]
    fenced = [line for _, block in _FENCED.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    for line in (*indented, *fenced):
        if found := _LINE.match(line):
            yield Shown(page.name, tuple(shlex.split(found[1], comments=True)))
    for inline in _INLINE.findall(" ".join(line for line in prose.splitlines() if not line.startswith("    "))):
        yield Shown(page.name, tuple(inline.split()), is_inline=True)


ADDED_BY_AN_EXAMPLE = {"places"}
"""Commands that are there once an example of docs/development/extending.md is applied."""
PROGRAM: Any = typer.main.get_command(app)
COMMANDS = [each for each in shown_commands() if each.words[0] not in ADDED_BY_AN_EXAMPLE]
WHOLE = [each for each in COMMANDS if not each.is_inline]
RUN_ELSEWHERE = {
    ("memories.md", "memories"): "tests/architecture/test_docs.py runs them and compares what they print",
    ("protocol.md", "ablate"): "tests/episodes/test_documented_costs.py runs it and compares what it prints",
}
NOT_RUN = {
    r"(run|model pull) .*\bhf:": "needs a hub: tests/unit/zorkgpt/llm/embedded/test_hugging_face.py runs one",
    r"run .*\.gguf\b": "needs the file of a model: tests/unit/zorkgpt/llm/embedded runs one",
    r"mcp .*--http\b": "serves until it is interrupted: tests/episodes/test_mcp_over_http.py plays",
    r"report .*--watch\b": "serves until it is interrupted: tests/episodes/test_report_watched.py asks it",
    r"run .*--step\b": "asks a person at a terminal: tests/episodes/test_step_command.py answers",
}
"""Commands that are only looked at, and why."""

SHORTENED = {"--max-turns": "2", "--episodes": "1", "--pairs": "1", "--workers": "1"}
FILES = (
    *("story.z5", "zork1.z5", "path/to/story.z5", "library.z5", "moonlit.z5", "temple.z5", "awaken.z5", "spirit.z5"),
    "game_interface/stories/tidehouse.z5",
)
NAMED_TARGET = re.compile(r"(?:^    |`)make ([a-z-]+)", re.MULTILINE)
LONGEST = 300  # seconds, after which a command is interrupted, and the test fails
SERVER = re.compile(r"https?://\S+/(?:v1|openai)")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A folder with runs.

    one, two: the ids of runs with that many episodes
    killed: the id of a run that can be resumed
    memory: the title of a memory with which the run ``one`` began
    asked: the first turn of ``two`` after which the memory model was called
    called, called_in_two: turns of ``one`` and ``two`` for which the agent's model was called
    route: the number of one
    forked: the turn of ``one`` before its last, whose number depends on every byte of the prompts
    """

    folder: Path
    base_url: str
    one: str
    two: str
    killed: str
    memory: str
    asked: str
    called: str
    called_in_two: str
    route: str
    forked: str


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, own_story: Path) -> Iterator[Prepared]:
    folder = tmp_path_factory.mktemp("prepared")
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(own_story, folder / name)
    for name in ("way.txt", "commands.txt"):
        (folder / name).write_text("north\nlook\n")
    for name in ("my-agent.md", "mine.md"):
        shutil.copy(ROOT / "zorkgpt" / "prompts" / "agent.md", folder / name)
    shutil.copytree(ROOT / "zorkgpt" / "prompts", folder / "my-prompts", ignore=shutil.ignore_patterns("*.py*", "__*"))
    workdir = folder / "game_files"

    def play(**options: Any) -> PlayedRun:
        there = {"llm.base_url": server.base_url}
        return api.play(game=own_story, workdir=workdir, options=there, **options)

    with MisbehavingServer(Answers()) as server:
        two = play(episodes=2, max_turns=30)
        with pytest.raises(KeyboardInterrupt):
            play(max_turns=3, show=_killed_at_a_turn)
        one = play(max_turns=13)
        (killed,) = {run.name for run in run_folders([workdir])} - {one.summary.run_id, two.summary.run_id}
        memories = two.memories or {}
        title = next(memory.title for here in memories.values() for memory in here)
        played = [turn for episode in two.episodes for turn in episode.turns]
        asked = next(turn.played.record for turn in played if any(call.role == "memory" for call in turn.calls))
        compared = "ablate --arms full,no-map --pairs 1 --episodes 1 --max-turns 2 --out compared"
        assert ran(folder, *compared.split(), env=environment(OPENAI_BASE_URL=server.base_url)).status == 0
        ids = (one.summary.run_id, two.summary.run_id, killed)
        route = json.loads((workdir / "routes.json").read_text())["routes"][0]["number"]
        turns = (f"{asked.episode}:{asked.turn - 1}", _last_called(one), _last_called(two))
        forked = one.episodes[0].turns[-2].played.record
        yield Prepared(folder, server.base_url, *ids, title, *turns, str(route), f"{forked.episode}:{forked.turn}")


def _last_called(run: PlayedRun) -> str:
    """Return the last turn for which the agent's model was called."""
    turns = [turn for episode in run.episodes for turn in episode.turns]
    record = [turn.played.record for turn in turns if any(call.role == "agent" for call in turn.calls)][-1]
    return f"{record.episode}:{record.turn}"


def _killed_at_a_turn(event: api.Event) -> None:
    if isinstance(event, api.TurnPlayed):
        raise KeyboardInterrupt


@pytest.fixture
def here(prepared: Prepared, tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> Path:
    folder = shutil.copytree(prepared.folder, tmp_path / "here")
    clean_environment.chdir(folder)
    clean_environment.setenv("OPENAI_BASE_URL", prepared.base_url)
    clean_environment.setenv("ZORKGPT_MAX_TURNS_PER_EPISODE", "2")
    prices = {
        name: {"input": 0.5, "output": 2}
        for name in ("served", "gpt-4.1-mini", "google/gemini-2.5-flash", "claude-haiku-4-5", "gemini-2.5-flash")
    }
    clean_environment.setenv("ZORKGPT_PRICES", json.dumps(prices))
    return folder


@pytest.mark.parametrize("shown", COMMANDS, ids=str)
def test_the_program_takes_every_command(shown: Shown) -> None:
    command, words = PROGRAM, list(shown.words)
    while hasattr(command, "commands") and words and not words[0].startswith("-") and words[0] != "COMMAND":
        assert words[0] in command.commands, f"{shown}: there is no such command"
        command = command.commands[words.pop(0)]
    options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"-h", "--help"}
    assert [word for word in words if word.startswith("-") and word not in options] == []
    if not shown.is_inline and "<" not in words:
        command.make_context("zorkgpt", words)


def test_every_target_of_make_that_a_page_names_is_there() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for page in PAGES for name in NAMED_TARGET.findall(page.read_text(encoding="utf-8"))}
    assert named >= {"play", "test", "docs"}
    assert named - set(targets) == set()


def test_the_python_of_the_page_on_extending_runs() -> None:
    page = (ROOT / "docs" / "development" / "extending.md").read_text(encoding="utf-8")
    (code,) = re.findall(r'^    python -c "(.*?)"$', page, re.MULTILINE | re.DOTALL)
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(f"    {code}")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "lit" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("shown", [each for each in WHOLE if (each.page, each.words[0]) not in RUN_ELSEWHERE], ids=str)
def test_every_command_does_its_work(shown: Shown, prepared: Prepared, here: Path) -> None:
    line = " ".join(shown.words)
    if any(re.match(pattern, line) for pattern in NOT_RUN):
        return
    words = _for_here(shown.words, prepared)
    text = None
    if "<" in words:
        text = (here / words[-1]).read_text()
        words = words[: words.index("<")]
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(LONGEST)
    result = CliRunner().invoke(app, words, input=text)
    assert signal.alarm(0), f"{shown} was still running after {LONGEST} seconds"
    assert result.exception is None or result.exit_code == 0, (words, result.output, result.exception)
    assert result.output or "--to" in words


def _for_here(words: tuple[str, ...], prepared: Prepared) -> list[str]:
    """Return the command with a run, a server and files that are here, and shortened."""
    asks_for_memory = "--role" in words and "memory" in words
    of_two = asks_for_memory or any(re.fullmatch(r"\d:\d+", word) for word in words)
    run = prepared.killed if words[0] == "resume" else prepared.two if of_two else prepared.one
    instead = {
        "RUN": run,
        "OTHER": prepared.two,
        "ABLATION-FOLDER": "compared",
        "zork1": "tidehouse",
        "Mordant before dye": prepared.memory,
        "12": prepared.forked if words[0] == "replay" else prepared.asked if asks_for_memory else prepared.called,
        "2:12": prepared.called_in_two,
        "1:1..1:30": "1:1..2:30",  # the model of memories is not called in each episode
    }
    chosen: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if SERVER.fullmatch(word):
            chosen.append(prepared.base_url)
        elif re.fullmatch(r"\d{8}-\d{6}-\w{4}", word):
            chosen.append(run)
        elif words[0] == "routes" and word.isdigit():
            chosen.append(prepared.route)
        else:
            chosen.append(SHORTENED.get(before, instead.get(word, word)))
    if "--protocol" in words:  # its episodes and turns are fixed
        chosen.append("--dry-run")
    elif words[0] == "ablate" and "--pairs" not in words:
        chosen += ["--pairs", SHORTENED["--pairs"]]
    return chosen
