"""Keeps the knowledge and its archive, which gets every line that the knowledge gives up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from managers.knowledge.document import KnowledgeDocument, parse_knowledge, write_line
from session.files.document_store import DocumentStore, SharedStore
from session.files.markdown import usual_line_end
from session.files.shared_files import archive_name
from session.knowledge import KnowledgeEntry
from session.text import text_key

ARCHIVE_TITLE = "# Archive of the knowledge base"


@dataclass(frozen=True, slots=True)
class KnowledgeEdit:
    """Lines to remove and lines to add, in one write.

    Lines of people are never removed, nor is one that is added again.
    """

    removed: tuple[KnowledgeEntry, ...] = ()
    added: tuple[KnowledgeEntry, ...] = ()

    def __post_init__(self) -> None:
        kept = set(map(_key, self.added))
        object.__setattr__(self, "removed", tuple(entry for entry in self.removed if _key(entry) not in kept))

    def new_keys(self, known: Iterable[KnowledgeEntry]) -> tuple[str, ...]:
        """Return the keys of the added lines whose words are new."""
        standing = {text_key(entry.line.text) for entry in known}
        return tuple(key for _, key in map(_key, self.added) if key not in standing)

    def apply_to(self, document: KnowledgeDocument) -> KnowledgeDocument:
        """Return the document with the edit, as its file will be read back, or the same document if nothing changes."""
        edited = document
        for entry in self.removed:
            edited = edited.remove(entry)
        for entry in self.added:
            edited = edited.add(entry)
        return document if edited is document else parse_knowledge(edited.render())


@dataclass(frozen=True, slots=True)
class Archive:
    """The text of an archive."""

    text: str

    def render(self) -> str:
        """Return the text of the file."""
        return self.text


@dataclass(frozen=True, slots=True)
class ArchiveEdit:
    """Adds removed lines of knowledge to the archive, with the episode and turn in which they were removed."""

    entries: tuple[KnowledgeEntry, ...]
    episode: int
    turn: int

    def apply_to(self, archive: Archive) -> Archive:
        """Return the archive with the lines that it lacks, or the same archive if it has all of them."""
        known = {line.strip() for line in archive.text.splitlines()}
        new = [line for line in map(self._written, self.entries) if line not in known]
        if not new:
            return archive
        end = usual_line_end(archive.text)
        text = archive.text or f"{ARCHIVE_TITLE}{end}{end}"
        gap = "" if text.endswith(("\n", "\r")) else end
        return Archive(text + gap + "".join(line + end for line in new))

    def _written(self, entry: KnowledgeEntry) -> str:
        return f"{write_line(entry.line)} (in {entry.section} until Ep{self.episode}, T{self.turn})"


class KnowledgeBase:
    """Two files: the knowledge, and ``NAME.archive.md`` with every line removed from it.

    Outside a run, every change is written at once. All methods raise ``StoreError`` if a file cannot be read or
    written.
    """

    def __init__(self, path: Path) -> None:
        self._knowledge: DocumentStore[KnowledgeDocument, KnowledgeEdit] = DocumentStore(path, parse_knowledge)
        self._archive: DocumentStore[Archive, ArchiveEdit] = DocumentStore(
            path.with_name(archive_name(path.name)), Archive
        )

    @property
    def path(self) -> Path:
        """The file of the knowledge."""
        return self._knowledge.path

    @property
    def document(self) -> KnowledgeDocument:
        """The knowledge as its file has it, with all changes that are not written yet."""
        return self._knowledge.document

    @property
    def unsaved(self) -> int:
        """How many changes are not written yet."""
        return self._knowledge.unsaved + self._archive.unsaved

    @property
    def stores(self) -> tuple[SharedStore, ...]:
        """The stores of both files, the archive first, so that no line is ever in neither file."""
        return (self._archive, self._knowledge)

    def revise(self, edit: KnowledgeEdit, episode: int, turn: int) -> bool:
        """Make the edit, archive what it removes, and return whether it changed anything."""
        if edit.removed:
            self._archive.apply(ArchiveEdit(edit.removed, episode, turn))
        return self._knowledge.apply(edit)

    def refresh(self) -> None:
        """Read what others have written into both files."""
        self._knowledge.refresh()
        self._archive.refresh()


def _key(entry: KnowledgeEntry) -> tuple[str, str]:
    return entry.section, text_key(entry.line.text)
