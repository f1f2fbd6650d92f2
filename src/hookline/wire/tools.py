"""The tools of known hosts; other agents may have any other tools."""

import re
from collections.abc import Mapping

# Those of Gemini CLI and LLxprt Code, whose settings and scripts hookline reads natively.
NATIVE_TOOLS = frozenset(
    {
        *("run_shell_command", "read_file", "read_many_files", "write_file", "replace", "glob"),
        *("search_file_content", "grep_search", "grep", "list_directory", "web_fetch"),
        *("google_web_search", "google_web_fetch", "direct_web_fetch", "exa_web_search"),
        *("save_memory", "write_todos", "ask_user", "activate_skill", "get_internal_docs"),
        *("enter_plan_mode", "exit_plan_mode", "codebase_investigator", "delegate_to_agent"),
        *("todo_read", "todo_write", "todo_pause", "task", "list_subagents", "codesearch"),
        *("ast_edit", "ast_grep", "ast_read_file", "structural_analysis", "apply_patch"),
        *("insert_at_line", "delete_line_range", "read_line_range", "ripgrep", "check_async_tasks"),
        *("list_mcp_resources", "read_mcp_resource", "edit", "shell", "ls"),
    }
)


def name_mcp_tool(name: str, context: object) -> str:
    """Return the name that other dialects have for an MCP server's tool: ``mcp__<server>__<tool>``.
    The context is the event's ``mcp_context``, or its ``mcp_server`` in other dialects; without a
    server in it the tool keeps its name."""
    if not isinstance(context, Mapping):
        return name
    server = context.get("server_name") or context.get("name")
    tool = context.get("tool_name") or name
    if not isinstance(server, str) or not isinstance(tool, str):
        return name
    server, tool = (re.sub(r"[^A-Za-z0-9_-]", "_", text) for text in (server, tool))
    # A server must not name its own tool like another server's.
    is_claimed = context.get("tool_name") == name and not name.startswith(f"mcp__{server}__")
    if name.startswith("mcp__") and not is_claimed:
        return name
    return f"mcp__{server}__{tool}"
