"""What the critic lets through and what it stops, without a model's opinion of its own.

    python -m benchmarks.critic_verdicts [STORY ...]

replays the walkthrough of each story (of the folder ZORKGPT_STORIES and our own, where none is named) past the critic,
whose model accepts whatever it is asked about, and then has it judge commands that the story itself was seen to
refuse without any change of its world: verbs with nouns that name nothing at hand, and exits that failed until the map
struck them off. Exit status 1: a winning command was refused.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from jericho.defines import BINDINGS_DICT

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.machine.story import Story
from game_interface.core.machine.vocabulary_reader import read_vocabulary
from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.values import Proposal, TurnRecord, Verdict
from tests.fixtures.tidehouse_walkthrough import WALKTHROUGH
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.mapping.movement_analyzer import MovementAnalyzer
from zorkgpt.players.critic import Critic, CriticMode
from zorkgpt.players.object_check import ObjectCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session.values import Observation

ABSENT_THINGS, PRUNED_EXITS = 400, 100
"""Commands that the story refuses, of each class, as far as a story gives so many."""
SEED = 1
_TRIES_PER_STATE = 12
_VERBS = ("take", "drop", "open", "close", "examine", "read", "push", "pull", "move", "turn", "eat", "attack", "search")
_NOT_HERE = ("see any", "see no", "don't see", "see that", "no such thing", "isn't here", "not here", "can't see")


@dataclass(frozen=True, slots=True)
class Play:
    """A story with the commands that win it."""

    story: Path
    seed: int
    commands: Sequence[str]


@dataclass(slots=True)
class Passage:
    """How a walkthrough fared: its commands that were refused, and those that the model was asked about."""

    commands: int = 0
    refused: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Catch:
    """Commands that the story refuses, by class: whether each was refused without the model.

    winning_refused: commands of the walkthrough that were refused once all the failing exits were struck off
    """

    absent_things: list[bool] = field(default_factory=list)
    pruned_exits: list[bool] = field(default_factory=list)
    winning_refused: list[str] = field(default_factory=list)

    def sample(self) -> Catch:
        """As many of each class as there should be, drawn by the seed."""
        chance = random.Random(SEED)
        return Catch(
            chance.sample(self.absent_things, min(len(self.absent_things), ABSENT_THINGS)),
            chance.sample(self.pruned_exits, min(len(self.pruned_exits), PRUNED_EXITS)),
            self.winning_refused,
        )


class Session:
    """One story past one critic, whose model accepts everything; the map learns as in a run."""

    def __init__(self, play: Play, workdir: Path, mode: CriticMode) -> None:
        self.game = JerichoInterface(play.story, seed=play.seed)
        directions = self.game.facts.directions
        self.movements = MovementAnalyzer(directions)
        self.prune_after = GameConfiguration().map.prune_after
        config = GameConfiguration(zork_game_workdir=workdir)
        self.map = MapManager(structlog.get_logger(), config, GameState(), directions=directions)
        self.vocabulary = read_vocabulary(Story.load(play.story))
        self.model = ScriptedLLM(lambda *_: {"reason": "", "accepted": True, "confidence": 0.5})
        check = ObjectCheck(self.vocabulary, self.map.game_map, self.movements)
        self.critic = Critic(self.model, check, mode)
        self.turn = 0

    def judge(self, command: str) -> Verdict:
        """The critic's verdict on ``command`` now."""
        return self.critic.judge(self.game.observation, Proposal(command), lambda: f"## Proposed command\n{command}")

    def answer(self, command: str) -> Observation:
        """What the story would say to ``command``, which it has not been given."""
        state = self.game.save()
        after = self.game.step(command)
        self.game.restore(state)
        return after

    def play(self, command: str) -> None:
        """The command was played, and learnt from."""
        self.turn += 1
        before = self.game.observation
        proposals, verdicts = (Proposal(command),), (Verdict(accepted=True),)
        record = TurnRecord(1, self.turn, before, proposals, verdicts, self.game.step(command))
        self.map.learn(record)
        self.critic.learn(record)


def walkthrough_of(story: Path) -> Play:
    """Jericho's walkthrough of ``story``, or ours of our own."""
    profile = BINDINGS_DICT.get(Story.load(story).md5)
    if profile is None:
        return Play(story, 1, WALKTHROUGH)
    return Play(story, profile["seed"] or 1, profile["walkthrough"].split("/"))


def pass_walkthrough(play: Play, mode: CriticMode) -> Passage:
    """Every command of the walkthrough was judged, and played whatever the verdict."""
    passage = Passage()
    with tempfile.TemporaryDirectory() as folder:
        session = Session(play, Path(folder), mode)
        with session.game:
            for command in play.commands:
                if session.game.observation.ending is not None:
                    break
                calls = len(session.model.calls)
                passage.commands += 1
                if not session.judge(command).accepted:
                    passage.refused.append(command)
                if len(session.model.calls) > calls:
                    passage.asked.append(command)
                session.play(command)
    return passage


def catch_refused(play: Play) -> Catch:
    """Commands that the story refuses, tried in every state of the walkthrough, were judged."""
    catch, chance = Catch(), random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(play, Path(folder), "hybrid")
        with session.game:
            for command in play.commands:
                if session.game.observation.ending is not None:
                    break
                catch.absent_things += _absent_things(session, chance)
                catch.pruned_exits += _failing_exits(session)
                if not session.judge(command).accepted:
                    catch.winning_refused.append(command)
                session.play(command)
    return catch


def _absent_things(session: Session, chance: random.Random) -> Iterator[bool]:
    """For verbs with nouns that name nothing at hand, where the story says so: whether the critic refuses them."""
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
    """For directions that go on to fail when the map has struck them off: whether the critic refuses them then."""
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
    """Whether ``command`` would leave the world, the place and the score as they are."""
    before, after = session.game.observation, session.answer(command)
    kept = [(each.world_hash, each.location, each.score, each.ending) for each in (before, after)]
    return kept[0] == kept[1] and after.refusal is None


def main(paths: Sequence[Path]) -> int:
    """The figures of these stories are printed; 1 where a winning command was refused."""
    print(
        f"{'story':<10} {'winning':>7} refused: {'tree':>4} {'hybrid':>6}  asked {'':>4} stopped: absent, pruned exits"
    )
    sound = True
    for path in paths:
        play = walkthrough_of(path)
        tree, hybrid, catch = (
            pass_walkthrough(play, "object_tree"),
            pass_walkthrough(play, "hybrid"),
            catch_refused(play),
        )
        sample = catch.sample()
        print(
            f"{path.stem:<10} {hybrid.commands:>7} {len(tree.refused):>13} {len(hybrid.refused):>6} "
            f"{len(hybrid.asked):>6}            {_share(sample.absent_things)}, {_share(sample.pruned_exits)}"
            f"  (of all: {_share(catch.absent_things)}, {_share(catch.pruned_exits)};"
            f" winning then refused: {len(catch.winning_refused)})"
        )
        for title, commands in (("refused", tree.refused), ("asked", hybrid.asked), ("then", catch.winning_refused)):
            if commands:
                print(f"    {title}: {', '.join(commands)}")
        sound &= not (tree.refused or hybrid.refused)
    return 0 if sound else 1


def _share(stopped: Sequence[bool]) -> str:
    return f"{sum(stopped)}/{len(stopped)}"


def _all_stories() -> list[Path]:
    ours = Path(str(files("game_interface.stories") / "tidehouse.z5"))
    return [ours, *sorted(Path(os.environ["ZORKGPT_STORIES"]).glob("*.z?"))]


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]] or _all_stories()))
