"""Keeps what is known of the game as a whole, across episodes (docs/records/specification.md, Knowledge base)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from operator import is_

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.course_manager import CourseManager, is_on_course
from managers.done import done_in, numbers_named, with_commands
from managers.knowledge.analysis import (
    AnswerBesideEpisode,
    KnowledgeAnswer,
    KnowledgePrompt,
    LearnedTurn,
    Played,
    ask_what_can_go,
    brief_question,
    by_usefulness,
    edit_of,
    is_ephemeral,
    is_trivial,
    laid_out,
    line_in_brief,
    proposed_text,
    size,
    update_question,
    within,
)
from managers.knowledge.document import KnowledgeDocument, KnowledgeEdit, archived, parse_knowledge
from managers.known import Known, knowledge_key
from managers.map_manager import MapManager
from managers.objectives import evidence_of
from managers.plan import commands_in
from managers.prompting import CHARACTERS_PER_TOKEN, is_for_a_small_model
from managers.questions import (
    INSIGHTS_TEXT,
    KNOWLEDGE_TEXT,
    Beside,
    ChosenTurn,
    Question,
    ask_each,
    choice_of,
    share_at_end,
)
from session.context import Place, PromptSection
from session.errors import LanguageModelError
from session.files.document_store import DocumentStore, PlainText
from session.files.run_folders import SharedFile
from session.files.shared_files import archive_name
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.knowledge import INSIGHTS, NEXT_EPISODE, PLAN_LINES, KnowledgeEntry, KnowledgeLine, Source
from session.memory import LocationMemories
from session.text import text_key
from session.values import Observation, TurnRecord
from zorkgpt.llm.language_model import LanguageModel

LONGEST_NOTE = 30  # characters, of how many lines are left out
SHARE_OF_KNOWLEDGE, MOST_TOKENS = 5, 800
"""At most one in ``SHARE_OF_KNOWLEDGE`` tokens of the agent's prompt is knowledge, and at most ``MOST_TOKENS`` are."""
MOST_WAITING = 300  # turns; more than a prompt has room for
COUNTED = ("updates", "failures", "trivial", "refused", "ephemeral", "taken", "archived", "consolidations")


class KnowledgeManager(BaseManager):
    """Owns ``knowledgebase.md``, and ``knowledgebase.archive.md`` with every line removed from it.

    model: finds out what turns have taught, in the role ``analysis``; other managers use it too
    memory_manager: provides the turns that are true only in this episode; without it there are none
    map_manager: provides the names of the locations of memories
    courses: knows which turn stopped a route
    asked_turn: the turn of this episode in which an update was last due

    Outside a run, every change is written at once. Raises ``StoreError`` if a file cannot be read.
    """

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        model: LanguageModel,
        *,
        memory_manager: LocationMemories | None = None,
        map_manager: MapManager | None = None,
        courses: CourseManager | None = None,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self.model = model
        self.memory_manager = memory_manager
        self.map_manager = map_manager
        self._courses = courses
        path = config.zork_game_workdir / config.knowledge_file
        self._knowledge: DocumentStore[KnowledgeDocument] = DocumentStore(path, parse_knowledge)
        self._archive = DocumentStore[PlainText](path.with_name(archive_name(path.name)), PlainText)
        self.stores = (self._archive, self._knowledge)  # the archive first, so that no line is ever in neither file
        self._counts: Counter[str] = Counter()
        self.asked_turn = 0
        self._turns: tuple[LearnedTurn, ...] = ()
        self._learned: tuple[str, ...] = ()
        self._evidence: tuple[int, ...] = ()
        self._shown = self._most_useful()
        self._section = PromptSection("", "")  # made of ``_section_of``
        self._section_of: tuple[object, object, object] = (None, None, None)

    @classmethod
    @override
    def shared_files(cls, config: GameConfiguration) -> tuple[SharedFile, ...]:
        name = config.knowledge_file
        return (SharedFile(name, "knowledgebase.md"), SharedFile(archive_name(name), "knowledgebase.archive.md"))

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        """Return what is known, within a fifth of the agent's prompt and 800 tokens."""
        known = self._knowledge.document, self._shown, len(self.game_state.scored)
        if not all(map(is_, known, self._section_of)):
            entries, others = self._within(min(self.config.prompt_budgets.agent // SHARE_OF_KNOWLEDGE, MOST_TOKENS))
            shows = tuple(knowledge_key(entry.section, entry.line.text) for entry in entries)
            text, self._section_of = laid_out(entries, others), known
            self._section = PromptSection("What is known of this game", text, 7, Place.KNOWLEDGE, shows)
        return self._section

    @override
    def known(self) -> Known:
        return Known(knowledge=self.entries())

    def text(self, tokens: int, *, but: Collection[str] = ()) -> str:
        """Return the most useful lines within ``tokens`` tokens, and how many are left out; "" if there are none.

        but: sections that are left out
        """
        return laid_out(*self._within(tokens, but))

    def _within(self, tokens: int, but: Collection[str] = ()) -> tuple[list[KnowledgeEntry], int]:
        """Return the most useful lines, none of the sections ``but``, and the number of the others."""

        def is_meant(entry: KnowledgeEntry) -> bool:
            return entry.section not in but and not self._is_won(entry)

        number = sum(map(is_meant, self._known()))
        useful = [*filter(is_meant, self._shown)] if self.config.knowledge.enabled else []
        kept = within(useful, tokens * CHARACTERS_PER_TOKEN)
        if len(kept) < number:
            kept = within(useful, tokens * CHARACTERS_PER_TOKEN - LONGEST_NOTE)
        return kept, number - len(kept)

    def _is_won(self, entry: KnowledgeEntry) -> bool:
        """Return whether the line's points were won in this game, for a small model, which tends to repeat them."""
        text, is_small = entry.line.text, self.config.agent.reasoning_length is not None
        return is_small and bool(done_in(text, with_commands(self.game_state.scored), numbers_named(text)))

    def full_text(self) -> str:
        """Return all of ``knowledgebase.md`` including pending changes, or "" if this run has no knowledge base."""
        return self._knowledge.document.render() if self.config.knowledge.enabled else ""

    def entries(self) -> tuple[KnowledgeEntry, ...]:
        """Return every line in the order of the file, or nothing if this run has no knowledge base."""
        return self._knowledge.document.entries if self.config.knowledge.enabled else ()

    def plan(self) -> tuple[str, ...]:
        """Return the lines below ``NEXT EPISODE`` but its commands, written by the program or by hand."""
        return tuple(entry.line.text for entry in self._planned(commands=False))

    def commands_line(self) -> str:
        """Return the line of the plan's commands, "" if there is none."""
        return next((entry.line.text for entry in self._planned(commands=True)), "")

    def planned_commands(self) -> tuple[str, ...]:
        """Return the plan's commands, which are the exact opening of the next game; none if it has none."""
        return commands_in(self.commands_line())

    def replace_plan(self, lines: Sequence[str]) -> None:
        """Replace the plan for the next episode by at most ``PLAN_LINES`` lines; lines written by hand stay."""
        self._replace_plan([text for text in map(proposed_text, lines) if text][:PLAN_LINES], commands=False)

    def replace_commands(self, line: str) -> None:
        """Replace the line of the plan's commands; "" removes it."""
        self._replace_plan([line] if line else [], commands=True)

    def _planned(self, *, commands: bool) -> list[KnowledgeEntry]:
        """Return the plan's lines with commands, or those without."""
        plan = (entry for entry in self.entries() if entry.section == NEXT_EPISODE)
        return [entry for entry in plan if bool(commands_in(entry.line.text)) is commands]

    def _replace_plan(self, lines: Sequence[str], *, commands: bool) -> None:
        old = tuple(entry for entry in self._planned(commands=commands) if entry.is_ours)
        played = (Source(self.game_state.episode, 1, self.game_state.turn_count),)
        new = tuple(KnowledgeEntry(NEXT_EPISODE, KnowledgeLine(text, played)) for text in lines)
        self._write(KnowledgeEdit(old, new))

    def insights(self) -> list[KnowledgeEntry]:
        """Return the lines below the headings of ``CROSS-EPISODE INSIGHTS``, in the order of these headings."""
        entries = self._knowledge.document.entries
        return [entry for title in INSIGHTS for entry in entries if entry.section == title]

    def learn(self, record: TurnRecord) -> None:
        """Add the turn to the next update, and make the update if it is due: see :meth:`process_periodic_update`.

        On a course no model is called.
        """
        if self.config.knowledge.enabled:
            facts = evidence_of(record, self.game_state.visited_locations)
            has_stopped = self._courses is not None and self._courses.has_stopped
            texts = tuple(fact.text for fact in facts)
            self._turns = (*self._turns, LearnedTurn(record, texts, has_stopped))[-MOST_WAITING:]
            if record.is_decisive or record.came_to_light:
                self._evidence += (record.turn,)
        if not is_on_course(self._courses, record):
            self.process_periodic_update()

    def process_periodic_update(self) -> None:
        """Update the knowledge every ``config.knowledge_update_interval`` turns, unless they were trivial.

        If the model does not answer, the turns wait for the next interval. Memories of the current visit are made
        first, because they show what is true only in this episode.
        """
        waited = self.game_state.turn_count - self.asked_turn
        if waited < self.config.knowledge_update_interval or self.game_state.game_over:
            return
        if self.memory_manager is not None and not is_trivial(self._turns):
            self.memory_manager.consider()
        ask_each(self._update())

    @override
    def questions(self, outlooks: Sequence[str]) -> Sequence[Question]:
        return self._update(is_at_end=True)

    def _archive_ephemeral(self) -> None:
        """Archive the lines that were learned in this episode, from turns that are all ephemeral by now."""
        episode, ephemeral = self.game_state.episode, self._ephemeral_turns()
        learned = (entry for entry in self._known() if entry.is_ours and text_key(entry.line.text) in self._learned)
        gone = tuple(entry for entry in learned if is_ephemeral(entry.line, episode, ephemeral))
        if gone and self._revise(KnowledgeEdit(removed=gone)):
            self._counts["ephemeral"] += len(gone)
            self.log_info("lines of this episode alone go to the archive", texts=_texts(gone))
            self._shown = self._most_useful()

    def admits(self, line: KnowledgeLine, shown: Collection[int] | None = None) -> bool:
        """Return whether the line may be added: it has a source that is not ephemeral. A refusal is logged.

        shown: the turns of this episode that it may cite; ``None`` for all that were played
        """
        episode = self.game_state.episode
        citable = set(range(1, self.game_state.turn_count + 1) if shown is None else shown)
        cites_others = any(each.episode == episode and not citable.issuperset(each.span) for each in line.sources)
        if not line.text or not line.sources or cites_others:
            reason = "refused"
        elif is_ephemeral(line, episode, self._ephemeral_turns()):
            reason = "ephemeral"
        else:
            return True
        self._counts[reason] += 1
        self.log_info("a line of knowledge is not taken", reason=reason, text=line.text)
        return False

    def add_lines(self, section: str, lines: Sequence[KnowledgeLine]) -> int:
        """Add those of the lines that may be added to the section, and return how many changed anything."""
        added = (KnowledgeEntry(section, line) for line in lines if self.admits(line))
        taken = sum(self._revise(KnowledgeEdit(added=(entry,))) for entry in added)
        self._counts["taken"] += taken
        return taken

    def replace_insights(self, insights: Sequence[KnowledgeEntry]) -> None:
        """Replace the program's lines below the headings of ``CROSS-EPISODE INSIGHTS`` by those that may be added.

        Lines that were there before stay regardless of their sources: an older file may number its episodes alike.
        """
        known = [entry for entry in self.insights() if entry.is_ours]
        added = [entry for entry in insights if entry in known or self.admits(entry.line)]
        self._revise(KnowledgeEdit(tuple(known), tuple(added)))

    def reset(self, game_state: GameState | None = None) -> None:
        """Begin a new episode, with all that is known, also what others have written since."""
        super().reset(game_state)
        self.asked_turn, self._turns, self._learned, self._evidence = 0, (), (), ()
        self._shown = self._most_useful()

    @override
    def get_status(self) -> ManagerStatus:
        entries = self._knowledge.document.entries
        return {
            "type": "knowledge",
            "state": {"file": str(self._knowledge.path), "asked_turn": self.asked_turn},
            "metrics": {
                "lines": len(entries),
                "lines_of_people": sum(not entry.is_ours for entry in entries),
                "tokens": size(entries) // CHARACTERS_PER_TOKEN,
                "pending_turns": len(self._turns),
                "pending_edits": self._knowledge.unsaved + self._archive.unsaved,
                **{name: self._counts[name] for name in COUNTED},
            },
        }

    def _update(self, *, is_at_end: bool = False) -> Sequence[Question]:
        """Return the question what the turns since the last update taught."""
        self.asked_turn = self.game_state.turn_count
        if is_trivial(self._turns):
            self._counts["trivial"] += bool(self._turns)
            if is_at_end:
                self._archive_ephemeral()
            return ()
        budget, tokens = self.config.prompt_budgets.analysis, self.tokens
        if is_for_a_small_model(budget, "knowledge", tokens):
            asked = brief_question(self._turns, tokens.characters(budget))
            take = partial(self._take, asked, is_at_end=is_at_end)
            if len(asked.turns) <= 1:
                take(ChosenTurn(turn=asked.turns[0]) if asked.turns else None)
                return ()
            return (Question(self.model, "analysis", asked.prompt, choice_of(asked.turns), take),)
        memories = self.memory_manager
        played = Played(
            self.game_state.episode,
            self._turns,
            ephemeral=memories.ephemeral_cache if memories else {},
            persistent=memories.memory_cache if memories else {},
            names=self.map_manager.game_map.room_names if self.map_manager else {},
            ephemeral_turns=self._ephemeral_turns(),
        )
        characters = tokens.characters(share_at_end(budget) if is_at_end else budget)
        asked = update_question(played, self._known(), characters)
        take = partial(self._take, asked, is_at_end=is_at_end)
        beside = Beside(asked.beside, {INSIGHTS_TEXT}, AnswerBesideEpisode) if asked.beside else None
        shows: set[int | str] = {KNOWLEDGE_TEXT, *asked.turns}
        return (Question(self.model, "analysis", asked.prompt, KnowledgeAnswer, take, shows, beside),)

    def _take(
        self,
        asked: KnowledgePrompt,
        answer: KnowledgeAnswer | ChosenTurn | LanguageModelError | None,
        *,
        is_at_end: bool,
    ) -> None:
        """Learn from the answer; ``None`` if there was nothing to ask."""
        if isinstance(answer, LanguageModelError):
            self._report_failure(answer)
        else:
            self._learn_from(asked, answer)
        if is_at_end:
            self._archive_ephemeral()

    def _learn_from(self, asked: KnowledgePrompt, answer: KnowledgeAnswer | ChosenTurn | None) -> None:
        if isinstance(answer, ChosenTurn):
            record = next(each.record for each in self._turns if each.record.turn == answer.turn)
            answer = KnowledgeAnswer(lines=[line_in_brief(record)])
        self._turns = ()
        if answer is None:
            self._counts["trivial"] += 1
        else:
            edit = edit_of(answer, asked.known, self.game_state.episode, partial(self.admits, shown=asked.turns))
            is_changed = self._revise(edit)
            self._counts.update(updates=1, taken=len(edit.added) if is_changed else 0)
            self.log_info("knowledge updated", taken=_texts(edit.added), replaced=_texts(edit.removed))
        self._consolidate()
        self._shown = self._most_useful()

    def _consolidate(self) -> None:
        """Have the model merge and cut the program's lines if the knowledge is too long."""
        entries = self._known()
        excess = size(entries) - self.config.knowledge.max_tokens * CHARACTERS_PER_TOKEN
        if excess <= 0 or not any(entry.is_ours for entry in entries):
            return
        try:
            characters = self.tokens.characters(self.config.prompt_budgets.analysis)
            edit = ask_what_can_go(self.model, entries, excess, characters)
        except LanguageModelError as error:
            self._report_failure(error)
            return
        self._revise(edit)
        self._counts["consolidations"] += 1
        self.log_info("knowledge consolidated", gone=_texts(edit.removed), merged=_texts(edit.added))

    def _report_failure(self, error: LanguageModelError) -> None:
        self._counts["failures"] += 1
        self.log_warning("the knowledge stays as it is: the model gave no answer", error=str(error))

    def _revise(self, edit: KnowledgeEdit) -> bool:
        """Write the edit, and note what it archives and which of its lines are new in this episode."""
        self._counts["archived"] += len(edit.removed)
        standing = {text_key(entry.line.text) for entry in self._knowledge.document.entries}
        keys = (text_key(entry.line.text) for entry in edit.added)
        self._learned += tuple(key for key in keys if key not in standing)
        return self._write(edit)

    def _write(self, edit: KnowledgeEdit) -> bool:
        """Make the edit, archive what it removes, and return whether it changed anything. Raises ``StoreError``."""
        if edit.removed:
            until = f"Ep{self.game_state.episode}, T{self.game_state.turn_count}"
            self._archive.apply(lambda archive: archived(archive, edit.removed, until))
        return self._knowledge.apply(edit.apply_to)

    def _ephemeral_turns(self) -> frozenset[int]:
        """Return the turns of this episode whose effects end with it.

        These are the turns that an ephemeral memory, superseded or not, cites. Turns whose own facts are evidence and
        turns that a permanent memory cites are excluded. A core memory describes the place before any action.
        """
        turns_of: dict[str, set[int]] = {"ephemeral": set(), "permanent": set(self._evidence), "core": set()}
        memories, state = self.memory_manager, self.game_state
        caches = (memories.ephemeral_cache, memories.memory_cache) if memories else ()
        for memory in (memory for cache in caches for at_location in cache.values() for memory in at_location):
            if memory.episode == state.episode:
                turns_of[memory.persistence].update(memory.span[: state.turn_count])
        return frozenset(turns_of["ephemeral"] - turns_of["permanent"])

    def _known(self) -> tuple[KnowledgeEntry, ...]:
        """Return all lines except those of the plan."""
        return tuple(entry for entry in self._knowledge.document.entries if entry.section != NEXT_EPISODE)

    def _most_useful(self) -> tuple[KnowledgeEntry, ...]:
        entries = by_usefulness(self._known())
        return tuple(within(entries, self.config.knowledge.max_tokens * CHARACTERS_PER_TOKEN))


def _texts(entries: Iterable[KnowledgeEntry]) -> list[str]:
    return [entry.line.text for entry in entries]
