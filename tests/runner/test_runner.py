"""One plan: in parallel or in sequence, results in plan order, and a result whatever happens."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from hookline.runner.context import InputDocument
from hookline.runner.runner import HookRunner, RunningHook
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookConfig, HookSource, PromptHook
from hookline.wire.results import HookExecutionPlan
from tests.eleven import Json
from tests.runner.contained import appears
from tests.runner.planned import TOOL, function, rules, run, run_one, script
from tests.runner.test_guard import guards

READ: Json = {
    "session_id": "s",
    "transcript_path": "",
    "cwd": "/",
    "timestamp": "2026-01-01",
    "tool_name": "Read",
    "tool_input": {"file_path": "/work/a"},
}


async def test_parallel_hooks_run_at_the_same_time_and_results_keep_plan_order() -> None:
    both = asyncio.Barrier(3)

    async def meet(_input: Json) -> Json:
        async with asyncio.timeout(10):
            await both.wait()
        return {"reason": "met"}

    async def last(given: Json) -> Json:
        answer = await meet(given)
        await asyncio.sleep(0.05)
        return answer

    hooks = [function(last, name="a"), function(meet, name="b"), function(meet, name="c")]
    results = await run(*hooks)
    assert [result.hook.name for result in results] == ["a", "b", "c"]
    assert all(result.output == {"reason": "met"} for result in results)


async def test_plain_functions_of_a_parallel_plan_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=10)

    def meet(_input: Json) -> None:
        both.wait()

    results = await run(function(meet, name="a"), function(meet, name="b"))
    assert all(result.success for result in results)


async def test_sequential_hooks_run_one_after_the_other() -> None:
    log: list[str] = []

    def hook(name: str) -> HookConfig:
        async def record(_input: Json) -> None:
            log.append(f"{name} begins")
            await asyncio.sleep(0.01)
            log.append(f"{name} ends")

        return function(record, name=name)

    await run(hook("a"), hook("b"), sequential=True)
    assert log == ["a begins", "a ends", "b begins", "b ends"]


@pytest.mark.requirement("GUAR-3")
@pytest.mark.parametrize("sequential", [True, False])
async def test_one_failing_hook_leaves_the_others_their_results(sequential: bool) -> None:
    def broken(_input: Json) -> None:
        raise RuntimeError("boom")

    async def stubborn(_input: Json) -> None:
        await asyncio.sleep(60)

    results = await run(
        function(lambda _: {"reason": "a"}),
        function(broken),
        function(stubborn, timeout=20),
        script("exit 3"),
        script("""cat >/dev/null; echo '{"reason": "b"}'"""),
        sequential=sequential,
    )
    assert [result.failed for result in results] == [None, "error", "timeout", "exit", None]
    assert [result.output for result in results] == [
        {"reason": "a"},
        None,
        None,
        None,
        {"reason": "b"},
    ]


async def test_every_result_has_its_hook_event_and_duration() -> None:
    async def slow(_input: Json) -> None:
        await asyncio.sleep(0.02)

    hook = function(slow)
    result = await run_one(hook)
    assert result.hook is hook
    assert result.event_name is HookEventName.BEFORE_TOOL
    assert 10 < result.duration < 10_000


@pytest.mark.parametrize("kind", ["command", "function"])
async def test_an_untrusted_project_hook_is_not_started(tmp_path: Path, kind: str) -> None:
    touched = tmp_path / "touched"
    source = HookSource.PROJECT
    hook: HookConfig = (
        script(f"touch {touched}", source=source)
        if kind == "command"
        else function(lambda _: touched.touch(), source=source)
    )
    result = await run_one(hook, is_trusted=lambda _hook: False)
    assert (result.success, result.failed, result.output) == (False, "untrusted", None)
    assert not touched.exists()


@pytest.mark.parametrize("source", [s for s in HookSource if s is not HookSource.PROJECT])
async def test_hooks_of_other_layers_need_no_trust(source: HookSource) -> None:
    result = await run_one(function(lambda _: None, source=source), is_trusted=lambda _hook: False)
    assert result.success


async def test_trust_is_asked_for_each_time_a_project_hook_runs() -> None:
    answers = iter([True, False])
    hooks = [function(lambda _: None, source=HookSource.PROJECT) for _ in range(2)]
    results = await run(*hooks, sequential=True, is_trusted=lambda _hook: next(answers))
    assert [result.failed for result in results] == [None, "untrusted"]


async def test_a_trust_check_that_raises_keeps_the_hook_from_running() -> None:
    def confused() -> bool:
        raise RuntimeError("no idea")

    ran: list[Json] = []
    result = await run_one(function(ran.append, source=HookSource.PROJECT), is_trusted=confused)
    assert result.failed == "error"
    assert ran == []


@pytest.mark.parametrize("sequential", [True, False])
async def test_an_empty_plan_has_no_results(sequential: bool) -> None:
    assert await run(sequential=sequential) == ()


async def test_a_block_does_not_keep_later_hooks_from_running() -> None:
    ran: list[str] = []
    results = await run(
        script("exit 2", name="guard"),
        function(lambda _: ran.append("audit"), name="audit"),
        sequential=True,
    )
    assert [result.success for result in results] == [False, True]
    assert ran == ["audit"]


def reading(log: list[Json], output: Json | None = None) -> HookConfig:
    def hook(given: Json) -> Json | None:
        log.append(given)
        return output

    return function(hook)


async def test_a_sequential_hook_reads_what_the_one_before_it_changed() -> None:
    log: list[Json] = []
    change = {"hookSpecificOutput": {"tool_input": {"mode": "safe"}}}
    await run(reading(log, change), reading(log), reading(log), sequential=True)
    inputs = [given["tool_input"] for given in log]
    assert inputs == [{"path": "a"}, *[{"path": "a", "mode": "safe"}] * 2]


async def test_in_parallel_every_hook_reads_the_original() -> None:
    log: list[Json] = []
    change = {"hookSpecificOutput": {"tool_input": {"mode": "safe"}}}
    await run(reading(log, change), reading(log, change), reading(log, change))
    assert [given["tool_input"] for given in log] == [{"path": "a"}] * 3


async def test_the_output_of_a_hook_that_failed_is_not_chained() -> None:
    log: list[Json] = []
    change = '{"hookSpecificOutput": {"tool_input": {"mode": "safe"}}}'
    failing = [script(f"echo '{change}'; exit {code}", name=f"c{code}") for code in (1, 2)]
    await run(*failing, reading(log), sequential=True)
    assert [given["tool_input"] for given in log] == [{"path": "a"}]


async def test_the_denial_of_a_successful_hook_is_chained_like_any_other_answer() -> None:
    log: list[Json] = []
    denial = {"decision": "deny", "hookSpecificOutput": {"tool_input": {"mode": "safe"}}}
    await run(reading(log, denial), reading(log), sequential=True)
    assert log[1]["tool_input"] == {"path": "a", "mode": "safe"}


async def test_a_sequential_command_reads_the_change_on_its_stdin(tmp_path: Path) -> None:
    change = '{"hookSpecificOutput": {"additionalContext": "and be brief"}}'
    await run(
        script(f"cat >/dev/null; echo '{change}'", name="a"),
        script(f"cat > {tmp_path}/seen", name="b"),
        event=HookEventName.BEFORE_AGENT,
        payload={"prompt": "hello"},
        sequential=True,
    )
    assert (tmp_path / "seen").read_text() == '{"prompt":"hello\\n\\nand be brief"}'


async def test_one_runner_serves_many_events_at_once() -> None:
    async def hook(given: Json) -> Json:
        await asyncio.sleep(0.01)
        return {"reason": given["tool_name"]}

    names = [f"tool-{number}" for number in range(50)]
    started = time.monotonic()
    calls = [run_one(function(hook), payload={"tool_name": n, "tool_input": {}}) for n in names]
    results = await asyncio.gather(*calls)
    assert [result.output for result in results] == [{"reason": name} for name in names]
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("sequential", [True, False])
async def test_a_hook_that_fails_closed_does_not_run_on_an_input_that_was_cut(
    sequential: bool,
) -> None:
    def answer(_input: Json) -> Json:
        return {"hookSpecificOutput": {"tool_input": {"path": "b"}}}

    results = await run(
        function(answer),
        function(answer, name="strict", on_failure="block"),
        script("touch ran", name="strict script", on_failure="block"),
        cut="it has 2 MiB, and a bus takes 1 MiB",
        sequential=sequential,
    )
    assert [result.failed for result in results] == [None, "malformed", "malformed"]
    said = "its input could not be shown whole: it has 2 MiB, and a bus takes 1 MiB"
    assert [result.error for result in results] == [None, said, said]
    assert not Path("ran").exists()


async def test_a_hook_that_fails_closed_runs_on_a_whole_input() -> None:
    result = await run_one(function(lambda _: {"reason": "a"}, on_failure="block"))
    assert (result.success, result.output) == (True, {"reason": "a"})


@pytest.mark.parametrize(("path", "runs"), [("/work/b", True), ("/elsewhere/b", False)])
async def test_a_hook_of_a_sequence_runs_if_its_condition_fits_the_changed_call(
    path: str, runs: bool
) -> None:
    guard = script(
        "touch ran", dialect="claude", dialect_event="PreToolUse", condition="Read(//work/**)"
    )
    change = {"hookSpecificOutput": {"tool_input": {"file_path": path}}}
    hooks = (function(lambda _input: change), guard, script("true", name="last"))
    results = await run(*hooks, payload=READ, sequential=True)
    assert (len(results), Path("ran").exists()) == (2 + runs, runs)
    assert results[-1].hook.name == "last"


async def test_the_condition_of_the_first_hook_was_judged_by_the_planner() -> None:
    hook = script(
        "touch ran", dialect="claude", dialect_event="PreToolUse", condition="Read(//other/**)"
    )
    (result,) = await run(hook, payload=READ, sequential=True)
    assert (result.success, Path("ran").exists()) == (True, True)


async def test_the_answer_of_a_hook_that_failed_changes_nothing_for_the_next() -> None:
    failing = script("""echo '{"hookSpecificOutput": {"tool_input": {"path": "b"}}}'; exit 1""")
    results = await run(failing, script("cat >&2"), sequential=True)
    assert '"path":"a"' in results[1].stderr


def test_a_followed_runner_lists_a_command_while_it_runs() -> None:
    running: list[RunningHook] = []
    runner = HookRunner()
    runner.follow(running)
    started = time.monotonic()
    seen: list[RunningHook] = []

    async def look() -> None:
        await appears("begun")
        seen.extend(running)
        Path("go").touch()

    async def fire() -> None:
        hook = script("echo on > begun; until [ -e go ]; do sleep 0.01; done")
        plan = HookExecutionPlan(HookEventName.BEFORE_TOOL, (hook,), False)
        document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
        await asyncio.gather(runner.execute_plan(plan, document, rules()), look())
        assert [each for each, _ in seen] == [hook]

    asyncio.run(fire())
    runner.dispose()
    assert running == []
    assert started <= seen[0][1] <= time.monotonic()


async def test_an_async_hook_after_the_end_of_the_system_is_not_started() -> None:
    runner = HookRunner()
    runner.dispose()
    hook = script("touch ran", background=True)
    plan = HookExecutionPlan(HookEventName.BEFORE_TOOL, (hook,), False)
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    (result,) = await runner.execute_plan(plan, document, rules())
    assert (result.failed, result.error) == ("spawn", "was not started: the hooks were closed")
    assert runner.wait_for_background(0)


async def test_only_a_hook_that_ran_took_time() -> None:
    def fail(_input: Json) -> None:
        raise ValueError("no")

    ran, refused = await run(
        function(fail),
        script("true", source=HookSource.PROJECT),
        is_trusted=lambda _hook: False,
    )
    assert (ran.failed, refused.failed) == ("error", "untrusted")
    assert ran.duration > 0 == refused.duration


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")
async def test_a_command_after_the_end_of_the_system_runs_and_leaves_no_process() -> None:
    before = {*guards()}
    runner = HookRunner()
    runner.dispose()
    plan = HookExecutionPlan(HookEventName.BEFORE_TOOL, (script("echo '{}'"),), False)
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    (result,) = await runner.execute_plan(plan, document, rules())
    assert (result.success, result.output) == (True, {})
    assert before >= {*guards()}


async def test_an_event_that_cannot_be_put_in_a_hooks_dialect_fails_the_hook() -> None:
    hook = script("touch ran", dialect="claude", dialect_event="PreToolUse")
    payload = {**READ, "tool_input": {"a": object()}}
    result = await run_one(hook, payload=payload)
    assert (result.failed, Path("ran").exists()) == ("malformed", False)


@pytest.mark.parametrize("first", ["prompt", "function", "command"])
async def test_a_hook_of_one_kind_changes_nothing_for_those_of_another(first: str) -> None:
    prompt = PromptHook(name="prompt", prompt="Fine?")
    hooks: list[HookConfig] = [prompt, function(lambda _: {"reason": "f"}, name="function")]
    hooks += [script("""echo '{"reason": "c"}'""", name="command")]
    hooks.sort(key=lambda hook: hook.name != first)
    judge = '{"ok": false, "reason": "p"}'
    results = await run(*hooks, *hooks, sequential=True, judge=lambda _question: judge)
    said = [(result.hook.name[0], (result.output or {})["reason"]) for result in results]
    assert said == [(hook.name[0], hook.name[0]) for hook in (*hooks, *hooks)]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")
async def test_the_end_of_a_system_ends_the_guard_of_its_commands() -> None:
    before = {*guards()}
    runner = HookRunner()
    plan = HookExecutionPlan(HookEventName.BEFORE_TOOL, (script("true"),), False)
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    await runner.execute_plan(plan, document, rules())
    assert len({*guards()} - before) == 1
    runner.dispose()
    assert before >= {*guards()}


async def test_the_end_of_a_system_ends_its_async_hooks() -> None:
    runner = HookRunner()
    hook = script("echo on > begun; exec sleep 20", background=True)
    plan = HookExecutionPlan(HookEventName.BEFORE_TOOL, (hook,), False)
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    await runner.execute_plan(plan, document, rules())
    await appears("begun")
    assert not runner.wait_for_background(0)
    runner.dispose()
    assert runner.wait_for_background(5)
