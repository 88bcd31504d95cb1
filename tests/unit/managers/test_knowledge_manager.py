"""Knowledge is learned from turns that were played, outlives the episode, and loses nothing that anybody wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from managers.route_manager import open_routes
from managers.routes.document import RouteBook
from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid, StoreError
from session.game_configuration import ChangedPrompt
from session.game_state import GameState
from session.knowledge import INSIGHTS, SECTIONS, KnowledgeEntry, KnowledgeLine, Source
from session.route import Goal, Route, RouteStep, Waypoint
from session.values import Location, Proposal, Verdict
from tests.fixtures.dye_works import BANNER, GATE, LOFT, MORDANT, OPENING, VATS, section_text
from tests.fixtures.held_stores import held
from tests.fixtures.scripted_llm import Reply
from tests.unit.managers.knowledge_parts import KnowledgePlay, answer, line
from zorkgpt.prompts.loader import using_prompts

NOTHING = answer()
WORDS = "word " * 100
UNASKED: dict[str, Any] = {"knowledge_update_interval": 900}
"""Nothing is asked before the end."""
SMALL = {"analysis": 1500}
SPELLINGS: tuple[object, ...] = (["5-7"], ["T5 \u2013 7"], ["T5", 6, "7"], [7, 5, "6"], "5,6, T7")
MARK = len(" […]")
SOLVED = answer(line("Mordant first, then dye.", 5, 7))


def nothing_new(*_: object) -> Reply:
    return NOTHING


@pytest.fixture
def play(tmp_path: Path) -> KnowledgePlay:
    return KnowledgePlay(tmp_path, nothing_new)


def taught(workdir: Path, *replies: Reply, turns: int = 10, **options: Any) -> KnowledgePlay:
    """That many turns were played with these answers."""
    play = KnowledgePlay(workdir, replies, **options)
    play.play(turns)
    return play


def prompt_of(play: KnowledgePlay) -> str:
    """The latest prompt once the episode has ended."""
    play.manager.end()
    return play.prompts[-1]


def longest(letter: str, text: str) -> int:
    """The length of the longest run of the letter, on both sides of a cut."""
    return max(map(len, re.findall(f"{letter}+", text.replace(" […]", ""))), default=0)


def parts(prompt: str) -> dict[str, str]:
    """The fields of the prompt."""
    pattern = r"WHAT IS KNOWN:\n(.*)\n\nREMEMBERED.*?:\n(.*)\n\nEPHEMERAL.*?:\n(.*)\n\nPLAYED.*?:\n(.*)"
    found = re.fullmatch(pattern, prompt.strip(), re.DOTALL)
    assert found is not None
    return dict(zip(("known", "remembered", "ephemeral", "played"), found.groups(), strict=True))


def test_a_room_that_was_described_again_is_whole_in_the_first_turn_only(tmp_path: Path) -> None:
    play, room = KnowledgePlay(tmp_path, nothing_new), f"{GATE.name}\n{'Looms clatter. ' * 9}"
    for score in (0, 0, 1, 1, 2, 2):
        play.turn("look", f"{room}\nA dog barks." if score else room, score=score)
    told = parts(prompt_of(play))["played"].splitlines()
    texts = [text.strip() for text in told if text.startswith("  ")]
    assert ["[line as in turn 1]" in text for text in texts] == [False, *[True] * 5]
    assert texts[0] == room.replace("\n", ": ").strip()


def test_beside_the_question_about_the_episode_there_is_no_section_for_deaths(play: KnowledgePlay) -> None:
    play.play(6)
    own = ChangedPrompt(file="mine.md", sha256="", text="* DEATH & DANGER ANALYSIS")
    for prompts in ({}, {"knowledge_deaths": own}):
        with using_prompts(prompts):
            (question,) = play.manager.questions(())
        assert question.beside is not None
        systems = [each.system for each in (question.prompt, question.beside.prompt)]
        assert ["DEATH & DANGER" in each for each in systems] == [True, False]


class TestWhenTheModelIsAsked:
    def test_once_an_interval_and_at_the_end_of_an_episode_about_what_came_since(self, tmp_path: Path) -> None:
        play = taught(tmp_path, NOTHING, NOTHING, answer(line("The gate sticks.", 26)), turns=26)
        assert [call.role for call in play.llm.calls] == ["analysis"] * 2
        play.manager.end()
        assert "Turn 20 at" not in play.llm.calls[-1].prompt.user
        assert "Turn 21 at" in play.llm.calls[-1].prompt.user
        assert play.known == ["- The gate sticks. *(Ep1, T26)*"]
        play.manager.end()
        assert len(play.llm.calls) == 3

    def test_not_where_nothing_happened(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path)
        for _ in range(12):
            play.turn()
            play.manager.process_periodic_update()
        assert play.llm.calls == []
        assert play.metrics["trivial"] == 1

    @pytest.mark.parametrize(("turns", "is_asked"), [(4, False), (5, True)])
    def test_about_five_turns_in_which_something_was_won(
        self, play: KnowledgePlay, turns: int, *, is_asked: bool
    ) -> None:
        play.turn("north", "Blue Vats", location=VATS)
        for _ in range(turns - 1):
            play.turn()
        play.manager.end()
        assert bool(play.llm.calls) is is_asked

    @pytest.mark.parametrize(
        ("event", "asked"),
        [
            ({"inventory": (BANNER,)}, 0),
            ({"location": VATS}, 0),
            ({"score": 5}, 1),
            ({"score": -5}, 1),
            ({"died": True}, 1),
        ],
    )
    def test_about_few_turns_if_they_scored_or_killed(self, tmp_path: Path, event: dict[str, Any], asked: int) -> None:
        play = KnowledgePlay(tmp_path, [NOTHING])
        play.turn(**event)
        play.manager.end()
        assert len(play.llm.calls) == asked

    def test_never_after_the_game_is_over_until_the_end_of_the_episode(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [NOTHING])
        for _ in range(10):
            play.turn(score=1, ending="lost")
        play.manager.process_periodic_update()
        assert play.llm.calls == []

    def test_never_where_knowledge_is_switched_off(self, tmp_path: Path) -> None:
        play = taught(tmp_path, turns=20, written="- Never swim.\n", knowledge={"enabled": False})
        play.manager.end()
        assert (play.llm.calls, play.manager.text(500)) == ([], "")


class TestWhatIsTaken:
    def test_lines_are_written_to_their_sections_or_to_lessons_with_episode_and_turns(self, tmp_path: Path) -> None:
        lines = [
            line("Mordant first, then dye.", 7, 5, 6, 9),
            line("Look twice.", 5, section="command syntax"),
            line("Fumes kill.", 5, section="dangers & Threats"),
        ]
        play = taught(tmp_path, answer(*lines), episode=3)
        assert play.file.read_text() == (
            "# Knowledge Base\n\n"
            "## DANGERS & THREATS\n\n- Fumes kill. *(Ep3, T5)*\n\n"
            "## PUZZLE SOLUTIONS\n\n- Mordant first, then dye. *(Ep3, T5-7; Ep3, T9)*\n\n"
            "## LESSONS LEARNED\n\n- Look twice. *(Ep3, T5)*\n"
        )
        assert play.metrics["taken"] == 3

    @pytest.mark.parametrize(
        ("told", "known"),
        [
            *(({**line("Dye."), "turns": turns}, "- Dye. *(Ep1, T5-7)*") for turns in SPELLINGS),
            (line("Dye. *(Ep9, T99)*", 5), "- Dye. *(Ep1, T5)*"),
            (line("x" * 900, 1), f"- {'x' * 900} *(Ep1, T1)*"),
        ],
        ids=[*map(str, SPELLINGS), "a citation that the model copies into the text", "a long line"],
    )
    def test_a_line_is_read_as_models_write_it(self, tmp_path: Path, told: dict[str, object], known: str) -> None:
        assert taught(tmp_path, answer(told)).known == [known]

    @pytest.mark.parametrize(
        "refused",
        [line("Dye."), line("Dye.", 11), line("Dye.", 5, 0), line("Dye.", "the last one"), line(" \n ", 5)],
    )
    def test_what_cites_no_turn_that_was_played_is_refused(self, tmp_path: Path, refused: dict[str, object]) -> None:
        play = taught(tmp_path, answer(refused, line("Kept.", 5)))
        assert play.known == ["- Kept. *(Ep1, T5)*"]
        assert play.metrics["refused"] == 1

    def test_the_same_words_again_add_their_turns(self, tmp_path: Path) -> None:
        again = line("mordant first,  then DYE.", 15, section="LESSONS LEARNED")
        play = taught(tmp_path, SOLVED, answer(again), turns=20)
        assert play.known == ["- Mordant first, then dye. *(Ep1, T5; Ep1, T7; Ep1, T15)*"]

    def test_a_better_line_takes_the_place_of_the_old_one_and_has_the_turns_that_it_cites(self, tmp_path: Path) -> None:
        better = answer(line("Mordant, wait, dye.", 15, replaces=[1, 7]))
        best = answer(line("Mordant, wait for noon, dye.", 25, replaces=[1]))
        play = taught(tmp_path, SOLVED, better, best, turns=30)
        assert play.known == ["- Mordant, wait for noon, dye. *(Ep1, T25)*"]
        assert play.archive.read_text() == (
            "# Archive of the knowledge base\n\n"
            "- Mordant first, then dye. *(Ep1, T5; Ep1, T7)* (in PUZZLE SOLUTIONS until Ep1, T20)\n"
            "- Mordant, wait, dye. *(Ep1, T15)* (in PUZZLE SOLUTIONS until Ep1, T30)\n"
        )
        assert [play.metrics[name] for name in ("updates", "taken", "archived")] == [3, 3, 2]

    def test_a_wrong_number_does_not_remove_a_solution(self, tmp_path: Path) -> None:
        play = taught(tmp_path, SOLVED, answer(line("The otter wants a herring.", 15, replaces=[1])), turns=20)
        assert play.known == [
            "- Mordant first, then dye. *(Ep1, T5; Ep1, T7)*",
            "- The otter wants a herring. *(Ep1, T15)*",
        ]

    def test_a_correction_in_other_words_takes_the_place_of_what_it_corrects(self, tmp_path: Path) -> None:
        refuted = line("The keeper wins every fight while the lamps burn, so put out the lamps before noon strikes.", 5)
        better = "The keeper wins in darkness, too, unless the fight comes after he has drunk."
        play = taught(tmp_path, answer(refuted), answer(line(better, 15, replaces=[1])), turns=20)
        assert play.known == [f"- {better} *(Ep1, T15)*"]

    @pytest.mark.parametrize(
        ("better", "is_about_it"),
        [
            ("Vats (31): masks stop the blue fumes.", True),
            ("(1) feed the otter, (2) take what it guards.", False),
        ],
    )
    def test_a_line_with_some_of_its_words_replaces_and_one_with_as_many_steps_does_not(
        self, tmp_path: Path, better: str, *, is_about_it: bool
    ) -> None:
        hard_won = "(1) hold your breath, (2) cross swiftly: fumes kill within two turns, Blue Vats (31)"
        play = taught(tmp_path, answer(line(hard_won, 5)), answer(line(better, 15, replaces=[1])), turns=20)
        kept = [] if is_about_it else [f"- {hard_won} *(Ep1, T5)*"]
        assert play.known == [*kept, f"- {better} *(Ep1, T15)*"]

    def test_what_a_person_wrote_has_no_number_and_stays_to_the_byte(self, tmp_path: Path) -> None:
        written = "\ufeffMine!\r\n\r\n## PUZZLE SOLUTIONS\r\n* Ask  the *dyer*\r\n\r\n<!-- later -->\r\n"
        play = taught(tmp_path, answer(line("Better.", 5, replaces=[1])), written=written)
        assert "\n- Ask the *dyer*" in play.llm.calls[0].prompt.user
        assert play.file.read_bytes().decode() == f"{written}\r\n- Better. *(Ep1, T5)*\r\n"
        assert not play.archive.exists()


class TestNothingOfThisEpisodeAlone:
    def test_a_line_that_rests_on_ephemeral_turns_alone_is_dropped_and_counted(self, tmp_path: Path) -> None:
        lines = [line("Rope hangs here.", 2), line("Banner lies here.", 6, 7), line("Gate sticks.", 6, 9)]
        play = KnowledgePlay(tmp_path, [answer(*lines)])
        play.remember("2")
        given_up = play.memories.ephemeral_cache[GATE.num][0].superseded("Gone", 6)
        play.memories.ephemeral_cache[GATE.num] = [given_up]
        play.remember("6-8")
        play.play(10)
        assert play.known == ["- Gate sticks. *(Ep1, T6; Ep1, T9)*"]
        assert (play.metrics["ephemeral"], play.metrics["refused"]) == (2, 0)

    def test_a_line_whose_turns_turn_out_to_be_ephemeral_goes_to_the_archive_at_the_end(self, tmp_path: Path) -> None:
        lines = answer(line("Banner lies here.", 6), line("Gate sticks.", 6, 8))
        written = "## LESSONS LEARNED\n- Vats boil. *(Ep1, T6)*\n"
        play = taught(tmp_path, lines, NOTHING, turns=11, written=written)
        play.remember("6")
        assert "- Banner lies here. *(Ep1, T6)*" in play.known
        play.manager.end()
        assert play.known == ["- Gate sticks. *(Ep1, T6; Ep1, T8)*", "- Vats boil. *(Ep1, T6)*"]
        assert "Banner" not in play.manager.text(500)
        assert "- Banner lies here. *(Ep1, T6)* (in PUZZLE SOLUTIONS until Ep1, T11)" in play.archive.read_text()
        assert (play.metrics["ephemeral"], play.metrics["archived"]) == (1, 1)

    def test_a_memory_whose_turns_a_person_counted_without_end_covers_those_that_were_played(
        self, tmp_path: Path
    ) -> None:
        play = taught(tmp_path, answer(line("Banner lies here.", 6)), turns=11)
        play.remember("6-999999999")
        play.manager.end()
        assert play.known == []

    def test_the_model_is_shown_them_as_such(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [NOTHING])
        play.remember("4-7")
        play.remember("6", "permanent", "Gate sticks")
        play.remember("", "permanent", "Of a turn unknown")
        play.play(10)
        user = play.llm.calls[0].prompt.user
        assert "EPHEMERAL, GONE WHEN THE NEXT EPISODE BEGINS:\n- T4-7, Dye Works Gate (11): Banner was dropped" in user
        assert "Turn 4 at Dye Works Gate (11) EPHEMERAL: wait" in user
        assert "Turn 5 at Dye Works Gate (11) [score +1, now 1]: wait" in user
        assert "Turn 6 at Dye Works Gate (11): wait" in user
        assert "IN THIS EPISODE:\n- T6, Dye Works Gate (11): Gate sticks: It lies here." in user
        assert "\n- Dye Works Gate (11): Of a turn unknown: It lies here." in user

    def test_lines_of_other_managers_are_judged_alike(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path)
        play.remember("3-4")
        play.play(9)
        lines = [
            KnowledgeLine("Ephemeral.", (Source(1, 3, 4),)),
            KnowledgeLine("Of old.", (Source(1, 3, 4), Source(0, 1, 1))),
            KnowledgeLine("Not played.", (Source(1, 9, 10),)),
            KnowledgeLine("From nowhere."),
        ]
        with capture_logs() as logs:
            assert play.manager.add_lines(SECTIONS[3], lines) == 1
            play.manager.replace_insights([KnowledgeEntry(INSIGHTS[0], line) for line in lines])
        told = [(log["reason"], log["text"]) for log in logs if log["event"] == "a line of knowledge is not taken"]
        assert told[:3] == [("ephemeral", "Ephemeral."), ("refused", "Not played."), ("refused", "From nowhere.")]
        assert play.known == ["- Of old. *(Ep0, T1; Ep1, T3-4)*"] * 2
        assert (play.metrics["ephemeral"], play.metrics["refused"]) == (2, 4)


class TestOneDeedTeachesTwoThings:
    """That the painting is taken is over with the episode; that it is worth points is not."""

    @pytest.mark.parametrize(
        ("action", "ephemeral", "permanent", "taught", "after"),
        [
            ("put painting in case", "Painting is in the case", "", "Treasures win points twice", {"score": 6}),
            ("climb charles", "Iron key taken", "", "`climb charles` brings the key", {"score": 3}),
            ("eat lotus", "Lotus is eaten", "", "The lotus kills", {"died": True}),
            ("push statues", "Statue taken", "", "`push` breaks one off", {"inventory": (BANNER, MORDANT)}),
            ("open window", "Window is open", "Window leads in", "The window opens", {"world_hash": "1"}),
        ],
    )
    def test_what_was_won_by_it_is_known_though_what_was_done_is_ephemeral(
        self, tmp_path: Path, action: str, ephemeral: str, permanent: str, taught: str, after: dict[str, Any]
    ) -> None:
        play = KnowledgePlay(tmp_path, [answer(line(taught, 2)), NOTHING])
        play.turn(inventory=(BANNER,))
        play.turn(action, **after)
        play.turn("drop banner", inventory=())
        play.remember("2", title=ephemeral)
        if permanent:
            play.remember("1-2", "permanent", permanent)
        play.play(7)
        assert play.known == [f"- {taught} *(Ep1, T2)*"]
        assert "Turn 2 at Dye Works Gate (11) EPHEMERAL" not in play.llm.calls[0].prompt.user
        play.manager.end()
        assert (len(play.known), play.metrics["ephemeral"]) == (1, 0)

    def test_what_lay_there_before_the_deed_is_no_lesson_of_it(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("The vial is carried.", 2))])
        play.turn()
        play.turn("take vial", inventory=(BANNER,))
        play.remember("2", title="Vial taken")
        play.remember("2", "core", "Four vials on a shelf")
        play.play(8)
        assert play.known == []

    def test_nothing_is_ephemeral_in_an_episode_in_which_no_ephemeral_memory_was_made(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("The window opens.", 2)), answer(line("The door opens.", 2))])
        play.remember("2")
        play.play(10)
        play.memories.ephemeral_cache.clear()
        play.begin(2)
        play.play(10)
        assert play.known == ["- The door opens. *(Ep2, T2)*"]


class TestInsights:
    def test_new_ones_take_the_place_of_the_programs_old_ones_below_their_headings(self, tmp_path: Path) -> None:
        written = (
            f"### {INSIGHTS[0]}\n- Hold your breath.\n- Fumes kill. *(Ep1, T4)*\n- Mind the gate. *(Ep1, T9)*\n"
            f"### {INSIGHTS[1]}\n- Alum is dear. *(Ep1, T4)*\n"
        )
        play = KnowledgePlay(tmp_path, episode=2, written=written)
        fumes, vats, alum = (
            KnowledgeEntry(heading, KnowledgeLine(text, (Source(1, 4, 4),)))
            for heading, text in zip(
                (INSIGHTS[0], INSIGHTS[3], INSIGHTS[1]), ("Fumes kill.", "Vats boil.", "Alum is dear."), strict=True
            )
        )
        play.manager.replace_insights([fumes, vats, alum])
        hold = KnowledgeEntry(INSIGHTS[0], KnowledgeLine("Hold your breath."))
        assert play.manager.insights() == [hold, fumes, alum, vats]
        assert "Mind the gate." in play.archive.read_text()
        assert "Fumes" not in play.archive.read_text()

    def test_what_stands_there_is_not_judged_by_an_episode_of_the_same_number(self, tmp_path: Path) -> None:
        old = "- Fumes kill. *(Ep1, T40)*\n- Vats boil. *(Ep1, T5)*\n"
        play = KnowledgePlay(tmp_path, written=f"### {INSIGHTS[0]}\n{old}")
        play.remember("5")
        play.play(9)
        new = KnowledgeEntry(INSIGHTS[0], KnowledgeLine("Mind the gate.", (Source(1, 6, 6),)))
        play.manager.replace_insights([*play.manager.insights(), new])
        assert play.file.read_text() == f"### {INSIGHTS[0]}\n{old}- Mind the gate. *(Ep1, T6)*\n"
        assert not play.archive.exists()
        assert (play.metrics["ephemeral"], play.metrics["refused"]) == (0, 0)


class TestWhatTheAgentIsShown:
    def test_it_changes_at_updates_and_with_an_episode_only(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [SOLVED])
        play.file.write_text("- Never swim.\n")
        play.play(9)
        play.manager.add_lines(SECTIONS[0], [KnowledgeLine("Fumes kill.", (Source(1, 4, 4),))])
        assert play.manager.text(500) == ""
        play.play(1)
        assert play.manager.text(500) == (
            "DANGERS & THREATS:\n- Fumes kill.\n\nPUZZLE SOLUTIONS:\n- Mordant first, then dye.\n\n- Never swim."
        )
        play.file.write_text("- Swim.\n")
        assert "Never swim" in play.manager.text(500)
        play.manager.reset(GameState(episode=2))
        assert play.manager.text(500) == "- Swim."

    @pytest.mark.parametrize("is_small", [False, True])
    def test_what_was_won_in_this_game_is_not_shown_to_a_small_model(self, tmp_path: Path, is_small: bool) -> None:
        won, other = "- `up` at Dye Works Gate (11): +5 points", "- `up` at Blue Vats (31): +5 points"
        agent = {"reasoning_length": 0 if is_small else None}
        play = KnowledgePlay(tmp_path, written=f"## PUZZLE SOLUTIONS\n{won}\n{other}\n", agent=agent)

        def shown() -> str:
            section = play.manager.section(play.now)
            return section.text if section else ""

        assert won in shown()
        play.turn("up", score=5)
        assert (won in shown()) is not is_small
        assert other in shown()
        assert "left out" not in shown()

    def test_of_each_section_the_best_line_comes_before_the_second_best_of_any(self, tmp_path: Path) -> None:
        lines = [f"- Danger {number} is near. *(Ep1, T{number})*\n" for number in range(9)]
        sure = "- Danger that came back. *(Ep1, T1; Ep2, T1)*\n"
        written = f"## LESSONS LEARNED\n- Look at the banner. *(Ep1, T1)*\n## DANGERS & THREATS\n{''.join(lines)}{sure}"
        text = KnowledgePlay(tmp_path, written=written).manager.text(31)
        assert text == (
            "DANGERS & THREATS:\n- Danger that came back.\n\nLESSONS LEARNED:\n- Look at the banner.\n\n"
            "(9 more lines left out)"
        )

    @pytest.mark.parametrize("tokens", [0, 1, 7, 40, 200])
    def test_it_keeps_to_its_tokens(self, tmp_path: Path, tokens: int) -> None:
        lines = "".join(f"- {'long ' * number}line\n\n" for number in range(200))
        play = KnowledgePlay(tmp_path, written=f"## DANGERS & THREATS\n{lines}## Mine\n{lines}")
        assert len(play.manager.text(tokens)) <= 4 * tokens


class TestWhenItGrowsTooLong:
    LINES = answer(*(line(f"Rule {number}: {WORDS[:390]}", 5, number) for number in range(1, 5)))

    def test_the_model_merges_and_cuts_and_what_goes_is_archived(self, tmp_path: Path) -> None:
        merged = {"lines": [{"text": "Both in one.", "replaces": [1, 2]}], "cut": [3, 4, 4, 9]}
        play = taught(tmp_path, self.LINES, merged, knowledge={"max_tokens": 120})
        assert [known.split(":")[0] for known in play.known] == ["- Rule 3", "- Both in one. *(Ep1, T1-2; Ep1, T5)*"]
        archived = [line.split(":")[0] for line in play.archive.read_text().splitlines()[2:]]
        assert archived == ["- Rule 1", "- Rule 2", "- Rule 4"]
        assert play.metrics["consolidations"] == 1

    def test_no_more_is_cut_than_has_to_go(self, tmp_path: Path) -> None:
        play = taught(tmp_path, self.LINES, {"cut": [1, 2, 3, 4]}, knowledge={"max_tokens": 320})
        assert len(play.known) == 3

    @pytest.mark.parametrize(
        ("reply", "failures"),
        [({"lines": [{"text": "steam " * 40, "replaces": [1]}]}, 0), (ResponseInvalid("?"), 1)],
        ids=["merged into a line that is no shorter", "no answer"],
    )
    def test_without_a_useful_answer_all_stays(self, tmp_path: Path, reply: Reply, failures: int) -> None:
        play = taught(tmp_path, answer(line("steam " * 20, 5)), reply, knowledge={"max_tokens": 10})
        assert len(play.known) == 1
        assert not play.archive.exists()
        assert play.metrics["failures"] == failures

    def test_people_are_not_asked_to_be_short(self, tmp_path: Path) -> None:
        play = taught(tmp_path, NOTHING, written=f"- {WORDS}\n", knowledge={"max_tokens": 10})
        assert len(play.llm.calls) == 1


class TestFailures:
    @pytest.mark.parametrize("error", [LanguageModelUnavailable("down"), ResponseInvalid("no JSON")])
    def test_turns_are_asked_about_again_after_a_failure(self, tmp_path: Path, error: LanguageModelError) -> None:
        play = KnowledgePlay(tmp_path, [error, SOLVED])
        with capture_logs() as logs:
            play.play(19)
        assert [log["log_level"] for log in logs if log["event"].startswith("the knowledge")] == ["warning"]
        play.play(1)
        assert play.known == ["- Mordant first, then dye. *(Ep1, T5; Ep1, T7)*"]
        assert (play.metrics["failures"], play.metrics["updates"]) == (1, 1)

    def test_a_spent_budget_is_not_swallowed(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [BudgetSpent("5000 tokens")])
        with pytest.raises(BudgetSpent):
            play.play(10)

    def test_a_file_that_cannot_be_read_is_told_at_once_but_stops_nothing_once_playing(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [SOLVED])
        held(tmp_path, play.manager)
        play.file.write_bytes(b"\xff")
        with pytest.raises(StoreError):
            KnowledgePlay(tmp_path)
        play.play(10)
        assert play.metrics["pending_edits"] == 1
        with pytest.raises(StoreError):
            play.manager.commit()
        play.file.unlink()
        play.manager.commit()
        assert len(play.known) == 1

    def test_in_a_run_files_change_in_a_commit_alone_and_once(self, tmp_path: Path) -> None:
        better = answer(line("Mordant, wait, dye.", 15, replaces=[1]), line("Gate sticks.", 16))
        play = KnowledgePlay(tmp_path, [SOLVED, better, NOTHING])
        held(tmp_path, play.manager)
        play.play(20)
        assert list(tmp_path.glob("knowledge*.md")) == []
        assert "Mordant, wait" in play.manager.text(500)
        play.manager.commit()
        before = [play.file.read_bytes(), play.archive.read_bytes()]
        play.manager.commit()
        assert [play.file.read_bytes(), play.archive.read_bytes()] == before


class TestSmallModels:
    def test_they_choose_a_turn_which_is_told_as_command_and_result(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [{"turn": 2}], prompt_budgets=SMALL)
        play.turn("pull crank", "The sluice opens.", score=5)
        play.turn("enter vat", "You  dissolve\nin it.", died=True, score=0)
        play.turn("drop banner", "Dropped.", inventory=())
        play.manager.end()
        assert play.known == [
            '- `enter vat` at Dye Works Gate (11): -5 points, the player died: "You dissolve in it." *(Ep1, T2)*'
        ]
        (call,) = play.llm.calls
        assert call.schema.model_json_schema()["properties"]["turn"]["enum"] == [1, 2]

    @pytest.mark.parametrize(
        ("event", "line"),
        [
            (
                {"died": True, "score": 15, "text": f"You read. {'The sand glows. ' * 20}It bites you."},
                "## DEATH & DANGER ANALYSIS\n\n- `go` at Dye Works Gate (11): -5 points, the player died: ",
            ),
            (
                {"ending": "lost", "location": VATS, "text": "Blue Vats\nYou have missed it."},
                '## DEATH & DANGER ANALYSIS\n\n- `go` at Dye Works Gate (11): the story was LOST: "Blue Vats You',
            ),
            ({"score": 19}, "## DANGERS & THREATS\n\n- `go` at Dye Works Gate (11): -1 point: "),
            ({"score": 25}, '## PUZZLE SOLUTIONS\n\n- `go` at Dye Works Gate (11): +5 points: "Time passes."'),
            (
                {"score": 45, "location": VATS, "text": f"Blue Vats\n{'Blue runs down everywhere. ' * 9}"},
                "## PUZZLE SOLUTIONS\n\n- `go` at Dye Works Gate (11): +25 points, leads to Blue Vats (31) *(Ep1, T1)*",
            ),
        ],
    )
    def test_a_single_turn_is_told_without_a_question(self, tmp_path: Path, event: dict[str, Any], line: str) -> None:
        play = KnowledgePlay(tmp_path, prompt_budgets=SMALL)
        play.now = replace(play.now, score=20)
        play.turn("go", **event)
        play.manager.end()
        assert line in play.file.read_text()
        assert play.llm.calls == []

    def test_a_turn_that_they_invent_is_no_answer(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [{"turn": 9}], prompt_budgets=SMALL)
        play.turn(score=5)
        play.turn(score=7)
        play.play(8)
        assert play.known == []
        assert play.metrics["failures"] == 1

    def test_they_choose_from_the_latest_eight_turns_told_in_a_few_words(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [{"turn": 12}], **UNASKED, prompt_budgets=SMALL)
        for score in range(1, 13):
            play.turn("a" * 900, "r" * 900, score=score)
        prompt = prompt_of(play)
        assert re.findall(r"^Turn (\d+):", prompt, re.MULTILINE) == [str(turn) for turn in range(5, 13)]
        assert (longest("a", prompt), prompt.count("r [… ")) == (80 - MARK, 8)


class TestHowMuchIsShown:
    def test_of_a_turn_a_short_place_and_command_and_the_whole_response(self, play: KnowledgePlay) -> None:
        play.turn(location=Location(31, "p" * 900))
        play.turn("a" * 900, "r" * 9000, score=5)
        _, told = prompt_of(play).split("Turn 2")
        assert [longest(letter, told) for letter in "par"] == [60 - MARK, 200 - MARK, 9000]

    def test_the_cause_of_a_death_stands_there_however_little_room_there_is(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, nothing_new, prompt_budgets={"analysis": 2400})
        for _ in range(9):
            play.turn("wait", WORDS)
        play.turn("read writing", f"You read. {'The sand glows green. ' * 200}It bites your throat.", died=True)
        assert "The sand glows green. It bites your throat.\n" in f"{prompt_of(play)}\n"

    def test_responses_without_a_fact_go_first_and_each_is_whole(self, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []
        for budget in (27_500, 22_500, 17_500, 5000, 3000, 2600):  # of which a question at the end takes a part
            play = KnowledgePlay(tmp_path / str(budget), nothing_new, **UNASKED, prompt_budgets={"analysis": budget})
            for score in range(1, 31):
                play.turn(f"stir {score}", f"{score}{'t' * 500}", score=score)
                play.turn("wait", f"{score}{'o' * 500}")
            played = parts(prompt_of(play))["played"]
            seen.append((played.count("t" * 500), played.count("o" * 500)))
            assert "[… " not in played
            assert seen[-1] == (30, 30) or "left out)" in played or "[…]" in played
        telling, others = zip(*seen, strict=True)
        assert telling[:3] == (30, 30, 30)
        assert 30 > telling[3] > telling[4] > telling[5] > 0
        assert 30 == others[0] > others[1] > others[2] > 0 == others[3]

    def test_what_is_known_and_remembered_leaves_room_for_what_was_played(self, tmp_path: Path) -> None:
        """Known lines have two fifths of the room, memories three twentieths of either kind, and turns the rest."""
        known = "# Knowledge Base\n\n## LESSONS LEARNED\n" + "".join(f"- {number} {WORDS}\n" for number in range(200))
        play = KnowledgePlay(tmp_path, nothing_new, written=known, **UNASKED, prompt_budgets={"analysis": 8000})
        for number in range(200):
            play.turn(f"stir {number}", "t" * 500, score=number + 1)
            for persistence in ("ephemeral", "permanent"):
                play.remember(str(number + 1), persistence, title=f"{number} {WORDS}")
        lengths = {name: len(text) for name, text in parts(prompt_of(play)).items()}
        shares = {name: round(length / sum(lengths.values()) * 20) for name, length in lengths.items()}
        assert shares == {"known": 8, "remembered": 3, "ephemeral": 3, "played": 7}

    def test_memories_that_are_not_proven_are_marked(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, nothing_new, **UNASKED)
        play.turn("north", "Blue Vats", location=VATS, score=5)
        for persistence in ("ephemeral", "permanent"):
            play.remember("1", persistence, title="Dog may bite", status="TENTATIVE")
        shown = parts(prompt_of(play))
        for name in ("remembered", "ephemeral"):
            assert ": [TENTATIVE] Dog may bite: " in shown[name]

    def test_the_latest_three_hundred_turns_wait_for_an_update(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, nothing_new, **UNASKED, prompt_budgets={"analysis": 60_000})
        for score in range(1, 311):
            play.turn(score=score)
        turns = re.findall(r"^Turn (\d+) at", prompt_of(play), re.MULTILINE)
        assert (turns[0], turns[-1], len(turns)) == ("11", "310", 300)

    def test_what_is_known_takes_a_fifth_of_the_agents_prompt(self, tmp_path: Path) -> None:
        lines = "# Knowledge Base\n\n## LESSONS LEARNED\n" + "".join(f"- {n:02} {'x' * 72}\n" for n in range(40))
        options: dict[str, Any] = {"prompt_budgets": {"agent": 1000}, "knowledge": {"max_tokens": 5000}}
        play = KnowledgePlay(tmp_path, written=lines, **options)
        assert 700 < len(section_text(play.manager, play.now)) <= 800


def test_the_turn_that_stopped_a_route_is_told_with_its_response(tmp_path: Path) -> None:
    vats, loft = (Waypoint.of(replace(OPENING, location=location)) for location in (VATS, LOFT))
    steps = (RouteStep("east", vats), RouteStep("wait", vats), RouteStep("up", loft))
    route = Route(0, Goal("room", LOFT.num, LOFT.name), Waypoint.of(OPENING), steps, 1)
    open_routes(tmp_path).apply(lambda book: book.with_episode(RouteBook(routes=(route,)), (LOFT.num,)))
    play = KnowledgePlay(tmp_path, [NOTHING], **UNASKED)
    assert play.courses.set_out(Proposal("east", follow=1), play.now) == ""
    verdicts = (Verdict(accepted=True, source="route"),)
    play.turn("east", location=VATS, verdicts=verdicts)
    play.turn(verdicts=verdicts)
    play.turn("up", "The ladder breaks.", verdicts=verdicts)
    play.turn("dip banner", score=5)
    assert parts(prompt_of(play))["played"].startswith(
        "Turns 1-2: the way to Blue Vats (31), as known\n"
        "Turn 3 at Blue Vats (31) [the route stopped here]: up\n  The ladder breaks.\nTurn 4 "
    )
