"""What the tests of ``hookline test`` share: a project with a hook, and ways to run its tests."""

import json
import os
from typing import Any

from tests.cli.command import Done, command_hook, settings
from tests.cli.conftest import Call
from tests.harness.scratch import Project

NO_KEYS = """#!/bin/sh
if grep -q 'AKIA[0-9A-Z]'; then
  echo 'this text holds an AWS key; read it from the environment instead' >&2
  exit 2
fi
"""
TESTS = """{
  // what both of them are about
  "event": "BeforeTool", "tool": "write_file",
  "tests": [
    {
      "name": "a key is refused",
      "tool_input": {"content": "k = AKIA77"},
      "expect": {"decision": "deny", "reason": {"contains": "AWS key"}},
    },
    {
      "name": "a key in a test is written",
      "tool_input": {"content": "AKIA_TEST"},
      "expect": {"decision": "allow", "reason": null},
    },
    {"name": "later", "skip": "needs git", "tool_input": {}, "expect": {}},
  ],
}
"""


def with_keys(project: Project) -> Project:
    """A project with a hook, and a test for which it is too strict."""
    project.script("hooks/no-keys.sh", NO_KEYS.replace("[0-9A-Z]", ""))
    hook = command_hook("hooks/no-keys.sh", name="no-keys")
    project.settings(settings("BeforeTool", hook, matcher="write_file|replace"))
    project.write(".hookline/tests/keys.hooktest.json", TESTS)
    return project


def run(call: Call, project: Project, *arguments: str) -> Done:
    os.chdir(project.path)
    return call("test", "--trust", *arguments)


def failures_of(call: Call, project: Project, test: dict[str, Any]) -> list[dict[str, Any]]:
    """What is not as the test of an event expects."""
    file = project.write("t.hooktest.json", json.dumps({"event": "BeforeAgent", **test}))
    document = run(call, project, str(file), "--json").document
    (outcome,) = document["tests"]
    return outcome.get("failures", [])  # type: ignore[no-any-return]
