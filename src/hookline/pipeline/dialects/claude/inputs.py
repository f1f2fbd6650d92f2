"""The documents that Claude Code's hooks read."""

from hookline.pipeline.dialects.document import EventDocument


def write_document(document: EventDocument) -> bytes:
    """What a hook reads."""
    raise NotImplementedError
