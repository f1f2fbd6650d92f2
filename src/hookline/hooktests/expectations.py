"""What ``expect`` may say: a few words of its own, and every field of ``fire --json``'s document.

Two things are expected unless the test speaks of them: that some hook ran, and that none failed.
Otherwise a misspelt matcher or a script that crashes would pass as an allow.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET

from hookline.hooktests.comparing import Failure, differences
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.outputs import NO_REASON

if TYPE_CHECKING:
    from hookline.hooktests.cases import HookTest

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


def _is_blocked(document: Document, _: Document) -> bool:
    return EVENTS[HookEventName(document["event"])].blockable and document["view"]["blocked"]


def _reason(document: Document, _: Document) -> Any:
    reason = document["view"]["effective_reason"]
    return UNSET if reason == NO_REASON else reason


# Word -> the value it speaks of, from the document and the event's input.
_WORDS: dict[str, Callable[[Document, Document], Any]] = {
    "decision": lambda document, _: decision_of(document),
    "blocked": _is_blocked,
    "ask": lambda document, _: decision_of(document) == "ask",
    "stop": lambda document, _: decision_of(document) == "stop",
    "reason": _reason,
    "context": lambda document, _: document["view"]["additional_context"],
    # What the tool is called with in the end.
    "tool_input": lambda document, payload: {
        **payload.get("tool_input", {}),
        **(document["view"].get("tool_input") or {}),
    },
    "output": lambda document, _: document["final_output"],
    "hooks": lambda document, _: {result["hook"]: result for result in document["results"]},
    "no_hooks": lambda document, _: document["plan"] is None,
}
WORDS = (*_WORDS, *_FIELDS)


def find_bad_word(event: HookEventName, expect: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first word of an ``expect`` that means nothing, and why; None if all do."""
    for word, value in expect.items():
        if word not in WORDS:
            return word, f"{word!r} cannot be expected; {nearest(word, WORDS)}"
        if word == "decision":
            if not isinstance(value, str) or value not in _DECISIONS:
                return word, f"decision must be one of {', '.join(_DECISIONS)}"
            if _DECISIONS[value] in ("deny", "stop") and not EVENTS[event].blockable:
                never = f"so its decision is never {value}"
                return word, f"{event.value} cannot be blocked or stopped, {never}"
        if word in ("blocked", "ask", "stop", "no_hooks") and not isinstance(value, bool):
            return word, f"{word} must be true or false"
        if word == "hooks" and not isinstance(value, dict):
            of_what = "an object of hook names, each with what is expected of its result"
            return word, f"hooks must be {of_what}"
    return None


def nearest(name: str, known: tuple[str, ...]) -> str:
    """The question whether another name was meant, or all there are."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=2)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"


def unmet(test: "HookTest", document: Document) -> Iterator[Failure]:
    """What is not as the test expects."""
    expected_words = test.expect.keys()
    failed_as_a_whole = document["plan"] is None and not document["success"]
    if failed_as_a_whole and expected_words.isdisjoint({"success", "errors"}):
        yield Failure(message=f"the event failed: {document['errors'][0]['message']}")
    for word, expected in test.expect.items():
        if word == "decision":
            expected = _DECISIONS[expected]
        actual = _WORDS[word](document, test.input) if word in _WORDS else document[word]
        yield from differences(expected, actual, at=word)
    nobody_ran = document["plan"] is None and document["success"]
    if nobody_ran and expected_words.isdisjoint({"no_hooks", "plan", "results"}):
        target = EVENTS[test.event].target
        name = test.input.get(target) if target else None
        on = f"{test.event.value} of {name}" if name else test.event.value
        yield Failure(
            message=f"no hook ran on {on}; look at the matchers, "
            'or expect {"no_hooks": true} if none should'
        )
    if expected_words.isdisjoint({"success", "errors", "results"}):
        named = test.expect.get("hooks", {})
        for error in document["errors"]:
            said = named.get(error.get("hook"))
            spoken_of = isinstance(said, Mapping) and not said.keys().isdisjoint(_ENDS)
            if "hook" in error and not spoken_of:
                yield Failure(message=error["message"])
