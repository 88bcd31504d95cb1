"""Creates the pictures and the report for README.md and docs from a real run: ``make pictures``.

The embedded model plays the packaged story. All paths are relative to the project's folder, so that the files contain
nothing of this computer. The report in docs/example is of a run with answers entered by hand, which ``--again`` keeps.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event as Flag
from typing import NamedTuple

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from orchestration.recorded_configuration import recorded
from session.events import TurnPlayed
from session.files.journal import read_journal
from session.game_configuration import GameConfiguration
from tests.fixtures.report_data import data_in
from zorkgpt.cli.screen import LiveView
from zorkgpt.llm.budget import Spending
from zorkgpt.report.server import page_of

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "docs" / "example"
WORKDIR = Path("build") / "example"
STORY = Path("game_interface") / "stories" / "tidehouse.z5"
LENGTH = ("--episodes", "2", "--max-turns", "9")
COLUMNS, ROWS = 132, 40
TURNS_SHOWN = 4
"""The last turns of the run, which the picture of the terminal shows."""
SCREEN = (1440, 900)
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""What would be fetched from a network: the reader's own font does."""
_DARK, _LIGHT, _BLUE = (23, 25, 27), (232, 228, 219), (127, 201, 214)
_COLOURS = [_DARK, (240, 160, 147), (143, 209, 154), (224, 168, 79), _BLUE, (191, 166, 232), _BLUE, _LIGHT]
PAPER = TerminalTheme(_DARK, _LIGHT, _COLOURS)


def main() -> None:
    """Write everything into ``docs/example``, of a new run or of the one that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--again", action="store_true", help="play nothing: the same run, on the page as it is built now"
    )
    if parser.parse_args().again:
        report = EXAMPLE / "report.html"
        content = json.dumps(data_in(report.read_text(encoding="utf-8")), separators=(",", ":")).encode()
        report.write_text(page_of(content), encoding="utf-8")
        photograph(report, EXAMPLE / "report.png")
        return
    shutil.rmtree(ROOT / WORKDIR, ignore_errors=True)
    zorkgpt("run", "--quiet", "--game", str(STORY), *LENGTH, "--workdir", str(WORKDIR))
    make(WORKDIR, EXAMPLE)


def make(workdir: Path, to: Path) -> None:
    """Write the report of the run in that work folder, a picture of it, and one of the terminal."""
    to.mkdir(parents=True, exist_ok=True)
    (run,) = (ROOT / workdir / "runs").iterdir()
    zorkgpt("report", run.name, "--workdir", str(workdir), "--to", str(to / "report.html"))
    (to / "live.svg").write_text(picture_of_terminal(run), encoding="utf-8")
    photograph(to / "report.html", to / "report.png")


def zorkgpt(*arguments: str) -> None:
    """Run the program."""
    program = Path(sys.executable).with_name("zorkgpt").relative_to(ROOT)
    subprocess.run([program, *arguments], cwd=ROOT, check=True)


class Screen(NamedTuple):
    """What a terminal shows, as text and as a picture in SVG."""

    text: str
    svg: str


def picture_of_terminal(run: Path) -> str:
    """Return what a terminal shows at the end of that run, as SVG, with its last turns whole."""
    return screen_of(run, COLUMNS, ROWS, turns=TURNS_SHOWN).svg


def screen_of(run: Path, columns: int, rows: int, turns: int | None = None) -> Screen:
    """Return what a terminal of that size shows at the end of the run; with ``turns``, the last of them whole."""
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=True, width=columns, height=rows, color_system="truecolor")
    events = [line.event for line in read_journal(run) if line.event is not None]
    last = [place for place, event in enumerate(events) if isinstance(event, TurnPlayed)][-(turns or rows) :]
    configuration = recorded(run, GameConfiguration())
    spending = Spending(configuration)
    view = LiveView(configuration, run, spending, Flag(), console)
    view.look()
    for place, event in enumerate(events):
        spending.count(event)
        if last[0] <= place <= last[-1]:
            view.show(event)
        elif place < last[-1]:
            view.note(event)
    view.asks("agent")
    console.print(view._panel())
    lines = printed.getvalue().splitlines()
    lines = lines if turns else lines[-rows:]
    shown = Console(record=True, file=io.StringIO(), width=columns, height=rows, color_system="truecolor")
    shown.print(Text.from_ansi("\n".join(lines)))
    svg = shown.export_svg(title="zorkgpt run", theme=PAPER, clear=False)
    return Screen(shown.export_text(), FONT.sub("", svg))


def photograph(page: Path, picture: Path) -> None:
    """Take a picture of the page at a turn of the first episode, which a model chose, with its prompt."""
    width, height = SCREEN
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), chromium_sandbox=False)
        tab = browser.new_page(viewport={"width": width, "height": height})
        tab.goto(page.resolve().as_uri())
        slider = tab.get_by_role("slider", name="Turn")
        slider.fill(str(int(slider.get_attribute("max") or 0) // 3))
        tab.locator(".call > summary").first.click()
        tab.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
