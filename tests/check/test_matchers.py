"""Matchers that cannot work, or that mean something else than they look like."""

from typing import Any

import pytest

from hookline.check.matchers import find_words, replace_word
from hookline.wire.hooks import HookSource
from tests.check.review import (
    ERROR,
    HINT,
    WARNING,
    brief,
    check,
    checked,
    hook,
    on,
    only,
    review,
    review_claude,
)
from tests.harness.scratch import Project


@pytest.mark.parametrize(
    ("matcher", "rule", "severity", "said"),
    [
        ("*.py", "matcher-file", ERROR, "a matcher sees only the tool's name"),
        (r".*\.py$", "matcher-file", WARNING, "look at tool_input in the script"),
        ("write_*", "matcher-glob", WARNING, "write write_.*"),
        ("*_file", "matcher-glob", ERROR, "write .*_file"),
        ("mcp__*", "matcher-glob", WARNING, "write mcp__.*"),
        ("{write_file,replace}", "matcher-glob", WARNING, "write (write_file|replace)"),
        ("write_file, replace", "matcher-separator", ERROR, "write write_file|replace"),
        ("write_file | replace", "matcher-separator", ERROR, "write write_file|replace"),
        ("Bash(git push)", "matcher-rule", ERROR, "write Bash, and look at tool_input"),
        ('tool_name == "replace"', "matcher-rule", ERROR, "write replace, and look at tool_input"),
        (
            "tool_input.path != '/etc'",
            "matcher-rule",
            ERROR,
            "write the name of the tool",
        ),
        ("[", "matcher-regex", ERROR, "is not a regular expression (unterminated"),
        ("(write", "matcher-regex", ERROR, "is not a regular expression (missing )"),
        ("(a+)+$", "matcher-explodes", WARNING, "can take forever on names such as aaaaaaaa"),
        ("wirte_file", "matcher-tool", WARNING, "did you mean write_file?"),
        ("Write_File", "matcher-tool", WARNING, "case counts"),
        ("wirte_file|replace", "matcher-tool", WARNING, "no known tool is called 'wirte_file'"),
        ("Bash", "matcher-tool", WARNING, "write run_shell_command, as Gemini CLI"),
        ("Edit|Write", "matcher-tool", WARNING, "write replace|write_file"),
        ("frobnicate", "matcher-tool", HINT, 'declare it: "tools": ["frobnicate"]'),
        ("mcp_maps_route", "matcher-tool", HINT, "if your agent or an MCP server has it"),
        ("^Bas.$", "matcher-tool", WARNING, "write the names that your agent has for them"),
        ("src/.*", "matcher-file", WARNING, "look at tool_input in the script"),
        ("wirte_file", "matcher-tool", WARNING, "(a typing error?); did you mean"),
        ("replace|wirte_file", "matcher-tool", WARNING, "no known tool is called 'wirte_file'"),
        ("frob(x)", "matcher-tool", HINT, "'frob(x)' matches no tool"),
        ("^crm_.*$", "matcher-tool", HINT, 'declare it: "tools": ["NAME", …]'),
    ],
)
def test_a_matcher_for_tools(
    project: Project, matcher: str, rule: str, severity: str, said: str
) -> None:
    finding = only(review(project, on("BeforeTool", hook(), matcher=matcher)), rule)
    assert finding.severity is severity
    assert said in finding.text
    assert (finding.line, finding.column) == (5, 20)


@pytest.mark.parametrize(
    "matcher",
    [
        *("", "*", ".*", "write_file", "write_file|replace", "^read_.*$", "(?i)WRITE", "write"),
        *(
            "run_shell_command|^(shell|bash)$",
            "write_file|replace|edit",
            "^(?!read_)",
            "Bash|shell",
        ),
        *("replace|Write_File", "mcp__git__.*", "^mcp__notes__send_mail$", "^(?:mcp__git__push)$"),
    ],
)
def test_matchers_that_are_fine(project: Project, matcher: str) -> None:
    assert review(project, on("AfterTool", hook(), matcher=matcher)) == []


def test_tools_that_nobody_knows_are_one_hint_a_file(project: Project) -> None:
    named = ["crm_lookup", "mail_send|crm_lookup", "^crm_.*$", "write_file", "crm_lookup"]
    groups = [{"matcher": matcher, "hooks": [hook(f"true {n}")]} for n, matcher in enumerate(named)]
    finding = only(review(project, {"hooks": {"BeforeTool": groups}}), "matcher-tool")
    assert finding.severity is HINT
    assert finding.text == (
        "'crm_lookup', 'mail_send|crm_lookup', '^crm_.*$' match no tool of Gemini CLI, LLxprt Code "
        "or Claude Code; if your agent or an MCP server has them, declare them: "
        '"tools": ["crm_lookup", "mail_send"]'
    )
    assert (finding.line, finding.column) == (5, 20)


@pytest.mark.parametrize(
    "declared",
    [
        {"tools": ["crm_lookup"]},
        {"tools": {"crm_lookup": "Read", "enableHooks": True}},
        {"hooks": {"tools": ["crm_lookup"]}},
        {"hooks": {"tools": {"crm_lookup": {"name": "Read"}}}},
    ],
)
def test_a_declared_tool_is_known_to_matchers(project: Project, declared: dict[str, Any]) -> None:
    hooks = on("BeforeTool", hook(), matcher="crm_lookup")["hooks"]
    settings = {**declared, "hooks": {**declared.get("hooks", {}), **hooks}}
    assert review(project, settings) == []
    wrong = on("BeforeTool", hook(), matcher="crm_lokup")["hooks"]
    settings["hooks"] = {**declared.get("hooks", {}), **wrong}
    finding = only(review(project, settings), "matcher-tool")
    assert (finding.severity, finding.remedy) == (WARNING, "did you mean crm_lookup?")


def test_every_layer_may_declare_tools_and_one_that_nothing_uses_is_fine(project: Project) -> None:
    used = project.settings(on("BeforeTool", hook(), matcher="^(crm_lookup|mail_send)$"))
    users = project.settings({"tools": ["crm_lookup", "unused"]}, file="user.json")
    systems = project.settings({"tools": ["other"]}, file="system.json")
    layers = [(used, HookSource.PROJECT), (users, HookSource.USER), (systems, HookSource.SYSTEM)]
    assert check(checked(*layers, project=project)) == []


def test_a_tool_is_declared_for_claude_codes_matchers_as_well(project: Project) -> None:
    theirs = {"PreToolUse": [{"matcher": "crm_lookup", "hooks": [hook()]}]}
    project.settings({"hooks": theirs}, file=".claude/settings.json")
    file = project.settings({"tools": ["crm_lookup"]})
    layers = [(file, HookSource.PROJECT)]
    assert check(checked(*layers, project=project, claude=True)) == []


@pytest.mark.parametrize("tools", [7, "crm_lookup", ["a", 7], {"a": 7}, {"a": {"fields": {}}}])
def test_tools_that_are_no_list_of_names_are_an_error(project: Project, tools: Any) -> None:
    assert brief(review(project, {"tools": tools})) == [("settings", ERROR)]


def test_what_others_keep_under_tools_is_theirs(project: Project) -> None:
    settings = {"tools": {"core": ["x"], "sandbox": "docker", "enableHooks": True, "shell": {}}}
    for folder in (".gemini", ".llxprt"):
        file = project.settings(settings, file=f"{folder}/settings.json")
        assert check(checked((file, HookSource.PROJECT), project=project)) == []


@pytest.mark.parametrize(
    ("event", "matcher", "severity", "said"),
    [
        ("SessionStart", "startupp", ERROR, "did you mean startup?"),
        ("SessionStart", "start", ERROR, "never happens, so these hooks never run"),
        ("SessionStart", "compact", ERROR, "its source is startup, resume, clear, compress"),
        ("SessionStart", "startup|compact", WARNING, "'compact' never happens on SessionStart"),
        ("SessionEnd", "Exit", ERROR, "did you mean exit?"),
        ("PreCompress", "automatic", ERROR, "never happens"),
    ],
)
def test_a_trigger_that_never_happens(
    project: Project, event: str, matcher: str, severity: str, said: str
) -> None:
    finding = only(review(project, on(event, hook(), matcher=matcher)), "matcher-trigger")
    assert finding.severity is severity
    assert said in finding.text


def test_a_file_name_for_a_trigger_is_to_be_removed(project: Project) -> None:
    finding = only(review(project, on("SessionStart", hook(), matcher="*.py")), "matcher-file")
    assert "sees only the trigger's name; remove it" in finding.text


@pytest.mark.parametrize(
    ("matcher", "is_certain"), [("startupp|resume", True), ("startupp|resumee", False)]
)
def test_only_one_misspelt_trigger_is_certain_enough_to_be_replaced(
    project: Project, matcher: str, is_certain: bool
) -> None:
    finding = only(review(project, on("SessionStart", hook(), matcher=matcher)), "matcher-trigger")
    assert bool(finding.fixes) is is_certain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a|b", ["a", "b"]),
        ("^a$|^b$", ["a", "b"]),
        ("^(a|b)$", ["a", "b"]),
        ("(?:a|b)", ["a", "b"]),
        ("a.*|b", ["b"]),
        ("(a)|b", ["b"]),
    ],
)
def test_the_plain_names_of_a_matcher_are_found(text: str, words: list[str]) -> None:
    assert find_words(text) == words


def test_only_a_whole_name_is_replaced() -> None:
    assert replace_word("a|ab|b-a|a", "a", "x") == "x|ab|b-a|x"


@pytest.mark.parametrize(
    ("event", "matcher"),
    [
        ("SessionStart", "startup|resume"),
        ("SessionStart", ".*"),
        ("SessionEnd", "exit|(log|other).*"),
        ("Notification", "ToolPermission"),
    ],
)
def test_triggers_that_are_fine(project: Project, event: str, matcher: str) -> None:
    assert review(project, on(event, hook(), matcher=matcher)) == []


@pytest.mark.parametrize("event", ["BeforeAgent", "BeforeModel", "BeforeToolSelection"])
def test_a_matcher_where_there_is_nothing_to_match(project: Project, event: str) -> None:
    finding = only(review(project, on(event, hook(), matcher="write_file")), "matcher-ignored")
    assert finding.severity is WARNING
    assert "its hooks run every time" in finding.message


def test_a_matcher_that_is_no_string_is_told_by_the_engine(project: Project) -> None:
    assert brief(review(project, on("BeforeTool", hook(), matcher=["x"]))) == [("settings", ERROR)]


def test_a_hostile_matcher_does_not_keep_the_checking_busy(project: Project) -> None:
    for matcher in ("{" + "," * 100_000, "(" * 900 + "a" + ")+" * 900, "a" * 1_000_000):
        review(project, on("BeforeTool", hook(), matcher=matcher))


def test_the_hint_names_fifty_matchers_and_counts_the_others(project: Project) -> None:
    def hint(number: int) -> str:
        groups = [{"matcher": f"crm_{n}", "hooks": [hook(f"true {n}")]} for n in range(number)]
        return only(review(project, {"hooks": {"BeforeTool": groups}}), "matcher-tool").message

    assert "'crm_49' match no tool" in hint(50)
    assert "'crm_49' and 1 more match no tool" in hint(51)


def test_a_matcher_of_a_thousand_characters_is_checked_and_no_longer_one(project: Project) -> None:
    for length, rules in ((1_000, ["matcher-tool"]), (1_001, [])):
        findings = review(project, on("BeforeTool", hook(), matcher="x" * length))
        assert [finding.kind for finding in findings] == rules
    project.settings({})
    for length, rules in ((1_000, ["matcher-tool"]), (1_001, [])):
        findings = review_claude(project, on("PreToolUse", hook(), matcher="x" * length))
        assert [finding.kind for finding in findings] == rules


@pytest.mark.parametrize("is_claude", [False, True])
def test_every_matcher_is_checked_after_others_that_are_fine_or_for_no_event(
    project: Project, is_claude: bool
) -> None:
    event = "PreToolUse" if is_claude else "BeforeTool"
    fine: list[dict[str, Any]] = [{}, {"matcher": "*"}, {"matcher": 1}, {"matcher": " "}]
    listed = [{**each, "hooks": []} for each in (*fine, {"matcher": "*.py"})]
    settings = {"hooks": {"Zzz": [{"matcher": "*.py", "hooks": []}], event: listed}}
    findings = (review_claude if is_claude else review)(project, settings)
    assert [f.path for f in findings if f.kind == "matcher-file"] == [
        ("hooks", event, 4, "matcher")
    ]
