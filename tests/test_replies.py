"""What a hook says, as the dictionaries of the protocol."""

import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from hookline import (
    Hooks,
    Reply,
    add_context,
    allow,
    ask,
    combine,
    deny,
    map_text,
    message,
    only_tools,
    replace_answer,
    replace_result,
    rewrite,
    stop,
)
from hookline.pipeline.answer import Answer
from hookline.replies import Decision, SpecificReply
from hookline.wire.events import HookEventName
from hookline.wire.fired import FiredEvent
from hookline.wire.outputs import SPECIFIC_FIELDS, TOP_LEVEL_FIELDS


def test_each_reply_is_the_protocols_own_dictionary() -> None:
    assert allow() == {"decision": "allow"}
    assert deny("no") == {"decision": "deny", "reason": "no"}
    assert ask("sure?") == {"decision": "ask", "reason": "sure?"}
    assert stop("enough") == {"continue": False, "stopReason": "enough"}
    assert rewrite(command="ls") == {"hookSpecificOutput": {"tool_input": {"command": "ls"}}}
    assert add_context("c") == {"hookSpecificOutput": {"additionalContext": "c"}}
    assert replace_result("r") == {"hookSpecificOutput": {"updatedToolOutput": "r"}}
    assert replace_answer("r") == {"hookSpecificOutput": {"llm_response": {"text": "r"}}}
    assert message("m") == {"systemMessage": "m"}


def test_combined_replies_are_merged_deeply() -> None:
    combined = combine(rewrite(a=1), rewrite(b=2), add_context("c"), message("m"))
    specific = {"tool_input": {"a": 1, "b": 2}, "additionalContext": "c"}
    assert combined == {"hookSpecificOutput": specific, "systemMessage": "m"}


def test_no_reply_takes_a_stricter_one_back() -> None:
    assert combine(deny("a"), allow())["decision"] == "deny"
    assert combine(ask("a"), allow())["decision"] == "ask"
    assert combine(allow(), deny("a"))["decision"] == "deny"
    assert combine(stop("x"), {"continue": True})["continue"] is False


def test_what_comes_after_a_continue_that_does_not_count_still_counts() -> None:
    combined = combine(stop("x"), {"continue": True, "systemMessage": "m"})
    assert combined == {**stop("x"), "systemMessage": "m"}


def test_texts_of_combined_replies_are_joined() -> None:
    assert combine(deny("a"), deny("b"))["reason"] == "a\nb"
    assert combine(message("a"), message("b"))["systemMessage"] == "a\nb"
    both = combine(add_context("a"), add_context("b"))
    assert both == add_context("a\nb")


def test_of_other_values_the_last_counts() -> None:
    assert combine({"suppressOutput": False}, {"suppressOutput": True}) == {"suppressOutput": True}
    assert combine({"continue": True}, stop("x"))["continue"] is False
    assert combine() == {}


def test_values_of_the_wrong_type_are_combined_too() -> None:
    """A script's answer is checked when it is read, by nobody before."""
    merge: Any = combine
    assert merge(deny("a"), {"decision": "no"})["decision"] == "no"
    assert merge({"decision": "no"}, allow())["decision"] == "allow"
    assert merge({"reason": "a"}, {"reason": 5}) == {"reason": 5}
    assert merge({"reason": 5}, {"reason": "a"}) == {"reason": "a"}
    assert merge({"reason": {"a": 1}}, {"reason": 5}) == {"reason": 5}


def test_the_strictest_of_all_decisions_stands() -> None:
    words: tuple[Decision, ...] = ("allow", "approve", "ask", "block", "deny")
    for weaker, stricter in itertools.combinations(words, 2):
        for pair in ((weaker, stricter), (stricter, weaker)):
            replies: list[Reply] = [{"decision": word} for word in pair]
            assert combine(*replies) == {"decision": stricter}


def test_combining_alters_no_reply() -> None:
    first, second = rewrite(a={"deep": 1}), rewrite(a={"deeper": 2})
    combined = combine(first, second)
    assert (first, second) == (rewrite(a={"deep": 1}), rewrite(a={"deeper": 2}))
    assert combined == rewrite(a={"deep": 1, "deeper": 2})


def test_a_script_can_print_a_reply() -> None:
    code = "import json; from hookline import deny; print(json.dumps(deny('no')))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    answer = Answer.read(FiredEvent(HookEventName.BEFORE_TOOL), json.loads(printed))
    assert (answer.blocked, answer.reason) == (True, "no")


def test_a_reply_has_the_fields_that_events_read() -> None:
    assert {*Reply.__annotations__} == {*TOP_LEVEL_FIELDS}
    read = {name for fields in SPECIFIC_FIELDS.values() for name in fields}
    assert {*SpecificReply.__annotations__} == {"hookEventName", *read}


def hide(text: str) -> str:
    return text.replace("swordfish", "[hidden]")


def read_result(event: Mapping[str, Any]) -> str:
    reply = map_text(event, hide)
    assert reply is not None
    return reply["hookSpecificOutput"]["updatedToolOutput"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a swordfish", "a [hidden]"),
        ([{"text": "swordfish"}, {"type": "text", "text": "b"}], "[hidden]\nb"),
        (["swordfish", {"inlineData": {"data": "AAAA"}}], "[hidden]"),
        ([{"text": "a"}, {"resource": {"body": "swordfish"}}], "a"),
        ({"out": ["a", "swordfish"], "code": 0}, '{"out": ["a", "[hidden]"], "code": 0}'),
    ],
)
def test_each_text_of_a_result_is_mapped_and_none_is_missed(content: Any, text: str) -> None:
    event = {"hook_event_name": "AfterTool"}
    assert read_result({**event, "tool_response": {"llmContent": content}}) == text
    assert read_result({**event, "tool_response": content}) == text


def test_a_text_that_stays_is_no_answer() -> None:
    event = {"hook_event_name": "AfterTool", "tool_response": {"llmContent": ["a", {"x": 1}]}}
    assert map_text(event, hide) is None


def test_an_event_without_such_a_text_is_refused() -> None:
    with pytest.raises(ValueError, match="map_text has no text to change on AfterAgent"):
        map_text({"hook_event_name": "AfterAgent", "prompt": "swordfish"}, hide)


def test_one_function_redacts_results_requests_and_responses() -> None:
    hooks = Hooks()
    for event in ("AfterTool", "BeforeModel", "AfterModel"):
        hooks.on(event, on_failure="block")(lambda event: map_text(event, hide))
    assert hooks.sync.run_tool(lambda: "a swordfish", {}, name="read").llm_content == "a [hidden]"
    sent = []

    def model(**request: Any) -> dict[str, Any]:
        sent.append(request["messages"])
        said = [{"role": "assistant", "content": text} for text in ("fish", "my swordfish")]
        choices = [{"index": place, "message": each} for place, each in enumerate(said)]
        return {"choices": choices}

    messages = [{"role": "user", "content": text} for text in ("my swordfish", "ok")]
    response = hooks.sync.model_call(model, model="m", messages=messages)
    assert [message["content"] for message in sent[0]] == ["my [hidden]", "ok"]
    assert [c["message"]["content"] for c in response["choices"]] == ["fish", "my [hidden]"]


def test_a_replaced_result_is_no_denial() -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: replace_result("[hidden]"))
    answer = hooks.sync.after_tool("read", {}, {"llmContent": "swordfish"})
    assert (answer.tool_output, answer.blocked) == ("[hidden]", False)
    assert answer.find_effects({}) == ("redacted",)
    assert hooks.sync.run_tool(lambda: "swordfish", {}, name="read").llm_content == "[hidden]"


def test_a_denial_of_a_result_stays_one() -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: deny("secret"))
    answer = hooks.sync.after_tool("read", {}, {"llmContent": "swordfish"})
    assert (answer.tool_output, answer.blocked, answer.reason) == (None, True, "secret")


@pytest.mark.parametrize(("names", "left"), [(("read", "list"), {"read", "list"}), ((), set())])
def test_only_the_named_tools_may_be_called(names: tuple[str, ...], left: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeToolSelection")(lambda _event: only_tools(*names))
    request = {"model": "m", "contents": "q"}
    answer = hooks.sync.before_tool_selection(request, ["read", "list", "shell"])
    assert answer.tools == left


def test_an_answer_replaces_the_models_or_stands_for_it() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: replace_answer("[hidden]"))
    response = {"choices": [{"message": {"role": "assistant", "content": "swordfish"}}]}
    messages = [{"role": "user", "content": "hi"}]
    kept = hooks.sync.model_call(lambda **_: response, model="m", messages=messages)
    assert kept["choices"][0]["message"]["content"] == "[hidden]"
    hooks.on("BeforeModel")(lambda _event: replace_answer("cached"))
    kept = hooks.sync.model_call(lambda **_: 1 / 0, model="m", messages=messages)  # type: ignore[arg-type]
    assert kept["choices"][0]["message"]["content"] == "cached"
