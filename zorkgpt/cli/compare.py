"""``zorkgpt compare``: two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.cli import common_options
from zorkgpt.cli.streams import print_error, terminal_width

if TYPE_CHECKING:
    from pathlib import Path


def compare(
    one: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, or its folder.")],
    other: Annotated[str, typer.Argument(metavar="RUN", help="Another one.")],
    as_json: common_options.AsJson = False,
    workdir: common_options.Workdir = None,
) -> None:
    """Print two runs side by side. Shows milestones, usage, and what each run knew and learnt."""
    from session.files.run_folders import find_run
    from zorkgpt.cli.comparison_view import comparison_as_json, comparison_lines
    from zorkgpt.report.compared_runs import compare as compare_runs

    now = common_options.configuration_in(workdir)
    folders: list[Path] = [find_run(now.zork_game_workdir, run) for run in (one, other)]
    comparison = compare_runs(folders, now.prices)
    if as_json:
        typer.echo(comparison_as_json(comparison))
        return
    typer.echo("\n".join(comparison_lines(comparison, terminal_width())))
    if not comparison.is_of_one_story:
        print_error("zorkgpt: these are runs of different stories: neither points nor turns can be compared")
