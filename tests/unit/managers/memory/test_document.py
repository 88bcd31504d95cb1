from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.turn_cost import Calls
from managers.memory.document import MemoriesDocument, Revision, VisitCount
from managers.memory.document import parse_memories as parse
from session.files.markdown import MarkdownProblem
from session.memory import INVALIDATION_MARKER, Memory, MemoryStatus
from session.text import text_key

EXAMPLE = """\
# Location Memories

## Location 5: Tide Pool
**Visits:** 3 | **Episodes:** 1, 2, 3

### Memories

**[DISCOVERY - CORE] Net lies here** *(Ep1, T2, +0)*
Seen on the first visit.

**[DISCOVERY - PERMANENT] Rock can be rolled** *(Ep1, T10-12, +5)*
Rolling it bares a hole.

---

## Location 8: Net Loft
**Visits:** 5 | **Episodes:** 1, 2

### Memories

**[NOTE - PERMANENT - TENTATIVE] Heron might take fish** *(Ep1, T12, -10)*
It looked at the basket.

---
"""


def memory(title: str = "Lamp burns oil", text: str = "Fill it at the cask.", **changes: Any) -> Memory:
    fields: dict[str, Any] = {"category": "NOTE", "episode": 1, "turns": "12", "score_change": 0}
    return Memory(**{**fields, "title": title, "text": text, "persistence": "permanent", **changes})


def given_up(each: Memory, title: str, kind: str, why: str, turn: int | None) -> Memory:
    """The memory, superseded or invalidated if it is a standing one of that title."""
    if each.status == MemoryStatus.SUPERSEDED or text_key(each.title) != text_key(title):
        return each
    return each.superseded(why, turn) if kind == "superseded" else each.invalidated(why, turn)


def give_up(
    document: MemoriesDocument, place: int, title: str, kind: str, why: str, turn: int | None
) -> MemoriesDocument:
    """The document without the memories of that title at the place."""
    if kind == "invalidated":
        return Revision(place, invalidated=(title,), reason=why, turn=turn).apply_to(document)
    return document.revise(place, lambda each: given_up(each, title, kind, why, turn))


def in_section(lines: str) -> str:
    return f"## Location 5: Tide Pool\n{lines}"


def only_memory(lines: str) -> Memory:
    document = parse(in_section(lines))
    assert document.problems() == []
    (found,) = document.memories()[5]
    return found


# What is understood


def test_a_file_in_the_usual_form_is_read_whole() -> None:
    document = parse(EXAMPLE)
    assert document.problems() == []
    assert document.memories() == {
        5: [
            Memory("DISCOVERY", "Net lies here", 1, "2", 0, "Seen on the first visit.", "core"),
            Memory("DISCOVERY", "Rock can be rolled", 1, "10-12", 5, "Rolling it bares a hole.", "permanent"),
        ],
        8: [
            Memory("NOTE", "Heron might take fish", 1, "12", -10, "It looked at the basket.", "permanent", "TENTATIVE")
        ],
    }
    assert [document.visits_at(number) for number in (5, 8)] == [VisitCount(3, (1, 2, 3)), VisitCount(5, (1, 2))]
    assert document.names() == {5: "Tide Pool", 8: "Net Loft"}


def test_the_visits_of_a_location_are_read_in_its_own_section_only() -> None:
    """They are read at each move of the player, and a file may have thousands of memories."""
    document = parse(EXAMPLE)
    for number in range(20):
        document = document.add_memory(9, "Cove", memory(title=f"Knot {number} holds"))
    assert document.visits_at(8) == VisitCount(5, (1, 2))
    with Calls() as calls:
        document.visits_at(8)
    assert calls.all < 20


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("**[NOTE - CORE] T** *(Ep01, T23, +0)*", memory("T", persistence="core", turns="23")),
        ("**[NOTE] T** *(Epep_01, T13, +0)*", memory("T", turns="13")),
        ("**[NOTE] T** *(Ep1, T25-26)*", memory("T", turns="25-26", score_change=None)),
        ("**[NOTE] T** *(Episode 2, turns 3 - 4, 5)*", memory("T", episode=2, turns="3-4", score_change=5)),
        ("**[NOTE]\xa0T** *(Ep1, T3\xa0\u2013 4)*", memory("T", turns="3-4", score_change=None)),
        ("**[NOTE] T** *(T12)*", memory("T", episode=0, score_change=None)),
        ("**[NOTE] T**", memory("T", episode=0, turns="", score_change=None)),
        ("  **[note-core]   T  **  ", memory("T", persistence="core", episode=0, turns="", score_change=None)),
        ("**[NOTE - TENTATIVE - CORE] T** *(Ep1, T12, +0)*", memory("T", persistence="core", status="TENTATIVE")),
        ("**[NOTE - ACTIVE] T** *(Ep1, T12, +0)*", memory("T")),
        ("**[PUZZLE HINT] T** *(Ep1, T12, +0)*", memory("T", category="PUZZLE HINT")),
        ("**[NOTE] The *big* [red] ** box** *(Ep1, T12, +0)*", memory("The *big* [red] ** box")),
        ("**[NOTE] Ends so *(Ep9)*** *(Ep1, T12, +0)*", memory("Ends so *(Ep9)*")),
    ],
)
def test_older_and_handwritten_headers_are_read_as_they_were_meant(header: str, expected: Memory) -> None:
    assert only_memory(f"{header}\nFill it at the cask.\n") == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('[Superseded at T50 by "Better "new" approach"]\n~~Text.~~', ("Text.", 'Better "new" approach', 50, None)),
        ('[Superseded at T13 by "Better"]\nText.', ("Text.", "Better", 13, None)),
        ('[Superseded at TNone by "Better"]\n~~Te\nxt.~~', ("Te\nxt.", "Better", None, None)),
        ('[Invalidated at T25: "Proven false"]\n~~Text.~~', ("Text.", INVALIDATION_MARKER, 25, "Proven false")),
        ('[Invalidated: "Proven false"]\nText.', ("Text.", INVALIDATION_MARKER, None, "Proven false")),
        ("~~Text.~~", ("Text.", None, None, None)),
    ],
)
def test_a_superseded_memory_is_read_with_its_successor_turn_and_reason(
    lines: str, expected: tuple[str, str | None, int | None, str | None]
) -> None:
    found = only_memory(f"**[DANGER - SUPERSEDED] Old** *(Ep01, T23, +0)*\n{lines}\n")
    assert found.status == MemoryStatus.SUPERSEDED
    assert (found.text, found.superseded_by, found.superseded_at_turn, found.invalidation_reason) == expected


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("", ""),
        ("One.\n  Two.  \n", "One.\nTwo."),
        ("\nAfter a blank line.\n", "After a blank line."),
        ("Key #5 and *stars*, ~~struck~~, C:\\new\n", "Key #5 and *stars*, ~~struck~~, C:\\new"),
        ("- a list\n- of two\n", "- a list\n- of two"),
        ("A line.\n\\\nAnother.\n", "A line.\n\nAnother."),
        ("Text.\n**[NOTE", "Text."),
        ("Text.\n---\n", "Text."),
        ("Text.\n## Notes\n", "Text."),
        ("Text.\n<!-- mine -->\n", "Text."),
    ],
)
def test_the_text_is_the_paragraph_below_the_header(lines: str, text: str) -> None:
    found, *_ = parse(in_section(f"**[NOTE] T**\n{lines}")).memories()[5]
    assert found.text == text


@pytest.mark.parametrize(
    "heading", ["##location #5 - Tide Pool", "# Location 5", "### Location 5: A", "  ## Location 5:"]
)
def test_a_slightly_broken_heading_still_names_its_location(heading: str) -> None:
    document = parse(f"## Location 1: Quay\n\n{heading}\n**[NOTE] T**\n")
    assert list(document.memories()) == [5]
    assert document.problems() == []


def test_sections_of_one_location_are_one_list_of_memories_below_the_first_name() -> None:
    document = parse("## Location 5\n**[NOTE] T**\n## Location 8\n## Location 5: A\n**[NOTE] U**\n## Location 5: B\n")
    assert [found.title for found in document.memories()[5]] == ["T", "U"]
    assert document.names() == {5: "A", 8: ""}


# What is not


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("**[NOTE - PERMANENT] Half fini\nshed\n", 2, "**[NOTE - PERMANENT] Title**"),
        ("**[NOTE]** *(Ep1)*\nText.\n", 2, "no title"),
        ("**[NOTE] &#32;**\n", 2, "no title"),
        ("**[NOTE]\n", 2, "**[NOTE - PERMANENT] Title**"),
        ("**[a link](address)** in bold\n", 2, "**[NOTE - PERMANENT] Title**"),
        ("\n**[NOTE - EPHEMERAL] Dropped net** *(Ep1, T3, +0)*\nHere.\n", 3, "EPHEMERAL"),
        ("**[EPHEMERAL] Dropped net**\nHere.\n", 2, "no category"),
        ("**[NOTE - PERMANANT] T**\n", 2, "PERMANANT"),
        ("A paragraph\nof two lines.\n\n", 2, "belongs to no memory"),
        ("<!-- not closed\n", 2, "never closed"),
        ("**Visits:** three\n", 2, "**Visits:** 3"),
        ("## Location fifteen: Quay\n**Visits:** 1 | **Episodes:** 1\n", 2, "names no location"),
        ("\nLocation 15: Quay\n", 3, "names no location"),
    ],
)
def test_what_is_not_understood_is_reported_with_its_line_and_never_loaded(lines: str, line: int, words: str) -> None:
    document = parse(in_section(lines))
    (problem,) = document.problems()
    assert problem.line == line
    assert words in problem.message
    assert document.memories() == {}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("**[NOTE] T** *(from the manual)*\nText.\n", "from the manual"),
        ("**[NOTE - SUPERSEDED] T**\n[Superseded by mistake\nText.\n", "[Superseded by mistake"),
        ('**[NOTE] T**\n[Superseded at T5 by "U"]\nText.\n', "lacks SUPERSEDED"),
    ],
)
def test_a_memory_understood_in_part_is_used_and_the_rest_reported(lines: str, words: str) -> None:
    document = parse(in_section(lines))
    (found,) = document.memories()[5]
    (problem,) = document.problems()
    assert (found.status == MemoryStatus.SUPERSEDED) is ("Superseded" in lines)
    assert problem.line == 2
    assert words in problem.message


@pytest.mark.parametrize("heading", ["## Locaton 8: B", "## Location eight", "Location 8: B", "**Location 8**: B"])
def test_below_a_heading_that_names_no_location_no_memory_goes_to_the_location_above(heading: str) -> None:
    document = parse(f"## Location 5: A\n**[NOTE] T**\n\n{heading}\n\n**[NOTE] U**\nText.\n")
    assert [found.title for found in document.memories()[5]] == ["T"]
    assert [problem.line for problem in document.problems()] == [4, 6]


def test_headings_comments_and_paragraphs_of_ones_own_outside_the_locations_are_no_problem() -> None:
    text = "# Mine\nA paragraph.\n\n## Ideas\nAnother.\n## Location 5: A\n### Dangers\n<!-- a\n**[NOTE] T**\n-->\n"
    assert parse(text).problems() == []
    assert parse(text).memories() == {}


def test_a_comment_that_another_one_interrupts_hides_only_itself() -> None:
    document = parse(in_section("<!-- open\n**[NOTE] T**\nText.\n<!-- closed -->\n"))
    assert [found.title for found in document.memories()[5]] == ["T"]
    assert document.problems() == [MarkdownProblem(2, "This comment is never closed: end it with -->.")]


@pytest.mark.parametrize("text", ["9" * 5000, "0" * 10])
def test_numbers_that_no_game_has_are_not_read_as_numbers(text: str) -> None:
    document = parse(
        f"## Location {text}: A\n**[NOTE] T** *(Ep{text}, T{text}, +{text})*\n**Visits:** {text} | **Episodes:**\n"
    )
    assert document.memories() == {}


# What is written


def test_the_first_memory_of_all_makes_the_file() -> None:
    document = parse("").add_memory(5, "Tide Pool", memory())
    assert document.render() == (
        "# Location Memories\n\n## Location 5: Tide Pool\n**Visits:** 1 | **Episodes:** 1\n\n### Memories\n\n"
        "**[NOTE - PERMANENT] Lamp burns oil** *(Ep1, T12, +0)*\nFill it at the cask.\n\n---\n"
    )


@pytest.mark.parametrize("text", [EXAMPLE, EXAMPLE.replace("\n\n---\n\n## Location 8", "\n---\n\n## Location 8")])
def test_a_memory_is_added_at_the_end_of_its_section_and_nothing_else_changes(text: str) -> None:
    rendered = parse(text).add_memory(5, "ignored", memory()).render()
    added = "**[NOTE - PERMANENT] Lamp burns oil** *(Ep1, T12, +0)*\nFill it at the cask.\n\n"
    assert rendered == EXAMPLE.replace("---\n\n## Location 8", f"{added}---\n\n## Location 8")


@pytest.mark.parametrize(("location_id", "order"), [(1, [1, 5, 8]), (6, [5, 6, 8]), (9, [5, 8, 9])])
def test_a_new_section_goes_where_its_id_belongs(location_id: int, order: list[int]) -> None:
    document = parse(EXAMPLE + "\n## My notes\nA paragraph.\n").add_memory(location_id, "Quay", memory())
    assert list(parse(document.render()).memories()) == order
    assert document.render().endswith("## My notes\nA paragraph.\n")


def test_the_file_s_own_line_ends_are_used_for_every_line_added() -> None:
    text = EXAMPLE.replace("\n", "\r\n")
    document = parse(text).add_memory(5, "", memory(text="a\nb")).add_memory(30, "Quay", memory())
    document = give_up(document, 5, "Net lies here", "superseded", "Better", 9).update_visits(30, 2)
    assert re.findall(r"(?<!\r)\n|\r(?!\n)", document.render()) == []
    assert parse(document.render()).memories() == document.memories()


def test_superseding_changes_the_status_alone_of_a_header_and_strikes_the_text() -> None:
    text = in_section("<!-- a -->\n  **[NOTE] Old  way** *(Epep_01, T12, by me)*\n One.\nTwo.\n\nA paragraph.\n")
    rendered = give_up(parse(text), 5, "OLD WAY", "superseded", 'Better "way"', 50).render()
    assert rendered == in_section(
        "<!-- a -->\n  **[NOTE - SUPERSEDED] Old  way** *(Epep_01, T12, by me)*\n"
        '[Superseded at T50 by "Better "way""]\n~~One.\nTwo.~~\n\nA paragraph.\n'
    )


def test_invalidating_replaces_the_status_and_says_why() -> None:
    rendered = give_up(parse(EXAMPLE), 8, "Heron might take fish", "invalidated", "It bites", 25).render()
    assert rendered == EXAMPLE.replace("TENTATIVE", "SUPERSEDED").replace(
        "It looked at the basket.", '[Invalidated at T25: "It bites"]\n~~It looked at the basket.~~'
    )


def test_every_standing_memory_of_a_title_is_given_up_and_no_other() -> None:
    here, there = "## Location 5: A\n", "## Location 8: B\n"
    text = f"{here}**[NOTE] T**\n**[NOTE] T two**\n{there}**[NOTE] T**\n{here}**[NOTE] t**\n"
    document = give_up(parse(text), 5, "T", "invalidated", "wrong", 1)
    statuses = {key: [found.status for found in memories] for key, memories in document.memories().items()}
    assert statuses == {5: ["SUPERSEDED", "ACTIVE", "SUPERSEDED"], 8: ["ACTIVE"]}


def test_giving_up_what_is_not_there_or_given_up_already_gives_the_same_document() -> None:
    document = parse(EXAMPLE)
    assert give_up(document, 5, "Net", "superseded", "Better", 1) is document
    assert give_up(document, 99, "Net lies here", "invalidated", "wrong", 1) is document
    once = give_up(document, 5, "Net lies here", "superseded", "Better", 1)
    assert give_up(once, 5, "Net lies here", "invalidated", "wrong", 2) is once


def test_a_visit_counts_and_its_episode_is_listed_once() -> None:
    document = parse(EXAMPLE).update_visits(5, 4).update_visits(5, 4)
    assert document.render() == EXAMPLE.replace("3 | **Episodes:** 1, 2, 3", "5 | **Episodes:** 1, 2, 3, 4")
    assert document.visits_at(5) == VisitCount(5, (1, 2, 3, 4))
    assert document.update_visits(99, 4) is document


@pytest.mark.parametrize("heading", ["## Location 42", "## Location #42:", "### location 42 - ", "#Location 42\t:  "])
def test_a_heading_without_a_name_gets_it_and_nothing_else_changes(heading: str) -> None:
    below = "\r\n\r\n**[NOTE - PERMANENT] Mine** *(Ep1, T2)*\r\nKeep this.\r\n"
    named = parse(heading + below).with_name(42, "  Tide\nPool ")
    start = heading.partition("42")[0]
    assert named.render() == f"{start}42: Tide Pool{below}"
    assert named.names() == parse(named.render()).names() == {42: "Tide Pool"}
    assert named.with_name(42, "Other") is named
    assert named.with_name(7, "Other") is named


def test_a_section_without_visits_gets_its_line() -> None:
    assert parse("## Location 5").update_visits(5, 3).render() == "## Location 5\n**Visits:** 1 | **Episodes:** 3\n"


def test_the_visit_that_taught_a_memory_counts_even_if_a_person_began_the_section_meanwhile() -> None:
    noted = parse("").add_memory(5, "Quay", memory(episode=0))
    assert noted.visits_at(5) is None
    learned = noted.update_visits(7, 3).add_memory(5, "Quay", memory(title="Net lies here", episode=3))
    assert parse(learned.render()).visits_at(5) == VisitCount(1, (3,))
    assert learned.add_memory(5, "Quay", memory(title="Beam holds", episode=3)).visits_at(5) == VisitCount(1, (3,))


def test_an_ephemeral_memory_is_never_written() -> None:
    with pytest.raises(ValueError, match="never written"):
        parse("").add_memory(5, "Quay", memory(persistence="ephemeral"))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('Plain * [text] ~5 turns & "more" <here>.', 'Plain * [text] ~5 turns & "more" <here>.'),
        ("a\n\nb", "a\n\\\nb"),
        ("", "\\"),
        ("## Location 8: B", r"\#\# Location 8: B"),
        ("**[NOTE] T** *(Ep1)*", r"\*\*[NOTE] T** *(Ep1)*"),
        ("---", r"\-\-\-"),
        ("<!-- a -->", r"\<!-- a --\>"),
        ("```", r"\`\`\`"),
        ("C:\\new", r"C:\\new"),
        ("&#32;", r"\&#32;"),
        (" a\t", "&#32;a&#9;"),
        ("\x00\r\ud83d", "&#0;&#13;&#55357;"),
        ('[Superseded at T1 by "U"]', r'\[Superseded at T1 by "U"]'),
    ],
)
def test_text_is_escaped_only_where_it_would_be_read_as_something_else(text: str, lines: str) -> None:
    document = parse("").add_memory(5, "Quay", memory(text=text))
    assert f"+0)*\n{lines}\n\n---\n" in document.render()


@pytest.mark.parametrize("number", [0xD800, 0xDFFF, 0x110000])
def test_a_number_that_is_no_characters_is_left_as_it_stands(number: int) -> None:
    document = parse("").add_memory(5, "Quay", memory(title="A")).render().replace("] A**", f"] A &#{number};**")
    assert [each.title for each in parse(document).memories()[5]] == [f"A &#{number};"]
    assert parse(document).render() == document


def test_marks_in_a_title_show_as_they_are() -> None:
    document = parse("").add_memory(5, "Quay", memory(title="Push **2** then \\ [or *(both)*]"))
    assert r"**[NOTE - PERMANENT] Push \*\*2\*\* then \\ [or \*(both)\*]** *(Ep1, T12, +0)*" in document.render()


# Laws

# fmt: off
FRAGMENTS = st.sampled_from([
    "\n", "\n", "\n\n", "\r\n", "\r", " ", "\t", "\x0b", "\u2028", "\x85", "\x00", "\ufeff", "\\", "*", "**", "~~", "~",
    "# ", "## ", "### Memories\n", "## Location 5: Tide Pool\n", "## Location 8", "Location 8: x", "## Locaton 7",
    "**[", "**[NOTE", "**[NOTE - CORE] ", "**[DANGER - SUPERSEDED] ", "**[NOTE - EPHEMERAL] x", "] ", "Title",
    "**\n", "** *(Ep1, T2, +3)*\n", "** *(", ")*", "text", "~~text~~", '"', "&#32;", "&#", "1;", "```", "-", "-->",
    "---", "---\n", "***", "<!--", "<!-- a -->\n", "\n**Visits:** 3 | **Episodes:** 1, 2\n", "**Visits:**",
    '\n[Superseded at T5 by "U"]', "[Superseded", '\n[Invalidated at T5: "', '"]\n', "[Invalidated",
])
# fmt: on
ANY_TEXT = st.one_of(st.text(), st.lists(st.one_of(FRAGMENTS, st.text(max_size=3)), max_size=40).map("".join))
LOCATION_IDS = st.integers(min_value=1, max_value=9)
TURNS = st.none() | st.integers(min_value=0, max_value=999)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    stands = Memory(
        category=draw(st.sampled_from(["NOTE", "DANGER"]) | ANY_TEXT),
        title=draw(ANY_TEXT.filter(lambda title: title.split() != [])),
        episode=draw(st.integers(min_value=0, max_value=99)),
        turns=draw(st.sampled_from(["", "45", "12-14"])),
        score_change=draw(st.none() | st.integers(min_value=-50, max_value=50)),
        text=draw(ANY_TEXT),
        persistence=draw(st.sampled_from(["core", "permanent"])),
        status=draw(st.sampled_from([MemoryStatus.ACTIVE, MemoryStatus.TENTATIVE])),
    )
    superseded = stands.superseded(draw(ANY_TEXT), draw(TURNS))
    return draw(st.sampled_from([stands, superseded, stands.invalidated(draw(st.none() | ANY_TEXT), draw(TURNS))]))


def in_any_order(memories_by_id: dict[int, list[Memory]]) -> dict[int, list[str]]:
    return {location_id: sorted(map(repr, each)) for location_id, each in memories_by_id.items()}


@given(ANY_TEXT)
def test_reading_then_writing_any_text_gives_that_text(text: str) -> None:
    assert parse(text).render() == text


@given(memories(), LOCATION_IDS, ANY_TEXT)
def test_any_memory_that_is_written_reads_back_the_same(written: Memory, location_id: int, name: str) -> None:
    document = parse(parse("").add_memory(location_id, name, written).render())
    assert document.memories() == {location_id: [written]}
    assert document.problems() == []
    assert document.names() == {location_id: " ".join(name.split())}


@given(ANY_TEXT, LOCATION_IDS, st.lists(memories(), min_size=1, max_size=3))
@example("## Location 5: A\n**[NOTE] T**\nText.\n\n- - -\n", 5, [memory()])
def test_adding_to_any_text_loses_and_changes_no_memory_of_it(text: str, location_id: int, added: list[Memory]) -> None:
    document = parse(text)
    expected = document.memories()
    for each in added:
        document = document.add_memory(location_id, "Quay", each)
    expected[location_id] = [*expected.get(location_id, []), *added]
    again = parse(document.render())
    assert again.memories() == document.memories()
    assert again.problems() == document.problems()
    assert in_any_order(again.memories()) == in_any_order(expected)


@given(ANY_TEXT.map(lambda text: re.sub(r"\r\n?", "\n", text)), LOCATION_IDS, memories(), LOCATION_IDS, memories())
@example("## Location 5", 5, memory(), 5, memory("Oil"))
@example("## Location 5", 8, memory(), 5, memory("Oil"))
def test_edits_write_what_they_would_with_the_file_read_anew_in_between(
    text: str, place: int, first: Memory, other_place: int, second: Memory
) -> None:
    once = parse(text).add_memory(place, "Quay", first).update_visits(place, 2)
    twice = once.add_memory(other_place, "Loft", second)
    again = parse(once.render()).add_memory(other_place, "Loft", second)
    assert twice.render() == again.render()
    assert twice.problems() == again.problems()


@given(ANY_TEXT, st.data())
def test_giving_up_any_memory_of_any_text_reads_back_the_same(text: str, data: st.DataObject) -> None:
    document = parse(text + "\n## Location 5: A\n**[NOTE] Always there**\n")
    location_id = data.draw(st.sampled_from(sorted(document.memories())))
    chosen = data.draw(st.sampled_from(document.memories()[location_id]))
    document = give_up(document, location_id, chosen.title, "invalidated", data.draw(ANY_TEXT), data.draw(TURNS))
    document = document.update_visits(location_id, 7)
    again = parse(document.render())
    assert again.memories() == document.memories()
    assert [*map(again.visits_at, document.names())] == [*map(document.visits_at, document.names())]
    assert again.problems() == document.problems()


FOREIGN_EDITS = [
    lambda text: text,
    lambda text: re.sub(r"\r\n?|\n", "\r\n", text),
    lambda text: text.replace("\r\n", "\n"),
    lambda text: "\ufeff" + text.lstrip("\ufeff"),
    lambda text: re.sub(r"[ \t]+(?=[\r\n]|\Z)", "", text),
    lambda text: text.rstrip("\r\n"),
    lambda text: text + "\n\n**[NOTE - PERMANENT] Half fini",
    lambda text: text + "\n\n## Location 3: Pasted again\n\nA paragraph.\n",
    lambda text: text + "\n\n# Ideas\n\n**[NOTE] Not of any location**\n",
    lambda text: "Read me first.\n<!-- A comment. -->\n" + text.lstrip("\ufeff"),
    lambda text: re.sub(r"(?m)^### Memories", "### What I know", text),
    lambda text: re.sub(r"(?m)^\*\*Visits:\*\* ", "**Visits:** about ", text),
    lambda text: re.sub(r"(?m)^---(\r?)$", r"***\1", text),
    lambda text: re.sub(r"(?m)^## Location", "<!-- Mine -->\n##   location", text),
]


@settings(max_examples=60)
@given(st.data())
def test_after_any_sequence_of_edits_by_program_and_people_the_file_holds_what_was_said(data: st.DataObject) -> None:
    """The model is a plain list for each location; the file is read anew after every step."""
    document, model = parse(""), dict[int, list[Memory]]()
    for step in range(data.draw(st.integers(min_value=1, max_value=12))):
        location_id = data.draw(LOCATION_IDS)
        known = model.setdefault(location_id, [])
        kind = data.draw(st.sampled_from(["add", "add", "superseded", "invalidated", "visit"]))
        if kind == "add" or not known:
            added = data.draw(memories())
            document = document.add_memory(location_id, "Quay", added)
            known.append(added)
        elif kind == "visit":
            document = document.update_visits(location_id, step)
        else:
            change = (data.draw(st.sampled_from(known)).title, kind, data.draw(ANY_TEXT), data.draw(TURNS))
            document = give_up(document, location_id, *change)
            model[location_id] = [given_up(each, *change) for each in known]
        document = parse(data.draw(st.sampled_from(FOREIGN_EDITS))(document.render()))
        assert document.memories() == {key: each for key, each in model.items() if each}


# What became of memories between two states

BEFORE = "## Location 5: Quay\n**[NOTE] Old**\nText.\n**[NOTE - SUPERSEDED] Gone**\n~~Text.~~\n"


def told(before: str, after: str) -> list[tuple[int, str, str]]:
    changes = parse(after).changes_since(parse(before))
    return [(each.location_id, each.kind, each.memory.title) for each in changes]


@pytest.mark.parametrize(
    ("after", "changes"),
    [
        (f"{BEFORE}**[NOTE] New**\n", [("added", "New")]),
        (BEFORE.replace("Text", "Other text", 1), [("changed", "Old")]),
        (BEFORE.replace("NOTE]", "NOTE - TENTATIVE]", 1), [("changed", "Old")]),
        (BEFORE.replace("NOTE] Old", "NOTE - SUPERSEDED] Old"), [("superseded", "Old")]),
        (BEFORE.replace("**\nText", '**\n[Invalidated: "false"]\nText', 1), [("invalidated", "Old")]),
        (f"{BEFORE}**[NOTE - SUPERSEDED] Believed for a while**\n", [("superseded", "Believed for a while")]),
        (f"{BEFORE}**[NOTE] Gone**\nTrue after all.\n", [("added", "Gone")]),
        ("", [("removed", "Old")]),
        (BEFORE, []),
        (f"# Mine\n\n{BEFORE.replace('Quay', 'Pier')}", []),
    ],
)
def test_a_change_is_told_by_its_kind(after: str, changes: list[tuple[str, str]]) -> None:
    assert told(BEFORE, after) == [(5, kind, title) for kind, title in changes]


def test_changes_come_in_the_order_of_the_later_file_what_only_the_earlier_had_last() -> None:
    before = "## Location 5: Quay\n**[NOTE] A**\n"
    after = "## Location 9: Pier\n**[NOTE] B**\n## Location 8: Bank\n**[NOTE] C**\n"
    assert told(before, after) == [(9, "added", "B"), (8, "added", "C"), (5, "removed", "A")]
