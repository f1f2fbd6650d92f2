"""The agent's side of one template: a thread that waits for it, and the forks it has ready.

All that comes from a template is read by its thread, so calls on any number of event loops need
only take a fork that is there, or wait to be handed one.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Mapping

from hookline.pipeline.runner.invocation import Environment, encoded
from hookline.pipeline.runner.loop import Loop
from hookline.pipeline.runner.warm.child import Spare, WarmChild
from hookline.pipeline.runner.warm.facts import Facts, parse_hello
from hookline.pipeline.runner.warm.interpreter import Interpreter
from hookline.pipeline.runner.warm.script import PythonScript

# Seconds that the thread of a template gets when that was killed.
_END_SECONDS = 1.0
# How much a template imports: all that the script does, the standard library, nothing.
_LEVELS = (2, 1, 0)


class Unfit(Exception):
    """What keeps a script from being served by a template."""


class Template:
    """One interpreter that is kept waiting; started by its thread, ended by ``end`` or by itself.

    ``tried`` are the interpreters that are known to let themselves be held back, with the
    ``variables`` that shape them. ``failure`` says what was wrong with one that is over, None if it
    just was not needed any more.
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
        self._facts = Facts(script, cwd=cwd, env=self._env)
        # A run that is garbage is over whenever the collector comes by, in here too.
        self._lock = threading.RLock()
        self._interpreter: Interpreter | None = None
        self._spares: deque[Spare] = deque()
        self._waiting: deque[_Turn] = deque()
        self._coming = 0
        self._running = 0
        self._is_retired = False
        self.began = time.monotonic()
        self.is_ready = False
        self.is_over = False
        self.failure: str | None = None
        self._thread = threading.Thread(target=self._live, name="hookline-warm", daemon=True)
        self._thread.start()

    def is_for(self, env: Mapping[str, str]) -> bool:
        """Whether it is what would be started now for a call with these variables."""
        return not self.is_ready or self._facts.hold(env)

    async def start(
        self, *, cwd: str, env: Mapping[str, str], loop: Loop, deadline: float
    ) -> WarmChild | None:
        """Have a fork run the script; None if none is to be had in time.

        Raises OSError, or ValueError for texts that a fork cannot have.
        """
        request = _request(cwd, env)
        while spare := self._take() or await self._wait(loop, deadline):
            try:
                child = spare.begin(request, on_over=self._on_over)
            except OSError as error:
                spare.channel.close()
                self._on_over()
                if not isinstance(error, BrokenPipeError | ConnectionResetError):
                    raise
            else:
                return child
        return None

    def retire(self) -> None:
        """Take no more calls, and end with the last of those that are running."""
        with self._lock:
            self._is_retired = True
            if self._interpreter is not None:
                if self.is_ready:
                    self._interpreter.say(b"Q")
                else:
                    self._interpreter.kill()

    def end(self, *, until: float) -> None:
        """Retire, and be gone when this returns unless calls are running.

        ``until`` is the time of ``time.monotonic`` to which it may end by itself.
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
        """Let go of it without a word: this process is a fork of the one that it belongs to."""
        if self._interpreter is not None:
            self._interpreter.close()
        for spare in self._spares:
            spare.channel.close()

    def _take(self) -> Spare | None:
        with self._lock:
            if not self._spares or self._is_retired:
                return None
            self._running += 1
            return self._spares.popleft()

    def _ask(self) -> None:
        """Have as many forks coming as there are calls waiting, and one more."""
        with self._lock:
            if self.is_ready and not self._is_retired and self._interpreter is not None:
                wanted = len(self._waiting) + 1 - len(self._spares) - self._coming
                if wanted > 0:
                    self._coming += wanted
                    self._interpreter.say(b"F" * wanted)

    async def _wait(self, loop: Loop, deadline: float) -> Spare | None:
        turn = _Turn(loop)
        with self._lock:
            if self.is_over or self._is_retired:
                return None
            self._waiting.append(turn)
        self._ask()
        try:
            await turn.come(deadline)
        except BaseException:
            if (spare := self._leave(turn)) is not None:
                self._on_over()
                self._hand_out(spare)
            raise
        return self._leave(turn)

    def _leave(self, turn: "_Turn") -> Spare | None:
        """Wait no more; what was handed out to the turn, if anything."""
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
            return turn.spare

    def _hand_out(self, spare: Spare) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.call():
                    turn.spare = spare
                    self._running += 1
                    return
            self._spares.append(spare)

    def _turn_away(self) -> None:
        """Let somebody go without: there will be one fork less than there were calls."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().call()

    def _on_over(self) -> None:
        with self._lock:
            self._running -= 1
        self._ask()

    def _live(self) -> None:
        try:
            self._try_interpreter()
            interpreter = self._start()
            for spare in interpreter.spares():
                with self._lock:
                    self._coming -= 1
                if spare is not None:
                    self._hand_out(spare)
                else:
                    self._turn_away()
        except TimeoutError:
            self.failure = "its interpreter takes too long to start"
        except (OSError, ValueError, Unfit) as error:
            self.failure = str(error)
        finally:
            self._finish()

    def _try_interpreter(self) -> None:
        """See whether the interpreter comes by where it is to be held back.

        One that does not runs what it is given, so this is not to be found out with the script.
        """
        script = self._script
        identity = (script.interpreter, script.interpreter_program, self._cwd, self._variables)
        if identity in self._tried:
            return
        argv = (*script.interpreter, "-c", "pass")
        said = self._launch(argv, script.interpreter_program, "?").answer()
        self._end_interpreter()
        if said != b"yes":
            heard = said.decode("utf-8", "replace")
            raise Unfit(heard or f"{argv[0]} does not let itself be held back before it runs")
        self._tried.add(identity)

    def _start(self) -> Interpreter:
        trouble = ""
        for level in _LEVELS:
            interpreter = self._launch(self._script.argv, self._script.program, str(level))
            body = interpreter.hello()
            said = interpreter.printed()
            if not body:
                raise Unfit(f"its warm process ended before it was ready: {said}")
            hello = parse_hello(body)
            trouble = " ".join(hello.trouble)
            if said and not trouble:
                trouble = f"importing its modules prints {said[:80]!r}"
            if not trouble:
                self._facts.add(hello)
                with self._lock:
                    self._coming = 1
                    self.is_ready = True
                self._ask()
                return interpreter
            self._end_interpreter()
        raise Unfit(trouble)

    def _launch(self, argv: tuple[str, ...], program: str, level: str) -> Interpreter:
        task = f"{level}:{self._idle}:{os.getpid()}"
        with self._lock:
            if self._is_retired:
                raise Unfit("it was told to end")
            interpreter = Interpreter(argv, program, cwd=self._cwd, env=self._env, task=task)
            self._interpreter = interpreter
        return interpreter

    def _end_interpreter(self) -> int | None:
        with self._lock:
            interpreter, self._interpreter = self._interpreter, None
        return interpreter.end() if interpreter is not None else None

    def _finish(self) -> None:
        """Leave nothing behind, and nobody waiting."""
        self._close_spares()
        said = self._interpreter.printed() if self._interpreter is not None else ""
        code = self._end_interpreter()
        if self.is_ready and code:
            how = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
            self.failure = f"its warm process {how} {said}".rstrip()
        if self._is_retired:
            self.failure = None
        # Only now: whoever sees that it is over asks at once what was wrong with it.
        with self._lock:
            turns, self._waiting = self._waiting, deque()
            self.is_over = True
        for turn in turns:
            turn.call()
        # A call that was cancelled may have given one back.
        self._close_spares()

    def _close_spares(self) -> None:
        with self._lock:
            spares, self._spares = self._spares, deque()
        for spare in spares:
            spare.channel.close()


def _request(cwd: str, env: Mapping[str, str]) -> bytes:
    """What a fork is told: its directory and variables."""
    entries = env.entries() if isinstance(env, Environment) else encoded(env)
    request = b"\0".join([os.fsencode(cwd), *entries])
    if request.count(b"\0") > len(entries):
        raise ValueError("its variables or its directory contain a NUL character")
    if "" in env:
        raise ValueError("a variable has no name")
    return request


class _Turn:
    """A call that waits to be handed a fork."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._waiter = loop.create_future()
        self.spare: Spare | None = None

    async def come(self, deadline: float) -> None:
        timer = self._loop.call_at(deadline, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()

    def call(self) -> bool:
        """Wake the call on its own loop; false if that loop is no more."""
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            return False
        return True

    def _wake(self) -> None:
        if not self._waiter.done():
            self._waiter.set_result(None)
