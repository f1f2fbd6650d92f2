"""Runs a command hook: a contained process that reads the event and answers by code and stdout."""

import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hookline._support.places import home_dir
from hookline.dialects import DIALECTS, HookAnswer, is_read_strictly
from hookline.dialects.stdout import read_whole_object, trim
from hookline.runner.context import InputDocument, RunContext, failed_result
from hookline.runner.guard import Guardian
from hookline.runner.invocation import (
    Environment,
    Executable,
    choose_program,
    make_environment,
    make_shell_argv,
    reviewed_program,
)
from hookline.runner.process import (
    Child,
    ProcessLimits,
    ProcessOutcome,
    make_spawn_failure,
    supervise,
)
from hookline.runner.spawning import SpawnError, spawn
from hookline.shell.programs import (
    find_user_config,
    hook_variables,
    own_variables,
    resolve_in_command,
)
from hookline.wire.hooks import CommandHook
from hookline.wire.outputs import create_hook_output
from hookline.wire.results import FailedKind, HookExecutionResult

# Loaded with the first warm hook.
if TYPE_CHECKING:
    from hookline.runner.warm.pool import WarmPool

# Seconds after its exit in which the stdout of a hook must end, if it fails closed and if not.
_GUARD_DRAIN = 5.0
_DRAIN = 0.5
_HELD = "a background process holds stdout; redirect it"


class CommandRunner:
    """Runs command hooks, and owns the processes that are kept from call to call."""

    def __init__(self, *, warn: Callable[[str], None]) -> None:
        self._guard = Guardian(warn)
        self._pool: WarmPool | None = None
        self._pool_lock = threading.Lock()
        self._told: set[tuple[str, str]] = set()
        self._folders: set[str] = set()
        self._is_disposed = False

    def run(
        self, hook: CommandHook, document: InputDocument, context: RunContext
    ) -> Coroutine[Any, Any, HookExecutionResult]:
        """Start the process, feed it the input, and read its answer in the hook's dialect."""
        if hook.dialect == "native":
            return self._run_process(hook, document, context, _Start.of(hook, document, context))
        return self._run_in_dialect(hook, document, context)

    async def _run_in_dialect(
        self, hook: CommandHook, document: InputDocument, context: RunContext
    ) -> HookExecutionResult:
        """Run a hook with the variables, directory and files that its dialect adds."""
        if unknown := find_user_config(hook):
            error = f"{unknown} in its command has no value here; write the value in its place"
            return failed_result(hook, document, "spawn", error)
        warnings = [*_make_folder(hook.plugin_data, "the plugin's data folder")]
        dialect = DIALECTS[hook.dialect]
        variables = dialect.variables(context.session_id)
        hidden = tuple((name, None) for name, value in variables.items() if value is None)
        in_dialect = {name: value for name, value in variables.items() if value is not None}
        places = (context.cwd, context.project_dir, home_dir() or "/")
        cwd = next(filter(os.path.isdir, places), context.cwd)
        if cwd != context.cwd:
            warnings += self._tell_once(f"{context.cwd!r} does not exist, so hooks run in {cwd!r}")
        inherited = (*hidden, *context.inherited)
        context = msgspec.structs.replace(context, cwd=cwd, inherited=inherited)
        # No caller waits for what a hook in the background exports.
        if hook.background or document.event.value not in dialect.env_file_events:
            start = _Start.of(hook, document, context, in_dialect)
            return _add_to_result(await self._run_process(hook, document, context, start), warnings)
        from hookline.runner.envfile import EnvFile

        with EnvFile(dialect.env_file) as file:
            start = _Start.of(hook, document, context, {**in_dialect, **file.variables})
            result = await self._run_process(hook, document, context, start)
            # Only a hook that exited by itself has written the whole file.
            exports = {} if result.exit_code is None else file.read(start.env)
        return _add_to_result(result, [*warnings, *file.warnings], exports)

    async def _run_process(
        self, hook: CommandHook, document: InputDocument, context: RunContext, start: "_Start"
    ) -> HookExecutionResult:
        started, cwd = start.at, context.cwd
        variables, own, env = start.variables, start.own, start.env
        stdin = document.encoded(hook.dialect)
        is_guard = hook.on_failure == "block"
        limits = ProcessLimits(
            timeout=hook.timeout / 1000,
            grace=context.limits.kill_grace,
            max_stdout=context.limits.max_stdout,
            max_stderr=context.limits.max_stderr,
            drain=_GUARD_DRAIN if is_guard else _DRAIN,
            drain_in_time=is_guard,
        )
        warnings = _describe_left_out(env.left_out)
        if context.hook_state is not None and context.hook_state not in self._folders:
            self._folders.add(context.hook_state)
            warnings += _make_folder(context.hook_state, "the folder for what hooks write")
        if env.taken_out:
            names = ", ".join(env.taken_out)
            warnings += self._tell_once(f"reviewed hooks do not get what could load code: {names}")
        child: Child | None = None
        cold = None
        try:
            values = {**variables, **own} if own else variables
            if env.left_out:
                values = {name: values[name] for name in values if name not in env.left_out}
            places = {"cwd": cwd, "project_dir": start.project_dir}
            if hook.start is not None and hook.start.argv:
                program: Executable | None = reviewed_program(hook.start, cwd=cwd, env=env)
            else:
                program = choose_program(hook, values, **places, env=env)
            if hook.warm and context.warm and not self._is_disposed:
                child, cold = await self._start_warm(program, cwd, started + limits.timeout)
            if child is None and program is not None:
                try:
                    child = spawn(program.argv, program=program.file, cwd=cwd, env=program.env)
                except SpawnError:
                    # A shell reports what is wrong, with the exit code for it.
                    if hook.args is not None or (hook.start is not None and hook.start.argv):
                        raise
            if child is None:
                command = resolve_in_command(hook.command, values, hook, **places)
                argv = make_shell_argv(
                    command, {**variables, **own}, os.environ.get("PATH"), start.project_dir
                )
                if hook.dialect != "native" and os.path.basename(argv[0]) != "bash":
                    why = "there is no bash on the PATH; install it"
                    warnings += self._tell_once(f"{argv[0]} runs commands written for bash: {why}")
                child = spawn(argv, cwd=cwd, env=env)
            outcome = await supervise(
                child,
                stdin=stdin,
                limits=limits,
                started=started,
                called=hook.command,
                guardian=self._guard,
                is_final=partial(_is_final, hook, document),
            )
        except SpawnError as error:
            outcome = make_spawn_failure(str(error), started)
        if cold is not None:
            warnings += self._tell_once(f"cannot start warm, running cold: {cold}", of=hook.name)
        return _read_outcome(hook, document, limits, outcome, warnings)

    def end_warm(self) -> None:
        """End the processes that wait for the next call; it starts new ones."""
        with self._pool_lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.dispose()

    def dispose(self) -> None:
        """End the processes kept from call to call, at the latest with the last running hook."""
        with self._pool_lock:
            self._is_disposed = True
            pool = self._pool
        if pool is not None:
            pool.dispose()
        self._guard.close()

    def _tell_once(self, text: str, *, of: str = "") -> tuple[str, ...]:
        """Return a warning about one hook or all of them, unless it was given before."""
        if (of, text) in self._told:
            return ()
        self._told.add((of, text))
        return (text,)

    async def _start_warm(
        self, program: Executable | None, cwd: str, deadline: float
    ) -> tuple[Child | None, str | None]:
        """Return a warm process; or None, and the reason if something is wrong."""
        from hookline.runner.warm.pool import ColdStart, WarmPool
        from hookline.runner.warm.script import python_script

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
            # No process can be given such text; the cold start says which.
            return None, None


class _Start(msgspec.Struct, frozen=True):
    """When a hook was started, the project it belongs to, and its variables: the event's, its own,
    and all of them."""

    at: float
    project_dir: str
    variables: dict[str, str]
    own: Mapping[str, str]
    env: Environment

    @classmethod
    def of(
        cls,
        hook: CommandHook,
        document: InputDocument,
        context: RunContext,
        in_dialect: Mapping[str, str] | None = None,
    ) -> "_Start":
        """Start the clock and make the variables. ``in_dialect`` are those that only hooks of its
        dialect have; such hooks also have the shared ones of the settings."""
        started = time.monotonic()
        project_dir = context.project_dir if hook.start is None else hook.start.project
        variables = hook_variables(
            project_dir=project_dir,
            cwd=context.cwd,
            session_id=context.session_id,
            event=document.event.value,
            hook=hook,
            hook_state=context.hook_state,
        )
        shared: Mapping[str, str] = {}
        if in_dialect is not None:
            variables |= in_dialect
            shared = context.shared_env
        own = own_variables(hook, variables)
        env = make_environment(
            context.redaction, variables, own, context.inherited, shared, hook.start
        )
        return cls(started, project_dir, variables, own, env)


def _make_folder(place: str | None, what: str) -> tuple[str, ...]:
    """Make a folder that hooks may write to; return a warning if that fails."""
    if place is None:
        return ()
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
    except (OSError, ValueError) as error:
        return (f"cannot create {what}: {error}",)
    return ()


def _add_to_result(
    result: HookExecutionResult, warnings: Sequence[str], exports: Mapping[str, str] = {}
) -> HookExecutionResult:
    """Add warnings to a result, and what the hook exports to its answer."""
    output = result.output
    if exports:
        answer = output or {}
        specific = answer.get("hookSpecificOutput")
        specific = specific if isinstance(specific, dict) else {}
        own = specific.get("exports")
        exports = {**(own if isinstance(own, dict) else {}), **exports}
        output = {**answer, "hookSpecificOutput": {**specific, "exports": exports}}
    if not (exports or warnings):
        return result
    return msgspec.structs.replace(result, output=output, warnings=(*warnings, *result.warnings))


def _read_outcome(
    hook: CommandHook,
    document: InputDocument,
    limits: ProcessLimits,
    outcome: ProcessOutcome,
    warnings: tuple[str, ...],
) -> HookExecutionResult:
    stdout = outcome.stdout.decode("utf-8", "replace")
    stderr = outcome.stderr.decode("utf-8", "replace")
    message = trim(stderr)
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
        failure = "signal", f"was killed by {killed_by}{f': {message}' if message else ''}"
    elif outcome.exit_code is None:
        failure = "error", outcome.error or "hookline did not see it end"
    if failure is not None:
        exit_code = None
        answer = HookAnswer(success=False, failed=failure[0], error=failure[1])
    else:
        assert outcome.exit_code is not None
        exit_code = outcome.exit_code
        answer = _read_answer(hook, document, exit_code, trim(stdout), message)
        is_cut = exit_code == 0 and not outcome.is_whole
        if is_cut and hook.on_failure == "block" and not _holds_back(document, answer):
            answer = HookAnswer(success=False, failed="timeout", error=_HELD)
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


def _read_answer(
    hook: CommandHook, document: InputDocument, exit_code: int, stdout: str, stderr: str
) -> HookAnswer:
    dialect, strict = DIALECTS[hook.dialect], is_read_strictly(hook)
    return dialect.read_answer(document, hook.name, exit_code, stdout, stderr, strict=strict)


def _is_final(hook: CommandHook, document: InputDocument, stdout: bytes, *, at_exit: bool) -> bool:
    """True if a hook that exited with 0 has answered although its stdout is still open: with one
    whole object that blocks or stops, because nothing that follows can weaken it; at the exit of a
    hook that fails open, with any whole object."""
    text = trim(stdout.decode("utf-8", "replace"))
    if not text.startswith("{") or isinstance(read_whole_object(text), str):
        return False
    if at_exit and hook.on_failure != "block":
        return True
    return _holds_back(document, _read_answer(hook, document, 0, text, ""))


def _holds_back(document: InputDocument, answer: HookAnswer) -> bool:
    output = create_hook_output(document.event, answer.output or {})
    return output.is_blocking_decision() or output.should_stop_execution()


def _describe_left_out(left_out: Mapping[str, str]) -> tuple[str, ...]:
    """Return a warning for each cause, with the names of the variables."""
    by_cause: dict[str, list[str]] = {}
    for name, why in left_out.items():
        by_cause.setdefault(why, []).append(name)
    return tuple(
        f"variables left out of its environment: {', '.join(names)}; the value {why}"
        for why, names in by_cause.items()
    )
