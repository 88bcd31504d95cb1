"""What a terminal or a pipe gets: nothing that steers it, and one line if it cannot be written."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.spinner import Spinner

from session.text import printable
from tests.fixtures.command_line import COMMAND, environment, ran
from tests.unit.zorkgpt.report.dye_runs import started, write_run
from zorkgpt.cli.terminal import PLAIN, folded, table_lines
from zorkgpt.mapping.map_graph import MapGraph


def test_what_steers_turns_hides_or_parts_text_is_shown_and_ordinary_text_is_left_alone() -> None:
    assert printable("\x1b[2Jgone\x07\x9b1m") == "\\x1b[2Jgone\\x07\\x9b1m"
    assert printable("Café “North”\nof — House ☂") == "Café “North”\nof — House ☂"
    for hidden in "\u202e\u2066\u061c\u200b\u200d\u2060\ufeff\u00ad\u2028\ue000\U000e0041":
        assert printable(f"safe{hidden}exe.txt") == f"safe{hidden.encode('unicode_escape').decode()}exe.txt"


@given(st.text())
def test_nothing_unseen_but_the_line_end_comes_through(text: str) -> None:
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert all(unicodedata.category(each) not in unseen or each == "\n" for each in printable(text))
    assert printable(printable(text)) == printable(text)


def test_a_table_has_aligned_columns_in_any_script() -> None:
    assert table_lines([("青", "x"), ("abc", "y\nz")]) == ["青   x", "abc  y z"]


def test_a_table_that_is_too_wide_becomes_a_list_with_the_headings() -> None:
    rows = [("RUN", "STORY", ""), ("one", "a mill in the hills", "x")]
    assert table_lines(rows, 30) == ["RUN  STORY", "one  a mill in the hills  x"]
    assert table_lines(rows, 20) == ["one", "  STORY: a mill in", "    the hills", "  x"]


def test_text_is_wrapped_between_words_and_indented() -> None:
    assert folded("a mill in\nthe hills", None) == ["a mill in", "the hills"]
    assert folded("a mill-wheel in the hills", 12, indent=2) == ["a mill-wheel", "  in the", "  hills"]


def test_a_cell_that_is_too_wide_is_wrapped_in_its_column() -> None:
    rows = [("Run", "one"), ("State", "paused: the model is down for now")]
    wide = ["Run    one", "State  paused: the model is down for now"]
    assert table_lines(rows, None, wraps=True) == wide
    narrow = ["Run    one", "State  paused: the model", "       is down for now"]
    assert table_lines(rows, 24, wraps=True) == narrow


FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
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


@pytest.mark.parametrize("command", [pytest.param("doctor", marks=pytest.mark.slow), "map"])
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


def test_the_spinner_turns_on_a_terminal_of_another_encoding_and_warnings_are_seen() -> None:
    frames = Spinner("dots").frames
    plain = [frame.encode("latin-1", PLAIN).decode("latin-1") for frame in frames]
    assert "?" not in "".join(plain)
    assert [*map(len, plain)] == [*map(len, frames)]
    assert all(one != other for one, other in pairwise(plain))
    assert "⚠\ufe0f 3 · 4".encode("ascii", PLAIN) == b"!  3 - 4"


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


@pytest.mark.parametrize("arguments", [("config", "show"), ("--version",), ("--help",)])
@needs_full
def test_what_cannot_be_printed_is_one_line_and_status_1(arguments: tuple[str, ...]) -> None:
    result = to_full(*COMMAND, *arguments)
    assert result.stderr == "zorkgpt: [Errno 28] No space left on device\n"
    assert result.returncode == 1


@needs_full
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
