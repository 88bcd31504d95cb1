"""Story files are checked before anything runs them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import PLAYABLE_VERSIONS, Story
from session.errors import StoryError
from tests.fixtures.story_image import MadeUpObject, StoryImage, words

ROOM = [MadeUpObject("hall"), MadeUpObject("lamp", parent=1)]


@pytest.mark.parametrize("version", PLAYABLE_VERSIONS)
def test_a_sound_story_loads_with_what_its_header_says(version: int, tmp_path: Path) -> None:
    image = StoryImage(version, ROOM)
    story = Story.load(image.write(tmp_path / "made.z5"))
    assert (story.version, story.release, story.serial) == (version, 7, "261121")
    assert (story.object_table, story.globals) == (image.object_table, image.globals)
    assert (story.abbreviations, story.dictionary) == (image.abbreviations, image.dictionary)
    assert story.dynamic_size == image.dynamic_size
    assert story.content == bytes(image.content)
    assert story.sha256 == hashlib.sha256(image.content).hexdigest()
    assert story.md5 == hashlib.md5(image.content).hexdigest()


def test_bytes_behind_the_story_and_length_and_checksum_that_are_not_set_do_not_count(tmp_path: Path) -> None:
    image = StoryImage(5, ROOM)
    image.content += b"\x17" * 300
    assert Story.load(image.write(tmp_path / "padded.z5")).version == 5
    image.content[0x1A:0x1E] = bytes(4)
    assert Story.load(image.write(tmp_path / "old.z5")).version == 5


def test_a_missing_file_a_folder_and_an_unreadable_path_are_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(StoryError, match=r"There is no story file .*nowhere\.z5"):
        Story.load(tmp_path / "nowhere.z5")
    with pytest.raises(StoryError, match="is a folder, not a story file"):
        Story.load(tmp_path)
    with pytest.raises(StoryError, match="cannot be read"):
        Story.load(tmp_path / "a\0b")


def blorb(*chunks: tuple[bytes, bytes]) -> bytes:
    """A Blorb archive of these chunks, each filled up to an even length."""
    parts = b"".join(
        kind + len(content).to_bytes(4, "big") + content + bytes(len(content) % 2) for kind, content in chunks
    )
    return b"FORM" + (len(parts) + 4).to_bytes(4, "big") + b"IFRS" + parts


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"FORM\0\0\0\x20AIFFCOMM" + bytes(99), "another kind than Blorb"),
        (b"Glul\0\x03\x01\x02" + bytes(99), "Glulx"),
        (b"PK\x03\x04" + bytes(99), "ZIP"),
        (b"West of House. You are standing in an open field." * 3, "it is text"),
        (b"\x03" + bytes(20), "too short, 21 bytes"),
        (b"\x06" + bytes(99), "version 6"),
        (b"\x00" + bytes(99), "names version 0"),
        (b"\xff" + bytes(99), "names version 255"),
        (
            blorb((b"PNG ", b"\x89PNG"), (b"GLUL", b"Glul" + bytes(60))),
            "with a story for Glulx; this program plays Z",
        ),
        (blorb((b"PNG ", b"\x89PNG")), "with no story"),
        (blorb((b"ZCOD", b"\x05" + bytes(20))), "too short"),
        (blorb((b"ZCOD", bytes(StoryImage(5, ROOM).content)))[:-40], "cut off"),
        (b"FORM\0\0\0\x04IFRS", "with no story"),
        (b"FORM\xff\xff\xff\xffIFRSPNG \xff\xff\xff\xff", "with no story"),
    ],
)
def test_what_is_no_story_is_named_in_one_line_for_what_it_is(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(StoryError, match=reason) as refused:
        Story.load(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["made.zblorb", "made.zlb", "made.blorb", "made"])
def test_a_blorb_with_z_code_is_the_story_in_it(name: str, tmp_path: Path) -> None:
    image = StoryImage(5, ROOM)
    picture = (b"PNG ", b"\x89PNG and an odd length")
    path = tmp_path / name
    path.write_bytes(blorb((b"RIdx", bytes(4)), picture, (b"ZCOD", bytes(image.content)), picture))
    story, plain = Story.load(path), Story.load(image.write(tmp_path / "made.z5"))
    assert (story.content, story.sha256) == (plain.content, plain.sha256)


@pytest.mark.stories
@pytest.mark.parametrize("added", [b"\x1a" * 200, bytes(5000)])
def test_a_story_that_was_filled_up_keeps_its_profile(added: bytes, zork1: Path, tmp_path: Path) -> None:
    path = tmp_path / "padded.z3"
    path.write_bytes(zork1.read_bytes() + added)
    story, plain = Story.load(path), Story.load(zork1)
    assert (story.content, story.sha256) == (plain.content, plain.sha256)
    with JerichoInterface(path) as game:
        assert (game.facts.known, game.facts.max_score) == (True, 350)


@pytest.mark.parametrize(
    ("address", "table"),
    [
        (0x06, "the first instruction"),
        (0x08, "the dictionary"),
        (0x0A, "the object table"),
        (0x0C, "the table of globals"),
        (0x0E, "static memory"),
        (0x18, "the table of abbreviations"),
    ],
)
def test_a_table_outside_the_file_or_behind_the_memory_that_it_changes_is_named(
    address: int, table: str, tmp_path: Path
) -> None:
    image = StoryImage(3, ROOM)
    for value in (5, 0xFFF0, *([image.dictionary] if address in {0x0A, 0x0C} else [])):
        image.content[address : address + 2] = words(value)
        with pytest.raises(StoryError, match=f"damaged story file: {table}"):
            Story.load(image.write(tmp_path / "damaged.z3"))


def test_a_story_that_was_cut_off_or_changed_is_refused(tmp_path: Path) -> None:
    image = StoryImage(5, ROOM)
    path = image.write(tmp_path / "damaged.z5")
    path.write_bytes(image.content[:-8])
    with pytest.raises(StoryError, match="cut off"):
        Story.load(path)
    image.content[-8] ^= 1
    with pytest.raises(StoryError, match="checksum is wrong"):
        Story.load(image.write(path))


@settings(deadline=None, max_examples=150)
@given(
    version=st.sampled_from(PLAYABLE_VERSIONS),
    mangled=st.dictionaries(st.integers(0, 2200), st.integers(0, 255), max_size=40),
    length=st.integers(0, 2200),
)
def test_a_mangled_story_is_refused_or_read_without_an_exception(
    version: int, mangled: dict[int, int], length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any file that passes the header checks can be read, however corrupt its tables are."""
    image = StoryImage(version, [*ROOM, MadeUpObject("box", parent=1, properties={4: b"\1\2"})])
    image.content[0x1A:0x1E] = bytes(4)
    for address, value in mangled.items():
        if address < len(image.content):
            image.content[address] = value
    path = tmp_path_factory.getbasetemp() / "mangled.z5"
    path.write_bytes(image.content[: max(length, 64)])
    try:
        story = Story.load(path)
    except StoryError:
        return
    table, memory = ObjectTable(story), story.content[: story.dynamic_size]
    for num in {-1, 0, 1, 2, 3, table.count, table.count + 1}:
        assert isinstance(table.name(num), str)
        assert len(table.children(memory, num)) <= table.count
        assert len(table.ancestors(memory, num)) <= table.count
        table.entry(memory, num)
    assert len(table.parents(memory)) == table.count + 1
    assert len(table.world_hash(memory)) == 8
