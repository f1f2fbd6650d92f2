"""The tools of the demo's agent: whatever a model asks for, they only reach one folder.

Hooks and settings are outside that folder, so nothing that a model writes is ever run; commands
are not run and pages not fetched at all.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hookline.agent.tools import ConfirmationKind, Tool
from hookline.agent.turns import FunctionCall
from hookline.calls.tool import ToolResult
from hookline.cli.screen import count
from hookline.wire import codec

_LONGEST = 100_000

# Tool -> the verb for what it does, and the arguments to show.
_ASKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "write_file": ("write", ("file_path", "content")),
    "read_file": ("read", ("file_path",)),
    "run_shell_command": ("run", ("command",)),
    "web_fetch": ("fetch", ("url",)),
}

_NOT_DONE = {"write_file": "nothing is written", "run_shell_command": "the command does not run"}


def demo_tools(folder: Path) -> list[Tool]:
    """Return four tools that a typical coding agent has."""

    def find_file(tool_input: dict[str, Any]) -> Path:
        """Return the file that the input names; raise if its real path is outside the folder."""
        path = (folder / str(tool_input.get("file_path", ""))).resolve()
        if not path.is_relative_to(folder.resolve()) or path == folder.resolve():
            raise PermissionError(
                f"{tool_input.get('file_path')} is not a file in the demo's folder"
            )
        return path

    def write(tool_input: dict[str, Any]) -> ToolResult:
        path, text = find_file(tool_input), str(tool_input.get("content", ""))[:_LONGEST]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        lines = count(len(text.splitlines()), "line")
        text_for_model = f"Wrote {lines} to {tool_input['file_path']}."
        return ToolResult(text_for_model, return_display=f"{lines} written")

    def read(tool_input: dict[str, Any]) -> ToolResult:
        text = find_file(tool_input).read_text(encoding="utf-8", errors="replace")[:_LONGEST]
        lines = count(len(text.splitlines()), "line")
        return ToolResult(text, return_display=f"the model reads {lines}")

    def show_command(tool_input: dict[str, Any]) -> ToolResult:
        command = str(tool_input.get("command", ""))
        text_for_model = f"This is a demo: the command was allowed, but not run: {command}"
        return ToolResult(text_for_model, return_display=f"{command} (not run: a demo)")

    def refuse_fetch(tool_input: dict[str, Any]) -> str:
        return f"This is a demo: {tool_input.get('url')} was not fetched."

    tools: tuple[tuple[str, str, Callable[[dict[str, Any]], Any], ConfirmationKind], ...] = (
        ("write_file", "Writes a text file in the project.", write, "edit"),
        ("read_file", "Reads a text file of the project.", read, "info"),
        ("run_shell_command", "Runs a shell command in the project.", show_command, "exec"),
        ("web_fetch", "Fetches a page from the web.", refuse_fetch, "info"),
    )
    all_tools = []
    for name, description, work, kind in tools:
        texts = {argument: {"type": "string"} for argument in _ASKS[name][1]}
        schema = {"type": "object", "properties": texts, "required": list(texts)}
        all_tools.append(
            Tool(name=name, description=description, parameters=schema, run=work, kind=kind)
        )
    return all_tools


def describe(call: FunctionCall) -> tuple[str, str]:
    """Return what a model asks for in words, and the text it is about."""
    verb, names = _ASKS.get(call.name, (f"call {call.name}", ()))
    if not names or any(not isinstance(call.args.get(name), str) for name in names):
        return f"call {call.name} with", codec.encode(call.args).decode("utf-8")
    first, *rest = (call.args[name].strip() for name in names)
    return (f"{verb} {first}:", rest[0]) if rest else (verb, first)


def describe_block(call: FunctionCall) -> str:
    """Return what does not happen because a call was blocked."""
    return _NOT_DONE.get(call.name, "the tool does not run")
