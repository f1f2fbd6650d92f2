"""The front: one object that asks hooks, awaited or not, for one conversation or for many."""

import asyncio
import copy
import errno
import functools
import inspect
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import replace

from hookline import (
    Config,
    Hooks,
    Reply,
    SyncHooks,
    add_context,
    combine,
    deny,
    message,
    rewrite,
    stop,
)
from hookline.adapters.conversations import Conversations
from hookline.calls.tool import complete
from hookline.errors import InvalidHookError, UnknownEventError
from hookline.hooks import Face, HookSession, hooks_of
from hookline.pipeline.answer import Answer
from hookline.settings.reader import SettingsReader
from hookline.trace.records import DebugLogger
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.fired import Original
from tests.agent.scripts import hooks as settings_with
from tests.agent.scripts import say
from tests.harness.scratch import Project

REQUEST = {"model": "m", "contents": "q"}
RESPONSE = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}]}

# Method -> its arguments and the event that hooks see.
METHODS: dict[str, tuple[tuple[Any, ...], str]] = {
    "before_tool": (("t", {"a": 1}), "BeforeTool"),
    "after_tool": (("t", {"a": 1}, {"llmContent": "x"}), "AfterTool"),
    "before_agent": (("p",), "BeforeAgent"),
    "after_agent": (("p", "r"), "AfterAgent"),
    "before_model": ((REQUEST,), "BeforeModel"),
    "after_model": ((REQUEST, RESPONSE), "AfterModel"),
    "before_tool_selection": ((REQUEST, ["a"]), "BeforeToolSelection"),
    "session_start": ((), "SessionStart"),
    "session_end": ((), "SessionEnd"),
    "pre_compress": ((), "PreCompress"),
    "notification": (("m",), "Notification"),
}


def test_there_is_a_method_for_every_event() -> None:
    assert {event for _, event in METHODS.values()} == {str(event) for event in EVENTS}


@pytest.mark.parametrize("method", METHODS)
async def test_every_event_reaches_its_hooks_awaited_or_not(method: str) -> None:
    hooks, seen = Hooks(), []
    arguments, event = METHODS[method]
    hooks.on(event)(lambda given: seen.append(given["hook_event_name"]))
    awaited = await getattr(hooks, method)(*arguments)
    blocking = getattr(hooks.sync, method)(*arguments)
    assert seen == [event, event]
    for answer in (awaited, blocking):
        assert isinstance(answer, Answer)
        assert (answer.event, answer.word) == (HookEventName(event), "allowed")
        assert len(answer.results) == 1


@pytest.mark.parametrize("method", METHODS)
def test_with_hooks_disabled_every_method_answers_at_once(method: str) -> None:
    hooks = Hooks(enable_hooks=False)
    hooks.on(METHODS[method][1])(lambda _event: deny("never"))
    arguments, _ = METHODS[method]
    for answer in (
        getattr(hooks.sync, method)(*arguments),
        asyncio.run(getattr(hooks, method)(*arguments)),
    ):
        assert (answer.blocked, answer.results, answer.word) == (False, (), "no hook matched")


def test_the_synchronous_front_has_the_same_methods_under_the_same_names() -> None:
    def methods(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    only_awaited = {
        *("sync", "on", "session", "close", "config", "load", "of"),
        *("wrap", "warn", "may_answer", "may_skip", "is_off", "is_strict", "names_of_hooks"),
    }
    assert methods(Hooks) - methods(SyncHooks) == only_awaited
    for name in methods(SyncHooks) & methods(HookSession):
        awaited = getattr(Hooks, name)
        assert inspect.getdoc(getattr(SyncHooks, name)), name
        bound = getattr(Hooks().sync, name)
        expected = list(inspect.signature(awaited).parameters)[1:]
        given = list(inspect.signature(bound).parameters)
        assert given in (expected, ["args", "kwargs"]), name


async def test_the_quick_start_works_as_written() -> None:
    hooks = Hooks()

    @hooks.on("BeforeTool", matcher="shell")
    def no_force(event):  # type: ignore[no-untyped-def]
        if "--force" in event["tool_input"]["command"]:
            return deny("use --force-with-lease")
        return None

    answer = await hooks.before_tool("shell", {"command": "git push --force"})
    assert (answer.blocked, answer.reason) == (True, "use --force-with-lease")
    assert not (await hooks.before_tool("shell", {"command": "git push"})).blocked

    def shell(command: str) -> str:
        return f"ran {command}"

    assert (await hooks.run_tool(shell, {"command": "ls"})).llm_content == "ran ls"
    assert hooks.sync.run_tool(shell, {"command": "ls"}).llm_content == "ran ls"


def test_loading_and_registering_read_no_settings(project: Project) -> None:
    """The first event does: a file that is written in between counts."""
    hooks = Hooks.load(project.path, trusted=True)
    hooks.on("BeforeTool")(lambda _event: None)
    project.settings({"hooks": settings_with("BeforeTool", say({"decision": "deny"}))})
    assert hooks.sync.before_tool("t", {}).blocked
    hooks.close()


async def test_a_hook_registered_later_counts_from_then_on() -> None:
    hooks = Hooks()
    assert not (await hooks.before_agent("p")).blocked
    hooks.on("BeforeAgent")(lambda _event: deny("no"))
    assert (await hooks.before_agent("p")).blocked


def test_what_could_never_run_is_refused_where_it_is_registered() -> None:
    hooks = Hooks()
    with pytest.raises(UnknownEventError, match="did you mean BeforeTool"):
        hooks.on("BeforeTol")
    with pytest.raises(InvalidHookError):
        hooks.on("BeforeTool")("not a function")  # type: ignore[call-overload]
    with pytest.raises(InvalidHookError, match="timeout"):
        hooks.on("BeforeTool", timeout=-1)(lambda _event: None)
    with pytest.raises(InvalidHookError, match="matcher"):
        hooks.on("BeforeTool", matcher=7)(lambda _event: None)  # type: ignore[call-overload]


def test_a_function_that_fails_blocks_where_it_was_told_to() -> None:
    hooks = Hooks()

    @hooks.on("BeforeTool", name="guard", on_failure="block")
    def guard(_event: object) -> None:
        raise LookupError("no rules")

    answer = hooks.sync.before_tool("t", {})
    assert (answer.blocked, answer.reason) == (True, "guard failed: LookupError: no rules")
    assert [failure.code for failure in answer.failures] == ["hook_error"]


def test_a_hook_that_fails_closed_does_not_answer_for_an_input_it_is_not_shown_whole() -> None:
    """Something could hide below the cut."""
    hooks = Hooks()
    hooks.on("BeforeTool", name="guard", on_failure="block")(lambda _event: None)
    hooks.on("BeforeTool", name="audit")(lambda _event: None)
    deep: Any = "rm -rf /"
    for _ in range(300):
        deep = [deep]
    answer = hooks.sync.before_tool("shell", {"command": deep})
    assert answer.blocked
    assert [result.failed for result in answer.results] == ["malformed", None]
    assert "could not be shown whole: it is nested too deeply" in str(answer.reason)
    assert not hooks.sync.before_tool("shell", {"command": [["ls"]]}).blocked


async def test_an_answer_says_everything_that_hooks_said() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: combine(rewrite(b=2), message("m")))
    hooks.on("BeforeAgent")(lambda _event: add_context("c"))
    given = {"a": 1}
    answer = await hooks.before_tool("t", given)
    assert (answer.blocked, answer.stopped, answer.asks, answer.reason) == (False,) * 3 + (None,)
    assert (answer.tool_input, given) == ({"a": 1, "b": 2}, {"a": 1})
    assert (answer.message, answer.context) == ("m", None)
    assert (await hooks.before_agent("p")).context == "c"
    assert answer.raw is answer


@pytest.mark.parametrize("kind", ["function", "script"])
@pytest.mark.parametrize("said", [deny("no"), combine(deny("no"), rewrite(a={"b": [1]}))])
async def test_what_a_caller_changes_in_an_answer_is_not_in_the_next(kind: str, said: Any) -> None:
    hooks = Hooks() if kind == "function" else Hooks(hooks=settings_with("BeforeTool", say(said)))
    if kind == "function":
        hooks.on("BeforeTool")(lambda _event: said)
    first = await hooks.before_tool("t", {})
    given, merged = copy.deepcopy(first.all_outputs), first.decision
    first.all_outputs[0].get("hookSpecificOutput", {}).get("tool_input", {}).clear()
    first.all_outputs[0]["decision"] = "allow"
    first.all_outputs.append({"continue": False})
    for second in (await hooks.before_tool("t", {}), hooks.sync.before_tool("t", {})):
        assert (second.all_outputs, second.results[0].output) == (given, given[0])
        assert (second.decision, second.reason) == (merged, "no")


async def test_an_unchanged_value_is_the_callers_own_object() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: None)
    given = {"a": object()}
    assert (await hooks.before_tool("t", given)).tool_input is given
    assert (await hooks.before_model(REQUEST)).request is REQUEST
    assert (await hooks.after_model(REQUEST, RESPONSE)).response is RESPONSE


async def test_model_events_answer_in_the_callers_own_form() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(
        lambda _event: {"hookSpecificOutput": {"llm_request": {"model": "small"}}}
    )
    hooks.on("AfterModel")(
        lambda _event: {"hookSpecificOutput": {"llm_response": {"text": "[hidden]"}}}
    )
    hooks.on("BeforeToolSelection")(
        lambda _event: {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["a"]}}}
    )
    before = await hooks.before_model(REQUEST)
    after = await hooks.after_model(REQUEST, RESPONSE)
    declared = [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]
    request = {**REQUEST, "config": {"tools": declared}}
    selection = await hooks.before_tool_selection(request, ["a", "b"])
    assert before.request == {**REQUEST, "model": "small"}
    assert after.response["candidates"][0]["content"]["parts"] == [{"text": "[hidden]"}]
    assert selection.tools == frozenset({"a"})
    calling = selection.request["config"]["toolConfig"]["functionCallingConfig"]
    assert calling["allowedFunctionNames"] == ["a"]


async def test_a_blocked_model_call_has_a_response_that_says_why() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: deny("too late"))
    hooks.on("AfterModel")(lambda _event: deny("rude"))
    before = await hooks.before_model(REQUEST)
    after = await hooks.after_model(REQUEST, RESPONSE)
    assert (before.blocked, before.is_synthetic) == (True, False)
    assert before.response["candidates"][0]["content"]["parts"] == [{"text": "too late"}]
    assert after.response["candidates"][0]["content"]["parts"] == [{"text": "rude"}]


async def test_a_block_on_an_event_that_cannot_be_blocked_has_no_effect(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    hooks.on("SessionStart")(lambda _event: combine(deny("no"), stop("end")))
    answer = await hooks.session_start("resume")
    assert (answer.blocked, answer.stopped, answer.word) == (False, False, "allowed")
    assert "tried to block or stop SessionStart, which has no effect" in caplog.text


async def test_a_question_counts_before_a_tool_alone(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    for event in ("BeforeTool", "BeforeAgent"):
        hooks.on(event)(lambda _event: {"decision": "ask", "reason": "sure?"})
    assert (await hooks.before_tool("t", {})).asks
    assert not (await hooks.before_agent("p")).asks
    assert "tried to ask for confirmation on BeforeAgent, which has no effect" in caplog.text


async def test_bad_values_are_failed_events_and_raise_nothing() -> None:
    hooks = Hooks()
    hooks.on("SessionStart")(lambda _event: None)
    for answer in (
        await hooks.session_start("sometime"),
        await hooks.fire("NoSuchEvent", {}),
        hooks.sync.fire("BeforeTool", {"tool_name": "t"}),
    ):
        assert answer.word == "failed"
        assert answer.failures


def test_sync_works_inside_a_running_loop_with_functions_and_scripts() -> None:
    hooks = Hooks(hooks=settings_with("BeforeTool", say({"systemMessage": "script"})))

    @hooks.on("BeforeTool")
    async def waiting(_event: object) -> Reply:
        await asyncio.sleep(0.001)
        return message("function")

    async def main() -> str | None:
        return hooks.sync.before_tool("t", {}).message

    assert asyncio.run(main()) == "function\nscript"
    assert hooks.sync.before_tool("t", {}).message == "function\nscript"


def test_a_call_that_nothing_matches_starts_no_loop_and_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="^other$")(lambda _event: deny("no"))

    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a loop or a thread was started")

    hooks.sync.before_tool("t", {})
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr("hookline.engine.engine.PollLoop", refuse)
    assert hooks.sync.before_tool("t", {}).word == "no hook matched"


async def test_sessions_share_hooks_and_have_their_own_id() -> None:
    hooks, seen = Hooks(session_id="main"), []
    hooks.on("BeforeAgent")(
        lambda event: seen.append((event["session_id"], event["transcript_path"]))
    )
    chat = hooks.session("chat-1", transcript_path="/t.jsonl")
    await hooks.before_agent("p")
    await chat.before_agent("p")
    chat.sync.before_agent("p")
    await chat.fire("BeforeAgent", {"prompt": "p"})
    assert seen == [("main", ""), *[("chat-1", "/t.jsonl")] * 3]


async def test_fifty_conversations_at_once_keep_their_own_ids() -> None:
    hooks = Hooks()
    seen: list[tuple[str, str]] = []

    @hooks.on("BeforeAgent")
    async def see(event: Any) -> None:
        await asyncio.sleep(0)
        seen.append((event["session_id"], event["prompt"]))

    def converse(number: int) -> None:
        chat = hooks.session(f"thread-{number}")
        for _ in range(4):
            chat.sync.before_agent(f"thread-{number}")

    async def talk(number: int) -> None:
        chat = hooks.session(f"loop-{number}")
        for _ in range(4):
            await chat.before_agent(f"loop-{number}")

    with ThreadPoolExecutor(5) as pool:
        threads = [asyncio.wrap_future(pool.submit(converse, n)) for n in range(25)]
        await asyncio.gather(*threads, *(talk(n) for n in range(25)))
    assert len(seen) == 200
    assert all(session == prompt for session, prompt in seen)


def test_one_front_serves_loops_of_several_threads() -> None:
    hooks = Hooks()
    together = threading.Barrier(20)

    @hooks.on("BeforeTool")
    async def slow(event: Any) -> Reply:
        await asyncio.to_thread(together.wait, 30)
        return deny(event["tool_name"])

    async def fire(name: str) -> list[str | None]:
        answers = await asyncio.gather(*(hooks.before_tool(f"{name}{n}", {}) for n in range(5)))
        return [answer.reason for answer in answers]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda name: asyncio.run(fire(name)), "abcd"))
    assert found == [[f"{name}{n}" for n in range(5)] for name in "abcd"]


async def test_with_and_async_with_end_what_serves_hooks() -> None:
    with Hooks() as hooks:
        hooks.on("BeforeAgent")(lambda _event: None)
        assert hooks.sync.before_agent("p").success
    async with Hooks() as others:
        assert (await others.before_agent("p")).success
    hooks.close()
    assert hooks.sync.before_agent("p").success


def test_the_front_of_a_config_shares_its_engine() -> None:
    config = Config(session_id="s")
    hooks = Hooks.of(config)
    hooks.on("BeforeAgent")(lambda _event: deny("no"))
    system = config.get_hook_system()
    assert system is not None
    assert system.fire_blocking("BeforeAgent", {"prompt": "p"}).blocked
    assert hooks.config is config


def test_cancelling_an_awaited_event_ends_its_script(project: Project) -> None:
    project.script("slow.sh", "#!/bin/sh\nsleep 60\n")
    hooks = Hooks(working_dir=project.path, hooks=settings_with("BeforeTool", "./slow.sh"))

    async def main() -> None:
        async with asyncio.timeout(0.3):
            await hooks.before_tool("t", {})

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert time.monotonic() - began < 30


def test_an_adapter_may_skip_events_that_no_hook_answers_and_nobody_logs() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="mail")(lambda _event: None)
    before, after = HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL
    assert hooks.may_skip(before, after, target="shell")
    assert not hooks.may_skip(before, after, target="mail")
    assert hooks.sync.may_skip(after, target="mail")
    logger = DebugLogger(lambda _record: None)
    assert not Hooks(debug_logger=logger).may_skip(before, target="shell")


def test_an_adapter_can_name_the_hooks_of_an_event_that_are_in_force() -> None:
    command = {"type": "command", "command": "exit 0", "name": "untrusted"}
    hooks = Hooks(hooks={"BeforeModel": [{"hooks": [command]}]}, trusted=False)
    hooks.on("BeforeModel", name="one")(lambda _event: None)
    hooks.on("AfterModel", name="two")(lambda _event: None)
    hooks.on("BeforeTool", name="other")(lambda _event: None)
    events = (HookEventName.BEFORE_MODEL, HookEventName.AFTER_MODEL)
    assert hooks.names_of_hooks(*events) == hooks.sync.names_of_hooks(*events) == ["one", "two"]
    assert Hooks(enable_hooks=False).names_of_hooks(*events) == []


@pytest.mark.parametrize("strict", [True, False])
def test_an_adapter_can_ask_whether_hooks_are_strict(strict: bool) -> None:
    assert Hooks(strict=strict).is_strict() is Hooks(strict=strict).sync.is_strict() is strict


def test_settings_that_no_event_has_read_yet_can_be_strict(project: Project) -> None:
    project.settings({"strict": True})
    assert Hooks.load(project.path, trusted=True).is_strict()
    off = Hooks.load(project.path, trusted=True, enable_hooks=False)
    assert (off.is_off(), off.is_strict()) == (True, False)
    assert not Hooks.load(project.path, trusted=True).is_off()


async def test_hooks_that_fail_closed_deny_what_the_engine_failed_at() -> None:
    def fail() -> bool:
        raise LookupError("the trust store is gone")

    command = {"type": "command", "command": "exit 0"}
    hooks = Hooks(hooks={"BeforeTool": [{"hooks": [command]}]}, trusted=fail)
    assert not (await hooks.before_tool("shell", {})).blocked
    answer = await Face(replace(hooks.view, closed=True)).before_tool("shell", {})
    assert answer.denied
    assert "the trust store is gone" in (answer.reason or "")
    good = Hooks()
    good.on("BeforeTool")(lambda _event: rewrite(command="ls"))
    closed = Face(replace(good.session("s").view, closed=True))
    assert (await closed.before_tool("shell", {})).tool_input == {"command": "ls"}


async def test_a_gate_can_be_opened_with_what_hooks_have_answered_before() -> None:
    hooks, fired = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda event: fired.append(event["hook_event_name"]))
    hooks.on("AfterTool")(lambda _event: add_context("after"))
    gate = await hooks.tool_gate("shell", {"command": "a"}, answered=rewrite(command="b"))
    assert gate.input == {"command": "b"}
    assert (await gate.finish(result="done")).text == "done\n\nafter"
    again = hooks.sync.tool_gate("shell", {"command": "a"}, answered={})
    assert again.input == {"command": "a"}
    assert not fired


def test_a_conversation_of_an_adapter_has_its_transcript() -> None:
    hooks, noted = Hooks(), list[str]()
    hooks.on("BeforeAgent")(lambda event: noted.append(event["transcript_path"]))
    conversations = Conversations(hooks)
    for path in ("/t.jsonl", None):
        conversations.of("chat", transcript_path=path).hooks.sync.before_agent("Hi")
    assert noted == ["/t.jsonl"] * 2


async def test_a_gate_takes_what_hooks_answered_before_and_says_whether_they_rewrote_it() -> None:
    hooks = Hooks()
    asked: list[dict[str, Any]] = []
    hooks.on("BeforeTool")(asked.append)
    answered = {"decision": "deny", "reason": "no"}
    gate = await hooks.tool_gate("shell", {"command": "ls"}, answered=answered)
    assert gate.refusal is not None
    assert gate.refusal.llm_content == "no"
    changed = {"hookSpecificOutput": {"tool_input": {"command": "ls -l"}}}
    gate = await hooks.tool_gate("shell", {"command": "ls"}, answered=changed)
    assert (gate.input, gate.is_rewritten) == ({"command": "ls -l"}, True)
    assert not asked
    assert not (await hooks.tool_gate("shell", {"command": "ls"})).is_rewritten
    assert len(asked) == 1


SERVER = {"server_name": "s"}
# Method -> its arguments by name, and the fields that hooks read of them.
GIVEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "before_tool": (
        {
            "tool_name": "t",
            "tool_input": {"a": 1},
            "mcp_context": SERVER,
            "original_request_name": "r",
        },
        {},
    ),
    "after_tool": (
        {
            "tool_name": "t",
            "tool_input": {"a": 1},
            "tool_response": {"llmContent": "x"},
            "original_tool_input": {"a": 0},
            "mcp_context": SERVER,
            "original_request_name": "r",
        },
        {},
    ),
    "before_agent": ({"prompt": "p"}, {}),
    "after_agent": ({"prompt": "p", "prompt_response": "r", "stop_hook_active": True}, {}),
    "session_start": ({}, {"source": "startup"}),
    "session_end": ({}, {"reason": "exit"}),
    "pre_compress": ({}, {"trigger": "manual"}),
    "notification": (
        {"message": "m", "notification_type": "n", "level": "l", "details": {"a": 1}},
        {},
    ),
}


@pytest.mark.parametrize("method", GIVEN)
async def test_hooks_read_what_a_method_is_given(method: str) -> None:
    hooks, seen = Hooks(), list[dict[str, Any]]()
    arguments, defaults = GIVEN[method]
    hooks.on(METHODS[method][1])(seen.append)
    session = hooks.session("s-9", transcript_path="/t.jsonl")
    await getattr(session, method)(**arguments)
    getattr(session.sync, method)(**arguments)
    expected = {**arguments, **defaults, "session_id": "s-9", "transcript_path": "/t.jsonl"}
    assert len(seen) == 2
    assert all(document.items() >= expected.items() for document in seen)


async def test_an_event_given_as_data_is_of_this_session_unless_it_names_its_own() -> None:
    hooks, seen = Hooks(), list[dict[str, Any]]()
    hooks.on("BeforeAgent")(seen.append)
    session = hooks.session("s-9", transcript_path="/t.jsonl")
    await session.fire("BeforeAgent", {"prompt": "p"})
    await session.fire("BeforeAgent", {"prompt": "p", "session_id": "x", "transcript_path": "/x"})
    await session.fire_claude_event("UserPromptSubmit", {"prompt": "p"})
    places = [(document["session_id"], document["transcript_path"]) for document in seen]
    assert places == [("s-9", "/t.jsonl"), ("x", "/x"), ("s-9", "/t.jsonl")]


def test_what_hooks_tell_the_user_is_warned_of_where_the_caller_gets_no_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    told = {"hookSpecificOutput": {"userMessage": "mind the gap"}}
    hooks.on("BeforeTool")(lambda _event: told)
    assert hooks.sync.before_tool("t", {}).user_message == "mind the gap"
    assert caplog.text == ""
    hooks.sync.run_tool(lambda: "x", {}, name="t")
    hooks.wrap(lambda: "x", name="t")()
    complete(Face(replace(hooks.view, blocking=True).heard).before_tool("t", {}))
    assert caplog.messages == ["a hook tells the user: mind the gap"] * 3


async def test_who_hears_the_answers_is_told_instead_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks, heard = Hooks(), list[Answer]()
    hooks.on("BeforeTool")(lambda _event: {"hookSpecificOutput": {"userMessage": "mind the gap"}})

    async def hear(answer: Answer) -> None:
        heard.append(answer)

    listening = HookSession(hooks.session("s").view.heard_by(hear))
    await listening.run_tool(lambda: "x", {}, name="t")
    assert [answer.event for answer in heard] == ["BeforeTool", "AfterTool"]
    assert caplog.text == ""
    await Face(hooks.view.heard).before_tool("t", {})
    assert caplog.messages == ["a hook tells the user: mind the gap"]


def test_the_hooks_of_a_configuration_are_found() -> None:
    hooks = Hooks()
    assert hooks_of(hooks) is hooks
    assert hooks_of(hooks.config).names_of_hooks() == []


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (functools.partial(functools.partial(say, {})), "say"),
        (type("Tool", (), {"name": "given", "__call__": lambda _self: "x"})(), "given"),
        (type("Tool", (), {"name": 5, "__call__": lambda _self: "x"})(), "Tool"),
        (type("Tool", (), {"__call__": lambda _self: "x"})(), "Tool"),
    ],
)
def test_a_tool_is_called_by_its_own_name_or_else_its_type(tool: Any, name: str) -> None:
    hooks, seen = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda event: seen.append(event["tool_name"]))
    hooks.sync.run_tool(tool, {})
    hooks.sync.run_tool(tool, {}, name="other")
    assert seen == [name, "other"]


@pytest.mark.parametrize(
    ("event", "field", "word", "read"),
    [
        ("SessionStart", "source", "compact", "compress"),
        ("SessionStart", "source", "fork", "resume"),
        ("SessionEnd", "reason", "resume", "other"),
        ("SessionEnd", "reason", "compact", None),
        ("SessionStart", "source", "startup", "startup"),
    ],
)
def test_an_event_of_both_families_may_have_claude_codes_word(
    event: str, field: str, word: str, read: str | None
) -> None:
    hooks, seen = Hooks(), list[str]()
    hooks.on(event)(lambda document: seen.append(document[field]))
    answer = hooks.sync.fire(event, {field: word})
    assert (answer.word == "failed") is (read is None)
    assert seen == ([] if read is None else [read])


@pytest.mark.parametrize(
    ("event", "said", "told"),
    [
        ("SessionEnd", deny("no"), "tried to block or stop SessionEnd, which has no effect: no"),
        ("PreCompress", stop("x"), "tried to block or stop PreCompress, which has no effect: x"),
        ("SessionEnd", {"decision": "ask"}, "tried to ask for confirmation on SessionEnd, which"),
        ("BeforeAgent", {"decision": "ask"}, "tried to ask for confirmation on BeforeAgent, which"),
        ("BeforeTool", {"decision": "ask"}, ""),
        ("BeforeTool", deny("no"), ""),
        ("SessionEnd", message("m"), ""),
    ],
)
def test_what_has_no_effect_on_an_event_is_told(
    event: str, said: Any, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()
    hooks.on(event)(lambda _event: said)
    methods = {event: (name, given) for name, (given, event) in METHODS.items()}
    name, given = methods[event]
    getattr(hooks.sync, name)(*given)
    assert ("no effect" in caplog.text) is bool(told)
    assert told in caplog.text


def unreadable_hooks(
    project: Project, error: Exception, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> Hooks:
    """Hooks whose settings cannot be read."""

    def fail(_reader: SettingsReader) -> None:
        raise error

    monkeypatch.setattr(SettingsReader, "read", fail)
    return Hooks.load(project.path, trusted=True, **options)


@pytest.mark.parametrize(
    ("code", "is_blocked"),
    [
        *((errno.EMFILE, True), (errno.ENFILE, True), (errno.ENOMEM, True), (errno.EAGAIN, True)),
        *((errno.ENOENT, False), (errno.EACCES, False), (None, False)),
    ],
)
async def test_where_the_system_has_run_out_of_something_nothing_goes_on_unchecked(
    project: Project,
    code: int | None,
    is_blocked: bool,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = LookupError("no") if code is None else OSError(code, "no")
    hooks = unreadable_hooks(project, error, monkeypatch)
    for answer in (await hooks.before_tool("t", {}), hooks.sync.before_tool("t", {})):
        assert answer.blocked is is_blocked
        assert answer.failures[0].stage == "planning"
    assert not hooks.sync.session_end().blocked
    assert "hooks did not run: " in caplog.text
    assert hooks.may_answer("BeforeTool")
    assert (hooks.is_off(), hooks.is_strict()) == (False, True)
    assert hooks.names_of_hooks(HookEventName.BEFORE_TOOL) == []
    assert "cannot list the hooks: " in caplog.text


async def test_in_strict_mode_an_event_that_cannot_be_fired_is_blocked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = unreadable_hooks(project, LookupError("no"), monkeypatch, strict=True)
    assert (await hooks.before_tool("t", {})).blocked


@pytest.mark.parametrize(
    ("method", "given", "matcher"),
    [
        ("before_tool", ("shell", {}), "^shell$"),
        ("after_tool", ("shell", {}, {}), "^shell$"),
        ("session_start", ("resume",), "resume"),
        ("session_end", ("logout",), "logout"),
        ("pre_compress", ("auto",), "auto"),
    ],
)
def test_a_matcher_picks_the_target_of_its_event(
    method: str, given: tuple[Any, ...], matcher: str
) -> None:
    hooks, seen = Hooks(), list[str]()
    event = METHODS[method][1]
    hooks.on(event, matcher=matcher)(lambda _event: seen.append("picked"))
    hooks.on(event, matcher="other")(lambda _event: seen.append("other"))
    getattr(hooks.sync, method)(*given)
    assert seen == ["picked"]


def test_a_matcher_picks_the_type_of_a_notification() -> None:
    hooks, seen = Hooks(), list[str]()
    hooks.on("Notification", matcher="ToolPermission")(lambda e: seen.append(e["message"]))
    hooks.sync.notification("a", notification_type="ToolPermission")
    hooks.sync.notification("b", notification_type="Other")
    hooks.sync.notification("c")
    assert seen == ["a"]


def test_the_synchronous_methods_are_documented_as_their_twins() -> None:
    for name in METHODS:
        assert getattr(SyncHooks, name).__doc__ == getattr(Hooks, name).__doc__
        assert getattr(SyncHooks, name).__name__ == name


async def test_claude_codes_form_is_added_to_events_of_its_name_alone(project: Project) -> None:
    group = {"matcher": "w", "hooks": [{"type": "command", "command": "true"}]}
    settings = {"hooks": {"PreCompact": [group], "SessionStart": [group]}}
    project.write(".claude/settings.json", json.dumps(settings))
    hooks = Hooks.load(project.path, claude=True, trusted=True)
    original = {HookEventName.PRE_COMPRESS: Original("claude", {"trigger": "w", "source": "w"})}
    face = Face(replace(hooks.view, original=original))
    assert len((await face.session_start()).results) == 0
    assert len((await face.pre_compress()).results) == 1


@pytest.mark.parametrize(
    ("make", "option", "message"),
    [
        (Hooks, "work_dir", "Hooks has no option 'work_dir'; did you mean working_dir?"),
        (Hooks.load, "trustd", "Hooks.load has no option 'trustd'; did you mean trusted?"),
        (Config, "work_dir", "Config has no option 'work_dir'; did you mean working_dir?"),
        (Config.load, "zz", "Config.load has no option 'zz'; its options are directory, "),
        (functools.partial(Hooks().on, "BeforeTool"), "match", "Hooks.on has no option 'match'; "),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest_one(
    make: Any, option: str, message: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        make(**{option: "x"})


def test_a_matcher_that_is_no_pattern_is_refused_where_it_stands() -> None:
    with pytest.raises(InvalidHookError, match=r"the matcher of 'hook on BeforeTool': 'shell\("):
        Hooks().on("BeforeTool", matcher="shell(")


def test_a_hook_is_named_after_its_function_wherever_that_was_made() -> None:
    def make_guard() -> Any:
        def guard(_event: Any) -> None: ...

        return guard

    class Rules:
        def check(self, _event: Any) -> None: ...

        def __call__(self, _event: Any) -> None: ...

    renamed = make_guard()
    renamed.__name__ = "limit"
    hooks = Hooks()
    functions = (make_guard(), Rules().check, Rules(), functools.partial(make_guard()), renamed)
    for function in functions:
        hooks.on("BeforeTool")(function)
    names = ["guard", "Rules.check", "Rules", "guard", "limit"]
    assert hooks.names_of_hooks(HookEventName.BEFORE_TOOL) == names
