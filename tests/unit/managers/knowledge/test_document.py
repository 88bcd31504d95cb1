"""``knowledgebase.md`` is parsed and edited without losing a byte of what people wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from managers.knowledge.document import KnowledgeEdit, archived, read_line, write_line
from managers.knowledge.document import parse_knowledge as parse
from session.files.document_store import PlainText
from session.knowledge import (
    COMMAND_SYNTAX,
    CROSS_EPISODE,
    INSIGHTS,
    SECTIONS,
    KnowledgeEntry,
    KnowledgeLine,
    Source,
    as_sources,
    merged_sources,
)

DANGERS, PUZZLES, *_ = SECTIONS
ZERO = KnowledgeLine("0", (Source(0, 0, 0),))
FUMES = KnowledgeLine("Fumes kill.", (Source(1, 12, 14), Source(2, 3, 3)))

BY_HAND = """\
# Knowledge Base

Written by the dyer's apprentice.

## Dangers & threats

- Never swim in the
  river.
* Fumes kill. *(Ep1, T12-14; Ep2, T3)*

<!-- Ask about
## the sluice
-->

---

### Below the loft
1. The third rung is rotten.
"""

texts = st.text(min_size=1).filter(str.strip)
sources = st.lists(
    st.builds(lambda episode, first, more: Source(episode, first, first + more), *[st.integers(0, 999)] * 3), min_size=1
).map(tuple)
titles = st.sampled_from((*SECTIONS, *INSIGHTS))
entries = st.builds(KnowledgeEntry, titles, st.builds(KnowledgeLine, texts, sources))
marks = "-*_#<>!()[] \t\n\r\\&;~`.0E1pT,x"
files = st.lists(
    st.one_of(
        st.text(),
        st.text(alphabet=marks),
        st.sampled_from(["\n", "\r\n", "\r", "\ufeff", "## DANGERS & THREATS\n", "<!--", "-->", "- a *(Ep1, T2)*\n"]),
        titles.map("\n## {}\n".format),
        entries.map(lambda entry: write_line(entry.line) + "\n"),
    )
).map("".join)


class TestReading:
    def test_what_people_and_program_wrote_is_read_by_section(self) -> None:
        assert parse(BY_HAND).entries == (
            KnowledgeEntry("Knowledge Base", KnowledgeLine("Written by the dyer's apprentice.")),
            KnowledgeEntry(DANGERS, KnowledgeLine("Never swim in the river.")),
            KnowledgeEntry(DANGERS, FUMES),
            KnowledgeEntry("Below the loft", KnowledgeLine("The third rung is rotten.")),
        )

    @pytest.mark.parametrize(
        "line",
        [
            "- Fumes kill. *(Ep1, T12-14; Ep2, T3)*",
            "+ Fumes kill. *( ep1,T12\u201314 ;Ep2, t3 )*  ",
            "3) Fumes kill.\n *(Ep2, T3; Ep1, T12 - 13; Ep1, T14)*",
        ],
    )
    def test_sources_are_read_in_any_hand(self, line: str) -> None:
        assert parse(f"## {DANGERS}\n{line}\n").entries == (KnowledgeEntry(DANGERS, FUMES),)

    @pytest.mark.parametrize("end", ["*(Ep1)*", "(Ep1, T12)", r"\*(Ep1, T12)*", "*(Ep1, T12)*\n  But not cats."])
    def test_what_does_not_end_with_sources_is_a_persons(self, end: str) -> None:
        (entry,) = parse(f"- Fumes kill. {end}").entries
        assert not entry.is_ours

    @given(files)
    def test_any_text_is_rendered_as_it_was(self, text: str) -> None:
        assert parse(text).render() == text

    @given(texts, sources)
    def test_a_line_reads_back(self, text: str, where: tuple[Source, ...]) -> None:
        line = KnowledgeLine(text, where)
        written = write_line(line)
        assert len(written.splitlines()) == 1
        assert read_line(written.removeprefix("- ")) == line

    def test_no_line_begins_a_comment_that_would_hide_the_rest_of_the_page_or_is_without_a_source(self) -> None:
        assert write_line(KnowledgeLine("<!-- see", (Source(1, 2, 2),))) == r"- \<!-- see *(Ep1, T2)*"
        with pytest.raises(ValueError, match="without a source"):
            write_line(KnowledgeLine("Fumes kill."))


class TestAdding:
    def test_an_empty_file_gets_title_and_sections_in_the_usual_order(self) -> None:
        document = parse("")
        for title in (INSIGHTS[3], PUZZLES, INSIGHTS[0], DANGERS):
            document = document.add(KnowledgeEntry(title, KnowledgeLine(f"About {title}.", (Source(1, 2, 2),))))
        assert document.render() == (
            "# Knowledge Base\n\n"
            "## DANGERS & THREATS\n\n- About DANGERS & THREATS. *(Ep1, T2)*\n\n"
            "## PUZZLE SOLUTIONS\n\n- About PUZZLE SOLUTIONS. *(Ep1, T2)*\n\n"
            "## CROSS-EPISODE INSIGHTS\n\n"
            "### Death Patterns Across Episodes\n\n- About Death Patterns Across Episodes. *(Ep1, T2)*\n\n"
            "### Major Discoveries\n\n- About Major Discoveries. *(Ep1, T2)*\n"
        )

    def test_a_line_goes_below_the_last_of_its_section(self) -> None:
        added = parse(BY_HAND).add(KnowledgeEntry(DANGERS, KnowledgeLine("Vats boil over.", (Source(3, 1, 1),))))
        assert added.render() == BY_HAND.replace("-->\n", "-->\n\n- Vats boil over. *(Ep3, T1)*\n")

    def test_insights_stay_below_their_heading_wherever_a_person_has_put_it(self) -> None:
        document = parse(f"## {CROSS_EPISODE}\n\n## {DANGERS}\n").add(KnowledgeEntry(INSIGHTS[0], FUMES))
        assert [section.heading for section in document.sections] == ["", CROSS_EPISODE, INSIGHTS[0], DANGERS]

    def test_the_same_words_get_more_sources_wherever_they_stand(self) -> None:
        entry = KnowledgeEntry(PUZZLES, KnowledgeLine("fumes  KILL.", (Source(2, 4, 4), Source(1, 12, 12))))
        added = parse(BY_HAND).add(entry)
        assert added.render() == BY_HAND.replace("Ep2, T3", "Ep2, T3-4")

    def test_what_a_person_says_already_is_not_said_again_but_an_insight_may_say_what_a_section_says(self) -> None:
        document = parse(BY_HAND)
        again = KnowledgeLine("never swim in the river.", (Source(1, 1, 1),))
        assert document.add(KnowledgeEntry(DANGERS, again)) is document
        insight = KnowledgeEntry(INSIGHTS[0], FUMES)
        assert document.add(insight).entries[-1] == insight

    @given(files, entries)
    def test_what_is_added_reads_back_and_nothing_else_changes(self, text: str, entry: KnowledgeEntry) -> None:
        before = parse(text)
        after = before.add(entry)
        read = parse(after.render())
        assert read.entries == after.entries
        people = [each for each in before.entries if not each.is_ours]
        assert [each for each in read.entries if not each.is_ours] == people
        same_words = [each.line for each in read.entries if each.line.text.casefold() == entry.line.text.casefold()]
        assert any(
            not line.sources or set(merged_sources((*line.sources, *entry.line.sources))) == set(line.sources)
            for line in same_words
        )


class TestRemoving:
    def test_the_programs_line_goes_and_all_else_stays(self) -> None:
        entry, text = KnowledgeEntry(DANGERS, FUMES), f"## {DANGERS}\n- one\n\n## {COMMAND_SYNTAX}\n"
        removed = parse(BY_HAND).remove(entry)
        assert removed.render() == BY_HAND.replace("* Fumes kill. *(Ep1, T12-14; Ep2, T3)*\n", "")
        assert parse(text).add(entry).remove(entry).render() == text

    @pytest.mark.parametrize(
        "entry", [KnowledgeEntry(DANGERS, KnowledgeLine("Never swim in the river.")), KnowledgeEntry(PUZZLES, FUMES)]
    )
    def test_what_is_a_persons_or_elsewhere_stays(self, entry: KnowledgeEntry) -> None:
        document = parse(BY_HAND)
        assert document.remove(entry) is document


class TestEdits:
    @example("<!--\n# DANGERS & THREATS\n0<!--*(EP0,T0)*\n\n-->", [], [KnowledgeEntry(DANGERS, ZERO)])
    @example("<!--\n0<!--*(EP0,T0)*\n- -->", [], [])
    @example("0\r- *(EP0,T0)*\n\n0", [], [])
    @given(files, st.lists(entries, max_size=3), st.lists(entries, max_size=3))
    def test_an_edit_reads_back_and_made_again_changes_nothing(
        self, text: str, removed: list[KnowledgeEntry], added: list[KnowledgeEntry]
    ) -> None:
        before = parse(text)
        edit = KnowledgeEdit((*removed, *before.entries), tuple(added))
        once = edit.apply_to(before)
        assert parse(once.render()) == once
        assert edit.apply_to(once) is once
        people = [each for each in before.entries if not each.is_ours]
        assert [each for each in once.entries if not each.is_ours] == people

    @given(files, st.lists(entries, min_size=1), st.integers(1, 9), st.integers(1, 99))
    def test_what_is_archived_stands_there_once_below_all_that_stood_there(
        self, text: str, gone: list[KnowledgeEntry], episode: int, turn: int
    ) -> None:
        until = f"Ep{episode}, T{turn}"
        once = archived(PlainText(text), gone, until)
        assert once.text.startswith(text)
        assert archived(once, gone, until) is once
        assert all(write_line(entry.line) in once.text for entry in gone)


def test_turns_in_a_row_are_one_source() -> None:
    assert as_sources(2, [9, 3, 4, 5, 4]) == (Source(2, 3, 5), Source(2, 9, 9))
    assert merged_sources([Source(2, 1, 9), Source(1, 4, 4), Source(2, 3, 5)]) == (Source(1, 4, 4), Source(2, 1, 9))


def test_the_guides_example_is_what_the_program_writes() -> None:
    guide = (Path(__file__).parents[4] / "docs" / "memories.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```markdown knowledgebase\.md\n(.*?)```", guide, re.DOTALL)
    by_hand = KnowledgeLine("Never swim in the river.")
    document = parse(f"# Knowledge Base\n\n## {DANGERS}\n\n- {by_hand.text}\n")
    for entry in parse(example).entries:
        if entry.line != by_hand:
            document = document.add(entry)
    assert document.render() == example
