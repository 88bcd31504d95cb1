"""Names of files of the work folder lead nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from session.file_names import is_plain_name

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["a.md", ".hidden", "...", "Café 2", "a\\b"])
def test_a_plain_name_is_of_a_file_in_the_folder_itself(tmp_path: Path, name: str) -> None:
    assert is_plain_name(name)
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/x", "a/b", "a/", "a\nb", "a\0b", "\x1b[2J", "a\u202eb"])
def test_what_leads_elsewhere_or_cannot_be_seen_is_no_plain_name(name: str) -> None:
    assert not is_plain_name(name)
