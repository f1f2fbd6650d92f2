"""Which hooks of Claude Code's run on an event: the ``if`` of a hook, and tools that failed."""

import os
import shlex
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline import Hooks
from hookline.dialects.claude import ClaudeDialect
from hookline.dialects.claude.rules import covers_command, covers_path
from hookline.dialects.claude.tools import TOOLS
from hookline.dialects.tools import ToolAlias
from hookline.pipeline.planner import narrow_plan
from hookline.wire.fired import Facts, Original
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionPlan
from tests.dialects.claude.claude import PROJECT_FILE, hooks, write
from tests.dialects.claude.documents import make_document

CLAUDE = ClaudeDialect()


def make_hook(event: str, condition: str | None = None) -> CommandHook:
    return CommandHook(
        name="h", command="true", dialect="claude", dialect_event=event, condition=condition
    )


def is_run(condition: str, tool: str, tool_input: dict[str, Any], **fields: Any) -> bool:
    document = make_document("BeforeTool", {"tool_name": tool, "tool_input": tool_input, **fields})
    return CLAUDE.applies(make_hook("PreToolUse", condition), document)


@pytest.mark.parametrize(
    ("pattern", "command", "covered"),
    [
        # The text as it is, a beginning, a star.
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git status", "  git status\n", True),
        ("git push:*", "git push", True),
        ("git push:*", "git push origin main", True),
        ("git push:*", "git pushy", False),
        ("git push:*", "git pull", False),
        ("npm run *", "npm run build", True),
        ("npm run *", "npm run", True),
        ("npm run *", "npm runx", False),
        ("npm*", "npmx", True),
        ("* --force", "git push --force", True),
        ("git * main", "git push origin main", True),
        ("git * main", "git push origin other", False),
        ("rm:*", "rm -rf /", True),
        ("rm *", "rmdir x", False),
        # Each command inside a command.
        ("git push:*", "cd x && git push", True),
        ("git push:*", "cd x || git push", True),
        ("git push:*", "cd x; git push", True),
        ("git push:*", "true | git push", True),
        ("git push:*", "true |& git push", True),
        ("git push:*", "cd x\ngit push", True),
        ("git push:*", "sleep 1 & git push", True),
        ("git push:*", "(cd x; git push)", True),
        ("git push:*", "{ git push; }", True),
        ("rm:*", "echo $(rm -rf x)", True),
        ("rm:*", "echo `rm -rf x`", True),
        ("rm:*", 'echo "$(rm -rf x)"', True),
        ("rm:*", "diff <(rm x) y", True),
        ("rm:*", "if true; then rm x; fi", True),
        ("rm:*", "while true; do rm x; done", True),
        ("rm:*", "for f in a b; do rm $f; done", True),
        ("rm:*", "case x in x) rm y;; esac", True),
        ("rm:*", "! rm x", True),
        ("rm:*", "f() { rm x; }; f", True),
        ("rm:*", "X=$(rm y)", True),
        ("rm:*", "cat <<EOF\n$(rm x)\nEOF", True),
        ("rm:*", "cat <<'EOF'\nrm x\nEOF", False),
        ("rm:*", "echo rm x", False),
        ("rm:*", "echo 'a; rm x'", False),
        ("rm:*", "# rm x\nls", False),
        # Assignments and redirections in front of it, and other spellings.
        ("git push:*", "A=1 B=2 git push", True),
        ("git push:*", ">out 2>&1 git push", True),
        ("git push:*", "git >out push", True),
        ("git push:*", "git   push", True),
        ("git push:*", "git \\\npush", True),
        ("git push:*", "'git' \"push\"", True),
        ("git push:*", "g\\it push", True),
        ("git push:*", "$'git' push", True),
        ("git push:*", "/usr/bin/git push", True),
        # What runs another command.
        ("git push:*", "sudo -u root git push", True),
        ("git push:*", "env A=1 git push", True),
        ("git push:*", "env -S 'git push'", True),
        ("git push:*", "timeout 5 git push", True),
        ("git push:*", "nohup nice -n 3 git push", True),
        ("git push:*", "find . -exec git push ;", True),
        ("git push:*", "echo push | xargs git", True),
        ("git push:*", "echo x | xargs ls", False),
        ("git push:*", "command git push", True),
        ("git push:*", "sudo git pull", False),
        ("rm:*", "eval rm x", True),
        ("rm:*", "eval 'ls; rm x'", True),
        ("rm:*", "bash -c 'rm x'", True),
        ("rm:*", "bash -o pipefail -c 'ls && rm x'", True),
        ("rm:*", "sudo sh -c 'rm x'", True),
        ("rm:*", "bash -c ls", False),
        ("rm:*", "bash build.sh", False),
        ("rm:*", "echo rm x | bash", True),
        ("rm:*", "bash <<< 'rm x'", True),
        ("rm:*", "bash <<EOF\nrm x\nEOF", True),
        ("rm:*", "source /dev/stdin <<< 'rm x'", True),
        ("rm:*", "source .venv/bin/activate", False),
        ("git push:*", "time -p git push", True),
        ("git push:*", "time -p ls", False),
        ("git push:*", "trap 'cd x; git push' EXIT", True),
        ("git push:*", "watch -n1 'cd x; git push'", True),
        ("git push:*", "flock x -c 'cd x; git push'", True),
        ("git push:*", "su --command='git push'", True),
        ("git push:*", "env -S'A=1 git push'", True),
        ("git push:*", 'env A=1 grep "it\'s" x', False),
        ("git push:*", "fish --command 'git push'", True),
        ("git push:*", "bash ./git push", True),
        ("git push:*", "bash git push -c", True),
        ("git push:*", "bash git.sh push", False),
        # A shell that reads stdin.
        ("rm:*", "echo rm x | bash -euo pipefail", True),
        ("rm:*", "bash -euo pipefail build.sh", False),
        ("rm:*", "echo rm x | bash +x", True),
        ("rm:*", "echo rm x | bash -es a", True),
        ("rm:*", "bash build.sh -s", False),
        ("rm:*", "echo rm x | bash /dev/stdin", True),
        ("rm:*", "echo rm x | su", True),
        ("rm:*", "echo rm x | sudo -u root -s", True),
        ("rm:*", "sudo grep -is x", False),
        ("rm:*", "echo rm x | xargs -I% sh -c %", True),
        ("rm:*", "echo rm | xargs -i {} x", True),
        ("rm:*", "ls | xargs sed -i s/a/b/", False),
        ("rm:*", "echo rm x | xargs env", True),
        ("rm:*", "cat commands | parallel", True),
        ("rm:*", "parallel gzip ::: a b", False),
        # What only a shell could tell.
        ("git push:*", "git $VERB", True),
        ("git push:*", "echo $HOME", True),
        ("git push:*", "echo $(date)", True),
        ("git push:*", "echo `date`", True),
        ("git push:*", "ls ~", False),
        ("git push:*", "echo '$HOME'", False),
        ("rm:*", "echo $HOME", False),
        ("rm:*", "$X y", True),
        ("rm:*", "r? y", True),
        ("rm:*", "{rm,y}", True),
        ("rm:*", "sudo $X", True),
        ("rm:*", "eval $X", True),
        ("rm:*", "bash -c $X", True),
        ("rm:*", "bash $X", False),
        ("rm:*", "source $X", True),
        ("rm:*", ". *.sh", True),
        ("git push:*", "git {push,-f}", True),
        ("git push:*", "git add *.py", False),
        ("git push:*", "git add .", False),
        # What nobody can read.
        ("rm:*", "echo 'x", True),
        ("rm:*", "echo $(ls", True),
        ("rm:*", "(" * 3000, True),
        ("rm:*", "r\0m x", True),
        ("rm:*", "echo " + "a " * 100_000, True),
        ("rm:*", "echo".ljust(100_000, "a"), False),
        ("rm:*", "echo".ljust(100_001, "a"), True),
        ("rm:*", "if <in rm x; then ls; fi", True),
        ("rm:*", "while >out A=1 rm x; do ls; done", True),
        ("rm:*", "[[ rm = x ]]", False),
        ("rm:*", "env --spl='rm x'", True),
        ("rm:*", "echo rm x | zsh --emulate sh", True),
        ("rm:*", "echo rm x | sudo -h -s", True),
        ("rm:*", "uv run rm x", True),
        ("rm:*", "tmux new 'rm x'", True),
        ("rm:*", "npx -c 'rm x'", True),
        ("rm:*", "sudo" + " a" * 199, False),
        ("rm:*", "sudo" + " a" * 200, True),
        ("rm:*", "ls" + " a" * 200, False),
    ],
)
def test_a_rule_of_bash_covers_what_may_run_what_it_names(
    pattern: str, command: str, covered: bool
) -> None:
    assert covers_command(pattern, command) is covered
    assert is_run(f"Bash({pattern})", "run_shell_command", {"command": command}) is covered


def test_eight_shells_inside_each_other_are_read_and_with_nine_the_rule_covers_all() -> None:
    commands = ["ls"]
    for _ in range(9):
        commands.append(f"bash -c {shlex.quote(commands[-1])}")
    assert [covers_command("rm:*", command) for command in commands[-2:]] == [False, True]


def test_commands_inside_commands_are_read_in_bounded_time() -> None:
    command = "ls"
    for _ in range(4):
        command = f"sudo {'eval ' * 30}{shlex.quote(command)}"
    started = time.perf_counter()
    assert not covers_command("rm:*", "sudo bash -c 'sudo bash -c ls'")
    assert covers_command("rm:*", "sudo bash -c 'sudo bash -c rm'")
    covers_command("rm:*", command)
    covers_command("rm -rf:*", f"find {'x ' * 50_000}")
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("src/**", "/repo/src/a/b.py", True),
        ("src/**", "src/a.py", True),
        ("src/**", "/repo/other/src/a.py", False),
        ("src", "/repo/src/a.py", True),
        ("src/", "/repo/lib/src/a.py", True),
        ("./src/*", "/repo/src/a.py", True),
        ("src/*", "/repo/src/a/b.py", True),
        ("src/*.py", "/repo/src/a/b.py", False),
        ("*.ts", "/repo/a/b/c.ts", True),
        ("*.ts", "/repo/a.tsx", False),
        ("*.ts", "/elsewhere/a.ts", False),
        ("**/*.ts", "/repo/a.ts", True),
        ("a/**/b", "/repo/a/b", True),
        ("a/**/b", "/repo/a/x/y/b", True),
        ("a/**/b", "/repo/a/xb", False),
        (".env", "/repo/deep/.env", True),
        (".env", "/repo/.env.local", False),
        (".env*", "/repo/.env.local", True),
        ("SRC/**", "/repo/src/a", True),
        ("//etc/**", "/etc/passwd", True),
        ("//etc/**", "/repo/etc/passwd", False),
        ("/src/**", "/repo/src/a", True),
        ("src/[ab].py", "/repo/src/a.py", True),
        ("src/[!ab].py", "/repo/src/a.py", False),
        ("src/[!ab].py", "/repo/src/c.py", True),
        ("src/[a", "/repo/src/[a", True),
        (r"src/\*.py", "/repo/src/*.py", True),
        (r"src/\*.py", "/repo/src/a.py", False),
        ("src/?.py", "/repo/src/a.py", True),
        ("src/**", "/repo/src/../etc/x", False),
        ("src/**", "/repo/x/../src/y", True),
        ("..hidden", "/repo/..hidden", True),
        # No file has such a name, so nobody can say which is meant.
        ("src/**", "/repo/a\0b", True),
    ],
)
def test_a_rule_of_files_covers_paths_as_a_gitignore_does(
    pattern: str, path: str, covered: bool
) -> None:
    assert covers_path(pattern, path, "/repo") is covered
    assert is_run(f"Edit({pattern})", "write_file", {"file_path": path, "content": ""}) is covered
    assert is_run(f"Read({pattern})", "read_file", {"path": path}) is covered


def test_a_rule_with_a_leading_slash_begins_in_the_working_directory_or_above_it() -> None:
    assert covers_path("/src/**", "/repo/src/a", "/repo/deep/er")
    assert covers_path("/repo/**", "/repo/src/a", "/repo/deep")
    assert not covers_path("/src/**", "/repo/other/src/a", "/repo/deep/er")


def test_parentheses_of_a_pattern_may_be_escaped() -> None:
    rule = r"Bash(echo \(x\):*)"
    assert is_run(rule, "run_shell_command", {"command": "echo '(x)' y"})
    assert not is_run(rule, "run_shell_command", {"command": "echo x"})


def test_a_rule_may_begin_at_home() -> None:
    home = os.path.expanduser("~")
    assert covers_path("~/.ssh/**", f"{home}/.ssh/id", "/repo")
    assert covers_path("~/.ssh/**", "~/.ssh/id", "/repo")
    assert not covers_path("~/.ssh/**", "/repo/.ssh/id", "/repo")


def test_a_link_is_no_way_around_a_rule(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("secret")
    assert covers_path("secret/**", f"{tmp_path}/link/x", str(tmp_path))
    assert covers_path("link/**", f"{tmp_path}/link/x", str(tmp_path))
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "deep").symlink_to("../secret/folder")
    assert covers_path(f"/{tmp_path}/secret/**", "deep/../key", f"{tmp_path}/repo")


@pytest.mark.parametrize(
    ("condition", "tool", "tool_input", "runs"),
    [
        ("Bash", "run_shell_command", {"command": "x"}, True),
        ("Bash", "read_file", {"path": "x"}, False),
        ("Bash()", "run_shell_command", {"command": "x"}, True),
        ("Bash(*)", "run_shell_command", {"command": "x"}, True),
        ("run_shell_command", "run_shell_command", {}, True),
        ("Bash(ls)", "run_shell_command", {}, True),
        ("Bash(ls)", "run_shell_command", {"command": 3}, True),
        # Rules of Edit are for all tools that edit, those of Read for all that read.
        ("Edit(*.py)", "write_file", {"path": "a.py"}, True),
        ("Edit(*.py)", "replace", {"path": "a.py"}, True),
        ("Edit(*.py)", "read_file", {"path": "a.py"}, False),
        ("Edit", "write_file", {}, True),
        ("Write(*.py)", "replace", {"path": "a.py"}, False),
        ("MultiEdit(*.py)", "replace", {"path": "a.py"}, True),
        ("Read(*.py)", "grep", {"pattern": "x"}, True),
        ("Read(*.py)", "glob", {"pattern": "x", "path": "/elsewhere"}, True),
        ("Read(*.py)", "replace", {"path": "a.py"}, False),
        ("Edit(*.py)", "write_file", {"content": ""}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "https://example.com/x"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "https://EXAMPLE.com./"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "http://u@example.com:8080"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "https://example.com@x.org"}, False),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "https://x.org\\@y.org"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "https://x.org/example.com"}, False),
        ("WebFetch(domain:*.example.com)", "web_fetch", {"url": "https://a.example.com"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "example.com/x"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "https:/example.com"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "https:example.com"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {"url": "https://[x"}, True),
        ("WebFetch(domain:example.com)", "web_fetch", {}, True),
        ("Agent(Explore)", "task", {"subagent_name": "Explore"}, True),
        ("Task(Explore)", "delegate_to_agent", {"agent_name": "Plan"}, False),
        ("Agent(general-purpose)", "task", {}, True),
        ("Skill(pdf)", "activate_skill", {"name": "pdf"}, True),
        ("mcp__files", "mcp__files__read", {}, True),
        ("mcp__files__*", "mcp__files__read", {}, True),
        ("mcp__files__read", "mcp__files__read", {}, True),
        ("mcp__files__write", "mcp__files__read", {}, False),
        ("mcp__file", "mcp__files__read", {}, False),
        ("mcp__*", "mcp__files__read", {}, True),
        # A rule that nobody can read narrows nothing, nor does an input that nobody can show.
        ("Bash(git push", "read_file", {"path": "x"}, True),
        ("mcp__files__read(x)", "mcp__files__read", {}, True),
        ("Bash", "read_file", {"path": "x", "absolute_path": "y"}, True),
    ],
)
def test_a_rule_covers_the_calls_of_its_tool(
    condition: str, tool: str, tool_input: dict[str, Any], runs: bool
) -> None:
    assert is_run(condition, tool, tool_input) is runs


def test_a_rule_knows_the_tool_of_a_server_whatever_the_host_calls_it() -> None:
    context = {"server_name": "files", "tool_name": "read_file"}
    fields: dict[str, Any] = {"tool_input": {"path": "a"}, "mcp_context": context}
    assert is_run("mcp__files", "read_file", **fields)
    assert not is_run("Read", "read_file", **fields)


def test_a_rule_knows_the_tools_that_the_host_declares() -> None:
    tools = {**TOOLS, "my_shell": ToolAlias("Bash", {"command": ("line",)})}
    for line, runs in (("git push", True), ("ls", False)):
        fields = {"tool_name": "my_shell", "tool_input": {"line": line}}
        document = make_document("BeforeTool", fields, tools=tools)
        assert CLAUDE.applies(make_hook("PreToolUse", "Bash(git push:*)"), document) is runs


def test_a_rule_is_about_the_call_as_claude_worded_it() -> None:
    original = {"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/repo/a.ipynb"}}
    fields = {"tool_name": "replace", "tool_input": {"file_path": "/repo/a.ipynb"}}
    document = make_document(
        "BeforeTool", fields, facts=Facts(original=Original("claude", original))
    )
    assert CLAUDE.applies(make_hook("PreToolUse", "Edit(*.ipynb)"), document)
    assert CLAUDE.applies(make_hook("PreToolUse", "NotebookEdit"), document)
    assert not CLAUDE.applies(make_hook("PreToolUse", "Edit(*.py)"), document)


@pytest.mark.parametrize(
    ("event", "key", "fields"),
    [
        ("BeforeAgent", "UserPromptSubmit", {"prompt": "x"}),
        ("SessionStart", "SessionStart", {"source": "startup"}),
        ("PostToolBatch", "PostToolBatch", {"tool_calls": []}),
        ("SubagentStop", "SubagentStop", {}),
    ],
)
def test_a_hook_with_a_condition_never_runs_where_there_is_no_call(
    event: str, key: str, fields: dict[str, Any]
) -> None:
    document = make_document(event, fields)
    assert not CLAUDE.applies(make_hook(key, "Bash"), document)
    assert CLAUDE.applies(make_hook(key), document)
    assert CLAUDE.applies(make_hook(key, ""), document)


@pytest.mark.parametrize(
    ("response", "key"),
    [
        ({"llmContent": "x"}, "PostToolUse"),
        ({"llmContent": "x", "error": {"message": "no"}}, "PostToolUseFailure"),
        ("text", "PostToolUse"),
    ],
)
def test_hooks_after_a_tool_run_by_whether_it_failed(response: object, key: str) -> None:
    both = make_hook("PostToolUse"), make_hook("PostToolUseFailure")
    native = CommandHook(name="native", command="true")
    fields = {"tool_name": "t", "tool_input": {}, "tool_response": response}
    document = make_document("AfterTool", fields)
    plan = HookExecutionPlan(document.event, (*both, native))
    narrowed = narrow_plan(plan, document)
    assert narrowed is not None
    assert [hook.dialect_event for hook in narrowed.hooks] == [key, ""]
    alone = HookExecutionPlan(document.event, both[:1])
    assert (narrow_plan(alone, document) is None) is (key != "PostToolUse")


WORDS = st.sampled_from(["git", "push", "ls", "'a b'", "-x", "sudo", "A=1", "bash", "-c", "eval"])
JOINTS = st.sampled_from([" ; ", " && ", " | ", "\n", " & ", " || "])
AROUND = st.sampled_from(["{}", "({})", "echo $({})", "if true; then {}; fi"])
SIMPLE = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


@given(
    SIMPLE, JOINTS, SIMPLE, st.sampled_from(["{}", "({})", "echo $({})", "if true; then {}; fi"])
)
def test_a_command_hides_in_no_other(first: str, joint: str, last: str, around: str) -> None:
    command = around.format(f"{first}{joint}rm -rf x{joint}{last}")
    assert covers_command("rm:*", command)
    assert covers_command("rm -rf:*", command)


@given(st.text("gitrm $`(){};&|<>'\"\\\n*#=-", max_size=30), st.text("git* :rm", max_size=8))
def test_any_command_and_any_pattern_are_survived(command: str, pattern: str) -> None:
    assert covers_command(pattern, command) in (True, False)


@given(st.text("a/*?[]!~.\\", max_size=8), st.text("a/.~\0", max_size=8))
def test_any_path_and_any_pattern_are_survived(pattern: str, path: str) -> None:
    assert covers_path(pattern, path, "/repo") in (True, False)


@pytest.mark.parametrize(("command", "ran"), [("git push", True), ("git pull", False)])
async def test_in_a_sequence_a_rule_is_about_the_call_as_the_hooks_before_left_it(
    tmp_path: Path, command: str, ran: bool
) -> None:
    guard = {"type": "command", "command": "echo no >&2; exit 2", "if": "Bash(git push:*)"}
    write(tmp_path / PROJECT_FILE, hooks(guard))
    loaded = Hooks.load(tmp_path, claude=True, trusted=True)
    loaded.on("BeforeTool", sequential=True)(
        lambda _event: {"hookSpecificOutput": {"tool_input": {"command": command}}}
    )
    with loaded:
        answer = await loaded.before_tool("run_shell_command", {"command": "git p"})
    assert answer.denied is ran
    assert answer.plan is not None
    assert len(answer.plan.hooks) == len(answer.results) == 1 + ran
