"""How a run stands, and the command that goes on with it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from session.errors import StoreError
from session.invocation import program
from session.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from session.game_configuration import GameConfiguration
    from zorkgpt.llm.budget import Spending
    from zorkgpt.report.run_summary import RunSummary

_GOES_ON = frozenset({"paused", "killed"})


def standing(run: RunSummary, now: GameConfiguration) -> str:
    """Return how a run stands, and what to type to go on with it where that is possible.

    now: the configuration of the current folder
    """
    reason = f": {one_line(run.reason)}" if run.reason else ""
    sentence = f"The run is {run.state}{reason}"
    if run.state not in _GOES_ON:
        return f"{sentence}."
    try:
        return f"{sentence}; {resume_command(run.folder, _spending(run.folder, now))} goes on."
    except StoreError as error:
        return f"{sentence}; it cannot go on: {one_line(str(error))}."


def resume_command(folder: Path, spending: Spending, options: Iterable[str] = ()) -> str:
    """Return what to type to go on with a run, with all budgets that it has used up raised.

    options: those that have to be given again, with their values
    """
    raised = [part for limit in spending.reached() for part in limit.raised()]
    return f"{program()} {shlex.join(['resume', str(folder), *options, *raised])}"


def _spending(folder: Path, now: GameConfiguration) -> Spending:
    """Return what the run of ``folder`` has spent. Raises ``StoreError`` for a run that cannot be read."""
    from orchestration.history import configuration_of
    from session.changed_options import before_changes
    from session.files.journal import read_journal, read_manifest
    from session.game_configuration import GameConfiguration
    from zorkgpt.llm.budget import Spending

    manifest = read_manifest(folder)
    configuration = configuration_of(manifest, folder, now)
    begun_with = GameConfiguration.model_validate(manifest.configuration)
    spending = Spending(configuration, before_changes(configuration, begun_with))
    for line in read_journal(folder):
        if line.event is not None:
            spending.count(line.event)
    return spending
