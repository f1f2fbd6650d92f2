"""Everything hookline raises, each with its facts as fields and a sentence that says what to do.

HooklineError
├── HookSystemNotInitializedError     the system was used before ``initialize()``
├── HookRegistryNotInitializedError   the registry was used before it was loaded
├── InvalidHookError                  a hook registered in code cannot run
├── UnknownEventError                 a name that is no hook event
├── InvalidPayloadError               an event's input lacks a field, or a field has the wrong type
├── PayloadEncodingError              an event's input has no JSON form
├── TranslationError                  a model request or response of no known form
├── EventHeldError                    no event may go on, as a required hook is not in force
├── BlockedByHook                     a hook does not let a wrapped function run, or its result pass
└── StoppedByHook                     a hook ends the loop that a wrapped function was called in
"""

import errno
from collections.abc import Iterable

from hookline.nearest import did_you_mean

# What the system says when it has no more of something, and may have again in a moment.
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})


def message_of(error: object) -> str:
    """What an error says, or its type where it says nothing or cannot even be asked."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def describe(error: BaseException) -> str:
    """An error with its type, in one phrase."""
    said, kind = message_of(error), type(error).__name__
    return said if said == kind else f"{kind}: {said}"


class HooklineError(Exception):
    """The root of everything raised by hookline."""


class HookSystemNotInitializedError(HooklineError):
    """The hook system was asked for a part that exists only after ``initialize()``."""

    def __init__(self) -> None:
        super().__init__("the hook system is not initialized; await system.initialize() first")


class HookRegistryNotInitializedError(HooklineError):
    """The registry was asked for hooks before they were loaded."""

    def __init__(self) -> None:
        super().__init__("the hook registry is not loaded; await system.initialize() first")


class InvalidHookError(HooklineError):
    """A hook registered in code that could never run."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


class UnknownEventError(HooklineError):
    """A name that is no hook event; ``nearest`` holds the names it could have meant."""

    code = "unsupported_event"

    def __init__(self, name: object, nearest: Iterable[str] = ()) -> None:
        self.name = name
        self.nearest = tuple(nearest)
        hint = did_you_mean(self.nearest)
        super().__init__(f"{name!r} is not a hook event{hint and f'; {hint}'}")


class InvalidPayloadError(HooklineError):
    """An event's input lacks a field or has one of the wrong type."""

    code = "invalid_payload"

    def __init__(self, event: str, problem: str) -> None:
        self.event = event
        self.problem = problem
        super().__init__(f"{event} input: {problem}")


class PayloadEncodingError(HooklineError):
    """A value that cannot be written as JSON (a cycle, an arbitrary object)."""

    code = "invalid_payload"

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the value has no JSON form: {problem}")


class TranslationError(HooklineError):
    """A model request or response that is of no form the translator knows."""

    code = "translation_failed"

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


class EventHeldError(HooklineError):
    """An event that may not go on whatever its hooks would say: a hook that is required is not in
    force or, in strict mode, the settings cannot be read."""


class BlockedByHook(HooklineError):
    """A hook did not let a wrapped function run, or rejected its result."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name} was blocked by a hook: {reason}")


class StoppedByHook(HooklineError):
    """A hook asked for the end of the agent's loop."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"a hook stopped the agent: {reason}")
