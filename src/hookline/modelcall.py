"""A model call with everything applied that hooks say about it, whole or in two halves.

As in ``toolcall``, everything is written once, for callers who await and for those who do not.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.answer import Answer
from hookline.errors import TranslationError
from hookline.fired import FiredEvent
from hookline.toolcall import Firing
from hookline.wire.events import HookEventName

if TYPE_CHECKING:
    from hookline.translate import HookTranslator


class ModelOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a model call. ``response`` is the one to keep, in the caller's own type, the
    very object that the model gave where hooks changed nothing. ``blocked``: hooks rejected it,
    and it holds the reason alone. ``stop`` is why the loop should end, ``message`` a hook's system
    message, for the next request; with ``suppressed`` it is not to be displayed."""

    response: Any
    blocked: bool = False
    reason: str | None = None
    stop: str | None = None
    message: str | None = None
    suppressed: bool = False


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model call before any hook has seen it; ``available_tools`` are the names that hooks may
    choose from where the request itself does not say."""

    request: Any
    available_tools: list[str] | None = None
    session_id: str | None = None
    transcript_path: str | None = None

    def event(self, event: HookEventName, *values: Any) -> FiredEvent:
        """An event of this call in its session."""
        return FiredEvent(event, "", values, {}, self.session_id, self.transcript_path)


class ModelGate:
    """A model call between its BeforeModel and its AfterModel.

    ``request`` is what to send, ``allowed`` the names of the tools that the model may call then,
    None for all. ``outcome`` is what comes of the call where it must not be made, None if it may:
    a hook answers in the model's place, or forbids it, or stops the loop. ``holds_back`` says that
    hooks will look at the response, so that nothing of a stream may be shown before.
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

    @property
    def holds_back(self) -> bool:
        """Whether AfterModel hooks exist."""
        return self._firing.may_answer(HookEventName.AFTER_MODEL)

    async def finish(self, response: Any) -> ModelOutcome:
        """Fire AfterModel with the complete response, and apply what the hooks say."""
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
        """The response without calls of tools that are not allowed; people are warned of them."""
        if self.allowed is None:
            return response
        translator = self._firing.get_translator()
        try:
            called = translator.call_names(response)
        except TranslationError:
            # Nobody can tell what it calls: that was said when hooks were to be shown it.
            return response
        refused = sorted({name for name in called if name not in self.allowed})
        if not refused:
            return response
        self._firing.warn(
            f"the model called {', '.join(refused)}, which hooks do not allow in this call: "
            "the calls were left out of its response"
        )
        left = translator.drop_calls(response, refused)
        if translator.call_names(left) or translator.to_hook_llm_response(left).get("text"):
            return left
        said = "; ".join(describe_refused_call(name) for name in refused)
        return translator.from_hook_llm_response({"text": said}, left)


def describe_refused_call(name: str) -> str:
    """What a model reads of a call that tool selection did not allow."""
    return f"The tool {name} is not allowed in this call."


async def open_model_gate(firing: Firing, call: ModelCall) -> ModelGate:
    """Fire BeforeToolSelection and BeforeModel, and say whether the model may be called and with
    what."""
    event = call.event(HookEventName.BEFORE_TOOL_SELECTION, call.request, call.available_tools)
    selection = await firing.execute(event)
    if selection.stopped:
        return ModelGate(firing, call, call.request, outcome=_answered(selection))
    request, allowed = selection.request, selection.tools
    before = await firing.execute(call.event(HookEventName.BEFORE_MODEL, request))
    if before.blocked:
        return ModelGate(firing, call, request, allowed=allowed, outcome=_answered(before))
    request = before.request
    if before.message:
        request = add_system_message(firing.get_translator(), request, before.message)
    return ModelGate(firing, call, request, allowed=allowed)


def add_system_message(translator: "HookTranslator", request: Any, message: str) -> Any:
    """The request with a hook's system message at the end of its conversation; the user's where
    the API takes no system message there."""
    shown = translator.to_hook_llm_request(request)["messages"]
    if translator.has_system_turns(request):
        added = {"role": "system", "content": message}
    else:
        added = {"role": "user", "content": f"[System] {message}"}
    return translator.from_hook_llm_request({"messages": [*shown, added]}, request)


def _answered(answer: Answer) -> ModelOutcome:
    """What comes of a call that is not made."""
    return ModelOutcome(
        response=answer.response,
        blocked=not answer.is_synthetic,
        reason=answer.reason,
        stop=answer.reason if answer.stopped else None,
        message=answer.message,
        suppressed=answer.suppressed,
    )
