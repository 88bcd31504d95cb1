"""Routes in words, for prompts and for people."""

from __future__ import annotations

from session.route import KnownRoute
from session.text import counted

LAST_SHOWN = 3  # commands


def aim(route: KnownRoute, done: int = 0) -> str:
    """Return what the route is for, in a word or two, and what it wins after ``done`` of its commands."""
    gain = route.gain(done)
    if route.goal.kind == "score":
        return f"+{gain}"
    goal = f"to {route.goal.name}" if route.goal.kind == "room" else f"take {route.goal.name}"
    return f"{goal}, +{gain}" if gain > 0 else goal


def line(route: KnownRoute, done: int = 0) -> str:
    """Return the route on a line, with the first of the commands that are left after ``done`` of them, and the last."""
    numbered = [f"{number}. {command}" for number, command in enumerate(route.commands[done:], start=1)]
    shown = numbered if len(numbered) <= LAST_SHOWN + 1 else [numbered[0], "…", *numbered[-LAST_SHOWN:]]
    left = f"{counted(len(numbered), 'turn')}{' from here' if done else ''}"
    return f"{route.number}: {aim(route, done)} in {left}, {record(route, done)}: {', '.join(shown)}"


def record(route: KnownRoute, done: int = 0) -> str:
    """Return the results of the route so far, counting its commands from number ``done``."""
    tries = route.tries(done)
    if route.spare and not tries.followed and route.proof is None:
        return "shortened, not tried yet"
    parts = [f"worked in {1 + tries.worked} of {counted(1 + tries.followed, 'episode')}"]
    if route.proof is not None:
        parts.append(f"in {route.proof.worked} of {route.proof.tried} trials")
    ahead = enumerate(route.commands[done:], start=1)
    stops = [f"{number} ({command})" for number, command in ahead if number + done in route.stops]
    if stops:
        parts.append(f"stopped at command {', '.join(stops)}")
    return ", ".join(parts)
