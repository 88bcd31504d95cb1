"""What can be held of the container without building it: what is copied is there, and nobody runs as root."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LINES = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def arguments_of(instruction: str) -> list[list[str]]:
    """Return the words behind each line of that instruction."""
    return [line.split()[1:] for line in LINES if line.startswith(f"{instruction} ")]


def copied() -> set[str]:
    """Return what is copied out of the checkout."""
    return {name for words in arguments_of("COPY") if not words[0].startswith("--from") for name in words[:-1]}


def test_what_is_copied_is_there_and_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert [name for name in copied() if not (ROOT / name).exists()] == []
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == copied()


def test_every_package_of_the_wheel_and_what_building_it_needs_is_copied() -> None:
    packages = {name.removesuffix("*") for name in PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]}
    files = {"pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert packages | files | {"requirements.lock"} == copied()


def test_all_packages_have_the_checksums_of_the_lock_file() -> None:
    installs = [line for line in LINES if "pip install" in line]
    assert len(installs) == 2
    assert "--require-hashes -r requirements.lock" in installs[0]
    assert "--no-deps --no-build-isolation ." in installs[1]


def test_it_runs_as_a_user_without_rights_and_writes_into_a_volume() -> None:
    last_stage = max(number for number, line in enumerate(LINES) if line.startswith("FROM "))
    assert [line for line in LINES[last_stage:] if line.startswith("USER ")] == ["USER player"]
    assert arguments_of("VOLUME") == arguments_of("WORKDIR")[-1:] == [["/play"]]
    assert "chown player /play" in "\n".join(LINES[last_stage:])


def test_it_runs_a_command_that_the_wheel_has() -> None:
    (entry,) = arguments_of("ENTRYPOINT")
    assert entry == [f'["{name}"]' for name in PROJECT["project"]["scripts"]]


def test_both_stages_and_the_project_go_with_one_python() -> None:
    images = {words[0] for words in arguments_of("FROM")}
    assert len(images) == 1
    (version,) = re.findall(r"^python:3\.(\d+)-slim$", images.pop())
    assert int(version) >= int(PROJECT["project"]["requires-python"].rpartition(".")[2])
