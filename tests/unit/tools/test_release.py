"""What is published is of one version, and its README leads to the repository from everywhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.release import OWNER, absolute, problems

ROOT = Path(__file__).parents[3]
VERSION = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[0]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[docs](docs/python.md#errors)", "[docs](https://github.com/me/it/blob/v1/docs/python.md#errors)"),
        ("![a](a.svg)", "![a](https://raw.githubusercontent.com/me/it/v1/a.svg?sanitize=true)"),
        (
            "[![a](a.png)](b.md)",
            "[![a](https://raw.githubusercontent.com/me/it/v1/a.png?sanitize=true)](https://github.com/me/it/blob/v1/b.md)",
        ),
        ("[here](#there), [there](https://a.org/b)", "[here](#there), [there](https://a.org/b)"),
    ],
)
def test_links_become_absolute(link: str, expected: str) -> None:
    assert absolute(link, "me/it", "v1") == expected


def test_every_file_is_of_the_version_of_the_tag() -> None:
    assert problems(f"v{VERSION}") == []
    assert [line.split(" ")[0] for line in problems("v99.0")] == ["pyproject.toml", "CHANGELOG.md", "server.json"]


def test_a_prepared_checkout_names_its_owner_and_repository_and_has_no_relative_link(tmp_path: Path) -> None:
    names = ("README.md", "server.json", "pyproject.toml", "CHANGELOG.md")
    for name in (*names, "tools/release.py", "tools/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "tools.release", "me/it"]
    assert subprocess.run([*command, "v99.0"], cwd=tmp_path, capture_output=True, check=False).returncode == 1
    subprocess.run([*command, f"v{VERSION}"], cwd=tmp_path, check=True)
    readme, server, project, _ = ((tmp_path / name).read_text(encoding="utf-8") for name in names)
    assert OWNER not in readme + server + project
    assert f"mcp-name: {json.loads(server)['name']} " in readme
    assert json.loads(server)["repository"]["url"] == "https://github.com/me/it"
    assert [link for link in re.findall(r"\]\(([^)]*)\)", readme) if not re.match("https://|#", link)] == []
    assert '[project.urls]\nSource = "https://github.com/me/it"\n' in project
