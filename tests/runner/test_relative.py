"""A guard named by a relative path runs wherever the agent was started, and no other in its place.

Each script says where it is; what runs is compared with what ``started_by`` says would.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from hookline.contract import Config
from hookline.shell.programs import hook_variables, resolve_relative, started_by
from hookline.wire.hooks import CommandHook, HookSource
from tests.harness.scratch import Project
from tests.runner.planned import run_one, script

pytestmark = pytest.mark.slow

WHERE = """#!/bin/sh\necho "$0 in $(pwd)" >&2; exit 2\n"""
WHERE_PY = "import os, sys\nsys.exit(f'{sys.argv[0]} in {os.getcwd()}')\n"
WHERE_JS = "console.error(process.argv[1] + ' in ' + process.cwd()); process.exit(2)\n"


@pytest.fixture
def places(project: Project, tmp_path: Path) -> Path:
    """A project with a guard, a subfolder with one of the same name, and a user's settings."""
    for base in (project.path, project.path / "sub", tmp_path / "user's $(touch x) settings"):
        (base / "hooks").mkdir(parents=True)
        for name, text in (("x.sh", WHERE), ("x.py", WHERE_PY), ("x.js", WHERE_JS)):
            (base / "hooks" / name).write_text(text)
            (base / "hooks" / name).chmod(0o755)
        shutil.copy(base / "hooks/x.py", base / "x.py")
        shutil.copy(base / "hooks/x.sh", base / "x.sh")
    return tmp_path


async def where(hook: CommandHook, places: Path, *, cwd: str = "sub") -> str:
    """The directory whose script ran, of those three; a script always runs in the cwd."""
    project, here = str(places / "project"), str(places / "project" / cwd)
    result = await run_one(hook, cwd=here, project_dir=project)
    said, _, ran_in = result.stderr.strip().partition(" in ")
    assert ran_in == here, result
    variables = hook_variables(
        project_dir=project, cwd=here, session_id="s-1", event="BeforeTool", hook=hook
    )
    started = started_by(hook, variables, cwd=here, project_dir=project, environ=dict(os.environ))
    if started is not None and started.script_file is not None and "node" not in hook.command:
        assert os.path.samefile(started.script_file, os.path.join(here, said))
    return os.path.dirname(os.path.join(here, said).replace("/./", "/")).removesuffix("/hooks")


COMMANDS: list[tuple[str, tuple[str, ...] | None]] = [
    *[
        (command, None)
        for command in (
            *("hooks/x.sh", "./hooks/x.sh", "hooks/x.sh --now", "hooks/x.sh 'a b'"),
            *("python3 hooks/x.py", "python3 -u ./hooks/x.py", "python3 x.py", "sh -e hooks/x.sh"),
            *("bash x.sh", "env A=1 python3 hooks/x.py", "env hooks/x.sh", "/bin/sh hooks/x.sh"),
            *("hooks/x.sh | cat", "hooks/x.sh && true", "FOO=1 hooks/x.sh", ">log hooks/x.sh"),
            *("true; hooks/x.sh", "{ hooks/x.sh; }", "( hooks/x.sh )", "if hooks/x.sh; then :; fi"),
            *(
                "exec hooks/x.sh",
                "! hooks/x.sh",
                '"hooks/x.sh" <&0',
                "'hooks/x.sh'",
                "hooks/\\x.sh",
            ),
            *("timeout 20 hooks/x.sh", "nice -n 1 sh hooks/x.sh", "cat | python3 hooks/x.py"),
            *("FOO=1 env BAR=2 sh hooks/x.sh", "case a in a) hooks/x.sh;; esac"),
            *("o=$(hooks/x.sh)", 'o="$(sh hooks/x.sh)"', "for i in 1; do hooks/x.sh; done"),
            *("[[ -n a ]] && hooks/x.sh", "$KIND/x.sh", "sh $KIND/x.sh | cat", "${KIND}/x.sh && :"),
            *("</dev/null sh hooks/x.sh", "((1)) && hooks/x.sh", "f() { hooks/x.sh; }; f"),
        )
    ],
    ("bash -c 'hooks/x.sh'", None),
    ("true; sh -ec 'true && hooks/x.sh' sh a | cat", None),
    ("A=1 bash -c 'sh -c \"exec hooks/x.sh\"'", None),
    ("sh", ("-c", "hooks/x.sh | cat; exit 2")),
    ("env", ("bash", "-o", "pipefail", "-c", "python3 hooks/x.py | cat")),
    ("hooks/x.sh", ("--now",)),
    ("python3", ("-u", "hooks/x.py")),
    ("env", ("A=1", "bash", "-e", "hooks/x.sh")),
    ("timeout", ("20", "./hooks/x.sh")),
]


@pytest.mark.parametrize(("command", "args"), COMMANDS, ids=str)
async def test_a_subfolder_cannot_shadow_a_projects_guard(
    places: Path, command: str, args: tuple[str, ...] | None
) -> None:
    fields: dict[str, Any] = {"args": args, "env": {"KIND": "hooks"}, "source": HookSource.PROJECT}
    assert await where(script(command, **fields), places) == str(places / "project")


@pytest.mark.parametrize(("command", "args"), COMMANDS, ids=str)
async def test_a_users_hook_is_found_beside_its_settings_not_in_the_project(
    places: Path, command: str, args: tuple[str, ...] | None
) -> None:
    user = str(places / "user's $(touch x) settings")
    for source in (HookSource.USER, HookSource.SYSTEM, HookSource.EXTENSIONS):
        hook = script(command, args=args, env={"KIND": "hooks"}, source=source, directory=user)
        assert await where(hook, places) == user
    assert not list(places.rglob("x"))


@pytest.mark.parametrize(("command", "args"), COMMANDS, ids=str)
async def test_a_guard_does_not_vanish_with_a_subfolder(
    places: Path, command: str, args: tuple[str, ...] | None
) -> None:
    (places / "project/deep/er").mkdir(parents=True)
    for source in (HookSource.PROJECT, HookSource.USER, HookSource.RUNTIME):
        hook = script(command, args=args, env={"KIND": "hooks"}, source=source)
        assert await where(hook, places, cwd="deep/er") == str(places / "project")


@pytest.mark.parametrize("command", ["hooks/x.sh", "sh hooks/x.sh | cat", "python3 x.py"])
async def test_in_the_working_directory_it_is_called_as_written(places: Path, command: str) -> None:
    here = str(places / "project/sub")
    hook = script(command, directory=str(places), source=HookSource.USER)
    assert await where(hook, places) == here
    place = resolve_relative("hooks/x.sh", hook, cwd=here, project_dir=str(places / "project"))
    assert place == "hooks/x.sh"


@pytest.mark.parametrize(
    "command", ["cd hooks && ./x.sh", "cd hooks; sh x.sh", "cd ./hooks\npython3 x.py | cat"]
)
async def test_a_folder_that_is_entered_first_cannot_be_shadowed_either(
    places: Path, command: str
) -> None:
    project = places / "project"
    hook = script(command, source=HookSource.PROJECT)
    result = await run_one(hook, cwd=str(project / "sub"), project_dir=str(project))
    assert result.stderr.strip().endswith(f" in {project}/hooks")
    shutil.rmtree(project / "sub/hooks")
    result = await run_one(hook, cwd=str(project / "sub"), project_dir=str(project))
    assert result.stderr.strip().endswith(f" in {project}/hooks")


@pytest.mark.parametrize(
    "command",
    [
        *("o=`hooks/x.sh`", 'o="`sh hooks/x.sh | cat`"', "cat <<E\n$(hooks/x.sh)\nE"),
        "o=`echo \\`hooks/x.sh\\``",
    ],
)
async def test_a_guard_in_backticks_or_a_here_document_cannot_be_shadowed(
    places: Path, command: str
) -> None:
    hook = script(command, source=HookSource.PROJECT)
    assert await where(hook, places) == str(places / "project")
    # What backticks might read twice is left to the shell.
    user = places / "user's $(touch x) settings"
    await run_one(script(command, source=HookSource.USER, directory=str(user)), cwd=str(user))
    assert not list(places.rglob("x"))


@pytest.mark.parametrize(
    "command",
    [
        *("cd / && hooks/x.sh", 'cd "$HOME" && hooks/x.sh', "cd - ; hooks/x.sh", "echo hooks/x.sh"),
        *("cat hooks/x.sh", "ls -d hooks", "KIND=other; $KIND/x.sh", "hooks/*.sh", "# hooks/x.sh"),
        *("for KIND in a; do $KIND/x.sh; done", "[[ hooks/x.sh == y ]]", "cat <<E\nhooks/x.sh\nE"),
        *("echo `hooks/none.sh`", "hooks/none.sh | cat", "pushd / && hooks/x.sh"),
        *("echo 'hooks/x.sh'", "echo $((1)) hooks/x.sh", "(cd /; hooks/x.sh)", "$NONE/x.sh"),
        *("env -C / hooks/x.sh", "true >hooks/x.sh"),
    ],
)
def test_what_is_no_program_of_the_command_stays_as_written(places: Path, command: str) -> None:
    from hookline.shell.programs import resolve_in_command

    project = places / "project"
    hook = script(command, source=HookSource.PROJECT)
    values = {"KIND": "hooks", "HOOKLINE_PROJECT_DIR": str(project)}
    found = resolve_in_command(
        command, values, hook, cwd=str(project / "sub"), project_dir=str(project)
    )
    assert found == command


async def test_node_finds_a_guard_without_its_ending(places: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("there is no node here")
    for command in ("node hooks/x", "node hooks/x.js", "node --no-warnings hooks/x | cat"):
        hook = script(command, source=HookSource.PROJECT)
        assert await where(hook, places) == str(places / "project")


@pytest.mark.parametrize("trick", ["unreadable", "dangling"])
async def test_a_guard_that_cannot_be_looked_at_is_not_replaced(places: Path, trick: str) -> None:
    project = places / "project"
    if trick == "unreadable":
        if os.geteuid() == 0:
            pytest.skip("root looks at everything")
        (project / "hooks").chmod(0)
    else:
        (project / "hooks/x.sh").unlink()
        (project / "hooks/x.sh").symlink_to("nowhere")
    try:
        for command in ("hooks/x.sh", "hooks/x.sh | cat"):
            hook = script(command, source=HookSource.PROJECT)
            result = await run_one(hook, cwd=str(project / "sub"), project_dir=str(project))
            assert " in " not in result.stderr
    finally:
        (project / "hooks").chmod(0o755)


async def test_hooks_of_files_know_where_their_settings_are(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": "hooks/guard.sh"}]}]}
    project.settings({"hooks": hooks})
    project.script("hooks/guard.sh", "#!/bin/sh\necho of the project >&2; exit 2\n")
    user = Project(tmp_path / "config")
    user.settings({"hooks": hooks}, file="settings.json")
    user.script("hooks/guard.sh", "#!/bin/sh\necho of the user >&2; exit 2\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    os.rename(user.path, tmp_path / "hookline")
    (project.path / "sub").mkdir()
    config = Config.load(project.path / "sub", trusted=True)
    system = config.get_hook_system()
    assert system is not None
    await system.initialize()
    entries = system.get_all_hooks()
    assert [entry.hook.directory for entry in entries if isinstance(entry.hook, CommandHook)] == [
        str(project.path / ".hookline"),
        str(tmp_path / "hookline"),
    ]
    fired = await system.get_event_handler().fire_before_tool_event("t", {})
    # Equal words, but two guards: neither takes the place of the other.
    assert fired.final_output is not None
    assert fired.final_output.reason == "of the project\nof the user"
    system.dispose()


def test_equal_hooks_are_one_wherever_their_words_mean_the_same() -> None:
    user, project = HookSource.USER, HookSource.PROJECT

    def identity(command: str, directory: str | None, source: HookSource) -> object:
        hook = CommandHook(name="h", command=command, directory=directory, source=source)
        return hook.identity()

    same = "$HOOKLINE_PROJECT_DIR/x.sh -v | cat >/dev/null", "/bin/true", "echo hi", "~/x.sh"
    for command in (*same, "/bin/sh /x.sh -v", "python3 ~/x.py", "bash -e $DIR/x.sh"):
        assert identity(command, "/a", user) == identity(command, None, project)
    other = "hooks/x.sh", "true && ./x.sh", "python3 guard", "'hooks/x.sh'", "${extensionPath}/x"
    for command in other:
        assert identity(command, "/a", user) != identity(command, "/b", user)
        assert identity(command, "/a", project) == identity(command, "/b", project)
