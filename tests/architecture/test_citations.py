"""References lead somewhere: every citation in source, tests and documents has its target in the repository.

A source is cited as ``ADR 18``, as ``docs/specification.md, Memory tiers``, or by a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLDERS = ("benchmarks", "docs", "game_interface", "managers", "orchestration", "session", "tests", "zorkgpt")
OTHERS = ("README.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
NOT_OURS_TO_WORD = ("tests/recorded/", "tests/golden/")
"""What a version recorded, and prompts as models get them, with their wording."""

SPECIFICATION = re.compile(r"docs/specification\.md((?:, (?:and )?[A-Z][\w.-]*(?: [a-z][\w-]*)*)+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADINGS = re.findall(r"^### (.+)$", (DOCS / "specification.md").read_text(encoding="utf-8"), re.MULTILINE)
RECORDS = sorted((DOCS / "adr").glob("[0-9]*.md"))


def leads_somewhere(link: str, folder: Path) -> bool:
    """Return whether the target of a Markdown link of a page in ``folder`` exists, including its heading."""
    name, _, anchor = link.partition("#")
    target = folder / name
    if not anchor or not target.is_file():
        return target.exists() and not anchor
    headings = HEADING.findall(target.read_text(encoding="utf-8"))
    return anchor in (re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings)


def faults_in(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md" and "prompts" not in path.parts:
        links = LINK.findall(FENCED.sub("", text))
        yield from (link for link in links if "://" not in link and not leads_somewhere(link, path.parent))
    text = re.sub(r"\s*\n\s*(?:# )?", " ", text)  # a citation may go on in the next line of a comment
    yield from (name for name in re.findall(r"\bdocs/[\w/.-]+\.md", text) if not (ROOT / name).is_file())
    yield from (f"ADR {number}" for number in re.findall(r"\bADR (\d+)", text) if int(number) > len(RECORDS))
    for citation in SPECIFICATION.findall(text):
        cited = re.split(r", (?:and )?", citation.rstrip("."))[1:]
        yield from (heading for heading in cited if heading not in HEADINGS)


def test_every_citation_and_every_link_leads_somewhere() -> None:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".md"}]
    names = {path.relative_to(ROOT).as_posix(): path for path in [*found, *(ROOT / name for name in OTHERS)]}
    faults = {
        name: [*faults_in(path)]
        for name, path in sorted(names.items())
        if path != Path(__file__) and not name.startswith(NOT_OURS_TO_WORD)
    }
    assert {name: each for name, each in faults.items() if each} == {}


def test_every_decision_record_has_its_line_in_the_index_and_its_own_number() -> None:
    index = (DOCS / "adr" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| \[[^]]+\]\(([\w-]+\.md)\) \|", index, re.MULTILINE)
    assert listed == [(str(number), path.name) for number, path in enumerate(RECORDS, 1)]
    assert [int(path.name[:3]) for path in RECORDS] == list(range(1, len(RECORDS) + 1))
