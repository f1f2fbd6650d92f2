"""Streams of OpenAI's chat completions and of its responses API."""

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

from hookline.errors import TranslationError
from hookline.translate.streams import (
    CallFilter,
    Refusing,
    classes_by_type,
    make_like,
    to_json,
)
from hookline.translate.values import get, get_list, put

# Fields that some servers repeat, or leave empty, in each fragment; other texts continue those of
# the last fragment.
_WORDS = frozenset({"role", "id", "type", "index", "name"})


class ChatStreams:
    """``StreamForm`` of ``client.chat.completions.create(stream=True)``."""

    def merge(self, chunks: Sequence[Any]) -> Any:
        whole: dict[str, Any] = {}
        choices: dict[int, dict[str, Any]] = {}
        for chunk in map(to_json, chunks):
            for choice in get_list(chunk, "choices"):
                _merge_choice(choices.setdefault(get(choice, "index") or 0, {}), choice)
            whole |= {name: value for name, value in chunk.items() if value is not None}
        whole.pop("obfuscation", None)
        merged = [_close_choice(index, choices[index]) for index in sorted(choices)]
        whole |= {"object": "chat.completion", "choices": merged}
        return make_like(chunks[0], _load_completion_class, whole)

    def split(self, response: Any) -> list[Any]:
        whole = to_json(response)
        usage = whole.pop("usage", None)
        told: list[tuple[list[dict[str, Any]], Any]] = []
        for place, choice in enumerate(whole.pop("choices", None) or ()):
            message = dict(choice.get("message") or {})
            calls = message.pop("tool_calls", None) or ()
            base = {name: value for name, value in choice.items() if name != "message"}
            base = {"index": place, **base, "finish_reason": None}
            told.append(([{**base, "delta": {"role": "assistant", **message}}], None))
            base.pop("logprobs", None)
            for number, call in enumerate(calls):
                delta = {"tool_calls": [{"index": number, **call}]}
                told.append(([{**base, "delta": delta}], None))
            end = {**base, "delta": {}, "finish_reason": choice.get("finish_reason")}
            told.append(([end], None))
        if usage is not None:
            told.append(([], usage))
        whole["object"] = "chat.completion.chunk"
        return [
            make_like(
                response,
                _load_chunk_class,
                {**whole, "choices": choices, **({} if counts is None else {"usage": counts})},
            )
            for choices, counts in told
        ]

    def filter_calls(self, gate: Refusing) -> CallFilter:
        return _ChatFilter(gate)


def _load_completion_class() -> Any:
    from openai.types.chat import ChatCompletion

    return ChatCompletion


def _load_chunk_class() -> Any:
    from openai.types.chat import ChatCompletionChunk

    return ChatCompletionChunk


def _merge_choice(whole: dict[str, Any], choice: Mapping[str, Any]) -> None:
    """Add what a chunk holds of a choice."""
    if choice.get("delta") is None and ("message" in choice or "text" in choice):
        raise TranslationError("a choice in a chunk of OpenAI chat must have a delta")
    _extend(whole.setdefault("delta", {}), choice.get("delta") or {})
    _extend(whole, {"logprobs": choice.get("logprobs")})
    others = {name: value for name, value in choice.items() if value is not None}
    whole |= {name: others[name] for name in others if name not in ("delta", "logprobs")}


def _extend(whole: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add a fragment to the fragments before it."""
    for name, value in more.items():
        before = whole.get(name)
        if value is None:
            continue
        if name == "tool_calls":
            numbers, calls = whole.setdefault(name, (_CallNumbers(), {}))
            for fragment in get_list(more, name):
                _extend(calls.setdefault(numbers.find(fragment), {}), fragment)
        elif isinstance(value, Mapping):
            _extend(whole.setdefault(name, {}), value)
        elif isinstance(before, list):
            whole[name] = [*before, *value]
        elif isinstance(before, str) and isinstance(value, str):
            whole[name] = value or before if name in _WORDS else before + value
        else:
            whole[name] = value


class _CallNumbers:
    """Numbers the calls of a message as their fragments arrive. A server that does not number them,
    or gives all the same number, sends one after the other: each begins with its id or its name."""

    def __init__(self) -> None:
        self._ids: list[Any] = []
        # The server's number -> the last call that it gave this number.
        self._last: dict[int | None, int] = {}

    def find(self, fragment: object) -> int:
        """The number of the call that a fragment belongs to."""
        given, id = get(fragment, "index"), get(fragment, "id")
        given = given if isinstance(given, int) else None
        number = self._last.get(given)
        if number is None:
            begins = True
        elif id:
            begins = id != self._ids[number] and bool(self._ids[number] or given is None)
        else:
            begins = given is None and _read_name(fragment) is not None
        if begins or number is None:
            number = self._last[given] = len(self._ids)
            self._ids.append(None)
        self._ids[number] = id or self._ids[number]
        return number


def _read_name(call: object) -> str | None:
    names = (get(get(call, kind), "name") for kind in ("function", "custom"))
    return next((name for name in names if isinstance(name, str) and name), None)


def _close_choice(index: int, whole: dict[str, Any]) -> dict[str, Any]:
    """A choice of a complete response."""
    delta = whole.pop("delta")
    _numbers, calls = delta.pop("tool_calls", (None, {}))
    message = {"role": "assistant", "content": None, **delta}
    if calls:
        message["tool_calls"] = [
            {name: value for name, value in call.items() if name != "index"}
            for call in calls.values()
        ]
    return {"finish_reason": None, **whole, "index": index, "message": message}


class _Choice:
    """The state of one choice of a stream."""

    def __init__(self) -> None:
        self.names: list[str] = []  # of calls that were left out
        self.has_passed = False
        self.calls = _CallNumbers()
        # A call's number in the stream -> its number without the calls left out; None for a call
        # that is left out.
        self.numbers: dict[int, int | None] = {}
        # Fragments of calls whose name has not arrived yet.
        self.nameless: dict[int, list[Any]] = {}
        self.called: dict[int, str] = {}


class _ChatFilter:
    def __init__(self, gate: Refusing) -> None:
        self._gate = gate
        self._choices: dict[int, _Choice] = {}

    def feed(self, chunk: Any) -> list[Any]:
        choices = get_list(chunk, "choices")
        passed = [left for choice in choices if (left := self._pass_choice(choice)) is not None]
        if choices and not passed and get(chunk, "usage") is None:
            return []
        is_same = len(passed) == len(choices) and all(map(is_, passed, choices))
        return [chunk if is_same else put(chunk, {"choices": passed})]

    def _pass_choice(self, choice: Any) -> Any | None:
        """The choice without fragments of refused calls; None if it holds nothing else."""
        state = self._choices.setdefault(get(choice, "index") or 0, _Choice())
        delta, finish = get(choice, "delta"), get(choice, "finish_reason")
        role = get(delta, "role")
        changes = self._pass_calls(state, delta)
        said = any(get(delta, name) for name in ("content", "refusal"))
        state.has_passed = state.has_passed or said
        if state.names and finish is not None:
            if not state.has_passed:
                changes["content"] = self._gate.explain_refused(state.names)
            if not any(number is not None for number in state.numbers.values()):
                finish = "stop" if finish in ("tool_calls", "function_call") else finish
        elif finish is None and changes and not (any(changes.values()) or said or role):
            return None
        ends = {} if finish == get(choice, "finish_reason") else {"finish_reason": finish}
        return put(choice, {"delta": put(delta, changes), **ends}) if changes or ends else choice

    def _pass_calls(self, state: _Choice, delta: Any) -> dict[str, Any]:
        """The changes to the fields of a delta that hold calls."""
        changes: dict[str, Any] = {}
        fragments = get_list(delta, "tool_calls")
        kept = [left for each in fragments for left in self._pass_fragment(state, each)]
        if len(kept) != len(fragments) or not all(map(is_, kept, fragments)):
            changes["tool_calls"] = kept or None
        state.has_passed = state.has_passed or bool(kept)
        old = get(delta, "function_call")
        if old is not None:
            # The older form: one call in a message, without a number.
            asked = {"type": "function", "function": {"name": get(old, "name")}}
            if self._is_refused(state, asked if get(old, "name") else None, -1):
                changes["function_call"] = None
            else:
                state.has_passed = True
        return changes

    def _pass_fragment(self, state: _Choice, fragment: Any) -> list[Any]:
        number = state.calls.find(fragment)
        if number not in state.numbers:
            held = state.nameless.setdefault(number, [])
            held.append(fragment)
            if _read_name(fragment) is None:
                return []
            del state.nameless[number]
            state.called[number] = _read_name(fragment) or ""
            refused = self._is_refused(state, fragment, number)
            return [] if refused else [self._renumber(state, each, number) for each in held]
        if state.numbers[number] is None:
            return []
        more = _read_name(fragment)
        if more is not None and more != state.called[number]:
            # Another name would turn an allowed call into a call of another tool.
            kind = "function" if get(fragment, "function") is not None else "custom"
            fragment = put(fragment, {kind: put(get(fragment, kind), {"name": None})})
        return [self._renumber(state, fragment, number)]

    def _is_refused(self, state: _Choice, call: Any, number: int) -> bool:
        """True if a call is left out: the decision on its name holds for all its fragments."""
        if call is not None and number not in state.numbers:
            # A response of any kind of call will do: its name alone decides.
            named = {"type": "function", "function": {"name": _read_name(call)}}
            names = self._gate.find_refused({"choices": [{"message": {"tool_calls": [named]}}]})
            state.names += names
            kept = sum(other is not None for other in state.numbers.values())
            state.numbers[number] = None if names else kept
        return number in state.numbers and state.numbers[number] is None

    def _renumber(self, state: _Choice, fragment: Any, number: int) -> Any:
        wanted = state.numbers[number]
        return fragment if get(fragment, "index") == wanted else put(fragment, {"index": wanted})


# The type of a part of an item -> the prefix of its events, that of its text's events, its field.
_PARTS = {
    "output_text": ("response.content_part", "response.output_text", "text"),
    "refusal": ("response.content_part", "response.refusal", "refusal"),
    "reasoning_text": ("response.content_part", "response.reasoning_text", "text"),
    "summary_text": ("response.reasoning_summary_part", "response.reasoning_summary_text", "text"),
}
# The type of a call -> the prefix of its arguments' events, and their field.
_ARGUMENTS = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
    "mcp_call": ("response.mcp_call_arguments", "arguments"),
}
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponsesStreams:
    """``StreamForm`` of ``client.responses.create(stream=True)``."""

    def merge(self, chunks: Sequence[Any]) -> Any:
        whole: dict[str, Any] = {}
        items: dict[int, dict[str, Any]] = {}
        for event in map(to_json, chunks):
            if isinstance(event.get("response"), Mapping):
                whole = dict(event["response"])
            _merge_item(items, event)
        if items and not whole.get("output"):
            # The stream ended early, or its server does not repeat the output at the end.
            whole["output"] = [items[index] for index in sorted(items)]
        return make_like(chunks[0], _load_response_class, whole)

    def split(self, response: Any) -> list[Any]:
        whole = to_json(response)
        output = whole.get("output") or []
        status = whole.get("status") or "completed"
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(output):
            events += _tell_item(index, dict(item))
        end = f"response.{status}"
        end = end if end in _ENDS else "response.completed"
        events.append({"type": end, "response": whole})
        return [
            _make_event(response, {**event, "sequence_number": number})
            for number, event in enumerate(events)
        ]

    def filter_calls(self, gate: Refusing) -> CallFilter:
        return _ResponsesFilter(gate)


def _load_response_class() -> Any:
    from openai.types.responses import Response

    return Response


def _make_event(like: Any, event: Mapping[str, Any]) -> Any:
    def kind() -> Any:
        from openai.types.responses import ResponseStreamEvent

        return classes_by_type(ResponseStreamEvent)[event["type"]]

    return make_like(like, kind, event)


def _merge_item(items: dict[int, dict[str, Any]], event: Mapping[str, Any]) -> None:
    """Add what an event holds of an item of the output."""
    index, kind = event.get("output_index"), event.get("type", "")
    if not isinstance(index, int):
        return
    if kind in ("response.output_item.added", "response.output_item.done"):
        items[index] = dict(event["item"])
    # A server may send a text without announcing its item first.
    unannounced = {"id": event.get("item_id"), "type": "message", "role": "assistant"}
    item = items.setdefault(index, unannounced)
    for start, name in _ARGUMENTS.values():
        if kind == f"{start}.delta":
            item[name] = (item.get(name) or "") + event["delta"]
    for part_type, (_, start, name) in _PARTS.items():
        if kind == f"{start}.delta":
            is_summary = part_type == "summary_text"
            place = event.get("summary_index" if is_summary else "content_index", 0)
            field = "summary" if is_summary else "content"
            parts = [dict(part) for part in item.get(field) or ()]
            while len(parts) <= place:
                notes = {"annotations": []} if part_type == "output_text" else {}
                parts.append({"type": part_type, name: "", **notes})
            parts[place][name] = (parts[place].get(name) or "") + event["delta"]
            item[field] = parts


def _tell_item(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one item of the output."""
    place = {"output_index": index}
    at = {"item_id": item.get("id") or "", **place}
    begun = {**item, "status": "in_progress"} if "status" in item else dict(item)
    within: list[dict[str, Any]] = []
    for field, number in (("summary", "summary_index"), ("content", "content_index")):
        parts = item.get(field)
        if not isinstance(parts, list):
            continue
        begun[field] = []
        for part_number, part in enumerate(parts):
            within += _tell_part({**at, number: part_number}, part)
    start, name = _ARGUMENTS.get(item.get("type", ""), ("", ""))
    if start:
        begun[name], given = "", item.get(name) or ""
        within.append({"type": f"{start}.delta", **at, "delta": given})
        named = {"name": item.get("name")} if item["type"] == "function_call" else {}
        within.append({"type": f"{start}.done", **at, **named, name: given})
    return [
        {"type": "response.output_item.added", **place, "item": begun},
        *within,
        {"type": "response.output_item.done", **place, "item": item},
    ]


def _tell_part(at: Mapping[str, Any], part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of one part of an item."""
    if part.get("type") not in _PARTS:
        return []
    start, text_start, name = _PARTS[part["type"]]
    text = part.get(name) or ""
    notes = {"logprobs": part.get("logprobs") or []} if part["type"] == "output_text" else {}
    begun = {**part, name: "", **({"annotations": [], "logprobs": []} if notes else {})}
    return [
        {"type": f"{start}.added", **at, "part": begun},
        {"type": f"{text_start}.delta", **at, "delta": text, **notes},
        {"type": f"{text_start}.done", **at, name: text, **notes},
        {"type": f"{start}.done", **at, "part": dict(part)},
    ]


class _ResponsesFilter:
    def __init__(self, gate: Refusing) -> None:
        self._gate = gate
        self._names: list[str] = []
        self._dropped: set[int] = set()
        self._items = 0
        self._sent = 0

    def feed(self, chunk: Any) -> list[Any]:
        index, kind = get(chunk, "output_index"), get(chunk, "type")
        if kind == "response.output_item.added" and isinstance(index, int):
            names = self._gate.find_refused({"output": [to_json(get(chunk, "item"))]})
            self._names += names
            self._items += not names
            if names:
                self._dropped.add(index)
        if index in self._dropped:
            return []
        if kind in _ENDS:
            return self._end_response(chunk)
        changes: dict[str, Any] = {}
        if isinstance(index, int):
            changes["output_index"] = index - sum(other < index for other in self._dropped)
        return [self._put_number(chunk, changes)]

    def _end_response(self, chunk: Any) -> list[Any]:
        response = get(chunk, "response")
        names = [*self._names, *self._gate.find_refused(response)]
        if not names:
            return [self._put_number(chunk, {})]
        left = self._gate.drop_refused(response, names)
        # The text that says why nothing is left was not announced yet.
        output = to_json(left).get("output") or []
        added = [
            event
            for index in range(self._items, len(output))
            for event in _tell_item(index, dict(output[index]))
        ]
        made = [_make_event(chunk, {**event, "sequence_number": 0}) for event in added]
        return [self._put_number(event, {}) for event in made] + [
            self._put_number(chunk, {"response": left})
        ]

    def _put_number(self, chunk: Any, changes: dict[str, Any]) -> Any:
        changes = {**changes, "sequence_number": self._sent}
        self._sent += 1
        same = all(get(chunk, name) == value for name, value in changes.items())
        return chunk if same else put(chunk, changes)
