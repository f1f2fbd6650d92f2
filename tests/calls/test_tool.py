"""A tool call with everything applied that hooks say: whole, and in its two halves."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline import (
    Deferred,
    Hooks,
    ToolResult,
    add_context,
    ask,
    combine,
    deny,
    message,
    replace_result,
    rewrite,
    stop,
)
from hookline.calls.tool import (
    MAX_TAIL_CALLS,
    ConfirmationRequest,
    FollowingTool,
    ToolError,
    as_tool_result,
    complete,
    make_call_id,
    to_tool_response,
    with_text,
)
from hookline.hooks import Face


def hooks_that(event: str, answer: Any, **options: Any) -> Hooks:
    hooks = Hooks()
    hooks.on(event, **options)(lambda _event: answer)
    return hooks


def shell(command: str) -> str:
    return f"ran {command}"


async def slow_shell(command: str) -> str:
    await asyncio.sleep(0)
    return f"ran {command}"


@pytest.fixture(params=["awaited", "blocking"])
def run(request: pytest.FixtureRequest) -> Any:
    """``run_tool`` of the front, and of its synchronous twin."""
    is_awaited = request.param == "awaited"

    def run_tool(hooks: Hooks, *arguments: Any, **options: Any) -> ToolResult:
        if is_awaited:
            return asyncio.run(hooks.run_tool(*arguments, **options))
        return hooks.sync.run_tool(*arguments, **options)

    return run_tool


@pytest.mark.parametrize("tool", [shell, slow_shell])
def test_a_tool_plain_or_async_is_called_with_its_fields(run: Any, tool: Any) -> None:
    assert run(Hooks(), tool, {"command": "ls"}).llm_content == "ran ls"


def test_a_tool_of_one_mapping_is_called_with_the_mapping(run: Any) -> None:
    def by_dict(given: dict[str, Any]) -> str:
        return str(sorted(given))

    def by_mapping(given: "Mapping[str, Any]") -> str:
        return str(sorted(given))

    def named_like_a_field(a: dict[str, Any]) -> str:
        return str(a)

    assert run(Hooks(), by_dict, {"a": 1, "b": 2}).llm_content == "['a', 'b']"
    assert run(Hooks(), by_mapping, {"a": 1}).llm_content == "['a']"
    assert run(Hooks(), named_like_a_field, {"a": {"x": 1}}).llm_content == "{'x': 1}"


def test_a_tool_whose_fields_are_mappings_is_called_with_its_fields(run: Any) -> None:
    def by_keywords(**given: dict[str, Any]) -> str:
        return str(given)

    def by_keyword(*, given: dict[str, Any]) -> str:
        return str(given)

    assert run(Hooks(), by_keywords, {"a": {"x": 1}}).llm_content == "{'a': {'x': 1}}"
    with pytest.raises(TypeError, match="unexpected keyword"):
        run(Hooks(), by_keyword, {"a": {}})


def test_a_tool_of_one_parameter_that_is_no_mapping_is_called_with_its_fields(run: Any) -> None:
    def by_text(text: str) -> str:
        return text

    def by_either(text: int | str) -> str:
        return str(text)

    def by_anything(text) -> str:  # type: ignore[no-untyped-def]
        return str(text)

    for tool in (by_text, by_either, by_anything):
        assert run(Hooks(), tool, {"text": "x"}).llm_content == "x"
        with pytest.raises(TypeError, match="unexpected keyword"):
            run(Hooks(), tool, {"other": "x"})


def test_a_call_of_ones_own_overrides_how_the_tool_is_called(run: Any) -> None:
    result = run(Hooks(), shell, {"x": 1}, call=lambda given: f"mine {given}")
    assert result.llm_content == "mine {'x': 1}"


def test_a_block_is_the_result_and_the_tool_does_not_run(run: Any) -> None:
    ran: list[str] = []
    result = run(hooks_that("BeforeTool", deny("no")), ran.append, {"x": 1}, name="t")
    assert (result.llm_content, ran) == ("no", [])
    assert result.error is not None
    assert result.error.type == "blocked_by_hook"


def test_a_stop_before_or_after_ends_the_loop(run: Any) -> None:
    for event in ("BeforeTool", "AfterTool"):
        result = run(hooks_that(event, stop("enough")), shell, {"command": "ls"})
        assert (result.stop_reason, result.llm_content) == ("enough", "enough")


def test_a_rewrite_reaches_the_tool_and_after_tool_hears_of_both(run: Any) -> None:
    hooks = hooks_that("BeforeTool", rewrite(command="pwd"))
    seen: list[Any] = []
    hooks.on("AfterTool")(lambda event: seen.append(event))
    assert run(hooks, shell, {"command": "ls"}).llm_content == "ran pwd"
    assert seen[0]["tool_input"] == {"command": "pwd"}
    assert seen[0]["original_tool_input"] == {"command": "ls"}


def test_the_tool_gets_its_own_objects_but_for_what_was_rewritten(run: Any) -> None:
    given = {"path": Path("/x"), "mode": "r"}
    got: dict[str, Any] = {}
    hooks = hooks_that("BeforeTool", rewrite(mode="w"))
    run(hooks, lambda **fields: got.update(fields), given, name="open")
    assert got["path"] is given["path"]
    assert got["mode"] == "w"


def test_what_hooks_add_is_appended_for_the_model(run: Any) -> None:
    hooks = hooks_that("BeforeTool", message("before"))
    hooks.on("AfterTool")(lambda _event: combine(add_context("context"), message("after")))
    content = run(hooks, shell, {"command": "ls"}).llm_content
    assert content == "ran ls\n\ncontext\n\n[System] before\n\n[System] after"


def test_context_stands_beside_the_result_whatever_becomes_of_the_call(run: Any) -> None:
    hooks = hooks_that("BeforeTool", add_context("mind the gap"))
    assert run(hooks, shell, {"command": "ls"}).llm_content == "ran ls\n\nmind the gap"
    hooks.on("AfterTool")(lambda _event: combine(replace_result("[redacted]"), add_context("more")))
    content = run(hooks, shell, {"command": "ls"}).llm_content
    assert content == "[redacted]\n\nmind the gap\n\nmore"
    hooks.on("BeforeTool")(lambda _event: deny("no"))
    assert run(hooks, shell, {"command": "ls"}).llm_content == "no\n\nmind the gap"


async def test_an_output_that_hooks_update_is_replaced_and_not_rejected() -> None:
    updated = {"hookSpecificOutput": {"updatedToolOutput": "2 files"}}
    face = Face(hooks_that("AfterTool", updated).view.heard)
    outcome = await face.call_tool("shell", {"command": "ls"}, lambda given: shell(**given))
    assert (outcome.text, outcome.replaced, outcome.blocked) == ("2 files", True, False)
    assert outcome.result.error is None


@pytest.mark.parametrize("is_hidden", [True, False])
def test_a_result_that_hooks_suppress_is_not_displayed(run: Any, is_hidden: bool) -> None:
    hooks = hooks_that("AfterTool", {"suppressOutput": is_hidden})
    assert run(hooks, shell, {"command": "ls"}).suppress_display is is_hidden


def test_a_replaced_result_is_what_the_model_reads(run: Any) -> None:
    hooks = hooks_that("AfterTool", replace_result("[redacted]"))
    assert run(hooks, shell, {"command": "ls"}).llm_content == "[redacted]"


@pytest.mark.parametrize("value", [{"a": [1]}, {"path": Path("/x")}])
def test_a_result_that_is_no_text_is_read_as_json(run: Any, value: Any) -> None:
    seen: list[Any] = []
    hooks = Hooks()
    hooks.on("AfterTool")(lambda event: seen.append(event["tool_response"]["llmContent"]))
    text = '{"a":[1]}' if "a" in value else '{"path":"/x"}'
    assert run(hooks, lambda: value, {}, name="t").llm_content == text
    assert seen == [text]


def test_a_tool_that_raises_fires_after_tool_with_the_error_and_goes_on(run: Any) -> None:
    seen: list[Any] = []
    hooks = Hooks()
    hooks.on("AfterTool")(lambda event: seen.append(event["tool_response"]))

    def broken() -> str:
        raise LookupError("no such file")

    with pytest.raises(LookupError, match="no such file"):
        run(hooks, broken, {})
    error = {"type": "tool_failed", "message": "LookupError: no such file"}
    assert [response["error"] for response in seen] == [error]


def test_what_hooks_add_to_a_tool_that_raises_is_in_its_message(run: Any) -> None:
    hooks = hooks_that("AfterTool", add_context("Look in the attic."))

    def fetch() -> str:
        raise LookupError("no such file")

    with pytest.raises(LookupError) as caught:
        run(hooks, fetch, {})
    assert str(caught.value) == "no such file\n\nLook in the attic."


def test_it_is_a_note_on_an_exception_that_writes_its_message_itself(run: Any) -> None:
    hooks = hooks_that("AfterTool", add_context("Look in the attic."))

    def fetch() -> str:
        raise KeyError("a")

    with pytest.raises(KeyError) as caught:
        run(hooks, fetch, {})
    assert (caught.value.args, caught.value.__notes__) == (("a",), ["Look in the attic."])


@pytest.mark.parametrize("said", [replace_result("[redacted]"), stop("enough")])
def test_what_hooks_say_in_vain_of_a_tool_that_raised_is_told(
    run: Any, said: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> str:
        raise LookupError("no such file")

    with pytest.raises(LookupError):
        run(hooks_that("AfterTool", said), broken, {})
    assert (
        "the result of broken or stopped the loop after it, but its exception still" in caplog.text
    )


def test_a_refusal_has_the_context_that_hooks_add_unless_they_stop_the_loop(run: Any) -> None:
    denied = combine(deny("no"), add_context("see the docs"), message("m"))
    result = run(hooks_that("BeforeTool", denied), shell, {"command": "x"})
    assert result.llm_content == "no\n\nsee the docs\n\n[System] m"
    stopped = combine(stop("enough"), add_context("see the docs"), message("m"))
    result = run(hooks_that("BeforeTool", stopped), shell, {"command": "x"})
    assert result.llm_content == "enough\n\n[System] m"
    assert result.stop_reason == "enough"


def test_after_a_stop_the_result_is_the_reason_without_context(run: Any) -> None:
    hooks = hooks_that("BeforeTool", add_context("before"))
    hooks.on("AfterTool")(lambda _event: combine(stop("enough"), add_context("after")))
    result = run(hooks, shell, {"command": "x"})
    assert (result.llm_content, result.stop_reason) == ("enough", "enough")


def test_a_question_is_asked_of_who_can_be_asked(run: Any) -> None:
    hooks = hooks_that("BeforeTool", combine(ask("sure?"), rewrite(command="rm -i x")))
    asked: list[ConfirmationRequest] = []

    def confirm(request: ConfirmationRequest) -> bool:
        asked.append(request)
        return True

    async def refuse(_request: ConfirmationRequest) -> bool:
        return False

    assert run(hooks, shell, {"command": "rm x"}, confirm=confirm).llm_content == "ran rm -i x"
    assert asked[0].tool_input == {"command": "rm -i x"}
    refused = run(hooks, shell, {"command": "rm x"}, confirm=refuse)
    assert refused.llm_content == "The user did not allow this call of shell: sure?"
    nobody = run(hooks, shell, {"command": "rm x"})
    assert nobody.llm_content == "sure? (nobody can be asked to confirm it)"


@pytest.mark.parametrize("answer", ["no", "yes", 1, None, [True]])
@pytest.mark.parametrize("is_later", [False, True])
def test_only_true_is_a_yes(run: Any, answer: Any, is_later: bool) -> None:
    async def answer_later(_request: ConfirmationRequest) -> Any:
        return answer

    ran: list[Any] = []
    confirm = answer_later if is_later else lambda _request: answer
    hooks = hooks_that("BeforeTool", ask("sure?"))
    result = run(hooks, lambda **given: ran.append(given), {"x": 1}, name="t", confirm=confirm)
    assert result.llm_content == "The user did not allow this call of t: sure?"
    assert (ran, result.error.type) == ([], "blocked_by_hook")


def test_a_deferral_goes_through_and_the_tool_does_not_run(run: Any) -> None:
    class Later(Deferred):
        pass

    def confirm(_request: ConfirmationRequest) -> bool:
        raise Later("tomorrow")

    ran: list[str] = []
    with pytest.raises(Later):
        run(hooks_that("BeforeTool", ask("sure?")), ran.append, {"x": 1}, name="t", confirm=confirm)
    assert ran == []


def test_a_tool_that_hooks_want_to_follow_runs_at_once(run: Any) -> None:
    hooks = Hooks()
    names: list[tuple[str, Any]] = []

    @hooks.on("AfterTool")
    def follow(event: Any) -> Any:
        names.append((event["tool_name"], event.get("original_request_name")))
        if event["tool_name"] == "shell":
            tail = {"name": "note", "args": {"text": "x"}}
            return {"hookSpecificOutput": {"tailToolCallRequest": tail}}
        return None

    @hooks.wrap
    def note(text: str) -> str:
        return f"noted {text}"

    assert run(hooks, shell, {"command": "ls"}).llm_content == "noted x"
    assert names == [("shell", None), ("note", "shell")]
    others = run(hooks, shell, {"command": "ls"}, run_other=lambda name, given: f"{name} {given}")
    assert others.llm_content == "note {'text': 'x'}"


async def test_every_tool_that_follows_is_told_which_was_called_first() -> None:
    hooks, seen = Hooks(), []

    @hooks.on("AfterTool")
    def follow(event: Any) -> Any:
        seen.append((event["tool_name"], event.get("original_request_name")))
        following = {"a": "b", "b": "c"}.get(event["tool_name"])
        tail: dict[str, Any] = {"name": following, "args": {}}
        return {"hookSpecificOutput": {"tailToolCallRequest": tail}} if following else None

    outcome = await hooks.call_tool(
        "a", {}, lambda _args: "A", find_tool=lambda name: lambda _args: name
    )
    assert (outcome.text, outcome.followed) == ("c", True)
    assert seen == [("a", None), ("b", "a"), ("c", "a")]
    alone = await hooks.call_tool("c", {}, lambda _args: "C")
    assert (alone.text, alone.followed) == ("C", False)


@pytest.mark.parametrize("number", [MAX_TAIL_CALLS, MAX_TAIL_CALLS + 1])
async def test_eight_tools_may_follow_and_no_ninth(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()
    ran: list[Any] = []

    @hooks.on("AfterTool")
    def follow(_event: Any) -> Any:
        tail = {"name": "t", "args": {}}
        is_left = len(ran) <= number
        return {"hookSpecificOutput": {"tailToolCallRequest": tail}} if is_left else None

    await hooks.call_tool("t", {}, ran.append, find_tool=lambda _name: ran.append)
    assert len(ran) == 1 + MAX_TAIL_CALLS
    assert ("8 have followed already" in caplog.text) is (number > MAX_TAIL_CALLS)


async def test_a_tool_that_follows_may_have_a_name_for_hooks_and_a_server() -> None:
    hooks = Hooks()
    seen: list[tuple[str, Any]] = []

    @hooks.on("BeforeTool")
    def note(event: Any) -> None:
        seen.append((event["tool_name"], event.get("mcp_context")))

    @hooks.on("AfterTool", matcher="^mcp__s__one$")
    def follow(_event: Any) -> Any:
        tail = {"name": "two", "args": {}}
        return {"hookSpecificOutput": {"tailToolCallRequest": tail}}

    def find_tool(name: str) -> FollowingTool:
        return FollowingTool(lambda _args: f"ran {name}", f"mcp__s__{name}", {"tool_name": name})

    outcome = await hooks.call_tool("mcp__s__one", {}, lambda _args: "one", find_tool=find_tool)
    assert (outcome.text, outcome.followed) == ("ran two", True)
    assert seen == [("mcp__s__one", None), ("mcp__s__two", {"tool_name": "two"})]


def test_a_tool_that_cannot_follow_is_warned_of(run: Any, caplog: pytest.LogCaptureFixture) -> None:
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "gone", "args": {}}}}
    assert run(hooks_that("AfterTool", tail), shell, {"command": "ls"}).llm_content == "ran ls"
    assert "the tail call of 'gone' that a hook asked for did not run" in caplog.text


async def test_the_halves_are_the_whole_for_who_runs_the_tool_himself() -> None:
    hooks = hooks_that("BeforeTool", rewrite(command="pwd"))
    hooks.on("AfterTool")(lambda _event: add_context("seen"))
    gate = await hooks.tool_gate("shell", {"command": "ls"})
    assert (gate.refusal, gate.input) == (None, {"command": "pwd"})
    value = {"framework": "object"}
    outcome = await gate.finish(result=value)
    assert outcome.value is value
    assert (outcome.replaced, outcome.added, outcome.stop) == (False, "seen", None)
    assert outcome.text == '{"framework":"object"}\n\nseen'
    blocking = hooks.sync.tool_gate("shell", {"command": "ls"})
    assert blocking.input == {"command": "pwd"}
    assert blocking.finish(result="x").text == "x\n\nseen"


async def test_a_gate_whose_hooks_have_answered_already_does_not_ask_them_again() -> None:
    hooks = hooks_that("BeforeTool", deny("changed my mind"))
    answered = {"decision": "ask", "hookSpecificOutput": {"tool_input": {"command": "pwd"}}}
    gate = await hooks.tool_gate("t", {"command": "ls"}, confirm=lambda _: True, answered=answered)
    assert (gate.refusal, gate.input) == (None, {"command": "pwd"})
    refused = hooks.sync.tool_gate("t", {}, confirm=lambda _: False, answered=answered)
    assert refused.refusal is not None


async def test_a_gate_that_refuses_says_why_and_an_untouched_result_is_untouched() -> None:
    gate = await hooks_that("BeforeTool", deny("no")).tool_gate("shell", {})
    assert gate.refusal is not None
    assert gate.refusal.llm_content == "no"
    gate = await hooks_that("AfterTool", None).tool_gate("shell", {})
    outcome = await gate.finish(result="x")
    assert (outcome.blocked, outcome.replaced, outcome.added, outcome.text) == (
        False,
        False,
        "",
        "x",
    )


async def test_a_deferral_that_an_adapter_names_goes_through() -> None:
    class Interrupt(Exception):
        pass

    def confirm(_request: ConfirmationRequest) -> bool:
        raise Interrupt

    hooks = hooks_that("BeforeTool", ask("sure?"))
    with pytest.raises(Interrupt):
        await hooks.tool_gate("t", {}, confirm=confirm, deferrals=(Interrupt,))
    gate = await hooks.tool_gate("t", {}, confirm=confirm)
    assert gate.refusal is not None


def test_a_call_that_nobody_named_has_an_id_of_its_own() -> None:
    ids = {make_call_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(id.startswith("toolu_") for id in ids)


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("text", "text"),
        ([{"text": "a"}], [{"text": "a"}]),
        (None, ""),
        ({"a": Path("/x")}, '{"a":"/x"}'),
        (5, "5"),
        (True, "true"),
        (ToolResult("as it is"), "as it is"),
    ],
)
def test_whatever_a_tool_returns_is_a_result(given: Any, content: Any) -> None:
    assert as_tool_result(given).llm_content == content


def test_hooks_read_only_what_a_result_has() -> None:
    assert to_tool_response(ToolResult("x")) == {"llmContent": "x"}
    full = ToolResult(
        "x",
        return_display="shown",
        metadata={"n": 1},
        error=ToolError("kind", "why"),
        suppress_display=True,
        stop_reason="enough",
    )
    assert to_tool_response(full) == {
        "llmContent": "x",
        "returnDisplay": "shown",
        "metadata": {"n": 1},
        "error": {"type": "kind", "message": "why"},
    }


def test_a_text_is_added_below_the_content_or_is_all_of_it() -> None:
    assert with_text(ToolResult("x"), "\n\nmore").llm_content == "x\n\nmore"
    assert with_text(ToolResult(""), "\n\nmore").llm_content == "more"
    assert with_text(ToolResult([]), "\n\nmore").llm_content == [{"text": "more"}]


async def test_a_blocking_call_that_would_wait_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="a blocking call was about to wait"):
        complete(asyncio.sleep(0))


async def test_parts_of_a_result_stay_parts() -> None:
    hooks = hooks_that("AfterTool", add_context("seen"))
    gate = await hooks.tool_gate("t", {})
    outcome = await gate.finish(result=[{"inlineData": {"data": "x"}}])
    assert outcome.result.llm_content == [{"inlineData": {"data": "x"}}, {"text": "seen"}]
    assert outcome.added == "seen"


async def test_a_tool_that_is_not_done_yet_fires_no_after_tool() -> None:
    class Paused(Exception):
        pass

    def pause(_input: Any) -> str:
        raise Paused

    seen: list[Any] = []
    hooks = Hooks()
    hooks.on("AfterTool")(seen.append)
    with pytest.raises(Paused):
        await hooks.call_tool("shell", {}, pause, deferrals=(Paused,))
    assert seen == []
    with pytest.raises(Paused):
        await hooks.call_tool("shell", {}, pause)
    assert len(seen) == 1


async def test_hooks_that_have_answered_a_deferred_call_are_not_asked_again() -> None:
    asked: list[Any] = []
    hooks = Hooks()
    hooks.on("BeforeTool")(asked.append)
    answered = combine(ask("really?"), rewrite(command="ls -l"), message("be quick"))
    outcome = await hooks.call_tool(
        "shell",
        {"command": "ls"},
        lambda input: shell(**input),
        confirm=lambda request: request.reason == "really?",
        answered=answered,
    )
    assert outcome.text == "ran ls -l\n\n[System] be quick"
    assert asked == []
