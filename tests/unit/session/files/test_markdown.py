"""Any text is a document that renders as it was, and an edit changes nothing but what it means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.files.markdown import (
    MarkdownBlock,
    MarkdownDocument,
    MarkdownProblem,
    MarkdownReader,
    MarkdownSection,
    escape,
    unescape,
    usual_line_end,
)

TITLE = "# Shopping"
MARKS = "-*_#<!>. \t\n\r\ufeff\\ax"

Block = MarkdownBlock[str]
Section = MarkdownSection[str, str]
Document = MarkdownDocument[str, str]


class ShoppingReader(MarkdownReader[str, str]):
    """Reads a shopping list: a section for each shop, and each line of it a thing to buy."""

    def take_heading(self) -> Section | None:
        line = self.bare[self.at]
        return MarkdownSection(line.strip("# "), (self.take(self.at + 1),)) if line.startswith("#") else None

    def take_block(self) -> Block:
        line = self.bare[self.at]
        if not line:
            return self.take_space()
        if line.startswith("<!--"):
            return self.take_comment("never closed")
        return self.take(self.at + 1, line.lstrip("- ") or None, "" if self.heading else "in no shop")


def parse(text: str) -> Document:
    reader = ShoppingReader(text, "")
    return MarkdownDocument(reader.sections(), reader.line_end)


def things(document: Document) -> dict[str, list[str]]:
    return {
        section.heading: [block.content for block in section.blocks if block.content is not None]
        for section in document.sections
    }


def bought(thing: str, line_end: str = "\n") -> Block:
    return MarkdownBlock(f"{thing}{line_end}", thing)


@given(st.text(alphabet=MARKS) | st.text())
def test_any_text_is_rendered_as_it_was(text: str) -> None:
    assert parse(text).render() == text


def test_a_text_is_read_by_sections_and_its_problems_are_told_with_their_lines() -> None:
    document = parse("tea\n\n# Market\npears\n<!-- not\nthese -->\nplums\n# Mill\n")
    assert things(document) == {"": ["tea"], "Market": ["pears", "plums"], "Mill": []}
    document = parse("\n\ntea\r\n# Market\r\n<!-- a\r\n<!-- b -->\r\n")
    assert document.problems() == [MarkdownProblem(3, "in no shop"), MarkdownProblem(5, "never closed")]


@pytest.mark.parametrize(
    ("text", "apart", "as_item"),
    [
        ("# M\n", "# M\n\nfigs\n", "# M\n\nfigs\n"),
        ("# M", "# M\n\nfigs\n", "# M\n\nfigs\n"),
        ("# M\n\n", "# M\n\nfigs\n\n", "# M\n\nfigs\n"),
        ("# M\n- a\n", "# M\n- a\n\nfigs\n", "# M\n- a\nfigs\n"),
        ("# M\n- a", "# M\n- a\n\nfigs\n", "# M\n- a\nfigs\n"),
        ("# M\na\n---\n", "# M\na\n\nfigs\n\n---\n", "# M\na\n\nfigs\n---\n"),
        ("# M\na\n\n---\n", "# M\na\n\nfigs\n\n---\n", "# M\na\n\nfigs\n\n---\n"),
        ("# M\n# N\n", "# M\n\nfigs\n\n# N\n", "# M\n\nfigs\n\n# N\n"),
        ("# M\r\n- a\r\n", "# M\r\n- a\r\n\r\nfigs\r\n", "# M\r\n- a\r\nfigs\r\n"),
    ],
)
def test_a_block_at_the_end_of_a_section_is_set_apart_and_an_item_of_a_list_less_so(
    text: str, apart: str, as_item: str
) -> None:
    document = parse(text)
    figs = bought("figs", document.line_end)
    assert document.with_last_block(1, figs).render() == apart
    assert document.with_last_block(1, figs, is_item=True).render() == as_item


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "# Shopping\n\n# M\n"),
        ("\ufeff", "\ufeff# Shopping\n\n# M\n"),
        ("tea", "tea\n\n# M\n"),
        ("tea\n\n", "tea\n\n# M\n"),
    ],
)
def test_a_new_section_stands_below_a_blank_line_and_begins_a_file_with_its_title(text: str, expected: str) -> None:
    section: Section = MarkdownSection("M", (MarkdownBlock("# M\n"),))
    assert parse(text).with_section(1, section, TITLE).render() == expected


def test_blocks_are_changed_left_out_or_kept_in_the_sections_that_are_meant() -> None:
    document = parse("# M\nfigs\ntea\n# N\nfigs\n")

    def without_figs(block: Block) -> Block | None:
        return None if block.content == "figs" else block

    assert document.with_each_block(lambda shop: shop == "M", without_figs).render() == "# M\ntea\n# N\nfigs\n"
    assert document.with_each_block(lambda shop: shop == "Mill", without_figs) is document


@given(st.text(alphabet=MARKS + "&#1;~`") | st.text())
def test_an_escaped_text_stands_for_itself_on_one_line(text: str) -> None:
    assert unescape(escape(text)) == text
    assert len(escape(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "line_end"), [("", "\n"), ("a\r\nb\r\n\n", "\r\n"), ("a\r\nb\n\n", "\n"), ("a\rb\r", "\r")]
)
def test_the_usual_line_end_is_that_of_most_lines(text: str, line_end: str) -> None:
    assert usual_line_end(text) == line_end
