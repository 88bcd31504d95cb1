"""The options themselves: their names, defaults, fallbacks between roles, and keys that never show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr, ValidationError

from session.errors import ConfigurationError
from session.game_configuration import GameConfiguration
from session.options import options_of
from session.values import ROLES, Role

KEY = "sk-nobody-may-see-this"
COMMON = "http://common:1/v1"

SEED_OPTIONS: dict[str, object] = {
    "max_turns_per_episode": 20,
    "zork_game_workdir": "elsewhere",
    "knowledge_file": "k.md",
    "map_state_file": "m.json",
    "agent_model": "a",
    "critic_model": "b",
    "info_ext_model": "c",
    "analysis_model": "d",
    "memory_model": "e",
    "agent_sampling": {"temperature": 0.1},
    "critic_sampling": {"top_p": 0.1},
    "info_ext_sampling": {"top_k": 1},
    "analysis_sampling": {"min_p": 0.1},
    "memory_sampling": {"memory_history_window": 4},
    "knowledge_update_interval": 7,
    "objective_update_interval": 7,
    "room_description_age_window": 7,
    "show_persistence_markers": False,
    "debug_ephemeral": True,
    "enable_enhanced_objectives": False,
    "simple_memory": {
        "enabled": False,
        "memory_file": "x.md",
        "max_successful_actions_shown": 1,
        "max_failed_actions_shown": 1,
        "flush_on_death": False,
    },
}


def test_no_argument_is_needed_and_nothing_outside_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = GameConfiguration()
    (tmp_path / "zorkgpt.toml").write_text("max_turns_per_episode = 1\n")
    (tmp_path / ".env").write_text("ZORKGPT_MAX_TURNS_PER_EPISODE=1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZORKGPT_MAX_TURNS_PER_EPISODE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert GameConfiguration() == usual
    assert usual.llm.api_key is None
    assert (usual.room_description_age_window, usual.objective_update_interval) == (10, 20)
    assert (usual.map_state_file, usual.get_memory_history_window()) == ("map_state.json", 3)
    assert (usual.memory_sampling.temperature, usual.memory_sampling.max_tokens) == (0.3, 1000)


@pytest.mark.parametrize("name", SEED_OPTIONS)
def test_an_option_that_a_seed_names_is_a_keyword_and_an_attribute(name: str) -> None:
    given = SEED_OPTIONS[name]
    value = getattr(GameConfiguration.model_validate({name: given}), name)
    if isinstance(value, BaseModel):
        assert value.model_dump(include=set(given) if isinstance(given, dict) else None) == given
    else:
        assert value == (Path(str(given)) if name == "zork_game_workdir" else given)
    assert value != getattr(GameConfiguration(), name)


@pytest.mark.parametrize(
    "options",
    [
        {"room_description_age_window": 0},
        {"room_description_age_window": 21},
        {"game": {"seed": 0}},
        {"game": {"seed": -1}},
        {"game": {"seed": 2**31}},
        {"agent_modell": "x"},
        *({"budgets": {"max_time": given}} for given in ("soon", "90 minutes", "m", "0h", "-1", 0, 0.000001)),
        *({"budgets": limit} for limit in ({"max_tokens": 1}, {"max_tokens": 9}, {"max_cost": 0.000001})),
        *({f"{role}_sampling": {"max_tokens": 1}} for role in ROLES),
        {"game": {"time_limit": 0.000001}},
        *({"llm": {limit: 0.000001}} for limit in ("timeout", "stall_timeout", "total_time")),
    ],
)
def test_an_unknown_option_and_a_value_out_of_bounds_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        _of(**options)


@pytest.mark.parametrize(
    ("given", "seconds"), [(90, 90.0), ("90", 90.0), ("45s", 45.0), ("90m", 5400.0), ("1.5h", 5400.0)]
)
def test_a_time_limit_is_in_seconds_or_names_its_unit(given: object, seconds: float) -> None:
    assert GameConfiguration.model_validate({"budgets": {"max_time": given}}).budgets.max_time == seconds


def test_every_option_is_documented() -> None:
    assert [option.name for option in options_of(GameConfiguration) if not option.schema.get("description")] == []


def test_a_sampling_gives_its_values_by_name_and_keeps_the_defaults_of_others() -> None:
    configuration = _of(agent_sampling={"top_k": 5}, memory_sampling={"temperature": 0.9})
    sampling = configuration.agent_sampling
    assert [sampling.get("top_k", 1), sampling.get("top_p", 0.5), sampling.get("no_such_name", "x")] == [5, 0.5, "x"]
    assert (configuration.memory_sampling.temperature, configuration.memory_sampling.max_tokens) == (0.9, 1000)


@pytest.mark.parametrize(
    ("window", "taken", "warning"),
    [
        *((window, window, None) for window in (1, 3, 10)),
        *((window, 3, "must be >= 1, using default: 3") for window in (0, -5)),
        (11, 11, "= 11 may use excessive context"),
    ],
)
def test_a_history_window_of_memories_that_makes_no_sense_is_warned_of(
    window: int, taken: int, warning: str | None
) -> None:
    configuration = _of(memory_sampling={"memory_history_window": window})
    with pytest.warns(UserWarning, match=warning) if warning else nullcontext():
        assert configuration.get_memory_history_window() == taken


class TestRoles:
    @pytest.mark.parametrize(
        ("options", "engines"),
        [
            ({}, ("embedded", "embedded")),
            ({"llm": {"base_url": "http://localhost:1/v1"}}, ("openai", "openai")),
            ({"llm": {"api_key": KEY}}, ("openai", "openai")),
            ({"llm": {"engine": "openai"}}, ("openai", "openai")),
            ({"agent_model": "gpt-4.1-mini"}, ("openai", "openai")),
            ({"agent_model": "gpt-4.1-mini", "memory_model": "small.gguf"}, ("openai", "embedded")),
            ({"agent_model": "some.gguf", "llm": {"api_key": KEY}}, ("embedded", "embedded")),
            ({"agent_model": "hf:owner/model", "llm": {"api_key": KEY}}, ("embedded", "embedded")),
        ],
    )
    def test_a_model_file_is_embedded_and_so_is_every_role_without_model_server_and_key(
        self, options: dict[str, object], engines: tuple[str, str]
    ) -> None:
        configuration = _of(**options)
        assert (configuration.role("agent").engine, configuration.role("memory").engine) == engines

    def test_roles_fall_back_to_the_agents_model_and_memory_to_the_extractors(self) -> None:
        configuration = _of(agent_model="big", info_ext_model="small")
        models = {role: configuration.role(role).model for role in ROLES}
        assert models == {
            "agent": "big",
            "critic": "big",
            "info_ext": "small",
            "analysis": "big",
            "memory": "small",
        }

    def test_each_role_has_its_own_sampling_and_draws_from_the_seed_of_the_story(self) -> None:
        configuration = _of(game={"seed": 7}, critic_sampling={"seed": 100, "temperature": 0.1})
        seeds = {role: configuration.role(role).sampling.seed for role in ROLES}
        assert seeds == {"agent": 7, "critic": 100, "info_ext": 7, "analysis": 7, "memory": 7}
        assert configuration.role("critic").sampling.temperature == 0.1
        assert configuration.role("agent").sampling.temperature is None
        assert _of(game={"seed": "jericho"}).role("agent").sampling.seed == 1

    @pytest.mark.parametrize(
        ("role", "options", "server"),
        [
            (
                "memory",
                {"info_ext_model": "small", "llm": {"info_ext": {"base_url": "http://small:1/v1", "api_key": KEY}}},
                ("http://small:1/v1", KEY),
            ),
            (
                "memory",
                {"memory_model": "mine", "llm": {"base_url": COMMON, "agent": {"base_url": "http://big:1/v1"}}},
                (COMMON, None),
            ),
            ("critic", {"llm": {"api_key": KEY, "critic": {"base_url": COMMON}}}, (COMMON, None)),
            ("agent", {"llm": {"api_key": KEY, "critic": {"base_url": COMMON}}}, (None, KEY)),
            ("critic", {"llm": {"base_url": COMMON, "api_key": "another", "critic": {"api_key": KEY}}}, (COMMON, KEY)),
        ],
    )
    def test_a_borrowed_model_brings_its_server_and_a_key_goes_to_its_own_address_alone(
        self, role: Role, options: dict[str, object], server: tuple[str | None, str | None]
    ) -> None:
        found = _of(**options).role(role)
        assert (found.base_url, _revealed(found.api_key)) == server


class TestKeys:
    @pytest.mark.parametrize("llm", [{"api_key": "sk-"}, {"memory": {"api_key": "x"}}, {"api_key": ""}])
    def test_a_key_that_is_too_short_to_be_hidden_is_refused_unlike_a_placeholder(self, llm: dict[str, object]) -> None:
        with pytest.raises(ValidationError, match="a key has at least 4 characters") as caught:
            _of(llm=llm)
        assert "sk-" not in str(caught.value)
        for key in ("ollama", "EMPTY", "none"):
            assert _revealed(_of(llm={"api_key": key}).llm.api_key) == key

    @pytest.mark.parametrize("key", ["sk-sec\nret", "sk secret", "sk-sécret"])
    def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(self, key: str) -> None:
        with pytest.raises(ValidationError, match="a key must not contain a space, a line break") as caught:
            _of(llm={"api_key": key})
        assert key not in str(caught.value)

    @pytest.mark.parametrize("keys", [{"api_key": KEY}, {"memory": {"api_key": KEY}}])
    def test_a_key_is_in_nothing_that_is_printed_and_what_is_written_makes_the_same_configuration_without_it(
        self, keys: dict[str, object]
    ) -> None:
        others = {"assist": "valid-actions", "game": {"file": "a.z5"}}
        configuration = _of(llm={**keys, "timeout": 5}, **others)
        written = json.dumps(configuration.without_keys())
        shown = [
            repr(configuration),
            str(configuration),
            repr(configuration.role("agent")),
            repr(configuration.model_dump()),
            configuration.model_dump_json(),
            written,
        ]
        assert [text for text in shown if KEY in text] == []
        assert GameConfiguration.model_validate(json.loads(written)) == _of(llm={"timeout": 5}, **others)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "localhost:8080",
            "ftp://host/v1",
            "http://",
            "http://[::1",
            "http://h:0/",
            "http://h:x/",
            "http://h/v1?a",
            "http://h/#a",
        ),
        *(f"http://user:{KEY}@host/v1", f"http://{KEY}@host/v1"),
    ],
)
def test_what_is_no_address_is_refused_without_repeating_a_password(address: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _of(llm={"base_url": address})
    assert KEY not in str(caught.value)


def test_a_home_folder_is_put_for_the_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setenv("USERPROFILE", "/somewhere")
    assert _of(game={"file": "~/zork1.z5"}).game.file == Path("/somewhere/zork1.z5")


def _of(**options: Any) -> GameConfiguration:
    return GameConfiguration.model_validate(options)


def _revealed(key: SecretStr | None) -> str | None:
    return key.get_secret_value() if key else None


def test_a_dictionary_laid_out_as_a_project_file_is_taken_if_it_knows_all_its_options() -> None:
    tables = {"memory": {"show_persistence_markers": False}, "agent": {"history_window": 3}}
    by_dictionary = GameConfiguration({"tool": {"zorkgpt": tables}, "project": {"name": "mine"}}, knowledge_file="k.md")
    assert by_dictionary == GameConfiguration(
        show_persistence_markers=False, agent={"history_window": 3}, knowledge_file="k.md"
    )
    assert GameConfiguration(tables) == GameConfiguration({"tool": {"zorkgpt": tables}})
    assert GameConfiguration({}) == GameConfiguration({"tool": {}}) == GameConfiguration()
    for table in ({"memory": {"show_markers": False}}, {"nonsense": 1}):
        with pytest.raises(ConfigurationError, match="in the dictionary is not an option; "):
            GameConfiguration(table)


def test_kinds_of_help_are_written_in_one_order_whatever_the_process(tmp_path: Path) -> None:
    """Sets of texts are in another order in each process; a plan of an ablation is compared with what one wrote."""
    kinds = ["fresh-actions", "proven-routes", "valid-actions"]
    written = "import json; from session.game_configuration import GameConfiguration as G; "
    code = f"{written}print(json.dumps(G.model_validate({{'assist': {kinds}}}).without_keys()['assist']))"
    for seed in ("1", "2", "5"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        shown = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, check=True
        )
        assert json.loads(shown.stdout) == kinds
