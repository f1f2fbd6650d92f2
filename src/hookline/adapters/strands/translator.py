"""The translator of Strands, whose messages have the form of Amazon Bedrock's Converse API: a block
has one field, which says what it is."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from strands.middleware import InvokeModelContext, ModelStopReason

from hookline._support.notices import warn
from hookline.errors import TranslationError
from hookline.translate.messages import MessageTranslator
from hookline.translate.values import get, get_list, get_text, holds_text, put
from hookline.wire.model import HookToolConfig, Role

_ROLES: dict[str, Role] = {"user": "user", "assistant": "model"}
_NAMES: dict[Role, str] = {"user": "user", "model": "assistant"}
# Blocks that hooks are not shown.
_HIDDEN = frozenset({
    *("toolUse", "toolResult", "reasoningContent", "cachePoint"),
    *("image", "document", "video", "audio"),
})  # fmt: skip
# Blocks before which no text may stand.
_LEADING = frozenset({"toolResult", "reasoningContent"})
_OUTPUT = "structured_output"


class _Form:
    """``MessageForm`` of Converse's messages."""

    def role(self, message: Any) -> Role:
        return _ROLES.get(message["role"], "user")

    def text(self, message: Any) -> str:
        role = get(message, "role")
        if role not in _ROLES:
            raise TranslationError(f"role {role!r:.80} is not one of {', '.join(_ROLES)}")
        return "".join(read_texts(get_list(message, "content")))

    def with_text(self, message: Any, role: Role, text: str) -> Any:
        return put(
            message, {"role": _NAMES[role], "content": put_texts(message["content"], [text])}
        )

    def without_text(self, message: Any) -> Any | None:
        left = put_texts(message["content"], [])
        return put(message, {"content": left}) if left else None

    def new(self, role: Role, text: str) -> Any:
        return {"role": _NAMES[role], "content": [{"text": text}]}


class StrandsTranslator(MessageTranslator[Any]):
    """``HookTranslator`` for the context of a model call in Strands, or its JSON (``messages``,
    ``tool_specs``, ``tool_choice``, ``system_prompt``), and for ``ModelStopReason``."""

    form = _Form()
    name = "strands"
    api = "Strands"
    requests = 'a request of Strands is an InvokeModelContext, or {"messages", "tool_specs", …}'
    responses = "a response of Strands is a ModelStopReason"
    settings: ClassVar[dict[str, tuple[str, ...]]] = {
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens",),
        "topP": ("top_p",),
        "stopSequences": ("stop_sequences",),
    }
    usage: ClassVar[dict[str, str]] = {
        "promptTokenCount": "inputTokens",
        "candidatesTokenCount": "outputTokens",
        "totalTokenCount": "totalTokens",
    }
    one_choice = True
    tool_fields = ("tool_specs",)
    finish_words = (
        *("end_turn", "tool_use", "max_tokens", "stop_sequence", "content_filtered"),
        "guardrail_intervened",
    )
    request_fields = ("system_prompt", "tool_specs", "invocation_state", "agent")

    def reads_request(self, request: object) -> bool:
        if isinstance(request, InvokeModelContext):
            return True
        return isinstance(request, Mapping) and isinstance(request.get("messages"), list)

    def new_request(self, like: object) -> Any:
        if isinstance(like, InvokeModelContext):
            return like.replace(messages=[], system_prompt=None, tool_specs=[], tool_choice=None)
        return {"messages": []}

    def split_results(self, message: Any) -> tuple[Any, Any | None] | None:
        content = message["content"]
        if not any("toolResult" in block for block in content):
            return None
        texts = [block for block in content if read_text(block) is not None]
        hidden = [block for block in content if read_text(block) is None]
        shown = put(message, {"content": texts}) if texts else None
        return put(message, {"content": hidden}), shown

    def with_system(self, request: Any, texts: Sequence[str]) -> Any:
        own = get(request, "system_prompt")
        blocks = [{"text": own}] if isinstance(own, str) else [*(own or ())]
        return put(request, {"system_prompt": [*blocks, *({"text": text} for text in texts)]})

    def model_of(self, request: Any) -> str:
        return get_text(self.settings_of(request), "model_id")

    def with_model(self, request: Any, model: str) -> Any:
        warn(f"a hook's model {model!r:.80} was left out: an agent of Strands chooses its model")
        return request

    def settings_of(self, request: Any) -> Any:
        config = request.model.get_config() if isinstance(request, InvokeModelContext) else None
        return config if isinstance(config, Mapping) else {}

    def with_settings(self, request: Any, changes: Mapping[str, Any]) -> Any:
        named = ", ".join(changes)
        warn(f"a hook's settings ({named}) were left out: in Strands they are the model's own")
        return request

    def tools_of(self, request: Any) -> Sequence[Any]:
        outputs = find_output_tools(request)
        specs = get_list(request, "tool_specs")
        return [spec for spec in specs if self.tool_name(spec) not in outputs]

    def tool_name(self, tool: Any) -> str:
        return get_text(tool, "name")

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        return get(request, "tool_choice"), get(request, "tool_specs")

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        if isinstance(choice, Mapping):
            if "tool" in choice:
                return {"mode": "ANY", "allowedFunctionNames": [get_text(choice["tool"], "name")]}
            if "any" in choice or "auto" in choice:
                return {"mode": "ANY" if "any" in choice else "AUTO"}
        raise TranslationError(f"tool_choice {choice!r:.80} has an unknown shape")

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:
        if mode == "ANY":
            return {"any": {}}
        # Not every model accepts a choice, and without one all of them choose freely.
        return None if mode == "NONE" or own is None else {"auto": {}}

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        """Declare the allowed tools alone, since Converse has neither an allow-list nor a choice of
        none. The tools of a structured answer stay, and so does a choice of one."""
        specs, outputs = get_list(request, "tool_specs"), find_output_tools(request)
        own = get(request, "tool_choice")
        left = [
            spec
            for spec in specs
            if self.tool_name(spec) in outputs or self.keep_tools([spec], mode, allowed)
        ]
        changes: dict[str, Any] = {} if len(left) == len(specs) else {"tool_specs": left}
        if outputs.isdisjoint(self.to_hook_tool_config(own).get("allowedFunctionNames", ())):
            choice = self.tool_choice(mode if left else "NONE", allowed, own)
            changes |= {} if choice == own else {"tool_choice": choice}
        return put(request, changes)

    def reads_response(self, response: object) -> bool:
        return isinstance(response, ModelStopReason)

    def texts(self, choice: Any) -> list[str]:
        return read_texts(choice.message["content"])

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        return with_content(choice, put_texts(choice.message["content"], texts))

    def finish(self, choice: Any) -> str | None:
        return str(choice.stop_reason)

    def with_finish(self, choice: Any, word: str) -> Any:
        return ModelStopReason(_as_reason(word), choice.message, choice.usage, choice.metrics)

    def calls(self, choice: Any) -> list[str]:
        blocks = choice.message["content"]
        return [block["toolUse"]["name"] for block in blocks if "toolUse" in block]

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        kept = [
            block
            for block in choice.message["content"]
            if "toolUse" not in block or block["toolUse"]["name"] not in names
        ]
        choice = with_content(choice, kept)
        return choice if self.calls(choice) else self.with_finish(choice, "end_turn")

    def usage_of(self, response: Any) -> Any:
        return response.usage

    def with_usage(self, response: Any, changes: Mapping[str, Any]) -> Any:
        usage = put(response.usage, changes)
        return ModelStopReason(response.stop_reason, response.message, usage, response.metrics)

    def new_response(self, like: object) -> Any:
        return ModelStopReason(
            "end_turn",
            {"role": "assistant", "content": []},
            {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
            {"latencyMs": 0},
        )


def find_output_tools(request: Any) -> frozenset[str]:
    """Return the names of the tools by which the model gives a structured answer; they are no
    tools for hooks."""
    if not isinstance(request, InvokeModelContext):
        return frozenset()
    registry: Any = getattr(request.agent, "tool_registry", None)
    tools = getattr(registry, "dynamic_tools", {})
    return frozenset(name for name, tool in tools.items() if tool.tool_type == _OUTPUT)


def read_texts(content: Sequence[Any]) -> list[str]:
    """Return the texts of a message's content that hooks are shown."""
    return [text for block in content if (text := read_text(block)) is not None]


def read_text(block: Any) -> str | None:
    """Return the text of a block, None if it is not one; raise TranslationError for a block of
    unknown kind that holds text: shown as empty, it would pass every guard."""
    if not isinstance(block, Mapping):
        raise TranslationError(f"a message cannot hold {type(block).__name__}")
    if "text" in block:
        return get_text(block, "text")
    if "guardContent" in block:
        return get_text(get(block["guardContent"], "text"), "text")
    if "citationsContent" in block:
        cited = get_list(block["citationsContent"], "content")
        return "".join(get_text(part, "text") for part in cited)
    if not block.keys() <= _HIDDEN and holds_text(block):
        raise TranslationError(f"a message has a block of {', '.join(map(str, block))}")
    return None


def put_texts(content: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """Return the content with these texts for the old: each in its place if there are as many,
    otherwise all at the place of the first. An empty text is left out, since models refuse it."""
    places = [place for place, block in enumerate(content) if read_text(block) is not None]
    if len(places) == len(texts):
        new = dict(zip(places, texts, strict=True))
        made = [_with_text(b, new[n]) if n in new else b for n, b in enumerate(content)]
    else:
        leading = (n for n, block in enumerate(content) if _LEADING.isdisjoint(block))
        first = places[0] if places else next(leading, len(content))
        after = [block for n, block in enumerate(content) if n >= first and n not in places]
        made = [*content[:first], *({"text": text} for text in texts), *after]
    return [block for block in made if read_text(block) != ""]


def _with_text(block: Any, text: str) -> Any:
    if read_text(block) == text:
        return block
    if "guardContent" in block:
        # What a guardrail checks stays marked as such.
        held = put(block["guardContent"]["text"], {"text": text})
        return {**block, "guardContent": {**block["guardContent"], "text": held}}
    return {"text": text}


def with_content(response: ModelStopReason, content: list[Any]) -> ModelStopReason:
    """Return a response with another content of its message."""
    message: Any = {**response.message, "content": content}
    return ModelStopReason(response.stop_reason, message, response.usage, response.metrics)


def _as_reason(word: str) -> Any:
    return word
