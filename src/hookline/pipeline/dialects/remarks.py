"""What a dialect has to say about a hook while its settings are read."""

import msgspec


class Remark(msgspec.Struct, frozen=True):
    """About a field of a hook: what is wrong with it, and what is done about it. A hook with a
    fatal one is skipped."""

    field: str
    message: str
    consequence: str = ""
    is_fatal: bool = False
