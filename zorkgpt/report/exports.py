"""A run written down: Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields

from pydantic import TypeAdapter

from session.events import ModelFailed
from session.text import one_line
from session.values import Observation
from zorkgpt.llm.run_model import RepeatedCall
from zorkgpt.report.figures import RunFigures, figures_of
from zorkgpt.report.played_run import PlayedEpisode, PlayedRun, PlayedTurn

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
        for call in calls.get((record.episode, record.turn), ()):
            yield from _story("\n".join(call_lines(call)))
    if episode.ended:
        yield f"*{_escaped(episode.ended.end)}*"
        yield ""


def _story(text: str) -> Iterator[str]:
    """Yield a text of the story as a block of code, laid out as the story did."""
    yield from (f"    {line}".rstrip() for line in text.strip("\n").splitlines())
    yield ""


def _place_and_score(seen: Observation) -> str:
    place = f" · {_escaped(seen.location.label)} ({seen.location.num})" if seen.location else ""
    return place + ("" if seen.score is None else f" · score {seen.score}")


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", one_line(text))


_FIGURES = TypeAdapter(RunFigures)


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn in one line.

    location_id, location: where it was begun; ``None`` and "" where that is not known
    score, score_change: points after it, and those that it brought; ``None`` where the story keeps none
    refused: the command never reached the story
    seconds: from the observation before it to the one after
    calls, prompt_tokens, cached_tokens, completion_tokens: of the models since the turn before, so those that learnt
        from that one are among them
    memory_tokens: of the location memory that the agent was shown
    """

    episode: int
    turn: int
    location_id: int | None
    location: str
    command: str
    score: int | None
    score_change: int | None
    refused: bool
    seconds: float
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    memory_tokens: int


def turn_rows(run: PlayedRun) -> Iterator[TurnRow]:
    """Yield every turn of the run, in order."""
    return (_row(turn) for episode in run.episodes for turn in episode.turns)


def as_csv(run: PlayedRun) -> str:
    """Return a heading and a line for each turn; what is not known is empty.

    A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(field.name for field in fields(TurnRow))
    writer.writerows(map(_harmless, asdict(row).values()) for row in turn_rows(run))
    return out.getvalue()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def as_json(run: PlayedRun, calls: Iterable[RepeatedCall] = ()) -> str:
    """Return one object: the run's figures, each episode with its opening and its turns, and what models were asked."""
    episodes = [
        {
            "episode": episode.started.episode,
            "opening": episode.started.opening.text,
            "turns": [_whole_turn(turn) for turn in episode.turns],
        }
        for episode in run.episodes
    ]
    asked = [call_as_object(call) for call in calls]
    return _dumped({**_plain(figures_of(run)), "transcript": episodes} | ({"calls": asked} if asked else {})) + "\n"


def call_as_object(call: RepeatedCall) -> dict[str, object]:
    """Return what a model was asked, and as ``recorded`` what was recorded of the call."""
    return {
        "episode": call.episode,
        "turn": call.turn,
        "role": call.role,
        "system": call.prompt.system,
        "user": call.prompt.user,
        "is_as_recorded": call.is_as_recorded,
        "recorded": asdict(call.recorded),
    }


def figures_as_json(figures: RunFigures) -> str:
    """Return the figures as one object."""
    return _dumped(_plain(figures))


def _plain(figures: RunFigures) -> dict[str, object]:
    plain: dict[str, object] = _FIGURES.dump_python(figures, mode="json")
    return plain


def _dumped(value: object) -> str:
    """Return JSON in ASCII, so that no control character is written as such."""
    return json.dumps(value, indent=2)


def _whole_turn(turn: PlayedTurn) -> dict[str, object]:
    record = turn.played.record
    return {
        **asdict(_row(turn)),
        "reasoning": record.reasoning,
        "not_played": [proposal.action for proposal in record.proposals[:-1]],
        "text": record.after.text,
    }


def _row(turn: PlayedTurn) -> TurnRow:
    record, answers = turn.played.record, turn.answers
    location = record.before.location
    return TurnRow(
        episode=record.episode,
        turn=record.turn,
        location_id=location.num if location else None,
        location=one_line(location.name) if location else "",
        command=one_line(record.action),
        score=record.after.score,
        score_change=record.score_change,
        refused=record.after.refusal is not None,
        seconds=turn.played.seconds,
        calls=len(turn.calls),
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        cached_tokens=sum(answer.cached_tokens for answer in answers),
        completion_tokens=sum(answer.completion_tokens for answer in answers),
        memory_tokens=turn.played.memory_tokens,
    )
