"""Records what a person sees in a terminal, screen by screen, as text: ``python -m tools.terminal_recordings``.

The program runs in tmux, against a server on loopback that answers by the number of the question alone. What differs
from run to run (seconds, ids, ports, folders) is replaced by ``#``.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Event as Flag
from typing import Any

from tests.fixtures.command_line import environment
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Resets, Streams
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH

FOLDER = Path(__file__).parents[1] / "tests" / "golden" / "terminal"
COLUMNS, ROWS = 80, 24
PATIENCE = 90.0  # seconds
_DIFFERS = (
    (re.compile(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] "), "# "),
    (re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}"), "#"),
    (re.compile(r"\d+(?:\.\d+)?[ \n]s\b"), "# s"),
    (re.compile(r"(down for # s of 5 min).*"), r"\1 #"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:#"),
    (re.compile(r"(# s) ─+╮"), r"\1 ─╮"),
)


class Terminal:
    """A tmux session in which a command is run."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self._socket = f"zorkgpt-{name}"
        programs = Path(sys.executable).parent  # there it is called by its name, which is as long on every machine
        command = f"PATH={shlex.quote(str(programs))}:$PATH {shlex.join(['zorkgpt', *arguments])}"
        session = ("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(folder))
        self._tmux(*session, f"unset COLUMNS LINES; {command}; sleep 600")

    def screen(self) -> str:
        """The last lines, as many as it has, without what differs from run to run.

        A region that has become smaller leaves blank lines at the bottom or not, as the moments of drawing fall: what
        has scrolled off at the top is shown in their place.
        """
        lines = self._tmux("capture-pane", "-p", "-J", "-S", "-").rstrip().splitlines()
        shown = "\n".join(line.rstrip() for line in lines[-ROWS:])
        for pattern, stands in _DIFFERS:
            shown = pattern.sub(stands, shown)
        return shown

    def wait_for(self, text: str) -> str:
        """The screen once it contains the text and has stopped changing, because it is not drawn at once."""
        until = time.monotonic() + PATIENCE
        shown, before = self.screen(), ""
        while text not in shown or shown != before:
            if time.monotonic() > until:
                raise TimeoutError(f"{text!r} does not come up, or does not stand still; this stands there:\n{shown}")
            time.sleep(0.5)
            shown, before = self.screen(), shown
        return shown

    def type(self, text: str, *keys: str) -> None:
        """The text and then the keys are typed."""
        if text:
            self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", *(keys or ("Enter",)))

    def close(self) -> None:
        """End the terminal."""
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        command = ("tmux", "-L", self._socket, *arguments)
        env = environment(LANG="C.UTF-8", TERM="xterm-256color")
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


class Plays:
    """Answers as a model that knows its way.

    waits_at: the agent's question that it answers only when it is told to go on
    waits_after: the turn of the agent after which it waits at the first question of another role
    dies_at: the agent's question at which it ends the server, without an answer
    """

    def __init__(self, waits_at: int = 0, dies_at: int = 0) -> None:
        self.waits_at, self.waits_after, self.dies_at = waits_at, 0, dies_at
        self.is_asked = Flag()
        self.may_answer = Flag()
        self._turn = 0

    def play(self, handler: Handler) -> None:
        """Answer the request that the handler has read."""
        body = handler.server.asked[-1].body
        schema = body["response_format"]["json_schema"]["schema"]["properties"]
        if "action" in schema:
            is_first = "## Turn\n1 of " in body["messages"][1]["content"]
            self._turn = 1 if is_first else self._turn + 1
            if self._turn == self.waits_at:
                self._wait()
            if self._turn == self.dies_at:
                self._turn, self.dies_at = self._turn - 1, 0  # it is asked again
                handler.server.__exit__()  # nothing listens any more when the connection breaks
                Resets().play(handler)
                return
        elif self._turn == self.waits_after:
            self._wait()
        answer = {name: value for name, value in self._answers().items() if name in schema}
        Streams((json.dumps(answer),), usage={"prompt_tokens": 1200, "completion_tokens": 40}).play(handler)

    def wait_until_asked(self) -> None:
        """Wait until the question has come at which it waits."""
        assert self.is_asked.wait(PATIENCE)

    def go_on(self, waits_at: int = 0, waits_after: int = 0) -> None:
        """Answer that question, and wait next at this one."""
        waiting, self.may_answer, self.is_asked = self.may_answer, Flag(), Flag()
        self.waits_at, self.waits_after = waits_at, waits_after
        waiting.set()

    def _wait(self) -> None:
        self.is_asked.set()
        self.may_answer.wait(PATIENCE)

    def _answers(self) -> dict[str, Any]:
        command = WALKTHROUGH[(self._turn - 1) % len(WALKTHROUGH)]
        memory = {
            "should_remember": True,
            "category": "SUCCESS",
            "memory_title": f"{command.capitalize()} in turn {self._turn}",
            "memory_text": "It did what it promised.",
            "persistence": "permanent",
            "status": "ACTIVE",
        }
        return {
            "action": command,
            "reasoning": "I have not done that yet, and it may help." if self._turn % 2 else "This may help.",
            "accepted": True,
            "confidence": 0.9,
            "reason": "Nothing speaks against it.",
            "memories": [memory],
            "objectives": [{"text": "Bring the tide-glass home", "evidence": "turn 1"}] if self._turn in {1, 2} else [],
            "lines": [],
            "insights": [],
        }


Scene = Callable[[ExitStack, Path], list[str]]
"""Plays something in an empty folder and returns the screens that were seen."""


def first_play(stack: ExitStack, folder: Path) -> list[str]:
    """What ``make play`` shows: how it begins, its twelfth turn, how it ends."""
    model = Plays(waits_at=1)
    server = stack.enter_context(MisbehavingServer(model))
    shown = _opened(stack, "first", folder, "run", "--episodes", "3", "--max-turns", "20", *_at(server))
    model.wait_until_asked()
    begun = shown.wait_for("the agent thinks")
    model.go_on(12)
    model.wait_until_asked()
    shown.wait_for("Turn 11 of 20")
    playing = shown.wait_for("the agent thinks")
    model.go_on()
    return [begun, playing, shown.wait_for("Learned so far: ")]


def dying_server(stack: ExitStack, folder: Path) -> list[str]:
    """The server dies over the fourth turn, and comes back."""
    model = Plays(dies_at=4)
    server = MisbehavingServer(model)
    server.__enter__()
    shown = _opened(stack, "dying", folder, "run", "--max-turns", "6", *_at(server))
    down = shown.wait_for("waiting for it, at most")
    stack.enter_context(MisbehavingServer(model, port=server.server_port))
    return [down, shown.wait_for("Learned so far: ")]


def watched(stack: ExitStack, folder: Path) -> list[str]:
    """Another terminal watches a run, which waits until that terminal has shown what came before an end."""
    model = Plays(waits_at=5)
    server = stack.enter_context(MisbehavingServer(model))
    player = _opened(stack, "played", folder, "run", "--max-turns", "6", *_at(server))
    model.wait_until_asked()
    player.wait_for("Turn 4 of 6")
    shown = _opened(stack, "watch", folder, "watch", "--workdir", "work")
    begun = shown.wait_for("the agent thinks")
    model.go_on(waits_at=6)
    shown.wait_for("learned: Arrival at Landing")
    model.go_on(waits_after=6)
    shown.wait_for("learned: Arrival at Keeper's Bedroom")
    model.go_on()
    return [begun, shown.wait_for("The run is done.")]


def person(stack: ExitStack, folder: Path) -> list[str]:
    """A person plays."""
    shown = _opened(stack, "person", folder, "play", "--workdir", "work")
    screens = [shown.wait_for("\n>")]
    for command, seen in (("north. north", "Turn 2 "), ("take lamp", "Turn 3 "), ("save", "saved automatically")):
        shown.type(command)
        shown.wait_for(seen)
        latest = shown.wait_for("\n>")
    screens.append(latest)
    shown.type("quit")
    return [*screens, shown.wait_for("Learned so far: ")]


def steps(stack: ExitStack, folder: Path) -> list[str]:
    """A person plays the first proposal, refuses the second and edits the third."""
    server = stack.enter_context(MisbehavingServer(Plays()))
    shown = _opened(stack, "steps", folder, "run", "--step", "--max-turns", "3", *_at(server))
    screens = [shown.wait_for("Proposed: north")]
    shown.type("")
    shown.wait_for("Turn 1 of 3")
    shown.wait_for("Proposed: north")
    shown.type("r the yard comes first")
    shown.wait_for("Proposed: take lamp")
    shown.type("e look")
    shown.wait_for("Turn 2 of 3")
    screens.append(shown.wait_for("Proposed: up"))
    shown.type("a")
    return [*screens, shown.wait_for("Learned so far: ")]


def _at(server: MisbehavingServer) -> tuple[str, ...]:
    return "--base-url", server.base_url, "--workdir", "work"


def _opened(stack: ExitStack, name: str, folder: Path, *arguments: str) -> Terminal:
    terminal = Terminal(name, folder, *arguments)
    stack.callback(terminal.close)
    return terminal


SCENES: dict[str, Scene] = {
    "first_play": first_play,
    "dying_server": dying_server,
    "watch": watched,
    "play": person,
    "step": steps,
}


def record(name: str) -> str:
    """The screens of a scene, as one text."""
    with tempfile.TemporaryDirectory(prefix="zorkgpt-screens-") as folder, ExitStack() as stack:
        screens = SCENES[name](stack, Path(folder))
    return f"\n{'=' * COLUMNS}\n".join(screens)


def main() -> None:
    """Record every scene; with arguments, only the scenes of these names."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or SCENES:
        (FOLDER / f"{name}.txt").write_text(record(name) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
