"""Keeps a template for each script, and says when a call has to do without one."""

import os
import threading
import time
import weakref
from collections.abc import Mapping
from typing import TypeAlias

from hookline.pipeline.runner.loop import running_loop
from hookline.pipeline.runner.warm.child import WarmChild
from hookline.pipeline.runner.warm.facts import TALKATIVE, startup_variables
from hookline.pipeline.runner.warm.host import Template
from hookline.pipeline.runner.warm.script import PythonScript

_Key: TypeAlias = tuple[PythonScript, str, tuple[tuple[str, str], ...]]

# Seconds after which a template that waits for calls ends by itself.
_IDLE_SECONDS = 60.0
# Seconds that a call waits at most for a fork of a template that is there.
_FORK_SECONDS = 5.0
# Seconds that all templates together get to end by themselves.
_END_SECONDS = 1.0
# Seconds between two attempts to start a template that ended in a way it should not, or never
# came to be.
_PAUSE_SECONDS = 10.0
_LONG_PAUSE_SECONDS = 60.0
_MOST_TEMPLATES = 16


class ColdStart(Exception):
    """A call that no template serves; ``reason`` is None where nothing is wrong with that.

    The reason is worded to follow "runs cold:".
    """

    def __init__(self, reason: str | None) -> None:
        self.reason = reason
        super().__init__(reason or "its template is only being started")


class WarmPool:
    """The templates of one hook system, for calls from any thread and event loop.

    The first call for a script starts its template and does not wait for it: a cold start takes
    no longer. ``patience`` is for callers who would rather wait that many seconds.
    """

    def __init__(self, *, idle: float = _IDLE_SECONDS, patience: float = 0.0) -> None:
        self._idle = idle
        self._patience = patience
        self._lock = threading.Lock()
        self._templates: dict[_Key, Template] = {}
        self._tried: set[object] = set()
        self._is_disposed = False
        _pools.add(self)

    async def start(
        self, script: PythonScript, *, cwd: str, env: Mapping[str, str], deadline: float
    ) -> WarmChild:
        """Have a script run in a fork of its template; raises ColdStart if that cannot be.

        ``deadline`` is a time of ``time.monotonic`` after which no call may wait.
        """
        if not os.access(cwd, os.X_OK):
            raise ColdStart(None)  # and there it will be said what is wrong with it
        talkative = next((name for name in TALKATIVE if env.get(name)), None)
        if talkative is not None:
            raise ColdStart(f"the variable {talkative} is set")
        template = self._template(script, cwd, env)
        if not template.is_ready and not self._patience:
            raise ColdStart(None)
        loop = running_loop()
        wait = _FORK_SECONDS if template.is_ready else self._patience
        until = loop.time() + min(wait, deadline - time.monotonic())
        try:
            child = await template.start(cwd=cwd, env=env, loop=loop, deadline=until)
        except (OSError, ValueError) as error:
            raise ColdStart(f"its warm process cannot be used: {error}") from error
        if child is None:
            raise ColdStart(template.failure or _unanswered(template))
        return child

    def dispose(self) -> None:
        """End all templates; those that serve calls now end with the last of these."""
        with self._lock:
            self._is_disposed = True
            templates = list(self._templates.values())
            self._templates.clear()
        for template in templates:
            template.retire()
        until = time.monotonic() + _END_SECONDS
        for template in templates:
            template.end(until=until)

    def _template(self, script: PythonScript, cwd: str, env: Mapping[str, str]) -> Template:
        """The one for this call, perhaps only just begun; raises ColdStart if there can be none."""
        key = (script, cwd, startup_variables(env))
        with self._lock:
            if self._is_disposed:
                raise ColdStart("the hook system was disposed")
            template = self._templates.pop(key, None)
            if template is not None and not template.is_over and not template.is_for(env):
                template.retire()
                template = None
            if template is not None and template.is_over:
                template = self._successor(key, template)
            if template is None:
                template = self._started(key, env)
            # Put in again as the last: the first is the one that was not used for longest.
            self._templates[key] = template
            self._make_room()
        return template

    def _started(self, key: _Key, env: Mapping[str, str]) -> Template:
        script, cwd, variables = key
        try:
            return Template(
                script, cwd=cwd, env=env, idle=self._idle, tried=self._tried, variables=variables
            )
        except RuntimeError as error:
            raise ColdStart(f"no thread can be started to wait for it: {error}") from error

    def _successor(self, key: _Key, template: Template) -> Template | None:
        """None if one may be started; what was wrong with the last one is told once."""
        if template.failure is None:
            return None
        pause = _PAUSE_SECONDS if template.is_ready else _LONG_PAUSE_SECONDS
        if time.monotonic() < template.began + pause:
            self._templates[key] = template
        raise ColdStart(template.failure)

    def _make_room(self) -> None:
        if len(self._templates) > _MOST_TEMPLATES:
            self._templates.pop(next(iter(self._templates))).retire()

    def forget(self) -> None:
        """Give up what belongs to the parent, in a child that was forked from this process."""
        # Whoever held it is not among the threads of this process.
        self._lock = threading.Lock()
        for template in self._templates.values():
            template.forget()
        self._templates.clear()


def _unanswered(template: Template) -> str | None:
    if not template.is_ready or template.is_over:
        return None
    return "its warm process could not fork in time: too many processes, open files or calls"


_pools: "weakref.WeakSet[WarmPool]" = weakref.WeakSet()


def _forget_all() -> None:
    for pool in _pools:
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
