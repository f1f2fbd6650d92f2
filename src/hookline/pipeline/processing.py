"""The one reading of the fields that mean the same on every event: stop, message, suppression."""

from hookline.wire.results import AggregatedHookResult, ProcessedHookResult


def process_common_hook_output_fields(aggregated: AggregatedHookResult) -> ProcessedHookResult:
    """What a caller acts on, worked out once so that no caller has to."""
    output = aggregated.final_output
    if output is None:
        return ProcessedHookResult(aggregated)
    stop = output.should_stop_execution()
    suppress = output.suppress_output is True
    return ProcessedHookResult(
        aggregated,
        stop,
        output.get_effective_reason() if stop else None,
        None if suppress else output.system_message or None,
        suppress,
    )
