"""``zorkgpt knowledge``: shows and checks what was learned of the game as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from session.errors import ConfigurationError
from session.text import counted
from zorkgpt.cli import common_options
from zorkgpt.cli.common_options import AsJson, OfStory, Workdir
from zorkgpt.cli.terminal import print_folded, print_json, print_line, print_problems

if TYPE_CHECKING:
    from managers.knowledge.document import KnowledgeDocument

app = typer.Typer(name="knowledge", help="What was learned of the game as a whole.", no_args_is_help=True)


@app.command()
def show(as_json: AsJson = False, story: OfStory = None, workdir: Workdir = None) -> None:
    """Print the knowledge base by its headings."""
    path, document = _document(workdir, story)
    entries = document.entries
    if as_json:
        lines = [(each.section, each.line.text, [source._asdict() for source in each.line.sources]) for each in entries]
        print_json([{"section": section, "line": {"text": text, "sources": each}} for section, text, each in lines])
        return
    if not entries:
        print_line(f"Nothing is known in {path}.")
        return
    print_folded(f"Knowledge{common_options.of_story(path.parent)}, {path}:")
    heading = None
    for number, entry in enumerate(entries, start=1):
        if entry.section != heading:
            heading = entry.section
            print_folded(heading or "(without a heading)")
        print_folded(f"  {number}. {entry.line.text}")


@app.command()
def check(as_json: AsJson = False, story: OfStory = None, workdir: Workdir = None) -> None:
    """Print headings that look misspelled, with their lines. Exit status 1 if there are any."""
    path, document = _document(workdir, story)
    count, problems = len(document.entries), document.doubts()
    found = f"{counted(count, 'line')} of knowledge, all headings understood"
    print_problems(path, problems, {"lines": count}, found, as_json=as_json)


@app.command()
def why(
    number: Annotated[int, typer.Argument(min=1, help="Number of a line, as show prints it.")],
    story: OfStory = None,
    workdir: Workdir = None,
) -> None:
    """Print where a line came from, and whether it held.

    These are the turns that taught it, who wrote it, and the turns whose prompts contained it.
    """
    from managers.known import knowledge_key

    path, document = _document(workdir, story)
    entries = document.entries
    if number > len(entries):
        raise ConfigurationError(f"there is no line {number} in {path}; it has {counted(len(entries), 'line')}")
    entry = entries[number - 1]
    key = knowledge_key(entry.section, entry.line.text)
    common_options.print_origins(common_options.origins(workdir, story), [key])


def _document(workdir: Path | None, story: str | None) -> tuple[Path, KnowledgeDocument]:
    from managers.knowledge.document import parse_knowledge
    from session.files.document_store import DocumentStore

    folder, configuration = common_options.folder_and_configuration(workdir, story)
    path = folder / configuration.knowledge_file
    return path, DocumentStore(path, parse_knowledge).document
