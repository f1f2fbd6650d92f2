"""Runs async hooks, which no caller waits for, on one thread that lasts as long as any of them.

Their answers come too late for their own event: texts wait for the next turn of their session.
"""

import atexit
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from hookline._support.fork import owned_by_process
from hookline._support.notices import warn
from hookline.errors import describe
from hookline.runner.context import InputDocument, RunContext, failed_result
from hookline.runner.loop import Cancelled, PollLoop, RunningTask, Waiter
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionResult

# A hook's result, the input that it read, and what it ran with.
OnEnd: TypeAlias = Callable[[HookExecutionResult, InputDocument, RunContext], None]

MOST_AT_ONCE = 16
# Seconds to wait for all of them to end when they are closed; killing takes one at most.
_END_SECONDS = 5.0
_CLOSED = "the hooks were closed"

_MOST_TEXTS = 20
_LONGEST_TEXT = 64 * 1024
_MOST_SESSIONS = 1_000
# Of all sessions together: a caller on a bus may name as many sessions as it likes.
_MOST_CHARACTERS = 16 * 1024 * 1024


class _Job(msgspec.Struct, frozen=True):
    hook: CommandHook
    document: InputDocument
    context: RunContext


class Background:
    """The async hooks of one system; any thread may start one.

    ``run`` runs a hook, and ``on_end`` is called when it ends, both on the thread of the hooks.
    Neither may refer to the system: the thread keeps both alive.
    """

    def __init__(
        self,
        run: Callable[[CommandHook, InputDocument, RunContext], Awaitable[HookExecutionResult]],
        on_end: OnEnd,
    ) -> None:
        self._run = run
        self._on_end = on_end
        self._is_closed = False
        self.forget()
        owned_by_process.add(self)

    def forget(self) -> None:
        """Start afresh, in a forked child: the hooks and their thread belong to the parent."""
        # Reentrant, as a signal handler may close the hooks in the middle of a start.
        self._lock = threading.RLock()
        self._all_ended = threading.Condition(self._lock)
        self._under_way = 0
        self._new: list[_Job] = []
        self._tasks: set[RunningTask[None]] = set()
        self._thread: threading.Thread | None = None
        self._loop: PollLoop | None = None
        self._bell: Waiter | None = None

    def start(
        self, hook: CommandHook, document: InputDocument, context: RunContext
    ) -> HookExecutionResult:
        """Start a hook; the result says that it was started, or why not."""
        # The caller may change the payload once the event is over.
        encoded = {name: document.encoded(name) for name in {"native", hook.dialect}}
        payload = codec.decode(encoded["native"])
        copy = InputDocument(
            document.event, payload, document.facts, document.tools, document.cut, encoded
        )
        problem = self._add_job(_Job(hook, copy, context))
        if problem is not None:
            return failed_result(hook, document, "spawn", f"was not started: {problem}")
        return HookExecutionResult(hook=hook, event_name=document.event, success=True, started=True)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all have ended; return False if some still run after ``timeout`` seconds."""
        with self._all_ended:
            return self._all_ended.wait_for(lambda: not self._under_way, timeout)

    def close(self) -> None:
        """End those that run, and start no more; waits until they are gone."""
        with self._lock:
            self._is_closed = True
            thread, loop = self._thread, self._loop
            if loop is not None:
                loop.call_soon_threadsafe(self._cancel_all)
        if thread is None or thread is threading.current_thread():
            return
        if not self.wait(_END_SECONDS):
            warn(f"async hooks have not ended within {_END_SECONDS:g} s")

    def _add_job(self, job: _Job) -> str | None:
        """Hand a hook to the thread; return why not if that is impossible."""
        with self._lock:
            if self._is_closed:
                return _CLOSED
            if self._under_way >= MOST_AT_ONCE:
                return f"{MOST_AT_ONCE} async hooks are running; have fewer, or make them shorter"
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._ring)
            elif self._thread is None:
                thread = threading.Thread(
                    target=self._run_thread, name="hookline async", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError as error:
                    return f"cannot start a thread for it ({error})"
                self._thread = thread
                # Hooks must end before the guard, which ends by a finalizer. The first finalizer of
                # the program registers with atexit, and what registers later is called earlier.
                weakref.finalize(self, int).detach()
                atexit.register(self.close)
            self._new.append(job)
            self._under_way += 1
            return None

    def _run_thread(self) -> None:
        try:
            loop = PollLoop()
            loop.run(self._run_jobs(loop))
        except BaseException as error:
            # No descriptors are left for a loop.
            with self._lock:
                jobs = self._new
                self._retire()
                self._under_way = len(jobs)
            for job in jobs:
                why = f"was not started: {describe(error)}"
                self._report_end(job, failed_result(job.hook, job.document, "spawn", why))

    async def _run_jobs(self, loop: PollLoop) -> None:
        """Start new hooks, until none runs."""
        while True:
            with self._lock:
                self._loop = loop
                new, self._new = self._new, []
                if not new and not self._tasks:
                    self._retire()
                    return
                bell = self._bell = loop.create_future()
            for job in new:
                self._tasks.add(loop.start(self._run_job(job)))
            await bell
            self._tasks = {task for task in self._tasks if not task.is_over}

    def _retire(self) -> None:
        """Reset, so that the next hook starts a new thread."""
        self._new, self._tasks = [], set()
        self._thread = self._loop = self._bell = None
        atexit.unregister(self.close)

    async def _run_job(self, job: _Job) -> None:
        hook, document = job.hook, job.document
        stopped = failed_result(hook, document, "error", f"was stopped because {_CLOSED}")
        try:
            result = stopped
            if not self._is_closed:
                result = await self._run(hook, document, job.context)
        except Cancelled:
            result = stopped
        except Exception as error:
            result = failed_result(hook, document, "error", describe(error))
        self._report_end(job, result)
        running = self._loop
        if running is not None:
            # Called after this task is over.
            running.call_soon(self._ring)

    def _report_end(self, job: _Job, result: HookExecutionResult) -> None:
        try:
            self._on_end(result, job.document, job.context)
        except (Exception, SystemExit) as error:
            warn(f"cannot report the end of hook {job.hook.name!r}", error=error)
        with self._all_ended:
            self._under_way -= 1
            self._all_ended.notify_all()

    def _ring(self) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)

    def _cancel_all(self) -> None:
        for task in self._tasks:
            task.cancel()


class LateText(msgspec.Struct, frozen=True):
    """What one hook said after its event: a text for the model, and one for the user."""

    context: str = ""
    message: str = ""


class LateTexts:
    """What hooks said after their event, by session. If there are too many texts, the oldest are
    dropped, and ``warn`` is called."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._sessions: dict[str, list[LateText]] = {}
        self.forget()
        owned_by_process.add(self)

    def forget(self) -> None:
        """Replace the lock in a forked child, where it may be held for ever."""
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._sessions)

    def add(self, session_id: str, output: Mapping[str, Any]) -> None:
        """Keep the texts of a hook's answer, if it has any."""
        specific_output = output.get("hookSpecificOutput")
        specific = specific_output if isinstance(specific_output, Mapping) else {}
        messages = [output.get("systemMessage"), specific.get("userMessage")]
        is_hidden = output.get("suppressOutput") is True
        text = LateText(
            _shorten(specific.get("additionalContext")),
            "" if is_hidden else "\n".join(filter(None, map(_shorten, messages))),
        )
        if text.context or text.message:
            self._keep_text(session_id, text)

    def take(self, session_id: str) -> dict[str, Any] | None:
        """Remove and return the texts of a session, as one more answer to the event that begins a
        turn; None if there are none."""
        with self._lock:
            texts = self._sessions.pop(session_id, ())
        fields = {
            "additionalContext": "\n".join(text.context for text in texts if text.context),
            "userMessage": "\n".join(text.message for text in texts if text.message),
        }
        context = {name: value for name, value in fields.items() if value}
        event = HookEventName.BEFORE_AGENT.value
        return {"hookSpecificOutput": {"hookEventName": event, **context}} if texts else None

    def _keep_text(self, session_id: str, text: LateText) -> None:
        forgotten: list[str] = []
        with self._lock:
            texts = [*self._sessions.pop(session_id, ()), text]
            self._sessions[session_id] = texts[-_MOST_TEXTS:]
            while (
                len(self._sessions) > _MOST_SESSIONS or self._count_characters() > _MOST_CHARACTERS
            ):
                forgotten.append(next(iter(self._sessions)))
                del self._sessions[forgotten[-1]]
        if len(texts) > _MOST_TEXTS:
            warning = f"more than {_MOST_TEXTS} texts of async hooks wait for the next turn"
            self._warn(f"{warning} of session {session_id}; the oldest was dropped")
        for each in forgotten:
            warning = "too many texts of async hooks wait for the next turns of sessions"
            self._warn(f"{warning}; those of session {each} were dropped")

    def _count_characters(self) -> int:
        texts = [text for waiting in self._sessions.values() for text in waiting]
        return sum(len(text.context) + len(text.message) for text in texts)


def read_late_output(result: HookExecutionResult) -> dict[str, Any] | None:
    """Return the answer of a hook that ended after its event: that of one that wakes its agent, and
    so blocks too late, is what it printed on stderr, else on stdout."""
    text = result.stderr.strip() or result.stdout.strip()
    if getattr(result.hook, "rewake", False) and result.exit_code == 2 and text:
        return {"hookSpecificOutput": {"additionalContext": text}}
    return result.output


def describe_ignored(output: Mapping[str, Any]) -> str | None:
    """Name the parts of an answer that have no effect, as no caller waited for them."""
    specific_output = output.get("hookSpecificOutput")
    specific = specific_output if isinstance(specific_output, Mapping) else {}
    read = ("hookEventName", "additionalContext", "userMessage")
    ignored = [name for name in specific if name not in read]
    word = output.get("decision")
    if output.get("continue") is False:
        ignored.insert(0, "continue")
    if word not in (None, "allow", "approve"):
        ignored.insert(0, f"decision {word!r}")
    if not ignored:
        return None
    reason = output.get("reason") or output.get("stopReason")
    why = f" ({reason})" if reason else ""
    return f"its {', '.join(ignored)}{why} was ignored: nobody waits for an async hook"


def _shorten(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        return ""
    over = len(text) - _LONGEST_TEXT
    return text if over <= 0 else f"{text[:_LONGEST_TEXT]}… (+{over} characters)"
