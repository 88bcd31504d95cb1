"""The file of transcripts: what people write stays, and prompts show the best and the latest of the earlier games."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from managers.transcripts.document import TITLE, Game, Transcripts, games_text, parse_transcripts
from managers.transcripts.game_text import PlayedTurn

TURNS = (
    PlayedTurn(1, "north", "Forecourt\nA flagged yard.\n\n## Not a heading", to_id=35),
    PlayedTurn(2, "take `lamp`", "Taken.", change=5),
    PlayedTurn(3, "east", "Ledge\n> a sign", change=-1, to_id=4),
)
GAME = Game(3, 5, "The sea went out.\n\nCauseway\nMud.", TURNS)


def game(episode: int, score: int | None = 0, *commands: str) -> Game:
    turns = (PlayedTurn(number, command, f"{command}!") for number, command in enumerate(commands or ("wait",), 1))
    return Game(episode, score, "Causeway\nMud.", tuple(turns))


def file_of(*games: Game) -> Transcripts:
    file = parse_transcripts("")
    for each in games:
        file = file.with_game(each)
    return file


def test_the_file_is_readable_and_is_read_as_it_was_played() -> None:
    text = file_of(GAME).render()
    assert text == (
        f"{TITLE}## Episode 3: 5 points, 4 at the end, 3 turns\n\n> The sea went out.\n>\n> Causeway\n> Mud.\n\n"
        "1. `north` (to 35)\n> Forecourt\n> A flagged yard.\n>\n> ## Not a heading\n\n"
        "2. `take `lamp`` (+5)\n> Taken.\n\n3. `east` (to 4, -1)\n> Ledge\n> > a sign\n\n"
    )
    assert parse_transcripts(text).games == (GAME,)


def test_what_was_typed_for_a_command_and_that_the_player_died_are_read_as_they_were_written() -> None:
    turns = (PlayedTurn(1, "north", "Cave", 0, 4, typed="g"), PlayedTurn(2, "north", "Eaten.", -10, 7, died=True))
    text = file_of(replace(GAME, turns=turns)).render()
    assert "1. `north` (typed g, to 4)\n" in text
    assert "2. `north` (died, to 7, -10)\n" in text
    assert parse_transcripts(text).games[0].turns == turns


@given(
    st.text(max_size=200).map(lambda text: f"x{text}"),
    st.lists(st.tuples(st.text(min_size=1, max_size=30), st.text(max_size=200)), min_size=1, max_size=5),
    st.one_of(st.none(), st.integers(-99, 999)),
)
def test_any_game_can_be_read_again(opening: str, played: list[tuple[str, str]], score: int | None) -> None:
    turns = (PlayedTurn(number, *each) for number, each in enumerate(played, start=1))
    (read,) = file_of(Game(1, score, opening, tuple(turns))).games
    (again,) = parse_transcripts(file_of(read).render()).games
    assert (read, len(read.turns), read.score) == (again, len(played), score)


@given(st.text(alphabet="#> `1.()+-to\n\r\ufeffEpisode 3:points", max_size=200))
def test_what_people_write_stays_byte_for_byte(text: str) -> None:
    assert parse_transcripts(text).render() == text
    text = f"<!-- mine -->\r\n\n{text}\n## Episode 7\nNo turn is here.\n"
    with_game = parse_transcripts(text).with_game(replace(GAME, episode=9)).render()
    assert with_game.startswith(text)
    assert with_game.endswith("> > a sign\n\n")


def test_half_a_character_of_a_broken_story_does_not_keep_a_game_out_of_the_file() -> None:
    text = file_of(game(1, 5, "take \ud800")).render()
    assert text.encode().decode() == text
    assert parse_transcripts(text).games[0].turns[0].action == "take ?"


def test_only_the_best_and_the_latest_game_are_kept() -> None:
    file = file_of(game(1, 20), game(2, 45), game(3, 30), game(4, 30))
    assert [each.episode for each in file.games] == [2, 4]
    assert [each.episode for each in file.shown_before(5)] == [2, 4]
    assert [each.episode for each in file.shown_before(4)] == [2]
    assert file.shown_before(1) == ()
    assert file.with_game(file.games[1]) is file


@pytest.mark.parametrize(
    ("games", "shown"),
    [
        ([game(1, 5), game(2, 5)], [2, 1]),
        ([game(1, 5), game(2, 9), game(3, 12)], [3, 2]),
        ([game(1, None), game(2, None)], [2, 1]),
        ([game(1, None), game(2, -5), game(3, None)], [2, 3]),
        ([game(2, 5), game(1, 9)], [1, 2]),
    ],
    ids=["as good later", "better and better", "no score", "an unknown score is not none", "a run in parallel"],
)
def test_the_best_game_comes_first_and_an_unknown_score_is_no_best_one(games: list[Game], shown: list[int]) -> None:
    assert [each.episode for each in file_of(*games).shown_before(9)] == shown


def test_a_game_that_lost_points_is_no_better_than_at_its_end_and_says_so() -> None:
    turns = (PlayedTurn(1, "take lamp", "Taken.", change=6), PlayedTurn(2, "jump", "Ouch.", change=-1))
    dropped = Game(2, 6, "Mud.", turns)
    assert [each.episode for each in file_of(game(1, 6), dropped).shown_before(3)] == [1, 2]
    text = games_text([dropped, game(4, 5)], 20_000).text
    assert text.startswith("Episode 2, the best, 5 points at its end (6 at most):")


def test_a_game_begins_a_new_paragraph_below_what_people_wrote() -> None:
    for text in ("Mine", "Mine\n", "Mine\n\n"):
        assert parse_transcripts(text).with_game(GAME).render().startswith("Mine\n\n## Episode 3")


def test_turns_that_another_shown_game_has_refer_to_it() -> None:
    best = game(3, 45, *"abcdefgh")
    latest = game(5, 40, *"xabcdeyfgz")
    text = games_text([best, latest], 20_000).text
    assert text.startswith("Episode 3, the best, 45 points:\n\nStart:\nCauseway\nMud.\n\nTurn 1: a\na!")
    latest_text = text.partition("Episode 5, the latest, 40 points:\n\n")[2]
    assert latest_text == (
        "Start:\nAs in episode 3.\n\nTurn 1: x\nx!\n\nTurns 2-6: as in episode 3, turns 1-5\n\nTurn 7: y\ny!\n\n"
        "Turn 8: f\nf!\n\nTurn 9: g\ng!\n\nTurn 10: z\nz!"
    )


@pytest.mark.parametrize("characters", [20_000, 3000], ids=["whole", "condensed"])
def test_a_line_that_the_other_shown_game_has_whole_refers_to_it(characters: int) -> None:
    yard = "A flagged yard on top of the rock, and worn steps that go down east to the foreshore."
    start = "The stone causeway runs out from the village and ends at the Tide House on its hump of rock."
    more = [PlayedTurn(number, "wait", "Time passes, and the mud lies there as before.") for number in range(2, 42)]
    best, latest = (
        Game(episode, score, f"Causeway\n{start}", (PlayedTurn(1, command, f"{text}\n{yard}", to_id=35), *turns))
        for episode, score, command, text, turns in (
            (3, 5, "north", "Forecourt", ()),
            (4, 0, "up", f"A wall.\n{start}", more),
        )
    )
    text = games_text([best, latest], characters).text
    assert [text.count(line) for line in (yard, start)] == [1, 1]
    assert "The stone causeway runs out from the… [line as in episode 3, the start]" in text
    assert "A flagged yard on top of the rock, and… [line as in episode 3, turn 1]" in text
    assert ("without what the story had printed before" in text) == (characters < 20_000)


def test_the_screens_of_a_menu_in_an_earlier_game_are_shown_by_their_keys_and_its_pages_and_what_follows_whole() -> (
    None
):
    fruit, hall = "Apples\n> Pears\nPlums\nFigs\nNuts", "Hall\nDark."
    page = " ".join(["You can bark, lick, chew and scratch, as every dog can."] * 3)
    keys = (("n", fruit), ("return", fruit), ("p", page), ("space", fruit), ("q", hall))
    visit = (PlayedTurn(number, *each, is_key=True) for number, each in enumerate(keys, start=2))
    turns = (PlayedTurn(1, "about", fruit), *visit, PlayedTurn(7, "wait", "Time passes."))
    file = file_of(Game(1, 0, "Mud.", turns))
    assert parse_transcripts(file.render()).games[0].turns == turns
    assert games_text(file.games, 9000).text.partition("Turn 1: ")[2] == (
        f"about\n{fruit}\n\nTurns 2-3: menu, 2 keys: n; return\n\nTurn 4: p\n{page}\n\n"
        f"Turn 5: menu, 1 key: space\n\nTurn 6: q\n{hall}\n\nTurn 7: wait\nTime passes."
    )


def test_no_game_is_the_best_if_no_score_is_known() -> None:
    text = games_text([game(2, None, "a"), game(1, None, "b")], 20_000).text
    assert re.findall("^Episode.*", text, re.MULTILINE) == ["Episode 2, the latest:", "Episode 1, an earlier one:"]


@pytest.mark.parametrize("characters", [2000, 8000])
def test_games_are_condensed_to_their_room(characters: int) -> None:
    games = [game(episode, episode, *(f"{'read' * 9} {episode} {n}" for n in range(200))) for episode in (2, 1)]
    text = games_text(games, characters).text
    assert characters * 0.4 < len(text) <= characters
    assert "commands only (texts left out for want of room)" in text
    assert games_text(games[:1], 100_000).text.startswith("Episode 2, 2 points:\n\nStart:")
