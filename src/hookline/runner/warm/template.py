"""The agent's side of one template: a thread that waits for it, and the forks it has ready.

The thread reads all that comes from the template, so calls on any number of event loops only take a
fork that is ready, or wait for one.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Mapping

from hookline._support.files import Signature, signature
from hookline.runner.invocation import encode_entries
from hookline.runner.loop import Loop
from hookline.runner.warm.interpreter import InterpreterProcess, WarmChild
from hookline.runner.warm.script import PythonScript

# Seconds to wait for a template's thread after the template was killed.
_END_SECONDS = 1.0


class Unfit(Exception):
    """Raised with the reason why no template can serve a script."""


class Template:
    """One interpreter that is kept waiting; started by its thread, ended by ``end`` or by itself.

    ``tried`` are the interpreters that are known to be held back, with the ``variables`` that they
    start with. ``failure`` says why a template ended, None if it was just not needed any more.
    """

    def __init__(
        self,
        script: PythonScript,
        *,
        cwd: str,
        env: Mapping[str, str],
        idle: float,
        tried: set[object],
        variables: tuple[tuple[str, str], ...],
    ) -> None:
        self._script = script
        self._cwd = cwd
        self._env = dict(env)
        self._idle = idle
        self._tried = tried
        self._variables = variables
        self._facts = _Facts(script, cwd=cwd, env=self._env)
        # Reentrant, as the garbage collector may end a run at any time, also in here.
        self._lock = threading.RLock()
        self._interpreter: InterpreterProcess | None = None
        self._spares: deque[WarmChild] = deque()
        self._waiting: deque[_Waiter] = deque()
        self._coming = 0
        self._running = 0
        self._is_retired = False
        self.began = time.monotonic()
        self.is_ready = False
        self.is_over = False
        self.failure: str | None = None
        self._thread = threading.Thread(target=self._run_thread, name="hookline-warm", daemon=True)
        self._thread.start()

    def is_for(self, env: Mapping[str, str]) -> bool:
        """Return whether a template started now for these variables would be the same."""
        return not self.is_ready or self._facts.hold(env)

    async def start(
        self, *, cwd: str, env: Mapping[str, str], loop: Loop, deadline: float
    ) -> WarmChild | None:
        """Run the script in a fork; returns None if there is none in time.

        Raises OSError, or ValueError for text that a fork cannot be given.
        """
        entries = encode_entries(env)
        request = b"\0".join([os.fsencode(cwd), *entries])
        if request.count(b"\0") > len(entries):
            raise ValueError("its variables or its directory contain a NUL character")
        if "" in env:
            raise ValueError("a variable has no name")
        while spare := await self._take_spare(loop, deadline):
            try:
                spare.begin(request, on_end=self._on_call_end)
                return spare
            except OSError as error:
                spare.close()
                if not isinstance(error, BrokenPipeError | ConnectionResetError):
                    raise
        return None

    def retire(self) -> None:
        """Take no more calls, and end after the last running one."""
        with self._lock:
            self._is_retired = True
            if self._interpreter is not None:
                if self.is_ready:
                    self._interpreter.send(b"Q")
                else:
                    self._interpreter.kill()

    def end(self, *, until: float) -> None:
        """Retire, and wait until it is gone unless calls are running.

        ``until`` is the time of ``time.monotonic`` at which it is killed.
        """
        self.retire()
        if self._running or threading.current_thread() is self._thread:
            return
        self._thread.join(max(0.0, until - time.monotonic()))
        with self._lock:
            if self._interpreter is not None:
                self._interpreter.kill()
        self._thread.join(_END_SECONDS)

    def forget(self) -> None:
        """Close its sockets without a command, in a forked child: it belongs to the parent."""
        if self._interpreter is not None:
            self._interpreter.close()
        for spare in self._spares:
            spare.close()

    async def _take_spare(self, loop: Loop, deadline: float) -> WarmChild | None:
        """Return a fork that is ready or comes in time."""
        with self._lock:
            if self.is_over or self._is_retired:
                return None
            if self._spares:
                self._running += 1
                return self._spares.popleft()
            turn = _Waiter(loop)
            self._waiting.append(turn)
        self._request_forks()
        timer = loop.call_at(deadline, turn.wake)
        is_cancelled = True
        try:
            await turn.waiter
            is_cancelled = False
        finally:
            timer.cancel()
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
            if is_cancelled and turn.spare is not None:
                self._on_call_end()
                self._hand_out(turn.spare)
        return turn.spare

    def _request_forks(self) -> None:
        """Request as many forks as calls are waiting, and one more."""
        with self._lock:
            if self.is_ready and not self._is_retired and self._interpreter is not None:
                wanted = len(self._waiting) + 1 - len(self._spares) - self._coming
                if wanted > 0:
                    self._coming += wanted
                    self._interpreter.send(b"F" * wanted)

    def _hand_out(self, spare: WarmChild) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.call():
                    turn.spare = spare
                    self._running += 1
                    return
            self._spares.append(spare)

    def _on_call_end(self) -> None:
        with self._lock:
            self._running -= 1
        self._request_forks()

    def _run_thread(self) -> None:
        try:
            for spare in self._start_interpreter().receive_spares():
                with self._lock:
                    self._coming -= 1
                    if spare is not None:
                        self._hand_out(spare)
                    elif len(self._waiting) > self._coming:
                        # One call will get no fork. But a fork that failed before a call came must
                        # not end the wait of that call for a fork that is still coming.
                        self._waiting.popleft().call()
        except TimeoutError:
            self.failure = "its interpreter takes too long to start"
        except (OSError, ValueError, Unfit) as error:
            self.failure = str(error)
        finally:
            self._close_spares()
            output = self._interpreter.read_output() if self._interpreter is not None else ""
            code = self._end_interpreter()
            if self.is_ready and code:
                how = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
                self.failure = f"its warm process {how} {output}".rstrip()
            if self._is_retired:
                self.failure = None
            # Only now: callers that see ``is_over`` read ``failure`` at once.
            with self._lock:
                turns, self._waiting = self._waiting, deque()
                self.is_over = True
            for turn in turns:
                turn.call()
            # A cancelled call may have returned one.
            self._close_spares()

    def _start_interpreter(self) -> InterpreterProcess:
        """Start the interpreter and wait until it is ready to fork; raises Unfit."""
        script = self._script
        identity = (script.interpreter, script.interpreter_program, self._cwd, self._variables)
        if identity not in self._tried:
            # An interpreter that does not import our sitecustomize runs what it is given, so the
            # probe must not be the script itself.
            argv = (*script.interpreter, "-c", "pass")
            answer = self._launch(argv, script.interpreter_program, "probe").read_answer()
            self._end_interpreter()
            if answer != b"yes":
                why = answer.decode("utf-8", "replace")
                raise Unfit(why or f"{argv[0]} cannot be held back before it runs the script")
            self._tried.add(identity)
        interpreter = self._launch(script.argv, script.program, "template")
        hello, output = interpreter.read_hello(), interpreter.read_output()
        if not hello:
            raise Unfit(f"its warm process ended before it was ready: {output}")
        trouble = self._facts.add(hello)
        if output and not trouble:
            trouble = f"importing its modules prints {output[:80]!r}"
        if trouble:
            raise Unfit(trouble)
        with self._lock:
            self._coming = 1
            self.is_ready = True
        self._request_forks()
        return interpreter

    def _launch(self, argv: tuple[str, ...], program: str, kind: str) -> InterpreterProcess:
        task = f"{kind}:{self._idle}:{os.getpid()}"
        with self._lock:
            if self._is_retired:
                raise Unfit("it was told to end")
            interpreter = InterpreterProcess(argv, program, cwd=self._cwd, env=self._env, task=task)
            self._interpreter = interpreter
        return interpreter

    def _end_interpreter(self) -> int | None:
        with self._lock:
            interpreter, self._interpreter = self._interpreter, None
        return interpreter.end() if interpreter is not None else None

    def _close_spares(self) -> None:
        with self._lock:
            spares, self._spares = self._spares, deque()
        for spare in spares:
            spare.close()


class _Waiter:
    """A call that waits for a fork."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.waiter = loop.create_future()
        self.spare: WarmChild | None = None

    def call(self) -> bool:
        """Wake the call on its own loop; return False if that loop is closed."""
        try:
            self._loop.call_soon_threadsafe(self.wake)
        except RuntimeError:
            return False
        return True

    def wake(self) -> None:
        if not self.waiter.done():
            self.waiter.set_result(None)


class _Facts:
    """The files and variables that a template was made from, as they were at its start."""

    def __init__(self, script: PythonScript, *, cwd: str, env: Mapping[str, str]) -> None:
        self._began = time.time_ns()
        self._env = env
        self._variables: dict[str, str | None] = {}
        started = [os.path.join(cwd, p) for p in (script.path, script.interpreter_program)]
        self._started = {path: signature(path) for path in started}
        self._files = self._started
        self._directories: dict[str, Signature | None] = {}
        self._names: frozenset[str] = frozenset()
        self._are_certain = True

    def add(self, hello: bytes) -> str:
        """Read a template's report; return why it cannot serve calls, "" if it can.

        The report has five lists of texts, each ended by an empty one: that reason, the variables
        it read while it imported modules, the directories whose modules come before others, the
        names of its modules, and the files of those that are not in the standard library.
        """
        sections: list[list[str]] = [[]]
        for item in hello.split(b"\0")[:-1]:
            if item:
                sections[-1].append(os.fsdecode(item))
            else:
                sections.append([])
        try:
            trouble, variables, directories, names, files, _ = sections
        except ValueError:
            raise ValueError("its warm process sent a malformed report") from None
        if trouble:
            return " ".join(trouble)
        self._variables = {name: self._env.get(name) for name in variables}
        self._files = {**self._started, **{path: signature(path) for path in files}}
        self._directories = {path: signature(path) for path in directories}
        self._names = frozenset(names)
        # A file written meanwhile may have been imported before or after the write.
        now = time.time_ns()
        times = [state[0] for state in self._files.values() if state is not None]
        self._are_certain = not any(self._began <= at <= now for at in times)
        return ""

    def hold(self, env: Mapping[str, str]) -> bool:
        """Return whether nothing has changed, for a call with these variables."""
        if not self._are_certain:
            return False
        if any(env.get(name) != value for name, value in self._variables.items()):
            return False
        if any(signature(path) != before for path, before in self._files.items()):
            return False
        for directory, before in self._directories.items():
            now = signature(directory)
            if now != before:
                try:
                    names = {name.partition(".")[0] for name in os.listdir(directory)}
                except OSError:
                    names = set()
                if not self._names.isdisjoint(names):
                    return False
                self._directories = {**self._directories, directory: now}
        return True
