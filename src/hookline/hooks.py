"""The front: hooks for a Python program, in one object.

``Hooks`` is for code that awaits, ``hooks.sync`` for code that does not, ``hooks.session(id)`` for
one conversation of many. All of them share one engine. The methods are written once, as
coroutines; ``hooks.sync`` runs the same coroutines over an engine that never suspends.
"""

import functools
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from inspect import isawaitable
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)

import msgspec

from hookline._support.notices import warn
from hookline.calls.model import ModelCall, ModelGate, ModelOutcome, call_model, open_model_gate
from hookline.calls.tool import (
    Confirm,
    Execute,
    FindTool,
    ToolCall,
    ToolGate,
    ToolInput,
    ToolOutcome,
    ToolResult,
    call_with,
    complete,
    make_call_id,
    open_gate,
    run_call,
)
from hookline.calls.wrap import OnBlock, wrap_function
from hookline.config import Config, PathLike
from hookline.dialects import find_named_event, read_named_event
from hookline.engine.executor import deny_failed, is_exhausted
from hookline.errors import describe
from hookline.pipeline.answer import Answer, make_empty_answer, process_common_hook_output_fields
from hookline.system import run_blocking
from hookline.wire.events import (
    EVENTS,
    EventName,
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
    narrow_event,
    narrow_trigger,
)
from hookline.wire.fired import Actor, FiredEvent, Original
from hookline.wire.results import FailureMeta, build_failure_envelope

if TYPE_CHECKING:
    from typing import Unpack

    from hookline.config import HookOptions, LoadOptions, Options
    from hookline.dialects.tools import ToolAlias
    from hookline.runner.context import Judge
    from hookline.translate import HookTranslator
    from hookline.wire.hooks import HookFunction, HookSource
    from hookline.wire.inputs import (
        AfterAgentEvent,
        AfterModelEvent,
        AfterToolEvent,
        BeforeAgentEvent,
        BeforeModelEvent,
        BeforeToolEvent,
        BeforeToolSelectionEvent,
        NotificationEvent,
        PreCompressEvent,
        SessionEndEvent,
        SessionStartEvent,
    )

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E")
Hear: TypeAlias = Callable[[Answer], Awaitable[None]]


class _Engine:
    """The hook system behind every front; the first event creates it and reads the settings."""

    # Whether a listener gets each answer; whether coroutines end in their first step.
    is_heard = is_blocking = False

    def __init__(self, config: Config) -> None:
        self.config = config
        # Wrapped tools by name: a hook can ask for one of them as a tail call.
        self.tools: dict[str, Callable[..., Any]] = {}
        # Loaded now, as a process without a free descriptor needs it to refuse a model call.
        config.get_translator()

    @functools.cached_property
    def heard(self) -> "_Engine":
        """The same engine for callers who show no answers: it logs what hooks tell the user as a
        warning, unless a listener gets the answers already."""
        return self if self.is_heard else _HeardEngine(self, self._tell_user)

    async def _tell_user(self, answer: Answer) -> None:
        if answer.user_message is not None:
            self.warn(f"a hook tells the user: {answer.user_message}", kind="told-user")

    async def execute(self, fired: FiredEvent) -> Answer:
        try:
            system = self.config.get_hook_system()
            return make_empty_answer(fired) if system is None else await system.execute(fired)
        except Exception as error:
            return self.fail(error, fired, "planning")

    async def settle(self, value: Any) -> Any:
        return await value if isawaitable(value) else value

    def fail(self, error: Exception, fired: FiredEvent | None, stage: str = "validation") -> Answer:
        """Warn, and return the answer to an event that could not be fired; it denies if a hook
        must answer."""
        try:
            system = self.config.get_hook_system()
            if system is not None:
                return system.fail(error, stage, fired)
            must_block = False
        except Exception:
            is_known = fired is not None
            must_block = is_exhausted(error) or (is_known and self.config.is_strict())
        warn(f"hooks did not run: {describe(error)}")
        meta = FailureMeta(event_name=fired.event if fired is not None else None)
        envelope = build_failure_envelope(error, stage, meta)
        if must_block:
            return deny_failed(envelope, fired, self.get_translator)
        return process_common_hook_output_fields(envelope, fired)

    def find_tool(self, name: str) -> Execute | None:
        """Return what runs a wrapped tool, None for any other."""
        tool = self.tools.get(name)
        return None if tool is None else functools.partial(call_with, tool)

    def warn(self, message: str, kind: str = "") -> None:
        try:
            log = self.config.get_debug_logger()
        except Exception:
            warn(message)
        else:
            log.warning(message, kind=kind)

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        try:
            system = self.config.get_hook_system()
            return system is not None and system.may_answer(event, target)
        except Exception:
            return True

    def is_off(self) -> bool:
        return self.config.get_hook_system() is None

    def is_strict(self) -> bool:
        try:
            # is_off() reads the settings, which may ask for strict mode.
            return not self.is_off() and self.config.is_strict()
        except Exception:
            return True

    def get_translator(self) -> "HookTranslator":
        return self.config.get_translator()

    def names_of_hooks(self, events: Collection[EventName]) -> list[str]:
        try:
            system = self.config.get_hook_system()
            if system is None:
                return []
            system.initialize_blocking()
            entries = system.get_all_hooks()
        except Exception as error:
            self.warn(f"cannot list the hooks: {describe(error)}")
            return []
        return [e.name for e in entries if e.event in events and e.enabled and e.trusted]


class _OuterEngine(_Engine):
    """An engine around another, which changes its events or answers."""

    def __init__(self, engine: _Engine) -> None:
        self.config, self.tools = engine.config, engine.tools
        self.is_heard, self.is_blocking = engine.is_heard, engine.is_blocking
        self._engine = engine

    async def settle(self, value: Any) -> Any:
        return await self._engine.settle(value)


class _HeardEngine(_OuterEngine):
    """An engine that gives each answer to ``hear`` before it is applied."""

    def __init__(self, engine: _Engine, hear: Hear) -> None:
        super().__init__(engine)
        self._hear, self.is_heard = hear, True

    async def execute(self, fired: FiredEvent) -> Answer:
        answer = await self._engine.execute(fired)
        await self._hear(answer)
        return answer


class _ClosedEngine(_OuterEngine):
    """An engine that denies an event when the engine itself fails."""

    async def execute(self, fired: FiredEvent) -> Answer:
        answer = await self._engine.execute(fired)
        if answer.word != "failed" or answer.blocked:
            return answer
        return deny_failed(answer.aggregated, fired, self.get_translator)


class _WordedEngine(_OuterEngine):
    """An engine that adds an event as the host worded it to events of that name."""

    def __init__(self, engine: _Engine, event: EventName, original: Original) -> None:
        super().__init__(engine)
        self._event, self._original = event, original

    async def execute(self, fired: FiredEvent) -> Answer:
        if fired.event is self._event:
            facts = msgspec.structs.replace(fired.facts, original=self._original)
            fired = msgspec.structs.replace(fired, facts=facts)
        return await self._engine.execute(fired)


class _SigningEngine(_OuterEngine):
    """An engine that adds to each event who fires it."""

    def __init__(self, engine: _Engine, get_actor: Callable[[], Actor]) -> None:
        super().__init__(engine)
        self._get_actor = get_actor

    async def execute(self, fired: FiredEvent) -> Answer:
        return await self._engine.execute(self._get_actor().sign(fired))


class _BlockingEngine(_Engine):
    """An engine for callers who do not await: its coroutines end in their first step."""

    is_blocking = True

    def __init__(self, engine: _Engine) -> None:
        self.config, self.tools = engine.config, engine.tools

    async def execute(self, fired: FiredEvent) -> Answer:
        try:
            system = self.config.get_hook_system()
            return make_empty_answer(fired) if system is None else system.execute_blocking(fired)
        except Exception as error:
            return self.fail(error, fired, "planning")

    async def settle(self, value: Any) -> Any:
        if not isawaitable(value):
            return value
        return run_blocking(lambda: super(_BlockingEngine, self).settle(value))


class Face:
    """The methods that fire events, and what is built on them, for one session."""

    def __init__(
        self,
        engine: _Engine,
        session_id: str | None = None,
        transcript_path: str | None = None,
    ) -> None:
        self._engine = engine
        self._session_id = session_id
        self._transcript_path = transcript_path

    async def before_tool(
        self,
        tool_name: str,
        tool_input: Mapping[str, Any],
        *,
        mcp_context: Mapping[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> Answer:
        """Fire BeforeTool: a tool is about to run."""
        values = (tool_name, tool_input, mcp_context, original_request_name)
        return await self._fire(HookEventName.BEFORE_TOOL, tool_name, values)

    async def after_tool(
        self,
        tool_name: str,
        tool_input: Mapping[str, Any],
        tool_response: Any,
        *,
        original_tool_input: Mapping[str, Any] | None = None,
        mcp_context: Mapping[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> Answer:
        """Fire AfterTool: a tool has run. ``original_tool_input`` is the input before a hook
        rewrote it."""
        values = (
            *(tool_name, tool_input, tool_response),
            *(original_tool_input, mcp_context, original_request_name),
        )
        return await self._fire(HookEventName.AFTER_TOOL, tool_name, values)

    async def before_agent(self, prompt: str) -> Answer:
        """Fire BeforeAgent: a turn is about to begin."""
        return await self._fire(HookEventName.BEFORE_AGENT, "", (prompt,))

    async def after_agent(
        self, prompt: str, prompt_response: str, *, stop_hook_active: bool = False
    ) -> Answer:
        """Fire AfterAgent: a turn is over. ``stop_hook_active`` is True if the turn went on only
        because an AfterAgent hook sent the agent back to work."""
        values = (prompt, prompt_response, stop_hook_active)
        return await self._fire(HookEventName.AFTER_AGENT, "", values)

    async def before_model(self, request: Any) -> Answer:
        """Fire BeforeModel: a request is about to go to the model."""
        return await self._fire(HookEventName.BEFORE_MODEL, "", (request,))

    async def after_model(self, request: Any, response: Any) -> Answer:
        """Fire AfterModel: the model's response is complete."""
        return await self._fire(HookEventName.AFTER_MODEL, "", (request, response))

    async def before_tool_selection(
        self, request: Any, available_tools: Sequence[str] | None = None
    ) -> Answer:
        """Fire BeforeToolSelection: the model is about to be offered its tools. Without
        ``available_tools`` hooks read the names that the request declares."""
        names = None if available_tools is None else list(available_tools)
        return await self._fire(HookEventName.BEFORE_TOOL_SELECTION, "", (request, names))

    async def session_start(self, source: SessionStartSource | str = "startup") -> Answer:
        """Fire SessionStart: a session starts (``startup``, ``resume``), or goes on after its
        context was cleared or compressed (``clear``, ``compress``)."""
        return await self._fire_trigger(HookEventName.SESSION_START, source)

    async def session_end(self, reason: SessionEndReason | str = "exit") -> Answer:
        """Fire SessionEnd: a session ends, for the reason ``exit``, ``clear``, ``logout``,
        ``prompt_input_exit`` or ``other``."""
        return await self._fire_trigger(HookEventName.SESSION_END, reason)

    async def pre_compress(self, trigger: PreCompressTrigger | str = "manual") -> Answer:
        """Fire PreCompress: the history is about to be compressed, because the user
        (``manual``) or the agent (``auto``) asks for it."""
        return await self._fire_trigger(HookEventName.PRE_COMPRESS, trigger)

    async def notification(
        self,
        message: str,
        *,
        notification_type: str | None = None,
        level: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Fire Notification: the agent tells the user something."""
        values = (message, notification_type, level, details)
        return await self._fire(HookEventName.NOTIFICATION, notification_type or "", values)

    async def fire(self, event: EventName | str, input: Mapping[str, Any]) -> Answer:
        """Fire an event by its name, with its fields as a mapping."""
        narrowed = None
        try:
            narrowed = find_named_event(event)
            fired = read_named_event(event, self._add_session(input), self._engine.config.get_tools)
        except Exception as error:
            return self._engine.fail(error, FiredEvent(narrowed) if narrowed else None)
        return await self._engine.execute(fired)

    async def fire_claude_event(self, name: str, fields: Mapping[str, Any]) -> Answer:
        """Fire an event under Claude Code's name for it (SubagentStop, say), with Claude Code's
        fields. Hooks in Claude Code's format run; if hookline has the event too (PreToolUse), all
        matching hooks run."""
        event = None
        try:
            event = find_named_event(name)
            given, get_tools = self._add_session(fields), self._engine.config.get_tools
            fired = read_named_event(name, given, get_tools, dialect="claude")
        except Exception as error:
            return self._engine.fail(error, FiredEvent(event) if event else None)
        return await self._engine.execute(fired)

    async def tool_gate(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        confirm: Confirm | None = None,
        deferrals: tuple[type[BaseException], ...] = (),
        mcp_context: Mapping[str, Any] | None = None,
        read: Callable[[Any], ToolResult] | None = None,
        answered: Mapping[str, Any] | None = None,
        call_id: str | None = None,
        original: Original | None = None,
        approved: bool = False,
    ) -> ToolGate:
        """Do the first half of ``run_tool``, for callers who run the tool themselves.

        ``gate.refusal`` is the result to use if the tool must not run, else None; ``gate.input``
        is the input to run it with. Call ``gate.finish()`` with the tool's result afterwards;
        ``read`` turns that result into a ``ToolResult``. ``answered`` is the BeforeTool output of
        an earlier attempt at this call, which is not fired again; ``original`` is the event as
        the host worded it. With ``approved`` the user has allowed the call and is not asked.
        """
        call = self._make_call(name, tool_input, confirm, deferrals, mcp_context, call_id)
        if read is not None or answered is not None or original is not None or approved:
            call = msgspec.structs.replace(
                call, read=read, answered=answered, original=original, approved=approved
            )
        return await open_gate(self._engine.heard, call)

    async def run_tool(
        self,
        tool: Callable[..., Any],
        tool_input: Mapping[str, Any],
        *,
        name: str | None = None,
        confirm: Confirm | None = None,
        call: Execute | None = None,
        run_other: Callable[[str, ToolInput], Any] | None = None,
        mcp_context: Mapping[str, Any] | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        """Run a tool, and apply what BeforeTool and AfterTool hooks answer.

        ``tool`` gets the fields of its input as keyword arguments, or the input itself if its one
        parameter is annotated as a mapping; ``call(input)`` calls it in any other way.
        ``confirm`` asks the user when a hook answers ``ask``, and allows the call by returning
        True; without it ``ask`` blocks the call. ``run_other(name, input)`` runs a tool that a
        hook requests as a tail call; without it only wrapped tools can be requested. ``call_id``
        is the id of the model's tool call, for hooks that read it. If the tool raises, AfterTool
        is fired and the exception goes on to the caller, with what hooks add in its message.
        """
        outcome = await run_call(
            self._engine.heard,
            self._make_call(name or _get_name(tool), tool_input, confirm, (), mcp_context, call_id),
            call or functools.partial(call_with, tool),
            find_tool=self._engine.find_tool
            if run_other is None
            else lambda other: functools.partial(run_other, other),
        )
        return outcome.result

    async def call_tool(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        execute: Execute,
        *,
        read: Callable[[Any], ToolResult] | None = None,
        find_tool: FindTool | None = None,
        confirm: Confirm | None = None,
        deferrals: tuple[type[BaseException], ...] = (),
        mcp_context: Mapping[str, Any] | None = None,
        answered: Mapping[str, Any] | None = None,
        call_id: str | None = None,
    ) -> ToolOutcome:
        """Do what ``run_tool`` does, for an adapter. ``execute(input)`` runs the tool, ``read``
        turns what it returns into a ``ToolResult``, and ``find_tool(name)`` returns what runs a
        tail call. ``answered`` is the BeforeTool output from before the call was deferred. The
        outcome also has the tool's own value, to use where hooks changed nothing."""
        call = self._make_call(name, tool_input, confirm, deferrals, mcp_context, call_id)
        return await run_call(
            self._engine.heard,
            msgspec.structs.replace(call, read=read, answered=answered),
            execute,
            find_tool=self._engine.find_tool if find_tool is None else find_tool,
        )

    async def model_gate(
        self, request: Any, *, available_tools: Sequence[str] | None = None
    ) -> ModelGate:
        """Do the first half of ``model_call``, for callers who call the model themselves.

        ``gate.outcome`` is the result to use if the model must not be called, else None;
        ``gate.request`` is the request to send, ``gate.allowed`` the tools it may call. Call
        ``gate.finish()`` with the complete response afterwards.
        """
        names = None if available_tools is None else list(available_tools)
        call = ModelCall(
            request=request,
            available_tools=names,
            session_id=self._session_id,
            transcript_path=self._transcript_path,
        )
        return await open_model_gate(self._engine, call)

    @overload
    async def model_call(
        self, create: Callable[..., Any], /, *, stream: Literal[True], **request: Any
    ) -> Any: ...

    @overload
    async def model_call(self, create: Callable[..., Awaitable[T]], /, **request: Any) -> T: ...

    @overload
    async def model_call(self, create: Callable[..., T], /, **request: Any) -> T: ...

    async def model_call(self, create: Callable[..., Any], /, **request: Any) -> Any:
        """Call a model, and apply what the hooks of the model events answer.

        ``create`` is a client's method (``client.chat.completions.create``,
        ``client.responses.create``, ``client.messages.create``), plain or async, or a function
        that takes such a request and returns JSON. The response has the client's own type; if
        hooks changed nothing, it is the client's own object. If a hook blocks the call or stops
        the loop, the response contains the reason and no tool calls.

        With ``stream=True`` the result is an iterator over the client's own chunks; if AfterModel
        hooks exist, the chunks are held back until the response is complete. Exceptions of the
        client go on to the caller.
        """
        return await call_model(
            self._engine,
            create,
            request,
            session_id=self._session_id,
            transcript_path=self._transcript_path,
            blocking=self._engine.is_blocking,
        )

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would answer such an event now."""
        return self._engine.may_answer(narrow_event(event), target)

    def may_skip(self, *events: EventName | str, target: str = "") -> bool:
        """True if an adapter need not fire these events now: no hook would answer them, and the
        log does not record events without hooks."""
        engine = self._engine
        try:
            if engine.config.get_debug_logger().enabled:
                return False
        except Exception:
            return False
        return not any(engine.may_answer(event, target) for event in events)

    def is_off(self) -> bool:
        """True if code or settings switch all hooks off; False if the settings cannot be read."""
        try:
            return self._engine.is_off()
        except Exception:
            return False

    def is_strict(self) -> bool:
        """True in strict mode, in which nothing passes unchecked: settings, code or the
        environment ask for it, or the settings cannot be read."""
        return self._engine.is_strict()

    def names_of_hooks(self, *events: EventName) -> list[str]:
        """Return the names of the hooks in force for these events in this process; it does not
        know the hooks of a worker on a bus."""
        return self._engine.names_of_hooks(events)

    def warn(self, message: str) -> None:
        """Log a warning as the engine does: in the hook log, and in Python's logging."""
        self._engine.warn(message)

    def _make_call(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        confirm: Confirm | None,
        deferrals: tuple[type[BaseException], ...],
        mcp_context: Mapping[str, Any] | None,
        call_id: str | None,
    ) -> ToolCall:
        return ToolCall(
            name=name,
            input=tool_input if isinstance(tool_input, dict) else dict(tool_input),
            confirm=confirm,
            deferrals=deferrals,
            mcp_context=None if mcp_context is None else dict(mcp_context),
            session_id=self._session_id,
            transcript_path=self._transcript_path,
            id=call_id or make_call_id(),
        )

    def _add_session(self, input: Mapping[str, Any]) -> dict[str, Any]:
        """Add this session's fields to an input, unless it has its own."""
        place = {"session_id": self._session_id, "transcript_path": self._transcript_path}
        return {**place, **input}

    async def _fire(self, event: EventName, target: str, values: tuple[Any, ...]) -> Answer:
        return await self._engine.execute(
            FiredEvent(event, target, values, {}, self._session_id, self._transcript_path)
        )

    async def _fire_trigger(self, event: EventName, value: str) -> Answer:
        try:
            trigger = narrow_trigger(EVENTS[event], value)
        except Exception as error:
            return self._engine.fail(error, FiredEvent(event))
        return await self._fire(event, trigger, (trigger,))


class HookSession(Face):
    """The hooks of one conversation: every method of ``Hooks`` that fires an event, with a session
    id of its own."""

    @functools.cached_property
    def sync(self) -> "SyncHooks":
        """The same methods for code that does not await."""
        return SyncHooks(self)

    @overload
    def wrap(
        self,
        function: F,
        /,
        *,
        name: str | None = None,
        on_block: OnBlock = "raise",
        as_text: bool = False,
        confirm: Confirm | None = None,
    ) -> F: ...

    @overload
    def wrap(
        self,
        /,
        *,
        name: str | None = None,
        on_block: OnBlock = "raise",
        as_text: bool = False,
        confirm: Confirm | None = None,
    ) -> Callable[[F], F]: ...

    def wrap(
        self,
        function: Any = None,
        /,
        *,
        name: str | None = None,
        on_block: OnBlock = "raise",
        as_text: bool = False,
        confirm: Confirm | None = None,
    ) -> Any:
        """Return the function, method or generator, plain or async, with hooks around every call.

        A call that a hook blocks raises ``BlockedByHook``; with ``on_block="return"`` it returns
        the reason instead, which suits the tools of a model. A stop raises ``StoppedByHook``.
        Hooks can add to a result, or replace it, if it is text; with ``as_text`` any other result
        is turned into JSON text first. Without ``as_text`` such a result stays as it is: an
        addition is logged as a warning, and a rejected result counts as a block.
        """

        def guard(guarded: Any) -> Any:
            engine = self._engine
            template = self._make_call(name or _get_name(guarded), {}, confirm, (), None, None)
            engine.tools[template.name] = guarded
            return wrap_function(
                guarded,
                template,
                engine.heard,
                _BlockingEngine(engine).heard,
                find_tool=engine.find_tool,
                on_block=on_block,
                as_text=as_text,
            )

        return guard if function is None else guard(function)


class Register(Protocol[E]):
    """The decorator that ``Hooks.on`` returns, for functions that take the event."""

    @overload
    def __call__(self, function: Callable[[E], T], /) -> Callable[[E], T]: ...

    @overload
    def __call__(
        self, function: Callable[[dict[str, Any]], T], /
    ) -> Callable[[dict[str, Any]], T]: ...


class Hooks(HookSession):
    """Hooks for an agent, from code or from the settings on disk.

    It reads nothing until the first event, and serves any number of threads and event loops at
    once. Where hooks are disabled, every method answers at once and runs nothing. ``with`` and
    ``async with`` call ``close()`` at their end.

    The options are those of ``Config``: the hooks of each layer (``hooks``, ``user_hooks``,
    ``system_hooks``, ``extensions``, ``plugins``) and which of them may run (``disabled``,
    ``trusted``, ``enable_hooks``); the directories (``working_dir``, ``project_dir``); the session
    (``session_id``, ``transcript_path``); how hooks run (``limits``, ``warm``, ``redaction``); the
    message bus (``remote_bus``, ``execution``, ``on_unavailable``, ``remote_timeout``,
    ``message_bus``); and what else the engine uses (``debug_logger``, ``translator``, ``tools``,
    and ``judge``, the function that puts the questions of prompt hooks to a model).
    """

    def __init__(self, **options: "Unpack[Options]") -> None:
        super().__init__(_Engine(Config(**options)))

    @classmethod
    def load(
        cls,
        directory: PathLike | None = None,
        *,
        project_dir: PathLike | None = None,
        settings_files: Sequence[PathLike] | None = None,
        trusted: bool | Callable[[], bool] | None = None,
        claude: bool | None = None,
        **options: "Unpack[LoadOptions]",
    ) -> "Hooks":
        """Return the hooks of a directory's settings files, by default those of the working
        directory.

        The project's hooks run if the user has trusted them (``hookline trust``); ``trusted``
        overrides that. ``settings_files`` replace the files that would be found, and need no
        trust. With ``claude`` Claude Code's settings are read too; ``plugins`` are folders of
        Claude Code plugins. Raises NoFolderError if there is no such directory; if it has no
        settings, the first event warns of that.
        """
        config = Config.load(
            directory,
            project_dir=project_dir,
            settings_files=settings_files,
            trusted=trusted,
            claude=claude,
            **options,
        )
        if directory is not None or project_dir is not None or settings_files:
            config.expect_settings()
        return cls.of(config)

    @classmethod
    def of(cls, config: Config) -> "Hooks":
        """Return the hooks of an existing configuration."""
        hooks = cls.__new__(cls)
        Face.__init__(hooks, _Engine(config))
        return hooks

    @property
    def config(self) -> Config:
        """The configuration, which owns the hook system."""
        return self._engine.config

    def session(self, id: str | None, *, transcript_path: str | None = None) -> HookSession:
        """Return the hooks of one conversation; this costs next to nothing."""
        return HookSession(self._engine, id, transcript_path)

    def close(self) -> None:
        """End helper processes and async hooks that still run; calls under way finish. May be
        called more than once."""
        self.config.dispose()

    def __enter__(self) -> "Hooks":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> "Hooks":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.close()

    @overload
    def on(
        self, event: Literal["BeforeTool"], **options: "Unpack[HookOptions]"
    ) -> "Register[BeforeToolEvent]": ...

    @overload
    def on(
        self, event: Literal["AfterTool"], **options: "Unpack[HookOptions]"
    ) -> "Register[AfterToolEvent]": ...

    @overload
    def on(
        self, event: Literal["BeforeAgent"], **options: "Unpack[HookOptions]"
    ) -> "Register[BeforeAgentEvent]": ...

    @overload
    def on(
        self, event: Literal["AfterAgent"], **options: "Unpack[HookOptions]"
    ) -> "Register[AfterAgentEvent]": ...

    @overload
    def on(
        self, event: Literal["BeforeModel"], **options: "Unpack[HookOptions]"
    ) -> "Register[BeforeModelEvent]": ...

    @overload
    def on(
        self, event: Literal["AfterModel"], **options: "Unpack[HookOptions]"
    ) -> "Register[AfterModelEvent]": ...

    @overload
    def on(
        self, event: Literal["BeforeToolSelection"], **options: "Unpack[HookOptions]"
    ) -> "Register[BeforeToolSelectionEvent]": ...

    @overload
    def on(
        self, event: Literal["SessionStart"], **options: "Unpack[HookOptions]"
    ) -> "Register[SessionStartEvent]": ...

    @overload
    def on(
        self, event: Literal["SessionEnd"], **options: "Unpack[HookOptions]"
    ) -> "Register[SessionEndEvent]": ...

    @overload
    def on(
        self, event: Literal["PreCompress"], **options: "Unpack[HookOptions]"
    ) -> "Register[PreCompressEvent]": ...

    @overload
    def on(
        self, event: Literal["Notification"], **options: "Unpack[HookOptions]"
    ) -> "Register[NotificationEvent]": ...

    @overload
    def on(self, event: EventName | str, **options: "Unpack[HookOptions]") -> "Register[Any]": ...

    def on(self, event: EventName | str, **options: "Unpack[HookOptions]") -> Any:
        """Register a function, plain or async, as a hook of an event.

        The function gets the event as a dictionary and returns a dictionary (``deny("…")``), or
        None to let the event go on. ``matcher`` selects tools, triggers or notification types;
        ``timeout`` is in milliseconds, one minute by default. With ``on_failure="block"`` the
        event is blocked when the function fails. Raises UnknownEventError or InvalidHookError.
        """
        narrowed = narrow_event(event)

        def register(function: "HookFunction") -> "HookFunction":
            self.config.register_hook(narrowed, function, **options)
            return function

        return register


class SyncToolGate:
    """A ``ToolGate`` for code that does not await."""

    def __init__(self, gate: ToolGate) -> None:
        self._gate = gate
        self.name, self.before = gate.name, gate.before
        self.input, self.refusal = gate.input, gate.refusal

    def finish(self, *, result: Any = None, error: BaseException | None = None) -> ToolOutcome:
        """Fire AfterTool with the tool's result or exception, and apply what the hooks answer."""
        return complete(self._gate.finish(result=result, error=error))


class SyncModelGate:
    """A ``ModelGate`` for code that does not await."""

    def __init__(self, gate: ModelGate) -> None:
        self._gate = gate
        self.request, self.allowed, self.outcome = gate.request, gate.allowed, gate.outcome
        self.refuse_calls = gate.refuse_calls

    @property
    def holds_back(self) -> bool:
        """True if AfterModel hooks exist."""
        return self._gate.holds_back

    def finish(self, response: Any) -> ModelOutcome:
        """Fire AfterModel with the complete response, and apply what the hooks answer."""
        return complete(self._gate.finish(response))


class _Blocking(Generic[P, T]):
    """A synchronous method that returns what the coroutine of the same name would."""

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, hooks: "SyncHooks", owner: type | None = None) -> Callable[P, T]:
        if hooks is None:  # read from the class, as documentation tools do
            return self  # type: ignore[unreachable]
        method, face = self._method, hooks._face
        return lambda *args, **kwargs: complete(method(face, *args, **kwargs))


class SyncHooks:
    """The methods of ``Hooks`` for code that does not await, with or without a running event loop.

    An event that no hook matches starts neither an event loop nor a thread.
    """

    def __init__(self, hooks: HookSession) -> None:
        self._hooks = hooks
        blocking = _BlockingEngine(hooks._engine)
        self._face = Face(blocking, hooks._session_id, hooks._transcript_path)
        self.wrap, self.warn, self.may_answer = hooks.wrap, hooks.warn, hooks.may_answer
        self.may_skip, self.is_strict = hooks.may_skip, hooks.is_strict
        self.is_off = hooks.is_off
        self.names_of_hooks = hooks.names_of_hooks

    before_tool = _Blocking(Face.before_tool)
    after_tool = _Blocking(Face.after_tool)
    before_agent = _Blocking(Face.before_agent)
    after_agent = _Blocking(Face.after_agent)
    before_model = _Blocking(Face.before_model)
    after_model = _Blocking(Face.after_model)
    before_tool_selection = _Blocking(Face.before_tool_selection)
    session_start = _Blocking(Face.session_start)
    session_end = _Blocking(Face.session_end)
    pre_compress = _Blocking(Face.pre_compress)
    notification = _Blocking(Face.notification)
    fire = _Blocking(Face.fire)
    fire_claude_event = _Blocking(Face.fire_claude_event)
    run_tool = _Blocking(Face.run_tool)
    call_tool = _Blocking(Face.call_tool)

    def tool_gate(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        confirm: Confirm | None = None,
        deferrals: tuple[type[BaseException], ...] = (),
        mcp_context: Mapping[str, Any] | None = None,
        read: Callable[[Any], ToolResult] | None = None,
        answered: Mapping[str, Any] | None = None,
        call_id: str | None = None,
        original: Original | None = None,
        approved: bool = False,
    ) -> SyncToolGate:
        """Do the first half of ``run_tool``, for callers who run the tool themselves."""
        opening = self._face.tool_gate(
            name,
            tool_input,
            confirm=confirm,
            deferrals=deferrals,
            mcp_context=mcp_context,
            read=read,
            answered=answered,
            call_id=call_id,
            original=original,
            approved=approved,
        )
        return SyncToolGate(complete(opening))

    def model_gate(
        self, request: Any, *, available_tools: Sequence[str] | None = None
    ) -> SyncModelGate:
        """Do the first half of ``model_call``, for callers who call the model themselves."""
        opening = self._face.model_gate(request, available_tools=available_tools)
        return SyncModelGate(complete(opening))

    @overload
    def model_call(
        self, create: Callable[..., Any], /, *, stream: Literal[True], **request: Any
    ) -> Any: ...

    @overload
    def model_call(self, create: Callable[..., Awaitable[T]], /, **request: Any) -> T: ...

    @overload
    def model_call(self, create: Callable[..., T], /, **request: Any) -> T: ...

    def model_call(self, create: Callable[..., Any], /, **request: Any) -> Any:
        """Call a model, and apply what the hooks of the model events answer; the chunks of a
        stream are read with a plain ``for``."""
        return complete(self._face.model_call(create, **request))


def face_of(hooks: HookSession, *, blocking: bool) -> Face:
    """Return the events of a session for an adapter that is written once, as coroutines: with
    ``blocking`` they end in their first step (``calls.tool.complete``). What hooks tell the user is
    logged as a warning."""
    face = hooks.sync._face if blocking else hooks
    return Face(face._engine.heard, face._session_id, face._transcript_path)


def worded_as(face: Face, event: EventName, original: Original) -> Face:
    """Return a face that adds an event as the host worded it to events of that name."""
    engine = _WordedEngine(face._engine, event, original)
    return Face(engine, face._session_id, face._transcript_path)


def signed_by(hooks: HookSession, get_actor: Callable[[], Actor]) -> HookSession:
    """Return the same hooks, but their events say who fires them; asked for each event."""
    engine = _SigningEngine(hooks._engine, get_actor)
    return HookSession(engine, hooks._session_id, hooks._transcript_path)


async def fire_extra(
    face: Face, name: str, target: str, fields: Mapping[str, Any]
) -> Answer | None:
    """Fire an event that only other dialects have, if a hook may answer it; else return None, and
    load nothing of these dialects. ``target`` is what matchers are compared with."""
    if not face._engine.may_answer(name, target):
        return None
    return await face.fire(name, fields)


def heard_by(hooks: HookSession, hear: Hear | None) -> HookSession:
    """Return the same hooks, but every answer is given to ``hear`` first, which must not raise;
    with None, what hooks tell the user is logged as a warning."""
    engine = hooks._engine.heard if hear is None else _HeardEngine(hooks._engine, hear)
    return HookSession(engine, hooks._session_id, hooks._transcript_path)


def recorded_at(hooks: HookSession, path: str) -> HookSession:
    """Return the same hooks, but their events name this file as the transcript."""
    return HookSession(hooks._engine, hooks._session_id, path)


def place_of(hooks: HookSession) -> tuple[str, str]:
    """Return the session id and the working directory, as hooks read them."""
    config = hooks._engine.config
    session_id = hooks._session_id
    return config.get_session_id() if session_id is None else session_id, config.get_working_dir()


def find_tools(hooks: HookSession) -> "Mapping[str, ToolAlias] | None":
    """Return what the host's tools are in other dialects, None if it declares none."""
    try:
        return hooks._engine.config.get_tools()
    except Exception:
        # The first event reports it.
        return None


def find_files(hooks: HookSession, dialect: str) -> "list[tuple[HookSource, str]]":
    """Return the settings files that have hooks of a dialect, each with its layer; plugins are
    left out."""
    try:
        entries = hooks._engine.config.get_settings().entries
    except Exception:
        # The first event reports it.
        return []
    of_settings = (e for e in entries if not getattr(e.hook, "plugin_root", None))
    found = {(e.source, e.file) for e in of_settings if e.file and e.hook.dialect == dialect}
    return sorted(found)


def offer_judge(hooks: HookSession, judge: "Judge") -> None:
    """Have prompt hooks ask this judge, unless the hooks were made with another."""
    hooks._engine.config.offer_judge(judge)


def failing_closed(hooks: HookSession) -> HookSession:
    """Return the same hooks, but an event is denied when the engine itself fails."""
    engine = _ClosedEngine(hooks._engine)
    return HookSession(engine, hooks._session_id, hooks._transcript_path)


def hooks_of(hooks: HookSession | Config) -> HookSession:
    """Return the hooks as they are, or the hooks of a configuration."""
    return Hooks.of(hooks) if isinstance(hooks, Config) else hooks


def _get_name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    return name if isinstance(name, str) else type(function).__name__
