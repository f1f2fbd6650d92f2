"""Gemini: its conversations, in JSON or the SDK's types, and the google-genai client.

The conversation is written once for both forms, so that an agent on plain JSON (no SDK, no key)
runs the very code that an agent on the SDK's own objects does. The SDK is imported when the
provider is made.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from hookline.agent.providers import FunctionCall
from hookline.errors import HooklineError
from hookline.translate.genai import GenerateContentParameters, read_declared_names
from hookline.translate.genai_values import (
    Form,
    as_part,
    build,
    enum_word,
    field,
    list_field,
    object_field,
    objects_field,
    text_part,
    to_plain,
    visible_texts,
    with_fields,
)

_SUMMARIZE = (
    "Summarize the conversation so far for your own later use: what the user wants, what was done,"
    " what was decided, what is left to do. Keep names, paths and figures exact."
)
# What an earlier chunk may say of a candidate and the last one leave out.
_SAID_ONCE = ("finishReason", "safetyRatings", "index", "citationMetadata", "groundingMetadata")


class GenAIConversation:
    """``Conversation`` in one form: ``camel`` for JSON, ``typed`` for the SDK's objects."""

    def __init__(self, form: Form) -> None:
        self.form: Form = form

    def text_content(self, role: str, text: str) -> Any:
        """A message of one text."""
        return self.content(role, [text_part(text, form=self.form)])

    def content(self, role: str, parts: Sequence[Any]) -> Any:
        """A message of parts, each a text, a part, or its JSON."""
        made = [
            build("typed", "Part", part)
            if self.form == "typed" and isinstance(part, dict)
            else as_part(part, form=self.form)
            for part in parts
        ]
        return build(self.form, "Content", {"role": role, "parts": made})

    def function_response(self, call: FunctionCall, response: dict[str, Any]) -> Any:
        """The part that answers a call."""
        fields = {"id": call.id, "name": call.name, "response": response}
        given = {name: value for name, value in fields.items() if value is not None}
        answer = build(self.form, "FunctionResponse", given)
        return build(self.form, "Part", {"functionResponse": answer})

    def role_of_content(self, content: Any) -> str | None:
        """Who speaks in a message."""
        role: str | None = field(content, "role")
        return role

    def texts_of_content(self, content: Any) -> list[str]:
        """What a person reads of a message, one text a part."""
        return visible_texts(list_field(content, "parts"))

    def calls_of_content(self, content: Any) -> list[FunctionCall]:
        """The tool calls of a message, in order."""
        found = (field(part, "functionCall") for part in list_field(content, "parts"))
        return [
            FunctionCall(
                field(call, "name") or "", dict(field(call, "args") or {}), field(call, "id")
            )
            for call in found
            if call is not None
        ]

    def split_parts(self, parts: Sequence[Any]) -> tuple[list[str], list[Any]]:
        """The texts that a person reads of these parts, and the parts that are no text."""
        others = [
            part
            for part in parts
            if not isinstance(part, str) and not isinstance(field(part, "text"), str)
        ]
        return visible_texts(parts), others

    def request(self, model: str, contents: Sequence[Any], config: Any) -> Any:
        """A request to the model."""
        if self.form == "typed":
            return GenerateContentParameters(model, list(contents), config)
        configured = {"config": config} if config else {}
        return {"model": model, "contents": list(contents), **configured}

    def with_content(self, request: Any, content: Any) -> Any:
        """The request with one more message at its end."""
        contents = field(request, "contents")
        listed = list(contents) if isinstance(contents, list | tuple) else [contents]
        return with_fields(request, {"contents": [*listed, content]}, form=self.form)

    def with_tools(self, config: Any, declarations: Sequence[dict[str, Any]]) -> Any:
        """A model config that also declares these functions."""
        made = [build(self.form, "FunctionDeclaration", declared) for declared in declarations]
        tool = build(self.form, "Tool", {"functionDeclarations": made})
        if config is None:
            return build(self.form, "GenerateContentConfig", {"tools": [tool]})
        tools = [*list_field(config, "tools"), tool]
        return with_fields(config, {"tools": tools}, form=self.form)

    def merged(self, chunks: Sequence[Any]) -> Any:
        """The complete response of a stream: texts joined, everything else in order."""
        if len(chunks) == 1:
            return chunks[0]
        if not chunks:
            return build(self.form, "GenerateContentResponse", {"candidates": []})
        by_index: dict[int, list[Any]] = {}
        for chunk in chunks:
            for candidate in objects_field(chunk, "candidates"):
                by_index.setdefault(field(candidate, "index") or 0, []).append(candidate)
        merged: list[Any] = []
        for _, candidates in sorted(by_index.items()):
            contents = [c for x in candidates if (c := object_field(x, "content")) is not None]
            parts: list[Any] = []
            for content in contents:
                for part in list_field(content, "parts"):
                    if parts and _is_more_of(parts[-1], part):
                        text = field(parts[-1], "text") + field(part, "text")
                        parts[-1] = with_fields(part, {"text": text}, form=self.form)
                    else:
                        parts.append(part)
            role = next((r for c in contents if (r := field(c, "role"))), "model")
            changes = {"content": build(self.form, "Content", {"role": role, "parts": parts})}
            for name in _SAID_ONCE:
                said = (v for c in candidates if (v := field(c, name)) is not None)
                if field(candidates[-1], name) is None and (value := next(said, None)) is not None:
                    changes[name] = value
            merged.append(with_fields(candidates[-1], changes, form=self.form))
        usage = next((u for c in reversed(chunks) if (u := field(c, "usageMetadata"))), None)
        whole = {"candidates": merged, "usageMetadata": usage}
        return with_fields(chunks[-1], whole, form=self.form)

    def content_of(self, response: Any) -> Any | None:
        """The message a response adds to the conversation, None when it says nothing."""
        candidate = next(iter(objects_field(response, "candidates")), None)
        content = object_field(candidate, "content") if candidate is not None else None
        return content if content is not None and list_field(content, "parts") else None

    def text(self, response: Any) -> str:
        """What a person reads of a response."""
        return "".join(self.texts_of_content(self.content_of(response)))

    def calls(self, response: Any) -> list[FunctionCall]:
        """The tool calls of a response, in order."""
        return self.calls_of_content(self.content_of(response))


class GenAIProvider:
    """A model behind ``google.genai.Client``; requests and responses are the SDK's types."""

    system_role = False

    def __init__(self, model: str, *, client: Any = None) -> None:
        try:
            from google import genai
        except ImportError:
            raise HooklineError(
                "the google-genai package is not installed; pip install 'hookline[genai]'"
            ) from None
        self.model = model
        self.conversation = GenAIConversation("typed")
        self._is_own = client is None
        self._client = genai.Client() if client is None else client

    async def aclose(self) -> None:
        """Close the connections of a client that was made here."""
        if self._is_own:
            await self._client.aio.aclose()
            self._client.close()

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        """One call of the model, as the API streams it."""
        chunks = await self._client.aio.models.generate_content_stream(
            model=request.model, contents=request.contents, config=_accepted(request.config)
        )
        async for chunk in chunks:
            yield chunk

    async def summarize(self, contents: Sequence[Any]) -> str:
        """A summary by the model itself."""
        asked = [*contents, self.conversation.text_content("user", _SUMMARIZE)]
        response = await self._client.aio.models.generate_content(model=self.model, contents=asked)
        return self.conversation.text(response)


def _is_more_of(before: Any, part: Any) -> bool:
    """Whether a part goes on with the text of the one before: two texts or two thoughts, the
    first of which is not signed."""
    for each in (before, part):
        if not isinstance(field(each, "text"), str) or field(each, "functionCall") is not None:
            return False
    is_same_kind = bool(field(before, "thought")) == bool(field(part, "thought"))
    return is_same_kind and field(before, "thoughtSignature") is None


def _accepted(config: Any) -> Any:
    """The config as the API takes it. It refuses names beside AUTO; what they mean, these
    functions or a text, is called VALIDATED. It refuses any mode where no function is declared."""
    tool_config = field(config, "toolConfig")
    calling = field(tool_config, "functionCallingConfig")
    names, mode = field(calling, "allowedFunctionNames"), to_plain(field(calling, "mode"))
    if calling is not None and read_declared_names(config) == frozenset():
        calling = None
    elif names and (mode or "AUTO").upper() == "AUTO":
        validated = enum_word("typed", "FunctionCallingConfigMode", "VALIDATED")
        calling = with_fields(calling, {"mode": validated}, form="typed")
    else:
        return config
    tool_config = with_fields(tool_config, {"functionCallingConfig": calling}, form="typed")
    return with_fields(config, {"toolConfig": tool_config}, form="typed")
