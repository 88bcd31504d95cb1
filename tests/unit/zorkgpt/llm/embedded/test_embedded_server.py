"""The embedded model, called over its own URL; without the model file only tests that need none."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from pydantic import JsonValue

from session.errors import ConfigurationError
from zorkgpt.llm.embedded.embedded_server import EmbeddedServer, threads_for
from zorkgpt.llm.embedded.model_store import ModelStore

ACTIONS = ["open the hatch", "climb down", "take the lantern", "go north"]
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"reasoning": {"type": "string", "maxLength": 40}, "action": {"enum": list(ACTIONS)}},
    "required": ["reasoning", "action"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def gguf() -> Path:
    store = ModelStore()
    if not store.is_pulled:
        pytest.skip("the embedded model is not there: zorkgpt model pull")
    return store.path


@pytest.fixture(scope="module")
def server(gguf: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(gguf, proven=True, threads=1) as opened:
        yield opened


def _ask(server: EmbeddedServer, system: str, seed: int = 1, *, cached: bool = True) -> httpx2.Response:
    body = {
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": f"A hatch, a lantern. Commands: {', '.join(ACTIONS)}. What do you do?"},
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "turn", "schema": SCHEMA}},
        "temperature": 1.0,
        "seed": seed,
        "max_tokens": 60,
        "cache_prompt": cached,
    }
    key = {"Authorization": f"Bearer {server.api_key}"}
    return httpx2.post(f"{server.base_url}/chat/completions", json=body, headers=key, timeout=120)


def _answer(response: httpx2.Response) -> str:
    return str(response.json()["choices"][0]["message"]["content"])


def _cached(response: httpx2.Response) -> int:
    return int(response.json()["usage"]["prompt_tokens_details"]["cached_tokens"])


@pytest.mark.embedded
class TestServer:
    def test_an_answer_is_held_to_its_schema(self, server: EmbeddedServer) -> None:
        answer = json.loads(_answer(_ask(server, "You explore a mine.")))
        assert answer["action"] in ACTIONS
        assert len(answer["reasoning"]) <= 40

    @pytest.mark.slow
    def test_the_same_prompts_with_the_same_seeds_are_answered_alike_by_a_new_server(self, gguf: Path) -> None:
        systems = ("You explore a mine.", "You explore a mine with care.", "You explore a mine.")

        def played() -> list[str]:
            with EmbeddedServer(gguf, proven=True, threads=1) as opened:
                return [_answer(_ask(opened, system)) for system in systems]

        assert played() == played()

    def test_a_prompt_asked_again_is_served_from_the_cache(self, server: EmbeddedServer) -> None:
        system = "You are a careful explorer of old mines."
        cold, warm, anew = _ask(server, system), _ask(server, system), _ask(server, system, cached=False)
        assert _cached(warm) > _cached(cold)
        assert _cached(anew) == 0

    @pytest.mark.slow
    def test_other_seeds_give_other_answers(self, server: EmbeddedServer) -> None:
        assert len({_answer(_ask(server, "You explore a mine.", seed)) for seed in range(1, 4)}) > 1

    @pytest.mark.slow
    def test_roles_do_not_evict_each_others_prompts(self, server: EmbeddedServer) -> None:
        """Two long prompts by turns: each finds its own prefix still there."""
        roles = [f"{word} " * 60 for word in ("Explore.", "Remember.")]
        for system in roles:
            _ask(server, system)
        assert all(_cached(_ask(server, system)) > 60 for system in roles)

    def test_it_listens_on_loopback_alone_names_its_model_and_answers_nothing_without_the_key(
        self, server: EmbeddedServer
    ) -> None:
        assert server.base_url.startswith("http://127.0.0.1:")
        models = httpx2.get(f"{server.base_url}/models", headers={"Authorization": f"Bearer {server.api_key}"})
        assert [model["id"] for model in models.json()["data"]] == [server.model]
        assert httpx2.get(f"{server.base_url}/models").status_code == 401

    def test_a_prompt_past_the_context_is_refused_in_words(self, server: EmbeddedServer) -> None:
        response = _ask(server, "word " * 2100)
        assert response.status_code == 400
        assert "context size" in response.text

    def test_closed_it_is_gone_and_it_was_silent(self, gguf: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """Also if it is closed at once, before any request."""
        with EmbeddedServer(gguf, proven=True, threads=1) as opened:
            address = opened.base_url
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{address}/models")
        with pytest.raises(ConfigurationError, match="not open"):
            _ = opened.base_url
        captured = capfd.readouterr()
        assert captured.out + captured.err == ""

    def test_a_truncated_model_is_a_one_line_error(self, gguf: Path, tmp_path: Path) -> None:
        cut = tmp_path / "cut.gguf"
        cut.write_bytes(gguf.read_bytes()[:20_000_000])
        with pytest.raises(ConfigurationError, match="incomplete") as caught, EmbeddedServer(cut):
            pass
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"", "not a GGUF model file"),
        (b"GGUF\x03\x00\x00\x00", "llama.cpp cannot load it"),
        (struct.pack("<4sIQQ", b"GGUF", 1, 1, 1), "llama.cpp cannot load it"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1), "llama.cpp cannot load it"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 2**63, 2**63), "llama.cpp"),
    ],
)
def test_a_file_that_is_no_model_is_a_one_line_error(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "some.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=words) as caught, EmbeddedServer(path):
        pass
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_larger_than_the_memory_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    huge = tmp_path / "huge.gguf"
    with huge.open("wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, 1, 1))
        file.truncate(1 << 43)  # a hole: takes no room
    with pytest.raises(ConfigurationError, match="GB of memory, this machine has"), EmbeddedServer(huge):
        pass


@pytest.mark.parametrize(
    ("chosen", "cores", "reading", "writing"),
    [(None, 1, 1, 1), (None, 2, 1, 1), (None, 4, 2, 1), (None, 64, 8, 1), (1, 8, 1, 1), (2, 2, 2, 2), (6, 8, 6, 2)],
)
def test_reading_takes_half_the_cores_and_writing_one_thread_unless_chosen_otherwise(
    chosen: int | None, cores: int, reading: int, writing: int
) -> None:
    assert threads_for(chosen, cores) == (reading, writing)


def test_the_engine_reads_and_writes_with_threads_of_their_own(tmp_path: Path) -> None:
    parameters = EmbeddedServer(tmp_path / "some.gguf", threads=4)._parameters()
    assert (parameters.cpuparams_batch.n_threads, parameters.cpuparams.n_threads) == (4, 2)
