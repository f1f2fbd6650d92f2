"""Runs a command hook: a contained process that reads the event and whose exit code decides."""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hookline.pipeline.dialects import DIALECTS, HookAnswer
from hookline.pipeline.programs import hook_variables, own_variables, resolve_in_command
from hookline.pipeline.runner.context import InputDocument, RunContext
from hookline.pipeline.runner.guard import Guard
from hookline.pipeline.runner.invocation import (
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
from hookline.pipeline.runner.spawning import SpawnError, spawn
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
        started, cwd = time.monotonic(), context.cwd
        stdin = document.encoded(hook.dialect)
        limits = ProcessLimits(
            timeout=hook.timeout / 1000,
            grace=context.limits.kill_grace,
            max_stdout=context.limits.max_stdout,
            max_stderr=context.limits.max_stderr,
        )
        variables = hook_variables(
            project_dir=context.project_dir,
            cwd=cwd,
            session_id=context.session_id,
            event=document.event.value,
            hook=hook,
        )
        own = own_variables(hook, variables)
        env = environment_of(context.redaction, variables, own, context.inherited)
        child: Child | None = None
        cold = None
        try:
            values = {**variables, **own} if own else variables
            if env.left_out:
                values = {name: values[name] for name in values if name not in env.left_out}
            places = {"cwd": cwd, "project_dir": context.project_dir}
            program = program_of(hook, values, **places, env=env)
            if hook.warm and context.warm and not self._is_disposed:
                child, cold = await self._start_warm(program, cwd, started + limits.timeout)
            if child is None and program is not None:
                try:
                    child = spawn(program.argv, program=program.file, cwd=cwd, env=program.env)
                except SpawnError:
                    # A shell will have something to say about it, and the exit code for it.
                    if hook.args is not None:
                        raise
            if child is None:
                command = resolve_in_command(hook.command, values, hook, **places)
                argv = shell_argv(command, {**variables, **own}, os.environ.get("PATH"))
                child = spawn(argv, cwd=cwd, env=env)
            outcome = await supervise(
                child,
                stdin=stdin,
                limits=limits,
                started=started,
                called=hook.command,
                guardian=self._guard,
            )
        except SpawnError as error:
            outcome = not_started(str(error), started)
        warnings = _describe_left_out(env.left_out)
        if cold is not None and (hook.name, cold) not in self._told:
            self._told.add((hook.name, cold))
            warnings = (*warnings, f"cannot start warm, running cold: {cold}")
        return _result(hook, document, limits, outcome, warnings)

    def dispose(self) -> None:
        """End what serves hooks from call to call, at the latest with the last of them."""
        with self._pool_lock:
            self._is_disposed = True
            pool = self._pool
        if pool is not None:
            pool.dispose()
        self._guard.close()

    async def _start_warm(
        self, program: Program | None, cwd: str, deadline: float
    ) -> tuple[Child | None, str | None]:
        """A process that was waiting for this; or None, and what is wrong if anything is."""
        from hookline.pipeline.runner.warm.pool import ColdStart, WarmPool
        from hookline.pipeline.runner.warm.script import python_script

        if program is None:
            return None, "its command needs a shell"
        try:
            script = python_script(program.argv, program=program.file, cwd=cwd)
            if isinstance(script, str):
                return None, script
            with self._pool_lock:
                if self._is_disposed:
                    return None, None
                pool = self._pool = self._pool or WarmPool()
            return await pool.start(script, cwd=cwd, env=program.env, deadline=deadline), None
        except ColdStart as cold:
            return None, cold.reason
        except ValueError:
            # No process can have such texts; to start one says which.
            return None, None


def _result(
    hook: CommandHook,
    document: InputDocument,
    limits: ProcessLimits,
    outcome: ProcessOutcome,
    warnings: tuple[str, ...],
) -> HookExecutionResult:
    stdout = outcome.stdout.decode("utf-8", "replace")
    stderr = outcome.stderr.decode("utf-8", "replace")
    said = _trimmed(stderr)
    killed_by = None
    if outcome.signal is not None:
        try:
            killed_by = signal.Signals(outcome.signal).name
        except ValueError:
            killed_by = f"signal {outcome.signal}"
    failure: tuple[FailedKind, str] | None = None
    if outcome.ended == "timeout":
        failure = "timeout", f"ran longer than its timeout of {hook.timeout:g} ms and was stopped"
    elif outcome.ended == "output_limit":
        printed = f"printed more than {limits.max_stdout} bytes on stdout and was stopped"
        failure = "output_limit", printed
    elif outcome.ended == "spawn":
        failure = "spawn", outcome.error or "could not be started"
    elif killed_by is not None:
        failure = "signal", f"was killed by {killed_by}{f': {said}' if said else ''}"
    elif outcome.exit_code is None:
        failure = "error", outcome.error or "its end was not seen"
    if failure is not None:
        exit_code = None
        answer = HookAnswer(success=False, failed=failure[0], error=failure[1])
    else:
        assert outcome.exit_code is not None
        exit_code = outcome.exit_code
        answer = DIALECTS[hook.dialect].read_answer(
            document,
            hook.name,
            exit_code,
            _trimmed(stdout),
            said,
            strict=hook.on_failure == "block",
        )
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=answer.success,
        output=answer.output,
        output_format=answer.output_format,
        stdout=stdout,
        stderr=stderr,
        exit_code=exit_code,
        signal=killed_by,
        failed=answer.failed,
        error=answer.error,
        duration=outcome.duration * 1000,
        warnings=(*warnings, *answer.warnings),
    )


def _describe_left_out(left_out: Mapping[str, str]) -> tuple[str, ...]:
    """A warning for each cause, with the names of the variables."""
    by_cause: dict[str, list[str]] = {}
    for name, why in left_out.items():
        by_cause.setdefault(why, []).append(name)
    return tuple(
        f"variables left out of its environment: {', '.join(names)}; the value {why}"
        for why, names in by_cause.items()
    )


def _trimmed(text: str) -> str:
    return text.strip().strip("\ufeff").strip()
