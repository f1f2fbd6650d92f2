"""Hooks that nobody waits for: their events go on, and what they say is heard later."""

import asyncio
import gc
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline import Config, DebugLogger, Hooks, HookSystem, InProcessMessageBus, RunLimits
from hookline.pipeline.answer import Answer
from hookline.runner.background import MOST_AT_ONCE
from hookline.wire.events import HookEventName
from tests.eleven import Json, answering, command
from tests.runner.contained import SLACK, is_running
from tests.runner.faults import Faults

WAITS = "until [ -e go ]; do sleep 0.01; done; "
ASYNC: Json = {"async": True}
HANGS = "cat >/dev/null; echo $$ > pid.new; mv pid.new pid; while :; do sleep 1; done"


def say(*, first: str = "", **fields: Any) -> str:
    """A command that prints an answer, when ``first`` has ended."""
    return f"{first}cat >/dev/null; printf '%s' {shlex.quote(json.dumps(fields))}"


def adding(text: str, *, first: str = "", **fields: Any) -> Json:
    """An async hook that gives a text for the model."""
    said = say(first=first, hookSpecificOutput={"additionalContext": text}, **fields)
    return command(said, **ASYNC)


def appears(name: str) -> str:
    """What a hook has written into a file, once it has."""
    deadline = time.monotonic() + 30
    while not Path(name).exists():
        assert time.monotonic() < deadline, "it did not happen in half a minute"
        time.sleep(0.005)
    return Path(name).read_text()


class Bench:
    """A hook system, and what people are told of it."""

    def __init__(self, hooks: Json, **options: Any) -> None:
        self.told: list[str] = []
        self.records: list[Json] = []
        log = DebugLogger(self.records.append, warn=self.told.append)
        self.hooks = Hooks(
            working_dir=Path.cwd(),
            hooks={event: [{"hooks": of_event}] for event, of_event in hooks.items()},
            debug_logger=log,
            session_id="s-1",
            **options,
        )
        system = self.hooks.config.get_hook_system()
        assert system is not None
        self.system = system

    def use(self) -> Answer:
        """Fire BeforeTool."""
        return self.hooks.sync.before_tool("write", {"path": "a"})

    def wait(self) -> None:
        assert self.system.wait_for_background(30)


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(hooks: Json, **options: Any) -> Bench:
        made.append(Bench(hooks, **options))
        return made[-1]

    yield make
    for each in made:
        each.hooks.close()


Make = Callable[..., Bench]


def test_an_event_does_not_wait_for_an_async_hook(bench: Make) -> None:
    late = adding("linted", first=WAITS)
    used = bench({"BeforeTool": [late, answering('{"decision": "ask"}', name="guard")]})
    answer = used.use()
    started, guard = answer.results
    assert (started.started, started.success, started.output) == (True, True, None)
    assert (guard.started, answer.asks, answer.all_outputs) == (False, True, [{"decision": "ask"}])
    assert not used.system.wait_for_background(0)
    Path("go").touch()
    used.wait()
    assert used.hooks.sync.before_agent("hi").context == "linted"


async def test_nor_does_one_on_a_loop_of_asyncio(bench: Make) -> None:
    used = bench({"BeforeTool": [adding("linted", first=WAITS)]})
    answer = await used.hooks.before_tool("write", {})
    assert answer.results[0].started
    Path("go").touch()
    await asyncio.to_thread(used.wait)
    assert (await used.hooks.before_agent("hi")).context == "linted"
    assert (await used.hooks.before_agent("hi")).context is None


@pytest.mark.parametrize(
    "fields",
    [
        {"decision": "deny", "reason": "no"},
        {"decision": "ask"},
        {"continue": False, "stopReason": "no"},
        {"hookSpecificOutput": {"tool_input": {"path": "b"}}},
    ],
    ids=["deny", "ask", "stop", "rewrite"],
)
def test_what_an_async_hook_decides_is_ignored_and_people_are_told(
    bench: Make, fields: Json
) -> None:
    used = bench({"BeforeTool": [command(say(**fields), **ASYNC)]})
    answer = used.use()
    used.wait()
    assert (answer.decision, answer.tool_input) == ("allow", {"path": "a"})
    (told,) = used.told
    assert "was ignored: nobody waits for an async hook" in told
    assert used.hooks.sync.before_agent("hi").decision == "allow"


def test_exit_2_of_an_async_hook_blocks_nothing(bench: Make) -> None:
    used = bench({"BeforeTool": [command("echo no >&2; exit 2", **ASYNC)]})
    assert used.use().decision == "allow"
    used.wait()
    assert "decision 'deny' (no) was ignored" in used.told[0]


def test_an_answer_that_asks_at_run_time_to_be_async_is_waited_for(bench: Make) -> None:
    used = bench({"BeforeTool": [command(say(decision="deny", **ASYNC))]})
    assert used.use().denied


def test_texts_wait_for_the_next_turn_of_their_own_session(bench: Make) -> None:
    used = bench({"AfterTool": [adding("linted", systemMessage="Linted.")]})
    used.hooks.session("a").sync.after_tool("write", {}, "done")
    used.wait()
    other, own = used.hooks.session("b").sync, used.hooks.session("a").sync
    assert other.before_agent("hi").final_output is None
    answer = own.before_agent("hi")
    assert (answer.context, answer.system_message) == ("linted", "Linted.")
    # The user alone is told the message.
    assert answer.texts_for_model == ["linted"]
    assert own.before_agent("hi").final_output is None


def test_late_texts_are_one_more_answer_beside_those_of_hooks(bench: Make) -> None:
    early = answering('{"hookSpecificOutput": {"additionalContext": "early"}}')
    used = bench({"BeforeTool": [adding("late")], "BeforeAgent": [early]})
    used.use()
    used.wait()
    answer = used.hooks.sync.before_agent("hi")
    assert (answer.context, len(answer.all_outputs), len(answer.results)) == ("early\nlate", 2, 1)


def test_a_prompt_that_is_refused_leaves_late_texts_to_the_next(bench: Make) -> None:
    refuse = command("[ -e go ] || exit 2")
    used = bench({"BeforeTool": [adding("late")], "BeforeAgent": [refuse]})
    used.use()
    used.wait()
    assert used.hooks.sync.before_agent("hi").context is None
    Path("go").touch()
    assert used.hooks.sync.before_agent("hi").context == "late"


def test_an_adapter_is_told_not_to_skip_the_event_that_texts_wait_for() -> None:
    config = Config(hooks={"AfterTool": [{"hooks": [adding("late")]}]}, session_id="s-1")
    hooks, before = Hooks.of(config), HookEventName.BEFORE_AGENT
    with hooks:
        assert hooks.may_skip(before)
        hooks.sync.after_tool("write", {}, "done")
        system = config.get_hook_system()
        assert system is not None
        assert system.wait_for_background(30)
        assert (hooks.may_skip(before), hooks.may_answer(before)) == (False, True)
        assert hooks.may_skip(HookEventName.AFTER_AGENT)
        assert hooks.sync.before_agent("hi").context == "late"
        assert hooks.may_skip(before)


async def test_a_worker_on_a_bus_gives_late_texts_to_the_caller_of_the_session(
    bench: Make,
) -> None:
    bus = InProcessMessageBus()
    worker = bench({"BeforeTool": [adding("late")]}, message_bus=bus)
    caller = Hooks(remote_bus=bus, session_id="caller")
    answer = await caller.before_tool("write", {})
    assert (answer.decision, answer.failures) == ("allow", ())
    await asyncio.to_thread(worker.wait)
    assert (await caller.session("other").before_agent("hi")).context is None
    assert (await caller.before_agent("hi")).context == "late"


def test_suppressed_and_empty_messages_are_not_kept(bench: Make) -> None:
    hooks = [
        command(say(systemMessage="psst", suppressOutput=True), name="a", **ASYNC),
        command("cat >/dev/null", name="b", **ASYNC),
    ]
    used = bench({"BeforeTool": hooks})
    used.use()
    used.wait()
    assert used.hooks.sync.before_agent("hi").final_output is None


def test_an_async_hook_reads_what_the_event_was_though_the_caller_goes_on(bench: Make) -> None:
    used = bench({"BeforeTool": [command(f"{WAITS}cat > seen", **ASYNC)]})
    given = {"path": "a"}
    used.hooks.sync.before_tool("write", given)
    given["path"] = "changed"
    Path("go").touch()
    used.wait()
    assert json.loads(Path("seen").read_text())["tool_input"] == {"path": "a"}


def test_a_hook_among_several_in_turn_reads_what_those_before_it_made() -> None:
    rewrite = answering('{"hookSpecificOutput": {"tool_input": {"path": "b"}}}', name="first")
    see = command("cat > seen", name="second", **ASYNC)
    config = Config(hooks={"BeforeTool": [{"sequential": True, "hooks": [rewrite, see]}]})
    with Hooks.of(config) as hooks:
        assert hooks.sync.before_tool("write", {"path": "a"}).tool_input == {"path": "b"}
        system = config.get_hook_system()
        assert system is not None
        assert system.wait_for_background(30)
    assert json.loads(Path("seen").read_text())["tool_input"] == {"path": "b"}


def test_one_more_than_may_run_at_once_is_a_failure_and_never_starts(bench: Make) -> None:
    hooks = [command(f"touch ran-{n}; {WAITS}", name=f"h{n}") for n in range(MOST_AT_ONCE + 1)]
    used = bench({"BeforeTool": [{**hook, "async": True} for hook in hooks]})
    answer = used.use()
    assert [result.started for result in answer.results] == [True] * MOST_AT_ONCE + [False]
    last = answer.results[-1]
    assert (last.failed, answer.decision, len(used.told)) == ("spawn", "allow", 1)
    assert f"{MOST_AT_ONCE} async hooks are running" in used.told[0]
    Path("go").touch()
    used.wait()
    assert not Path(f"ran-{MOST_AT_ONCE}").exists()
    # There is room again.
    assert used.use().results[0].started
    used.wait()


def test_an_async_hook_that_runs_too_long_is_killed_and_told(bench: Make) -> None:
    hook = command("trap '' TERM; while :; do sleep 0.02; done", timeout=50, **ASYNC)
    used = bench({"BeforeTool": [hook]}, limits=RunLimits(kill_grace=0.05))
    ended: list[Any] = []
    used.system.engine.follow_background(ended)
    used.use()
    used.wait()
    assert [result.failed for result in ended] == ["timeout"]
    assert "ran longer than its timeout of 50 ms" in used.told[0]


def test_closing_ends_async_hooks_with_all_that_they_started(bench: Make) -> None:
    with_child = f"bash -c {shlex.quote(HANGS)} & wait"
    used = bench({"BeforeTool": [command(with_child, **ASYNC)]})
    used.use()
    pid = int(appears("pid"))
    started = time.monotonic()
    used.hooks.close()
    assert time.monotonic() - started < 1 + SLACK
    assert not is_running(pid)
    assert "was stopped because the hooks were closed" in used.told[0]
    refused = used.use().results[0]
    assert (refused.failed, refused.started) == ("spawn", False)
    used.hooks.close()


def test_a_program_that_ends_takes_its_async_hooks_with_it() -> None:
    program = (
        "import sys, os, time\nfrom hookline import Hooks\n"
        "hook = {'type': 'command', 'command': sys.argv[1], 'async': True}\n"
        "hooks = Hooks(hooks={'BeforeTool': [{'hooks': [hook]}]})\n"
        "hooks.sync.before_tool('t', {})\n"
        "while not os.path.exists('pid'): time.sleep(0.01)\n"
    )
    for ending in ("", "os.kill(os.getpid(), 9)"):
        Path("pid").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", program + ending, HANGS],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert done.returncode == (-signal.SIGKILL if ending else 0), done.stderr
        assert ("was stopped" in done.stderr) == (not ending)
        pid = int(Path("pid").read_text())
        deadline = time.monotonic() + 30
        while is_running(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_running(pid)


def test_a_system_that_nobody_remembers_is_collected_while_its_async_hook_runs() -> None:
    system = HookSystem(
        Config(hooks={"BeforeTool": [{"hooks": [adding("late", first=WAITS)]}]}),
        debug_logger=DebugLogger(warn=lambda _text: None),
    )
    system.fire_blocking("BeforeTool", {"tool_name": "t", "tool_input": {}})
    gone = weakref.ref(system)
    thread = next(t for t in threading.enumerate() if t.name == "hookline async")
    del system
    gc.collect()
    assert gone() is None
    assert thread.is_alive()
    Path("go").touch()
    thread.join(30)
    assert not thread.is_alive()


def test_the_thread_ends_when_nothing_runs_and_another_begins_with_the_next(
    bench: Make,
) -> None:
    used = bench({"BeforeTool": [command("cat >/dev/null", **ASYNC)]})
    for _ in range(3):
        used.use()
        threads = [t for t in threading.enumerate() if t.name == "hookline async"]
        used.wait()
        for thread in threads:
            thread.join(30)
    assert not [t for t in threading.enumerate() if t.name == "hookline async"]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_of_the_program_has_async_hooks_of_its_own(bench: Make) -> None:
    used = bench({"BeforeTool": [command(f"{WAITS}echo $PPID >> ended", **ASYNC)]})
    used.use()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            if used.system.wait_for_background(0):
                Path("go").touch()
                used.use()
                status = 0 if used.system.wait_for_background(30) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    used.wait()
    assert len(Path("ended").read_text().split()) == 2


async def test_an_async_hook_outlasts_the_event_that_was_cancelled(bench: Make) -> None:
    slow = command("touch began; while :; do sleep 0.02; done", name="slow")
    used = bench({"BeforeTool": [adding("late", first=WAITS), slow]})
    firing = asyncio.create_task(used.hooks.before_tool("write", {}))
    await asyncio.to_thread(appears, "began")
    firing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await firing
    Path("go").touch()
    await asyncio.to_thread(used.wait)
    assert used.hooks.sync.before_agent("hi").context == "late"


DENIES: Json = command(say(decision="deny", reason="no"), name="guard", **ASYNC)


@pytest.mark.parametrize(
    ("hook", "options"),
    [
        ({**DENIES, "onFailure": "block"}, {}),
        (DENIES, {"strict": True}),
        (DENIES, {"required": ["guard"]}),
        (DENIES, {"user_hooks": {"BeforeTool": [{"hooks": [{**DENIES, "async": False}]}]}}),
    ],
    ids=["fails closed", "strict", "required", "waited for in another layer"],
)
def test_a_hook_that_must_answer_is_waited_for(bench: Make, hook: Json, options: Json) -> None:
    used = bench({"BeforeTool": [hook]}, **options)
    answer = used.use()
    assert (answer.denied, answer.results[0].started) == (True, False)


@pytest.mark.parametrize(
    ("hook", "required", "message"),
    [
        ({**DENIES, "onFailure": "block"}, [], "nobody would wait for its answer"),
        (DENIES, ["guard"], "async is not for a hook that is required"),
    ],
)
def test_async_on_a_hook_that_must_answer_is_an_error_of_the_settings(
    hook: Json, required: list[str], message: str
) -> None:
    config = Config(hooks={"BeforeTool": [{"hooks": [hook]}]}, required=required)
    (problem,) = config.get_settings().problems
    assert message in problem.text
    assert "the hook is waited for" in problem.text


async def test_a_worker_whose_hook_is_async_has_not_what_a_caller_requires(bench: Make) -> None:
    bus = InProcessMessageBus()
    bench({"BeforeTool": [DENIES]}, message_bus=bus)
    caller = Hooks(remote_bus=bus, required=["guard"])
    answer = await caller.before_tool("write", {})
    assert answer.denied
    assert "it is async, so nobody waits for its answer" in str(answer.reason)


def test_an_async_hook_that_is_not_trusted_is_not_started(bench: Make) -> None:
    trusted = [True]
    used = bench({"BeforeTool": [command("touch ran", **ASYNC)]}, trusted=lambda: trusted[0])
    used.system.initialize_blocking()
    trusted.clear()
    trusted.append(False)
    assert used.use().results[0].failed == "untrusted"
    used.wait()
    assert not Path("ran").exists()


@pytest.mark.parametrize("number", range(1, 25))
def test_whatever_the_system_refuses_an_async_hook_is_a_failure_that_is_told(
    bench: Make, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    faults = Faults(monkeypatch)
    used = bench({"BeforeTool": [adding("late")]})
    ended: list[Any] = []
    used.system.engine.follow_background(ended)
    with faults.at(number):
        answer = used.use()
        used.wait()
    results = [result for result in (*answer.results, *ended) if not result.started]
    assert len(results) <= 1
    if faults.failed is None:
        assert [result.success for result in results] == [True]
    elif not answer.errors or answer.errors[0].hook:
        assert len(results) == 1
        assert results[0].success or used.told


def test_a_started_hook_and_its_end_are_records_of_their_own(bench: Make) -> None:
    used = bench({"BeforeTool": [adding("late", decision="deny")]})
    used.use()
    used.wait()
    began = [r for r in used.records if r["kind"] == "hook" and "started" in r]
    ended = [r for r in used.records if r.get("async")]
    assert [(r["hook"], r["output"], r["duration_ms"]) for r in began] == [("h", None, 0)]
    assert {r["kind"] for r in ended} == {"warning", "hook", "batch"}
    assert {(r["event"], r["target"], r["session_id"]) for r in ended} == {
        ("BeforeTool", "write", "s-1")
    }
    assert {r["id"] for r in ended}.isdisjoint({r["id"] for r in began})
