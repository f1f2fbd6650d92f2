"""Start-up is paid by every call, so what each verb loads is pinned."""

import json
import subprocess
import sys

import pytest

from tests.cli.command import EVERY_VERB, answer, command_hook, settings
from tests.harness.scratch import Project

_LOADED = """
import json, sys
# Where it is installed, msgspec loads it; nothing of ours may need it.
sys.modules["typing_extensions"] = None
before = set(sys.modules)
from hookline.cli import main
main(sys.argv[1:])
print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""
# Elsewhere than on Linux platformdirs is asked for the places of settings.
_ON_LINUX = sys.platform == "linux"
_THIRD_PARTY = {"msgspec"} if _ON_LINUX else {"msgspec", "platformdirs"}
# Each of these takes a command longer to load than a hook takes to run.
_SLOW = {"asyncio", "dataclasses", "inspect", "json", "logging", "shutil", "subprocess", "tempfile"}
_SLOW_ON_LINUX = {"pathlib", *_SLOW} if _ON_LINUX else _SLOW - {"shutil", "tempfile"}


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
    ours = {name for name in modules if name.startswith("hookline")}
    about_help = {"hookline.cli.help", "hookline.cli.screen"}
    about_help |= {"hookline._support", "hookline._support.escapes"}
    assert ours - {"hookline._version"} - about_help == {"hookline", "hookline.cli"}
    assert third_party(modules) == set()
    assert not modules & {"argparse", "asyncio", "json", "logging"}


def test_list_loads_no_terminal_no_sdk_no_regex_and_no_engine(armed: Project) -> None:
    modules = loaded(armed, "list")
    assert own(modules) == EVERY_VERB | {"list"}
    assert third_party(modules) <= _THIRD_PARTY
    assert modules.isdisjoint(_SLOW_ON_LINUX)
    assert modules.isdisjoint({"argparse", "hookline.engine.engine", "hookline.translate"})


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_fire_loads_no_terminal_no_sdk_no_regex_and_no_event_loop(
    armed: Project, form: list[str]
) -> None:
    asked = ["--tool", "write_file", "--tool-input", "{}", "--trust"]
    modules = loaded(armed, "fire", "BeforeTool", *asked, *form)
    assert own(modules) == EVERY_VERB | {"fire", "events"}
    assert "argparse" not in modules
    assert not {name for name in modules if name.startswith("hookline.translate.")}
    assert third_party(modules) <= _THIRD_PARTY
    assert modules.isdisjoint(_SLOW_ON_LINUX)
    assert not {name for name in modules if name.startswith("hookline.testing")}


def test_a_hook_of_plain_words_is_started_without_a_reader_of_shell_commands(
    project: Project,
) -> None:
    project.script("guard.sh", "#!/bin/sh\necho no >&2\nexit 2\n")
    project.settings(settings("SessionEnd", command_hook("sh ./guard.sh --all", name="plain")))
    modules = loaded(project, "fire", "SessionEnd", "--input", '{"reason": "exit"}', "--trust")
    readers = {f"hookline.shell.{name}" for name in ("tokens", "commands", "arguments")}
    assert modules.isdisjoint(readers)
    assert "hookline.shell.programs" in modules


def test_the_model_format_and_its_translation_are_loaded_by_model_events_alone(
    armed: Project,
) -> None:
    of_a_model = {"hookline.wire.model", "hookline.translate.genai"}
    asked = ["--tool", "write_file", "--tool-input", "{}", "--trust"]
    assert loaded(armed, "fire", "BeforeTool", *asked).isdisjoint(of_a_model)
    armed.settings(settings("BeforeModel", command_hook(answer(decision="allow"), name="yes")))
    request = {"model_request": {"model": "m", "contents": "Hello"}}
    modules = loaded(armed, "fire", "BeforeModel", "--input", json.dumps(request), "--trust")
    assert of_a_model <= modules
    assert "google" not in modules


def test_what_only_type_checkers_read_is_never_loaded(armed: Project) -> None:
    modules = loaded(armed, "fire", "SessionStart", "--input", '{"source": "startup"}')
    assert "hookline.wire.inputs" not in modules


def test_a_hook_system_without_a_bus_loads_no_event_loop() -> None:
    code = "import sys; sys.modules['typing_extensions'] = None; import hookline; "
    code += "hookline.Config().get_hook_system(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint({*_SLOW, "hookline.bus", "pathlib", "regex"})


def test_the_demo_loads_no_terminal_when_it_is_piped(project: Project) -> None:
    modules = loaded(project, "demo")
    demo = {"demo", "demo.models", "demo.steps", "demo.tools"}
    assert own(modules) == EVERY_VERB | demo | {"fire", "events"}
    assert third_party(modules) <= _THIRD_PARTY
