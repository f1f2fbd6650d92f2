"""What a dialect makes of a hook's exit code, output or return value."""

from typing import Any, Literal

import msgspec

from hookline.wire.results import FailedKind


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a hook fared and what it said."""

    success: bool
    output: dict[str, Any] | None = None
    output_format: Literal["json", "text"] | None = None
    failed: FailedKind | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
