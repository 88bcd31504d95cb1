"""Every package, and every module beside them, is in a layer, so that import-linter checks all of them."""

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


def layers() -> list[set[str]]:
    """Return the packages and modules of each layer, the highest first."""
    (found,) = [contract["layers"] for contract in SETTINGS["contracts"] if contract["type"] == "layers"]
    return [set(re.findall(r"[\w.]+", layer)) for layer in found]


def layered() -> set[str]:
    return set().union(*layers())


def test_every_top_level_package_is_looked_at() -> None:
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert set(SETTINGS["root_packages"]) == ours


def test_every_package_and_module_is_in_a_layer() -> None:
    packages = {package for package in SETTINGS["root_packages"] if package != "zorkgpt"}
    packages |= {f"zorkgpt.{path.parent.name}" for path in (ROOT / "zorkgpt").glob("*/__init__.py")}
    packages |= {f"zorkgpt.{path.stem}" for path in (ROOT / "zorkgpt").glob("[!_]*.py")}
    assert packages == layered()
