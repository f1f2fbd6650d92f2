"""One conversation: what a model call adds to it, and what a call that fails leaves as it was."""

import asyncio
from typing import Any

import pytest

from hookline import Config, Hooks, deny
from hookline.agent import Chat, ScriptedProvider, Tool
from hookline.agent.providers.scripted import call
from hookline.agent.turns import text_turn
from tests.agent.scripts import hooks, say
from tests.eleven import until

LATER = hooks("AfterModel", say({"systemMessage": "later"}))


def break_off(_request: Any) -> Any:
    """A reply that breaks in its middle; made anew, since an exception keeps all that it passed."""
    return "half ", OSError("reset")


def roles(provider: ScriptedProvider, number: int) -> list[tuple[str, str]]:
    """Role and text of each message that one request held."""
    contents = provider.requests[number]["contents"]
    return [(each["role"], each["parts"][0]["text"]) for each in contents]


async def test_a_message_for_the_next_request_survives_a_stream_that_breaks() -> None:
    provider = ScriptedProvider(["one", break_off, "three"])
    chat = Chat(Config(hooks=LATER), provider)
    await chat.send("a")
    with pytest.raises(OSError, match="reset"):
        await chat.send("b")
    await chat.send("c")
    kept = [("user", "a"), ("model", "one")]
    assert roles(provider, 1) == [*kept, ("user", "b"), ("user", "[System] later")]
    assert roles(provider, 2) == [*kept, ("user", "c"), ("user", "[System] later")]


async def test_a_message_for_the_next_request_is_sent_once_and_then_part_of_the_history() -> None:
    hooks = Hooks()
    said = iter(["later", None, None])
    hooks.on("AfterModel")(lambda _event: {"systemMessage": next(said)})
    provider = ScriptedProvider(["one", "two", "three"])
    chat = Chat(hooks, provider)
    for prompt in "abc":
        await chat.send(prompt)
    assert str(provider.requests[2]).count("[System] later") == 1
    assert [turn.role for turn in chat.history].count("system") == 1


async def test_a_stream_that_breaks_leaves_no_turn_and_no_outcome_of_the_call_before() -> None:
    provider = ScriptedProvider(["one", break_off])
    chat = Chat(Config(), provider)
    await chat.send("a")
    before = list(chat.history)
    with pytest.raises(OSError, match="reset"):
        await chat.send("b")
    assert chat.history == before
    assert chat.last_turn is None


async def test_a_display_that_waits_for_hooks_shows_nothing_of_a_stream_that_breaks() -> None:
    shown: list[Any] = []
    chat = Chat(Config(), ScriptedProvider([break_off]), display="after_hooks")
    with pytest.raises(OSError, match="reset"):
        shown.extend([chunk async for chunk in chat.stream("a")])
    assert shown == []


@pytest.mark.parametrize(
    ("display", "checks", "texts"),
    [
        ("live", True, ["a ", "cat"]),
        ("after_hooks", True, ["a cat"]),
        ("after_hooks", False, ["a ", "cat"]),
    ],
)
async def test_a_response_is_shown_as_it_streams_or_once_hooks_have_checked_it(
    display: Any, checks: bool, texts: list[str]
) -> None:
    provider, hooks = ScriptedProvider([("a ", "cat")]), Hooks()
    if checks:
        hooks.on("AfterModel")(lambda _event: None)
    chat = Chat(hooks, provider, display=display)
    shown = [provider.conversation.text(chunk) async for chunk in chat.stream("draw")]
    assert shown == texts
    assert chat.last_turn is not None
    assert chat.last_turn.text == "a cat"


async def test_closing_a_display_early_ends_the_call_and_leaves_the_history_alone() -> None:
    ended: list[str] = []

    class Endless(ScriptedProvider):
        async def stream(self, request: Any) -> Any:
            try:
                while True:
                    async for chunk in super().stream(request):
                        yield chunk
            finally:
                ended.append("stream")

    chat = Chat(Config(), Endless())
    stream = chat.stream("a")
    await anext(stream)
    await stream.aclose()
    assert ended == ["stream"]
    assert chat.history == []


async def test_a_chat_goes_on_with_the_model_and_the_configuration_it_is_switched_to() -> None:
    first, second = ScriptedProvider(["one"]), ScriptedProvider(["two"], model="other")
    chat = Chat(Config(), first, model_config={"temperature": 1})
    await chat.send("a")
    chat.switch(second, model_config={"temperature": 0})
    assert (await chat.send("b")).text == "two"
    assert first.requests[0]["config"] == {"temperature": 1}
    assert second.requests[0]["config"] == {"temperature": 0}
    assert second.requests[0]["model"] == "other"
    assert roles(second, 0) == [("user", "a"), ("model", "one"), ("user", "b")]


async def test_an_answer_that_says_nothing_adds_no_turn_of_the_model() -> None:
    chat = Chat(Config(), ScriptedProvider([{"candidates": []}]))
    turned = await chat.send("a")
    assert (turned.text, turned.calls, turned.blocked) == ("", (), False)
    assert [turn.role for turn in chat.history] == ["user"]


@pytest.mark.parametrize("is_blocked", [False, True])
async def test_the_calls_of_a_response_that_hooks_reject_are_not_asked_for(
    is_blocked: bool,
) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: deny("no") if is_blocked else None)
    chat = Chat(hooks, ScriptedProvider([["so", call("note", text="x")]]))
    turned = await chat.send("a")
    assert [asked.name for asked in turned.calls] == ([] if is_blocked else ["note"])
    assert (turned.blocked, turned.reason) == (is_blocked, "no" if is_blocked else None)
    assert turned.stop_reason is None


async def test_what_tool_selection_left_is_told_with_the_turn_and_none_is_all() -> None:
    hooks = Hooks()
    tools = [Tool(name="note", run=str), Tool(name="other", run=str)]
    chat = Chat(hooks, ScriptedProvider(), tools=tools)
    assert (await chat.send("a")).allowed_tools is None
    narrow = {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["other"]}}
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": narrow})
    assert (await chat.send("b")).allowed_tools == frozenset({"other"})


async def test_a_stop_keeps_the_model_from_summarizing_and_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: {"continue": False, "stopReason": "enough"})
    chat = Chat(hooks, ScriptedProvider(summary="the gist"))
    assert await chat.summarize([text_turn("user", "a")]) is None
    assert "summarize the conversation, so it is kept whole: enough" in caplog.text


async def test_a_hook_may_write_the_summary_in_the_models_place() -> None:
    hooks = Hooks()
    answer = {"candidates": [{"content": {"role": "model", "parts": ["mine"]}}]}
    hooks.on("BeforeModel")(lambda _event: {"hookSpecificOutput": {"llm_response": answer}})
    provider = ScriptedProvider(summary=lambda _turns: pytest.fail("the model was asked"))
    assert await Chat(hooks, provider).summarize([text_turn("user", "a")]) == "mine"


async def test_a_call_cancelled_in_its_stream_leaves_the_message_for_the_next_request() -> None:
    provider = ScriptedProvider(["one", "two", "three"])
    chat = Chat(Config(hooks=LATER), provider)
    await chat.send("a")
    provider.delay = 30
    sending = asyncio.create_task(chat.send("b"))
    await until(lambda: len(provider.requests) == 2)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    provider.delay = 0
    await chat.send("c")
    assert roles(provider, 2)[2:] == [("user", "c"), ("user", "[System] later")]


async def test_a_scripted_reply_may_be_whole_responses_a_function_or_the_end_of_the_script() -> (
    None
):
    whole = [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in "ab"]
    provider = ScriptedProvider([tuple(whole), lambda request: str(len(request["contents"]))])
    chat = Chat(Config(), provider)
    assert [(await chat.send("go")).text for _ in range(3)] == ["ab", "3", "(end of the script)"]
    assert [request["model"] for request in provider.requests] == ["scripted"] * 3


async def test_only_the_last_chunk_of_a_scripted_reply_says_that_it_is_the_end() -> None:
    chunks = [each async for each in ScriptedProvider([("a", ["b", call("note")])]).stream({})]
    [first], [last] = (each["candidates"] for each in chunks)
    assert first == {"content": {"role": "model", "parts": [{"text": "a"}]}, "index": 0}
    assert last["finishReason"] == "STOP"
    assert last["content"]["parts"] == [{"text": "b"}, call("note")]


async def test_the_provider_summarizes_what_no_hook_changes_and_gets_the_turns_themselves() -> None:
    asked: list[Any] = []

    def summarize(turns: Any) -> str:
        asked.append(turns)
        return "the gist"

    provider = ScriptedProvider(summary=summarize)
    turns = [text_turn("user", "a"), text_turn("model", "b")]
    assert await Chat(Config(), provider).summarize(turns) == "the gist"
    assert asked == [turns]
    assert provider.requests == []
