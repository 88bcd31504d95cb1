"""What the lexicon forgets, and when a short answer is known to refuse."""

from __future__ import annotations

from pathlib import Path

from managers.lexicon_manager import FormTrial, Lexicon
from session.game_state import GameState
from tests.unit.managers.lexicon_parts import changing, manager_in, silent, unread
from tests.unit.zorkgpt.players.dye_works import VATS, moment


def trial(number: int, *, words: str = "No.", form: str = "take OBJECT") -> FormTrial:
    return FormTrial(form, VATS, changed=False, words=words, command=f"take loom {number}", took_turn=True)


def test_an_answer_that_refused_several_commands_refuses_whatever_comes_after(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    for thing in ("loom", "basket", "spool", "river", "loom"):
        manager.learn(silent(f"dip {thing}", "It stays dry."))
    manager.learn(changing("dip banner", "It stays dry."))
    manager.show_all()
    assert manager.text(150) == ""


def test_three_hundred_forms_are_known_and_no_more() -> None:
    lexicon = Lexicon()
    for number in range(301):
        lexicon = trial(number, form=f"take{number} OBJECT").apply_to(lexicon)
    assert (len(lexicon.forms), "take299 OBJECT" in lexicon.forms, "take300 OBJECT" in lexicon.forms) == (
        *(300, True, False),
    )


def test_eight_answers_of_a_form_are_kept_word_by_word_at_a_location() -> None:
    lexicon = Lexicon()
    for number in range(9):
        lexicon = trial(number, words=f"No {number}.").apply_to(lexicon)
    tally = lexicon.forms["take OBJECT"][VATS]
    assert ([*tally.answers], tally.told) == ([f"No {number}." for number in range(8)], 1)


def test_five_hundred_answers_are_known_by_their_command_the_latest() -> None:
    lexicon = Lexicon()
    for number in range(502):
        lexicon = trial(number, words=f"No {number}.").apply_to(lexicon)
    assert [*lexicon.asked] == [f"No {number}." for number in range(2, 502)]


def test_what_the_agent_is_shown_changes_with_the_first_form_and_every_twenty_five_turns(tmp_path: Path) -> None:
    manager, seen = manager_in(tmp_path), [""]
    for turn in range(1, 52):
        manager.learn(changing(f"take{turn} basket", number=turn))
        if manager.text(1000) != seen[-1]:
            seen.append(manager.text(1000))
            assert turn in {1, 25, 50}
    assert len(seen) == 4


def test_models_are_shown_240_characters_of_commands(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    for verb in range(100, 200):
        manager.learn(changing(f"take{verb} basket"))
    manager.show_all()
    section = manager.section(moment())
    assert section is not None
    # commands of 14 characters with two between each, after "Worked in this story: "
    assert section.text == f"Worked in this story: {'; '.join(f'take{verb} basket' for verb in range(100, 113))}"


def test_a_short_answer_is_cut_at_sixty_characters_and_a_form_of_more_than_fifty_is_none(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    manager.learn(unread("frob loom", "x" * 80))
    (tally,) = manager.lexicon.forms["frob OBJECT"].values()
    assert [*tally.answers] == [f"{'x' * 56} […]"]
    for letters in (43, 44):
        manager.learn(changing(f"{'x' * letters} basket"))
    assert [len(form) for form in manager.lexicon.forms if form.startswith("x")] == [50]


def test_an_answer_of_more_than_a_hundred_characters_is_no_short_one(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    for action, length in (("frob loom", 100), ("bend loom", 101)):
        manager.learn(unread(action, "x" * length))
    known = {form: bool(places[VATS].answers) for form, places in manager.lexicon.forms.items()}
    assert known == {"frob OBJECT": True, "bend OBJECT": False}


def test_a_new_episode_is_shown_all_that_was_learnt(tmp_path: Path) -> None:
    manager = manager_in(tmp_path)
    manager.learn(changing("take basket"))
    manager.reset(GameState(episode=2))
    assert manager.text(150) == "Worked in this story: take basket"
