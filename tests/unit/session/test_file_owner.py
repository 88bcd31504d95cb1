"""A file's owner and mode show whether other users may have written it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session.files.shared_files import writers_besides_user

SOMEBODY = 4321


def status(uid: int, mode: int) -> os.stat_result:
    return os.stat_result((0o100000 | mode, 0, 0, 1, uid, 0, 0, 0, 0, 0))


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o444])
@pytest.mark.parametrize("uid", [os.geteuid(), 0])
def test_nobody_else_has_written_a_file_of_the_user_or_of_root(uid: int, mode: int) -> None:
    assert writers_besides_user(status(uid, mode)) == ""


@pytest.mark.parametrize("mode", [0o620, 0o664, 0o602, 0o666, 0o777])
def test_others_may_have_written_a_file_that_a_group_or_everybody_can_write(mode: int) -> None:
    assert "others can write it" in writers_besides_user(status(os.geteuid(), mode))


def test_the_owner_of_a_strangers_file_is_named() -> None:
    assert writers_besides_user(status(SOMEBODY, 0o644)) == f"it belongs to user {SOMEBODY}"


def test_the_owner_is_named_as_the_system_names_them(tmp_path: Path) -> None:
    (tmp_path / "mine").touch(mode=0o600)
    (tmp_path / "mine").chmod(0o666)
    assert writers_besides_user((tmp_path / "mine").stat()).startswith(f"it belongs to {(tmp_path / 'mine').owner()}")
