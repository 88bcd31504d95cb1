"""What a person types while a run is played."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import typer

from game_interface.core.commands import SAVING, leaving, refusal
from session.errors import WaitInterrupted
from session.events import ProposalReviewed
from session.files.journal import observation_in
from session.text import one_line
from zorkgpt.cli.printable import printable
from zorkgpt.cli.streams import print_line
from zorkgpt.llm.person import LEAVING

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event as Flag

    from session.events import Event
    from session.values import Proposal

CHOICES = "[Enter] play  [e Enter] edit  [r Enter] refuse  [a Enter] stop asking > "
KEYS = "Enter alone plays it; e, r or a, then Enter, edits it, refuses it or plays on without asking"
HELP = f"Type a command and Enter; {LEAVING} ends the episode, Ctrl-C pauses it."


class Keyboard:
    """Reads lines from stdin.

    stop: set where Ctrl-C is typed instead of a line
    still: what stands on the screen stands still within it, with a text below it; wants to be told what is typed there
    tell: prints a line above what stands still
    is_waiting: whether a line is waited for, so that Ctrl-C has to end that
    """

    def __init__(self, stop: Flag) -> None:
        self._stop = stop
        self.still: Callable[[str], AbstractContextManager[Callable[[str], None]]] = _unmoved
        self.tell: Callable[[str], None] = print_line
        self.is_waiting = False
        self._reviews = True
        self._awaits_key = False

    def see(self, event: Event) -> None:
        """Take an event into account: the story may wait for a key instead of a command."""
        seen = observation_in(event)
        self._awaits_key = self._awaits_key if seen is None else seen.awaits_key

    def read_command(self) -> str:
        """Return a command that the story may be given, or ``LEAVING``, also where there is no more input.

        Raises ``WaitInterrupted`` at Ctrl-C.
        """
        while True:
            line = self.read_line("(a key, then Enter) > " if self._awaits_key else "> ")
            if line is None or line.strip().lower() in ({LEAVING} if self._awaits_key else {LEAVING, "q"}):
                return LEAVING
            if self._awaits_key:
                return line if line.strip() else "enter"
            unfit = _unfit(line, f"; {LEAVING} ends the episode") if line.strip() else HELP
            if unfit is None:
                return line
            self.tell(unfit)

    def review(self, proposal: Proposal) -> ProposalReviewed | None:
        """Let the person decide on a proposal; ``None`` once the person wants to be asked no more.

        Raises ``WaitInterrupted`` at Ctrl-C, and where there is no more input.
        """
        proposed = _ways(proposal) or proposal.action
        reason = f"\n  {one_line(proposal.reasoning)}" if proposal.reasoning else ""
        while self._reviews:
            line = self.read_line(CHOICES, f"Proposed: {one_line(proposed)}{reason}")
            if line is None:
                raise WaitInterrupted("nobody is there to look at the proposals")
            choice, _, more = line.strip().partition(" ")
            if choice in ("", "y", "yes"):
                return ProposalReviewed(proposal.action, proposal.action)
            if choice in ("e", "edit"):
                if command := self._edited(more, proposal.action):
                    return ProposalReviewed(proposal.action, command.strip())
            elif choice in ("r", "refuse"):
                if why := more or self.read_line("Why not? "):
                    return ProposalReviewed(proposal.action, "", why.strip())
            elif choice in ("a", "all"):
                self._reviews = False
            else:
                self.tell(f"{choice!r} is not a choice: {KEYS}.")
        return None

    def _edited(self, typed: str, proposed: str) -> str | None:
        """Return what to play instead of ``proposed``, which the story may be given; "" or ``None`` for nothing.

        typed: what was typed of it already
        Raises ``WaitInterrupted`` at Ctrl-C.
        """
        command = typed or self.read_line("Command: ", begun=proposed)
        while command and not self._awaits_key and (unfit := _unfit(command)):
            self.tell(unfit)
            command = self.read_line("Command: ", begun=command)
        return command

    def read_line(self, prompt: str, above: str = "", begun: str = "") -> str | None:
        """Return what is typed, without its line end; ``None`` if there is no more input.

        Lines of a file or pipe that begin with ``#`` are comments, as in a script of commands.

        prompt, above: shown where a person types at a terminal, in the line and before it
        begun: what stands in the line already, to be edited
        Raises ``WaitInterrupted`` at Ctrl-C.
        """
        self.is_waiting = True
        try:
            if sys.stdin.isatty() and sys.stdout.isatty():
                with self.still(printable(above)) as stands:
                    stands(prompt)
                    line = _typed(prompt, begun)
                    stands(f"{prompt}{line or ''}")
                    return line
            line = next((line for line in sys.stdin if not line.lstrip().startswith("#")), None)
            return None if line is None else line.removesuffix("\n")
        except KeyboardInterrupt:
            self._stop.set()
            raise WaitInterrupted("interrupted") from None
        finally:
            self.is_waiting = False


def _unmoved(_above: str) -> AbstractContextManager[Callable[[str], None]]:
    return nullcontext(lambda _line: None)


def _unfit(command: str, way_out: str = "") -> str | None:
    """Return in words for a person why the story may not be given a command, ``None`` if it may.

    way_out: what else a person may do than to pause
    """
    reason = refusal(command)
    if reason in {leaving(verb) for verb in SAVING}:
        return f"Everything is saved by itself; Ctrl-C pauses, and says how to go on{way_out}."
    return reason


def _ways(proposal: Proposal) -> str:
    """Return in words where the agent wants to be led, "" where it wants to type a command."""
    if proposal.follow is not None:
        return f"to follow route {proposal.follow}"
    return f"to walk to location {proposal.go_to}" if proposal.go_to is not None else ""


def _typed(prompt: str, begun: str) -> str | None:
    """Return the line that is typed at the terminal; whatever ends it, the cursor is on a new line then."""
    import readline  # lets a person edit the line and go back to earlier ones

    readline.set_startup_hook(lambda: readline.insert_text(begun))
    try:
        return input(prompt)
    except EOFError:
        typer.echo()
        return None
    except KeyboardInterrupt:
        typer.echo()
        raise
