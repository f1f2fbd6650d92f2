"""A hook as the engine holds it: what to run, under which name, and where it came from."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

DEFAULT_TIMEOUT_MS = 60_000

OnFailure: TypeAlias = Literal["allow", "block"]
HookFunction: TypeAlias = Callable[[dict[str, Any]], Any]

_OF_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"


class HookSource(StrEnum):
    """The layers, highest priority first."""

    RUNTIME = "runtime"
    PROJECT = "project"
    USER = "user"
    SYSTEM = "system"
    EXTENSIONS = "extensions"


LAYER_ORDER: dict[HookSource, int] = {source: rank for rank, source in enumerate(HookSource)}


class HookConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What every kind of hook has; ``timeout`` is in milliseconds."""

    type: ClassVar[str] = ""

    name: str
    source: HookSource = HookSource.RUNTIME
    description: str | None = None
    timeout: float = DEFAULT_TIMEOUT_MS
    on_failure: OnFailure = "allow"
    managed: bool = False
    dialect: str = "native"

    def identity(self) -> object:
        """What makes two entries of one event the same hook."""
        raise NotImplementedError


class CommandHook(HookConfig, frozen=True, kw_only=True):
    """A hook that is a process: a shell command, or with ``args`` a program and its arguments.

    ``warm`` has the interpreter of a Python script kept waiting from call to call.
    """

    type: ClassVar[str] = "command"

    command: str
    args: tuple[str, ...] | None = None
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    warm: bool = False

    def identity(self) -> object:
        return (self.type, self.name, self.command, self.args, tuple(sorted(self.env.items())))


class RuntimeHook(HookConfig, frozen=True, kw_only=True):
    """A hook that is a function of this process, plain or async."""

    type: ClassVar[str] = "runtime"

    function: HookFunction
    is_async: bool = False

    def identity(self) -> object:
        return (self.type, self.name, id(self.function))


def hook_variables(*, project_dir: str, cwd: str, session_id: str, event: str) -> dict[str, str]:
    """The variables every hook finds, under the names of each host its script may come from."""
    return {
        "HOOKLINE_PROJECT_DIR": project_dir,
        "LLXPRT_PROJECT_DIR": project_dir,
        "GEMINI_PROJECT_DIR": project_dir,
        "CLAUDE_PROJECT_DIR": project_dir,
        "HOOKLINE_CWD": cwd,
        "GEMINI_CWD": cwd,
        "HOOKLINE_SESSION_ID": session_id,
        "GEMINI_SESSION_ID": session_id,
        "HOOKLINE_EVENT": event,
    }


def expanded(text: str, values: Mapping[str, str]) -> str:
    """``$NAME`` and ``${NAME}`` of ``values`` replaced by their text, once; others stay."""
    if "$" not in text:
        return text
    # By hand: a command line would take longer to make an expression for it than all this takes.
    said, *rest = text.split("$")
    for part in rest:
        if part.startswith("{"):
            name, closed, after = part[1:].partition("}")
            name = name if closed else ""
        else:
            after = part.lstrip(_OF_NAMES)
            name = part[: len(part) - len(after)]
        is_known = name in values and name.isascii() and name.isidentifier()
        said += values[name] + after if is_known else f"${part}"
    return said
