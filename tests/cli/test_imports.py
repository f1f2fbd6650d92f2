"""Start-up is paid by every call, so what each verb loads is pinned."""

import json
import subprocess
import sys

import pytest

from tests.cli.command import answer, command_hook, settings
from tests.harness.scratch import Project

_LOADED = """
import json, sys
before = set(sys.modules)
from hookline.cli import main
main(sys.argv[1:])
print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""
_EVERY_VERB = {"arguments", "failures", "layout", "screen", "text", "verbs"}
_FIRE = _EVERY_VERB | {"document", "firing", "payload", "verbs.fire", "verdict"}


def loaded(project: Project, *arguments: str) -> set[str]:
    """The modules that a piped command loads, the interpreter's own start not counted."""
    command = [sys.executable, "-c", _LOADED, *arguments]
    done = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def own(modules: set[str]) -> set[str]:
    return {name.removeprefix("hookline.cli.") for name in modules if "hookline.cli." in name}


def third_party(modules: set[str]) -> set[str]:
    ours = {*sys.stdlib_module_names, "hookline"}
    return {top for name in modules if (top := name.partition(".")[0]) not in ours}


@pytest.fixture
def armed(project: Project) -> Project:
    hook = command_hook(answer(decision="allow"), name="yes")
    project.settings(settings("BeforeTool", hook, matcher="write_file|replace"))
    return project


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], []])
def test_the_version_and_the_help_load_nothing_of_the_engine(
    project: Project, arguments: list[str]
) -> None:
    modules = loaded(project, *arguments)
    assert {name for name in modules if name.startswith("hookline")} == {
        "hookline",
        "hookline._version",
        "hookline.cli",
    }
    assert third_party(modules) == set()
    assert not modules & {"argparse", "asyncio", "json", "logging"}


def test_list_loads_no_terminal_no_sdk_no_regex_and_runs_no_event_loop(armed: Project) -> None:
    modules = loaded(armed, "list")
    assert own(modules) == _EVERY_VERB | {"verbs.list"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    assert "hookline.translate.genai" not in modules


@pytest.mark.parametrize("more", [{"report"}, set()])
def test_fire_loads_no_terminal_no_sdk_and_no_regex(armed: Project, more: set[str]) -> None:
    asked = ["--tool", "write_file", "--tool-input", "{}", "--trust"]
    modules = loaded(armed, "fire", "BeforeTool", *asked, *([] if more else ["--json"]))
    assert own(modules) == _FIRE | more
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    assert "json" not in modules
    assert not {name for name in modules if name.startswith("hookline.testing")}


def test_the_demo_loads_no_terminal_when_it_is_piped(project: Project) -> None:
    modules = loaded(project, "demo")
    demo = {"demo_screen", "demo_session", "demo_steps", "demo_tools", "verbs.demo"}
    assert own(modules) == _EVERY_VERB | demo | {"firing", "report"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
