"""A work folder belongs to the first story that was played in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestration.opening import bind_to_story, folder_for_story
from session.errors import ConfigurationError, StoreError
from session.game_configuration import GameConfiguration
from session.values import StoryFacts

VATS = StoryFacts("vats.z5", "vats", "a" * 64, version=5, release=1, serial="260101", known=False)
MOOR = replace(VATS, path="moor.z5", name="moor", sha256="b" * 64)


def test_a_new_work_folder_belongs_to_its_first_story_wherever_the_file_of_that_is(tmp_path: Path) -> None:
    bind_to_story(tmp_path / "new", VATS)
    bind_to_story(tmp_path / "new", replace(VATS, path="elsewhere.z5", name="elsewhere"))
    assert json.loads((tmp_path / "new" / "story.json").read_text()) == {"name": "vats", "sha256": "a" * 64}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        pytest.param(MOOR, r"moor: .*--workdir DIR", id="another name"),
        pytest.param(replace(VATS, sha256="c" * 64), "another file of the same name", id="another release"),
    ],
)
def test_another_story_is_refused_with_both_names_and_the_mend(tmp_path: Path, other: StoryFacts, told: str) -> None:
    bind_to_story(tmp_path, VATS)
    with pytest.raises(ConfigurationError, match=rf"the story vats, and this is {told}"):
        bind_to_story(tmp_path, other)
    bind_to_story(tmp_path, VATS)


@pytest.mark.parametrize("content", ["", "[]", '{"name": "vats"}'])
def test_a_broken_file_is_an_error_that_says_the_mend_and_is_left_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / "story.json").write_text(content)
    with pytest.raises(StoreError, match="delete it, and the next run"):
        bind_to_story(tmp_path, VATS)
    assert (tmp_path / "story.json").read_text() == content


def test_a_work_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be locked for writing: Not a directory"):
        bind_to_story(tmp_path / "file" / "work", VATS)


def test_a_folder_of_another_story_gives_way_to_one_within_it(tmp_path: Path) -> None:
    here = GameConfiguration(zork_game_workdir=tmp_path)
    assert folder_for_story(here, MOOR) == tmp_path
    bind_to_story(tmp_path, VATS)
    assert folder_for_story(here, VATS) == tmp_path
    assert folder_for_story(here, MOOR) == tmp_path / "moor"


@pytest.mark.parametrize(
    "name",
    [
        *("..", "runs", "Runs", "a\nb", "\x1b[2J"),
        *("story.json", "lexicon.json.backup", "memories.MD", "Memories.md.lock", "notes.md"),
    ],
)
def test_a_story_whose_name_no_folder_can_have_gets_one_that_is_named_for_its_content(
    tmp_path: Path, name: str
) -> None:
    bind_to_story(tmp_path, VATS)
    here = GameConfiguration(zork_game_workdir=tmp_path, knowledge_file="notes.md")
    assert folder_for_story(here, replace(MOOR, name=name)) == tmp_path / "story-bbbbbbbb"


def test_a_link_out_of_the_work_folder_is_neither_read_nor_written(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "story.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(StoreError, match=r"story\.json is a link to .*, outside of its folder"):
        bind_to_story(tmp_path / "work", VATS)
    assert not (tmp_path / "outside.json").exists()
