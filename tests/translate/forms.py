"""Requests and responses written once as JSON and held in each form a caller may hold them in."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from google.genai import types

from hookline.translate import HookTranslator
from hookline.translate.choice import AnyTranslator
from hookline.translate.genai import GenerateContentParameters

Json = dict[str, Any]

translator: HookTranslator = AnyTranslator()


class Form(NamedTuple):
    """Makes the values of one form from JSON."""

    name: str
    request: Callable[[Json], Any]
    response: Callable[[Json], Any]
    tool_config: Callable[[Json], Any]


def parse(kind: type[Any], value: object) -> Any:
    """An SDK object from its JSON, bytes in base64 as the API sends them."""
    return kind.model_validate_json(json.dumps(value))


def typed_contents(contents: Any) -> Any:
    if isinstance(contents, list):
        return [typed_contents(entry) for entry in contents]
    if not isinstance(contents, dict):
        return contents
    is_content = not contents or "parts" in contents or "role" in contents
    return parse(types.Content if is_content else types.Part, contents)


def typed_request(value: Json) -> GenerateContentParameters:
    config = value.get("config")
    return GenerateContentParameters(
        value.get("model", ""),
        typed_contents(value.get("contents")),
        None if config is None else parse(types.GenerateContentConfig, config),
    )


def as_json(value: Any) -> Any:
    """The JSON of a value in any form."""
    if isinstance(value, GenerateContentParameters):
        fields = {"model": value.model, "contents": value.contents, "config": value.config}
        return {name: as_json(item) for name, item in fields.items() if item is not None}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {name: as_json(item) for name, item in value.items()}
    return value


JSON = Form("json", lambda value: value, lambda value: value, lambda value: value)
TYPED = Form(
    "typed",
    typed_request,
    lambda value: parse(types.GenerateContentResponse, value),
    lambda value: parse(types.ToolConfig, value),
)

in_both_forms = pytest.mark.parametrize("form", [JSON, TYPED], ids=lambda form: form.name)


def text(*texts: str, role: str = "user") -> Json:
    """A content of text parts."""
    return {"role": role, "parts": [{"text": each} for each in texts]}


def said(*pairs: tuple[str, str]) -> list[Json]:
    """Messages from (role, content)."""
    return [{"role": role, "content": content} for role, content in pairs]


IMAGE: Json = {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}
CALL: Json = {"functionCall": {"name": "fs_list", "args": {"dir": "."}}}
ANSWER: Json = {"functionResponse": {"name": "fs_list", "response": {"output": "a"}}}
THOUGHT: Json = {"text": "secret plan", "thought": True, "thoughtSignature": "c2ln"}
