"""Remedies that are carried out: at their place, with all else as it was, and nowhere else."""

import json
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.check import Checked
from hookline.check.findings import TextEdit
from hookline.check.fixes import FileChange, FixError, carry_out, changes, is_fixable
from hookline.wire.hooks import HookSource
from tests.check.review import check, checked, hook, on
from tests.harness.scratch import Project

SOURCE = HookSource.PROJECT


def planned(reviewed: Checked) -> list[FileChange]:
    return changes(check(reviewed), reviewed)


def fixed(project: Project, text: str) -> str:
    """The text of settings after one round of fixing."""
    file = project.settings(text)
    for change in planned(checked((file, SOURCE), project=project)):
        carry_out(change)
    return file.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"hooks": {"BeforTool": []}}', '{"hooks": {"BeforeTool": []}}'),
        ('{"enableHook": true, /* why */ }', '{"enableHooks": true, /* why */ }'),
        (
            '{"hooks": {"BeforeAgent": [{"hooks": [{"command": "true"}]}]}}',
            '{"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": "true"}]}]}}',
        ),
        (
            '{"hooks": {"SessionEnd": [{"matcher": "exitt|clear", "hooks": []}]}}',
            '{"hooks": {"SessionEnd": [{"matcher": "exit|clear", "hooks": []}]}}',
        ),
        (
            '{"hooks": {"AfterTool": [{"matcher": "^wirte_file$", "hooks": []}]}}',
            '{"hooks": {"AfterTool": [{"matcher": "^write_file$", "hooks": []}]}}',
        ),
        (
            '{"hooks": {"AfterTool": [{"matcher": "replace, glob", "hooks": []}]}}',
            '{"hooks": {"AfterTool": [{"matcher": "replace|glob", "hooks": []}]}}',
        ),
    ],
)
def test_a_certain_remedy_changes_its_place_and_nothing_else(
    project: Project, before: str, after: str
) -> None:
    assert fixed(project, before) == after


def test_comments_commas_and_layout_stay(project: Project) -> None:
    before = """\
// ours
{
\t"hooks": {
\t\t"BeforeAgent": [ { "hooks": [
\t\t\t{
\t\t\t\t// what it does
\t\t\t\t"command": "true", "timeout": 5, // seconds!
\t\t\t},
\t\t], }, ],
\t},
}
"""
    once = fixed(project, before)
    assert once == before.replace(
        '\t\t\t\t"command"', '\t\t\t\t"type": "command",\n\t\t\t\t"command"'
    )
    assert fixed(project, once) == once.replace("5, //", "5000, //")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_byte_order_mark_and_the_line_ends_stay(project: Project, mark: bytes) -> None:
    file = project.path / ".hookline" / "settings.json"
    file.parent.mkdir()
    text = b'{"hooks": {"BeforeAgent": [{"hooks": [{\r\n  "command": "true"\r\n}]}]}}\r\n'
    file.write_bytes(mark + text)
    (change,) = planned(checked((file, SOURCE), project=project))
    carry_out(change)
    new = text.replace(b'  "command"', b'  "type": "command",\r\n  "command"')
    assert file.read_bytes() == mark + new


@pytest.mark.parametrize(
    "settings",
    [
        {"hooks": {"BeforeXyz": []}},
        {"hooks": {"PreToolUse": []}},
        on("BeforeTool", hook(), matcher="write_*"),
        on("BeforeTool", hook(timeout=300)),
        on("BeforeTool", hook(), hook()),
        {"hooks": {"BeforTool": [], "BeforeTool": []}},
        '{"hooks": ',
    ],
)
def test_what_is_not_certain_is_left_to_the_author(project: Project, settings: object) -> None:
    file = project.settings(settings)
    assert planned(checked((file, SOURCE), project=project)) == []


def test_a_script_gets_its_exec_bit_and_unix_lines_and_keeps_the_rest(project: Project) -> None:
    script = project.write("hooks/x.sh", "#!/bin/sh\r\necho a\rb\r\n")
    script.chmod(0o640)
    file = project.settings(on("BeforeAgent", hook("hooks/x.sh")))
    for change in planned(checked((file, SOURCE), project=project)):
        carry_out(change)
    assert script.read_bytes() == b"#!/bin/sh\necho a\rb\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750


def test_scripts_outside_of_the_project_are_not_touched(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside.sh"
    outside.write_text("#!/bin/sh\n")
    (project.path / "link.sh").symlink_to(outside)
    hooks = [hook(str(outside)), hook("./link.sh"), hook("../outside.sh")]
    file = project.settings(on("BeforeAgent", *hooks))
    reviewed = checked((file, SOURCE), project=project)
    assert [f.kind for f in check(reviewed)] == ["script-not-executable"] * 2
    assert planned(reviewed) == []


def test_settings_that_a_project_links_to_elsewhere_are_not_touched(
    project: Project, tmp_path: Path
) -> None:
    outside = tmp_path / "settings.json"
    outside.write_text('{"enableHook": true}')
    file = project.path / ".hookline" / "settings.json"
    file.parent.mkdir()
    file.symlink_to(outside)
    assert planned(checked((file, SOURCE), project=project)) == []


def test_the_settings_of_a_user_may_be_a_link_and_stay_one(
    project: Project, tmp_path: Path
) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_text('{"enableHook": true}')
    link = tmp_path / "settings.json"
    link.symlink_to(kept)
    (change,) = planned(checked((link, HookSource.USER), project=project))
    carry_out(change)
    assert kept.read_text() == '{"enableHooks": true}'
    assert link.is_symlink()


def test_the_settings_of_the_system_are_not_touched(project: Project) -> None:
    file = project.settings('{"enableHook": true}')
    assert planned(checked((file, HookSource.SYSTEM), project=project)) == []


def test_a_file_that_changed_in_the_meantime_is_left_alone(project: Project) -> None:
    file = project.settings('{"enableHook": true}')
    (change,) = planned(checked((file, SOURCE), project=project))
    file.write_text("{}")
    with pytest.raises(FixError, match="has changed since it was read; check again"):
        carry_out(change)
    assert file.read_text() == "{}"


def test_a_script_that_went_away_is_an_error(project: Project) -> None:
    script = project.write("x.sh", "#!/bin/sh\n")
    file = project.settings(on("BeforeAgent", hook("./x.sh")))
    (change,) = planned(checked((file, SOURCE), project=project))
    script.unlink()
    with pytest.raises(FixError, match="could not be fixed: No such file or directory"):
        carry_out(change)
    assert not script.exists()


def test_a_script_that_lacks_only_its_exec_bit_is_not_written(project: Project) -> None:
    script = project.write("x.sh", "#!/bin/sh\n")
    script.chmod(0o600)
    file = project.settings(on("BeforeAgent", hook("./x.sh")))
    before = script.stat()
    (change,) = planned(checked((file, SOURCE), project=project))
    carry_out(change)
    assert stat.S_IMODE(script.stat().st_mode) == 0o700
    assert (script.stat().st_ino, script.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_script_that_lacks_only_unix_lines_keeps_its_mode(project: Project) -> None:
    script = project.write("x.sh", "#!/bin/sh\r\ntrue\r\n")
    script.chmod(0o745)
    file = project.settings(on("BeforeAgent", hook("./x.sh")))
    for change in planned(checked((file, SOURCE), project=project)):
        carry_out(change)
    assert script.read_bytes() == b"#!/bin/sh\ntrue\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o745


def test_a_script_that_changed_in_the_meantime_is_left_alone(project: Project) -> None:
    script = project.write("x.sh", "#!/bin/sh\n")
    mode = script.stat().st_mode
    file = project.settings(on("BeforeAgent", hook("./x.sh")))
    (change,) = planned(checked((file, SOURCE), project=project))
    script.write_text("#!/bin/sh\nmore\n")
    with pytest.raises(FixError, match="has changed since it was read; check again"):
        carry_out(change)
    assert script.stat().st_mode == mode


def test_a_users_script_is_fixed_beside_the_settings_and_nowhere_else(
    project: Project, tmp_path: Path
) -> None:
    scripts = [tmp_path / "config" / "x.sh", tmp_path / "other" / "y.sh"]
    for script in scripts:
        script.parent.mkdir()
        script.write_text("#!/bin/sh\n")
    settings = tmp_path / "config" / "settings.json"
    settings.write_text(json.dumps(on("BeforeAgent", *(hook(str(s)) for s in scripts))))
    made = planned(checked((settings, HookSource.USER), project=project))
    assert [change.file for change in made] == [str(scripts[0])]


def test_all_edits_of_a_file_are_made_in_one_round(project: Project) -> None:
    settings = '{"enableHook": true, "hooks": {"BeforTool": [], "AfterTol": []}}'
    after = '{"enableHooks": true, "hooks": {"BeforeTool": [], "AfterTool": []}}'
    assert fixed(project, settings) == after


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_change_has_the_whole_new_content(project: Project, mark: bytes) -> None:
    file = project.settings("{}")
    file.write_bytes(mark + b'{"enableHook": true}')
    (change,) = planned(checked((file, SOURCE), project=project))
    assert (change.before, change.after) == (file.read_bytes(), mark + b'{"enableHooks": true}')


def test_an_edit_that_two_findings_want_is_made_once(project: Project) -> None:
    file = project.settings('{"enableHook": true}')
    reviewed = checked((file, SOURCE), project=project)
    (finding,) = check(reviewed)
    added = replace(finding, fixes=(TextEdit(str(file), 1, 1, '"trace": true, '),))
    (change,) = changes([added, added], reviewed)
    assert change.after == b'{"trace": true, "enableHook": true}'


def test_an_edit_that_would_leave_no_json_is_refused(project: Project) -> None:
    file = project.settings('{"enableHook": true}')
    reviewed = checked((file, SOURCE), project=project)
    (finding,) = check(reviewed)
    broken = replace(finding, fixes=(TextEdit(str(file), 0, 1, ""),))
    with pytest.raises(FixError, match="the result would not be JSON"):
        changes([broken], reviewed)


def test_what_is_fixed_needs_no_backup(project: Project) -> None:
    fixed(project, '{"enableHook": true}')
    assert [file.name for file in (project.path / ".hookline").iterdir()] == ["settings.json"]


def test_a_finding_without_fixes_or_in_a_file_that_was_not_read_is_not_fixable(
    project: Project,
) -> None:
    file = project.settings('{"enableHook": true}')
    reviewed = checked((file, SOURCE), project=project)
    (finding,) = check(reviewed)
    assert is_fixable(finding, reviewed)
    assert not is_fixable(replace(finding, fixes=()), reviewed)
    assert not is_fixable(replace(finding, settings="elsewhere.json"), reviewed)
