"""Translates the tool inputs and results that Claude Code's hooks write into the host's words."""

from typing import Any

from hookline.dialects.claude.inputs import show_call
from hookline.dialects.claude.tools import find_response
from hookline.dialects.document import EventDocument
from hookline.dialects.tools import ToolResponse, read_blocks
from hookline.errors import HooklineError
from hookline.wire import codec


def restore_input(document: EventDocument, updated: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a native answer for an input that replaces the whole: what changed, and
    what is gone. Raises HooklineError for an input that the host could not take."""
    if not codec.is_json(updated):
        raise HooklineError("it is nested too deeply, or has a number that JSON cannot hold")
    call = show_call(document)
    before, restored, missing = call.given, call.restore(updated), object()
    changed = {field: new for field, new in restored.items() if before.get(field, missing) != new}
    removed = [field for field in before if field not in restored]
    fields = {"tool_input": changed, "removeToolInput": removed}
    return {field: value for field, value in fields.items() if value}


def read_result(document: EventDocument, output: object) -> str | None:
    """Return the text that the model reads of a result in the form of Claude Code's tool; None if
    the result has another form."""
    if isinstance(output, str):
        return output
    content = output.get("content") if isinstance(output, dict) else output
    texts = [*read_blocks(content)]
    if texts or content == []:
        return "\n".join(texts)
    if not isinstance(output, dict) or not codec.is_json(output):
        return None
    try:
        alias = show_call(document).alias
        if alias is None:
            # No form is declared, so any object is a result.
            return codec.encode(output).decode()
        form = find_response(alias)
        return None if form is None else _read_form(form, output)
    except Exception:
        # The host's own reader raised, or the call cannot be shown.
        return None


def _read_form(response: ToolResponse, output: dict[str, Any]) -> str | None:
    read = response.read(output)
    if read:
        # A reader returns the whole output as JSON if it is not in the tool's form.
        return None if read == codec.encode(output).decode() else read
    usual = response.write({}, "")
    is_usual = isinstance(usual, dict) and any(
        name in output and type(output[name]) is type(value) for name, value in usual.items()
    )
    return read if is_usual else None
