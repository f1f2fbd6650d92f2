"""The table of Claude Code's tools, read both ways."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.dialects.claude.tools import (
    CLAUDE_NAMES,
    LEGACY_NAMES,
    TOOLS,
    claude_names,
    find_response,
    host_names,
    make_response,
    show_as_claude,
    show_as_host,
)
from hookline.dialects.tools import AmbiguousInputError, ToolAlias, read_mcp_context, split_mcp_name
from hookline.wire.tools import NATIVE_TOOLS


@pytest.mark.parametrize(
    ("claude", "given_input", "host", "shown_input"),
    [
        ("Bash", {"command": "ls", "description": "d"}, "run_shell_command", None),
        ("PowerShell", {"command": "ls"}, "run_shell_command", None),
        ("Monitor", {"command": "tail -f log", "timeout_ms": 1}, "run_shell_command", None),
        ("Read", {"file_path": "/a", "offset": 3, "pages": "1"}, "read_file", None),
        ("Write", {"file_path": "/a", "content": "x"}, "write_file", None),
        ("Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "replace", None),
        ("MultiEdit", {"file_path": "/a", "edits": [{"new_string": "y"}]}, "replace", None),
        (
            "NotebookEdit",
            {"notebook_path": "/n.ipynb", "new_source": "x", "cell_id": "c"},
            "replace",
            {"file_path": "/n.ipynb", "new_string": "x", "cell_id": "c"},
        ),
        ("Glob", {"pattern": "*", "path": "/a"}, "glob", None),
        (
            "Grep",
            {"pattern": "x", "glob": "*.py", "-i": True},
            "search_file_content",
            {"pattern": "x", "include": "*.py", "-i": True},
        ),
        ("LS", {"path": "/a"}, "list_directory", None),
        ("WebFetch", {"url": "u", "prompt": "p"}, "web_fetch", None),
        ("WebSearch", {"query": "q"}, "google_web_search", None),
        ("TodoWrite", {"todos": []}, "write_todos", None),
        (
            "Agent",
            {"prompt": "p", "subagent_type": "s", "description": "d"},
            "task",
            {"goal_prompt": "p", "subagent_name": "s", "description": "d"},
        ),
        ("Task", {"prompt": "p"}, "task", {"goal_prompt": "p"}),
        ("Skill", {"skill": "pdf"}, "activate_skill", {"name": "pdf"}),
        ("KillShell", {"shell_id": "1"}, "KillShell", None),
        ("SomethingNew", {"a": 1}, "SomethingNew", None),
        ("mcp__files__read_file", {"absolute_path": "/a", "path": "/b"}, None, None),
    ],
)
def test_a_call_of_claudes_is_shown_as_the_hosts_and_restored(
    claude: str, given_input: dict[str, Any], host: str | None, shown_input: dict[str, Any] | None
) -> None:
    shown = show_as_host(claude, given_input)
    assert (shown.name, shown.input) == (host or claude, shown_input or given_input)
    assert shown.restore(shown.input) == given_input


@pytest.mark.parametrize("field", ["file_path", "absolute_path", "path"])
def test_a_hook_may_rewrite_a_field_under_any_of_its_names(field: str) -> None:
    shown = show_as_host("Read", {"file_path": "/a", "limit": 3})
    restored = shown.restore({**shown.input, field: "/b"})
    assert restored == {"file_path": "/b", "limit": 3}


def test_a_hook_that_rewrites_two_names_of_one_field_is_not_understood() -> None:
    shown = show_as_host("Read", {"file_path": "/a"})
    with pytest.raises(AmbiguousInputError, match="absolute_path and path, which all stand for"):
        shown.restore({"path": "/b", "absolute_path": "/c"})
    with pytest.raises(AmbiguousInputError):
        shown.restore({"file_path": "/a", "path": "/b", "absolute_path": "/c"})


def test_an_input_with_two_names_for_one_field_cannot_be_shown() -> None:
    with pytest.raises(AmbiguousInputError, match=r"^the input of read_file has absolute_path and"):
        show_as_claude("read_file", {"path": "/a", "absolute_path": "/b"})
    with pytest.raises(AmbiguousInputError):
        show_as_host("NotebookEdit", {"notebook_path": "/a", "file_path": "/b"})


@pytest.mark.parametrize("field", ["file_path", "absolute_path", "path"])
def test_a_call_of_a_hosts_is_shown_as_claudes_with_absolute_paths(field: str) -> None:
    shown = show_as_claude("read_file", {field: "src/a.py", "limit": 3}, cwd="/repo")
    assert (shown.name, shown.input) == ("Read", {"file_path": "/repo/src/a.py", "limit": 3})
    # What a hook leaves alone is as the host gave it; what it replaces, it replaces whole.
    assert shown.restore(shown.input) == {field: "src/a.py", "limit": 3}
    assert shown.restore({"file_path": "/etc/x"}) == {field: "/etc/x"}


def test_a_field_that_the_host_did_not_name_gets_the_name_that_hosts_are_shown() -> None:
    shown = show_as_claude("search_file_content", {"pattern": "x"})
    assert shown.restore({"pattern": "x", "glob": "*.py"}) == {"pattern": "x", "include": "*.py"}


def test_hosts_extend_the_table() -> None:
    tools = {**TOOLS, "my_shell": ToolAlias("Bash", {"command": ("line", "cmd")})}
    shown = show_as_claude("my_shell", {"cmd": "ls", "dry": True}, tools=tools)
    assert (shown.name, shown.input) == ("Bash", {"command": "ls", "dry": True})
    assert shown.restore({"command": "ls -l", "dry": True}) == {"cmd": "ls -l", "dry": True}
    assert claude_names("my_shell", tools=tools) == ("Bash", "my_shell")


def test_a_call_of_claudes_is_shown_as_the_tool_that_the_host_has_declared() -> None:
    tools = {**TOOLS, "my_shell": ToolAlias("Bash", {"command": ("line", "cmd")})}
    shown = show_as_host("Bash", {"command": "ls"}, tools=tools)
    assert (shown.name, shown.input) == ("my_shell", {"line": "ls"})
    assert shown.restore({"line": "ls -l"}) == {"command": "ls -l"}
    assert show_as_host("Bash", {}, tools=TOOLS).name == "run_shell_command"
    assert show_as_host("Read", {}, tools=tools).name == "read_file"


def test_a_declared_tool_gives_its_result_as_claudes_does() -> None:
    assert find_response(ToolAlias("Bash")) is TOOLS["run_shell_command"].response
    assert find_response(ToolAlias("PowerShell")) is not None
    assert find_response(ToolAlias("TodoWrite")) is None
    assert find_response(ToolAlias("New")) is None


def response_form(claude: str) -> Any:
    """How the responses of a tool of Claude Code are read and written."""
    alias = show_as_host(claude, {}).alias
    assert alias is not None
    assert alias.response is not None
    return alias.response


@pytest.mark.parametrize(
    "claude", ["Bash", "Read", "Grep", "Glob", "WebFetch", "WebSearch", "Agent"]
)
def test_a_response_that_was_made_of_a_text_is_read_as_it(claude: str) -> None:
    form = response_form(claude)
    assert form.read(make_response(claude, {}, "a\nb")) == "a\nb"


def test_matchers_are_compared_with_every_name_that_claude_has_for_a_tool() -> None:
    assert claude_names("replace") == ("Edit", "MultiEdit", "replace")
    assert claude_names("task") == ("Agent", "Task", "task")
    assert claude_names("Task") == ("Task", "Agent")
    assert claude_names("TaskStop") == ("TaskStop", "KillShell", "KillBash")
    assert claude_names("mcp__files__read_file") == ("mcp__files__read_file",)
    assert claude_names("something") == ("something",)


def test_each_name_of_claude_s_leads_to_tools_of_hosts_that_lead_back() -> None:
    for name in CLAUDE_NAMES:
        assert name not in NATIVE_TOOLS
        assert set(host_names(name)) <= NATIVE_TOOLS
        assert all(name in claude_names(host) for host in host_names(name))
    assert host_names("Grep") == ("search_file_content", "grep")
    assert host_names("MultiEdit") == host_names("Edit") == ("replace",)
    assert host_names("Task") == ("task", "delegate_to_agent")
    assert host_names("NotebookEdit") == host_names("KillShell") == host_names("glob") == ()


@pytest.mark.parametrize(
    ("claude", "hosts"),
    [
        ("WebSearch", "google_web_search exa_web_search"),
        ("TodoWrite", "write_todos todo_write"),
        ("Agent", "task delegate_to_agent"),
        ("WebFetch", "web_fetch"),
        ("AskUserQuestion", "ask_user"),
        ("EnterPlanMode", "enter_plan_mode"),
        ("ExitPlanMode", "exit_plan_mode"),
    ],
)
def test_a_tool_of_claudes_is_these_tools_of_hosts(claude: str, hosts: str) -> None:
    assert host_names(claude) == tuple(hosts.split())
    for host in hosts.split():
        assert claude_names(host)[0] == show_as_claude(host, {}).name == claude


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ListPeers", "ListAgents"),
        ("Brief", "SendUserMessage"),
        ("ListMcpResources", "ListMcpResourcesTool"),
        ("ReadMcpResource", "ReadMcpResourceTool"),
        ("ReadMcpResourceDir", "ReadMcpResourceDirTool"),
        ("KillBash", "TaskStop"),
    ],
)
def test_a_matcher_with_a_former_name_is_compared_with_the_tool_of_today(
    old: str, new: str
) -> None:
    assert old in claude_names(new)
    assert new in claude_names(old)


def test_no_former_name_is_a_tool_of_its_own() -> None:
    assert not {alias.name for alias in TOOLS.values()} & LEGACY_NAMES.keys()


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("mcp__files__read", ("files", "read")),
        ("mcp__files__read__all", ("files", "read__all")),
        ("mcp__plugin_p_s__t", ("plugin_p_s", "t")),
        ("mcp__files", None),
        ("mcp____t", None),
        ("mcp__s__", None),
        ("Bash", None),
    ],
)
def test_an_mcp_tools_name_says_its_server(name: str, split: tuple[str, str] | None) -> None:
    assert split_mcp_name(name) == split


@pytest.mark.parametrize(
    ("claude", "response", "text"),
    [
        ("Bash", {"stdout": "out", "stderr": "err", "persistedOutputPath": "/p"}, "out\nerr"),
        ("Read", {"type": "text", "file": {"filePath": "/a", "content": "x\n"}}, "x\n"),
        ("Grep", {"mode": "content", "content": "a:1:x", "filenames": []}, "a:1:x"),
        ("Grep", {"mode": "files_with_matches", "filenames": ["a", "b"]}, "a\nb"),
        ("Glob", {"filenames": ["a", "b"], "truncated": False}, "a\nb"),
        ("Agent", {"content": [{"type": "text", "text": "done"}]}, "done"),
        ("WebSearch", {"query": "q", "results": ["one", {"url": "u"}]}, 'one\n{"url":"u"}'),
        ("WebFetch", {"result": "a page", "code": 200}, "a page"),
    ],
)
def test_a_response_is_read_and_written_as_the_text_that_the_model_reads(
    claude: str, response: dict[str, Any], text: str
) -> None:
    form = response_form(claude)
    assert form.read(response) == text
    for base in (response, {}):
        written = form.write(base, "[removed]")
        assert form.read(written) == "[removed]"
        assert text not in str(written)
        assert "persistedOutputPath" not in written


@pytest.mark.parametrize("claude", ["Read", "Grep", "Agent", "WebSearch", "WebFetch"])
def test_a_response_of_another_shape_is_shown_as_json(claude: str) -> None:
    form = response_form(claude)
    assert form.read({"odd": 1}) == '{"odd":1}'


BASH = {"stdout": "new", "stderr": "", "isImage": False, "noOutputExpected": False}
PAGE = {"filePath": "/a", "content": "new", "numLines": 1, "startLine": 1, "totalLines": 1}


@pytest.mark.parametrize(
    ("claude", "response", "written"),
    [
        ("Bash", {"stdout": "x", "interrupted": True}, {**BASH, "interrupted": True}),
        ("Bash", {"interrupted": "no", "isImage": True}, {**BASH, "interrupted": False}),
        ("Read", {"file": {"filePath": "/a", "content": "x"}}, {"type": "text", "file": PAGE}),
        ("Read", {"file": "x"}, {"type": "text", "file": {**PAGE, "filePath": ""}}),
        ("Agent", {"a": 1}, {"a": 1, "content": [{"type": "text", "text": "new"}]}),
        ("WebFetch", {"code": 404, "result": "x"}, {"code": 404, "result": "new"}),
        ("WebSearch", {"query": "q"}, {"query": "q", "results": ["new"], "durationSeconds": 0}),
    ],
)
def test_a_text_takes_the_place_of_a_response_in_the_form_that_claude_takes(
    claude: str, response: dict[str, Any], written: dict[str, Any]
) -> None:
    form = response_form(claude)
    assert form.write(response, "new") == written


@pytest.mark.parametrize(
    ("claude", "response", "text"),
    [
        ("Bash", {"stdout": 5, "stderr": "e"}, "e"),
        ("Bash", {"stdout": "", "stderr": ""}, ""),
        ("Read", {"file": {"content": 5}}, '{"file":{"content":5}}'),
        ("Read", {"file": "x"}, '{"file":"x"}'),
        ("Grep", {"content": "", "filenames": ["a"]}, "a"),
        ("Glob", {"content": 5, "filenames": [1, "b"]}, "1\nb"),
        ("Agent", {"content": [{"text": "a"}, "b", {"text": 5}, {"text": "c"}]}, "a\nc"),
        ("Agent", {"content": "a"}, '{"content":"a"}'),
        ("WebFetch", {"result": 5}, '{"result":5}'),
        ("WebSearch", {"results": "x"}, '{"results":"x"}'),
    ],
)
def test_of_a_response_with_odd_parts_the_texts_are_read(
    claude: str, response: dict[str, Any], text: str
) -> None:
    form = response_form(claude)
    assert form.read(response) == text


@pytest.mark.parametrize(
    ("fields", "context"),
    [
        ({"tool_name": "Bash"}, None),
        ({"tool_name": "mcp__s__t"}, ("s", "t")),
        ({"tool_name": "mcp__s__t", "mcp_server": {"name": "S"}}, ("S", "t")),
        ({"tool_name": "mcp__s__t", "mcp_server": {"name": 5}}, ("s", "t")),
        ({"tool_name": "mcp__s__t", "mcp_server": "S"}, ("s", "t")),
        ({"tool_name": "mcp__a__b__t", "mcp_server": {"name": "a__b"}}, ("a__b", "t")),
    ],
)
def test_the_server_of_an_mcp_tool_is_what_claude_calls_it_or_what_the_name_says(
    fields: dict[str, Any], context: tuple[str, str] | None
) -> None:
    named = None if context is None else {"server_name": context[0], "tool_name": context[1]}
    assert read_mcp_context(fields) == named


VALUES = st.text(max_size=3) | st.integers() | st.booleans()
NAMES = st.sampled_from(
    ["file_path", "path", "pattern", "glob", "prompt", "subagent_type", "skill", "command", "x"]
)


@given(st.sampled_from(sorted(TOOLS)), st.dictionaries(NAMES, VALUES))
def test_whatever_can_be_shown_is_restored_as_it_was(host: str, tool_input: dict[str, Any]) -> None:
    for show, name in ((show_as_claude, host), (show_as_host, TOOLS[host].name)):
        try:
            shown = show(name, tool_input)
        except AmbiguousInputError:
            continue
        assert shown.restore(shown.input) == tool_input


def test_a_path_is_shown_as_the_file_that_is_opened(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    (outside / "folder").mkdir(parents=True)
    project.mkdir()
    (project / "link").symlink_to(outside / "folder")
    home, secret = os.path.expanduser("~"), os.path.realpath(outside / "secret")
    for path, shown in (
        ("a/../b", f"{project}/b"),
        ("link/../secret", secret),
        ("link/secret", f"{project}/link/secret"),
        ("~/.ssh/id", f"{home}/.ssh/id"),
        ("//etc/passwd", "/etc/passwd"),
        ("~a\0b/../c", f"{project}/c"),
    ):
        call = show_as_claude("read_file", {"path": path}, cwd=str(project))
        assert call.input == {"file_path": shown}
        # The host is given back what it gave.
        assert call.restore(call.input) == {"path": path}
