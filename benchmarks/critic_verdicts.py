"""Measures which commands the critic accepts and refuses without a model.

    python -m benchmarks.critic_verdicts [STORY ...]

Replays the walkthrough of each story (by default of the folder ZORKGPT_STORIES and the project's own) with the
critic, whose model accepts everything, once with Jericho's profile of the story and once without (the general way).
Without the profile, a walkthrough that does not begin with the story's first questions does not win; a dash is shown.
Then the critic judges commands that the story refuses without any change of its world: verbs with nouns that match no
object at hand, and exits that failed until the map pruned them. Exit status 1: a winning command was refused.
"""

from __future__ import annotations

import logging
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.stories import OWN_STORY, Walkthrough, user_stories, walkthrough_of
from benchmarks.tables import Row, show
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from managers.map_manager import MapManager
from session.context import AgentContext, PromptSection
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Observation, Proposal, TurnRecord, Verdict
from tests.fixtures.scripted_llm import ScriptedLLM
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.players.critic import Critic, CriticMode, ObjectCheck

ABSENT_THINGS, PRUNED_EXITS = 400, 100
"""How many commands that the story refuses are judged, of each kind, as far as a story gives so many."""
SEED = 1
_TRIES_PER_STATE = 5
_VERBS = ("take", "drop", "open", "close", "examine", "read", "push", "pull", "move", "turn", "eat", "attack", "search")
_NOT_HERE = ("see any", "see no", "don't see", "see that", "no such thing", "isn't here", "not here", "can't see")


@dataclass(slots=True)
class Passage:
    """The critic's verdicts on a walkthrough: the refused commands, and those submitted to the model.

    has_ended: whether the walkthrough reached an end of the story
    """

    commands: int = 0
    has_ended: bool = False
    refused: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Catch:
    """Commands that the story refuses, by kind: whether the critic refused each without its model.

    winning_refused: commands of the walkthrough that were refused once all the failing exits were pruned
    """

    absent_things: list[bool] = field(default_factory=list)
    pruned_exits: list[bool] = field(default_factory=list)
    winning_refused: list[str] = field(default_factory=list)

    def sample(self) -> Catch:
        """Draw as many of each kind as there should be, by the seed."""
        chance = random.Random(SEED)
        return Catch(
            chance.sample(self.absent_things, min(len(self.absent_things), ABSENT_THINGS)),
            chance.sample(self.pruned_exits, min(len(self.pruned_exits), PRUNED_EXITS)),
            self.winning_refused,
        )


class Session:
    """A story played with a critic whose model accepts everything; the map learns as in a run."""

    def __init__(self, play: Walkthrough, workdir: Path, mode: CriticMode, *, use_profile: bool = True) -> None:
        self.game = play.open(use_profile=use_profile)
        directions = self.game.facts.directions
        self.movements = MovementAnalyzer(directions)
        self.prune_after = GameConfiguration().map.prune_after
        config = GameConfiguration(zork_game_workdir=workdir)
        self.map = MapManager(logging.getLogger(__name__), config, GameState(), directions=directions)
        self.vocabulary = read_vocabulary(Story.load(play.story))
        self.model = ScriptedLLM(lambda *_: {"reason": "", "accepted": True, "confidence": 0.5})
        check = ObjectCheck(self.vocabulary, self.map.game_map, self.movements, self.game.facts.attribute_names)
        self.critic = Critic(self.model, check, mode)
        self.turn = 0

    def judge(self, command: str) -> Verdict:
        """Return the critic's verdict on ``command`` now."""
        context = AgentContext((PromptSection("Proposed command", command),))
        return self.critic.judge(self.game.observation, Proposal(command), lambda: context)

    def answer(self, command: str) -> Observation:
        """Return the story's answer to ``command``, without a change of the game."""
        state = self.game.save()
        after = self.game.step(command)
        self.game.restore(state)
        return after

    def play(self, command: str) -> None:
        """Play the command and learn from it."""
        self.turn += 1
        before = self.game.observation
        proposals, verdicts = (Proposal(command),), (Verdict(accepted=True),)
        record = TurnRecord(1, self.turn, before, proposals, verdicts, self.game.step(command))
        self.map.learn(record)
        self.critic.tries.add(record)
        self.critic.learn(record)


def sessions(play: Walkthrough, mode: CriticMode, *, use_profile: bool = True) -> Iterator[tuple[Session, str]]:
    """Yield the session before each command of the walkthrough, with the command, which is then played."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(play, Path(folder), mode, use_profile=use_profile)
        with session.game:
            for command in play.commands:
                if session.game.observation.ending is not None:
                    break
                yield session, command
                session.play(command)


def pass_walkthrough(play: Walkthrough, mode: CriticMode, *, use_profile: bool = True) -> Passage:
    """Judge every command of the walkthrough, and play it regardless of the verdict."""
    passage = Passage()
    for session, command in sessions(play, mode, use_profile=use_profile):
        calls = len(session.model.calls)
        passage.commands += 1
        if not session.judge(command).accepted:
            passage.refused.append(command)
        if len(session.model.calls) > calls:
            passage.asked.append(command)
    passage.has_ended = session.game.observation.ending is not None
    return passage


def catch_refused(play: Walkthrough) -> Catch:
    """Judge commands that the story refuses, in every state of the walkthrough."""
    catch, chance = Catch(), random.Random(SEED)
    for session, command in sessions(play, "hybrid"):
        catch.absent_things += _absent_things(session, chance)
        catch.pruned_exits += _failing_exits(session)
        if not session.judge(command).accepted:
            catch.winning_refused.append(command)
    return catch


def _absent_things(session: Session, chance: random.Random) -> Iterator[bool]:
    """Yield whether the critic refuses verbs with nouns that match no object at hand, for commands that the story
    refuses.
    """
    vocabulary, before = session.vocabulary, session.game.observation
    verbs = [verb for verb in _VERBS if vocabulary.cut(verb) in vocabulary.verbs]
    at_hand = {each.num for each in (*(before.inventory or ()), *(before.visible or ()))}
    nouns = [noun for noun, objects in vocabulary.objects.items() if at_hand.isdisjoint(objects)]
    for _ in range(_TRIES_PER_STATE):
        command = f"{chance.choice(verbs)} {chance.choice(nouns)}"
        says_so = any(words in session.answer(command).text.lower() for words in _NOT_HERE)
        if says_so and _came_to_nothing(session, command):
            yield not session.judge(command).accepted


def _failing_exits(session: Session) -> Iterator[bool]:
    """Yield whether the critic refuses directions that the map has pruned and that go on to fail."""
    here, state = session.game.observation.location, session.game.save()
    for direction in session.game.facts.directions if here else ():
        assert here is not None
        exit_ = session.movements.exit_of(direction)
        if session.map.game_map.is_pruned(here.num, exit_):
            continue
        failures = 0
        while failures < session.prune_after and _came_to_nothing(session, direction):
            session.play(direction)
            failures += 1
        if session.map.game_map.is_pruned(here.num, exit_) and _came_to_nothing(session, direction):
            yield not session.judge(direction).accepted
        session.game.restore(state)


def _came_to_nothing(session: Session, command: str) -> bool:
    """Return whether ``command`` would leave the world, the place and the score as they are."""
    before, after = session.game.observation, session.answer(command)
    kept = [(each.world_hash, each.location, each.score, each.ending) for each in (before, after)]
    return kept[0] == kept[1] and after.refusal is None


def main(paths: Sequence[Path]) -> int:
    """Print the figures of these stories. Returns 1 if a winning command was refused."""
    rows: list[Row] = []
    refused: list[str] = []
    for path in paths:
        play = walkthrough_of(path)
        tree, hybrid = pass_walkthrough(play, "object_tree"), pass_walkthrough(play, "hybrid")
        general = pass_walkthrough(play, "object_tree", use_profile=False)
        wrongly_refused = [*hybrid.refused, *(general.refused if general.has_ended else [])]
        catch = catch_refused(play)
        sample = catch.sample()
        rows.append(
            {
                "story": path.stem,
                "winning commands": hybrid.commands,
                "refused": len(hybrid.refused),
                "refused without a model": len(tree.refused),
                "refused in the general way": len(general.refused) if general.has_ended else None,
                "asked of the model": len(hybrid.asked),
                "absent things": len(sample.absent_things),
                "refused of these": sum(sample.absent_things),
                "pruned exits": len(sample.pruned_exits),
                "refused of those": sum(sample.pruned_exits),
                "winning refused by then": len(catch.winning_refused),
            }
        )
        refused += [f"{command} ({path.stem})" for command in (*wrongly_refused, *catch.winning_refused)]
    show(rows)
    if refused:
        print(f"Winning commands that were refused: {', '.join(refused)}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]] or [OWN_STORY, *user_stories()]))
