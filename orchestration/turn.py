"""Plays one turn: prompt, proposals, verdicts, command (which survives a crash of the interpreter), record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import NamedTuple

from game_interface.core.commands import refusal
from game_interface.core.game import Game
from game_interface.core.restoring_game import RestoringGame
from managers.circling import CirclingDetector
from managers.context_manager import ContextManager, Rejection
from managers.route_manager import RouteManager
from orchestration.learning import Learning
from session.commands import Vocabulary, commands_of
from session.context import AgentContext, OfferedRoute, PromptSection
from session.errors import LanguageModelError, ZorkGPTError
from session.events import GameFailed, ProposalReviewed
from session.files.inputs import Inputs
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, Proposal, TurnRecord, Verdict
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.llm.stand_ins import LEAVING
from zorkgpt.players.agent import Agent, ReadingAnswer
from zorkgpt.players.critic import Critic
from zorkgpt.prompts.loader import fill_prompt

Review = Callable[[Proposal], ProposalReviewed | None]
"""Returns the user's decision on a proposal, ``None`` for none."""

Offer = Callable[[tuple[str, ...], Callable[[str], int]], tuple[str, ...]]
"""Selects and orders valid actions by the number of times that each was played."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Plays turns.

    extractor: the model that reads the story's text if the agent does not; if it fails, only the reading is missing
    max_rejections: proposals of one turn that are rejected with a reason; the next one is played
    offer: selects the valid actions that the agent chooses from; ``None`` without that assistance
        (docs/specification.md, Assistance)
    vocabulary: for splitting a line into commands; ``None`` for no splitting
    circling: makes the critic check proposals while play repeats itself
    routes: the routes of the agent; their commands are played without a model call
    is_persons: the user plays, without a critic
    """

    game: RestoringGame
    agent: Agent
    critic: Critic
    context: ContextManager
    inputs: Inputs
    extractor: LanguageModel | None = None
    max_rejections: int = 2
    offer: Offer | None = None
    vocabulary: Vocabulary | None = None
    routes: RouteManager | None = None
    circling: CirclingDetector | None = None
    is_persons: bool = False
    review: Review = lambda _proposal: None
    limit: int | None = None

    def play(self, state: GameState, learnt: Sequence[PromptSection] = ()) -> TurnRecord:
        """Play the next turn and return its record; the managers have not learned from it yet.

        If even the last proposal cannot reach the story, the outcome of the turn is that refusal.
        Raises ``PlayerLeft`` or ``LanguageModelError`` with the story unchanged, or ``GameError``.
        """
        before = self.game.observation
        next_of_route = self.routes.next_proposal if self.routes else None
        if next_of_route is None:
            attempts = list(self._attempts(before, learnt, state))
        else:
            self.game.step(next_of_route.action)
            attempts = [_JudgedProposal(next_of_route, Verdict(accepted=True, source="route"))]
        proposals = tuple(attempt.proposal for attempt in attempts)
        return TurnRecord(
            episode=state.episode,
            turn=state.turn_count + 1,
            before=before,
            proposals=self._with_reading(proposals, before) if next_of_route is None else proposals,
            verdicts=tuple(attempt.verdict for attempt in attempts),
            after=self.game.observation,
        )

    def repeat(self, recorded: TurnRecord, failures: Sequence[GameFailed]) -> None:
        """Play the command of a recorded turn without its prompts.

        failures: commands of this turn that crashed the interpreter
        """
        for proposal, verdict in zip(recorded.proposals, recorded.verdicts, strict=True):
            if self.routes is not None and proposal.wants_way and verdict.source != "person":
                self.routes.set_out(proposal, self.game.observation)
        failure = next((each for each in failures if each.command == recorded.action), None)
        if failure is not None and recorded.after.refusal is not None:
            self.game.put_back(failure)
        else:
            self.game.step(recorded.action)

    def _attempts(
        self, before: Observation, learnt: Sequence[PromptSection], state: GameState
    ) -> Iterator[_JudgedProposal]:
        """Yield proposals with their verdicts, up to the one that was played.

        Only the first of several commands in a line is judged and played, since the agent should see its result before
        the next. An unreachable route or location is never played; if the last proposal was one, the agent is called
        once more without these options.
        """
        routes = self.routes.offers(before) if self.routes else ()
        valid_actions = self._offered(state)
        if valid_actions and not state.turn_count:
            valid_actions = (*(route.choice for route in routes if route.is_best), *valid_actions)
        rejections: list[Rejection] = []
        rejections_left = self.max_rejections
        while True:
            offers_ways = rejections_left >= 0
            context = self._agent_context(before, learnt, valid_actions, rejections, routes, offers_ways=offers_ways)
            proposal = self.agent.propose(context)
            if self.is_persons and proposal.action == LEAVING:
                raise PlayerLeft
            first = commands_of(proposal.action, self.vocabulary)[0] if self.vocabulary else proposal.action
            if first != proposal.action and not proposal.wants_way:
                reason = f"A turn is one command: {first!r} is played, and what follows it is for the next turns."
                yield _JudgedProposal(proposal, Verdict(accepted=False, reason=reason, source="parser"))
                proposal = replace(proposal, action=first)
            review = self.inputs.get(ProposalReviewed, partial(self.review, proposal))
            if review is not None and review.played not in ("", proposal.action):
                reason = f"{review.played!r} was typed instead."
                yield _JudgedProposal(proposal, Verdict(accepted=False, reason=reason, source="person"))
                proposal = Proposal(review.played)
            proposal, verdict = self._judge(before, learnt, proposal, review)
            is_refused_way = proposal.wants_way and not verdict.accepted
            if verdict.accepted or not (rejections_left > 0 or verdict.source == "person" or is_refused_way):
                unfit = self.game.step(proposal.action).refusal
                if unfit is None:
                    yield _JudgedProposal(proposal, verdict)
                    return
                verdict = Verdict(accepted=False, reason=unfit, source="parser")
            rejections.append(Rejection(proposal.wish, verdict.reason))
            yield _JudgedProposal(proposal, verdict)
            if verdict.source != "person":
                rejections_left -= 1
            if rejections_left < 0 and not is_refused_way:
                return

    def _offered(self, state: GameState) -> tuple[str, ...] | None:
        """Return the commands to choose from. Equally fresh ones are shuffled, since small models prefer the first."""
        if self.offer is None:
            return None
        actions = list(self.game.valid_actions())
        Random(f"{state.seed}, turn {state.turn_count}").shuffle(actions)  # noqa: S311  not for secrets
        return self.offer(tuple(actions), partial(self._times, state))

    def _times(self, state: GameState, action: str) -> int:
        """Return how often the action was played here, in this episode and, if routes are enabled, in earlier ones."""
        earlier = self.routes.times_tried(action) if self.routes else 0
        return len(state.tries.of(state.current_room_id, action)) + earlier

    def _agent_context(
        self,
        before: Observation,
        learnt: Sequence[PromptSection],
        valid_actions: tuple[str, ...] | None,
        rejections: list[Rejection],
        routes: tuple[OfferedRoute, ...],
        *,
        offers_ways: bool,
    ) -> AgentContext:
        context = self.context.get_agent_context(
            before,
            learnt,
            valid_actions=valid_actions,
            rejections=rejections,
            system=self.agent.system_prompt(assisted=valid_actions is not None, offers_ways=offers_ways),
            turn_limit=self.limit,
        )
        return replace(context, routes=routes if offers_ways else (), offers_ways=offers_ways)

    def _judge(
        self, before: Observation, learnt: Sequence[PromptSection], proposal: Proposal, review: ProposalReviewed | None
    ) -> _JudgedProposal:
        """Return the command and the verdict on it: by the user's decision, else by the critic.

        If the agent wants a route or a walk, it begins, and its first command is proposed. A command that cannot reach
        the story is rejected without the critic.
        """
        if review is not None and not review.played:
            return _JudgedProposal(proposal, Verdict(accepted=False, reason=review.reason, source="person"))
        if self.routes is not None and proposal.wants_way:
            problem = self.routes.set_out(proposal, before)
            first = self.routes.next_proposal
            if problem or first is None:
                return _JudgedProposal(proposal, Verdict(accepted=False, reason=problem, source="route"))
            return _JudgedProposal(replace(proposal, action=first.action), Verdict(accepted=True, source="route"))
        unfit = None if before.awaits_key else refusal(proposal.action)
        if unfit is not None:
            verdict = Verdict(accepted=False, reason=unfit, source="parser")
        elif self.is_persons or review is not None:
            verdict = Verdict(accepted=True, source="person")
        else:
            system = self.critic.system_prompt
            context = partial(self.context.get_critic_context, before, proposal.action, learnt, system=system)
            circle = self.circling.text() if self.circling and self.circling.is_circling else ""
            verdict = self.critic.judge(before, proposal, context, circle)
        return _JudgedProposal(proposal, verdict)

    def _with_reading(self, proposals: tuple[Proposal, ...], before: Observation) -> tuple[Proposal, ...]:
        if self.extractor is None:
            return proposals
        try:
            system = fill_prompt("extractor")
            prompt = Prompt(system, self.context.get_extractor_text(before, system=system))
            reading = self.extractor.complete("info_ext", prompt, ReadingAnswer).value.reading()
        except LanguageModelError as error:
            self.context.log_warning("the text was not read", error=str(error))
            return proposals
        return (replace(proposals[0], reading=reading), *proposals[1:])


def recorded_game(inner: Game, inputs: Inputs) -> RestoringGame:
    """Return the game of a run, whose failed commands are recorded in ``inputs`` and repeated from there."""

    def recorded(command: str) -> GameFailed | None:
        return inputs.get(GameFailed, lambda: None, lambda event: event.command == command)

    return RestoringGame(inner, recorded, inputs.emit)


class PlayerLeft(ZorkGPTError):
    """The user wants to end the episode."""


class _JudgedProposal(NamedTuple):
    proposal: Proposal
    verdict: Verdict


def freshest_first(actions: tuple[str, ...], times: Callable[[str], int]) -> tuple[str, ...]:
    """Sort the actions, the least played here first: small models prefer the beginning of a list."""
    return tuple(sorted(actions, key=times))


def freshest(actions: tuple[str, ...], times: Callable[[str], int]) -> tuple[str, ...]:
    """Return the actions that were played least here: small models repeat themselves."""
    played = [times(action) for action in actions]
    return tuple(action for action, number in zip(actions, played, strict=True) if number == min(played))


def build_turn(
    configuration: GameConfiguration,
    model: LanguageModel,
    game: RestoringGame,
    learning: Learning,
    inputs: Inputs,
    vocabulary: Vocabulary,
    review: Review,
) -> Turn:
    """Build the players of a run around its game."""
    is_persons = configuration.agent.player != "model"
    reader = configuration.extractor.mode
    reasoning_length = None if is_persons else configuration.agent.reasoning_length
    offers = {"fresh-actions": freshest, "valid-actions": freshest_first}
    offer = next((offers[name] for name in offers if name in configuration.assist), None)
    return Turn(
        game=game,
        agent=Agent(
            model,
            reads=reader == "inline",
            notes_objectives=configuration.objectives.enabled and reasoning_length is None,
            keeps_notes=not is_persons and reasoning_length is None,
            travels=learning.find(RouteManager) is not None,
            reasoning_length=reasoning_length,
        ),
        critic=learning.critic,
        context=learning.get(ContextManager),
        inputs=inputs,
        extractor=model if reader == "separate" else None,
        max_rejections=configuration.critic.max_rejections,
        offer=None if is_persons else offer,
        vocabulary=vocabulary,
        routes=learning.find(RouteManager),
        circling=learning.find(CirclingDetector),
        is_persons=is_persons,
        review=review,
        limit=configuration.max_turns_per_episode,
    )
