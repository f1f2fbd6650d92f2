"""Requests and responses of the message APIs as JSON, for the laws of translation.

A text that hooks are shown may hold ``SECRET``, and so may what repeats it; what they are not shown
is marked ``HIDDEN``.
"""

from typing import Any

from hypothesis import strategies as st

from tests.kit.translators import HIDDEN, SECRET
from tests.translate.forms import Json

texts = st.sampled_from(["", "a", "b", "ab", " ", "Grüße\n", SECRET, f"write to {SECRET}!"])
visible = texts.filter(bool)
words = st.text("abc_", min_size=1, max_size=3)
hidden = st.integers(0, 99).map(lambda number: f"{HIDDEN} {number}")
numbers = st.sampled_from([0.0, 0.1, 0.5, 1.0])
counts = st.integers(0, 99)
names = st.lists(st.sampled_from(["read", "write", "shell"]), unique=True, max_size=3)


def objects(
    fields: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(fields, optional=optional)


def with_notes(block: Json, notes: Json) -> Json:
    """A block of text with what the model's server knows about it, which repeats the text."""
    return {**block, **notes} if SECRET in str(block) else block


# -- OpenAI chat completions

_chat_text = texts.map(lambda text: {"type": "text", "text": text})
_chat_media = st.one_of(
    hidden.map(lambda url: {"type": "image_url", "image_url": {"url": url}}),
    hidden.map(
        lambda data: {"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}}
    ),
    hidden.map(lambda file: {"type": "file", "file": {"file_id": file}}),
)
_chat_refusal = texts.map(lambda text: {"type": "refusal", "refusal": text})
_chat_call = st.one_of(
    hidden.map(
        lambda text: {
            "type": "function",
            "id": text,
            "function": {"name": "read", "arguments": text},
        }
    ),
    hidden.map(lambda text: {"type": "custom", "id": text, "custom": {"name": "x", "input": text}}),
)
_chat_calls = st.lists(_chat_call, min_size=1, max_size=2)
chat_messages = st.lists(
    st.one_of(
        objects(
            {
                "role": st.sampled_from(["system", "developer"]),
                "content": texts | st.lists(_chat_text, min_size=1, max_size=3),
            },
            name=words,
        ),
        objects(
            {
                "role": st.just("user"),
                "content": texts | st.lists(_chat_text | _chat_media, min_size=1, max_size=3),
            },
            name=words,
        ),
        objects(
            {
                "role": st.just("assistant"),
                "content": texts | st.lists(_chat_text | _chat_refusal, min_size=1, max_size=3),
            },
            refusal=visible | st.none(),
            tool_calls=_chat_calls,
        ),
        objects({"role": st.just("assistant"), "content": st.none(), "tool_calls": _chat_calls}),
        objects(
            {
                "role": st.just("tool"),
                "tool_call_id": hidden,
                "content": hidden | hidden.map(lambda text: [{"type": "text", "text": text}]),
            }
        ),
        objects({"role": st.just("function"), "name": words, "content": hidden}),
    ),
    min_size=1,
    max_size=5,
)


def _chat_tool(name: str) -> Json:
    kind = "custom" if name == "shell" else "function"
    return {"type": kind, kind: {"name": name, "description": f"{HIDDEN} {name}"}}


@st.composite
def chat_requests(draw: st.DrawFn) -> Json:
    request: Json = {"model": draw(words), "messages": draw(chat_messages)}
    request |= draw(
        objects(
            {},
            temperature=numbers,
            top_p=numbers,
            max_completion_tokens=counts,
            stop=st.just("x") | st.just(["x", "y"]),
            n=st.integers(1, 3),
            presence_penalty=numbers,
            user=hidden,
            response_format=st.just({"type": "text"}),
        )
    )
    declared = draw(names)
    if declared:
        request["tools"] = [_chat_tool(name) for name in declared]
        tools = [{"type": "function", "function": {"name": declared[0]}}]
        choice = draw(
            st.sampled_from(
                [
                    None,
                    *("auto", "none", "required"),
                    {"type": "function", "function": {"name": declared[0]}},
                    {
                        "type": "allowed_tools",
                        "allowed_tools": {"mode": "auto", "tools": tools},
                    },
                ]
            )
        )
        request |= {} if choice is None else {"tool_choice": choice}
    return request


def _chat_choice(message: Json, finish: str) -> Json:
    text = str(message.get("content") or "")
    choice: Json = {"index": 0, "message": message, "finish_reason": finish}
    if SECRET in text:
        url = {"url": "https://x", "title": text, "start_index": 0, "end_index": 1}
        message["annotations"] = [{"type": "url_citation", "url_citation": url}]
        token = {"token": SECRET, "logprob": -1.0, "bytes": None, "top_logprobs": []}
        choice["logprobs"] = {"content": [token], "refusal": None}
    return choice


_chat_answer = objects(
    {"role": st.just("assistant"), "content": visible | st.none(), "refusal": visible | st.none()},
    tool_calls=_chat_calls,
)
chat_responses: st.SearchStrategy[Json] = st.builds(
    lambda choices, usage: {
        "id": f"{HIDDEN} id",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{**choice, "index": place} for place, choice in enumerate(choices)],
        **({"usage": usage} if usage else {}),
    },
    st.lists(
        st.builds(_chat_choice, _chat_answer, st.sampled_from(["stop", "length"])),
        min_size=1,
        max_size=3,
    ),
    st.none()
    | st.builds(
        lambda a, b: {"prompt_tokens": a, "completion_tokens": b, "total_tokens": a + b},
        counts,
        counts,
    ),
)


# -- Anthropic messages


def _cached(block: Json) -> st.SearchStrategy[Json]:
    mark = {"cache_control": {"type": "ephemeral"}}
    return st.sampled_from([block, {**block, **mark}])


def _cited(text: str) -> Json:
    location = {
        "type": "char_location",
        "cited_text": text,
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    return with_notes({"type": "text", "text": text}, {"citations": [location]})


_image = hidden.map(lambda url: {"type": "image", "source": {"type": "url", "url": url}})
_thought = st.one_of(
    hidden.map(lambda text: {"type": "thinking", "thinking": text, "signature": text}),
    hidden.map(lambda text: {"type": "redacted_thinking", "data": text}),
)
_use = hidden.map(
    lambda text: {"type": "tool_use", "id": text, "name": "read", "input": {"x": text}}
)
_result = hidden.map(
    lambda text: {
        "type": "tool_result",
        "tool_use_id": text,
        "content": [{"type": "text", "text": text}],
    }
)
_claude_text = visible.map(lambda text: {"type": "text", "text": text}).flatmap(_cached)
claude_messages = st.lists(
    st.one_of(
        objects(
            {
                "role": st.just("user"),
                "content": visible
                | st.lists(_claude_text | _image | _result, min_size=1, max_size=4),
            }
        ),
        objects(
            {
                "role": st.just("assistant"),
                "content": visible
                | st.lists(visible.map(_cited) | _thought | _use, min_size=1, max_size=4),
            }
        ),
        objects({"role": st.just("system"), "content": visible}),
    ),
    min_size=1,
    max_size=5,
)


@st.composite
def claude_requests(draw: st.DrawFn) -> Json:
    request: Json = {"model": draw(words), "max_tokens": 9, "messages": draw(claude_messages)}
    request |= draw(
        objects(
            {},
            system=hidden | hidden.map(lambda text: [{"type": "text", "text": text}]),
            temperature=numbers,
            top_k=st.integers(1, 9),
            stop_sequences=st.just(["x"]),
            metadata=hidden.map(lambda text: {"user_id": text}),
        )
    )
    declared = draw(names)
    if declared:
        request["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in declared]
        choice = draw(
            st.sampled_from(
                [
                    None,
                    {"type": "auto", "disable_parallel_tool_use": True},
                    *({"type": "any"}, {"type": "none"}, {"type": "tool", "name": declared[0]}),
                ]
            )
        )
        request |= {} if choice is None else {"tool_choice": choice}
    return request


claude_responses: st.SearchStrategy[Json] = st.builds(
    lambda content, stop: {
        "id": f"{HIDDEN} id",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 4},
    },
    st.lists(visible.map(_cited) | _thought | _use, max_size=4),
    st.sampled_from(["end_turn", "max_tokens"]),
)


# -- OpenAI responses


def _output_text(text: str) -> Json:
    url = {"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 1}
    token = {"token": text, "logprob": -1.0, "bytes": [], "top_logprobs": []}
    notes = {"annotations": [{**url, "title": text}], "logprobs": [token]}
    return with_notes({"type": "output_text", "text": text, "annotations": []}, notes)


_output_content = st.lists(
    visible.map(_output_text) | visible.map(lambda text: {"type": "refusal", "refusal": text}),
    min_size=1,
    max_size=3,
)
_output_message = objects(
    {
        "id": words,
        "type": st.just("message"),
        "role": st.just("assistant"),
        "status": st.just("completed"),
        "content": _output_content,
    }
)
_output_item = st.one_of(
    hidden.map(
        lambda text: {"type": "function_call", "call_id": text, "name": "read", "arguments": text}
    ),
    hidden.map(
        lambda text: {"type": "custom_tool_call", "call_id": text, "name": "x", "input": text}
    ),
    hidden.map(
        lambda text: {
            "type": "reasoning",
            "id": text,
            "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": text,
        }
    ),
    hidden.map(
        lambda text: {
            "type": "web_search_call",
            "id": text,
            "status": "completed",
            "action": {"type": "search", "query": text},
        }
    ),
)
_input_text = visible.map(lambda text: {"type": "input_text", "text": text})
_input_media = hidden.map(lambda url: {"type": "input_image", "image_url": url, "detail": "auto"})
_input_message = st.one_of(
    objects(
        {"role": st.sampled_from(["user", "assistant", "system", "developer"]), "content": visible},
        type=st.just("message"),
    ),
    objects(
        {
            "role": st.sampled_from(["user", "system", "developer"]),
            "content": st.lists(_input_text | _input_media, min_size=1, max_size=3),
        },
        type=st.just("message"),
    ),
)
_input_result = hidden.map(
    lambda text: {"type": "function_call_output", "call_id": text, "output": text}
)
items: st.SearchStrategy[list[Json]] = st.lists(
    _input_message | _output_message | _output_item | _input_result, min_size=1, max_size=5
)


@st.composite
def item_requests(draw: st.DrawFn) -> Json:
    request: Json = {"model": draw(words), "input": draw(visible | items)}
    request |= draw(
        objects(
            {},
            instructions=hidden,
            temperature=numbers,
            max_output_tokens=counts,
            user=hidden,
            text=st.just({"format": {"type": "text"}}),
        )
    )
    declared = draw(names)
    if declared:
        request["tools"] = [
            {"type": "custom" if name == "shell" else "function", "name": name} for name in declared
        ]
        request["tools"].append({"type": "web_search_preview"})
        tools = [{"type": "function", "name": declared[0]}]
        choice = draw(
            st.sampled_from(
                [
                    None,
                    *("auto", "none", "required"),
                    {"type": "function", "name": declared[0]},
                    {"type": "web_search_preview"},
                    {"type": "allowed_tools", "mode": "required", "tools": tools},
                ]
            )
        )
        request |= {} if choice is None else {"tool_choice": choice}
    return request


item_responses: st.SearchStrategy[Json] = st.builds(
    lambda output, usage, status: {
        "id": f"{HIDDEN} id",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        **({"usage": usage} if usage else {}),
    },
    st.lists(_output_message | _output_item, max_size=4),
    st.none()
    | st.builds(
        lambda a, b: {
            "input_tokens": a,
            "output_tokens": b,
            "total_tokens": a + b,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
        counts,
        counts,
    ),
    st.sampled_from(["completed", "incomplete"]),
)
