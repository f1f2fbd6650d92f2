"""Runs a command hook: a contained process that reads the event and whose exit code decides."""

import os
import signal

from hookline.pipeline.dialects import dialect_of
from hookline.pipeline.runner.context import RunContext
from hookline.pipeline.runner.document import InputDocument
from hookline.pipeline.runner.environment import hook_environment, hook_variables
from hookline.pipeline.runner.process import ProcessLimits, ProcessOutcome, run_process
from hookline.pipeline.runner.shell import exec_argv, shell_argv
from hookline.wire.hooks import CommandHook, HookConfig
from hookline.wire.results import FailedKind, HookExecutionResult


async def run_command(
    hook: HookConfig, document: InputDocument, context: RunContext
) -> HookExecutionResult:
    """Start the process, feed it the input, and read its answer in the hook's dialect."""
    assert isinstance(hook, CommandHook)
    variables = hook_variables(
        project_dir=context.project_dir,
        cwd=context.cwd,
        session_id=context.session_id,
        event=document.event.value,
    )
    outcome = await run_process(
        _argv(hook, {**variables, **hook.env}),
        stdin=document.encoded(hook.dialect),
        cwd=context.cwd,
        env=hook_environment(os.environ, context.redaction, variables, hook.env),
        limits=ProcessLimits(
            timeout=hook.timeout / 1000,
            grace=context.limits.kill_grace,
            max_stdout=context.limits.max_stdout,
            max_stderr=context.limits.max_stderr,
        ),
    )
    return _result(hook, document, context, outcome)


def _argv(hook: CommandHook, variables: dict[str, str]) -> list[str]:
    if hook.args is not None:
        return exec_argv(hook.command, hook.args, variables)
    return shell_argv(hook.command, variables, os.environ.get("PATH"))


def _result(
    hook: CommandHook, document: InputDocument, context: RunContext, outcome: ProcessOutcome
) -> HookExecutionResult:
    stdout = outcome.stdout.decode("utf-8", "replace")
    stderr = outcome.stderr.decode("utf-8", "replace")
    failure = _failure(hook, context, outcome)
    if failure is not None:
        failed, error = failure
        return HookExecutionResult(
            hook=hook,
            event_name=document.event,
            success=False,
            stdout=stdout,
            stderr=stderr,
            signal=_signal_name(outcome.signal),
            failed=failed,
            error=error,
        )
    assert outcome.exit_code is not None
    answer = dialect_of(hook.dialect).read_answer(
        document.event, hook.name, outcome.exit_code, _trimmed(stdout), _trimmed(stderr)
    )
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=answer.success,
        output=answer.output,
        output_format=answer.output_format,
        stdout=stdout,
        stderr=stderr,
        exit_code=outcome.exit_code,
        failed=answer.failed,
        error=answer.error,
        warnings=answer.warnings,
    )


def _failure(
    hook: CommandHook, context: RunContext, outcome: ProcessOutcome
) -> tuple[FailedKind, str] | None:
    """What kept a process from ending by itself with an exit code."""
    if outcome.ended == "timeout":
        return "timeout", f"ran longer than its timeout of {hook.timeout:g} ms and was stopped"
    if outcome.ended == "output_limit":
        limit = context.limits.max_stdout
        return "output_limit", f"printed more than {limit} bytes on stdout and was stopped"
    if outcome.ended == "spawn":
        return "spawn", outcome.error or "could not be started"
    if outcome.exit_code is None and outcome.signal is None:
        return "error", outcome.error or "its end was not seen"
    if outcome.exit_code is None:
        said = _trimmed(outcome.stderr.decode("utf-8", "replace"))
        killed = f"was killed by {_signal_name(outcome.signal)}"
        return "signal", f"{killed}: {said}" if said else killed
    return None


def _trimmed(text: str) -> str:
    return text.strip().strip("\ufeff").strip()


def _signal_name(number: int | None) -> str | None:
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
