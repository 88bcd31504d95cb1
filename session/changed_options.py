"""The options that may change within a run: who answers, where, and how that is sampled.

What is asked may not change, nor how the story is played: that would make it another run. The one exception is a
person's run that a model takes over.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from session.configuration.options import Options, options_of
from session.errors import ConfigurationError
from session.game_configuration import GameConfiguration
from session.values import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from session.events import OptionValue

Group = TypeVar("Group", bound=Options)

_MODELS = frozenset(f"{role}_model" for role in ROLES)
_SAMPLING = frozenset(f"{role}_sampling" for role in ROLES)
_BUDGETS = "budgets."
_HANDED_OVER = ("agent.player", "agent.reasoning_length", "extractor.mode", "max_turns_per_episode")
_IN_PROMPTS = frozenset({"memory_sampling.memory_history_window"})


@cache
def changeable_options() -> tuple[str, ...]:
    """Return the names of the options that may change within a run. Keys are not among them: a run keeps none."""
    options = (option.name for option in options_of(GameConfiguration) if not option.secret)
    return tuple(name for name in options if _says_who_answers(name) or name in _HANDED_OVER)


def changes_between(before: GameConfiguration, after: GameConfiguration) -> dict[str, OptionValue]:
    """Return the values that ``after`` has of the options that may change, where ``before`` has others."""
    return {name: _value(after, name) for name in changeable_options() if _value(before, name) != _value(after, name)}


def changed(configuration: GameConfiguration, values: Mapping[str, OptionValue]) -> GameConfiguration:
    """Return the configuration with these values of options, as :func:`changes_between` names them.

    Raises ``ValueError`` for an option that may not change.
    """
    for name, value in values.items():
        if name not in changeable_options():
            raise ValueError(f"{name} cannot change within a run")
        configuration = _with_value(configuration, name.split("."), value)
    return configuration


def updated(then: GameConfiguration, now: GameConfiguration, names: Iterable[str]) -> GameConfiguration:
    """Return the configuration ``then`` of a run with the values that ``now`` has of these options, or of budgets.

    Raises ``ConfigurationError`` for an option that would make it another run.
    """
    chosen = [type(now).aliases.get(name, name) for name in names]
    for name in chosen:
        if name in _HANDED_OVER or (name not in changeable_options() and not name.startswith(_BUDGETS)):
            raise ConfigurationError(
                f"{name}: within a run only models, servers, sampling and budgets can change; set it for a new run"
            )
    budgets = [name.removeprefix(_BUDGETS) for name in chosen if name.startswith(_BUDGETS)]
    changes = {name: value for name, value in changes_between(then, now).items() if name in chosen}
    update = {"budgets": then.budgets.model_copy(update={name: getattr(now.budgets, name) for name in budgets})}
    return changed(then, changes).model_copy(update=update)


def handed_over(then: GameConfiguration, now: GameConfiguration, turns: int) -> GameConfiguration:
    """Return the configuration ``then`` of a person's run with a model in the place of the person.

    now: says how the model reads, and for how many turns it may play on
    turns: those of the episode that the person has played
    """
    values = {
        "agent.player": "model",
        "agent.reasoning_length": now.agent.reasoning_length,
        "extractor.mode": now.extractor.mode,
        "max_turns_per_episode": min(then.max_turns_per_episode, turns + now.max_turns_per_episode),
    }
    return changed(then, values)


def before_hand_over(configuration: GameConfiguration, begun_with: GameConfiguration) -> GameConfiguration:
    """Return the configuration with the values of ``begun_with`` that change when a model takes over."""
    return changed(configuration, {name: _value(begun_with, name) for name in _HANDED_OVER})


def as_settings(values: Mapping[str, OptionValue]) -> str:
    """Return values of options in words: ``agent_model = gpt-5, agent_sampling.top_k = unset``."""
    return ", ".join(f"{name} = {'unset' if value is None else value}" for name, value in values.items())


def before_changes(configuration: GameConfiguration, begun_with: GameConfiguration) -> GameConfiguration:
    """Return the configuration with the values of ``begun_with`` of all options that may change."""
    return changed(configuration, changes_between(configuration, begun_with))


def _says_who_answers(name: str) -> bool:
    group = name.partition(".")[0]
    return group == "llm" or group in _MODELS or (group in _SAMPLING and name not in _IN_PROMPTS)


def _value(configuration: GameConfiguration, name: str) -> OptionValue:
    value: OptionValue = attrgetter(name)(configuration)
    return value


def _with_value(group: Group, path: list[str], value: object) -> Group:
    first, *rest = path
    return group.model_copy(update={first: _with_value(getattr(group, first), rest, value) if rest else value})
