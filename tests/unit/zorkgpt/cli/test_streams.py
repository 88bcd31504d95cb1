"""Standard streams that cannot be written end a command in one line, not in a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.command_line import COMMAND, environment, ran
from tests.unit.zorkgpt.report.dye_runs import started, write_run
from zorkgpt.mapping.map_graph import MapGraph

FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
PRINT_ERROR = "import sys; from zorkgpt.cli.terminal import print_error; print_error(sys.argv[1])"
INTERRUPTED_WRITE = """
import io, os, signal, sys
from zorkgpt.cli.playing import Keyboard, _stopping_on_interrupt
from zorkgpt.cli.screen import Screen

class Interrupting(io.RawIOBase):
    def writable(self):
        return True
    def write(self, content):
        if not screen.stop.is_set():
            os.kill(os.getpid(), signal.SIGINT)
        return len(content)

screen = Screen()
sys.stderr = io.TextIOWrapper(io.BufferedWriter(Interrupting()), line_buffering=True)
with _stopping_on_interrupt(screen, Keyboard(screen)):
    sys.stderr.write("a line of a progress bar\\n")
print(screen.stop.is_set())
"""


@pytest.mark.parametrize("command", ["doctor", "runs list", "map"])
def test_a_terminal_of_another_encoding_gets_similar_characters_of_the_same_width(tmp_path: Path, command: str) -> None:
    folder = write_run(tmp_path, [started()], story="the dyeworks of Netherfold")
    (folder / "manifest.json").unlink()
    graph = MapGraph()
    for number, name in {1: "Vats", 2: "Loft"}.items():
        graph.add_room(number, name)
    graph.add_connection(1, "southeast", 2)
    graph.save_to_json(tmp_path / "map_state.json")
    whole, shown = (
        ran(tmp_path, *command.split(), "--workdir", str(tmp_path), env=environment(PYTHONIOENCODING=encoding)).out
        for encoding in ("utf-8", "latin-1")
    )
    assert b"?" not in shown
    assert [*map(len, shown.decode("latin-1").splitlines())] == [*map(len, whole.decode().splitlines())]


def test_an_error_is_printed_in_the_encoding_of_the_terminal() -> None:
    command = [sys.executable, "-c", PRINT_ERROR, "é \N{EN DASH} 語"]
    env = environment(PYTHONIOENCODING="latin-1")
    assert subprocess.run(command, env=env, capture_output=True, timeout=60, check=True).stderr == b"\xe9 - ?\n"


def to_full(*arguments: str, both: bool = False) -> subprocess.CompletedProcess[str]:
    with FULL.open("w") as full:
        return subprocess.run(
            arguments,
            stdout=full,
            stderr=full if both else subprocess.PIPE,
            env=environment(),
            text=True,
            timeout=60,
            check=False,
        )


@pytest.mark.parametrize("arguments", [("config", "show"), ("doctor",), ("--version",), ("--help",)])
def test_what_cannot_be_printed_is_one_line_and_status_1(arguments: tuple[str, ...]) -> None:
    result = to_full(*COMMAND, *arguments)
    assert result.stderr == "zorkgpt: [Errno 28] No space left on device\n"
    assert result.returncode == 1


def test_an_error_is_printed_as_text_and_lost_if_stderr_cannot_be_written() -> None:
    assert to_full(*COMMAND, "config", "show", both=True).returncode == 1
    command = [sys.executable, "-c", PRINT_ERROR, "a\x1b[2Jb"]
    assert subprocess.run(command, capture_output=True, timeout=60, check=True).stderr == b"a\\x1b[2Jb\n"
    assert to_full(*command, both=True).returncode == 0


def test_an_interrupt_in_the_middle_of_a_write_only_asks_to_stop() -> None:
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WRITE], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == "True\n"
    assert result.stderr == "\nStopping. Ctrl-C again to leave at once.\n"


LOGS = "lambda: logging.getLogger('zorkgpt').warning('a %s', '\\x1b[2J')"
WARNS = "GameConfiguration(memory_sampling={'memory_history_window': 20}).get_memory_history_window"


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (LOGS, "zorkgpt: a \\x1b[2J\n"),
        (WARNS, "zorkgpt: memory_history_window = 20 may use excessive context. Recommended: 3-8\n"),
    ],
)
def test_a_warning_is_one_line_without_control_characters_and_without_a_place_in_the_source(
    call: str, line: str
) -> None:
    program = "import logging; import zorkgpt.cli.main as main; "
    program += f"from session.game_configuration import GameConfiguration; main.app = {call}; main.main()"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert result.stderr == line


@pytest.mark.parametrize(
    ("typed", "path", "said"),
    [
        (".venv/bin/zorkgpt", "", ".venv/bin/zorkgpt"),
        ("my folder/zorkgpt", "", "'my folder/zorkgpt'"),
        ("{here}/bin/zorkgpt", "{here}/bin", "zorkgpt"),
        ("/somewhere/zorkgpt/__main__.py", "/bin", "python3 -m zorkgpt"),
        ("/somewhere/zorkgpt/__main__.py", "", "/bin/python3 -m zorkgpt"),
        ("-c", "", "zorkgpt"),
    ],
)
def test_hints_name_a_command_that_works_where_it_is_typed(tmp_path: Path, typed: str, path: str, said: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "zorkgpt").touch(mode=0o755)
    code = f"import sys; sys.argv[0] = {typed.format(here=tmp_path)!r}; sys.executable = '/bin/python3'\n"
    code += "from session.processes import program; print(program())"
    env = {**environment(), "PATH": path.format(here=tmp_path)}
    shown = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert shown.stdout.decode() == f"{said}\n"
