"""What is made of a model's response by itself: marks, refused calls, structured answers."""

from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel

from hookline import Hooks
from hookline.adapters.gates import Conversation
from hookline.adapters.langchain.marks import MARK, read_marks
from hookline.adapters.langchain.modelcalls import (
    _add_kept_texts,
    _find_answer,
    _find_specs,
    _find_stop,
    _find_structured_call,
    _finish_rejected,
    _mark_answer,
    _parse,
    _put_structured,
    _refuse_calls,
    _show_structured,
)
from tests.adapters.langchain.models import Recorded, ScriptedModel


class Weather(BaseModel):
    city: str


class Seat(BaseModel):
    row: int


def call(name: str, id: str, **args: Any) -> ToolCall:
    return ToolCall(name=name, args=args, id=id)


def reply(text: str, **marks: Any) -> AIMessage:
    return AIMessage(text, additional_kwargs={MARK: marks})


def result(id: str, **marks: Any) -> ToolMessage:
    return ToolMessage("x", tool_call_id=id, additional_kwargs={MARK: marks})


@pytest.mark.parametrize(
    ("messages", "stop"),
    [
        ([], None),
        ([result("1", stop="enough"), result("2")], "enough"),
        ([result("1", stop="enough"), AIMessage("a"), result("2")], None),
        ([result("1", stop="first"), result("2", stop="last")], "last"),
        ([reply("a", stop="enough")], None),
    ],
)
def test_a_stop_is_that_of_the_last_replys_tools(messages: Any, stop: str | None) -> None:
    assert _find_stop(messages) == stop


def test_texts_that_were_kept_follow_the_conversation_and_hidden_messages_are_not_read() -> None:
    conversation = Conversation(Hooks())
    said: list[Any] = [HumanMessage("hi"), reply("old", notes=["older"]), HumanMessage("you")]
    request = ModelRequest(model=ScriptedModel(reply=Recorded()), messages=said[:1])
    assert _add_kept_texts(request, conversation) is request
    conversation.keep("kept")
    added = _add_kept_texts(request, conversation).messages
    assert [message.content for message in added] == ["hi", "kept"]
    conversation.keep("kept")
    with_notes = request.override(messages=[*said, reply("a", notes=["b", "c"]), said[0]])
    added = _add_kept_texts(with_notes, conversation).messages
    assert [m.content for m in added] == ["hi", "old", "you", "a", "hi", "b", "c", "kept"]
    hidden = request.override(messages=[said[0], reply("x", hidden=True)])
    assert _add_kept_texts(hidden, conversation).messages == said[:1]


@pytest.mark.parametrize("kind", ["message", "response", "extended"])
def test_calls_that_hooks_do_not_allow_are_answered_with_an_error(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = AIMessage("so", tool_calls=[call("a", "1"), call("b", "2"), call("c", "3")])
    done = ToolMessage("x", tool_call_id="3")
    whole = ModelResponse([answer, done], structured_response={"n": 1})
    command: Command[Any] = Command(update={"kept": 1})
    response = {"message": answer, "response": whole}.get(
        kind, ExtendedModelResponse(whole, command)
    )
    face = Conversation(Hooks()).face
    assert _refuse_calls(face, response, frozenset("abc")) is response
    left: Any = _refuse_calls(face, response, frozenset("a"))
    held = left.model_response if kind == "extended" else left
    new = [m for m in held.result if isinstance(m, ToolMessage) and m is not done]
    expected = [("b", "2", "error"), ("c", "3", "error")]
    assert [(m.name, m.tool_call_id, m.status) for m in new] == (
        expected if kind == "message" else expected[:1]
    )
    assert held.structured_response == (None if kind == "message" else {"n": 1})
    assert kind != "extended" or left.command is command
    told = "the model called b, c, which" if kind == "message" else "the model called b, which"
    assert told in caplog.text


def outcome(**fields: Any) -> Any:
    given = {"message": None, "suppressed": False, "stop": None, "blocked": False, "reason": None}
    return SimpleNamespace(**{**given, "response": None, **fields})


@pytest.mark.parametrize("kind", ["message", "response", "extended"])
def test_what_hooks_say_and_hide_is_marked_on_the_last_answer(kind: str) -> None:
    first, last = AIMessage("1"), AIMessage("2")
    whole = ModelResponse([first, last, ToolMessage("x", tool_call_id="1")], {"n": 1})
    response = {"message": last, "response": whole}.get(kind, ExtendedModelResponse(whole))
    assert _mark_answer(response, outcome()) is response
    marked = _mark_answer(response, outcome(message="mind", suppressed=True))
    assert type(marked) is type(response)
    answer = _find_answer(marked)
    assert answer is not None
    assert read_marks(answer) == {"notes": ["[System] mind"], "suppressed": True}
    if kind == "response":
        assert (marked.result[0], len(marked.result)) == (first, 3)
        assert marked.structured_response == {"n": 1}
    assert _mark_answer(ModelResponse([]), outcome(message="mind")).result == []


@pytest.mark.parametrize(
    ("fields", "said", "marks"),
    [
        ({"blocked": True, "reason": "no"}, ["no"], {"blocked": True}),
        ({"blocked": True}, [""], {"blocked": True}),
        ({"stop": "enough"}, ["hello", "enough"], {"stop": "enough"}),
        ({"stop": "hello"}, ["hello"], {"stop": "hello"}),
        (
            {"stop": "enough", "message": "mind"},
            ["hello", "enough"],
            {"stop": "enough", "notes": ["[System] mind"]},
        ),
    ],
    ids=str,
)
def test_a_rejected_response_is_the_reason_and_a_stop_keeps_what_was_said(
    fields: Any, said: list[str], marks: Any
) -> None:
    answer = AIMessage("hello", tool_calls=[call("a", "1")])
    made = _finish_rejected(outcome(**fields, response=ModelResponse([answer])))
    assert [message.content for message in made.result] == said
    assert read_marks(made.result[-1]) == marks
    assert not any(message.tool_calls for message in made.result)  # type: ignore[attr-defined]
    silent = outcome(**fields, response=ModelResponse([]))
    assert len(_finish_rejected(silent).result) == 1


def structured(*calls: ToolCall, done: str = "2", parsed: Any = "set") -> ModelResponse[Any]:
    answer = AIMessage("so ", tool_calls=list(calls), additional_kwargs={"tool_calls": [1], "n": 1})
    return ModelResponse([answer, ToolMessage("x", tool_call_id=done)], parsed)


WEATHER, OTHER = call("Weather", "2", city="Berlin"), call("shell", "1")


def test_a_structured_answer_is_the_call_that_was_answered_at_once() -> None:
    response = structured(OTHER, WEATHER)
    found = _find_structured_call(response)
    assert found is not None
    assert found["name"] == "Weather"
    assert _find_structured_call(structured(OTHER, WEATHER, parsed=None)) is None
    assert _find_structured_call(structured(OTHER, WEATHER, done="9")) is None
    assert _find_structured_call(AIMessage("a")) is None
    shown = _show_structured(response)
    assert [message.content for message in shown.result] == ['so {"city":"Berlin"}', "x"]
    plain = structured(OTHER)
    assert _show_structured(plain) is plain


def test_a_structured_answer_that_hooks_changed_is_a_call_again() -> None:
    response = structured(OTHER, WEATHER)
    answer = AIMessage(
        'well {"city": "Bonn"}',
        tool_calls=[OTHER, WEATHER],
        additional_kwargs={"tool_calls": [1], "n": 1},
    )
    changed = [answer, *response.result[1:], ToolMessage("y", tool_call_id="1")]
    told = ToolStrategy(Weather, tool_message_content="done")
    for response_format, content in (
        (Weather, "Returning structured response: city='Bonn'"),
        (told, "done"),
    ):
        made = _put_structured(response_format, WEATHER, answer, changed)
        said, done, kept = made.result
        assert isinstance(said, AIMessage)
        assert (said.content, said.additional_kwargs) == ("well ", {"n": 1})
        assert [each["args"] for each in said.tool_calls] == [{}, {"city": "Bonn"}]
        assert (done.content, done.name, kept.content) == (content, "Weather", "y")
        assert made.structured_response == Weather(city="Bonn")


def test_the_schemas_of_an_answer_are_tried_one_after_the_other() -> None:
    for given in (Weather, AutoStrategy(Weather), ToolStrategy(Weather), ProviderStrategy(Weather)):
        assert [spec.schema for spec in _find_specs(given)] == [Weather]
    either = ToolStrategy(Weather | Seat)
    assert _parse(either, AIMessage('{"row": 3}')) == Seat(row=3)
    assert _parse(either, AIMessage('{"city": "Bonn"}')) == Weather(city="Bonn")
    with pytest.raises(ValueError, match="there is no answer"):
        _parse(either, None)
    with pytest.raises(ValueError, match="Seat"):
        _parse(either, AIMessage("so"))
