"""The translator of LangChain: lists of its messages, and the requests that its middleware gets.

A system prompt that an agent holds beside the messages is not shown, as with every API that keeps
it apart; a system message within the list is.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, TypeVar

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from hookline._support.notices import warn
from hookline.errors import TranslationError
from hookline.translate.blocks import ABOUT_THE_TEXT, Blocks
from hookline.translate.messages import MessageTranslator
from hookline.translate.values import get, is_object, put
from hookline.wire.model import HookToolConfig, Role

if TYPE_CHECKING:
    from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse

B = TypeVar("B", bound=BaseMessage)

_KINDS: dict[Role, type[BaseMessage]] = {
    "user": HumanMessage,
    "model": AIMessage,
    "system": SystemMessage,
}
_CHAT_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "model",
    "ai": "model",
    "model": "model",
    "system": "system",
    "developer": "system",
}
_BLOCKS = Blocks(
    {"text": "text", "refusal": "refusal"},
    {
        *("image", "image_url", "audio", "input_audio", "video", "file", "media", "document"),
        *("text-plain", "guard_content", "search_result", "non_standard"),
        *("reasoning", "reasoning_content", "thinking", "redacted_thinking", "thought_signature"),
        *("tool_use", "tool_result", "tool_call", "tool_call_chunk", "invalid_tool_call"),
        *(
            "function_call",
            "custom_tool_call",
            "mcp_call",
            "mcp_list_tools",
            "mcp_approval_request",
        ),
        *("server_tool_use", "server_tool_call", "server_tool_call_chunk", "server_tool_result"),
        *("web_search_call", "web_search_tool_result", "web_fetch_tool_result", "file_search_call"),
        *("code_interpreter_call", "code_execution_tool_result", "code_execution_result"),
        *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
        *("executable_code", "computer_call", "image_generation_call", "mcp_approval_request"),
        *("mcp_tool_use", "mcp_tool_result", "tool_search_tool_result", "container_upload"),
    },
    leading=("reasoning", "reasoning_content", "thinking", "redacted_thinking"),
)
# Fields beside the content in which providers' packages repeat its text.
_ECHOES = frozenset(
    {
        *ABOUT_THE_TEXT,
        *("citation_metadata", "grounding_metadata", "message", "content", "output", "text"),
    }
)
# What a message may hold beside its content that is not its text.
_MORE = ("tool_calls", "function_call", "audio", "reasoning_content")
_MODES = {"auto": "AUTO", "any": "ANY", "required": "ANY", "none": "NONE"}
_CHOICES = {"AUTO": "auto", "ANY": "any", "NONE": "none"}


class _MessageForm:
    """``MessageForm`` of LangChain's messages."""

    def role(self, message: BaseMessage) -> Role:
        return _read_role(message) or "user"

    def text(self, message: BaseMessage) -> str:
        return "" if _read_role(message) is None else "".join(_read_texts(message))

    def with_text(self, message: BaseMessage, role: Role, text: str) -> BaseMessage:
        changed = _with_texts(message, [text])
        if role == _read_role(message):
            return changed
        fields = {name: getattr(changed, name) for name in changed.model_fields_set - {"type"}}
        fields.pop("role", None)
        return _KINDS[role](**fields)

    def without_text(self, message: BaseMessage) -> BaseMessage | None:
        left = _with_texts(message, [])
        more = [get(left, "tool_calls"), get(left, "invalid_tool_calls")]
        more += [left.additional_kwargs.get(name) for name in _MORE]
        return left if left.content or any(more) else None

    def new(self, role: Role, text: str) -> BaseMessage:
        return _KINDS[role](content=text)


_FORM = _MessageForm()


class LangChainTranslator(MessageTranslator[BaseMessage]):
    """``HookTranslator`` for lists of LangChain's messages and the ``ModelRequest`` of its agents;
    responses are an ``AIMessage``, a ``ModelResponse`` or an ``ExtendedModelResponse``."""

    form = _FORM
    name = "langchain"
    api = "LangChain"
    requests = "a request of LangChain is a list of its messages, or a ModelRequest"
    responses = "a response of LangChain is an AIMessage, or a ModelResponse that holds some"
    settings: ClassVar[dict[str, tuple[str, ...]]] = {
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_output_tokens", "max_completion_tokens", "max_tokens"),
        "topP": ("top_p",),
        "topK": ("top_k",),
        "stopSequences": ("stop_sequences", "stop"),
        "candidateCount": ("n",),
        "presencePenalty": ("presence_penalty",),
        "frequencyPenalty": ("frequency_penalty",),
    }
    usage: ClassVar[dict[str, str]] = {
        "promptTokenCount": "input_tokens",
        "candidatesTokenCount": "output_tokens",
        "totalTokenCount": "total_tokens",
    }

    finish_words = (
        *("stop", "length", "tool_calls", "content_filter", "function_call"),
        *("end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal", "pause_turn"),
        *("STOP", "MAX_TOKENS", "SAFETY"),
    )
    request_fields = ("system_message", "response_format", "state", "runtime", "model_settings")
    response_fields = ("result", "structured_response", "model_response", "command")

    def reads_request(self, request: object) -> bool:
        if isinstance(request, list | tuple):
            return all(isinstance(message, BaseMessage) for message in request)
        return _is_model_request(request)

    def new_request(self, like: object) -> Any:
        if not _is_model_request(like):
            return []
        from langchain.agents.middleware import ModelRequest

        return ModelRequest(model=like.model, messages=[])

    def messages(self, request: Any) -> Sequence[BaseMessage]:
        messages: Sequence[BaseMessage] = (
            request.messages if _is_model_request(request) else request
        )
        for place, message in enumerate(messages):
            if _read_role(message) is None and not _is_hidden(message):
                what = type(message).__name__
                raise TranslationError(f"messages[{place}] is a {what}, which no model can read")
        return messages

    def with_messages(self, request: Any, messages: list[BaseMessage]) -> Any:
        return put(request, {"messages": messages}) if _is_model_request(request) else messages

    def with_system(self, request: Any, texts: Sequence[str]) -> Any:
        text = "\n\n".join(texts)
        if _is_model_request(request):
            return put(request, {"system_message": _add_text(request.system_message, text)})
        first = request[0] if request and isinstance(request[0], SystemMessage) else None
        return [_add_text(first, text), *request[0 if first is None else 1 :]]

    def model_of(self, request: Any) -> str:
        name = get(get(request, "model"), _find_name_field(request))
        return name if isinstance(name, str) else ""

    def with_model(self, request: Any, model: str) -> Any:
        field = _find_name_field(request)
        if not field:
            warn(f"a hook's model {model!r:.80} was left out: LangChain has no name to change here")
            return request
        return put(request, {"model": put(request.model, {field: model})})

    def settings_of(self, request: Any) -> Any:
        if not _is_model_request(request):
            return {}
        # The settings of the model count unless the call overrides them.
        model, names = request.model, [name for own in self.settings.values() for name in own]
        fields = getattr(type(model), "model_fields", {})
        own = {name: getattr(model, name) for name in names if name in fields}
        return {**own, **request.model_settings}

    def with_settings(self, request: Any, changes: Mapping[str, Any]) -> Any:
        if not _is_model_request(request):
            named = ", ".join(changes)
            warn(f"a hook's settings ({named}) were left out: a list of messages has none")
            return request
        return put(request, {"model_settings": {**request.model_settings, **changes}})

    def tool_name(self, tool: Any) -> str:
        name = get(tool, "name") or get(get(tool, "function"), "name")
        return name if isinstance(name, str) else ""

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        if choice is True:
            return {"mode": "ANY"}
        kind = get(choice, "type") if isinstance(choice, Mapping) else choice
        name = self.tool_name(choice) if isinstance(choice, Mapping) else ""
        if name:
            return {"mode": "ANY", "allowedFunctionNames": [name]}
        if not isinstance(kind, str):
            raise TranslationError(f"tool_choice {choice!r:.80} has an unknown shape")
        if kind in _MODES:
            return {"mode": _MODES[kind]}
        return {"mode": "ANY", "allowedFunctionNames": [kind]}

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:  # noqa: ARG002
        return _CHOICES[mode]

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        own, tools = get(request, "tool_choice"), self.tools_of(request)
        if not tools:
            return request
        left = self.keep_tools(tools, mode, allowed)
        if not left and _needs_declared_tools(request):
            return put(request, {"tool_choice": {"type": "none"}})
        choice = self.tool_choice(mode, None, own)
        if not left or (mode == "AUTO" and own is None):
            # Not every model accepts a tool choice, and without one all of them choose freely.
            choice = None
        changes = {} if choice == own else {"tool_choice": choice}
        return put(request, changes if len(left) == len(tools) else {**changes, "tools": left})

    def reads_response(self, response: object) -> bool:
        if isinstance(response, AIMessage):
            return True
        held = get(response, "model_response") if _is_extended(response) else response
        return _is_model_response(held) and isinstance(held.result, list)

    def choices(self, response: Any) -> list[Any]:
        return [message for message in _read_result(response) if isinstance(message, AIMessage)]

    def with_choices(self, response: Any, choices: list[Any]) -> Any:
        if isinstance(response, AIMessage):
            if len(choices) != 1:
                warn("LangChain's message is one answer: a hook's other candidates were left out")
            return choices[0] if choices else _with_texts(response, [])
        if _is_extended(response):
            inner = self.with_choices(response.model_response, choices)
            return put(response, {"model_response": inner})
        left = iter(choices)
        result = [
            next(left, None) if isinstance(message, AIMessage) else message
            for message in response.result
        ]
        kept = [message for message in result if message is not None]
        # A value that was parsed from the old text would repeat it.
        was_read = not any(message.tool_calls for message in self.choices(response))
        parsed = None if was_read else response.structured_response
        return put(response, {"result": [*kept, *left], "structured_response": parsed})

    def new_choice(self, response: Any, index: int) -> Any:  # noqa: ARG002 - all are alike
        return AIMessage(content="")

    def texts(self, choice: Any) -> list[str]:
        return _read_texts(choice)

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        return _with_texts(choice, texts)

    def finish(self, choice: Any) -> str | None:
        word = next(iter(_read_finish_words(choice).values()), None)
        return word if isinstance(word, str) else None

    def with_finish(self, choice: Any, word: str) -> Any:
        name = next(iter(_read_finish_words(choice)), "finish_reason")
        return put(choice, {"response_metadata": {**choice.response_metadata, name: word}})

    def calls(self, choice: Any) -> list[str]:
        return [call["name"] for call in choice.tool_calls]

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        gone = {call["id"] for call in choice.tool_calls if call["name"] in names}
        changes: dict[str, Any] = {
            "tool_calls": [call for call in choice.tool_calls if call["name"] not in names]
        }
        if isinstance(choice.content, list):
            changes["content"] = [
                block for block in choice.content if not _is_call(block, gone, names)
            ]
        raw = choice.additional_kwargs.get("tool_calls")
        if raw:
            kept = [call for call in raw if get(call, "id") not in gone]
            changes["additional_kwargs"] = put(
                choice.additional_kwargs, {"tool_calls": kept or None}
            )
        return put(choice, changes)

    def new_response(self, like: object) -> Any:
        if not (_is_model_request(like) or _is_model_response(like) or _is_extended(like)):
            return AIMessage(content="")
        from langchain.agents.middleware import ModelResponse

        return ModelResponse(result=[])

    def usage_of(self, response: Any) -> Any:
        return next((m.usage_metadata for m in self.choices(response) if m.usage_metadata), None)

    def with_usage(self, response: Any, changes: Mapping[str, Any]) -> Any:
        choices = self.choices(response)
        place = next(place for place, message in enumerate(choices) if message.usage_metadata)
        usage = put(choices[place].usage_metadata, changes)
        choices[place] = put(choices[place], {"usage_metadata": usage})
        return self.with_choices(response, choices)


def _read_role(message: BaseMessage) -> Role | None:
    if isinstance(message, ChatMessage):
        return _CHAT_ROLES.get(message.role)
    return next((role for role, kind in _KINDS.items() if isinstance(message, kind)), None)


def _is_hidden(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage | FunctionMessage)


def _read_texts(message: BaseMessage) -> list[str]:
    texts = _BLOCKS.read(message.content) if message.content else []
    refusal = message.additional_kwargs.get("refusal")
    return [*texts, refusal] if isinstance(refusal, str) and refusal else texts


def _with_texts(message: B, texts: list[str]) -> B:
    old, content = _read_texts(message), message.content
    beside = {k: v for k, v in message.additional_kwargs.items() if k not in _ECHOES}
    about = {k: v for k, v in message.response_metadata.items() if k not in _ECHOES}
    if refusal := beside.get("refusal"):
        *rest, last = texts if len(texts) == len(old) else [*texts, None]
        if last != refusal:
            beside = put(beside, {"refusal": last})
        texts = [text for text in rest if text is not None]
    changes: dict[str, Any] = {"content": _put_content(content, texts)}
    if beside != message.additional_kwargs:
        changes["additional_kwargs"] = beside
    if about != message.response_metadata:
        changes["response_metadata"] = about
    changed: B = put(message, changes)
    return changed


def _put_content(content: Any, texts: list[str]) -> Any:
    if texts == (_BLOCKS.read(content) if content else []):
        return content
    return _BLOCKS.put(content, texts, lambda text: {"type": "text", "text": text})


def _add_text(message: SystemMessage | None, text: str) -> SystemMessage:
    if message is None or not message.content:
        return SystemMessage(content=text)
    if isinstance(message.content, str):
        return message.model_copy(update={"content": f"{message.content}\n\n{text}"})
    block = {"type": "text", "text": text}
    return message.model_copy(update={"content": [*message.content, block]})


def _find_name_field(request: Any) -> str:
    """The field of a request's model that holds its name, empty if it has none."""
    model = get(request, "model") if _is_model_request(request) else None
    fields = getattr(type(model), "model_fields", {})
    return next((name for name in ("model_name", "model") if name in fields), "")


def _needs_declared_tools(request: Any) -> bool:
    """True for a conversation with calls if the model is Anthropic's, which refuses calls of tools
    that are not declared."""
    llm_type = getattr(get(request, "model"), "_llm_type", "")
    is_anthropic = isinstance(llm_type, str) and llm_type.startswith("anthropic")
    return is_anthropic and any(get(message, "tool_calls") for message in request.messages)


def _read_result(response: Any) -> Iterator[BaseMessage]:
    if isinstance(response, AIMessage):
        return iter((response,))
    held = response.model_response if _is_extended(response) else response
    return iter(held.result)


def _read_finish_words(message: AIMessage) -> dict[str, Any]:
    about = message.response_metadata
    return {name: about[name] for name in ("finish_reason", "stop_reason") if about.get(name)}


def _is_call(block: Any, ids: Collection[Any], names: Collection[str]) -> bool:
    kind = get(block, "type") if isinstance(block, Mapping) else None
    if kind not in ("tool_use", "tool_call", "function_call"):
        return False
    return get(block, "name") in names and (get(block, "id") in ids or not get(block, "id"))


def _is_model_request(value: object) -> "TypeGuard[ModelRequest[Any]]":
    return is_object(value, "langchain", "ModelRequest")


def _is_model_response(value: object) -> "TypeGuard[ModelResponse[Any]]":
    return is_object(value, "langchain", "ModelResponse")


def _is_extended(value: object) -> "TypeGuard[ExtendedModelResponse[Any]]":
    return is_object(value, "langchain", "ExtendedModelResponse")
