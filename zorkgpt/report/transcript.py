"""Writes a run in Markdown, to be read: what was seen, thought and played."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from session.events import ModelFailed
from session.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from session.values import Observation, TurnRecord
    from zorkgpt.llm.run_model import RepeatedCall
    from zorkgpt.report.played_run import PlayedEpisode, PlayedRun

_MARKS = re.compile(r"([\\`*_~<>&#|\[\]])")


def as_markdown(run: PlayedRun, calls: Iterable[RepeatedCall] = ()) -> str:
    """Return the whole run. Marks of Markdown in what stories and models wrote are escaped.

    calls: what the models were asked; they stand at their turns
    """
    by_turn: dict[tuple[int, int], list[RepeatedCall]] = {}
    for call in calls:
        by_turn.setdefault((call.episode, call.turn), []).append(call)
    lines = [*_head(run)]
    for episode in run.episodes:
        lines += _episode(episode, by_turn)
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(run: PlayedRun) -> Iterator[str]:
    manifest = run.manifest
    facts = {
        "Story": manifest.story,
        "Model": manifest.model,
        "Assistance": ", ".join(manifest.assistance) or "none",
        "Begun": manifest.created,
        "State": f"{run.summary.state}: {run.summary.reason}" if run.summary.reason else run.summary.state,
    }
    yield f"# Run {_escaped(run.summary.run_id)}"
    yield ""
    yield from (f"- {name}: {_escaped(value)}" for name, value in facts.items())
    yield ""


def call_lines(call: RepeatedCall) -> Iterator[str]:
    """Yield what a model was asked and what it answered, under lines that say which is which."""
    recorded = call.recorded
    differs = "" if call.is_as_recorded else ": not what was asked when the run was played"
    yield f"=== Episode {call.episode}, turn {call.turn}: {call.role}, {recorded.model or 'no model'}{differs}"
    yield f"--- system, prompt {recorded.prompt_sha256}"
    yield call.prompt.system
    yield "--- user"
    yield call.prompt.user
    if isinstance(recorded, ModelFailed):
        yield "--- no answer"
        yield recorded.error
    else:
        if recorded.reasoning:
            yield "--- thoughts"
            yield recorded.reasoning
        tokens = f"{recorded.prompt_tokens:,} + {recorded.completion_tokens:,} tokens"
        yield f"--- answer, {recorded.seconds:.1f} s, {tokens}"
        yield json.dumps(recorded.answer, indent=2, ensure_ascii=False)
    yield ""


def _episode(episode: PlayedEpisode, calls: Mapping[tuple[int, int], Iterable[RepeatedCall]]) -> Iterator[str]:
    yield f"## Episode {episode.started.episode}"
    yield ""
    yield from _story(episode.started.opening.text)
    for turn in episode.turns:
        record = turn.played.record
        yield from _turn(record)
        for call in calls.get((record.episode, record.turn), ()):
            yield from _story("\n".join(call_lines(call)))
    if episode.ended:
        yield f"*{_escaped(episode.ended.end)}*"
        yield ""


def _turn(record: TurnRecord) -> Iterator[str]:
    yield f"### Turn {record.turn}{_place_and_score(record.before)}"
    yield ""
    if record.reasoning.strip():
        yield from (f"> {_escaped(line)}" for line in record.reasoning.strip().splitlines())
        yield ""
    for proposal, verdict in zip(record.proposals[:-1], record.verdicts, strict=False):
        yield f"Not played: {_escaped(proposal.action)} ({_escaped(verdict.reason)})"
        yield ""
    yield f"**\\> {_escaped(record.action)}**"
    yield ""
    yield from _story(record.after.text)


def _story(text: str) -> Iterator[str]:
    """Yield a text of the story as a block of code, laid out as the story did."""
    yield from (f"    {line}".rstrip() for line in text.strip("\n").splitlines())
    yield ""


def _place_and_score(seen: Observation) -> str:
    place = f" · {_escaped(seen.location.label)} ({seen.location.num})" if seen.location else ""
    return place + ("" if seen.score is None else f" · score {seen.score}")


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", one_line(text))
