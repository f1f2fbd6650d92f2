"""How Claude Code's hooks answer: exit code 2 blocks, whatever the JSON says; with any other exit
code, valid JSON decides.

What Claude Code would read as a block is a block here. An answer that cannot be read is a failure,
never a text.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from hookline._support.nearest import join_names
from hookline.dialects.claude.answer_schema import (
    DECIDING_FIELDS,
    EFFECTS,
    MUTE_EVENTS,
    OWN_FIELDS,
    Decisions,
    Word,
    describe_unread_fields,
    find_faults,
    has_known_field,
    read_decisions,
    weigh,
)
from hookline.dialects.claude.events import ClaudeEventName
from hookline.dialects.claude.inputs import name_event
from hookline.dialects.claude.rewrites import read_result, restore_input
from hookline.dialects.document import EventDocument
from hookline.dialects.stdout import (
    REMEDY,
    HookAnswer,
    has_every_key,
    means_answer,
    parse_strictly,
)
from hookline.errors import HooklineError
from hookline.wire import codec

# Plain text on stdout is added to what the model reads on these.
TEXT_EVENTS = frozenset({"UserPromptSubmit", "UserPromptExpansion", "SessionStart"})
# Where the reason of a block is the agent's next prompt, there must be one.
_SENT_BACK = frozenset({"Stop", "SubagentStop"})
_NO_REASON = "Blocked by hook"

_BEFORE_TEXT = re.compile(r"\A[\s\ufeff]+")
_TERMINAL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def read_command_answer(
    document: EventDocument,
    hook_name: str,
    exit_code: int,
    stdout: str,
    stderr: str,
    *,
    strict: bool = False,
) -> HookAnswer:
    """Read the answer of a command."""
    reader = _AnswerReader(document, hook_name, strict=strict)
    if reader.event == "WorktreeCreate":
        return _read_worktree(hook_name, exit_code, stdout, stderr)
    text = _BEFORE_TEXT.sub("", stdout)
    # Exit code 2 blocks whatever stdout says, so only what looks like an object is read there.
    is_read = exit_code == 0 or text.startswith("{")
    answer, problem = reader.parse(text) if is_read else (None, None)
    if exit_code == 2:
        return reader.block(answer, problem, stderr)
    if exit_code != 0 and (strict or answer is None):
        first, _, rest = stderr.strip().partition("\n")
        if first.startswith("Traceback "):
            # The last line of a Python traceback says what happened.
            first = rest.rpartition("\n")[2]
        error = f"exited with code {exit_code}" + (f": {first}" if first else "")
        return HookAnswer(success=False, failed="exit", error=error)
    if problem is not None:
        return _fail(f"{problem}; {REMEDY}")
    if answer is not None:
        return reader.answer(answer)
    return reader.take_text(text.rstrip())


def read_object(
    document: EventDocument, value: Mapping[str, Any], *, hook_name: str, strict: bool = False
) -> HookAnswer:
    """Read the answer of a hook that returns only an object."""
    return _AnswerReader(document, hook_name, strict=strict).answer(value)


class _AnswerReader:
    """An answer while it is read. ``doubts`` are remarks that make a hook that fails closed a
    failed one."""

    def __init__(self, document: EventDocument, hook_name: str, *, strict: bool) -> None:
        self.document = document
        self.no_reason = f"{_NO_REASON} {hook_name}".rstrip()
        self.event = name_event(document)
        self.strict = strict
        self.warnings: list[str] = []
        self.doubts: list[str] = []
        self.output: dict[str, Any] = {}
        self.specific: dict[str, Any] = {}
        self.context: list[str] = []
        self.for_user: list[str] = []

    def parse(self, text: str) -> tuple[dict[str, Any] | None, str | None]:
        """Parse a text; return its object, or what is wrong with it, or neither for plain text."""
        if self.strict:
            content = parse_strictly(text)
            return content.object, content.garbled and f"its answer {content.garbled}"
        if not text.startswith("{"):
            return None, None
        try:
            value = codec.decode(text)
        except codec.DecodeError as error:
            try:
                value, _ = codec.lenient_decoder().raw_decode(text)
            except (ValueError, RecursionError):
                value = {}
            # A hook that continues in the background prints this first and its answer later.
            if value.get("async") is True:
                return value, None
            return None, f"its answer cannot be read: {error}"
        if not has_every_key(text, value):
            value = self._keep_stricter(text, value)
        return value, None

    def answer(self, answer: Mapping[str, Any]) -> HookAnswer:
        """Apply an object, whatever the exit code but 2."""
        if answer.get("async") is True:
            if self.strict:
                return _fail(
                    "its answer says async, but the agent must wait for a hook that fails closed"
                )
            return HookAnswer(success=True, warnings=tuple(self.warnings))
        if self.strict and answer and not has_known_field(answer):
            return _fail(f"none of its fields is one of Claude Code's: {join_names([*answer])}")
        decisions = read_decisions(self.event, answer)
        faults = self._find_faults(answer, decisions)
        if not faults:
            faults = self._apply(answer, decisions)
        if faults:
            return _fail(f"its answer is not valid: {'; '.join(faults)}", self.warnings)
        if self.strict and self.doubts:
            return _fail(f"its answer is not clear: {'; '.join(self.doubts)}", self.warnings)
        return self._make_answer(success=True, output_format="json")

    def block(self, answer: dict[str, Any] | None, problem: str | None, stderr: str) -> HookAnswer:
        """Block because of exit code 2; an object on stdout may give the reason and add context,
        but cannot undo the block."""
        faults = [problem] if problem is not None else []
        fields = answer if answer is not None and answer.get("async") is not True else {}
        decisions = read_decisions(self.event, fields)
        faults += self._find_faults(fields, decisions)
        self.warnings += [f"{fault}; the answer beside exit code 2 was ignored" for fault in faults]
        if faults:
            fields, decisions = {}, Decisions([], [], [])
        self._apply(fields, decisions, blocking=stderr or self.no_reason)
        effect, unclear = EFFECTS.get(self.event), [*faults, *self.doubts]
        if self.strict and unclear and effect == "model":
            # The tool has run, and the unread answer may have been meant to replace its result.
            return _fail(f"its answer is not clear: {'; '.join(unclear)}", self.warnings)
        if effect == "user" and stderr:
            self.for_user.append(stderr)
        return self._make_answer(success=False, output_format="json" if fields else "text")

    def take_text(self, text: str) -> HookAnswer:
        """Apply a text that a hook printed with exit code 0."""
        if not self.strict and means_answer(text):
            unread = "Claude Code reads an answer only at the start of stdout, print nothing else"
            self.warnings.append(f"{unread}; this answer is read as text")
        if text and self.event in TEXT_EVENTS:
            self.context.append(text)
        return self._make_answer(success=True, output_format="text")

    def _keep_stricter(self, text: str, value: dict[str, Any]) -> dict[str, Any]:
        """Return the object with the stricter value of each field that is there twice: text that a
        guard quotes without escaping it must not undo the guard's decision."""
        repeated: set[str] = set()

        def read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            fields = dict(pairs)
            for name in DECIDING_FIELDS if len(fields) < len(pairs) else ():
                values = [each for key, each in reversed(pairs) if key == name]
                if len(values) > 1:
                    repeated.add(name)
                    fields[name] = max(values, key=lambda each: weigh(name, each))
            return fields

        try:
            stricter: dict[str, Any] = codec.lenient_decoder(object_pairs_hook=read_pairs).decode(
                text
            )
        except (ValueError, RecursionError):
            return value
        self.warnings += [f"{n} is given twice; the stricter one counts" for n in sorted(repeated)]
        return stricter if repeated else value

    def _find_faults(self, answer: Mapping[str, Any], decisions: Decisions) -> list[str]:
        return [*find_faults(self.event, answer), *decisions.faults]

    def _apply(
        self, answer: Mapping[str, Any], decisions: Decisions, *, blocking: str | None = None
    ) -> list[str]:
        """Translate a valid answer into native words; return what keeps it from being applied."""
        is_ours = not isinstance(self.document.event, ClaudeEventName)
        self.warnings += decisions.warnings
        unread = describe_unread_fields(self.event, answer, is_ours=is_ours)
        self.warnings += unread.others
        self.doubts += unread.slips
        specific = answer.get("hookSpecificOutput") or {}
        if specific and specific.get("hookEventName") is None:
            specific, decisions = self._keep_denial(specific, decisions)
        if self.event == "SessionEnd" or (blocking and self.event.startswith("Elicitation")):
            specific = {}
        self._add_own_fields(specific)
        word = self._decide(decisions, blocking)
        if self.event == "SessionEnd":
            return []
        if self.event not in MUTE_EVENTS:
            self.for_user += filter(None, [answer.get("systemMessage")])
            if answer.get("continue") is False and self.event != "TaskCreated":
                self._stop(answer.get("stopReason"))
        updated: Any = None
        if self.event == "PreToolUse" and specific.get("permissionDecision") != "defer":
            updated = specific.get("updatedInput")
        elif self.event == "PermissionRequest" and isinstance(specific.get("decision"), dict):
            updated = self._read_permission(specific["decision"], is_denied=word == "deny")
        if updated is not None:
            try:
                self.specific |= restore_input(self.document, updated)
            except HooklineError as error:
                # A call that is held back stays held back, with its present input.
                if word not in ("deny", "ask"):
                    return [f"updatedInput cannot be applied: {error}"]
                self.warnings.append(f"updatedInput was ignored: {error}")
        if self.event == "PostToolUse":
            self._replace_result(specific)
        return []

    def _decide(self, decisions: Decisions, blocking: str | None) -> Word | None:
        """Apply the strictest word, and return it."""
        denial, question = decisions.find("deny"), decisions.find("ask")
        if denial is None and blocking is None and question is not None:
            if self.event == "PreToolUse":
                reason = {} if question.reason is None else {"reason": question.reason}
                self.output |= {"decision": "ask", **reason}
                return "ask"
            self.warnings.append(f"the user cannot be asked on {self.event}; it counts as deny")
            denial = question
        if denial is not None or blocking is not None:
            self._forbid((denial and denial.reason) or blocking, is_said=denial is not None)
            return "deny"
        allowed = decisions.find("allow")
        if allowed is None:
            return None
        if self.event in ("PreToolUse", "PermissionRequest"):
            self.output["decision"] = "allow"
            # The model does not read why something was allowed.
            self.for_user += filter(None, [allowed.reason])
        return "allow"

    def _forbid(self, reason: str | None, *, is_said: bool) -> None:
        """Apply a block to this event; ``is_said`` if the answer says it, not the exit code."""
        effect = EFFECTS.get(self.event)
        if effect == "model":
            # The reason is added to the result; a native block would replace the result with it.
            self.context.insert(0, reason or _NO_REASON)
        elif effect != "blocks":
            if is_said:
                self.warnings.append(f"{self.event} cannot be blocked; the decision has no effect")
        elif (
            self.event == "ConfigChange"
            and self.document.payload.get("source") == "policy_settings"
        ):
            self.warnings.append("policy_settings cannot be blocked; the decision has no effect")
        elif self.event == "PreCompact":
            self.specific["keepHistory"] = True
            self.for_user += filter(None, [reason])
        elif self.event == "PostToolBatch":
            self._stop(reason)
        else:
            self.output["decision"] = "deny"
            if reason is None and self.event in _SENT_BACK:
                reason = self.no_reason
            if reason is not None:
                self.output["reason"] = reason

    def _stop(self, reason: str | None) -> None:
        self.output["continue"] = False
        if reason:
            before = self.output.get("stopReason")
            self.output["stopReason"] = f"{before}\n{reason}" if before else reason

    def _keep_denial(
        self, specific: Mapping[str, Any], decisions: Decisions
    ) -> tuple[Mapping[str, Any], Decisions]:
        """Return what counts of an answer whose ``hookSpecificOutput`` does not name its event,
        which Claude Code ignores: what holds the agent back."""
        problem = f'hookSpecificOutput has no hookEventName, write "{self.event}"'
        denials = [decision for decision in decisions.verdicts if decision.word != "allow"]
        if denials:
            self.warnings.append(f"{problem}; only its denial counts")
            specific = {name: specific[name] for name in DECIDING_FIELDS if name in specific}
        else:
            self.doubts.append(f"{problem}, it was ignored")
            specific = {}
        return specific, decisions._replace(verdicts=denials)

    def _add_own_fields(self, specific: Mapping[str, Any]) -> None:
        own = OWN_FIELDS.get(self.event, {})
        if "additionalContext" in own and self.event != "Notification":
            self.context += filter(None, [specific.get("additionalContext")])
        if isinstance(self.document.event, ClaudeEventName):
            # The host applies the fields that only these events have.
            names = ("action", *own) if "content" in own else own
            self.specific |= {
                name: specific[name]
                for name in names
                if name not in ("additionalContext", "permissionDecisionReason")
                and specific.get(name) is not None
                and codec.is_json(specific[name])
            }

    def _read_permission(self, decision: Mapping[str, Any], *, is_denied: bool) -> Any:
        """Apply the other fields of a permission decision; return the new input, if any."""
        if decision.get("updatedPermissions"):
            self.warnings.append("updatedPermissions is not supported; it was ignored")
        if not is_denied:
            return decision.get("updatedInput")
        if decision.get("interrupt") is True:
            self._stop(decision.get("message"))
        return None

    def _replace_result(self, specific: Mapping[str, Any]) -> None:
        for name in ("updatedToolOutput", "updatedMCPToolOutput"):
            output = specific.get(name)
            if output is None:
                continue
            text = read_result(self.document, output)
            if text is None:
                doubt = f"hookSpecificOutput.{name} is not in the form of the tool's output"
                self.doubts.append(f"{doubt}, it was ignored")
            else:
                self.specific.setdefault("updatedToolOutput", text)

    def _make_answer(self, *, success: bool, output_format: Literal["json", "text"]) -> HookAnswer:
        if self.context:
            self.specific["additionalContext"] = "\n".join(self.context)
        if self.for_user:
            self.specific["userMessage"] = "\n".join(self.for_user)
        if self.specific:
            self.output["hookSpecificOutput"] = self.specific
        return HookAnswer(
            success=success,
            output=self.output or None,
            output_format=output_format if self.output else None,
            warnings=(*self.warnings, *self.doubts),
        )


def _read_worktree(hook_name: str, exit_code: int, stdout: str, stderr: str) -> HookAnswer:
    """Read the path of a new working tree from the last line; any exit code but 0 refuses it."""
    if exit_code != 0:
        reason = stderr or f"{_NO_REASON} {hook_name}"
        output = {"decision": "deny", "reason": reason}
        return HookAnswer(success=False, output=output, output_format="text")
    lines = [line.strip() for line in _TERMINAL_SEQUENCE.sub("", stdout).splitlines()]
    path = next((line for line in reversed(lines) if line), None)
    if path is None:
        return HookAnswer(success=True)
    specific = {"worktreePath": path}
    return HookAnswer(success=True, output={"hookSpecificOutput": specific}, output_format="text")


def _fail(error: str, warnings: list[str] | None = None) -> HookAnswer:
    return HookAnswer(
        success=False, failed="malformed", error=error, warnings=tuple(warnings or ())
    )
