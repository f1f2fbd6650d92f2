"""The document that ``hookline fire --json`` prints, field by field."""

from typing import Any

from hookline.wire.events import HookEventName
from tools.reference.examples import fire_example
from tools.reference.finding import find_document_keys
from tools.reference.markdown import code, json_block, page, table, tell

_DOCUMENT: dict[str, tuple[str, str]] = {
    "event": ("string", "The event, by our name."),
    "plan": (
        "object or null",
        (
            "`hooks`: the names of the hooks that ran, in order; `sequential`: "
            "one after the other. null if none matched."
        ),
    ),
    "results": ("list", "The result of each hook, in the order of the plan; see below."),
    "success": (
        "boolean",
        "Every hook exited with 0 and was understood. Decide by `view`, not by this.",
    ),
    "errors": ("list", "What went wrong; see below."),
    "all_outputs": ("list", "Each hook's answer as it was given."),
    "final_output": ("object or null", "All answers merged, in the words of a hook."),
    "view": ("object", "What an agent should apply of it; see below."),
    "should_stop": ("boolean", "The agent's loop should end."),
    "stop_reason": ("string or null", "Why."),
    "system_message": ("string or null", "What to show the user; null if it is suppressed."),
    "suppress_output": ("boolean", "The user should not be shown the output."),
    "total_duration_ms": ("number", "The time of all hooks together, in milliseconds."),
}
_RESULT: dict[str, tuple[str, str]] = {
    "hook": ("string", "The hook's name."),
    "type": ("string", "`command`, `runtime`, `http`, `prompt` or `withheld`."),
    "source": ("string", "Its layer."),
    "success": (
        "boolean",
        "It exited with 0 and was understood; a block by exit code 2 makes it false.",
    ),
    "duration_ms": ("number", "How long it took, in milliseconds."),
    "stdout": ("string", "What it printed."),
    "stderr": ("string", "What it wrote to stderr."),
    "exit_code": ("number, sometimes", "Of a process that ended by itself."),
    "signal": ("string, sometimes", "The signal that ended it."),
    "failed": ("string, sometimes", "[Why it failed](failures.md#why-a-hook-failed)."),
    "output": ("object, sometimes", "Its answer."),
    "warnings": ("list, sometimes", "What is odd about its answer."),
    "started": ("boolean, sometimes", "It runs in the background; nobody waited for it."),
}
_ERROR: dict[str, tuple[str, str]] = {
    "code": ("string", "[What happened](failures.md#codes-of-errors), for programs."),
    "message": ("string", "The same, for people."),
    "stage": ("string", "Where it happened."),
    "hook": ("string, sometimes", "The hook that failed."),
}
_VIEW: dict[str, tuple[str, str]] = {
    "blocked": ("boolean", "A hook denies it, or answers in the model's place."),
    "ask": ("boolean", "The user should be asked."),
    "stop": ("boolean", "The agent's loop should end."),
    "effective_reason": ("string", "Why it is blocked or stopped, or a fixed text."),
    "additional_context": ("string or null", "What the model should read besides."),
    "clear_context": ("boolean", "AfterAgent: the conversation should be forgotten."),
    "tail_tool_call": ("object or null", "AfterTool: `{name, args}` of a call that should follow."),
    "tool_input": ("object or null", "BeforeTool: what to merge over the tool's input."),
    "removed_tool_input": ("list, sometimes", "BeforeTool: names to take out of the input."),
    "tool_output": ("string, sometimes", "AfterTool: what the model reads as the result."),
    "exports": ("object, sometimes", "SessionStart: variables for the session's commands."),
    "keep_history": ("boolean, sometimes", "PreCompress: the history should stay as it is."),
    "synthetic_response": ("object or null", "BeforeModel: the answer in the model's place."),
    "modified_request": ("object", "BeforeModel: the request to send."),
    "modified_response": (
        "object or null",
        "AfterModel: the response to keep, null for as it was.",
    ),
    "tool_selection": ("object", "BeforeToolSelection: `toolConfig` and `tools` of the request."),
}
# The function that makes each part -> the description of its keys.
_PARTS = {
    "document": _DOCUMENT,
    "result_document": _RESULT,
    "error_document": _ERROR,
    "view": _VIEW,
}


def render() -> str:
    found = find_document_keys()
    tables = {
        part: table(
            ("field", "type", "meaning"),
            [(code(name), *it) for name, it in tell(found[part], told, of=f"the {part} field")],
        )
        for part, told in _PARTS.items()
    }
    return page(
        "fire --json",
        "`hookline fire EVENT --json` prints one JSON object to stdout and nothing else; a reason "
        "not to go on is on stderr as well, and the exit code says the same "
        "([exit codes](exit-codes.md)). An agent in any language applies `view`.",
        "The example of [BeforeTool](events/before-tool.md), with `--json`:",
        json_block(make_document()),
        "## The document",
        tables["document"],
        "## Each of results",
        tables["result_document"],
        "## Each of errors",
        tables["error_document"],
        "## view",
        "The first seven are always there, the others on the event that they name.",
        tables["view"],
        "When the event itself is refused (an unknown name, a missing field), the document has "
        "`plan` null, one error, and the exit code is 1.",
    )


def make_document() -> dict[str, Any]:
    """The document that the example prints, with durations of 20 ms."""
    document = fire_example(HookEventName.BEFORE_TOOL)
    document["total_duration_ms"] = 20.0
    for result in document["results"]:
        result["duration_ms"] = 20.0
    return document
