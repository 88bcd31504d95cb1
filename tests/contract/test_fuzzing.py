"""No command and no file hangs the interpreter, ends a process, or leaves a file behind.

The counts of the everyday suite are small; those marked slow are larger.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from game_interface.core.isolated import IsolatedGame
from session.errors import GameError, StoryError

SEED = 20_240_229
MOST_TURNS = 300
LIMIT = 0.2
"""Seconds: one in fifty mangled files never ends, and costs a core for as long."""
ROOT = Path(__file__).parents[2]
STORIES = [
    ROOT / "game_interface" / "stories" / "tidehouse.z5",
    *(ROOT / "tests" / "stories" / name for name in ("exits.z5", "radio.z3", "sleeper.z5")),
]
WORDS = (
    "save", "restore", "quit", "restart", "script", "undo", "y", "yes", "no", "again", "oops", "then", "and", "#record",
    "take", "all", "open", "look", "north", "south", "east", "west", "up", "down", "drop", "lamp", "inventory",
    "\\", "\\n", "/", "../", ".", ",", '"', "\0", "\n", "\r", "\t", "\x0e", "\x7f", "\xa0", "é",
    "日本", "x" * 90, "9" * 300,
)  # fmt: skip


def random_command(chance: random.Random) -> str:
    """Bytes of any kind, words that mean something to a parser or to the interpreter, or a mix of both."""
    if chance.random() < 0.5:
        return chance.randbytes(chance.randrange(40)).decode("latin-1")
    parts = [chance.choice(WORDS) for _ in range(chance.randrange(1, 6))]
    if chance.random() < 0.3:
        parts.append(chance.randbytes(chance.randrange(8)).decode("latin-1"))
    return chance.choice((" ", "", ". ")).join(parts)


def mangled(content: bytes, chance: random.Random) -> bytes:
    """The story damaged: bytes changed, a stretch overwritten or moved, the end cut off; its checksum often mended."""
    damaged = bytearray(content)
    end = chance.choice((0x40, 0x800, len(damaged)))
    for _ in range(chance.choice((1, 3, 30, 300))):
        damaged[chance.randrange(end)] = chance.randrange(256)
    if chance.random() < 0.3:
        start, length = chance.randrange(len(damaged)), chance.randrange(2000)
        damaged[start : start + length] = chance.randbytes(length)
    if chance.random() < 0.1:
        del damaged[chance.randrange(len(damaged)) :]
    if chance.random() < 0.8 and len(damaged) > 0x40:
        damaged[0x00:0x01] = content[0x00:0x01]
        damaged[0x1C:0x1E] = b"\0\0"
    return bytes(damaged)


def files_around() -> set[str]:
    """What a story could have written beside its own folder; folders of games that are open come and go."""
    return {path.name for path in Path.cwd().iterdir()}


def files_in(game: IsolatedGame) -> set[str]:
    return {path.name for path in Path(game._folder.name).rglob("*")}


@pytest.fixture
def game(own_story: Path) -> Iterator[IsolatedGame]:
    with IsolatedGame(own_story) as game:
        yield game


def play_at_random(game: IsolatedGame, count: int, chance: random.Random) -> None:
    for turn in range(count):
        if game.observation.ending or turn % MOST_TURNS == 0:
            game.reset(1 + turn)
        game.step(random_command(chance))


def open_and_play(content: bytes, story: Path) -> str:
    """Return ``played`` or the error's type; no other result is allowed."""
    story.write_bytes(content)
    try:
        with IsolatedGame(story, opening_limit=LIMIT, time_limit=LIMIT) as game:
            for command in ("look", "north", "take all", "yes", "inventory"):
                if not game.observation.ending:
                    game.step(command)
    except (StoryError, GameError) as error:
        return type(error).__name__
    finally:
        story.unlink()
    return "played"


def open_many(count: int, folder: Path) -> set[str]:
    """Return what became of that many files, made of a large story and of small ones, of two versions, in turn."""
    sources = [path.read_bytes() for path in STORIES]
    chance = random.Random(SEED)
    contents = (mangled(sources[number % len(sources)], chance) for number in range(count))
    with ThreadPoolExecutor(4) as pool:
        return set(pool.map(open_and_play, contents, (folder / f"{number}.z5" for number in range(count))))


@pytest.mark.parametrize("count", [1_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_random_commands_leave_the_game_playable(game: IsolatedGame, count: int) -> None:
    before, own = files_around(), files_in(game)
    play_at_random(game, count, random.Random(SEED))
    assert files_around() == before
    assert files_in(game) == own
    assert game.reset(1).text


@pytest.mark.parametrize("count", [40, pytest.param(2_000, marks=pytest.mark.slow)])
def test_mangled_files_are_played_or_are_errors(tmp_path: Path, count: int) -> None:
    before = files_around()
    assert {"played", "StoryError"} <= open_many(count, tmp_path) <= {"played", "StoryError", "GameError"}
    assert files_around() == before
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=st.binary(max_size=250).map(lambda raw: raw.decode("latin-1")) | st.text())
def test_any_text_is_answered_or_refused(game: IsolatedGame, command: str) -> None:
    if game.observation.ending:
        game.reset(1)
    assert game.step(command) == game.observation
