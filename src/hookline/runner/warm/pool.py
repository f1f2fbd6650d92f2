"""Keeps a template for each script, and says when a call has to start cold."""

import os
import threading
import time
from collections.abc import Mapping
from typing import TypeAlias

from hookline._support.fork import owned_by_process
from hookline.runner.loop import running_loop
from hookline.runner.warm.interpreter import WarmChild
from hookline.runner.warm.script import PythonScript
from hookline.runner.warm.template import Template

_Key: TypeAlias = tuple[PythonScript, str, tuple[tuple[str, str], ...]]

# Seconds after which an idle template ends by itself.
_IDLE_SECONDS = 60.0
# Seconds that a call waits at most for a fork of a ready template.
_FORK_SECONDS = 5.0
# Seconds that all templates together get to end by themselves.
_END_SECONDS = 1.0
# Seconds between two attempts to start a template that failed: after it was ready, and before.
PAUSE_SECONDS = 10.0
LONG_PAUSE_SECONDS = 60.0
_MOST_TEMPLATES = 16

# Variables that matter before an interpreter runs a script: its own settings, those of libraries it
# is linked with, and those by which launchers choose it.
_STARTUP_PREFIXES = ("PYTHON", "LC_", "LD_", "DYLD_", "MALLOC_", "PYENV_", "ASDF_", "MISE_")
_STARTUP_NAMES = frozenset(
    {
        *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "OPENSSL_CONF", "GLIBC_TUNABLES"),
        *("VIRTUAL_ENV", "__PYVENV_LAUNCHER__"),
    }
)
# Variables that make an interpreter do more than run its script, or print about itself.
_TALKATIVE = ("PYTHONINSPECT", "PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME", "PYTHONDUMPREFS")


class ColdStart(Exception):
    """Raised for a call that no template serves; ``reason`` is None if nothing is wrong.

    The reason is worded to follow "running cold:".
    """

    def __init__(self, reason: str | None) -> None:
        self.reason = reason
        super().__init__(reason or "its template is still starting")


class WarmPool:
    """The templates of one hook system, for calls from any thread and event loop.

    The first call for a script starts its template and does not wait for it: a cold start takes
    no longer. ``patience`` is the number of seconds to wait instead.
    """

    def __init__(self, *, idle: float = _IDLE_SECONDS, patience: float = 0.0) -> None:
        self._idle = idle
        self._patience = patience
        self._lock = threading.Lock()
        # The most recently used is last.
        self._templates: dict[_Key, Template] = {}
        self._tried: set[object] = set()
        self._is_disposed = False
        owned_by_process.add(self)

    async def start(
        self, script: PythonScript, *, cwd: str, env: Mapping[str, str], deadline: float
    ) -> WarmChild:
        """Run a script in a fork of its template; raises ColdStart if no template can serve it.

        ``deadline`` is a time of ``time.monotonic`` after which the call must not wait.
        """
        if not os.access(cwd, os.X_OK):
            raise ColdStart(None)  # the cold start reports what is wrong
        for name in _TALKATIVE:
            if env.get(name):
                raise ColdStart(f"the variable {name} is set")
        template = self._find_template(script, cwd, env)
        if not template.is_ready and not self._patience:
            raise ColdStart(None)
        loop = running_loop()
        wait = _FORK_SECONDS if template.is_ready else self._patience
        until = loop.time() + min(wait, deadline - time.monotonic())
        try:
            child = await template.start(cwd=cwd, env=env, loop=loop, deadline=until)
        except (OSError, ValueError) as error:
            raise ColdStart(f"its warm process cannot be used: {error}") from error
        if child is not None:
            return child
        reason = template.failure
        if reason is None and template.is_ready and not template.is_over:
            many = "too many processes, open files or calls"
            reason = f"its warm process could not fork in time: {many}"
        raise ColdStart(reason)

    def dispose(self) -> None:
        """End all templates; those with running calls end after the last of them."""
        with self._lock:
            self._is_disposed = True
            templates = list(self._templates.values())
            self._templates.clear()
        for template in templates:
            template.retire()
        until = time.monotonic() + _END_SECONDS
        for template in templates:
            template.end(until=until)

    def forget(self) -> None:
        """Drop what belongs to the parent, in a forked child of this process."""
        # The thread that held the lock does not exist in this process.
        self._lock = threading.Lock()
        for template in self._templates.values():
            template.forget()
        self._templates.clear()

    def _find_template(self, script: PythonScript, cwd: str, env: Mapping[str, str]) -> Template:
        """Return the template for this call, started if needed; raises ColdStart if none can be."""
        shaping = tuple(
            (name, value)
            for name, value in env.items()
            if name in _STARTUP_NAMES or name.startswith(_STARTUP_PREFIXES)
        )
        key = (script, cwd, shaping)
        with self._lock:
            if self._is_disposed:
                raise ColdStart("the hook system was disposed")
            template = self._templates.pop(key, None)
            if template is not None and template.is_over:
                if template.failure is not None:
                    # Until the next attempt is due, each call reports this failure.
                    pause = PAUSE_SECONDS if template.is_ready else LONG_PAUSE_SECONDS
                    if time.monotonic() < template.began + pause:
                        self._templates[key] = template
                    raise ColdStart(template.failure)
                template = None
            elif template is not None and not template.is_for(env):
                template.retire()
                template = None
            if template is None:
                try:
                    template = Template(
                        script,
                        cwd=cwd,
                        env=env,
                        idle=self._idle,
                        tried=self._tried,
                        variables=shaping,
                    )
                except RuntimeError as error:
                    reason = f"cannot start a thread for its warm process: {error}"
                    raise ColdStart(reason) from error
            self._templates[key] = template
            if len(self._templates) > _MOST_TEMPLATES:
                self._templates.pop(next(iter(self._templates))).retire()
        return template
