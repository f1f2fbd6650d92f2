"""Runs a command hook: a contained process that reads the event and whose exit code decides."""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from hookline.pipeline.dialects import HookAnswer, dialect_of
from hookline.pipeline.programs import hook_variables
from hookline.pipeline.runner.context import InputDocument, RunContext
from hookline.pipeline.runner.guard import Guard
from hookline.pipeline.runner.invocation import (
    Environment,
    Program,
    environment_of,
    program_of,
    shell_argv,
)
from hookline.pipeline.runner.process import (
    Child,
    ProcessLimits,
    ProcessOutcome,
    not_started,
    supervise,
)
from hookline.pipeline.runner.spawning import Spawned, SpawnError, spawn
from hookline.wire.hooks import CommandHook
from hookline.wire.results import FailedKind, HookExecutionResult

# Loaded with the first hook that is to be warm.
if TYPE_CHECKING:
    from hookline.pipeline.runner.warm.pool import WarmPool


class CommandRunner:
    """Runs command hooks, and owns what serves them from call to call."""

    def __init__(self, *, warn: Callable[[str], None]) -> None:
        self._guard = Guard(warn)
        self._pool: WarmPool | None = None
        self._pool_lock = threading.Lock()
        self._told: set[tuple[str, str]] = set()
        self._is_disposed = False

    async def run(
        self, hook: CommandHook, document: InputDocument, context: RunContext
    ) -> HookExecutionResult:
        """Start the process, feed it the input, and read its answer in the hook's dialect."""
        started = time.monotonic()
        stdin = document.encoded(hook.dialect)
        limits = ProcessLimits(
            timeout=hook.timeout / 1000,
            grace=context.limits.kill_grace,
            max_stdout=context.limits.max_stdout,
            max_stderr=context.limits.max_stderr,
        )
        child, cold = None, None
        try:
            call = _call_of(hook, document, context)
            if hook.warm and context.warm and not self._is_disposed:
                child, cold = await self._start_warm(call, started + limits.timeout)
            outcome = await supervise(
                child or _spawn(call),
                stdin=stdin,
                limits=limits,
                started=started,
                called=hook.command,
                guard=self._guard,
            )
        except SpawnError as error:
            outcome = not_started(str(error), started)
        warnings: tuple[str, ...] = ()
        if cold is not None and (hook.name, cold) not in self._told:
            self._told.add((hook.name, cold))
            warnings = (f"cannot start warm, running cold: {cold}",)
        return _result(hook, document, limits, outcome, warnings)

    def dispose(self) -> None:
        """End what serves hooks from call to call, at the latest with the last of them."""
        with self._pool_lock:
            self._is_disposed = True
            pool = self._pool
        if pool is not None:
            pool.dispose()
        self._guard.close()

    async def _start_warm(self, call: "_Call", deadline: float) -> tuple[Child | None, str | None]:
        """A process that was waiting for this; or None, and what is wrong if anything is."""
        from hookline.pipeline.runner.warm.pool import ColdStart, WarmPool
        from hookline.pipeline.runner.warm.script import python_script, why_cold

        program = call.program
        if program is None:
            return None, "its command needs a shell"
        try:
            script = python_script(program.argv, program=program.file, cwd=call.cwd)
            if script is None:
                return None, why_cold(program.argv, program=program.file, cwd=call.cwd)
            with self._pool_lock:
                if self._is_disposed:
                    return None, None
                pool = self._pool = self._pool or WarmPool()
            child = await pool.start(script, cwd=call.cwd, env=program.env, deadline=deadline)
        except ColdStart as cold:
            return None, cold.reason
        except ValueError:
            # No process can have such texts; to start one says which.
            return None, None
        return child, None


class _Call(msgspec.Struct, frozen=True):
    """What is to be started: a program, or where that is not enough a command for the shell."""

    cwd: str
    env: Environment
    program: Program | None
    command: str | None
    values: Mapping[str, str]


def _call_of(hook: CommandHook, document: InputDocument, context: RunContext) -> _Call:
    variables = hook_variables(
        project_dir=context.project_dir,
        cwd=context.cwd,
        session_id=context.session_id,
        event=document.event.value,
    )
    env = environment_of(context.redaction, variables, hook.env)
    values = {**variables, **hook.env} if hook.env else variables
    program = program_of(hook, values, cwd=context.cwd, env=env)
    command = hook.command if hook.args is None else None
    return _Call(context.cwd, env, program, command, values)


def _spawn(call: _Call) -> Spawned:
    program = call.program
    if program is not None:
        try:
            return spawn(program.argv, program=program.file, cwd=call.cwd, env=program.env)
        except SpawnError:
            # A shell will have something to say about it, and the exit code for it.
            if call.command is None:
                raise
    assert call.command is not None
    argv = shell_argv(call.command, call.values, os.environ.get("PATH"))
    return spawn(argv, cwd=call.cwd, env=call.env)


def _result(
    hook: CommandHook,
    document: InputDocument,
    limits: ProcessLimits,
    outcome: ProcessOutcome,
    warnings: tuple[str, ...],
) -> HookExecutionResult:
    stdout = outcome.stdout.decode("utf-8", "replace")
    stderr = outcome.stderr.decode("utf-8", "replace")
    said, log = _trimmed(stdout), _trimmed(stderr)
    exit_code = outcome.exit_code if outcome.ended == "exit" else None
    if exit_code is not None:
        dialect = dialect_of(hook.dialect)
        answer = dialect.read_answer(
            document.event, hook.name, exit_code, said, log, strict=hook.on_failure == "block"
        )
    else:
        failed, error = _failure(hook, limits, outcome, log)
        answer = HookAnswer(success=False, failed=failed, error=error)
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=answer.success,
        output=answer.output,
        output_format=answer.output_format,
        stdout=stdout,
        stderr=stderr,
        exit_code=exit_code,
        signal=_signal_name(outcome.signal),
        failed=answer.failed,
        error=answer.error,
        duration=outcome.duration * 1000,
        warnings=(*warnings, *answer.warnings),
    )


def _failure(
    hook: CommandHook, limits: ProcessLimits, outcome: ProcessOutcome, log: str
) -> tuple[FailedKind, str]:
    """What kept a process from ending by itself with an exit code."""
    if outcome.ended == "timeout":
        return "timeout", f"ran longer than its timeout of {hook.timeout:g} ms and was stopped"
    if outcome.ended == "output_limit":
        printed = f"printed more than {limits.max_stdout} bytes on stdout and was stopped"
        return "output_limit", printed
    if outcome.ended == "spawn":
        return "spawn", outcome.error or "could not be started"
    if outcome.signal is not None:
        killed = f"was killed by {_signal_name(outcome.signal)}"
        return "signal", f"{killed}: {log}" if log else killed
    return "error", outcome.error or "its end was not seen"


def _trimmed(text: str) -> str:
    return text.strip().strip("\ufeff").strip()


def _signal_name(number: int | None) -> str | None:
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
