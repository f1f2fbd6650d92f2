"""The documents that Claude Code's hooks read."""

from hookline.pipeline.dialects.document import EventDocument
from hookline.wire import codec


def write_document(document: EventDocument) -> bytes:
    """What a hook reads."""
    return codec.encode(document.payload)
