"""Asks a model what turns have taught, and which lines of knowledge can go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from managers.knowledge.answer import (
    ConsolidationAnswer,
    Grounds,
    Judged,
    KnowledgeAnswer,
    ProposedLine,
    brief_schema,
    consolidation,
    judged,
    likely_sections,
)
from managers.knowledge.prompt import (
    brief_question,
    consolidation_question,
    quoted,
    update_question,
    wants_brief_prompt,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from managers.knowledge.base import KnowledgeEdit
    from managers.knowledge.prompt import Played, Question
    from session.knowledge import KnowledgeEntry
    from session.token_counter import TokenCounter
    from zorkgpt.llm.language_model import LanguageModel


def ask_what_is_new(
    model: LanguageModel, played: Played, entries: Sequence[KnowledgeEntry], budget: int, tokens: TokenCounter
) -> Judged | None:
    """What the turns add to these lines of knowledge; ``None`` where there is nothing to ask about.

    A small model, whose prompts may have few tokens, only chooses a turn; the words are the story's. Raises
    ``LanguageModelError``.
    """
    if wants_brief_prompt(budget, tokens):
        question = brief_question(played, budget, tokens)
        answer = _brief_answer(model, played, question) if question.turns else None
    else:
        question = update_question(played, entries, budget, tokens)
        answer = model.complete("analysis", question.prompt, KnowledgeAnswer).value
    if answer is None:
        return None
    return judged(answer, Grounds(played.episode, question.known, question.turns, played.ephemeral_turns))


def ask_what_can_go(
    model: LanguageModel, entries: Sequence[KnowledgeEntry], excess: int, budget: int, tokens: TokenCounter
) -> KnowledgeEdit:
    """Lines merged and cut so that ``excess`` characters less remain, as far as the model sees a way.

    Raises ``LanguageModelError``.
    """
    question = consolidation_question(entries, excess, budget, tokens)
    answer = model.complete("analysis", question.prompt, ConsolidationAnswer).value
    return consolidation(answer, question.known, excess)


def _brief_answer(model: LanguageModel, played: Played, question: Question) -> KnowledgeAnswer:
    """The turn that the model chose, in the section that it chose where the turn's own facts speak for that too."""
    shown = [turn for turn in played.turns if turn.turn in question.turns]
    choice = model.complete("analysis", question.prompt, brief_schema(shown)).value
    turn = next(turn for turn in shown if turn.turn == choice.turn)
    likely = likely_sections(turn)
    section = choice.section if choice.section in likely else likely[0]
    text = quoted(turn, played.history[turn.turn - 1])
    return KnowledgeAnswer(lines=[ProposedLine(section=section, text=text, turns=[turn.turn])])
