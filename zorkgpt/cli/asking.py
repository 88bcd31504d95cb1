"""Sends the prompts of a run to a model again, and shows the answers beside the recorded ones."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import typer

from orchestration.parts import choose_model
from orchestration.recorded_configuration import continued
from session.errors import ConfigurationError, ResponseInvalid
from session.events import ModelAnswered, ModelFailed, RunMoment
from session.game_configuration import GameConfiguration
from session.resolved_configuration import changeable_options, rebuilt_with
from session.text import counted, one_line
from session.values import ROLES, Proposal
from zorkgpt.cli.terminal import NOTHING, print_line, print_table
from zorkgpt.llm.budget import Spending
from zorkgpt.llm.openai.faults import RequestRefused
from zorkgpt.llm.run_model import RepeatedCall, answered, failed
from zorkgpt.report.pages import repeat
from zorkgpt.report.played_run import ModelCall, tokens_of, uncounted

_PATIENCE = 10.0  # seconds to wait for a model that is down, unless the option is given


def ask_again(
    folder: Path,
    now: GameConfiguration,
    options: Sequence[str],
    until: RunMoment,
    is_wanted: Callable[[RepeatedCall], bool],
    times: int,
    *,
    as_json: bool,
) -> None:
    """Send the wanted prompts of a run up to a turn to a model, and print its answers. Nothing is written to the run.

    options: names of options of ``now``. Those of models choose the model; with all others the prompts are rebuilt
    Raises ``ConfigurationError`` if no prompt is wanted or the run cannot be repeated up to there, and
    ``LanguageModelError``, after printing what was answered, if the model cannot be used.
    """
    of_models = [each for each in options if now.aliases.get(each, each) in ("prices", *changeable_options())]
    shaping, calls = [each for each in options if each not in of_models], list[RepeatedCall]()

    def rebuilt(then: GameConfiguration) -> GameConfiguration:
        return rebuilt_with(then, now, shaping)

    replayed = repeat(folder, now, asked=calls.append, until=until, changed=rebuilt)
    if replayed.difference is not None:
        cause = ", ".join(shaping) or "this version of the program"
        turn = replayed.turns + 1
        raise ConfigurationError(f"with {cause}, run {folder.name} is played differently from turn {turn} on")
    wanted = [call for call in calls if is_wanted(call)]
    if not wanted:
        raise ConfigurationError(f"run {folder.name} has no such model call in these turns")
    configuration = continued(folder, now, of_models, player="model")
    if "llm.patience" not in of_models:  # a person waits
        llm = configuration.llm.model_copy(update={"patience": min(configuration.llm.patience, _PATIENCE)})
        configuration = configuration.model_copy(update={"llm": llm})
    answers: list[list[ModelCall]] = [[] for _ in wanted]
    try:
        _ask(wanted, answers, configuration, times)
    finally:  # whatever ended it, what was answered is printed
        every = [each for found in answers for each in found]
        asked = [(call, found) for call, found in zip(wanted, answers, strict=True) if found]
        for call, found in asked if as_json else ():
            place = {"episode": call.episode, "turn": call.turn, "role": call.role}
            typer.echo(json.dumps({**place, "recorded": asdict(call.recorded), "answers": [*map(asdict, found)]}))
        if asked and not as_json:
            _print_answers(asked)
            _print_price(every, configuration, times * len(wanted) - len(every))
    if not any(isinstance(each, ModelAnswered) for each in every):
        raise typer.Exit(1)


def _ask(
    wanted: Sequence[RepeatedCall], answers: Sequence[list[ModelCall]], configuration: GameConfiguration, times: int
) -> None:
    """Append to the answers of each call. Raises ``LanguageModelError`` for a model that cannot be used for any."""
    for number in range(times):
        seeded = {}  # each repetition has sampling seeds of its own, the first one those of the run
        for role in ROLES:
            sampling = configuration.role(role).sampling
            seeded[f"{role}_sampling"] = sampling.model_copy(update={"seed": (sampling.seed or 0) + number})
        with choose_model(configuration.model_copy(update=seeded)) as chosen:
            for call, found in zip(wanted, answers, strict=True):
                begun = time.monotonic()
                try:
                    completion = chosen.model.complete(call.role, call.prompt, call.schema)
                    found.append(answered(call.role, call.prompt, completion))
                except (RequestRefused, ResponseInvalid) as error:
                    found.append(failed(call.role, call.prompt, error, time.monotonic() - begun))


def _print_price(every: Sequence[ModelCall], configuration: GameConfiguration, unsent: int) -> None:
    spending = Spending(configuration)
    for each in every:
        spending.count(each)
    answers = [each for each in every if isinstance(each, ModelAnswered)]
    unknown = uncounted(each for each in every if not isinstance(each, ModelAnswered))
    models = ", ".join(dict.fromkeys(each.model for each in answers if each.model))
    parts = [
        f"{counted(len(answers), 'answer')}{f' of {models}' if models else ''}",
        *([f"{len(every) - len(answers)} without an answer"] if len(every) > len(answers) else []),
        *([f"{unsent} not requested"] if unsent else []),
        *([] if spending.tokens else ["tokens unknown"]),
        *spending.words,
        *([f"tokens and price unknown for {unknown} of {len(every)}"] if unknown and spending.tokens else []),
        *([] if spending.dollars else ["$0.0000" if spending.tokens and not spending.unpriced else "price unknown"]),
    ]
    print_line(f"{', '.join(parts)}. Nothing was written to the run.")


def _print_answers(asked: Sequence[tuple[RepeatedCall, Sequence[ModelCall]]]) -> None:
    """Print the answers to one prompt side by side, those to several as a table with a line for each prompt."""
    if len(asked) > 1:
        rows = [("turn", "role", "prompt", "recorded", "now")]
        for call, found in asked:
            counts = Counter(map(_short, found)).most_common()
            now = "; ".join(f"{count} x {text}" if len(found) > 1 else text for text, count in counts)
            rows.append((f"{call.episode}:{call.turn}", call.role, _kind(call), _short(call.recorded), now))
        print_table(rows, wraps=True)
        return
    ((call, found),) = asked
    print_line(f"Episode {call.episode}, turn {call.turn}, {call.role}; the prompt is {_kind(call)}.")
    every = [call.recorded, *found]
    parts = [each.answer if isinstance(each, ModelAnswered) else {"no answer": each.error} for each in every]
    table = [("", "recorded", *(f"now {number}" for number in range(1, len(every))))]
    table += [
        (name, *(_text(part.get(name, NOTHING)) for part in parts))
        for name in dict.fromkeys(chain.from_iterable(parts))
    ]
    table.append(("model", *(each.model for each in every)))
    table.append(("tokens", *map(tokens_of, every)))
    print_table(table, wraps=True)


def _kind(call: RepeatedCall) -> str:
    return "as recorded" if call.is_as_recorded else "rebuilt, with another text"


def _short(call: ModelCall) -> str:
    """Return what an answer comes down to: the commands or the way of the agent, or else all of it but its reasons."""
    if isinstance(call, ModelFailed):
        return f"no answer: {call.error}"
    answer: dict[str, Any] = call.answer
    if "action" in answer:
        follow, go_to, until = (answer.get(name) for name in ("follow", "go_to", "until"))
        wish = Proposal(answer["action"], follow=follow, go_to=go_to, until=until).wish
        return one_line(", then ".join((wish, *(answer.get("then") or ()))))
    return _text({name: value for name, value in answer.items() if name not in ("reasoning", "reason") and value})


def _text(value: object) -> str:
    return one_line(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
