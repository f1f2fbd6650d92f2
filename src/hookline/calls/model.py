"""A model call with everything applied that hooks answer, as a whole or in two halves.

As in ``calls.tool``, everything is written once, for callers who await and for those who do not.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.calls import streams
from hookline.calls.clients import ModelClient
from hookline.calls.tool import Firing
from hookline.errors import TranslationError
from hookline.pipeline.answer import Answer
from hookline.wire.events import HookEventName
from hookline.wire.fired import FiredEvent

if TYPE_CHECKING:
    from hookline.translate import HookTranslator

# For callers that have no display of their own.
RESPONSE_HIDDEN = "a hook wants this response hidden from the user; the caller still gets it"


class ModelOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a model call. ``response`` is the one to keep, in the caller's own type; if
    hooks changed nothing, it is the model's own object. If ``blocked``, hooks rejected the response
    and it contains only the reason. ``stop`` is why the loop should end, ``message`` a hook's
    system message for the next request. If ``suppressed``, the response is not displayed."""

    response: Any
    blocked: bool = False
    reason: str | None = None
    stop: str | None = None
    message: str | None = None
    suppressed: bool = False


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model call before any hook has seen it; ``available_tools`` are the names that hooks may
    choose from, None for those that the request declares."""

    request: Any
    available_tools: list[str] | None = None
    session_id: str | None = None
    transcript_path: str | None = None

    def event(self, event: HookEventName, *values: Any) -> FiredEvent:
        """Make an event of this call."""
        return FiredEvent(event, "", values, {}, self.session_id, self.transcript_path)


class ModelGate:
    """A model call between its BeforeModel and its AfterModel.

    ``request`` is the request to send, ``allowed`` the names of the tools that the model may call,
    None for all. ``outcome`` is set if the model must not be called: a hook answers in its place,
    forbids the call, or stops the loop.

    Call ``finish`` with every complete response. Of a stream, read first what hooks will do with
    it: if ``holds_back``, they may change or reject the response, so nothing of it may be shown
    before ``finish``; if ``observes``, they only get it when it is complete, and
    ``hookline.calls.streams.observe_stream`` passes the chunks on meanwhile; if neither, the
    stream concerns no hook.
    """

    def __init__(
        self,
        firing: Firing,
        call: ModelCall,
        request: Any,
        *,
        allowed: frozenset[str] | None = None,
        outcome: ModelOutcome | None = None,
    ) -> None:
        self._firing = firing
        self._call = call
        self.request = request
        self.allowed = allowed
        self.outcome = outcome
        self._told: set[str] = set()

    @property
    def holds_back(self) -> bool:
        """True if AfterModel hooks may change or reject the response; async hooks cannot."""
        return self._firing.may_decide(HookEventName.AFTER_MODEL)

    @property
    def observes(self) -> bool:
        """True if there are AfterModel hooks, and none of them can change or reject the
        response."""
        return not self.holds_back and self._firing.may_answer(HookEventName.AFTER_MODEL)

    def warn(self, message: str) -> None:
        """Log a warning as the engine does."""
        self._firing.warn(message)

    def make_response(self, text: str) -> Any:
        """Make a response of one text, in the caller's own type."""
        return self._firing.get_translator().empty_response(text, like=self.request)

    @property
    def is_strict(self) -> bool:
        """True in strict mode, in which nothing passes unchecked."""
        return self._firing.is_strict()

    @property
    def as_blocking(self) -> "ModelGate":
        """The same gate for code that does not await: its coroutines never suspend."""
        gate = copy(self)
        gate._firing = self._firing.as_blocking
        return gate

    async def observe(self, response: Any) -> None:
        """Fire AfterModel with a response that the caller has already; if its hooks changed in the
        meantime and reject it, that comes too late and is logged."""
        outcome = await self.finish(response)
        if outcome.blocked or outcome.stop is not None or outcome.response is not response:
            why = outcome.stop or outcome.reason or "it is to read differently"
            self.warn(f"a hook answered after the model's stream was passed on: {why}")

    async def finish(self, response: Any) -> ModelOutcome:
        """Fire AfterModel with the complete response, and apply what the hooks answer."""
        after = await self._firing.execute(
            self._call.event(HookEventName.AFTER_MODEL, self.request, response)
        )
        return ModelOutcome(
            response=after.response,
            blocked=after.denied,
            reason=after.reason if after.denied else None,
            stop=after.reason if after.stopped else None,
            message=after.message,
            suppressed=after.suppressed,
        )

    def refuse_calls(self, response: Any) -> Any:
        """Remove calls of tools that are not allowed from the response, and log a warning."""
        if self.allowed is None:
            return response
        try:
            refused = self.find_refused(response)
        except TranslationError as error:
            told = (
                "hooks restrict the tools of this call, and the model's response could not be "
                f"read: {error}"
            )
            if not self.is_strict:
                self._firing.warn(f"{told}; its tool calls are not checked")
                return response
            self._firing.warn(f"{told}; it was left out")
            return self._firing.get_translator().empty_response(told, like=self.request)
        return self.drop_refused(response, refused) if refused else response

    def find_refused(self, response: Any) -> list[str]:
        """Return the names of the tools that a response calls without being allowed to, and log
        one warning for each. Raises TranslationError if no translator can read the response."""
        if self.allowed is None:
            return []
        called = self._firing.get_translator().call_names(response)
        refused = sorted({name for name in called if name not in self.allowed})
        new = [name for name in refused if name not in self._told]
        self._told.update(new)
        if new:
            self._firing.warn(
                f"the model called {', '.join(new)}, which hooks do not allow in this call: "
                "the calls were left out of its response"
            )
        return refused

    def drop_refused(self, response: Any, names: Iterable[str]) -> Any:
        """Remove the calls of these tools from the response; if nothing else is left in it, say
        so in it."""
        names = sorted(set(names))
        return self._drop_calls(response, names, self.explain_refused(names))

    def explain_refused(self, names: Iterable[str]) -> str:
        """Return what the model reads instead of the calls that were left out."""
        return " ".join(describe_refused_call(name) for name in sorted(set(names)))

    def end_loop(self, response: Any, reason: str) -> Any:
        """Remove all tool calls from the response, so that the caller's loop ends; if nothing
        else is left in it, put the reason in it."""
        try:
            called = self._firing.get_translator().call_names(response)
        except TranslationError:
            return response
        return self._drop_calls(response, sorted(set(called)), reason) if called else response

    def _drop_calls(self, response: Any, names: list[str], said: str) -> Any:
        translator = self._firing.get_translator()
        left = translator.drop_calls(response, names)
        try:
            if translator.call_names(left) or translator.to_hook_llm_response(left).get("text"):
                return left
            return translator.from_hook_llm_response({"text": said}, left)
        except TranslationError:
            return left


def describe_refused_call(name: str) -> str:
    """Return what the model reads of a call that tool selection did not allow."""
    return f"The tool {name} is not allowed in this call."


async def open_model_gate(firing: Firing, call: ModelCall) -> ModelGate:
    """Fire BeforeToolSelection and BeforeModel, and decide whether the model may be called, and
    with which request."""
    event = call.event(HookEventName.BEFORE_TOOL_SELECTION, call.request, call.available_tools)
    selection = await firing.execute(event)
    if selection.stopped:
        return ModelGate(firing, call, call.request, outcome=_make_outcome(selection))
    if selection.denied and any(error.hook is None for error in selection.errors):
        # No hook forbids the tools: the engine failed, and a hook must answer.
        return ModelGate(firing, call, call.request, outcome=_refuse_unselected(selection))
    request, allowed = selection.request, selection.tools
    before = await firing.execute(call.event(HookEventName.BEFORE_MODEL, request))
    if before.blocked:
        return ModelGate(firing, call, request, allowed=allowed, outcome=_make_outcome(before))
    request = before.request
    if before.message:
        try:
            request = add_system_message(firing.get_translator(), request, before.message)
        except TranslationError as error:
            firing.warn(f"cannot add a hook's message to the request: {error}")
    return ModelGate(firing, call, request, allowed=allowed)


def add_system_message(translator: "HookTranslator", request: Any, message: str) -> Any:
    """Add a hook's system message to the end of the request's conversation; as a user message if
    the API takes no system message there."""
    shown = translator.to_hook_llm_request(request)["messages"]
    if translator.has_system_turns(request):
        added = {"role": "system", "content": message}
    else:
        added = {"role": "user", "content": f"[System] {message}"}
    return translator.from_hook_llm_request({"messages": [*shown, added]}, request)


def _refuse_unselected(answer: Answer) -> ModelOutcome:
    """Return the outcome of a call whose tools could not be selected."""
    assert answer.final_output is not None
    from hookline.pipeline.modelcall import make_empty_response

    reason = answer.reason or ""
    response = make_empty_response(answer.final_output, reason)
    return ModelOutcome(response=response, blocked=True, reason=reason)


def _make_outcome(answer: Answer) -> ModelOutcome:
    """Return the outcome of a call that is not made."""
    return ModelOutcome(
        response=answer.response,
        blocked=not answer.is_synthetic,
        reason=answer.reason,
        stop=answer.reason if answer.stopped else None,
        message=answer.message,
        suppressed=answer.suppressed,
    )


async def call_model(
    firing: Firing,
    create: Callable[..., Any],
    request: Mapping[str, Any],
    *,
    session_id: str | None = None,
    transcript_path: str | None = None,
    blocking: bool = False,
) -> Any:
    """Call a model, and apply what the hooks of the model events answer; a ``blocking`` caller
    cannot read a stream that must be awaited. Exceptions of the client go on to the caller."""
    client = ModelClient.of(create)
    given = client.read(request)
    shown = client.show(given)
    call = ModelCall(request=shown, session_id=session_id, transcript_path=transcript_path)
    gate = await open_model_gate(firing, call)
    if gate.outcome is not None:
        response = client.as_own(_report_outcome(firing, gate, gate.outcome))
        if not given.get("stream"):
            return response
        return streams.HeldStream(streams.split_response(response))
    arguments = (
        given if gate.request is shown else client.arguments(gate.request, given, firing.warn)
    )
    answer = client.create(**arguments)
    if isawaitable(answer):
        answer = await firing.settle(_refuse_async_stream(answer) if blocking else answer)
    elif blocking and hasattr(answer, "__aiter__"):
        raise _make_stream_error()
    if hasattr(answer, "__next__") or hasattr(answer, "__aiter__"):
        return await _finish_stream(firing, gate, answer, client)
    return await _finish_response(firing, gate, answer, client)


async def _finish_response(
    firing: Firing, gate: ModelGate, response: Any, client: ModelClient
) -> Any:
    """Return the complete response after the hooks; the same object if they change nothing."""
    response = gate.refuse_calls(response)
    if not firing.may_answer(HookEventName.AFTER_MODEL):
        return response
    outcome = await gate.finish(response)
    response = _report_outcome(firing, gate, outcome)
    return client.as_own(response) if outcome.blocked else response


async def _finish_stream(firing: Firing, gate: ModelGate, stream: Any, client: ModelClient) -> Any:
    """Return the stream that the caller reads; the client's own if no hook is concerned."""
    if not gate.holds_back:
        return streams.filter_stream(gate, stream)
    chunks = await streams.read_chunks(stream)
    http_response = getattr(stream, "response", None)
    broken = streams.find_broken(chunks)
    if broken is not None:
        # The response is not complete, and hooks have not seen it: show only the error.
        return streams.HeldStream([broken], http_response)
    try:
        merged = streams.merge_chunks(chunks)
    except TranslationError:
        # No translator knows them: the event fails as for any response of an unknown shape.
        merged = chunks
    response = await _finish_response(firing, gate, merged, client)
    if response is not merged:
        chunks = streams.split_response(response)
    return streams.HeldStream(chunks, http_response)


def _report_outcome(firing: Firing, gate: ModelGate, outcome: ModelOutcome) -> Any:
    """Return the response of an outcome, and log the rest, as the caller gets nothing else."""
    if outcome.message and not outcome.suppressed:
        firing.warn(f"a hook says of this model call: {outcome.message}")
    if outcome.suppressed:
        firing.warn(RESPONSE_HIDDEN)
    if outcome.stop is None:
        return outcome.response
    firing.warn(f"a hook ends the loop: {outcome.stop}")
    return outcome.response if outcome.blocked else gate.end_loop(outcome.response, outcome.stop)


async def _refuse_async_stream(answer: Awaitable[Any]) -> Any:
    """Await a client's answer for a caller who does not await; raises TypeError for a stream that
    must be awaited."""
    value = await answer
    if hasattr(value, "__aiter__"):
        # Closed here, in the event loop that it belongs to.
        await streams.aclose_stream(value)
        raise _make_stream_error()
    return value


def _make_stream_error() -> TypeError:
    return TypeError(
        "hooks.sync.model_call cannot read a stream that must be awaited; "
        "use await hooks.model_call, or a synchronous client"
    )
