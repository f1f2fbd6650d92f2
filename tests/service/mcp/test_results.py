"""A tool's answer between server, hooks and client: nothing is lost, and nothing is said twice."""

from typing import Any

import pytest

from hookline.calls.tool import ToolOutcome, ToolResult
from hookline.service.mcp.results import Reply, apply_outcome, read_reply, refuse
from tests.service.mcp.sessions import Json, text


@pytest.mark.parametrize(
    ("result", "is_unfinished", "needs_input", "task_id"),
    [
        ({"content": []}, False, False, None),
        ({"resultType": "complete", "taskId": "t"}, False, False, "t"),
        ({"resultType": "input_required"}, True, True, None),
        ({"resultType": "task", "taskId": "t"}, True, False, "t"),
        ({"task": {"taskId": "t"}}, True, False, "t"),
        ({"task": {"taskId": 5}}, True, False, None),
        ({"task": {"taskId": "t"}, "content": []}, False, False, "t"),
        ({"task": None}, True, False, None),
        ("text", False, False, None),
        (None, False, False, None),
    ],
)
def test_a_result_says_whether_it_is_the_last_word(
    result: Any, is_unfinished: bool, needs_input: bool, task_id: str | None
) -> None:
    reply = Reply(result)
    assert (reply.is_unfinished, reply.needs_input) == (is_unfinished, needs_input)
    assert reply.task_id == task_id


BLOCK: Json = {"type": "image", "data": "x"}


@pytest.mark.parametrize(
    ("result", "content", "metadata"),
    [
        (text("a"), "a", None),
        ({"content": [{"type": "text", "text": t} for t in "ab"]}, "a\nb", None),
        ({"content": [BLOCK]}, [BLOCK], None),
        (text("a", resultType="complete", x=1), "a", {"x": 1}),
        (
            {"content": [{"type": "text", "text": "a", "annotations": {}}]},
            [{"type": "text", "text": "a", "annotations": {}}],
            None,
        ),
        ({"content": [{"type": "text", "text": 5}]}, [{"type": "text", "text": 5}], None),
        ({"content": None}, "", None),
        ({"content": {"a": 1}}, '{"a":1}', None),
        ({}, "", None),
        ({"structuredContent": {"a": 1}}, '{"a":1}', {"structuredContent": {"a": 1}}),
        (text("b", structuredContent=1), "b", {"structuredContent": 1}),
        (7, "7", None),
    ],
)
def test_hooks_read_all_of_a_result(result: Any, content: Any, metadata: Any) -> None:
    read = read_reply(Reply(result))
    assert (read.llm_content, read.metadata, read.error) == (content, metadata, None)


def test_errors_of_the_tool_and_of_the_protocol_are_told_apart() -> None:
    failed = read_reply(Reply(text("no", isError=True)))
    assert failed.error is not None
    assert (failed.error.type, failed.error.message) == ("tool_failed", "no")
    assert read_reply(Reply(text("yes", isError=False))).error is None
    shown = read_reply(Reply({"content": [BLOCK], "isError": True})).error
    assert shown is not None
    assert shown.message == '[{"type":"image","data":"x"}]'
    for error, message in (({"code": 1, "message": "m"}, "m"), ({"code": 1}, '{"code":1}')):
        broken = read_reply(Reply(error=error))
        assert broken.error is not None
        assert (broken.error.type, broken.error.message) == ("mcp_error", message)
        assert broken.metadata == {"error": error}


def test_a_refusal_is_a_result_with_an_error_and_of_its_generation() -> None:
    assert refuse("no", is_modern=False).result == text("no", isError=True)
    assert refuse("no", is_modern=True).result == text("no", isError=True, resultType="complete")


def outcome(result: Any, said: str = "t", *, error: Any = None, **fields: Any) -> ToolOutcome:
    return ToolOutcome(result=ToolResult(said), value=Reply(result, error), **fields)


def test_the_client_gets_the_servers_own_answer_where_hooks_left_it_alone() -> None:
    given = outcome(text("a", x=1))
    assert apply_outcome(given, is_modern=True) is given.value
    refused = apply_outcome(outcome(None, "no", ran=False), is_modern=False)
    assert refused.result == text("no", isError=True)


@pytest.mark.parametrize(
    ("given", "fields", "is_error"),
    [
        (text("a", structuredContent=1), {}, False),
        (text("a", isError=True), {}, True),
        (text("a"), {"stop": "enough"}, True),
    ],
)
def test_a_replaced_result_has_nothing_of_the_old_one_but_that_it_failed(
    given: Json, fields: Json, is_error: bool
) -> None:
    replaced = apply_outcome(outcome(given, "new", replaced=True, **fields), is_modern=False)
    assert replaced.result == (text("new", isError=True) if is_error else text("new"))


@pytest.mark.parametrize(
    ("structured", "texts", "is_repeated"),
    [
        ({"a": 1}, ['{ "a": 1 }'], True),
        ({"a": 1}, ["one"], False),
        ({"result": 5}, ["5"], True),
        ({"result": ["x", "y"]}, ["x", "y"], True),
        ({"result": ["x", "y"]}, ["x"], False),
        ({"result": 5, "more": 1}, ["5"], False),
        ([1], ["[1]"], True),
    ],
)
def test_what_hooks_add_stands_behind_all_that_the_server_said_once(
    structured: Any, texts: list[str], is_repeated: bool
) -> None:
    content = [{"type": "text", "text": each} for each in texts]
    result = {"content": content, "structuredContent": structured, "x": 1}
    added = apply_outcome(outcome(result, added="more"), is_modern=False).result
    shown = [block["text"] for block in added["content"]]
    assert added["x"] == 1
    assert {block["type"] for block in added["content"]} == {"text"}
    assert "structuredContent" not in added
    assert (shown[0], shown[-1]) == (texts[0], "more")
    assert len(shown) == len(texts) + 1 + (not is_repeated)


@pytest.mark.parametrize(("given", "shown"), [(None, ["more"]), ({"a": 1}, ['{"a":1}', "more"])])
def test_what_hooks_add_to_content_of_another_shape_is_a_list(given: Any, shown: list[str]) -> None:
    added = apply_outcome(outcome({"content": given}, added="more"), is_modern=False).result
    assert added["content"] == [{"type": "text", "text": each} for each in shown]


def test_what_hooks_add_to_an_error_is_a_result_that_failed() -> None:
    failed = outcome(None, "no more", error={"code": 1}, added="more")
    assert apply_outcome(failed, is_modern=False).result == text("no more", isError=True)
    bare = apply_outcome(outcome(7, "7 more", added="more"), is_modern=False)
    assert bare.result == text("7 more")
