"""``zorkgpt doctor``: whether a run can work, and the mend where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.terminal import folded, print_line, terminal_width


def doctor(
    game: Annotated[Path | None, typer.Option(help="Story file to look at.", metavar="FILE")] = None,
    workdir: Annotated[
        Path | None, typer.Option(help="Folder that a run would write to.", metavar="DIR", parser=common_options.folder)
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model by name, or a .gguf file.", metavar="M")] = None,
    base_url: common_options.BaseUrl = None,
) -> None:
    """Check everything that a run needs. Exit status 1 if something is missing."""
    from zorkgpt.health import examine
    from zorkgpt.llm.embedded.model_store import ModelStore

    overrides = {"game.file": game, "zork_game_workdir": workdir, "agent_model": model, "llm.base_url": base_url}
    resolved = common_options.resolve(overrides)
    fit = True
    for finding in examine(resolved, Path.cwd(), ModelStore()):
        mark, mend = ("✓", "") if finding.well else ("✗", f": {finding.mend}")
        line = f"{mark} {finding.subject:<11} {finding.words}{mend}"
        print_line("\n".join(folded([line], terminal_width(), indent=14)))
        fit = fit and (finding.well or not finding.needed)
    if not fit:
        raise typer.Exit(1)
