"""Claude Code's matchers, and that native ones pick the same tools and triggers."""

import pytest

from hookline.migrate.claude_tools import translate_matcher
from hookline.pipeline.dialects.tools import TOOLS, claude_names
from hookline.pipeline.matcher import compile_matcher
from hookline.wire.events import HookEventName

BEFORE_TOOL = HookEventName.BEFORE_TOOL


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (None, None),
        ("", None),
        ("*", None),
        ("Bash", "^(?:Bash|run_shell_command)$"),
        ("Edit|Write", "^(?:Edit|Write|write_file|replace)$"),
        ("Edit, MultiEdit , Write", "^(?:Edit|MultiEdit|Write|write_file|replace)$"),
        ("Grep", "^(?:Grep|search_file_content|grep)$"),
        ("Task", "^(?:Task|task|delegate_to_agent)$"),
        ("my_tool", "^(?:my_tool)$"),
        ("mcp__files__write", "^(?:mcp__files__write)$"),
        ("Edit|NotebookEdit", "^(?:Edit|NotebookEdit|replace)$"),
        ("Bash|TaskOutput", "^(?:Bash|TaskOutput|run_shell_command)$"),
        (".*", ".*"),
        ("mcp__.*", "mcp__.*"),
        ("^(Edit|MultiEdit|Write)$", "^(Edit|MultiEdit|Write)$|^(?:write_file|replace)$"),
        (
            "Write|Edit|mcp__.*_(send|post)",
            "Write|Edit|mcp__.*_(send|post)|^(?:write_file|replace|write_todos|todo_write)$",
        ),
    ],
)
def test_the_names_that_hosts_have_are_added(theirs: str | None, ours: str | None) -> None:
    assert translate_matcher(BEFORE_TOOL, theirs).text == ours


@pytest.mark.parametrize(
    ("theirs", "reason"),
    [
        ("|", "it names nothing"),
        ("TaskOutput", "hosts have no tool like TaskOutput"),
        ("TaskOutput|KillShell", "hosts have no tool like KillShell and TaskOutput"),
        ("Write|NotebookEdit", "natively NotebookEdit cannot be told from Edit"),
        ("Notebook(Edit|Read)", "natively NotebookEdit cannot be told from Edit"),
        ("glob", "natively it would also pick glob"),
        ("^(?!Bash$).*", "natively it would also pick run_shell_command"),
        ("^re.*", "natively it would also pick read_file and replace"),
        ("(Bash", "it is not a regular expression that means the same natively"),
        ("(?i)bash", "it is not a regular expression that means the same natively"),
        ("Bash{e<=1}", "it is not a regular expression that means the same natively"),
        ("[[:alpha:]]+", "it is not a regular expression that means the same natively"),
    ],
)
def test_a_matcher_that_cannot_pick_the_same_is_refused(theirs: str, reason: str) -> None:
    assert translate_matcher(BEFORE_TOOL, theirs).refused == reason


@pytest.mark.parametrize(
    "theirs",
    ["Bash", "Edit|Write", "Web.*", "Task", "^(?!mcp__).*", "Re|Wr", "mcp__.*|Bash", "^Gre?p"],
)
def test_each_tool_is_picked_natively_if_it_was_picked_by_a_name_of_claude_s(theirs: str) -> None:
    """Exact names pick no tool that only has them in its name."""
    matcher = translate_matcher(BEFORE_TOOL, theirs)
    assert matcher.refused is None
    new, problem = compile_matcher(matcher.text, search=True)
    assert problem is None
    is_exact = theirs.replace("|", "").isalnum()
    old, _ = compile_matcher(f"^(?:{theirs})$" if is_exact else theirs, search=True)
    for host in TOOLS:
        assert new(host) == any(old(name) for name in claude_names(host) if name != host)
    for name in ("mcp__files__run_shell_command", "mcp__slack__send", "mcp__a__Bash", "Bashful"):
        assert new(name) == old(name)


@pytest.mark.parametrize(
    ("theirs", "is_same"),
    [
        ("Bash", True),
        ("Bash|mcp__x", True),
        ("mcp__.*", True),
        ("Bash|Write", False),
        (None, False),
    ],
)
def test_only_a_command_has_the_same_input_natively(theirs: str | None, is_same: bool) -> None:
    assert translate_matcher(BEFORE_TOOL, theirs).same_input is is_same


def test_names_of_mcp_tools_are_for_the_reader_to_compare() -> None:
    assert "MCP tools have the names" in translate_matcher(BEFORE_TOOL, "mcp__a__b").notes[0]
    assert translate_matcher(BEFORE_TOOL, "Bash").notes == ()


@pytest.mark.parametrize(
    ("event", "theirs", "ours"),
    [
        (HookEventName.SESSION_START, "startup|compact", "startup|compress"),
        (HookEventName.SESSION_START, "startup, fork", "startup"),
        (HookEventName.SESSION_START, "comp.*", "compress"),
        (HookEventName.SESSION_END, "prompt_input_exit", "exit|prompt_input_exit"),
        (HookEventName.SESSION_END, "^(clear|logout)$", "clear|logout"),
        (HookEventName.PRE_COMPRESS, "manual", "manual"),
        (HookEventName.NOTIFICATION, "permission_prompt", "ToolPermission"),
        (HookEventName.NOTIFICATION, "permission_prompt|idle_prompt", "ToolPermission|idle_prompt"),
        (HookEventName.NOTIFICATION, "^idle", ".*(?:^idle).*"),
        (HookEventName.NOTIFICATION, "_prompt$", "ToolPermission|.*(?:_prompt$).*"),
        (HookEventName.BEFORE_AGENT, "anything", None),
    ],
)
def test_triggers_and_types_have_other_names(
    event: HookEventName, theirs: str, ours: str | None
) -> None:
    matcher = translate_matcher(event, theirs)
    assert (matcher.text, matcher.same_input) == (ours, True)


@pytest.mark.parametrize(
    ("event", "theirs"),
    [
        (HookEventName.SESSION_END, "resume"),
        (HookEventName.SESSION_START, "compress"),
        (HookEventName.PRE_COMPRESS, "x+"),
        (HookEventName.NOTIFICATION, "[A-Z]"),
    ],
)
def test_a_trigger_that_never_comes_is_refused(event: HookEventName, theirs: str) -> None:
    assert translate_matcher(event, theirs).refused is not None
