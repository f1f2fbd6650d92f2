"""The names of the contract over the engine: ``Config``, ``HookSystem``, ``HookEventHandler`` and
the functions that an agent loop calls.

Programs that need no such names use ``hookline.Hooks``. Methods that fire events raise nothing but
cancellation, which kills running hooks; the trigger functions return a safe default if the engine
fails. Requests and responses of a model are in the SDK's form, in and out.
"""

import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import msgspec

from hookline._support.problem import Problem
from hookline.calls.question import ToolNotification as ToolNotification
from hookline.calls.question import describe_command as describe_command
from hookline.calls.question import tool_notification as tool_notification
from hookline.calls.tool import (
    Confirm,
    Execute,
    ToolCall,
    ToolInput,
    complete,
    make_call_id,
    run_call,
)
from hookline.calls.tool import ConfirmationRequest as ConfirmationRequest
from hookline.calls.tool import ToolError as ToolError
from hookline.calls.tool import ToolResult as ToolResult
from hookline.engine.engine import Engine, ReloadReport, read_hook
from hookline.engine.options import HookOptions, LoadOptions, Options, PathLike, takes
from hookline.engine.project import Project
from hookline.engine.view import EngineView
from hookline.errors import HookSystemNotInitializedError
from hookline.pipeline.answer import Answer
from hookline.pipeline.modelcall import find_sent_tools
from hookline.pipeline.registry import HookRegistry, HookRegistryEntry
from hookline.settings.reader import EffectiveSettings
from hookline.trace.records import DebugLogger
from hookline.wire.events import (
    EventName,
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
)
from hookline.wire.hooks import HookFunction, HookSource
from hookline.wire.outputs import BeforeToolSelectionHookOutput, DefaultHookOutput

if TYPE_CHECKING:
    from typing import Unpack

    from hookline.bus.messages import MessageBus
    from hookline.translate import HookTranslator

P = ParamSpec("P")
F = TypeVar("F", bound=HookFunction)
RunTool: TypeAlias = Callable[[str, ToolInput], Awaitable[Any] | Any]


class Config:
    """The configuration of one agent, and the owner of its hook system; the options are those of
    ``Hooks``."""

    @takes(Options)
    def __init__(self, **options: Any) -> None:
        self._bind(Engine(Project(Options(**options))))

    @classmethod
    @takes(LoadOptions)
    def load(cls, directory: PathLike | None = None, **options: Any) -> "Config":
        """Read the configuration of a directory from the settings layers on disk.

        The project is found from the directory unless ``project_dir`` names it. Raises
        NoFolderError if there is no such directory.
        """
        return cls.of(Engine(Project.load(directory, **options)))

    @classmethod
    def of(cls, engine: Engine) -> "Config":
        """Return the configuration of an engine."""
        config = cls.__new__(cls)
        config._bind(engine)
        return config

    def _bind(self, engine: Engine) -> None:
        self.engine: Engine = engine
        self.project: Project = engine.project
        self._system: HookSystem | None = None
        self._lock = threading.Lock()

    def get_hook_system(self) -> "HookSystem | None":
        """Return the one hook system, created on first use; None when hooks are disabled."""
        if self.project.is_off():
            return None
        with self._lock:
            if self._system is None:
                self._system = HookSystem.of(self.engine)
            return self._system

    def register_hook(
        self, event: str | EventName, hook: HookFunction, **options: "Unpack[HookOptions]"
    ) -> None:
        """Register a function as a hook; this reads no settings. Raises UnknownEventError or
        InvalidHookError at once."""
        self.engine.add_hook(read_hook(event, hook, **options))

    def dispose(self) -> None:
        """End helper processes, and async hooks that still run; calls under way finish."""
        self.engine.dispose()

    def get_session_id(self) -> str:
        """Return the id of the session that events belong to."""
        return self.project.get_session_id()

    def get_working_dir(self) -> str:
        """Return the directory that hooks run in."""
        return self.project.working_dir

    def get_target_dir(self) -> str:
        """Return the directory that the agent works on; hooks do not read it."""
        return self.project.target_dir

    def get_project_dir(self) -> str:
        """Return the directory that the project's settings are in."""
        return self.project.project_dir

    def get_transcript_path(self) -> str:
        """Return the path of the transcript, "" if there is none."""
        return self.project.options.transcript_path

    def get_enable_hooks(self) -> bool:
        """True if hooks may run; code, the user and the system can switch all of them off."""
        return not self.project.is_off()

    def is_strict(self) -> bool:
        """True if an event is blocked whenever one of its hooks could not answer; code, the
        environment and any settings that were read can ask for it."""
        return self.project.in_force.strict

    def is_trusted_folder(self) -> bool:
        """True if all of the project's hooks may run."""
        return self.project.is_trusted()

    def get_message_bus(self) -> "MessageBus | None":
        """Return the bus whose requests the hook system serves, None if it serves none."""
        return self.project.options.message_bus

    def get_debug_logger(self) -> DebugLogger:
        """Return the logger that records what hooks did."""
        return self.project.get_log()

    def get_translator(self) -> "HookTranslator":
        """Return the translator between the model SDK's types and what hooks read."""
        return self.project.get_translator()

    def get_settings(self) -> EffectiveSettings:
        """Return the settings as they were last read; the first call reads them."""
        return self.project.get_settings()


class HookSystemStatus(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """Says whether the system is initialized, and how many hooks it has. ``unchecked`` counts the
    events that went on without the hooks of a worker, by the code of the outage."""

    initialized: bool
    total_hooks: int
    unchecked: dict[str, int] = {}


class HookSystem:
    """One registry, planner, runner, aggregator and event handler, for any number of threads and
    event loops at once. ``async with`` initializes and disposes it.

    ``message_bus``, ``debug_logger`` and ``translator`` replace those of the configuration. With
    ``watch`` it reloads when a settings file changes; that needs the extra ``watch``.
    ``on_reload`` is called with the report of each such reload, from the watch's own thread.
    ``accept`` returns why settings must not be used, None if they may; if it refuses them,
    ``initialize()`` raises SettingsRefusedError, and a reload keeps the current hooks.
    """

    def __init__(
        self,
        config: Config,
        *,
        message_bus: "MessageBus | None" = None,
        debug_logger: DebugLogger | None = None,
        translator: "HookTranslator | None" = None,
        watch: bool = False,
        on_reload: Callable[[ReloadReport], object] | None = None,
        accept: Callable[[EffectiveSettings], str | None] = lambda _settings: None,
    ) -> None:
        self._bind(
            Engine(
                config.project,
                message_bus=message_bus,
                debug_logger=debug_logger,
                translator=translator,
                watch=watch,
                on_reload=on_reload,
                accept=accept,
            )
        )

    @classmethod
    def of(cls, engine: Engine) -> "HookSystem":
        """Return the hook system of an engine."""
        system = cls.__new__(cls)
        system._bind(engine)
        return system

    def _bind(self, engine: Engine) -> None:
        engine.open()
        self.engine: Engine = engine
        self._handler = HookEventHandler(engine)

    async def initialize(self) -> None:
        """Load the hooks, once, and again after a new review of the project; concurrent callers
        wait until they are loaded."""
        self.engine.load()

    def initialize_blocking(self) -> None:
        """Do what ``initialize()`` does, for synchronous callers."""
        self.engine.load()

    async def reload(self) -> ReloadReport:
        """Read the settings again and replace the hooks in one step; events under way finish with
        the old ones."""
        return self.engine.reload()

    def reload_blocking(self) -> ReloadReport:
        """Do what ``reload()`` does, for synchronous callers."""
        return self.engine.reload()

    def get_event_handler(self) -> "HookEventHandler":
        """Return the event handler; raises HookSystemNotInitializedError before
        ``initialize()``."""
        self._require_initialized()
        return self._handler

    def get_registry(self) -> HookRegistry:
        """Return the registry; raises HookSystemNotInitializedError before ``initialize()``."""
        self._require_initialized()
        return self.engine.registry

    def get_all_hooks(self) -> tuple[HookRegistryEntry, ...]:
        """Return every hook, enabled or not, in the order of registration."""
        return self.get_registry().get_all_hooks()

    def get_problems(self) -> tuple[Problem, ...]:
        """Return the problems of the settings as they were last read."""
        return self.engine.problems

    def get_status(self) -> HookSystemStatus:
        """Return whether the system is initialized, how many hooks it has, and how many events
        went on without the hooks of a worker."""
        engine = self.engine
        return HookSystemStatus(engine.is_loaded, engine.registry.count(), engine.count_unchecked())

    def set_hook_enabled(self, name: str, enabled: bool) -> int:
        """Switch every hook of that name on or off, and return how many there are; managed hooks
        stay on."""
        changed = self.get_registry().set_hook_enabled(name, enabled)
        if not changed:
            switched = "enabled" if enabled else "disabled"
            self.engine.warn(f"no hook named {name!r} can be {switched}")
        return changed

    def register_hook(
        self,
        event: str | EventName,
        hook: HookFunction | Mapping[str, Any],
        *,
        source: HookSource | str = HookSource.RUNTIME,
        **options: "Unpack[HookOptions]",
    ) -> Callable[[], None]:
        """Register a function, plain or async, or a hook as settings write it (for a function:
        ``{"type": "runtime", "name": …, "function": …}``).

        Works before ``initialize()`` too. Call the returned function to remove the hook. Raises
        InvalidHookError for a hook that could never run or whose matcher is no pattern, and
        UnknownEventError. ``timeout`` is in milliseconds, one minute by default;
        ``on_failure="block"`` blocks the event when the hook fails.
        """
        return self.engine.add_hook(read_hook(event, hook, source=source, **options))

    def hook(self, event: str | EventName, **options: "Unpack[HookOptions]") -> Callable[[F], F]:
        """Return a decorator that registers a function with ``register_hook``."""

        def register(function: F) -> F:
            self.register_hook(event, function, **options)
            return function

        return register

    def fire_blocking(self, event_name: str | EventName, input: Mapping[str, Any]) -> Answer:
        """Do what ``HookEventHandler.fire`` does, for synchronous callers."""
        return complete(EngineView(self.engine, blocking=True).fire_named(event_name, input))

    def wait_for_background(self, timeout: float | None = None) -> bool:
        """Block until all async hooks have ended; return False if some still run after
        ``timeout`` seconds."""
        return self.engine.wait_for_background(timeout)

    def dispose(self) -> None:
        """Stop serving the bus, and end helper processes and async hooks: they are gone when this
        returns, and none starts afterwards. Calls under way finish. May be called more than
        once."""
        self.engine.dispose()

    async def __aenter__(self) -> "HookSystem":
        await self.initialize()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.dispose()

    def _require_initialized(self) -> None:
        if not self.engine.is_loaded:
            raise HookSystemNotInitializedError


class HookEventHandler:
    """Fires the events of an engine, and carries out the requests of its bus."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._view = EngineView(engine)

    async def fire_before_tool_event(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        *,
        mcp_context: dict[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> Answer:
        """Fire BeforeTool: a tool is about to run."""
        return await self._view.fire(
            HookEventName.BEFORE_TOOL,
            tool_name,
            tool_input,
            mcp_context,
            original_request_name,
        )

    async def fire_after_tool_event(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        tool_response: Any,
        *,
        original_tool_input: dict[str, Any] | None = None,
        mcp_context: dict[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> Answer:
        """Fire AfterTool: a tool has run. ``original_tool_input`` is the input before a hook
        rewrote it."""
        return await self._view.fire(
            HookEventName.AFTER_TOOL,
            tool_name,
            tool_input,
            tool_response,
            original_tool_input,
            mcp_context,
            original_request_name,
        )

    async def fire_before_agent_event(self, prompt: str) -> Answer:
        """Fire BeforeAgent: a turn is about to begin."""
        return await self._view.fire(HookEventName.BEFORE_AGENT, prompt)

    async def fire_after_agent_event(
        self, prompt: str, prompt_response: str, stop_hook_active: bool = False
    ) -> Answer:
        """Fire AfterAgent: a turn is over. ``stop_hook_active`` is True if the turn went on only
        because an AfterAgent hook sent the agent back to work."""
        return await self._view.fire(
            HookEventName.AFTER_AGENT, prompt, prompt_response, stop_hook_active
        )

    async def fire_session_start_event(self, source: SessionStartSource) -> Answer:
        """Fire SessionStart: a session starts."""
        return await self._view.fire(HookEventName.SESSION_START, source)

    async def fire_session_end_event(self, reason: SessionEndReason) -> Answer:
        """Fire SessionEnd: a session ends."""
        return await self._view.fire(HookEventName.SESSION_END, reason)

    async def fire_pre_compress_event(self, trigger: PreCompressTrigger) -> Answer:
        """Fire PreCompress: the history is about to be compressed."""
        return await self._view.fire(HookEventName.PRE_COMPRESS, trigger)

    async def fire_before_model_event(self, llm_request: Any) -> Answer:
        """Fire BeforeModel: a request, in the SDK's form, is about to go to the model."""
        return await self._view.fire(HookEventName.BEFORE_MODEL, llm_request)

    async def fire_after_model_event(self, llm_request: Any, llm_response: Any) -> Answer:
        """Fire AfterModel: the model has answered; request and response are in the SDK's form."""
        return await self._view.fire(HookEventName.AFTER_MODEL, llm_request, llm_response)

    async def fire_before_tool_selection_event(
        self, llm_request: Any, available_tools: list[str] | None = None
    ) -> Answer:
        """Fire BeforeToolSelection: the model is about to be offered its tools. Without
        ``available_tools`` hooks read the names that the request declares."""
        return await self._view.fire(
            HookEventName.BEFORE_TOOL_SELECTION, llm_request, available_tools
        )

    async def fire_notification_event(
        self,
        message: str,
        *,
        notification_type: str | None = None,
        level: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> Answer:
        """Fire Notification: the agent tells the user something."""
        return await self._view.fire(
            HookEventName.NOTIFICATION, message, notification_type, level, details
        )

    async def fire(self, event_name: str | HookEventName, input: Mapping[str, Any]) -> Answer:
        """Fire an event by its name, with its fields as a mapping."""
        return await self._view.fire_named(event_name, input)

    async def handle_hook_execution_request(self, message: object) -> None:
        """Carry out one bus request and publish exactly one response; after ``dispose()`` do
        nothing."""
        await self._engine.get_server().handle(message)

    def dispose(self) -> None:
        """Stop serving the bus; calls under way finish."""
        self._engine.get_server().close()


def _trigger(
    method: Callable[Concatenate[HookEventHandler, P], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[Config, P], Coroutine[Any, Any, DefaultHookOutput | None]]:
    """Make the function that fires an event and returns the merged output of its hooks."""

    async def fire(
        config: Config, /, *args: P.args, **kwargs: P.kwargs
    ) -> DefaultHookOutput | None:
        return (await method(HookEventHandler(config.engine), *args, **kwargs)).final_output

    fire.__name__, fire.__doc__ = method.__name__.replace("_event", "_hook"), method.__doc__
    return fire


fire_before_tool_hook = _trigger(HookEventHandler.fire_before_tool_event)
fire_after_tool_hook = _trigger(HookEventHandler.fire_after_tool_event)
fire_before_agent_hook = _trigger(HookEventHandler.fire_before_agent_event)
fire_after_agent_hook = _trigger(HookEventHandler.fire_after_agent_event)
fire_session_start_hook = _trigger(HookEventHandler.fire_session_start_event)
fire_session_end_hook = _trigger(HookEventHandler.fire_session_end_event)
fire_pre_compress_hook = _trigger(HookEventHandler.fire_pre_compress_event)
fire_notification_hook = _trigger(HookEventHandler.fire_notification_event)


async def execute_tool_with_hooks(
    config: Config,
    tool_name: str,
    tool_input: ToolInput,
    execute: Execute,
    *,
    run_tool: RunTool | None = None,
    confirm: Confirm | None = None,
    mcp_context: dict[str, Any] | None = None,
) -> ToolResult:
    """Run a tool, and apply what BeforeTool and AfterTool hooks answer.

    ``execute`` runs this tool, ``run_tool`` any tool by name, for tail calls. ``confirm`` asks the
    user when a hook answers ``ask``; without it ``ask`` blocks the call. Only an exception of the
    tool itself is raised.
    """
    call = ToolCall(
        name=tool_name,
        input=tool_input,
        confirm=confirm,
        mcp_context=mcp_context,
        id=make_call_id(),
    )

    def find_tool(name: str) -> Execute | None:
        return None if run_tool is None else functools.partial(run_tool, name)

    view = EngineView(config.engine).heard
    return (await run_call(view, call, execute, find_tool=find_tool)).result


class BeforeModelHookResult(msgspec.Struct, frozen=True):
    """What to do about a request. If ``blocked``, do not call the model: answer with
    ``synthetic_response`` if there is one, else with the reason. ``modified_request`` is the
    caller's own object if the hooks changed nothing."""

    blocked: bool = False
    reason: str | None = None
    synthetic_response: Any = None
    modified_request: Any = None
    should_stop: bool = False
    system_message: str | None = None


class AfterModelHookResult(msgspec.Struct, frozen=True):
    """What to do about a response. ``response`` is the one to keep; after a block it contains only
    the reason."""

    response: Any
    blocked: bool = False
    reason: str | None = None
    should_stop: bool = False
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool = False


class BeforeToolSelectionHookResult(msgspec.Struct, frozen=True):
    """The tools that a call may use; None if the hooks did not answer."""

    tool_config: Any = None
    tools: Any = None
    should_stop: bool = False
    stop_reason: str | None = None


async def fire_before_model_hook(config: Config, llm_request: Any) -> BeforeModelHookResult:
    """Fire BeforeModel: a request is about to go to the model."""
    answer = await HookEventHandler(config.engine).fire_before_model_event(llm_request)
    if answer.final_output is None:
        return BeforeModelHookResult()
    if answer.blocked:
        return BeforeModelHookResult(
            blocked=True,
            reason=answer.final_output.get_effective_reason(),
            synthetic_response=answer.response if answer.is_synthetic else None,
            should_stop=answer.stopped,
            system_message=answer.message,
        )
    return BeforeModelHookResult(modified_request=answer.request, system_message=answer.message)


async def fire_after_model_hook(
    config: Config, llm_request: Any, llm_response: Any
) -> AfterModelHookResult:
    """Fire AfterModel: the model's response is complete."""
    handler = HookEventHandler(config.engine)
    answer = await handler.fire_after_model_event(llm_request, llm_response)
    if answer.final_output is None:
        return AfterModelHookResult(llm_response)
    return AfterModelHookResult(
        answer.response,
        blocked=answer.denied,
        reason=answer.reason if answer.denied else None,
        should_stop=answer.stopped,
        stop_reason=answer.reason if answer.stopped else None,
        system_message=answer.message,
        suppress_output=answer.suppressed,
    )


async def fire_before_tool_selection_hook(
    config: Config, llm_request: Any
) -> BeforeToolSelectionHookResult:
    """Fire BeforeToolSelection: the model is about to be offered the tools of a request."""
    answer = await HookEventHandler(config.engine).fire_before_tool_selection_event(llm_request)
    output = answer.final_output
    if not isinstance(output, BeforeToolSelectionHookOutput):
        return BeforeToolSelectionHookResult()
    selection = find_sent_tools(output, llm_request)
    return BeforeToolSelectionHookResult(
        selection.tool_config,
        selection.tools,
        answer.stopped,
        answer.reason if answer.stopped else None,
    )


async def fire_claude_event(
    config: Config, name: str, fields: Mapping[str, Any]
) -> DefaultHookOutput | None:
    """Fire an event under Claude Code's name for it (``SubagentStop``, say), with Claude Code's
    fields."""
    return (await EngineView(config.engine).fire_named(name, fields, dialect="claude")).final_output


async def fire_tool_notification_hook(
    config: Config, confirmation: Mapping[str, Any]
) -> DefaultHookOutput | None:
    """Fire Notification: the user is about to be asked about a tool call, ``{type, title, …}``."""
    notification = tool_notification(confirmation)
    return await fire_notification_hook(
        config,
        notification.message,
        notification_type=notification.notification_type,
        details=notification.details,
    )
