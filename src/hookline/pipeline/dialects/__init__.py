"""How a family of hooks writes its settings, reads events and words its answers.

A hook keeps the dialect of the file it came from; everything between reading a settings file and
merging the answers is the same for all of them. A new dialect is one module here and one line in
``DIALECTS``, plus the settings files it lives in (``pipeline/settings.py``).
"""

from collections.abc import Mapping
from typing import Any, Protocol

from hookline.pipeline.dialects.native import NativeDialect
from hookline.pipeline.dialects.stdout import HookAnswer
from hookline.pipeline.matcher import Match
from hookline.problem import Problem
from hookline.wire.events import HookEventName

__all__ = ["DIALECTS", "Dialect", "HookAnswer"]


class Dialect(Protocol):
    """One way of talking with hooks. Implementations are stateless and never raise on what a
    settings file or a hook says: what they cannot read is an answer with ``failed`` or a warning.
    """

    name: str

    def event_for(self, key: str) -> HookEventName | None:
        """The event a settings key names, None for a name this dialect does not have."""
        ...

    def timeout_ms(self, value: float) -> float:
        """A timeout as settings write it, in milliseconds."""
        ...

    def compile_matcher(
        self, event: HookEventName, text: str | None
    ) -> tuple[Match, Problem | None]:
        """The test a matcher stands for, and what is wrong with it, if anything."""
        ...

    def write_input(self, event: HookEventName, payload: Mapping[str, Any]) -> bytes:
        """The document a hook reads on stdin."""
        ...

    def read_answer(
        self,
        event: HookEventName,
        hook_name: str,
        exit_code: int,
        stdout: str,
        stderr: str,
        *,
        strict: bool = False,
    ) -> HookAnswer:
        """What a command hook that ended by itself said. ``strict`` is for a hook that fails
        closed: an answer that could mean something else than it says is a failure."""
        ...

    def read_value(
        self, event: HookEventName, value: Mapping[str, Any], *, strict: bool = False
    ) -> HookAnswer:
        """What an in-process hook returned."""
        ...


class _Dialects(dict[str, Dialect]):
    """Dialects by name; one that nobody knows is read as the native one."""

    def __missing__(self, name: str) -> Dialect:
        return self["native"]


DIALECTS = _Dialects(native=NativeDialect())
