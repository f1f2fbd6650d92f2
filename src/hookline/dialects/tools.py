"""Values for tools that another dialect calls otherwise than their host, and how a call is shown in
the words of the other side.

A field that a tool does not declare has the same name on both sides. A tool that is not declared
keeps its name and its input, as MCP tools do (``mcp__<server>__<tool>``).
"""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from hookline.errors import HooklineError
from hookline.wire import codec

ToolInput: TypeAlias = dict[str, Any]


class AmbiguousInputError(HooklineError):
    """An input has two fields that stand for one of the other side's, so it cannot be shown
    completely."""

    def __init__(self, tool: str, fields: tuple[str, ...], meaning: str) -> None:
        self.tool, self.fields, self.meaning = tool, fields, meaning
        super().__init__(
            f"the input of {tool} has {' and '.join(sorted(fields))}, which all stand for "
            f"{meaning}; give one of them"
        )


class ToolResponse(msgspec.Struct, frozen=True):
    """The form that a dialect has for a tool's result. ``read`` returns the text that the model
    reads; ``write`` puts another text in its place. Given an empty response, ``write`` makes a new
    one."""

    read: Callable[[Mapping[str, Any]], str]
    write: Callable[[Mapping[str, Any], str], Any]


class ToolAlias(msgspec.Struct, frozen=True):
    """What a host's tool is called in another dialect: ``ToolAlias("Bash")``.

    ``fields`` maps the dialect's fields to all names that hosts have for them; hosts are shown the
    first. ``paths`` are fields that hold a path. ``also`` are further names of the dialect's for
    the tool. ``variants`` are other tools of the dialect's that hosts are shown as this one, while
    the host's tool is never shown as one of them.
    """

    name: str
    fields: Mapping[str, tuple[str, ...]] = {}
    paths: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    response: ToolResponse | None = None
    variants: tuple["ToolAlias", ...] = ()


class ShownCall(msgspec.Struct, frozen=True):
    """A tool call in the other side's words; ``restore`` translates its input back.

    ``own`` maps each field the other side may name to this side's name. ``given`` is this side's
    input."""

    name: str
    input: ToolInput
    given: Mapping[str, Any]
    own: Mapping[str, str] = {}
    alias: ToolAlias | None = None

    def restore(self, changed: Mapping[str, Any]) -> ToolInput:
        """Translate the other side's whole changed input back. Of two names for one field, the one
        that was changed counts; raises AmbiguousInputError if both were."""
        by_field: dict[str, list[str]] = {}
        for name in changed:
            by_field.setdefault(self.own.get(name, name), []).append(name)
        restored: ToolInput = {}
        for field, names in by_field.items():
            name, *more = names
            if more:
                missing = object()
                changed_names = [n for n in names if self.input.get(n, missing) != changed[n]]
                if len(changed_names) != 1:
                    raise AmbiguousInputError(self.name, tuple(names), field)
                (name,) = changed_names
            is_same = name in self.input and self.input[name] == changed[name]
            # A path that was only made absolute for showing stays as it was given.
            restored[field] = (
                self.given[field] if is_same and field in self.given else changed[name]
            )
        return restored


def show_as_tool(
    name: str, tool_input: Mapping[str, Any], host_tool: tuple[str, ToolAlias] | None
) -> ShownCall:
    """Show a call in a host's words; ``host_tool`` is the host's tool for it, None if it has none.
    Raises AmbiguousInputError."""
    if host_tool is None:
        return ShownCall(name, _copy_as_dict(tool_input), tool_input)
    host, alias = host_tool
    if not alias.fields:
        return ShownCall(host, _copy_as_dict(tool_input), tool_input, alias=alias)
    renamed = {field: names[0] for field, names in alias.fields.items()}
    own = {name: field for field, names in alias.fields.items() for name in names}
    worded = _rename(name, tool_input, renamed)
    # Raise if the input also has a field that hosts would read as one of these.
    _rename(host, worded, own)
    # A host's field name that stands alone in the input keeps its name.
    own |= {name: name for name in tool_input if own.get(name, name) not in tool_input}
    return ShownCall(host, worded, tool_input, own, alias)


def show_as_alias(
    name: str, tool_input: Mapping[str, Any], alias: ToolAlias | None, *, cwd: str | None = None
) -> ShownCall:
    """Show a call of a host's in a dialect's words, its paths made absolute from ``cwd``; ``alias``
    is what the dialect calls the tool, None if it has no such tool. Raises AmbiguousInputError."""
    if alias is None:
        return ShownCall(name, _copy_as_dict(tool_input), tool_input)
    renamed = {name: field for field, names in alias.fields.items() for name in names}
    worded = _rename(name, tool_input, renamed)
    if cwd is not None:
        for field in alias.paths:
            if isinstance(worded.get(field), str):
                worded = {**worded, field: locate(worded[field], cwd)}
    own = {
        field: next((name for name in (*names, field) if name in tool_input), names[0])
        for field, names in alias.fields.items()
    }
    return ShownCall(alias.name, worded, tool_input, own, alias)


def locate(path: str, cwd: str) -> str:
    """Return the absolute path of the file that a tool opens when it is given a path."""
    try:
        full = os.path.join(cwd, os.path.expanduser(path))
        normal = os.path.normpath(full)
        # POSIX leaves open what two slashes at the beginning mean; here they are one.
        normal = normal[1:] if normal.startswith("//") else normal
        if ".." in full.split("/"):
            # The folder above a linked one is not that above the link.
            real = os.path.realpath(full)
            return normal if os.path.realpath(normal) == real else real
        return normal
    except (OSError, ValueError):
        # No file can have such a name.
        return os.path.normpath(os.path.join(cwd, path))


def split_mcp_name(name: str) -> tuple[str, str] | None:
    """Split ``mcp__<server>__<tool>`` into server and tool; None for any other name."""
    prefix, _, rest = name.partition("__")
    server, separator, tool = rest.partition("__")
    return (server, tool) if prefix == "mcp" and server and separator and tool else None


def read_mcp_context(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read the server and the tool of an event about an MCP tool; None for other events."""
    parts = split_mcp_name(fields["tool_name"])
    if parts is None:
        return None
    server, tool = parts
    context = fields.get("mcp_server")
    if isinstance(context, Mapping) and isinstance(context.get("name"), str):
        server = context["name"]
        tool = fields["tool_name"].removeprefix(f"mcp__{server}__") if "__" in server else tool
    return {"server_name": server, "tool_name": tool}


def write_text(value: object) -> str:
    """Write a value as JSON text; a string stays as it is."""
    return value if isinstance(value, str) else codec.encode(value).decode()


def read_blocks(content: object) -> Iterator[str]:
    """Yield the texts among the blocks of a result."""
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            yield block["text"]


def _copy_as_dict(tool_input: Mapping[str, Any]) -> ToolInput:
    return tool_input if isinstance(tool_input, dict) else dict(tool_input)


def _rename(tool: str, tool_input: Mapping[str, Any], names: Mapping[str, str]) -> ToolInput:
    renamed: ToolInput = {}
    for name, value in tool_input.items():
        new = names.get(name, name)
        if new in renamed:
            both = tuple(old for old in tool_input if names.get(old, old) == new)
            raise AmbiguousInputError(tool, both, new)
        renamed[new] = value
    return renamed
