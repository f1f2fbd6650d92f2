"""The laws find a translator that breaks them, each of them by what it says."""

import copy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hookline.testing.translators import (
    HIDDEN,
    SECRET,
    check_answers,
    check_any_value,
    check_request,
    check_response,
)
from hookline.translate.openai_chat import OpenAIChatTranslator
from hookline.translate.values import put
from tests.translate.forms import Json

CALL: Json = {"id": HIDDEN, "type": "function", "function": {"name": "a", "arguments": "{}"}}
REQUEST: Json = {
    "model": "m",
    "messages": [
        {"role": "user", "content": f"I am {SECRET}"},
        {"role": "assistant", "content": "hi", "tool_calls": [CALL]},
    ],
    "tools": [{"type": "function", "function": {"name": "a"}}],
}
RESPONSE: Json = {
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": SECRET, "tool_calls": [CALL]},
            "finish_reason": "stop",
            "logprobs": {"content": [{"token": SECRET}]},
        }
    ]
}


class Copying(OpenAIChatTranslator):
    def from_hook_llm_request(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        return dict(super().from_hook_llm_request(hook, base, like=like))


class Altering(OpenAIChatTranslator):
    def with_messages(self, request: Any, messages: list[Any]) -> Any:
        request["messages"][:] = messages
        return put(request, {"messages": messages})


class Forgetful(OpenAIChatTranslator):
    def with_messages(self, request: Any, messages: list[Any]) -> Any:
        left = [{name: m[name] for name in ("role", "content")} for m in messages]
        return put(request, {"messages": left})


class Leaking(OpenAIChatTranslator):
    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        return {**super().with_texts(choice, texts), "logprobs": choice.get("logprobs")}


class Permissive(OpenAIChatTranslator):
    def with_tools(self, request: Any, mode: str, allowed: Any, tools: Any) -> Any:  # noqa: ARG002
        return put(request, {"tool_choice": "auto"})


class Silent(OpenAIChatTranslator):
    def new_response(self, like: object) -> Any:  # noqa: ARG002
        return put(RESPONSE, {})


class Raising(OpenAIChatTranslator):
    def reads_request(self, request: Any) -> bool:
        return bool(request["messages"])


@pytest.mark.parametrize(
    ("translator", "check", "broken"),
    [
        (Copying(), lambda t: check_request(t, REQUEST), "must come back as itself"),
        (Altering(), lambda t: check_request(t, copy.deepcopy(REQUEST)), "was altered"),
        (Forgetful(), lambda t: check_request(t, REQUEST), "what hooks are not shown became"),
        (Leaking(), lambda t: check_response(t, RESPONSE), "a replaced text left a trace"),
        (Permissive(), lambda t: check_request(t, REQUEST), "NONE must allow no tool"),
        (Silent(), lambda t: check_answers(t, REQUEST, dict), "it calls tools"),
        (OpenAIChatTranslator(), lambda t: check_answers(t, REQUEST, list), "is dict"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_law_is_named(
    translator: OpenAIChatTranslator, check: Callable[[Any], None], broken: str
) -> None:
    with pytest.raises(AssertionError, match=broken):
        check(translator)


def test_another_exception_than_a_refusal_goes_through() -> None:
    with pytest.raises((KeyError, TypeError)):
        check_any_value(Raising(), {})


def test_the_laws_load_without_hypothesis() -> None:
    code = "import sys, hookline.testing.translators; print('hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"
