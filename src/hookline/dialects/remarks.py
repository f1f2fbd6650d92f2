"""Remarks of a dialect about a hook, made while its settings are read."""

import msgspec


class Remark(msgspec.Struct, frozen=True):
    """A remark about a field of a hook: what is wrong, and what hookline does about it. A hook with
    a fatal remark is skipped."""

    field: str
    message: str
    consequence: str = ""
    is_fatal: bool = False
