"""What the callbacks of one ADK run share."""

from typing import Any

import pytest
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from hookline import Hooks
from hookline.adapters.adk.runs import ModelStep, Run, ToolStep, mark, read_marks, show_text
from hookline.adapters.gates import Conversation


class Context:
    """What a step reads of a tool's context."""

    def __init__(self, id: str | None) -> None:
        self.function_call_id = id
        asked: Any = {} if id is None else {id: "sure?"}
        self.actions = EventActions(skip_summarization=True)
        self.actions.requested_tool_confirmations = asked


def step(id: str | None) -> ToolStep:
    context: Any = Context(id)
    return ToolStep(BaseTool(name="shell", description=""), {}, context, may_answer=True)


def make_run(outer: Run | None = None) -> Run:
    return Run(Conversation(Hooks()), outer)


def test_a_stop_in_an_inner_run_ends_the_outermost_and_all_between() -> None:
    outer = make_run()
    middle = make_run(outer)
    inner = make_run(middle)
    assert inner.conversation is outer.conversation
    assert (inner.root, inner.stop) == (outer, None)
    inner.end_loop("enough")
    assert [run.stop for run in (outer, middle, inner)] == ["enough"] * 3
    assert make_run().stop is None


def test_a_stop_takes_back_the_questions_of_other_calls() -> None:
    outer = make_run()
    inner = make_run(outer)
    asked, there, nameless = step("1"), step("2"), step(None)
    inner.calls, outer.calls = {1: asked, 2: nameless}, {3: there}
    inner.end_loop("enough")
    for each in (asked, there):
        assert each.context.actions.requested_tool_confirmations == {}
        assert each.context.actions.skip_summarization is None
    assert nameless.context.actions.skip_summarization is True


def test_a_stop_closes_the_connection_of_a_live_run() -> None:
    run, queue = make_run(), LiveRequestQueue()
    run.live_queue = queue
    assert run.is_live
    assert not make_run().is_live
    run.end_loop("enough")
    assert queue._queue.get_nowait().close


def test_a_call_is_taken_once_by_its_id() -> None:
    run = make_run()
    first, second = step("1"), step("2")
    run.calls = {1: first, 2: second}
    assert run.take_call("2") is second
    assert run.take_call("2") is None
    assert list(run.calls.values()) == [first]


def test_a_new_model_call_of_an_agent_takes_the_place_of_its_last() -> None:
    run = make_run()
    first, second, other = (ModelStep(EventActions(), LlmRequest()) for _ in range(3))
    run.add_step(("clerk", None), first)
    run.add_step(("clerk", "branch"), other)
    run.add_step(("clerk", None), second)
    assert set(run.models.values()) == {second, other}
    assert run.models[id(second.actions)] is second


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        (types.Content(), ""),
        (
            types.Content(
                parts=[
                    *(types.Part(text="a"), types.Part(text="hm", thought=True)),
                    *(types.Part(), types.Part(text="b")),
                ]
            ),
            "ab",
        ),
    ],
)
def test_a_text_is_shown_without_thoughts(content: Any, text: str) -> None:
    assert show_text(content) == text


def test_marks_are_added_to_others_and_to_what_else_an_event_holds() -> None:
    event = Event(author="user", custom_metadata={"own": 1})
    assert read_marks(event) == {}
    mark(event, allowed=["a"])
    mark(event, calls={})
    assert read_marks(event) == {"allowed": ["a"], "calls": {}}
    assert (event.custom_metadata or {})["own"] == 1
    assert read_marks(Event(author="user", custom_metadata={"hookline": "forged"})) == {}
