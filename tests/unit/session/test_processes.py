from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from session.processes import child_environment, install_command, python_command

SOURCE = Path(sys.modules[python_command.__module__].__file__ or "")


def output_of(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_module_runs_as_python_would_run_it_with_its_arguments(tmp_path: Path) -> None:
    plain = output_of([sys.executable, "-m", "calendar", "2024", "2"], tmp_path)
    assert output_of(python_command("calendar", "2024", "2"), tmp_path) == plain
    assert "February 2024" in plain


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it came on the search path: by Python itself, by a variable, or by a link."""
    for name in ("runpy", "calendar", "datetime", "locale", "argparse"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:")
    for entry in ("", ".", str(tmp_path), str(link)):
        monkeypatch.syspath_prepend(entry)
    assert "February 2024" in output_of(python_command("calendar", "2024", "2"), tmp_path)


def test_our_own_packages_are_found_in_the_current_folder_after_all_others(tmp_path: Path) -> None:
    """A checkout that is not installed, and that has a file with the name of one of Python's own modules."""
    package = tmp_path / "session"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / SOURCE.name).write_bytes(SOURCE.read_bytes())
    (package / "child.py").write_text("import json, sys\nprint(json.dumps(sys.argv[1:]), __name__)\n")
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    script = (
        "import subprocess\n"
        "from session.processes import python_command\n"
        "subprocess.run(python_command('session.child', 'one', 'two'), check=True)\n"
    )
    assert output_of([sys.executable, "-S", "-c", script], tmp_path) == '["one", "two"] __main__\n'


SECRETS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ZORKGPT_LLM__API_KEY", "ZORKGPT_LLM__CRITIC__API_KEY"),
    *("OTEL_EXPORTER_OTLP_HEADERS", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "MY_OWN_LOGIN"),
    *("PYTHONPATH", "PYTHONSTARTUP", "https_proxy"),
)


def test_a_child_is_told_where_things_are_and_what_it_was_said_to_need_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = {"HOME": "/home", "TMPDIR": "/tmp", "LC_ALL": "C", "LD_LIBRARY_PATH": "/lib", "OMP_NUM_THREADS": "2"}
    for name, value in (*wanted.items(), *((secret, "planted") for secret in SECRETS)):
        monkeypatch.setenv(name, value)
    assert child_environment("OMP_*").items() >= wanted.items()
    assert "planted" not in child_environment().values()
    assert "OMP_NUM_THREADS" not in child_environment("OMP")


@pytest.mark.parametrize(
    ("is_of_pipx", "command"),
    [(False, "uv pip install --python {python}"), (True, "pipx inject environment")],
)
def test_the_command_that_adds_a_package_works_in_an_environment_without_pip(
    tmp_path: Path, command: str, *, is_of_pipx: bool
) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "source.pth").write_text(f"{SOURCE.parents[1]}\n")
    (site / "zorkgpt-1.dist-info").mkdir()
    metadata = 'Name: zorkgpt\nVersion: 1\nRequires-Dist: rich\nRequires-Dist: other>=3; extra == "mcp"\n'
    (site / "zorkgpt-1.dist-info" / "METADATA").write_text(metadata)
    if is_of_pipx:
        (environment / "pipx_metadata.json").write_text("{}")
    python = environment / "bin" / "python"
    code = "from session.processes import *; print(install_extra('mcp'), install_command('socks'))"
    begins = command.format(python=python)
    assert output_of([str(python), "-c", code], tmp_path) == f"{begins} 'other>=3' {begins} socks\n"


def test_with_pip_it_is_the_pip_of_this_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin")
    assert install_command("socksio") == f"{sys.executable} -m pip install socksio"
