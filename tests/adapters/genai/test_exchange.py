"""One request of a client between its hooks, with a function in place of the network."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hookline import HooklineError, Hooks, combine, deny, message, stop
from hookline.adapters.conversations import Conversation
from hookline.adapters.genai.models import Call, ModelCalls
from hookline.adapters.steps import complete
from tests.adapters.genai.playing import HTTPX

Json = dict[str, Any]
PATH = "/v1beta/models/m:generateContent"
STREAM = "/v1beta/models/m:streamGenerateContent"
BODY: Json = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def say(*parts: Any) -> Json:
    held = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {"candidates": [{"content": {"role": "model", "parts": held}}]}


def ask_for(name: str) -> Json:
    return {"functionCall": {"name": name, "args": {}}}


class Line:
    """What goes over the line: ``sent`` are the requests, ``replies`` the responses to them."""

    def __init__(self, hooks: Hooks, *replies: Any) -> None:
        self.conversation = Conversation(hooks)
        self.calls = ModelCalls(lambda: self.conversation)
        self.call = Call(self.conversation, blocking=True)
        self.sent: list[Any] = []
        self.responses: list[Any] = []
        self._replies = iter(replies)

    def ask(self, body: Any = BODY, path: str = PATH, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = HTTPX.Request("POST", f"https://g{path}", content=content, headers=headers)
        with self.call.running():
            response = complete(self.calls.exchange(request, self._send, blocking=True))
        response.read()
        return response

    def _send(self, request: Any) -> Any:
        self.sent.append(request)
        reply = next(self._replies)
        if isinstance(reply, int):
            response = HTTPX.Response(reply, request=request)
        elif isinstance(reply, bytes):
            stream = HTTPX.ByteStream(reply)
            response = HTTPX.Response(200, request=request, stream=stream, headers={"x": "1"})
        else:
            response = HTTPX.Response(200, request=request, json=reply, headers={"x": "1"})
        self.responses.append(response)
        return response


def answer_once(hooks: Hooks, event: Any, said: Any) -> None:
    answers = iter([said])
    hooks.on(event)(lambda _event: next(answers, None))


def count(hooks: Hooks, event: Any) -> list[Any]:
    noted: list[Any] = []
    hooks.on(event)(noted.append)
    return noted


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
def test_what_a_hook_says_while_it_denies_is_read_with_the_next_request(event: str) -> None:
    hooks = Hooks()
    answer_once(hooks, event, combine(deny("no"), message("mind")))
    line = Line(hooks, say("a"), say("b"))
    assert line.ask().json()["candidates"][0]["content"]["parts"] == [{"text": "no"}]
    assert line.call.stop is None
    line.ask()
    last = json.loads(line.sent[-1].content)["contents"][-1]
    assert last == {"role": "user", "parts": [{"text": "[System] mind"}]}
    assert b"mind" not in line.sent[0].content or event == "BeforeModel"


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
@pytest.mark.parametrize("path", [PATH, STREAM])
def test_a_stop_answers_every_further_request_of_the_call(event: str, path: str) -> None:
    hooks = Hooks()
    answer_once(hooks, event, stop("enough"))
    reply = b"data: %s\r\n\r\n" % json.dumps(say("a")).encode() if path == STREAM else say("a")
    line = Line(hooks, reply)
    for _ in range(2):
        response = line.ask(path=path)
        text = response.text.removeprefix("data: ")
        assert text.startswith("{") and "enough" in text and "STOP" in text  # noqa: PT018
        assert ("data: " in response.text) == (path == STREAM)
    assert (line.call.stop, line.call.requests) == ("enough", 2)
    assert len(line.sent) == (1 if event == "AfterModel" else 0)


def test_a_request_that_failed_is_not_shown_again_and_one_that_came_through_is() -> None:
    hooks = Hooks()
    seen = count(hooks, "BeforeModel")
    line = Line(hooks, 503, say("a"), say("b"))
    assert line.ask().status_code == 503
    assert line.ask() is line.responses[1]
    assert len(seen) == 1
    assert line.ask() is line.responses[2]
    assert len(seen) == 2


def test_another_request_than_the_one_that_failed_is_shown() -> None:
    hooks = Hooks()
    seen = count(hooks, "BeforeModel")
    line = Line(hooks, 503, say("a"))
    line.ask()
    line.ask({"contents": [{"parts": [{"text": "ho"}]}]})
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("model", "path"),
    [("other", "/v1beta/models/other:generateContent"), ("tunedModels/x", PATH), ("m", PATH)],
)
def test_a_model_that_a_hook_sets_is_in_the_path_if_it_can_be(
    model: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()
    wanted = {"model": model, "config": {"topK": 3}}
    hooks.on("BeforeModel")(lambda _event: {"hookSpecificOutput": {"llm_request": wanted}})
    line = Line(hooks, say("a"))
    line.ask(**{"x-goog-api-key": "k"})
    [sent] = line.sent
    assert (sent.url.path, sent.headers["x-goog-api-key"]) == (path, "k")
    assert json.loads(sent.content) == {**BODY, "generationConfig": {"topK": 3}}
    assert sent.headers["content-length"] == str(len(sent.content))
    assert ("which cannot replace m; it was ignored" in caplog.text) == ("/" in model)


def test_a_response_that_hooks_change_keeps_its_headers_but_those_of_the_body() -> None:
    hooks = Hooks()
    changed = {"hookSpecificOutput": {"llm_response": {"text": "[hidden]"}}, "suppressOutput": True}
    hooks.on("AfterModel")(lambda _event: changed)
    line = Line(hooks, say("secret"))
    response = line.ask()
    assert response is not line.responses[0]
    assert (response.headers["x"], "secret" in response.text) == ("1", False)
    assert response.headers["content-length"] == str(len(response.content))


@pytest.mark.parametrize("is_hidden", [True, False])
def test_a_response_that_hooks_want_hidden_is_warned_of(
    is_hidden: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: {"suppressOutput": is_hidden})
    line = Line(hooks, say("a"))
    assert line.ask() is line.responses[0]
    assert bool(caplog.text) == is_hidden


def restrict(hooks: Hooks, *names: str) -> Hooks:
    chosen = {"toolConfig": {"mode": "ANY", "allowedFunctionNames": list(names)}}
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": chosen})
    return hooks


TOOLS: Json = {
    **BODY,
    "tools": [{"functionDeclarations": [{"name": "read"}, {"name": "shell"}]}],
}


def write(*chunks: Any, end: bytes = b"\r\n\r\n") -> bytes:
    return b"".join(b"data: %s%s" % (json.dumps(chunk).encode(), end) for chunk in chunks)


def test_calls_that_hooks_do_not_allow_are_left_out_of_a_stream_as_it_passes() -> None:
    allowed = say("so", ask_for("read"))
    stream = b": a comment\n\n" + write(allowed, say("x", ask_for("shell")))
    broken = b'data: {"error": {"code": 500}}'
    line = Line(restrict(Hooks(), "read"), stream + broken)
    response = line.ask(TOOLS, STREAM)
    passed = b": a comment\n\n" + write(allowed)
    assert response.content.startswith(passed)
    assert response.content.endswith(broken)
    assert b"shell" not in response.content
    assert b'"x"' in response.content


def test_a_stream_that_hooks_must_see_passes_whole_if_they_leave_it() -> None:
    hooks = Hooks()
    seen = count(hooks, "AfterModel")
    stream = b": a comment\n\n" + write(say("a"), say("b"))[:-4]
    assert Line(hooks, stream).ask(path=STREAM).content == stream
    assert [event["llm_response"]["text"] for event in seen] == ["ab"]


def test_a_stream_that_broke_off_shows_its_error_alone() -> None:
    hooks = Hooks()
    seen = count(hooks, "AfterModel")
    error = {"error": {"code": 500}}
    response = Line(hooks, write(say("secret"), error, say("b"))).ask(path=STREAM)
    assert response.content == write(error)
    assert not seen


def test_arguments_that_are_streamed_are_held_back_with_their_call() -> None:
    config = {"functionCallingConfig": {"streamFunctionCallArguments": True}}
    more = {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "secret"}]}}
    line = Line(restrict(Hooks(), "read"), write(say(ask_for("shell")), say(more)))
    response = line.ask({**TOOLS, "toolConfig": config}, STREAM)
    assert b"secret" not in response.content


@pytest.mark.parametrize("strict", [True, False])
def test_each_way_around_hooks_is_told_once_and_refused_in_strict_mode(
    strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    line = Line(Hooks(strict=strict), *[{}] * 4)
    for path in ("/v1beta/interactions", "/v1beta/models/m:batchGenerateContent") * 2:
        if strict:
            with pytest.raises(HooklineError, match="strict mode does not allow that"):
                line.ask({}, path)
        else:
            line.ask({}, path)
    assert len(line.sent) == (0 if strict else 4)
    assert caplog.text.count("hooks do not see") == (0 if strict else 2)


@pytest.mark.parametrize("respond", [lambda line: line.ask(b"{"), lambda line: line.ask([1])])
def test_a_body_that_nobody_can_read_is_sent_as_it_is(respond: Callable[[Line], Any]) -> None:
    hooks = Hooks()
    count(hooks, "BeforeModel")
    line = Line(hooks, 400)
    line.conversation.keep("kept")
    assert respond(line).status_code == 400
    assert line.sent[0].content in (b"{", b"[1]")
