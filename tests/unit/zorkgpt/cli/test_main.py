"""Help is quick: it imports what it prints, and nothing that plays, learns or reads a configuration."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from zorkgpt.cli.main import app

HEAVY = {
    *("game_interface", "managers", "orchestration"),
    *("markdown_it", "pygments"),  # of Rich, for help in boxes
    *("filelock", "httpx", "httpx2", "jericho", "mcp", "numpy", "openai", "scipy", "structlog", "xllamacpp"),
}
LOADED_BY_TYPER = {"pydantic"}  # as soon as a command has options
COMMANDS = (
    *("run", "resume", "play", "watch", "replay", "ablate", "doctor", "status"),
    *("config", "mcp", "memories", "model", "runs", "report"),
)
SCRIPT = """
import sys
from zorkgpt.cli.main import main
try:
    main()
except SystemExit as end:
    imported = {module.partition(".")[0] for module in sys.modules} | {"rich.console"} & sys.modules.keys()
    print(end.code, *imported, file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [("--help",), *((command, "--help") for command in COMMANDS)], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    told = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    status, *imported = told.stderr.split()
    assert status == "0"
    assert "Usage: " in told.stdout
    assert HEAVY.isdisjoint(imported)
    assert "rich.console" not in imported
    assert arguments[0] != "--help" or LOADED_BY_TYPER.isdisjoint(imported)


def test_every_summary_fits_into_80_columns() -> None:
    groups = [[str(group.typer_instance.info.name)] for group in app.registered_groups if group.typer_instance]
    shown = [CliRunner().invoke(app, [*group, "--help"], terminal_width=78).output for group in ([], *groups)]
    lists = [text.partition("Commands:\n")[2].splitlines() for text in shown]
    assert all(lists)
    lines = [line for each in lists for line in each]
    assert [line for line in lines if line.endswith("...")] == []
