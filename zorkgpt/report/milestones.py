"""Points for stories without a score: milestones in a file beside the story (docs/measuring.md, Milestones).

Only readers of runs count them; no prompt and no player sees them. The file may have come with a folder, so it is
small, contains no patterns and no paths, and can only add points to the figures that it is named in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from typing_extensions import Self

from session.errors import StoreError, first_problem
from session.events import EpisodeEnded, EpisodeStarted, Event, TurnPlayed
from session.files.shared_files import require_no_link
from session.text import counted, text_key
from session.values import Observation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "milestones.toml"
_LARGEST = 65_536  # bytes


class Milestone(BaseModel):
    """Something that is reached once in an episode: all that is given of a text, a location and a thing carried.

    location, thing: by number or name; story: the name of the file, for several in one folder
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(min_length=1, max_length=200)
    text: str = ""
    location: int | str | None = None
    thing: int | str | None = None
    points: int = Field(default=1, ge=1, le=1000)
    story: str = ""

    def is_reached(self, seen: Observation) -> bool:
        """Return whether the observation shows it."""
        here = [(seen.location.num, seen.location.name)] if seen.location else []
        places = [(self.location, here), (self.thing, [(each.num, each.name) for each in seen.inventory or ()])]
        has_all = all(wanted is None or _is_among(wanted, found) for wanted, found in places)
        return has_all and text_key(self.text) in text_key(seen.text)

    @model_validator(mode="after")
    def _has_a_condition(self) -> Self:
        if not text_key(self.text) and self.location is None and self.thing is None:
            raise ValueError("expected a text, a location or a thing")
        return self


_FILE = TypeAdapter(dict[Literal["milestone"], list[Milestone]])


def _is_among(wanted: int | str, found: Iterable[tuple[int, str]]) -> bool:
    return any(text_key(str(wanted)) in (str(number), text_key(name)) for number, name in found)


def read_milestones(story: Path, seen: Sequence[Observation]) -> tuple[tuple[Milestone, ...], str]:
    """Return the milestones of a story file, and a note about them for the reader; "" if there are none.

    Those at a location or with a thing are left out if no observation of the run has a location or an inventory.
    """
    path = story.with_name(FILE)
    if not path.is_file():
        return (), ""
    try:
        require_no_link(path)
        if path.stat().st_size > _LARGEST:
            return (), f"unknown: {path} has more than {_LARGEST:,} bytes"
        listed = _FILE.validate_python(tomllib.loads(path.read_text(encoding="utf-8-sig"))).get("milestone", [])
    except (OSError, ValueError, RecursionError, StoreError) as error:
        reason = first_problem(error) if isinstance(error, ValidationError) else str(error)
        return (), f"unknown: {path} is not a list of milestones ({reason})"
    found = tuple(each for each in listed if each.story in ("", story.name))
    if listed and not found:
        return (), ""  # all are of other stories
    has_location, has_things = any(each.location for each in seen), any(each.inventory is not None for each in seen)
    known = [each for each in found if (has_location or each.location is None) and (has_things or each.thing is None)]
    text = f"{counted(len(known), 'milestone')} of {path}, which the player does not see"
    if others := [each.name for each in found if each not in known]:
        text += f"; unknown, because the run has no location or no inventory: {', '.join(others)}"
    return tuple(known), text


def with_points(events: Iterable[Event], milestones: Iterable[Milestone]) -> Iterator[Event]:
    """Yield the events with the points of the milestones that were reached in place of the missing scores."""
    wanted, most = list(milestones), sum(each.points for each in milestones)
    reached: set[int] = set()

    def scored(seen: Observation) -> Observation:
        reached.update(number for number, each in enumerate(wanted) if each.is_reached(seen))
        return replace(seen, score=sum(wanted[number].points for number in reached), max_score=most)

    latest = Observation("")
    for event in events:
        if isinstance(event, EpisodeStarted):
            reached.clear()
            latest = scored(event.opening)
            yield replace(event, opening=latest)
        elif isinstance(event, TurnPlayed):
            before, latest = latest, scored(event.record.after)
            yield replace(event, record=replace(event.record, before=before, after=latest))
        elif isinstance(event, EpisodeEnded):
            yield replace(event, score=latest.score, best_score=latest.score, max_score=most)
        else:
            yield event
