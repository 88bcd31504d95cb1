"""How a run looks while it is played: three ways to show the same events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol, TextIO

from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from session.changed_options import as_settings
from session.events import (
    EVENTS,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    FileEdited,
    GameFailed,
    ModelFailed,
    OptionsChanged,
    ProvenRoute,
    RoutesProven,
    RunPaused,
    RunStarted,
    TurnPlayed,
)
from session.text import counted, cut_at, one_line
from zorkgpt.cli.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from session.events import EpisodeEnd
    from session.values import Observation, TurnRecord


LONGEST_COMMAND = 200
"""Characters of a command that are shown: a model may answer with pages."""


class Screen(Protocol):
    """Shows events as they happen."""

    def show(self, event: Event) -> None:
        """Show ``event``, if this screen shows events of its kind."""
        ...


class JsonScreen:
    """Prints each event as a line of JSON, as in the journal's ``event`` field; ``out`` is stdout unless given."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        """Print the event, whatever its kind."""
        print(json.dumps(EVENTS.dump_python(event, mode="json")), file=self._out, flush=True)


class PlainScreen:
    """Prints plain lines, for pipes and files.

    out: stdout unless given
    quiet: only how the run begins, and how its episodes and it end
    """

    def __init__(self, out: TextIO | None = None, *, quiet: bool = False) -> None:
        self._out = out
        self.is_quiet = quiet

    def show(self, event: Event) -> None:
        """Print the event if it concerns a reader."""
        for line in self._lines(event):
            print(printable(line), file=self._out, flush=True)

    def _lines(self, event: Event) -> list[str]:
        if self.is_quiet and not isinstance(event, RunStarted | OptionsChanged | EpisodeEnded | RunPaused):
            return []
        if isinstance(event, EpisodeStarted):
            return [f"\n=== Episode {event.episode}, seed {event.seed} ===\n", event.opening.text.strip()]
        if isinstance(event, TurnPlayed):
            return _turn_lines(event.record, event.seconds)
        return _headline(event)


class LiveScreen:
    """Draws colours and frames, for a person in front of a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)

    def show(self, event: Event) -> None:
        """Draw the event if it concerns a person."""
        if isinstance(event, EpisodeStarted):
            self.console.rule(f"Episode {event.episode} · seed {event.seed}", style="bold")
            self.console.print(Text(printable(event.opening.text.strip())))
        elif isinstance(event, TurnPlayed):
            self.console.print(self._turn(event.record, event.seconds))
        else:
            for line in _headline(event):
                self.console.print(Text(printable(line), style="bold"))

    def _turn(self, record: TurnRecord, seconds: float) -> Panel:
        parts = []
        if record.reasoning:
            parts.append(Text(printable(record.reasoning), style="italic dim"))
        parts += [Text(line, style="yellow") for line in map(printable, _rejected(record))]
        parts.append(Text(f"> {printable(_command(record.action))}", style="bold cyan"))
        parts.append(Text(printable(record.after.text.strip())))
        return Panel(
            Group(*parts),
            title=Text(f"Turn {record.turn} · {seconds:.1f} s", style="dim"),
            title_align="left",
            subtitle=Text(printable(" · ".join(_place_and_score(record.after))), style="green"),
            subtitle_align="right",
            border_style="green" if (record.score_change or 0) > 0 else "dim",
        )


def _headline(event: Event) -> list[str]:
    """Return what there is to say beside the play, each on one line, whatever names and reasons hold."""
    return [one_line(line) for line in _news(event)]


def _news(event: Event) -> list[str]:
    if isinstance(event, RunStarted):
        help_given = f", assisted by {', '.join(event.assistance)}," if event.assistance else ""
        return [
            f"{event.model}{help_given} plays {event.story_choice}",
            f"{counted(event.episodes, 'episode')} of at most {counted(event.max_turns, 'turn')}, in {event.folder}",
        ]
    if isinstance(event, EpisodeEnded):
        return [_summary(event)]
    if isinstance(event, OptionsChanged):
        return [f"From here on {event.model} plays, with {as_settings(event.options)}"]
    return _trouble(event)


def _trouble(event: Event) -> list[str]:
    if isinstance(event, ModelFailed) and event.role != "agent":
        return [f"The {event.role} model gave no answer: {event.error}"]
    if isinstance(event, RunPaused):
        where = f" in episode {event.episode} after {counted(event.turns, 'turn')}" if event.episode else ""
        return [f"Paused{where}: {event.reason}"]
    if isinstance(event, GameFailed):
        return [f"The interpreter failed and was put back: {event.error}"]
    if isinstance(event, RoutesProven):
        return [_proven(route) for route in event.routes]
    if isinstance(event, FileEdited):
        return [f"{event.file} was changed from outside this run, and is read again."]
    return []


def _proven(route: ProvenRoute) -> str:
    commands = counted(route.commands, "command")
    trials = [
        (len(form.steps), f"worked in {form.proof.worked} of {form.proof.tried} trials")
        for form in route.forms
        if form.proof is not None
    ]
    if [length for length, _ in trials] == [route.commands]:
        return f"Route {route.number} was tried out: its {commands} {trials[0][1]}"
    forms = " or ".join(f"{length} ({worked})" for length, worked in trials)
    return f"Route {route.number} was tried out: {commands} became {forms}"


_ENDS: Mapping[EpisodeEnd, str] = {
    "won": "won",
    "lost": "lost",
    "over": "came to its end",
    "crashed": "broke off, for the story's program failed,",
    "turn_limit": "stopped at the turn limit",
    "left": "was left",
}


def _summary(event: EpisodeEnded) -> str:
    score = "score unknown"
    if event.score is not None:
        score = f"score {event.score}" + ("" if event.max_score is None else f" of {event.max_score}")
    return (
        f"Episode {event.episode} {_ENDS[event.end]} after {counted(event.turns, 'turn')}: "
        f"{score}, {counted(event.rooms, 'room')}, {event.seconds:.0f} s"
    )


def _turn_lines(record: TurnRecord, seconds: float) -> list[str]:
    lines = ["", f"[Turn {record.turn}, {seconds:.1f} s] {' | '.join(_place_and_score(record.after))}"]
    if record.reasoning:
        lines.append(f"  ({record.reasoning})")
    return [*lines, *_rejected(record), f"> {_command(record.action)}", record.after.text.strip()]


def _rejected(record: TurnRecord) -> list[str]:
    pairs = list(zip(record.proposals, record.verdicts, strict=True))[:-1]
    rejected = [(_command(proposal.action), verdict) for proposal, verdict in pairs if not verdict.accepted]
    return [f"not played: {command} ({verdict.reason})" for command, verdict in rejected]


def _command(action: str) -> str:
    return cut_at(one_line(action), LONGEST_COMMAND)


def _place_and_score(observation: Observation) -> list[str]:
    shown = [observation.location.label] if observation.location else []
    if observation.score is not None:
        shown.append(f"score {observation.score}")
    return shown
