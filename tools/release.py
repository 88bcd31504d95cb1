"""Prepares a checkout for publishing: what depends on the repository, its owner and the tag is filled in.

    python -m tools.release OWNER/REPOSITORY TAG

Links of README.md become absolute, because the package index shows it elsewhere; ``server.json`` and README.md get the
owner's name in the MCP registry; pyproject.toml gets the addresses of the project.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWNER = "OWNER"
"""The placeholder for the owner's name, in ``io.github.OWNER/zorkgpt``."""


def absolute(text: str, repository: str, tag: str) -> str:
    """Return the text of a page in the repository's root with absolute links; those of pictures lead to the files."""

    def linked(found: re.Match[str]) -> str:
        is_picture, target = found[1].startswith("!"), found[2]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        if is_picture:
            return f"{found[1]}(https://raw.githubusercontent.com/{repository}/{tag}/{target}?sanitize=true)"
        return f"{found[1]}(https://github.com/{repository}/blob/{tag}/{target})"

    text = re.sub(r"(!\[[^\]]*\])\(([^)\s]+)\)", linked, text)
    return re.sub(r"(\])\(([^)\s]+)\)", linked, text)


def problems(tag: str) -> list[str]:
    """Return in which files the version is another one than that of the tag."""
    version = tag.removeprefix("v")
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    found = {
        "pyproject.toml": f'\nversion = "{version}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
        "CHANGELOG.md": re.search(
            rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
        ),
        "server.json": {server["version"], *(package["version"] for package in server["packages"])} == {version},
    }
    return [f"{name} is not of version {version}" for name, is_right in found.items() if not is_right]


def main() -> None:
    """Prepare the checkout, or exit with what is wrong."""
    repository, tag = sys.argv[1:]
    if wrong := problems(tag):
        raise SystemExit("\n".join(wrong))
    owner = repository.partition("/")[0]
    for name in ("README.md", "server.json", "pyproject.toml"):
        file = ROOT / name
        text = file.read_text(encoding="utf-8").replace(f"io.github.{OWNER}/", f"io.github.{owner}/")
        text = text.replace(f"https://github.com/{OWNER}/zorkgpt", f"https://github.com/{repository}")
        if name == "README.md":
            text = absolute(text, repository, tag)
        if name == "pyproject.toml":
            page = f"https://github.com/{repository}"
            urls = {"Source": page, "Changelog": f"{page}/blob/{tag}/CHANGELOG.md", "Issues": f"{page}/issues"}
            lines = "".join(f'{title} = "{url}"\n' for title, url in urls.items())
            text = text.replace("[project.scripts]\n", f"[project.urls]\n{lines}\n[project.scripts]\n")
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
