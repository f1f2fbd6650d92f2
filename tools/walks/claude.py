"""The same event, answered by a hook that was written for Claude Code."""

import sys

from tools.walks import walking
from tools.walks.project import write_project

write_project(".claude/settings.json", event="PreToolUse", matcher="Bash")
with walking():
    from hookline.cli import main

    tool = ["--tool", "run_shell_command", "--tool-input", '{"command": "ls"}']
    status = main(["fire", "BeforeTool", "--claude", "--trust", *tool])
sys.exit(status)
