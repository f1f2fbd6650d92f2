"""How Claude Code's hooks answer."""

from collections.abc import Mapping
from typing import Any

from hookline.pipeline.dialects.document import EventDocument
from hookline.pipeline.dialects.stdout import HookAnswer


def read_command_answer(
    document: EventDocument,
    hook_name: str,
    exit_code: int,
    stdout: str,
    stderr: str,
    *,
    strict: bool = False,
) -> HookAnswer:
    """What a command said."""
    from hookline.pipeline.dialects import DIALECTS

    return DIALECTS["native"].read_answer(document, hook_name, exit_code, stdout, stderr)


def read_object(
    document: EventDocument, value: Mapping[str, Any], *, strict: bool = False
) -> HookAnswer:
    """What an object says."""
    raise NotImplementedError
