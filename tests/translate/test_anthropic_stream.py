"""Streams of Anthropic's messages: every kind of delta, and what is left of a filtered message."""

from typing import Any

import pytest

from hookline.errors import TranslationError
from hookline.translate.anthropic import AnthropicStreams
from tests.translate.test_streams import Restriction

Json = dict[str, Any]
streams = AnthropicStreams()
START: Json = {
    "type": "message_start",
    "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 5}},
}


def block(index: int, begun: Json, *deltas: Json) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def end(reason: str) -> Json:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": 7, "input_tokens": None},
    }


def call(name: str) -> Json:
    return {"type": "tool_use", "id": name, "name": name, "input": {}}


@pytest.mark.parametrize(
    ("begun", "deltas", "whole"),
    [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": "h"},
                {"type": "thinking_delta", "thinking": "m"},
                {"type": "signature_delta", "signature": "s"},
            ],
            {"type": "thinking", "thinking": "hm", "signature": "s"},
        ),
        (
            {"type": "text", "text": "a"},
            [
                {"type": "citations_delta", "citation": {"n": 1}},
                {"type": "citations_delta", "citation": {"n": 2}},
                {"type": "text_delta", "text": "b"},
            ],
            {"type": "text", "text": "ab", "citations": [{"n": 1}, {"n": 2}]},
        ),
        (
            call("ls"),
            [{"type": "input_json_delta", "partial_json": each} for each in ('{"a"', ":1}")],
            {**call("ls"), "input": {"a": 1}},
        ),
        (
            call("ls"),
            [{"type": "input_json_delta", "partial_json": '{"a'}],
            {**call("ls"), "input": '{"a'},
        ),
        (
            {"type": "compaction", "content": "x"},
            [{"type": "compaction_delta", "content": "y", "count": 2, "more": None}],
            {"type": "compaction", "content": "xy", "count": 2},
        ),
    ],
    ids=["thoughts", "citations", "a call", "a call that is cut off", "a new kind"],
)
def test_a_block_is_what_its_deltas_make_of_it(
    begun: Json, deltas: list[Json], whole: Json
) -> None:
    merged = streams.merge([START, *block(0, begun, *deltas), end("end_turn")])
    assert merged["content"] == [whole]


def test_the_end_of_a_message_adds_its_counts_and_reason() -> None:
    merged = streams.merge([START, end("max_tokens")])
    assert merged["usage"] == {"input_tokens": 5, "output_tokens": 7}
    assert (merged["stop_reason"], "stop_sequence" in merged) == ("max_tokens", False)
    assert START["message"]["usage"] == {"input_tokens": 5}


def test_blocks_stand_in_the_order_of_their_numbers() -> None:
    blocks = [*block(1, {"type": "text", "text": "b"}), *block(0, {"type": "text", "text": "a"})]
    merged = streams.merge([START, *blocks])
    assert [each["text"] for each in merged["content"]] == ["a", "b"]


def test_a_call_is_told_by_its_name_first_and_its_input_after() -> None:
    whole = {
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": [{**call("ls"), "input": {"a": 1}}],
    }
    start, begun, delta, stop, message, last = streams.split(
        {**whole, "usage": {"input_tokens": 5}}
    )
    assert (start["message"]["content"], start["message"]["stop_reason"]) == ([], None)
    assert begun["content_block"] == call("ls")
    assert delta["delta"] == {"type": "input_json_delta", "partial_json": '{"a": 1}'}
    assert (stop["type"], stop["index"], last["type"]) == ("content_block_stop", 0, "message_stop")
    assert message["delta"] == {"stop_reason": "tool_use"}
    assert message["usage"] == {"output_tokens": 0, "input_tokens": 5}


def test_a_text_is_told_after_its_citations() -> None:
    text = {"type": "text", "text": "hi", "citations": [{"n": 1}]}
    begun, first, second, _stop = streams.split({"role": "assistant", "content": [text]})[1:5]
    assert begun["content_block"] == {"type": "text", "text": "", "citations": []}
    assert first["delta"] == {"type": "citations_delta", "citation": {"n": 1}}
    assert second["delta"] == {"type": "text_delta", "text": "hi"}


def test_a_stream_without_its_start_is_refused() -> None:
    with pytest.raises(TranslationError, match="must begin with message_start"):
        streams.merge([end("end_turn")])


def test_a_refused_call_is_left_out_and_the_blocks_after_it_move_up() -> None:
    passing = streams.filter_calls(Restriction(["read"]))
    told = [
        START,
        *block(0, call("shell"), {"type": "input_json_delta", "partial_json": "{}"}),
        *block(1, call("read"), {"type": "input_json_delta", "partial_json": "{}"}),
        end("tool_use"),
    ]
    left = [each for event in told for each in passing.feed(event)]
    assert {each["index"] for each in left if "index" in each} == {0}
    merged = streams.merge(left)
    assert [each["name"] for each in merged["content"]] == ["read"]
    assert merged["stop_reason"] == "tool_use"


@pytest.mark.parametrize("said", ["in the block", "in a delta", ""])
def test_a_message_whose_calls_are_all_refused_says_so_if_it_says_nothing_else(said: str) -> None:
    text = {"type": "text", "text": "hi" if said == "in the block" else ""}
    deltas = [{"type": "text_delta", "text": "hi"}] if said == "in a delta" else []
    passing = streams.filter_calls(Restriction([]))
    told = [START, *(block(0, text, *deltas) if said else []), *block(1, call("ls"))]
    left = [each for event in [*told, end("tool_use")] for each in passing.feed(event)]
    merged = streams.merge(left)
    assert [each["text"] for each in merged["content"]] == ["hi" if said else "not ls"]
    assert merged["stop_reason"] == "end_turn"
