"""Streams of OpenAI's two APIs as servers really send them: in pieces, odd, or cut short."""

from typing import Any

import pytest

from hookline.errors import TranslationError
from hookline.translate.openai_chat import ChatStreams
from hookline.translate.openai_responses import ResponsesStreams
from tests.translate.test_streams import Restriction, fragment, tell_calls

Json = dict[str, Any]
chat, responses = ChatStreams(), ResponsesStreams()


def chunk(delta: Json | None, finish: str | None = None, **more: Any) -> Json:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


def feed(form: Any, allowed: str, chunks: list[Json]) -> list[Json]:
    passing = form.filter_calls(Restriction([allowed]))
    return [left for each in chunks for left in passing.feed(each)]


def test_roles_are_repeated_and_texts_and_log_probabilities_go_on() -> None:
    merged = chat.merge(
        [
            chunk({"role": "assistant", "content": "a"}, logprobs={"content": [1]}),
            chunk({"role": "assistant", "content": "b"}, logprobs={"content": [2]}),
            chunk({"role": "", "content": None}, "stop") | {"usage": {"total_tokens": 3}},
        ]
    )
    choice = merged["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "ab"}
    assert (choice["finish_reason"], choice["logprobs"]) == ("stop", {"content": [1, 2]})
    assert (merged["object"], merged["usage"]) == ("chat.completion", {"total_tokens": 3})


def test_choices_are_merged_apart_and_stand_in_their_order() -> None:
    told = [(1, "b"), (0, "a"), (1, "B")]
    chunks = [{"choices": [{"index": n, "delta": {"content": text}}]} for n, text in told]
    merged = chat.merge([{**each, "obfuscation": "x"} for each in chunks])
    assert [(c["index"], c["message"]["content"]) for c in merged["choices"]] == [
        (0, "a"),
        (1, "bB"),
    ]
    assert "obfuscation" not in merged


def test_what_is_no_chunk_of_chat_is_refused() -> None:
    for field in ({"message": {"content": "a"}}, {"text": "a"}):
        with pytest.raises(TranslationError, match="must have a delta"):
            chat.merge([{"choices": [{"index": 0, **field}]}])
    with pytest.raises(TranslationError, match="a model stream cannot hold int"):
        chat.merge([5])


def test_a_call_of_the_older_form_is_left_out_with_all_its_fragments() -> None:
    call = [
        chunk({"role": "assistant", "function_call": {"name": "shell", "arguments": ""}}),
        chunk({"function_call": {"arguments": "{}"}}),
        chunk({}, "function_call"),
    ]
    assert feed(chat, "shell", call) == call
    left = chat.merge(feed(chat, "read", call))["choices"][0]
    assert left["message"] == {"role": "assistant", "content": "not shell"}
    assert left["finish_reason"] == "stop"


def test_a_call_waits_for_its_name_and_passes_whole() -> None:
    told = tell_calls(
        {"index": 0, "id": "1", "function": {"arguments": '{"x":'}},
        {"index": 0, "function": {"name": "read", "arguments": "1}"}},
    )
    held, *passed = ([*part] for part in _feed_each("read", told))
    assert held == []
    calls = chat.merge([each for part in passed for each in part])["choices"][0]["message"]
    assert calls["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"x":1}'}
    refused = chat.merge(feed(chat, "shell", told))["choices"][0]
    assert (refused["message"]["content"], refused["finish_reason"]) == ("not read", "stop")


def _feed_each(allowed: str, chunks: list[Json]) -> list[list[Json]]:
    passing = chat.filter_calls(Restriction([allowed]))
    return [passing.feed(each) for each in chunks]


def test_a_later_fragment_cannot_give_an_allowed_call_another_name() -> None:
    told = tell_calls(fragment("1", "read", "{", index=0), fragment(None, "shell", "}", index=0))
    merged = chat.merge(feed(chat, "read", told))["choices"][0]
    assert merged["message"]["tool_calls"] == [fragment("1", "read", "{}")]


def test_a_later_fragment_cannot_rename_a_custom_call_either() -> None:
    first, more = ({"name": name, "input": text} for name, text in (("read", "a"), ("shell", "b")))
    told = tell_calls({"index": 0, "id": "1", "custom": first}, {"index": 0, "custom": more})
    [call] = chat.merge(feed(chat, "read", told))["choices"][0]["message"]["tool_calls"]
    assert call["custom"] == {"name": "read", "input": "ab"}


def test_calls_beside_one_that_is_left_out_move_up_and_keep_the_reason_to_stop() -> None:
    told = tell_calls(
        fragment("1", "shell", "{}", index=0),
        fragment("2", "read", "{}", index=1),
        fragment("3", "read", "{}", index=2),
    )
    left = feed(chat, "read", told)
    numbers = [call["index"] for each in left for call in _calls_of(each)]
    assert numbers == [0, 1]
    assert chat.merge(left)["choices"][0]["finish_reason"] == "tool_calls"


def _calls_of(each: Json) -> list[Json]:
    calls: list[Json] = each["choices"][0]["delta"].get("tool_calls") or []
    return calls


def test_a_chunk_with_counts_passes_though_its_call_does_not() -> None:
    told = tell_calls(fragment("1", "shell", "{}", index=0))
    told[0]["usage"] = {"total_tokens": 3}
    first = feed(chat, "read", told)[0]
    assert (first["choices"], first["usage"]) == ([], {"total_tokens": 3})


def event(kind: str, **fields: Any) -> Json:
    return {"type": f"response.{kind}", "output_index": 0, "item_id": "i", **fields}


def test_a_stream_that_ends_early_is_what_came_of_it() -> None:
    message = {"id": "i", "type": "message", "role": "assistant", "content": []}
    merged = responses.merge(
        [
            {"type": "response.created", "response": {"id": "r", "output": []}},
            event("output_item.added", item=message),
            event("output_text.delta", content_index=1, delta="b"),
            event("output_text.delta", content_index=0, delta="a"),
            event("output_text.delta", content_index=0, delta="A"),
        ]
    )
    assert merged["id"] == "r"
    assert [part["text"] for part in merged["output"][0]["content"]] == ["aA", "b"]


def test_a_text_whose_item_was_not_announced_is_a_message() -> None:
    merged = responses.merge([event("refusal.delta", content_index=0, delta="no")])
    assert merged["output"][0]["role"] == "assistant"
    assert merged["output"][0]["content"][0]["refusal"] == "no"


@pytest.mark.parametrize(
    ("kind", "prefix", "field"),
    [
        ("function_call", "function_call_arguments", "arguments"),
        ("custom_tool_call", "custom_tool_call_input", "input"),
        ("mcp_call", "mcp_call_arguments", "arguments"),
    ],
)
def test_arguments_go_on_fragment_by_fragment(kind: str, prefix: str, field: str) -> None:
    item = {"id": "i", "type": kind, "name": "ls", field: ""}
    merged = responses.merge(
        [
            event("output_item.added", item=item),
            *(event(f"{prefix}.delta", delta=each) for each in ('{"a"', ":1}")),
        ]
    )
    assert merged["output"] == [{**item, field: '{"a":1}'}]
    done = responses.split({"output": [merged["output"][0]]})
    delta, last = (each for each in done if prefix in each["type"])
    assert (delta["type"], last["type"]) == (f"response.{prefix}.delta", f"response.{prefix}.done")
    assert (delta["delta"], last[field]) == ('{"a":1}', '{"a":1}')
    assert last.get("name") == ("ls" if kind == "function_call" else None)
    assert done[2]["item"][field] == ""


def test_thoughts_are_told_in_their_summary() -> None:
    thought = {"id": "i", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    events = responses.split({"status": "completed", "output": [thought]})
    said = [e["type"] for e in events if "reasoning_summary" in e["type"]]
    assert said[0] == "response.reasoning_summary_part.added"
    delta = next(e for e in events if e["type"] == "response.reasoning_summary_text.delta")
    assert (delta["summary_index"], delta["delta"], delta["item_id"]) == (0, "hm", "i")
    cut = [
        e for e in events if e["type"] not in ("response.completed", "response.output_item.done")
    ]
    assert responses.merge(cut)["output"][0]["summary"][0]["text"] == "hm"


def test_a_message_is_told_from_its_item_to_its_parts_and_back() -> None:
    part = {"type": "output_text", "text": "hi", "annotations": [{"n": 1}], "logprobs": [2]}
    message = {"id": "i", "type": "message", "status": "completed", "content": [part]}
    events = responses.split({"status": "completed", "output": [message]})[2:-1]
    assert [each["type"].removeprefix("response.") for each in events] == [
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ]
    item, begun, delta, done, whole, last = events
    assert item["item"] == {**message, "status": "in_progress", "content": []}
    assert begun["part"] == {**part, "text": "", "annotations": [], "logprobs": []}
    assert (delta["delta"], delta["logprobs"], delta["content_index"]) == ("hi", [2], 0)
    assert (done["text"], done["logprobs"], done["item_id"]) == ("hi", [2], "i")
    assert (whole["part"], last["item"], last["output_index"]) == (part, message, 0)


@pytest.mark.parametrize(
    ("status", "end"),
    [
        ("completed", "completed"),
        ("incomplete", "incomplete"),
        ("failed", "failed"),
        ("cancelled", "completed"),
        (None, "completed"),
    ],
)
def test_the_last_event_is_that_of_the_status(status: str | None, end: str) -> None:
    events = responses.split({"status": status, "output": []})
    assert [each["type"] for each in events] == [
        "response.created",
        "response.in_progress",
        f"response.{end}",
    ]
    assert events[0]["response"]["status"] == "in_progress"
    assert [each["sequence_number"] for each in events] == [0, 1, 2]
