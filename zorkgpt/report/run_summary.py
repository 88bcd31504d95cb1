"""Sums up runs at a glance, fast enough to list hundreds of them at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, AliasGenerator, AliasPath, BaseModel, ConfigDict, Field, ValidationError

from session.errors import StoreError
from session.events import Names, OptionValue
from session.files.journal import checked, read_lines, read_manifest, require_known_version
from session.files.run_folders import is_claimed, latest_checkpoint
from session.resolved_configuration import as_settings

RunState = Literal["done", "paused", "playing", "killed", "damaged"]
"""``playing``: by a process of this machine; ``killed``: its journal has no end, and no process plays it; ``damaged``:
the run folder cannot be read to its end.
"""

KILLED = "it stopped without an end, as after a crash"


@dataclass(frozen=True, slots=True)
class OptionsChange:
    """Options that a run went on with when it was resumed, and the last turn before that."""

    episode: int
    turn: int
    options: Mapping[str, OptionValue]
    model: tuple[str, ...]
    server: tuple[str, ...]
    engine: str

    def describe(self) -> str:
        """Return the change in words."""
        moment = f"after turn {self.turn} of episode {self.episode}" if self.turn else "before the first turn"
        return f"{moment}: {as_settings(self.options)}"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run at a glance.

    created: ISO 8601, UTC; "" as all that the manifest has, if it cannot be read
    model, server, engine: as in ``RunStarted``, of the last change
    player: the name of the player if the agent's model does not play, else ""
    episodes, planned: those that were played to their end, and those that the run was to play
    turns: of all episodes
    best_score, max_score: points; ``None`` if the story keeps none
    tokens: of all answers that a server counted, prompts included; ``None`` if it counted none
    uncounted: how many calls that were answered, usably or not, no server counted
    reason: why it is not done
    forked_from: the id of the run that it is a fork of, "" for none
    changes: of options since it began, oldest first
    """

    run_id: str
    folder: Path
    created: str
    story: str
    model: tuple[str, ...]
    assistance: tuple[str, ...]
    episodes: int
    planned: int | None
    turns: int
    best_score: int | None
    max_score: int | None
    tokens: int | None
    state: RunState
    reason: str = ""
    forked_from: str = ""
    player: str = ""
    server: tuple[str, ...] = ()
    engine: str = ""
    changes: tuple[OptionsChange, ...] = ()
    uncounted: int = 0


def summarise(folder: Path) -> RunSummary:
    """Sum up the run in that folder; one that cannot be read is ``damaged``, with the figures of what can."""
    heads: list[_Head] = []
    manifest = None
    state: RunState = "killed"
    reason = KILLED
    try:
        manifest = read_manifest(folder)
        heads.extend(read_lines(folder, checked(_head)))
        last = heads[-1] if heads else None
        if last and last.kind in ("run_ended", "run_paused"):
            state, reason = ("done", "") if last.kind == "run_ended" else ("paused", last.reason)
        if state != "done" and is_claimed(folder):
            state, reason = "playing", ""
        if state == "killed" and latest_checkpoint(folder).seq > len(heads):
            state, reason = "damaged", "the journal was truncated: a checkpoint is later than its last line"
    except StoreError as error:
        state, reason = "damaged", str(error)
    changes = tuple(_changes(heads))
    latest = changes[-1] if changes else manifest
    is_taken_over = any(change.options.get("agent.player") == "model" for change in changes)
    scored = [head for head in heads if head.score is not None and head.kind in ("episode_started", "turn_played")]
    tokens = [head.prompt_tokens + head.completion_tokens for head in heads]
    return RunSummary(
        run_id=folder.name,
        folder=folder,
        created=manifest.created if manifest else "",
        story=manifest.story if manifest else "",
        player="" if manifest is None or is_taken_over else manifest.player,
        model=latest.model if latest else (),
        server=latest.server if latest else (),
        engine=latest.engine if latest else "",
        assistance=manifest.assistance if manifest else (),
        episodes=sum(head.kind == "episode_ended" for head in heads),
        planned=len(manifest.seeds) if manifest else None,
        turns=sum(head.kind == "turn_played" for head in heads),
        best_score=max((head.score for head in scored if head.score is not None), default=None),
        max_score=next((head.max_score for head in reversed(scored) if head.max_score is not None), None),
        tokens=sum(tokens) or None,
        uncounted=sum(
            head.requests > 0 and head.failure != "unavailable" and not count
            for head, count in zip(heads, tokens, strict=True)
        ),
        state=state,
        reason=reason,
        forked_from=manifest.forked_from if manifest else "",
        changes=changes,
    )


def _sought(name: str) -> AliasChoices:
    """Return where a line may have a value of this name, the first that it has."""
    places = (("event",), ("event", "record"), ("event", "record", "after"), ("event", "opening"))
    return AliasChoices(*(AliasPath(*place, name) for place in places))


class _Head(BaseModel):
    """The parts of a journal's line that a summary needs; the rest is not parsed."""

    model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=_sought))

    version: int = Field(validation_alias="v")
    kind: str
    episode: int = 0
    turn: int = 0
    score: int | None = None
    max_score: int | None = None
    reason: str = ""
    model: Names = ()
    server: Names = ()
    engine: str = ""
    options: dict[str, OptionValue] = {}
    prompt_tokens: int = 0
    completion_tokens: int = 0
    requests: int = 0
    failure: str = ""


def _head(text: bytes, place: str) -> _Head:
    """Read the head of a line in a tenth of the time of ``read_journal``.

    Half a surrogate pair, which JSON may hold and the fast way refuses, takes the slower one. Raises ``ValueError``.
    """
    try:
        head = _Head.model_validate_json(text)
    except ValidationError:
        head = _Head.model_validate(json.loads(text))
    require_known_version(head.version, place)
    return head


def _changes(heads: Iterable[_Head]) -> Iterator[OptionsChange]:
    episode = turn = 0
    for head in heads:
        if head.kind == "turn_played":
            episode, turn = head.episode, head.turn
        elif head.kind == "options_changed":
            yield OptionsChange(episode, turn, head.options, head.model, head.server, head.engine)
