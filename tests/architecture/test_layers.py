"""Every package of ours, and every module beside them, stands in a layer, so that none escapes import-linter.

The picture in docs/architecture.md has the same layers.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]


PICTURE = re.compile(r"^```mermaid\n(.*?)^```", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r'\["([\w/.]+):')


def layers() -> list[set[str]]:
    """Return the packages and modules of each layer, the highest first."""
    (found,) = [contract["layers"] for contract in SETTINGS["contracts"] if contract["type"] == "layers"]
    return [set(re.findall(r"[\w.]+", layer)) for layer in found]


def layered() -> set[str]:
    return set().union(*layers())


def drawn_layers() -> list[set[str]]:
    """Return the layers of the picture, in the order of its last line of arrows."""
    (picture,) = PICTURE.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    order = picture.strip().splitlines()[-1].strip().split(" --> ")
    boxes: dict[str, set[str]] = {}
    box = ""
    for line in picture.splitlines():
        words = line.split()
        if words[0] == "subgraph":
            box = words[1]
        elif words[0] == "end":
            box = ""
        elif label := LABEL.search(line):
            boxes.setdefault(box or words[0].partition("[")[0], set()).add(label[1])
    return [{name.removesuffix(".py").replace("/", ".") for name in boxes[each]} for each in order]


def test_every_top_level_package_is_looked_at() -> None:
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert set(SETTINGS["root_packages"]) == ours


def test_every_package_and_module_is_in_a_layer() -> None:
    packages = {package for package in SETTINGS["root_packages"] if package != "zorkgpt"}
    packages |= {f"zorkgpt.{path.parent.name}" for path in (ROOT / "zorkgpt").glob("*/__init__.py")}
    packages |= {f"zorkgpt.{path.stem}" for path in (ROOT / "zorkgpt").glob("[!_]*.py")}
    assert packages == layered()


def test_the_picture_of_the_architecture_has_these_layers() -> None:
    assert drawn_layers() == layers()
