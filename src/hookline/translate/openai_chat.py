"""The translator of OpenAI's chat completions, which many other servers offer as well, and their
streams."""

from collections.abc import Collection, Mapping, Sequence
from operator import is_
from typing import Any, ClassVar

from hookline.errors import TranslationError
from hookline.translate.blocks import ABOUT_THE_TEXT, BlockForm, Blocks, drop_notes
from hookline.translate.messages import MessageTranslator
from hookline.translate.streams import CallFilter, Refusing, extend, make_like, to_json
from hookline.translate.values import (
    SDKCall,
    get,
    get_list,
    get_objects,
    get_text,
    is_object,
    is_readable,
    put,
    refuse_text,
)
from hookline.wire.model import HookToolConfig, Role

# The names of roles and tool modes in both of OpenAI's APIs.
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
}
NAMES: dict[Role, str] = {"system": "system", "user": "user", "model": "assistant"}
MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
CHOICES = {mode: choice for choice, mode in MODES.items()}
_BLOCKS = Blocks(
    {"text": "text", "refusal": "refusal"},
    # The last two are other servers' words for a model's thoughts.
    ("image_url", "input_audio", "file", "video_url", "thinking", "reasoning"),
)
_CALLS = ("tool_calls", "function_call")
_THOUGHTS = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks")
_FORM = BlockForm(
    _BLOCKS,
    ROLES,
    NAMES,
    lambda _role, text: {"type": "text", "text": text},
    hidden_roles=("tool", "function"),
    beside=("refusal",),
    kept=(*_CALLS, "audio"),
    known=("name", "tool_call_id", *_THOUGHTS),
)
_ANSWERED = {"role", "content", "refusal", *_CALLS, "audio", *_THOUGHTS, *ABOUT_THE_TEXT}


class OpenAIChatTranslator(MessageTranslator[Any]):
    """``HookTranslator`` for ``client.chat.completions.create``: its arguments as a dictionary,
    whose messages are dictionaries or the SDK's objects, and ``ChatCompletion`` or its JSON."""

    form = _FORM
    name = "openai-chat"
    api = "OpenAI chat completions"
    requests = 'a request of OpenAI chat is {"model", "messages": [{"role", "content"}], …}'
    responses = 'a response of OpenAI chat is {"choices": [{"message": {"role", "content"}}], …}'
    settings: ClassVar[dict[str, tuple[str, ...]]] = {
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_completion_tokens", "max_tokens", "max_completion_tokens"),
        "topP": ("top_p",),
        "stopSequences": ("stop",),
        "candidateCount": ("n",),
        "presencePenalty": ("presence_penalty",),
        "frequencyPenalty": ("frequency_penalty",),
    }
    usage: ClassVar[dict[str, str]] = {
        "promptTokenCount": "prompt_tokens",
        "candidatesTokenCount": "completion_tokens",
        "totalTokenCount": "total_tokens",
    }
    system_turns = True
    tool_fields = ("tools", "functions")
    finish_field = "finish_reason"
    finish_words = ("stop", "length", "tool_calls", "content_filter", "function_call")
    request_fields = (
        *("functions", "function_call", "user", "metadata", "response_format", "service_tier"),
        *("modalities", "audio", "reasoning_effort", "verbosity", "safety_identifier"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "stream_options"),
    )
    response_fields = (
        *("id", "object", "model", "choices", "usage", "service_tier", "system_fingerprint"),
        *("metadata", "moderation", "provider"),
    )

    def reads_request(self, request: object) -> bool:
        return isinstance(request, Mapping) and isinstance(request.get("messages"), list | tuple)

    def new_request(self, like: object) -> Any:
        empty = {"model": "", "messages": []}
        return SDKCall(self.name, empty) if isinstance(like, SDKCall) else empty

    def tool_name(self, tool: Any) -> str:
        """The name of a tool, a call or a choice of one; older functions have it at their top."""
        kind = get(tool, "type")
        name = get(get(tool, kind) if isinstance(kind, str) else tool, "name")
        return name if isinstance(name, str) else ""

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        choice, tools = super().tool_selection(request)
        older = tools is None and get(request, "functions") is not None
        if not older:
            return choice, tools
        return get(request, "function_call"), get(request, "functions")

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        if isinstance(choice, str):
            if choice in MODES:
                return {"mode": MODES[choice]}
        elif is_readable(choice):
            if get(choice, "type") == "allowed_tools":
                allowed = get(choice, "allowed_tools")
                names = map(self.tool_name, get_list(allowed, "tools"))
                mode = "ANY" if get(allowed, "mode") == "required" else "AUTO"
                return {"mode": mode, "allowedFunctionNames": [name for name in names if name]}
            if name := self.tool_name(choice):
                return {"mode": "ANY", "allowedFunctionNames": [name]}
        raise TranslationError(f"tool_choice {choice!r:.80} has an unknown shape")

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:  # noqa: ARG002
        if names is None or mode == "NONE":
            return CHOICES[mode]
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        choice = {"mode": CHOICES[mode], "tools": tools}
        return {"type": "allowed_tools", "allowed_tools": choice}

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        edited = super().with_tools(request, mode, allowed)
        changes: dict[str, Any] = {}
        if not get(edited, "tools"):
            # The API refuses these without a list of tools.
            changes = {"tool_choice": None, "parallel_tool_calls": None}
        if get(request, "functions"):
            changes["function_call"] = self._choose_function(get_list(edited, "functions"), mode)
        changes = {name: word for name, word in changes.items() if word != get(edited, name)}
        return put(edited, changes)

    def _choose_function(self, functions: Sequence[Any], mode: str) -> Any:
        """The tool choice of the older form, which forces one function or none."""
        if mode == "ANY" and len(functions) == 1:
            return {"name": self.tool_name(functions[0])}
        return "auto" if functions else None

    def reads_response(self, response: object) -> bool:
        choices = get(response, "choices")
        if not isinstance(choices, list | tuple) or not is_readable(response):
            return False
        # A chunk of a stream has choices as well, but is not a response.
        return all(
            is_readable(choice) and is_readable(get(choice, "message")) for choice in choices
        )

    def choices(self, response: Any) -> list[Any]:
        return get_list(response, "choices")

    def with_choices(self, response: Any, choices: list[Any]) -> Any:
        return put(response, {"choices": choices})

    def new_choice(self, response: Any, index: int) -> Any:
        message = {"role": "assistant", "content": None}
        choice = {"index": index, "message": message, "finish_reason": "stop"}
        if isinstance(response, Mapping):
            return choice
        from openai.types.chat.chat_completion import Choice

        return Choice.model_validate(choice)

    def with_index(self, choice: Any, index: int) -> Any:
        return put(choice, {"index": index})

    def texts(self, choice: Any) -> list[str]:
        message = get(choice, "message")
        texts = [text for text in _BLOCKS.read(get(message, "content")) if text]
        texts += filter(None, (get_text(message, "refusal"), self._read_transcript(message)))
        if not texts and not self.calls(choice):
            refuse_text(message, _ANSWERED, "a message has no text in its content")
        return texts

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        message = get(choice, "message")
        content, changes = get(message, "content"), drop_notes(message)
        is_same_count, texts = len(texts) == len(self.texts(choice)), [*texts]
        if spoken := self._read_transcript(message):
            if is_same_count and texts[-1] == spoken:
                texts.pop()
            else:
                # Speech cannot be edited: it is removed, and its text becomes the content.
                changes["audio"], is_same_count = None, False
        if get_text(message, "refusal"):
            changes["refusal"] = texts.pop() or None if is_same_count else None
        new = _BLOCKS.put(content, texts, lambda text: {"type": "text", "text": text}) or None
        message = put(message, {**changes, "content": new})
        if isinstance(message, Mapping):
            message = {**message, "content": new}
        notes = {"logprobs": None} if get(choice, "logprobs") is not None else {}
        return put(choice, {"message": message, **notes})

    def _read_transcript(self, message: Any) -> str:
        return get_text(get(message, "audio"), "transcript")

    def calls(self, choice: Any) -> list[str]:
        message = get(choice, "message")
        names = [self.tool_name(call) for call in get_objects(message, "tool_calls")]
        older = get(get(message, "function_call"), "name")
        return [*names, older] if isinstance(older, str) else names

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        message = get(choice, "message")
        changes: dict[str, Any] = {}
        calls = get_list(message, "tool_calls")
        kept = [call for call in calls if self.tool_name(call) not in names]
        if len(kept) < len(calls):
            changes["tool_calls"] = kept or None
        if get(get(message, "function_call"), "name") in names:
            changes["function_call"] = None
        choice = put(choice, {"message": put(message, changes)})
        return choice if self.calls(choice) else self.with_finish(choice, "stop")

    def new_response(self, like: object) -> Any:
        model = get(like, "model")
        empty: dict[str, Any] = {
            "id": "hookline",
            "object": "chat.completion",
            "created": 0,
            "model": model if isinstance(model, str) else "",
            "choices": [],
        }
        if not isinstance(like, SDKCall) and not is_object(like, "openai"):
            return empty
        from openai.types.chat import ChatCompletion

        return ChatCompletion.model_validate(empty)


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
        pieces: list[tuple[list[dict[str, Any]], Any]] = []
        for place, choice in enumerate(whole.pop("choices", None) or ()):
            message = dict(choice.get("message") or {})
            calls = message.pop("tool_calls", None) or ()
            base = {name: value for name, value in choice.items() if name != "message"}
            base = {"index": place, **base, "finish_reason": None}
            pieces.append(([{**base, "delta": {"role": "assistant", **message}}], None))
            base.pop("logprobs", None)
            for number, call in enumerate(calls):
                delta = {"tool_calls": [{"index": number, **call}]}
                pieces.append(([{**base, "delta": delta}], None))
            end = {**base, "delta": {}, "finish_reason": choice.get("finish_reason")}
            pieces.append(([end], None))
        if usage is not None:
            pieces.append(([], usage))
        whole["object"] = "chat.completion.chunk"
        return [
            make_like(
                response,
                _load_chunk_class,
                {**whole, "choices": choices, **({} if counts is None else {"usage": counts})},
            )
            for choices, counts in pieces
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
    _merge_delta(whole.setdefault("delta", {}), choice.get("delta") or {})
    extend(whole, {"logprobs": choice.get("logprobs")})
    others = {name: value for name, value in choice.items() if value is not None}
    whole |= {name: others[name] for name in others if name not in ("delta", "logprobs")}


def _merge_delta(whole: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a delta to those before it."""
    fragments = get_list(delta, "tool_calls")
    if fragments:
        numbers, calls = whole.setdefault("tool_calls", (_CallNumbers(), {}))
        for fragment in fragments:
            extend(calls.setdefault(numbers.find(fragment), {}), fragment)
    extend(whole, {name: value for name, value in delta.items() if name != "tool_calls"})


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
