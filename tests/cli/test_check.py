"""``hookline check``: what people see, what programs read, and what it fixes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from hookline._support.places import user_config_dir
from hookline.check import RULE_MEANINGS
from hookline.cli.screen import width_of
from hookline.trust.store import TrustStore
from tests.cli.command import (
    ESCAPE,
    EVERY_VERB,
    Done,
    command_hook,
    hookline,
    on_terminal,
    settings,
)
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, own, third_party
from tests.dialects.claude.claude import PROJECT_FILE, user_file, write
from tests.harness.scratch import Project

SETTINGS = """\
{
  // what we guard
  "hooks": {
    "BeforTool": [
      {"matcher": "write_file", "hooks": [{"type": "command", "command": "hooks/scan.sh"}]},
    ],
    "AfterTool": [
      {
        "matcher": "write_*",
        "hooks": [{"command": "hooks/log.sh", "timeout": 5}],
      },
    ],
  },
}
"""


@pytest.fixture
def flawed(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a handful of the usual mistakes."""
    project.settings(SETTINGS)
    project.write("hooks/scan.sh", "#!/bin/sh\r\nexit 0\r\n")
    project.script("hooks/log.sh", "#!/bin/sh\necho logging\necho '{}'\n")
    monkeypatch.chdir(project.path)
    return project


def shown(done: Done) -> list[str]:
    return ESCAPE.sub("", done.out).splitlines()


def test_findings_are_a_line_each_in_a_group_a_file(flawed: Project) -> None:
    done = hookline("check", cwd=flawed.path)
    assert (done.status, done.err) == (1, "")
    assert done.out == (
        ".hookline/settings.json:4:5: error: 'BeforTool' is not a hook event, so its hooks never "
        "run; did you mean BeforeTool?\n"
        ".hookline/settings.json:9:20: warning: 'write_*' is written as a glob, but is read as a "
        "regular expression; write write_.*\n"
        ".hookline/settings.json:10:19: error: the hook has no type and is skipped; "
        'add "type": "command"\n'
        "\n"
        "0 hooks in 1 file: 2 errors, 1 warning\n"
        "`hookline check --fix` fixes 2 of these; --diff shows how\n"
    )


def test_fix_mends_what_is_certain_shows_it_and_says_what_is_left(flawed: Project) -> None:
    done = hookline("check", "--fix", cwd=flawed.path)
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "changed .hookline/settings.json\n"
        "  @@ -3,3 +3,3 @@\n"
        '     "hooks": {\n'
        '  -    "BeforTool": [\n'
        '  +    "BeforeTool": [\n'
        '         {"matcher": "write_file", "hooks": [{"type": "command", '
        '"command": "hooks/scan.sh"}]},\n'
        "  @@ -9,3 +9,3 @@\n"
        '           "matcher": "write_*",\n'
        '  -        "hooks": [{"command": "hooks/log.sh", "timeout": 5}],\n'
        '  +        "hooks": [{"type": "command", "command": "hooks/log.sh", "timeout": 5000}],\n'
        "         },\n"
        "\n"
        "changed hooks/scan.sh\n"
        "  mode 644 -> 755\n"
        "  line ends of 2 lines: CRLF -> LF\n"
        "\n"
        ".hookline/settings.json:9:20: warning: 'write_*' is written as a glob, but is read as a "
        "regular expression; write write_.*\n"
        "\n"
        "hooks/log.sh:2:1: hint: this text is printed beside the JSON answer; "
        "send it to stderr with >&2\n"
        "\n"
        "2 hooks in 1 file: 1 warning, 1 hint\n"
        "the project's hooks run after you trust them with `hookline trust`\n"
    )
    assert (flawed.path / "hooks/scan.sh").read_bytes() == b"#!/bin/sh\nexit 0\n"
    assert "// what we guard" in (flawed.path / ".hookline/settings.json").read_text()


def test_a_diff_changes_nothing(flawed: Project, call: Call) -> None:
    done = call("check", "--diff")
    assert done.status == 1
    assert "would change .hookline/settings.json\n  @@ -3,3 +3,3 @@\n" in done.out
    assert '  +    "BeforeTool": [\n' in done.out
    assert (flawed.path / ".hookline/settings.json").read_text() == SETTINGS


def test_at_80_columns_with_colour_and_without(flawed: Project) -> None:
    coloured = on_terminal("check", cwd=flawed.path)
    plain = on_terminal("check", cwd=flawed.path, NO_COLOR="1")
    assert coloured.status == plain.status == 1
    assert "\x1b[1;31merror:" in coloured.out
    assert "\x1b[33mwarning:" in coloured.out
    assert "\x1b" not in plain.out
    assert (
        shown(coloured)
        == shown(plain)
        == [
            ".hookline/settings.json:4:5: error:",
            "    'BeforTool' is not a hook event, so its hooks never run; did you mean",
            "    BeforeTool?",
            ".hookline/settings.json:9:20: warning:",
            "    'write_*' is written as a glob, but is read as a regular expression; write",
            "    write_.*",
            ".hookline/settings.json:10:19: error:",
            '    the hook has no type and is skipped; add "type": "command"',
            "",
            "0 hooks in 1 file: 2 errors, 1 warning",
            "`hookline check --fix` fixes 2 of these; --diff shows how",
        ]
    )


def test_what_fits_stands_beside_its_place_and_the_rest_below_it(flawed: Project) -> None:
    first, *_ = shown(on_terminal("check", cwd=flawed.path, columns=140))
    assert first == (
        ".hookline/settings.json:4:5: error: 'BeforTool' is not a hook event, so its hooks never "
        "run; did you mean BeforeTool?"
    )
    lines = shown(on_terminal("check", cwd=flawed.path, columns=40))
    assert lines[:5] == [
        ".hookline/settings.json:4:5: error:",
        "    'BeforTool' is not a hook event, so",
        "    its hooks never run; did you mean",
        "    BeforeTool?",
        ".hookline/settings.json:9:20: warning:",
    ]


@pytest.mark.parametrize("columns", [120, 100, 40, 30])
def test_no_line_is_wider_than_the_terminal(flawed: Project, columns: int) -> None:
    done = on_terminal("check", "--diff", cwd=flawed.path, columns=columns)
    assert [line for line in shown(done) if width_of(line) > columns] == []
    assert '\n  \x1b[1;31m-    "BeforTool": [\x1b[0m\n' in done.out


def test_the_document_has_all_there_is_to_know(flawed: Project, call: Call) -> None:
    document = call("check", "--json").document
    file = str(flawed.path / ".hookline/settings.json")
    assert document["findings"][0] == {
        "rule": "unknown-event",
        "severity": "error",
        "file": file,
        "line": 4,
        "column": 5,
        "message": "'BeforTool' is not a hook event, so its hooks never run",
        "remedy": "did you mean BeforeTool?",
        "settings": file,
        "path": "hooks.BeforTool",
        "event": None,
        "hook": None,
        "fixable": True,
    }
    counts = {name: document[name] for name in ("errors", "warnings", "hints", "hooks")}
    assert counts == {"errors": 2, "warnings": 1, "hints": 0, "hooks": 0}
    assert document["files"] == [file]
    assert "changes" not in document


@pytest.mark.usefixtures("flawed")
def test_the_document_of_a_fix_has_the_changes(call: Call) -> None:
    planned = call("check", "--diff", "--json").document
    assert planned["changed"] is False
    assert planned["changes"][0].keys() == {"file", "diff"}
    document = call("check", "--fix", "--json").document
    assert document["changed"] is True
    assert [Path(change["file"]).name for change in document["changes"]] == [
        "settings.json",
        "scan.sh",
    ]
    assert '+    "BeforeTool": [' in document["changes"][0]["diff"]
    assert document["errors"] == 0


@pytest.mark.usefixtures("flawed")
def test_json_is_a_format_too_and_only_one_is_given(call: Call) -> None:
    assert call("check", "--format", "json").document == call("check", "--json").document
    assert call("check", "--format", "text").out == call("check").out
    done = call("check", "--json", "--format", "sarif")
    assert done.status == 1
    assert "--json is one format and --format sarif another; give one" in done.err


def test_github_gets_a_workflow_command_a_finding(flawed: Project, call: Call) -> None:
    flawed.settings("{}", file=".git/x")
    below = flawed.path / "sub"
    below.mkdir()
    for folder in (flawed.path, below):
        done = call("check", "--format", "github", "--cwd", str(folder))
        assert done.status == 1
        assert done.out == (
            "::error file=.hookline/settings.json,line=4,col=5,title=hookline unknown-event::"
            "'BeforTool' is not a hook event, so its hooks never run; did you mean BeforeTool?\n"
            "::warning file=.hookline/settings.json,line=9,col=20,title=hookline matcher-glob::"
            "'write_*' is written as a glob, but is read as a regular expression; write write_.*\n"
            "::error file=.hookline/settings.json,line=10,col=19,title=hookline type::"
            'the hook has no type and is skipped; add "type": "command"\n'
        )


def test_a_text_cannot_pass_for_a_command_of_github(project: Project) -> None:
    project.script("hooks,a:b%/x.sh", "#!/bin/sh\r\ntrue\n")
    gone = "'./100%,:\r\n::error::forged\x1b[2J'"
    project.settings(
        settings("BeforeTool", command_hook(gone), command_hook("'./hooks,a:b%/x.sh'"))
    )
    done = hookline("check", "--format", "github", cwd=project.path)
    lines = done.out.splitlines()
    assert all(re.match(r"::(error|warning|notice) file=[^:]*::", line) for line in lines)
    assert "file=hooks%2Ca%3Ab%25/x.sh,line=1,col=10,title=hookline script-crlf::" in done.out
    assert "there is no script ./100%25,:%0D%0A::error::forged\\x1b[2J; " in done.out
    assert not {"\x1b", "\r"} & set(done.out)


def test_sarif_has_what_code_scanning_asks_for(flawed: Project, call: Call) -> None:
    flawed.script("hooks/a b%ü.sh", "#!/bin/sh\r\n")
    odd = [command_hook("'hooks/a b%ü.sh'"), command_hook("python3 x.py", timeout=300)]
    flawed.settings(settings("BeforeTool", *odd), file=".gemini/settings.json")
    done = call("check", "--format", "sarif")
    assert done.status == 1
    log = done.document
    assert (log["version"], log["$schema"][-11:]) == ("2.1.0", "-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "hookline"
    assert driver["informationUri"].startswith("https://")
    rules = [rule["id"] for rule in driver["rules"]]
    assert rules == list(RULE_MEANINGS)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] == RULE_MEANINGS[rule["id"]]
        assert rule["help"]["text"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert {result["level"] for result in run["results"]} == {"error", "warning", "note"}
    uris = set()
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        assert (flawed.path / unquote(place["artifactLocation"]["uri"])).is_file()
        assert place["region"]["startLine"] >= 1
        assert place["region"]["startColumn"] >= 1
    uris = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]
    }
    assert uris == {
        ".hookline/settings.json",
        ".gemini/settings.json",
        "hooks/a%20b%25%C3%BC.sh",
    }
    found = call("check", "--json").document["findings"]
    assert len(found) == len(run["results"])


def test_sarif_without_findings_is_still_a_log(project: Project, call: Call) -> None:
    done = call("check", "--format", "sarif", "--allow-empty", "--cwd", str(project.path))
    assert (done.status, done.document["runs"][0]["results"]) == (0, [])


def test_a_file_outside_of_the_repository_keeps_its_path(
    project: Project, tmp_path: Path, call: Call
) -> None:
    file = tmp_path / "other settings.json"
    file.write_text('{"stric": true}')
    done = call("check", "--format", "sarif", "--settings", str(file), "--cwd", str(project.path))
    (result,) = done.document["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": f"file://{quote(str(file))}"}
    done = call("check", "--format", "github", "--settings", str(file), "--cwd", str(project.path))
    assert done.out.startswith(f"::error file={file},line=1,col=2,")


def test_a_report_has_what_a_fix_leaves_and_stderr_what_it_did(flawed: Project) -> None:
    done = hookline("check", "--fix", "--format", "github", cwd=flawed.path)
    assert done.status == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["::warning", "::notice"]
    assert done.err == "changed .hookline/settings.json\nchanged hooks/scan.sh\n"
    assert "BeforeTool" in (flawed.path / ".hookline/settings.json").read_text()


def test_a_file_is_named_by_its_path_from_here_in_texts_too(project: Project) -> None:
    project.settings(settings("BeforeAgent", command_hook("true", name="x")))
    project.settings({"hooks": {"disabled": ["x"]}}, file=".hookline/settings.local.json")
    said = "the hook is disabled in .hookline/settings.local.json:4 and does not run"
    for form in ("text", "github", "sarif"):
        done = hookline("check", "--format", form, cwd=project.path)
        assert said in done.out
        assert str(project.path) not in done.out
    found = json.loads(hookline("check", "--json", cwd=project.path).out)["findings"]
    assert str(project.path) in found[0]["file"]


def test_a_script_is_named_by_its_path_from_here(project: Project, call: Call) -> None:
    project.write("hooks/scan.sh", "#!/bin/sh\n")
    command = "$HOOKLINE_PROJECT_DIR/hooks/scan.sh"
    project.settings(settings("BeforeAgent", command_hook(command)))
    os.chdir(project.path)
    told = "hooks/scan.sh is not executable; run chmod +x hooks/scan.sh\n"
    assert f": error: {told}" in call("check").out
    assert f"::{told}" in call("check", "--format", "github").out


def test_only_the_projects_settings_are_checked_if_asked(project: Project, call: Call) -> None:
    users = Path(user_config_dir() or "") / "settings.json"
    users.parent.mkdir(parents=True, exist_ok=True)
    users.write_text('{"stric": true}')
    project.settings(settings("BeforeAgent", command_hook("true", timeout=5)))
    here = ["--cwd", str(project.path)]

    def files(*arguments: str) -> list[str]:
        found = call("check", "--json", *here, *arguments).document["findings"]
        return sorted({finding["rule"] for finding in found})

    assert files() == ["timeout-seconds", "unknown-key"]
    assert files("--only", "project") == ["timeout-seconds"]
    assert files("--only", "user") == ["unknown-key"]
    assert files("--only", "project", "--settings", str(users)) == ["unknown-key"]


@pytest.mark.parametrize(
    ("hook", "arguments", "status"),
    [
        (command_hook("true"), [], 0),
        (command_hook("true", timeout=5), [], 0),
        (command_hook("true", timeout=5), ["--strict"], 1),
        (command_hook("true", timeout=300), ["--strict"], 0),
        (command_hook("./gone.sh"), [], 1),
        (command_hook("true", timeout=5), ["--strict", "--fix"], 0),
    ],
)
def test_errors_decide_the_status_and_warnings_where_it_is_strict(
    project: Project, call: Call, hook: dict[str, object], arguments: list[str], status: int
) -> None:
    file = project.settings(settings("BeforeAgent", hook), file="s.json")
    assert call("check", "--settings", str(file), *arguments).status == status


def test_quiet_leaves_out_the_hints(project: Project, call: Call) -> None:
    file = project.settings(settings("BeforeAgent", command_hook("true", timeout=300)), file="s")
    assert call("check", "--settings", str(file)).out.endswith("1 hook in 1 file: 1 hint\n")
    done = call("check", "--quiet", "--settings", str(file))
    assert done.out == "1 hook in 1 file: no problems\n"


def test_a_hint_that_comes_again_is_told_once(project: Project, call: Call) -> None:
    hooks = [command_hook(f"true {number}", timeout=300) for number in range(9)]
    file = project.settings(settings("BeforeAgent", *hooks), file="s.json")
    done = call("check", "--settings", str(file))
    assert done.out.count("hint:") == 1
    assert "write 300000 for 300 s (also on lines 14, 19, 24, 29, 34 and 3 more)\n" in done.out
    assert done.out.endswith("9 hooks in 1 file: 9 hints\n")


@pytest.mark.parametrize(
    ("number", "also"),
    [(1, ""), (2, " (also on line 14)"), (6, " (also on lines 14, 19, 24, 29, 34)")],
)
def test_a_hint_names_its_other_lines_and_another_hint_follows(
    project: Project, call: Call, number: int, also: str
) -> None:
    hooks = [command_hook(f"true {n}", timeout=300) for n in range(number)]
    hooks.append(command_hook("true", timeout=600))
    file = project.settings(settings("BeforeAgent", *hooks), file="s.json")
    first, second, *_ = call("check", "--settings", str(file)).out.splitlines()
    assert first.endswith(f"write 300000 for 300 s{also}")
    assert second.endswith("write 600000 for 600 s")


def test_settings_that_are_only_the_users_need_no_trust(project: Project, call: Call) -> None:
    users = Path(user_config_dir() or "") / "settings.json"
    users.parent.mkdir(parents=True, exist_ok=True)
    users.write_text(json.dumps(settings("BeforeAgent", command_hook("true"))))
    done = call("check", "--cwd", str(project.path))
    assert done.out == "1 hook in 1 file: no problems\n"


def test_a_record_of_trust_that_cannot_be_read_is_warned_of(project: Project, call: Call) -> None:
    project.script("hooks/ok.sh", "#!/bin/sh\n")
    project.settings(settings("BeforeAgent", command_hook("hooks/ok.sh")))
    assert call("trust", "--yes", "--cwd", str(project.path)).status == 0
    kept = TrustStore().read(str(project.path))
    assert kept is not None
    document = Path(kept.folder, "review.json")
    document.chmod(0o600)
    document.write_text("{")
    done = call("check", "--cwd", str(project.path))
    assert (done.status, done.out) == (0, "1 hook in 1 file: no problems\n")
    assert done.err.startswith("warning: ")
    assert "review.json is damaged" in done.err


def test_claude_codes_files_are_those_of_the_layer_that_is_asked_for(
    project: Project, call: Call
) -> None:
    theirs = str(project.settings(settings("Stop", command_hook("ls")), file=PROJECT_FILE))
    users = str(write(user_file(), settings("Stop", command_hook("cat"))))
    below = project.path / "src"
    below.mkdir()

    def files(*arguments: str) -> list[str]:
        found = call("check", "--claude", "--json", "--cwd", str(below), *arguments).document
        return sorted(found["files"])

    assert files() == sorted([theirs, users])
    assert files("--only", "project") == [theirs]
    assert files("--only", "user") == [users]
    given = str(project.settings({}, file="s.json"))
    assert files("--settings", given) == [given]


def test_trust_is_no_matter_while_there_are_errors(project: Project, call: Call) -> None:
    project.settings(settings("BeforeAgent", command_hook("./gone.sh")))
    done = call("check", "--cwd", str(project.path))
    assert done.out.endswith("1 hook in 1 file: 1 error\n")


def test_an_empty_folder_says_where_hooks_are_written(project: Project) -> None:
    done = hookline("check", cwd=project.path)
    assert (done.status, done.err) == (1, "")
    assert done.out == (
        f"there are no settings to check for {project.path}\n"
        "`hookline init` makes a first hook, its settings and its tests\n"
    )
    assert hookline("check", "--allow-empty", cwd=project.path).status == 0


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_a_report_of_nothing_fails_and_says_so(project: Project, form: str) -> None:
    done = hookline("check", "--format", form, cwd=project.path)
    assert done.status == 1
    assert done.err.startswith(f"there are no settings to check for {project.path}\n")
    allowed = hookline("check", "--format", form, "--allow-empty", cwd=project.path)
    assert (allowed.status, allowed.out) == (0, done.out)


def test_settings_of_claude_code_alone_are_named_with_the_option_that_checks_them(
    project: Project,
) -> None:
    hooks = settings("PreToolUse", command_hook("true"))
    project.write(".claude/settings.json", json.dumps(hooks))
    done = hookline("check", cwd=project.path)
    assert done.status == 1
    assert done.out.endswith(".claude holds settings of Claude Code, which --claude checks\n")
    assert hookline("check", "--claude", cwd=project.path).status == 0
    below = project.write("a/b.txt", "").parent
    done = hookline("check", "--only", "project", cwd=below)
    assert (done.status, "1 hook in 1 file" in done.out) == (0, True)


def test_a_broken_file_is_one_finding_and_the_others_are_checked(
    flawed: Project, call: Call
) -> None:
    flawed.settings('{"hooks": {,}}', file=".gemini/settings.json")
    done = call("check")
    assert done.status == 1
    assert (
        ".gemini/settings.json:1:12: error: the file is not valid JSON: expected a key in double "
        "quotes, or '}'; correct it; until then none of its hooks run\n" in done.out
    )
    assert "0 hooks in 2 files: 3 errors, 1 warning\n" in done.out


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_an_error_and_the_file_stays(flawed: Project) -> None:
    folder = flawed.path / ".hookline"
    folder.chmod(0o555)
    done = hookline("check", "--fix", cwd=flawed.path)
    folder.chmod(0o755)
    assert done.status == 1
    assert "settings.json: cannot be written: Permission denied" in done.err
    assert (folder / "settings.json").read_text() == SETTINGS


def test_a_full_disk_leaves_the_file_as_it_was(flawed: Project) -> None:
    script = "ulimit -f 0; trap '' XFSZ; exec \"$@\""
    command = ["bash", "-c", script, "-", sys.executable, "-m", "hookline", "check", "--fix"]
    done = subprocess.run(
        command, cwd=flawed.path, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 1
    assert "settings.json: cannot be written: File too large" in done.stderr
    assert (flawed.path / ".hookline/settings.json").read_text() == SETTINGS
    assert sorted(os.listdir(flawed.path / ".hookline")) == ["settings.json"]


def test_check_executes_nothing_of_a_project(project: Project) -> None:
    project.script("touch.sh", "#!/bin/sh\ntouch ran\n")
    project.script("touch.py", "#!/usr/bin/env python3\nopen('ran', 'w')\n")
    names = ["./touch.sh", "python3 touch.py", "$(touch ran)", "touch ran", "BASH_ENV=touch.sh ls"]
    hooks = [command_hook(name, name="`touch ran`", warm=True) for name in names]
    project.settings(settings("SessionStart", *hooks, matcher="startup|$(touch ran)"))
    for arguments in ([], ["--json"], ["--diff"], ["--fix"]):
        assert "Traceback" not in hookline("check", *arguments, cwd=project.path).err
    assert not (project.path / "ran").exists()


def test_text_from_an_unreviewed_project_cannot_steer_the_terminal(project: Project) -> None:
    project.settings(settings("\x1b[2JBeforeTool", command_hook("true", name="\x1b[2J")))
    for arguments in ([], ["--diff"]):
        done = hookline("check", *arguments, cwd=project.path)
        assert "\x1b" not in done.out
        assert "BeforeTool" in done.out


def test_the_hooks_of_the_examples_are_beyond_reproach(call: Call) -> None:
    examples = Path(__file__).parents[2] / "examples"
    folders = [str(file.parents[1]) for file in examples.glob("*/.hookline/settings.json")]
    assert len(folders) > 10
    for folder in folders:
        document = call("check", "--json", "--cwd", folder).document
        # An example with an agent brings tools of its own, which nobody else knows.
        has_tools = Path(folder, "agent.py").exists()
        known = {"warm", "matcher-tool"} if has_tools else {"warm"}
        findings = [f for f in document["findings"] if f["rule"] not in known]
        # Claude Code's users write short commands into its settings, which are no guards.
        assert [f for f in findings if (f["rule"], f["severity"]) != ("open", "hint")] == []


def test_check_loads_no_terminal_no_engine_and_no_regex(project: Project) -> None:
    project.script("hooks/x.sh", "#!/bin/sh\necho '{}'\n")
    project.settings(settings("BeforeTool", command_hook("cat"), matcher="write_file"))
    assert "subprocess" not in loaded(project, "check")
    # A shell is asked whether it can parse a script.
    project.settings(settings("BeforeTool", command_hook("hooks/x.sh"), matcher="write_file"))
    modules = loaded(project, "check")
    assert own(modules) == EVERY_VERB | {"check"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    unused = {"asyncio", "logging", "tempfile", "pathlib", "difflib", "shutil"}
    assert not modules & unused
    assert not {name for name in modules if name.startswith("hookline.check.fix")}
    assert "hookline.check.explosion" not in modules


def test_two_at_once_do_no_harm(flawed: Project) -> None:
    command = [sys.executable, "-m", "hookline", "check", "--fix", "--json"]
    running = [
        subprocess.Popen(command, cwd=flawed.path, stdout=-1, stderr=-1, text=True) for _ in "ab"
    ]
    for process in running:
        _, said = process.communicate(timeout=50)
        assert process.returncode == 0 or "has changed since it was read" in said
    text = (flawed.path / ".hookline/settings.json").read_text()
    assert text.count("BeforeTool") == 1
    assert text.count('"type"') == 2
    json.loads(hookline("check", "--json", cwd=flawed.path).out)


def test_what_is_left_to_do_is_said_until_it_is_done(project: Project) -> None:
    project.script("hooks/ok.sh", "#!/bin/sh\n")
    project.settings(settings("BeforeAgent", command_hook("hooks/ok.sh")))
    todo = "the project's hooks run after you trust them with `hookline trust`\n"
    summary = "1 hook in 1 file: no problems\n"
    assert hookline("check", cwd=project.path).out == summary + todo
    assert hookline("trust", "--yes", cwd=project.path).status == 0
    assert hookline("check", cwd=project.path).out == summary
