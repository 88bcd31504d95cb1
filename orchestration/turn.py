"""Plays one turn: prompt, proposals, verdicts, command (which survives a crash of the interpreter), record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Literal, NamedTuple

from game_interface.core.commands import refusal
from game_interface.core.restoring_game import RestoringGame
from managers.base_manager import ManagerParts
from orchestration.learning import Learning
from orchestration.parts import Parts, Review
from session.commands import commands_of
from session.context import AgentContext, OfferedRoute, PromptSection
from session.errors import LanguageModelError
from session.events import GameFailed, ProposalReviewed
from session.files.recording import Recording
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, Proposal, Rejection, TurnRecord, Verdict
from zorkgpt.llm.language_model import LanguageModel, Prompt
from zorkgpt.llm.run_model import RunModel
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.players.agent import ModelPlayer, ReadingAnswer
from zorkgpt.players.critic import Critic, ObjectCheck
from zorkgpt.players.player import JUDGED_BY, JudgedBy, Leave, RecordedPlayer, Remember, TurnContext
from zorkgpt.prompts.loader import fill_prompt

ReadSections = Callable[[], Sequence[PromptSection]]
"""Returns the managers' sections of a prompt."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Plays turns.

    configuration: in force when a player was last chosen
    player: the agent's model or another player
    extractor: reads the story's text if ``extractor.mode`` is ``separate``; if it fails, only the reading is missing
    review: returns the user's decision on a proposal
    """

    configuration: GameConfiguration
    game: RestoringGame
    player: ModelPlayer | RecordedPlayer
    critic: Critic
    learning: Learning
    recording: Recording
    extractor: LanguageModel
    review: Review

    @property
    def judged_by(self) -> JudgedBy:
        """What judges the proposals."""
        return JUDGED_BY[self.configuration.agent.player]

    def play(self, state: GameState, learned: ReadSections = tuple) -> TurnRecord | Remember | Leave:
        """Play the next turn and return its record; the managers have not learned from it yet.

        learned: returns the managers' sections of a prompt; called only if a prompt is built
        If even the last proposal cannot reach the story, the outcome of the turn is that refusal. If the player
        remembers something or leaves instead, the story is unchanged, as after a ``LanguageModelError``. Raises
        ``GameError``.
        """
        before = self.game.observation
        step = self.learning.courses.next_proposal
        if step is None or self.learning.courses.is_own:
            attempts = self._attempts(before, learned, state, step)
            if isinstance(attempts, Remember | Leave):
                return attempts
        else:
            self.game.step(step.action)
            attempts = [_JudgedProposal(step, Verdict(accepted=True, source="route"))]
        record = TurnRecord(
            episode=state.episode,
            turn=state.turn_count + 1,
            before=before,
            proposals=tuple(attempt.proposal for attempt in attempts),
            verdicts=tuple(attempt.verdict for attempt in attempts),
            after=self.game.observation,
        )
        if step is None and not record.is_unasked:
            record = replace(record, proposals=self._with_reading(record.proposals, before))
        return record

    def repeat(self, recorded: TurnRecord, failures: Sequence[GameFailed]) -> None:
        """Play the command of a recorded turn without its prompts.

        failures: commands of this turn that crashed the interpreter
        """
        for proposal, verdict in zip(recorded.proposals, recorded.verdicts, strict=True):
            if proposal.wants_way and verdict.source != "person":
                self.learning.courses.set_out(proposal, self.game.observation)
        failure = next((each for each in failures if each.command == recorded.action), None)
        if failure is not None and recorded.after.refusal is not None:
            self.game.put_back(failure)
        else:
            self.game.step(recorded.action)

    def _attempts(
        self, before: Observation, learned: ReadSections, state: GameState, step: Proposal | None
    ) -> list[_JudgedProposal] | Remember | Leave:
        """Return the proposals with their verdicts, up to the one that was played.

        Only the first of several commands in a line is judged and played now; the others follow it like ``then`` if the
        player may write that. An unreachable route or location is never played; if the last proposal was one, the agent
        is called once more without these options. If a model is offered a single command, this is played without
        calling it.

        step: the next command of its own course, which the story's tables judge; if they refuse it, the agent is called
        """
        routes = self.learning.routes.offers(before) if self.learning.routes else ()
        valid_actions = self._offered(state)
        attempts: list[_JudgedProposal] = []
        rejections: list[Rejection] = []
        rejections_left = self.configuration.critic.max_rejections
        while True:
            context = self._turn_context(
                before, learned, valid_actions, tuple(rejections), routes if rejections_left >= 0 else None
            )
            unasked = None if attempts else self.player.unasked(context, step)
            proposal = unasked or self.player.propose(context)
            if isinstance(proposal, Remember | Leave):
                return proposal
            proposal, refused = self._parted(proposal, is_listed=valid_actions is not None)
            attempts += refused
            review = self.recording.get(ProposalReviewed, partial(self.review, proposal))
            if review is not None and review.played not in ("", review.action):
                reason = f"{review.played!r} was typed instead."
                attempts.append(_JudgedProposal(proposal, Verdict(accepted=False, reason=reason, source="person")))
                proposal = Proposal(review.played)
            if proposal is unasked and review is None:
                objection = self.critic.objection(before, proposal.action) if step else None
                verdict = objection or Verdict(accepted=True, source="then" if step else "only")
            else:
                proposal, verdict = self._judge(before, learned, proposal, review)
            is_free = verdict.source == "person" or proposal is unasked
            is_refused_way = proposal.wants_way and not verdict.accepted
            if verdict.accepted or not (rejections_left > 0 or is_free or is_refused_way):
                unfit = self.game.step(proposal.action).refusal
                if unfit is None:
                    return [*attempts, _JudgedProposal(proposal, verdict)]
                verdict = Verdict(accepted=False, reason=unfit, source="parser")
            rejections.append(Rejection(proposal.wish, verdict.reason))
            attempts.append(_JudgedProposal(proposal, verdict))
            if proposal is step:
                self.learning.courses.stop()
            rejections_left -= not is_free
            if rejections_left < 0 and not is_refused_way:
                return attempts

    def _parted(self, proposal: Proposal, *, is_listed: bool) -> tuple[Proposal, list[_JudgedProposal]]:
        """Return the first of several commands in a line, and the line if the player may not write them as ``then``."""
        first, *others = commands_of(proposal.action, self.learning.context.vocabulary)
        if not others or proposal.wants_way:
            return proposal, []
        if self.player.plans_ahead and not is_listed:
            return replace(proposal, action=first, then=(*others, *proposal.then)), []
        reason = f"A turn is one command: only {first!r} is played now."
        verdict = Verdict(accepted=False, reason=reason, source="parser")
        return replace(proposal, action=first), [_JudgedProposal(proposal, verdict)]

    def _offered(self, state: GameState) -> tuple[str, ...] | None:
        """Return the commands to choose from, the least played here first, or with ``fresh-actions`` only these."""
        assist = self.configuration.assist
        if assist.isdisjoint({"fresh-actions", "valid-actions"}) or self.judged_by == "person":
            return None
        actions = list(self.game.valid_actions())
        Random(f"{state.seed}, turn {state.turn_count}").shuffle(actions)  # noqa: S311  not for secrets
        times = {action: self._times(state, action) for action in actions}
        if "fresh-actions" in assist:
            return tuple(action for action in actions if times[action] == min(times.values()))
        return tuple(sorted(actions, key=times.__getitem__))

    def _times(self, state: GameState, action: str) -> int:
        """Return how often the action was played here, in this episode and, if routes are enabled, in earlier ones."""
        earlier = self.learning.routes.times_tried(action) if self.learning.routes else 0
        return len(state.tries.of(state.current_room_id, action, is_key=state.latest.awaits_key)) + earlier

    def _turn_context(
        self,
        before: Observation,
        learned: ReadSections,
        valid_actions: tuple[str, ...] | None,
        rejections: tuple[Rejection, ...],
        routes: tuple[OfferedRoute, ...] | None,
    ) -> TurnContext:
        """Return what the player may know. ``routes``: ``None`` if it may neither follow a route nor walk."""
        turn, limit = self.learning.context.game_state.turn_count + 1, self.configuration.max_turns_per_episode

        def prompt(system: str) -> AgentContext:
            choices = (*(route.choice for route in context.route_choices), *(valid_actions or ()))
            return self.learning.context.get_agent_context(
                before,
                learned(),
                valid_actions=None if valid_actions is None else choices,
                rejections=rejections,
                system=system,
                turn_limit=limit,
            )

        context = TurnContext(
            before, turn, limit - turn, prompt, valid_actions, routes or (), offers_ways=routes is not None
        )
        return context

    def _judge(
        self, before: Observation, learned: ReadSections, proposal: Proposal, review: ProposalReviewed | None
    ) -> _JudgedProposal:
        """Return the command and the verdict on it: by the user's decision, else by the critic."""
        if review is not None and not review.played:
            return _JudgedProposal(proposal, Verdict(accepted=False, reason=review.reason, source="person"))
        if proposal.wants_way:
            problem = self.learning.courses.set_out(proposal, before)
            first = self.learning.courses.next_proposal
            if problem or first is None:
                return _JudgedProposal(proposal, Verdict(accepted=False, reason=problem, source="route"))
            source: Literal["then", "route"] = "then" if self.learning.courses.is_own else "route"
            return _JudgedProposal(replace(proposal, action=first.action), Verdict(accepted=True, source=source))
        unfit = None if before.awaits_key else refusal(proposal.action)
        if unfit is not None:
            verdict = Verdict(accepted=False, reason=unfit, source="parser")
        elif review is not None or self.judged_by == "person":
            verdict = Verdict(accepted=True, source="person")
        elif self.judged_by == "none":
            verdict = Verdict(accepted=True)
        else:

            def context() -> AgentContext:
                system = self.critic.system_prompt
                return self.learning.context.get_critic_context(
                    before, proposal.action, learned(), reason=proposal.reasoning, system=system
                )

            circling = self.learning.circling
            circle = circling.text() if circling.is_circling else ""
            verdict = self.critic.judge(before, proposal, context, circle)
        return _JudgedProposal(proposal, verdict)

    def _with_reading(self, proposals: tuple[Proposal, ...], before: Observation) -> tuple[Proposal, ...]:
        if self.configuration.extractor.mode != "separate":
            return proposals
        try:
            system = fill_prompt("extractor")
            prompt = Prompt(system, self.learning.context.get_extractor_text(before, system=system))
            reading = self.extractor.complete("info_ext", prompt, ReadingAnswer).value.reading()
        except LanguageModelError as error:
            self.learning.context.log_warning("the text was not read", error=str(error))
            return proposals
        return (replace(proposals[0], reading=reading), *proposals[1:])


def with_changes(model: RunModel, build: Callable[[], Turn], turn: Turn) -> Turn:
    """Take changed options, and return the turn for the player who plays with them."""
    model.take_changes()
    return turn if model.in_force.agent.player == turn.configuration.agent.player else build()


class _JudgedProposal(NamedTuple):
    proposal: Proposal
    verdict: Verdict


def build_critic(parts: ManagerParts, learning: Learning) -> Critic:
    """Build a run's critic, which knows the map and the story's tables."""
    movements = MovementAnalyzer(parts.story.directions)
    check = ObjectCheck(parts.vocabulary, learning.map.game_map, movements, parts.story.attribute_names)
    return Critic(parts.model, check, parts.config.critic.mode)


def build_turn(
    model: RunModel, parts: Parts, game: RestoringGame, critic: Critic, learning: Learning, recording: Recording
) -> Turn:
    """Build a run's turns around its game and the player of the configuration in force."""
    configuration = model.in_force
    reasoning_length = configuration.agent.reasoning_length
    player: ModelPlayer | RecordedPlayer
    if configuration.agent.player == "model":
        player = ModelPlayer(
            model,
            reads=configuration.extractor.mode == "inline",
            notes_objectives=configuration.objectives.enabled and reasoning_length is None,
            keeps_notes=reasoning_length is None,
            plans_ahead=reasoning_length is None,
            travels=learning.routes is not None,
            reasoning_length=reasoning_length,
        )
    else:
        player = RecordedPlayer(parts.player, recording, model.require_budget)
    return Turn(configuration, game, player, critic, learning, recording, model, parts.review)
