"""The page of the Python API: what each name is for, and where mkdocstrings documents it."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tools.reference.finding import SOURCE
from tools.reference.markdown import code, fence, page, table


class Group(NamedTuple):
    """Names that are used together; those without a module are in ``hookline``."""

    heading: str
    tells: str
    names: Sequence[str]
    # True if the members of classes are documented as well.
    with_members: bool = True


_GROUPS = (
    Group(
        "Make hooks",
        "`Hooks.load()` reads the settings on disk, `Hooks()` none. Every method is async; "
        "`hooks.sync` has the same methods for code without asyncio.",
        (
            "Hooks",
            *("Hooks.load", "Hooks.of", "Hooks.config", "Hooks.session", "Hooks.sync"),
            *("Hooks.close", "HookSession", "SyncHooks"),
        ),
        with_members=False,
    ),
    Group(
        "Register a function",
        "A function hook gets the event as a dictionary and returns an answer, or None.",
        ("Hooks.on",),
    ),
    Group(
        "Guard tools",
        "`wrap` is for a function, the others for a loop that calls tools by name.",
        (
            *("Hooks.wrap", "Hooks.call_tool", "Hooks.run_tool", "Hooks.tool_gate"),
            "Hooks.resume_gate",
            *("ToolGate", "ToolResult", "ToolError", "Deferred"),
        ),
    ),
    Group(
        "Guard calls of a model",
        "`model_call` takes the place of the client's own method.",
        ("Hooks.model_call", "Hooks.model_gate"),
    ),
    Group(
        "Fire an event",
        "Each gives an `Answer`. None of them raises.",
        (
            *("Hooks.before_tool", "Hooks.after_tool", "Hooks.before_agent", "Hooks.after_agent"),
            *("Hooks.before_model", "Hooks.after_model", "Hooks.before_tool_selection"),
            *("Hooks.session_start", "Hooks.session_end", "Hooks.pre_compress"),
            *("Hooks.notification", "Hooks.fire", "Hooks.fire_claude_event"),
        ),
    ),
    Group(
        "Ask about hooks",
        "For adapters, which spare themselves what no hook wants.",
        (
            *("Hooks.may_answer", "Hooks.may_skip", "Hooks.is_off", "Hooks.is_strict"),
            *("Hooks.names_of_hooks", "Hooks.warn"),
        ),
    ),
    Group("Answer", "What an agent should do after an event.", ("Answer", "ProcessedHookResult")),
    Group(
        "Replies",
        "What a function hook returns, without writing the dictionary.",
        (
            *("allow", "deny", "ask", "stop", "rewrite", "add_context", "replace_result"),
            *("replace_answer", "map_text", "only_tools", "message", "combine", "Reply"),
        ),
    ),
    Group(
        "Events",
        "The types of what a function hook gets, for type checkers; "
        "[events](events/index.md) has every field.",
        (
            *("BeforeToolEvent", "AfterToolEvent", "BeforeAgentEvent", "AfterAgentEvent"),
            *("BeforeModelEvent", "AfterModelEvent", "BeforeToolSelectionEvent"),
            *("SessionStartEvent", "SessionEndEvent", "PreCompressEvent", "NotificationEvent"),
        ),
        with_members=False,
    ),
    Group(
        "Errors",
        "All are `HooklineError`. Their codes: [failures](failures.md#codes-of-errors).",
        (
            *("HooklineError", "BlockedByHook", "StoppedByHook", "InvalidHookError"),
            *("InvalidPayloadError", "UnknownEventError", "TranslationError", "NoFolderError"),
            "HookSystemNotInitializedError",
        ),
        with_members=False,
    ),
    Group(
        "Configuration",
        "The options of `Hooks(…)` and `Hooks.load(…)`, and what some of them take. `Config` takes "
        "the same ones.",
        (
            *("hookline.engine.options.Options", "hookline.engine.options.LoadOptions"),
            *("Config", "RunLimits", "Redaction", "ToolAlias", "Judge"),
        ),
    ),
    Group(
        "The engine",
        "Below the front: for hosts that want the parts.",
        (
            *("HookSystem", "HookEventHandler", "HookEventName", "SessionStartSource"),
            *("SessionEndReason", "PreCompressTrigger", "AggregatedHookResult"),
            *("HookExecutionResult", "HookError", "HookTranslator", "TranscriptWriter"),
            *("DebugLogger", "MessageBus", "InProcessMessageBus", "__version__"),
        ),
    ),
    Group(
        "An agent",
        "A small agent that applies hooks at every step, for several makers' models: "
        "[agents](../agents.md#the-loop-that-is-there-already).",
        (
            *("hookline.agent.Agent", "hookline.agent.Chat", "hookline.agent.ToolScheduler"),
            *("hookline.agent.Tool", "hookline.agent.OpenAIProvider"),
            *("hookline.agent.AnthropicProvider", "hookline.agent.GenAIProvider"),
            "hookline.agent.ScriptedProvider",
        ),
        with_members=False,
    ),
    Group(
        "Testing",
        "Hook tests are data, and run in pytest too: [test a hook](../hook-tests.md). The last "
        "is for people who write an engine:",
        (
            "hookline.testing.plugin.hooks",
            "hookline.testing.plugin.load_hooks",
            "hookline.testing.plugin.CheckedHooks",
            "hookline.testing.conformance.main",
        ),
        with_members=False,
    ),
)
_GUIDES = {
    "langchain": "langchain.md",
    "pydantic_ai": "pydantic-ai.md",
    "openai_agents": "openai-agents.md",
    "adk": "adk.md",
    "claude_agent": "claude-agent.md",
    "strands": "strands.md",
    "genai": "genai.md",
}


def render() -> str:
    parts = [part for group in _GROUPS for part in _render_group(group)]
    adapters = find_adapters()
    return page(
        "Python API",
        "Import the names below from `hookline`; where another module is named, from there.",
        fence(
            "python",
            "from hookline import BeforeToolEvent, Hooks, Reply, deny\n\n"
            "hooks = Hooks()\n\n\n"
            '@hooks.on("BeforeTool", matcher="run_shell_command")\n'
            "def no_rm(event: BeforeToolEvent) -> Reply | None:\n"
            '    return deny("nothing is deleted here") if "rm " in str(event) else None\n\n\n'
            "answer = hooks.sync.before_tool("
            '"run_shell_command", {"command": "rm x"})\n'
            "print(answer.blocked, answer.reason)",
        ),
        fence("output", "True nothing is deleted here"),
        *parts,
        "## Adapters",
        "Each is a module of its own, and needs its framework: `pip install 'hookline[EXTRA]'`.",
        table(
            ("import from", "names", "guide"),
            [
                (
                    code(f"hookline.adapters.{name}"),
                    ", ".join(code(public) for public in names),
                    f"[{_GUIDES[name].removesuffix('.md')}](../{_GUIDES[name]})",
                )
                for name, names in adapters.items()
            ],
        ),
        *(
            _directive(path, with_members=False)
            for names in adapters.values()
            for path in names.values()
        ),
    )


def find_adapters() -> dict[str, dict[str, str]]:
    """The public names of each adapter, and where each is defined; read without importing, which
    would need the frameworks."""
    found: dict[str, dict[str, str]] = {}
    for name in _GUIDES:
        source = SOURCE / "adapters" / name / "__init__.py"
        found[name] = {
            alias.name: f"{node.module}.{alias.name}"
            for node in ast.parse(source.read_bytes()).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.asname == alias.name
        }
    return found


def list_names() -> Iterator[str]:
    """Every name on the page except those of adapters, as users import it."""
    for group in _GROUPS:
        for name in group.names:
            yield name if name.startswith("hookline.") else f"hookline.{name}"


def find(name: str) -> Any:
    """Return the object of a name such as ``hookline.Hooks.load``."""
    module, _, rest = name.partition(".")
    found: Any = importlib.import_module(module)
    for part in filter(None, rest.split(".")):
        if inspect.ismodule(found) and not hasattr(found, part):
            found = importlib.import_module(f"{found.__name__}.{part}")
        else:
            found = getattr(found, part)
    return found


def _render_group(group: Group) -> Iterator[str]:
    yield f"## {group.heading}"
    yield group.tells
    rows = []
    for name in group.names:
        whole = name if name.startswith("hookline.") else f"hookline.{name}"
        rows.append((code(name), _summarize(find(whole))))
    yield table(("name", "what it is"), rows)
    for name in group.names:
        if path := _home(name if name.startswith("hookline.") else f"hookline.{name}"):
            yield _directive(path, with_members=group.with_members and "." not in name)


def _directive(path: str, *, with_members: bool) -> str:
    members = "" if with_members else "\n      members: false"
    return f"::: {path}\n    options:\n      heading_level: 3{members}"


def _home(name: str) -> str:
    """The module that defines a name, "" for a plain value; mkdocstrings reads it there."""
    owner, _, last = name.rpartition(".")
    holder, found = find(owner), find(name)
    if inspect.isclass(holder):
        defined = next(each for each in holder.__mro__ if last in vars(each))
        return f"{defined.__module__}.{defined.__qualname__}.{last}"
    return f"{found.__module__}.{last}" if hasattr(found, "__module__") else ""


def _summarize(found: Any) -> str:
    """The first sentence of its documentation."""
    if isinstance(found, str):
        return "The version."
    text = inspect.getdoc(found) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    first = re.split(r"(?<=[.])\s", first)[0]
    return first.replace("``", "`")
