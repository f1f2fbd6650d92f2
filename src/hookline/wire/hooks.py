"""A hook in the engine: what to run, its name, and where it comes from.

A field with a ``key`` is what settings write: its name, type, default and meaning are declared here
and nowhere else. The reader, the JSON Schema and ``hookline check`` take them from these types. The
engine fills in the other fields.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta, field

DEFAULT_TIMEOUT_MS = 60_000

# The argument of one of these may be a script, even if it does not look like a path.
_INTERPRETERS = ("sh", "bash", "dash", "zsh", "ksh", "python", "node", "ruby", "perl", "env", "/")

OnFailure: TypeAlias = Literal["allow", "block"]
HookFunction: TypeAlias = Callable[[dict[str, Any]], Any]

# The layers that may set a key.
EVERY_LAYER = "every layer"
PROJECT_FOR_ITS_OWN = "every layer; a project for its own hooks only"
STRICTER = "every layer; a project once it is trusted"
NOT_THE_PROJECT = "user and system"
SYSTEM_ONLY = "system"


class HookSource(StrEnum):
    """The layers of hooks, highest priority first."""

    RUNTIME = "runtime"
    PROJECT = "project"
    USER = "user"
    SYSTEM = "system"
    EXTENSIONS = "extensions"


LAYER_ORDER: dict[HookSource, int] = {source: rank for rank, source in enumerate(HookSource)}


class KeyRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the reader does with a key of settings.

    ``loss`` is what happens if a key that decides policy is misspelt, so that nothing reads it; a
    ``stray`` one is looked for in other objects too. ``must`` says what a value must be, where its
    type does not. With ``each`` a list keeps its good items. ``is_foreign`` is for keys that only
    settings of other dialects have; ``in_parts`` for values that are read one by one, or not at
    all.
    """

    layers: str = EVERY_LAYER
    loss: str = ""
    stray: bool = False
    must: str = ""
    each: bool = False
    is_foreign: bool = False
    in_parts: bool = False


class Key(msgspec.Struct, frozen=True):
    """A declared key of settings: its type, its rules, and the type of the object that it holds,
    None for any other value."""

    type: Any
    rules: KeyRules
    section: type[msgspec.Struct] | None = None


def key(
    meaning: str,
    *examples: Any,
    default: Any = None,
    pattern: str | None = None,
    above: float | None = None,
    **rules: Any,
) -> Meta:
    """Declare a key of settings: its meaning, examples, and what the reader does with it (the
    fields of ``KeyRules``). ``default`` is for a type whose values say whether the key is set."""
    known = KeyRules(**rules)
    schema = {"x-layers": known.layers} | ({} if default is None else {"default": default})
    limits: dict[str, Any] = {"pattern": pattern, "gt": above}
    return Meta(
        description=meaning,
        examples=[*examples] or None,
        extra_json_schema=schema,
        extra={"rules": known},
        **limits,
    )


@cache
def keys_of(kind: type[msgspec.Struct], *, is_foreign: bool = False) -> Mapping[str, Key]:
    """Return the keys that settings may have in an object of a type."""
    types: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        types |= getattr(base, "__annotations__", {})
    found: dict[str, Key] = {}
    for attribute, name in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        for meta in getattr(types[attribute], "__metadata__", ()):
            rules = (meta.extra or {}).get("rules")
            if isinstance(rules, KeyRules) and (is_foreign or not rules.is_foreign):
                found[name] = Key(types[attribute], rules, _find_section(types[attribute]))
    return MappingProxyType(found)


def _find_section(type_: Any) -> type[msgspec.Struct] | None:
    for each in get_args(type_):
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each
        if (found := _find_section(each)) is not None:
            return found
    return None


class HookConfig(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What every kind of hook has; ``timeout`` is in milliseconds. ``closed_by_mode`` if it fails
    closed because of strict mode alone."""

    type: ClassVar[str] = ""
    name: Annotated[
        str,
        key(
            "The name of the hook in lists, logs and reasons, and in hooks.disabled and "
            "hooks.required. A hook without a name is named by its command, address or prompt.",
            "secret-scan",
        ),
    ] = ""
    source: HookSource = HookSource.RUNTIME
    description: Annotated[
        str | None, key("What the hook is for, in a sentence; `hookline list --json` has it.")
    ] = None
    timeout: Annotated[
        float,
        key(
            "After so many milliseconds the hook is ended and has failed. A second is 1000.",
            5000,
            above=0,
        ),
    ] = DEFAULT_TIMEOUT_MS
    on_failure: Annotated[
        OnFailure,
        key(
            "What happens when the hook fails to answer: it crashes, takes too long or prints "
            "something unreadable. allow goes on and warns; block blocks the event, and reads the "
            "hook's answer strictly.",
            loss="a failure of the hook lets the agent go on",
            stray=True,
        ),
    ] = "allow"
    closed_by_mode: bool = False
    managed: Annotated[
        bool,
        key(
            "True for a hook that neither the user nor a project can disable. It counts only in "
            "the system's settings.",
            layers=SYSTEM_ONLY,
            loss="others can disable the hook",
            stray=True,
        ),
    ] = False
    dialect: str = "native"
    # The dialect's name for the event.
    dialect_event: str = ""
    condition: Annotated[
        str | None,
        key(
            "The calls of the tool that the hook runs for, as a permission rule.",
            "Bash(git push:*)",
            is_foreign=True,
            loss="the hook runs on every call that it matches",
            stray=True,
        ),
    ] = field(default=None, name="if")
    # The folder of the plugin that the hook comes from.
    plugin_root: str | None = None

    @property
    def needs_asyncio(self) -> bool:
        """True if it runs on an event loop of asyncio alone."""
        return False

    @property
    def is_waited_for(self) -> bool:
        """True if an event waits for its answer; else the hook observes, and decides nothing."""
        return True

    def identity(self) -> object:
        """Return a value that is equal for two entries of one event if they are the same hook."""
        raise NotImplementedError


Variables: TypeAlias = Mapping[
    Annotated[str, Meta(pattern="^[^=\\x00]+$")], Annotated[str, Meta(pattern="^[^\\x00]*$")]
]


class ReviewedStart(msgspec.Struct, frozen=True, kw_only=True):
    """How a reviewed command is started: the words that are executed without a shell, and the
    project that it belongs to. With ``from_copy`` it runs from the copy that was reviewed, with an
    environment that loads no code. An open command has no ``argv``."""

    project: str
    argv: tuple[str, ...] = ()
    from_copy: bool = False


class CommandHook(HookConfig, frozen=True, kw_only=True, tag="command"):
    """A hook that is a process: it reads the event as JSON on stdin; exit code 2 blocks, and JSON
    on stdout says more."""

    type: ClassVar[str] = "command"

    command: Annotated[
        str,
        key(
            "A shell command, or with args the program to run. $HOOKLINE_PROJECT_DIR is the "
            "project's directory; a relative path is found in the project as well.",
            "$HOOKLINE_PROJECT_DIR/hooks/scan.sh",
            pattern=r"\S",
        ),
    ]
    args: Annotated[
        tuple[str, ...] | None,
        key(
            "The arguments of the program, which is then run without a shell. Variables of "
            "directories such as $HOOKLINE_PROJECT_DIR are put in; nothing else is expanded.",
            ["--strict"],
        ),
    ] = None
    env: Annotated[
        Variables,
        key(
            "Variables for the hook's environment. Values are taken as they are written, without "
            "expansion.",
            {"MODE": "strict"},
            must="a variable's name with a string, neither with NUL",
        ),
    ] = field(default_factory=dict)
    covers: Annotated[
        tuple[str, ...],
        key(
            "More files of the project that a review of this hook covers: paths, where * stands "
            "for part of a name and ** for any folders.",
            ["lib/**"],
        ),
    ] = ()
    warm: Annotated[
        bool,
        key(
            "True keeps a Python interpreter waiting for this script, so that a call takes a "
            "millisecond or two. A command that cannot be kept warm runs as usual, with a warning."
        ),
    ] = False
    background: Annotated[
        bool,
        key(
            "True starts the hook and does not wait for it. What it decides comes too late; what "
            'it says is added to the next turn. It cannot stand beside "onFailure": "block".'
        ),
    ] = field(default=False, name="async")
    rewake: Annotated[
        bool,
        key("True runs the hook as async; its exit code 2 is told to the model.", is_foreign=True),
    ] = field(default=False, name="asyncRewake")
    # The directory of the settings file or extension that the hook comes from.
    directory: str | None = None
    # Where the hook's plugin keeps its files.
    plugin_data: str | None = None
    # What a review found.
    start: ReviewedStart | None = None

    @property
    def is_waited_for(self) -> bool:
        # A hook that fails closed is waited for even if it is async: strict settings make every
        # hook fail closed, and so may an equal hook.
        return not self.background or self.on_failure == "block"

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

    function: HookFunction
    is_async: bool = False
    inline: bool = False

    @property
    def is_inline(self) -> bool:
        """True if a plain function runs where it is called, without a thread of its own: it says
        that it is quick, or it is a guard, which must not depend on a thread that starts."""
        is_guard = self.on_failure == "block" and not self.closed_by_mode
        return not self.is_async and (self.inline or is_guard)

    @property
    def needs_asyncio(self) -> bool:
        return not self.is_inline

    def identity(self) -> object:
        return (self.type, self.name, id(self.function))


class HttpHook(HookConfig, frozen=True, kw_only=True, tag="http"):
    """A hook that is a server: the event is sent to it by POST, and a JSON object in its response
    is the answer. It takes ``pip install 'hookline[http]'``."""

    type: ClassVar[str] = "http"

    url: Annotated[
        str,
        key(
            "Where the event is sent, as JSON by POST. Plain http:// is for this machine, and a "
            "project's hook reaches public addresses alone unless security.privateHookHosts names "
            "the host.",
            "https://policy.example.com/hooks",
            pattern=r"^\s*[hH][tT][tT][pP][sS]?://[^/?#\s]",
        ),
    ]
    headers: Annotated[
        Mapping[str, str],
        key(
            "Headers of the request. $NAME and ${NAME} stand for those variables of the "
            "environment that allowedEnvVars names.",
            {"Authorization": "Bearer $POLICY_TOKEN"},
        ),
    ] = field(default_factory=dict)
    allowed_env: Annotated[
        tuple[str, ...],
        key(
            "The names of the variables that headers may use.",
            ["POLICY_TOKEN"],
            loss="no header gets a variable",
            stray=True,
        ),
    ] = field(default=(), name="allowedEnvVars")
    # Lists of patterns; the URL must match at least one pattern of each list.
    allowed_urls: tuple[tuple[str, ...], ...] = ()

    @property
    def needs_asyncio(self) -> bool:
        return True

    def identity(self) -> object:
        headers = tuple(sorted(self.headers.items()))
        words = (self.type, self.name, self.url, headers, self.allowed_env, self.allowed_urls)
        return (*words, self.dialect, self.dialect_event, self.condition, self.plugin_root)


class PromptHook(HookConfig, frozen=True, kw_only=True, tag="prompt"):
    """A hook that is a question to a model, which answers whether the agent may go on. The program
    that fires events names the model: ``Hooks(judge=…)``."""

    type: ClassVar[str] = "prompt"

    prompt: Annotated[
        str,
        key(
            "The question to the model. $ARGUMENTS stands for the event, which otherwise follows "
            "at the end.",
            "Does this command delete files? $ARGUMENTS",
            pattern=r"\S",
        ),
    ]
    model: Annotated[
        str | None,
        key(
            "The model that the hook was written for. It is for people: the program that fires "
            "events chooses the model."
        ),
    ] = None
    continue_on_block: Annotated[
        bool,
        key(
            "In other dialects, true has a no of the model deny the call instead of ending "
            "the turn. In hookline's own settings a no always denies."
        ),
    ] = False

    @property
    def needs_asyncio(self) -> bool:
        return True

    def identity(self) -> object:
        words = (self.type, self.name, self.prompt, self.model, self.continue_on_block)
        return (*words, self.dialect, self.dialect_event, self.condition, self.plugin_root)


# The hooks that settings may have, by their type.
KINDS: Mapping[str, type[CommandHook | HttpHook | PromptHook]] = {
    "command": CommandHook,
    "http": HttpHook,
    "prompt": PromptHook,
}


class WithheldHook(HookConfig, frozen=True, kw_only=True):
    """Replaces a hook that must answer but may not run: it fails, and says why."""

    type: ClassVar[str] = "withheld"

    why: str

    def identity(self) -> object:
        # Two withheld hooks for different tool calls are not the same hook.
        return (self.type, self.name, self.why, self.dialect_event, self.condition)


class Redaction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which environment variables hooks do not get; the case of names is ignored."""

    enabled: Annotated[
        bool,
        key(
            "True keeps variables from hooks that look secret by their names or values. On a CI "
            "runner this is on, and stricter, whatever is said here.",
            layers=NOT_THE_PROJECT,
            loss="it switches nothing",
        ),
    ] = False
    allowed: Annotated[
        tuple[str, ...],
        key(
            "Names of variables that hooks get all the same, in capitals or not.",
            ["NPM_TOKEN"],
            layers=NOT_THE_PROJECT,
            each=True,
            loss="these variables are redacted",
        ),
    ] = ()
    blocked: Annotated[
        tuple[str, ...],
        key(
            "Names of further variables that hooks do not get, in capitals or not.",
            ["CUSTOMER"],
            layers=NOT_THE_PROJECT,
            each=True,
            loss="these variables are not redacted",
        ),
    ] = ()
