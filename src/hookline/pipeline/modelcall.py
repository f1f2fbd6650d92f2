"""What hooks answer about a model call, in the types of the caller's SDK: the translator is called
here and nowhere else, and a malformed answer is ignored with a warning."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline._support.notices import warn
from hookline.errors import TranslationError
from hookline.wire.events import HookEventName
from hookline.wire.outputs import (
    BeforeToolSelectionHookOutput,
    DefaultHookOutput,
    ToolSelection,
    find_fault,
    read_mode,
)

if TYPE_CHECKING:
    from hookline.translate import HookTranslator


class ModelCall(msgspec.Struct, frozen=True):
    """A call whose hooks' answers are translated: the translator, and a value of the caller's that
    shows which form to use, JSON or the SDK's own objects."""

    translator: "HookTranslator"
    like: Any = None

    def change_request(self, field: str, change: Any, request: Any) -> Any:
        """Return a request with what hooks change; ``field`` is where they say it."""
        translate = self.translator.from_hook_llm_request
        return _translate_or_warn(field, lambda: translate(change, request), request)

    def make_response(self, answer: Any, base: Any = None) -> Any:
        """Return the response that hooks give, on the base of the model's; None if malformed."""
        translate = self.translator.from_hook_llm_response
        return _translate_or_warn(
            "llm_response", lambda: translate(answer, base, like=self.like), None
        )

    def change_tool_config(self, change: Any, tool_config: Any) -> Any:
        """Return a tool config with what hooks change."""
        translate = self.translator.from_hook_tool_config
        return _translate_or_warn(
            "toolConfig", lambda: translate(change, tool_config, like=self.like), tool_config
        )


def make_empty_response(output: DefaultHookOutput, reason: str, rejected: Any = None) -> Any:
    """Make a response in the SDK's form that contains only a reason; in the form of the rejected
    response, if the translator can read that. Without a translator that works it is in hooks' own
    form: the call is refused all the same."""
    call = output.call
    if not isinstance(call, ModelCall):
        return {"text": reason}
    like = call.like
    try:
        if rejected is not None:
            with suppress(TranslationError):
                call.translator.to_hook_llm_response(rejected)
                like = rejected
        return call.translator.empty_response(reason, like=like)
    except Exception:
        return {"text": reason}


def select_tools(output: BeforeToolSelectionHookOutput, request: Any) -> ToolSelection:
    """Return the request's tool config and tools after the hooks; if the request has an unknown
    form, only what the hooks answered. Without a translator nothing is known of either."""
    if not isinstance(output.call, ModelCall):
        return ToolSelection()
    try:
        own_config, own_tools = output.call.translator.tool_selection(request)
    except TranslationError:
        own_config = own_tools = None
    return output.apply_tool_config_modifications(own_config, own_tools)


def restrict_tools(output: BeforeToolSelectionHookOutput, request: Any) -> Any:
    """Return the request with the tool config after the hooks; the same object if they changed
    nothing."""
    change = output.get_tool_config()
    if change is None:
        return request
    return output.require_call().change_request("toolConfig", {"toolConfig": change}, request)


def find_sent_tools(output: BeforeToolSelectionHookOutput, request: Any) -> ToolSelection:
    """Return the tool config and tools to send: without names that the request does not declare,
    which an API would refuse. The tools are an empty list if hooks took all of them away."""
    call = output.require_call()
    assert isinstance(call, ModelCall)
    selection = call.translator.tool_selection
    try:
        config, tools = selection(restrict_tools(output, request))
        return ToolSelection(config, [] if tools is None and selection(request)[1] else tools)
    except TranslationError:
        return output.apply_tool_config_modifications(None, None)


def find_allowed_tools(
    output: BeforeToolSelectionHookOutput, request: Any
) -> frozenset[str] | None:
    """Return the names of the tools that the model may call after the hooks, None for all."""
    call = output.require_call()
    assert isinstance(call, ModelCall)
    try:
        own = call.translator.to_hook_llm_request(request).get("toolConfig", {})
    except TranslationError:
        own = {}
    change = output.get_tool_config()
    selected: Mapping[str, Any] = own
    event = HookEventName.BEFORE_TOOL_SELECTION
    if change is not None and find_fault(event, "toolConfig", change) is None:
        given = {name: value for name, value in change.items() if value is not None}
        selected = {**own, **given}
    if read_mode(selected.get("mode")) == "NONE":
        return frozenset()
    names = selected.get("allowedFunctionNames")
    return None if names is None else frozenset(names)


def _translate_or_warn(field: str, translate: Callable[[], Any], otherwise: Any) -> Any:
    """Translate a hook's answer; if it is malformed, warn and return ``otherwise``."""
    try:
        return translate()
    except TranslationError as error:
        warn(f"a hook's {field} was ignored: {error}")
        return otherwise
