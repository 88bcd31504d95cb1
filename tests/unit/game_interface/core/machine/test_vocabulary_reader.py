"""The facts about a story's words are read from its tables, for every compiler."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from game_interface.core.machine.object_table import ObjectTable
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import Dictionary, read_vocabulary
from session.commands import Vocabulary


@pytest.fixture(scope="module")
def story(own_story: Path) -> Story:
    return Story.load(own_story)


@pytest.fixture(scope="module")
def ours(story: Story) -> Vocabulary:
    return read_vocabulary(story)


def names(story: Story, objects: Iterable[int]) -> set[str]:
    table = ObjectTable(story)
    return {table.name(num) for num in objects}


def test_a_noun_leads_to_the_objects_that_answer_to_it(story: Story, ours: Vocabulary) -> None:
    assert names(story, ours.objects["herring"]) == {"salt herring"}
    assert all(set(ours.objects[word]) <= set(ours.mentions[word]) for word in ours.objects)
    assert ours.objects.keys() <= ours.words


def test_words_are_cut_as_the_parser_cuts_them_and_informs_grammar_tells_what_may_follow_a_verb(
    ours: Vocabulary,
) -> None:
    assert (ours.family, ours.letters, ours.cut("Southeastward")) == ("inform", 9, "southeast")
    assert "southeast" in ours.directions
    assert {"take", "score", "save"} <= ours.verbs
    assert {"ask", "say", "consult"} <= ours.free_verbs <= ours.verbs
    assert {"take", "drop", "examine", "unlock"}.isdisjoint(ours.free_verbs)
    assert {"take", "drop", "examine", "unlock"} <= ours.near_verbs


def test_a_story_without_such_tables_has_words_and_no_more(story: Story) -> None:
    elsewhere = read_vocabulary(replace(story, dynamic_size=story.dynamic_size + 2))
    assert (elsewhere.family, elsewhere.objects) == ("unknown", {})
    assert "ask" in elsewhere.free_verbs
    assert "lamp" in elsewhere.words
    beyond_the_end = replace(story, dictionary=len(story.content) - 2)
    dictionary = Dictionary.of(beyond_the_end)
    assert (dictionary.words, dictionary.verbs, dictionary.directions) == (frozenset(), (), ())
    assert read_vocabulary(beyond_the_end).words == frozenset()


def test_corrupt_tables_are_read_without_an_error(story: Story) -> None:
    chance = random.Random(1)
    for _ in range(20):
        content = bytearray(story.content)
        for start in (story.object_table, story.dynamic_size, story.dictionary):
            for at in chance.sample(range(start, min(start + 4000, len(content))), 200):
                content[at] = chance.randrange(256)
        assert read_vocabulary(replace(story, content=bytes(content))).letters == 9


def test_verbs_are_words_that_act_in_the_story_and_moves_are_directions_in_full(story: Story) -> None:
    dictionary = Dictionary.of(story)
    assert {"take", "drop", "open", "unlock"} <= set(dictionary.verbs)
    assert {"save", "quit", "script", "lamp"}.isdisjoint(dictionary.verbs)
    assert {"n", "north", "u", "up"} <= set(dictionary.directions)
    assert {"north", "up"} <= set(dictionary.moves)
    assert {"n", "u"}.isdisjoint(dictionary.moves)


def test_words_in_a_text_are_found_by_their_first_letters_and_given_in_full(story: Story) -> None:
    dictionary = Dictionary.of(story)
    assert dictionary.letters == 9
    assert dictionary.known_words(["A Lamp, northwest and a gazebo."])["northwest"] == "northwest"
    assert "lamp" in dictionary.known_words(["A Lamp"])
    assert "gazebo" not in dictionary.known_words(["a gazebo"])
    assert dictionary.known_words(["to the southeastward"]).get("southeast") == "southeastward"


@pytest.mark.stories
class TestOtherStories:
    def test_infocom_marks_directions_itself_and_knows_six_letters(self, zork1: Path) -> None:
        story = Story.load(zork1)
        dictionary, vocabulary = Dictionary.of(story), read_vocabulary(story)
        assert dictionary.letters == 6
        assert {"north", "northeast", "land"} <= set(dictionary.directions)
        assert "lanter" in dictionary.nouns
        assert dictionary.known_words(["a brass lantern"])["lanter"] == "lantern"
        assert (vocabulary.family, vocabulary.letters) == ("infocom", 6)
        assert "brass lantern" in names(story, vocabulary.objects[vocabulary.cut("lantern")])
        assert {"ask", "find"} <= vocabulary.free_verbs
        assert {"take", "stab", "examin"} <= vocabulary.near_verbs, "by grammar or by English"
        assert {"pray", "xyzzy", "banish", "chase"}.isdisjoint(vocabulary.near_verbs)
        assert {"thief", "troll", "cyclops"} <= names(story, vocabulary.animate)
        assert "chasm" not in vocabulary.objects
        assert vocabulary.mentions["chasm"], "a room's word for a thing that is no object"

    @pytest.mark.parametrize("name", ["library", "spirit", "temple"])
    def test_the_old_format_of_informs_grammar_is_read_too(self, name: str, story_folder: Path) -> None:
        vocabulary = read_vocabulary(Story.load(story_folder / f"{name}.z5"))
        assert vocabulary.family == "inform"
        assert {"ask", "consult"} <= vocabulary.free_verbs
        assert {"take", "drop"}.isdisjoint(vocabulary.free_verbs)

    @pytest.mark.parametrize(
        ("file", "living"),
        [("library.z5", "reference librarian"), ("lostpig.z8", "pig"), ("wishbringer.z3", "troll")],
    )
    def test_living_things_have_an_attribute_that_the_player_or_the_grammar_shows(
        self, file: str, living: str, story_folder: Path
    ) -> None:
        story = Story.load(story_folder / file)
        vocabulary = read_vocabulary(story)
        assert living in names(story, vocabulary.animate)
        assert len(vocabulary.animate) < ObjectTable(story).count / 8

    def test_a_name_that_a_routine_of_the_thing_reads_is_a_mention(self, story_folder: Path) -> None:
        vocabulary = read_vocabulary(Story.load(story_folder / "yomomma.z8"))
        assert set(vocabulary.mentions["cola"]) > set(vocabulary.objects["cola"])
