"""A key goes to no address that came with a folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from session.errors import ConfigurationError
from session.game_configuration import GameConfiguration
from session.resolved_configuration import load_configuration, require_named, trust
from tests.fixtures.typed_command import typed

THEIRS, OURS, LOCAL = "https://models.example/v1", "https://mine.example/v1", "http://127.0.0.1:8080/v1"
KEY = "sk-0123456789abcdef0123"
IN_ENVIRONMENT = {"OPENAI_API_KEY": KEY}


@pytest.fixture(autouse=True)
def _own_trust(clean_environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clean_environment.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder from another person, with a URL in it."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "zorkgpt.toml").write_text(f'[llm]\nbase_url = "{THEIRS}"\n', encoding="utf-8")
    return folder


def test_a_key_from_the_environment_is_not_sent_to_an_address_that_came_with_the_folder(clone: Path) -> None:
    message = (
        f"{clone / 'zorkgpt.toml'} gives llm.base_url, and llm.api_key comes from elsewhere: no key is sent to an "
        f"address that may have come with a folder; zorkgpt config trust {clone / 'zorkgpt.toml'} allows it"
    )
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        load_configuration({}, IN_ENVIRONMENT, clone)
    assert load_configuration({}, {}, clone).configuration.llm.base_url == THEIRS
    with pytest.raises(ConfigurationError, match=r"cannot read .*none\.toml"):
        trust(clone / "none.toml")


def test_nor_to_one_of_a_role_or_of_a_parent_folder_or_of_an_env_file(clone: Path) -> None:
    (clone / ".git").mkdir()
    (clone / "deeper").mkdir()
    (clone / "zorkgpt.toml").write_text(f'[llm.critic]\nbase_url = "{THEIRS}"\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"gives llm\.critic\.base_url"):
        load_configuration({"llm.critic.api_key": KEY}, {}, clone / "deeper")
    (clone / "zorkgpt.toml").unlink()
    (clone / ".env").write_text(f"OPENAI_BASE_URL={THEIRS}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"\.env gives llm\.base_url"):
        load_configuration({}, IN_ENVIRONMENT, clone)


@pytest.mark.parametrize(
    ("overrides", "environ", "file", "base_url"),
    [
        ({"llm.base_url": OURS}, IN_ENVIRONMENT, None, OURS),
        ({}, {**IN_ENVIRONMENT, "OPENAI_BASE_URL": OURS}, None, OURS),
        ({}, IN_ENVIRONMENT, f'[llm]\nbase_url = "{LOCAL}"\n', LOCAL),
        ({}, {}, f'[llm]\nbase_url = "{THEIRS}"\napi_key = "{KEY}"\n', THEIRS),
        ({}, {**IN_ENVIRONMENT, "HOME": "."}, None, THEIRS),
    ],
    ids=["command line", "environment", "this machine", "key in the same file", "file of the home folder"],
)
def test_it_is_sent_to_an_address_that_needs_no_trust(
    clone: Path, overrides: dict[str, object], environ: dict[str, str], file: str | None, base_url: str
) -> None:
    if file:
        (clone / "zorkgpt.toml").write_text(file, encoding="utf-8")
    if "HOME" in environ:
        environ = {**environ, "HOME": str(clone)}
    llm = load_configuration(overrides, environ, clone).configuration.llm
    assert (llm.base_url, llm.api_key is not None) == (base_url, True)


def test_trust_lasts_as_long_as_the_file_stays_the_same(clone: Path, clean_environment: pytest.MonkeyPatch) -> None:
    clean_environment.chdir(clone)
    assert typed("config", "trust", "zorkgpt.toml").status == 0
    assert load_configuration({}, IN_ENVIRONMENT, clone).configuration.llm.base_url == THEIRS
    (clone / "zorkgpt.toml").write_text('[llm]\nbase_url = "https://other.example/v1"\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="config trust"):
        load_configuration({}, IN_ENVIRONMENT, clone)
    clean_environment.setenv("OPENAI_API_KEY", KEY)
    shown = typed("config", "show")
    assert (shown.status, shown.err.decode().count("\n")) == (2, 1)


def test_a_run_gets_a_key_only_for_an_address_that_is_named_now(tmp_path: Path) -> None:
    def with_server(url: str) -> GameConfiguration:
        return GameConfiguration.model_validate({"llm": {"base_url": url, "api_key": KEY}})

    require_named(with_server(THEIRS), with_server(THEIRS), tmp_path)
    require_named(with_server("http://localhost:1/v1"), GameConfiguration(), tmp_path)
    with pytest.raises(ConfigurationError, match=rf"add --base-url {THEIRS}"):
        require_named(with_server(THEIRS), GameConfiguration(), tmp_path)
