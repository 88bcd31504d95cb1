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


def test_every_package_and_module_is_in_a_layer() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert set(SETTINGS["root_packages"]) == packages
    modules = {f"zorkgpt.{path.parent.name}" for path in (ROOT / "zorkgpt").glob("*/__init__.py")}
    modules |= {f"zorkgpt.{path.stem}" for path in (ROOT / "zorkgpt").glob("[!_]*.py")}
    (layers,) = [contract["layers"] for contract in SETTINGS["contracts"] if contract["type"] == "layers"]
    assert set(re.findall(r"[\w.]+", " ".join(layers))) == (packages - {"zorkgpt"}) | modules
