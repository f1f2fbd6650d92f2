"""Settings files as people write them, break them and move them."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.settings.reader import Layer, SettingsFile, SettingsReader
from hookline.wire.hooks import HookSource, Redaction
from tests.eleven import Json, command
from tests.harness.scratch import Project

GOOD: Json = {"hooks": {"BeforeTool": [{"hooks": [command("true", name="good")]}]}}
OTHER = "other.json"


def read(*paths: Path, source: HookSource = HookSource.USER) -> list[Layer]:
    return SettingsReader(SettingsFile(str(path), source) for path in paths).read()


def names(layer: Layer) -> list[str]:
    return [entry.hook.name for entry in layer.entries]


def said(layer: Layer) -> str:
    (problem,) = layer.problems
    return str(problem)


def disabled_names(layer: Layer) -> tuple[str, ...]:
    return tuple(switch.name for switch in layer.switches if switch.name is not None)


def are_hooks_on(layer: Layer) -> bool | None:
    return next((switch.is_on for switch in layer.switches if switch.name is None), None)


def layer_of(project: Project, data: Any, source: HookSource = HookSource.USER) -> Layer:
    (layer,) = read(project.settings(data), source=source)
    return layer


def test_a_file_with_comments_and_trailing_commas_is_read(project: Project) -> None:
    text = """// what may run here
{
  "hooks": { /* one event */
    "BeforeTool": [
      { "matcher": "write", "hooks": [{"type": "command", "command": "a", "name": "n",},], },
    ],
  },
}"""
    layer = layer_of(project, text)
    assert names(layer) == ["n"]
    assert layer.problems == ()


def test_a_byte_order_mark_and_crlf_are_no_obstacle(project: Project) -> None:
    path = project.path / "settings.json"
    body = '\ufeff{\r\n  // x\r\n  "hooks": {"disabled": ["a"]},\r\n  "enableHooks": 7\r\n}\r\n'
    path.write_bytes(body.encode())
    (layer,) = read(path)
    assert disabled_names(layer) == ("a",)
    assert said(layer) == f"{path}:4:18: enableHooks: must be true or false; it was ignored"


def test_a_file_with_a_syntax_error_is_reported_with_its_place_and_the_others_load(
    project: Project,
) -> None:
    broken = project.settings('{\n  "hooks": {\n    "BeforeTool" []\n}}')
    good = project.settings(GOOD, file=OTHER)
    first, second = read(broken, good)
    assert said(first).startswith(f"{broken}:3:18: is not valid JSON: expected ':'")
    assert first.problems[0].broken
    assert names(first) == []
    assert names(second) == ["good"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_file_that_is_not_utf_8_is_reported_with_its_place_and_the_others_load(
    project: Project, mark: bytes
) -> None:
    bad = project.path / "bad.json"
    bad.write_bytes(mark + b'{\n "\xc3\xa9": "caf\xe9"}')
    first, second = read(bad, project.settings(GOOD))
    assert said(first).startswith(f"{bad}:2:11: is not valid JSON: this is not UTF-8")
    assert names(second) == ["good"]


def test_a_directory_in_place_of_a_file_is_reported_and_the_others_load(project: Project) -> None:
    folder = project.path / "settings.json"
    folder.mkdir()
    first, second = read(folder, project.settings(GOOD))
    assert said(first).startswith(f"{folder}: cannot be read: it is not a regular file")
    assert names(second) == ["good"]


def test_a_pipe_in_place_of_a_file_is_reported_and_not_waited_for(project: Project) -> None:
    pipe = project.path / "settings.json"
    os.mkfifo(pipe)
    (layer,) = read(pipe)
    assert "not a regular file" in said(layer)


def test_a_file_that_may_not_be_read_is_reported_and_the_others_load(project: Project) -> None:
    secret = project.settings(GOOD)
    secret.chmod(0)
    # Root may read everything but the first page of its own memory.
    path = secret if os.geteuid() else Path("/proc/self/mem")
    first, second = read(path, project.settings(GOOD, file=OTHER))
    assert said(first).startswith(f"{path}: cannot be read: ")
    assert names(second) == ["good"]


def test_a_symlink_that_leads_in_a_circle_is_reported(project: Project) -> None:
    path = project.path / "settings.json"
    path.symlink_to(path)
    (layer,) = read(path)
    assert "cannot be read" in said(layer)


@pytest.mark.parametrize("text", ["[]", '"text"', "7", "null", "// x\n [1]"])
def test_a_file_that_holds_no_object_is_reported(project: Project, text: str) -> None:
    layer = layer_of(project, text)
    assert "must hold an object" in said(layer)
    assert layer.problems[0].broken


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (
            "[" * 65 + "]" * 65,
            "too-deep",
            ":1:65: is nested more than 64 deep, the most that is read",
        ),
        (
            "{\n" + " " * 1024 * 1024 + "}",
            "too-large",
            ":2:1048575: is larger than 1,048,576 bytes, the most that is read",
        ),
    ],
)
def test_more_than_anybody_writes_is_not_read_and_told_with_its_place(
    project: Project, text: str, kind: str, told: str
) -> None:
    path = project.settings(text)
    first, second = read(path, project.settings(GOOD, file=OTHER))
    (problem,) = first.problems
    assert (problem.kind, problem.broken) == (kind, True)
    assert str(problem).startswith(f"{path}{told}; the file was skipped")
    assert names(second) == ["good"]


def test_a_quarter_of_a_megabyte_of_equal_keys_is_read_in_a_moment(project: Project) -> None:
    text = "{" + '"a": {"b": 1},' * 20_000 + '"hooks": {"disabled": ["a"]}}'
    started = time.perf_counter()
    layer = layer_of(project, text)
    assert time.perf_counter() - started < 5
    assert disabled_names(layer) == ("a",)
    (problem,) = layer.problems
    assert (problem.kind, problem.path, problem.line) == ("duplicate-key", ("a",), 1)


def test_an_empty_file_is_reported(project: Project) -> None:
    assert ":1:1: is not valid JSON: the file ends here" in said(layer_of(project, ""))


def test_a_file_that_is_not_there_is_no_problem(project: Project) -> None:
    missing = project.path / "settings.json"
    below_a_file = project.settings(GOOD) / "settings.json"
    assert read(missing, below_a_file) == []


def test_a_key_given_twice_is_warned_of_and_the_last_counts(project: Project) -> None:
    text = '{"enableHooks": false,\n "enableHooks": true}'
    layer = layer_of(project, text)
    assert are_hooks_on(layer) is True
    assert ":2:17: the key 'enableHooks' is given twice; only the last counts" in said(layer)


@pytest.mark.parametrize(
    ("data", "enabled"),
    [
        ({}, None),
        ({"enableHooks": True}, True),
        ({"enableHooks": False}, False),
        ({"hooksConfig": {"enabled": False}}, False),
        ({"hooksConfig": {"enabled": True}}, True),
        ({"hooks": {"enabled": False}}, False),
        ({"enableHooks": True, "hooksConfig": {"enabled": False}}, False),
    ],
)
def test_hooks_config_means_the_same_as_enable_hooks(
    project: Project, data: Json, enabled: bool | None
) -> None:
    layer = layer_of(project, data)
    assert are_hooks_on(layer) is enabled
    assert layer.problems == ()


def test_hooks_config_means_the_same_as_hooks_disabled(project: Project) -> None:
    data = {"hooks": {"disabled": ["a"]}, "hooksConfig": {"disabled": ["b"]}}
    layer = layer_of(project, data)
    assert disabled_names(layer) == ("a", "b")
    assert layer.problems == ()


def test_the_reserved_keys_of_hooks_are_no_events(project: Project) -> None:
    hooks = {"enabled": True, "disabled": [], "notifications": True, **GOOD["hooks"]}
    layer = layer_of(project, {"hooks": hooks})
    assert names(layer) == ["good"]
    assert layer.problems == ()


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"enableHooks": "yes"}, "enableHooks"),
        ({"hooksConfig": []}, "hooksConfig"),
        ({"hooksConfig": {"enabled": 1}}, "hooksConfig.enabled"),
        ({"hooksConfig": {"disabled": "a"}}, "hooksConfig.disabled"),
        ({"hooks": {"enabled": "no"}}, "hooks.enabled"),
        ({"hooks": {"disabled": ["a", 7]}}, "hooks.disabled"),
        ({"security": True}, "security"),
        ({"security": {"environmentVariableRedaction": 1}}, "environmentVariableRedaction"),
        (
            {"security": {"environmentVariableRedaction": {"enabled": "on"}}},
            "environmentVariableRedaction.enabled",
        ),
    ],
)
def test_a_setting_of_the_wrong_type_is_warned_of_and_ignored(
    project: Project, data: Json, path: str
) -> None:
    layer = layer_of(project, {**data, "unknown": 1})
    assert are_hooks_on(layer) is None
    assert f"{path}: must be " in said(layer)
    assert not layer.problems[0].broken


def test_names_beside_one_that_is_no_string_still_count(project: Project) -> None:
    layer = layer_of(project, {"hooks": {"disabled": ["a", 7, "b"]}})
    assert disabled_names(layer) == ("a", "b")


def test_redaction_is_read_from_user_and_system(project: Project) -> None:
    section = {"enabled": True, "allowed": ["A"], "blocked": ["B", "C"]}
    data = {"security": {"environmentVariableRedaction": section}}
    for source in (HookSource.USER, HookSource.SYSTEM):
        assert layer_of(project, data, source).redaction == Redaction(True, ("A",), ("B", "C"))


def test_redaction_set_by_a_project_is_warned_of_and_ignored(project: Project) -> None:
    data = {"security": {"environmentVariableRedaction": {"allowed": ["TOKEN"]}}}
    layer = layer_of(project, data, HookSource.PROJECT)
    assert layer.redaction is None
    assert "counts only in the user's or the system's settings" in said(layer)


def test_a_file_that_breaks_keeps_what_it_last_said_until_it_is_mended(project: Project) -> None:
    path = project.settings(GOOD)
    reader = SettingsReader([SettingsFile(str(path), HookSource.USER)])
    assert names(reader.read()[0]) == ["good"]
    path.write_text("{ broken")
    (kept,) = reader.read()
    assert names(kept) == ["good"]
    assert "its last good version stays in force" in said(kept)
    path.write_text("{}")
    (mended,) = reader.read()
    assert (names(mended), mended.problems) == ([], ())


def test_a_file_that_is_removed_takes_its_hooks_with_it(project: Project) -> None:
    path = project.settings(GOOD)
    reader = SettingsReader([SettingsFile(str(path), HookSource.USER)])
    reader.read()
    path.unlink()
    assert reader.read() == []
    path.write_text("{ broken")
    assert names(reader.read()[0]) == []
