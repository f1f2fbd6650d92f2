"""A hook as the engine holds it: what to run, under which name, and where it came from."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

DEFAULT_TIMEOUT_MS = 60_000

# What these are given may be a script without any mark of a path.
_INTERPRETERS = ("sh", "bash", "dash", "zsh", "ksh", "python", "node", "ruby", "perl", "env", "/")

OnFailure: TypeAlias = Literal["allow", "block"]
HookFunction: TypeAlias = Callable[[dict[str, Any]], Any]


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

    ``warm`` has the interpreter of a Python script kept waiting from call to call. ``directory``
    is that of the settings file or the extension it comes from.
    """

    type: ClassVar[str] = "command"

    command: str
    args: tuple[str, ...] | None = None
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    warm: bool = False
    directory: str | None = None

    def identity(self) -> object:
        # The same words name another file where they are looked for beside other settings: a
        # project's hook must not take the place of the user's guard.
        beside = None if self.source is HookSource.PROJECT else self.directory
        if beside and not any(map(_may_name_a_file, (self.command, *(self.args or ())))):
            beside = None
        env = tuple(sorted(self.env.items()))
        return (self.type, self.name, self.command, self.args, env, beside)


def _may_name_a_file(text: str) -> bool:
    """Whether some word may be a relative path, or one in an extension."""
    for sign in "'\"();&|<>=":
        text = text.replace(sign, " ")
    words = text.split()
    is_script = any(word.startswith(_INTERPRETERS) for word in words[:-1])
    relative = (word for word in words if word[0] not in "/$~-")
    return is_script or "extensionPath" in text or any({"/", "."} & {*word} for word in relative)


class RuntimeHook(HookConfig, frozen=True, kw_only=True):
    """A hook that is a function of this process, plain or async."""

    type: ClassVar[str] = "runtime"

    function: HookFunction
    is_async: bool = False

    def identity(self) -> object:
        return (self.type, self.name, id(self.function))


class WithheldHook(HookConfig, frozen=True, kw_only=True):
    """What stands for a hook that must answer and may not run: it fails, and says why."""

    type: ClassVar[str] = "withheld"

    why: str

    def identity(self) -> object:
        return (self.type, self.name, self.why)


class Redaction(msgspec.Struct, frozen=True):
    """What the user or the system wants kept from hooks; names are compared without case."""

    enabled: bool = False
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
