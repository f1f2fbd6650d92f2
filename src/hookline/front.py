"""The front: hooks for a Python program, in one object.

``Hooks`` is for code that awaits, ``hooks.sync`` for code that does not, ``hooks.session(id)`` for
one conversation of many. All of them are faces of one engine. The methods are written once, as
coroutines; the synchronous face runs the same coroutines over an engine that never suspends.
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

from hookline.answer import Answer, make_empty_answer, process_common_hook_output_fields
from hookline.config import Config, PathLike
from hookline.errors import describe
from hookline.fired import FiredEvent
from hookline.notices import warn
from hookline.toolcall import (
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
from hookline.wire.results import FailureMeta, build_failure_envelope
from hookline.wrapping import OnBlock, wrap_function

if TYPE_CHECKING:
    from typing import Unpack

    from hookline.config import HookOptions, LoadOptions, Options
    from hookline.modelcall import ModelGate, ModelOutcome
    from hookline.pipeline.dialects.tools import ToolAlias
    from hookline.pipeline.runner.context import Judge
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
    """The hook system behind every face; it is made, and settings are read, with the first
    event."""

    # Whether somebody hears of each answer; whether its coroutines end in their first step.
    is_heard = is_blocking = False

    def __init__(self, config: Config) -> None:
        self.config = config
        # The tools that were wrapped, by name: those a hook can ask for at once after another.
        self.tools: dict[str, Callable[..., Any]] = {}

    @functools.cached_property
    def heard(self) -> "_Engine":
        """The same for callers who keep the answers to themselves: what hooks tell the user is
        warned of, unless somebody hears it already."""
        return self if self.is_heard else _HeardEngine(self, self._tell_user)

    async def _tell_user(self, answer: Answer) -> None:
        if answer.user_message is not None:
            told = f"a hook tells the user: {answer.user_message}"
            self.config.get_debug_logger().warning(told, kind="told-user")

    async def execute(self, fired: FiredEvent) -> Answer:
        try:
            system = self.config.get_hook_system()
            return make_empty_answer(fired) if system is None else await system.execute(fired)
        except Exception as error:
            return self.fail(error, fired, "planning")

    async def settle(self, value: Any) -> Any:
        return await value if isawaitable(value) else value

    def fail(self, error: Exception, fired: FiredEvent | None, stage: str = "validation") -> Answer:
        """The answer to what could not be fired at all; people are told of it. It denies where a
        hook must answer."""
        from hookline.executor import deny_failed, is_exhausted

        try:
            system = self.config.get_hook_system()
            if system is not None:
                return system.fail(error, stage, fired)
            must_block = False
        except Exception:
            must_block = is_exhausted(error) or self.config.is_strict()
        warn(f"hooks did not run: {describe(error)}")
        meta = FailureMeta(event_name=fired.event if fired is not None else None)
        envelope = build_failure_envelope(error, stage, meta)
        if must_block and fired is not None:
            return deny_failed(envelope, fired)
        return process_common_hook_output_fields(envelope, fired)

    def find_tool(self, name: str) -> Execute | None:
        """How to run a tool that was wrapped."""
        tool = self.tools.get(name)
        return None if tool is None else functools.partial(call_with, tool)

    def warn(self, message: str) -> None:
        self.config.get_debug_logger().warning(message)

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
            # Settings may ask for it, and are read with the system.
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
            self.warn(f"the hooks could not be listed: {describe(error)}")
            return []
        return [e.name for e in entries if e.event in events and e.enabled and e.trusted]


class _OuterEngine(_Engine):
    """Another engine, and something done with its answers or its events."""

    def __init__(self, engine: _Engine) -> None:
        self.config, self.tools = engine.config, engine.tools
        self.is_heard, self.is_blocking = engine.is_heard, engine.is_blocking
        self._engine = engine

    async def settle(self, value: Any) -> Any:
        return await self._engine.settle(value)


class _HeardEngine(_OuterEngine):
    """The same engine for a caller who hears of each answer before it is applied."""

    def __init__(self, engine: _Engine, hear: Hear) -> None:
        super().__init__(engine)
        self._hear, self.is_heard = hear, True

    async def execute(self, fired: FiredEvent) -> Answer:
        answer = await self._engine.execute(fired)
        await self._hear(answer)
        return answer


class _ClosedEngine(_OuterEngine):
    """The same engine for a caller who would rather not go on where it fails itself."""

    async def execute(self, fired: FiredEvent) -> Answer:
        answer = await self._engine.execute(fired)
        if answer.word != "failed" or answer.blocked:
            return answer
        from hookline.executor import deny_failed

        return deny_failed(answer.aggregated, fired)


class _WordedEngine(_OuterEngine):
    """An engine whose events of one name Claude Code has worded already."""

    def __init__(self, engine: _Engine, event: EventName, original: Mapping[str, Any]) -> None:
        super().__init__(engine)
        self._event, self._original = event, original

    async def execute(self, fired: FiredEvent) -> Answer:
        if fired.event is self._event:
            facts = msgspec.structs.replace(fired.facts, original=self._original)
            fired = msgspec.structs.replace(fired, facts=facts)
        return await self._engine.execute(fired)


class _BlockingEngine(_Engine):
    """The same engine for callers who do not await: its coroutines end in their first step."""

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
        from hookline.system import run_blocking

        return run_blocking(lambda: super(_BlockingEngine, self).settle(value))


class Face:
    """The events and what is built on them, in one session."""

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
        """A tool is about to run."""
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
        """A tool has run; ``original_tool_input`` is what a hook rewrote."""
        values = (
            *(tool_name, tool_input, tool_response),
            *(original_tool_input, mcp_context, original_request_name),
        )
        return await self._fire(HookEventName.AFTER_TOOL, tool_name, values)

    async def before_agent(self, prompt: str) -> Answer:
        """A turn is about to begin."""
        return await self._fire(HookEventName.BEFORE_AGENT, "", (prompt,))

    async def after_agent(
        self, prompt: str, prompt_response: str, *, stop_hook_active: bool = False
    ) -> Answer:
        """A turn is over; ``stop_hook_active`` if a hook sent the agent back for it."""
        values = (prompt, prompt_response, stop_hook_active)
        return await self._fire(HookEventName.AFTER_AGENT, "", values)

    async def before_model(self, request: Any) -> Answer:
        """A request is about to go to the model."""
        return await self._fire(HookEventName.BEFORE_MODEL, "", (request,))

    async def after_model(self, request: Any, response: Any) -> Answer:
        """The model has answered in full."""
        return await self._fire(HookEventName.AFTER_MODEL, "", (request, response))

    async def before_tool_selection(
        self, request: Any, available_tools: Sequence[str] | None = None
    ) -> Answer:
        """The model is about to be offered its tools; their names default to the request's own."""
        names = None if available_tools is None else list(available_tools)
        return await self._fire(HookEventName.BEFORE_TOOL_SELECTION, "", (request, names))

    async def session_start(self, source: SessionStartSource | str = "startup") -> Answer:
        """A session starts (``startup``, ``resume``), or goes on after its context was cleared or
        compressed (``clear``, ``compress``)."""
        return await self._fire_trigger(HookEventName.SESSION_START, source)

    async def session_end(self, reason: SessionEndReason | str = "exit") -> Answer:
        """A session ends: ``exit``, ``clear``, ``logout``, ``prompt_input_exit`` or ``other``."""
        return await self._fire_trigger(HookEventName.SESSION_END, reason)

    async def pre_compress(self, trigger: PreCompressTrigger | str = "manual") -> Answer:
        """The history is about to be compressed: ``manual`` or ``auto``."""
        return await self._fire_trigger(HookEventName.PRE_COMPRESS, trigger)

    async def notification(
        self,
        message: str,
        *,
        notification_type: str | None = None,
        level: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Answer:
        """The user should be told something."""
        values = (message, notification_type, level, details)
        return await self._fire(HookEventName.NOTIFICATION, notification_type or "", values)

    async def fire(self, event: EventName | str, input: Mapping[str, Any]) -> Answer:
        """Fire an event whose name and fields are at hand as data."""
        from hookline.executor import find_named_event, read_named_event

        narrowed = None
        try:
            narrowed = find_named_event(event)
            fired = read_named_event(event, self._add_session(input), self._engine.config.get_tools)
        except Exception as error:
            return self._engine.fail(error, FiredEvent(narrowed) if narrowed else None)
        return await self._engine.execute(fired)

    async def fire_claude_event(self, name: str, fields: Mapping[str, Any]) -> Answer:
        """Fire an event by the name that Claude Code has for it, in its words: SubagentStop, say.
        Its hooks are run on it, and where it is one of ours (PreToolUse) all that match."""
        from hookline.executor import find_named_event
        from hookline.pipeline.dialects.claude.reading import read_claude_event

        event = None
        try:
            event = find_named_event(name)
            tools = self._engine.config.get_tools()
            fired = read_claude_event(name, self._add_session(fields), tools)
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
        original: Mapping[str, Any] | None = None,
        approved: bool = False,
    ) -> ToolGate:
        """The first half of ``run_tool``, for callers who run the tool themselves: whether it may
        run (``gate.refusal``) and with what (``gate.input``). ``gate.finish()`` is the other;
        ``read`` makes a result of what it is given. ``answered`` is what BeforeTool hooks have
        said to this very call already, ``original`` the event as Claude Code itself words it;
        ``approved`` says that the user has allowed the call, so that nobody is asked."""
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
        """Run a tool, and apply what the hooks before and after it say.

        ``tool`` is called with the fields of its input as keywords, or with the input itself if it
        has one parameter that is annotated as a mapping; ``call`` calls it some other way.
        ``confirm`` asks the user; without it nobody can be asked, and ``ask`` is a block.
        ``run_other(name, input)`` runs the tool that a hook wants to follow at once; without it
        those can follow that ``wrap`` knows. ``call_id`` is what the model's call is known by, for
        hooks that are told. An exception of the tool itself goes on to the caller,
        after AfterTool was fired.
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
        """``run_tool`` for an adapter: ``execute(input)`` runs the tool, ``read`` makes a result
        of what it returns, ``find_tool(name)`` says how a tool is run that hooks want to follow at
        once. ``answered`` is what BeforeTool hooks said before the call was deferred. The outcome
        has the tool's own value, for where hooks changed nothing."""
        call = self._make_call(name, tool_input, confirm, deferrals, mcp_context, call_id)
        return await run_call(
            self._engine.heard,
            msgspec.structs.replace(call, read=read, answered=answered),
            execute,
            find_tool=self._engine.find_tool if find_tool is None else find_tool,
        )

    async def model_gate(
        self, request: Any, *, available_tools: Sequence[str] | None = None
    ) -> "ModelGate":
        """The first half of ``model_call``, for callers who call the model themselves: whether it
        may be called (``gate.outcome``) and with what (``gate.request``, ``gate.allowed``).
        ``gate.finish()`` is the other."""
        from hookline.modelcall import ModelCall, open_model_gate

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
        """Call a model, and apply what the hooks before and after it say.

        ``create`` is the client's own method (``client.chat.completions.create``,
        ``client.responses.create``, ``client.messages.create``), plain or async, or a function
        that takes such a request and gives JSON. The answer is in the client's own type, its very
        object where hooks changed nothing. For a call that hooks block, or stop the loop at, it
        says the reason and calls no tool.

        With ``stream=True`` it is an iterator of the client's own chunks; they are held back until
        the response is complete only where AfterModel hooks exist. An exception of the client goes
        on to the caller.
        """
        from hookline.modelcall import call_model

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

    def may_skip(self, *events: EventName, target: str = "") -> bool:
        """Whether an adapter need not fire such events now: no hook would answer them, and nobody
        logs that none did."""
        engine = self._engine
        if engine.config.get_debug_logger().enabled:
            return False
        return not any(engine.may_answer(event, target) for event in events)

    def is_off(self) -> bool:
        """Whether hooks are switched off, by code or by settings; False if nobody can tell."""
        try:
            return self._engine.is_off()
        except Exception:
            return False

    def is_strict(self) -> bool:
        """Whether what cannot be checked must not pass: settings, code or the environment say so,
        or nobody can tell what they say."""
        return self._engine.is_strict()

    def names_of_hooks(self, *events: EventName) -> list[str]:
        """The hooks of these events that are in force here; those of a worker on a bus are not
        known."""
        return self._engine.names_of_hooks(events)

    def warn(self, message: str) -> None:
        """Tell people something, as the engine does: in the log, and in Python's logging."""
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
        """An input in this session, unless it names its own."""
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
    """The hooks of one conversation: every method of ``Hooks`` that fires an event, under its own
    session id."""

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
        """A function, plain or async, a method or a generator, that is guarded from now on.

        A call that a hook blocks raises ``BlockedByHook``; with ``on_block="return"`` the reason
        is its result, as a model's tool wants it. A stop raises ``StoppedByHook``. What hooks add
        to a result or put in its place goes into texts; with ``as_text`` other results become
        their JSON first, without it they stay as they are, and people are warned of the addition.
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
    """What ``Hooks.on`` gives: a decorator for functions that take the event."""

    @overload
    def __call__(self, function: Callable[[E], T], /) -> Callable[[E], T]: ...

    @overload
    def __call__(
        self, function: Callable[[dict[str, Any]], T], /
    ) -> Callable[[dict[str, Any]], T]: ...


class Hooks(HookSession):
    """Hooks for an agent, from code or from the settings on disk.

    It reads nothing until the first event, serves any number of threads and event loops at once,
    and never is None: where hooks are disabled, every method answers at once and does nothing.
    ``with`` and ``async with`` end what serves hooks from call to call.

    The options are those of ``Config``: the hooks by layer (``hooks``, ``user_hooks``,
    ``system_hooks``, ``extensions``, ``plugins``) with who may run (``disabled``, ``trusted``,
    ``enable_hooks``); the place (``working_dir``, ``project_dir``); the session (``session_id``,
    ``transcript_path``); how hooks run (``limits``, ``warm``, ``redaction``); over a bus
    (``remote_bus``, ``execution``, ``on_unavailable``, ``remote_timeout``, ``message_bus``); and
    who else has a part in it (``debug_logger``, ``translator``, ``tools``, and ``judge``, the
    function that puts the questions of prompt hooks to a model).
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
        """The hooks that the settings files name for a directory; the working directory's if none
        is given. Those of the project run as far as the user trusts them (``hookline trust``),
        unless ``trusted`` says something else; ``settings_files`` are used instead of those found,
        and need no trust. ``claude`` has Claude Code's settings read too, ``plugins`` are folders
        of its plugins."""
        return cls.of(
            Config.load(
                directory,
                project_dir=project_dir,
                settings_files=settings_files,
                trusted=trusted,
                claude=claude,
                **options,
            )
        )

    @classmethod
    def of(cls, config: Config) -> "Hooks":
        """The front of a configuration that is there already."""
        hooks = cls.__new__(cls)
        Face.__init__(hooks, _Engine(config))
        return hooks

    @property
    def config(self) -> Config:
        """What the hooks are configured with, and the owner of their engine."""
        return self._engine.config

    def session(self, id: str | None, *, transcript_path: str | None = None) -> HookSession:
        """The hooks of one conversation among many; making one costs nothing."""
        return HookSession(self._engine, id, transcript_path)

    def close(self) -> None:
        """End what serves hooks from call to call, and async hooks that still run; calls under
        way finish. May be called again."""
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

        It gets the event as a dictionary and answers with one (``deny("…")``), or with None to let
        it go on. ``matcher`` picks tools, triggers or notification types; ``timeout`` is in
        milliseconds, a minute if nothing is said. With ``on_failure="block"`` the event is blocked
        when the function fails. Raises UnknownEventError or InvalidHookError.
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
        """Fire AfterTool with what the tool gave, or raised, and apply what the hooks say."""
        return complete(self._gate.finish(result=result, error=error))


class SyncModelGate:
    """A ``ModelGate`` for code that does not await."""

    def __init__(self, gate: "ModelGate") -> None:
        self._gate = gate
        self.request, self.allowed, self.outcome = gate.request, gate.allowed, gate.outcome
        self.refuse_calls = gate.refuse_calls

    @property
    def holds_back(self) -> bool:
        """Whether AfterModel hooks exist."""
        return self._gate.holds_back

    def finish(self, response: Any) -> "ModelOutcome":
        """Fire AfterModel with the complete response, and apply what the hooks say."""
        return complete(self._gate.finish(response))


class _Blocking(Generic[P, T]):
    """A method of the front that returns what the coroutine of the same name would give."""

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, hooks: "SyncHooks", owner: type | None = None) -> Callable[P, T]:
        if hooks is None:  # asked of the class, by a reader of its documentation
            return self  # type: ignore[unreachable]
        method, face = self._method, hooks._face
        return lambda *args, **kwargs: complete(method(face, *args, **kwargs))


class SyncHooks:
    """The front for code that does not await, with or without a running event loop.

    An event that no hook matches costs a look into a dictionary: neither a loop nor a thread is
    started for it.
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
        original: Mapping[str, Any] | None = None,
        approved: bool = False,
    ) -> SyncToolGate:
        """The first half of ``run_tool``, for callers who run the tool themselves."""
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
        """The first half of ``model_call``, for callers who call the model themselves."""
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
        """Call a model, and apply what the hooks before and after it say; the chunks of a stream
        are had without await."""
        return complete(self._face.model_call(create, **request))


def face_of(hooks: HookSession, *, blocking: bool) -> Face:
    """The events of a session for an adapter that is written once, as coroutines: those of a
    blocking face end in their first step (``toolcall.complete``). What hooks tell the user is
    warned of."""
    face = hooks.sync._face if blocking else hooks
    return Face(face._engine.heard, face._session_id, face._transcript_path)


def worded_as(face: Face, event: EventName, original: Mapping[str, Any]) -> Face:
    """The same face, whose events of that name Claude Code itself has worded."""
    engine = _WordedEngine(face._engine, event, original)
    return Face(engine, face._session_id, face._transcript_path)


def heard_by(hooks: HookSession, hear: Hear | None) -> HookSession:
    """The same hooks, whose every answer is given to ``hear`` first, which must not raise; with
    None what they tell the user is warned of."""
    engine = hooks._engine.heard if hear is None else _HeardEngine(hooks._engine, hear)
    return HookSession(engine, hooks._session_id, hooks._transcript_path)


def recorded_at(hooks: HookSession, path: str) -> HookSession:
    """The same hooks, whose events name this file as the transcript."""
    return HookSession(hooks._engine, hooks._session_id, path)


def place_of(hooks: HookSession) -> tuple[str, str]:
    """The id of the session and the working directory, as hooks read them."""
    config = hooks._engine.config
    session_id = hooks._session_id
    return config.get_session_id() if session_id is None else session_id, config.get_working_dir()


def find_tools(hooks: HookSession) -> "Mapping[str, ToolAlias] | None":
    """What the host's tools are in Claude Code; None where none but the known ones are."""
    try:
        return hooks._engine.config.get_tools()
    except Exception:
        # The first event says so.
        return None


def find_files(hooks: HookSession, dialect: str) -> "list[tuple[HookSource, str]]":
    """The settings files that have hooks of a dialect, each with its layer; not those of
    plugins."""
    try:
        entries = hooks._engine.config.get_settings().entries
    except Exception:
        # The first event says so.
        return []
    of_settings = (e for e in entries if not getattr(e.hook, "plugin_root", None))
    found = {(e.source, e.file) for e in of_settings if e.file and e.hook.dialect == dialect}
    return sorted(found)


def offer_judge(hooks: HookSession, judge: "Judge") -> None:
    """Have prompt hooks ask this, unless whoever made the hooks has said whom they ask."""
    hooks._engine.config.offer_judge(judge)


def failing_closed(hooks: HookSession) -> HookSession:
    """The same hooks, where an event that the engine itself failed at is denied."""
    engine = _ClosedEngine(hooks._engine)
    return HookSession(engine, hooks._session_id, hooks._transcript_path)


def hooks_of(hooks: HookSession | Config) -> HookSession:
    """The front itself, or that of a configuration."""
    return Hooks.of(hooks) if isinstance(hooks, Config) else hooks


def _get_name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    return name if isinstance(name, str) else type(function).__name__
