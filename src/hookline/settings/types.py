"""The keys of a settings file, each with its type, its default, the layers that may set it and its
meaning, for editors and for the reference.

The engine reads settings without these types, value by value, so that one mistake costs one hook
and not the file; tests check that the two agree.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from hookline.wire.hooks import DEFAULT_TIMEOUT_MS

EVERY_LAYER = "every layer"
PROJECT_FOR_ITS_OWN = "every layer; a project for its own hooks only"
STRICTER = "every layer; a project once it is trusted"
NOT_THE_PROJECT = "user and system"
SYSTEM_ONLY = "system"


def says(
    meaning: str, *examples: Any, layers: str = EVERY_LAYER, pattern: str | None = None
) -> Meta:
    """Describe a key: its meaning, examples, and the layers that may set it."""
    return Meta(
        description=meaning,
        examples=[*examples] or None,
        pattern=pattern,
        extra_json_schema={"x-layers": layers},
    )


class Hook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What every type of hook has."""

    name: Annotated[
        str | UnsetType,
        says(
            "The name of the hook in lists, logs and reasons, and in hooks.disabled and "
            "hooks.required. A hook without a name is named by its command, address or prompt.",
            "secret-scan",
        ),
    ] = UNSET
    description: Annotated[
        str | UnsetType, says("What the hook is for, in a sentence; `hookline list --json` has it.")
    ] = UNSET
    timeout: Annotated[
        float,
        Meta(
            description="After so many milliseconds the hook is ended and has failed. "
            "A second is 1000.",
            gt=0,
            examples=[5000],
            extra_json_schema={"x-layers": EVERY_LAYER},
        ),
    ] = DEFAULT_TIMEOUT_MS
    on_failure: Annotated[
        Literal["allow", "block"],
        says(
            "What happens when the hook fails to answer: it crashes, takes too long or prints "
            "something unreadable. allow goes on and warns; block blocks the event, and reads the "
            "hook's answer strictly."
        ),
    ] = "allow"
    managed: Annotated[
        bool,
        says(
            "True for a hook that neither the user nor a project can disable. It counts only in "
            "the system's settings.",
            layers=SYSTEM_ONLY,
        ),
    ] = False


class CommandHook(Hook, frozen=True, kw_only=True, tag="command", forbid_unknown_fields=True):
    """A hook that is a process: it reads the event as JSON on stdin; exit code 2 blocks, and JSON
    on stdout says more."""

    command: Annotated[
        str,
        says(
            "A shell command, or with args the program to run. $HOOKLINE_PROJECT_DIR is the "
            "project's directory; a relative path is found in the project as well.",
            "$HOOKLINE_PROJECT_DIR/hooks/scan.sh",
            pattern=r"\S",
        ),
    ]
    args: Annotated[
        list[str] | UnsetType,
        says(
            "The arguments of the program, which is then run without a shell. Variables of "
            "directories such as $HOOKLINE_PROJECT_DIR are put in; nothing else is expanded.",
            ["--strict"],
        ),
    ] = UNSET
    env: Annotated[
        dict[
            Annotated[str, Meta(pattern="^[^=\\x00]+$")],
            Annotated[str, Meta(pattern="^[^\\x00]*$")],
        ],
        says(
            "Variables for the hook's environment. Values are taken as they are written, without "
            "expansion.",
            {"MODE": "strict"},
        ),
    ] = {}
    covers: Annotated[
        list[str],
        says(
            "More files of the project that a review of this hook covers: paths, where * stands "
            "for part of a name and ** for any folders.",
            ["lib/**"],
        ),
    ] = []
    warm: Annotated[
        bool,
        says(
            "True keeps a Python interpreter waiting for this script, so that a call takes a "
            "millisecond or two. A command that cannot be kept warm runs as usual, with a warning."
        ),
    ] = False
    async_: Annotated[
        bool,
        says(
            "True starts the hook and does not wait for it. What it decides comes too late; what "
            'it says is added to the next turn. It cannot stand beside "onFailure": "block".'
        ),
    ] = field(default=False, name="async")


class HttpHook(Hook, frozen=True, kw_only=True, tag="http", forbid_unknown_fields=True):
    """A hook that is a server: the event is sent to it by POST, and a JSON object in its response
    is the answer. It takes ``pip install 'hookline[http]'``."""

    url: Annotated[
        str,
        says(
            "Where the event is sent, as JSON by POST. Plain http:// is for this machine, and a "
            "project's hook reaches public addresses alone unless security.privateHookHosts names "
            "the host.",
            "https://policy.example.com/hooks",
            pattern=r"^\s*[hH][tT][tT][pP][sS]?://[^/?#\s]",
        ),
    ]
    headers: Annotated[
        dict[str, str],
        says(
            "Headers of the request. $NAME and ${NAME} stand for those variables of the "
            "environment that allowedEnvVars names.",
            {"Authorization": "Bearer $POLICY_TOKEN"},
        ),
    ] = {}
    allowed_env_vars: Annotated[
        list[str],
        says("The names of the variables that headers may use.", ["POLICY_TOKEN"]),
    ] = []


class PromptHook(Hook, frozen=True, kw_only=True, tag="prompt", forbid_unknown_fields=True):
    """A hook that is a question to a model, which answers whether the agent may go on. The program
    that fires events names the model: ``Hooks(judge=…)``."""

    prompt: Annotated[
        str,
        says(
            "The question to the model. $ARGUMENTS stands for the event, which otherwise follows "
            "at the end.",
            "Does this command delete files? $ARGUMENTS",
            pattern=r"\S",
        ),
    ]
    model: Annotated[
        str | UnsetType,
        says(
            "The model that the hook was written for. It is for people: the program that fires "
            "events chooses the model."
        ),
    ] = UNSET
    continue_on_block: Annotated[
        bool,
        says(
            "In Claude Code's settings, true has a no of the model deny the call instead of ending "
            "the turn. In hookline's own settings a no always denies."
        ),
    ] = False


_Hook: TypeAlias = CommandHook | HttpHook | PromptHook
KINDS: tuple[type[Hook], ...] = get_args(_Hook)
# A hook that runs in the background cannot block, as the agent does not wait for it.
_WAITED_FOR = {
    "if": {"properties": {"onFailure": {"const": "block"}}, "required": ["onFailure"]},
    "then": {"properties": {"async": {"const": False}}},
}
AnyHook: TypeAlias = Annotated[_Hook, Meta(extra_json_schema=_WAITED_FOR)]


class Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some hooks of an event, and for which tools or triggers they run."""

    matcher: Annotated[
        str | UnsetType | None,
        says(
            "For which events the hooks run: a regular expression that is searched in the name of "
            "the tool, or must be the whole trigger or type of notification. Left out, empty "
            "or *: for all.",
            "write_file|replace",
            "startup",
        ),
    ] = UNSET
    sequential: Annotated[
        bool,
        says(
            "True runs the hooks of the event one after another; on BeforeTool, BeforeModel and "
            "BeforeAgent each then reads what the one before it changed. Otherwise they run side "
            "by side."
        ),
    ] = False
    hooks: Annotated[list[AnyHook], says("The hooks, in the order in which their answers count.")]
    description: Annotated[
        str | UnsetType, says("What these hooks are for; nothing reads it but people.")
    ] = UNSET


class ToolAlias(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool of the agent is in Claude Code."""

    name: Annotated[
        str,
        Meta(
            description="The name of the tool in Claude Code.",
            min_length=1,
            examples=["Bash"],
            extra_json_schema={"x-layers": EVERY_LAYER},
        ),
    ]
    fields: Annotated[
        dict[str, str | Annotated[list[str], Meta(min_length=1)]],
        says(
            "For a field of Claude Code's tool, the name or names that it has in yours.",
            {"command": ["cmd"]},
        ),
    ] = {}
    paths: Annotated[
        list[str] | UnsetType,
        says("The fields that hold a path, by Claude Code's names; hooks read whole paths."),
    ] = UNSET
    also: Annotated[
        list[str] | UnsetType, says("Further names of Claude Code's whose matchers mean this tool.")
    ] = UNSET


class Hooks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The hooks of each event, and which of them run."""

    before_tool: Annotated[
        list[Definition],
        says("Hooks before a tool runs: they may block it, change its input, or ask the user."),
    ] = field(name="BeforeTool", default_factory=list)
    after_tool: Annotated[
        list[Definition],
        says("Hooks after a tool ran: they may reject or replace its result, or add to it."),
    ] = field(name="AfterTool", default_factory=list)
    before_agent: Annotated[
        list[Definition],
        says("Hooks before a turn: they may refuse the user's prompt, or add to it."),
    ] = field(name="BeforeAgent", default_factory=list)
    after_agent: Annotated[
        list[Definition],
        says("Hooks at the end of a turn: they may reject it, so that the agent goes on."),
    ] = field(name="AfterAgent", default_factory=list)
    before_model: Annotated[
        list[Definition],
        says("Hooks before the model is called: they may block the call, change it or answer it."),
    ] = field(name="BeforeModel", default_factory=list)
    after_model: Annotated[
        list[Definition],
        says("Hooks after the model answered: they may discard or change its response."),
    ] = field(name="AfterModel", default_factory=list)
    before_tool_selection: Annotated[
        list[Definition],
        says("Hooks before the model is offered its tools: they may narrow which it may call."),
    ] = field(name="BeforeToolSelection", default_factory=list)
    session_start: Annotated[
        list[Definition],
        says("Hooks when a session starts: they may add context. They cannot block."),
    ] = field(name="SessionStart", default_factory=list)
    session_end: Annotated[
        list[Definition], says("Hooks when a session ends. They cannot block.")
    ] = field(name="SessionEnd", default_factory=list)
    pre_compress: Annotated[
        list[Definition],
        says("Hooks before the history is compressed: they may ask to keep it as it is."),
    ] = field(name="PreCompress", default_factory=list)
    notification: Annotated[
        list[Definition],
        says("Hooks when the agent tells the user something. They cannot block."),
    ] = field(name="Notification", default_factory=list)
    enabled: Annotated[
        bool,
        says("The same as enableHooks, as older settings have it.", layers=PROJECT_FOR_ITS_OWN),
    ] = True
    disabled: Annotated[
        list[str],
        says(
            "The names of hooks that do not run. `hookline disable` and `hookline enable` write "
            "it.",
            ["secret-scan"],
            layers=PROJECT_FOR_ITS_OWN,
        ),
    ] = []
    required: Annotated[
        list[str],
        says(
            "The names of hooks without which no event goes on: while one of them is missing, "
            "disabled or not trusted, every event that can be blocked is blocked. They fail "
            "closed. A bare name means a hook of this layer or of one that is trusted more; "
            "project:NAME names the layer.",
            ["secret-scan"],
            layers=STRICTER,
        ),
    ] = []
    notifications: Annotated[
        bool | UnsetType,
        says("Another program's switch for messages about hooks; hookline does not read it."),
    ] = UNSET
    tools: Annotated[
        dict[str, Annotated[str, Meta(min_length=1)] | ToolAlias] | list[str],
        says(
            "What the agent's tools are called in Claude Code, for hooks of Claude Code's "
            "settings: a name, or an object for a tool whose fields are called otherwise. A list "
            "has names alone.",
            {"shell": {"name": "Bash", "fields": {"command": ["cmd"]}}},
            layers="every layer; a project cannot change a tool that is known",
        ),
    ] = {}


class HooksConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The switches of hooks, as newer settings of Gemini CLI and LLxprt Code have them."""

    enabled: Annotated[bool, says("The same as enableHooks.", layers=PROJECT_FOR_ITS_OWN)] = True
    disabled: Annotated[
        list[str], says("The same as hooks.disabled.", layers=PROJECT_FOR_ITS_OWN)
    ] = []
    notifications: Annotated[
        bool | UnsetType,
        says("Another program's switch for messages about hooks; hookline does not read it."),
    ] = UNSET


class Hookline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What hookline does beside running hooks."""

    trace: Annotated[
        bool,
        says(
            "True writes down what every hook read, answered and took, for `hookline trace`. A "
            "project cannot ask for it.",
            layers=NOT_THE_PROJECT,
        ),
    ] = False


class Redaction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which variables of the environment are kept from hooks."""

    enabled: Annotated[
        bool,
        says(
            "True keeps variables from hooks that look secret by their names or values. On a CI "
            "runner this is on, and stricter, whatever is said here.",
            layers=NOT_THE_PROJECT,
        ),
    ] = False
    allowed: Annotated[
        list[str],
        says(
            "Names of variables that hooks get all the same, in capitals or not.",
            ["NPM_TOKEN"],
            layers=NOT_THE_PROJECT,
        ),
    ] = []
    blocked: Annotated[
        list[str],
        says(
            "Names of further variables that hooks do not get, in capitals or not.",
            ["CUSTOMER"],
            layers=NOT_THE_PROJECT,
        ),
    ] = []


class Security(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """What hooks get to see and where they reach; a project has no say in it."""

    environment_variable_redaction: Annotated[
        Redaction | UnsetType,
        says(
            "Which variables of the environment are kept from hooks. The system's word stands; "
            "the user may only block more.",
            layers=NOT_THE_PROJECT,
        ),
    ] = UNSET
    private_hook_hosts: Annotated[
        list[str],
        says(
            "Hosts in a private network, or on this machine, that http hooks of a project may be "
            "sent to.",
            ["policy.corp"],
            layers=NOT_THE_PROJECT,
        ),
    ] = []


class Tools(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the agent's tools are in Claude Code, as in hooks.tools; LLxprt Code's settings have a
    switch among them."""

    enable_hooks: Annotated[
        bool,
        says("The same as enableHooks at the top.", layers=PROJECT_FOR_ITS_OWN),
    ] = True


class Settings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """A settings file of hookline: which hooks run on which events of an agent."""

    schema: Annotated[
        str | UnsetType,
        says(
            "Where an editor finds the description of this file, such as the one beside it that "
            "`hookline init` writes.",
            "./settings.schema.json",
        ),
    ] = field(name="$schema", default=UNSET)
    enable_hooks: Annotated[
        bool,
        says(
            "False runs no hooks. A project disables only its own hooks.",
            layers=PROJECT_FOR_ITS_OWN,
        ),
    ] = True
    hooks: Annotated[Hooks | UnsetType, says("The hooks of each event, and which of them run.")] = (
        UNSET
    )
    hooks_config: Annotated[
        HooksConfig | UnsetType,
        says("The switches of hooks, as newer settings of Gemini CLI and LLxprt Code have them."),
    ] = UNSET
    strict: Annotated[
        bool,
        says(
            "True blocks an event whenever its hooks could not all answer: one failed, settings "
            "cannot be read, or a project's hook is not trusted. No layer can take it back.",
            layers=STRICTER,
        ),
    ] = False
    hookline: Annotated[Hookline | UnsetType, says("What hookline does beside running hooks.")] = (
        UNSET
    )
    security: Annotated[
        Security | UnsetType,
        says("What hooks get to see and where they reach.", layers=NOT_THE_PROJECT),
    ] = UNSET
    tools: Annotated[
        list[str] | Tools | UnsetType,
        says(
            "The agent's own tools, so that `hookline check` knows which names a matcher can "
            "meet: a list of names, or an object of what each is called in Claude Code, as in "
            "hooks.tools.",
            ["crm_lookup"],
            {"crm_lookup": "WebFetch"},
        ),
    ] = UNSET
    claude: Annotated[
        bool | UnsetType,
        says(
            "True reads Claude Code's settings as well: the project's, the user's and the managed "
            "ones. A project asks for its own alone, and not where the user or the system says "
            "false.",
            layers="every layer; a project for its own file only",
        ),
    ] = UNSET
    plugins: Annotated[
        list[str],
        says(
            "Folders of Claude Code's plugins, whose hooks run as hooks of the layer that names "
            "them. A project names them from its directory, others from their settings file.",
            ["./plugins/guard"],
        ),
    ] = []


def keys_of(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the keys that an object of that type may have."""
    return frozenset(kind.__struct_encode_fields__)


def find_sections(
    kind: type[msgspec.Struct] = Settings, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], type[msgspec.Struct]]]:
    """Yield the objects in the settings that have a fixed set of keys, except the hooks: the path
    to each, and its type."""
    hints = get_type_hints(kind)
    for name, key in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        for each in get_args(hints[name]):
            is_section = isinstance(each, type) and issubclass(each, msgspec.Struct)
            if is_section and each is not Hooks and each.__struct_config__.forbid_unknown_fields:
                yield (*path, key), each
                yield from find_sections(each, (*path, key))
