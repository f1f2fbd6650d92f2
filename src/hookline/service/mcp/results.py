"""A tool's answer as hooks read it, and as the client gets it after them.

If there is ``structuredContent``, hosts show only that: they would not show what hooks add to
``content``, and would still show what hooks replaced. So a changed answer has none.
"""

from typing import Any

import msgspec

from hookline.calls.tool import ToolError, ToolOutcome, ToolResult, text_of
from hookline.service.mcp.messages import Json

COMPLETE = "complete"
INPUT_REQUIRED = "input_required"


class Reply(msgspec.Struct, frozen=True):
    """A server's answer to a call: a result or an error."""

    result: Any = None
    error: Any = None

    @property
    def is_unfinished(self) -> bool:
        """True if the actual result comes later, in an answer to another request."""
        if not isinstance(self.result, dict):
            return False
        kind = self.result.get("resultType", COMPLETE)
        return kind != COMPLETE or ("task" in self.result and "content" not in self.result)

    @property
    def needs_input(self) -> bool:
        """True if the server wants input before it goes on with the call."""
        return isinstance(self.result, dict) and self.result.get("resultType") == INPUT_REQUIRED

    @property
    def task_id(self) -> str | None:
        """The id of the task that gives the result later."""
        task = self.result.get("task", self.result) if isinstance(self.result, dict) else None
        found = task.get("taskId") if isinstance(task, dict) else None
        return found if isinstance(found, str) else None


def read_reply(reply: Reply) -> ToolResult:
    """Read an answer as hooks see it: texts as one text, other content block by block, and the
    rest as ``metadata``."""
    if reply.error is not None:
        message = reply.error.get("message") if isinstance(reply.error, dict) else None
        text = message if isinstance(message, str) else text_of(reply.error)
        return ToolResult(text, metadata={"error": reply.error}, error=ToolError("mcp_error", text))
    result = reply.result
    if not isinstance(result, dict):
        return ToolResult(text_of(result))
    rest = {name: value for name, value in result.items() if name not in ("content", "isError")}
    rest.pop("resultType", None)
    blocks = result.get("content")
    content: str | list[Any]
    if not isinstance(blocks, list):
        content = "" if blocks is None else text_of(blocks)
    elif all(_is_plain_text(block) for block in blocks):
        content = "\n".join(block["text"] for block in blocks)
    else:
        content = blocks
    if not content and "structuredContent" in rest:
        content = text_of(rest["structuredContent"])
    error = None
    if result.get("isError"):
        error = ToolError("tool_failed", content if isinstance(content, str) else text_of(content))
    return ToolResult(content, metadata=rest or None, error=error)


def apply_outcome(outcome: ToolOutcome, *, is_modern: bool) -> Reply:
    """Make the answer for the client: the server's own if hooks left it alone."""
    if not outcome.ran:
        return refuse(outcome.text, is_modern=is_modern)
    reply: Reply = outcome.value
    if outcome.replaced:
        failed = outcome.stop is not None or read_reply(reply).error is not None
        return _make_text_reply(outcome.text, is_error=failed, is_modern=is_modern)
    if not outcome.added:
        return reply
    result = reply.result
    if not isinstance(result, dict):
        failed = reply.error is not None
        return _make_text_reply(outcome.text, is_error=failed, is_modern=is_modern)
    given = result.get("content")
    if not isinstance(given, list):
        given = [] if given is None else [{"type": "text", "text": text_of(given)}]
    content = [*given]
    if "structuredContent" in result and not _repeats(content, result["structuredContent"]):
        content.append({"type": "text", "text": text_of(result["structuredContent"])})
    content.append({"type": "text", "text": outcome.added})
    kept = {name: value for name, value in result.items() if name != "structuredContent"}
    return Reply({**kept, "content": content})


def refuse(reason: str, *, is_modern: bool) -> Reply:
    """Make the answer to a call that did not run: a result, so that the model reads why."""
    return _make_text_reply(reason, is_error=True, is_modern=is_modern)


def _make_text_reply(text: str, *, is_error: bool, is_modern: bool) -> Reply:
    result: Json = {"content": [{"type": "text", "text": text}]}
    if is_modern:
        result["resultType"] = COMPLETE
    if is_error:
        result["isError"] = True
    return Reply(result)


def _is_plain_text(block: Any) -> bool:
    is_text = isinstance(block, dict) and block.keys() == {"type", "text"}
    return is_text and block["type"] == "text" and isinstance(block["text"], str)


def _repeats(content: list[Any], structured: Any) -> bool:
    """Return True if the texts repeat the structured content, as the protocol asks servers to do:
    as its JSON, or for a wrapped value (``{"result": …}``) as that value."""
    texts = [block.get("text") for block in content if isinstance(block, dict)]
    said = {form for text in texts if isinstance(text, str) for form in _list_forms(text)}
    if text_of(structured) in said:
        return True
    inner = structured.get("result") if isinstance(structured, dict) else None
    values = inner if isinstance(inner, list) else [inner]
    return structured == {"result": inner} and all(text_of(value) in said for value in values)


def _list_forms(text: str) -> set[str]:
    """Return a text and, if it is JSON, the same JSON in compact form."""
    try:
        return {text, text_of(msgspec.json.decode(text))}
    except msgspec.MsgspecError:
        return {text}
