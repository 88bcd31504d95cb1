"""Sums up episodes, has a model find what they teach and plan the next one, and reports the last one to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from typing_extensions import Unpack, override

from managers.base_manager import BaseManager, Log, ManagerStatus, SharedParts
from managers.episodes import (
    INSTRUCTIONS_SHARE,
    PLANNED_TURNS,
    SUMMARIES_FILE,
    EpisodeAnswer,
    EpisodeSummary,
    KnownEnd,
    Scored,
    Summaries,
    episode_prompt,
    handover_text,
    lesson_of,
    parse_summaries,
    summary_of,
)
from managers.knowledge.analysis import entries_numbered, most_useful, numbered_list, proposed_text, with_sources_of
from managers.knowledge_manager import KnowledgeManager
from managers.known import knowledge_key
from managers.plan import MOST_COMMANDS, PREFIX, Played, Walked, commands_in, commands_line
from managers.prompting import is_for_a_small_model, lines_of, turn_text
from managers.questions import INSIGHTS_TEXT, KNOWLEDGE_TEXT, Beside, Question, ask_each, share_at_end
from managers.route_manager import RouteManager
from managers.state_manager import StateManager
from session.commands import AGAIN, commands_of, plain_command
from session.context import Place, PromptSection
from session.errors import LanguageModelError
from session.events import EpisodeEnd
from session.files.document_store import DocumentStore
from session.files.run_folders import SharedFile
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.knowledge import DEATH_ANALYSIS, INSIGHTS, NEXT_EPISODE, KnowledgeEntry, KnowledgeLine, as_sources
from session.text import one_line, text_key
from session.values import Observation

LAST_EPISODE_TITLE = "The last episode, and the plan"
LATEST_SHOWN = 8  # turns
WITH_KNOWLEDGE = "(as under WHAT IS KNOWN)"  # of a prompt in one call with the question about knowledge
SHARE_OF_BUDGET = 4  # insights, and knowledge, take at most one in so many tokens of the prompt
FEWEST_MERGED = 2  # insights that one without turns of its own has to join

_HEADINGS = {text_key(heading): heading for heading in INSIGHTS}


class EpisodeSynthesizer(BaseManager):
    """Follows the current episode, and owns ``episode_summaries.jsonl`` with the earlier ones.

    knowledge_manager: keeps the lessons and provides the model
    routes: checks the commands of the plan; ``None`` if it cannot be followed
    state_manager: shows how an episode ended
    achieve: is called with the numbers of the open objectives that were achieved in the episode
    summary: of the episode when it has ended; ``None`` before
    handover: the report of the last episode for the player, in the past tense; "" before the first episode. It does
        not change during an episode, so that the server can cache the beginning of a prompt

    Raises ``StoreError`` if the file cannot be read.
    """

    files = (SharedFile(SUMMARIES_FILE),)

    def __init__(
        self,
        logger: Log,
        config: GameConfiguration,
        game_state: GameState,
        knowledge_manager: KnowledgeManager,
        state_manager: StateManager,
        *,
        achieve: Callable[[Sequence[int]], object] = len,
        routes: RouteManager | None = None,
        **shared: Unpack[SharedParts],
    ) -> None:
        super().__init__(logger, config, game_state, **shared)
        self._routes = routes
        self.knowledge_manager = knowledge_manager
        self.state_manager = state_manager
        self._achieve = achieve
        path = config.zork_game_workdir / SUMMARIES_FILE
        self._store: DocumentStore[Summaries] = DocumentStore(path, parse_summaries)
        self.stores = (self._store,)
        self._counts: Counter[str] = Counter()
        self.reset()
        summaries = enumerate(self._store.document.lines, start=1)
        lines = [number for number, (line, summary) in summaries if line.strip() and not summary]
        if lines:
            self.log_warning("summaries of episodes are not understood", file=str(path), lines=lines)

    @override
    def section(self, observation: Observation) -> PromptSection | None:
        planned = "".join(f"\n{number}. {line}" for number, line in enumerate(self._plan, start=1))
        is_followed = bool(self._commands and self._routes)
        commands = f"`follow` 0 plays {self._commands.removeprefix(PREFIX)}" if is_followed else self._commands
        texts = [self.handover, f"Plan for this episode:{planned}" if planned else "", commands]
        shows = tuple(knowledge_key(NEXT_EPISODE, line) for line in (*self._plan, self._kept_commands) if line)
        return PromptSection(LAST_EPISODE_TITLE, "\n".join(filter(None, texts)), 6, Place.PLAN, shows)

    @override
    def reset(self, game_state: GameState | None = None) -> None:
        super().reset(game_state)
        self.summary: EpisodeSummary | None = None
        earlier = self._earlier()
        self.handover = handover_text(earlier[-1]) if earlier else ""
        self._plan = self.knowledge_manager.plan()
        self._kept_commands = self.knowledge_manager.commands_line()
        self._commands = self._checked(self.knowledge_manager.planned_commands()) or self._kept_commands

    @property
    def commands(self) -> Sequence[str]:
        """The plain commands of the plan that the prompt shows."""
        return [plain_command(each) for each in commands_in(self._commands)]

    def known_points(self) -> list[Scored]:
        """Return the turns of earlier episodes in which points were won, those of the best one first."""
        return [scored for game in self.points_by_game() for scored in game]

    def points_by_game(self) -> list[list[Scored]]:
        """Return the turns of each earlier episode in which points were won, the best one first."""
        earlier = sorted(self._earlier(), key=lambda summary: -sum(scored.change for scored in summary.scored))
        return [[scored for scored in summary.scored if scored.change > 0] for summary in earlier]

    def in_vain(self) -> dict[Played, str]:
        """Return when commands that had won points at their locations won none, if that was the last time."""
        found: dict[Played, str] = {}
        for summary in (*self._earlier(), *([self.summary] if self.summary else ())):
            found |= {each.played: f"episode {summary.episode}, turn {each.turn}" for each in summary.in_vain}
            for won in (each for each in summary.scored if each.change > 0):
                found.pop(won.played, None)
        return found

    def known_losses(self) -> list[Scored]:
        """Return the turns of earlier episodes in which points were lost, but not the game."""
        return [
            scored
            for summary in self._earlier()
            for scored in summary.scored
            if scored.change < 0 and scored.turn not in {end.step.turn for end in summary.ends}
        ]

    def known_ends(self) -> list[KnownEnd]:
        """Return the turns of earlier episodes that killed the player or ended the story."""
        return [end for summary in self._earlier() for end in summary.ends]

    @override
    def finish(self, end: EpisodeEnd) -> None:
        """Sum the episode up, and show other programs how it ended. Raises ``StoreError``."""
        self.summary = summary = summary_of(self.game_state, end, self.known_points(), self.vocabulary)
        self._store.apply(lambda summaries: summaries.with_summary(summary))
        self.state_manager.export_current_state()

    def synthesize_inter_episode_wisdom(self) -> bool:
        """Draw the lessons of the episode by a question of their own. Returns whether anything new was learned."""
        learned = self._counts["learned"]
        ask_each(self.questions(()))
        return self._counts["learned"] > learned

    @override
    def questions(self, outlooks: Sequence[str]) -> Sequence[Question]:
        """Return the question about what the episode teaches and how to plan the next one.

        If the model does not answer or is too small, deaths are reported in the story's own words
        (docs/records/specification.md, Episode synthesis).
        """
        knowledge, budget, summary = self.knowledge_manager, self.config.prompt_budgets.analysis, self.summary
        if summary is None or not self.config.knowledge.enabled:
            return ()
        if not summary.is_instructive and summary.turns < PLANNED_TURNS:
            return ()
        if is_for_a_small_model(budget, "episode", self.tokens, share=INSTRUCTIONS_SHARE):  # it would invent lessons
            self._keep_plain_lessons(summary)
            return ()
        budget = share_at_end(budget)
        shown = most_useful(knowledge.insights(), self.tokens.characters(budget // SHARE_OF_BUDGET))
        ours = [entry for entry in shown if entry.is_ours]
        others = knowledge.text(budget // SHARE_OF_BUDGET, but=INSIGHTS)
        checked = self._checked(self._commands_of(knowledge.planned_commands()))
        open_ends = [*outlooks, *(f"Noted: {note}" for note in self.game_state.notes)]
        prompt = partial(
            episode_prompt,
            [*self._earlier(), summary],
            insights=numbered_list(shown, ours, len(knowledge.insights()) - len(shown)),
            plan=[*self._plan, *filter(None, [checked])],
            budget=budget,
            tokens=self.tokens,
        )
        alone = prompt(knowledge=others, outlook=[*open_ends, *self._latest_turns()])
        take = partial(self._take, summary, ours)
        beside = Beside(prompt(knowledge=WITH_KNOWLEDGE, outlook=open_ends), {KNOWLEDGE_TEXT})
        shows = frozenset({INSIGHTS_TEXT})
        return (
            Question(knowledge.model, "analysis", alone, EpisodeAnswer, take, shows, beside, is_about_episode=True),
        )

    def _take(
        self, summary: EpisodeSummary, numbered: Sequence[KnowledgeEntry], answer: EpisodeAnswer | LanguageModelError
    ) -> None:
        """Keep what makes sense in the answer and may be known."""
        if isinstance(answer, LanguageModelError):
            self._counts["failures"] += 1
            self.log_warning("no lessons are drawn: the model gave no answer", error=str(answer))
            self._keep_plain_lessons(summary)
            return
        knowledge, refused = self.knowledge_manager, []
        by_turn = {death.last.turn: death for death in summary.deaths}
        lessons: list[KnowledgeLine] = []
        for lesson in answer.deaths:
            text, death = proposed_text(lesson.text), by_turn.get(lesson.turn)
            if death is None or not text:
                refused.append(lesson.text)
            else:
                lessons.append(lesson_of(death, summary.episode, text))
        known = knowledge.insights()
        insights = known
        for insight in answer.insights:
            heading, text = _HEADINGS.get(text_key(insight.heading)), proposed_text(insight.text)
            is_played = all(1 <= turn <= summary.turns for turn in insight.turns)
            named = entries_numbered(insight.replaces, numbered)
            merged = [each for each in insights if each in named or text_key(each.line.text) == text_key(text)]
            own = KnowledgeLine(text, as_sources(summary.episode, insight.turns))
            is_founded = own.sources or sum(each.is_ours for each in merged) >= FEWEST_MERGED
            if heading is None or not text or not is_played or not is_founded:
                refused.append(insight.text)
                continue
            new = with_sources_of(merged, own)
            # The turns that the model names must be admissible themselves, without the inherited ones.
            if all(knowledge.admits(line) for line in (own, new) if line.sources):
                insights = [each for each in insights if each not in merged or not each.is_ours]
                if not any(text_key(each.line.text) == text_key(text) for each in insights):
                    insights.append(KnowledgeEntry(heading, new))
        self._achieve(answer.achieved)
        if answer.plan is not None:
            knowledge.replace_plan(answer.plan)
        self._keep_commands(answer.commands)
        deaths = knowledge.add_lines(DEATH_ANALYSIS, lessons) if lessons else 0
        if insights != known:
            knowledge.replace_insights([entry for entry in insights if entry.is_ours])
        is_changed = knowledge.insights() != known
        self._counts.update(updates=1, refused=len(refused), learned=is_changed or deaths > 0)
        self.log_info("lessons are drawn", deaths=deaths, insights=is_changed, refused=refused)

    def _keep_commands(self, proposed: Sequence[str] | None) -> None:
        """Keep the plan's commands, or check the earlier ones again (``None``), after what was played meanwhile."""
        planned = self.knowledge_manager.planned_commands() if proposed is None else proposed
        line = self._checked(self._commands_of(planned))
        if line or proposed is not None:
            self.knowledge_manager.replace_commands(line)

    def _commands_of(self, lines: Sequence[str]) -> list[str]:
        commands: list[str] = []
        for each in (each for line in lines for each in commands_of(one_line(line), self.vocabulary) if each):
            commands.append(commands[-1] if commands and plain_command(each) in AGAIN else each)
        return commands[:MOST_COMMANDS]

    def _checked(self, commands: Sequence[str]) -> str:
        """Return the line of these commands, checked against all that was played; "" if there are none."""
        if not commands:
            return ""
        scored = [*self.known_points(), *(self.summary.scored if self.summary else ())]
        in_vain = self.in_vain()
        points = {each.played: each.change for each in scored if each.played not in in_vain}
        walked = self._routes.walked() if self._routes else Walked(is_whole=False)
        games = self._routes.games_played() if self._routes else ()
        return commands_line(commands, self.game_state.opening_id, walked, points, games)

    @override
    def get_status(self) -> ManagerStatus:
        state = self.game_state
        return {
            "type": "episode",
            "state": {
                "episode": state.episode,
                "end": self.summary.end if self.summary else None,
                "has_handover": bool(self.handover),
            },
            "metrics": {
                "deaths": sum(turn.after.died for turn in state.turns),
                "rooms": len(state.seen_locations),
                "summaries": len(self._store.document.before(state.episode)),
                **{name: self._counts[name] for name in ("updates", "failures", "refused")},
            },
        }

    def _latest_turns(self) -> list[str]:
        """Return the latest turns, a line each."""
        state, lines = self.game_state, []
        for turn in state.turns[-LATEST_SHOWN:]:
            response = " ".join(lines_of(turn.response, turn.after.location_label))
            exchange = f"{turn.command_text}: {response}"
            lines.append(turn_text(turn.turn, exchange, at=turn.before.location))
        return lines

    def _earlier(self) -> list[EpisodeSummary]:
        """Return the summaries of earlier episodes; none if ``knowledge.enabled`` is false."""
        return self._store.document.before(self.game_state.episode) if self.config.knowledge.enabled else []

    def _keep_plain_lessons(self, summary: EpisodeSummary) -> None:
        lessons = [lesson_of(death, summary.episode) for death in summary.deaths]
        self._counts["learned"] += self.knowledge_manager.add_lines(DEATH_ANALYSIS, lessons)
