"""The laws of translation over the SDKs' own objects: as responses, as messages of a request, and
as what the contents of its messages hold."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from anthropic.types import ContentBlock, Message
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.responses import Response, ResponseOutputItem
from pydantic import TypeAdapter

from hookline.translate.choice import make_translator
from hookline.translate.values import SDKCall
from tests.kit.translators import check_answers, check_request, check_response
from tests.translate import apis
from tests.translate.forms import Json

_output_item: TypeAdapter[ResponseOutputItem] = TypeAdapter(ResponseOutputItem)
_content: TypeAdapter[list[ContentBlock]] = TypeAdapter(list[ContentBlock])


def chat_message(message: Json) -> Any:
    if message["role"] != "assistant" or isinstance(message["content"], list):
        return message
    return ChatCompletionMessage.model_validate(message)


def item(value: Json) -> Any:
    is_output = "id" in value or ("call_id" in value and "output" not in value)
    return _output_item.validate_python(value) if is_output else value


def claude_message(message: Json) -> Any:
    if message["role"] != "assistant" or isinstance(message["content"], str):
        return message
    return {**message, "content": _content.validate_python(message["content"])}


class API(NamedTuple):
    """How the JSON of an API becomes its SDK's objects."""

    name: str
    requests: st.SearchStrategy[Json]
    responses: st.SearchStrategy[Json]
    messages: str
    as_object: Callable[[Json], Any]
    response: type[Any]

    def request(self, value: Json) -> SDKCall:
        held = value[self.messages]
        if isinstance(held, list):
            value = {**value, self.messages: [self.as_object(each) for each in held]}
        return SDKCall(self.name, value)


APIS = [
    API(
        "openai-chat",
        apis.chat_requests(),
        apis.chat_responses,
        "messages",
        chat_message,
        ChatCompletion,
    ),
    API("openai-responses", apis.item_requests(), apis.item_responses, "input", item, Response),
    API(
        "anthropic",
        apis.claude_requests(),
        apis.claude_responses,
        "messages",
        claude_message,
        Message,
    ),
]
of_each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)


@of_each_api
@given(data=st.data())
def test_requests_of_sdk_objects_obey_the_laws(api: API, data: st.DataObject) -> None:
    check_request(make_translator(api.name), api.request(data.draw(api.requests)))


@of_each_api
@given(data=st.data())
def test_sdk_responses_obey_the_laws(api: API, data: st.DataObject) -> None:
    response = api.response.model_validate(data.draw(api.responses))
    check_response(make_translator(api.name), response)


@of_each_api
@given(data=st.data())
def test_answers_to_an_sdk_call_are_the_sdks_objects(api: API, data: st.DataObject) -> None:
    translator = make_translator(api.name)
    check_answers(translator, api.request(data.draw(api.requests)), api.response)
    response = api.response.model_validate(data.draw(api.responses))
    check_answers(translator, response, api.response)


@of_each_api
@given(data=st.data())
def test_hooks_are_shown_the_same_of_objects_as_of_json(api: API, data: st.DataObject) -> None:
    translator = make_translator(api.name)
    request, response = data.draw(api.requests), data.draw(api.responses)
    shown = translator.to_hook_llm_request(api.request(request))
    assert shown == translator.to_hook_llm_request(request)
    assert translator.to_hook_llm_response(
        api.response.model_validate(response)
    ) == translator.to_hook_llm_response(response)
