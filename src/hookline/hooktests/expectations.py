"""What ``expect`` may say: a few words of its own, and every field of ``fire --json``'s document.

Two things are expected unless the test speaks of them: that some hook ran, and that none failed.
Otherwise a misspelt matcher or a script that crashes would pass as an allow.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline.answer import Answer, result_document
from hookline.hooktests.comparing import Failure, differences
from hookline.nearest import name_hint
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


def said_reason(answer: Answer) -> str | None:
    """The reason that hooks gave for whatever they decided."""
    output = answer.final_output
    reason = NO_REASON if output is None else output.get_effective_reason()
    return None if reason == NO_REASON else reason


# Word -> the value it speaks of; None is a value that is not there.
_WORDS: dict[str, Callable[[Answer], Any]] = {
    "decision": lambda answer: answer.decision,
    "blocked": lambda answer: answer.denied,
    "ask": lambda answer: answer.decision == "ask",
    "stop": lambda answer: answer.stopped,
    "reason": said_reason,
    "context": lambda answer: answer.context,
    # What the tool is called with in the end.
    "tool_input": lambda answer: answer.tool_input or {},
    "output": lambda answer: answer.final_output and answer.final_output.to_wire(),
    "hooks": lambda answer: {
        result.hook.name: result_document(result) for result in answer.results
    },
    "no_hooks": lambda answer: answer.plan is None,
}
WORDS = (*_WORDS, *_FIELDS)


def find_bad_word(event: HookEventName, expect: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first word of an ``expect`` that means nothing, and why; None if all do."""
    for word, value in expect.items():
        if word not in WORDS:
            return word, f"{word!r} cannot be expected; {name_hint(word, WORDS)}"
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


def unmet(test: "HookTest", answer: Answer, document: Document) -> Iterator[Failure]:
    """What is not as the test expects of an answer and its document."""
    expected_words = test.expect.keys()
    if answer.word == "failed" and expected_words.isdisjoint({"success", "errors"}):
        yield Failure(message=f"the event failed: {answer.why}")
    for word, expected in test.expect.items():
        if word == "decision":
            expected = _DECISIONS[expected]
        actual = _WORDS[word](answer) if word in _WORDS else document[word]
        yield from differences(expected, actual, at=word)
    nobody_ran = answer.word == "no hook matched"
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
        for error in answer.failures:
            said = named.get(error.hook)
            spoken_of = isinstance(said, Mapping) and not said.keys().isdisjoint(_ENDS)
            if error.hook is not None and not spoken_of:
                yield Failure(message=error.message)
