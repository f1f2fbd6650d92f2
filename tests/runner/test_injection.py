"""What an event or a directory's name holds never runs, and never keeps a hook from running."""

import shlex
import sys
import time
from pathlib import Path

import pytest

from hookline.runner.command import CommandRunner
from hookline.runner.context import InputDocument, RunContext
from hookline.runner.invocation import make_environment
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource, Redaction
from tests.bus.answers import Answers, new_answers, request
from tests.eleven import Json, started
from tests.harness.scratch import Project
from tests.runner.planned import TOOL, run_one, script

CODE = "$(touch x)"
HOSTILE = [CODE, "`touch x`", "';touch x;'", '";touch x;"', "\n touch x\n", "&& touch x", "*"]
IDS = {
    "NUL": "a\0b",
    "surrogate": "a\ud800b",
    "long": "i" * 140_000,
    "many bytes": "é" * 70_000,
}
SESSION = ("HOOKLINE_SESSION_ID", "GEMINI_SESSION_ID")
SHOW_PY = "import os, sys\nprint([os.environ.get(name) for name in sys.argv[1:]])\n"


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("sh", ("-c", "echo in $HOOKLINE_PROJECT_DIR >&2; exit 2")),
        ("bash", ("-euc", "echo in ${CLAUDE_PROJECT_DIR} >&2; exit 2")),
        ("env", ("A=1", "sh", "-c", 'echo "in $LLXPRT_PROJECT_DIR" >&2; exit 2')),
        ("timeout", ("20", "sh", "-c", 'echo "in ${GEMINI_PROJECT_DIR}" >&2; exit 2')),
        ("bash", ("-c", "-o", "pipefail", 'echo "in $HOOKLINE_PROJECT_DIR" >&2; exit 2')),
        ("env", ("-S", "bash -c", 'echo "in $HOOKLINE_PROJECT_DIR" >&2; exit 2')),
        ("xargs", ("sh", "-c", 'echo "in $HOOKLINE_PROJECT_DIR" >&2; exit 2')),
    ],
)
@pytest.mark.parametrize("name", ["pkg $(touch x)", "pkg `touch x`", "a';touch x;'"])
async def test_a_directorys_name_does_not_run_in_the_exec_form(
    tmp_path: Path, name: str, command: str, args: tuple[str, ...]
) -> None:
    project = tmp_path / name
    project.mkdir()
    hook = script(command, args=args, source=HookSource.USER)
    result = await run_one(hook, cwd=str(project), project_dir=str(project))
    assert "in " in result.stderr
    assert not list(tmp_path.rglob("x"))


async def test_a_directorys_name_is_no_program_text_of_python(tmp_path: Path) -> None:
    project = tmp_path / "'+str(open('x', 'w'))+'"
    project.mkdir(parents=True)
    code = "import os; print('$HOOKLINE_PROJECT_DIR', os.environ['HOOKLINE_PROJECT_DIR'])"
    hook = script(sys.executable, args=("-c", code))
    result = await run_one(hook, cwd=str(project), project_dir=str(project))
    assert result.stdout == f"$HOOKLINE_PROJECT_DIR {project}\n"
    assert not (project / "x").exists()


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("sh", ["-c", "echo $HOOKLINE_SESSION_ID; touch ran"]),
        ("sh", ["-c", "echo ${GEMINI_SESSION_ID} ${HOOKLINE_EVENT}; touch ran"]),
        (sys.executable, ["-c", "print('${HOOKLINE_SESSION_ID}'); open('ran', 'w')"]),
        ("echo $HOOKLINE_SESSION_ID; touch ran", None),
        ("touch ran; cat <<E\n$GEMINI_SESSION_ID\nE", None),
        ("touch ran; echo `echo $HOOKLINE_SESSION_ID`", None),
    ],
)
async def test_a_session_id_sent_over_a_bus_runs_nothing(
    project: Project, command: str, args: list[str] | None
) -> None:
    hook = {"type": "command", "command": command} | ({} if args is None else {"args": args})
    for answers in new_answers():
        hooks = {"BeforeTool": [{"hooks": [hook]}]}
        system = await started(project.path, hooks, message_bus=answers.bus)
        for hostile in HOSTILE:
            (project.path / "ran").unlink(missing_ok=True)
            await _ask(answers, hostile)
            assert (project.path / "ran").exists()
            assert not (project.path / "x").exists()
        system.dispose()


async def _ask(answers: Answers, session_id: str) -> Json:
    tool = {"tool_name": "read", "tool_input": {}, "session_id": session_id}
    return await answers.to(request("BeforeTool", tool))


@pytest.mark.parametrize(
    "command", ["SHOW", "SHOW | cat", "SHOW; :", 'SHOW "x$GEMINI_SESSION_ID"', "A=1 SHOW"]
)
@pytest.mark.parametrize("what", IDS)
async def test_a_session_id_that_can_be_no_variable_lets_every_hook_start(
    project: Project, monkeypatch: pytest.MonkeyPatch, what: str, command: str
) -> None:
    # A hook may run in a hook: the id of another session is no better than none.
    monkeypatch.setenv("HOOKLINE_SESSION_ID", "stale")
    project.write("show.py", SHOW_PY)
    show = f"{shlex.quote(sys.executable)} show.py {' '.join(SESSION)}"
    here = str(project.path)
    hook = script(command.replace("SHOW", show))
    result = await run_one(hook, cwd=here, project_dir=here, session_id=IDS[what])
    assert (result.failed, result.exit_code) == (None, 0)
    assert result.stdout.startswith("[None, None")
    [warning] = result.warnings
    assert f"left out of its environment: {', '.join(SESSION)}; the value " in warning


@pytest.mark.parametrize("what", IDS)
async def test_such_an_id_lets_the_exec_form_and_warm_hooks_start(
    project: Project, what: str
) -> None:
    project.write("show.py", SHOW_PY)
    here = str(project.path)
    context = RunContext(
        cwd=here, project_dir=here, session_id=IDS[what], why_untrusted=lambda _hook: None
    )
    document = InputDocument(HookEventName.BEFORE_TOOL, TOOL)
    runner = CommandRunner(warn=lambda _said: None)
    hook = script(sys.executable, args=("show.py", *SESSION), warm=True)

    async def run_warm() -> bool:
        result = await runner.run(hook, document, context)
        assert (result.stdout, result.exit_code) == ("[None, None]\n", 0)
        [warning] = result.warnings
        assert "GEMINI_SESSION_ID" in warning
        pool = runner._pool
        assert pool is not None
        return any(template.is_ready for template in pool._templates.values())

    try:
        deadline = time.monotonic() + 30
        while not await run_warm():
            assert time.monotonic() < deadline
        await run_warm()
    finally:
        runner.dispose()


@pytest.mark.parametrize("command", ["true", "true; :"])
async def test_a_variable_that_is_inherited_and_too_long_lets_hooks_start(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("HUGE", "h" * 200_000)
    result = await run_one(script(command))
    if sys.platform == "linux":
        assert "HUGE; the value is too long for the system (200000 bytes)" in result.warnings[0]
    assert (result.success, result.failed) == (True, None)


@pytest.mark.parametrize("command", ["true", "true; :", "env >/dev/null"])
async def test_variables_that_are_too_long_together_let_hooks_start(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for number in range(70):
        monkeypatch.setenv(f"LARGE_{number}", "l" * (100_000 + number))
    result = await run_one(script(command), session_id="s" * 99_000)
    assert (result.success, result.failed) == (True, None)
    [warning] = result.warnings
    # The longest go first, and no more than must.
    assert "LARGE_69, LARGE_68" in warning
    assert "SESSION" not in warning
    assert "makes all variables together too long" in warning


@pytest.mark.parametrize("what", IDS)
async def test_a_variable_of_the_hooks_own_that_can_be_none_is_its_authors_to_correct(
    what: str,
) -> None:
    result = await run_one(script("true", env={"MINE": IDS[what]}))
    assert result.failed == "spawn"
    assert result.error


async def test_a_project_whose_name_can_be_no_variable_lets_hooks_start(tmp_path: Path) -> None:
    for name in ("/a\0b", "/a\ud800b", "/" + "d" * 140_000):
        for hook in (
            script("true"),
            script("hooks/x.sh; exit 0"),
            script("echo", args=("$GEMINI_PROJECT_DIR",)),
        ):
            result = await run_one(hook, cwd=str(tmp_path), project_dir=name)
            assert (result.exit_code, result.failed) == (0, None)
            assert "CLAUDE_PROJECT_DIR" in result.warnings[0]


def test_a_hooks_own_variable_stands_in_for_one_that_cannot_be(tmp_path: Path) -> None:
    given = {"HOOKLINE_PROJECT_DIR": str(tmp_path), "HOOKLINE_SESSION_ID": "a\0b"}
    env = make_environment(Redaction(), given, {"HOOKLINE_SESSION_ID": "mine"})
    assert (env["HOOKLINE_SESSION_ID"], dict(env.left_out)) == ("mine", {})
