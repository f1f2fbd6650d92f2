"""Questions to the user: each answer counts once, for its own call, and only so many are kept."""

import asyncio
import json
from typing import Any

import pytest

from hookline.calls.tool import ConfirmationRequest
from hookline.service.mcp import questions as asking
from hookline.service.mcp.calls import Call, can_be_asked, read_call
from hookline.service.mcp.messages import Fault, Message
from hookline.service.mcp.questions import CONFIRMATION, Questions
from tests.service.mcp.sessions import Json, call, modern

ACCEPTED: Json = {CONFIRMATION: {"action": "accept"}}


def read(message: Json) -> Call | Fault:
    return read_call(Message(json.dumps(message).encode(), message))


def a_call(id: Any = 1, arguments: Any = None, **params: Any) -> Call:
    found = read(modern(id, "read", arguments, **params))
    assert isinstance(found, Call)
    return found


def question(tool_input: Any = None, **fields: Any) -> ConfirmationRequest:
    return ConfirmationRequest(
        "mcp__files__read", {} if tool_input is None else tool_input, "sure?", **fields
    )


def state_of(questions: Questions, given: Call) -> Any:
    return questions.defer(given, question(given.arguments)).result["requestState"]


def again(state: Any, answers: Any = ACCEPTED, **more: Any) -> Call:
    return a_call(2, requestState=state, inputResponses=answers, **more)


def test_an_answer_counts_once_and_leaves_no_trace_for_the_server() -> None:
    questions = Questions(lambda _message: None)
    state = state_of(questions, a_call())
    repeated = again(state)
    resumed = questions.resume(repeated)
    assert resumed is not None
    assert (resumed.is_allowed, resumed.answered["decision"]) == (True, "ask")
    assert repeated.params.keys() == {"name", "arguments", "_meta"}
    assert questions.resume(again(state)) is None


@pytest.mark.parametrize(
    "answers",
    [None, [], {}, {CONFIRMATION: {"action": "decline"}}, {"other": {"action": "accept"}}],
)
def test_anything_but_acceptance_is_a_refusal(answers: Any) -> None:
    questions = Questions(lambda _message: None)
    resumed = questions.resume(again(state_of(questions, a_call()), answers))
    assert resumed is not None
    assert resumed.is_allowed is False


def test_the_server_gets_back_what_the_client_had_told_it_before() -> None:
    questions = Questions(lambda _message: None)
    first = a_call(requestState="servers-own", inputResponses={"x": 1})
    repeated = again(state_of(questions, first))
    assert questions.resume(repeated) is not None
    assert repeated.params["requestState"] == "servers-own"
    assert repeated.params["inputResponses"] == {"x": 1}


def test_a_call_of_the_handshakes_generation_resumes_nothing() -> None:
    questions = Questions(lambda _message: None)
    state = state_of(questions, a_call())
    old = read(call(2, "read", {}, requestState=state, inputResponses=ACCEPTED))
    assert isinstance(old, Call)
    assert questions.resume(old) is None
    assert questions.resume(a_call()) is None
    assert questions.resume(again("somebody-elses")) is None


def test_only_so_many_questions_are_kept_and_the_oldest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "MOST_QUESTIONS", 2)
    questions = Questions(lambda _message: None)
    states = [state_of(questions, a_call()) for _ in range(3)]
    resumed = [questions.resume(again(state)) is not None for state in states]
    assert resumed == [False, True, True]


def test_an_approval_is_kept_for_the_servers_own_question_and_for_the_same_call() -> None:
    questions = Questions(lambda _message: None)
    allowed = a_call(arguments={"n": 1})
    questions.allow_again(allowed, "server-state")
    assert questions.resume(again("server-state", arguments={"n": 1})) is None
    allowed.answered = {"decision": "ask"}
    for state, arguments, is_resumed in (
        ("server-state", {"n": 1}, True),
        ("server-state", {"n": True}, False),
        (5, {"n": 1}, False),
    ):
        questions.allow_again(allowed, state)
        assert (questions.resume(again(state, arguments=arguments)) is not None) is is_resumed


@pytest.mark.parametrize(("length", "ends_with"), [(2000, '"}?'), (2001, "… (+1 characters)?")])
def test_the_user_sees_two_thousand_characters_of_the_input(length: int, ends_with: str) -> None:
    shown = {"a": "x" * (length - len('{"a":""}'))}
    asked = Questions(lambda _message: None).defer(a_call(), question(shown, system_message="note"))
    message = asked.result["inputRequests"][CONFIRMATION]["params"]["message"]
    assert message.startswith('sure?\nnote\n\nAllow mcp__files__read {"a":"x')
    assert message.endswith(ends_with)


def test_what_hooks_said_is_remembered_with_the_question() -> None:
    questions, given = Questions(lambda _message: None), a_call()
    for request, more in (
        (question(given.arguments), {}),
        (question(given.arguments, system_message="m"), {"systemMessage": "m"}),
        (question({"new": 1}), {"hookSpecificOutput": {"tool_input": {"new": 1}}}),
    ):
        state = questions.defer(given, request).result["requestState"]
        resumed = questions.resume(again(state))
        assert resumed is not None
        assert resumed.answered == {"decision": "ask", "reason": "sure?", **more}


async def test_an_answer_after_the_first_and_one_of_another_are_told_apart() -> None:
    sent: list[Json] = []
    questions = Questions(lambda message: sent.append(message.fields))
    waiting = asyncio.create_task(questions.ask(question()))
    await asyncio.sleep(0)
    id = sent[0]["id"]

    def response(id: Any, action: str) -> Message:
        return Message(b"", {"id": id, "result": {"action": action}})

    assert questions.take(response("another", "decline")) is False
    assert questions.take(response(5, "decline")) is False
    assert questions.take(response(id, "accept")) is True
    assert questions.take(response(id, "decline")) is True
    assert await waiting is True
    assert questions.take(response(id, "decline")) is True


@pytest.mark.parametrize(
    ("id", "is_call"),
    [
        (2**53 - 1, True),
        (-(2**53 - 1), True),
        (2**53, False),
        (-(2**53), False),
        (1.0, False),
        (True, False),
        (None, False),
        ("", True),
        ("a\0", False),
        ("\ud800", False),
    ],
)
def test_an_id_is_one_that_every_server_reads_alike(id: Any, is_call: bool) -> None:
    assert isinstance(read(call(id)), Call) is is_call


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ([], "its params are not an object"),
        ({"name": ""}, "it does not name a tool"),
        ({"name": 5}, "it does not name a tool"),
        ({"name": "t", "arguments": []}, "its arguments are not an object"),
        ({"name": "t", "Arguments": {}}, "is another key in other letters"),
        ({"name": "t", "arguments": {"n": float("inf")}}, "it cannot be passed on"),
        ({"name": "t", "arguments": None}, ""),
        ({"name": "t"}, ""),
    ],
)
def test_a_call_names_its_tool_and_has_arguments_or_none(params: Any, problem: str) -> None:
    found = read({"id": 1, "method": "tools/call", "params": params})
    if problem:
        assert isinstance(found, Fault)
        assert problem in found.problem
        assert found.id == 1
    else:
        assert isinstance(found, Call)
        assert found.arguments == {}


@pytest.mark.parametrize(
    ("capabilities", "can"),
    [
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"form": {}, "url": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"elicitation": None}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_client_with_forms_can_ask(capabilities: Any, can: bool) -> None:
    assert can_be_asked(capabilities) is can
