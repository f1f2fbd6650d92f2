"""The command hooks: the same for hookline, for the baseline and for the peer."""

import json
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import fixtures
from hookline import Config

HOOK = "cat >/dev/null; echo {}"

_SHELL_SCRIPT = f"#!/bin/sh\n{HOOK}\n"
_PYTHON_SCRIPT = """\
import json
import re
import sys

event = json.load(sys.stdin)
secret = re.search(r"AKIA[0-9A-Z]{16}", json.dumps(event["tool_input"]))
print(json.dumps({"decision": "deny" if secret else "allow"}))
"""


class CommandCase(msgspec.Struct, frozen=True, eq=False):
    """An event with a number of equal hooks; ``name`` is its name in the peer's driver."""

    name: str
    title: str
    command: str
    count: int = 1
    tool_input: dict[str, Any] = msgspec.field(default_factory=lambda: fixtures.TOOL_INPUT)

    def payload(self) -> dict[str, Any]:
        """The document that each hook reads."""
        return fixtures.event(self.tool_input)

    def config(self, directory: Path, **more: Any) -> Config:
        """The configuration of hookline; ``more`` is added to each hook."""
        hooks = [
            {"type": "command", "name": f"hook {number}", "command": self.command, **more}
            for number in range(self.count)
        ]
        return Config(working_dir=directory, hooks={"BeforeTool": [{"hooks": hooks}]})


class Scripts:
    """The scripts of the hooks, in the directory where hooks run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.shell = directory / "hook.sh"
        self.python = directory / "hook.py"
        self.environment = directory / "environment"
        self._answer = directory / "answer.json"

    def write(self) -> None:
        """Write the files."""
        self.directory.mkdir(exist_ok=True)
        self.shell.write_text(_SHELL_SCRIPT)
        self.shell.chmod(0o755)
        self.python.write_text(_PYTHON_SCRIPT)
        self._answer.write_text(json.dumps({"systemMessage": "a" * fixtures.MEGABYTE}))

    def parallel(self) -> list[CommandCase]:
        """One, some and many hooks on one event."""
        return [
            CommandCase("command", "one command hook", HOOK),
            CommandCase("command-10", "10 command hooks in parallel", HOOK, 10),
            CommandCase("command-50", "50 command hooks in parallel", HOOK, 50),
        ]

    def large(self) -> list[CommandCase]:
        """Hooks with long input or output."""
        one, ten = fixtures.file_of(1), fixtures.file_of(10)
        printing = f"cat >/dev/null; cat '{self._answer}'"
        return [
            CommandCase("in-1", "one command hook, 1 MB in", HOOK, tool_input=one),
            CommandCase("in-10", "one command hook, 10 MB in", HOOK, tool_input=ten),
            CommandCase("out-1", "one command hook, 1 MB out", printing),
        ]

    def python_hook(self) -> CommandCase:
        """A Python script, the kind of hook that people write most."""
        command = f"{self.environment / 'bin' / 'python'} {self.python}"
        return CommandCase("python", "a Python hook (json, re)", command)

    def for_the_peer(self) -> list[dict[str, Any]]:
        """All cases as the peer's driver reads them."""
        return [
            {"name": c.name, "command": c.command, "count": c.count, "toolInput": c.tool_input}
            for c in (*self.parallel(), *self.large(), self.python_hook())
        ]
