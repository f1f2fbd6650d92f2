"""What the real clients' methods take and give, and how a call of theirs is known."""

import asyncio
import functools
import json
from typing import Any

import anthropic
import openai
import pytest
from google import genai

from hookline import Hooks, deny
from tests.adapters.calls.apis import Api, Chat, Messages, Responses
from tests.adapters.calls.service import ModelService
from tests.adapters.calls.test_redaction import ADDRESS, TEXT, as_text, redact
from tests.adapters.calls.test_streams import give


def test_a_call_that_no_hook_touches_gives_the_clients_own_object(api: Api) -> None:
    given: list[Any] = []

    with (
        ModelService(lambda _body: api.response("hi", "shell")) as service,
        api.client(service.url) as client,
    ):

        @functools.wraps(api.create(client))
        def create(**request: Any) -> Any:
            given.append(api.create(client)(**request))
            return given[-1]

        hooks = Hooks()
        hooks.on("AfterModel")(lambda _event: None)
        for each in (Hooks(), hooks):
            assert each.sync.model_call(create, **api.request("q")) is given[-1]
    assert [body.get("tools") for body in service.bodies] == [None, None]


def test_a_call_is_known_through_partials_and_decorators() -> None:
    api, hooks = Chat(), Hooks()
    hooks.on("BeforeModel")(lambda _event: deny("no"))
    with api.client("http://127.0.0.1:1") as client:
        create = client.chat.completions.create

        @functools.wraps(create)
        def retried(**request: Any) -> Any:
            return create(**request)

        for given in (
            retried,
            functools.partial(create, temperature=0),
            functools.partial(retried),
        ):
            answer = hooks.sync.model_call(given, **api.request("q"))
            assert type(answer) is openai.types.chat.ChatCompletion
            assert answer.choices[0].message.content == "no"


def test_azures_client_is_known() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    api = Chat()
    with (
        ModelService(lambda _body: api.response(TEXT)) as service,
        openai.AzureOpenAI(
            azure_endpoint=service.url, api_key="k", api_version="2024-10-21"
        ) as client,
    ):
        answer = hooks.sync.model_call(client.chat.completions.create, **api.request("q"))
    assert ADDRESS not in as_text(answer)


def test_raw_responses_and_stream_helpers_are_refused() -> None:
    """Their answers are no responses of a model, and a guard would see nothing."""
    with Chat().client("http://127.0.0.1:1") as client, Messages().client("http://x") as other:
        for create in (
            client.chat.completions.with_raw_response.create,
            client.responses.with_streaming_response.create,
            other.messages.with_raw_response.create,
        ):
            with pytest.raises(TypeError, match="cannot read raw responses"):
                Hooks().sync.model_call(create, model="m")
        for create in (client.chat.completions.stream, other.messages.stream):
            with pytest.raises(TypeError, match=r"pass create\(…, stream=True\)"):
                Hooks().sync.model_call(create, model="m")


def test_what_a_hook_sets_and_the_client_does_not_take_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Anthropic's ``messages.create`` has no temperature."""
    api, hooks = Messages(), Hooks()
    changed = {"config": {"temperature": 0.1, "maxOutputTokens": 7}}
    hooks.on("BeforeModel")(lambda _event: {"hookSpecificOutput": {"llm_request": changed}})
    with (
        ModelService(lambda _body: api.response("hi")) as service,
        api.client(service.url) as client,
    ):
        hooks.sync.model_call(client.messages.create, **api.request("q"))
    assert service.bodies[0]["max_tokens"] == 7
    assert "temperature" not in service.bodies[0]
    assert "temperature was left out" in caplog.text


def test_a_hook_changes_what_the_server_gets(api: Api) -> None:
    hooks = Hooks()

    @hooks.on("BeforeModel")
    def change(event: Any) -> Any:
        messages = event["llm_request"]["messages"]
        messages[-1]["content"] = messages[-1]["content"].replace("my key 123", "[key]")
        return {"hookSpecificOutput": {"llm_request": {"messages": messages}}}

    with (
        ModelService(lambda _body: api.response("hi")) as service,
        api.client(service.url) as client,
    ):
        hooks.sync.model_call(
            api.create(client), **api.request("use my key 123"), extra_headers={"x-a": "b"}
        )
    assert "use [key]" in json.dumps(service.bodies[0])
    assert "123" not in json.dumps(service.bodies[0])


def test_arguments_that_are_not_given_in_the_sdks_way_are_not_given(api: Api) -> None:
    package: Any = anthropic if api.name == "anthropic" else openai
    hooks = Hooks()
    seen: list[Any] = []
    hooks.on("BeforeModel")(lambda event: seen.append(event["llm_request"]["messages"]))
    with (
        ModelService(lambda _body: api.response("hi")) as service,
        api.client(service.url) as client,
    ):
        create, request = api.create(client), api.request("q")
        hooks.sync.model_call(create, **request, tools=package.omit, metadata=package.NOT_GIVEN)
    assert [messages[-1]["content"] for messages in seen] == ["q"]
    assert "tools" not in service.bodies[0]


def test_only_allowed_tools_are_offered(api: Api) -> None:
    hooks = Hooks()
    config = {"mode": "ANY", "allowedFunctionNames": ["read", "gone"]}
    hooks.on("BeforeToolSelection")(lambda _e: {"hookSpecificOutput": {"toolConfig": config}})
    with (
        ModelService(lambda _body: api.response("", "read")) as service,
        api.client(service.url) as client,
    ):
        request = {**api.request("q"), "tools": api.tools("read", "shell")}
        answer = hooks.sync.model_call(api.create(client), **request)
    assert api.calls(answer) == ["read"]
    body = service.bodies[0]
    assert "gone" not in json.dumps(body)
    assert "read" in json.dumps(body["tools"])
    assert "shell" not in json.dumps([body["tools"], body["tool_choice"]])


def test_a_refusal_is_redacted() -> None:
    api, hooks = Chat(), Hooks()
    hooks.on("AfterModel")(redact)
    response = api.response("")
    response["choices"][0]["message"]["refusal"] = f"not {ADDRESS}"
    events = api.events("")
    events[1]["choices"][0]["delta"] = {"refusal": f"not {ADDRESS[:9]}"}
    events.insert(2, json.loads(json.dumps(events[1])))
    events[2]["choices"][0]["delta"] = {"refusal": ADDRESS[9:]}
    events[2]["choices"][0]["finish_reason"] = "stop"
    for answer in (response, events):
        with (
            ModelService(functools.partial(give, answer)) as service,
            api.client(service.url) as client,
        ):
            got = hooks.sync.model_call(
                api.create(client), **api.request("q"), stream=answer is events
            )
            got = list(got) if answer is events else got
        assert "lovelace" not in as_text(got)
        assert "not [e-mail]" in as_text(got)


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_anthropics_beta_client_gets_its_own_types(event: str, stream: bool) -> None:
    api, hooks = Messages(), Hooks()
    hooks.on(event)(lambda given: redact(given) if "llm_response" in given else deny("no"))
    answer = api.events(TEXT) if stream else api.response(TEXT)
    with ModelService(lambda _body: answer) as service, api.client(service.url) as client:
        create = client.beta.messages.create
        got = hooks.sync.model_call(create, **api.request("q"), stream=stream)
        got = list(got) if stream else got
    assert "lovelace" not in as_text(got)
    for each in got if stream else [got]:
        assert type(each).__name__.startswith("Beta")


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
def test_a_method_that_parses_gets_its_own_types(event: str) -> None:
    hooks = Hooks()
    hooks.on(event)(lambda _event: deny("no"))
    chat, messages = Chat(), Messages()
    with ModelService(lambda _body: chat.response("{}")) as service, chat.client(service.url) as c:
        answer = hooks.sync.model_call(c.chat.completions.parse, **chat.request("q"))
    assert (answer.choices[0].message.parsed, chat.text(answer)) == (None, "no")
    given = functools.partial(give, messages.response("{}"))
    with ModelService(given) as service, messages.client(service.url) as c:
        answer = hooks.sync.model_call(c.messages.parse, **messages.request("q"))
    assert (answer.parsed_output, messages.text(answer)) == (None, "no")


GEMINI = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": TEXT}]}, "finishReason": "STOP"}
    ]
}


def test_genais_generate_content_works_as_well() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    hooks.on("BeforeModel")(
        lambda event: deny("no") if "ledger" in str(event["llm_request"]) else None
    )
    with ModelService(lambda _body: GEMINI) as service:
        options = genai.types.HttpOptions(base_url=service.url)
        with genai.Client(api_key="k", http_options=options) as client:
            create = client.models.generate_content
            answer = hooks.sync.model_call(create, model="gemini", contents="who?")
            denied = hooks.sync.model_call(create, model="gemini", contents="the ledger")
            with pytest.raises(TypeError, match="pass generate_content"):
                hooks.sync.model_call(client.models.generate_content_stream, model="g")

        async def call_it() -> Any:
            async with genai.Client(api_key="k", http_options=options).aio as aio:
                return await hooks.model_call(
                    aio.models.generate_content, model="gemini", contents="who?"
                )

        awaited = asyncio.run(call_it())
    assert answer.text == awaited.text == "Write to [e-mail], she knows."
    assert (type(denied), denied.text) == (type(answer), "no")
    assert len(service.bodies) == 2


def test_genai_is_offered_the_allowed_tools_in_a_mode_that_its_api_takes() -> None:
    hooks = Hooks()
    allowed = {"mode": "AUTO", "allowedFunctionNames": ["read"]}
    hooks.on("BeforeToolSelection")(lambda _e: {"hookSpecificOutput": {"toolConfig": allowed}})
    call = {"functionCall": {"name": "shell", "args": {}}}
    answer = {"candidates": [{"content": {"role": "model", "parts": [call]}}]}
    tools = {"tools": [{"function_declarations": [{"name": "read"}, {"name": "shell"}]}]}
    with ModelService(lambda _body: answer) as service:
        options = genai.types.HttpOptions(base_url=service.url)
        with genai.Client(api_key="k", http_options=options) as client:
            create = client.models.generate_content
            got = hooks.sync.model_call(create, model="g", contents="q", config=tools)
    sent = service.bodies[0]["toolConfig"]["functionCallingConfig"]
    assert sent == {"mode": "VALIDATED", "allowedFunctionNames": ["read"]}
    assert (got.function_calls, got.text) == (None, "The tool shell is not allowed in this call.")


def test_a_structured_answer_loses_what_was_parsed_of_a_redacted_text() -> None:
    """What the SDK read out of the text repeats it."""
    from pydantic import BaseModel

    class Contact(BaseModel):
        mail: str

    api, hooks = Chat(), Hooks()
    hooks.on("AfterModel")(redact)
    with (
        ModelService(lambda _body: api.response(json.dumps({"mail": ADDRESS}))) as service,
        api.client(service.url) as client,
    ):
        create = client.chat.completions.parse
        answer = hooks.sync.model_call(create, **api.request("q"), response_format=Contact)
    assert "lovelace" not in as_text(answer)
    assert answer.choices[0].message.parsed is None


def test_a_model_that_does_not_answer_raises_as_its_client_does(api: Api) -> None:
    fired: list[Any] = []
    hooks = Hooks()
    hooks.on("AfterModel")(fired.append)
    with (
        api.client("http://127.0.0.1:1") as client,
        pytest.raises((openai.APIConnectionError, anthropic.APIConnectionError)),
    ):
        hooks.sync.model_call(api.create(client), **api.request("q"))
    assert fired == []


def test_the_responses_api_takes_a_text_and_instructions() -> None:
    api, hooks = Responses(), Hooks()
    seen: list[Any] = []
    hooks.on("BeforeModel")(lambda event: seen.append(event["llm_request"]["messages"]))
    with (
        ModelService(lambda _body: api.response("hi")) as service,
        api.client(service.url) as client,
    ):
        hooks.sync.model_call(
            client.responses.create, model="m", input="who?", instructions="be brief"
        )
    assert "who?" in str(seen)
    assert service.bodies[0] == {"model": "m", "input": "who?", "instructions": "be brief"}
