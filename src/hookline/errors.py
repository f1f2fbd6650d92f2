"""Everything hookline raises, with the facts as fields and a message that says what to do.

HooklineError
├── HookSystemNotInitializedError     the system was used before ``initialize()``
├── HookRegistryNotInitializedError   the registry was used before it was loaded
├── InvalidHookError                  a hook registered in code cannot run
├── NoFolderError                     there is no folder to load hooks from
├── UnknownEventError                 a name that is not a hook event
├── InvalidPayloadError               an event's input lacks a field, or a field has the wrong type
├── PayloadEncodingError              an event's input cannot be written as JSON
├── TranslationError                  a model request or response has an unknown form
├── EventHeldError                    no event may go on, as a required hook is not in force
├── BlockedByHook                     a hook blocks a wrapped function, or rejects its result
└── StoppedByHook                     a hook stops the loop that a wrapped function was called in
"""

import errno
from collections.abc import Iterable

from hookline._support.nearest import did_you_mean

# The system has run out of a resource, and may have it again in a moment.
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})


def message_of(error: object) -> str:
    """Return an error's message; its type if the message is empty or ``str()`` raises."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def describe(error: BaseException) -> str:
    """Return an error's type and message."""
    said, kind = message_of(error), type(error).__name__
    return said if said == kind else f"{kind}: {said}"


class HooklineError(Exception):
    """The base class of all errors that hookline raises."""


class HookSystemNotInitializedError(HooklineError):
    """A part of the hook system was requested before ``initialize()``."""

    def __init__(self) -> None:
        super().__init__("the hook system is not initialized; await system.initialize() first")


class HookRegistryNotInitializedError(HooklineError):
    """Hooks were requested from the registry before they were loaded."""

    def __init__(self) -> None:
        super().__init__("the hook registry is not loaded; await system.initialize() first")


class InvalidHookError(HooklineError):
    """A hook registered in code that could never run."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


class NoFolderError(HooklineError):
    """Hooks were to be loaded from a folder that does not exist."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        super().__init__(
            f"there is no folder {folder}, so no hooks can be loaded from it; "
            "name the folder of a project"
        )


class UnknownEventError(HooklineError):
    """A name that is not a hook event; ``nearest`` holds the names that may have been meant."""

    code = "unsupported_event"

    def __init__(self, name: object, nearest: Iterable[str] = ()) -> None:
        self.name = name
        self.nearest: tuple[str, ...] = tuple(nearest)
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
    """A model request or response in a form that no translator knows."""

    code = "translation_failed"

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


class EventHeldError(HooklineError):
    """An event may not go on, whatever its hooks answer: a required hook is not in force or, in
    strict mode, the settings cannot be read."""


class BlockedByHook(HooklineError):
    """A hook blocked a wrapped function, or rejected its result."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name} was blocked by a hook: {reason}")


class StoppedByHook(HooklineError):
    """A hook stopped the agent's loop."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"a hook stopped the agent: {reason}")
