"""A tool's answer as hooks read it, and as the client gets it after them.

Hosts show ``structuredContent`` alone where there is one, so what hooks add would be lost in
``content``, and what they replace would still be read: neither keeps it.
"""

from typing import Any

import msgspec

from hookline.serving.mcp.messages import Json
from hookline.toolcall import ToolError, ToolOutcome, ToolResult, text_of

COMPLETE = "complete"
INPUT_REQUIRED = "input_required"


class Reply(msgspec.Struct, frozen=True):
    """What a server answered to a call: a result, or the error of a call that has none."""

    result: Any = None
    error: Any = None

    @property
    def is_unfinished(self) -> bool:
        """Whether the result itself is to come later, in an answer to something else."""
        if not isinstance(self.result, dict):
            return False
        kind = self.result.get("resultType", COMPLETE)
        return kind != COMPLETE or ("task" in self.result and "content" not in self.result)

    @property
    def needs_input(self) -> bool:
        """Whether the server wants to know something before it goes on with the call."""
        return isinstance(self.result, dict) and self.result.get("resultType") == INPUT_REQUIRED

    @property
    def task_id(self) -> str | None:
        """The task that the result is to come from."""
        task = self.result.get("task", self.result) if isinstance(self.result, dict) else None
        found = task.get("taskId") if isinstance(task, dict) else None
        return found if isinstance(found, str) else None


def read_reply(reply: Reply) -> ToolResult:
    """All of an answer, as hooks read it: texts as one text, other content block by block, and
    the rest as ``metadata``."""
    if reply.error is not None:
        said = reply.error.get("message") if isinstance(reply.error, dict) else None
        text = said if isinstance(said, str) else text_of(reply.error)
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
    """What the client gets: the server's own answer where hooks left it alone."""
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
    """The answer to a call that did not run: a result, so that the model reads why."""
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
    """Whether texts say all of a structured content, as servers are asked to have them: as its
    JSON, or for a value that was made an object of (``{"result": …}``) as that value."""
    texts = [block.get("text") for block in content if isinstance(block, dict)]
    said = {form for text in texts if isinstance(text, str) for form in _list_forms(text)}
    if text_of(structured) in said:
        return True
    inner = structured.get("result") if isinstance(structured, dict) else None
    values = inner if isinstance(inner, list) else [inner]
    return structured == {"result": inner} and all(text_of(value) in said for value in values)


def _list_forms(text: str) -> set[str]:
    """A text, and if it is JSON the same without its spaces."""
    try:
        return {text, text_of(msgspec.json.decode(text))}
    except msgspec.MsgspecError:
        return {text}
