"""A process that cannot be started is an outcome that says what, why and what to do about it."""

import asyncio
import contextlib
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.runner.invocation import explain_spawn_failure
from hookline.runner.process import ProcessLimits, ProcessOutcome, run_process
from tests.harness.scratch import Project


async def call(
    *argv: str, cwd: str | Path | None = None, env: dict[str, str] | None = None
) -> ProcessOutcome:
    return await run_process(
        argv,
        stdin=b"{}",
        cwd=str(cwd or Path.cwd()),
        env=os.environ | (env or {}),
        limits=ProcessLimits(timeout=5),
    )


def error_of(*argv: str, cwd: str | Path | None = None, env: dict[str, str] | None = None) -> str:
    outcome = asyncio.run(call(*argv, cwd=cwd, env=env))
    assert (outcome.ended, outcome.exit_code, outcome.signal) == ("spawn", None, None)
    assert outcome.error is not None
    assert outcome.error.startswith(f"cannot start {argv[0]!r}: " if any(argv) else "cannot start")
    assert "; " in outcome.error
    return outcome.error


def test_a_program_that_is_nowhere_on_the_path() -> None:
    assert "was not found on the PATH" in error_of("no-such-program")


def test_a_program_is_looked_up_on_the_path_of_its_own_environment(project: Project) -> None:
    project.script("bin/own-tool", "#!/bin/sh\necho found\n")
    path = {"PATH": f"{project.path}/bin:/usr/bin:/bin"}
    assert asyncio.run(call("own-tool", env=path)).stdout == b"found\n"


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    error = error_of("./hooks/none.sh", cwd=tmp_path)
    assert "there is no such file" in error
    assert repr(str(tmp_path)) in error


def test_a_relative_program_is_relative_to_the_working_directory(project: Project) -> None:
    project.script("x.sh", "#!/bin/sh\nexit 6\n")
    assert asyncio.run(call("./x.sh", cwd=project.path)).exit_code == 6


def test_a_working_directory_that_does_not_exist(tmp_path: Path) -> None:
    error = error_of("true", cwd=tmp_path / "gone")
    assert f"the working directory {str(tmp_path / 'gone')!r} does not exist" in error


def test_a_working_directory_that_is_a_file(project: Project) -> None:
    assert "is not a directory" in error_of("true", cwd=project.write("file", "x"))


def test_a_script_without_permission_to_execute(project: Project) -> None:
    assert "is not executable; run chmod +x" in error_of(str(project.write("x.sh", "#!/bin/sh\n")))


def test_a_program_on_the_path_without_permission_to_execute(project: Project) -> None:
    project.write("tool", "#!/bin/sh\n")
    assert "tool' is not executable" in error_of("tool", env={"PATH": str(project.path)})


def test_a_directory_is_no_command(tmp_path: Path) -> None:
    assert "is a directory" in error_of(str(tmp_path))


@pytest.mark.parametrize("line", ["#!/no/such/shell\n", "#! /no/such/shell\r\n"])
def test_a_script_whose_interpreter_does_not_exist(project: Project, line: str) -> None:
    interpreter = line[2:].strip(" \n")
    assert f"names {interpreter!r}, which does not exist" in error_of(
        str(project.script("x.sh", f"{line}echo hi\n"))
    )


def test_a_script_that_names_no_interpreter(project: Project) -> None:
    assert "begin a script with a line like #!/bin/sh" in error_of(
        str(project.script("x.sh", "echo hi\n"))
    )


def test_a_command_that_is_too_long_for_the_system() -> None:
    assert "too long for the system" in error_of("true", "x" * 5_000_000)


def test_a_name_that_is_too_long_for_the_system() -> None:
    assert "its name is too long for the system" in error_of("x" * 256)
    assert "it was not found on the PATH" in error_of("x" * 255)


@pytest.mark.parametrize("mode", [0o755, 0])
def test_what_cannot_be_executed_on_the_path_changes_no_error_of_what_can(
    project: Project, mode: int
) -> None:
    project.write("first/true", "no program\n")
    (project.path / "first").chmod(mode)
    path = {"PATH": f"{project.path}/first:{os.environ['PATH']}"}
    try:
        assert asyncio.run(call("true", env=path)).exit_code == 0
        assert "too long for the system" in error_of("true", "x" * 5_000_000, env=path)
        assert "was not found on the PATH" in error_of("no-such-program", env=path)
    finally:
        (project.path / "first").chmod(0o755)


@pytest.mark.parametrize("argv", [(), ("",)])
def test_an_empty_command(argv: tuple[str, ...]) -> None:
    assert "command is empty" in error_of(*argv)


def test_a_nul_character_in_an_argument() -> None:
    assert "its command contains a NUL character" in error_of("echo", "a\0b")


def test_a_nul_character_in_the_working_directory() -> None:
    assert "the working directory contains a NUL character" in error_of("echo", cwd="/a\0b")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("NAME", "a\0b", "the variable 'NAME' contains a NUL character"),
        ("NAME", "\ud800", "the variable 'NAME' contains a character that cannot be encoded"),
        ("A=B", "c", "'A=B' is not a name for a variable"),
    ],
)
def test_a_variable_that_no_process_can_have(name: str, value: str, problem: str) -> None:
    assert problem in error_of("true", env={name: value})


def test_text_that_cannot_be_encoded() -> None:
    assert "its command contains a character that cannot be encoded" in error_of("echo", "\ud800")


@contextlib.contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(entry) for entry in os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + count, limit[1]))
    taken: list[int] = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        for _ in range(count):
            os.close(taken.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        for descriptor in taken:
            os.close(descriptor)


async def test_however_few_descriptors_are_left_a_process_runs_or_says_why_not() -> None:
    outcomes = []
    for count in range(12):
        with descriptors_left(count):
            outcomes.append(await call("true"))
    assert outcomes[0].error is not None
    assert "too many files open" in outcomes[0].error
    assert {(outcome.ended, outcome.exit_code) for outcome in outcomes} == {
        ("spawn", None),
        ("exit", 0),
    }


NO_PROCESSES_LEFT = """
import asyncio, os, resource, sys
from hookline.runner.process import ProcessLimits, run_process
call = run_process(["true"], stdin=b"", cwd="/", env={}, limits=ProcessLimits(timeout=5))
runner = asyncio.Runner()
runner.get_loop()
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
if os.geteuid() == 0:
    os.setuid(65534)
print(runner.run(call).error)
runner.close()
"""


def test_no_processes_left() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", NO_PROCESSES_LEFT]
    program = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "cannot start 'true': there are too many processes" in program.stdout, program.stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EMFILE, "x"), "this process has too many files open"),
        (OSError(errno.ENFILE, "x"), "the system has too many files open"),
        (OSError(errno.EAGAIN, "x"), "there are too many processes"),
        (OSError(errno.ENOMEM, "x"), "there is not enough memory"),
        (OSError(errno.ETXTBSY, "x"), "another process is writing to it"),
        (OSError(errno.EIO, "it broke"), "it broke; correct that"),
        (OSError("no number"), "no number; correct that"),
        (RuntimeError("odd"), "odd; correct its command or environment"),
    ],
    ids=str,
)
def test_whatever_the_system_says_comes_with_a_remedy(error: Exception, said: str) -> None:
    assert explain_spawn_failure(error, ["true"], "/", {"A": "b"}).startswith(said)
