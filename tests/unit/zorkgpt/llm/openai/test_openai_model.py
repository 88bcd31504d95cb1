"""What is sent to a server that behaves, or understands less than all, and what is read from it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import SecretStr

from session.errors import ConfigurationError, LanguageModelError, LanguageModelUnavailable
from session.game_configuration import RoleOptions, Sampling
from tests.fixtures.misbehaving_server import Handler, MisbehavingServer, Says, Step, Streams, says_error
from tests.unit.zorkgpt.llm.asking import BRIEF, GOOD, MOVE, Move, ask, failure, model_on, outcome
from zorkgpt.llm.language_model import Prompt, TokenUsage
from zorkgpt.llm.openai.openai_model import OpenAIModel

NO_FORMAT = says_error(400, "response_format of type json_schema is not supported")
NO_STREAM = says_error(400, "streaming is not supported")


def test_the_prompt_is_two_messages_and_the_answer_is_streamed_and_held_to_a_strict_schema() -> None:
    asked = outcome(GOOD, api_key="sk-secret")
    (body,) = asked.bodies
    assert body["messages"] == [{"role": "system", "content": "You play."}, {"role": "user", "content": "A dark room."}]
    assert (body["model"], body["stream"], body["stream_options"]) == ("named", True, {"include_usage": True})
    assert asked.server.asked[0].headers["authorization"] == "Bearer sk-secret"
    held = body["response_format"]["json_schema"]
    assert held["strict"] is True
    assert held["schema"]["additionalProperties"] is False
    assert held["schema"]["required"] == ["reasoning", "action"]
    assert held["schema"]["properties"]["reasoning"]["maxLength"] == 200


def test_only_the_sampling_that_is_set_is_sent_with_the_fields_that_only_this_server_knows() -> None:
    sampling = Sampling(temperature=0.0, top_k=40, min_p=0.05)
    (body,) = outcome(GOOD, sampling=sampling, extra_body={"repeat_penalty": 1.1}).bodies
    assert [body[name] for name in ("temperature", "top_k", "min_p", "repeat_penalty")] == [0.0, 40, 0.05, 1.1]
    assert body.keys().isdisjoint({"top_p", "max_tokens", "seed"})


def test_a_completion_tells_what_came_and_what_it_cost() -> None:
    text = f"<think>It is dark.</think>{MOVE}"
    usage = {"prompt_tokens": 90, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64}}
    (completion,) = outcome(Streams((text,), usage=usage)).completions
    assert completion.value == Move(reasoning="It is dark.", action="light lamp")
    assert (completion.reasoning, completion.text) == ("It is dark.", text)
    assert completion.usage == TokenUsage(prompt=90, completion=20, cached=64)
    assert (completion.model, completion.requests) == ("served", 1)


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thoughts_in_the_servers_own_field_are_kept(field: str) -> None:
    thoughts = f'data: {{"choices": [{{"delta": {{"{field}": "Hm."}}}}]}}\n\n'
    (completion,) = outcome(Streams((MOVE,), more_events=(thoughts,))).completions
    assert (completion.reasoning, completion.text) == ("Hm.", MOVE)


@pytest.mark.parametrize(
    ("before", "tokens", "usage"),
    [
        ((), 7, TokenUsage(7, 3)),
        ((Streams((MOVE[:9],)),), 7, TokenUsage(14, 6)),
        ((says_error(500), Streams(())), 7, TokenUsage(14, 6)),
        ((Streams(("No.",)),), 0, TokenUsage(14, 6)),
    ],
    ids=["at once", "after a cut one", "after failures", "after a repair"],
)
def test_the_question_is_counted_alike_however_often_it_had_to_be_asked_and_usage_is_summed(
    before: tuple[Step, ...], tokens: int, usage: TokenUsage
) -> None:
    (completion,) = outcome(*before, GOOD).completions
    assert (completion.question_tokens, completion.usage) == (tokens, usage)


@pytest.mark.parametrize(
    ("extra", "usage"),
    [
        ({}, TokenUsage()),
        ({"timings": {"prompt_n": 5, "cache_n": 60, "predicted_n": 9}}, TokenUsage(65, 9, 60)),
        ({"usage": {"prompt_tokens": 65, "completion_tokens": 9}, "timings": {"cache_n": 60}}, TokenUsage(65, 9, 60)),
        ({"usage": {"prompt_tokens": -70, "completion_tokens": 10**30}}, TokenUsage()),
        ({"timings": {"prompt_n": -3, "predicted_n": -2}}, TokenUsage()),
        ({"usage": {"prompt_tokens": None, "prompt_tokens_details": {"cached_tokens": None}}}, TokenUsage()),
        ({"usage": {"prompt_tokens": "many", "completion_tokens": 9}}, TokenUsage(0, 9)),
        ({"usage": {"prompt_tokens": 1.5, "completion_tokens": [9], "prompt_tokens_details": "none"}}, TokenUsage()),
        ({"usage": "unknown", "timings": {"prompt_n": 5, "predicted_n": 9}}, TokenUsage(5, 9)),
        ({"usage": [], "timings": "unknown"}, TokenUsage()),
        ({"timings": {"prompt_n": None, "cache_n": {}, "predicted_n": 9}}, TokenUsage(0, 9)),
    ],
)
def test_usage_is_read_where_a_server_writes_it(extra: Mapping[str, object], usage: TokenUsage) -> None:
    whole = {"choices": [{"message": {"content": MOVE}, "finish_reason": "stop"}], **extra}
    (completion,) = outcome(Says(200, whole)).completions
    assert (completion.usage, completion.model) == (usage, "named")


class TestServerWithoutSchemas:
    """A server that cannot hold a model to a JSON schema."""

    def test_is_asked_without_constraints_then_in_words_and_is_warned_of_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        prose = f"Sure!\n```json\n{MOVE}\n```\nGood luck."
        asked = outcome(NO_FORMAT, NO_FORMAT, Streams((prose,)), times=2)
        first, second, third, _ = asked.bodies
        assert "maxLength" in str(first["response_format"])
        assert "maxLength" not in str(second["response_format"])
        assert "response_format" not in third
        user = third["messages"][1]["content"]
        assert user.startswith("A dark room.\n\nAnswer with one JSON object")
        assert '"maxLength":200' in user
        [warning] = caplog.messages
        assert warning.startswith(f"named at {asked.server.base_url} refuses response_format as sent")

    @pytest.mark.parametrize(
        "refusal",
        [
            says_error(400, "'maxLength' is not permitted", param="response_format"),
            says_error(422, "Invalid schema: In context=('properties',), 'maxLength' is not permitted"),
            says_error(400, "failed to parse grammar"),
        ],
    )
    def test_is_remembered(self, refusal: Says) -> None:
        asked = outcome(refusal, GOOD, times=2)
        assert ["maxLength" in str(body["response_format"]) for body in asked.bodies] == [True, False, False]

    def test_that_says_nothing_gets_the_schema_in_the_prompt_once_that_has_helped_twice(self) -> None:
        prose = Streams(("I light the lamp.",))
        first, _, second, _, later = outcome(prose, GOOD, prose, GOOD, times=3).users
        assert first == second == "A dark room."
        assert "JSON schema" in later
        # not if it has once held an answer to its schema, nor if only a constraint is missed
        assert set(outcome(prose, GOOD, GOOD, prose, GOOD, prose, GOOD, times=5).users) == {"A dark room."}
        long_thoughts = MOVE.replace("dark", "dark" * 60)
        assert outcome(Streams((long_thoughts,)), GOOD, times=2).users[-1] == "A dark room."


def test_an_answer_that_does_not_fit_is_sent_back_with_the_reason_and_with_the_schema_only_if_it_may_be_unknown() -> (
    None
):
    unfit = Streams(('{"reasoning": "Hm."}',))
    reason = "This answer cannot be used: action: Field required\nAnswer with one JSON object"
    unknown = outcome(unfit, GOOD).bodies[-1]["messages"][-1]["content"]
    assert unknown.startswith(reason)
    assert '"maxLength":200' in unknown
    for steps in ((GOOD, unfit, GOOD), (NO_FORMAT, NO_FORMAT, GOOD, unfit, GOOD)):
        known = outcome(*steps, times=2).bodies[-1]["messages"][-1]["content"]
        assert known == f"{reason}, and nothing else."


class TestServerWithoutStreams:
    """A server that can only answer whole."""

    WHOLE = Says(200, {"choices": [{"message": {"content": MOVE}, "finish_reason": "stop"}]})

    @pytest.mark.parametrize(
        "refusal",
        [
            NO_STREAM,
            says_error(400, "Structured output cannot be streamed"),
            says_error(400, "Unsupported value", param="stream"),
            Says(422, {"detail": [{"loc": ["body", "stream"], "msg": "Input should be false"}]}),
            says_error(501, "Stream mode is not implemented"),
            Says(501),
            Streams((), more_events=('data: {"error": {"message": "no streaming", "code": 400}}\n\n',)),
        ],
    )
    def test_is_asked_for_plain_answers_from_then_on(self, refusal: Step) -> None:
        asked = outcome(refusal, self.WHOLE, times=2)
        first, *later = asked.bodies
        assert first["stream"] is True
        assert len(later) == 2
        for body in later:
            assert body.keys().isdisjoint({"stream", "stream_options"})
            assert "maxLength" in str(body["response_format"])
        assert asked.slept == []

    def test_keeps_its_streams_where_it_refuses_their_options_alone(self) -> None:
        _, body = outcome(says_error(400, "Unknown parameter: stream_options"), GOOD).bodies
        assert body["stream"] is True
        assert "stream_options" not in body

    def test_that_still_refuses_is_an_error_at_once(self) -> None:
        failed = failure(Says(501), kind=LanguageModelUnavailable)
        assert "501: no reason given" in failed.line
        assert [body.get("stream") for body in failed.bodies] == [True, None]

    def test_may_be_silent_for_longer_than_a_stall_while_it_writes(self) -> None:
        class AnswersLate:
            def play(self, handler: Handler) -> None:
                handler.server.closing.wait(3 * BRIEF.stall_timeout)
                TestServerWithoutStreams.WHOLE.play(handler)

        assert outcome(NO_STREAM, AnswersLate()).completions[0].requests == 2


class TestRefusedParameter:
    """A parameter that a model does not take."""

    def test_is_left_out_from_then_on_and_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        refusal = says_error(400, "Unsupported value", param="temperature")
        asked = outcome(refusal, GOOD, times=2, sampling=Sampling(temperature=0.5, top_p=0.9))
        assert ["temperature" in body for body in asked.bodies] == [True, False, False]
        assert all(body["top_p"] == 0.9 for body in asked.bodies)
        assert "temperature" in caplog.text

    def test_is_found_by_its_name_in_the_words(self) -> None:
        refusal = Says(422, {"detail": [{"loc": ["body", "min_p"], "msg": "Extra inputs are not permitted"}]})
        _, body = outcome(refusal, GOOD, sampling=Sampling(min_p=0.1, top_p=0.9)).bodies
        assert "min_p" not in body
        assert "top_p" in body

    def test_max_tokens_gets_its_newer_name(self) -> None:
        refusal = says_error(400, "Unsupported parameter: use 'max_completion_tokens'", param="max_tokens")
        _, body = outcome(refusal, GOOD, sampling=Sampling(max_tokens=300)).bodies
        assert body["max_completion_tokens"] == 300
        assert "max_tokens" not in body

    def test_belongs_to_one_model(self) -> None:
        refusal = says_error(400, "Unsupported", param="temperature")
        with MisbehavingServer(refusal, GOOD) as server:
            one, other = (
                RoleOptions(name, server.base_url, sampling=Sampling(temperature=0.5), limits=BRIEF)
                for name in ("one", "other")
            )
            with OpenAIModel({"agent": one, "critic": other}) as model:
                ask(model)
                model.complete("critic", Prompt("s", "u"), Move)
        assert ["temperature" in asked.body for asked in server.asked] == [True, False, True]


NO_SYSTEM: dict[str, Step] = {
    "vLLM": Says(400, {"object": "error", "message": "System role not supported", "code": 400}),
    "llama.cpp": says_error(500, "Value is not callable: null: System role not supported"),
    "o1": says_error(400, "Unsupported value: 'messages[0].role' does not support 'system'", param="messages[0].role"),
    "Google": Says(400, [{"error": {"message": "Developer instruction is not enabled for models/gemma-3-27b-it"}}]),
    "LiteLLM": says_error(400, "This model doesn't support system messages. Try again without one."),
    "Mistral": says_error(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
    "pydantic": Says(422, {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "Input should be 'user'"}]}),
    "gateway": says_error(404, "No endpoints found that support the system role"),
    "stream": Streams((), more_events=('data: {"error": {"message": "Unknown role: system", "code": 400}}\n\n',)),
}


class TestServerWithoutSystemRole:
    """A server whose template knows no system role."""

    @pytest.mark.parametrize("refusal", NO_SYSTEM.values(), ids=NO_SYSTEM.keys())
    def test_gets_the_instructions_at_the_head_of_the_users_message_from_then_on(
        self, refusal: Step, caplog: pytest.LogCaptureFixture
    ) -> None:
        asked = outcome(refusal, GOOD, times=2)
        first, *later = (body["messages"] for body in asked.bodies)
        assert [message["role"] for message in first] == ["system", "user"]
        assert later == [[{"role": "user", "content": "You play.\n\nA dark room."}]] * 2
        assert asked.slept == []
        [warning] = caplog.messages
        assert "refuses the system role" in warning

    def test_keeps_the_marks_for_its_cache(self) -> None:
        (message,) = outcome(NO_SYSTEM["vLLM"], GOOD, marks_cache=True).bodies[1]["messages"]
        first = message["content"][0]
        assert (first["text"], "cache_control" in first) == ("You play.\n\n", True)

    @pytest.mark.parametrize("words", ["internal error", "unexpected end of stream", "the system is not available"])
    def test_is_no_server_that_fails_for_another_reason(self, words: str) -> None:
        first, second = outcome(says_error(500, words), GOOD).bodies
        assert first == second


def test_marks_for_the_servers_cache_end_the_parts_of_a_prompt_whatever_headings_a_text_contains() -> None:
    with MisbehavingServer(GOOD) as server, model_on(server, marks_cache=True) as model:
        for now in ("one", "two"):
            model.complete("agent", Prompt.of("Rules", ["Always.\n\n## Signs\nA sign.", "Play", now]), Move)
    texts = [[part["text"] for part in asked.body["messages"][1]["content"]] for asked in server.asked]
    assert texts[1] == ["Always.\n\n## Signs\nA sign.\n\n", "Play\n\n", "two"]


class TestUnnamedModel:
    """A role without a model's name."""

    def test_is_played_by_the_first_that_the_server_lists(self) -> None:
        with MisbehavingServer(GOOD, models=("first", "second")) as server, model_on(server, model=None) as model:
            assert (model.names(), model.servers()) == (("the first model",), (server.base_url,))
            ask(model)
            ask(model)
            assert (model.names(), model.servers()) == (("first",), (server.base_url,))
        assert [asked.body["model"] for asked in server.asked] == ["first", "first"]
        assert server.listings == 1

    @pytest.mark.parametrize(
        "listing",
        [
            Says(200, [{"id": "first"}, {"id": "second"}]),
            Says(200, {"data": [{"name": "x"}, {"id": None}, 5, {"id": ""}, {"id": "first"}]}),
            Says(200, {"models": ["first"]}),
            Says(200, {"data": [{"id": "text-embedding-nomic-embed-text-v1.5"}, {"id": "first"}]}),
            Says(200, {"data": [{"id": "first"}]}, {"Content-Type": "text/html"}),
        ],
    )
    def test_is_found_in_a_list_that_is_not_perfect(self, listing: Says) -> None:
        with MisbehavingServer(GOOD) as server, model_on(server, model=None) as model:
            server.listing = listing
            ask(model)
        assert server.asked[0].body["model"] == "first"

    def test_is_the_first_one_if_all_are_named_for_another_purpose(self) -> None:
        (body,) = outcome(GOOD, model=None, models=("embed-a", "embed-b")).bodies
        assert body["model"] == "embed-a"

    @pytest.mark.parametrize(
        "listing", [says_error(404), Says(405), Says(200, {"data": []}), Says(200, {"data": None}), Says(200, [])]
    )
    def test_has_to_be_named_where_the_server_lists_none(self, listing: Says) -> None:
        failed = failure(GOOD, kind=LanguageModelUnavailable, listing=listing, model=None)
        assert isinstance(failed.error, ConfigurationError)
        assert failed.line.endswith("the server lists no models, so the role's model has to be named")

    def test_waits_for_a_server_that_is_loading(self) -> None:
        class LoadsFirst:
            def play(self, handler: object) -> None:
                server.listing = ready
                says_error(503, "loading").play(handler)  # type: ignore[arg-type]  # it is the fixture's handler

        with MisbehavingServer(GOOD) as server, model_on(server, model=None) as model:
            ready, server.listing = server.listing, LoadsFirst()
            ask(model)
        assert server.listings == 2


def test_each_model_is_described_once_and_no_secret_shown() -> None:
    here = RoleOptions("one", "http://host:8/v1/", SecretStr("sk-secret"))
    there = RoleOptions("two", "https://there/v1")
    with OpenAIModel({"critic": there, "agent": here, "memory": here}) as model:
        assert (model.names(), model.servers()) == (("one", "two"), ("http://host:8/v1", "https://there/v1"))
    assert "sk-secret" not in repr(here)


def test_a_server_on_loopback_is_reached_past_any_proxy_and_gets_no_key_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "OPENAI_API_KEY": "sk-secret",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    (asked,) = outcome(GOOD).server.asked
    assert "sk-secret" not in str(asked.headers)


def test_text_that_is_not_unicode_is_sent_all_the_same() -> None:
    with MisbehavingServer(GOOD) as server, model_on(server) as model:
        model.complete("agent", Prompt("s", "a \udcff b"), Move)
    assert server.asked[0].body["messages"][1]["content"] == "a \N{REPLACEMENT CHARACTER} b"


@pytest.mark.parametrize(
    ("listing", "words"),
    [
        (
            Says(200, "<html>", {"Content-Type": "text/html; charset=utf-8"}),
            "the response is a web page, not a model's answer; base URLs",
        ),
        (Says(200, {"models": []}), "the server's response cannot be read: it is not a list of models"),
    ],
)
def test_finding_names_says_what_answers_in_place_of_a_list(listing: Says, words: str) -> None:
    with MisbehavingServer(Says(500)) as server:
        server.listing = listing
        settings = RoleOptions(base_url=server.base_url)
        with OpenAIModel({"agent": settings}) as model, pytest.raises(LanguageModelError, match=words):
            model.find_names()
