"""The laws of translation, for the message APIs as JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.testing.translators import (
    check_answers,
    check_request,
    check_response,
)
from hookline.translate.choosing import make_translator
from tests.translate import apis
from tests.translate.forms import Json

REQUESTS: dict[str, st.SearchStrategy[Json]] = {
    "openai-chat": apis.chat_requests(),
    "anthropic": apis.claude_requests(),
}
RESPONSES: dict[str, st.SearchStrategy[Json]] = {
    "openai-chat": apis.chat_responses,
    "anthropic": apis.claude_responses,
}


@pytest.mark.parametrize("api", REQUESTS)
@given(data=st.data())
def test_requests_obey_the_laws(api: str, data: st.DataObject) -> None:
    check_request(make_translator(api), data.draw(REQUESTS[api]))


@pytest.mark.parametrize("api", RESPONSES)
@given(data=st.data())
def test_responses_obey_the_laws(api: str, data: st.DataObject) -> None:
    check_response(make_translator(api), data.draw(RESPONSES[api]))


@pytest.mark.parametrize("api", REQUESTS)
@given(data=st.data())
def test_answers_of_hooks_come_in_the_form_of_the_request(api: str, data: st.DataObject) -> None:
    for like in (data.draw(REQUESTS[api]), data.draw(RESPONSES[api])):
        check_answers(make_translator(api), like, dict)
