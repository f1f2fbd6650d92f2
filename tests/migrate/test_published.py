"""Hooks of the kinds that people publish: moved, each decides as it did, or it was refused."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hookline.cli import main
from hookline.migrate.planning import (
    Plan,
    find_places,
    find_plugin_sources,
    find_sources,
    make_plan,
)
from tests.harness.scratch import Project

HOSTS = {"Bash": "run_shell_command", "Write": "write_file"}


class Event(NamedTuple):
    """A call of a tool as Claude's hooks read it, and as native ones do."""

    tool: str
    claude: dict[str, Any]
    native: dict[str, Any]


def bash(command: str) -> Event:
    return Event("Bash", {"command": command}, {"command": command})


def write(name: str, folder: Path) -> Event:
    return Event(
        "Write",
        {"file_path": str(folder / name), "content": "rm -rf /"},
        {"file_path": name, "content": "rm -rf /"},
    )


def decide_as_claude(
    project: Project, matcher: str | None, config: Mapping[str, Any], event: Event, **env: str
) -> str:
    """What Claude Code makes of a hook, by its reference."""
    is_list = re.fullmatch(r"[A-Za-z0-9_\- ,|]*", matcher or "")
    names = [name.strip() for name in re.split("[|,]", matcher or "")]
    matches = event.tool in names if is_list else re.search(matcher or "", event.tool)
    if matcher and not matches:
        return "allow"
    document = {
        "session_id": "s",
        "transcript_path": "",
        "cwd": str(project.path),
        "hook_event_name": "PreToolUse",
        "tool_name": event.tool,
        "tool_input": event.claude,
        "tool_use_id": "t",
    }
    done = subprocess.run(
        ["bash", "-c", config["command"]],
        input=json.dumps(document, separators=(",", ":")),
        cwd=project.path,
        env=os.environ | {"CLAUDE_PROJECT_DIR": str(project.path)} | env,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    if done.returncode == 2:
        return "deny"
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {}
    specific = said.get("hookSpecificOutput", {})
    if said.get("decision", "block") not in ("approve", "block") or (
        specific and specific.get("hookEventName") != "PreToolUse"
    ):
        return "allow"
    word = str(specific.get("permissionDecision", said.get("decision", "allow")))
    return {"block": "deny", "approve": "allow"}.get(word, word)


def decide_natively(project: Project, plan: Plan, event: Event) -> str:
    """What the moved hook says, run by ``hookline fire``."""
    hooks: dict[str, list[Any]] = {}
    for move in plan.moves:
        matcher = {} if move.matcher is None else {"matcher": move.matcher}
        hooks.setdefault(move.event, []).append({**matcher, "hooks": [move.hook]})
    settings = str(project.settings({"hooks": hooks}, file="moved.json"))
    tool = ["--tool", HOSTS[event.tool], "--tool-input", json.dumps(event.native)]
    at = ["--settings", settings, "--cwd", str(project.path)]
    return {0: "allow", 2: "deny", 3: "ask"}[main(["fire", "BeforeTool", *tool, *at])]


def plan_for(project: Project, matcher: str | None, config: Mapping[str, Any]) -> Plan:
    definition = {"hooks": [config]} | ({} if matcher is None else {"matcher": matcher})
    project.settings({"hooks": {"PreToolUse": [definition]}}, file=".claude/settings.json")
    places = find_places(str(project.path))
    return make_plan(find_sources(places, ("claude",)), places)


def inline(command: str) -> dict[str, Any]:
    return {"type": "command", "command": command}


DENY = """{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
 "permissionDecisionReason": "no"}}"""
PYTHON = """#!/usr/bin/env python3
\"\"\"Blocks rm -rf; see tool_name for more.\"\"\"
import json
import re
import sys


def main():
    event = json.load(sys.stdin)
    command = event.get("tool_input", {}).get("command", "")
    if re.search(r"\\brm\\b.*-rf", command):
        print("no", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
"""
TOOL_NAME = PYTHON.replace("command = ", "if event['tool_name'] != 'Bash': return\n    command = ")
SHELL = """#!/bin/bash
set -euo pipefail
input=$(cat)
if echo "$input" | jq -r .tool_input.command | grep -qE 'rm +-rf'; then
  echo "not that" >&2
  exit 2
fi
exit 0
"""
PROTECT = """#!/bin/bash
path=$(sed -n 's/.*"file_path":"\\([^"]*\\)".*/\\1/p')
case "$path" in /*/.env) echo "not .env" >&2; exit 2 ;; esac
"""
WHOLE = SHELL.replace("jq -r .tool_input.command | ", "")
ENV = '#!/bin/sh\njq -r .tool_input.command | grep -q "$FORBIDDEN" && exit 2\nexit 0\n'

# Matcher, command, scripts, and whether it moves.
PUBLISHED = {
    "python": ("Bash", "python3 $CLAUDE_PROJECT_DIR/guard.py", {"guard.py": PYTHON}, True),
    "quoted": ("Bash", '"$CLAUDE_PROJECT_DIR"/guard.py', {"guard.py": PYTHON}, True),
    "bash": ("Bash", "./guard.sh", {"guard.sh": SHELL}, True),
    "bash, whole": ("Bash", "./guard.sh", {"guard.sh": WHOLE}, False),
    "grep": ("Bash", "grep -q 'rm -rf' && { echo no >&2; exit 2; } || exit 0", {}, False),
    "jq": ("Bash", "jq -r .tool_input.command | grep -q rm && exit 2; exit 0", {}, True),
    "jq, answer": (
        "Bash",
        f"jq -e '.tool_input.command | test(\"rm\")' >/dev/null && echo '{DENY}' || true",
        {},
        False,
    ),
    "answer": ("Bash", f"[ -f guard.py ] || echo '{DENY}'", {}, False),
    "any tool of mcp": (
        "Bash|mcp__.*",
        "jq -r .tool_input.command | grep -q 'rm -rf' && exit 2; exit 0",
        {},
        True,
    ),
    "freeze": ("Write|Edit|mcp__.*slack_(send|schedule)", "echo no >&2; exit 2", {}, True),
    "everything": (None, "echo no >&2; exit 2", {}, True),
    "tool name": ("Bash", "./guard.py", {"guard.py": TOOL_NAME}, False),
    "path": ("Write|Edit", "./protect.sh", {"protect.sh": PROTECT}, False),
    "content": ("Write", "grep -q 'rm -rf' && exit 2; exit 0", {}, False),
    "all tools, one field": (None, "./guard.sh", {"guard.sh": SHELL}, False),
    "answer and failure": ("Bash", f"echo '{DENY}'; exit 1", {}, False),
    "in a loop": ("Bash", f"for w in x y; do [ $w = x ] && echo '{DENY}'; done", {}, False),
    "wrapped": (
        "Bash",
        "bash wrap.sh",
        {"wrap.sh": "./guard.py\nexit $?\n", "guard.py": PYTHON},
        True,
    ),
}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_a_published_hook_decides_as_before_or_stays(kind: str, project: Project) -> None:
    matcher, command, scripts, does_move = PUBLISHED[kind]
    if "jq" in f"{command}{scripts}" and shutil.which("jq") is None:
        pytest.skip("needs jq")
    for name, text in scripts.items():
        project.script(name, text)
    plan = plan_for(project, matcher, inline(command))
    assert bool(plan.moves) is does_move
    for event in (bash("rm -rf /"), bash("ls"), write(".env", project.path)) if does_move else ():
        before = decide_as_claude(project, matcher, inline(command), event)
        assert decide_natively(project, plan, event) == before


@pytest.mark.parametrize("form", ["path", "list", "object", "default"])
def test_a_plugin_s_guard_decides_as_before_wherever_its_hooks_are_written(
    form: str, project: Project
) -> None:
    """Its folder is called by a name with a blank, and is not quoted in the command."""
    root = project.path / "my plugin"
    project.script("my plugin/hooks/guard.py", PYTHON)
    config = inline("python3 ${CLAUDE_PLUGIN_ROOT}/hooks/guard.py")
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [config]}]}}
    named: dict[str, Any] = {
        "path": {"hooks": "./more.json"},
        "list": {"hooks": ["./more.json"]},
        "object": hooks,
        "default": {},
    }
    project.settings({"name": "p", **named[form]}, file="my plugin/.claude-plugin/plugin.json")
    file = "hooks/hooks.json" if form == "default" else "more.json"
    project.settings(hooks, file=f"my plugin/{file}")
    places = find_places(str(project.path))
    plan = make_plan(find_plugin_sources(str(root), places, "project"), places)
    (move,) = plan.moves
    assert move.hook["env"]["CLAUDE_PLUGIN_ROOT"] == str(root)
    assert decide_natively(project, plan, bash("rm -rf /")) == "deny"
    assert decide_natively(project, plan, bash("ls")) == "allow"


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_a_guard_takes_its_variables_along(project: Project) -> None:
    project.script("guard.sh", ENV)
    config = inline("./guard.sh")
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [config]}]}
    project.settings({"env": {"FORBIDDEN": "rm"}, "hooks": hooks}, file=".claude/settings.json")
    places = find_places(str(project.path))
    plan = make_plan(find_sources(places, ("claude",)), places)
    for event in (bash("rm -rf /"), bash("ls")):
        before = decide_as_claude(project, "Bash", config, event, FORBIDDEN="rm")
        assert decide_natively(project, plan, event) == before


READS = (
    *("jq -r .tool_input.command | grep -q rm", "grep -q Bash", "true"),
    *('grep -q \'"tool_name":"Bash"\'', '[ -z "$(grep -v \'"/\')" ]'),
)
SAYS = (
    "echo no >&2; exit 2",
    """echo '{"decision": "block", "reason": "no"}'""",
    """echo '{"decision": "deny", "reason": "no"}'""",
    f'echo \'{DENY[:-1]}, "decision": "approve"}}\'',
    f"echo '{DENY}'",
    'X=block; printf \'{"decision": "%s"}\' $X',
)
ENDS = ("", "; exit 0", "; exit 1", "; false", "; [ -n x ]")
MATCHERS = ("Bash", None, "Write|Edit", "Bash|mcp__.*", "^(?!Write).*", "Bas")


def make_guards() -> Iterator[tuple[str, str | None]]:
    for reads, says, ends, matcher in product(READS, SAYS, ENDS, MATCHERS):
        yield f"if {reads}; then {says}{ends}; fi", matcher


def test_no_guard_that_moves_lets_pass_what_it_blocked(project: Project) -> None:
    decided: list[str] = []
    for command, matcher in make_guards():
        plan = plan_for(project, matcher, inline(command))
        for event in (bash("rm -rf /"), write("x", project.path)) if plan.moves else ():
            before = decide_as_claude(project, matcher, inline(command), event)
            assert (command, matcher, decide_natively(project, plan, event)) == (
                *(command, matcher),
                before,
            )
            decided.append(before)
    assert {*decided} == {"deny", "allow"}
