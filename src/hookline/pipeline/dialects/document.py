"""An event as the dialects are given it to write it down, and to read the answers to it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.fired import NO_FACTS, Facts
from hookline.wire.events import EventName

# Native hooks are spared the table.
if TYPE_CHECKING:
    from hookline.pipeline.dialects.tools import ToolAlias


class EventDocument(msgspec.Struct, frozen=True, eq=False):
    """The payload is what native hooks read. ``tools`` are the host's, as they are called
    elsewhere; None where that is nobody's concern."""

    event: EventName
    payload: dict[str, Any]
    facts: Facts = NO_FACTS
    tools: "Mapping[str, ToolAlias] | None" = None
