"""Turn records about movement, in few words, of a turn in which a run writes its map."""

from __future__ import annotations

from dataclasses import replace

from managers.map_manager import SAVE_INTERVAL
from session.values import Location, Observation, Proposal, TurnRecord, Verdict


def at(location_id: int | None, name: str = "", *, moves: int | None = None) -> Observation:
    """The player is at that location; ``None``: it is unknown."""
    return Observation("", location=None if location_id is None else Location(location_id, name), moves=moves)


def turn(before: Observation, command: str, after: Observation) -> TurnRecord:
    """The command was played there and led there."""
    return TurnRecord(1, SAVE_INTERVAL, before, (Proposal(command),), (Verdict(accepted=True),), after)


def walk(from_id: int, command: str, to_id: int) -> TurnRecord:
    """The command led from one location to the other, or nowhere if they are the same."""
    return turn(at(from_id), command, at(to_id))


def death(from_id: int, command: str, woken_at: int) -> TurnRecord:
    """The command killed the player, who was resurrected elsewhere."""
    return turn(at(from_id), command, replace(at(woken_at), died=True))
