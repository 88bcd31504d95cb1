from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from game_interface.core.machine.attribute_tables import INFORM_6, ZORK_1, attribute_table, named_attributes
from game_interface.core.machine.story import Story

BANNER = "Release 1 / Serial number 261121 / Inform v6.41 Library v6.12.6 S"
PLAYER = frozenset(INFORM_6[name] for name in ("animate", "concealed", "proper", "transparent"))


@pytest.fixture
def story(own_story: Path) -> Story:
    return Story.load(own_story)


@pytest.mark.parametrize(
    ("banner", "player", "table"),
    [
        (BANNER, PLAYER, INFORM_6),
        (BANNER.replace("v6.12.6 ", "6/11 "), PLAYER, INFORM_6),
        (BANNER, frozenset(number + 1 for number in PLAYER), {}),
        *(
            (banner, PLAYER, {})
            for banner in ("", "Inform 7 build 6M62 (I6/v6.33 lib 6/12N)", "Inform v6.30 Library 6/7")
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
