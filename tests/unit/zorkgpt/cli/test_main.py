"""Help is quick: it imports what it prints, and nothing that plays, learns or reads a configuration."""

from __future__ import annotations

import subprocess
import sys

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
for command in sys.argv[1:]:
    sys.argv[1:] = [*command.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        assert not end.code, command
    imported = {module.partition(".")[0] for module in sys.modules} | {"rich.console"} & sys.modules.keys()
    print(*imported, file=sys.stderr)
"""


def test_help_imports_nothing_heavy() -> None:
    commands = ("", *COMMANDS)
    told = subprocess.run([sys.executable, "-c", SCRIPT, *commands], capture_output=True, text=True, check=True)
    imported = [set(line.split()) for line in told.stderr.splitlines()]
    assert told.stdout.count("Usage: ") == len(imported) == len(commands)
    assert not imported[0] & LOADED_BY_TYPER
    found = {command: names & {*HEAVY, "rich.console"} for command, names in zip(commands, imported, strict=True)}
    assert not any(found.values()), found


def test_every_summary_fits_into_80_columns() -> None:
    groups = [[str(group.typer_instance.info.name)] for group in app.registered_groups if group.typer_instance]
    shown = [CliRunner().invoke(app, [*group, "--help"], terminal_width=78).output for group in ([], *groups)]
    lists = [text.partition("Commands:\n")[2].splitlines() for text in shown]
    assert all(lists)
    lines = [line for each in lists for line in each]
    assert [line for line in lines if line.endswith("...")] == []
