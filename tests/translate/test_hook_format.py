"""The stable format on its own: merging changes, and telling good ones from bad."""

from typing import Any

import pytest

from hookline.errors import TranslationError
from hookline.translate.hook_form import HookFormTranslator
from hookline.wire.model import (
    is_llm_response,
    llm_request_problem,
    llm_response_problem,
    merge_llm_request,
    read_tool_config,
)
from tests.translate.forms import Json, said

BASE: Json = {
    "model": "a",
    "messages": said(("user", "hi")),
    "config": {"temperature": 0.4, "topK": 1},
    "toolConfig": {"mode": "AUTO"},
}


def test_changes_of_different_things_both_count() -> None:
    first = {"model": "b", "config": {"temperature": 0.1}}
    second = {"config": {"topP": 0.5}, "toolConfig": {"allowedFunctionNames": ["t"]}, "note": 1}
    assert merge_llm_request(merge_llm_request(BASE, first), second) == {
        "model": "b",
        "messages": said(("user", "hi")),
        "config": {"temperature": 0.1, "topK": 1, "topP": 0.5},
        "toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["t"]},
        "note": 1,
    }


def test_messages_are_replaced_as_a_whole() -> None:
    new = said(("user", "a"), ("model", "b"))
    assert merge_llm_request(BASE, {"messages": new})["messages"] == new


@pytest.mark.parametrize(
    "change",
    [
        5,
        None,
        [],
        {},
        {"config": "hot"},
        {"config": None, "toolConfig": None, "model": None},
        {"config": {"temperature": None}},
        {"toolConfig": ["ANY"]},
        {"messages": [{"role": "user", "content": 5}]},
        {"config": {"temperature": "hot"}, "model": "b"},
    ],
)
def test_a_change_of_the_wrong_shape_changes_nothing(change: Any) -> None:
    assert merge_llm_request(BASE, change) == BASE


def test_merging_alters_neither_side() -> None:
    base: Json = {"config": {"topK": 1}}
    change: Json = {"config": {"topK": 2}}
    assert merge_llm_request(base, change) == change
    assert merge_llm_request({}, change) == change
    assert (base, change) == ({"config": {"topK": 1}}, {"config": {"topK": 2}})


def test_a_problem_says_what_is_wrong_and_where() -> None:
    problem = llm_request_problem({"messages": [*said(("user", "a")), {"content": []}]})
    assert problem is not None
    assert "messages[1].content" in problem
    assert "str" in problem
    assert llm_request_problem({"model": "b", "config": {"topK": 3}}) is None
    assert read_tool_config({"mode": "ANY"}).mode == "ANY"
    with pytest.raises(ValueError, match=r"is malformed: .*mode"):
        read_tool_config({"mode": 1})


def test_text_or_candidates_make_a_response() -> None:
    assert is_llm_response({"text": "x"})
    assert is_llm_response({"candidates": [{"content": {"role": "model", "parts": ["x"]}}]})
    assert is_llm_response({"candidates": []})
    problem = llm_response_problem({"usageMetadata": {}})
    assert problem is not None
    assert "candidates" in problem


def test_text_that_has_no_utf8_form_is_text() -> None:
    change = {"messages": said(("user", "\ud800"))}
    assert llm_request_problem(change) is None
    assert merge_llm_request(BASE, change)["messages"] == change["messages"]
    assert llm_request_problem({"\ud800": 1}) is not None


def test_a_request_whose_text_stands_where_no_messages_are_is_refused() -> None:
    translator = HookFormTranslator()
    nothings: list[Json] = [{}, {"messages": []}]
    for messages in nothings:
        with pytest.raises(TranslationError, match="neither contents nor messages"):
            translator.to_hook_llm_request({"model": "m", "prompt": "rm -rf /", **messages})
    assert translator.to_hook_llm_request({"model": "m"})["messages"] == []
