"""Which of the planned hooks run on an event."""

from hookline.pipeline.dialects.document import EventDocument
from hookline.wire.hooks import HookConfig


def applies(hook: HookConfig, document: EventDocument) -> bool:
    """Whether a hook runs on this very event."""
    return True
