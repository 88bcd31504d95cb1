"""Forms of commands, and the lexicon over turns, episodes, runs and kills: what it holds, shows and writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from managers.lexicon_manager import (
    LEXICON_FILE,
    LONGEST_ANSWER,
    SYNTAX_TOKENS,
    FormTrial,
    Lexicon,
    LexiconManager,
    form_trial_of,
)
from session.errors import StoreError
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import GameObject, Observation, Proposal, TurnRecord, Verdict
from tests.fixtures.held_stores import held
from tests.fixtures.walkthrough import WINNING_SEED, get_zork1_walkthrough
from tests.unit.zorkgpt.players.dye_works import VATS, in_the_loft, moment, turn, vocabulary
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer

DIRECTIONS = ("north", "up")
LONG = "The vats stand in two rows, and blue runs down the side of each of them into a gutter in the stone floor."


def manager_in(workdir: Path, episode: int = 1) -> LexiconManager:
    config = GameConfiguration(zork_game_workdir=workdir)
    return LexiconManager(
        structlog.get_logger(), config, GameState(episode=episode), vocabulary=vocabulary(), directions=DIRECTIONS
    )


def changing(action: str, text: str = "Done.", number: int = 1) -> TurnRecord:
    """The command took the basket away from the vats."""
    return turn(action, moment(), replace(moment(text), visible=()), number)


def silent(action: str, text: str, number: int = 1) -> TurnRecord:
    """The command changed nothing but the hash of a world with a moving character, and took a turn."""
    return turn(action, replace(moment(), moves=4), replace(moment(text, world="w2"), moves=5), number)


def unread(action: str, text: str, number: int = 1) -> TurnRecord:
    """The command took no turn."""
    return turn(action, replace(moment(), moves=4), replace(moment(text), moves=4), number)


def moving(action: str, number: int = 1) -> TurnRecord:
    """The command led to the loft."""
    return turn(action, moment(), in_the_loft(), number)


def nowhere(text: str) -> Observation:
    """A moment in a story that shows nothing but its text and a hash."""
    return Observation(text, world_hash="w1")


TOKENS = 150


def shown(manager: LexiconManager) -> str:
    manager.show_all()
    return manager.text(TOKENS)


class TestWhatIsShown:
    def test_forms_that_worked_with_a_command_of_each_in_the_order_in_which_they_were_learned(
        self, tmp_path: Path
    ) -> None:
        manager = manager_in(tmp_path)
        won = moving("enter shadow")
        for record in (
            changing("take basket"),
            changing("dip banner in basket"),
            changing("take spool"),
            changing("light banner"),
            changing("dip in loom", LONG),
            silent("ask loom", LONG),
            silent("take river", "You cannot take the river."),
            silent("light river", "You cannot light the river."),
            unread("frobnicate", "That is no word of mine."),
            replace(won, before=replace(won.before, score=0), after=replace(won.after, score=9)),
        ):
            manager.learn(record)
        worked = "take basket; dip banner in basket; light banner; dip in loom; enter shadow"
        assert shown(manager) == f"Worked in this story: {worked}"
        assert manager.text(14) == "Worked in this story: dip banner in basket; dip in loom"

    def test_verbs_that_take_no_list(self, tmp_path: Path) -> None:
        """The answer to any command that names an absent object is no evidence about lists."""
        manager = manager_in(tmp_path)
        for record in (
            changing("take basket"),
            unread("take river", "No such thing."),
            unread("take spool and river", "No such thing."),
            unread("dip banner and spool in loom", "One at a time, please."),
            unread("light basket, banner and spool", "One at a time, please."),
            changing("take banner and spool"),
        ):
            manager.learn(record)
        assert shown(manager) == (
            "Worked in this story: take basket; take banner and spool\nOne thing at a time: dip, light"
        )

    @pytest.mark.parametrize(
        ("records", "text"),
        [
            ([], ""),
            (
                [
                    silent("wake man", "After several attempts, you manage to shake the man awake."),
                    silent("open vial", "There doesn't seem any way to open the vial."),
                    unread("read labels", "You can't see any such thing."),
                ],
                "",
            ),
            ([moving("enter shadow"), changing("look", LONG), changing("x river", LONG), changing("wait")], ""),
            (
                [
                    *(changing(action, "Taken.") for action in ("take basket", "take spool", "take loom")),
                    *(silent(action, "Taken.") for action in ("take river", "take banner")),
                ],
                "take basket",
            ),
            (
                [
                    *(silent(f"dip {thing}", "It stays dry.") for thing in ("river", "loom", "spool", "river")),
                    changing("dip banner", "It stays dry."),
                ],
                "",
            ),
            (
                [
                    *(silent(f"dip {thing}", "It stays dry.") for thing in ("river", "loom", "spool")),
                    changing("dip banner", "It stays dry."),
                    changing("dip basket", "It turns blue."),
                ],
                "dip basket",
            ),
            ([changing("ask loom", LONG), *[silent("ask loom", LONG)] * 5], ""),
            ([changing("light loom", LONG), *[silent("light loom", LONG)] * 4], "light loom"),
        ],
        ids=[
            "nothing known",
            "what failed here may have worked there",
            "moves are the map's, and what changes while one looks is somebody else's",
            "an answer that mostly goes with a change is no refusal",
            "a change that came with a refusal was somebody else's",
            "a change with another answer",
            "a form that seldom goes with a change did not make it",
            "a form that goes with a change in a fifth of its turns made it",
        ],
    )
    def test_a_form_is_shown_if_it_caused_a_change(self, tmp_path: Path, records: list[TurnRecord], text: str) -> None:
        manager = manager_in(tmp_path)
        for record in records:
            manager.learn(record)
        assert shown(manager) == (f"Worked in this story: {text}" if text else "")

    def test_a_form_that_won_points_is_shown_however_often_it_changed_nothing(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        for record in [silent("ask loom about river", LONG)] * 9:
            manager.learn(record)
        assert shown(manager) == ""
        won = changing("ask loom about spool", LONG)
        manager.learn(replace(won, before=replace(won.before, score=0), after=replace(won.after, score=2)))
        assert shown(manager) == "Worked in this story: ask loom about spool"
        assert "ask loom about spool" in shown(manager_in(tmp_path))

    def test_the_text_changes_with_the_first_form_and_then_when_the_history_slides(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        manager.learn(silent("ask loom", LONG))
        assert manager.text(TOKENS) == ""
        window = manager.config.agent.history_window
        for number in range(2, window):
            manager.learn(changing("take basket", number=number))
            assert manager.text(TOKENS) == "Worked in this story: take basket"
        manager.learn(changing("light banner", number=window))
        assert manager.text(TOKENS) == "Worked in this story: take basket; light banner"
        manager.learn(changing("dip banner"))
        assert "dip" not in manager.text(TOKENS)
        manager.reset(GameState(episode=2))
        assert "dip banner" in manager.text(TOKENS)

    @given(tokens=st.integers(0, 300), verbs=st.integers(0, 40))
    @settings(max_examples=30, deadline=None)
    def test_the_text_never_has_more_than_its_room_and_each_line_is_whole(
        self, tmp_path_factory: pytest.TempPathFactory, tokens: int, verbs: int
    ) -> None:
        manager = manager_in(tmp_path_factory.mktemp("lexicon"))
        for verb in range(verbs):
            manager.learn(changing(f"take{verb} basket"))
            manager.learn(silent(f"examine{verb} loom", LONG))
            manager.learn(unread(f"frob{verb} loom", "No."))
        manager.show_all()
        text = manager.text(tokens)
        assert len(text) <= tokens * 4
        assert all(": " in line and line[-1] not in " ;:" for line in text.splitlines())


class TestTheFile:
    def test_it_survives_the_run_and_says_its_version(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        manager.learn(changing("take basket", "Taken."))
        manager.learn(silent("take river", "You cannot."))
        manager.show_all()
        assert json.loads((tmp_path / LEXICON_FILE).read_text()) == {
            "version": 1,
            "forms": {
                "take OBJECT": {
                    "4": {
                        "changed": 0,
                        "told": 0,
                        "answers": {
                            "Taken.": {"silent": 0, "changed": 1, "example": "take basket"},
                            "You cannot.": {"silent": 1, "changed": 0, "example": ""},
                        },
                        "example": "",
                    }
                }
            },
            "asked": {"You cannot.": "take river"},
            "won": {},
        }
        later = manager_in(tmp_path, episode=2)
        assert later.lexicon == manager.lexicon
        assert later.text(TOKENS) == manager.text(TOKENS)

    def test_turns_wait_for_a_refresh_and_nothing_new_writes_nothing(self, tmp_path: Path) -> None:
        manager, path = manager_in(tmp_path), tmp_path / LEXICON_FILE
        manager.learn(changing("take basket"))
        assert not path.exists()
        manager.show_all()
        written = path.stat().st_mtime_ns
        manager.show_all()
        manager.commit()
        manager.reset(GameState(episode=2))
        assert path.stat().st_mtime_ns == written
        held(tmp_path, manager)
        manager.learn(changing("take spool"))
        manager.show_all()
        assert path.stat().st_mtime_ns == written, "in a run it waits for the commit"
        for _ in range(2):
            manager.commit()
            assert path.read_text() == manager.lexicon.render()

    def test_runs_in_one_folder_add_up(self, tmp_path: Path) -> None:
        one, other = manager_in(tmp_path), manager_in(tmp_path)
        for manager in (one, other):
            manager.learn(changing("take basket", "Taken."))
        one.show_all()
        other.show_all()
        one.reset(GameState(episode=2))
        for manager in (one, other, manager_in(tmp_path)):
            assert manager.lexicon.forms["take OBJECT"][VATS].answers["Taken."].changed == 2

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("{", "the file: Invalid JSON"),
            ('{"version": 2}', "version: "),
            ('{"forms": {"take OBJECT": {"4": {"changed": -1}}}}', r"forms\.take OBJECT\.4\.changed: "),
        ],
    )
    def test_a_broken_file_is_one_line_and_stays_as_it_is(self, tmp_path: Path, content: str, complaint: str) -> None:
        (tmp_path / LEXICON_FILE).write_text(content)
        with pytest.raises(StoreError, match=complaint) as raised:
            manager_in(tmp_path)
        assert "\n" not in str(raised.value)
        assert (tmp_path / LEXICON_FILE).read_text() == content


def trial(number: int, *, words: str = "No.", form: str = "take OBJECT") -> FormTrial:
    return FormTrial(form, VATS, changed=False, words=words, command=f"take loom {number}", took_turn=True)


class TestBounds:
    def test_three_hundred_forms_with_eight_answers_in_full_and_the_last_five_hundred_by_command_are_known(
        self,
    ) -> None:
        lexicon = Lexicon()
        for number in range(300):
            lexicon = trial(number, form=f"take{number} OBJECT").apply_to(lexicon)
        assert len(lexicon.forms) == 300
        assert trial(300, form="take300 OBJECT").apply_to(lexicon) is lexicon
        lexicon = Lexicon()
        for number in range(502):
            lexicon = trial(number, words=f"No {number}.").apply_to(lexicon)
        tally = lexicon.forms["take OBJECT"][VATS]
        assert ([*tally.answers], tally.told) == ([f"No {number}." for number in range(8)], 494)
        assert [*lexicon.asked] == [f"No {number}." for number in range(2, 502)]

    def test_models_are_shown_240_characters_of_commands(self, tmp_path: Path) -> None:
        manager = manager_in(tmp_path)
        for verb in range(100, 200):
            manager.learn(changing(f"take{verb} basket"))
        manager.show_all()
        section = manager.section(moment())
        assert section is not None
        # commands of 14 characters with two between each, after "Worked in this story: "
        assert section.text == f"Worked in this story: {'; '.join(f'take{verb} basket' for verb in range(100, 113))}"

    def test_an_answer_is_cut_at_sixty_characters_and_is_none_beyond_a_hundred_as_a_form_is_beyond_fifty(
        self, tmp_path: Path
    ) -> None:
        manager = manager_in(tmp_path)
        for action, length in (("frob loom", 80), ("pull loom", 100), ("bend loom", 101)):
            manager.learn(unread(action, "x" * length))
        known = {form: [*places[VATS].answers] for form, places in manager.lexicon.forms.items()}
        cut = [f"{'x' * 56} […]"]
        assert known == {"frob OBJECT": cut, "pull OBJECT": cut, "bend OBJECT": []}
        for letters in (43, 44):
            manager.learn(changing(f"{'x' * letters} basket"))
        assert [len(form) for form in manager.lexicon.forms if form.startswith("x")] == [50]


@pytest.mark.stories
def test_what_zorks_walkthrough_shows_is_short_and_true(zork1: Path, tmp_path: Path) -> None:
    """A character moves about in Zork and changes the world on nearly every turn; a look changes nothing."""
    manager = LexiconManager(
        manager_in(tmp_path / "other").logger,
        manager_in(tmp_path).config,
        GameState(),
        vocabulary=read_vocabulary(Story.load(zork1)),
    )
    with JerichoInterface(zork1, seed=WINNING_SEED) as game:
        before = game.observation
        for number, action in enumerate(get_zork1_walkthrough(), start=1):
            after = game.step(action)
            manager.learn(TurnRecord(1, number, before, (Proposal(action),), (Verdict(accepted=True),), after))
            before = after
    text = manager.text(SYNTAX_TOKENS)
    assert text.startswith(
        "Worked in this story: get egg; open window; kill troll with sword; drop egg; tie rope to railing; "
    )
    assert len(text) <= 4 * SYNTAX_TOKENS
    assert "look" not in text
    assert "examine" not in text


def sighted(record: TurnRecord) -> FormTrial | None:
    return form_trial_of(record, vocabulary(), MovementAnalyzer(DIRECTIONS))


def seen(record: TurnRecord) -> FormTrial:
    found = sighted(record)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("Take the grey BANNER", "take OBJECT"),
        ("dip banner in basket", "dip OBJECT in OBJECT"),
        ("dip in treadle", "dip in OBJECT"),
        ("ask loom about zinc", "ask OBJECT about WORDS"),
        ("take zinc sheet", "take WORDS"),
        ("take all", "take all"),
        ("take it", "take it"),
        ("light", "light"),
        ("frobnicate river", "frobnicate OBJECT"),
        ("light river north", "light OBJECT DIRECTION"),
        ("take beam", "take OBJECT"),
    ],
)
def test_things_ways_and_other_words_are_abstracted(action: str, form: str) -> None:
    """``beam`` is in no table of the story, only in the name of what is seen."""
    seen_here = replace(moment(), visible=(GameObject(99, "oak beam", VATS),))
    assert seen(turn(action, seen_here, seen_here)).form == form


def test_a_way_that_is_also_a_things_name_is_a_thing_and_so_is_any_phrase_in_a_story_without_names() -> None:
    words = vocabulary()
    for record, known, directions in (
        (silent("light north", "No."), replace(words, objects={**words.objects, "north": (1,)}), DIRECTIONS),
        (silent("light zinc sheet", "No."), replace(vocabulary("unknown"), objects={}, mentions={}), ()),
    ):
        found = form_trial_of(record, known, MovementAnalyzer(directions))
        assert found is not None
        assert found.form == "light OBJECT"


@pytest.mark.parametrize(
    "record",
    [
        silent("north", "No way."),
        moving("go up"),
        moving("dip in river"),
        silent("wait", "Time passes."),
        silent("x loom", LONG),
        silent("take banner. wait", "Taken."),
        silent("again", "Taken."),
        silent("", "Pardon?"),
        silent("dip" + " in" * 30, "What?"),
        turn("dip banner", moment(), replace(moment("You drown."), died=True)),
        turn("dip banner", moment(), replace(moment("You drown."), ending="lost")),
        turn("wait", replace(moment(), ending="over"), moment()),
        turn("wait", replace(moment(), awaits_key=True), moment()),
        turn("undo", replace(moment(), moves=7), replace(moment(), moves=6)),
        turn("banner", moment("What do you want to take?"), moment("Taken.")),
    ],
)
def test_what_says_nothing_of_a_form_is_left_out(record: TurnRecord) -> None:
    assert sighted(record) is None


def test_a_change_is_what_the_player_has_sees_or_scores_or_the_hash_of_a_world_of_unknown_things() -> None:
    before = replace(moment(), score=0)
    lit = replace(before, inventory=(replace(before.inventory[0], attributes=frozenset({20})),))  # type: ignore[index]
    assert seen(turn("light banner", before, lit)).changed
    assert seen(turn("light banner", before, replace(before, score=5))).changed
    assert seen(changing("take basket")).changed
    assert not seen(silent("take river", "You cannot.")).changed
    assert seen(turn("light loom", nowhere("Hm."), replace(nowhere("Hm."), world_hash="w2"))).changed
    assert not seen(turn("light loom", nowhere("Hm."), nowhere("Hm."))).changed


def test_a_turn_is_taken_when_the_storys_clock_goes_on_or_there_is_none_but_not_by_what_never_reached_it() -> None:
    assert not seen(unread("take zinc", "What is zinc?")).took_turn
    assert seen(silent("take river", "You cannot.")).took_turn
    assert seen(changing("take basket")).took_turn
    refused = replace(moment(), refusal="Commands are plain ASCII.", visible=())
    assert seen(turn("dip banner", moment(), refused)) == FormTrial(
        "dip OBJECT", VATS, changed=False, words="Commands are plain ASCII.", command="dip banner", took_turn=False
    )


def test_the_answer_is_the_first_line_with_a_blank_for_what_was_typed_unless_it_is_long() -> None:
    answer = "\n  You see no BANNER, in  the banner's place.\n\nThe clock strikes."
    assert seen(silent("dip banner in basket", answer)).words == "You see no …, in the banner's place."
    assert seen(silent("dip loom", LONG)).words == ""
    assert len(seen(silent("dip loom", LONG[:90])).words) in range(LONGEST_ANSWER - 5, LONGEST_ANSWER + 1)


def test_a_command_stands_for_others_if_something_was_filled_in_even_after_a_question() -> None:
    assert (seen(silent("light", "No.")).command, seen(silent("take all", "No.")).command) == ("", "")
    assert seen(silent("Take  the river", "No.")).command == "take the river"
    assert seen(turn("take banner", moment("(Are you sure?)"), moment("Taken."))).form == "take OBJECT"
