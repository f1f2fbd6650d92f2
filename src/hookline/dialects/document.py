"""An event as dialects get it: they write it for hooks, and read the answers to it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.wire.events import EventName
from hookline.wire.fired import NO_FACTS, Facts

# Native hooks do not need the table, which takes time to load.
if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias


class EventDocument(msgspec.Struct, frozen=True, eq=False):
    """The payload is what native hooks read. ``tools`` says what the host's tools are called in
    other dialects; None where no hook needs to know."""

    event: EventName
    payload: dict[str, Any]
    facts: Facts = NO_FACTS
    tools: "Mapping[str, ToolAlias] | None" = None
