"""What the user or the system wants kept from hooks."""

import msgspec


class Redaction(msgspec.Struct, frozen=True):
    """Names are compared without case."""

    enabled: bool = False
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
