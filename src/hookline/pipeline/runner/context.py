"""What running a hook needs to know beyond the hook and its input."""

from collections.abc import Callable

import msgspec

from hookline.pipeline.redaction import Redaction
from hookline.wire.hooks import HookConfig


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on every hook: seconds between SIGTERM and SIGKILL, and bytes of output."""

    kill_grace: float = 5.0
    max_stdout: int = 10 * 1024 * 1024
    max_stderr: int = 1024 * 1024


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """The session an event belongs to, and the rules its hooks run under.

    ``warm`` is whether it is worth while to keep processes waiting for the next event.
    """

    cwd: str
    project_dir: str
    session_id: str
    is_trusted: Callable[[HookConfig], bool]
    redaction: Redaction = Redaction()
    limits: RunLimits = RunLimits()
    warm: bool = True
