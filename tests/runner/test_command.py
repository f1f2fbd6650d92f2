"""A command hook from its stdin to its result."""

import json
import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

from hookline.pipeline.aggregator import HookAggregator
from hookline.runner.command import CommandRunner
from hookline.runner.context import InputDocument, RunLimits
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookConfig, HookSource, Redaction
from hookline.wire.results import HookExecutionPlan
from tests.eleven import Json
from tests.runner.contained import time_begins_with, time_jumps_with
from tests.runner.planned import TOOL, function, rules, run, run_one, script


def saying(*texts: str, code: int = 0) -> str:
    """A command that prints one text on stdout, another on stderr."""
    out, err = (*texts, "")[:2]
    said = f"printf %s {shlex.quote(out)}; printf %s {shlex.quote(err)} >&2"
    return f"cat >/dev/null; {said}; exit {code}"


@pytest.mark.requirement("INV-6")
async def test_a_hook_reads_one_json_document_and_then_the_end(tmp_path: Path) -> None:
    payload: Json = {"tool_name": "é😀", "tool_input": {"text": 'a "b"\n\ud800'}}
    await run_one(script(f"cat > {tmp_path}/read; echo end >> {tmp_path}/read"), payload=payload)
    document, end, rest = (tmp_path / "read").read_bytes().partition(b"end\n")
    assert json.loads(document) == payload
    assert (end, rest) == (b"end\n", b"")


async def test_a_hook_that_does_not_read_its_input_is_fine() -> None:
    payload = {"tool_name": "t", "tool_input": {"text": "x" * 1_000_000}}
    result = await run_one(script("exec <&-; echo '{}'"), payload=payload)
    assert (result.success, result.output) == (True, {})


async def test_an_answer_is_in_the_result_with_what_was_printed() -> None:
    result = await run_one(script(saying('\ufeff \n{"decision": "deny"}\n ', "log")))
    assert result.success
    assert result.output == {"decision": "deny"}
    assert result.output_format == "json"
    assert result.exit_code == 0
    assert (result.signal, result.failed, result.error) == (None, None, None)
    assert result.stderr == "log"


async def test_undecodable_bytes_are_replaced_and_the_answer_still_counts() -> None:
    command = r"""cat >/dev/null; printf '\377\n{"decision":"deny","reason":"\303\251\377"}'"""
    result = await run_one(script(command))
    assert result.output == {"decision": "deny", "reason": "é\ufffd"}
    assert result.stdout.startswith("\ufffd\n")
    assert result.warnings


@pytest.mark.requirement("INV-6")
async def test_exit_2_blocks_and_is_no_failure() -> None:
    result = await run_one(script(saying("chatter", " real reason\n", code=2), name="guard"))
    assert (result.success, result.failed, result.exit_code) == (False, None, 2)
    assert result.output == {"decision": "deny", "reason": "real reason"}
    silent = await run_one(script("exit 2", name="guard"))
    assert silent.output == {"decision": "deny", "reason": "Blocked by hook guard"}


async def test_any_other_exit_is_a_failure_whose_stderr_is_kept() -> None:
    result = await run_one(script(saying('{"decision": "deny"}', "disk is slow", code=7)))
    assert (result.success, result.failed, result.exit_code) == (False, "exit", 7)
    assert result.output is None
    assert result.error == "exited with code 7: disk is slow"
    assert (result.stdout, result.stderr) == ('{"decision": "deny"}', "disk is slow")


async def test_death_by_a_signal_is_a_failure_that_names_it() -> None:
    result = await run_one(script("""echo '{"decision": "allow"}'; echo why >&2; kill -9 $$"""))
    assert (result.success, result.failed, result.output) == (False, "signal", None)
    assert (result.exit_code, result.signal) == (None, "SIGKILL")
    assert result.error == "was killed by SIGKILL: why"


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="every signal has a name here")
async def test_a_signal_without_a_name_is_named_by_its_number() -> None:
    number = signal.SIGRTMIN + 1
    result = await run_one(script(f"kill -{number} $$"))
    assert (result.failed, result.signal) == ("signal", f"signal {number}")


async def test_a_timeout_keeps_what_was_printed_but_does_not_use_it() -> None:
    command = """echo '{"decision": "deny"}'; echo on > begun; exec sleep 60"""
    with time_begins_with("begun"):
        result = await run_one(script(command, timeout=300))
    assert (result.success, result.failed, result.output) == (False, "timeout", None)
    assert result.exit_code is None
    assert result.stdout == '{"decision": "deny"}\n'
    assert "300 ms" in str(result.error)


async def test_more_output_than_the_cap_is_a_failure() -> None:
    limits = RunLimits(kill_grace=0.2, max_stdout=1_000)
    result = await run_one(script("""yes '{"decision": "deny"}'"""), limits=limits)
    assert (result.success, result.failed, result.output) == (False, "output_limit", None)
    assert "more than 1000 bytes" in str(result.error)


@pytest.mark.parametrize(("size", "failed"), [(1_000, None), (1_001, "output_limit")])
async def test_stdout_exactly_as_long_as_the_cap_is_an_answer(
    size: int, failed: str | None
) -> None:
    limits = RunLimits(kill_grace=0.2, max_stdout=1_000)
    answer = """{"decision":"deny","reason":"no"}"""
    result = await run_one(script(f"printf '%-{size}s' '{answer}'"), limits=limits)
    assert (result.failed, len(result.stdout)) == (failed, 1_000)
    assert (result.output is None) == (failed is not None)


async def test_a_hook_has_the_configured_grace_and_its_last_bytes_of_stderr() -> None:
    tidy = "echo on > asked; sleep 0.1; printf 123456 >&2; exit 4"
    command = f"trap '{tidy}' TERM; echo on > begun; sleep 30 & wait"
    with time_begins_with("begun"), time_jumps_with("asked", 100):
        limits = RunLimits(kill_grace=110, max_stderr=5)
        result = await run_one(script(command, timeout=100), limits=limits)
    assert (result.failed, result.signal, result.stderr) == ("timeout", None, "23456")


@pytest.mark.parametrize(
    "hook",
    [
        script("no-such-program", args=()),
        script("x", args=("a\0b",)),
        script("true", env={"A": "\ud800"}),
        script("echo \0"),
    ],
    ids=["missing program", "NUL in an argument", "variable without bytes", "NUL in a command"],
)
async def test_what_cannot_be_started_is_a_failure(hook: HookConfig) -> None:
    result = await run_one(hook)
    assert (result.success, result.failed, result.output) == (False, "spawn", None)
    assert result.error


async def test_a_working_directory_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    result = await run_one(script("true"), cwd=str(tmp_path / "gone"))
    assert result.failed == "spawn"
    assert "gone" in str(result.error)


async def test_with_args_the_program_is_started_without_a_shell(tmp_path: Path) -> None:
    program = "import json, sys; print(json.dumps({'reason': sys.argv[1]}))"
    hook = script(sys.executable, args=("-c", program, "$(touch x) ${HOOKLINE_PROJECT_DIR} *"))
    result = await run_one(hook, cwd=str(tmp_path))
    assert result.output == {"reason": f"$(touch x) {Path.cwd()} *"}
    assert list(tmp_path.glob("x")) == []


async def test_a_hook_has_the_variables_of_its_event_and_its_own(tmp_path: Path) -> None:
    names = "HOOKLINE_EVENT HOOKLINE_SESSION_ID GEMINI_SESSION_ID HOOKLINE_CWD OWN"
    command = f"for n in {names}; do printf '%s;' \"${{!n}}\"; done > seen"
    await run_one(
        script(command, env={"OWN": "mine"}),
        event=HookEventName.AFTER_TOOL,
        cwd=str(tmp_path),
    )
    assert (tmp_path / "seen").read_text() == f"AfterTool;s-1;s-1;{tmp_path};mine;"


async def test_redaction_keeps_variables_from_a_hook_but_not_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    await run_one(
        script("echo $API_TOKEN-$OWN_TOKEN > seen", env={"OWN_TOKEN": "mine"}),
        cwd=str(tmp_path),
        redaction=Redaction(enabled=True),
    )
    assert (tmp_path / "seen").read_text() == "-mine\n"
    assert os.environ["API_TOKEN"] == "secret"


def _raises(_input: Json) -> None:
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("hook", "kind"),
    [
        (script("exit 1", on_failure="block"), "exit"),
        (script("kill -9 $$", on_failure="block"), "signal"),
        (script("exec sleep 60", timeout=100, on_failure="block"), "timeout"),
        (script("nowhere", args=(), on_failure="block"), "spawn"),
        (script("yes", on_failure="block"), "output_limit"),
        (script("true", source=HookSource.PROJECT, on_failure="block"), "untrusted"),
        (function(_raises, on_failure="block"), "error"),
        (script("""echo '{"decision": "allow",}'""", on_failure="block"), "malformed"),
        (script("""echo '{"continue": "false"}'""", on_failure="block"), "malformed"),
        (function(lambda _: {"decison": "deny"}, on_failure="block"), "malformed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_guard_that_fails_closed_blocks_by_failing(hook: HookConfig, kind: str) -> None:
    limits = RunLimits(kill_grace=0.2, max_stdout=1_000)
    results = await run(hook, function(lambda _: None), limits=limits, is_trusted=lambda _: False)
    assert results[0].failed == kind
    plan = HookExecutionPlan(HookEventName.BEFORE_TOOL, (hook,))
    output = HookAggregator().aggregate_results(plan, results).final_output
    assert output is not None
    assert output.is_blocking_decision()
    assert output.reason == f"{hook.name} failed: {results[0].error}"


async def test_the_input_of_one_event_is_the_same_bytes_for_every_command(tmp_path: Path) -> None:
    hooks = [script(f"cat > {tmp_path}/{name}", name=name) for name in "abc"]
    await run(*hooks)
    read = {path.read_bytes() for path in tmp_path.glob("[abc]")}
    assert read == {json.dumps(TOOL, separators=(",", ":")).encode()}


NUL = "contains a NUL character"
NOT_ENCODABLE = "contains a character that cannot be encoded"


@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("command", [f"{sys.executable} x.py", "cat x.py", "cat x.py; true"])
@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"cwd": "/a\0b"}, f"the working directory {NUL}"),
        ({"cwd": "/a\ud800b"}, f"the working directory {NOT_ENCODABLE}"),
        ({"env": {"PATH": "/bin:a\0b"}}, f"the variable 'PATH' {NUL}"),
        ({"env": {"PWD": "/a\0b"}}, f"the variable 'PWD' {NUL}"),
        ({"env": {"PWD": "/\ud800"}}, f"the variable 'PWD' {NOT_ENCODABLE}"),
    ],
)
async def test_text_that_no_process_can_have_is_named(
    where: Json, problem: str, command: str, is_warm: bool
) -> None:
    options = {"cwd": where["cwd"]} if "cwd" in where else {}
    result = await run_one(script(command, warm=is_warm, env=where.get("env", {})), **options)
    assert (result.failed, result.exit_code) == ("spawn", None)
    assert problem in str(result.error)


async def test_a_hook_that_cannot_be_warm_runs_cold_and_says_so_once() -> None:
    runner = CommandRunner(warn=lambda _said: None)
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    first, other = (script("true; true", name=name, warm=True) for name in "ab")
    told = "cannot start warm, running cold: its command needs a shell"
    not_allowed = await runner.run(first, document, rules(warm=False))
    results = [await runner.run(hook, document, rules()) for hook in (first, first, other)]
    runner.dispose()
    results += [not_allowed, await runner.run(first, document, rules())]
    assert [result.exit_code for result in results] == [0] * 5
    assert [result.warnings for result in results] == [(told,), (), (told,), (), ()]
