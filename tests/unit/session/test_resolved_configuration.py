"""The sources of options, their precedence, and the errors for invalid ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import SecretStr

from session.errors import ConfigurationError
from session.game_configuration import GameConfiguration
from session.options import options_of
from session.resolved_configuration import (
    Kind,
    ResolvedConfiguration,
    limited_kind,
    load_configuration,
    require_named,
    require_usual_names,
    trust,
)
from session.values import Seed
from tests.fixtures.typed_command import typed

KEY = "sk-nobody-may-see-this"
SERVED = {"agent_model": "served", "llm.engine": "openai"}


class TestPrecedence:
    def test_each_source_is_over_all_that_follow_it(self, tmp_path: Path) -> None:
        _everywhere(tmp_path)
        environ = {"ZORKGPT_GAME__SEED": "4"}
        resolved = load_configuration({"game.seed": 5}, environ, tmp_path)
        assert _seed(resolved) == (5, "game.seed on the command line")
        resolved = load_configuration({"game.seed": None}, environ, tmp_path)
        assert _seed(resolved) == (4, "ZORKGPT_GAME__SEED in the environment")
        for name, seed, option in (
            (".env", 3, "ZORKGPT_GAME__SEED"),
            ("zorkgpt.toml", 2, "game.seed"),
            ("pyproject.toml", 7, "tool.zorkgpt.game.seed"),
        ):
            assert _seed(load_configuration({}, {}, tmp_path)) == (seed, f"{option} in {tmp_path / name}")
            (tmp_path / name).unlink()

    def test_an_embedded_model_brings_defaults_of_its_own_below_every_source(self, tmp_path: Path) -> None:
        resolved = load_configuration({}, {}, tmp_path)
        assert resolved.configuration.assist == {"fresh-actions", "proven-routes"}
        assert resolved.configuration.prompt_budgets.agent == 1500
        assert set(resolved.origins.values()) == {"default of the embedded model"}
        environ = {"ZORKGPT_PROMPT_BUDGETS__AGENT": "900", "ZORKGPT_ASSIST": "valid-actions, valid-actions"}
        resolved = load_configuration({}, environ, tmp_path)
        assert resolved.configuration.assist == {"valid-actions"}
        assert resolved.configuration.prompt_budgets.agent == 900
        assert load_configuration({"assist": "none"}, environ, tmp_path).configuration.assist == set()

    @pytest.mark.parametrize(
        "overrides",
        [
            {"prompt_budgets.cached": False, "agent_model": "m", "llm.base_url": "http://127.0.0.1:1/v1"},
            {"agent_model": "hf:OWNER/REPO"},
            {},
        ],
        ids=["a server without a cache", "a large embedded model", "the embedded model"],
    )
    def test_a_model_that_reads_each_prompt_anew_gets_a_window_of_turns_unless_asked_otherwise(
        self, tmp_path: Path, overrides: dict[str, object]
    ) -> None:
        budgets = load_configuration(overrides, {}, tmp_path).configuration.prompt_budgets
        assert (budgets.game_so_far, budgets.agent <= 4000) == (0, True)
        asked = {**overrides, "prompt_budgets.agent": 9000, "prompt_budgets.history": 2000}
        budgets = load_configuration(asked, {}, tmp_path).configuration.prompt_budgets
        assert (budgets.game_so_far, budgets.agent) == (2000, 9000)

    def test_the_nearest_file_up_to_the_home_folder_or_the_root_of_the_repository_counts(self, tmp_path: Path) -> None:
        _everywhere(tmp_path)
        below = tmp_path / "a" / "b"
        below.mkdir(parents=True)
        for home, seed in ((tmp_path, 2), (tmp_path / "a", 1), (tmp_path / "elsewhere", 1)):
            assert load_configuration({}, {"HOME": str(home)}, below).configuration.game.seed == seed
        assert load_configuration({}, {}, below).configuration.game.seed == 1
        (tmp_path / ".git").mkdir()
        assert _seed(load_configuration({}, {}, below))[0] == 2
        (below / "pyproject.toml").write_text("[tool.zorkgpt]\nagent_model = 'x'\n")
        nearest = load_configuration({}, {}, below).configuration
        assert (nearest.agent_model, nearest.game.seed) == ("x", 1)
        (below / "pyproject.toml").unlink()
        (tmp_path / "a" / ".git").touch()
        assert load_configuration({}, {"HOME": str(tmp_path)}, below).configuration.game.seed == 1


class TestEnvironment:
    @pytest.mark.parametrize(
        "environ",
        [
            {"ZORKGPT_AGENT_MODEL": "", "OPENAI_API_KEY": "", "ZORKGPT_NO_SUCH": ""},
            {"ZORKGPT_STORIES": "/x", "ZORKGPT_MODEL_DIR": "/y"},
        ],
    )
    def test_an_empty_variable_and_one_for_something_else_set_nothing(
        self, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        (tmp_path / ".env").mkdir()
        (tmp_path / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
        resolved = load_configuration(SERVED, environ, tmp_path)
        assert resolved.configuration == GameConfiguration(agent_model="served", llm={"engine": "openai"})
        assert resolved.origins.keys() == SERVED.keys()

    def test_our_own_names_are_over_the_well_known_ones_and_sources_add_up_within_a_group(self, tmp_path: Path) -> None:
        (tmp_path / "zorkgpt.toml").write_text("[llm]\ntimeout = 5\nmax_attempts = 2\n")
        environ = {"OPENAI_API_KEY": f"{KEY}\n", "OPENAI_BASE_URL": "http://h:1/v1", "ZORKGPT_LLM__TIMEOUT": "6"}
        llm = load_configuration({}, environ, tmp_path).configuration.llm
        assert (llm.base_url, _revealed(llm.api_key)) == ("http://h:1/v1", KEY)
        assert (llm.timeout, llm.max_attempts) == (6, 2)
        environ["ZORKGPT_LLM__BASE_URL"] = "http://ours:1/v1"
        assert load_configuration({}, environ, tmp_path).configuration.llm.base_url == "http://ours:1/v1"

    def test_other_lines_of_a_dotenv_file_are_ignored_and_a_dollar_sign_stays(self, tmp_path: Path) -> None:
        (tmp_path / ".env").write_text(
            "DATABASE=x\nDATABASE=y\nif [ x ]; then\nPEM='a\nb'\nNAME\n"
            "ZORKGPT_GAME__SEED='9' # it's nine\nexport ZORKGPT_GAME__SEED\nZORKGPT_LLM__API_KEY=a${HOME}b\n"
        )
        resolved = load_configuration({}, {}, tmp_path)
        assert (_seed(resolved)[0], _revealed(resolved.configuration.llm.api_key)) == (9, "a${HOME}b")


class TestFromToml:
    def test_the_seeds_tables_set_the_flat_options(self, tmp_path: Path) -> None:
        file = tmp_path / "pyproject.toml"
        file.write_text(
            """
            [project]
            name = "x"
            [tool.zorkgpt]
            max_turns_per_episode = 9
            [tool.zorkgpt.llm]
            agent_model = "big"
            memory_model = "small"
            [tool.zorkgpt.memory_sampling]
            temperature = 0.2
            memory_history_window = 5
            [tool.zorkgpt.memory]
            show_persistence_markers = false
            debug_ephemeral = true
            [tool.zorkgpt.simple_memory]
            max_failed_actions_shown = 2
            """
        )
        configuration = GameConfiguration.from_toml(str(file))
        assert configuration.max_turns_per_episode == 9
        assert (configuration.agent_model, configuration.memory_model) == ("big", "small")
        assert configuration.memory_sampling.max_tokens == 1000
        assert configuration.get_memory_history_window() == 5
        assert (configuration.show_persistence_markers, configuration.debug_ephemeral) == (False, True)
        assert configuration.simple_memory.max_failed_actions_shown == 2

    def test_a_file_of_our_own_has_the_options_at_its_top_and_a_pyproject_in_our_table(self, tmp_path: Path) -> None:
        file, project = tmp_path / "zorkgpt.toml", tmp_path / "pyproject.toml"
        file.write_text("agent_model = 'x'\n[game]\nseed = 3\n")
        configuration = GameConfiguration.from_toml(file)
        assert (configuration.agent_model, configuration.game.seed) == ("x", 3)
        project.write_text("[project]\nname = 'x'\n[tool.ruff]\nline-length = 80\n")
        assert GameConfiguration.from_toml(project) == GameConfiguration()

    @pytest.mark.parametrize("name", ["zorkgpt.toml", "pyproject.toml", ".env"])
    def test_a_byte_order_mark_is_accepted(self, tmp_path: Path, name: str) -> None:
        text = {"zorkgpt.toml": "game.seed = 8\r\n", "pyproject.toml": "[tool.zorkgpt]\r\ngame.seed = 8\r\n"}
        (tmp_path / name).write_bytes(f"\ufeff{text.get(name, 'ZORKGPT_GAME__SEED=8')}".encode())
        assert _seed(load_configuration({}, {}, tmp_path))[0] == 8

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (f"x = {'[' * 100_000}{']' * 100_000}".encode(), "FILE is not TOML: "),
            (f"[{'a.' * 5000}a]".encode(), "FILE is not TOML: a key has more than 500 parts"),
            (f"{'a.' * 100_000}a = 1".encode(), "FILE is not TOML: a key has more than 500 parts"),
            (f"game.seed = {'9' * 100_000}".encode(), "FILE is not TOML: "),
            (f"budgets.max_tokens = 0x{'f' * 5000}".encode(), "FILE is not TOML: Exceeds the limit"),
            (f"llm.agent.extra_body.x = 0b1{'0' * 50_000}".encode(), "FILE is not TOML: Exceeds the limit"),
            (
                f"llm.agent.extra_body.x = {'[' * 150}{']' * 150}".encode(),
                "llm.agent.extra_body in FILE: more than 100",
            ),
            (f"game.time_limit = {'9' * 400}".encode(), "game.time_limit in FILE should be a valid number"),
            (None, "cannot read FILE: No such file"),
            (b"a = 1\nb = = 2\n", "FILE is not TOML: .*line 2"),
            (b"a = 1\nb = [1,\n", "FILE is not TOML: .*line 3, the last one"),
            (b"a = '\xff'\n", "FILE is not UTF-8: .* at byte 5$"),
            (b"[tool]\nzorkgpt = 5\n", "tool.zorkgpt in FILE must be a table$"),
        ],
    )
    def test_a_file_that_cannot_be_read_or_understood_is_named(
        self, tmp_path: Path, content: bytes | None, message: str
    ) -> None:
        file = tmp_path / "zorkgpt.toml"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ConfigurationError, match=f"^{message.replace('FILE', str(file))}"):
            GameConfiguration.from_toml(file)


class TestErrors:
    """One line: the place, the problem, and for an unknown option the closest known one."""

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("max_turn = 5", "max_turn in FILE is not an option; the closest one is max_turns_per_episode"),
            ("MAX_TURN = 5", "MAX_TURN in FILE is not an option; the closest one is max_turns_per_episode"),
            ("[lmm]\nbase_url = 'x'", "lmm.base_url in FILE is not an option; the closest one is llm.base_url"),
            *(
                (text, f"{name} in FILE is not an option; `zorkgpt config show` lists all")
                for text, name in (("[xyz]", "xyz"), ("[no.such]", "no.such"))
            ),
            ("game = 5", "game in FILE is a group of options, such as game.file"),
            ("game.seed = 0", "game.seed in FILE should be greater than 0"),
            ("game.seed = {a = 1}", "game.seed in FILE: expected a whole number from 1, or jericho"),
            ("critic.mode = 'all'", "critic.mode in FILE should be 'object_tree', 'hybrid' or 'llm'"),
            (
                "zork_game_workdir = 'a\\u0000'".replace("'", '"'),
                "zork_game_workdir in FILE: a path must not contain a null",
            ),
            ("prompts.agent = '~no-such-user/a.md'", "prompts.agent in FILE: the home folder for ~ is not known"),
            ("prompts = '~no-such-user/a'", "prompts in FILE: the home folder for ~ is not known"),
            ("agent_model = '~no-such-user/m.gguf'", "agent_model in FILE: the home folder for ~ is not known"),
            ("llm.timeout = inf", "llm.timeout in FILE should be a finite number"),
            ("assist = ['magic']", "assist in FILE should be 'valid-actions', 'fresh-actions' or 'proven-routes'"),
            ("llm.base_url = 'host'", "llm.base_url in FILE: expected a URL such as http://localhost:8080/v1"),
            ("[prices.'a-1.5']\ninput = -1", "prices.a-1.5.input in FILE should be greater than or equal to 0"),
            ("[prices.a]\ninput = 1", "prices.a.output in FILE: Field required"),
        ],
    )
    def test_a_mistake_in_a_file(self, tmp_path: Path, text: str, message: str) -> None:
        file = tmp_path / "zorkgpt.toml"
        file.write_text(text)
        said = _error({}, {}, tmp_path)
        assert said.startswith(message.replace("FILE", str(file)))
        assert "\n" not in said

    def test_a_mistake_elsewhere(self, tmp_path: Path) -> None:
        unknown = "ZORKGPT_LLM__APIKEY in the environment is not an option; the closest one is llm.api_key"
        assert _error({}, {"ZORKGPT_LLM__APIKEY": KEY}, tmp_path) == unknown
        unknown = "game.sed on the command line is not an option; the closest one is game.seed"
        assert _error({"game.sed": 1}, {}, tmp_path) == unknown
        unknown = "foo on the command line is not an option; `zorkgpt config show` lists all"
        assert _error({"foo": 1}, {}, tmp_path) == unknown
        assert _error({"game.seed": "-5"}, {}, tmp_path) == "game.seed on the command line should be greater than 0"
        file = tmp_path / ".env"
        for content, message in (
            (b"ZORKGPT_LLM__TIMEOUT=soon\n", f"ZORKGPT_LLM__TIMEOUT in {file} should be a valid number"),
            (b"ZORKGPT_AGENT_MODEL=\xff\n", f"{file} is not UTF-8: "),
            (b"\n# mine\nZORKGPT_AGENT_MODEL='m\n", f"{file}, line 3: expected NAME=VALUE, with a quote on both"),
            (b'ZORKGPT_AGENT_MODEL="m" n\n', f"{file}, line 1: expected NAME=VALUE, with a quote on both"),
            (b'OPENAI_API_KEY=sk-123"\n', f"{file}, line 1: expected NAME=VALUE, with a quote on both"),
            (b"ZORKGPT_AGENT_MODEL: m\n", f"{file}, line 1: expected NAME=VALUE, with a quote on both"),
            (b'A="b\nOPENAI_API_KEY=x\nC="d"\n', f"{file}, line 1: expected NAME=VALUE, with a quote on both"),
            (b'A="b\nOPENAI_API_KEY=x\nC="\n', f"{file}, line 1: expected NAME=VALUE, with a quote on both"),
            (b"A=1\n\nexport ZORKGPT_AGENT_MODEL\n", f"{file}, line 3: expected NAME=VALUE, with a quote on both"),
        ):
            file.write_bytes(content)
            assert _error({}, {}, tmp_path).startswith(message)

    def test_a_key_that_does_not_fit_is_not_repeated(self, tmp_path: Path) -> None:
        (tmp_path / "zorkgpt.toml").write_text(f"llm.api_key = ['{KEY}']\n")
        with pytest.raises(ConfigurationError) as caught:
            load_configuration({}, {}, tmp_path)
        assert KEY not in str(caught.value)
        assert KEY not in str(caught.value.__cause__)


def test_every_option_is_shown_with_its_origin_and_of_a_key_only_that_it_is_set(tmp_path: Path) -> None:
    (tmp_path / "zorkgpt.toml").write_text('[prices."a-1.5"]\ninput = 1\noutput = 2\n')
    resolved = load_configuration({"game.seed": 2}, {"OPENAI_API_KEY": KEY}, tmp_path)
    shown = {each.name: (each.value, each.origin) for each in resolved.shown()}
    assert shown["game.seed"] == (2, "game.seed on the command line")
    assert shown["zork_game_workdir"] == ("game_files", "default")
    prices = {"a-1.5": {"input": 1.0, "cached": None, "output": 2.0}}
    assert shown["prices"] == (prices, f"prices in {tmp_path / 'zorkgpt.toml'}")
    assert shown["llm.api_key"] == ("set", "OPENAI_API_KEY in the environment")
    assert shown["llm.critic.api_key"][0] is None


@pytest.mark.parametrize("option", ["knowledge_file", "map_state_file", "simple_memory.memory_file"])
def test_the_name_of_a_file_of_the_program_is_reserved(tmp_path: Path, option: str) -> None:
    for name in ("episodes.json", "Story.json", "runs", "forks", "notes.lock"):
        message = f"{option} on the command line: {name} is reserved for a file of the program"
        assert message in _error({option: name}, {}, tmp_path)


class TestStrangersFiles:
    """Files that others can write decide neither where keys are sent nor which."""

    @pytest.mark.parametrize(
        ("name", "text", "option"),
        [
            ("zorkgpt.toml", "llm.base_url = 'http://h:1/v1'", "llm.base_url"),
            ("zorkgpt.toml", "'llm.base_url' = 'http://h:1/v1'", "llm.base_url"),
            ("zorkgpt.toml", "[llm.critic]\nbase_url = 'http://h:1/v1'", "llm.critic.base_url"),
            ("zorkgpt.toml", "[llm]\napi_key = 'sk-owned'", "llm.api_key"),
            ("pyproject.toml", "[tool.zorkgpt.llm]\nbase_url = 'http://h:1/v1'", "tool.zorkgpt.llm.base_url"),
            (".env", "OPENAI_BASE_URL=http://h:1/v1", "OPENAI_BASE_URL"),
            (".env", "ZORKGPT_LLM__AGENT__API_KEY=sk-owned", "ZORKGPT_LLM__AGENT__API_KEY"),
        ],
    )
    def test_one_with_an_address_or_a_key_is_refused_in_a_line_that_names_it_and_its_owner(
        self, tmp_path: Path, name: str, text: str, option: str
    ) -> None:
        file = tmp_path / name
        file.write_text("[llm]\ntimeout = 5\n" if name == "zorkgpt.toml" else "")
        file.chmod(0o666)
        assert load_configuration({}, {"OPENAI_API_KEY": KEY}, tmp_path)
        file.write_text(text)
        message = _error({"llm.base_url": "http://mine:1/v1"}, {"OPENAI_API_KEY": KEY}, tmp_path)
        assert str(file) in message
        assert f"it belongs to {file.owner()}" in message
        assert option in message
        assert "\n" not in message
        file.chmod(0o644)
        load_configuration({}, {}, tmp_path)


def _everywhere(folder: Path) -> None:
    """``game.seed`` is in every file, each time with another value."""
    (folder / ".env").write_text("ZORKGPT_GAME__SEED=3\n")
    (folder / "zorkgpt.toml").write_text("game.seed = 2\n")
    (folder / "pyproject.toml").write_text("[tool.zorkgpt]\ngame.seed = 7\n")


def _seed(resolved: ResolvedConfiguration) -> tuple[Seed, str]:
    return resolved.configuration.game.seed, resolved.origins["game.seed"]


def _revealed(key: SecretStr | None) -> str | None:
    return key.get_secret_value() if key else None


def _error(overrides: dict[str, object], environ: dict[str, str], cwd: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(overrides, environ, cwd)
    return str(caught.value)


THEIRS, OURS, LOCAL = "https://models.example/v1", "https://mine.example/v1", "http://127.0.0.1:8080/v1"
IN_ENVIRONMENT = {"OPENAI_API_KEY": KEY}


@pytest.fixture(autouse=True)
def _own_trust(clean_environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clean_environment.setenv("HOME", str(tmp_path / "home"))
    clean_environment.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def clone(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> Path:
    """The current folder, which is from another person, with a URL in it."""
    folder = tmp_path / "clone"
    folder.mkdir()
    clean_environment.chdir(folder)
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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.txt", '[llm]\nbase_url = "http://a.example/v1"\n'),
        ("zorkgpt.toml", "# nothing\n"),
        ("pyproject.toml", '[tool.other]\nllm = "x"\n'),
        (".env", "OTHER=1\n"),
    ],
)
def test_a_file_that_gives_no_option_is_not_trusted(clone: Path, name: str, text: str) -> None:
    (clone / name).write_text(text, encoding="utf-8")
    shown = typed("config", "trust", name)
    assert shown.status == 2
    assert shown.err.decode().startswith(f"zorkgpt: {name} is not a configuration: expected a zorkgpt.toml, ")


def test_a_run_gets_a_key_only_for_an_address_that_is_named_now(tmp_path: Path) -> None:
    def with_server(url: str) -> GameConfiguration:
        return GameConfiguration.model_validate({"llm": {"base_url": url, "api_key": KEY}})

    require_named(with_server(THEIRS), with_server(THEIRS), tmp_path)
    require_named(with_server("http://localhost:1/v1"), GameConfiguration(), tmp_path)
    with pytest.raises(ConfigurationError, match=rf"add --base-url {THEIRS}"):
        require_named(with_server(THEIRS), GameConfiguration(), tmp_path)


class TestFolder:
    """What a file that came with a folder may name."""

    @pytest.mark.parametrize(
        "url", ["http://192.168.0.7:8080/v1", "http://10.1.2.3/v1", "http://[fd00::1]/v1", "http://169.254.169.254/v1"]
    )
    def test_an_address_in_a_private_network_gets_no_key(self, clone: Path, url: str) -> None:
        (clone / "zorkgpt.toml").write_text(f'[llm]\nbase_url = "{url}"\n', encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"gives llm\.base_url, and llm\.api_key comes from elsewhere"):
            load_configuration({}, IN_ENVIRONMENT, clone)

    def test_a_key_in_another_file_of_the_folder_is_not_the_addresss_own(self, clone: Path) -> None:
        (clone / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"gives llm\.base_url, and llm\.api_key comes from elsewhere"):
            load_configuration({}, {}, clone)

    def test_fields_of_requests_are_not_sent_with_a_key_from_elsewhere(self, clone: Path) -> None:
        text = f'llm.base_url = "{LOCAL}"\nllm.critic.extra_body.api_base = "{THEIRS}"\n'
        (clone / "zorkgpt.toml").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"gives llm\.critic\.extra_body, and llm\.api_key comes"):
            load_configuration({}, IN_ENVIRONMENT, clone)
        assert load_configuration({}, {}, clone).configuration.llm.critic.extra_body == {"api_base": THEIRS}

    @pytest.mark.parametrize(
        "line",
        [
            "zork_game_workdir = '{home}/.ssh'",
            "zork_game_workdir = '~/.ssh'",
            "zork_game_workdir = '..'",
            "zork_game_workdir = 'work/../../home'",
            "zork_game_workdir = 'out'",
            "zork_game_workdir = 'out/deeper'",
            "zork_game_workdir = '.git/hooks'",
            "game.file = '{home}/story.z5'",
            "game.file = 'out/story.z5'",
            "critic_model = '~/models/m.gguf'",
            "llm.memory_model = '../home/m.gguf'",
            "prompts.agent = '{home}/agent.md'",
            "prompts.agent = 'linked.md'",
            "prompts = 'out'",
            "prompts.memory = '.hidden/agent.md'",
            "knowledge_file = 'credentials'",
            "knowledge_file = 'knowledge.md.bak'",
            "knowledge_file = '.md'",
            "simple_memory.memory_file = 'authorized_keys'",
            "simple_memory.memory_file = '.bashrc'",
            "simple_memory.memory_file = '.notes.md'",
            "simple_memory.memory_file = 'notes.MD'",
            "simple_memory.memory_file = 'notes.json'",
            "map_state_file = 'crontab'",
            "map_state_file = 'map.md'",
        ],
    )
    @pytest.mark.parametrize("name", ["zorkgpt.toml", "pyproject.toml", ".env"])
    def test_it_names_nothing_outside_and_nothing_of_another_kind_unless_it_is_trusted(
        self, clone: Path, tmp_path: Path, name: str, line: str
    ) -> None:
        home, environ = _home_beside(clone, tmp_path)
        (clone / "zorkgpt.toml").unlink()
        option, value = line.format(home=home).split(" = ")
        variable = f"ZORKGPT_{option.upper().replace('.', '__')}={value}\n"
        head = "[tool.zorkgpt]\n" if name == "pyproject.toml" else ""
        (clone / name).write_text(variable if name == ".env" else f"{head}{option} = {value}\n", encoding="utf-8")
        with pytest.raises(ConfigurationError, match=re.escape(f"config trust {clone / name} allows it")):
            load_configuration(SERVED, environ, clone)
        trust(clone / name)
        assert load_configuration({}, environ, clone)

    @pytest.mark.parametrize(
        "lines",
        [
            "zork_game_workdir = 'work/mine'\nsimple_memory.memory_file = 'notes.md'\nmap_state_file = 'm.json'",
            "zork_game_workdir = 'within'\nknowledge_file = 'knowledge of it.md'",
            "game.file = 'story.z5'\ncritic_model = 'models/m.gguf'",
            "critic_model = 'hf:owner/repo'\nmemory_model = 'gpt-5'",
            "prompts.agent = 'prompts/agent.md'",
            "prompts = 'prompts'",
        ],
    )
    def test_it_names_what_is_within_it(self, clone: Path, tmp_path: Path, lines: str) -> None:
        _, environ = _home_beside(clone, tmp_path)
        (clone / "zorkgpt.toml").write_text(lines, encoding="utf-8")
        assert load_configuration(SERVED, environ, clone)

    def test_paths_start_at_the_current_folder_and_end_within_that_of_the_file(
        self, clone: Path, tmp_path: Path
    ) -> None:
        _, environ = _home_beside(clone, tmp_path)
        (clone / ".git").mkdir()
        (clone / "deeper").mkdir()
        for path, is_within in (("../work", True), ("../../home", False)):
            (clone / "zorkgpt.toml").write_text(f"zork_game_workdir = '{path}'", encoding="utf-8")
            if is_within:
                assert load_configuration({}, environ, clone / "deeper")
            else:
                with pytest.raises(ConfigurationError, match="not a visible path within"):
                    load_configuration({}, environ, clone / "deeper")

    def test_a_file_name_of_the_folder_is_not_used_in_a_work_folder_of_the_user(
        self, clone: Path, tmp_path: Path
    ) -> None:
        home, environ = _home_beside(clone, tmp_path)
        (clone / "zorkgpt.toml").write_text("knowledge_file = 'passwords.md'", encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"knowledge_file is .*passwords\.md, which is not a visible path"):
            load_configuration({"zork_game_workdir": home}, environ, clone)
        assert load_configuration({"zork_game_workdir": home, "knowledge_file": "passwords.md"}, environ, clone)

    def test_the_default_work_folder_is_not_used_if_it_is_a_link_out_of_the_folder(
        self, clone: Path, tmp_path: Path
    ) -> None:
        home, environ = _home_beside(clone, tmp_path)
        (clone / "game_files").symlink_to(home)
        with pytest.raises(ConfigurationError, match=r"zork_game_workdir is .*game_files, which is not a visible path"):
            load_configuration({}, environ, clone)
        assert load_configuration({"zork_game_workdir": home}, environ, clone)
        (clone / "zorkgpt.toml").unlink()
        assert load_configuration({}, environ, clone)

    def test_what_the_user_sets_is_not_limited_and_covers_only_itself(self, clone: Path, tmp_path: Path) -> None:
        home, environ = _home_beside(clone, tmp_path)
        text = f"zork_game_workdir = '{home}'\nprompts.agent = '{home}/agent.md'\n"
        (clone / "zorkgpt.toml").write_text(text, encoding="utf-8")
        own: dict[str, object] = {"zork_game_workdir": home}
        for more in ({"prompts.agent": home / "agent.md"}, {"prompts": str(home)}):
            assert load_configuration({**own, **more}, environ, clone)
        with pytest.raises(ConfigurationError, match=r"prompts\.agent is "):
            load_configuration({**own, "prompts.critic": home / "agent.md"}, environ, clone)
        (home / "zorkgpt.toml").write_text(text + "simple_memory.memory_file = '.bashrc'\n", encoding="utf-8")
        assert load_configuration({}, environ, home)

    def test_a_link_to_a_trusted_file_is_not_trusted(self, clone: Path, tmp_path: Path) -> None:
        home, environ = _home_beside(clone, tmp_path)
        mine = tmp_path / "mine" / "zorkgpt.toml"
        mine.parent.mkdir()
        mine.write_text(f"zork_game_workdir = '{home}'", encoding="utf-8")
        trust(mine)
        assert load_configuration({}, environ, mine.parent)
        (clone / "zorkgpt.toml").unlink()
        (clone / "zorkgpt.toml").symlink_to(mine)
        with pytest.raises(ConfigurationError, match="not a visible path within"):
            load_configuration({}, environ, clone)

    def test_every_option_that_is_free_text_has_a_limit_or_is_known_to_name_nothing(self) -> None:
        free = {
            option.name.rpartition(".")[2]
            for option in options_of(GameConfiguration)
            for kind in (option.schema, *option.schema.get("anyOf", ()))
            if kind.get("type") == "string" and "enum" not in kind and "const" not in kind and not limited_kind(option)
        }
        assert free == {"reasoning_effort"}
        assert {limited_kind(option) for option in options_of(GameConfiguration)} == {"", *get_args(Kind)}

    @pytest.mark.parametrize(
        ("option", "name"), [("simple_memory.memory_file", ".bashrc"), ("knowledge_file", "k"), ("map_state_file", "m")]
    )
    def test_a_run_writes_files_of_another_kind_only_if_the_user_names_them(
        self, tmp_path: Path, option: str, name: str
    ) -> None:
        *group, last = option.split(".")
        values = {group[0]: {last: name}} if group else {last: name}
        then = GameConfiguration.model_validate(values)
        require_usual_names(then, then, tmp_path)
        require_usual_names(GameConfiguration(knowledge_file="other.md"), GameConfiguration(), tmp_path)
        with pytest.raises(ConfigurationError, match=re.escape(f"has {option} = {name}")):
            require_usual_names(then, GameConfiguration(), tmp_path)


def _home_beside(clone: Path, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """Return a home folder, and the environment with it; the clone has links into it, and files of its own."""
    home = tmp_path / "home"
    for folder in (home / "deeper", clone / "prompts", clone / ".hidden", clone / "work"):
        folder.mkdir(parents=True)
    for folder in (home, clone / "prompts", clone / ".hidden"):
        (folder / "agent.md").write_text("x", encoding="utf-8")
    (clone / "out").symlink_to(home)
    (clone / "linked.md").symlink_to(home / "agent.md")
    (clone / "within").symlink_to("work")
    return home, {"HOME": str(home)}
