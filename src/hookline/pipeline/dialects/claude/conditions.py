"""Which of the planned hooks run on an event, and what settings should know of how hooks are
read."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from hookline.errors import HooklineError
from hookline.pipeline.dialects.claude.inputs import find_failure, show_call
from hookline.pipeline.dialects.claude.names import CALL_EVENTS
from hookline.pipeline.dialects.claude.rules import Rule, covers, read_rule
from hookline.pipeline.dialects.document import EventDocument
from hookline.pipeline.dialects.remarks import Remark
from hookline.pipeline.dialects.tools import other_names
from hookline.wire.hooks import HookConfig

# No hook takes a quarter of an hour: such a timeout was meant in milliseconds.
_LONGEST_TIMEOUT = 1_000

_read_rule = functools.lru_cache(maxsize=256)(read_rule)


def applies(hook: HookConfig, document: EventDocument) -> bool:
    """Whether a hook runs on this very event; in doubt it does."""
    key = hook.dialect_event
    if key in ("PostToolUse", "PostToolUseFailure"):
        has_failed = find_failure(document) is not None
        if has_failed != (key == "PostToolUseFailure"):
            return False
    if not hook.condition:
        return True
    if key not in CALL_EVENTS:
        return False
    rule = _read_rule(hook.condition)
    try:
        shown = show_call(document)
    except HooklineError:
        # The hook fails with that, which is for its settings to judge.
        return True
    if not isinstance(rule, Rule):
        return True
    also = () if shown.alias is None else shown.alias.also
    names = (shown.name, *also, *other_names(shown.name), document.payload["tool_name"])
    return covers(rule, names, shown.input, document.payload["cwd"])


def find_remarks(key: str, config: Mapping[str, Any]) -> Iterator[Remark]:
    """What is to say about a hook as settings have it on the event of a key."""
    if config.get("shell") == "powershell":
        yield Remark(
            "shell", "powershell is not run here; write the command for bash", is_fatal=True
        )
    if config.get("asyncRewake") is True:
        yield Remark(
            "asyncRewake", "is not supported", "the hook runs as async and does not wake the agent"
        )
    timeout = config.get("timeout")
    if isinstance(timeout, int | float) and timeout >= _LONGEST_TIMEOUT:
        yield Remark(
            "timeout",
            f"is in seconds, and {timeout:g} of them look like milliseconds",
            "it stays as written",
        )
    condition = config.get("if")
    if not isinstance(condition, str) or not condition:
        return
    if key not in CALL_EVENTS:
        yield Remark("if", f"is for events of tools, which {key} is not", "the hook never runs")
    elif not isinstance(rule := _read_rule(condition), Rule):
        yield Remark("if", rule, "the hook runs on every call that it matches")
