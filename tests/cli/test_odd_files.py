"""Files that never end, or that nobody writes to: no command waits for one or reads it whole."""

import json
import os
import resource
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import Done, command_hook, settings
from tests.cli.conftest import Call
from tests.harness.scratch import Project

EVENT = ("BeforeAgent", "--input")


def make_pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def make_endless(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/dev/zero")


odd = pytest.mark.parametrize("make", [make_pipe, make_endless])
Make = Callable[[Path], None]


bounded = pytest.mark.skipif(sys.platform != "linux", reason="it takes /proc to know the memory")


def call_within(call: Call, *arguments: str, megabytes: int = 200) -> Done:
    """Call the command, which may take no more than so much memory beside what it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 1024 * 1024, hard))
    try:
        return call(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.path)
    return project


@odd
def test_a_test_file_that_never_ends_is_refused(call: Call, here: Project, make: Make) -> None:
    make(here.path / "odd.hooktest.json")
    done = call("test")
    assert done.status == 1
    assert "odd.hooktest.json: cannot be read: it is not a regular file" in done.err


@odd
def test_an_input_that_never_ends_is_refused(call: Call, here: Project, make: Make) -> None:
    make(here.path / "odd")
    for verb in (["fire"], ["test", "--record", "x"]):
        done = call(*verb, *EVENT, "@odd")
        assert done.status == 1
        assert "cannot read odd: it is not a regular file; --input - reads a pipe" in done.err


@odd
@pytest.mark.parametrize("command", ["./odd", "sh odd", "python3 odd", "bash ./odd x"])
def test_a_script_that_never_ends_is_not_read(
    call: Call, here: Project, make: Make, command: str
) -> None:
    make(here.path / "odd")
    here.settings(settings("BeforeAgent", command_hook(command)))
    done = call("check")
    assert done.status == 1
    assert "odd is not a regular file" in done.out


@odd
def test_settings_that_never_end_are_refused_by_whoever_adds_to_them(
    call: Call, here: Project, make: Make
) -> None:
    make(here.path / ".hookline" / "settings.json")
    for command in (["check"], ["init"], ["enable", "x", "--project"]):
        done = call(*command)
        assert done.status == 1
        refused = ("not a regular file", "leads out of the project, to /dev/zero")
        assert any(words in done.out + done.err for words in refused)


@odd
def test_migrating_reads_no_script_and_no_settings_that_never_end(
    call: Call, here: Project, make: Make
) -> None:
    make(here.path / "odd")
    hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": "$GEMINI_PROJECT_DIR/odd"}]}]}
    here.settings({"hooks": hooks}, file=".llxprt/settings.json")
    assert call("migrate", "--dry-run").status == 0
    make(here.path / ".gemini" / "settings.json")
    assert "not a regular file" in call("migrate", "--dry-run").err


def test_equal_keys_in_a_test_are_read_in_linear_time(call: Call, here: Project) -> None:
    here.write("keys.hooktest.json", "{" + ",".join(['"event": 1'] * 60_000) + "}")
    assert call("test").status == 1
    here.write("input.json", '{"prompt": "x",' + ",".join(['"k": 1'] * 60_000) + ",}")
    here.settings(settings("BeforeAgent", command_hook("true")))
    assert call("fire", *EVENT, "@input.json", "--trust").status == 0


@bounded
def test_a_long_string_takes_no_hundred_times_its_size(call: Call, here: Project) -> None:
    here.write("long.hooktest.json", json.dumps({"event": "x" * 10_000_000}))
    done = call_within(call, "test")
    assert "is larger than 1,048,576 bytes, the most that is read" in done.err
    here.write("input.json", '{"prompt": "' + "\\n" * 5_000_000 + '",}')
    done = call_within(call, "fire", *EVENT, "@input.json")
    assert (done.status, "input.json" in done.err) == (1, True)


@bounded
def test_an_input_has_a_bound(call: Call, here: Project) -> None:
    with (here.path / "input.json").open("wb") as file:
        file.truncate(33 * 1024 * 1024)
    done = call_within(call, "fire", *EVENT, "@input.json")
    assert done.status == 1
    assert "it is larger than 33,554,432 bytes, the most that is read" in done.err


def test_a_large_input_that_is_strict_json_is_read(call: Call, here: Project) -> None:
    here.write("input.json", json.dumps({"prompt": "x" * 2_000_000}))
    here.settings(settings("BeforeAgent", command_hook("test $(wc -c) -gt 2000000 || exit 2")))
    assert call("fire", *EVENT, "@input.json", "--trust").status == 0


def test_no_test_is_recorded_that_could_not_be_read_again(call: Call, here: Project) -> None:
    here.write("input.json", json.dumps({"prompt": "x" * 2_000_000}))
    done = call("test", "--trust", "--record", "big", *EVENT, "@input.json")
    assert (done.status, "larger than 1,048,576 bytes" in done.err) == (1, True)
    assert not (here.path / ".hookline" / "tests").exists()


def test_a_fix_reads_no_script_that_became_a_pipe(here: Project) -> None:
    """The file is looked at when it is open, so it cannot be exchanged before that."""
    script = here.script("hook.sh", "#!/bin/sh\r\ntrue\r\n")
    here.settings(settings("BeforeAgent", command_hook("./hook.sh")))
    from hookline.check import check, read
    from hookline.check.fixes import FixError, changes
    from hookline.settings.reader import find_settings_files

    files = find_settings_files(str(here.path), None)
    checked = read(files, cwd=str(here.path), project_dir=str(here.path), environ=os.environ)
    findings = check(checked)
    script.unlink()
    make_pipe(script)
    with pytest.raises(FixError, match="not a regular file"):
        changes(findings, checked)
    assert stat.S_ISFIFO(script.stat().st_mode)
