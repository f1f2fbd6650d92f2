"""Hooks of extensions as Gemini CLI and LLxprt have them: they find their own folder."""

from pathlib import Path

import pytest

from hookline.contract import Config
from hookline.shell.programs import argv_of
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionResult
from tests.eleven import Json
from tests.harness.scratch import Project

SAY = """#!/bin/sh\necho "$0 $*" >&2; exit 2\n"""


@pytest.fixture
def extension(tmp_path: Path) -> Project:
    made = Project(tmp_path / "ext $(touch x)")
    made.script("hooks/say.sh", SAY)
    return made


def fire(project: Project, *hooks: Json, path: object = None) -> list[HookExecutionResult]:
    """What becomes of the hooks of one extension."""
    given: Json = {"name": "e", "isActive": True, "hooks": {"BeforeTool": [{"hooks": hooks}]}}
    if path is not None:
        given["path"] = path
    config = Config(working_dir=project.path, extensions=[given])
    system = config.get_hook_system()
    assert system is not None
    try:
        fired = system.fire_blocking("BeforeTool", {"tool_name": "t", "tool_input": {}})
        return list(fired.results)
    finally:
        config.dispose()


def command(text: str, *args: str, **fields: object) -> Json:
    return {"type": "command", "command": text, **({"args": [*args]} if args else {}), **fields}


@pytest.mark.parametrize(
    "hook",
    [
        command("${extensionPath}/hooks/say.sh $extensionPath"),
        command("${extensionPath}${/}hooks${/}say.sh ${extensionPath}; exit 2"),
        command("${extensionPath}${pathSeparator}hooks/say.sh", "${extensionPath}"),
        command('"${extensionPath}/hooks/say.sh" "${DIR}"', env={"DIR": "${extensionPath}"}),
        command("hooks/say.sh $extensionPath"),
        command("sh", "hooks/say.sh", "${extensionPath}"),
        command("sh", "-c", '"$extensionPath/hooks/say.sh" "${extensionPath}"'),
    ],
)
def test_an_extensions_hook_finds_its_folder(
    project: Project, extension: Project, hook: Json
) -> None:
    # What the project has of that name is not the extension's.
    project.script("hooks/say.sh", "#!/bin/sh\necho planted >&2; exit 2\n")
    [result] = fire(project, hook, path=extension.path)
    folder = extension.path
    assert result.stderr.strip() == f"{folder}/hooks/say.sh {folder}"
    assert not list(project.path.parent.rglob("x"))


def test_the_workspace_is_the_project(project: Project, extension: Project) -> None:
    say = "${extensionPath}/hooks/say.sh"
    hooks = command(f"{say} $workspacePath"), command(say, "${workspacePath}${/}a")
    results = fire(project, *hooks, path=str(extension.path))
    said = [
        result.stderr.strip().removeprefix(f"{extension.path}/hooks/say.sh ") for result in results
    ]
    assert said == [str(project.path), f"{project.path}/a"]


@pytest.mark.parametrize("args", [(), ("x",)])
def test_without_a_path_it_stays_as_written_and_is_warned_of(
    project: Project, caplog: pytest.LogCaptureFixture, args: tuple[str, ...]
) -> None:
    # Nor can a project have a folder of that name that is taken for the extension's.
    project.script("${extensionPath}/hooks/say.sh", "#!/bin/sh\ntouch x\n")
    [result] = fire(project, command("${extensionPath}/hooks/say.sh", *args))
    assert not result.success
    assert "${extensionPath}/hooks/say.sh" in (result.error or "") + result.stderr
    assert not (project.path / "x").exists()
    assert "names ${extensionPath}, and its extension has no path" in caplog.text


def test_two_extensions_of_the_same_words_are_two_hooks(project: Project, tmp_path: Path) -> None:
    extensions = []
    for name in ("one", "two"):
        Project(tmp_path / name).script("say.sh", SAY)
        hooks = {"BeforeTool": [{"hooks": [command("${extensionPath}/say.sh")]}]}
        extensions.append({"name": name, "path": str(tmp_path / name), "hooks": hooks})
    config = Config(working_dir=project.path, extensions=extensions)
    system = config.get_hook_system()
    assert system is not None
    fired = system.fire_blocking("BeforeTool", {"tool_name": "t", "tool_input": {}})
    assert [result.stderr.strip() for result in fired.results] == [
        f"{tmp_path}/one/say.sh",
        f"{tmp_path}/two/say.sh",
    ]
    config.dispose()


def test_another_layers_hook_has_no_such_variables(project: Project) -> None:
    hook = command("${extensionPath}${/}x", "${workspacePath}")
    config = Config(working_dir=project.path, hooks={"BeforeTool": [{"hooks": [hook]}]})
    [entry] = config.get_settings().entries
    assert isinstance(entry.hook, CommandHook)
    written = ["${extensionPath}${/}x", "${workspacePath}"]
    assert argv_of(entry.hook, {"extensionPath": "/e", "workspacePath": "/w"}) == written
