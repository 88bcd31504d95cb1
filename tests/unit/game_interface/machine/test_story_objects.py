"""The object tree and its names are read according to the Z-Machine Standard."""

from __future__ import annotations

from pathlib import Path

import pytest

from game_interface.core.machine.object_table import ObjectEntry, ObjectTable
from game_interface.core.machine.story import Story
from tests.fixtures.story_image import MadeUpObject, StoryImage, link, move, packed, set_global, spelt, words

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


@pytest.mark.stories
def test_names_of_a_real_story_are_whole(zork1: Path) -> None:
    table = ObjectTable(Story.load(zork1))
    names = {table.name(num) for num in range(1, table.count + 1)}
    assert table.count == 250
    assert {"West of House", "Living Room", "brass lantern", "Aragain Falls"} <= names
