"""What a test file holds, once read, and what became of each of its tests."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.errors import HooklineError
from hookline.problem import Problem
from hookline.wire.events import HookEventName

SUFFIX = ".hooktest.json"

Status: TypeAlias = Literal["passed", "failed", "skipped"]


class HookTestError(HooklineError):
    """Tests cannot be found, run or recorded as asked; the message says what to do instead."""


class HookTest(msgspec.Struct, frozen=True, kw_only=True):
    """One event, where it happens, and what is expected of the hooks.

    ``hooks`` are the only ones that take part, None for all. ``files`` are the content of the
    scratch directory the hooks then run in. A variable of ``env`` that is None is taken away.
    """

    name: str
    file: str
    line: int
    event: HookEventName
    input: Mapping[str, Any]
    expect: Mapping[str, Any]
    hooks: tuple[str, ...] | None = None
    env: Mapping[str, str | None] = {}
    files: Mapping[str, str] | None = None
    skip: str | None = None


class HookTestFile(msgspec.Struct, frozen=True):
    """The tests of one file, and what in it is none."""

    path: str
    tests: tuple[HookTest, ...] = ()
    problems: tuple[Problem, ...] = ()


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as expected: two values that differ, or a sentence.

    UNSET is a value that is not there.
    """

    at: str | msgspec.UnsetType = msgspec.UNSET
    expected: Any = msgspec.UNSET
    actual: Any = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a test; ``document`` is that of ``hookline fire --json``, None if nothing
    was fired, and ``duration`` is in milliseconds. ``untrusted``: what should run may not."""

    test: HookTest
    status: Status
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    document: Mapping[str, Any] | None = None
    duration: float = 0.0
    untrusted: bool = False
