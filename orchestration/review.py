"""A person looks at each proposal before it is played: ``zorkgpt run --step``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from session.events import Event, ProposalReviewed
from session.values import Proposal

if TYPE_CHECKING:
    from session.files.recording import Recording

Review = Callable[[Proposal], ProposalReviewed | None]
"""Returns what a person decides of a proposal, ``None`` where nobody is asked."""


def unreviewed(_proposal: Proposal) -> None:
    """Ask nobody."""


def recorded_review(recording: Recording, emit: Callable[[Event], None], live: Review | None) -> Review:
    """Return what repeats the recorded decisions, then asks ``live``, and tells of every decision."""

    def review(proposal: Proposal) -> ProposalReviewed | None:
        recorded = recording.next_event
        if isinstance(recorded, ProposalReviewed):
            decided: ProposalReviewed | None = recorded
        else:
            decided = live(proposal) if live and not recording.turns else None
        if decided is not None:
            emit(decided)
        return decided

    return review
