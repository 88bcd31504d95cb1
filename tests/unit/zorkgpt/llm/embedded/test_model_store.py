"""The store downloads with the real pip from a folder in pip's own settings, without a network."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import sysconfig
import threading
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from filelock import FileLock

from session.errors import ConfigurationError, LanguageModelUnavailable
from session.model_files import MODEL_DIR_VARIABLE, model_folder
from zorkgpt.llm.embedded.model_store import ModelStore, PackagedModel, Stage

ROOT = Path(__file__).parents[5]
MODEL = b"GGUF" + bytes(range(256)) * 12_000


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for the package index, with the wheel of a tiny model in it."""
    folder = tmp_path / "index"
    folder.mkdir()
    _write_wheel(folder, MODEL)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def _write_wheel(folder: Path, model: bytes) -> Path:
    wheel = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny_model/tiny.gguf", model)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return wheel


@pytest.fixture
def store(tmp_path: Path, index: Path) -> ModelStore:
    wheel = next(index.glob("*.whl"))
    tiny = PackagedModel(
        name="Tiny",
        license="MIT",
        requirement="tiny-model==1.0",
        member="tiny_model/tiny.gguf",
        sha256=hashlib.sha256(MODEL).hexdigest(),
        size=len(MODEL),
        wheel_size=wheel.stat().st_size,
    )
    return ModelStore(tmp_path / "models", tiny)


def _names(store: ModelStore) -> set[str]:
    return {path.name for path in store.folder.iterdir()}


def test_a_pull_leaves_the_model_and_nothing_else_and_a_second_one_fetches_nothing(
    store: ModelStore, index: Path
) -> None:
    assert not store.is_pulled
    seen: list[tuple[Stage, int, int]] = []
    path = store.pull(lambda stage, done, total: seen.append((stage, done, total)))
    assert path.read_bytes() == MODEL
    assert store.is_pulled
    assert _names(store) - {".lock"} == {"tiny.gguf"}
    assert list(dict.fromkeys(stage for stage, _, _ in seen)) == ["fetching", "unpacking", "ready"]
    assert ("unpacking", len(MODEL), len(MODEL)) in seen
    assert all(done <= total for _, done, total in seen)
    next(index.glob("*.whl")).unlink()
    assert store.pull() == path
    for name in ("b.gguf", "a.gguf", "notes.txt"):
        (store.folder / name).write_bytes(b"")
    assert [path.name for path in store.others()] == ["a.gguf", "b.gguf"]


def test_a_wheel_that_came_whole_is_not_fetched_again(store: ModelStore, index: Path) -> None:
    store.folder.mkdir()
    next(index.glob("*.whl")).rename(store.folder / "tiny-model==1.0.whl")
    assert store.pull().read_bytes() == MODEL


def test_what_a_killed_pull_left_behind_is_never_taken_for_whole(store: ModelStore) -> None:
    incoming = store.folder / "incoming"
    incoming.mkdir(parents=True)
    (incoming / "tiny_model-1.0-py3-none-any.whl").write_bytes(b"half")
    store.path.with_suffix(".unproven").write_bytes(MODEL[:50])
    assert store.pull().read_bytes() == MODEL
    assert _names(store) - {".lock"} == {"tiny.gguf"}


def test_another_model_than_expected_is_refused_and_deleted(store: ModelStore, index: Path) -> None:
    _write_wheel(index, MODEL[:-1] + b"!")
    with pytest.raises(LanguageModelUnavailable, match=r"another model than expected.*zorkgpt model pull"):
        store.pull()
    assert _names(store) - {".lock"} == set()


def test_a_damaged_wheel_or_one_without_the_model_is_refused_and_fetched_anew_next_time(store: ModelStore) -> None:
    store.folder.mkdir()
    kept = store.folder / "tiny-model==1.0.whl"
    kept.write_bytes(b"not a wheel")
    other = ModelStore(store.folder, replace(store.packaged, member="tiny_model/absent.gguf"))
    for unusable in (store, other):
        with pytest.raises(LanguageModelUnavailable, match="damaged"):
            unusable.pull()
        assert not kept.exists()
    assert store.pull().read_bytes() == MODEL


def test_without_the_package_the_error_is_one_line_with_pips_reason_and_the_mend(
    store: ModelStore, index: Path
) -> None:
    next(index.glob("*.whl")).unlink()
    with pytest.raises(LanguageModelUnavailable) as caught:
        store.pull()
    message = str(caught.value)
    assert "No matching distribution found for tiny-model==1.0" in message
    assert "`zorkgpt model pull`" in message
    assert "\n" not in message


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ensurepip") is None, reason="this Python keeps no pip (apt install python3-venv)")
def test_an_environment_without_pip_as_uv_makes_it_uses_the_pip_that_python_keeps(
    store: ModelStore, tmp_path: Path
) -> None:
    environment, packages = tmp_path / "environment", tmp_path / "packages"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    packages.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith("pip"):
            (packages / path.name).symlink_to(path)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(f"{packages}\n{ROOT}\n")
    code = (
        "from importlib.util import find_spec\nfrom pathlib import Path\n"
        "from zorkgpt.llm.embedded.model_store import ModelStore, PackagedModel\n"
        f"assert find_spec('pip') is None\nModelStore(Path({str(store.folder)!r}), {store.packaged!r}).pull()"
    )
    pulled = subprocess.run([environment / "bin" / "python", "-c", code], capture_output=True, text=True, check=False)
    assert (pulled.returncode, store.is_pulled) == (0, True), pulled.stderr


def test_a_folder_that_cannot_be_written_is_the_users_to_mend(store: ModelStore) -> None:
    store.folder.write_text("a file is in the way")
    with pytest.raises(ConfigurationError, match=MODEL_DIR_VARIABLE):
        store.pull()


def test_a_pull_waits_for_another_one_and_says_so(store: ModelStore) -> None:
    store.folder.mkdir()
    waiting = threading.Event()
    others = FileLock(store.folder / ".lock", thread_local=False)
    others.acquire()

    def report(stage: Stage, done: int, total: int) -> None:
        del done, total
        if stage == "waiting":
            waiting.set()
            others.release()

    store.pull(report)
    assert waiting.is_set()
    assert store.is_pulled


def test_the_folder_is_the_one_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODEL_DIR_VARIABLE, str(tmp_path / "here"))
    assert model_folder() == tmp_path / "here"
    monkeypatch.delenv(MODEL_DIR_VARIABLE)
    assert model_folder().parts[-2:] == ("zorkgpt", "models")
