"""What an output's accessors say, as one JSON object: the shape of ``fire --json`` and of the
conformance cases."""

from typing import TYPE_CHECKING, Any

from hookline.wire.outputs import (
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolHookOutput,
    BeforeToolSelectionHookOutput,
    DefaultHookOutput,
)

if TYPE_CHECKING:
    from hookline.translate import HookTranslator


def output_view(
    output: DefaultHookOutput,
    *,
    translator: "HookTranslator",
    request: Any = None,
    response: Any = None,
) -> dict[str, Any]:
    """The view of an output; ``request`` and ``response`` are the event's own."""
    view: dict[str, Any] = {
        "blocked": output.is_blocking_decision(),
        "ask": output.is_ask_decision(),
        "stop": output.should_stop_execution(),
        "effective_reason": output.get_effective_reason(),
        "additional_context": output.get_additional_context(),
        "clear_context": output.should_clear_context(),
        "tail_tool_call": output.get_tail_tool_call_request(),
    }
    if isinstance(output, BeforeToolHookOutput):
        view["tool_input"] = output.get_modified_tool_input()
    elif isinstance(output, BeforeModelHookOutput):
        view["synthetic_response"] = output.get_synthetic_response()
        view["modified_request"] = output.apply_llm_request_modifications(request)
    elif isinstance(output, AfterModelHookOutput):
        view["modified_response"] = output.get_modified_response(response)
    elif isinstance(output, BeforeToolSelectionHookOutput):
        selection = output.apply_tool_config_modifications(*translator.tool_selection(request))
        view["tool_selection"] = {
            name: value
            for name, value in (("toolConfig", selection.tool_config), ("tools", selection.tools))
            if value is not None
        }
    return view
