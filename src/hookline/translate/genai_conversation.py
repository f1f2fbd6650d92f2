"""A conversation in Gemini's terms: contents built, streams put together, calls found.

Written once for both forms, so that an agent on plain JSON (no SDK, no key) runs the very code
that an agent on the SDK's own objects does.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from hookline.translate.genai import GenerateContentParameters
from hookline.translate.genai_forms import (
    Form,
    build,
    field,
    list_field,
    object_field,
    objects_field,
    plain,
    with_fields,
)
from hookline.translate.genai_parts import as_part, text_part, visible_texts


class FunctionCall(msgspec.Struct, frozen=True):
    """A tool call the model asks for."""

    name: str
    args: dict[str, Any]
    id: str | None = None


class GenAIConversation:
    """Contents, requests and responses of one form: ``camel`` for JSON, ``typed`` for the SDK's."""

    def __init__(self, form: Form) -> None:
        self.form: Form = form

    def text_content(self, role: str, text: str) -> Any:
        """A message of one text."""
        return self.content(role, [text_part(text, form=self.form)])

    def content(self, role: str, parts: Sequence[Any]) -> Any:
        """A message of parts, each a text, a part, or its JSON."""
        made = [self._part(part) for part in parts]
        return build(self.form, "Content", {"role": role, "parts": made})

    def function_response(self, call: FunctionCall, response: dict[str, Any]) -> Any:
        """The part that answers a call."""
        fields = {"id": call.id, "name": call.name, "response": response}
        given = {name: value for name, value in fields.items() if value is not None}
        answer = build(self.form, "FunctionResponse", given)
        return build(self.form, "Part", {"functionResponse": answer})

    def request(self, model: str, contents: Sequence[Any], config: Any) -> Any:
        """A request to the model."""
        if self.form == "typed":
            return GenerateContentParameters(model, list(contents), config)
        return {
            "model": model,
            "contents": list(contents),
            **({"config": config} if config else {}),
        }

    def with_tools(self, config: Any, declarations: Sequence[dict[str, Any]]) -> Any:
        """A model config that also declares these functions."""
        made = [build(self.form, "FunctionDeclaration", declared) for declared in declarations]
        tool = build(self.form, "Tool", {"functionDeclarations": made})
        if config is None:
            return build(self.form, "GenerateContentConfig", {"tools": [tool]})
        tools = [*list_field(config, "tools"), tool]
        return with_fields(config, {"tools": tools}, form=self.form)

    def with_content(self, request: Any, content: Any) -> Any:
        """The request with one more message at its end."""
        contents = field(request, "contents")
        listed = list(contents) if isinstance(contents, list | tuple) else [contents]
        return with_fields(request, {"contents": [*listed, content]}, form=self.form)

    def with_tool_config(self, request: Any, tool_config: Any) -> Any:
        """The request under another tool config."""
        config = object_field(request, "config")
        if config is None:
            config = build(self.form, "GenerateContentConfig", {})
        changed = with_fields(config, {"toolConfig": tool_config}, form=self.form)
        return with_fields(request, {"config": changed}, form=self.form)

    def allowed_names(self, tool_config: Any) -> frozenset[str] | None:
        """The functions a tool config leaves, None for all; the model API alone does not enforce
        it in AUTO mode."""
        calling = field(tool_config, "functionCallingConfig")
        if calling is None:
            return None
        if str(plain(field(calling, "mode"))).upper() == "NONE":
            return frozenset()
        names = field(calling, "allowedFunctionNames")
        return None if names is None else frozenset(names)

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
        candidates = [self._merged_candidate(by_index[index]) for index in sorted(by_index)]
        usage = next((u for c in reversed(chunks) if (u := field(c, "usageMetadata"))), None)
        changes = {"candidates": candidates, "usageMetadata": usage}
        return with_fields(chunks[-1], changes, form=self.form)

    def calls(self, response: Any) -> list[FunctionCall]:
        """The tool calls of a response, in order."""
        content = self.content_of(response)
        return self.calls_of_content(content) if content is not None else []

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

    def text(self, response: Any) -> str:
        """What a person reads of a response."""
        return "".join(visible_texts(self._parts(response)))

    def content_of(self, response: Any) -> Any | None:
        """The message a response adds to the conversation, None when it says nothing."""
        candidate = self._first_candidate(response)
        content = object_field(candidate, "content") if candidate is not None else None
        return content if content is not None and list_field(content, "parts") else None

    def text_of_content(self, content: Any) -> str:
        """What a person reads of a message."""
        return "".join(visible_texts(list_field(content, "parts")))

    def _part(self, part: Any) -> Any:
        if self.form == "typed" and isinstance(part, dict):
            return build("typed", "Part", part)
        return as_part(part, form=self.form)

    def _parts(self, response: Any) -> list[Any]:
        content = self.content_of(response)
        return list_field(content, "parts") if content is not None else []

    def _first_candidate(self, response: Any) -> Any | None:
        return next(iter(objects_field(response, "candidates")), None)

    def _merged_candidate(self, candidates: Sequence[Any]) -> Any:
        contents = [c for x in candidates if (c := object_field(x, "content")) is not None]
        parts: list[Any] = []
        for content in contents:
            for part in list_field(content, "parts"):
                self._append(parts, part)
        role = next((r for c in contents if (r := field(c, "role"))), "model")
        merged = candidates[-1]
        for earlier in candidates[:-1]:
            merged = _filled(merged, earlier, self.form)
        content = build(self.form, "Content", {"role": role, "parts": parts})
        return with_fields(merged, {"content": content}, form=self.form)

    def _append(self, parts: list[Any], part: Any) -> None:
        """Pieces of one text become one part again; anything else stands by itself."""
        if parts and _is_text(part) and _is_text(parts[-1]):
            same = bool(field(parts[-1], "thought")) == bool(field(part, "thought"))
            if same and field(parts[-1], "thoughtSignature") is None:
                text = field(parts[-1], "text") + field(part, "text")
                parts[-1] = with_fields(part, {"text": text}, form=self.form)
                return
        parts.append(part)


_FILLED = ("finishReason", "safetyRatings", "index", "citationMetadata", "groundingMetadata")


def _filled(candidate: Any, earlier: Any, form: Form) -> Any:
    """What an earlier chunk said and the last one does not."""
    missing = {
        name: value
        for name in _FILLED
        if field(candidate, name) is None and (value := field(earlier, name)) is not None
    }
    return with_fields(candidate, missing, form=form) if missing else candidate


def _is_text(part: Any) -> bool:
    return isinstance(field(part, "text"), str) and field(part, "functionCall") is None
