"""What code may say about its hooks; each option is declared here and nowhere else."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypedDict, TypeVar, cast

import msgspec

from hookline.wire.hooks import OnFailure, Redaction

# A command that only reads settings loads none of these.
if TYPE_CHECKING:
    from hookline.bus.messages import MessageBus
    from hookline.dialects.tools import ToolAlias
    from hookline.engine.remote import Execution, OnUnavailable
    from hookline.runner.context import Judge, RunLimits
    from hookline.trace.records import DebugLogger
    from hookline.translate import HookTranslator

HooksByEvent: TypeAlias = Mapping[str, Any]
PathLike: TypeAlias = str | os.PathLike[str]
Trusted: TypeAlias = bool | Callable[[], bool]

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


class Options(msgspec.Struct, frozen=True, kw_only=True, eq=False, repr_omit_defaults=True):
    """The options of ``Hooks(…)`` and ``Config(…)``.

    Hooks in code are written like the ``hooks`` object of a settings file.
    """

    working_dir: PathLike | None = None
    """The directory that hooks run in; by default that of the process."""
    project_dir: PathLike | None = None
    """The directory of the project's settings; by default the working directory."""
    target_dir: PathLike | None = None
    """The directory that the agent works on; hooks do not read it."""
    session_id: str | None = None
    """The id of the session that events belong to; by default a new one."""
    transcript_path: str = ""
    """The file that the conversation is written to."""
    hooks: HooksByEvent | None = None
    """Hooks of the project's layer."""
    user_hooks: HooksByEvent | None = None
    """Hooks of the user's layer."""
    system_hooks: HooksByEvent | None = None
    """Hooks of the system's layer."""
    extensions: Iterable[Mapping[str, Any]] = ()
    """Extensions, each ``{"name", "isActive", "path", "hooks"}``; their hooks find the directory
    ``path`` as ``${extensionPath}``."""
    plugins: Iterable[PathLike] = ()
    """Folders of Claude Code plugins, whose hooks need no trust."""
    disabled: Iterable[str] = ()
    """The names of hooks that the user switched off."""
    enable_hooks: bool = True
    """Whether hooks run at all."""
    trusted: Trusted | None = None
    """Whether the project's hooks may run; a function is called each time. By default hooks that
    are given in code may, and hooks on disk if the user has reviewed them (``hookline trust``)."""
    strict: bool = False
    """Whether an event is blocked whenever one of its hooks could not answer."""
    required: Iterable[str] = ()
    """Hooks, as ``name`` or ``layer:name``, without which every event is blocked."""
    policy: str | None = None
    """The digest of the only policy that a worker on a bus may answer with."""
    system_settings: PathLike | None = None
    """The file to read in place of the system's settings file."""
    limits: "RunLimits | None" = None
    """Bounds on every hook's output, and on the time it takes to end."""
    warm: bool = True
    """Whether interpreters are kept running for hooks that ask for it."""
    redaction: Redaction | None = None
    """Which variables of the environment are kept from hooks."""
    message_bus: "MessageBus | None" = None
    """The bus whose requests are served."""
    remote_bus: "MessageBus | None" = None
    """The bus that events are fired over."""
    execution: "Execution | None" = None
    """Where hooks run: ``local``, ``remote`` or ``local+remote``; by default remote if there is a
    ``remote_bus``."""
    on_unavailable: "OnUnavailable" = "allow"
    """What happens to an event that no worker answers: ``allow``, ``block`` or ``local``."""
    remote_timeout: float = 70.0
    """How many seconds a worker has to answer."""
    debug_logger: "DebugLogger | None" = None
    """The logger that records what hooks did; by default the environment and the settings say."""
    translator: "HookTranslator | None" = None
    """Translates between the types of a model's SDK and what hooks read."""
    tools: "Mapping[str, ToolAlias] | None" = None
    """How the host's tools map to Claude Code's, for hooks in Claude Code's format, beside the
    tools that are known."""
    judge: "Judge | None" = None
    """Puts the questions of prompt hooks to a model and returns its answer, plain or async; without
    it prompt hooks do not run, and fail if they must answer."""


class _DirectoryOption(Options, frozen=True, eq=False):
    # The one option that may be given without its name.
    directory: PathLike | None = None


class LoadOptions(_DirectoryOption, frozen=True, kw_only=True, eq=False):
    """The options of ``Hooks.load(directory, …)`` and ``Config.load(directory, …)``: those of
    ``Hooks(…)``, and these for settings on disk. ``directory`` is the working directory, from which
    the project is found."""

    settings_files: Sequence[PathLike] | None = None
    """The files to read in place of those that would be found, highest priority first; they need
    no trust."""
    claude: bool | None = None
    """Whether Claude Code's settings are read too; by default hookline's settings decide."""
    copies: bool = False
    """Whether all reviewed hooks that can run from their copies do, not only guards."""

    @property
    def foreign(self) -> bool | None:
        """Whether settings of other dialects are read too; None if hookline's settings decide."""
        return self.claude


class HookOptions(TypedDict, total=False):
    """The options of a hook that is registered in code."""

    matcher: str | None
    """The tools, triggers or types of notification that the hook is for."""
    name: str | None
    """The name of the hook; by default that of the function."""
    sequential: bool
    """Whether the hooks of the event run one after the other."""
    timeout: float | None
    """How many milliseconds it may take, one minute by default."""
    on_failure: OnFailure | None
    """What happens if it fails: ``block`` blocks the event, and has a plain function run inline."""
    inline: bool
    """Whether a plain function runs where it is called, without a thread of its own, because it is
    quick. Nothing can stop it then: its caller waits, and if it takes longer than its timeout, a
    warning says so; with ``on_failure="block"`` it has failed."""


def takes(
    options: Callable[P, object],
) -> Callable[[Callable[Concatenate[S, ...], R]], Callable[Concatenate[S, P], R]]:
    """Return a decorator that tells type checkers that a method takes these options, and refuses
    others with the nearest one."""
    known = cast(type[Options], options).__struct_fields__

    def declare(method: Callable[Concatenate[S, ...], R]) -> Callable[Concatenate[S, P], R]:
        owner = method.__qualname__.removesuffix(".__init__")

        @wraps(method)
        def call(self: S, /, *args: P.args, **options: P.kwargs) -> R:
            refuse_unknown(options, known, owner)
            return method(self, *args, **options)

        return call

    return declare


def refuse_unknown(options: Iterable[str], known: Collection[str], owner: str) -> None:
    """Raise TypeError for an option that is not known; ``owner`` is the public name of what takes
    the options."""
    for name in options:
        if name not in known:
            from hookline._support.nearest import did_you_mean, nearest

            hint = did_you_mean(nearest(name, known)) or f"its options are {', '.join(known)}"
            raise TypeError(f"{owner} has no option {name!r}; {hint}")
