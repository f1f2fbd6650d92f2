"""``hookline test``: a test that brings files or variables is code, and its variables reach hooks
and nothing of ours."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hookline.hooktests.cases import brings_code, find_test_files
from hookline.settings.reader import SettingsReader, find_settings_files
from hookline.trust.review import review
from hookline.trust.store import TrustStore
from tests.cli.command import command_hook, settings
from tests.cli.conftest import Call
from tests.harness.scratch import Project

ASK = {"event": "BeforeAgent", "input": {"prompt": ""}, "expect": {}}
RUN = "#!/bin/sh\ntouch $MARK"


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("MARK", str(tmp_path / "ran"))
    return tmp_path / "ran"


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.path)
    return project


def write_test(project: Project, **fields: Any) -> None:
    project.write("t.hooktest.json", json.dumps({**ASK, **fields}))


def give_user_hook(command: str) -> None:
    mine = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text(json.dumps(settings("BeforeAgent", command_hook(command, name="mine"))))


def trust(project: Project) -> None:
    folder = str(project.path)
    (layer,) = SettingsReader(find_settings_files(folder, None)).read()
    TrustStore().write(review(layer.entries, project_dir=folder, cwd=folder))


@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "HOME", "HOOKLINE_STATE_DIR"])
def test_a_test_cannot_move_the_trust_store_into_the_project(
    call: Call,
    here: Project,
    mark: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    here.settings(settings("BeforeAgent", command_hook("touch $MARK")))
    with monkeypatch.context() as planting:
        if variable == "HOME":
            planting.delenv("XDG_STATE_HOME")
        else:
            planting.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        planting.setenv(variable, str(tmp_path / "state"))
        trust(here)
    (tmp_path / "state").rename(here.path / "state")
    write_test(here, env={"XDG_STATE_HOME": None, variable: "${project}/state"})
    done = call("test")
    assert (done.status, mark.exists()) == (1, False)
    assert "`hookline trust` reviews it, --trust runs it" in done.out


def test_files_alone_run_nothing_in_a_project_nobody_trusts(
    call: Call, here: Project, mark: Path
) -> None:
    give_user_hook("./fancy")
    write_test(here, files={"fancy": RUN})
    done = call("test")
    assert (done.status, mark.exists()) == (1, False)
    assert "it brings files" in done.out
    assert "`hookline trust` reviews it, --trust runs it" in done.out
    assert call("test", "--trust").status == 0
    assert mark.exists()


def test_variables_alone_run_nothing_in_a_project_nobody_trusts(
    call: Call, here: Project, mark: Path
) -> None:
    give_user_hook("fancy")
    here.script("bin/fancy", RUN)
    write_test(here, env={"PATH": "${project}/bin:/usr/bin:/bin"})
    assert "it sets variables" in call("test").out
    assert not mark.exists()


@pytest.mark.parametrize(
    "code",
    [{"files": {"fancy": RUN}}, {"env": {"PATH": "${project}/bin:/usr/bin:/bin"}}],
)
def test_a_test_that_was_added_after_the_review_runs_nothing(
    call: Call, here: Project, mark: Path, code: dict[str, Any]
) -> None:
    here.settings(settings("BeforeAgent", command_hook("true")))
    trust(here)
    give_user_hook("PATH=$PATH:. fancy")
    here.script("bin/fancy", RUN)
    write_test(here, **code)
    assert call("test").status == 1
    assert not mark.exists()


@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "HOME"])
def test_a_test_cannot_choose_where_the_users_settings_are(
    call: Call, here: Project, mark: Path, variable: str
) -> None:
    planted = json.dumps(settings("BeforeAgent", command_hook("touch $MARK")))
    for place in ("moved/hookline/settings.json", "moved/.config/hookline/settings.json"):
        here.write(place, planted)
    env = {"XDG_CONFIG_HOME": None, variable: "${project}/moved"}
    write_test(here, env=env, expect={"no_hooks": True})
    assert call("test", "--trust").status == 0
    assert not mark.exists()


def test_a_test_cannot_switch_strict_mode_or_the_trace(call: Call, here: Project) -> None:
    here.settings(settings("BeforeAgent", command_hook("exit 7")))
    env = {"HOOKLINE_STRICT": "1", "HOOKLINE_TRACE": "1"}
    write_test(here, env=env, expect={"decision": "allow", "success": False})
    call("test", "--trust")
    assert not list(Path(os.environ["XDG_STATE_HOME"]).rglob("trace*"))


def test_the_process_keeps_its_environment_while_a_test_runs(
    call: Call, here: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell is looked for on the process's own PATH, and hooks find what the test says."""
    monkeypatch.setenv("GONE", "here")
    here.script("bin/bash", "#!/bin/sh\nexit 9")
    own = f"${{project}}/bin:{os.environ['PATH']}"
    command = 'test "${PATH%%:*}" = "$HOOKLINE_PROJECT_DIR/bin" && test -z "$GONE" || exit 2; true'
    here.settings(settings("BeforeAgent", command_hook(command)))
    env = {"PATH": own, "GONE": None}
    write_test(here, env=env, expect={"decision": "allow", "success": True})
    assert call("test", "--trust").status == 0, call("test", "--trust").out
    assert os.environ["GONE"] == "here"


def test_what_the_engine_and_the_hook_itself_set_counts_more_than_a_test(
    call: Call, here: Project
) -> None:
    command = 'echo "$HOOKLINE_PROJECT_DIR $MODE $SEEN" >&2; exit 2'
    here.settings(settings("BeforeAgent", command_hook(command, env={"MODE": "own"})))
    env = {"HOOKLINE_PROJECT_DIR": "/elsewhere", "MODE": "test", "SEEN": "test"}
    write_test(here, env=env, expect={"reason": "${project} own test"})
    assert call("test", "--trust").status == 0


def test_a_tests_variables_are_redacted_like_inherited_ones(call: Call, here: Project) -> None:
    mine = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text('{"security": {"environmentVariableRedaction": {"enabled": true}}}')
    here.settings(settings("BeforeAgent", command_hook('echo "[$API_TOKEN]" >&2; exit 2')))
    write_test(here, env={"API_TOKEN": "12345678"}, expect={"reason": "[]"})
    assert call("test", "--trust").status == 0


def test_the_tests_of_a_project_that_bring_code_are_known(here: Project) -> None:
    tests: dict[str, dict[str, Any]] = {
        "a/plain": {},
        "b/files": {"files": {"x": ""}},
        "node_modules/other": {"files": {"x": ""}},
        "c/env": {"env": {"A": None}},
    }
    for name, fields in tests.items():
        here.write(f"{name}.hooktest.json", json.dumps({**ASK, **fields}))
    shared = {**ASK, "tests": [{"expect": {}}], "env": {"A": "1"}}
    del shared["expect"]
    here.write("d/shared.hooktest.json", json.dumps(shared))
    here.write("e/broken.hooktest.json", "{")
    found = {os.path.relpath(file, here.path): file for file in find_test_files(str(here.path))}
    assert [name for name, file in found.items() if brings_code(file)] == [
        *("b/files.hooktest.json", "c/env.hooktest.json", "d/shared.hooktest.json"),
    ]
    assert len(found) == 5
