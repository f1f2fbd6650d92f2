"""The keys of a settings file: each is declared here, or with the hooks in ``wire/hooks.py``.

These types read the file, make its JSON Schema and the reference, and are what ``hookline check``
knows as keys. A key is declared with its type, its default, the layers that may set it, its meaning
and what happens without it.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from hookline.settings.jsonc import Path
from hookline.wire.events import HookEventName
from hookline.wire.hooks import (
    NOT_THE_PROJECT,
    PROJECT_FOR_ITS_OWN,
    STRICTER,
    CommandHook,
    HttpHook,
    PromptHook,
    Redaction,
    key,
    keys_of,
)

# A hook that runs in the background cannot block, as the agent does not wait for it.
_WAITED_FOR = {
    "if": {"properties": {"onFailure": {"const": "block"}}, "required": ["onFailure"]},
    "then": {"properties": {"async": {"const": False}}},
}
AnyHook: TypeAlias = Annotated[
    CommandHook | HttpHook | PromptHook, Meta(extra_json_schema=_WAITED_FOR)
]
# Where settings say whether hooks run at all, and which do not.
SWITCHES: tuple[Path, ...] = (
    *(("enableHooks",), ("hooksConfig", "enabled"), ("hooks", "enabled")),
    ("tools", "enableHooks"),
)
DISABLED_NAMES: tuple[Path, ...] = (("hooks", "disabled"), ("hooksConfig", "disabled"))
# Where settings declare the host's tools; the first counts.
TOOLS: tuple[Path, ...] = (("tools",), ("hooks", "tools"))


class Section(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """An object of the settings. Other programs have keys of their own in one that
    ``is_shared``."""

    is_shared: ClassVar[bool] = False


class Definition(Section, frozen=True, kw_only=True):
    """Some hooks of an event, and for which tools or triggers they run."""

    matcher: Annotated[
        str | UnsetType | None,
        key(
            "For which events the hooks run: a regular expression that is searched in the name of "
            "the tool, or must be the whole trigger or type of notification. Left out, empty "
            "or *: for all.",
            "write_file|replace",
            "startup",
            loss="the hooks run for every name",
            stray=True,
        ),
    ] = UNSET
    sequential: Annotated[
        bool,
        key(
            "True runs the hooks of the event one after another; on BeforeTool, BeforeModel and "
            "BeforeAgent each then reads what the one before it changed. Otherwise they run side "
            "by side.",
            loss="no hook sees what the one before it changed",
            stray=True,
        ),
    ] = False
    hooks: Annotated[
        list[AnyHook],
        key(
            "The hooks, in the order in which their answers count.",
            loss="no hook in it runs",
            in_parts=True,
        ),
    ]
    description: Annotated[
        str | UnsetType,
        key("What these hooks are for; nothing reads it but people.", in_parts=True),
    ] = UNSET


class ToolNames(Section, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool of the agent is in Claude Code."""

    must: ClassVar[str] = 'the name of a tool of Claude Code\'s, or an object with its "name"'

    name: Annotated[
        str,
        key("The name of the tool in Claude Code.", "Bash"),
        Meta(min_length=1),
    ]
    fields: Annotated[
        dict[str, str | Annotated[list[str], Meta(min_length=1)]],
        key(
            "For a field of Claude Code's tool, the name or names that it has in yours.",
            {"command": ["cmd"]},
            must="a list of names",
        ),
    ] = {}
    paths: Annotated[
        list[str] | UnsetType,
        key(
            "The fields that hold a path, by Claude Code's names; hooks read whole paths.",
            each=True,
        ),
    ] = UNSET
    also: Annotated[
        list[str] | UnsetType,
        key("Further names of Claude Code's whose matchers mean this tool.", each=True),
    ] = UNSET


def _event(meaning: str) -> Meta:
    return key(meaning, in_parts=True)


class HooksSection(Section, frozen=True, kw_only=True):
    """The hooks of each event, and which of them run."""

    spoken: ClassVar[str] = "hooks"

    before_tool: Annotated[
        list[Definition],
        _event("Hooks before a tool runs: they may block it, change its input, or ask the user."),
    ] = field(name="BeforeTool", default_factory=list)
    after_tool: Annotated[
        list[Definition],
        _event("Hooks after a tool ran: they may reject or replace its result, or add to it."),
    ] = field(name="AfterTool", default_factory=list)
    before_agent: Annotated[
        list[Definition],
        _event("Hooks before a turn: they may refuse the user's prompt, or add to it."),
    ] = field(name="BeforeAgent", default_factory=list)
    after_agent: Annotated[
        list[Definition],
        _event("Hooks at the end of a turn: they may reject it, so that the agent goes on."),
    ] = field(name="AfterAgent", default_factory=list)
    before_model: Annotated[
        list[Definition],
        _event(
            "Hooks before the model is called: they may block the call, change it or answer it."
        ),
    ] = field(name="BeforeModel", default_factory=list)
    after_model: Annotated[
        list[Definition],
        _event("Hooks after the model answered: they may discard or change its response."),
    ] = field(name="AfterModel", default_factory=list)
    before_tool_selection: Annotated[
        list[Definition],
        _event("Hooks before the model is offered its tools: they may narrow which it may call."),
    ] = field(name="BeforeToolSelection", default_factory=list)
    session_start: Annotated[
        list[Definition],
        _event("Hooks when a session starts: they may add context. They cannot block."),
    ] = field(name="SessionStart", default_factory=list)
    session_end: Annotated[
        list[Definition], _event("Hooks when a session ends. They cannot block.")
    ] = field(name="SessionEnd", default_factory=list)
    pre_compress: Annotated[
        list[Definition],
        _event("Hooks before the history is compressed: they may ask to keep it as it is."),
    ] = field(name="PreCompress", default_factory=list)
    notification: Annotated[
        list[Definition],
        _event("Hooks when the agent tells the user something. They cannot block."),
    ] = field(name="Notification", default_factory=list)
    enabled: Annotated[
        bool | UnsetType,
        key(
            "The same as enableHooks, as older settings have it.",
            default=True,
            layers=PROJECT_FOR_ITS_OWN,
            loss="it switches nothing",
            stray=True,
        ),
    ] = UNSET
    disabled: Annotated[
        tuple[str, ...],
        key(
            "The names of hooks that do not run. `hookline disable` and `hookline enable` write "
            "it.",
            ["secret-scan"],
            layers=PROJECT_FOR_ITS_OWN,
            each=True,
            loss="it disables no hook",
            stray=True,
        ),
    ] = ()
    required: Annotated[
        tuple[str, ...],
        key(
            "The names of hooks without which no event goes on: while one of them is missing, "
            "disabled or not trusted, every event that can be blocked is blocked. They fail "
            "closed. A bare name means a hook of this layer or of one that is trusted more; "
            "project:NAME names the layer.",
            ["secret-scan"],
            layers=STRICTER,
            each=True,
            loss="the agent goes on without these hooks",
            stray=True,
        ),
    ] = ()
    notifications: Annotated[
        bool | UnsetType,
        key(
            "Another program's switch for messages about hooks; hookline does not read it.",
            in_parts=True,
        ),
    ] = UNSET
    tools: Annotated[
        dict[str, Annotated[str, Meta(min_length=1)] | ToolNames] | list[str],
        key(
            "What the agent's tools are called in Claude Code, for hooks of Claude Code's "
            "settings: a name, or an object for a tool whose fields are called otherwise. A list "
            "has names alone.",
            {"shell": {"name": "Bash", "fields": {"command": ["cmd"]}}},
            layers="every layer; a project cannot change a tool that is known",
            in_parts=True,
        ),
    ] = {}


# The keys of ``hooks`` that are no events.
RESERVED_KEYS = frozenset(keys_of(HooksSection)) - {event.value for event in HookEventName}


class HooksConfig(Section, frozen=True, kw_only=True):
    """The switches of hooks, as newer settings of Gemini CLI and LLxprt Code have them."""

    enabled: Annotated[
        bool | UnsetType,
        key(
            "The same as enableHooks.",
            default=True,
            layers=PROJECT_FOR_ITS_OWN,
            loss="it switches nothing",
        ),
    ] = UNSET
    disabled: Annotated[
        tuple[str, ...],
        key(
            "The same as hooks.disabled.",
            layers=PROJECT_FOR_ITS_OWN,
            each=True,
            loss="it disables no hook",
        ),
    ] = ()
    notifications: Annotated[
        bool | UnsetType,
        key(
            "Another program's switch for messages about hooks; hookline does not read it.",
            in_parts=True,
        ),
    ] = UNSET


class HooklineSection(Section, frozen=True, kw_only=True):
    """What hookline does beside running hooks."""

    spoken: ClassVar[str] = "hookline"

    trace: Annotated[
        bool | UnsetType,
        key(
            "True writes down what every hook read, answered and took, for `hookline trace`. A "
            "project cannot ask for it.",
            default=False,
            layers=NOT_THE_PROJECT,
        ),
    ] = UNSET


class Security(Section, frozen=True, kw_only=True):
    """What hooks get to see and where they reach; a project has no say in it."""

    is_shared: ClassVar[bool] = True

    environment_variable_redaction: Annotated[
        Redaction | UnsetType,
        key(
            "Which variables of the environment are kept from hooks. The system's word stands; "
            "the user may only block more.",
            layers=NOT_THE_PROJECT,
            loss="the environment of hooks is not redacted",
        ),
    ] = UNSET
    private_hook_hosts: Annotated[
        tuple[str, ...],
        key(
            "Hosts in a private network, or on this machine, that http hooks of a project may be "
            "sent to.",
            ["policy.corp"],
            layers=NOT_THE_PROJECT,
            each=True,
            loss="a project's hooks reach no private host",
        ),
    ] = ()


class ToolsSection(Section, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What the agent's tools are in Claude Code, as in hooks.tools; LLxprt Code's settings have a
    switch among them."""

    spoken: ClassVar[str] = "tools"
    is_shared: ClassVar[bool] = True

    enable_hooks: Annotated[
        bool | UnsetType,
        key(
            "The same as enableHooks at the top.",
            default=True,
            layers=PROJECT_FOR_ITS_OWN,
            loss="it switches nothing",
        ),
    ] = UNSET


class Settings(Section, frozen=True, kw_only=True):
    """A settings file of hookline: which hooks run on which events of an agent."""

    is_shared: ClassVar[bool] = True

    schema: Annotated[
        str | UnsetType,
        key(
            "Where an editor finds the description of this file, such as the one beside it that "
            "`hookline init` writes.",
            "./settings.schema.json",
            in_parts=True,
        ),
    ] = field(name="$schema", default=UNSET)
    enable_hooks: Annotated[
        bool | UnsetType,
        key(
            "False runs no hooks. A project disables only its own hooks.",
            default=True,
            layers=PROJECT_FOR_ITS_OWN,
            loss="it switches nothing",
        ),
    ] = UNSET
    hooks: Annotated[
        HooksSection | UnsetType,
        key(
            "The hooks of each event, and which of them run.",
            loss="no hook in it runs",
            in_parts=True,
        ),
    ] = UNSET
    hooks_config: Annotated[
        HooksConfig | UnsetType,
        key(
            "The switches of hooks, as newer settings of Gemini CLI and LLxprt Code have them.",
            loss="it switches nothing",
        ),
    ] = UNSET
    strict: Annotated[
        bool,
        key(
            "True blocks an event whenever its hooks could not all answer: one failed, settings "
            "cannot be read, or a project's hook is not trusted. No layer can take it back.",
            layers=STRICTER,
            loss="a hook that cannot answer lets the agent go on",
            stray=True,
        ),
    ] = False
    hookline: Annotated[
        HooklineSection | UnsetType, key("What hookline does beside running hooks.")
    ] = UNSET
    security: Annotated[
        Security | UnsetType,
        key(
            "What hooks get to see and where they reach.",
            layers=NOT_THE_PROJECT,
            loss="the environment of hooks is not redacted",
        ),
    ] = UNSET
    tools: Annotated[
        list[str] | ToolsSection | UnsetType,
        key(
            "The agent's own tools, so that `hookline check` knows which names a matcher can "
            "meet: a list of names, or an object of what each is called in Claude Code, as in "
            "hooks.tools.",
            ["crm_lookup"],
            {"crm_lookup": "WebFetch"},
            in_parts=True,
        ),
    ] = UNSET
    foreign: Annotated[
        bool | UnsetType,
        key(
            "True reads Claude Code's settings as well: the project's, the user's and the managed "
            "ones. A project asks for its own alone, and not where the user or the system says "
            "false.",
            layers="every layer; a project for its own file only",
            loss="it switches nothing",
        ),
    ] = field(default=UNSET, name="claude")
    plugins: Annotated[
        tuple[str, ...],
        key(
            "Folders of Claude Code's plugins, whose hooks run as hooks of the layer that names "
            "them. A project names them from its directory, others from their settings file.",
            ["./plugins/guard"],
            each=True,
            loss="no hook of a plugin runs",
        ),
    ] = ()


def find_sections(
    kind: type[msgspec.Struct] = Settings, path: Path = ()
) -> Iterator[tuple[Path, type[msgspec.Struct]]]:
    """Yield the objects in the settings that are read as a whole: the path to each, and its
    type."""
    for name, declared in keys_of(kind).items():
        if declared.section is not None and not declared.rules.in_parts:
            yield (*path, name), declared.section
            yield from find_sections(declared.section, (*path, name))
