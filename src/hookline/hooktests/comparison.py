"""Compares what a test expects with what hooks answered, and says where the two differ.

``expect`` has a few words of its own, and every field of ``fire --json``'s document. Of an expected
object only its own keys are compared; null means no value. If the actual value is a string, a
number or a list, an expected object holds tests of it (``{"contains": "key"}``), so a word such as
``contains`` never means two things. With ``exact`` none of this counts: values must be equal.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import UNSET

from hookline._support.nearest import name_hint
from hookline.errors import TranslationError
from hookline.pipeline.answer import Answer, result_document
from hookline.translate.choice import AnyTranslator
from hookline.wire import codec
from hookline.wire.events import EVENTS, EventName, HookEventName
from hookline.wire.outputs import NO_REASON

if TYPE_CHECKING:
    from hookline.hooktests.cases import HookTest

NOTHING = "(nothing)"
_DECISIONS = {"allow": "allow", "approve": "allow", "ask": "ask"}
_DECISIONS |= {"deny": "deny", "block": "deny", "stop": "stop"}
# Fields that say how a hook ended: a test that expects one of them knows the hook may fail.
_ENDS = ("failed", "success", "exit_code", "signal")
_SWITCHES = ("blocked", "ask", "stop", "no_hooks", "keep_history")
_FIELDS = (
    *("event", "plan", "results", "success", "errors", "all_outputs", "final_output", "view"),
    *("should_stop", "stop_reason", "system_message", "suppress_output", "total_duration_ms"),
)

# Words that only some events have, and which events.
_MODEL_EVENTS = (
    *(HookEventName.BEFORE_MODEL, HookEventName.AFTER_MODEL),
    HookEventName.BEFORE_TOOL_SELECTION,
)
_ONLY_FOR: dict[str, tuple[HookEventName, ...]] = {
    "llm_request": _MODEL_EVENTS,
    "llm_response": _MODEL_EVENTS[:2],
    "tools": _MODEL_EVENTS[2:],
}
_TRANSLATOR = AnyTranslator()

_Test: TypeAlias = Callable[[Any, Any], bool]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as expected: two values that differ, or a message.

    UNSET means no value.
    """

    at: str | msgspec.UnsetType = UNSET
    expected: Any = UNSET
    actual: Any = UNSET
    message: str | msgspec.UnsetType = UNSET


class _BadTest(ValueError):
    """A test of a value that is not valid."""


def differences(expected: Any, actual: Any, *, at: str, exact: bool = False) -> Iterator[Failure]:
    """Yield where the actual value differs from the expected; ``at`` is the path of the values."""
    is_test = isinstance(expected, Mapping) and not exact
    if is_test and isinstance(actual, Mapping):
        # For an object, only these tests count, and only alone.
        is_test = len(expected) == 1 and next(iter(expected)) in ("equals", "not")
    if is_test and (unknown := [word for word in expected if word not in TESTS]):
        message: Any = UNSET
        if actual is not UNSET and actual is not None:
            message = f"{unknown[0]!r} is not a test of a value; write one of {', '.join(TESTS)}"
        yield Failure(at=at, expected=expected, actual=actual, message=message)
    elif is_test:
        for word, wanted in expected.items():
            message = UNSET
            try:
                if TESTS[word](wanted, actual):
                    continue
            except _BadTest as error:
                message = str(error)
            except (re.error, TypeError) as error:
                message = f"{wanted!r} is not a regular expression: {error}"
            yield Failure(at=at, expected={word: wanted}, actual=actual, message=message)
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in dict.fromkeys((*expected, *actual)) if exact else expected:
            below = f"{at}.{key}" if at else key
            pair = (expected.get(key, UNSET), actual.get(key, UNSET))
            yield from differences(*pair, at=below, exact=exact)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from differences(*pair, at=f"{at}[{index}]", exact=exact)
    else:
        # In JSON true is not 1.
        is_equal = expected == actual and isinstance(expected, bool) is isinstance(actual, bool)
        if not exact and (expected is None or actual is None or actual is UNSET):
            is_equal = expected is None and (actual is None or actual is UNSET)
        elif not exact and isinstance(expected, str) and isinstance(actual, str):
            # What a script prints ends with a newline that does not matter.
            is_equal = expected in (actual, actual.rstrip("\n"))
        if not is_equal:
            yield Failure(at=at, expected=expected, actual=actual)


def _agrees(expected: Any, actual: Any) -> bool:
    failures = list(differences(expected, actual, at=""))
    for failure in failures:
        # An invalid test must not count as one that is not met.
        if isinstance(failure.message, str):
            raise _BadTest(failure.message)
    return not failures


def _contains(wanted: Any, actual: Any) -> bool:
    if isinstance(actual, list):
        return any(_agrees(wanted, item) for item in actual)
    words = wanted if isinstance(wanted, list) else [wanted]
    return isinstance(actual, str) and all(isinstance(w, str) and w in actual for w in words)


def _are_numbers(wanted: Any, actual: Any) -> bool:
    is_number = isinstance(actual, int | float) and not isinstance(actual, bool)
    return is_number and isinstance(wanted, int | float)


TESTS: dict[str, _Test] = {
    "contains": _contains,
    "matches": lambda wanted, actual: isinstance(actual, str) and bool(re.search(wanted, actual)),
    "below": lambda wanted, actual: _are_numbers(wanted, actual) and actual < wanted,
    "above": lambda wanted, actual: _are_numbers(wanted, actual) and actual > wanted,
    "equals": lambda wanted, actual: not any(differences(wanted, actual, at="", exact=True)),
    "not": lambda wanted, actual: not _agrees(wanted, actual),
}


def describe_failure(failure: Failure) -> str:
    """Describe a failure in one sentence."""
    if isinstance(failure.message, str):
        where = f"{failure.at}: " if isinstance(failure.at, str) else ""
        return where + failure.message
    expected, actual = (
        lines[0] if len(lines) == 1 else f"{lines[0]} …"
        for lines in (_write_lines(failure.expected), _write_lines(failure.actual))
    )
    return f"{failure.at}: expected {expected}, found {actual}"


def failure_lines(failure: Failure) -> Iterator[tuple[str, str]]:
    """Yield a diff of expected and found: each line with - or +, or a blank if they agree."""
    if failure.at is UNSET:
        return
    wanted, result = failure.expected, failure.actual
    if isinstance(wanted, Mapping) and [*wanted] == ["equals"]:
        wanted = wanted["equals"]
    if isinstance(result, str) and result.rstrip("\n") != wanted:
        # Do not show the newline at the end, which is not what differs.
        result = result.rstrip("\n")
    is_nested = all(isinstance(value, Mapping | list) for value in (wanted, result))
    expected, actual = (
        _write_lines(wanted, pretty=is_nested),
        _write_lines(result, pretty=is_nested),
    )
    if len(expected) == 1 or len(actual) == 1:
        yield from (("-", line) for line in expected)
        yield from (("+", line) for line in actual)
        return
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, expected, actual, autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            yield from ((" ", line) for line in expected[start:end])
        else:
            yield from (("-", line) for line in expected[start:end])
            yield from (("+", line) for line in actual[other_start:other_end])


def _write_lines(value: Any, *, pretty: bool = False) -> list[str]:
    if value is UNSET or value is None:
        return [NOTHING]
    if isinstance(value, str):
        return value.split("\n")
    is_test = isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in TESTS
    if is_test and not pretty:
        ((word, wanted),) = value.items()
        return [f"{word} {_write_compact(wanted)}"]
    if not pretty and len(compact := _write_compact(value)) <= 60:
        return [compact]
    return msgspec.json.format(codec.encode(value), indent=2).decode().split("\n")


def _write_compact(value: Any) -> str:
    return msgspec.json.format(codec.encode(value), indent=0).decode()


def find_reason(answer: Answer) -> str | None:
    """Return the reason that hooks gave, None without one."""
    output = answer.final_output
    reason = NO_REASON if output is None else output.get_effective_reason()
    return None if reason == NO_REASON else reason


def show_request(answer: Answer) -> dict[str, Any] | None:
    """Return the model's request after the hooks, in the form that hooks read."""
    return _show_as_hooks_read(_TRANSLATOR.to_hook_llm_request, answer.request)


def show_response(answer: Answer) -> dict[str, Any] | None:
    """Return the model's response after the hooks, or the one they gave in its place, in the form
    that hooks read; None if there is none yet."""
    return _show_as_hooks_read(_TRANSLATOR.to_hook_llm_response, answer.response)


def show_given(answer: Answer, field: str) -> dict[str, Any]:
    """Return the ``llm_request`` or ``llm_response`` that hooks read."""
    is_request = field == "llm_request"
    show = _TRANSLATOR.to_hook_llm_request if is_request else _TRANSLATOR.to_hook_llm_response
    value = None if answer.fired is None else answer.fired.field(field)
    return _show_as_hooks_read(show, value) or {}


def _show_as_hooks_read(show: Callable[[Any], Any], value: Any) -> dict[str, Any] | None:
    try:
        return None if value is None else dict(show(value))
    except TranslationError:
        # The event failed, and its errors say why.
        return None


def list_tools(answer: Answer) -> list[str] | None:
    """List the tools that the model may call, sorted; None for all of them."""
    return None if answer.tools is None else sorted(answer.tools)


# Word -> the value it stands for; None means no value.
_WORDS: dict[str, Callable[[Answer], Any]] = {
    "decision": lambda answer: answer.decision,
    "blocked": lambda answer: answer.denied,
    "ask": lambda answer: answer.decision == "ask",
    "stop": lambda answer: answer.stopped,
    "reason": find_reason,
    "context": lambda answer: answer.context,
    # The input that the tool is called with after the hooks.
    "tool_input": lambda answer: answer.tool_input or {},
    "tool_output": lambda answer: answer.tool_output,
    "llm_request": show_request,
    "llm_response": show_response,
    "tools": list_tools,
    "exports": lambda answer: answer.exports,
    "keep_history": lambda answer: answer.keep_history,
    "output": lambda answer: answer.final_output and answer.final_output.to_wire(),
    "hooks": lambda answer: {
        result.hook.name: result_document(result) for result in answer.results
    },
    "no_hooks": lambda answer: answer.plan is None,
}
WORDS = (*_WORDS, *_FIELDS)


def find_bad_word(event: EventName, expect: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first invalid word of an ``expect``, and why; None if all are valid."""
    for word, value in expect.items():
        if word not in WORDS:
            return word, f"{word!r} cannot be expected; {name_hint(word, WORDS)}"
        if word == "decision":
            if not isinstance(value, str) or value not in _DECISIONS:
                return word, f"decision must be one of {', '.join(_DECISIONS)}"
            if _DECISIONS[value] in ("deny", "stop") and not EVENTS[event].blockable:
                never = f"so its decision is never {value}"
                return word, f"{event.value} cannot be blocked or stopped, {never}"
        if event not in _ONLY_FOR.get(word, (event,)):
            names = [each.value for each in _ONLY_FOR[word]]
            of = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            return word, f"{word} can be expected of {of}, not of {event.value}"
        if word in _SWITCHES and not isinstance(value, bool):
            return word, f"{word} must be true or false"
        if word == "hooks" and not isinstance(value, dict):
            of_what = "an object of hook names, each with what is expected of its result"
            return word, f"hooks must be {of_what}"
    return None


def unmet(test: "HookTest", answer: Answer, document: Mapping[str, Any]) -> Iterator[Failure]:
    """Yield where an answer and its document are not as the test expects.

    Unless the test says otherwise, it expects that some hook ran and that none failed: a misspelt
    matcher or a script that crashes must not pass as an allow.
    """
    expected_words = test.expect.keys()
    if answer.word == "failed" and expected_words.isdisjoint({"success", "errors"}):
        yield Failure(message=f"the event failed: {answer.why}")
    for word, expected in test.expect.items():
        if word == "decision":
            expected = _DECISIONS[expected]
        if word == "tools" and isinstance(expected, list):
            # Their order has no meaning.
            expected = sorted(expected, key=str)
        actual = _WORDS[word](answer) if word in _WORDS else document[word]
        yield from differences(expected, actual, at=word)
    nobody_ran = answer.word == "no hook matched"
    if nobody_ran and expected_words.isdisjoint({"no_hooks", "plan", "results"}):
        target = EVENTS[test.event].target
        name = test.input.get(target) if target else None
        on = f"{test.event_name} of {name}" if name else test.event_name
        yield Failure(
            message=f"no hook ran on {on}; check the matchers, "
            'or expect {"no_hooks": true} if none should'
        )
    if expected_words.isdisjoint({"success", "errors", "results"}):
        expected_hooks = test.expect.get("hooks", {})
        for error in answer.failures:
            ends = expected_hooks.get(error.hook)
            spoken_of = isinstance(ends, Mapping) and not ends.keys().isdisjoint(_ENDS)
            if error.hook is not None and not spoken_of:
                yield Failure(message=error.message)
