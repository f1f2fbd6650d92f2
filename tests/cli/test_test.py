"""``hookline test``: hooks put to the test, as a test runner would."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hookline.cli.screen import width_of
from hookline.settings.reader import SettingsReader, find_settings_files
from hookline.trust.review import review
from hookline.trust.store import TrustStore
from tests.cli.command import (
    ESCAPE,
    EVERY_VERB,
    HOOKLINE,
    command_hook,
    hookline,
    left_on_screen,
    on_terminal,
    settings,
    timeless,
)
from tests.cli.conftest import Call
from tests.cli.hooktesting import NO_KEYS, run, with_keys
from tests.cli.test_imports import loaded, own, third_party
from tests.cli.test_interruptions import is_gone, wait_for
from tests.harness.scratch import Project


@pytest.fixture
def keys(project: Project) -> Project:
    return with_keys(project)


def test_a_line_each_a_diff_and_the_sum_at_80_columns(keys: Project) -> None:
    done = on_terminal("test", "--trust", cwd=keys.path, NO_COLOR="1")
    assert done.status == 1
    assert timeless(left_on_screen(done.out)) == (
        ".hookline/tests/keys.hooktest.json\n"
        "  pass 0 ms  a key is refused\n"
        "  FAIL 0 ms  a key in a test is written\n"
        "      decision  (- expected, + found)\n"
        "        - allow\n"
        "        + deny\n"
        "      reason\n"
        "        - (nothing)\n"
        "        + this text holds an AWS key; read it from the environment instead\n"
        "      no-keys: exit 2, 0 ms, stderr: this text holds an AWS key; read it from\n"
        "      the environment instead\n"
        "  skip           later  (needs git)\n"
        "\n"
        "3 tests in 0 ms: 1 passed, 1 failed, 1 skipped\n"
    )


def test_at_40_columns_no_text_runs_below_what_says_what_it_is(keys: Project) -> None:
    done = on_terminal("test", "--trust", cwd=keys.path, columns=40, NO_COLOR="1")
    tests, _, _ = timeless(left_on_screen(done.out)).partition("\n\n")
    assert tests == (
        ".hookline/tests/keys.hooktest.json\n"
        "  pass 0 ms  a key is refused\n"
        "  FAIL 0 ms\n"
        "      a key in a test is written\n"
        "      decision  (- expected, + found)\n"
        "        - allow\n"
        "        + deny\n"
        "      reason\n"
        "        - (nothing)\n"
        "        + this text holds an AWS key;\n"
        "      ↪ read it from the environment\n"
        "      ↪ instead\n"
        "      no-keys: exit 2, 0 ms, stderr:\n"
        "      this text holds an AWS key; read\n"
        "      it from the environment instead\n"
        "  skip           later  (needs git)"
    )


def test_piped_it_is_the_same_but_for_the_wrapping(keys: Project) -> None:
    coloured = on_terminal("test", "--trust", cwd=keys.path)
    assert "\r  a key is refused …" in coloured.out
    piped = hookline("test", "--trust", cwd=keys.path)
    assert (piped.status, piped.err) == (1, "")
    assert ESCAPE.search(coloured.out)
    assert "\x1b" not in piped.out
    words = [
        timeless(ESCAPE.sub("", left_on_screen(text))).split() for text in (coloured.out, piped.out)
    ]
    assert words[0] == words[1]


@pytest.mark.parametrize("columns", [60, 40, 24])
def test_no_line_is_wider_than_the_terminal(keys: Project, columns: int) -> None:
    long = {"name": f"{'好' * 40} and so on", "event": "BeforeAgent", "input": {"prompt": ""}}
    keys.write("long.hooktest.json", json.dumps({**long, "expect": {"reason": "x" * 100}}))
    done = on_terminal("test", "--trust", cwd=keys.path, columns=columns)
    lines = [
        line for written in ESCAPE.sub("", done.out).split("\n") for line in written.split("\r")
    ]
    assert [line for line in lines if width_of(line) > columns] == []


def test_ctrl_c_ends_the_hook_of_the_moment_and_leaves_nothing(keys: Project) -> None:
    keys.script("hooks/slow.sh", "#!/bin/sh\necho $$ > $HOOKLINE_PROJECT_DIR/pid; sleep 60\n")
    hook = command_hook('"$HOOKLINE_PROJECT_DIR/hooks/slow.sh"')
    keys.settings(settings("BeforeAgent", hook))
    test = {"event": "BeforeAgent", "input": {"prompt": ""}, "files": {"a": ""}, "expect": {}}
    keys.write(".hookline/tests/keys.hooktest.json", json.dumps(test))
    command = [*HOOKLINE, "test", "--trust"]
    with subprocess.Popen(command, cwd=keys.path, stdout=subprocess.PIPE) as process:
        wait_for(keys.path / "pid")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert is_gone(int((keys.path / "pid").read_text()))
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == []


def test_all_passed_is_a_0(call: Call, keys: Project) -> None:
    keys.script("hooks/no-keys.sh", NO_KEYS)
    done = run(call, keys)
    assert (done.status, done.err) == (0, "")
    assert timeless(done.out).endswith("3 tests in 0 ms: 2 passed, 1 skipped\n")


def test_hooks_of_a_project_nobody_trusts_fail_the_test_and_do_not_run(
    call: Call, keys: Project
) -> None:
    keys.script("hooks/no-keys.sh", "#!/bin/sh\ntouch ran\n")
    os.chdir(keys.path)
    done = call("test", "-k", "key")
    assert done.status == 1
    assert done.out.count("no-keys is not trusted and did not run\n") == 2
    assert done.out.endswith("hooks with `hookline trust`, or pass --trust\n")
    assert not (keys.path / "ran").exists()


def test_hooks_that_were_reviewed_need_no_flag(call: Call, keys: Project) -> None:
    folder = str(keys.path)
    (layer,) = SettingsReader(find_settings_files(folder, None)).read()
    TrustStore().write(review(layer.entries, project_dir=folder, cwd=folder))
    os.chdir(keys.path)
    assert call("test", "-k", "refused").status == 0
    assert "is not trusted and did not run" in call("test", "-k", "refused", "--no-trust").out


def test_a_project_nobody_trusts_cannot_set_variables_for_the_users_hooks(
    call: Call, project: Project
) -> None:
    mine = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    mine.parent.mkdir(parents=True)
    mine.write_text(json.dumps(settings("BeforeAgent", command_hook("fancy", name="mine"))))
    test = {"event": "BeforeAgent", "input": {"prompt": ""}, "expect": {}}
    fancy = {"files": {"fancy": "#!/bin/sh\ntouch $HOME/ran"}, "env": {"PATH": "${cwd}:/bin"}}
    project.write("t.hooktest.json", json.dumps({**test, **fancy}))
    os.chdir(project.path)
    assert "it brings files that nobody has reviewed, so it did not run" in call("test").out
    assert not Path.home().joinpath("ran").exists()
    assert call("test", "--trust").status == 0
    assert Path.home().joinpath("ran").exists()


def test_each_file_is_tested_in_the_project_it_is_in(call: Call, project: Project) -> None:
    for name in ("one", "two"):
        hook = command_hook(f"echo {name} >&2; exit 2")
        project.settings(settings("BeforeAgent", hook), file=f"{name}/.hookline/settings.json")
        test = {"event": "BeforeAgent", "input": {"prompt": ""}, "expect": {"reason": name}}
        project.write(f"{name}/t.hooktest.json", json.dumps(test))
    assert run(call, project).status == 0
    assert run(call, project, "--cwd", "one", "two").status == 1


def test_the_first_failure_can_be_the_last_test(call: Call, keys: Project) -> None:
    done = run(call, keys, "--fail-fast")
    assert timeless(done.out).endswith("2 tests in 0 ms: 1 passed, 1 failed, 1 not run\n")


def test_tests_are_chosen_by_a_part_of_their_name(call: Call, keys: Project) -> None:
    done = run(call, keys, "-k", "REFUSED")
    assert timeless(done.out).endswith("\n1 test in 0 ms: 1 passed\n")
    done = run(call, keys, "-k", "zzz")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "hookline: none of 3 tests has zzz in its name; one is 'a key is refused'\n"
    )


def test_no_tests_is_an_error_that_says_what_to_do(call: Call, project: Project) -> None:
    done = run(call, project)
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "hookline: no tests found: there is no *.hooktest.json in .; "
        "record one: hookline test --record NAME EVENT --input JSON\n"
    )
    assert "no file or directory nope" in run(call, project, "nope").err


def test_a_file_that_is_no_test_is_an_error_and_the_others_run(call: Call, keys: Project) -> None:
    keys.script("hooks/no-keys.sh", NO_KEYS)
    keys.write("bad.hooktest.json", '{"evnt": "BeforeTool"}')
    done = run(call, keys)
    assert done.status == 1
    assert done.err == (
        "error: bad.hooktest.json:1:10: 'evnt' has no meaning in a test; did you mean event?\n"
    )
    assert timeless(done.out).endswith("2 passed, 1 skipped, 1 test could not be read\n")
    assert "no tests to run: fix" in run(call, keys, "bad.hooktest.json").err
    (error,) = run(call, keys, "--json").document["errors"]
    assert error["place"] == "bad.hooktest.json:1:10"


def test_the_document_has_every_test_and_what_was_fired_where_one_failed(
    call: Call, keys: Project
) -> None:
    done = run(call, keys, "--json")
    document = done.document
    assert (done.status, done.err) == (1, "")
    del document["summary"]["duration_ms"]
    summary = {"tests": 3, "passed": 1, "failed": 1, "skipped": 1, "errors": 0}
    assert document["summary"] == summary
    good, bad, later = document["tests"]
    assert {**good, "duration_ms": 0} == {
        "file": ".hookline/tests/keys.hooktest.json",
        "line": 5,
        "name": "a key is refused",
        "event": "BeforeTool",
        "status": "passed",
        "duration_ms": 0,
    }
    assert bad["fired"]["view"]["blocked"] is True
    assert (later["status"], later["skip"]) == ("skipped", "needs git")


def test_the_document_has_the_files_and_settings_that_could_not_be_used(
    call: Call, keys: Project
) -> None:
    keys.write("bad.hooktest.json", '{"evnt": "BeforeTool"}')
    local = keys.settings('{"hooks": {"Nope": []}}', file=".hookline/settings.local.json")
    document = run(call, keys, "--json").document
    (error,), (problem,) = document["errors"], document["problems"]
    assert error["place"] == "bad.hooktest.json:1:10"
    assert error["message"].startswith("'evnt' has no meaning in a test")
    assert problem["place"].startswith(f"{local}:1:")
    assert "Nope" in problem["message"]
    assert document["summary"]["errors"] == 1
    _, failed, _ = document["tests"]
    assert [failure["at"] for failure in failed["failures"]]
    assert failed["warnings"] == []


def test_junit_is_written_for_ci(call: Call, keys: Project) -> None:
    keys.script("hooks/no-keys.sh", "#!/bin/sh\nprintf 'bell \\007 <&>' >&2; exit 2\n")
    assert run(call, keys, "--junit", "out.xml").status == 1
    (suite,) = ElementTree.parse(keys.path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "2", "1")
    messages = [failure.get("message") for failure in suite.iter("failure")]
    assert 'reason: expected contains "AWS key", found bell \\x07 <&>' in messages
    done = run(call, keys, "--junit", "none/out.xml")
    assert done.status == 1
    assert "No such file or directory" in done.err


def test_settings_that_are_wrong_are_told_once(call: Call, keys: Project) -> None:
    keys.settings('{"hooks": {"Nope": []}}', file=".hookline/settings.local.json")
    done = run(call, keys)
    (warning,) = done.err.splitlines()
    assert re.match(r"warning: .*settings\.local\.json:1:\d+: ", warning)


def test_hooks_that_are_disabled_fail_every_test(call: Call, keys: Project) -> None:
    mine = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    mine.parent.mkdir(parents=True)
    mine.write_text('{"enableHooks": false}')
    assert "hooks are disabled in the user's or the system's settings" in run(call, keys).out


def test_given_settings_need_no_trust(call: Call, keys: Project) -> None:
    os.chdir(keys.path)
    done = call("test", "-k", "refused", "--settings", ".hookline/settings.json")
    assert done.status == 0


def test_tests_are_no_part_of_the_trace(
    call: Call, keys: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_TRACE", "1")
    run(call, keys)
    assert not list(Path(os.environ["XDG_STATE_HOME"]).rglob("trace*"))


def test_what_a_hook_says_cannot_steer_the_terminal(call: Call, project: Project) -> None:
    name = "\x1b[2Jh"
    project.settings(
        settings("BeforeAgent", command_hook("printf '\\033c' >&2; exit 2", name=name))
    )
    test = {
        "event": "BeforeAgent",
        "input": {"prompt": ""},
        "name": "\x1bx",
        "expect": {"ask": True},
    }
    project.write("t.hooktest.json", json.dumps(test))
    assert "\x1b" not in run(call, project).out


def test_it_loads_no_terminal_no_loop_and_nothing_that_only_records(keys: Project) -> None:
    modules = loaded(keys, "test", "--trust")
    assert own(modules) == EVERY_VERB | {"events", "progress", "test", "test.report"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    assert not modules & {"asyncio", "subprocess", "pathlib", "tempfile", "logging", "json"}
    assert "hookline.hooktests.junit" not in modules
