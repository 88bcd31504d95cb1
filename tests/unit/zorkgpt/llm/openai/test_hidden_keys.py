"""A key is hidden wherever a server may repeat it, in any encoding."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Says, Streams
from tests.unit.zorkgpt.llm.asking import GOOD, Move, failure, model_on, outcome
from zorkgpt.llm.openai.model_server import HIDDEN, Secrets

KEY = "sk-planted/0123456789+abc"
SECRETS = Secrets([KEY, None])


@pytest.mark.parametrize(
    "spelt",
    [
        KEY,
        quote(KEY, safe=""),
        json.dumps(KEY).replace("/", "\\/"),
        "".join(f"\\u{ord(each):04X}" for each in KEY),
        f"\\u{ord(KEY[0]):04x}{KEY[1:]}",
    ],
)
def test_a_key_is_hidden_however_it_is_spelt(spelt: str) -> None:
    assert SECRETS.hidden(f"before {spelt} after").replace('"', "") == f"before {HIDDEN} after"


@pytest.mark.parametrize("key", [KEY, "sk->>>???~~~ooo>>>???"], ids=["plain", "two alphabets"])
@pytest.mark.parametrize("before", range(7))
@pytest.mark.parametrize("after", range(3))
def test_a_key_is_hidden_in_base64_of_what_it_stands_in(key: str, before: int, after: int) -> None:
    """The second key has ``+`` and ``/`` in Base64, which URLs write as ``-`` and ``_``."""
    secrets, text = Secrets([key]), b"x" * before + key.encode() + b"y" * after
    for encoded in (b64encode(text).decode(), urlsafe_b64encode(text).decode()):
        shown = secrets.hidden(encoded)
        assert HIDDEN in shown
        assert len(shown.replace(HIDDEN, "")) < len(encoded) - len(key)


@pytest.mark.parametrize("key", ["ollama", "EMPTY"])
def test_a_short_key_is_hidden_as_a_whole_word_alone(key: str) -> None:
    secrets = Secrets([key])
    for before, after in (("Incorrect key: ", "."), ('{"api_key": "', '"}'), ("Bearer ", ""), ("key=", "&a=1")):
        assert secrets.hidden(f"{before}{key}{after}") == f"{before}{HIDDEN}{after}"
    unchanged = f"x{key} {key}s {key.swapcase()} {key}_1"
    assert secrets.hidden(unchanged) == Secrets([None, ""]).hidden(unchanged) == unchanged


def test_a_model_whose_name_contains_a_placeholder_key_is_requested_by_its_name() -> None:
    (body,) = outcome(GOOD, models=("ollama/llama3",), model=None, api_key="ollama").bodies
    assert body["model"] == "ollama/llama3"


class Echoes:
    """Puts the ``Authorization`` header into the status line, which is then no status line."""

    def play(self, handler: Handler) -> None:
        handler.wfile.write(f"HTTP/1.1 {handler.headers['Authorization']}\r\n\r\n".encode())


def test_an_answer_that_repeats_the_key_comes_without_it() -> None:
    answer = Move(reasoning=f"My key is {KEY}.", action=KEY).model_dump_json()
    half = len(answer) - 8
    thoughts = f'data: {{"model": "{KEY}", "choices": [{{"delta": {{"reasoning": "Hm, {KEY}."}}}}]}}\n\n'
    (completion,) = outcome(Streams((answer[:half], answer[half:]), more_events=(thoughts,)), api_key=KEY).completions
    assert completion.value == Move(reasoning=f"My key is {HIDDEN}.", action=HIDDEN)
    assert completion.reasoning == f"Hm, {HIDDEN}."
    assert KEY not in repr(completion)


@pytest.mark.parametrize(
    "step",
    [Echoes(), Says(200, KEY), Says(200, {"error": {"message": KEY}}), *(Says(code, KEY) for code in (401, 404, 429))],
    ids=["no status line", "no JSON", "error in the answer", "401", "404", "429"],
)
def test_neither_an_error_nor_what_it_came_from_repeats_the_key(step: Echoes | Says) -> None:
    error: BaseException | None = failure(step, models=(KEY,), api_key=KEY).error
    while error is not None:
        assert KEY not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_a_model_that_is_named_like_the_key_is_not_called_by_it() -> None:
    with MisbehavingServer(Says(500), models=(KEY,)) as server, model_on(server, model=None, api_key=KEY) as model:
        model.find_names()
    assert model.describe() == f"{HIDDEN} at {server.base_url}"
