"""A made-up story for the critic: a dye works, its words, its object tree and its moments."""

from __future__ import annotations

from dataclasses import replace

from session.commands import ParserFamily, Vocabulary
from session.values import GameObject, Location, Observation, Proposal, TurnRecord, Verdict
from zorkgpt.players.critic import Critic, ObjectCheck

ROOMS, SCENERY, PLAYER, VATS, LOFT, BANNER, LOOM, SPOOL, BASKET, RIVER = range(1, 11)
PARENTS = (0, 0, 0, VATS, ROOMS, ROOMS, PLAYER, LOFT, BASKET, VATS, SCENERY)
"""The player, with the banner, and the closed basket with the spool are at the vats; the loom is in the loft."""

_OBJECTS = {
    "banner": (BANNER,),
    "grey": (BANNER, LOOM),
    "loom": (LOOM,),
    "treadl": (LOOM,),
    "spool": (SPOOL,),
    "basket": (BASKET,),
    "river": (RIVER,),
}


def vocabulary(family: ParserFamily = "infocom") -> Vocabulary:
    """The story's words, cut to six letters; ``ask`` may be followed by any text, and ``mordan`` names no object."""
    verbs = frozenset({"take", "dip", "ask", "wait", "light"})
    prepositions = frozenset({"in", "with", "about", "for"})
    return Vocabulary(
        letters=6,
        words=verbs | prepositions | _OBJECTS.keys() | {"the", "all", "it", "mordan", "north", "up"},
        verbs=verbs,
        free_verbs=frozenset({"ask"}),
        near_verbs=frozenset({"take", "dip", "light"}),
        nouns=frozenset({*_OBJECTS, "mordan"}),
        prepositions=prepositions,
        directions=frozenset({"north", "up"}),
        objects=_OBJECTS,
        mentions=_OBJECTS,
        family=family,
    )


def moment(
    text: str = "You stand among the vats.", parents: tuple[int, ...] = PARENTS, world: str = "w1"
) -> Observation:
    """The player is at the vats."""
    return Observation(
        text,
        Location(VATS, "Blue Vats"),
        inventory=(GameObject(BANNER, "banner", PLAYER),),
        visible=(GameObject(BASKET, "basket", VATS),),
        world_hash=world,
        parents=parents,
    )


def in_the_loft(text: str = "The loft.") -> Observation:
    """The player is in the loft."""
    parents = (*PARENTS[:PLAYER], LOFT, *PARENTS[PLAYER + 1 :])
    return replace(moment(text, parents), location=Location(LOFT, "Loft"), visible=())


def turn(action: str, before: Observation, after: Observation, number: int = 1) -> TurnRecord:
    """One turn with one accepted proposal."""
    return TurnRecord(1, number, before, (Proposal(action),), (Verdict(accepted=True),), after)


def learn(judge: Critic | ObjectCheck, played: TurnRecord) -> None:
    """Let a critic or its check learn from a turn that is in the episode's record already."""
    judge.tries.add(played)
    judge.learn(played)
