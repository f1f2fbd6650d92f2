"""Gemini: its conversations, in JSON or the SDK's types, and the google-genai client.

The conversation is written once for both forms, so an agent on plain JSON (no SDK, no key) runs
the same code as an agent on the SDK's objects. The SDK is imported when the
provider is made.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from hookline.agent.providers import SUMMARIZE
from hookline.agent.tools import Tool
from hookline.agent.turns import (
    CallResult,
    FunctionCall,
    Media,
    Native,
    Opaque,
    Part,
    Text,
    Turn,
    as_neutral,
    encode_base64,
    plain_json,
    text_turn,
)
from hookline.errors import HooklineError, TranslationError
from hookline.translate.genai import GenAIStreams, GenerateContentParameters, accept_config
from hookline.translate.genai_values import (
    Form,
    as_part,
    build,
    field,
    list_field,
    object_field,
    objects_field,
    text_part,
    visible_texts,
    with_fields,
)

_API = "genai"
# Every part that the API accepts has one of these fields.
_CARRIED = frozenset({
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
    "codeExecutionResult", "inline_data", "file_data", "function_call", "function_response",
    "executable_code", "code_execution_result",
})  # fmt: skip


class GenAIConversation:
    """``Conversation`` in one form: ``camel`` for JSON, ``typed`` for the SDK's objects."""

    def __init__(self, form: Form, *, system_role: bool = False) -> None:
        self.form: Form = form
        self.system_role = system_role

    def request(
        self, model: str, turns: Sequence[Turn], *, config: Any = None, tools: Sequence[Tool] = ()
    ) -> Any:
        """Make a request to the model; ``config`` is a ``GenerateContentConfig``, or its JSON."""
        contents = [
            self._write_content(turn) for turn in turns if turn.parts or turn.message_for(_API)
        ]
        if tools:
            declared = [build(self.form, "FunctionDeclaration", _declare(tool)) for tool in tools]
            tool = build(self.form, "Tool", {"functionDeclarations": declared})
            listed = {"tools": [*list_field(config, "tools"), tool]}
            if config is None:
                config = build(self.form, "GenerateContentConfig", listed)
            else:
                config = with_fields(config, listed, form=self.form)
        if self.form == "typed":
            return GenerateContentParameters(model, contents, config)
        configured = {"config": config} if config else {}
        return {"model": model, "contents": contents, **configured}

    def merged(self, chunks: Sequence[Any]) -> Any:
        """Merge a stream's chunks into the complete response: texts joined, all else in order."""
        if not chunks:
            return build(self.form, "GenerateContentResponse", {"candidates": []})
        return GenAIStreams().merge(chunks)

    def read(self, response: Any) -> Turn | None:
        """Return the turn of the first candidate, None if it is empty."""
        content = self._find_first_content(response)
        given = list_field(content, "parts")
        if not given:
            return None
        parts: list[Part] = []
        for part in given:
            parts += [Text(text) for text in visible_texts([part])]
            if (call := field(part, "functionCall")) is not None:
                args = dict(field(call, "args") or {})
                parts.append(FunctionCall(field(call, "name") or "", args, field(call, "id")))
            if field(part, "inlineData") is not None:
                media = as_neutral(Opaque(part))
                parts += [media] if isinstance(media, Media) else []
        return Turn("model", tuple(parts), Native(_API, dict(plain_json(content))))

    def text(self, response: Any) -> str:
        """Return the text that a person reads in a response or a chunk of one."""
        return "".join(visible_texts(list_field(self._find_first_content(response), "parts")))

    def _find_first_content(self, response: Any) -> Any:
        candidate = next(iter(objects_field(response, "candidates")), None)
        return object_field(candidate, "content") if candidate is not None else None

    def _write_content(self, turn: Turn) -> Any:
        native = turn.message_for(_API)
        if native is not None:
            return build(self.form, "Content", native)
        role: str = turn.role
        parts = [made for part in turn.parts for made in self._write_parts(part)]
        if role == "system" and not self.system_role:
            role, parts = "user", [text_part(f"[System] {turn.text}", form=self.form)]
        return build(self.form, "Content", {"role": role, "parts": parts})

    def _write_parts(self, part: Part) -> list[Any]:
        form = self.form
        match part:
            case Text(text):
                return [text_part(text, form=form)]
            case Media(mime_type, data):
                blob = {"mimeType": mime_type, "data": encode_base64(data)}
                return [build(form, "Part", {"inlineData": blob})]
            case FunctionCall(name, args, id):
                call = build(form, "FunctionCall", _drop_none(id=id, name=name, args=args))
                return [build(form, "Part", {"functionCall": call})]
            case CallResult(call, text, is_error, attached):
                said = {"error" if is_error else "output": text}
                named = _drop_none(id=call.id, name=call.name, response=said)
                answer = build(form, "FunctionResponse", named)
                answered = build(form, "Part", {"functionResponse": answer})
                return [answered, *(made for each in attached for made in self._write_parts(each))]
            case Opaque(value):
                if isinstance(value, Mapping) and _CARRIED.isdisjoint(value):
                    return self._write_parts(as_neutral(part))
                try:
                    if form == "typed" and isinstance(value, Mapping):
                        return [build(form, "Part", value)]
                    return [as_part(value, form=form)]
                except (TranslationError, ImportError):
                    return self._write_parts(as_neutral(part))


class GenAIProvider:
    """A model behind ``google.genai.Client``; requests and responses are the SDK's types."""

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
        """Close the client, if this provider made it."""
        if self._is_own:
            await self._client.aio.aclose()
            self._client.close()

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        """Call the model, and yield what the API streams."""
        chunks = await self._client.aio.models.generate_content_stream(
            model=request.model, contents=request.contents, config=accept_config(request.config)
        )
        async for chunk in chunks:
            yield chunk

    async def summarize(self, turns: Sequence[Turn]) -> str:
        """Have the model summarize these turns."""
        asked = self.conversation.request(self.model, [*turns, text_turn("user", SUMMARIZE)])
        response = await self._client.aio.models.generate_content(
            model=asked.model, contents=asked.contents
        )
        return self.conversation.text(response)


def _declare(tool: Tool) -> dict[str, Any]:
    schema = {"parametersJsonSchema": dict(tool.parameters)} if tool.parameters else {}
    return {"name": tool.name, "description": tool.description, **schema}


def _drop_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
