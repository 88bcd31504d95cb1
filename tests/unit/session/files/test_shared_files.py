"""Files of several processes: atomic writes, locks, names and owners; others are refused in one line, unread."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path
from pwd import getpwuid

import pytest

from session.errors import StoreError
from session.files.shared_files import (
    LARGEST,
    archive_name,
    is_plain_name,
    is_reserved,
    locked,
    permissions,
    read_shared,
    remove_leftovers,
    write_atomically,
    writers_besides_user,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def refusal(path: Path) -> str:
    with pytest.raises(StoreError) as caught:
        read_shared(path)
    (line,) = str(caught.value).splitlines()
    assert str(path) in line
    return line


def test_a_lock_that_cannot_be_had_says_why_and_touches_nothing_outside(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("precious")
    (folder / "a.md.lock").symlink_to(tmp_path / "outside")
    with pytest.raises(StoreError, match=r"a\.md cannot be locked for writing: "), locked(folder / "a.md"):
        pass
    assert (tmp_path / "outside").read_text() == "precious"


def test_what_a_file_up_to_the_largest_size_holds_is_read_and_no_file_is_none(folder: Path) -> None:
    path = folder / "a.md"
    path.write_bytes(b"\xff what it is")
    assert read_shared(path) == b"\xff what it is"
    assert read_shared(folder / "b.md") is None
    assert read_shared(folder / "no such folder" / "b.md") is None
    os.truncate(path, LARGEST)
    assert len(read_shared(path) or b"") == LARGEST
    os.truncate(path, LARGEST + 1)
    assert "more than the 16 MiB" in refusal(path)


def test_a_huge_file_is_refused_without_the_memory_to_hold_it(folder: Path) -> None:
    path = folder / "a.md"
    with path.open("wb") as file:
        file.truncate(100 * 2**30)
    program = "import sys; from pathlib import Path; from session.files.shared_files import read_shared as r"
    result = subprocess.run(
        [sys.executable, "-c", f"{program}; r(Path(sys.argv[1]))", path],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "StoreError" in result.stderr.splitlines()[-1]
    assert "it has 102,400 MiB" in result.stderr.splitlines()[-1]


def test_what_is_no_regular_file_in_a_folder_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    (folder / "file").touch()
    assert "not a regular file" in refusal(folder / "pipe.md")
    assert "Is a directory" in refusal(folder / "folder.md")
    assert "Not a directory" in refusal(folder / "file" / "a.md")


def test_a_link_within_the_folder_or_to_the_folder_is_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "kept").mkdir()
    (folder / "kept" / "real.md").write_bytes(b"old")
    (folder / "a.md").symlink_to("kept/real.md")
    (tmp_path / "linked").symlink_to(folder)
    for path, content in ((folder / "a.md", b"new"), (tmp_path / "linked" / "a.md", b"newer")):
        write_atomically(path, content)
        assert path.is_symlink()
        assert (folder / "kept" / "real.md").read_bytes() == content
        assert read_shared(path) == content


@pytest.mark.parametrize("target", ["outside.md", "missing.md"])
def test_a_link_out_of_the_folder_or_to_itself_is_neither_read_nor_written(
    folder: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "outside.md").write_bytes(b"precious")
    (folder / "a.md").symlink_to(tmp_path / target)
    (folder / "b.md").symlink_to("a.md")
    (folder / "itself.md").symlink_to("itself.md")
    for path in (folder / "a.md", folder / "b.md"):
        assert f"a link to {tmp_path / target}, outside of its folder" in refusal(path)
        with pytest.raises(StoreError, match="outside of its folder"):
            write_atomically(path, b"new")
    assert refusal(folder / "itself.md")
    with pytest.raises(StoreError, match="a symbolic link to itself"):
        write_atomically(folder / "itself.md", b"new")
    assert (folder / "itself.md").is_symlink()
    assert (tmp_path / "outside.md").read_bytes() == b"precious"
    assert not (tmp_path / "missing.md").exists()


@pytest.mark.parametrize(
    ("is_plain", "names"),
    [
        (True, ["a.md", ".hidden", "...", "Café 2", "a\\b"]),
        (False, ["", ".", "..", "../x", "/etc/x", "a/b", "a/", "a\nb", "a\0b", "\x1b[2J", "a\u202eb"]),
    ],
)
def test_a_plain_name_is_visible_and_of_a_file_in_the_folder_itself(*, is_plain: bool, names: list[str]) -> None:
    assert [name for name in names if is_plain_name(name) is not is_plain] == []


def test_what_the_program_makes_in_a_work_folder_is_reserved_however_it_is_spelt() -> None:
    names = ["runs", "FORKS", "story.json", "x.lock", "Memories.md.backup", "Memories.md", "moor", "story", "runs.md"]
    assert [name for name in names if is_reserved(name)] == names[:5]
    assert [archive_name(name) for name in ("notes.md", "notes")] == ["notes.archive.md", "notes.archive"]


SOMEBODY = 4321
OPEN = f"it belongs to {getpwuid(os.geteuid()).pw_name}, and others can write it (to fix that: chmod go-w)"


def status(uid: int, mode: int) -> os.stat_result:
    return os.stat_result((0o100000 | mode, 0, 0, 1, uid, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("uid", "modes", "told"),
    [
        *((uid, [0o600, 0o644, 0o755, 0o444], "") for uid in (os.geteuid(), 0)),
        (
            os.geteuid(),
            [0o620, 0o664, 0o602, 0o666, 0o777],
            OPEN,
        ),
        (SOMEBODY, [0o644], f"it belongs to user {SOMEBODY}"),
    ],
)
def test_others_may_have_written_their_own_files_and_those_open_to_them(uid: int, modes: list[int], told: str) -> None:
    for mode in modes:
        assert writers_besides_user(status(uid, mode)) == told


def test_the_file_is_created_and_replaced_with_nothing_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    path = tmp_path / "state.json"
    write_atomically(path, b"old")
    assert mode_of_file(path) == mode_of_file(tmp_path / "usual")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert {each.name for each in tmp_path.iterdir()} == {"state.json", "usual"}


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_writes_is_not(tmp_path: Path) -> None:
    dies = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from session.files.shared_files import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_atomically(Path(sys.argv[1]), bytes(5000))\n"
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
    path, backup = kind(tmp_path / "state.json"), tmp_path / "state.json.backup"
    write_atomically(path, b"first", with_backup=True)
    assert not backup.exists()
    path.chmod(0o640)
    for content in (b"second", b"third"):
        write_atomically(path, content, with_backup=True)
    assert (path.read_bytes(), backup.read_bytes()) == (b"third", b"second")
    assert (mode_of_file(path), mode_of_file(backup)) == (0o640, 0o640)


def test_a_folder_behind_a_link_to_nothing_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").touch()
    for path, message in (
        ("dangling/a.md", "dangling is a link to nowhere, which does not exist"),
        ("dangling/deeper/a.md", "dangling is a link to nowhere, which does not exist"),
        ("file/a.md", "file is a file, not a folder"),
    ):
        with pytest.raises(StoreError, match=message), locked(tmp_path / path):
            pass
