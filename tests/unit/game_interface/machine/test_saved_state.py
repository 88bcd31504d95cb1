from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game_interface.core.machine.interpreter import Registers, Snapshot
from game_interface.core.machine.saved_state import SavedState
from session.errors import GameError
from session.values import GameObject, Location, Observation

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
