"""A model call with everything applied that hooks say, for functions of one's own that take and
give JSON; tests/adapters/calls has the same with the clients of the SDKs."""

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from hookline import Hooks, add_context, combine, deny, message, stop

ADDRESS = "ada@example.org"
MESSAGES = [{"role": "user", "content": "who?"}]


def completion(text: str | None, *calls: str, **more: Any) -> dict[str, Any]:
    """A response of chat completions, with calls of tools."""
    said: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        said["tool_calls"] = [call(name, number) for number, name in enumerate(calls)]
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if calls else "stop"}
    return {"id": "c", "model": "m", "choices": [choice], **more}


def call(name: str, number: int) -> dict[str, Any]:
    function = {"name": name, "arguments": '{"x": 1}'}
    return {"id": f"call_{number}", "type": "function", "function": function}


def chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


TEXT_STREAM = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "ask ada@exam"}),
    chunk({"content": "ple.org"}),
    chunk({}, "stop"),
    {"id": "c", "model": "m", "choices": [], "usage": {"prompt_tokens": 1}},
]


def replace_address(event: Any) -> dict[str, Any] | None:
    text = event["llm_response"].get("text", "")
    if ADDRESS not in text:
        return None
    return {"hookSpecificOutput": {"llm_response": {"text": text.replace(ADDRESS, "[gone]")}}}


def change_request(**changes: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"llm_request": changes}}


def select(*names: str, mode: str = "AUTO") -> dict[str, Any]:
    return {"hookSpecificOutput": {"toolConfig": {"mode": mode, "allowedFunctionNames": names}}}


TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {}}} for name in ("read", "shell")
]


class Model:
    """A function of one's own that answers with what it is given, and keeps the requests."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []

    def create(self, **request: Any) -> Any:
        self.requests.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer

    async def acreate(self, **request: Any) -> Any:
        await asyncio.sleep(0)
        return self.create(**request)


@pytest.fixture(params=["awaited", "awaited, a plain client", "blocking"])
def run(request: pytest.FixtureRequest) -> Any:
    """``model_call`` of the front and of its synchronous twin; a stream's chunks as a list."""

    def call_model(hooks: Hooks, model: Model, /, **arguments: Any) -> Any:
        if request.param == "blocking":
            answer = hooks.sync.model_call(model.create, **arguments)
            return list(answer) if hasattr(answer, "__next__") else answer
        create = model.acreate if request.param == "awaited" else model.create

        async def call_it() -> Any:
            answer = await hooks.model_call(create, **arguments)
            return list(answer) if hasattr(answer, "__next__") else answer

        return asyncio.run(call_it())

    return call_model


def hooks_that(**answers: Any) -> Hooks:
    """Hooks by event: a function of the event, or what it answers each time."""
    hooks = Hooks()
    for event, answer in answers.items():
        hooks.on(event)(answer if callable(answer) else functools.partial(_give, answer))
    return hooks


def _give(answer: Any, _event: Any) -> Any:
    return answer


def test_a_call_that_no_hook_touches_passes_the_clients_objects(run: Any) -> None:
    response, messages = completion("hi"), list(MESSAGES)
    model = Model(response)
    assert run(Hooks(), model, model="m", messages=messages) is response
    assert model.requests == [{"model": "m", "messages": messages}]
    assert model.requests[0]["messages"] is messages


def test_hooks_see_the_call_in_their_order_and_in_its_session() -> None:
    hooks, seen = Hooks(), []
    for event in ("BeforeToolSelection", "BeforeModel", "AfterModel"):
        hooks.on(event)(lambda given: seen.append((given["hook_event_name"], given["session_id"])))
    hooks.session("s1").sync.model_call(Model(completion("hi")).create, model="m", messages=[])
    assert seen == [("BeforeToolSelection", "s1"), ("BeforeModel", "s1"), ("AfterModel", "s1")]


def test_a_hook_changes_what_is_sent(run: Any) -> None:
    changed = [{"role": "user", "content": "whom?"}]
    hooks = hooks_that(BeforeModel=change_request(messages=changed, config={"temperature": 0.5}))
    model = Model(completion("hi"))
    run(hooks, model, model="m", messages=MESSAGES, seed=7)
    assert model.requests == [{"model": "m", "messages": changed, "seed": 7, "temperature": 0.5}]


def test_a_hooks_message_before_the_call_is_sent_with_it(run: Any) -> None:
    model = Model(completion("hi"))
    run(hooks_that(BeforeModel=message("be brief")), model, model="m", messages=MESSAGES)
    assert model.requests[0]["messages"][-1] == {"role": "system", "content": "be brief"}


@pytest.mark.parametrize("said", [deny("no ledgers"), stop("no ledgers")])
def test_a_blocked_call_is_not_made_and_its_answer_says_why(run: Any, said: Any) -> None:
    model = Model(completion("never"))
    answer = run(hooks_that(BeforeModel=said), model, model="m", messages=MESSAGES)
    assert model.requests == []
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "no ledgers"}
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_a_hook_that_denies_on_a_word_of_the_prompt_sees_it(run: Any) -> None:
    def guard(event: Any) -> Any:
        prompt = event["llm_request"]["messages"][-1]["content"]
        return deny("not that") if "secret" in prompt else None

    model, hooks = Model(completion("fine")), hooks_that(BeforeModel=guard)
    prompts = ("the secret", "the weather")
    answers = [
        run(hooks, model, model="m", messages=[{"role": "user", "content": each}])
        for each in prompts
    ]
    said = [answer["choices"][0]["message"]["content"] for answer in answers]
    assert said == ["not that", "fine"]
    assert len(model.requests) == 1


def test_a_hook_answers_in_the_models_place(run: Any) -> None:
    said = {"hookSpecificOutput": {"llm_response": {"text": "from a cache"}}}
    model = Model(completion("never"))
    answer = run(hooks_that(BeforeModel=said), model, model="m", messages=MESSAGES)
    assert answer["choices"][0]["message"]["content"] == "from a cache"
    assert model.requests == []


def test_a_blocked_stream_is_chunks_that_carry_the_reason(run: Any) -> None:
    model = Model(lambda: iter(TEXT_STREAM))
    chunks = run(
        hooks_that(BeforeModel=deny("no")), model, model="m", messages=MESSAGES, stream=True
    )
    assert model.requests == []
    assert "".join(each["choices"][0]["delta"].get("content") or "" for each in chunks) == "no"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert {each["object"] for each in chunks} == {"chat.completion.chunk"}


def test_a_response_is_redacted(run: Any) -> None:
    logprobs = {"content": [{"token": "ada@"}]}
    given = completion(f"ask {ADDRESS}")
    given["choices"][0]["logprobs"] = logprobs
    answer = run(hooks_that(AfterModel=replace_address), Model(given), model="m", messages=MESSAGES)
    assert answer["choices"][0]["message"]["content"] == "ask [gone]"
    assert "ada@" not in json.dumps(answer)


def test_a_redacted_stream_has_no_trace_of_the_text(run: Any) -> None:
    seen = []

    def redact(event: Any) -> Any:
        seen.append(event["llm_response"]["text"])
        return replace_address(event)

    chunks = run(
        hooks_that(AfterModel=redact),
        Model(lambda: iter(TEXT_STREAM)),
        model="m",
        messages=MESSAGES,
        stream=True,
    )
    assert seen == [f"ask {ADDRESS}"]
    assert "ada" not in json.dumps(chunks)
    deltas = [choice["delta"] for each in chunks for choice in each["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "ask [gone]"
    assert chunks[-1]["usage"] == {"prompt_tokens": 1}


def test_a_stream_that_hooks_leave_alone_is_replayed_as_it_came(run: Any) -> None:
    hooks = hooks_that(AfterModel=lambda _event: None)
    chunks = run(hooks, Model(lambda: iter(TEXT_STREAM)), model="m", messages=MESSAGES, stream=True)
    assert len(chunks) == len(TEXT_STREAM)
    assert all(map(lambda new, old: new is old, chunks, TEXT_STREAM))


def test_the_clients_own_stream_is_the_answer_where_hooks_have_no_say() -> None:
    stream = iter(TEXT_STREAM)
    hooks = hooks_that(BeforeModel=lambda _event: None)
    answer = hooks.sync.model_call(lambda **_request: stream, messages=MESSAGES, stream=True)
    assert answer is stream


def test_a_rejected_response_gives_the_reason_alone(run: Any) -> None:
    hooks = hooks_that(AfterModel=deny("leaks a key"))
    answer = run(hooks, Model(completion("the key", "shell")), model="m", messages=MESSAGES)
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "leaks a key"}
    stream = run(hooks, Model(lambda: iter(TEXT_STREAM)), model="m", messages=MESSAGES, stream=True)
    assert "ada" not in json.dumps(stream)
    assert stream[0]["choices"][0]["delta"]["content"] == "leaks a key"


def test_a_stop_after_the_call_leaves_no_calls_so_that_the_loop_ends(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = hooks_that(AfterModel=stop("enough"))
    answer = run(hooks, Model(completion("I will", "shell")), model="m", messages=MESSAGES)
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "I will"}
    assert answer["choices"][0]["finish_reason"] == "stop"
    alone = run(hooks, Model(completion(None, "shell")), model="m", messages=MESSAGES)
    assert alone["choices"][0]["message"]["content"] == "enough"
    assert "a hook ends the loop: enough" in caplog.text


def test_what_hooks_say_to_people_after_the_call_is_told(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    response = completion("hi")
    hooks = hooks_that(AfterModel=message("check the figures"))
    assert run(hooks, Model(response), model="m", messages=MESSAGES) is response
    assert "a hook says of this model call: check the figures" in caplog.text
    hooks = hooks_that(AfterModel=combine(message("unseen"), {"suppressOutput": True}))
    assert run(hooks, Model(response), model="m", messages=MESSAGES) is response
    assert "wants this response hidden from the user" in caplog.text
    assert "unseen" not in caplog.text


# -- tools that tool selection does not allow


def test_calls_outside_what_hooks_allow_are_left_out(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    model = Model(completion("so", "shell", "read"))
    hooks = hooks_that(BeforeToolSelection=select("read"))
    answer = run(hooks, model, model="m", messages=MESSAGES, tools=TOOLS)
    message = answer["choices"][0]["message"]
    assert [each["function"]["name"] for each in message["tool_calls"]] == ["read"]
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    sent = model.requests[0]
    offered = [tool["function"]["name"] for tool in sent["tools"]]
    assert (offered, sent["tool_choice"]) == (["read"], "auto")
    assert "the model called shell, which hooks do not allow in this call" in caplog.text


async def test_a_tool_that_is_refused_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    hooks = hooks_that(BeforeToolSelection=select("read"))
    gate = await hooks.model_gate({"model": "m", "messages": MESSAGES, "tools": TOOLS})
    call = {"id": "1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    response = completion("hm")
    response["choices"][0]["message"]["tool_calls"] = [call, call]
    for _ in range(2):
        assert gate.find_refused(response) == ["shell"]
    assert caplog.text.count("the model called shell, which hooks do not allow") == 1
    free = await Hooks().model_gate({"model": "m", "messages": MESSAGES, "tools": TOOLS})
    assert (free.allowed, free.find_refused(response)) == (None, [])
    assert free.refuse_calls(response) is response


def test_a_response_of_refused_calls_alone_says_so(run: Any) -> None:
    hooks = hooks_that(BeforeToolSelection=select("read"))
    answer = run(hooks, Model(completion(None, "shell")), model="m", messages=MESSAGES, tools=TOOLS)
    said = {"role": "assistant", "content": "The tool shell is not allowed in this call."}
    assert answer["choices"][0]["message"] == said
    assert answer["choices"][0]["finish_reason"] == "stop"


def fragments(*calls: tuple[int, str]) -> list[dict[str, Any]]:
    """A stream of calls, each in three fragments, all mixed."""
    starts = [
        chunk({"tool_calls": [{"index": n, "id": f"c{n}", "type": "function",
                               "function": {"name": name, "arguments": ""}}]})
        for n, name in calls
    ]  # fmt: skip
    rest = [
        chunk({"tool_calls": [{"index": n, "function": {"arguments": part}}]})
        for part in ('{"x":', " 1}")
        for n, _ in calls
    ]
    return [chunk({"role": "assistant", "content": None}), *starts, *rest, chunk({}, "tool_calls")]


@pytest.mark.parametrize("judged", [False, True])
def test_a_stream_passes_without_refused_calls_and_is_numbered_anew(run: Any, judged: bool) -> None:
    hooks = hooks_that(BeforeToolSelection=select("read"))
    if judged:
        hooks.on("AfterModel")(lambda _event: None)
    stream = fragments((0, "shell"), (1, "read"))
    chunks = run(
        hooks,
        Model(lambda: iter(stream)),
        model="m",
        messages=MESSAGES,
        tools=TOOLS,
        stream=True,
    )
    text = json.dumps(chunks)
    assert "shell" not in text
    assert "c0" not in text
    calls = [
        each
        for one in chunks
        for choice in one["choices"]
        for each in choice["delta"].get("tool_calls") or ()
    ]
    assert {each["index"] for each in calls} == {0}
    assert "".join(each["function"]["arguments"] for each in calls) == '{"x": 1}'
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("judged", [False, True])
def test_a_stream_of_refused_calls_alone_says_so(run: Any, judged: bool) -> None:
    hooks = hooks_that(BeforeToolSelection=select("read"))
    if judged:
        hooks.on("AfterModel")(lambda _event: None)
    stream = fragments((0, "shell"))
    chunks = run(
        hooks,
        Model(lambda: iter(stream)),
        model="m",
        messages=MESSAGES,
        tools=TOOLS,
        stream=True,
    )
    said = [each["choices"][0]["delta"].get("content") for each in chunks]
    assert list(filter(None, said)) == ["The tool shell is not allowed in this call."]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert "arguments" not in json.dumps(chunks)


def test_text_passes_while_the_stream_is_still_under_way() -> None:
    """Where only calls are left out, nothing else waits for the end."""
    read: list[int] = []

    def stream() -> Iterator[Any]:
        for number, each in enumerate([*TEXT_STREAM[:3], *fragments((0, "shell"))]):
            read.append(number)
            yield each

    hooks = hooks_that(BeforeToolSelection=select("read"))
    answer = hooks.sync.model_call(
        lambda **_request: stream(), model="m", messages=MESSAGES, tools=TOOLS, stream=True
    )
    assert next(answer) is TEXT_STREAM[0]
    assert next(answer) is TEXT_STREAM[1]
    assert read == [0, 1]
    answer.close()


def test_a_call_whose_name_comes_late_waits_for_it_and_cannot_grow_into_another() -> None:
    def part(**function: Any) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": 0, "function": function}]})

    stream = [
        chunk({"tool_calls": [{"index": 0, "id": "c0", "type": "function"}]}),
        part(name="read", arguments=""),
        part(name="_all", arguments="{"),
        part(arguments="}"),
        chunk({}, "tool_calls"),
    ]
    answer = hooks_that(BeforeToolSelection=select("read")).sync.model_call(
        lambda **_request: iter(stream), messages=MESSAGES, tools=TOOLS, stream=True
    )
    fragments = [
        each for one in answer for each in one["choices"][0]["delta"].get("tool_calls") or ()
    ]
    assert fragments[0] == {"index": 0, "id": "c0", "type": "function"}
    assert [each["function"].get("name") for each in fragments[1:]] == ["read", None, None]
    assert "".join(each["function"]["arguments"] for each in fragments[1:]) == "{}"


def test_the_form_before_tool_calls_is_checked_too() -> None:
    stream = [
        chunk({"role": "assistant", "function_call": {"name": "shell", "arguments": ""}}),
        chunk({"function_call": {"arguments": "{}"}}),
        chunk({}, "function_call"),
    ]
    hooks = hooks_that(BeforeToolSelection=select("read"))
    answer = hooks.sync.model_call(
        lambda **_request: iter(stream), messages=MESSAGES, tools=TOOLS, stream=True
    )
    chunks = list(answer)
    assert "function_call" not in json.dumps(chunks)
    assert chunks[-1]["choices"][0] == {
        "index": 0,
        "delta": {"content": "The tool shell is not allowed in this call."},
        "finish_reason": "stop",
    }


# -- what a client does not take


def test_what_a_hook_sets_and_the_client_does_not_take_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def create(*, model: str, messages: Any) -> Any:
        return completion(f"{model} {messages[-1]['content']}")

    hooks = hooks_that(
        BeforeModel=change_request(model="other", config={"temperature": 0.5, "topP": 1})
    )
    answer = hooks.sync.model_call(create, model="m", messages=MESSAGES)
    assert answer["choices"][0]["message"]["content"] == "other who?"
    assert "temperature, top_p was left out of the request" in caplog.text


def test_what_the_caller_gives_is_never_left_out() -> None:
    def create(*, model: str, messages: Any) -> Any:  # noqa: ARG001
        return completion("never")

    hooks = hooks_that(BeforeModel=change_request(model="other"))
    with pytest.raises(TypeError, match="temperature"):
        hooks.sync.model_call(create, model="m", messages=MESSAGES, temperature=1)


def test_what_a_partial_brings_along_is_shown_to_hooks() -> None:
    model = Model(completion("never"))
    create = functools.partial(functools.partial(model.create, model="m"), messages=MESSAGES)
    seen: list[Any] = []
    hooks = hooks_that(BeforeModel=lambda event: seen.append(event["llm_request"]["messages"]))
    hooks.sync.model_call(create, model="other")
    assert seen == [MESSAGES]
    assert model.requests == [{"model": "other", "messages": MESSAGES}]


def test_messages_that_can_be_read_once_are_read_for_hooks_and_the_client() -> None:
    model, seen = Model(completion("hi")), []
    hooks = hooks_that(BeforeModel=lambda event: seen.append(event["llm_request"]["messages"]))
    hooks.sync.model_call(model.create, model="m", messages=iter(MESSAGES))
    assert seen == [MESSAGES]
    assert model.requests[0]["messages"] == MESSAGES


# -- bad input


@pytest.mark.parametrize("nothing", [None, 7, {"answer": 42}, object()])
def test_a_response_that_nobody_can_read_is_loud_and_passes(
    run: Any, nothing: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = hooks_that(AfterModel=deny("never asked"))
    assert run(hooks, Model(nothing), model="m", messages=MESSAGES) is nothing
    assert "AfterModel failed at translation" in caplog.text


@pytest.mark.parametrize("nothing", [None, 7, {"answer": 42}])
def test_a_response_that_nobody_can_read_is_blocked_where_hooks_fail_closed(
    run: Any, nothing: Any
) -> None:
    hooks = Hooks()
    hooks.on("AfterModel", on_failure="block")(lambda _event: None)
    answer = run(hooks, Model(nothing), model="m", messages=MESSAGES)
    assert "a model response" in answer["choices"][0]["message"]["content"]


NO_CHUNKS: list[list[Any]] = [
    *([], [7], [{"x": 1}], [{"choices": 3}], [{"choices": [4]}]),
    # A complete response, and one of an older API: no chunks of this one.
    [completion("whole")],
    [{"choices": [{"index": 0, "text": "old"}]}],
]


@pytest.mark.parametrize("chunks", NO_CHUNKS)
def test_a_stream_that_nobody_can_read_is_loud_and_passes_or_is_blocked(
    run: Any, chunks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = {"model": "m", "messages": MESSAGES, "stream": True}
    hooks = hooks_that(AfterModel=deny("never asked"))
    assert run(hooks, Model(lambda: iter(chunks)), **arguments) == chunks
    assert "AfterModel failed at translation" in caplog.text
    hooks = Hooks()
    hooks.on("AfterModel", on_failure="block")(lambda _event: None)
    blocked = run(hooks, Model(lambda: iter(chunks)), **arguments)
    assert "cannot be" in blocked[0]["choices"][0]["delta"]["content"]


@pytest.mark.parametrize("chunks", [[7], [{"x": 1}], [{"choices": 3}], [{"choices": [4]}]])
def test_chunks_that_nobody_can_read_pass_a_restriction_loudly(
    run: Any, chunks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = hooks_that(BeforeToolSelection=select("read"))
    model = Model(lambda: iter(chunks))
    arguments = {"model": "m", "messages": MESSAGES, "stream": True, "tools": TOOLS}
    assert run(hooks, model, **arguments) == chunks
    if chunks != [{"choices": [4]}]:
        assert "could not be read" in caplog.text


def test_a_response_that_nobody_can_read_passes_a_restriction_loudly(
    run: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = hooks_that(BeforeToolSelection=select("read"))
    answer = {"answer": 42}
    assert run(hooks, Model(answer), model="m", messages=MESSAGES, tools=TOOLS) is answer
    assert "the model's response could not be read" in caplog.text
    assert "its tool calls are not checked" in caplog.text


def test_in_strict_mode_what_cannot_be_held_to_a_restriction_does_not_pass(run: Any) -> None:
    hooks = Hooks(strict=True)
    hooks.on("BeforeToolSelection")(functools.partial(_give, select("read")))
    arguments = {"model": "m", "messages": MESSAGES, "tools": TOOLS}
    answer = run(hooks, Model({"answer": 42}), **arguments)
    assert "could not be read" in answer["choices"][0]["message"]["content"]
    assert run(hooks, Model(lambda: iter([7])), **arguments, stream=True) == []


def test_an_exception_of_the_client_goes_on_and_fires_no_after_model(run: Any) -> None:
    fired: list[Any] = []
    hooks = hooks_that(AfterModel=fired.append)
    with pytest.raises(ConnectionError, match="refused"):
        run(hooks, Model(ConnectionError("refused")), model="m", messages=MESSAGES)
    assert fired == []


def test_a_stream_that_breaks_raises_and_shows_nothing(run: Any) -> None:
    fired: list[Any] = []

    def broken() -> Iterator[Any]:
        yield TEXT_STREAM[0]
        yield TEXT_STREAM[1]
        raise ConnectionError("reset")

    hooks = hooks_that(AfterModel=fired.append)
    with pytest.raises(ConnectionError, match="reset"):
        run(hooks, Model(broken), model="m", messages=MESSAGES, stream=True)
    assert fired == []


async def async_stream() -> AsyncIterator[Any]:
    for each in TEXT_STREAM:
        yield each


async def test_an_async_stream_is_held_back_and_read_with_await() -> None:
    hooks = hooks_that(AfterModel=replace_address)

    async def create(**_request: Any) -> Any:
        return async_stream()

    for given in (create, lambda **_request: async_stream()):
        answer = await hooks.model_call(given, messages=MESSAGES, stream=True)
        async with answer as chunks:
            texts = [each["choices"][0]["delta"].get("content") async for each in chunks
                     if each["choices"]]  # fmt: skip
        assert "".join(filter(None, texts)) == "ask [gone]"


@pytest.mark.parametrize("is_coroutine", [True, False])
def test_the_synchronous_front_refuses_a_stream_that_must_be_awaited(is_coroutine: bool) -> None:
    closed: list[bool] = []

    async def stream() -> AsyncIterator[Any]:
        try:
            yield TEXT_STREAM[0]
        finally:
            closed.append(True)

    async def create(**_request: Any) -> Any:
        started = stream()
        await anext(started)
        return started

    given: Callable[..., Any] = create if is_coroutine else lambda **_request: async_stream()
    with pytest.raises(TypeError, match="cannot read a stream that must be awaited"):
        Hooks().sync.model_call(given, messages=MESSAGES, stream=True)
    assert closed == [True] * is_coroutine


async def test_a_held_stream_is_closed_with_and_without_await() -> None:
    hooks = hooks_that(BeforeModel=deny("no"))
    for _ in range(2):
        answer = await hooks.model_call(Model(None).create, messages=MESSAGES, stream=True)
        answer.close()
        assert list(answer) == []
        await answer.close()
        await answer.aclose()
        with answer, answer:
            assert [each async for each in answer] == []


class ClosingStream:
    """A client's stream that says whether it was closed."""

    def __init__(self, chunks: list[Any]) -> None:
        self.chunks = iter(chunks)
        self.closed = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.chunks)

    def close(self) -> None:
        self.closed += 1


class AsyncClosingStream:
    def __init__(self, chunks: list[Any]) -> None:
        self.chunks = iter(chunks)
        self.closed = 0

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        for each in self.chunks:
            return each
        raise StopAsyncIteration

    async def close(self) -> None:
        self.closed += 1


def test_the_clients_stream_is_closed_when_the_filtered_one_is_left() -> None:
    hooks = hooks_that(BeforeToolSelection=select("read"))
    arguments = {"messages": MESSAGES, "tools": TOOLS, "stream": True}
    stream: Any = ClosingStream(TEXT_STREAM)
    for _ in hooks.sync.model_call(lambda **_request: stream, **arguments):
        break
    assert stream.closed
    stream = ClosingStream(TEXT_STREAM)
    with hooks.sync.model_call(lambda **_request: stream, **arguments):
        pass
    assert stream.closed
    stream = ClosingStream(TEXT_STREAM)
    assert len(list(hooks.sync.model_call(lambda **_request: stream, **arguments))) == 5
    assert stream.closed


async def test_the_clients_async_stream_is_closed_when_the_filtered_one_is_left() -> None:
    hooks = hooks_that(BeforeToolSelection=select("read"))
    arguments = {"messages": MESSAGES, "tools": TOOLS, "stream": True}
    stream: Any = AsyncClosingStream(TEXT_STREAM)
    async for _ in await hooks.model_call(lambda **_request: stream, **arguments):
        break
    for _ in range(3):
        await asyncio.sleep(0)
    assert stream.closed
    stream = AsyncClosingStream(TEXT_STREAM)
    async with await hooks.model_call(lambda **_request: stream, **arguments):
        pass
    assert stream.closed


async def test_a_cancelled_call_closes_the_clients_stream() -> None:
    reading = asyncio.Event()

    class Endless(AsyncClosingStream):
        async def __anext__(self) -> Any:
            reading.set()
            await asyncio.sleep(3600)

    stream = Endless([])
    hooks = hooks_that(AfterModel=lambda _event: None)
    task = asyncio.create_task(
        hooks.model_call(lambda **_request: stream, messages=MESSAGES, stream=True)
    )
    await reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stream.closed == 1


def test_several_choices_and_unknown_fields_survive_a_redaction() -> None:
    first = [chunk({"role": "assistant", "content": f"to {ADDRESS}"}), chunk({}, "stop")]
    other = [
        chunk({"role": "assistant", "reasoning_content": "hm, "}, index=1),
        chunk({"reasoning_content": "so", "content": "other"}, index=1),
        chunk({}, "length", index=1),
    ]
    hooks = hooks_that(AfterModel=replace_address)
    answer = hooks.sync.model_call(
        lambda **_request: iter([first[0], *other, first[1]]), messages=MESSAGES, stream=True
    )
    chunks = list(answer)
    assert ADDRESS not in json.dumps(chunks)
    choices = [each["choices"][0] for each in chunks]
    assert next(c["delta"] for c in choices if c["index"] == 1) == {
        "role": "assistant",
        "content": "other",
        "reasoning_content": "hm, so",
    }
    assert [c["finish_reason"] for c in choices if c["finish_reason"]] == ["stop", "length"]


def test_hooks_own_form_is_answered_in_it() -> None:
    request = {"messages": [{"role": "model", "content": "a"}, {"role": "user", "content": "b"}]}
    hooks = hooks_that(BeforeModel=deny("no"))
    answer = hooks.sync.model_call(Model(None).create, model="m", **request)
    assert answer["candidates"][0]["content"]["parts"] == ["no"] or "text" in json.dumps(answer)


def test_context_has_no_place_in_a_model_call(run: Any) -> None:
    response = completion("hi")
    hooks = hooks_that(AfterModel=add_context("ignored"))
    assert run(hooks, Model(response), model="m", messages=MESSAGES) is response


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [
        ("anthropic.resources.messages", "stream", r"create\(…, stream=True\)"),
        ("google.genai.models", "generate_content_stream", "generate_content$"),
    ],
)
def test_a_method_that_cannot_be_guarded_is_refused_with_the_one_to_pass(
    module: str, name: str, instead: str
) -> None:
    def method(_self: object, **_request: Any) -> None:
        raise AssertionError("it was called")

    method.__name__ = name
    client = type("Client", (), {"__module__": module, name: method})()
    with pytest.raises(TypeError, match=f"model_call cannot guard {name}; pass {instead}"):
        Hooks().sync.model_call(getattr(client, name), messages=MESSAGES)
