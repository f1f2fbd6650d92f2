"""What a hook of Claude Code finds when it starts: its variables, shell, folders and directory."""

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.runner.invocation import make_shell_argv
from hookline.settings.reader import HookRegistryEntry
from hookline.shell.programs import argv_of, find_user_config, hook_variables, started_by
from hookline.trust.review import review
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource, Redaction
from tests.harness.scratch import Project
from tests.runner.claude_hooks import INPUT, claude_hook, run_claude
from tests.runner.planned import run_one, script

MARKS = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_SESSION_ID": "s-1",
    "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
}
OF_PLUGINS = ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA")
PRINT_VARIABLES = "import json, os; json.dump(dict(os.environ), open('seen', 'w'))"
HOSTILE = [
    "my plugin",
    "$(touch x)",
    "`touch x`",
    "';touch x;'",
    '";touch x;"',
    "a\n touch x\n",
    "a && touch x",
    "*?[a]{b,c}~!",
]
SHOW = """#!/bin/sh\nprintf '%s\\0' "$@" > args\n"""


def env_seen(directory: Path) -> dict[str, str]:
    seen: dict[str, str] = json.loads((directory / "seen").read_text())
    return seen


async def test_the_marks_of_claude_code_are_there_and_nothing_of_an_agent_around(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OTEL_SERVICE_NAME", "CLAUDE_ENV_FILE", "CLAUDE_CODE_SESSION_ID", *OF_PLUGINS):
        monkeypatch.setenv(name, "outer")
    hook = claude_hook(sys.executable, args=("-c", PRINT_VARIABLES))
    [result] = await run_claude(hook, event=HookEventName.BEFORE_TOOL, cwd=tmp_path)
    assert (result.exit_code, result.warnings) == (0, ())
    seen = env_seen(tmp_path)
    assert {name: seen[name] for name in MARKS} == MARKS
    assert seen["CLAUDE_PROJECT_DIR"] == str(tmp_path)
    assert {"OTEL_SERVICE_NAME", "CLAUDE_ENV_FILE", *OF_PLUGINS}.isdisjoint(seen)


async def test_native_hooks_have_none_of_it_and_inherit_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "outer")
    hook = script(sys.executable, args=("-c", PRINT_VARIABLES))
    event = HookEventName.SESSION_START
    await run_one(hook, cwd=str(tmp_path), event=event, shared_env={"SHARED": "s"})
    seen = env_seen(tmp_path)
    assert {*MARKS, *OF_PLUGINS, "CLAUDE_ENV_FILE", "SHARED"}.isdisjoint(seen)
    assert seen["OTEL_SERVICE_NAME"] == "outer"


async def test_what_the_user_gives_all_hooks_is_below_their_own_and_is_not_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "inherited")
    monkeypatch.setenv("OTHER_TOKEN", "inherited")
    shared = {
        "API_TOKEN": "shared",
        "MODE": "shared",
        "CLAUDE_PROJECT_DIR": "/elsewhere",
        "FLAGS": "a b",
    }
    hook = claude_hook(
        f"{sys.executable} -c {json.dumps(PRINT_VARIABLES)}; touch $FLAGS", env={"MODE": "own"}
    )
    redaction = Redaction(enabled=True)
    await run_claude(hook, cwd=tmp_path, shared_env=shared, redaction=redaction)
    seen = env_seen(tmp_path)
    assert (seen["API_TOKEN"], seen["MODE"]) == ("shared", "own")
    assert seen["CLAUDE_PROJECT_DIR"] == str(tmp_path)
    assert "OTHER_TOKEN" not in seen
    # As in a shell that had it from its parent.
    assert (tmp_path / "a").exists()


async def test_a_shared_variable_that_can_be_none_is_left_out_and_told(tmp_path: Path) -> None:
    [result] = await run_claude(claude_hook("true"), cwd=tmp_path, shared_env={"BAD": "a\0b"})
    assert result.exit_code == 0
    assert "BAD; the value contains a NUL character" in result.warnings[0]


async def test_a_hook_reads_claudes_document(tmp_path: Path) -> None:
    await run_claude(claude_hook("cat > read"), cwd=tmp_path)
    assert (tmp_path / "read").read_bytes() == INPUT


async def test_a_session_id_is_one_inert_word_in_a_command(tmp_path: Path) -> None:
    (tmp_path / "show").write_text(SHOW)
    (tmp_path / "show").chmod(0o755)
    for command in ("./show $CLAUDE_CODE_SESSION_ID", "./show ${CLAUDE_CODE_SESSION_ID}; :"):
        await run_claude(claude_hook(command), cwd=tmp_path, session_id="a $(touch x) *")
        assert (tmp_path / "args").read_text() == "a $(touch x) *\0"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_plugins_folders_are_inert_words_whatever_they_are_called(
    tmp_path: Path, name: str
) -> None:
    root, data = tmp_path / "plugins" / name, tmp_path / "data" / name
    root.mkdir(parents=True)
    (root / "show").write_text(SHOW)
    (root / "show").chmod(0o755)
    fields = {"plugin_root": str(root), "plugin_data": str(data)}
    hooks = [
        # Words alone, a shell, and no shell at all; bare and in quotes.
        claude_hook("${CLAUDE_PLUGIN_ROOT}/show $CLAUDE_PLUGIN_DATA", **fields),
        claude_hook('"${CLAUDE_PLUGIN_ROOT}/show" "$CLAUDE_PLUGIN_DATA"', **fields),
        claude_hook("cat > /dev/null; $CLAUDE_PLUGIN_ROOT/show ${CLAUDE_PLUGIN_DATA}", **fields),
        claude_hook('"$CLAUDE_PLUGIN_ROOT"/show "${CLAUDE_PLUGIN_DATA}" || exit 1', **fields),
        claude_hook("${CLAUDE_PLUGIN_ROOT}/show", args=("$CLAUDE_PLUGIN_DATA",), **fields),
        claude_hook(
            "sh", args=("-c", '"${CLAUDE_PLUGIN_ROOT}/show" "$1"', "sh", str(data)), **fields
        ),
    ]
    here = tmp_path / "here"
    here.mkdir()
    for hook in hooks:
        (here / "args").unlink(missing_ok=True)
        [result] = await run_claude(hook, cwd=here, event=HookEventName.BEFORE_TOOL)
        assert (result.exit_code, result.stderr) == (0, ""), hook.command
        assert (here / "args").read_text() == f"{data}\0"
    assert not list(tmp_path.rglob("x"))


WORDS = st.text("ab $(){}`'\"\\;&|<>*?[]~!#\n-=", min_size=1)


@settings(max_examples=200)
@given(root=WORDS, data=WORDS)
def test_no_text_of_a_folder_becomes_text_of_a_command(root: str, data: str) -> None:
    hook = claude_hook("", plugin_root=f"/{root}", plugin_data=f"/{data}")
    values = hook_variables(project_dir="/p", cwd="/p", session_id="s", event="E", hook=hook)
    assert (values["CLAUDE_PLUGIN_ROOT"], values["CLAUDE_PLUGIN_DATA"]) == (f"/{root}", f"/{data}")

    def words(command: str, *args: str) -> list[str] | None:
        fields = {"plugin_root": f"/{root}", "plugin_data": f"/{data}"}
        return argv_of(claude_hook(command, args=args or None, **fields), values)

    assert words('run ${CLAUDE_PLUGIN_ROOT}/x "$CLAUDE_PLUGIN_DATA"') == [
        "run",
        f"/{root}/x",
        f"/{data}",
    ]
    filled = words("${CLAUDE_PLUGIN_ROOT}/run", "a$CLAUDE_PLUGIN_DATA", "$CLAUDE_PLUGIN_ROOTS")
    assert filled == [f"/{root}/run", f"a/{data}", "$CLAUDE_PLUGIN_ROOTS"]
    for code in (
        ("bash", "-c", "ls $CLAUDE_PLUGIN_ROOT"),
        ("python3", "-c", "'${CLAUDE_PLUGIN_ROOT}'"),
        ("node", "--eval=${CLAUDE_PLUGIN_DATA}"),
    ):
        assert words(*code) == list(code)
    # In a shell the text is in the environment alone.
    argv = make_shell_argv("cat | sh $CLAUDE_PLUGIN_ROOT/x", values, os.environ["PATH"])
    assert argv[-1] == 'cat | sh "$CLAUDE_PLUGIN_ROOT"/x'


async def test_without_a_plugin_its_folders_are_no_words_of_ours() -> None:
    hook = claude_hook("say", args=("$CLAUDE_PLUGIN_ROOT", "$CLAUDE_PROJECT_DIR"))
    values = hook_variables(project_dir="/p", cwd="/p", session_id="s", event="E", hook=hook)
    assert argv_of(hook, values) == ["say", "$CLAUDE_PLUGIN_ROOT", "/p"]


async def test_the_folder_for_a_plugins_data_is_made_when_its_first_hook_runs(
    tmp_path: Path,
) -> None:
    data = tmp_path / "state" / "plugin"
    fields = {"plugin_root": str(tmp_path), "plugin_data": str(data)}
    command = 'echo run >> "$CLAUDE_PLUGIN_DATA/log"'
    hook = claude_hook(command, **fields)
    results = await run_claude(hook, hook, cwd=tmp_path)
    assert [(result.exit_code, result.warnings) for result in results] == [(0, ()), (0, ())]
    assert (data / "log").read_text() == "run\nrun\n"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    shutil.rmtree(data)
    data.write_text("a file")
    [result] = await run_claude(claude_hook("true", **fields), cwd=tmp_path)
    assert result.exit_code == 0
    assert "cannot create the plugin's data folder" in result.warnings[0]


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("curl -H ${user_config.api_key} ${user_config.url}", None),
        ("curl", ("-H", "key=${user_config.api_key}")),
        ("echo '${user_config.api_key}'", None),
    ],
)
async def test_a_value_that_nobody_was_asked_for_keeps_the_hook_from_starting(
    tmp_path: Path, command: str, args: tuple[str, ...] | None
) -> None:
    [result] = await run_claude(claude_hook(command, args=args), cwd=tmp_path)
    assert (result.failed, result.exit_code, result.output) == ("spawn", None, None)
    assert "${user_config.api_key} in its command has no value here" in str(result.error)
    assert find_user_config(claude_hook("echo $user_config ${user_config}")) is None


async def test_commands_run_in_bash_and_a_missing_one_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline = claude_hook("a=(x y); [[ ${a[1]} == y ]] && echo ${#a[@]} > ran")
    [result] = await run_claude(inline, cwd=tmp_path)
    assert ((tmp_path / "ran").read_text(), result.warnings) == ("2\n", ())
    only_sh = tmp_path / "bin"
    only_sh.mkdir()
    (only_sh / "sh").symlink_to("/bin/sh")
    monkeypatch.setattr(os, "defpath", str(only_sh))
    monkeypatch.setenv("PATH", str(only_sh))
    results = await run_claude(*[claude_hook("echo 1 > ran; exit 0")] * 2, cwd=tmp_path)
    told = f"{only_sh}/sh runs commands written for bash: there is no bash on the PATH; install it"
    assert [result.warnings for result in results] == [(told,), ()]
    assert (tmp_path / "ran").read_text() == "1\n"


async def test_where_the_directory_is_gone_the_project_or_the_home_stands_in(
    tmp_path: Path,
) -> None:
    hook = claude_hook("pwd -P > $HOME/where")
    home = Path(os.environ["HOME"])
    gone, project = str(tmp_path / "gone"), tmp_path / "project"
    project.mkdir()
    for project_dir, expected in ((str(project), project), (gone, home)):
        [first, second] = await run_claude(hook, hook, cwd=Path(gone), project_dir=project_dir)
        assert Path((home / "where").read_text().strip()) == expected.resolve()
        assert first.warnings == (f"{gone!r} does not exist, so hooks run in {str(expected)!r}",)
        assert (second.failed, second.warnings) == (None, ())
    native = await run_one(script("true"), cwd=gone, project_dir=str(project))
    assert native.failed == "spawn"


async def test_the_exec_form_starts_the_program_itself(tmp_path: Path) -> None:
    program = "import os, sys; print(os.getppid(), *sys.argv[1:])"
    hook = claude_hook(sys.executable, args=("-c", program, "${CLAUDE_PROJECT_DIR}/x y", "*"))
    [result] = await run_claude(hook, cwd=tmp_path)
    assert result.stdout == f"{os.getpid()} {tmp_path}/x y *\n"


@pytest.mark.parametrize(
    ("command", "args", "is_open"),
    [
        ("${CLAUDE_PLUGIN_ROOT}/hooks/x.sh", None, False),
        ("sh", ("${CLAUDE_PLUGIN_ROOT}/hooks/x.sh",), False),
        ('cat | "$CLAUDE_PLUGIN_ROOT"/hooks/x.sh --strict', None, True),
    ],
)
def test_a_review_finds_the_script_that_a_plugins_command_names(
    project: Project, command: str, args: tuple[str, ...] | None, is_open: bool
) -> None:
    project.script("plug ins/guard/hooks/x.sh", "#!/bin/sh\n")
    root = project.path / "plug ins" / "guard"
    hook = claude_hook(command, source=HookSource.PROJECT, plugin_root=str(root), args=args)
    event = HookEventName.BEFORE_TOOL
    entry = HookRegistryEntry(event=event, hook=hook, matches=lambda _name: True)
    (found,) = review([entry], project_dir=str(project.path), cwd=str(project.path)).review.hooks
    assert (found.files, bool(found.open)) == (("plug ins/guard/hooks/x.sh",), is_open)


def test_checks_and_measurements_find_that_script_too() -> None:
    hook = claude_hook("cd /; python3 ${CLAUDE_PLUGIN_ROOT}/x.py", plugin_root="/my plugin")
    values = hook_variables(project_dir="/p", cwd="/p", session_id="s", event="E", hook=hook)
    started = started_by(hook, values, cwd="/p", project_dir="/p", environ={})
    assert started is not None
    assert (started.interpreter, started.script_file) == ("python", "/my plugin/x.py")
