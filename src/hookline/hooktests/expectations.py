"""What ``expect`` may say: a few words of its own, and every field of ``fire --json``'s document.

Two things are expected unless the test speaks of them: that some hook ran, and that none failed.
Otherwise a misspelt matcher or a script that crashes would pass as an allow.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import UNSET

from hookline.hooktests.cases import Failure, HookTest
from hookline.hooktests.comparing import differences
from hookline.nearest import name_hint
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.outputs import NO_REASON

Document: TypeAlias = Mapping[str, Any]

_DECISIONS = {"allow": "allow", "approve": "allow", "ask": "ask"}
_DECISIONS |= {"deny": "deny", "block": "deny", "stop": "stop"}
# Fields that say how a hook ended: who expects one of them knows that the hook may fail.
_ENDS = ("failed", "success", "exit_code", "signal")
_FIELDS = (
    *("event", "plan", "results", "success", "errors", "all_outputs", "final_output", "view"),
    *("should_stop", "stop_reason", "system_message", "suppress_output", "total_duration_ms"),
)


def decision_of(document: Document) -> str:
    """What an agent does: stop, deny, ask or allow; what cannot be blocked goes on."""
    view = document["view"]
    if EVENTS[HookEventName(document["event"])].blockable:
        if document["should_stop"]:
            return "stop"
        if view["blocked"]:
            return "deny"
    return "ask" if view["ask"] else "allow"


def _blocked(document: Document, _: HookTest) -> bool:
    return EVENTS[HookEventName(document["event"])].blockable and document["view"]["blocked"]


def _reason(document: Document, _: HookTest) -> Any:
    reason = document["view"]["effective_reason"]
    return UNSET if reason == NO_REASON else reason


def _tool_input(document: Document, test: HookTest) -> Any:
    """What the tool is called with in the end."""
    changed = document["view"].get("tool_input")
    return {**test.input.get("tool_input", {}), **(changed or {})}


def _hooks(document: Document, _: HookTest) -> dict[str, Any]:
    return {result["hook"]: result for result in document["results"]}


# Word -> the value it speaks of.
_WORDS: dict[str, Callable[[Document, HookTest], Any]] = {
    "decision": lambda document, _: decision_of(document),
    "blocked": _blocked,
    "ask": lambda document, _: decision_of(document) == "ask",
    "stop": lambda document, _: decision_of(document) == "stop",
    "reason": _reason,
    "context": lambda document, _: document["view"]["additional_context"],
    "tool_input": _tool_input,
    "output": lambda document, _: document["final_output"],
    "hooks": _hooks,
    "no_hooks": lambda document, _: document["plan"] is None,
}
WORDS = (*_WORDS, *_FIELDS)


def problem_of(event: HookEventName, expect: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first word of an ``expect`` that means nothing, and why; None if all do."""
    for word, value in expect.items():
        if word not in WORDS:
            return word, f"{word!r} cannot be expected; {name_hint(word, WORDS)}"
        problem = _wrong_value(event, word, value)
        if problem is not None:
            return word, problem
    return None


def _wrong_value(event: HookEventName, word: str, value: Any) -> str | None:
    if word == "decision":
        if not isinstance(value, str) or value not in _DECISIONS:
            return f"decision must be one of {', '.join(_DECISIONS)}"
        if _DECISIONS[value] in ("deny", "stop") and not EVENTS[event].blockable:
            return f"{event.value} cannot be blocked or stopped, so its decision is never {value}"
    if word in ("blocked", "ask", "stop", "no_hooks") and not isinstance(value, bool):
        return f"{word} must be true or false"
    if word == "hooks" and not isinstance(value, dict):
        return "hooks must be an object of hook names, each with what is expected of its result"
    return None


def unmet(test: HookTest, document: Document) -> Iterator[Failure]:
    """What is not as the test expects."""
    yield from _engine_failure(test, document)
    for word, expected in test.expect.items():
        if word == "decision":
            expected = _DECISIONS[expected]
        actual = _WORDS[word](document, test) if word in _WORDS else document[word]
        yield from differences(expected, actual, at=word)
    yield from _nobody_ran(test, document)
    yield from _failed_hooks(test, document)


def _engine_failure(test: HookTest, document: Document) -> Iterator[Failure]:
    spoken_of = {"success", "errors"} & test.expect.keys()
    if document["plan"] is None and not document["success"] and not spoken_of:
        yield Failure(message=f"the event failed: {document['errors'][0]['message']}")


def _nobody_ran(test: HookTest, document: Document) -> Iterator[Failure]:
    spoken_of = {"no_hooks", "plan", "results"} & test.expect.keys()
    if document["plan"] is None and document["success"] and not spoken_of:
        target = EVENTS[test.event].target
        name = test.input.get(target) if target else None
        on = f"{test.event.value} of {name}" if name else test.event.value
        yield Failure(
            message=f"no hook ran on {on}; look at the matchers, "
            'or expect {"no_hooks": true} if none should'
        )


def _failed_hooks(test: HookTest, document: Document) -> Iterator[Failure]:
    if {"success", "errors", "results"} & test.expect.keys():
        return
    named = test.expect.get("hooks", {})
    for error in document["errors"]:
        said = named.get(error.get("hook"))
        spoken_of = isinstance(said, Mapping) and not said.keys().isdisjoint(_ENDS)
        if "hook" in error and not spoken_of:
            yield Failure(message=error["message"])
