"""``zorkgpt doctor``: checks that a run can work, and prints how to fix what is missing."""

from __future__ import annotations

from pathlib import Path

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import print_folded


def doctor(
    game: common_options.StoryToPlay = None,
    workdir: common_options.Workdir = None,
    model: common_options.Model = None,
    base_url: common_options.BaseUrl = None,
) -> None:
    """Check everything that a run needs. Exit status 1 if something is missing."""
    from zorkgpt.health import examine
    from zorkgpt.llm.embedded.model_store import ModelStore

    overrides = {"game.file": game, "zork_game_workdir": workdir, "agent_model": model, "llm.base_url": base_url}
    fit = True
    for finding in examine(common_options.resolve(overrides), Path.cwd(), ModelStore()):
        mark, mend = ("✓", "") if finding.well else ("✗", f": {finding.mend}")
        print_folded(f"{mark} {finding.subject:<11} {finding.words}{mend}", indent=14)
        fit = fit and (finding.well or not finding.needed)
    if not fit:
        raise typer.Exit(1)
