"""The front: hooks for a Python program, in one object.

``Hooks`` is for code that awaits, ``hooks.sync`` for code that does not, ``hooks.session(id)`` for
one conversation of many. All of them share one engine. The methods are written once, as
coroutines; ``hooks.sync`` runs the same coroutines over an engine that never suspends.
"""

import functools
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    overload,
)

import msgspec

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
    reopen_gate,
    run_call,
)
from hookline.calls.wrap import OnBlock, wrap_function
from hookline.engine.engine import Engine, read_hook
from hookline.engine.options import (
    HookOptions,
    LoadOptions,
    Options,
    PathLike,
    refuse_unknown,
    takes,
)
from hookline.engine.project import Project
from hookline.engine.view import EngineView
from hookline.errors import describe
from hookline.pipeline.answer import Answer
from hookline.wire.events import (
    EventName,
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
    narrow_event,
)
from hookline.wire.fired import Original, check_labels

if TYPE_CHECKING:
    from typing import Unpack

    from hookline.contract import Config
    from hookline.wire.hooks import HookFunction
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
    from hookline.wire.outputs import DefaultHookOutput

    _Returned: TypeAlias = Mapping[str, object] | DefaultHookOutput | None

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E")
# What the function of a hook returns: a ``Reply``, or any mapping that is one.
R = TypeVar("R", bound="_Returned | Awaitable[_Returned]")
G = TypeVar("G")


class Face:
    """The methods that fire events, and what is built on them, over one view of the engine."""

    def __init__(self, view: EngineView) -> None:
        self.view = view

    @functools.cached_property
    def _heard(self) -> EngineView:
        return self.view.heard

    async def before_tool(
        self,
        tool_name: str,
        tool_input: Mapping[str, Any],
        *,
        mcp_context: Mapping[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> Answer:
        """Fire BeforeTool: a tool is about to run."""
        return await self.view.fire(
            HookEventName.BEFORE_TOOL,
            tool_name,
            tool_input,
            mcp_context,
            original_request_name,
        )

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
        return await self.view.fire(
            HookEventName.AFTER_TOOL,
            tool_name,
            tool_input,
            tool_response,
            original_tool_input,
            mcp_context,
            original_request_name,
        )

    async def before_agent(self, prompt: str) -> Answer:
        """Fire BeforeAgent: a turn is about to begin."""
        return await self.view.fire(HookEventName.BEFORE_AGENT, prompt)

    async def after_agent(
        self, prompt: str, prompt_response: str, *, stop_hook_active: bool = False
    ) -> Answer:
        """Fire AfterAgent: a turn is over. ``stop_hook_active`` is True if the turn went on only
        because an AfterAgent hook sent the agent back to work."""
        return await self.view.fire(
            HookEventName.AFTER_AGENT, prompt, prompt_response, stop_hook_active
        )

    async def before_model(self, request: Any) -> Answer:
        """Fire BeforeModel: a request is about to go to the model."""
        return await self.view.fire(HookEventName.BEFORE_MODEL, request)

    async def after_model(self, request: Any, response: Any) -> Answer:
        """Fire AfterModel: the model's response is complete."""
        return await self.view.fire(HookEventName.AFTER_MODEL, request, response)

    async def before_tool_selection(
        self, request: Any, available_tools: Sequence[str] | None = None
    ) -> Answer:
        """Fire BeforeToolSelection: the model is about to be offered its tools. Without
        ``available_tools`` hooks read the names that the request declares."""
        names = None if available_tools is None else list(available_tools)
        return await self.view.fire(HookEventName.BEFORE_TOOL_SELECTION, request, names)

    async def session_start(self, source: SessionStartSource | str = "startup") -> Answer:
        """Fire SessionStart: a session starts (``startup``, ``resume``), or goes on after its
        context was cleared or compressed (``clear``, ``compress``)."""
        return await self.view.fire(HookEventName.SESSION_START, source)

    async def session_end(self, reason: SessionEndReason | str = "exit") -> Answer:
        """Fire SessionEnd: a session ends, for the reason ``exit``, ``clear``, ``logout``,
        ``prompt_input_exit`` or ``other``."""
        return await self.view.fire(HookEventName.SESSION_END, reason)

    async def pre_compress(self, trigger: PreCompressTrigger | str = "manual") -> Answer:
        """Fire PreCompress: the history is about to be compressed, because the user
        (``manual``) or the agent (``auto``) asks for it."""
        return await self.view.fire(HookEventName.PRE_COMPRESS, trigger)

    async def notification(
        self,
        message: str,
        *,
        notification_type: str | None = None,
        level: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Fire Notification: the agent tells the user something."""
        return await self.view.fire(
            HookEventName.NOTIFICATION, message, notification_type, level, details
        )

    async def fire(self, event: EventName | str, input: Mapping[str, Any]) -> Answer:
        """Fire an event by its name, with its fields as a mapping."""
        return await self.view.fire_named(event, input)

    async def fire_claude_event(self, name: str, fields: Mapping[str, Any]) -> Answer:
        """Fire an event under Claude Code's name for it (SubagentStop, say), with Claude Code's
        fields. Hooks in Claude Code's format run; if hookline has the event too (PreToolUse), all
        matching hooks run."""
        return await self.view.fire_named(name, fields, dialect="claude")

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
        ask_later: bool = False,
    ) -> ToolGate:
        """Do the first half of ``run_tool``, for callers who run the tool themselves.

        ``gate.refusal`` is the result to use if the tool must not run, else None; ``gate.input``
        is the input to run it with. Call ``gate.finish()`` with the tool's result afterwards;
        ``read`` turns that result into a ``ToolResult``. ``answered`` is the BeforeTool output of
        an earlier attempt at this call, which is not fired again; ``original`` is the event as
        the host worded it. With ``approved`` the user has allowed the call and is not asked. With
        ``ask_later`` a call that hooks ask about has a ``gate.question``, and is refused until the
        user has answered: keep ``gate.write_record()``, and call ``resume_gate`` then.
        """
        call = self._make_call(
            *(name, tool_input, mcp_context, call_id),
            confirm=confirm,
            deferrals=deferrals,
            read=read,
            answered=answered,
            original=original,
            approved=approved,
            ask_later=ask_later,
        )
        return await open_gate(self._heard, call)

    async def resume_gate(
        self,
        record: Mapping[str, Any],
        name: str,
        tool_input: Mapping[str, Any],
        *,
        approved: bool,
        mcp_context: Mapping[str, Any] | None = None,
        read: Callable[[Any], ToolResult] | None = None,
    ) -> ToolGate:
        """Take up a call whose gate was written down (``gate.write_record()``), now that the user
        has ``approved`` it or not; BeforeTool hooks are not run again.

        The record holds for the same tool and input, in the same session with the same labels,
        under the same hooks. If any of these differs, a warning says so, hooks are run as for a new
        call, and what the user said does not count: look at ``gate.question``.
        """
        call = self._make_call(name, tool_input, mcp_context, read=read)
        return await reopen_gate(self._heard, call, record, approved=approved)

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
            self._heard,
            self._make_call(
                name or _get_name(tool), tool_input, mcp_context, call_id, confirm=confirm
            ),
            call or functools.partial(call_with, tool),
            find_tool=self._find_tool
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
        call = self._make_call(
            *(name, tool_input, mcp_context, call_id),
            confirm=confirm,
            deferrals=deferrals,
            read=read,
            answered=answered,
        )
        return await run_call(self._heard, call, execute, find_tool=find_tool or self._find_tool)

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
            session_id=self.view.session_id,
            transcript_path=self.view.transcript_path,
        )
        return await open_model_gate(self.view, call)

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
        hooks may change or reject the response, the chunks are held back until it is complete;
        async hooks get it when the stream was read to its end. Exceptions of the client go on to
        the caller.
        """
        return await call_model(
            self.view,
            create,
            request,
            session_id=self.view.session_id,
            transcript_path=self.view.transcript_path,
            blocking=self.view.blocking,
        )

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would answer such an event now."""
        return self.view.may_answer(narrow_event(event), target)

    def may_skip(self, *events: EventName | str, target: str = "") -> bool:
        """True if an adapter need not fire these events now: no hook would answer them, and the
        log does not record events without hooks."""
        try:
            if self.view.engine.get_log().enabled:
                return False
        except Exception:
            return False
        return not any(self.view.may_answer(event, target) for event in events)

    def is_off(self) -> bool:
        """True if code or settings switch all hooks off; False if the settings cannot be read."""
        return self.view.engine.is_off()

    def is_strict(self) -> bool:
        """True in strict mode, in which nothing passes unchecked: settings, code or the
        environment ask for it, or the settings cannot be read."""
        return self.view.is_strict()

    def names_of_hooks(self, *events: EventName) -> list[str]:
        """Return the names of the hooks in force for these events in this process; it does not
        know the hooks of a worker on a bus."""
        engine = self.view.engine
        if engine.is_off():
            return []
        try:
            engine.load()
            entries = engine.registry.get_all_hooks()
        except Exception as error:
            self.warn(f"cannot list the hooks: {describe(error)}")
            return []
        return [e.name for e in entries if e.event in events and e.enabled and e.trusted]

    def warn(self, message: str) -> None:
        """Log a warning as the engine does: in the hook log, and in Python's logging."""
        self.view.warn(message)

    def _make_call(
        self,
        name: str,
        tool_input: Mapping[str, Any],
        mcp_context: Mapping[str, Any] | None = None,
        call_id: str | None = None,
        **fields: Any,
    ) -> ToolCall:
        return ToolCall(
            name=name,
            input=tool_input if isinstance(tool_input, dict) else dict(tool_input),
            mcp_context=None if mcp_context is None else dict(mcp_context),
            session_id=self.view.session_id,
            transcript_path=self.view.transcript_path,
            id=call_id or make_call_id(),
            **fields,
        )

    def _find_tool(self, name: str) -> Execute | None:
        """Return what runs a wrapped tool, None for any other."""
        tool = self.view.engine.tools.get(name)
        return None if tool is None else functools.partial(call_with, tool)


class WrapOptions(TypedDict, total=False):
    """The options of ``Hooks.wrap``."""

    name: str | None
    on_block: OnBlock
    as_text: bool
    confirm: Confirm | None


class HookSession(Face):
    """The hooks of one conversation: every method of ``Hooks`` that fires an event, with a session
    id of its own."""

    @functools.cached_property
    def sync(self) -> "SyncHooks":
        """The same methods for code that does not await."""
        return SyncHooks(self)

    @overload
    def wrap(self, function: F, /, **options: "Unpack[WrapOptions]") -> F: ...

    @overload
    def wrap(self, /, **options: "Unpack[WrapOptions]") -> Callable[[F], F]: ...

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
            template = self._make_call(name or _get_name(guarded), {}, confirm=confirm)
            self.view.engine.tools[template.name] = guarded
            return wrap_function(
                guarded,
                template,
                self._heard,
                msgspec.structs.replace(self._heard, blocking=True),
                find_tool=self._find_tool,
                on_block=on_block,
                as_text=as_text,
            )

        return guard if function is None else guard(function)


class Register(Protocol[E]):
    """The decorator that ``Hooks.on`` returns, for functions that take the event."""

    @overload
    def __call__(self, function: Callable[[E], R], /) -> Callable[[E], R]: ...

    @overload
    def __call__(
        self, function: Callable[[dict[str, Any]], R], /
    ) -> Callable[[dict[str, Any]], R]: ...


class Hooks(HookSession):
    """Hooks for an agent, from code or from the settings on disk.

    It reads nothing until the first event, and serves any number of threads and event loops at
    once. Where hooks are disabled, every method answers at once and runs nothing. ``with`` and
    ``async with`` call ``close()`` at their end.

    ``hookline.engine.options.Options`` has all options: the hooks of each layer (``hooks``,
    ``user_hooks``, ``system_hooks``, ``extensions``, ``plugins``) and which of them may run
    (``disabled``, ``trusted``, ``enable_hooks``); the directories (``working_dir``,
    ``project_dir``); the session (``session_id``, ``transcript_path``); how hooks run (``limits``,
    ``warm``, ``redaction``); the message bus (``remote_bus``, ``execution``, ``on_unavailable``,
    ``remote_timeout``, ``message_bus``); and what else the engine uses (``debug_logger``,
    ``translator``, ``tools``, and ``judge``, the function that puts the questions of prompt hooks
    to a model).
    """

    @takes(Options)
    def __init__(self, **options: Any) -> None:
        super().__init__(_open_view(Engine(Project(Options(**options)))))

    @classmethod
    @takes(LoadOptions)
    def load(cls, directory: PathLike | None = None, **options: Any) -> "Hooks":
        """Return the hooks of a directory's settings files, by default those of the working
        directory.

        The project's hooks run if the user has trusted them (``hookline trust``); ``trusted``
        overrides that. ``settings_files`` replace the files that would be found, and need no
        trust. With ``claude`` Claude Code's settings are read too; ``plugins`` are folders of
        Claude Code plugins. Raises NoFolderError if there is no such directory; if it has no
        settings, the first event warns of that.
        """
        loading = LoadOptions(directory, **options)
        project = Project(loading)
        if directory is not None or loading.project_dir is not None or loading.settings_files:
            project.expect_settings()
        return cls._over(Engine(project))

    @classmethod
    def of(cls, config: "Config") -> "Hooks":
        """Return the hooks of an existing configuration."""
        hooks = cls._over(config.engine)
        hooks.config = config
        return hooks

    @classmethod
    def _over(cls, engine: Engine) -> "Hooks":
        """Return the hooks of an engine."""
        hooks = cls.__new__(cls)
        Face.__init__(hooks, _open_view(engine))
        return hooks

    @functools.cached_property
    def config(self) -> "Config":
        """The configuration, which owns the hook system."""
        from hookline.contract import Config

        return Config.of(self.view.engine)

    def session(
        self,
        id: str | None,
        *,
        transcript_path: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> HookSession:
        """Return the hooks of one conversation; this costs next to nothing.

        ``labels`` say who is being served, ``{"user": "ada", "team": "ops"}`` for example; hooks
        read them in every event of the session, and the trace has them. Raises TypeError if one
        is no string.
        """
        return HookSession(
            msgspec.structs.replace(
                self.view,
                session_id=id,
                transcript_path=transcript_path,
                labels={} if labels is None else check_labels(labels),
            )
        )

    def close(self) -> None:
        """End helper processes and async hooks that still run; calls under way finish. May be
        called more than once."""
        self.view.engine.dispose()

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
        event is blocked when the function fails. A plain function runs on a thread of its own;
        with ``inline``, for one that is quick, and with ``on_failure="block"`` it runs where it is
        called, where no timeout can stop it. The caller's context variables reach it in either
        place. Raises UnknownEventError or InvalidHookError.
        """
        narrowed = narrow_event(event)
        refuse_unknown(options, HookOptions.__annotations__, "Hooks.on")
        # A mistake in the options is reported where they stand, before there is a function.
        named: HookOptions = {"name": f"hook on {narrowed.value}", **options}
        read_hook(narrowed, _ignore, **named)

        def register(function: "HookFunction") -> "HookFunction":
            self.view.engine.add_hook(read_hook(narrowed, function, **options))
            return function

        return register


class SyncToolGate:
    """A ``ToolGate`` for code that does not await."""

    def __init__(self, gate: ToolGate) -> None:
        self._gate = gate
        self.name, self.before = gate.name, gate.before
        self.input, self.refusal = gate.input, gate.refusal
        self.question, self.write_record = gate.question, gate.write_record

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
        """True if AfterModel hooks may change or reject the response; async hooks cannot."""
        return self._gate.holds_back

    @property
    def observes(self) -> bool:
        """True if there are AfterModel hooks, and none of them can change or reject the
        response."""
        return self._gate.observes

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


def _wrap(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]], kind: Callable[[T], G]
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, G]]:
    """Return the method with its result wrapped."""

    @functools.wraps(method)
    async def call(face: Any, /, *args: P.args, **kwargs: P.kwargs) -> G:
        return kind(await method(face, *args, **kwargs))

    return call


class SyncHooks:
    """The methods of ``Hooks`` for code that does not await, with or without a running event loop.

    An event that no hook matches starts neither an event loop nor a thread.
    """

    def __init__(self, hooks: HookSession) -> None:
        self._face = Face(msgspec.structs.replace(hooks.view, blocking=True))
        self.wrap: Final = hooks.wrap
        self.warn: Final = hooks.warn
        self.may_answer: Final = hooks.may_answer
        self.may_skip: Final = hooks.may_skip
        self.is_strict: Final = hooks.is_strict
        self.is_off: Final = hooks.is_off
        self.names_of_hooks: Final = hooks.names_of_hooks

    before_tool: Final = _Blocking(Face.before_tool)
    after_tool: Final = _Blocking(Face.after_tool)
    before_agent: Final = _Blocking(Face.before_agent)
    after_agent: Final = _Blocking(Face.after_agent)
    before_model: Final = _Blocking(Face.before_model)
    after_model: Final = _Blocking(Face.after_model)
    before_tool_selection: Final = _Blocking(Face.before_tool_selection)
    session_start: Final = _Blocking(Face.session_start)
    session_end: Final = _Blocking(Face.session_end)
    pre_compress: Final = _Blocking(Face.pre_compress)
    notification: Final = _Blocking(Face.notification)
    fire: Final = _Blocking(Face.fire)
    fire_claude_event: Final = _Blocking(Face.fire_claude_event)
    run_tool: Final = _Blocking(Face.run_tool)
    call_tool: Final = _Blocking(Face.call_tool)
    tool_gate: Final = _Blocking(_wrap(Face.tool_gate, SyncToolGate))
    resume_gate: Final = _Blocking(_wrap(Face.resume_gate, SyncToolGate))
    model_gate: Final = _Blocking(_wrap(Face.model_gate, SyncModelGate))

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


def hooks_of(hooks: "HookSession | Config") -> HookSession:
    """Return the hooks as they are, or the hooks of a configuration."""
    return hooks if isinstance(hooks, HookSession) else Hooks.of(hooks)


def _open_view(engine: Engine) -> EngineView:
    # Loaded now, as a process without a free descriptor needs it to refuse a model call.
    engine.get_translator()
    return EngineView(engine)


def _ignore(_event: dict[str, Any]) -> None:
    """Do nothing on an event."""


def _get_name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    return name if isinstance(name, str) else type(function).__name__
