"""The document of ``fire --json``: everything about one event, in the shapes of the conformance
cases."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline.errors import TranslationError
from hookline.views import output_view
from hookline.wire.events import HookEventName
from hookline.wire.outputs import DefaultHookOutput, ModelCall, create_hook_output
from hookline.wire.results import HookError, HookExecutionResult, ProcessedHookResult
from hookline.wire.validators import own_field

if TYPE_CHECKING:
    from hookline.translate import HookTranslator


def fire_document(
    event: str, processed: ProcessedHookResult, view: Mapping[str, Any]
) -> dict[str, Any]:
    """One fired event as JSON; ``view`` is what its output's accessors say."""
    plan, final = processed.plan, processed.final_output
    return {
        "event": event,
        "plan": plan
        and {"sequential": plan.sequential, "hooks": [hook.name for hook in plan.hooks]},
        "results": [_result(result) for result in processed.results],
        "success": processed.success,
        "errors": [_error(error) for error in processed.errors],
        "all_outputs": processed.all_outputs,
        "final_output": final.to_wire() if final is not None else None,
        "view": view,
        "should_stop": processed.should_stop,
        "stop_reason": processed.stop_reason,
        "system_message": processed.system_message,
        "suppress_output": processed.suppress_output,
        "total_duration_ms": round(processed.total_duration, 3),
    }


def view_of(
    event: HookEventName | None,
    processed: ProcessedHookResult,
    payload: Mapping[str, Any],
    translator: "HookTranslator",
) -> dict[str, Any]:
    """The view of the merged output, or of an empty one where no hook answered."""
    request, response = own_field(payload, "llm_request"), own_field(payload, "llm_response")
    output = processed.final_output
    if output is None and event is not None:
        output = create_hook_output(event, {}, ModelCall(translator, request))
    try:
        return output_view(
            output or DefaultHookOutput(), translator=translator, request=request, response=response
        )
    except TranslationError:
        # A request that no hook was shown because it is none: the errors say so.
        return output_view(DefaultHookOutput(), translator=translator)


def _result(result: HookExecutionResult) -> dict[str, Any]:
    optional = {
        "exit_code": result.exit_code,
        "signal": result.signal,
        "failed": result.failed,
        "output": result.output,
        "warnings": list(result.warnings) or None,
    }
    return {
        "hook": result.hook.name,
        "type": result.hook.type,
        "source": result.hook.source.value,
        "success": result.success,
        "duration_ms": round(result.duration, 3),
        "stdout": result.stdout,
        "stderr": result.stderr,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _error(error: HookError) -> dict[str, Any]:
    fields = {"code": error.code, "message": error.message, "stage": error.stage}
    return {**fields, "hook": error.hook} if error.hook is not None else fields
