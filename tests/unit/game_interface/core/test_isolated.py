from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game_interface.core import fork_helper
from game_interface.core.game import SavedState
from game_interface.core.isolated import IsolatedGame
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.interpreter import Registers, Snapshot
from session.errors import GameError, StoryError
from session.values import GameObject, Location, Observation
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH


@pytest.fixture
def game(own_story: Path) -> Iterator[IsolatedGame]:
    with IsolatedGame(own_story, time_limit=5) as game:
        yield game


def child_of(game: IsolatedGame) -> int:
    assert game._pid
    return game._pid


def ends_within(seconds: float, pid: int) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)


def test_it_shows_what_the_game_in_this_process_shows(game: IsolatedGame, own_story: Path) -> None:
    with JerichoInterface(own_story) as here:
        assert game.facts == here.facts
        assert [game.step(command) for command in WALKTHROUGH] == [here.step(command) for command in WALKTHROUGH]


def test_a_crash_is_a_game_error_and_restoring_goes_on_in_a_fresh_child(game: IsolatedGame) -> None:
    game.step("north")
    saved = game.save()
    os.kill(child_of(game), signal.SIGSEGV)
    with pytest.raises(GameError, match=r"crashed|gone"):
        game.step("look")
    with pytest.raises(GameError, match="restore"):
        game.step("look")
    assert game.save() == saved
    assert game.restore(saved) == saved.observation
    assert game.step("look").text


def test_a_hang_past_the_limit_is_a_game_error_and_the_child_is_gone(own_story: Path) -> None:
    with IsolatedGame(own_story, time_limit=0.2) as game:
        child = child_of(game)
        os.kill(child, signal.SIGSTOP)
        with pytest.raises(GameError, match=r"0\.2 seconds"):
            game.step("look")
        assert ends_within(5, child)
        assert game.restart().text


def test_a_story_whose_temporary_folder_somebody_removed_goes_on_in_a_new_one(game: IsolatedGame) -> None:
    game.step("north")
    saved = game.save()
    shutil.rmtree(game._folder.name)
    with pytest.raises(GameError, match="crashed"):
        game.reset(2)
    assert game.restore(saved) == saved.observation
    assert game.reset(2).text


def test_the_child_is_out_of_reach_of_the_terminal_fills_no_file_and_ends_with_its_folder(game: IsolatedGame) -> None:
    child, folder = child_of(game), Path(game._folder.name)
    assert os.getsid(child) != os.getsid(0)
    limits = Path(f"/proc/{child}/limits").read_text()
    line = next(line for line in limits.splitlines() if line.startswith("Max file size"))
    assert line.split()[3] == "0"
    game.close()
    assert ends_within(5, child)
    assert not folder.exists()


def test_the_child_ends_and_its_folder_goes_when_its_parent_is_killed(own_story: Path, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from game_interface.core.isolated import IsolatedGame\n"
        "game = IsolatedGame(sys.argv[1])\n"
        "print(game._pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(own_story)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert list(tmp_path.iterdir())
        os.kill(child, signal.SIGSTOP)  # as good as hung: it would not see that its connection closes
        parent.kill()
    assert ends_within(5, child)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_helper_that_is_stuck_does_not_keep_the_program_from_ending(own_story: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from game_interface.core import fork_helper\n"
        "from game_interface.core.isolated import IsolatedGame\n"
        "with IsolatedGame(sys.argv[1]):\n"
        "    ((process, _),) = fork_helper._helpers.values()\n"
        "    os.kill(process.pid, signal.SIGSTOP)\n"
    )
    command = [sys.executable, "-c", script, str(own_story)]
    assert subprocess.run(command, check=False, timeout=30).returncode == 0


def test_a_story_that_kills_its_process_is_a_story_error(own_story: Path, tmp_path: Path) -> None:
    """The first instruction is replaced by one that loops for ever; the checksum is taken out."""
    content = bytearray(own_story.read_bytes())
    start = int.from_bytes(content[6:8], "big")
    content[start : start + 3] = b"\x8c\xff\xff"  # jump to itself
    content[0x1C:0x1E] = b"\0\0"
    story = tmp_path / "endless.z5"
    story.write_bytes(content)
    with pytest.raises(StoryError, match="no answer"):
        IsolatedGame(story, opening_limit=0.3)


def test_a_helper_that_was_killed_is_replaced_and_one_that_cannot_be_asked_is_a_story_error_once(
    own_story: Path,
) -> None:
    with IsolatedGame(own_story):
        process, _ = fork_helper._helpers[os.getpid()]
        process.kill()
        process.wait()
    with IsolatedGame(own_story) as game:
        assert game.step("look").text
        fork_helper._helpers[os.getpid()][1].close()
    with pytest.raises(StoryError, match="no process can be started"):
        IsolatedGame(own_story)
    with IsolatedGame(own_story) as game:
        assert game.step("look").text


OBSERVATION = Observation(
    text="A “hall”.\n",
    location=Location(7, "Hall"),
    inventory=(GameObject(9, "lamp", 4, frozenset({3, 20})),),
    score=-10,
    world_hash="0badcafe",
    died=True,
    ending="lost",
)
STATE = SavedState(
    story="ab" * 32,
    snapshot=Snapshot(b"\n\0\xff" * 5, b"\n" * 8, Registers(1, 2, 3, 4, 228, 2**40, 0, 5), b"caf\xe9", b"Hall  \xe9"),
    observation=OBSERVATION,
    command_places=(77, 2**20),
)


@given(st.binary(max_size=50), st.binary(max_size=50), st.text(), st.integers(-(2**60), 2**60))
def test_a_state_is_read_back_as_it_was_written(memory: bytes, stack: bytes, text: str, rng: int) -> None:
    registers = replace(STATE.snapshot.registers, rng=rng)
    snapshot = replace(STATE.snapshot, memory=memory, stack=stack, registers=registers)
    text = text.encode("utf-8", "ignore").decode()
    state = replace(STATE, snapshot=snapshot, observation=replace(OBSERVATION, text=text))
    assert SavedState.unpacked(state.packed()) == state


@given(st.binary(max_size=200))
def test_what_never_was_a_state_is_refused(other: bytes) -> None:
    with pytest.raises(GameError):
        SavedState.unpacked(other)
