"""Anthropic's real client over real HTTP: what the server was sent, what came of its answers."""

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.types import Message

from hookline import Config, HooklineError, Hooks
from hookline.agent import AnthropicProvider, Chat, FunctionCall, Media, Text, Tool, Turn
from hookline.agent.providers.anthropic import MAX_TOKENS, AnthropicConversation
from hookline.agent.turns import CallResult, Opaque
from tests.adapters.providers.running import PIXEL, SCHEMA, agent, anthropic_served
from tests.adapters.providers.server import ModelServer, message, plain_message, text, tool_use
from tests.agent.scripts import hooks, say

HELLO = message(text("Hello"))
WRITE = tool_use("toolu_a", "write", text="hi")
THOUGHT = {"type": "thinking", "thinking": "hm, hm", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "ZW5j"}


async def test_a_streamed_answer_is_shown_as_it_comes_and_merged_into_the_sdks_type() -> None:
    async with anthropic_served(HELLO) as (server, provider):
        chat = Chat(Config(), provider)
        shown = [provider.conversation.text(event) async for event in chat.stream("hi")]
    assert [said for said in shown if said] == ["He", "llo"]
    assert chat.last_turn is not None
    response = chat.last_turn.response
    assert type(response) is Message
    assert Message.model_validate(response.to_dict()) == response
    assert (response.stop_reason, response.usage.output_tokens) == ("end_turn", 2)
    assert chat.last_turn.text == "Hello"
    assert server.bodies == [
        {
            "model": "claude-test",
            "max_tokens": MAX_TOKENS,
            "messages": [{"role": "user", "content": "hi"}],
            "stream": True,
        }
    ]


async def test_a_held_back_answer_is_shown_once_and_whole() -> None:
    async with anthropic_served(HELLO) as (_, provider):
        hooks = Hooks()
        hooks.on("AfterModel")(lambda _event: None)
        chat = Chat(hooks, provider, display="after_hooks")
        shown = [provider.conversation.text(each) async for each in chat.stream("hi")]
    assert shown == ["Hello"]


async def test_tools_in_parallel_are_declared_called_and_answered() -> None:
    """Their input comes in fragments, one of them fails, and one answers with an image."""
    fails, draws = tool_use("toolu_b", "fail"), tool_use("toolu_c", "draw")
    asked = message(text("Let me."), WRITE, fails, draws, stop="tool_use")
    config = {"system": "be brief", "max_tokens": 100}
    async with (
        anthropic_served(asked, HELLO) as (server, provider),
        agent(provider, model_config=config) as running,
    ):
        result = await running.run("go")
    first, second = server.bodies
    assert result.text == "Hello"
    assert (first["system"], first["max_tokens"]) == ("be brief", 100)
    write = {"name": "write", "description": "writes", "input_schema": SCHEMA}
    assert first["tools"][0] == write
    assert first["tools"][1]["input_schema"] == {"type": "object", "properties": {}}
    user, assistant, answers = second["messages"]
    assert user == {"role": "user", "content": "go"}
    assert assistant == {"role": "assistant", "content": [text("Let me."), WRITE, fails, draws]}
    source = {"type": "base64", "media_type": "image/png", "data": "+//+"}
    assert answers == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_a", "content": "wrote hi"},
            {
                "type": "tool_result",
                "tool_use_id": "toolu_b",
                "content": "fail failed: OSError: disk full",
                "is_error": True,
            },
            {
                "type": "tool_result",
                "tool_use_id": "toolu_c",
                "content": [text("drawn"), {"type": "image", "source": source}],
            },
        ],
    }


async def test_thinking_and_its_signature_are_fed_back_unchanged_and_are_no_text() -> None:
    thought = message(THOUGHT, HIDDEN, text("I write."), WRITE, stop="tool_use")
    thinking = {"thinking": {"type": "adaptive"}}
    async with (
        anthropic_served(thought, HELLO) as (server, provider),
        agent(provider, model_config=thinking) as running,
    ):
        await running.run("go")
    fed_back = server.bodies[1]["messages"][1]
    assert fed_back["content"] == [THOUGHT, HIDDEN, text("I write."), WRITE]
    assert running.chat.history[1].text == "I write."
    assert server.bodies[1]["thinking"] == {"type": "adaptive"}


async def test_what_only_the_api_understands_survives_in_its_place() -> None:
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
    blocks = [text("I look."), search, found, text("Found.")]
    async with anthropic_served(message(*blocks), HELLO) as (server, provider):
        chat = Chat(Config(), provider)
        await chat.send("one")
        await chat.send("two")
    assert server.bodies[1]["messages"][1]["content"] == blocks
    assert chat.history[1].text == "I look.Found."


@pytest.mark.parametrize(
    ("kept", "stop", "problem"),
    [
        (5, "max_tokens", "the answer was cut off before its end"),
        (5, "tool_use", "its arguments are not a JSON object"),
        (0, "max_tokens", "the answer was cut off before its end"),
    ],
)
async def test_a_call_whose_arguments_end_in_the_middle_is_answered_and_not_run(
    kept: int, stop: str, problem: str
) -> None:
    events = message(WRITE, stop=stop)
    is_argument = [event["type"] == "content_block_delta" for event in events]
    first = is_argument.index(True)
    cut = [*events[: first + kept], *events[first + sum(is_argument) :]]
    async with (
        anthropic_served(cut, HELLO) as (server, provider),
        agent(provider) as running,
    ):
        result = await running.run("go")
    _user, assistant, answers = server.bodies[1]["messages"]
    assert assistant["content"] == [{**WRITE, "input": {}}]
    assert answers["content"][0]["content"] == f"write was not called: {problem}"
    assert result.text == "Hello"


async def test_a_call_that_was_cut_off_is_answered_and_not_run() -> None:
    cut = message(tool_use("toolu_a", "write", text="h"), stop="max_tokens")
    async with (
        anthropic_served(cut, HELLO) as (server, provider),
        agent(provider, hooks("BeforeTool", "touch fired")) as running,
    ):
        await running.run("go")
    [answer] = server.bodies[1]["messages"][-1]["content"]
    assert answer["content"] == "write was not called: the answer was cut off before its end"
    assert answer["is_error"]
    assert not Path("fired").exists()


async def test_a_denied_call_is_answered_with_the_reason() -> None:
    denied = hooks("BeforeTool", say({"decision": "deny", "reason": "not so"}))
    async with (
        anthropic_served(message(WRITE, stop="tool_use"), HELLO) as (server, provider),
        agent(provider, denied) as running,
    ):
        await running.run("go")
    [answer] = server.bodies[1]["messages"][-1]["content"]
    assert (answer["content"], answer["is_error"]) == ("not so", True)


@pytest.mark.parametrize("blocks", [[], [text("")], [THOUGHT], [THOUGHT, text("")]])
async def test_an_empty_answer_is_no_turn(blocks: list[dict[str, Any]]) -> None:
    """The API refuses empty texts, and messages that end in a thought."""
    async with anthropic_served(message(*blocks), HELLO) as (server, provider):
        chat = Chat(Config(), provider)
        assert (await chat.send("one")).text == ""
        await chat.send("two")
    assert [said["role"] for said in server.bodies[1]["messages"]] == ["user", "user"]


EARLY = "the stream of claude-test ended before the answer was complete"
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([*HELLO[:3], "break"], "peer closed connection"),
        (message(text("Hel"), stop=None), EARLY),
        ([], EARLY),
        ([*HELLO[:3], OVERLOADED], "overloaded"),
    ],
)
async def test_a_broken_stream_fires_no_after_model_and_leaves_the_history_alone(
    events: list[Any], said: str
) -> None:
    async with anthropic_served(events) as (_, provider):
        chat = Chat(Config(hooks=hooks("AfterModel", "touch fired")), provider)
        with pytest.raises(Exception, match=said):
            await chat.send("hi")
    assert chat.history == []
    assert chat.last_turn is None
    assert not Path("fired").exists()


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
async def test_an_error_of_the_api_is_the_sdks_own(status: int) -> None:
    reply = status, {"type": "error", "error": {"type": "t", "message": "no"}}
    async with anthropic_served(reply) as (_, provider):
        chat = Chat(Config(), provider)
        with pytest.raises(anthropic.APIStatusError) as caught:
            await chat.send("hi")
    assert caught.value.status_code == status
    assert chat.history == []


async def test_a_cancelled_turn_ends_the_call() -> None:
    async with anthropic_served([*HELLO[:3], "wait"]) as (server, provider):
        chat = Chat(Config(), provider)
        running = asyncio.create_task(chat.send("hi"))
        assert await asyncio.to_thread(server.waiting.wait, 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await asyncio.to_thread(server.left.wait, 10)
    assert chat.history == []


async def test_a_display_that_is_closed_early_ends_the_call() -> None:
    async with anthropic_served([*HELLO[:3], "wait"]) as (server, provider):
        shown = Chat(Config(), provider).stream("hi")
        await anext(shown)
        await shown.aclose()
        assert await asyncio.to_thread(server.left.wait, 10)


async def test_system_messages_are_the_users_and_the_prompt_of_the_config_stays() -> None:
    async with anthropic_served(HELLO, HELLO) as (server, provider):
        chat = Chat(Config(), provider, model_config={"system": "be brief"})
        await chat.send("one", Turn("system", (Text("be kind"),)))
        await chat.send("two")
    assert server.bodies[1]["system"] == "be brief"
    assert server.bodies[1]["messages"] == [
        {"role": "user", "content": "one"},
        {"role": "user", "content": "[System] be kind"},
        {"role": "assistant", "content": [text("Hello")]},
        {"role": "user", "content": "two"},
    ]


async def test_media_go_in_the_form_that_the_api_has_for_them() -> None:
    parts = (
        Text("see"),
        Media("image/png", PIXEL),
        Media("application/pdf", PIXEL),
        Media("text/csv", b"a,b"),
        Media("video/mp4", PIXEL),
    )
    async with anthropic_served(HELLO) as (server, provider):
        await Chat(Config(), provider).send(Turn("user", parts))
    content = server.bodies[0]["messages"][0]["content"]
    assert [block["type"] for block in content] == ["text", "image", "document", "text", "text"]
    assert server.bodies[0]["messages"][0]["role"] == "user"
    for block, kind in zip(content[1:3], ("image/png", "application/pdf"), strict=True):
        assert block["source"] == {"type": "base64", "media_type": kind, "data": "+//+"}
    assert content[3]["text"] == "a,b"
    assert content[4]["text"] == "[video/mp4, 3 bytes: this model cannot be shown it]"


async def test_compression_has_the_model_summarize_calls_and_results_included() -> None:
    """Without a tool in the request: the API takes no call for which none is declared."""
    asked = message(THOUGHT, WRITE, stop="tool_use")
    replies = [asked, HELLO, HELLO, plain_message(text("the gist"))]
    async with anthropic_served(*replies) as (server, provider), agent(provider) as running:
        await running.run("a")
        await running.run("b")
        await running.compress()
    summary = server.bodies[3]
    assert "tools" not in summary
    assert [said["content"] for said in summary["messages"][:4]] == [
        "a",
        '[called write with {"text":"hi"}]',
        "[result of write: wrote hi]",
        "Hello",
    ]
    assert running.chat.history[0].text == "[Summary] the gist"


async def test_a_client_that_was_given_stays_open_and_one_made_here_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with anthropic_served(HELLO) as (_, provider):
        await provider.aclose()
        assert (await Chat(Config(), provider).send("hi")).text == "Hello"
    with ModelServer(HELLO) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        provider = AnthropicProvider("claude-test")
        assert (await Chat(Config(), provider).send("hi")).text == "Hello"
        await provider.aclose()
    with pytest.raises(anthropic.APIConnectionError) as caught:
        await provider.summarize([])
    assert "the client has been closed" in str(caught.value.__cause__)


def test_a_synchronous_client_is_refused() -> None:
    client: Any = anthropic.Anthropic(api_key="none")
    with client, pytest.raises(HooklineError, match=r"needs an anthropic\.AsyncAnthropic"):
        AnthropicProvider("m", client=client)


async def test_calls_of_one_answer_keep_their_ids_and_order() -> None:
    asked = message(WRITE, tool_use("toolu_b", "write"), stop="tool_use")
    async with anthropic_served(asked) as (_, provider):
        turn = await Chat(Config(), provider).send("hi")
    assert turn.calls == (
        FunctionCall("write", {"text": "hi"}, "toolu_a"),
        FunctionCall("write", {}, "toolu_b"),
    )


async def test_an_option_that_the_api_lacks_is_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As a hook may set it, which knows the options of all models."""
    async with anthropic_served(HELLO) as (server, provider):
        turn = await Chat(Config(), provider, model_config={"top_k": 3}).send("hi")
    assert turn.text == "Hello"
    assert "top_k" not in server.bodies[0]
    assert "top_k was left out of the request" in caplog.text


def read(*content: Any, stop: str = "end_turn") -> Turn | None:
    """The turn of a message with these blocks."""
    return AnthropicConversation().read({"content": content, "stop_reason": stop})


CALL = {"type": "tool_use", "id": "1", "name": "note", "input": {"a": 1}}


@pytest.mark.parametrize(
    ("content", "stop", "problem"),
    [
        ([CALL], "tool_use", None),
        ([CALL], "max_tokens", "the answer was cut off before its end"),
        ([CALL], "model_context_window_exceeded", "the answer was cut off before its end"),
        ([CALL, {"type": "text", "text": "so"}], "max_tokens", None),
        ([{**CALL, "input": "x"}], "tool_use", "its arguments are not a JSON object"),
    ],
)
def test_a_call_that_was_cut_off_or_has_no_object_is_a_problem(
    content: list[Any], stop: str, problem: str | None
) -> None:
    turn = read(*content, stop=stop)
    assert turn is not None
    assert turn.native is not None
    [asked] = turn.calls
    assert (asked.name, asked.id, asked.problem) == ("note", "1", problem)
    sent = turn.native.message["content"][0]["input"]
    assert sent == asked.args == ({} if content[0]["input"] == "x" else {"a": 1})


@pytest.mark.parametrize(
    "content",
    [
        [],
        [{"type": "text", "text": ""}],
        [{"type": "thinking", "thinking": "hm"}],
        [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": ""}],
    ],
)
def test_an_answer_of_thoughts_and_empty_texts_is_no_turn(content: list[Any]) -> None:
    assert read(*content) is None


def test_a_request_asks_for_enough_tokens_unless_the_config_says_how_many() -> None:
    conversation = AnthropicConversation()
    assert conversation.request("m", [])["max_tokens"] == 8192
    assert conversation.request("m", [], config={"max_tokens": 5})["max_tokens"] == 5


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    tools = [Tool(name="a", run=str), Tool(name="b", run=str, parameters={"type": "x"})]
    declared = AnthropicConversation().request("m", [], tools=tools)["tools"]
    assert [tool["input_schema"] for tool in declared] == [
        {"type": "object", "properties": {}},
        {"type": "x"},
    ]


def test_an_empty_text_hides_nothing_that_follows_it() -> None:
    turn = read({"type": "text", "text": ""}, {"type": "text", "text": "so"})
    assert turn is not None
    assert turn.text == "so"
    assert turn.native is not None
    assert turn.native.message == {"role": "assistant", "content": [text("so")]}


IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
NOTE = FunctionCall("note", {"a": 1}, "toolu_1")


@pytest.mark.parametrize(
    ("turn", "written"),
    [
        (Turn("user", (Text("a"),)), ("user", "a")),
        (Turn("user", (Text("a"), Text("b"))), ("user", [text("a"), text("b")])),
        (Turn("user", (Opaque(IMAGE),)), ("user", [IMAGE])),
        (Turn("user", (Opaque({"type": "odd"}),)), ("user", '{"type":"odd"}')),
        (Turn("user", (Opaque(5),)), ("user", "5")),
        (Turn("model", (NOTE,)), ("assistant", [tool_use("toolu_1", "note", a=1)])),
        (
            Turn("user", (Text("see"), CallResult(NOTE, "", is_error=True))),
            (
                "user",
                [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True},
                    text("see"),
                ],
            ),
        ),
    ],
)
def test_each_part_is_a_block_and_a_text_alone_is_itself(
    turn: Turn, written: tuple[str, Any]
) -> None:
    [said] = AnthropicConversation().request("m", [turn])["messages"]
    assert said == {"role": written[0], "content": written[1]}
