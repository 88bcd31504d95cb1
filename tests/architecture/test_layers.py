"""Every package and module is in a layer, and import-linter reports a forbidden import wherever it is."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]


def test_every_package_and_module_is_in_a_layer() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "tools", "benchmarks"}
    assert set(SETTINGS["root_packages"]) == packages
    modules = {f"zorkgpt.{path.parent.name}" for path in (ROOT / "zorkgpt").glob("*/__init__.py")}
    modules |= {f"zorkgpt.{path.stem}" for path in (ROOT / "zorkgpt").glob("[!_]*.py")}
    (layers,) = [contract["layers"] for contract in SETTINGS["contracts"] if contract["type"] == "layers"]
    assert set(re.findall(r"[\w.]+", " ".join(layers))) == (packages - {"zorkgpt"}) | modules


HOMES: dict[str, tuple[str, ...]] = {
    "rich": ("zorkgpt.cli",),
    "typer": ("zorkgpt.cli",),
    "jericho": ("game_interface",),
    "openai": ("zorkgpt.llm",),
    "xllamacpp": ("zorkgpt.llm",),
    "httpx": ("zorkgpt.llm",),
    "httpx2": ("zorkgpt.llm",),
    "genai_prices": ("zorkgpt.llm",),
    "huggingface_hub": ("zorkgpt.llm",),
    "opentelemetry": ("zorkgpt.telemetry",),
    "mcp": ("zorkgpt.mcp_server",),
    "mcp_types": ("zorkgpt.mcp_server",),
    "starlette": ("zorkgpt.mcp_server",),
    "uvicorn": ("zorkgpt.mcp_server",),
    "anyio": ("zorkgpt.inspect_task", "zorkgpt.mcp_server"),
    "gymnasium": ("zorkgpt.gym",),
    "inspect_ai": ("zorkgpt.inspect_task",),
    "pytest": ("zorkgpt.testing",),
    "distributed": ("zorkgpt.ablation",),
    "scipy": ("zorkgpt.ablation",),
    "numpy": ("zorkgpt.ablation", "zorkgpt.gym"),
    "matplotlib": ("zorkgpt.ablation", "zorkgpt.report"),
    "bm25s": ("managers.controls",),
    "benchmarks": (),
    "tests": (),
    "tools": (),
}
"""The only packages, or modules, that may import each of these."""

EVERYWHERE = {
    *("dotenv", "filelock", "platformdirs", "pydantic", "pydantic_core", "structlog", "tomli", "typing_extensions"),
    *SETTINGS["root_packages"],
}


def test_every_package_that_is_imported_has_a_home_or_belongs_everywhere() -> None:
    files = (file for package in SETTINGS["root_packages"] for file in (ROOT / package).rglob("*.py"))
    statements = (node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    imported: set[str] = set()
    for node in statements:
        if isinstance(node, ast.Import):
            imported |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            imported.add(node.module.partition(".")[0])
    assert imported - sys.stdlib_module_names <= EVERYWHERE | HOMES.keys()


def test_what_only_one_package_may_import_is_reported_in_every_module_of_all_others(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    expected = set()
    for package in SETTINGS["root_packages"]:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
        for file in (tmp_path / package).rglob("*.py"):
            module = ".".join(file.relative_to(tmp_path).with_suffix("").parts).removesuffix(".__init__")
            file.write_text(f"{file.read_text(encoding='utf-8')}\nimport {', '.join(HOMES)}\n", encoding="utf-8")
            own = f"{module}."
            expected |= {
                (module, name)
                for name, homes in HOMES.items()
                if not any(map(own.startswith, map("{}.".format, homes)))
            }
    linter = Path(sys.executable).with_name("lint-imports")
    checked = subprocess.run([linter], cwd=tmp_path, capture_output=True, text=True, check=False)
    reported = re.findall(r"^ *- +([\w.]+) -> (\w+) \(l", checked.stdout, re.MULTILINE)
    assert expected - set(reported) == set()


def test_no_module_asks_which_player_plays() -> None:
    files = (file for package in SETTINGS["root_packages"] for file in (ROOT / package).rglob("*.py"))
    asked = re.compile(r"isinstance\([\w.]*player, |isinstance\([^()]*\bModelPlayer\b")
    assert not [file for file in files if asked.search(file.read_text(encoding="utf-8"))]
