"""Names of files in the work folder cannot lead out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.files.shared_files import archive_name, is_plain_name, is_reserved


@pytest.mark.parametrize("name", ["a.md", ".hidden", "...", "Café 2", "a\\b"])
def test_a_plain_name_is_of_a_file_in_the_folder_itself(tmp_path: Path, name: str) -> None:
    assert is_plain_name(name)
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/x", "a/b", "a/", "a\nb", "a\0b", "\x1b[2J", "a\u202eb"])
def test_what_leads_elsewhere_or_cannot_be_seen_is_no_plain_name(name: str) -> None:
    assert not is_plain_name(name)


@pytest.mark.parametrize("name", ["runs", "FORKS", "story.json", "x.lock", "Memories.md.backup"])
def test_what_the_program_makes_in_a_work_folder_is_reserved_however_it_is_spelt(name: str) -> None:
    assert is_reserved(name)


@pytest.mark.parametrize("name", ["Memories.md", "moor", "story", "runs.md"])
def test_other_names_are_free(name: str) -> None:
    assert not is_reserved(name)


@pytest.mark.parametrize(("name", "archive"), [("notes.md", "notes.archive.md"), ("notes", "notes.archive")])
def test_the_archive_is_named_for_its_knowledge(name: str, archive: str) -> None:
    assert archive_name(name) == archive
