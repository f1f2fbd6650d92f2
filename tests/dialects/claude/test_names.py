"""What Claude Code's settings name: events, kinds of hooks, times and what matchers pick."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.dialects import DIALECTS
from hookline.dialects.claude import ClaudeDialect
from hookline.dialects.claude.events import EVENT_NAMES
from hookline.dialects.claude.tools import TOOLS
from hookline.dialects.matcher import MatchTimeout
from hookline.dialects.tools import ToolAlias
from hookline.pipeline.planner import HookPlanner
from hookline.pipeline.registry import HookRegistry
from hookline.settings.reader import Origin, Parsed, parse_hooks
from hookline.wire.events import EVENTS, EventName, HookEventName, find_event
from hookline.wire.fired import Facts, FiredEvent, Original, Target
from hookline.wire.hooks import CommandHook, HookSource

CLAUDE = ClaudeDialect()


def matches(event: str, matcher: str | None, target: str) -> bool:
    name = find_event(event)
    assert name is not None
    test, problem = CLAUDE.compile_matcher(name, matcher, None)
    assert problem is None
    return test(target)


@pytest.mark.parametrize(
    ("key", "kind", "seconds"),
    [
        ("PreToolUse", "command", 600),
        ("PreToolUse", "http", 600),
        ("PreToolUse", "prompt", 30),
        ("UserPromptSubmit", "command", 30),
        ("UserPromptSubmit", "http", 30),
        ("Stop", "prompt", 30),
        ("SessionEnd", "command", 1.5),
        ("SessionEnd", "http", 1.5),
        ("SubagentStop", "command", 600),
    ],
)
def test_a_hook_that_says_no_timeout_has_claudes(key: str, kind: str, seconds: float) -> None:
    assert CLAUDE.default_timeout_ms(key, kind) == seconds * 1000


@pytest.mark.parametrize(
    ("key", "kind", "refused"),
    [
        ("SessionStart", "command", ""),
        ("SessionStart", "http", "http hooks cannot be on SessionStart; use a command hook"),
        ("Setup", "prompt", "prompt hooks cannot be on Setup; use a command hook"),
        ("Stop", "prompt", ""),
        ("TeammateIdle", "prompt", ""),
        ("PreToolUse", "prompt", ""),
        ("Notification", "prompt", "cannot be on Notification"),
        ("PreCompact", "prompt", "cannot be on PreCompact"),
        ("Notification", "http", ""),
        ("PreToolUse", "agent", "agent hooks are not supported"),
        ("SessionStart", "mcp_tool", "mcp_tool hooks are not supported"),
        ("PreToolUse", "nonsense", ""),
    ],
)
def test_events_take_the_kinds_that_claude_lets_them(key: str, kind: str, refused: str) -> None:
    said = CLAUDE.refuse_kind(key, kind)
    assert refused in (said or "")
    assert bool(said) is bool(refused)


def test_every_event_of_claudes_is_one_here() -> None:
    assert len(EVENT_NAMES) == 33
    for name in EVENT_NAMES:
        event = CLAUDE.event_for(name)
        assert event is not None
        assert EVENTS[event].event is event
    assert CLAUDE.event_for("BeforeTool") is None


@pytest.mark.parametrize(
    ("matcher", "tool", "matched"),
    [
        (None, "anything", True),
        ("", "anything", True),
        ("*", "anything", True),
        # A list is compared whole and with case.
        ("Bash", "run_shell_command", True),
        ("bash", "run_shell_command", False),
        ("Bas", "run_shell_command", False),
        ("Edit|Write", "write_file", True),
        ("Edit, Write", "write_file", True),
        (" Edit | Write ", "write_file", True),
        ("Edit,Read", "write_file", False),
        ("MultiEdit", "replace", True),
        ("run_shell_command", "run_shell_command", True),
        ("Task", "task", True),
        ("Agent", "delegate_to_agent", True),
        ("KillBash", "TaskStop", True),
        ("Brief", "SendUserMessage", True),
        ("mcp__files__read", "mcp__files__read", True),
        ("mcp__files", "mcp__files__read", False),
        ("my-tool", "my-tool", True),
        # Anything else is an expression that is searched.
        ("mcp__.*", "mcp__files__read", True),
        ("mcp__files__.*", "mcp__other__read", False),
        (".*", "x", True),
        ("^(Edit|Write)$", "write_file", True),
        ("^Write$", "write_file", True),
        ("Wri.", "write_file", True),
        ("(?<kind>W)rite", "write_file", True),
        (r"^(?<a>b)\k<a>$", "bb", True),
        (r"^x\/y$", "x/y", True),
        (r"^\d$", "٣", False),
        (r"^\w$", "é", False),
        ("^a$", "a\n", False),
        ("^[^]$", "\n", True),
        ("[]", "x", False),
        ("^[[:alpha:]]$", "x", False),
        ("^a{,2}$", "a", False),
        ("^a{,2}$", "a{,2}", True),
        ("^a{2}$", "aa", True),
        (r"^\p{L}$", "x", False),
        (r"^a\Z$", "aZ", True),
        (r"^[\]x]$", "]", True),
        (r"\cA.", "\x01b", True),
        (r"^\$x$", "$x", True),
        # Another name of the same tool is not one that is left out.
        ("^(?!Bash$).*", "run_shell_command", False),
        ("^(?!Edit$).*", "replace", False),
        ("^(?!Bash$).*", "read_file", True),
    ],
)
def test_a_matcher_of_tools_picks_what_claude_would_pick(
    matcher: str | None, tool: str, matched: bool
) -> None:
    for event in ("BeforeTool", "AfterTool", "PermissionRequest", "PermissionDenied"):
        assert matches(event, matcher, tool) is matched


@pytest.mark.parametrize(
    ("event", "matcher", "target", "matched"),
    [
        ("SessionStart", "compact", "compress", True),
        ("SessionStart", "compress", "compress", False),
        ("SessionStart", "startup|resume", "resume", True),
        ("SessionStart", "startup", "resume", False),
        ("SessionStart", "^start", "startup", True),
        ("SessionEnd", "prompt_input_exit", "exit", True),
        ("SessionEnd", "prompt_input_exit", "prompt_input_exit", True),
        ("SessionEnd", "clear", "exit", False),
        ("PreCompress", "manual", "manual", True),
        ("PreCompress", "manual", "auto", False),
        ("PostCompact", "auto", "auto", True),
        ("Setup", "init", "maintenance", False),
        ("Notification", "permission_prompt", "ToolPermission", True),
        ("Notification", "idle_prompt", "ToolPermission", False),
        ("Notification", "permission_prompt", "", False),
        ("SubagentStart", "Explore", "Explore", True),
        ("SubagentStop", "Explore", "Plan", False),
        ("ConfigChange", "user_settings", "user_settings", True),
        ("DirectoryAdded", "slash_command", "register_repo_root", False),
        ("InstructionsLoaded", "include|compact", "include", True),
        ("UserPromptExpansion", "review", "review", True),
        ("Elicitation", "files", "files", True),
        ("ElicitationResult", "files", "other", False),
        ("FileChanged", "package_json", "/a/package_json", True),
        ("FileChanged", ".envrc|.env", "/a/b/.env", True),
        ("FileChanged", "a", "/a/b", False),
        ("StopFailure", "rate_limit|overloaded", "overloaded", True),
        # Outside of their smaller set it is an expression.
        ("StopFailure", "rate-limit", "a rate-limit error", True),
        ("FileChanged", "a,b", "/x/a", False),
        # Nothing to compare with.
        ("BeforeAgent", "nonsense", "", True),
        ("AfterAgent", "nonsense", "", True),
        ("PostToolBatch", "Bash", "", True),
        ("PreModelSwitch", "opus", "", True),
        ("PostModelSwitch", "opus", "", True),
        ("CwdChanged", "x", "", True),
        ("TaskCreated", "x", "", True),
    ],
)
def test_other_matchers_are_compared_with_claudes_words(
    event: str, matcher: str, target: str, matched: bool
) -> None:
    assert matches(event, matcher, target) is matched


@pytest.mark.parametrize("matcher", ["(", "[a", "a**", "|", " , ", "a{1,99999}", "  "])
def test_a_matcher_that_nobody_can_read_matches_all_and_is_reported(matcher: str) -> None:
    test, problem = CLAUDE.compile_matcher(HookEventName.BEFORE_TOOL, matcher, None)
    assert test("whatever")
    assert problem is not None
    assert problem.consequence == "it matches all"


def test_a_matcher_is_bounded_in_time() -> None:
    test, _ = CLAUDE.compile_matcher(HookEventName.BEFORE_TOOL, "^(a|aa)+$", None)
    with pytest.raises(MatchTimeout):
        test("a" * 64 + "b")


def test_a_matcher_looks_into_the_hosts_tools_each_time() -> None:
    tools = dict(TOOLS)
    test, _ = CLAUDE.compile_matcher(HookEventName.BEFORE_TOOL, "Bash", tools)
    assert not test("my_shell")
    tools["my_shell"] = ToolAlias("Bash")
    assert test("my_shell")
    assert test("run_shell_command")


def test_the_tool_of_a_server_is_matched_by_its_server_whatever_the_host_calls_it() -> None:
    context = {"server_name": "my files", "tool_name": "read_file"}
    fired = FiredEvent(
        HookEventName.BEFORE_TOOL, "read_file", ("read_file", {}, context, None)
    ).matched
    assert isinstance(fired, Target)
    assert fired.elsewhere == "mcp__my_files__read_file"
    expected = {"mcp__my_files__.*": True, "Read": False, "read_file": True, "mcp__x__.*": False}
    for matcher, matched in expected.items():
        assert matches("BeforeTool", matcher, fired) is matched


@pytest.mark.parametrize(
    ("server", "tool", "elsewhere"),
    [
        ("evil", "mcp__good__t", "mcp__evil__mcp__good__t"),
        ("good", "mcp__good__t", None),
        ("The Good", "t", None),
        ("evil", None, None),
    ],
)
def test_a_server_cannot_name_its_tool_as_another_servers(
    server: str, tool: str | None, elsewhere: str | None
) -> None:
    context = {"server_name": server, "tool_name": tool}
    values: tuple[object, ...] = ("mcp__good__t", {}, context, None)
    target = FiredEvent(HookEventName.BEFORE_TOOL, "mcp__good__t", values).matched
    assert (target.elsewhere if isinstance(target, Target) else None) == elsewhere


@pytest.mark.parametrize(
    ("event", "values", "extra", "matched"),
    [
        ("BeforeTool", ("t", {}, {"server_name": "s"}, None), {}, "mcp__s__t"),
        ("AfterTool", ("t", {}, {}, None, {"server_name": "s", "tool_name": "x"}), {}, "mcp__s__x"),
        ("PermissionRequest", ("t", {}, None, {"name": "s"}), {}, "mcp__s__t"),
        ("PermissionRequest", ("t", {}), {"mcp_context": {"server_name": "s"}}, "mcp__s__t"),
        ("PermissionDenied", ("t", {}, "c1", "no", {"name": "s"}), {}, "mcp__s__t"),
        # Without a server it is a tool like any other.
        ("BeforeTool", ("t", {}, {"server_name": ""}, None), {}, None),
        ("BeforeTool", ("t", {}, {"server_name": 3}, None), {}, None),
        ("BeforeTool", ("t", {}), {}, None),
        ("BeforeAgent", ("t",), {"mcp_context": {"server_name": "s"}}, None),
    ],
)
def test_an_event_says_which_server_has_its_tool(
    event: str, values: tuple[object, ...], extra: dict[str, object], matched: str | None
) -> None:
    name = find_event(event)
    assert name is not None
    target = FiredEvent(name, "t", values, extra).matched
    assert target == "t"
    assert (target.elsewhere if isinstance(target, Target) else None) == matched


def test_an_event_of_claudes_own_wording_is_matched_by_it() -> None:
    original = {"tool_name": "NotebookEdit", "tool_input": {}}
    fired = FiredEvent(
        HookEventName.BEFORE_TOOL,
        "replace",
        ("replace", {}),
        facts=Facts(original=Original("claude", original)),
    ).matched
    assert matches("BeforeTool", "NotebookEdit", fired)
    assert not matches("BeforeTool", "Edit", fired)
    facts = Facts(original=Original("claude", {"source": "fork"}))
    started = FiredEvent(HookEventName.SESSION_START, "resume", ("resume",), facts=facts).matched
    assert started == "resume"
    assert matches("SessionStart", "fork", started)
    assert not matches("SessionStart", "resume", started)


def parse(raw: object) -> Parsed:
    origin = Origin(".claude/settings.json")
    return parse_hooks(raw, source=HookSource.USER, origin=origin, dialect=DIALECTS["claude"])


def plan_names(planner: HookPlanner, event: EventName, target: str) -> list[str]:
    plan = planner.create_execution_plan(event, target)
    return [] if plan is None else [hook.name for hook in plan.hooks]


def test_a_plan_is_made_for_both_names_of_a_tool_and_kept_for_both() -> None:
    command = {"type": "command", "command": "guard"}
    parsed = parse({"PreToolUse": [{"matcher": "mcp__db__.*", "hooks": [command]}]})
    registry = HookRegistry()
    registry.load(parsed.entries)
    planner = HookPlanner(registry, warn=print)
    event = HookEventName.BEFORE_TOOL
    of_server = FiredEvent(event, "drop", ("drop", {}, {"server_name": "db"}, None))
    assert plan_names(planner, event, "drop") == []
    assert plan_names(planner, event, of_server.matched) == ["guard"]
    assert plan_names(planner, event, "drop") == []
    # The name alone does not rule out that a server has the tool.
    assert planner.may_match(event, "drop")
    assert not planner.may_match(HookEventName.AFTER_TOOL, "drop")


def test_a_list_has_names_and_an_expression_has_none() -> None:
    assert CLAUDE.names_in_matcher("Edit|Write, Read") == ("Edit", "Write", "Read")
    assert CLAUDE.names_in_matcher("__drop$") is None
    assert CLAUDE.names_in_matcher(None) is None


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("timeout", 5000, "is in seconds, and 5000 of them look like milliseconds"),
        ("if", "Bash(git push", "is not a rule such as"),
        ("if", "Edit(!a)", "is not a path pattern"),
        ("if", "Edit(*.{ts,js})", "is not a path pattern"),
        ("if", "Glob([z-a])", "is not a path pattern"),
        ("if", "WebFetch(example.com)", "domain:example.com"),
        ("if", "TodoWrite(x)", "cannot have a pattern"),
    ],
)
def test_what_is_read_otherwise_than_written_is_reported(
    field: str, value: object, said: str
) -> None:
    hook = {"type": "command", "command": "c", field: value}
    parsed = parse({"PreToolUse": [{"hooks": [hook]}]})
    (problem,) = parsed.problems
    assert said in problem.text
    assert problem.path[-1] == field
    assert not problem.skipped
    (entry,) = parsed.entries
    assert isinstance(entry.hook, CommandHook)
    assert entry.hook.timeout == (5_000_000 if field == "timeout" else 600_000)


@pytest.mark.parametrize(("seconds", "is_reported"), [(999, False), (1000, True)])
def test_a_timeout_of_a_thousand_seconds_looks_like_milliseconds(
    seconds: int, is_reported: bool
) -> None:
    assert bool([*CLAUDE.find_remarks("PreToolUse", {"timeout": seconds})]) is is_reported


def test_a_condition_on_an_event_without_a_tool_is_reported() -> None:
    hook = {"type": "command", "command": "c", "if": "Bash"}
    (problem,) = parse({"Stop": [{"hooks": [hook]}]}).problems
    assert "the hook never runs" in problem.text


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ({"type": "agent", "prompt": "p"}, "agent hooks are not supported"),
        ({"type": "mcp_tool", "server": "s", "tool": "t"}, "mcp_tool hooks are not supported"),
        ({"type": "command", "command": "c", "shell": "powershell"}, "powershell is not supported"),
    ],
)
def test_what_this_host_does_not_run_is_skipped_in_plain_words(
    hook: dict[str, object], said: str
) -> None:
    parsed = parse({"PreToolUse": [{"hooks": [hook, {"type": "command", "command": "ok"}]}]})
    (problem,) = parsed.problems
    assert said in problem.message
    assert problem.skipped
    assert [entry.name for entry in parsed.entries] == ["ok"]


def test_native_settings_know_nothing_of_it() -> None:
    hook = {"type": "command", "command": "c", "timeout": 5000, "asyncRewake": True, "if": "Bash("}
    raw = {"BeforeTool": [{"hooks": [hook]}]}
    parsed = parse_hooks(raw, source=HookSource.USER, origin=Origin("x"))
    (entry,) = parsed.entries
    # But that it has no condition makes another policy of it.
    assert [(problem.kind, problem.path[-1]) for problem in parsed.problems] == [
        ("misread-key", "if")
    ]
    assert isinstance(entry.hook, CommandHook)
    assert not entry.hook.background


NAMES = st.text("abAB_-", min_size=1, max_size=3)


@given(st.lists(NAMES, min_size=1, max_size=4), st.sampled_from(["|", ",", " | ", ", "]), NAMES)
def test_a_list_picks_exactly_what_it_names(names: list[str], between: str, name: str) -> None:
    assert matches("BeforeTool", between.join(names), name) is (name in names)


@given(st.text("ab.$^[]{}()?*+\\|dk<>:!,", max_size=8), NAMES)
def test_no_matcher_raises_anything_but_a_timeout(matcher: str, name: str) -> None:
    test, _ = CLAUDE.compile_matcher(HookEventName.BEFORE_TOOL, matcher, None)
    assert test(name) in (True, False)


@given(st.text("aB_.^$|()+?*", min_size=1, max_size=6), NAMES)
def test_where_both_languages_agree_so_do_the_matchers(matcher: str, name: str) -> None:
    try:
        expected = re.search(matcher, name, re.ASCII) is not None
    except re.error:
        return
    if (
        re.search(r"[.^$()+?*]", matcher)
        and "*+" not in matcher
        and not re.search(r"[+?*]\+|\(\?", matcher)
    ):
        test, problem = CLAUDE.compile_matcher(HookEventName.BEFORE_TOOL, matcher, None)
        assert problem is not None or test(name) is expected
