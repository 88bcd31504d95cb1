"""What a proof counts: the seeds with which the form that it keeps works."""

from __future__ import annotations

from dataclasses import replace

from typing_extensions import override

from orchestration.route_proof import _RouteTrial
from session.route import Goal, KnownRoute, Proof, RouteStep, Waypoint
from session.values import Location, Observation, Seed
from tests.fixtures.scripted_game import ScriptedGame

YARD = Observation("A yard.", Location(1, "Yard"), (), (), score=0)
LOFT = Observation("A loft.", Location(2, "Loft"), (), (), score=0)


class DangerousYard(ScriptedGame):
    """A story in which waiting kills with the second seed."""

    def __init__(self) -> None:
        super().__init__({"": YARD, "up": LOFT})

    @override
    def reset(self, seed: Seed) -> Observation:
        super().reset(seed)
        self.observation = replace(YARD, moves=int(seed))
        return self.observation

    @override
    def step(self, command: str) -> Observation:
        is_deadly = command == "wait" and self.observation.moves == 2
        after = super().step(command)
        return replace(after, died=True) if is_deadly else after


def test_seeds_with_which_only_the_shortened_form_works_count() -> None:
    steps = (RouteStep("wait", Waypoint.of(YARD)), RouteStep("up", Waypoint.of(LOFT)))
    route = KnownRoute(1, Goal("room", 2, "Loft"), Waypoint.of(YARD), steps, 1)
    (form,) = _RouteTrial(DangerousYard(), route, range(1, 4), lambda: False).forms()
    assert form.commands == ("up",)
    assert form.proof == Proof(3, 3)
