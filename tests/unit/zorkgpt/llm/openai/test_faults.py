"""What each misbehaviour of a server ends in: the right retry, or the right line."""

from __future__ import annotations

import json
import re
import socket
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Annotated

import httpx2
import openai
import pytest
from pydantic import BaseModel, SecretStr

from session.errors import ConfigurationError, LanguageModelUnavailable, ResponseInvalid
from session.game_configuration import LanguageModelOptions, RoleOptions, Sampling
from session.values import ROLES, TokenUsage
from tests.fixtures.misbehaving_server import (
    Drips,
    Floods,
    Handler,
    MisbehavingServer,
    Resets,
    Says,
    Silent,
    Step,
    Streams,
    Unfinished,
    says_error,
)
from tests.unit.zorkgpt.llm.asking import BRIEF, GOOD, MOVE, PROMPT, Move, Patience, ask, failure, model_on, outcome
from zorkgpt.llm.language_model import Role, at_most
from zorkgpt.llm.openai.faults import from_status
from zorkgpt.llm.openai.openai_model import OpenAIModel


class Note(BaseModel):
    """A note with a limit."""

    text: Annotated[str, at_most(40)]


class Noted(BaseModel):
    """An answer with a note."""

    note: Note


HALF = MOVE[: len(MOVE) // 2]

INCOMPLETE = {
    "empty": Streams(()),
    "blank": Streams(("  \n",)),
    "thoughts alone": Streams(("<think>Hm.</think>",)),
    "half an answer": Streams((HALF,)),
    "stream without end": Streams((HALF,), ending="unfinished"),
}
UNUSABLE = INCOMPLETE | {
    "longer than may be": Streams((json.dumps("x" * BRIEF.max_answer_length),)),
    "no JSON in the stream": Streams((), more_events=("data: oops\n\n",)),
    "no JSON body": Says(200, "oops"),
}
CUT_OFF = {"reset in mid-stream": Streams((HALF,), ending="reset"), "end in mid-chunk": Unfinished(HALF)}
BROKEN_OFF = INCOMPLETE | CUT_OFF
DOWN = {
    "stalled": Streams((HALF,), ending="stall"),
    "silent": Silent(),
    "reset at once": Resets(),
    **CUT_OFF,
    "error in mid-stream": Streams((HALF,), more_events=('data: {"error": {"message": "oops"}}\n\n',)),
    **{str(status): says_error(status, "not now") for status in (408, 409, 429, 500, 502, 503, 504, 529)},
}


def busy(retry_after: str) -> Step:
    return says_error(503, "come back tomorrow", headers={"Retry-After": retry_after})


PASSING = {name: step for name, step in (UNUSABLE | DOWN).items() if name not in BROKEN_OFF}


@pytest.mark.parametrize("fault", BROKEN_OFF.values(), ids=BROKEN_OFF.keys())
def test_an_answer_that_breaks_off_is_asked_for_again_at_once_twice_and_then_after_a_pause(fault: Step) -> None:
    limits = LanguageModelOptions(max_attempts=4, patience=60.0)
    twice, thrice = (outcome(*[fault] * times, GOOD, limits=limits) for times in (2, 3))
    assert (twice.completions[0].requests, twice.slept) == (3, [])
    assert thrice.completions[0].requests == 4
    (pause,) = thrice.slept
    assert pause <= 1.0


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_what_may_pass_is_asked_again_after_a_pause(fault: Step) -> None:
    asked = outcome(fault, GOOD)
    assert asked.completions[0].value.action == "light lamp"
    assert asked.completions[0].requests == len(asked.bodies) == 2
    assert len(asked.slept) == 1


@pytest.mark.parametrize("fault", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_answers_that_cannot_be_used_end_in_one_line_after_the_attempts(fault: Step) -> None:
    failed = failure(fault, kind=ResponseInvalid)
    assert len(failed.bodies) == BRIEF.max_attempts
    assert failed.line.startswith(f"agent: named at {failed.server.base_url}: ")
    assert "gave up after 3 requests" in failed.line


@pytest.mark.parametrize("fault", DOWN.values(), ids=DOWN.keys())
def test_a_model_that_is_down_is_waited_for_as_long_as_patience_lasts(fault: Step) -> None:
    failed = failure(fault, kind=LanguageModelUnavailable)
    assert sum(failed.slept) < BRIEF.patience
    assert len(failed.bodies) == len(failed.slept) + (3 if fault in CUT_OFF.values() else 1)
    assert failed.line.startswith(f"agent: named at {failed.server.base_url}: ")
    assert f"gave up after {len(failed.bodies)} requests" in failed.line
    assert failed.line.endswith("; llm.patience sets how long to wait")


def test_a_refused_connection_is_tried_again_and_then_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        patience = Patience()
        settings = RoleOptions("named", base_url, limits=BRIEF)
        with (
            OpenAIModel({"agent": settings}, sleep=patience.sleep, clock=patience.clock) as model,
            pytest.raises(LanguageModelUnavailable, match=r"refused\): is the server running there\?; gave up"),
        ):
            ask(model)
    assert len(patience.slept) >= 2


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (says_error(400, "your request is odd"), "400: your request is odd"),
        (says_error(402, "no money"), "402: no money"),
        (says_error(422, "odd as well"), "422: odd as well"),
        (says_error(400, "param is no name", param=["n"]), "400: param is no name"),
        (says_error(400, "maximum context length is 10, lower max_tokens"), "400: maximum context length"),
        (says_error(429, "quota", code="insufficient_quota"), "429: quota"),
        (Says(400, {"detail": [{"loc": ["body", "n"], "msg": "too small"}]}), "400: body.n: too small"),
        (Says(400), "400: no reason given"),
        (Says(200, "<html>", {"Content-Type": "text/html"}), "the response is a web page"),
        *((Says(200, {"error": {"message": "no", "code": code}}), "within the answer: no") for code in (400, "400")),
        (Streams((), more_events=('data: {"error": {"message": "no", "code": 400}}\n\n',)), "no"),
    ],
)
def test_what_cannot_pass_is_said_at_once(fault: Step, line: str) -> None:
    failed = failure(fault, kind=LanguageModelUnavailable, sampling=Sampling(max_tokens=9))
    assert line in failed.line
    assert len(failed.bodies) == 1
    assert failed.slept == []


@pytest.mark.parametrize(
    ("status", "api_key", "listing", "line"),
    [
        (401, "sk-secret", None, "401: not you, [key]; the key is refused; set llm.api_key"),
        (401, None, None, "401: not you, sk-secret; the server requires a key; set llm.api_key"),
        (403, "sk-secret", None, "403: not you, [key]; the key may not use this model"),
        (404, None, None, "404: not you, sk-secret; the server has no such model; it has: alpha, beta"),
        (404, None, says_error(404), "404: not you, sk-secret; it lists no models either: check the base URL"),
    ],
)
def test_what_the_user_can_mend_is_a_configuration_error_that_names_the_mend(
    status: int, api_key: str | None, listing: Step | None, line: str
) -> None:
    refused = says_error(status, "not you, sk-secret")
    failed = failure(refused, models=("alpha", "beta"), listing=listing, api_key=api_key)
    assert line in failed.line
    assert isinstance(failed.error, LanguageModelUnavailable)
    assert isinstance(failed.error, ConfigurationError)
    assert failed.error.exit_status == 2
    assert len(failed.bodies) == 1


def test_a_long_complaint_is_cut_and_no_key_with_it() -> None:
    failed = failure(says_error(400, "x" * 390 + "sk-secret" + "x" * 1000), api_key="sk-secret")
    assert "sk-" not in failed.line
    assert len(failed.line) < 500


@pytest.mark.parametrize(
    ("status", "body", "line"),
    [
        (
            404,
            {"error": {"message": "No endpoints match your data policy", "code": 404}},
            "404: No endpoints match your",
        ),
        (404, {"detail": "no adapter is loaded"}, "404: no adapter is loaded"),
        (400, {"error": {"message": "the model is overdue"}}, "400: the model is overdue"),
    ],
)
def test_a_model_that_the_server_lists_is_not_called_missing(status: int, body: object, line: str) -> None:
    for listed in ("named", "vendor/named", "named:latest"):
        failed = failure(Says(status, body), models=("other", listed))
        assert line in failed.line
        assert "no such model" not in failed.line


@pytest.mark.parametrize("words", ["named is not a valid model ID", "Invalid model name passed in model=named"])
def test_an_unknown_model_is_answered_by_what_the_server_has_whatever_the_status(words: str) -> None:
    for status in (400, 404, 422):
        assert f"{status}: {words}; the server has no such model; it has: alpha" in (
            failure(says_error(status, words), models=("alpha",)).line
        )


def test_a_word_about_the_address_is_not_repeated_even_if_a_key_is_hidden_in_it() -> None:
    with MisbehavingServer(Says(200, "<html>")) as server:
        settings = RoleOptions("named", server.base_url.removesuffix("/v1"), SecretStr("usually"), limits=BRIEF)
        with OpenAIModel({"agent": settings}) as model, pytest.raises(LanguageModelUnavailable) as caught:
            ask(model)
    assert str(caught.value).endswith(": the response is a web page, not a model's answer; base URLs [key] end in /v1")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "; base URLs usually end in /v1"),
        ("/api", "; base URLs usually end in /v1"),
        ("/v1/chat/completions", "/v1"),
        ("/v1/chat/completions/", "/v1"),
        ("/v1", ""),
        ("/v1beta/openai", ""),
    ],
)
@pytest.mark.parametrize(
    "step",
    [Says(404, {"detail": "Not Found"}), Says(405), Says(200, {"error": "Unexpected endpoint or method. (POST /)"})],
    ids=["404", "405", "LM Studio's 200"],
)
def test_an_unusual_address_gets_a_word_about_it(path: str, words: str, step: Step) -> None:
    with MisbehavingServer(step, models=("named",)) as server:
        base_url = server.base_url.removesuffix("/v1")
        settings = RoleOptions("named", f"{base_url}{path}", limits=BRIEF)
        with OpenAIModel({"agent": settings}) as model, pytest.raises(LanguageModelUnavailable) as caught:
            ask(model)
    if "completions" in path:
        words = f"; the base URL ends before /chat/completions: {base_url}{words}"
    assert str(caught.value).endswith(words)
    assert "base URL" in str(caught.value) or not words
    assert len(server.asked) == 1


FAILED_SAMPLES = {
    "Groq": says_error(400, "Failed to validate JSON. See 'failed_generation'.", code="json_validate_failed"),
    "another wording": says_error(400, "Generated JSON does not match the expected schema.", failed_generation="{"),
    "a tool": says_error(400, "Failed to call a function.", code="tool_use_failed"),
    "500": says_error(500, "The model produced invalid content."),
    "within a stream": Streams((), more_events=('event: error\ndata: {"code": "json_validate_failed"}\n\n',)),
}


@pytest.mark.parametrize("fault", FAILED_SAMPLES.values(), ids=FAILED_SAMPLES.keys())
def test_a_sample_that_failed_at_the_server_is_asked_for_again_with_another_seed(fault: Step) -> None:
    asked = outcome(fault, GOOD, sampling=Sampling(seed=5))
    assert [body["seed"] for body in asked.bodies] == [5, 6]
    assert ["response_format" in body for body in asked.bodies] == [True, True]
    assert len(failure(fault, kind=ResponseInvalid).bodies) == BRIEF.max_attempts


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_the_server_says_how_long_to_wait(form: str) -> None:
    in_half_a_minute = datetime.now(timezone.utc) + timedelta(seconds=30)
    header = "30" if form == "seconds" else format_datetime(in_half_a_minute, usegmt=True)
    asked = outcome(busy(header), GOOD, limits=LanguageModelOptions(patience=60.0))
    assert asked.slept == [pytest.approx(30.0, abs=3.0)]


def test_a_wait_beyond_ones_patience_is_not_begun_and_patience_is_for_each_time_that_the_model_is_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failed = failure(busy("3600"), kind=LanguageModelUnavailable)
    assert "the server asks to wait 3600 s" in failed.line
    assert failed.slept == []
    asked = outcome(busy("2"), Streams(()), busy("2"), GOOD)
    assert (asked.completions[0].requests, asked.slept) == (4, [2.0, 2.0])
    assert caplog.messages == []


def test_patience_may_last_a_night_and_is_spoken_of_as_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    limits = LanguageModelOptions(total_time=10.0, patience=8 * 3600.0, max_attempts=1)
    asked = outcome(*[busy("600")] * 40, GOOD, limits=limits)
    place = f"agent: named at {asked.server.base_url}"
    assert asked.completions[0].requests == 41
    assert asked.slept == [600.0] * 40
    waiting = f"{place}: 503: come back tomorrow; waiting for it, at most 8 h"
    assert caplog.messages == [*[waiting] * 6, f"{place}: answers again, after 6.67 h"]


def test_the_total_time_stands_still_while_the_model_is_down() -> None:
    limits = LanguageModelOptions(total_time=60.0, patience=1000.0, max_attempts=1000)
    failed = failure(Streams(()), busy("900"), Streams(()), kind=ResponseInvalid, limits=limits)
    assert "the answer is empty; gave up after" in failed.line
    assert 900.0 in failed.slept
    assert 0 < sum(pause for pause in failed.slept if pause != 900.0) < 60.0


class Stopped(LanguageModelUnavailable):
    """The caller no longer waits."""


def test_a_sleep_that_raises_ends_the_retries_in_its_own_line() -> None:
    """That is how a pause, which may last minutes, is broken off."""

    def broken_off(_seconds: float) -> None:
        raise Stopped("the run was stopped")

    with MisbehavingServer(says_error(503)) as server:
        settings = RoleOptions("named", server.base_url, limits=BRIEF)
        with OpenAIModel({"agent": settings}, sleep=broken_off) as model, pytest.raises(Stopped) as caught:
            ask(model)
    assert str(caught.value) == f"agent: named at {server.base_url}: the run was stopped"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert len(server.asked) == 1


def test_pauses_grow_and_are_drawn_by_chance() -> None:
    failed = failure(
        Streams(()), kind=ResponseInvalid, limits=LanguageModelOptions(total_time=1e6, patience=1e6, max_attempts=8)
    )
    assert len(set(failed.slept)) == 5
    assert all(pause <= 2.0**nth for nth, pause in enumerate(failed.slept))


def test_a_stall_is_noticed_after_the_stall_limit_and_not_much_later() -> None:
    limits, start = LanguageModelOptions(stall_timeout=0.2, patience=0.0), time.monotonic()
    failure(says_error(401), limits=limits)
    at_once, start = time.monotonic() - start, time.monotonic()
    failed = failure(Streams((HALF,), ending="stall"), limits=limits)
    assert "the server stopped sending" in failed.line
    assert 0.2 <= time.monotonic() - start < 0.2 + max(0.8, 5 * at_once)  # on a busy machine all takes longer


def test_a_stream_kept_alive_without_an_answer_ends_with_the_total_time() -> None:
    limits = LanguageModelOptions(timeout=5.0, stall_timeout=5.0, total_time=0.2)
    with MisbehavingServer(Drips()) as server:
        settings = RoleOptions("named", server.base_url, limits=limits)
        with (
            OpenAIModel({"agent": settings}) as model,
            pytest.raises(
                LanguageModelUnavailable, match=r"after 1 request in .*; llm\.total_time sets how long to wait$"
            ),
        ):
            ask(model)


PIECE = json.dumps({"choices": [{"delta": {"content": "word " * 1000}}]})


@pytest.mark.parametrize(
    "flood",
    [
        Floods(f"data: {PIECE}\n\n"),
        Floods(f"data: {PIECE}\n\n".replace("content", "reasoning")),
        Floods("word " * 1000, 'data: {"choices": [{"delta": {"content": "'),
        Floods("word " * 1000, '{"choices": [{"message": {"content": "', "application/json"),
    ],
    ids=["stream", "thoughts", "one event", "not streamed"],
)
def test_an_answer_without_end_is_left_at_the_longest_that_may_be(flood: Floods) -> None:
    failed = failure(flood, kind=ResponseInvalid, limits=LanguageModelOptions(max_attempts=1, max_answer_length=20_000))
    assert "longer than 20,000 characters (llm.max_answer_length)" in failed.line
    outcome(GOOD, limits=LanguageModelOptions(max_attempts=1, max_answer_length=len(MOVE)))


def test_an_error_or_a_list_of_models_without_end_is_left() -> None:
    limits = LanguageModelOptions(patience=0.0)
    error = Floods("word " * 10_000, '{"error": {"message": "', "application/json", status=400)
    listing = Floods('{"id": "model"},' * 1000, '{"data": [', "application/json")
    for failed in (failure(error, limits=limits), failure(GOOD, listing=listing, model=None, limits=limits)):
        assert isinstance(failed.error, LanguageModelUnavailable)
        assert "too large for an error or a list of models" in failed.line


def test_an_error_within_errors_is_read_as_deep_as_any_is() -> None:
    nested = '{"error": ' * 900 + '"deep"' + "}" * 900
    assert "400: no reason given" in failure(Says(400, nested), kind=LanguageModelUnavailable).line


class TestRedirect:
    """A server that sends the client elsewhere."""

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_to_another_host_is_refused_with_both_hosts_named(self, status: int) -> None:
        with MisbehavingServer(GOOD) as other, MisbehavingServer(GOOD) as server:
            server.script.appendleft(Says(status, "", {"Location": f"{other.base_url}/chat/completions"}))
            server.listing = Says(status, "", {"Location": f"{other.base_url}/models"})
            here, there = (each.base_url.removesuffix("/v1") for each in (server, other))
            patience = Patience()
            for name in ("named", None):
                with (
                    model_on(server, patience, model=name, api_key="sk-secret") as model,
                    pytest.raises(ConfigurationError, match=f"agent: .*{here} redirects to {there}") as caught,
                ):
                    ask(model)
                assert "\n" not in str(caught.value)
        assert (other.asked, other.listings, patience.slept) == ([], 0, [])

    @pytest.mark.parametrize("place", ["http://localhost:{}/v1", "https://127.0.0.1:{}/v1", "//somewhere.invalid/v1"])
    def test_to_another_name_port_or_scheme_is_one_to_another_host(self, place: str) -> None:
        with MisbehavingServer(GOOD) as server:
            server.script.appendleft(Says(307, "", {"Location": place.format(server.server_port)}))
            with model_on(server) as model, pytest.raises(ConfigurationError, match="redirects to"):
                ask(model)

    @pytest.mark.parametrize("place", ["https://models.invalid:8443/v1", "http://models.invalid:8080/v1"])
    def test_from_the_usual_port_to_another_port_is_refused(
        self, place: str, clean_environment: pytest.MonkeyPatch
    ) -> None:
        with MisbehavingServer(GOOD) as proxy:
            proxy.script.appendleft(Says(307, "", {"Location": f"{place}/chat/completions"}))
            clean_environment.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
            clean_environment.setenv("https_proxy", proxy.base_url.removesuffix("/v1"))
            settings = dict.fromkeys(ROLES, RoleOptions(model="m", base_url="http://models.invalid/v1"))
            with (
                OpenAIModel(settings) as model,
                pytest.raises(ConfigurationError, match=r"http://models\.invalid redirects to"),
            ):
                ask(model)

    def test_on_the_same_host_is_followed(self) -> None:
        assert outcome(Says(307, "", {"Location": "/elsewhere"}), GOOD).completions[0].value.action == "light lamp"


CUT = Streams((HALF,), finish_reason="length")


class TestCutAnswer:
    """An answer that the server stopped at its limit of tokens."""

    def test_is_asked_for_once_more_with_twice_the_tokens_and_then_given_up_with_the_option_to_raise(self) -> None:
        asked = outcome(CUT, GOOD, sampling=Sampling(max_tokens=50))
        assert [body["max_tokens"] for body in asked.bodies] == [50, 100]
        failed = failure(CUT, kind=ResponseInvalid, sampling=Sampling(max_tokens=50))
        assert "still cut at 100 tokens; raise agent_sampling.max_tokens" in failed.line
        assert [body["max_tokens"] for body in failed.bodies] == [50, 100, 100]

    def test_says_so_where_the_limit_is_the_servers_own(self) -> None:
        failed = failure(Streams(("<think>" + "Hm. " * 50,), finish_reason="length"), kind=ResponseInvalid)
        assert "own token limit; set agent_sampling.max_tokens" in failed.line
        assert len(failed.bodies) == BRIEF.max_attempts

    def test_is_taken_where_its_json_is_whole(self) -> None:
        asked = outcome(Streams((MOVE, "And so I"), finish_reason="length"))
        assert asked.completions[0].value.action == "light lamp"


class TestUnfitAnswer:
    """JSON that is broken or does not fit."""

    @pytest.mark.parametrize(
        ("wrong", "problem"),
        [
            ('{"reasoning": "dark"}', "action: Field required"),
            ("I light the lamp.", "no JSON object"),
            ('{"reasoning": "' + "x" * 201 + '", "action": "wait"}', "at most 200 characters"),
        ],
    )
    def test_is_shown_to_the_model_once_with_what_is_wrong(self, wrong: str, problem: str) -> None:
        asked = outcome(Streams((wrong,)), GOOD)
        assert asked.completions[0].value.action == "light lamp"
        assert asked.slept == []
        assert asked.completions[0].unusable == (wrong,)
        *_, answer, complaint = asked.bodies[1]["messages"]
        assert answer == {"role": "assistant", "content": wrong}
        assert complaint["role"] == "user"
        assert problem in complaint["content"]

    def test_is_asked_for_again_as_often_as_the_attempts_allow_and_repaired_once(self) -> None:
        failed = failure(
            Streams(("No.",)),
            kind=ResponseInvalid,
            limits=LanguageModelOptions(max_attempts=5),
            sampling=Sampling(seed=5),
        )
        assert re.search(r"does not fit its schema.*'No\.'; gave up after 5 requests", failed.line)
        assert [len(body["messages"]) for body in failed.bodies] == [2, 4, 2, 2, 2]
        assert [body["seed"] for body in failed.bodies] == [5, 6, 7, 8, 9]
        assert (failed.error.model, failed.error.usage) == ("served", TokenUsage(prompt=35, completion=15))
        assert (failed.error.requests, failed.error.unusable) == (5, ("No.",) * 5)

    def test_may_be_a_refusal_whose_words_are_shown_and_two_in_a_row_are_not_the_end(self) -> None:
        refusal = Streams(("I may not.",), delta_field="refusal")
        assert "begins with 'I may not.'" in failure(refusal, kind=ResponseInvalid).line
        asked = outcome(refusal, refusal, GOOD)
        assert asked.bodies[2]["messages"] == asked.bodies[0]["messages"]

    @pytest.mark.parametrize("again", ["short", "y" * 60], ids=["shorter", "still too long"])
    def test_is_asked_for_again_once_if_a_text_is_too_long_and_then_taken_whole(self, again: str) -> None:
        first, second = (json.dumps({"note": {"text": text}}) for text in ("x" * 50, again))
        with MisbehavingServer(Streams((first,)), Streams((second,))) as server, model_on(server) as model:
            completion = model.complete("agent", PROMPT, Noted)
        assert completion.value.note == Note(text=again)
        assert completion.requests == 2
        *_, objection = server.asked[1].body["messages"]
        assert "50" in objection["content"]
        assert "40" in objection["content"]
        held = server.asked[0].body["response_format"]["json_schema"]["schema"]
        assert "maxLength" not in json.dumps(held), "a server that holds answers to it would break the text off"

    def test_stays_in_repair_over_a_failed_request(self) -> None:
        asked = outcome(Streams(("No.",)), says_error(503), GOOD)
        assert [len(body["messages"]) for body in asked.bodies] == [2, 4, 4]


def test_a_new_draw_has_a_new_seed() -> None:
    asked = outcome(says_error(503), Streams(()), GOOD, sampling=Sampling(seed=5))
    assert [body["seed"] for body in asked.bodies] == [5, 5, 6]


def test_a_role_without_a_model_is_named() -> None:
    with OpenAIModel({}) as model, pytest.raises(ConfigurationError, match="agent: no model is configured"):
        model.complete("agent", PROMPT, Move)


class AtFirst:
    """A step for the first trial request alone."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def play(self, handler: Handler) -> None:
        handler.server.trial = Streams(("OK",))
        self._step.play(handler)


def test_a_model_that_is_down_when_it_is_tried_out_is_waited_for() -> None:
    patience = Patience()
    with MisbehavingServer(GOOD) as server, model_on(server, patience) as model:
        server.trial = AtFirst(says_error(503, "the model is being loaded"))
        model.try_out(["agent"], waits=True)
    assert len(patience.slept) == 1


REFUSED_TRIALS = {
    "OpenRouter": says_error(400, "named is not a valid model ID", code=400),
    "Ollama": says_error(400, '"nomic-embed-text" does not support chat'),
    "LiteLLM": Says(400, {"detail": {"error": "Invalid model name passed in model=named"}}),
    "no words": Says(422),
    "no money": says_error(402, "no credits"),
    "within the answer": Says(200, {"error": {"message": "no such model", "code": 400}}),
    "unknown": says_error(404, "no such model"),
}


@pytest.mark.parametrize("reply", REFUSED_TRIALS.values(), ids=REFUSED_TRIALS.keys())
@pytest.mark.parametrize("role", ROLES)
def test_a_model_of_any_role_that_is_refused_when_it_is_tried_out_is_an_error_that_names_the_role(
    role: Role, reply: Step
) -> None:
    with MisbehavingServer(GOOD) as server, MisbehavingServer(GOOD) as other:
        other.trial = reply
        settings = dict.fromkeys(ROLES, RoleOptions("named", server.base_url, limits=BRIEF))
        settings[role] = RoleOptions("named", other.base_url, limits=BRIEF)
        with OpenAIModel(settings) as model, pytest.raises(LanguageModelUnavailable, match=f"^{role}: named at "):
            model.try_out(ROLES, waits=True)


def test_each_distinct_model_is_tried_out_once_and_only_the_agents_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Counts:
        def play(self, handler: Handler) -> None:
            trials.append(handler.path)
            (says_error(503, "loading") if down else Streams(("OK",))).play(handler)

    trials: list[str] = []
    patience, down = Patience(), False
    with MisbehavingServer(GOOD) as server:
        server.trial = Counts()
        one, other = (RoleOptions(name, server.base_url, limits=BRIEF) for name in ("one", "other"))
        embedded = RoleOptions("one", server.base_url, engine="embedded")
        settings = {"agent": one, "critic": one, "info_ext": other, "analysis": other, "memory": embedded}
        with OpenAIModel(settings, sleep=patience.sleep, clock=patience.clock) as model:  # type: ignore[arg-type]
            model.try_out(ROLES, waits=True)
            assert len(trials) == 2
            down = True
            model.try_out(ROLES, waits=False)
            assert (len(trials), patience.slept) == (4, [])
            assert "info_ext: other at" in caplog.text
            with pytest.raises(LanguageModelUnavailable, match=r"agent: one at .*loading"):
                model.try_out(ROLES, waits=True)


@pytest.mark.parametrize(
    "reply",
    [
        AtFirst(says_error(400, "unknown field stream")),
        Streams(("no JSON",)),
        Floods('data: {"choices": [{"delta": {"content": "OK"}}]}\n\n'),
        Says(200, "oops"),
    ],
    ids=["refused form", "unfit", "without end", "unreadable"],
)
def test_a_model_that_replies_at_all_can_be_used(reply: Step) -> None:
    with MisbehavingServer(GOOD) as server, model_on(server) as model:
        server.trial = reply
        model.try_out(["agent"], waits=True)
        assert ask(model).value.action == "light lamp"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00", 0.0),
        ("inf", None),
        ("nan", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_retry_after_is_seconds_from_now_or_nothing(header: str, seconds: float | None) -> None:
    request = httpx2.Request("POST", "http://host")
    response = httpx2.Response(429, headers={"retry-after": header}, request=request)
    failure = from_status(openai.RateLimitError("busy", response=response, body=None))
    assert failure.retry_after == seconds
