from __future__ import annotations

import errno
import fcntl
import os
import random
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from session.errors import StoreError
from session.files.shared_files import permissions, remove_leftovers, write_atomically

SIZE = 300_000
KILLS = 12

WRITE_FOREVER = f"""
import sys
from itertools import cycle
from session.files.shared_files import write_atomically
print("ready", flush=True)
for letter in cycle(b"abcdefgh"):
    write_atomically(sys.argv[1], bytes([letter]) * {SIZE})
"""


def test_the_file_is_created_and_replaced_with_nothing_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    path = tmp_path / "state.json"
    write_atomically(path, b"old")
    assert mode_of_file(path) == mode_of_file(tmp_path / "usual")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert {each.name for each in tmp_path.iterdir()} == {"state.json", "usual"}


def test_a_kill_at_any_instant_leaves_one_whole_version(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"z" * SIZE)
    delays = random.Random(7)
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", WRITE_FOREVER, path], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            with pytest.raises(subprocess.TimeoutExpired):
                writer.wait(delays.uniform(0, 0.03))
            writer.send_signal(signal.SIGKILL)
        content = path.read_bytes()
        assert len(content) == SIZE
        assert len(set(content)) == 1


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_writes_is_not(tmp_path: Path) -> None:
    dies = (
        "import resource, signal, sys\n"
        "from session.files.shared_files import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_atomically(sys.argv[1], bytes(5000))\n"
    )
    died = subprocess.run([sys.executable, "-c", dies, tmp_path / "state.json"], check=False)
    assert died.returncode == -signal.SIGXFSZ
    (left,) = tmp_path.iterdir()
    remove_leftovers(tmp_path)
    assert left.exists()  # it may be so young that its process has not locked it yet
    os.utime(left, (0, 0))
    own, written = tmp_path / ".mine.tmp", tmp_path / ".notes.md.0badcafe.tmp"
    for path in (own, written):
        path.touch()
        os.utime(path, (0, 0))
    with written.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remove_leftovers(tmp_path)
    assert {*tmp_path.iterdir()} == {own, written}


def test_a_write_that_fails_is_named_and_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    """A folder in the file's place: everything works but the last step."""
    with pytest.raises(StoreError, match=r"state\.json cannot be written: No such file"):
        write_atomically(tmp_path / "no such folder" / "state.json", b"new")
    path = tmp_path / "state.json"
    (path / "full").mkdir(parents=True)
    with pytest.raises(StoreError):
        write_atomically(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]


def mode_of_file(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666, 0o755])
def test_a_file_that_is_replaced_and_a_copy_of_it_have_its_permissions(tmp_path: Path, mode: int) -> None:
    path, copy = tmp_path / "state.json", tmp_path / "copy.json"
    for each, before in ((path, mode), (copy, 0o644)):
        each.write_bytes(b"old")
        each.chmod(before)
    write_atomically(path, b"new")
    write_atomically(copy, b"new", mode=permissions(path))
    assert (mode_of_file(path), path.read_bytes(), mode_of_file(copy)) == (mode, b"new", mode)
    assert permissions(tmp_path / "not there") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file to somebody")
def test_a_file_that_is_replaced_stays_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    os.chown(path, 4321, 4322)
    write_atomically(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (4321, 4322)


class WithoutLinks(type(Path())):  # type: ignore[misc]  # the class depends on the system
    """A name on a file system that has no hard links."""

    def hardlink_to(self, _target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("kind", [Path, WithoutLinks])
def test_the_version_before_is_kept_with_its_permissions(tmp_path: Path, kind: type[Path]) -> None:
    path, backup = tmp_path / "state.json", kind(tmp_path / "state.json.backup")
    write_atomically(path, b"first", backup=backup)
    assert not backup.exists()
    path.chmod(0o640)
    for content in (b"second", b"third"):
        write_atomically(path, content, backup=backup)
    assert (path.read_bytes(), backup.read_bytes()) == (b"third", b"second")
    assert (mode_of_file(path), mode_of_file(backup)) == (0o640, 0o640)
