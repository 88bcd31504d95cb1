"""A snapshot is read back whole, or named as damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from session.errors import StoreError
from session.files.snapshot import SNAPSHOT, read_snapshot, write_snapshot

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = b'{"turn": 7}\n\x00\xff' * 20


def test_what_was_written_last_is_read_back(tmp_path: Path) -> None:
    for content in (b"", b"before", CONTENT):
        write_snapshot(tmp_path, content)
        assert read_snapshot(tmp_path) == content
    assert [path.name for path in (tmp_path / SNAPSHOT).parent.iterdir()] == ["last.json"]


def test_where_there_is_none_yet_nothing_is_read(tmp_path: Path) -> None:
    assert read_snapshot(tmp_path) is None


def test_every_flipped_bit_of_every_byte_is_found_and_the_file_named(tmp_path: Path) -> None:
    write_snapshot(tmp_path, CONTENT)
    path = tmp_path / SNAPSHOT
    written = path.read_bytes()
    for at in range(len(written)):
        path.write_bytes(written[:at] + bytes([written[at] ^ 1 << at % 8]) + written[at + 1 :])
        words = "of another version" if at == written.index(b"1") else "damaged"
        with pytest.raises(StoreError, match=rf"{path} is {words}"):
            read_snapshot(tmp_path)


def test_one_of_another_version_is_not_called_damaged(tmp_path: Path) -> None:
    write_snapshot(tmp_path, CONTENT)
    path = tmp_path / SNAPSHOT
    path.write_bytes(path.read_bytes().replace(b"zorkgpt-snapshot-1 ", b"zorkgpt-snapshot-12 "))
    with pytest.raises(StoreError, match=r"is of another version of the program: format 12, not 1"):
        read_snapshot(tmp_path)


def test_one_that_was_cut_off_anywhere_is_found(tmp_path: Path) -> None:
    write_snapshot(tmp_path, CONTENT)
    path = tmp_path / SNAPSHOT
    written = path.read_bytes()
    for length in range(len(written)):
        path.write_bytes(written[:length])
        with pytest.raises(StoreError, match="is damaged"):
            read_snapshot(tmp_path)


def test_one_that_cannot_be_read_or_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / SNAPSHOT).mkdir(parents=True)
    (tmp_path / SNAPSHOT / "in the way").touch()
    with pytest.raises(StoreError, match="cannot read"):
        read_snapshot(tmp_path)
    with pytest.raises(StoreError, match="cannot be written"):
        write_snapshot(tmp_path, CONTENT)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot make the folder"):
        write_snapshot(tmp_path / "file", CONTENT)
