"""The dialect of hookline, LLxprt Code and Gemini CLI: the exit code decides, stdout explains."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

from hookline.pipeline.dialects.stdout import BLOCKS, Doubt, HookAnswer, Said, parse_stdout
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
_SPECIFIC_TYPES: dict[str, type] = {
    "additionalContext": str,
    "tool_input": dict,
    "clearContext": bool,
    "toolConfig": dict,
}
_SPECIFIC_FIELDS: dict[HookEventName, tuple[str, ...]] = {
    HookEventName.BEFORE_TOOL: ("additionalContext", "tool_input"),
    HookEventName.AFTER_TOOL: ("additionalContext", "tailToolCallRequest"),
    HookEventName.BEFORE_AGENT: ("additionalContext",),
    HookEventName.AFTER_AGENT: ("clearContext",),
    HookEventName.SESSION_START: ("additionalContext",),
    HookEventName.BEFORE_MODEL: ("llm_request", "llm_response"),
    HookEventName.AFTER_MODEL: ("llm_response",),
    HookEventName.BEFORE_TOOL_SELECTION: ("toolConfig",),
}
# Without one of these an answer lets the agent go on.
_DECIDING_FIELDS = ("decision", "continue", "hookSpecificOutput")
# So many fields are looked at for a slip; an answer has a handful.
_MOST_UNKNOWN = 50


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
        self,
        event: HookEventName,
        hook_name: str,
        exit_code: int,
        stdout: str,
        stderr: str,
        *,
        strict: bool = False,
    ) -> HookAnswer:
        """0 is an answer, 2 a block, anything else a failure whatever was printed."""
        strictness = partial(_strictness_of, event)
        if exit_code == 0:
            return _answer(event, parse_stdout(stdout, strictness), strict=strict)
        if exit_code != 2:
            error = f"exited with code {exit_code}" + (f": {stderr}" if stderr else "")
            return HookAnswer(success=False, failed="exit", error=error)
        reason: str | None = stderr
        if not reason:
            said = parse_stdout(stdout, strictness)
            reason = said.text
            if said.object is not None:
                output = create_hook_output(event, said.object)
                reason = output.reason or output.stop_reason
        warnings: tuple[str, ...] = ()
        if "can't open file" in stderr:
            missing = "the interpreter could not open the hook's script and so exited with 2"
            warnings = (f"{missing}, which blocks",)
        return HookAnswer(
            success=False,
            output={"decision": "deny", "reason": reason or f"Blocked by hook {hook_name}"},
            output_format="text",
            warnings=warnings,
        )

    def read_value(
        self, event: HookEventName, value: Mapping[str, Any], *, strict: bool = False
    ) -> HookAnswer:
        """The mapping is the output."""
        return _answer(event, Said(object=codec.copy(dict(value))), strict=strict)


class _Remarks(NamedTuple):
    """What to say about an answer; ``doubts`` if it may have been meant to hold the agent back,
    so that a hook that fails closed has failed with it."""

    warnings: list[str]
    doubts: list[Doubt]

    def add(self, problem: str, outcome: str, *, doubtful: bool) -> None:
        if doubtful:
            self.doubts.append((problem, outcome))
        else:
            self.warnings.append(f"{problem}; {outcome}")


def _answer(event: HookEventName, said: Said, *, strict: bool) -> HookAnswer:
    if said.garbled is not None:
        error = f"its answer {said.garbled}; print one JSON object and nothing else"
        return HookAnswer(success=False, failed="malformed", error=error)
    output: dict[str, Any] | None = None
    output_format: Literal["json", "text"] | None = None
    remarks = _Remarks([*said.warnings], [*said.doubts])
    if said.object is not None:
        output, output_format = _clean_output(event, said.object, remarks), "json"
    elif said.text is not None:
        output, output_format = {"decision": "allow", "systemMessage": said.text}, "text"
    if strict and remarks.doubts:
        return HookAnswer(
            success=False,
            failed="malformed",
            error="its answer is not clear: " + "; ".join(problem for problem, _ in remarks.doubts),
            warnings=tuple(remarks.warnings),
        )
    return HookAnswer(
        success=True,
        output=output,
        output_format=output_format,
        warnings=(*remarks.warnings, *(f"{doubt}; {outcome}" for doubt, outcome in remarks.doubts)),
    )


def _strictness_of(event: HookEventName, value: dict[str, Any]) -> int:
    output = create_hook_output(event, _clean_output(event, value, _Remarks([], [])))
    if output.is_blocking_decision() or output.should_stop_execution():
        return BLOCKS
    return 2 if output.is_ask_decision() else int(output.hook_specific_output is not None)


def _clean_output(
    event: HookEventName, output: dict[str, Any], remarks: _Remarks
) -> dict[str, Any]:
    """The output without known fields of the wrong type, and with decision words in lower case."""
    cleaned: dict[str, Any] = {}
    unknown: list[str] = []
    for name, value in output.items():
        kind = TOP_LEVEL_FIELDS.get(name)
        if kind is None or isinstance(value, kind):
            cleaned[name] = value
        else:
            # null is a field that was left out.
            problem = f"{name} must be {_TYPE_WORDS[kind]}"
            remarks.add(problem, "it was ignored", doubtful=value is not None)
        if kind is None:
            unknown.append(name)
    for name in unknown[:_MOST_UNKNOWN]:
        meant = next((known for known in TOP_LEVEL_FIELDS if _is_one_slip(name, known)), None)
        if meant is not None:
            decides = meant in _DECIDING_FIELDS and meant not in output
            problem = f"{name!r} is not a field of an answer, did you mean {meant}?"
            remarks.add(problem, "it has no effect", doubtful=decides)
    if unknown and len(unknown) == len(output):
        problem = f"none of its fields is one of {', '.join(TOP_LEVEL_FIELDS)}"
        remarks.add(problem, "it has no effect", doubtful=True)
    cleaned = _clean_word(cleaned, "decision", remarks)
    specific = cleaned.get("hookSpecificOutput")
    if not specific:
        return cleaned
    for name in _SPECIFIC_FIELDS.get(event, ()):
        if name not in specific:
            continue
        value, fault = specific[name], None
        kind = _SPECIFIC_TYPES.get(name)
        if kind is not None and not isinstance(value, kind):
            fault = f"must be {_TYPE_WORDS[kind]}"
        elif name == "tailToolCallRequest" and not is_tail_tool_call(value):
            fault = "must be {name: string, args: object}"
        elif name == "toolConfig":
            names = value.get("allowedFunctionNames", [])
            if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
                fault = "needs a list of strings as allowedFunctionNames"
        elif name in ("llm_request", "llm_response"):
            # The model's format is loaded by the events of a model alone.
            from hookline.wire.model import llm_request_problem, llm_response_problem

            is_request = name == "llm_request"
            fault = (llm_request_problem if is_request else llm_response_problem)(value)
        if fault is not None:
            problem = f"hookSpecificOutput.{name} {fault}"
            remarks.add(problem, "it was ignored", doubtful=value is not None)
    if event is HookEventName.BEFORE_TOOL:
        cleaned["hookSpecificOutput"] = _clean_word(specific, "permissionDecision", remarks)
    return cleaned


def _clean_word(fields: dict[str, Any], name: str, remarks: _Remarks) -> dict[str, Any]:
    word = fields.get(name)
    meant = word.strip().lower() if isinstance(word, str) else None
    if word is None or (meant == word and meant in DECISION_WORDS):
        return fields
    if meant in DECISION_WORDS:
        remarks.add(f"{name} {word!r} counts as {meant}", "write it so", doubtful=False)
        return {**fields, name: meant}
    words = ", ".join(sorted(DECISION_WORDS))
    remarks.add(f"{name} {word!r:.80} is not one of {words}", "it counts as none", doubtful=True)
    return fields


def _is_one_slip(name: str, known: str) -> bool:
    """Whether one letter is missing, too many, wrong or changed places with the next, capitals and
    underscores aside."""
    if len(name) > 2 * len(known):
        return False
    given, known = name.replace("_", "").replace("-", "").lower(), known.lower()
    pairs = enumerate(zip(given, known, strict=False))
    at = next((index for index, (a, b) in pairs if a != b), min(len(given), len(known)))
    given, known = given[at:], known[at:]
    is_swapped = given[1::-1] == known[:2] and given[2:] == known[2:]
    return given[1:] in (known, known[1:]) or given == known[1:] or is_swapped
