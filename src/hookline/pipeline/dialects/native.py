"""The dialect of hookline, LLxprt Code and Gemini CLI: the exit code decides, stdout explains."""

from collections.abc import Callable, Mapping
from typing import Any

from hookline.pipeline.dialects.answer import Answer
from hookline.pipeline.dialects.stdout import parse_stdout
from hookline.pipeline.matcher import Match, compile_matcher
from hookline.problem import Problem
from hookline.wire import codec
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.outputs import (
    DECISION_WORDS,
    TOP_LEVEL_FIELDS,
    create_hook_output,
    is_tail_tool_call,
)

_TYPE_WORDS = {bool: "true or false", str: "a string", dict: "an object"}


class NativeDialect:
    """Sections 4 and 5 of the protocol, for command hooks and in-process hooks alike."""

    name = "native"

    def event_for(self, key: str) -> HookEventName | None:
        """Settings use the events' own names."""
        return HookEventName(key) if key in EVENTS else None

    def timeout_ms(self, value: float) -> float:
        """Settings are in milliseconds already."""
        return value

    def compile_matcher(
        self, event: HookEventName, text: str | None
    ) -> tuple[Match, Problem | None]:
        """Searched in tool names, whole for triggers, ignored where there is nothing to compare."""
        spec = EVENTS[event]
        return compile_matcher(text if spec.target else None, search=spec.search)

    def write_input(
        self,
        event: HookEventName,  # noqa: ARG002  (other dialects name events differently)
        payload: Mapping[str, Any],
    ) -> bytes:
        """The payload is the document."""
        return codec.encode(payload)

    def read_answer(
        self, event: HookEventName, hook_name: str, exit_code: int, stdout: str, stderr: str
    ) -> Answer:
        """0 is an answer, 2 a block, anything else a failure whatever was printed."""
        if exit_code == 0:
            return _read_output(event, stdout)
        if exit_code == 2:
            reason = stderr or _reason_in(event, stdout) or f"Blocked by hook {hook_name}"
            return Answer(
                success=False,
                output={"decision": "deny", "reason": reason},
                output_format="text",
                warnings=_missing_script_warnings(stderr),
            )
        error = f"exited with code {exit_code}" + (f": {stderr}" if stderr else "")
        return Answer(success=False, failed="exit", error=error)

    def read_value(self, event: HookEventName, value: Mapping[str, Any]) -> Answer:
        """The mapping is the output."""
        output, warnings = clean_output(event, codec.copy(dict(value)))
        return Answer(success=True, output=output, output_format="json", warnings=warnings)


def clean_output(
    event: HookEventName, output: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The output without the known fields of the wrong type, and what to say about it."""
    warnings: list[str] = []
    for name, value in output.items():
        kind = TOP_LEVEL_FIELDS.get(name)
        if kind is not None and not isinstance(value, kind):
            output = {key: value for key, value in output.items() if key != name}
            warnings.append(f"{name} must be {_TYPE_WORDS[kind]}; it was ignored")
    word = output.get("decision")
    if word is not None and word not in DECISION_WORDS:
        warnings.append(_unknown_word("decision", word))
    specific = output.get("hookSpecificOutput")
    if specific:
        warnings += _specific_warnings(event, specific)
    return output, tuple(warnings)


def _read_output(event: HookEventName, stdout: str) -> Answer:
    said = parse_stdout(stdout)
    if said.object is not None:
        output, warnings = clean_output(event, said.object)
        return Answer(
            success=True,
            output=output,
            output_format="json",
            warnings=(*said.warnings, *warnings),
        )
    if said.text is None:
        return Answer(success=True, warnings=said.warnings)
    output = {"decision": "allow", "systemMessage": said.text}
    return Answer(success=True, output=output, output_format="text", warnings=said.warnings)


def _reason_in(event: HookEventName, stdout: str) -> str | None:
    said = parse_stdout(stdout)
    if said.object is None:
        return said.text
    output = create_hook_output(event, said.object)
    return output.reason or output.stop_reason


def _missing_script_warnings(stderr: str) -> tuple[str, ...]:
    """An interpreter that cannot open its script exits with 2, which is a block."""
    if "can't open file" not in stderr:
        return ()
    return ("the interpreter could not open the hook's script and so exited with 2, which blocks",)


def _specific_warnings(event: HookEventName, specific: dict[str, Any]) -> list[str]:
    warnings = [
        f"hookSpecificOutput.{name} {problem}; it was ignored"
        for name, find_problem in _SPECIFIC_FIELDS.get(event, {}).items()
        if name in specific and (problem := find_problem(specific[name])) is not None
    ]
    word = specific.get("permissionDecision")
    if event is HookEventName.BEFORE_TOOL and word is not None and word not in list(DECISION_WORDS):
        warnings.append(_unknown_word("permissionDecision", word))
    return warnings


def _unknown_word(field: str, word: object) -> str:
    return f"{field} {word!r} is not one of {', '.join(sorted(DECISION_WORDS))}; it counts as none"


def _must_be(kind: type, spoken: str) -> Callable[[object], str | None]:
    return lambda value: None if isinstance(value, kind) else f"must be {spoken}"


def _tail_call_problem(value: object) -> str | None:
    return None if is_tail_tool_call(value) else "must be {name: string, args: object}"


def _request_problem(value: object) -> str | None:
    # The model's format is loaded by the events of a model alone.
    from hookline.wire.model import llm_request_problem

    return llm_request_problem(value)


def _response_problem(value: object) -> str | None:
    from hookline.wire.model import llm_response_problem

    return llm_response_problem(value)


def _tool_config_problem(value: object) -> str | None:
    if not isinstance(value, dict):
        return "must be an object"
    names = value.get("allowedFunctionNames", [])
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return None
    return "needs a list of strings as allowedFunctionNames"


_CONTEXT = {"additionalContext": _must_be(str, "a string")}
_SPECIFIC_FIELDS: dict[HookEventName, dict[str, Callable[[object], str | None]]] = {
    HookEventName.BEFORE_TOOL: {**_CONTEXT, "tool_input": _must_be(dict, "an object")},
    HookEventName.AFTER_TOOL: {**_CONTEXT, "tailToolCallRequest": _tail_call_problem},
    HookEventName.BEFORE_AGENT: _CONTEXT,
    HookEventName.AFTER_AGENT: {"clearContext": _must_be(bool, "true or false")},
    HookEventName.SESSION_START: _CONTEXT,
    HookEventName.BEFORE_MODEL: {
        "llm_request": _request_problem,
        "llm_response": _response_problem,
    },
    HookEventName.AFTER_MODEL: {"llm_response": _response_problem},
    HookEventName.BEFORE_TOOL_SELECTION: {"toolConfig": _tool_config_problem},
}
