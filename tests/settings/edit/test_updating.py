"""Settings files that are added to: a backup, one writer at a time, and never half a file."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.settings.edit import add_to_settings, rewrite_settings
from hookline.settings.reader import SettingsFileError
from tests.harness.scratch import Project

MORE = {"hooks": {"disabled": ["x"]}}
_ADD = """
import sys
from hookline.settings.edit import add_to_settings
file, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for number in range(first, last):
    add_to_settings(file, lambda value: {"hooks": {"disabled": [number]}}, backup=False)
"""


def disabled(file: Path) -> list[Any]:
    names: list[Any] = json.loads(file.read_text())["hooks"]["disabled"]
    return names


def test_a_file_that_is_not_there_is_made_with_its_folder(project: Project) -> None:
    file = project.path / "new" / "settings.json"
    done = add_to_settings(str(file), lambda _: MORE)
    assert (done.created, done.changed, done.backup) == (True, True, None)
    assert json.loads(file.read_text()) == MORE


def test_each_backup_holds_what_was_there_and_none_replaces_another(project: Project) -> None:
    file = project.path / "settings.json"
    file.write_text('{"a": 1} // mine')
    file.chmod(0o640)
    backups = [add_to_settings(str(file), lambda _: MORE).backup for _ in range(2)]
    assert backups == [f"{file}.bak", f"{file}.bak2"]
    assert Path(f"{file}.bak").read_text() == '{"a": 1} // mine'
    assert {path.stat().st_mode & 0o777 for path in project.path.iterdir()} == {0o640}
    assert Path(f"{file}.bak2").read_text() == '{"a": 1, "hooks": {"disabled": ["x"]}} // mine'


def test_a_text_that_is_rewritten_is_kept_unless_somebody_says_no(project: Project) -> None:
    file = project.path / "settings.json"
    file.write_text("{}")
    assert rewrite_settings(str(file), lambda _: '{"a": 1}').backup == f"{file}.bak"
    assert rewrite_settings(str(file), lambda _: "{}", backup=False).backup is None


def test_a_file_that_cannot_be_read_is_not_to_be_fixed(project: Project) -> None:
    with pytest.raises(SettingsFileError) as caught:
        add_to_settings(str(project.path), lambda _: MORE)
    assert "fix it first" not in str(caught.value)


def test_nothing_to_add_changes_nothing(project: Project) -> None:
    file = project.path / "settings.json"
    file.write_text("{}")
    done = add_to_settings(str(file), lambda _: {})
    assert (done.changed, done.backup) == (False, None)
    assert os.listdir(project.path) == ["settings.json"]


def test_a_byte_order_mark_stays(project: Project) -> None:
    file = project.path / "settings.json"
    file.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    add_to_settings(str(file), lambda _: {"b": 2})
    assert file.read_bytes() == b'\xef\xbb\xbf{"a": 1, "b": 2}'


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{,}", ":1:2: is not valid JSON: expected a key in double quotes, or '}'; fix it first"),
        (b'{"a": "\xff"}', ":1:8: is not valid JSON: this is not UTF-8; fix it first"),
        (b"[]", ":1:1: must hold an object, {…}; fix it first"),
        (b'{"hooks": 1}', ":1:11: hooks must be an object, {…}; fix it first"),
    ],
)
def test_a_bad_file_is_left_alone_and_named_with_the_place(
    project: Project, content: bytes, problem: str
) -> None:
    file = project.path / "settings.json"
    file.write_bytes(content)
    with pytest.raises(SettingsFileError) as caught:
        add_to_settings(str(file), lambda _: MORE)
    assert str(caught.value) == f"{file}{problem}"
    assert (os.listdir(project.path), file.read_bytes()) == (["settings.json"], content)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(project: Project) -> None:
    file = project.path / "settings.json"
    file.write_text("{}")
    script = _ADD.replace("backup=False", "backup=True")
    limited = f"import resource; resource.setrlimit({resource.RLIMIT_FSIZE}, (4, 4))\n"
    ignoring = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    command = [sys.executable, "-c", limited + ignoring + script, str(file), "0", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "cannot be written: File too large; nothing in it was changed" in done.stderr
    assert (os.listdir(project.path), file.read_text()) == (["settings.json"], "{}")


def test_processes_that_add_at_once_lose_nothing(project: Project) -> None:
    file = project.path / "settings.json"
    ranges = [(0, 8), (8, 16), (16, 24)]
    commands = [[sys.executable, "-c", _ADD, str(file), str(a), str(b)] for a, b in ranges]
    processes = [subprocess.Popen(command) for command in commands]
    assert [process.wait(50) for process in processes] == [0, 0, 0]
    assert sorted(disabled(file)) == list(range(24))
    assert os.listdir(project.path) == ["settings.json"]
