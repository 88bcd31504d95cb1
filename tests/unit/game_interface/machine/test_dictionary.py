from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import Dictionary


@pytest.fixture
def story(own_story: Path) -> Story:
    return Story.load(own_story)


def test_verbs_are_words_that_act_in_the_story(story: Story) -> None:
    verbs = Dictionary.of(story).verbs
    assert {"take", "drop", "open", "unlock"} <= set(verbs)
    assert {"save", "quit", "script", "lamp"}.isdisjoint(verbs)


def test_words_in_a_text_are_found_by_their_first_letters_and_given_in_full(story: Story) -> None:
    dictionary = Dictionary.of(story)
    assert dictionary.letters == 9
    assert dictionary.known_words(["A Lamp, northwest and a gazebo."])["northwest"] == "northwest"
    assert "lamp" in dictionary.known_words(["A Lamp"])
    assert "gazebo" not in dictionary.known_words(["a gazebo"])
    assert dictionary.known_words(["to the southeastward"]).get("southeast") == "southeastward"


def test_moves_are_the_directions_without_abbreviations(story: Story) -> None:
    dictionary = Dictionary.of(story)
    assert {"n", "north", "u", "up"} <= set(dictionary.directions)
    assert {"north", "up"} <= set(dictionary.moves)
    assert {"n", "u"}.isdisjoint(dictionary.moves)


def test_a_dictionary_beyond_the_end_of_the_file_is_empty(story: Story) -> None:
    end = len(story.content) - 2
    dictionary = Dictionary.of(replace(story, dictionary=end))
    assert (dictionary.words, dictionary.verbs, dictionary.directions) == (frozenset(), (), ())


@pytest.mark.stories
def test_infocom_marks_directions_itself_and_knows_six_letters(zork1: Path) -> None:
    dictionary = Dictionary.of(Story.load(zork1))
    assert dictionary.letters == 6
    assert {"north", "northeast", "land"} <= set(dictionary.directions)
    assert "lanter" in dictionary.nouns
    assert dictionary.known_words(["a brass lantern"])["lanter"] == "lantern"
