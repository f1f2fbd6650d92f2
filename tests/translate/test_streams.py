"""The laws of streams, on JSON: a response told in chunks is that response, chunks make up what
their server would have answered at once, and no chunk holds what is not in the response."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline import Hooks, deny
from hookline.translate.streams import find_stream_form
from tests.adapters.calls.apis import APIS, Api

NAMES = ("read", "shell", "write")
texts = st.text(max_size=20)
calls = st.lists(st.sampled_from(NAMES), max_size=5)


def form_of(value: Any) -> Any:
    form = find_stream_form(value)
    assert form is not None
    return form


def without_nothing(value: Any) -> Any:
    """JSON without what is empty, of which APIs say more or less."""
    if isinstance(value, dict):
        kept = {name: without_nothing(each) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each not in (None, "", [], {})}
    return [without_nothing(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@given(text=texts, called=calls)
def test_a_response_told_in_chunks_is_that_response(api: Api, text: str, called: list[str]) -> None:
    response = api.response(text, *called)
    form = form_of(response)
    chunks = form.split(response)
    assert form_of(chunks[0]) is form
    assert without_nothing(form.merge(chunks)) == without_nothing(response)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@given(text=texts, called=calls)
def test_chunks_make_up_what_the_server_would_have_answered_at_once(
    api: Api, text: str, called: list[str]
) -> None:
    events = api.events(text, *called)
    merged = form_of(events[0]).merge(events)
    expected = api.response(text, *called)
    if api.name == "anthropic":
        expected["usage"]["output_tokens"] = 9
    assert without_nothing(merged) == without_nothing(expected)


class Restriction:
    """Refuses all tools but some."""

    is_strict = False

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed = frozenset(allowed)

    def find_refused(self, response: Any) -> list[str]:
        from hookline.translate.choice import AnyTranslator

        called = AnyTranslator().call_names(response)
        return [name for name in called if name not in self._allowed]

    def drop_refused(self, response: Any, names: Iterable[str]) -> Any:
        from hookline.translate.choice import AnyTranslator

        translator = AnyTranslator()
        left = translator.drop_calls(response, list(names))
        if translator.call_names(left) or translator.to_hook_llm_response(left).get("text"):
            return left
        return translator.from_hook_llm_response({"text": self.explain_refused(names)}, left)

    def explain_refused(self, names: Iterable[str]) -> str:
        return f"not {', '.join(sorted(set(names)))}"


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@given(text=texts, called=calls, allowed=st.sets(st.sampled_from(NAMES)))
def test_a_filtered_stream_makes_up_the_response_without_its_refused_calls(
    api: Api, text: str, called: list[str], allowed: set[str]
) -> None:
    """Whether calls are left out of the stream or of the response is all the same."""
    gate, events = Restriction(allowed), api.events(text, *called)
    form = form_of(events[0])
    passing = form.filter_calls(gate)
    filtered = [left for event in events for left in passing.feed(event)]
    whole = form.merge(events)
    refused = gate.find_refused(whole)
    expected = gate.drop_refused(whole, refused) if refused else whole
    assert without_nothing(_anonymous(form.merge(filtered))) == without_nothing(
        _anonymous(expected)
    )
    if not refused:
        assert filtered == events
    if api.name == "openai-responses":
        assert [event["sequence_number"] for event in filtered] == list(range(len(filtered)))


def _anonymous(response: dict[str, Any]) -> dict[str, Any]:
    """Without what is known about texts, which goes when a text is put in their place."""
    shown = json.loads(json.dumps(response))
    for choice in shown.get("choices", ()):
        choice.pop("logprobs", None)
    return dict(shown)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
def test_a_function_of_ones_own_streams_json_of_each_api(api: Api, event: str) -> None:
    hooks = Hooks()
    hooks.on(event)(lambda _event: deny("not this"))
    request = {**api.request("q"), "model": "claude" if api.name == "anthropic" else "m"}

    def create(**_request: Any) -> Any:
        return iter(api.events("a secret", "shell"))

    chunks = list(hooks.sync.model_call(create, **request, stream=True))
    assert all(isinstance(chunk, dict) for chunk in chunks)
    assert "not this" in json.dumps(chunks)
    assert "secret" not in json.dumps(chunks)
    form = form_of(chunks[0])
    assert "not this" in json.dumps(form.merge(chunks))


def tell_calls(*fragments: dict[str, Any]) -> list[dict[str, Any]]:
    """A stream of chat with one fragment of a call in each chunk."""
    deltas: list[tuple[dict[str, Any], str | None]] = [
        ({"tool_calls": [each]}, None) for each in fragments
    ]
    return [
        {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in [*deltas, ({}, "tool_calls")]
    ]


def fragment(id: str | None, name: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} | more


ODD_STREAMS = {
    "empty ids and names in later fragments": [
        fragment("1", "read", '{"x":', index=0),
        fragment("", "", "1}", index=0),
        fragment("2", "shell", "{}", index=1),
    ],
    "ids and names in all fragments": [
        fragment("1", "read", '{"x":', index=0),
        fragment("1", "read", "1}", index=0),
        fragment("2", "shell", "{}", index=1),
    ],
    "one number for all calls": [
        fragment("1", "read", '{"x":', index=0),
        fragment(None, None, "1}", index=0),
        fragment("2", "shell", "{}", index=0),
    ],
    "no numbers": [
        fragment("1", "read", '{"x":'),
        fragment(None, None, "1}"),
        fragment("2", "shell", "{}"),
    ],
}


@pytest.mark.parametrize("told", ODD_STREAMS.values(), ids=ODD_STREAMS)
def test_calls_are_told_apart_however_a_server_numbers_and_names_them(
    told: list[dict[str, Any]],
) -> None:
    events = tell_calls(*told)
    form = form_of(events[0])
    read, shell = fragment("1", "read", '{"x":1}'), fragment("2", "shell", "{}")
    assert form.merge(events)["choices"][0]["message"]["tool_calls"] == [read, shell]
    for allowed in (read, shell):
        passing = form.filter_calls(Restriction([allowed["function"]["name"]]))
        left = [each for event in events for each in passing.feed(event)]
        assert form.merge(left)["choices"][0]["message"]["tool_calls"] == [allowed]


def _say(*parts: Any, **more: Any) -> dict[str, Any]:
    """A chunk of Gemini's stream."""
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, **more}]}


def _call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


def test_a_stream_of_gemini_is_merged_for_hooks_and_given_back_as_they_leave_it() -> None:
    hooks = Hooks()

    @hooks.on("AfterModel")
    def redact(event: Any) -> Any:
        text = event["llm_response"]["text"].replace("secret", "[gone]")
        return {"hookSpecificOutput": {"llm_response": {"text": text}}}

    def stream(*, model: str, contents: str) -> Any:  # noqa: ARG001
        yield _say({"text": "the sec"})
        yield _say({"text": "ret"}, _call(name="read", args={}), finishReason="STOP")

    [left] = hooks.sync.model_call(stream, model="m", contents="q")
    expected = _say({"text": "the [gone]"}, _call(name="read", args={}), finishReason="STOP")
    assert left == expected


def test_calls_are_left_out_of_a_stream_of_gemini_with_the_arguments_that_follow_them() -> None:
    form = find_stream_form(_say({"text": "a"}))
    assert form is not None
    passing = form.filter_calls(Restriction(["read"]))
    chunks = [
        _say(_call(name="shell")),
        _say(_call(partialArgs=[{"stringValue": "rm"}])),
        _say(finishReason="STOP"),
    ]
    left = [each for chunk in chunks for each in passing.feed(chunk)]
    assert left == [_say(), _say(), _say({"text": "not shell"}, finishReason="STOP")]
    allowed = _say(_call(name="read"), _call(partialArgs=[]))
    assert passing.feed(allowed) == [allowed]
