"""What hooks read of Strands' messages, and what becomes of what they write."""

from typing import Any

import pytest
from strands.middleware import ModelStopReason

from hookline.adapters.strands.translator import StrandsTranslator
from hookline.errors import TranslationError
from tests.kit.translators import HIDDEN, SECRET, check_answers, check_request, check_response

TRANSLATOR = StrandsTranslator()
ANSWER: Any = {
    "role": "assistant",
    "content": [
        {"reasoningContent": {"reasoningText": {"text": HIDDEN}}},
        {"text": "look"},
        {"citationsContent": {"content": [{"text": SECRET}], "citations": [{"title": SECRET}]}},
        {"toolUse": {"toolUseId": "1", "name": "shell", "input": {"command": HIDDEN}}},
    ],
}
RESULT = {"toolUseId": "1", "status": "success", "content": [{"text": HIDDEN}]}
REQUEST: dict[str, Any] = {
    "messages": [
        {
            "role": "user",
            "content": [
                {"text": f"write to {SECRET}"},
                {"image": {"format": "png", "source": {"bytes": b"x"}}},
            ],
        },
        ANSWER,
        {
            "role": "user",
            "content": [
                {"toolResult": RESULT},
                {"text": "and then?"},
                {"guardContent": {"text": {"text": f"x {SECRET}", "qualifiers": ["query"]}}},
                {"cachePoint": {"type": "default"}},
            ],
        },
    ],
    "tool_specs": [
        {"name": name, "description": "", "inputSchema": {"json": {}}} for name in ("shell", "mail")
    ],
    "system_prompt": "Be brief.",
}
RESPONSE = ModelStopReason(
    "tool_use", ANSWER, {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}, {"latencyMs": 1}
)


@pytest.mark.parametrize("choice", [None, {"auto": {}}, {"any": {}}, {"tool": {"name": "mail"}}])
def test_requests_obey_the_laws(choice: Any) -> None:
    check_request(TRANSLATOR, {**REQUEST, "tool_choice": choice})


def test_responses_obey_the_laws() -> None:
    check_response(TRANSLATOR, RESPONSE)
    check_answers(TRANSLATOR, REQUEST, ModelStopReason)


def test_a_response_without_its_calls_ends_the_loop() -> None:
    left = TRANSLATOR.drop_calls(RESPONSE, ["shell"])
    assert (left.stop_reason, TRANSLATOR.call_names(left)) == ("end_turn", [])


@pytest.mark.parametrize(
    "content", [[{"speech": {"transcript": "hm"}}], ["hm"], [{"text": 1}], "hm"], ids=str
)
def test_what_hooks_could_not_be_shown_is_no_empty_message(content: Any) -> None:
    with pytest.raises(TranslationError):
        TRANSLATOR.to_hook_llm_request({"messages": [{"role": "user", "content": content}]})
