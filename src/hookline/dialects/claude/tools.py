"""The tools of Claude Code and of the hosts whose hooks are native, declared once and used both
ways: to show a call of Claude's to native hooks, and a call of a host's to Claude's hooks."""

from collections.abc import Callable, Mapping
from typing import Any

from hookline.dialects.tools import (
    ShownCall,
    ToolAlias,
    ToolResponse,
    read_blocks,
    show_as_alias,
    show_as_tool,
    write_text,
)

# Names that Claude Code no longer uses -> the tool's new name; hooks may still have the old ones.
LEGACY_NAMES: Mapping[str, str] = {
    "Task": "Agent",
    "KillShell": "TaskStop",
    "KillBash": "TaskStop",
    "ListPeers": "ListAgents",
    "Brief": "SendUserMessage",
    "ListMcpResources": "ListMcpResourcesTool",
    "ReadMcpResource": "ReadMcpResourceTool",
    "ReadMcpResourceDir": "ReadMcpResourceDirTool",
}


def show_as_host(
    name: str,
    tool_input: Mapping[str, Any],
    *,
    tools: Mapping[str, ToolAlias] | None = None,
) -> ShownCall:
    """Show a call of Claude Code's in a host's words; a tool that the host declares comes before
    the usual one. Raises AmbiguousInputError."""
    host_tool = next(
        (
            (host, alias)
            for host, alias in (tools or {}).items()
            if name in (alias.name, *alias.also) and TOOLS.get(host) is not alias
        ),
        _HOST_TOOLS.get(name),
    )
    return show_as_tool(name, tool_input, host_tool)


def show_as_claude(
    name: str,
    tool_input: Mapping[str, Any],
    *,
    tools: Mapping[str, ToolAlias] | None = None,
    cwd: str | None = None,
) -> ShownCall:
    """Show a call of a host's in Claude Code's words, its paths made absolute from ``cwd``. Raises
    AmbiguousInputError."""
    alias = (TOOLS if tools is None else tools).get(name)
    return show_as_alias(name, tool_input, alias, cwd=cwd)


def claude_names(name: str, *, tools: Mapping[str, ToolAlias] | None = None) -> tuple[str, ...]:
    """Return the names of a host's tool that matchers of Claude's hooks are compared with, in this
    order: Claude Code's name, its other names there, the host's own."""
    alias = (TOOLS if tools is None else tools).get(name)
    names = (name,) if alias is None else (alias.name, *alias.also)
    return tuple(dict.fromkeys([*names, *other_names(*names), name]))


def other_names(*names: str) -> tuple[str, ...]:
    """Return the other names of Claude Code's tools, present and former."""
    now = [LEGACY_NAMES[name] for name in names if name in LEGACY_NAMES]
    before = [old for old, new in LEGACY_NAMES.items() if new in (*names, *now)]
    return tuple(name for name in (*now, *before) if name not in names)


def find_response(alias: ToolAlias) -> ToolResponse | None:
    """Return the form of the result of Claude Code's tool, declared by the host or known here;
    None if any value may be the result."""
    host = _HOST_TOOLS.get(alias.name)
    return alias.response or (host[1].response if host else None)


def host_names(name: str) -> tuple[str, ...]:
    """Return the hosts' tools that a matcher of Claude's for ``name`` picks."""
    return tuple(host for host in TOOLS if name in claude_names(host) and name != host)


def make_response(
    name: str, tool_input: Mapping[str, Any], text: str, original: str | None = None
) -> Any:
    """Make a result in the form of a Claude Code tool from the text that the model reads; None for
    a tool without a known form. The input is in Claude Code's words; ``original`` is what was in
    the file that the tool has written, if that is known."""
    make = _MAKERS.get(name)
    if make is None or original is None or name not in _WRITERS:
        return None if make is None else make(tool_input, text)
    extra = {"originalFile": original, **({"type": "update"} if name == "Write" else {})}
    return {**make(tool_input, text), **extra}


def _read_bash(response: Mapping[str, Any]) -> str:
    texts = (response.get("stdout"), response.get("stderr"))
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _write_bash(response: Mapping[str, Any], text: str) -> dict[str, Any]:
    # A new response: the old one may name a file that holds the whole output.
    interrupted = response.get("interrupted") is True
    flags = {"interrupted": interrupted, "isImage": False, "noOutputExpected": False}
    return {"stdout": text, "stderr": "", **flags}


def _make_bash(_input: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}


def _read_file(response: Mapping[str, Any]) -> str:
    file = response.get("file")
    content = file.get("content") if isinstance(file, Mapping) else None
    return content if isinstance(content, str) else write_text(response)


def _write_file(response: Mapping[str, Any], text: str) -> dict[str, Any]:
    file = response.get("file")
    path = file.get("filePath", "") if isinstance(file, Mapping) else ""
    return _make_file({"file_path": path}, text)


def _make_file(tool_input: Mapping[str, Any], text: str) -> dict[str, Any]:
    offset = tool_input.get("offset")
    start = offset if isinstance(offset, int) and offset > 0 else 1
    lines = text.count("\n") + 1
    numbers = {"numLines": lines, "startLine": start, "totalLines": start - 1 + lines}
    path = tool_input.get("file_path", "")
    return {"type": "text", "file": {"filePath": path, "content": text, **numbers}}


def _make_written(tool_input: Mapping[str, Any], _text: str) -> dict[str, Any]:
    return {
        "type": "create",
        "filePath": tool_input.get("file_path", ""),
        "content": tool_input.get("content", ""),
        "structuredPatch": [],
        "originalFile": None,
    }


def _make_edited(tool_input: Mapping[str, Any], _text: str) -> dict[str, Any]:
    return {
        "filePath": tool_input.get("file_path", ""),
        "oldString": tool_input.get("old_string", ""),
        "newString": tool_input.get("new_string", ""),
        "originalFile": None,
        "structuredPatch": [],
        "userModified": False,
        "replaceAll": tool_input.get("replace_all") is True,
    }


def _read_found(response: Mapping[str, Any]) -> str:
    content, files = response.get("content"), response.get("filenames")
    if isinstance(content, str) and content:
        return content
    return "\n".join(map(str, files)) if isinstance(files, list) else write_text(response)


def _write_matches(_response: Mapping[str, Any], text: str) -> dict[str, Any]:
    lines = text.count("\n") + 1
    return {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": lines}


def _write_filenames(_response: Mapping[str, Any], text: str) -> dict[str, Any]:
    names = text.splitlines()
    return {"filenames": names, "durationMs": 0, "numFiles": len(names), "truncated": False}


def _read_report(response: Mapping[str, Any]) -> str:
    return "\n".join(read_blocks(response.get("content"))) or write_text(response)


def _write_report(response: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {**response, "content": [{"type": "text", "text": text}]}


def _make_report(_input: Mapping[str, Any], text: str) -> dict[str, Any]:
    return _write_report({}, text)


def _read_search(response: Mapping[str, Any]) -> str:
    results = response.get("results")
    return (
        "\n".join(map(write_text, results)) if isinstance(results, list) else write_text(response)
    )


def _write_search(response: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Write a search result; both a response and a call's input have the query."""
    return {"query": response.get("query", ""), "results": [text], "durationSeconds": 0}


def _read_page(response: Mapping[str, Any]) -> str:
    result = response.get("result")
    return result if isinstance(result, str) else write_text(response)


def _write_page(response: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {**response, "result": text}


def _make_page(tool_input: Mapping[str, Any], text: str) -> dict[str, Any]:
    size = {"bytes": len(text.encode(errors="replace")), "code": 200, "codeText": "OK"}
    return {**size, "result": text, "durationMs": 0, "url": tool_input.get("url", "")}


_FILE_PATH = {"file_path": ("file_path", "absolute_path", "path")}
_FOLDER = {"path": ("path", "dir_path")}
_SHELL = ToolResponse(_read_bash, _write_bash)
_GREP = ToolAlias(
    "Grep",
    {**_FOLDER, "glob": ("include", "glob")},
    ("path",),
    response=ToolResponse(_read_found, _write_matches),
)
_REPORT = ToolResponse(_read_report, _write_report)
_WEB_SEARCH = ToolAlias("WebSearch", response=ToolResponse(_read_search, _write_search))
_TODOS = ToolAlias("TodoWrite")

# Claude's tool -> what makes its response from the input and the text that the model reads.
_MAKERS: Mapping[str, Callable[[Mapping[str, Any], str], Any]] = {
    **dict.fromkeys(("Bash", "PowerShell"), _make_bash),
    "Read": _make_file,
    "Write": _make_written,
    **dict.fromkeys(("Edit", "MultiEdit"), _make_edited),
    "Grep": _write_matches,
    "Glob": _write_filenames,
    "WebFetch": _make_page,
    "WebSearch": _write_search,
    **dict.fromkeys(("Agent", "Task"), _make_report),
}
_WRITERS = frozenset({"Write", "Edit", "MultiEdit"})
# A host's tool -> what it is in Claude Code. If two hosts' tools are the same tool there, Claude's
# is shown as the first.
TOOLS: Mapping[str, ToolAlias] = {
    "run_shell_command": ToolAlias(
        "Bash",
        response=_SHELL,
        # They run commands too, so hooks that guard the shell must see them.
        variants=(ToolAlias("PowerShell", response=_SHELL), ToolAlias("Monitor")),
    ),
    "read_file": ToolAlias(
        "Read", _FILE_PATH, ("file_path",), response=ToolResponse(_read_file, _write_file)
    ),
    "write_file": ToolAlias("Write", _FILE_PATH, ("file_path",)),
    "replace": ToolAlias(
        "Edit",
        _FILE_PATH,
        ("file_path",),
        also=("MultiEdit",),
        variants=(
            ToolAlias(
                "NotebookEdit",
                {"notebook_path": ("file_path", "notebook_path"), "new_source": ("new_string",)},
                ("notebook_path",),
            ),
        ),
    ),
    "glob": ToolAlias(
        "Glob", _FOLDER, ("path",), response=ToolResponse(_read_found, _write_filenames)
    ),
    "search_file_content": _GREP,
    "grep": _GREP,
    "list_directory": ToolAlias("LS", _FOLDER, ("path",)),
    "web_fetch": ToolAlias("WebFetch", response=ToolResponse(_read_page, _write_page)),
    "google_web_search": _WEB_SEARCH,
    "exa_web_search": _WEB_SEARCH,
    "write_todos": _TODOS,
    "todo_write": _TODOS,
    "task": ToolAlias(
        "Agent",
        {"prompt": ("goal_prompt",), "subagent_type": ("subagent_name",)},
        response=_REPORT,
    ),
    "delegate_to_agent": ToolAlias("Agent", {"subagent_type": ("agent_name",)}, response=_REPORT),
    "activate_skill": ToolAlias("Skill", {"skill": ("name",)}),
    "ask_user": ToolAlias("AskUserQuestion"),
    "enter_plan_mode": ToolAlias("EnterPlanMode"),
    "exit_plan_mode": ToolAlias("ExitPlanMode"),
}


def _index_tools() -> dict[str, tuple[str, ToolAlias]]:
    index: dict[str, tuple[str, ToolAlias]] = {}
    for host, alias in TOOLS.items():
        for name in (alias.name, *alias.also):
            index.setdefault(name, (host, alias))
        for variant in alias.variants:
            index.setdefault(variant.name, (host, variant))
    for old, new in LEGACY_NAMES.items():
        if new in index:
            index.setdefault(old, index[new])
    return index


# Claude's name of a tool -> the host's name, and the alias that has its fields.
_HOST_TOOLS: Mapping[str, tuple[str, ToolAlias]] = _index_tools()
# Every known name of a Claude Code tool, tools that hosts do not have included.
CLAUDE_NAMES: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *_HOST_TOOLS,
            *LEGACY_NAMES,
            *LEGACY_NAMES.values(),
            *("TaskOutput", "BashOutput", "SlashCommand", "NotebookRead"),
        )
    )
)
