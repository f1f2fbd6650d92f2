"""Translates between a model SDK and what hooks read; only this package imports an SDK."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

# Only annotations name these, so events without a model need not load them.
if TYPE_CHECKING:
    from hookline.wire.model import HookToolConfig, LLMRequest, LLMResponse

__all__ = ["HookTranslator"]


class HookTranslator(Protocol):
    """Turns the requests and responses of one SDK into the format hooks know, and back.

    The contract of every translator:

    - It takes each form in which callers hold a value (JSON, the SDK's own objects) and returns
      the form it was given: that of ``base``; without one, that of ``like``, which is any request,
      response or tool config of the same caller; without either, plain JSON.
    - No argument is ever altered. What a hook does not name is the identical object in the result,
      and a change that changes nothing gives ``base`` itself, so that callers can test with ``is``.
    - Hooks are shown text alone: no thoughts, no calls, no media, no system instruction.
    - A system message that a hook adds goes where the API takes it; names of functions that the
      request does not declare are not sent.
    - ``TranslationError`` is the only exception. ``to_…`` raises it for a value that is not a
      request or response, and for one of an unknown shape: shown as empty, it would pass every
      guard. ``from_…`` raises it for a malformed answer of a hook: its callers leave the value as
      it was and warn, so no hook can break a model call.
    """

    def to_hook_llm_request(self, request: object) -> "LLMRequest":
        """What hooks are shown of a request."""
        ...

    def from_hook_llm_request(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The request ``base`` with what the hook's ``llm_request`` names put into it."""
        ...

    def to_hook_llm_response(self, response: object) -> "LLMResponse":
        """What hooks are shown of a response."""
        ...

    def from_hook_llm_response(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The response ``base`` with what the hook's ``llm_response`` names put into it."""
        ...

    def to_hook_tool_config(self, tool_config: object) -> "HookToolConfig":
        """What hooks are shown of a tool config; empty for None."""
        ...

    def from_hook_tool_config(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The tool config ``base`` with what the hook's ``toolConfig`` names put into it."""
        ...

    def tool_names(self, request: object) -> list[str] | None:
        """The names of the functions a request declares, None when it declares none."""
        ...

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config and tools, as they stand in it."""
        ...

    def empty_response(self, reason: str, like: object = None) -> Any:
        """A response of one candidate whose text is the reason, for a call that was not made."""
        ...

    def call_names(self, response: object) -> list[str]:
        """The names of the tools that a response calls."""
        ...

    def drop_calls(self, response: Any, names: Collection[str]) -> Any:
        """The response without the calls of these tools; the same object if it has none."""
        ...

    def has_system_turns(self, request: object) -> bool:
        """True if a system message may stand between other messages of the request."""
        ...
