"""References lead somewhere: every citation in source, tests and documents has its target in the repository.

A source is cited as ``ADR 18``, as ``docs/specification.md, Memory tiers``, or by a link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLDERS = ("benchmarks", "docs", "game_interface", "managers", "orchestration", "session", "tests", "zorkgpt")
OTHERS = ("README.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
NOT_OURS_TO_WORD = ("tests/recorded/", "tests/golden/")
"""What a version recorded, and prompts as models get them, with their wording."""

SPECIFICATION = re.compile(r"docs/specification\.md((?:, (?:and )?[A-Z][\w.-]*(?: [a-z][\w-]*)*)+)")
DECISION_RECORD = re.compile(r"\bADR (\d+)")
DOCUMENT = re.compile(r"\bdocs/[\w/.-]+\.md")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CITABLE = re.compile(r"^### (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def cited_headings(text: str) -> Iterator[str]:
    """Yield the headings of the specification that the text cites."""
    for match in SPECIFICATION.finditer(text):
        yield from re.split(r", (?:and )?", match[1].rstrip("."))[1:]


def unknown_headings(text: str, folder: Path) -> list[str]:
    del folder
    known = CITABLE.findall((DOCS / "specification.md").read_text(encoding="utf-8"))
    return [heading for heading in cited_headings(as_one_line(text)) if heading not in known]


def unknown_decision_records(text: str, folder: Path) -> list[str]:
    del folder
    known = {int(path.name[:3]) for path in (DOCS / "adr").glob("[0-9]*.md")}
    return [found[0] for found in DECISION_RECORD.finditer(as_one_line(text)) if int(found[1]) not in known]


def missing_documents(text: str, folder: Path) -> list[str]:
    del folder
    return [name for name in DOCUMENT.findall(text) if not (ROOT / name).is_file()]


def broken_links(text: str, folder: Path) -> list[str]:
    links = [link for link in LINK.findall(FENCED.sub("", text)) if "://" not in link]
    return [link for link in links if not leads_somewhere(link, folder)]


def leads_somewhere(link: str, folder: Path) -> bool:
    """Return whether the target of a Markdown link of a page in ``folder`` exists, including its heading."""
    name, _, heading = link.partition("#")
    target = folder / name
    if not heading:
        return target.exists()
    return target.is_file() and heading in map(anchor_of, HEADING.findall(target.read_text(encoding="utf-8")))


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as links write it after ``#``."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def as_one_line(text: str) -> str:
    """Return the text with its lines joined, since a citation may go on in the next line of a comment."""
    return re.sub(r"\s*\n\s*(?:# )?", " ", text)


FAULTS: dict[str, Callable[[str, Path], list[str]]] = {
    "headings that the specification does not have": unknown_headings,
    "decision records that do not exist": unknown_decision_records,
    "documents that do not exist": missing_documents,
}


def texts() -> Iterator[Path]:
    """Yield every file with words of ours but this one, which has to show what it forbids."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in {".py", ".md"}]
    for path in [*found, *(ROOT / name for name in OTHERS)]:
        name = path.relative_to(ROOT).as_posix()
        if path != Path(__file__) and not name.startswith(NOT_OURS_TO_WORD):
            yield path


@pytest.mark.parametrize("faults_of", FAULTS.values(), ids=FAULTS.keys())
def test_no_file_has(faults_of: Callable[[str, Path], list[str]]) -> None:
    found = {
        path.relative_to(ROOT).as_posix(): faults_of(path.read_text(encoding="utf-8"), path.parent) for path in texts()
    }
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_every_link_of_a_document_leads_somewhere() -> None:
    documents = [path for path in texts() if path.suffix == ".md" and "prompts" not in path.parts]
    found = {
        path.relative_to(ROOT).as_posix(): broken_links(path.read_text(encoding="utf-8"), path.parent)
        for path in documents
    }
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_every_decision_record_has_its_line_in_the_index_and_its_own_number() -> None:
    records = sorted((DOCS / "adr").glob("[0-9]*.md"))
    index = (DOCS / "adr" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| \[[^]]+\]\(([\w-]+\.md)\) \|", index, re.MULTILINE)
    assert listed == [(str(number), path.name) for number, path in enumerate(records, 1)]
    assert [int(path.name[:3]) for path in records] == list(range(1, len(records) + 1))
