"""Knowledge is learnt from turns that were played, outlives the episode, and loses nothing that anybody wrote."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from session.errors import BudgetSpent, LanguageModelError, LanguageModelUnavailable, ResponseInvalid, StoreError
from session.game_state import GameState
from session.knowledge import INSIGHTS, SECTIONS, KnowledgeLine, Source
from tests.fixtures.dye_works import BANNER, MORDANT, VATS
from tests.fixtures.held_stores import held
from tests.unit.managers.knowledge_parts import KnowledgePlay, answer, line
from zorkgpt.llm.language_model import Prompt, Role

NOTHING = answer()
SOLVED = answer(line("Mordant first, then dye.", 5, 7))


class TestWhenTheModelIsAsked:
    def test_once_an_interval_in_the_role_for_analysis(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, lambda *_: NOTHING)
        play.play(35)
        assert [call.role for call in play.llm.calls] == ["analysis"] * 3

    def test_at_the_end_of_an_episode_about_what_came_since(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [NOTHING, answer(line("The gate sticks.", 16))])
        play.play(16)
        assert play.manager.end()
        assert "Turn 10 at" not in play.llm.calls[-1].prompt.user
        assert "Turn 11 at" in play.llm.calls[-1].prompt.user
        assert play.known == ["- The gate sticks. *(Ep1, T16)*"]

    def test_not_twice_about_the_same_turns(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [NOTHING])
        play.play(10)
        assert not play.manager.end()
        assert len(play.llm.calls) == 1

    def test_not_where_nothing_happened(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path)
        for _ in range(12):
            play.turn()
            assert not play.manager.process_periodic_update()
        assert play.llm.calls == []
        assert play.metrics["trivial"] == 1

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
    def test_about_a_few_turns_only_where_they_scored_or_killed(
        self, tmp_path: Path, event: dict[str, Any], asked: int
    ) -> None:
        play = KnowledgePlay(tmp_path, [NOTHING])
        play.turn(**event)
        play.manager.end()
        assert len(play.llm.calls) == asked

    def test_never_after_the_game_is_over_until_the_end_of_the_episode(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [NOTHING])
        for _ in range(10):
            play.turn(score=1, ending="lost")
        assert not play.manager.process_periodic_update()
        assert play.llm.calls == []

    def test_never_where_knowledge_is_switched_off(self, tmp_path: Path) -> None:
        (tmp_path / "knowledgebase.md").write_text("- Never swim.\n")
        play = KnowledgePlay(tmp_path, knowledge={"enabled": False})
        play.play(20)
        assert not play.manager.end()
        assert (play.llm.calls, play.manager.text(500)) == ([], "")


class TestWhatIsTaken:
    def test_a_line_carries_its_episode_and_turns(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("Mordant first, then dye.", 7, 5, 6, 9))], episode=3)
        play.play(10)
        assert play.file.read_text() == (
            "# Knowledge Base\n\n## PUZZLE SOLUTIONS\n\n- Mordant first, then dye. *(Ep3, T5-7; Ep3, T9)*\n"
        )
        assert play.metrics["taken"] == 1

    @pytest.mark.parametrize("turns", [["5-7"], ["T5 \u2013 7"], ["T5", 6, "7"], [7, 5, "6"], "5,6, T7"])
    def test_turns_are_read_as_models_spell_them(self, tmp_path: Path, turns: object) -> None:
        play = KnowledgePlay(tmp_path, [answer({**line("Dye."), "turns": turns})])
        play.play(10)
        assert play.known == ["- Dye. *(Ep1, T5-7)*"]

    @pytest.mark.parametrize(
        "refused",
        [line("Dye."), line("Dye.", 11), line("Dye.", 5, 0), line("Dye.", "the last one"), line(" \n ", 5)],
    )
    def test_what_cites_no_turn_that_was_played_is_refused(self, tmp_path: Path, refused: dict[str, object]) -> None:
        play = KnowledgePlay(tmp_path, [answer(refused, line("Kept.", 5))])
        play.play(10)
        assert play.known == ["- Kept. *(Ep1, T5)*"]
        assert play.metrics["refused"] == 1

    def test_a_section_that_does_not_exist_is_lessons(self, tmp_path: Path) -> None:
        play = KnowledgePlay(
            tmp_path, [answer(line("A.", 5, section="command syntax"), line("B.", 5, section="dangers & Threats"))]
        )
        play.play(10)
        assert play.file.read_text().index("DANGERS & THREATS") < play.file.read_text().index("- B.")
        assert play.file.read_text().index("LESSONS LEARNED") < play.file.read_text().index("- A.")

    def test_a_citation_that_the_model_copies_into_the_text_goes(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("Dye. *(Ep9, T99)*", 5))])
        play.play(10)
        assert play.known == ["- Dye. *(Ep1, T5)*"]

    def test_the_same_words_again_add_their_turns(self, tmp_path: Path) -> None:
        play = KnowledgePlay(
            tmp_path, [SOLVED, answer(line("mordant first,  then DYE.", 15, section="LESSONS LEARNED"))]
        )
        play.play(20)
        assert play.known == ["- Mordant first, then dye. *(Ep1, T5; Ep1, T7; Ep1, T15)*"]

    def test_a_better_line_takes_the_place_of_the_old_one_and_has_the_turns_that_it_cites(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [SOLVED, answer(line("Mordant, wait, dye.", 15, replaces=[1, 7]))])
        play.play(20)
        assert play.known == ["- Mordant, wait, dye. *(Ep1, T15)*"]
        assert play.archive.read_text() == (
            "# Archive of the knowledge base\n\n"
            "- Mordant first, then dye. *(Ep1, T5; Ep1, T7)* (in PUZZLE SOLUTIONS until Ep1, T20)\n"
        )
        assert play.metrics["archived"] == 1

    def test_a_wrong_number_does_not_remove_a_solution(self, tmp_path: Path) -> None:
        """One wrong digit removed a procedure that was worth 15 points."""
        play = KnowledgePlay(tmp_path, [SOLVED, answer(line("The otter wants a herring.", 15, replaces=[1]))])
        play.play(20)
        assert play.known == [
            "- Mordant first, then dye. *(Ep1, T5; Ep1, T7)*",
            "- The otter wants a herring. *(Ep1, T15)*",
        ]

    def test_what_a_person_wrote_has_no_number_and_stays_to_the_byte(self, tmp_path: Path) -> None:
        written = "\ufeffMine!\r\n\r\n## PUZZLE SOLUTIONS\r\n* Ask  the *dyer*\r\n\r\n<!-- later -->\r\n"
        play = KnowledgePlay(tmp_path, [answer(line("Better.", 5, replaces=[1]))])
        play.file.write_bytes(written.encode())
        play.play(10)
        assert "\n- Ask the *dyer*" in play.llm.calls[0].prompt.user
        assert play.file.read_bytes().decode() == f"{written}\r\n- Better. *(Ep1, T5)*\r\n"
        assert not play.archive.exists()


class TestNothingOfThisEpisodeAlone:
    def test_a_line_that_rests_on_ephemeral_turns_alone_is_dropped_and_counted(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("Banner lies here.", 6, 7), line("Gate sticks.", 6, 9))])
        play.remember("6-8")
        with capture_logs() as logs:
            play.play(10)
        assert play.known == ["- Gate sticks. *(Ep1, T6; Ep1, T9)*"]
        assert [log["ephemeral"] for log in logs if log["event"] == "knowledge updated"] == [("Banner lies here.",)]
        assert (play.metrics["ephemeral"], play.metrics["refused"]) == (1, 0)

    def test_one_that_was_given_up_since_counts_too(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("Banner lies here.", 6))])
        play.remember("6")
        play.memories.ephemeral_cache[11] = [play.memories.ephemeral_cache[11][0].superseded("Gone", 6)]
        play.play(10)
        assert play.known == []

    def test_a_line_whose_turns_turn_out_to_be_ephemeral_goes_to_the_archive_at_the_end(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("Banner lies here.", 6), line("Gate sticks.", 6, 8)), NOTHING])
        play.file.write_text("## LESSONS LEARNED\n- Vats boil. *(Ep1, T6)*\n")
        play.manager.reset()
        play.play(11)
        play.remember("6")
        assert "- Banner lies here. *(Ep1, T6)*" in play.known
        assert play.manager.end()
        assert play.known == ["- Gate sticks. *(Ep1, T6; Ep1, T8)*", "- Vats boil. *(Ep1, T6)*"]
        assert "Banner" not in play.manager.text(500)
        assert "- Banner lies here. *(Ep1, T6)* (in PUZZLE SOLUTIONS until Ep1, T11)" in play.archive.read_text()
        assert (play.metrics["ephemeral"], play.metrics["archived"]) == (1, 1)

    def test_what_an_earlier_episode_learnt_is_not_dropped_by_a_later_one(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("Gate sticks.", 5))])
        play.play(10)
        play.state = GameState(episode=1)
        play.state.begin(play.now)
        play.manager.reset(play.state)
        play.remember("5")
        assert not play.manager.end()
        assert play.known == ["- Gate sticks. *(Ep1, T5)*"]

    def test_persistent_memories_and_other_episodes_do_not_count(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [SOLVED], episode=2)
        play.remember("5-7", "permanent")
        play.state.episode = 1
        play.remember("5-7")
        play.state.episode = 2
        play.play(10)
        assert play.metrics["taken"] == 1

    def test_the_model_is_shown_them_as_such(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [NOTHING])
        play.remember("4-7")
        play.remember("6", "permanent", "Gate sticks")
        play.play(10)
        user = play.llm.calls[0].prompt.user
        assert "EPHEMERAL, GONE WHEN THE NEXT EPISODE BEGINS:\n- T4-7, Dye Works Gate (11): Banner was dropped" in user
        assert "Turn 4 at Dye Works Gate (11) EPHEMERAL: wait" in user
        assert "Turn 5 at Dye Works Gate (11) [score +1, now 1]: wait" in user
        assert "Turn 6 at Dye Works Gate (11): wait" in user
        assert "IN THIS EPISODE:\n- T6, Dye Works Gate (11): Gate sticks: It lies here." in user

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
            play.manager.replace_insights({INSIGHTS[0]: lines})
        told = [(log["reason"], log["text"]) for log in logs if log["event"] == "a line of knowledge is not taken"]
        assert told[:3] == [("ephemeral", "Ephemeral."), ("refused", "Not played."), ("refused", "From nowhere.")]
        assert play.known == ["- Of old. *(Ep0, T1; Ep1, T3-4)*"] * 2
        assert (play.metrics["ephemeral"], play.metrics["refused"]) == (2, 4)


@dataclass(frozen=True)
class Deed:
    """What a player did, which was kept as ephemeral, what it taught, and what the machine saw of it."""

    action: str
    ephemeral: str
    taught: str
    after: dict[str, Any]
    permanent: str = ""


class TestOneDeedTeachesTwoThings:
    """That the painting is taken is over with the episode; that it is worth points is not."""

    DEEDS = (
        Deed(
            "put painting in case",
            "Painting is in the case",
            "Treasures win points twice: when taken, and when put into the trophy case",
            {"score": 6, "inventory": ()},
        ),
        Deed("climb charles", "Iron key taken", "`climb charles` in the hall brings the key", {"score": 3}),
        Deed("eat lotus", "Lotus is eaten", "The lotus kills", {"died": True}),
        Deed("push statues", "Statue taken", "`push statues` breaks one off", {"inventory": (BANNER, MORDANT)}),
        Deed(
            "open window",
            "Window stands open",
            "The window behind the house opens",
            {"world_hash": "1"},
            permanent="Window leads in",
        ),
    )

    @pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.action)
    def test_what_was_won_by_it_is_known_though_what_was_done_is_ephemeral(self, tmp_path: Path, deed: Deed) -> None:
        play = KnowledgePlay(tmp_path, [answer(line(deed.taught, 2)), NOTHING])
        play.turn(inventory=(BANNER,))
        play.turn(deed.action, **deed.after)
        play.turn("drop banner", inventory=())
        play.remember("2", title=deed.ephemeral)
        if deed.permanent:
            play.remember("1-2", "permanent", deed.permanent)
        play.play(7)
        assert play.known == [f"- {deed.taught} *(Ep1, T2)*"]
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

    def test_an_insight_of_it_is_taken_too(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path)
        play.turn("put painting in case", "Done.", score=6)
        play.remember("1", title="Painting is in the case")
        insight = KnowledgeLine("Treasures win points twice.", (Source(1, 1, 1),))
        play.manager.replace_insights({INSIGHTS[2]: [insight]})
        assert play.manager.insights()[INSIGHTS[2]] == (insight,)

    def test_nothing_is_ephemeral_in_an_episode_in_which_no_ephemeral_memory_was_made(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [answer(line("The window opens.", 2)), answer(line("The door opens.", 2))])
        play.remember("2")
        play.play(10)
        play.memories.ephemeral_cache.clear()
        play.state = GameState(episode=2)
        play.state.begin(play.now)
        play.manager.reset(play.state)
        play.play(10)
        assert play.known == ["- The door opens. *(Ep2, T2)*"]


class TestInsights:
    def test_new_ones_take_the_place_of_the_programs_old_ones(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, episode=2)
        play.file.write_text(
            f"### {INSIGHTS[0]}\n- Hold your breath.\n- Fumes kill. *(Ep1, T4)*\n- Mind the gate. *(Ep1, T9)*\n"
        )
        play.manager.reset()
        fumes, vats = (KnowledgeLine(text, (Source(1, 4, 4),)) for text in ("Fumes kill.", "Vats boil."))
        play.manager.replace_insights({INSIGHTS[0]: [fumes], INSIGHTS[3]: [vats]})
        assert play.manager.insights() == {
            INSIGHTS[0]: (KnowledgeLine("Hold your breath."), fumes),
            INSIGHTS[1]: (),
            INSIGHTS[2]: (),
            INSIGHTS[3]: (vats,),
        }
        assert "Mind the gate." in play.archive.read_text()
        assert "Fumes" not in play.archive.read_text()

    def test_what_stands_there_is_not_judged_by_an_episode_of_the_same_number(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path)
        old = "- Fumes kill. *(Ep1, T40)*\n- Vats boil. *(Ep1, T5)*\n"
        play.file.write_text(f"### {INSIGHTS[0]}\n{old}")
        play.manager.reset()
        play.remember("5")
        play.play(9)
        new = KnowledgeLine("Mind the gate.", (Source(1, 6, 6),))
        play.manager.replace_insights({INSIGHTS[0]: [*play.manager.insights()[INSIGHTS[0]], new]})
        assert play.file.read_text() == f"### {INSIGHTS[0]}\n{old}- Mind the gate. *(Ep1, T6)*\n"
        assert not play.archive.exists()
        assert (play.metrics["ephemeral"], play.metrics["refused"]) == (0, 0)

    def test_headings_that_are_not_named_stay(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path)
        known = KnowledgeLine("Fumes kill.", (Source(0, 4, 4),))
        play.manager.add_lines(INSIGHTS[0], [known])
        play.manager.replace_insights({INSIGHTS[1]: []})
        assert play.manager.insights()[INSIGHTS[0]] == (known,)


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

    def test_of_each_section_the_best_line_comes_before_the_second_best_of_any(self, tmp_path: Path) -> None:
        lines = [f"- Danger {number} is near. *(Ep1, T{number})*\n" for number in range(9)]
        sure = "- Danger that came back. *(Ep1, T1; Ep2, T1)*\n"
        (tmp_path / "knowledgebase.md").write_text(
            f"## LESSONS LEARNED\n- Look at the banner. *(Ep1, T1)*\n## DANGERS & THREATS\n{''.join(lines)}{sure}"
        )
        text = KnowledgePlay(tmp_path).manager.text(23)
        assert text == "DANGERS & THREATS:\n- Danger that came back.\n\nLESSONS LEARNED:\n- Look at the banner."

    @pytest.mark.parametrize("tokens", [0, 1, 7, 40, 200])
    def test_it_keeps_to_its_tokens(self, tmp_path: Path, tokens: int) -> None:
        lines = "".join(f"- {'long ' * number}line\n\n" for number in range(200))
        (tmp_path / "knowledgebase.md").write_text(f"## DANGERS & THREATS\n{lines}## Mine\n{lines}")
        assert len(KnowledgePlay(tmp_path).manager.text(tokens)) <= 4 * tokens


class TestWhenItGrowsTooLong:
    WORDS = "steam and dye and mordant " * 4

    def test_the_model_merges_and_cuts_and_what_goes_is_archived(self, tmp_path: Path) -> None:
        merged = {"lines": [{"text": "Both in one.", "replaces": [1, 2]}], "cut": [3, 4, 4, 9]}
        lines = [line(f"Rule {number}: {self.WORDS}", 5, number) for number in range(1, 5)]
        play = KnowledgePlay(tmp_path, [answer(*lines), merged], knowledge={"max_tokens": 40})
        play.play(10)
        assert [known.split(":")[0] for known in play.known] == ["- Rule 3", "- Both in one. *(Ep1, T1-2; Ep1, T5)*"]
        assert [archived.split(":")[0] for archived in play.archive.read_text().splitlines()[2:]] == [
            "- Rule 1", "- Rule 2", "- Rule 4",
        ]  # fmt: skip
        assert play.metrics["consolidations"] == 1

    def test_no_more_is_cut_than_has_to_go(self, tmp_path: Path) -> None:
        lines = [line(f"Rule {number}: {self.WORDS}", 5, number) for number in range(1, 5)]
        play = KnowledgePlay(tmp_path, [answer(*lines), {"cut": [1, 2, 3, 4]}], knowledge={"max_tokens": 100})
        play.play(10)
        assert len(play.known) == 3

    def test_a_merged_line_that_is_no_shorter_is_not_taken(self, tmp_path: Path) -> None:
        longer = {"lines": [{"text": self.WORDS * 2, "replaces": [1]}]}
        play = KnowledgePlay(tmp_path, [answer(line(self.WORDS, 5)), longer], knowledge={"max_tokens": 10})
        play.play(10)
        assert len(play.known) == 1
        assert not play.archive.exists()

    def test_people_are_not_asked_to_be_short(self, tmp_path: Path) -> None:
        (tmp_path / "knowledgebase.md").write_text(f"- {self.WORDS}\n")
        play = KnowledgePlay(tmp_path, [NOTHING], knowledge={"max_tokens": 10})
        play.play(10)
        assert len(play.llm.calls) == 1

    def test_where_the_model_gives_no_answer_all_stays(self, tmp_path: Path) -> None:
        play = KnowledgePlay(
            tmp_path, [answer(line(self.WORDS, 5)), ResponseInvalid("?")], knowledge={"max_tokens": 10}
        )
        play.play(10)
        assert len(play.known) == 1
        assert play.metrics["failures"] == 1


class TestFailures:
    @pytest.mark.parametrize("error", [LanguageModelUnavailable("down"), ResponseInvalid("no JSON")])
    def test_a_model_that_fails_is_asked_about_the_same_turns_after_the_next_interval(
        self, tmp_path: Path, error: LanguageModelError
    ) -> None:
        play = KnowledgePlay(tmp_path, [error, SOLVED])
        with capture_logs() as logs:
            play.play(19)
        assert [log["log_level"] for log in logs if log["event"].startswith("the knowledge")] == ["warning"]
        play.play(1)
        assert play.known == ["- Mordant first, then dye. *(Ep1, T5; Ep1, T7)*"]
        assert (play.metrics["failures"], play.metrics["updates"]) == (1, 1)

    def test_a_spent_budget_is_not_swallowed(self, tmp_path: Path) -> None:
        def spent(_role: Role, _prompt: Prompt, _schema: type[BaseModel]) -> dict[str, object]:
            raise BudgetSpent("5000 tokens")

        play = KnowledgePlay(tmp_path, spent)
        with pytest.raises(BudgetSpent):
            play.play(10)

    def test_a_file_that_cannot_be_read_stops_nothing_once_playing(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [SOLVED])
        held(tmp_path, play.manager)
        play.file.write_bytes(b"\xff")
        play.play(10)
        assert play.metrics["pending_edits"] == 1
        with pytest.raises(StoreError):
            play.manager.commit()
        play.file.unlink()
        play.manager.commit()
        assert len(play.known) == 1

    def test_a_file_that_cannot_be_read_is_told_at_once(self, tmp_path: Path) -> None:
        (tmp_path / "knowledgebase.md").write_bytes(b"\xff")
        with pytest.raises(StoreError):
            KnowledgePlay(tmp_path)


class TestInARun:
    REPLIES = (SOLVED, answer(line("Mordant, wait, dye.", 15, replaces=[1]), line("Gate sticks.", 16)), NOTHING)

    def test_files_change_in_a_commit_alone_and_once(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, self.REPLIES)
        held(tmp_path, play.manager)
        play.play(20)
        assert list(tmp_path.glob("knowledge*.md")) == []
        assert "Mordant, wait" in play.manager.text(500)
        play.manager.commit()
        before = [play.file.read_bytes(), play.archive.read_bytes()]
        play.manager.commit()
        assert [play.file.read_bytes(), play.archive.read_bytes()] == before


class TestSmallModels:
    BUDGET: ClassVar = {"analysis": 1500}

    def test_they_choose_a_turn_which_is_told_as_command_and_result(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [{"turn": 2}], prompt_budgets=self.BUDGET)
        play.turn("pull crank", "The sluice opens.", score=5)
        play.turn("enter vat", "You  dissolve\nin it.", died=True, score=0)
        play.turn("drop banner", "Dropped.", inventory=())
        assert play.manager.end()
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
            ({"score": 19}, "## DANGERS & THREATS\n\n- `go` at Dye Works Gate (11): -1 point: "),
            ({"score": 25}, '## PUZZLE SOLUTIONS\n\n- `go` at Dye Works Gate (11): +5 points: "Time passes."'),
            (
                {"score": 45, "location": VATS, "text": f"Blue Vats\n{'Blue runs down everywhere. ' * 9}"},
                "## PUZZLE SOLUTIONS\n\n- `go` at Dye Works Gate (11): +25 points, leads to Blue Vats (31) *(Ep1, T1)*",
            ),
        ],
    )
    def test_of_a_single_turn_nobody_is_asked_and_its_section_is_that_of_its_facts(
        self, tmp_path: Path, event: dict[str, Any], line: str
    ) -> None:
        play = KnowledgePlay(tmp_path, prompt_budgets=self.BUDGET)
        play.now = replace(play.now, score=20)
        play.turn("go", **event)
        play.manager.end()
        assert line in play.file.read_text()
        assert play.llm.calls == []

    def test_what_won_points_is_known_though_an_ephemeral_memory_is_about_it(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, prompt_budgets=self.BUDGET)
        play.remember("5")
        play.play(10)
        assert play.metrics["taken"] == 1

    def test_a_turn_that_they_invent_is_no_answer(self, tmp_path: Path) -> None:
        play = KnowledgePlay(tmp_path, [{"turn": 9}], prompt_budgets=self.BUDGET)
        play.turn(score=5)
        play.turn(score=7)
        play.play(8)
        assert play.known == []
        assert play.metrics["failures"] == 1
