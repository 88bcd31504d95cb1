"""The story, the model and the work folder of a run are chosen, and a folder belongs to its first story."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestration.parts import bind_to_story, choose_model, choose_story, folder_for_story
from session.errors import ConfigurationError, LanguageModelUnavailable, StoreError
from session.game_configuration import GameConfiguration, GameOptions
from session.values import ROLES, StoryFacts
from tests.fixtures.misbehaving_server import MisbehavingServer, Says

VATS = StoryFacts("vats.z5", "vats", "a" * 64, version=5, release=1, serial="260101", known=False)
MOOR = replace(VATS, path="moor.z5", name="moor", sha256="b" * 64)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        pytest.param(MOOR, r"moor: .*\(--workdir; workdir in Python\)", id="another name"),
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
    with pytest.raises(
        StoreError, match=r"cannot be made: Not a directory; choose another \(--workdir; workdir in Python\)"
    ):
        bind_to_story(tmp_path / "file" / "work", VATS)


@pytest.mark.parametrize(
    "name",
    [
        *("..", "runs", "Runs", "a\nb", "\x1b[2J"),
        *("story.json", "routes.json.backup", "memories.MD", "Memories.md.lock", "notes.md"),
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


def test_the_story_asked_for_comes_before_the_users_copy_and_that_before_ours(tmp_path: Path, own_story: Path) -> None:
    ours = choose_story(GameConfiguration(), tmp_path)
    assert ours.path == own_story
    assert "ships with ZorkGPT" in ours.describe()
    copy = tmp_path / "infrastructure" / "zork.z5"
    copy.parent.mkdir()
    copy.write_bytes(b"")
    choice = choose_story(GameConfiguration(), tmp_path)
    assert choice.path == copy
    assert choice.describe() == "zork.z5 (your copy, in infrastructure/)"
    choice = choose_story(GameConfiguration(game=GameOptions(file=Path("mine.z8"))), tmp_path)
    assert choice.describe() == "mine.z8 (asked for)"


def test_a_server_without_a_named_model_plays_with_its_first_one() -> None:
    with (
        MisbehavingServer(Says(500), models=("first", "second")) as server,
        choose_model(GameConfiguration(llm={"base_url": server.base_url})) as chosen,
    ):
        assert (chosen.names, chosen.servers) == (("first",), (server.base_url,))


def test_a_key_without_a_model_is_a_mendable_error_and_no_model_is_picked_for_the_user() -> None:
    with (
        pytest.raises(ConfigurationError, match="set agent_model"),
        choose_model(GameConfiguration(llm={"api_key": "sk-planted"})),
    ):
        pass


def test_a_server_that_is_not_there_is_said_before_anything_is_played() -> None:
    configuration = GameConfiguration(llm={"base_url": "http://127.0.0.1:9/v1"})
    with pytest.raises(LanguageModelUnavailable, match="is the server running there"), choose_model(configuration):
        pass


def test_a_model_that_play_goes_on_without_is_not_waited_for_all_night() -> None:
    llm = {
        "base_url": "http://here:1/v1",
        "patience": "8h",
        "critic": {"base_url": "http://there:1/v1"},
        "memory": {"base_url": "http://here:1/v1"},
    }
    configuration = GameConfiguration.model_validate({"llm": llm})
    patience = {role: configuration.role(role).limits.patience for role in ROLES}
    assert patience["agent"] == patience["memory"] == 8 * 3600
    assert patience["critic"] == 300
