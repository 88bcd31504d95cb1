"""Story files are checked before anything runs them, and objects are read by the Z-Machine Standard."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.attribute_tables import (
    INFORM_5,
    INFORM_6,
    INFORM_7,
    ZORK_1,
    attribute_table,
    named_attributes,
)
from game_interface.core.machine.object_table import ObjectEntry, ObjectTable
from game_interface.core.machine.story import PLAYABLE_VERSIONS, Story
from session.errors import StoryError
from tests.fixtures.story_image import MadeUpObject, StoryImage, link, move, packed, set_global, spelt, words

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
        ("# ZorkGPT \N{EM DASH} a README".encode() * 9, "it is text"),
        ("Caf\xe9".encode("latin-1") * 30, "it is text"),
        ("West of House".encode("utf-16") * 9, "it is text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "it begins with byte 137"),
        (b"\x03" + bytes(20), "too short, 21 bytes"),
        (b"\x06" + bytes(99), "version 6"),
        (b"\x00" + bytes(99), "begins with byte 0"),
        (b"\xff" + bytes(99), "begins with byte 255"),
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


HALL, BOX, LAMP, COIN = 1, 2, 3, 4
OBJECTS = [
    MadeUpObject("Hall"),
    MadeUpObject("box", parent=HALL, attributes=frozenset({0, 9, 31}), properties={5: b"\1", 3: b"\1\2"}),
    MadeUpObject("brass lamp", parent=HALL),
    MadeUpObject("coin", parent=BOX, properties={9: bytes(2), 4: bytes(7), 2: b"\4"}),
]


def load(image: StoryImage, folder: Path) -> ObjectTable:
    return ObjectTable(Story.load(image.write(folder / "made.z5")))


def memory_of(image: StoryImage) -> bytearray:
    return image.content[: image.dynamic_size]


@pytest.fixture(params=[3, 5])
def image(request: pytest.FixtureRequest) -> StoryImage:
    return StoryImage(request.param, OBJECTS)


def test_the_tree_is_read_from_any_kind_of_buffer(image: StoryImage, tmp_path: Path) -> None:
    table, memory = load(image, tmp_path), memory_of(image)
    assert table.count == 4
    for buffer in (bytes(memory), memory, memoryview(memory)):
        assert table.children(buffer, HALL) == [BOX, LAMP]
        assert table.entry(buffer, BOX) == ObjectEntry(frozenset({0, 9, 31}), HALL, LAMP, COIN)
        assert table.ancestors(buffer, COIN) == [BOX, HALL]
        assert table.parents(buffer) == (0, 0, HALL, HALL, BOX)
        assert table.world_hash(buffer) == table.world_hash(memory)
    move(image, memory, COIN, HALL)
    assert table.children(memory, HALL) == [COIN, BOX, LAMP]
    assert table.children(memory, BOX) == []


def test_numbers_outside_the_table_are_nothing_and_a_tree_that_runs_in_a_circle_ends(
    image: StoryImage, tmp_path: Path
) -> None:
    table, memory = load(image, tmp_path), memory_of(image)
    for num in (-1, 0, 5, 70000):
        assert table.name(num) == ""
        assert table.entry(memory, num) == ObjectEntry()
        assert table.children(memory, num) == []
    memory[link(image, LAMP, 1)] = memory[link(image, HALL, 2)]
    memory[link(image, HALL, 0)] = memory[link(image, COIN, 0)]
    assert table.children(memory, HALL) == [BOX, LAMP]
    assert table.ancestors(memory, COIN) == [BOX, HALL]


def test_the_world_hash_is_of_objects_and_not_of_globals(image: StoryImage, tmp_path: Path) -> None:
    table, memory = load(image, tmp_path), memory_of(image)
    start = table.world_hash(memory)
    set_global(image, memory, 2, 99)
    assert table.world_hash(memory) == start
    hashes = {start}
    move(image, memory, COIN, HALL)
    hashes.add(table.world_hash(memory))
    memory[image.entries] ^= 1
    hashes.add(table.world_hash(memory))
    for value in (b"\1\2", b"\4\0"):
        memory[memory.rindex(value, 0, image.globals)] = 77
        hashes.add(table.world_hash(memory))
    assert len(hashes) == 5


def test_the_hash_of_attributes_is_of_nothing_else(image: StoryImage, tmp_path: Path) -> None:
    table, memory = load(image, tmp_path), memory_of(image)
    start = table.attributes_hash(memory)
    move(image, memory, COIN, HALL)
    memory[memory.rindex(b"\4\0", 0, image.globals)] = 77
    assert table.attributes_hash(memory) == start
    hashes = {start}
    coin = image.entries + (COIN - 1) * image.entry_size
    for at in range(coin, coin + 4):
        memory[at] ^= 1
        hashes.add(table.attributes_hash(memory))
    assert len(hashes) == 5


@pytest.mark.parametrize("length", [1, 2, 3, 63, 64])
def test_properties_of_any_length_count_in_the_world_hash_to_their_last_byte(length: int, tmp_path: Path) -> None:
    image = StoryImage(5, [MadeUpObject("box", properties={9: bytes(length), 4: bytes(length)})])
    table, memory = load(image, tmp_path), memory_of(image)
    start = table.world_hash(memory)
    memory[image.globals - 2] ^= 1
    assert table.world_hash(memory) != start


def test_a_link_to_an_object_that_there_is_not_leads_nowhere(tmp_path: Path) -> None:
    image = StoryImage(5, OBJECTS)
    table, memory = load(image, tmp_path), memory_of(image)
    memory[link(image, COIN, 0)] = words(99)
    assert table.entry(memory, COIN).parent == 0


def test_individual_properties_of_inform_6_count_in_the_world_hash(tmp_path: Path) -> None:
    for signature, counts in ((b"6.41", True), (bytes(4), False)):
        image = StoryImage(5, OBJECTS, signature=signature)
        image.content[image.globals : image.globals] = bytes(8)
        image.content[0x0C:0x10] = words(image.globals + 8, image.dynamic_size + 8)
        image.content[0x1A:0x1E] = bytes(4)
        table, memory = load(image, tmp_path), image.content[: image.dynamic_size + 8]
        start = table.world_hash(memory)
        memory[image.globals + 3] = 1
        assert (table.world_hash(memory) != start) == counts


def test_names_are_spelt_out_with_capitals_and_abbreviations(tmp_path: Path) -> None:
    house_number = 32 * 1 + 3
    west_of = [4, 6 + 22, 6 + 4, 6 + 18, 6 + 19, 0, 6 + 14, 6 + 5, 0]
    image = StoryImage(
        3,
        [MadeUpObject(encoded_name=packed(*west_of, 2, 3)), MadeUpObject("Living Room")],
        abbreviations={house_number: spelt("House")},
    )
    table = load(image, tmp_path)
    assert [table.name(1), table.name(2)] == ["West of House", "Living Room"]


@pytest.mark.parametrize(
    ("version", "characters", "name"),
    [
        (1, [6, 2, 6, 6, 4, 6, 6, 1, 5, 6], "aAaAA\na"),
        (1, [3, 7, 3, 6 + 21, 3, 28], "0<-"),
        (2, [3, 7, 3, 8, 6], "\n0a"),
        (3, [5, 7, 5, 8, 4, 6, 6], "\n0Aa"),
        (5, [5, 6, 155 >> 5, 155 & 31, 5, 6, 64 >> 5, 64 & 31], "ä@"),
    ],
)
def test_shifts_and_escapes_follow_the_version(version: int, characters: list[int], name: str, tmp_path: Path) -> None:
    image = StoryImage(version, [MadeUpObject(encoded_name=packed(*characters))])
    assert load(image, tmp_path).name(1) == name


def test_a_story_may_bring_its_own_alphabet_and_characters(tmp_path: Path) -> None:
    image = StoryImage(5, [MadeUpObject(encoded_name=packed(6, 4, 7, 5, 8, 5, 7, 5, 6, 4, 27))])
    address = len(image.content)
    image.content += b"zyxwvutsrqponmlkjihgfedcba" + b"ABCDEFGHIJKLMNOPQRSTUVWXYZ" + b"  *" + b"." * 23
    extension = len(image.content)
    image.content += words(3, 0, 0, extension + 8) + b"\1" + words(0x2603)
    image.content[0x34:0x38] = words(address, extension)
    image.content[0x1A:0x1E] = bytes(4)
    assert load(image, tmp_path).name(1) == "zB*\n\N{SNOWMAN}"


BANNER = "Release 1 / Serial number 261121 / Inform v6.41 Library v6.12.6 S"
OLD_BANNER = "Release 2 / Serial number 951204 / Inform v1502 Library 5/12"
PLAYER, OLD_PLAYER = (
    frozenset(table[name] for name in ("animate", "concealed", "proper", "transparent"))
    for table in (INFORM_6, INFORM_5)
)


@pytest.fixture
def story(own_story: Path) -> Story:
    return Story.load(own_story)


@pytest.mark.parametrize(
    ("banner", "player", "table"),
    [
        (BANNER, PLAYER, INFORM_6),
        (BANNER.replace("v6.12.6 ", "6/11 "), PLAYER, INFORM_6),
        (BANNER.replace("v6.12.6 ", "6/7 "), PLAYER, INFORM_6),
        (BANNER.replace("v6.12.6 ", "6/10 "), PLAYER, INFORM_6),
        (OLD_BANNER, OLD_PLAYER, INFORM_5),
        (BANNER.replace("v6.12.6 ", "6/2 "), OLD_PLAYER, INFORM_5),
        ("Inform 7 build 5T18 (I6/v6.31 lib 6/12N)", frozenset({1, 3, 20, 27, 30, 33, 41}), INFORM_7),
        (OLD_BANNER, PLAYER, {}),
        (OLD_BANNER.replace("5/12", "5/8"), OLD_PLAYER, {}),
        (BANNER, OLD_PLAYER, {}),
        (BANNER, frozenset(number + 4 for number in PLAYER), {name: number + 4 for name, number in INFORM_6.items()}),
        (OLD_BANNER, frozenset(number + 1 for number in OLD_PLAYER), {n: number + 1 for n, number in INFORM_5.items()}),
        (BANNER, PLAYER | {number + 4 for number in PLAYER}, {}),
        (BANNER, frozenset(number + 40 for number in PLAYER), {}),
        *(
            (banner, PLAYER, {})
            for banner in ("", "Inform 7 build 6M62 (I6/v6.33 lib 6/12N)", "Inform v6.10 Library 6/3")
        ),
    ],
)
def test_the_library_is_known_by_its_banner_and_its_player(
    story: Story, banner: str, player: frozenset[int], table: dict[str, int]
) -> None:
    assert attribute_table(story, banner, player) == table


def test_zork_i_release_88_is_known_by_the_whole_file(story: Story) -> None:
    zork = replace(story, md5="b732a93a6244ddd92a9b9a3e3a46c687")
    assert attribute_table(zork, "", frozenset()) == ZORK_1


def test_what_is_fixed_is_not_takeable_and_a_container_is_openable_where_no_attribute_says_so() -> None:
    assert named_attributes(INFORM_6, frozenset())["takeable"]
    assert not named_attributes(INFORM_6, frozenset({INFORM_6["scenery"]}))["takeable"]
    assert named_attributes(ZORK_1, frozenset({ZORK_1["container"]}))["openable"]
    assert not named_attributes(ZORK_1, frozenset())["openable"]
