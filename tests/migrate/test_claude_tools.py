"""Claude Code's matchers, and that ours pick the same tools."""

import pytest

from hookline.migrate.claude_tools import TOOLS, translated
from hookline.pipeline.matcher import compile_matcher
from hookline.wire.events import HookEventName

BEFORE_TOOL = HookEventName.BEFORE_TOOL


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (None, None),
        ("", None),
        ("*", None),
        ("Bash", "run_shell_command"),
        ("Edit|Write", "replace|write_file"),
        ("Edit, MultiEdit , Write", "replace|write_file"),
        ("Grep", "search_file_content|grep"),
        ("my_tool", "my_tool"),
        ("mcp__files__write", "mcp__files__write"),
        ("Write|NotebookEdit", "write_file"),
        (".*", ".*"),
        ("^(Edit|MultiEdit|Write)$", "^(replace|write_file)$"),
        (r"\bBash\b", r"\brun_shell_command\b"),
        ("^(?!Bash$).*", "^(?!run_shell_command$).*"),
        ("[Bb]ash", "run_shell_command"),
        ("Web.*", "web_fetch|google_web_search|exa_web_search"),
        ("mcp__.*", "mcp__.*"),
        ("^Gre?p", "search_file_content|grep"),
        ("(?:Grep)", "(?:(?:search_file_content|grep))"),
    ],
)
def test_tools_have_other_names(theirs: str | None, ours: str | None) -> None:
    assert translated(BEFORE_TOOL, theirs).text == ours


@pytest.mark.parametrize("theirs", ["|", ",", " | ,"])
def test_a_list_without_a_name_is_lost(theirs: str) -> None:
    assert translated(BEFORE_TOOL, theirs).lost == "it names nothing"


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_each_tool_is_matched_under_its_own_name(tool: str) -> None:
    matches, problem = compile_matcher(translated(BEFORE_TOOL, tool).text, search=True)
    assert problem is None
    assert all(matches(name) for name in TOOLS[tool])


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        ("Task", "Task has no counterpart here"),
        ("Task|NotebookEdit", "Task and NotebookEdit have no counterpart here"),
        ("Notebook(Edit|Read)", "NotebookEdit and NotebookRead have no counterpart here"),
        ("(Bash", "it is not a regular expression that can be read here"),
    ],
)
def test_a_matcher_of_nothing_that_is_here_is_lost(theirs: str, reason: str) -> None:
    assert translated(BEFORE_TOOL, theirs).lost == reason


def test_what_was_left_out_or_rewritten_is_said() -> None:
    assert translated(BEFORE_TOOL, "Write|NotebookEdit").notes == (
        "NotebookEdit has no counterpart and was left out",
    )
    assert translated(BEFORE_TOOL, "[Bb]ash").notes == (
        "the matcher is now written by the tools it matched: Bash",
    )
    assert "MCP tools have the names" in translated(BEFORE_TOOL, "mcp__a__b").notes[0]


@pytest.mark.parametrize(
    ("event", "theirs", "ours"),
    [
        (HookEventName.SESSION_START, "startup|compact", "startup|compress"),
        (HookEventName.SESSION_START, "startup, fork", "startup"),
        (HookEventName.SESSION_START, "comp.*", "compress"),
        (HookEventName.SESSION_END, "^(clear|logout)$", "clear|logout"),
        (HookEventName.PRE_COMPRESS, "manual", "manual"),
        (HookEventName.NOTIFICATION, "idle_prompt", "idle_prompt"),
        (HookEventName.NOTIFICATION, "^idle", ".*(?:^idle).*"),
        (HookEventName.BEFORE_AGENT, "anything", None),
    ],
)
def test_triggers_are_matched_whole(event: HookEventName, theirs: str, ours: str | None) -> None:
    assert translated(event, theirs).text == ours


def test_a_trigger_that_never_comes_is_lost() -> None:
    assert translated(HookEventName.SESSION_END, "resume").lost == "resume has no counterpart here"
    assert translated(HookEventName.PRE_COMPRESS, "x+").lost is not None
