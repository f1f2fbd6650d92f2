"""The dialect of hookline, LLxprt Code and Gemini CLI: the exit code decides, stdout explains."""

from collections.abc import Mapping
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Literal, NamedTuple

from hookline._support.nearest import (
    LONGEST_NAME,
    MOST_COMPARED,
    Unread,
    describe_unread,
    find_slip,
    join_names,
)
from hookline._support.problem import Problem
from hookline.dialects.document import EventDocument
from hookline.dialects.matcher import Match, compile_matcher
from hookline.dialects.stdout import (
    BLOCKS,
    REMEDY,
    HookAnswer,
    StdoutContent,
    parse_stdout,
    parse_strictly,
)
from hookline.settings.types import RESERVED_KEYS
from hookline.wire import codec
from hookline.wire.events import EVENTS, EventName, HookEventName
from hookline.wire.hooks import DEFAULT_TIMEOUT_MS, HookConfig, OnFailure, PromptHook
from hookline.wire.outputs import (
    BLOCKING_WORDS,
    DECISION_WORDS,
    SPECIFIC_FIELDS,
    TOOL_MODES,
    TOP_LEVEL_FIELDS,
    TYPE_WORDS,
    create_hook_output,
    find_fault,
    read_mode,
)

# Fields that an event does not read, and what to write instead. Names are compared without regard
# to capitals and underscores.
_SYSTEM_MESSAGE = "write systemMessage at the top of the answer"
_NEW_RESULT = "write hookSpecificOutput.updatedToolOutput"
_SAID_OTHERWISE: dict[str, str] = {
    "additionalContext": _SYSTEM_MESSAGE,
    "permissionDecision": "write decision at the top of the answer",
    "permissionDecisionReason": "write reason at the top of the answer",
    **dict.fromkeys(TOP_LEVEL_FIELDS, "write it at the top of the answer"),
}
_SAID_OTHERWISE_ON: dict[EventName, dict[str, str]] = {
    HookEventName.BEFORE_TOOL: dict.fromkeys(
        ("updatedInput", "modifiedInput"), "write hookSpecificOutput.tool_input"
    ),
    HookEventName.AFTER_TOOL: dict.fromkeys(
        ("tool_output", "tool_response", "updatedMCPToolOutput"), _NEW_RESULT
    ),
    HookEventName.BEFORE_AGENT: dict.fromkeys(
        ("prompt", "updatedPrompt"), "write hookSpecificOutput.additionalContext"
    ),
    HookEventName.BEFORE_MODEL: {
        "toolConfig": "write it into hookSpecificOutput.llm_request",
        **dict.fromkeys(("messages", "contents"), "write hookSpecificOutput.llm_request.messages"),
        "candidates": "write it into hookSpecificOutput.llm_response",
    },
    HookEventName.AFTER_MODEL: {"candidates": "write it into hookSpecificOutput.llm_response"},
    HookEventName.BEFORE_TOOL_SELECTION: dict.fromkeys(
        ("mode", "allowedFunctionNames"), "write it into hookSpecificOutput.toolConfig"
    ),
}
# Fields of documented answers that only describe the answer; they ask for nothing.
_LABELS = ("hookEventName", "llm_request_boundary")
_CONFIG_FIELDS = ("mode", "allowedFunctionNames")
# Gemini's other modes: hooks only narrow the tools, so these change nothing.
_NEUTRAL_MODES = ("VALIDATED", "MODE_UNSPECIFIED")
_HOLDING_WORDS = BLOCKING_WORDS | {"ask"}
_STRICTNESS = {**dict.fromkeys(BLOCKING_WORDS, 2), "ask": 1}


class NativeDialect:
    """Sections 4 and 5 of the protocol, for command hooks and in-process hooks."""

    name = "native"
    reserved_keys = RESERVED_KEYS
    failure_words: Mapping[str, OnFailure] = {"allow": "allow", "block": "block"}
    open_events = frozenset[str]()
    time_unit = "milliseconds"
    has_conditions = False
    text_events = frozenset[str]()
    env_file = ""
    env_file_events = frozenset[str]()

    def event_for(self, key: str) -> EventName | None:
        """Look the name up: settings use the events' own names."""
        return HookEventName(key) if key in EVENTS else None

    def event_names(self) -> tuple[str, ...]:
        """Return the names of the eleven events."""
        return tuple(event.value for event in HookEventName)

    def timeout_ms(self, value: float) -> float:
        """Return the value: settings are in milliseconds already."""
        return value

    def default_timeout_ms(self, key: str, kind: str) -> float:  # noqa: ARG002
        """Return a minute, for every hook."""
        return DEFAULT_TIMEOUT_MS

    def refuse_kind(self, key: str, kind: str) -> str | None:  # noqa: ARG002
        """Return None: every type may be on every event."""
        return None

    def find_remarks(self, key: str, config: Mapping[str, Any]) -> tuple[()]:  # noqa: ARG002
        """Return nothing: the settings reader reports everything itself."""
        return ()

    def compile_matcher(
        self,
        event: EventName,
        text: str | None,
        tools: object = None,  # noqa: ARG002  (hosts' own names are the native ones)
    ) -> tuple[Match, Problem | None]:
        """Search tool names, match triggers whole, and ignore the matcher on other events."""
        spec = EVENTS[event]
        return compile_matcher(text if spec.target else None, search=spec.search)

    def applies(self, hook: HookConfig, document: EventDocument) -> bool:  # noqa: ARG002
        """Return True: only the matcher decides."""
        return True

    def write_input(self, document: EventDocument) -> bytes:
        """Encode the payload, which is the document."""
        return codec.encode(document.payload)

    def variables(self, session_id: str) -> Mapping[str, str | None]:  # noqa: ARG002
        """Return none: native hooks get only the variables of every hook."""
        return {}

    def read_answer(
        self,
        document: EventDocument,
        hook_name: str,
        exit_code: int,
        stdout: str,
        stderr: str,
        *,
        strict: bool = False,
    ) -> HookAnswer:
        """Read exit code 0 as an answer, 2 as a block, and any other as a failure."""
        event = document.event
        strictness = partial(_weigh_object, event)
        if exit_code == 0:
            content = parse_strictly(stdout) if strict else parse_stdout(stdout, strictness)
            return _make_answer(event, content, strict=strict)
        # A text may be the reason of a block; nothing else on stdout counts here.
        is_read = stdout.startswith("{") or (exit_code == 2 and not stderr)
        content = parse_stdout(stdout, strictness) if is_read else StdoutContent()
        fields = content.object or {}
        if exit_code != 2:
            error = f"exited with code {exit_code}" + (f": {stderr}" if stderr else "")
            warnings = _describe_unread_answer(fields, f"a hook that exits with {exit_code} failed")
            return HookAnswer(success=False, failed="exit", error=error, warnings=warnings)
        reason: str | None = stderr
        if not reason:
            reason = content.text
            if content.object is not None:
                output = create_hook_output(event, content.object)
                reason = output.reason or output.stop_reason
        # Do not warn about fields that say the same as the exit code.
        unread = {
            name: value
            for name, value in fields.items()
            # A list, not a set: the value may be anything, and a list has no hash.
            if value != reason and not (name == "decision" and value in [*BLOCKING_WORDS])
        }
        warnings = _describe_unread_answer(unread, "exit code 2 blocks, whatever stdout says")
        if "can't open file" in stderr:
            missing = "the interpreter could not open the hook's script and so exited with 2"
            warnings = (f"{missing}, which blocks", *warnings)
        return HookAnswer(
            success=False,
            output={"decision": "deny", "reason": reason or f"Blocked by hook {hook_name}"},
            output_format="text",
            warnings=warnings,
        )

    def read_value(
        self,
        document: EventDocument,
        value: Mapping[str, Any],
        *,
        hook_name: str = "",  # noqa: ARG002
        strict: bool = False,
    ) -> HookAnswer:
        """Read the mapping as the output."""
        return _make_answer(
            document.event, StdoutContent(object=codec.copy(dict(value))), strict=strict
        )

    def refuse(
        self,
        hook: PromptHook,  # noqa: ARG002
        document: EventDocument,  # noqa: ARG002
        reason: str,
        *,
        impossible: bool,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Deny."""
        return {"decision": "deny", "reason": reason}

    def write_failure(self, hook: HookConfig, message: str) -> dict[str, Any]:  # noqa: ARG002
        """Deny."""
        return {"decision": "deny", "reason": message}


class _Remarks(NamedTuple):
    """Remarks about an answer. A hook that fails closed has failed with a fault."""

    warnings: list[str]
    faults: list[str]

    def add(self, problem: str, *, remedy: str = "", outcome: str = "it has no effect") -> None:
        """Add a fault: as a warning with the remedy or else the outcome, as an error without the
        outcome."""
        self.warnings.append(f"{problem}; {remedy or outcome}")
        self.faults.append(f"{problem}; {remedy}" if remedy else problem)

    def add_unread(self, unread: Unread) -> None:
        """Add warnings of fields that are not read; those like a known one are faults."""
        self.warnings.extend((*unread.slips, *unread.others))
        self.faults.extend(unread.slips)


def _make_answer(event: EventName, content: StdoutContent, *, strict: bool) -> HookAnswer:
    if content.garbled is not None:
        return HookAnswer(
            success=False, failed="malformed", error=f"its answer {content.garbled}; {REMEDY}"
        )
    output: dict[str, Any] | None = None
    output_format: Literal["json", "text"] | None = None
    remarks = _Remarks([*content.warnings], [])
    if content.object is not None:
        output, output_format = _clean_output(event, content.object, remarks), "json"
        if strict and event is HookEventName.BEFORE_TOOL:
            output = _keep_stricter_word(output)
    elif content.text is not None:
        output, output_format = {"decision": "allow", "systemMessage": content.text}, "text"
    if strict and remarks.faults:
        error = "its answer is not clear: " + "; ".join(remarks.faults)
        return HookAnswer(success=False, failed="malformed", error=error)
    return HookAnswer(
        success=True,
        output=output,
        output_format=output_format,
        warnings=tuple(remarks.warnings),
    )


def _describe_unread_answer(fields: Mapping[str, Any], why: str) -> tuple[str, ...]:
    """Describe an answer that is not read because of its hook's exit code."""
    names = [name for name in TOP_LEVEL_FIELDS if fields.get(name) is not None]
    if not names:
        return ()
    unread = f"its answer on stdout ({join_names(names)}) is not read: {why}"
    return (f"{unread}; exit with 0 to have it read",)


def _weigh_object(event: EventName, value: dict[str, Any]) -> int:
    output = create_hook_output(event, _clean_output(event, value, _Remarks([], [])))
    if output.is_blocking_decision() or output.should_stop_execution():
        return BLOCKS
    return 2 if output.is_ask_decision() else int(output.hook_specific_output is not None)


def _clean_output(event: EventName, output: dict[str, Any], remarks: _Remarks) -> dict[str, Any]:
    """Drop known fields of the wrong type, and write decision words in lower case."""
    cleaned: dict[str, Any] = {}
    unknown: list[str] = []
    for name, value in output.items():
        kind = TOP_LEVEL_FIELDS.get(name)
        if kind is None:
            unknown.append(name)
        # null is a field that was left out.
        elif value is not None and not isinstance(value, kind):
            remarks.add(f"{name} must be {TYPE_WORDS[kind]}", outcome="it was ignored")
        if kind is None or isinstance(value, kind):
            cleaned[name] = value
    if unknown:
        _remark_on_unknown(event, output, unknown, remarks)
    cleaned = _clean_word(cleaned, "decision", remarks)
    if cleaned.get("hookSpecificOutput"):
        specific = _clean_specific(event, cleaned["hookSpecificOutput"], remarks)
        cleaned["hookSpecificOutput"] = specific
        word, decision = specific.get("permissionDecision"), cleaned.get("decision")
        is_tool = event is HookEventName.BEFORE_TOOL
        if is_tool and decision in ("allow", "approve") and word in _HOLDING_WORDS:
            problem = f"hookSpecificOutput.permissionDecision {word!r} is not read beside decision"
            remarks.warnings.append(f"{problem} {decision!r}; it has no effect")
    return cleaned


def _keep_stricter_word(output: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with the permission as its decision if that is the stricter of the two."""
    specific = output.get("hookSpecificOutput") or {}
    word, decision = specific.get("permissionDecision", ""), output.get("decision")
    if decision is None or _STRICTNESS.get(word, 0) <= _STRICTNESS.get(decision, 0):
        return output
    reason = specific.get("permissionDecisionReason") or output.get("reason")
    return {**output, "decision": word, **({} if reason is None else {"reason": reason})}


def _remark_on_unknown(
    event: EventName, output: dict[str, Any], unknown: list[str], remarks: _Remarks
) -> None:
    """Remark on each unknown field, with what the hook may have meant."""
    where = f"at the top of an answer to {event.value}"
    meaningless: list[str] = []
    for name in unknown[:MOST_COMPARED]:
        if output[name] is None:
            continue
        key = name[:LONGEST_NAME]
        instead = None if find_slip(key, TOP_LEVEL_FIELDS) else _find_instead(event, key)
        if instead is not None:
            remarks.add(f"{name} is not read {where}", remedy=instead)
        else:
            meaningless.append(name)
    meaningless += unknown[MOST_COMPARED:]
    unread = describe_unread(meaningless, TOP_LEVEL_FIELDS, where=where)
    if len(unknown) == len(output):
        fields = ", ".join(TOP_LEVEL_FIELDS)
        remarks.add(f"none of its fields ({join_names(unknown)}) is one of {fields}")
        unread = Unread(unread.slips, [])
    remarks.add_unread(unread)
    _refuse_many(len(unknown), remarks)


def _refuse_many(unknown: int, remarks: _Remarks) -> None:
    """Add a fault for so many unknown fields that not all were looked at."""
    if unknown > MOST_COMPARED:
        remarks.faults.append(f"it has {unknown} unknown fields")


def _clean_specific(
    event: EventName, specific: dict[str, Any], remarks: _Remarks
) -> dict[str, Any]:
    """Write the event's own fields in their usual spelling, and remark on each unread one."""
    own = SPECIFIC_FIELDS[event]
    if event is HookEventName.BEFORE_TOOL:
        specific = _clean_word(specific, "permissionDecision", remarks)
    elif event is HookEventName.BEFORE_TOOL_SELECTION and "toolConfig" in specific:
        config = _clean_tool_config(specific["toolConfig"], remarks)
        specific = {**specific, "toolConfig": config}
    meaningless: list[str] = []
    for name, value in specific.items():
        if name in own and value is not None:
            _check_own_value(event, name, value, remarks)
    unknown = [name for name in specific if name not in own]
    for name in unknown[:MOST_COMPARED]:
        if specific[name] is None or name in _LABELS:
            continue
        instead = _find_instead(event, name[:LONGEST_NAME])
        if instead is not None:
            what = f"hookSpecificOutput.{name} is not read on {event.value}"
            remarks.add(what, remedy=instead)
        else:
            meaningless.append(name)
    meaningless += unknown[MOST_COMPARED:]
    where, prefix = f"on {event.value}", "hookSpecificOutput."
    remarks.add_unread(describe_unread(meaningless, own, where=where, prefix=prefix))
    _refuse_many(len(unknown), remarks)
    return specific


def _check_own_value(event: EventName, name: str, value: Any, remarks: _Remarks) -> None:
    """Remark on a field of the event that cannot be applied, or on parts of it that are not."""
    what = f"hookSpecificOutput.{name}"
    fault = find_fault(event, name, value)
    if fault is not None:
        remarks.add(f"{what} {fault}", outcome="it was ignored")
    elif name in ("llm_request", "llm_response"):
        from hookline.wire.model import LLMRequestChange, LLMResponseChange, find_unread

        kind = LLMRequestChange if name == "llm_request" else LLMResponseChange
        if unread := [*dict.fromkeys(find_unread(value, kind))]:
            problem = f"{what} has fields that are not read: {join_names(unread)}"
            fields = ", ".join(kind.__struct_encode_fields__)
            remarks.add(problem, remedy=f"it may have {fields}")
        _check_mode(value.get("toolConfig") or {}, remarks)
    elif name == "tailToolCallRequest" and len(value) > 2:
        unread = [key for key in value if key not in ("name", "args")]
        remarks.add_unread(describe_unread(unread, ("name", "args"), prefix=f"{what}."))


def _clean_tool_config(config: Any, remarks: _Remarks) -> Any:
    """Write a tool config as the protocol has it: flat, the mode in capitals."""
    if isinstance(config, dict) and isinstance(config.get("functionCallingConfig"), dict):
        config = config["functionCallingConfig"]
    if not isinstance(config, dict):
        return config
    for name in islice((name for name in config if name not in _CONFIG_FIELDS), MOST_COMPARED):
        problem = f"hookSpecificOutput.toolConfig.{name[:LONGEST_NAME]} is not read"
        remarks.add(problem, remedy=f"write {' or '.join(_CONFIG_FIELDS)}")
    _check_mode(config, remarks)
    mode = read_mode(config.get("mode"))
    return {**config, "mode": mode} if mode in TOOL_MODES else config


def _check_mode(config: dict[str, Any], remarks: _Remarks) -> None:
    mode = config.get("mode")
    if mode is not None and read_mode(mode) not in (*TOOL_MODES, *_NEUTRAL_MODES):
        problem = f"toolConfig.mode {mode!r:.80} is not one of {', '.join(TOOL_MODES)}"
        remarks.add(problem, outcome="it counts as AUTO")


@lru_cache(maxsize=256)
def _find_instead(event: EventName, name: str) -> str | None:
    """Say what to write in place of a field that the event does not read; None for a field that
    has no meaning anywhere."""
    own = SPECIFIC_FIELDS[event]
    for own_name in own:
        if find_slip(name, (own_name,)):
            return f"write hookSpecificOutput.{own_name}"
    for table in (_SAID_OTHERWISE_ON.get(event, {}), _SAID_OTHERWISE):
        for own_name, instead in table.items():
            if _strip_name(name) == _strip_name(own_name):
                return instead
    readers = [
        other.value
        for other, fields in SPECIFIC_FIELDS.items()
        if any(_strip_name(name) == _strip_name(field) for field in fields)
    ]
    return f"it is read only on {' and '.join(readers)}" if readers else None


def _strip_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _clean_word(fields: dict[str, Any], name: str, remarks: _Remarks) -> dict[str, Any]:
    word = fields.get(name)
    normal = word.strip().lower() if isinstance(word, str) else None
    if word is None or (normal == word and normal in DECISION_WORDS):
        return fields
    if normal in DECISION_WORDS:
        remarks.warnings.append(f'{name} {word!r} counts as {normal}; write "{normal}"')
        return {**fields, name: normal}
    words = ", ".join(sorted(DECISION_WORDS))
    remarks.add(f"{name} {word!r:.80} is not one of {words}")
    return fields
