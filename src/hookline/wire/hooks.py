"""A hook in the engine: what to run, its name, and where it comes from."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

DEFAULT_TIMEOUT_MS = 60_000

# The argument of one of these may be a script, even if it does not look like a path.
_INTERPRETERS = ("sh", "bash", "dash", "zsh", "ksh", "python", "node", "ruby", "perl", "env", "/")

OnFailure: TypeAlias = Literal["allow", "block"]
HookFunction: TypeAlias = Callable[[dict[str, Any]], Any]


class HookSource(StrEnum):
    """The layers of hooks, highest priority first."""

    RUNTIME = "runtime"
    PROJECT = "project"
    USER = "user"
    SYSTEM = "system"
    EXTENSIONS = "extensions"


LAYER_ORDER: dict[HookSource, int] = {source: rank for rank, source in enumerate(HookSource)}


class HookConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What every kind of hook has; ``timeout`` is in milliseconds. ``closed_by_mode`` if it fails
    closed because of strict mode alone."""

    type: ClassVar[str] = ""
    needs_asyncio: ClassVar[bool] = False

    name: str
    source: HookSource = HookSource.RUNTIME
    description: str | None = None
    timeout: float = DEFAULT_TIMEOUT_MS
    on_failure: OnFailure = "allow"
    closed_by_mode: bool = False
    managed: bool = False
    dialect: str = "native"
    # The dialect's name for the event, and the tool calls that the hook runs for (``if``).
    dialect_event: str = ""
    condition: str | None = None
    # The folder of the plugin that the hook comes from.
    plugin_root: str | None = None

    def identity(self) -> object:
        """Return a value that is equal for two entries of one event if they are the same hook."""
        raise NotImplementedError


class ReviewedStart(msgspec.Struct, frozen=True, kw_only=True):
    """How a reviewed command is started: the words that are executed without a shell, and the
    project that it belongs to. With ``from_copy`` it runs from the copy that was reviewed, with an
    environment that loads no code. An open command has no ``argv``."""

    project: str
    argv: tuple[str, ...] = ()
    from_copy: bool = False


class CommandHook(HookConfig, frozen=True, kw_only=True):
    """A hook that is a process: a shell command, or with ``args`` a program and its arguments.

    With ``warm`` the interpreter of a Python script is kept running between calls. ``directory``
    is the directory of the settings file or extension that the hook comes from. No event waits for
    a ``background`` hook; the model reads the stderr of one that ``wakes`` if it exits with 2.
    ``plugin_data`` is where the hook's plugin keeps its files. ``covers`` are patterns of more
    files that a review covers, and ``start`` is what the review found.
    """

    type: ClassVar[str] = "command"

    command: str
    args: tuple[str, ...] | None = None
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    warm: bool = False
    directory: str | None = None
    background: bool = False
    wakes: bool = False
    plugin_data: str | None = None
    covers: tuple[str, ...] = ()
    start: ReviewedStart | None = None

    def identity(self) -> object:
        # The same relative path names another file beside other settings, or in another project: a
        # project's hook must not replace the user's guard, or that of the project around it.
        beside = self.directory
        if beside and self.source is HookSource.PROJECT:
            beside = beside.rpartition("/")[0]
        if beside and not any(map(_may_name_a_file, (self.command, *(self.args or ())))):
            beside = None
        env = tuple(sorted(self.env.items()))
        words = (self.type, self.name, self.command, self.args, env, beside)
        if self.dialect == "native":
            return words
        # The same command means something else in another dialect, or for other tool calls.
        return (*words, self.dialect, self.dialect_event, self.condition, self.plugin_root)


def _may_name_a_file(text: str) -> bool:
    """True if a word of the text may be a relative path, or a path in an extension."""
    for sign in "'\"();&|<>=":
        text = text.replace(sign, " ")
    words = text.split()
    relative = [word if word[0] not in "/$~-" else "" for word in words]
    is_script = any(
        word.startswith(_INTERPRETERS) and any(relative[place:])
        for place, word in enumerate(words, start=1)
    )
    return is_script or "extensionPath" in text or any({"/", "."} & {*word} for word in relative)


class RuntimeHook(HookConfig, frozen=True, kw_only=True):
    """A hook that is a function of this process, plain or async."""

    type: ClassVar[str] = "runtime"
    needs_asyncio: ClassVar[bool] = True

    function: HookFunction
    is_async: bool = False

    def identity(self) -> object:
        return (self.type, self.name, id(self.function))


class HttpHook(HookConfig, frozen=True, kw_only=True):
    """A hook that is a server: it gets the event by POST, and its response is the answer.

    ``headers`` may use the environment variables in ``allowed_env``. ``allowed_urls`` are lists of
    patterns; the URL must match at least one pattern of each list.
    """

    type: ClassVar[str] = "http"
    needs_asyncio: ClassVar[bool] = True

    url: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    allowed_env: tuple[str, ...] = ()
    allowed_urls: tuple[tuple[str, ...], ...] = ()

    def identity(self) -> object:
        headers = tuple(sorted(self.headers.items()))
        words = (self.type, self.name, self.url, headers, self.allowed_env, self.allowed_urls)
        return (*words, self.dialect, self.dialect_event, self.condition, self.plugin_root)


class PromptHook(HookConfig, frozen=True, kw_only=True):
    """A hook that is a question to a model. In another dialect a "no" may end the turn; with
    ``continue_on_block`` it only denies the event."""

    type: ClassVar[str] = "prompt"
    needs_asyncio: ClassVar[bool] = True

    prompt: str
    model: str | None = None
    continue_on_block: bool = False

    def identity(self) -> object:
        words = (self.type, self.name, self.prompt, self.model, self.continue_on_block)
        return (*words, self.dialect, self.dialect_event, self.condition, self.plugin_root)


class WithheldHook(HookConfig, frozen=True, kw_only=True):
    """Replaces a hook that must answer but may not run: it fails, and says why."""

    type: ClassVar[str] = "withheld"

    why: str

    def identity(self) -> object:
        # Two withheld hooks for different tool calls are not the same hook.
        return (self.type, self.name, self.why, self.dialect_event, self.condition)


class Redaction(msgspec.Struct, frozen=True):
    """Which environment variables hooks do not get; the case of names is ignored."""

    enabled: bool = False
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
