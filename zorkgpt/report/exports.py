"""A run written down: Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from pydantic_core import to_jsonable_python

from session.events import EpisodeStarted, ModelAnswered, ModelFailed, TurnPlayed
from session.text import one_line, who_plays
from zorkgpt.llm.run_model import PLAYING_ROLES, RepeatedCall
from zorkgpt.report.figures import figures_of, priced_calls
from zorkgpt.report.played_run import ModelCall, PlayedEpisode, PlayedRun, PlayedTurn, tokens_of, uncounted

_NOTHING: dict[str, object] = {"source": "system", "message": "No episode was begun."}
_MARKS = re.compile(r"([\\`*_~<>&#|\[\]])")


def as_markdown(run: PlayedRun, calls: Iterable[RepeatedCall] = ()) -> str:
    """Return the whole run. Markdown's marks are escaped in the text of stories and models.

    calls: the model calls with their prompts; each is written at its turn
    """
    by_turn: dict[tuple[int, int], list[RepeatedCall]] = {}
    for call in calls:
        by_turn.setdefault((call.episode, call.turn), []).append(call)
    manifest, summary = run.manifest, run.summary
    facts = {
        "Story": manifest.story,
        "Player": who_plays(manifest.player, manifest.model, manifest.server, manifest.engine),
        "Assistance": ", ".join(manifest.assistance) or "none",
        **({"Points": run.points} if run.points else {}),
        "Begun": manifest.created,
        "State": f"{summary.state}: {summary.reason}" if summary.reason else summary.state,
    }
    lines = [f"# Run {_escaped(summary.run_id)}", ""]
    lines += [*(f"- {name}: {_escaped(value)}" for name, value in facts.items()), ""]
    for episode in run.episodes:
        lines += _episode(episode, by_turn)
    return "\n".join(lines).rstrip("\n") + "\n"


def call_lines(call: RepeatedCall) -> Iterator[str]:
    """Yield the prompt and the answer of a model call, each part under a heading."""
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
        yield f"--- answer, {recorded.seconds:.1f} s, {tokens_of(recorded)} tokens"
        yield json.dumps(recorded.answer, indent=2, ensure_ascii=False)
    yield ""


def _episode(episode: PlayedEpisode, calls: Mapping[tuple[int, int], Iterable[RepeatedCall]]) -> Iterator[str]:
    yield f"## Episode {episode.started.episode}"
    yield ""
    yield from _story(episode.started.opening.text)
    for turn in episode.turns:
        record = turn.played.record
        location, score = record.before.location, record.before.score
        place = f" · {_escaped(location.label)} ({location.num})" if location else ""
        yield f"### Turn {record.turn}{place}" + ("" if score is None else f" · score {score}")
        yield ""
        if record.reasoning.strip():
            yield from (f"> {_escaped(line)}" for line in record.reasoning.strip().splitlines())
            yield ""
        for wish, reason in record.rejections:
            yield f"Not played: {_escaped(wish)} ({_escaped(reason)})"
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


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", one_line(text))


Row = dict[str, str | int | float | None]
"""A row of a table, by the names of its columns."""

TURN_COLUMNS = (
    *("episode", "turn", "location_id", "location", "command", "score", "score_change", "refused", "seconds", "calls"),
    *("prompt_tokens", "cached_tokens", "completion_tokens", "memory_tokens", "points_from"),
)


def turn_rows(run: PlayedRun) -> Iterator[Row]:
    """Yield a row for every turn of the run, in order, with ``TURN_COLUMNS``.

    location_id, location: of its beginning; ``None`` and "" if it is not known
    score, score_change: points after it, and those that it brought; ``None`` where the story keeps none
    refused: the command never reached the story
    seconds: from the observation before it to the one after
    calls, prompt_tokens, cached_tokens, completion_tokens: of the models since the turn before, including those that
        learned from that turn; tokens are ``None`` if the server did not count all of them
    memory_tokens: of the location memory in the agent's prompt
    points_from: as ``points`` of ``PlayedRun``
    """
    return (_row(turn, run.points) for episode in run.episodes for turn in episode.turns)


def as_csv(run: PlayedRun) -> str:
    """Return a heading and a line for each turn; an unknown value is empty."""
    return csv_of(TURN_COLUMNS, (row.values() for row in turn_rows(run)))


def csv_of(heading: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table. A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(map(_harmless, row) for row in rows)
    return out.getvalue()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def as_json(run: PlayedRun, calls: Iterable[RepeatedCall] = ()) -> str:
    """Return one object: the run's figures, each episode with its opening and its turns, and the model calls."""
    episodes = [
        {
            "episode": episode.started.episode,
            "opening": episode.started.opening.text,
            "turns": [
                {
                    **_row(turn, run.points),
                    "reasoning": turn.played.record.reasoning,
                    "not_played": [each.wish for each in turn.played.record.rejections],
                    "text": turn.played.record.after.text,
                }
                for turn in episode.turns
            ],
        }
        for episode in run.episodes
    ]
    asked = [call_as_object(call) for call in calls]
    figures = to_jsonable_python(figures_of(run))
    return json.dumps({**figures, "transcript": episodes} | ({"calls": asked} if asked else {}), indent=2) + "\n"


def as_atif(run: PlayedRun) -> str:
    """Return the run as one trajectory of ATIF 1.7 (docs/runs.md, Trajectories).

    A turn is a step with the calls that chose its command, none for a command of a route; each call that learned from
    a turn, or that chose a command that was not played, is a step of its own. Counts of tokens that are not known are
    left out.
    """
    steps: list[dict[str, object]] = []
    calls: list[tuple[ModelCall, float | None]] = []
    prices = priced_calls(run)
    for event in run.events:
        if isinstance(event, EpisodeStarted):
            begun = {
                "message": f"Episode {event.episode} begins.",
                "extra": {"episode": event.episode, "seed": event.seed},
            }
            steps.append({"source": "system", **begun, "observation": {"results": [{"content": event.opening.text}]}})
        elif isinstance(event, ModelAnswered | ModelFailed):
            call = next(prices)
            if event.role in PLAYING_ROLES:
                calls.append(call)
            else:
                steps.append(_call_step(call))
        elif isinstance(event, TurnPlayed):
            record, name = event.record, f"episode {event.record.episode}, turn {event.record.turn}"
            play = {"tool_call_id": name, "function_name": "play", "arguments": {"command": record.action}}
            result = {"source_call_id": name, "content": record.after.text}
            not_played = [each.wish for each in record.rejections]
            seen: dict[str, object] = {"episode": record.episode, "turn": record.turn, "score": record.after.score}
            seen |= {"not_played": not_played} if not_played else {}
            acted = {"tool_calls": [play], "observation": {"results": [result]}, "extra": seen}
            steps.append({"source": "agent", "message": record.reasoning, **_spent(calls), **acted})
            calls.clear()
    steps += map(_call_step, calls)  # of a command that was not played
    figures, manifest = figures_of(run), run.manifest
    agent = {"name": "zorkgpt", "version": manifest.versions.get("zorkgpt", "unknown")}
    agent |= {"model_name": ", ".join(manifest.model)} if manifest.model else {}
    totals = _tokens([each for each in run.events if isinstance(each, ModelAnswered | ModelFailed)])
    trajectory = {
        "schema_version": "ATIF-v1.7",
        "session_id": figures.run.run_id,
        "agent": {**agent, "extra": {"player": manifest.player, "assistance": manifest.assistance}},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps or [_NOTHING], start=1)],
        "final_metrics": {
            **{f"total_{name}": total for name, total in totals.items()},
            **({"total_cost_usd": figures.dollars} if figures.dollars is not None and not figures.unpriced else {}),
            "total_steps": len(steps or [_NOTHING]),
        },
        "extra": {
            "story": manifest.story,
            "state": figures.run.state,
            "forked_from": manifest.forked_from,
            "points": run.points,
        },
    }
    return json.dumps(trajectory, indent=2) + "\n"


def _call_step(call: tuple[ModelCall, float | None]) -> dict[str, object]:
    made, _ = call
    answer = json.dumps(made.answer) if isinstance(made, ModelAnswered) else made.error
    return {"source": "agent", "message": answer, **_spent([call]), "extra": {"role": made.role}}


def _spent(calls: Sequence[tuple[ModelCall, float | None]]) -> dict[str, object]:
    """Return the fields of a step about its model calls; without any there is only their number, 0."""
    step: dict[str, object] = {"llm_call_count": len(calls)}
    if calls:
        step["model_name"] = calls[-1][0].model
        thoughts = "\n\n".join(filter(None, (getattr(call, "reasoning", "") for call, _ in calls)))
        step |= {"reasoning_content": thoughts} if thoughts else {}
        metrics: dict[str, object] = {**_tokens([call for call, _ in calls])}
        prices = [price for _, price in calls if price is not None]
        step["metrics"] = metrics | ({"cost_usd": sum(prices)} if len(prices) == len(calls) else {})
    return step


def _tokens(calls: Sequence[ModelCall]) -> dict[str, int]:
    """Return the sums of tokens by their names in ATIF; nothing if the server did not count all of them."""
    names = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return {name: sum(getattr(call, name) for call in calls) for name in names} if not uncounted(calls) else {}


def call_as_object(call: RepeatedCall) -> dict[str, object]:
    """Return the prompt of a call, and as ``recorded`` what the journal has of the call."""
    return {
        "episode": call.episode,
        "turn": call.turn,
        "role": call.role,
        "system": call.prompt.system,
        "user": call.prompt.user,
        "is_as_recorded": call.is_as_recorded,
        "recorded": asdict(call.recorded),
    }


def _row(turn: PlayedTurn, points: str) -> Row:
    record, tokens = turn.played.record, _tokens(turn.calls)
    location = record.before.location
    values = (
        *(record.episode, record.turn, record.before.location_id, one_line(location.name) if location else ""),
        *(one_line(record.action), record.after.score, record.score_change, record.after.refusal is not None),
        *(turn.played.seconds, len(turn.calls)),
        *map(tokens.get, ("prompt_tokens", "cached_tokens", "completion_tokens")),
        *(turn.played.memory_tokens, points),
    )
    return dict(zip(TURN_COLUMNS, values, strict=True))
