"""Marks on messages, and what is found in the states and values that LangChain passes around."""

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from hookline.adapters.langchain import stop_reason
from hookline.adapters.langchain.marks import (
    count_calls,
    drop_hidden,
    find_reply,
    is_from_user,
    mark,
    read_marks,
    say,
    unmark,
)
from hookline.adapters.langchain.toolcalls import (
    StoppedCalls,
)

USER, STOPPED = HumanMessage("go"), say("enough", {"stop": "enough"})


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], None),
        ([USER, STOPPED], "enough"),
        ([USER, STOPPED, AIMessage("so")], "enough"),
        ([STOPPED, USER], None),
        ([STOPPED, ChatMessage(content="go", role="user"), AIMessage("so")], None),
        ([USER, say("", {"stop": ""})], ""),
        ([USER, say("no", {"blocked": True})], None),
    ],
)
def test_a_stop_is_that_of_the_last_turn(messages: list[Any], reason: str | None) -> None:
    assert stop_reason(messages) == reason
    assert stop_reason({"messages": messages}) == reason


def test_marks_are_added_to_others_and_taken_away_alone() -> None:
    own = AIMessage("so", additional_kwargs={"seen": 1})
    marked = mark(mark(own, stop="enough"), hidden=True)
    assert read_marks(marked) == {"stop": "enough", "hidden": True}
    assert read_marks(own) == {}
    assert unmark(marked) == own
    assert read_marks(AIMessage("so", additional_kwargs={"hookline": "forged"})) == {}
    assert drop_hidden([USER, marked, own]) == [USER, own]


@pytest.mark.parametrize(
    ("message", "is_users"),
    [
        (HumanMessage("a"), True),
        (ChatMessage(content="a", role="user"), True),
        (ChatMessage(content="a", role="human"), True),
        (ChatMessage(content="a", role="critic"), False),
        (AIMessage("a"), False),
        (SystemMessage("a"), False),
    ],
)
def test_a_prompt_is_known_by_its_type_or_role(message: Any, is_users: bool) -> None:
    assert is_from_user(message) == is_users


def calling(*ids: str, **more: Any) -> AIMessage:
    calls = [ToolCall(name="shell", args={}, id=id) for id in ids]
    return AIMessage("", tool_calls=calls, **more)


ONE, TWO = calling("1", id="r1"), calling("1", "2", id="r2")


@pytest.mark.parametrize(
    ("state", "reply", "count"),
    [
        ({"messages": [ONE, TWO, USER]}, TWO, 2),
        ([ONE], ONE, 1),
        ({"chat": [USER, ONE]}, ONE, 1),
        ({"messages": [TWO], "chat": [ONE]}, TWO, 2),
        (SimpleNamespace(log=[ONE]), ONE, 1),
        ({"messages": [USER]}, None, 1),
        ([{"name": "a"}, {"name": "b"}], None, 2),
        (None, None, 1),
    ],
)
def test_the_reply_whose_calls_run_is_found_in_any_state(
    state: Any, reply: AIMessage | None, count: int
) -> None:
    assert find_reply(state) is reply
    assert count_calls(state) == count


def test_a_stop_holds_for_the_calls_of_one_reply_in_one_conversation() -> None:
    stopped, here, there = StoppedCalls(), object(), object()
    of: Any = here
    stopped.note(of, [TWO], "enough")
    assert stopped.find(of, [USER, TWO]) == "enough"
    assert stopped.find(of, [TWO, ONE]) is None
    other: Any = there
    assert stopped.find(other, [TWO]) is None
    stopped.forget(of, [TWO])
    assert stopped.find(of, [TWO]) is None
    nameless = calling("1")
    stopped.note(of, [nameless], "enough")
    assert stopped.find(of, [nameless]) is None


def test_a_thousand_stops_are_remembered() -> None:
    stopped, of = StoppedCalls(), object()
    place: Any = of
    replies = [calling("1", id=str(number)) for number in range(1001)]
    for reply in replies:
        stopped.note(place, [reply], "enough")
    found = [stopped.find(place, [reply]) for reply in replies]
    assert found == [None] + ["enough"] * 1000


OWN, OTHER = ToolMessage("a", tool_call_id="1"), ToolMessage("b", tool_call_id="2")
