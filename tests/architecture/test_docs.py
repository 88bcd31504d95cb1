"""What a guide shows is what happens: its files are written, its commands typed, in the order of the page.

A ``markdown`` block is the whole ``Memories.md`` from there on; a ``console`` block has commands and what they print.
Documents name files that exist, the pages of commands and options agree with the program, and every message
that the page on trouble explains is one that the program can print.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from session.game_configuration import GameConfiguration
from tools.generated_docs import COMMANDS, CONFIGURATION, MODELS, pages
from zorkgpt.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("session", "game_interface", "managers", "orchestration", "zorkgpt")
BLOCK = re.compile(r"^```(markdown|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ zorkgpt (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
FOLDERS = (*PACKAGES, "benchmarks", "docs", "examples", "tests", "tools")
NAMED_PATH = re.compile(rf"(?<![\w/.-])(?:{'|'.join(FOLDERS)}|web)/[\w/.-]*[\w/]")
NOT_PATHS = {"zorkgpt/story", "zorkgpt/Story-v0"}
"""The names of the story in Inspect and in Gymnasium."""
TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONFIGURED = sorted(path for path in DOCS.rglob("*.md") if "```toml\n" in path.read_text(encoding="utf-8"))
GUIDES = sorted(path for path in DOCS.glob("*.md") if "```console\n" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_every_command_of_a_guide_prints_what_the_guide_shows(
    guide: Path, tmp_path: Path, clean_environment: pytest.MonkeyPatch
) -> None:
    clean_environment.chdir(tmp_path)
    memories = tmp_path / "game_files" / "Memories.md"
    memories.parent.mkdir()
    for kind, content in BLOCK.findall(guide.read_text(encoding="utf-8")):
        if kind == "markdown":
            memories.write_text(content, encoding="utf-8")
            continue
        commands = COMMAND.findall(content)
        assert "".join(f"$ zorkgpt {command}\n{shown}" for command, shown in commands) == content
        for command, shown in commands:
            result = CliRunner().invoke(app, shlex.split(command))
            assert (command, result.output) == (command, shown)


@pytest.mark.parametrize("page", CONFIGURED, ids=lambda path: path.stem)
def test_every_configuration_that_a_page_shows_is_valid(page: Path, tmp_path: Path) -> None:
    for example in TOML.findall(page.read_text(encoding="utf-8")):
        file = tmp_path / "zorkgpt.toml"
        file.write_text(example)
        assert GameConfiguration.from_toml(file) != GameConfiguration()


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (DOCS / "README.md").read_text(encoding="utf-8")
    folders = (DOCS, DOCS / "reference", DOCS / "development", DOCS / "records")
    pages = sorted(path.relative_to(DOCS).as_posix() for folder in folders for path in folder.glob("*.md"))
    assert [name for name in pages if name != "README.md" and f"]({name})" not in contents] == []


def test_the_overview_and_the_pages_for_readers_stay_short() -> None:
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "README.md", *DOCS.glob("*.md"))}
    assert words.pop(ROOT / "README.md") <= 900
    assert sum(words.values()) <= 12_000


def test_the_estimate_of_twice_the_turns_is_twice_that_of_the_example() -> None:
    (dollars,) = re.findall(
        r"^tidehouse +full +300 .* ([0-9.]+) +[0-9.]+$", MODELS.read_text(encoding="utf-8"), re.MULTILINE
    )
    for page in (ROOT / "README.md", DOCS / "faq.md"):
        (named,) = re.findall(r"200 turns with gpt-4\.1-mini [a-z ]+\$([0-9.]+)", page.read_text(encoding="utf-8"))
        assert abs(float(named) - 2 * float(dollars)) <= 0.01


@pytest.mark.parametrize("page", [COMMANDS, CONFIGURATION, MODELS], ids=lambda page: page.stem)
def test_a_generated_page_is_what_the_program_says(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == pages()[page], "run `make docs` and commit what it writes"


def texts_in(tree: ast.AST) -> Iterator[str]:
    """Every text in the code, with ``…`` for what is filled in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_the_program_says_every_message_that_the_page_on_trouble_explains() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    said = "\n".join(text for path in files for text in texts_in(ast.parse(path.read_text(encoding="utf-8"))))
    explained = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert explained
    # The system's reason is appended in one place for all.
    assert [message for message in explained if message.removesuffix(": …") not in said] == []


def test_every_file_that_is_marked_as_generated_exists() -> None:
    marked = [line.split()[0] for line in (ROOT / ".gitattributes").read_text().splitlines() if line[:1] != "#"]
    assert marked
    assert [pattern for pattern in marked if not any(ROOT.glob(pattern))] == []


OTHERS = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", "Makefile", "pyproject.toml"),
    *("game_files/README.md", "infrastructure/README.md"),
    *(".ci/run", ".github/workflows/ci.yml", ".github/workflows/release.yml"),
)
NOT_OURS_TO_WORD = ("tests/recorded/", "tests/golden/")
"""What a version recorded, and prompts as models get them, with their wording."""

SPECIFICATION = re.compile(r"docs/records/specification\.md((?:, (?:and )?[A-Z][\w.-]*(?: [a-z][\w-]*)*)+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADINGS = re.findall(r"^### (.+)$", (DOCS / "records" / "specification.md").read_text(encoding="utf-8"), re.MULTILINE)
RECORDS = sorted((DOCS / "records" / "adr").glob("[0-9]*.md"))


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
        named = {*NAMED_PATH.findall(text)} - NOT_PATHS
        yield from (name for name in named if not ((ROOT / name).exists() or (ROOT / f"{name}.py").exists()))
    text = re.sub(r"\s*\n\s*(?:# )?", " ", text)  # a citation may go on in the next line of a comment
    yield from (name for name in re.findall(r"\bdocs/[\w/.-]+\.md", text) if not (ROOT / name).is_file())
    yield from (f"ADR {number}" for number in re.findall(r"\bADR (\d+)", text) if int(number) > len(RECORDS))
    for citation in SPECIFICATION.findall(text):
        cited = re.split(r", (?:and )?", citation.rstrip("."))[1:]
        yield from (heading for heading in cited if heading not in HEADINGS)


def test_every_citation_every_link_and_every_path_of_a_document_leads_somewhere() -> None:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".md"}]
    names = {path.relative_to(ROOT).as_posix(): path for path in [*found, *(ROOT / name for name in OTHERS)]}
    faults = {
        name: [*faults_in(path)]
        for name, path in sorted(names.items())
        if path != Path(__file__) and not name.startswith(NOT_OURS_TO_WORD)
    }
    assert {name: each for name, each in faults.items() if each} == {}


def test_every_decision_record_has_its_line_in_the_index_and_its_own_number() -> None:
    index = (DOCS / "records" / "adr" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| \[[^]]+\]\(([\w-]+\.md)\) \|", index, re.MULTILINE)
    assert listed == [(str(number), path.name) for number, path in enumerate(RECORDS, 1)]
    assert [int(path.name[:3]) for path in RECORDS] == list(range(1, len(RECORDS) + 1))
