"""The installed wheel works by itself from any folder, and type checkers find its types."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.fixtures.command_line import environment
from tests.fixtures.hostile_folder import HostileFolder, ran_and_watched
from tests.fixtures.misbehaving_server import MisbehavingServer
from tests.fixtures.troubled_server import Answers

pytestmark = pytest.mark.slow  # builds and installs the wheel

ROOT = Path(__file__).parents[2]
SHIPPED = ("session", "game_interface", "managers", "orchestration", "zorkgpt")
_NEEDED = (*SHIPPED, "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True, slots=True)
class Installed:
    """A wheel, and an environment with it and all packages of the current environment."""

    wheel: Path
    environment: Path

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.environment / "bin" / "python"

    @property
    def zorkgpt(self) -> Path:
        """The installed command."""
        return self.environment / "bin" / "zorkgpt"

    @property
    def mypy(self) -> tuple[str, ...]:
        """The arguments of the interpreter that check types, and read those of packages once."""
        strict = ("-m", "mypy", "--strict", "--cache-dir", str(self.environment / "types"))
        return *strict, "--python-executable", str(self.python)


def install(folder: Path) -> Installed:
    """Build the wheel in ``folder`` and install it there with pip, without network access."""
    source = folder / "source"
    for name in _NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    wheels, environment = folder / "wheels", folder / "environment"
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(source))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    (wheel,) = wheels.iterdir()
    _pip("--python", python, "install", "--no-deps", "--no-index", str(wheel))
    (site,) = environment.glob("lib/python*/site-packages")
    # A .pth file does not process the .pth files there, so an editable install of the project is not visible.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(wheel, environment)


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


NOT_SHIPPED = {".py", ".pyc", ".inf"}
PAGE = Path(__file__).parents[2] / "docs" / "python.md"
EXAMPLES = re.findall(r"^```python(?: server)?\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("installed"))


def test_the_wheel_has_our_packages_with_their_types_and_nothing_of_the_checkout(installed: Installed) -> None:
    with ZipFile(installed.wheel) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {*SHIPPED, "zorkgpt-0.1.0.dist-info"}
    assert {f"{package}/py.typed" for package in SHIPPED} <= set(names)
    data = {path for package in SHIPPED for path in (ROOT / package).rglob("*.*") if path.suffix not in NOT_SHIPPED}
    assert {path.relative_to(ROOT).as_posix() for path in data} <= set(names)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system has no /proc to see processes in")
def test_modules_of_the_current_folder_with_names_of_ours_break_nothing(installed: Installed, tmp_path: Path) -> None:
    """What is installed at top level is session, managers and so on, and a user may have modules of these names."""
    folder = HostileFolder(tmp_path / "project")
    with MisbehavingServer(Answers()) as server:
        there = ("--base-url", server.base_url, "--max-turns", "2", "--workdir", "work")
        ran, _ = ran_and_watched(folder.path, (str(installed.zorkgpt), "run", *there), environment())
        assert (ran.status, folder.sprung) == (0, []), ran
        ran, _ = ran_and_watched(folder.path, (str(installed.zorkgpt), "replay", "--workdir", "work"), environment())
    assert (ran.status, folder.sprung) == (0, []), ran
    assert "is repeated exactly" in ran.out.decode()


def test_a_program_beside_a_module_with_a_name_of_ours_is_told_which(installed: Installed, tmp_path: Path) -> None:
    """As docs/installing.md explains: the program cannot have both."""
    (tmp_path / "session.py").write_text("")
    (tmp_path / "program.py").write_text("from zorkgpt.api import play\n")
    assert _run(installed, tmp_path, "program.py").stderr.rstrip().endswith("'session' is not a package")


def test_a_program_in_another_folder_plays_and_has_its_types_checked(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "examples.py").write_text("\n".join(EXAMPLES), encoding="utf-8")
    checked = _run(installed, tmp_path, *installed.mypy, "examples.py")
    assert checked.stdout == "Success: no issues found in 1 source file\n"

    (tmp_path / "wrong.py").write_text("from zorkgpt import api\napi.play(agent=len)\napi.read_run().score\n")
    refused = _run(installed, tmp_path, *installed.mypy, "wrong.py")
    assert refused.returncode == 1
    assert 'Argument "agent" to "play" has incompatible type' in refused.stdout
    assert '"PlayedRun" has no attribute "score"' in refused.stdout

    (tmp_path / "program.py").write_text(
        "from zorkgpt import api\nprint(api.play(agent=lambda _: 'look', max_turns=3).summary.turns)\n"
    )
    assert _run(installed, tmp_path, "program.py").stdout == "3\n"


def test_a_project_of_five_files_tests_its_own_story(installed: Installed, tmp_path: Path, own_story: Path) -> None:
    """As docs/python.md explains: without a conftest.py, because pytest finds the fixtures in the wheel."""
    project = shutil.copytree(ROOT / "examples" / "own-story", tmp_path / "project")
    shutil.copy(own_story, project / "story.z5")
    assert len([path for path in project.rglob("*") if path.is_file()]) == 5
    passed = _run(installed, project, "-m", "pytest", "-p", "no:cacheprovider")
    assert (passed.returncode, "2 passed" in passed.stdout) == (0, True), passed.stdout
    checked = _run(installed, project, *installed.mypy, "test_story.py")
    assert checked.stdout == "Success: no issues found in 1 source file\n"

    scores = ("-m", "zorkgpt", "replay", "--from-actions", "walkthrough.txt", "--game", "story.z5", "--expect-score")
    assert _run(installed, project, *scores, "5").returncode == 0
    (project / "walkthrough.txt").write_text("north\nlook\nlook\n")
    assert _run(installed, project, *scores, "5").returncode == 1
    failed = _run(installed, project, "-m", "pytest", "-p", "no:cacheprovider")
    assert (failed.returncode, "2 failed" in failed.stdout) == (1, True), failed.stdout


def _run(installed: Installed, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(installed.python), *arguments], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
