"""A tool call with everything applied that hooks answer, as a whole or in two halves.

Everything is written once, for callers who await and for those who do not: a call reaches the
hooks, and awaits what a tool returns, through its ``Firing``, and a blocking one never suspends.
"""

import itertools
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, get_origin

import msgspec

from hookline.errors import describe
from hookline.pipeline.answer import Answer
from hookline.wire import codec
from hookline.wire.codec import show
from hookline.wire.events import EventName, HookEventName, narrow_event
from hookline.wire.fired import Facts, FiredEvent, Original
from hookline.wire.hooks import HookSource
from hookline.wire.outputs import create_hook_output

if TYPE_CHECKING:
    from hookline.engine.view import Circumstances
    from hookline.translate import HookTranslator

MAX_TAIL_CALLS = 8
BLOCKED_BY_HOOK = "blocked_by_hook"
# Fired before the user is asked; only other dialects have hooks for it.
PERMISSION_REQUEST = "PermissionRequest"
NOBODY_TO_ASK = "nobody can be asked to confirm it"

T = TypeVar("T")
ToolInput: TypeAlias = dict[str, Any]
Execute: TypeAlias = Callable[[ToolInput], Awaitable[Any] | Any]


class FollowingTool(msgspec.Struct, frozen=True):
    """The tool of a tail call: what runs it, the name that hooks know it by, and the MCP server
    that has it."""

    execute: Execute
    name: str
    mcp_context: dict[str, Any] | None = None


# Returns what runs the tool of that name, None if it cannot be run.
FindTool: TypeAlias = Callable[[str], Execute | FollowingTool | None]


class Deferred(Exception):
    """Raised by ``confirm`` if the user answers later: it goes through to the caller of the tool
    instead of counting as no."""


class ToolError(msgspec.Struct, frozen=True):
    """Why a tool did not give a proper result."""

    type: str
    message: str


class ToolResult(msgspec.Struct, frozen=True):
    """A tool's result: ``llm_content``, a text or a list of parts, is for the model;
    ``return_display`` is for the user unless ``suppress_display``. ``stop_reason`` is set if a
    hook stops the agent loop."""

    llm_content: str | list[Any]
    return_display: Any = None
    metadata: dict[str, Any] | None = None
    error: ToolError | None = None
    suppress_display: bool = False
    stop_reason: str | None = None


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a tool call. ``value`` is what the tool itself returned, ``result`` what the
    model should read. ``replaced`` and ``added`` say what hooks did to the result, so that a caller
    can keep its own object if they did nothing; ``followed`` says that the result is a tail
    call's; ``stop`` is why the loop should end."""

    result: ToolResult
    value: Any = None
    ran: bool = True
    blocked: bool = False
    replaced: bool = False
    added: str = ""
    stop: str | None = None
    followed: bool = False
    tail_call: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """What the model reads, as one string."""
        content = self.result.llm_content
        return content if isinstance(content, str) else text_of(content)


class ConfirmationRequest(msgspec.Struct, frozen=True):
    """The tool call that the user is asked about, because a hook answered ``ask``."""

    tool_name: str
    tool_input: ToolInput
    reason: str
    system_message: str | None = None


Confirm: TypeAlias = Callable[[ConfirmationRequest], Awaitable[bool] | bool]


class Firing(Protocol):
    """How a tool call reaches the hooks."""

    def execute(self, fired: FiredEvent) -> Coroutine[Any, Any, Answer]:
        """Fire an event."""
        ...

    def settle(self, value: Any) -> Coroutine[Any, Any, Any]:
        """Await what a callable returned, if it must be awaited."""
        ...

    def warn(self, message: str) -> None:
        """Log a warning."""
        ...

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would answer such an event now."""
        ...

    def may_decide(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would judge or change such an event now."""
        ...

    @property
    def as_blocking(self) -> "Firing":
        """The same for code that does not await."""
        ...

    def is_strict(self) -> bool:
        """True in strict mode, in which nothing passes unchecked."""
        ...

    def get_translator(self) -> "HookTranslator":
        """Return what reads and edits a model's requests and responses."""
        ...

    def describe_circumstances(self) -> "Circumstances":
        """Return what decisions about a call depend on besides the call."""
        ...


# Calls without an id are numbered, after a prefix that no other process has.
_CALLS = f"toolu_{os.getpid():x}{time.time_ns():x}_"
_NUMBERS = itertools.count(1)


def make_call_id() -> str:
    """Make an id for a call whose caller has none."""
    return f"{_CALLS}{next(_NUMBERS)}"


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call before any hook has seen it. ``deferrals`` are exceptions of ``confirm``, or of
    a tool that is not done yet, that go through as ``Deferred`` does. ``read`` turns what the tool
    returns into a result. ``answered`` is the BeforeTool output from before the call was deferred:
    the hooks are not asked again. ``id`` is the id of the model's tool call. ``original`` is the
    BeforeTool event as the host worded it; such a host fires PermissionRequest itself.
    ``approved`` says that the user has allowed this call. With ``ask_later`` the user is not asked
    now: the gate has the question."""

    name: str
    input: ToolInput
    confirm: Confirm | None = None
    deferrals: tuple[type[BaseException], ...] = ()
    mcp_context: dict[str, Any] | None = None
    original_request_name: str | None = None
    session_id: str | None = None
    transcript_path: str | None = None
    read: "Callable[[Any], ToolResult] | None" = None
    answered: Mapping[str, Any] | None = None
    id: str | None = None
    original: Original | None = None
    approved: bool = False
    ask_later: bool = False

    def event(
        self,
        event: EventName,
        *values: Any,
        duration_ms: float | None = None,
        original: Original | None = None,
    ) -> FiredEvent:
        """Make an event of this call."""
        return FiredEvent(
            event,
            self.name,
            (self.name, *values, self.mcp_context, self.original_request_name),
            session_id=self.session_id,
            transcript_path=self.transcript_path,
            facts=Facts(self.id, duration_ms, original),
        )


class ToolGate:
    """A tool call between its BeforeTool and its AfterTool.

    ``refusal`` is the result to use if the tool must not run, None if it may; ``input`` is the
    input to run it with. ``asks`` says that a hook wants the user asked, and that no
    PermissionRequest hook answered instead. ``question`` is what to ask, if the call was to be
    asked about later; until then the call is refused.
    """

    def __init__(
        self,
        firing: Firing,
        call: ToolCall,
        before: Answer,
        refusal: ToolResult | None,
        tool_input: ToolInput,
        *,
        asks: bool = False,
    ) -> None:
        self._firing = firing
        self._call = call
        self.question: ConfirmationRequest | None = None
        if call.ask_later and asks:
            reason = before.reason or ""
            self.question = ConfirmationRequest(call.name, tool_input, reason, before.message)
        self._opened = time.perf_counter()
        self.name: str = call.name
        self.before = before
        self.input = tool_input
        self.asks = asks
        if refusal is not None and before.context and not before.stopped:
            refusal = with_text(refusal, f"\n\n{before.context}")
        if refusal is not None:
            refusal = _add_message(refusal, before)
        self.refusal: ToolResult | None = refusal

    @property
    def is_rewritten(self) -> bool:
        """True if hooks changed the input."""
        return self.input is not self._call.input

    def write_record(self) -> dict[str, Any]:
        """Return the call and what hooks answered, as JSON to keep until the user has decided;
        ``Hooks.resume_gate`` takes it up, in another process too. It holds for this tool, this
        input, this session with its labels, and the hooks in force. Keep it as safe as the
        conversation, since who changes it answers in the hooks' place; and take it up once."""
        from hookline.calls.record import write_record

        output = self.before.final_output
        return write_record(
            self._call,
            {} if output is None else output.to_wire(),
            self._firing.describe_circumstances(),
            reason=None if self.question is None else self.question.reason,
        )

    async def finish(
        self,
        *,
        result: Any = None,
        error: BaseException | None = None,
        original: Original | None = None,
    ) -> ToolOutcome:
        """Fire AfterTool with the tool's result or exception, and apply what the hooks answer.
        ``original`` is the event as the host worded it."""
        if error is None:
            given = as_tool_result(result) if self._call.read is None else self._call.read(result)
        else:
            said = describe(error)
            failure = ToolError("tool_failed", said)
            given = ToolResult(said, return_display=said, error=failure)
        after = await self._firing.execute(
            self._call.event(
                HookEventName.AFTER_TOOL,
                self.input,
                to_tool_response(given),
                self._call.input if self.is_rewritten else None,
                duration_ms=(time.perf_counter() - self._opened) * 1000,
                original=original,
            )
        )
        kept, reason = given, after.reason or ""
        if after.stopped:
            kept = _make_stop(reason)
        elif after.denied:
            kept = msgspec.structs.replace(given, llm_content=reason, return_display=reason)
        elif after.tool_output is not None:
            text = after.tool_output
            kept = msgspec.structs.replace(given, llm_content=text, return_display=text)
        applied = kept
        for answer in (self.before, after):
            if answer.context and not after.stopped:
                applied = with_text(applied, f"\n\n{answer.context}")
        if after.suppressed:
            applied = msgspec.structs.replace(applied, suppress_display=True)
        applied = _add_message(_add_message(applied, self.before), after)
        old, new = kept.llm_content, applied.llm_content
        if isinstance(old, list):
            added = "\n\n".join(part["text"] for part in new[len(old) :] if isinstance(part, dict))
        else:
            assert isinstance(new, str)
            added = new[len(old) :].lstrip("\n")
        return ToolOutcome(
            value=result,
            result=applied,
            blocked=after.denied and not after.stopped,
            replaced=kept is not given,
            added=added,
            stop=applied.stop_reason,
            tail_call=None if after.stopped else after.tail_call,
        )

    async def follow(
        self, outcome: ToolOutcome, find_tool: FindTool, *, confirm: Confirm | None = None
    ) -> ToolOutcome:
        """Run the tail calls that hooks request after this call, and return the last outcome; the
        given outcome if they request none. ``find_tool`` and ``confirm`` are as in
        ``run_call``."""
        first = msgspec.structs.replace(self._call, confirm=confirm)
        return await _run_tail_calls(self._firing, first, outcome, find_tool)


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never suspends because its ``Firing`` is blocking."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("a blocking call was about to wait")


async def open_gate(firing: Firing, call: ToolCall) -> ToolGate:
    """Fire BeforeTool, ask the user if a hook wants it, and decide whether the tool may run."""
    event = call.event(HookEventName.BEFORE_TOOL, call.input, original=call.original)
    if call.answered is None:
        before = await firing.execute(event)
    else:
        before = Answer.read(event, call.answered)
    reason = before.reason or ""
    refusal, tool_input, asks = None, before.tool_input, before.asks
    if before.stopped:
        refusal = _make_stop(reason)
    elif before.blocked:
        refusal = _make_block(reason)
    elif before.asks and not call.approved:
        if call.confirm is None and not call.ask_later:
            refusal = _make_block(f"{reason} ({NOBODY_TO_ASK})")
        else:
            refusal, tool_input, asks = await _ask_user(firing, call, before)
    return ToolGate(firing, call, before, refusal, tool_input, asks=asks)


async def reopen_gate(
    firing: Firing, call: ToolCall, record: Mapping[str, Any], *, approved: bool
) -> ToolGate:
    """Open the gate of a call that was written down, without running its hooks again. If the
    record is not about this call, hooks are asked anew, and the user is to be as well."""
    from hookline.calls.record import read_record

    known = read_record(firing, call, record)
    if known is None:
        return await open_gate(firing, msgspec.structs.replace(call, ask_later=True))
    call = msgspec.structs.replace(
        call, id=known.call_id, answered=known.answered, confirm=lambda _request: approved
    )
    gate = await open_gate(firing, call)
    if not approved and gate.refusal is None:
        gate.refusal = _make_block(f"The user did not allow this call of {call.name}.")
    return gate


async def _ask_user(
    firing: Firing, call: ToolCall, before: Answer
) -> tuple[ToolResult | None, ToolInput, bool]:
    """Ask the user about a call, unless PermissionRequest hooks answer instead. Return the
    refusal, None if the call may go on, its input, and whether the user was asked."""
    tool_input, reason = before.tool_input, before.reason or ""
    # After a deferral those hooks have answered before; a host with words of its own asks them.
    is_new = call.answered is None and call.original is None
    if is_new and firing.may_answer(PERMISSION_REQUEST, call.name):
        server = {} if call.mcp_context is None else {"mcp_context": call.mcp_context}
        fired = FiredEvent(
            narrow_event(PERMISSION_REQUEST),
            call.name,
            (call.name, tool_input),
            server,
            session_id=call.session_id,
            transcript_path=call.transcript_path,
        )
        answer = await firing.execute(fired)
        if answer.stopped:
            return _make_stop(answer.reason or ""), tool_input, False
        if answer.denied:
            return _make_block(answer.reason or reason), tool_input, False
        # An answer that may not permit the call may not rewrite it either.
        if may_permit(answer, before):
            return None, answer.tool_input, False
    if call.ask_later:
        return _make_block(f"This call waits for the user's decision: {reason}"), tool_input, True
    assert call.confirm is not None
    request = ConfirmationRequest(call.name, tool_input, reason, before.message)
    try:
        is_confirmed = await firing.settle(call.confirm(request)) is True
    except Exception as error:
        if isinstance(error, (Deferred, *call.deferrals)):
            raise
        # Without an answer the call is not allowed.
        firing.warn(f"cannot ask the user about {call.name}: {error}")
        is_confirmed = False
    refused = _make_block(f"The user did not allow this call of {call.name}: {reason}")
    return (None if is_confirmed else refused), tool_input, True


def may_permit(answer: Answer, asked: Answer | None = None) -> bool:
    """True if PermissionRequest hooks allow a call that hooks (in ``asked``) or the agent want to
    ask the user about. A hook cannot allow what a hook of a more trusted layer asks about: only
    the system's hooks can answer the system's question, and the project's hooks cannot answer the
    user's. Nor may a hook that cannot allow the call rewrite it: the others have not seen that."""
    output = answer.final_output
    if output is None or output.decision not in ("allow", "approve"):
        return False
    asking = {
        result.hook.source
        for result in (asked.results if asked is not None else ())
        if create_hook_output(result.event_name, result.output or {}).is_ask_decision()
    }
    barred: set[HookSource] = set()
    if HookSource.SYSTEM in asking:
        barred = {*HookSource} - {HookSource.SYSTEM}
    elif HookSource.USER in asking:
        barred = {HookSource.PROJECT, HookSource.EXTENSIONS}
    allowing, rewriting = set[HookSource](), set[HookSource]()
    for result in answer.results:
        said = create_hook_output(result.event_name, result.output or {})
        if said.decision in ("allow", "approve"):
            allowing.add(result.hook.source)
        given = said.hook_specific_output or {}
        if given.get("tool_input") or given.get("removeToolInput"):
            rewriting.add(result.hook.source)
    # Hooks allow the call as they read it, so no other hook may have rewritten it.
    return bool(allowing - barred) and not rewriting & barred


async def run_call(
    firing: Firing, call: ToolCall, execute: Execute, *, find_tool: FindTool
) -> ToolOutcome:
    """Run a tool and apply what BeforeTool and AfterTool hooks answer, tail calls included:
    ``find_tool`` returns what runs one. Raises only the tool's own exceptions, and deferrals."""
    outcome = await _run_once(firing, call, execute)
    return await _run_tail_calls(firing, call, outcome, find_tool)


async def _run_tail_calls(
    firing: Firing, first: ToolCall, outcome: ToolOutcome, find_tool: FindTool
) -> ToolOutcome:
    """Run the tail calls that hooks request, and return the outcome of the last."""
    number = 0
    while outcome.tail_call is not None:
        name, following = outcome.tail_call["name"], find_tool(outcome.tail_call["name"])
        if number == MAX_TAIL_CALLS or following is None:
            many = f"{MAX_TAIL_CALLS} have followed already"
            why = "this caller cannot run it" if following is None else many
            firing.warn(f"the tail call of {name!r} that a hook asked for did not run: {why}")
            break
        if not isinstance(following, FollowingTool):
            following = FollowingTool(following, name)
        call = msgspec.structs.replace(
            first,
            name=following.name,
            input=outcome.tail_call["args"],
            mcp_context=following.mcp_context,
            original_request_name=first.original_request_name or first.name,
            answered=None,
            id=make_call_id(),
            original=None,
            approved=False,
            ask_later=False,
        )
        number += 1
        outcome = await _run_once(firing, call, following.execute)
        outcome = msgspec.structs.replace(outcome, followed=True)
    return outcome


async def _run_once(firing: Firing, call: ToolCall, execute: Execute) -> ToolOutcome:
    gate = await open_gate(firing, call)
    if gate.refusal is not None:
        stop = gate.refusal.stop_reason
        return ToolOutcome(result=gate.refusal, ran=False, blocked=stop is None, stop=stop)
    try:
        value = await firing.settle(execute(gate.input))
    except Exception as error:
        if isinstance(error, call.deferrals):
            # The tool is not done; the caller will call it again.
            raise
        outcome = await gate.finish(error=error)
        if outcome.replaced:
            # The caller gets the exception instead of a result.
            firing.warn(
                f"hooks rejected the result of {call.name} or stopped the loop after it, "
                f"but its exception still goes on to the caller: {outcome.text}"
            )
        elif outcome.added:
            add_to_error(error, outcome.added)
        raise
    return await gate.finish(result=value)


def call_with(tool: Callable[..., Any], tool_input: Mapping[str, Any]) -> Any:
    """Call a tool with the fields of its input as keywords; or with the mapping itself, if its one
    parameter is annotated as a mapping and is not named like a field."""
    # Loaded with the first tool, as the contract's names need none of it.
    from inspect import Parameter, signature

    try:
        parameters = list(signature(tool, eval_str=True).parameters.values())
    except (TypeError, ValueError, NameError):
        parameters = []
    if len(parameters) == 1 and parameters[0].name not in tool_input:
        only = parameters[0]
        kind = get_origin(only.annotation) or only.annotation
        is_mapping = isinstance(kind, type) and issubclass(kind, Mapping)
        if is_mapping and only.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            return tool(tool_input)
    return tool(**tool_input)


def as_tool_result(value: Any) -> ToolResult:
    """Turn what a tool returned into a result: a text or a list of parts is its content, anything
    else is written as JSON."""
    if isinstance(value, ToolResult):
        return value
    if value is None:
        return ToolResult("")
    return ToolResult(value if isinstance(value, str | list) else text_of(value))


def text_of(value: Any) -> str:
    """Return a value as JSON; a string as it is."""
    return value if isinstance(value, str) else codec.encode(show(value).value).decode()


def with_text(result: ToolResult, text: str) -> ToolResult:
    """Add a text to the end of what the model reads."""
    content = result.llm_content
    if isinstance(content, list):
        return msgspec.structs.replace(result, llm_content=[*content, {"text": text.lstrip("\n")}])
    return msgspec.structs.replace(
        result, llm_content=content + text if content else text.lstrip("\n")
    )


def to_tool_response(result: ToolResult) -> dict[str, Any]:
    """Return the JSON that AfterTool hooks read as ``tool_response``."""
    fields = {
        "llmContent": result.llm_content,
        "returnDisplay": result.return_display,
        "metadata": result.metadata,
        "error": result.error and {"type": result.error.type, "message": result.error.message},
    }
    return {name: value for name, value in fields.items() if value is not None}


def _make_stop(reason: str) -> ToolResult:
    return ToolResult(reason, return_display=reason, stop_reason=reason)


def _make_block(reason: str) -> ToolResult:
    return ToolResult(reason, return_display=reason, error=ToolError(BLOCKED_BY_HOOK, reason))


def add_to_error(error: Exception, text: str) -> None:
    """Add a text to the message of an exception, which is what a model reads of a tool that raised;
    as a note to one that writes its message itself."""
    message = str(error)
    if error.args and error.args[0] == message and text not in message:
        error.args = (f"{message}\n\n{text}", *error.args[1:])
    else:
        error.add_note(text)


def _add_message(result: ToolResult, answer: Answer) -> ToolResult:
    return with_text(result, f"\n\n[System] {answer.message}") if answer.message else result
