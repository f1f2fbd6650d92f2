"""The messages of a bus: what is read of a request, and what a response has."""

import re
from typing import Any

import pytest

from hookline.bus.messages import (
    RequestError,
    correlation_of,
    failure_response,
    make_request,
    new_correlation_id,
    read_request,
    success_response,
    unanswered_response,
)
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook
from hookline.wire.results import AggregatedHookResult, HookError, HookExecutionResult
from tests.bus.answers import request


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ([], "the request must be an object, not list"),
        ({"type": "x"}, "must be hook-execution-request, not 'x'"),
        (request("BeforeTool", {}, correlationId=5), "correlationId must be a string"),
        (request(5, {}), "eventName must be a string"),
        (request("BeforeTool", []), "input must be an object"),
        (request("BeforeTool", {}, required="guard"), "required must be a list of hook names"),
        (request("BeforeTool", {}, required=["a", 5]), "required must be a list of hook names"),
    ],
)
def test_a_malformed_request_is_refused_with_what_is_wrong(message: Any, problem: str) -> None:
    with pytest.raises(RequestError, match=re.escape(problem)):
        read_request(message)


@pytest.mark.parametrize("required", [None, [], ["a", "b"]])
def test_a_request_is_read_as_it_was_made(required: list[str] | None) -> None:
    made = make_request(HookEventName.BEFORE_TOOL, {"a": 1}, "id", required)
    assert read_request(made) == ("BeforeTool", {"a": 1}, required)
    assert ("required" in made) is (required is not None)
    assert type(made["eventName"]) is str
    assert read_request(request("X", {}, correlationId=None)).name == "X"


def test_an_id_is_that_of_the_message_or_a_new_one() -> None:
    assert correlation_of({"correlationId": "mine"}) == "mine"
    for without in ({}, {"correlationId": ""}, {"correlationId": 5}, None):
        assert len(correlation_of(without)) == 36
    assert re.fullmatch("[0-9a-f]{32}", new_correlation_id())


def test_a_failure_has_its_code_message_and_only_the_details_there_are() -> None:
    error = HookError(
        code="c",
        message="m",
        stage="planning",
        event_name=HookEventName.BEFORE_TOOL,
        details={"a": 1},
    )
    said = failure_response("id", error)
    assert (said["correlationId"], said["success"]) == ("id", False)
    assert said["error"]["code"] == "c"
    details = said["error"]["details"]
    assert details == {"stage": "planning", "eventName": "BeforeTool", "details": {"a": 1}}
    assert type(details["eventName"]) is str
    unanswered = unanswered_response({"correlationId": "mine"}, "timeout", "late")
    assert unanswered["correlationId"] == "mine"
    assert unanswered["error"]["details"] == {"stage": "response"}


def test_a_success_has_what_the_hooks_answered_and_no_empty_warnings() -> None:
    said = success_response("id", AggregatedHookResult(True, None, [], [], 0.5))
    assert said == {
        "type": "hook-execution-response",
        "correlationId": "id",
        "success": True,
        "output": {
            "success": True,
            "finalOutput": None,
            "allOutputs": [],
            "errors": [],
            "totalDuration": 0.5,
        },
    }


def test_a_success_has_each_warning_with_the_name_of_its_hook() -> None:
    results = tuple(
        HookExecutionResult(
            hook=CommandHook(name=name, command="true"),
            event_name=HookEventName.BEFORE_TOOL,
            success=True,
            warnings=warnings,
        )
        for name, warnings in (("a", ("1", "2")), ("b", ()), ("c", ("3",)))
    )
    said = success_response("id", AggregatedHookResult(True, results=results))
    assert said["warnings"] == [
        {"hook": "a", "message": "1"},
        {"hook": "a", "message": "2"},
        {"hook": "c", "message": "3"},
    ]
