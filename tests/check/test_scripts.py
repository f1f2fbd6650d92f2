"""Programs and scripts that cannot be started, told without starting them."""

import json
import os
import sys
from pathlib import Path

import pytest

from hookline.wire.hooks import HookSource
from tests.check.review import ERROR, WARNING, brief, check, checked, hook, on, only, review
from tests.harness.scratch import Project

SH = "#!/bin/sh\ncat > /dev/null\n"


@pytest.mark.parametrize(
    "command",
    [
        *("hooks/ok.sh", "./hooks/ok.sh --strict", "$HOOKLINE_PROJECT_DIR/hooks/ok.sh"),
        *('"${HOOKLINE_PROJECT_DIR}/hooks/ok.sh" x', "sh hooks/plain.sh", "sh -eu hooks/plain.sh"),
        *("MODE=x hooks/ok.sh", "cd hooks && ./ok.sh", 'cd "$GEMINI_PROJECT_DIR" && hooks/ok.sh'),
        *("hooks/ok.sh | tee -a log", "hooks/ok.sh 2>/dev/null; true", "true", "cat > /dev/null"),
        *("if true; then hooks/gone.sh; fi", "python3 -c 'print(1)'", "env A=b hooks/ok.sh"),
        *(
            "~/mine.sh",
            "sh ~/mine.sh x",
            "$PWD/hooks/ok.sh",
            "sh -e hooks/plain.sh",
            "sh -ec ./gone",
        ),
        *("test -x gone && ./gone", "printf '%s' {}", "(hooks/gone.sh)"),
    ],
)
def test_commands_that_are_fine_or_for_a_shell_to_know(project: Project, command: str) -> None:
    project.script("hooks/ok.sh", SH)
    project.write("hooks/plain.sh", SH)
    project.script(str(Path.home() / "mine.sh"), SH)
    assert review(project, on("BeforeAgent", hook(command))) == []


@pytest.mark.parametrize(
    ("command", "rule", "severity", "said"),
    [
        ("hooks/gone.sh", "script-missing", ERROR, "there is no script hooks/gone.sh; create it"),
        ("hooks/okk.sh", "script-missing", ERROR, "did you mean hooks/ok.sh?"),
        ("hooks", "program-missing", WARNING, "hooks is not on the PATH"),
        ("./hooks", "script-missing", ERROR, "./hooks is a directory"),
        ("python3 hooks/gone.py", "script-missing", ERROR, "exits with 2, which blocks"),
        ("sh hooks/gone.sh -x", "script-missing", ERROR, "there is no script hooks/gone.sh"),
        ("env python3 -u hooks/gone.py", "script-missing", ERROR, "there is no script"),
        ("cd hooks && ./gone.sh", "script-missing", ERROR, "there is no script ./gone.sh"),
        ("hooks/gone.sh | tee log", "script-missing", ERROR, "there is no script"),
        ("hooks/plain.sh", "script-not-executable", ERROR, "run chmod +x hooks/plain.sh"),
        ("hooks/bare.py", "script-shebang", ERROR, "begin it with #!/usr/bin/env python3"),
        ("hooks/odd.sh", "script-interpreter", ERROR, "the first line names /no/such/sh"),
        ("hooks/env.sh", "script-interpreter", ERROR, "the first line names nosuchprogram"),
        ("hooks/dos.sh", "script-crlf", ERROR, "save it with Unix line ends"),
        ("sh hooks/dos.sh", "script-crlf", ERROR, "the script has Windows line ends"),
        ("hooks/dos.py", "script-crlf", ERROR, "the script has Windows line ends"),
        ("nosuchprogram --x", "program-missing", WARNING, "is not on the PATH of this shell"),
        ("top.sh", "program-missing", ERROR, "write ./top.sh"),
        ("python9 hooks/dos.py", "program-missing", WARNING, "python9 is not on the PATH"),
        (".venv/bin/python hooks/dos.py", "program-missing", ERROR, "there is no program .venv"),
        ("~/gone.sh", "script-missing", ERROR, "gone.sh"),
    ],
)
def test_what_cannot_be_started(
    project: Project, command: str, rule: str, severity: str, said: str
) -> None:
    project.script("hooks/ok.sh", SH)
    project.write("hooks/plain.sh", SH)
    project.script("hooks/bare.py", "import json\n")
    project.script("hooks/odd.sh", "#!/no/such/sh\n")
    project.script("hooks/env.sh", "#!/usr/bin/env -S nosuchprogram -x\n")
    project.script("hooks/dos.sh", SH.replace("\n", "\r\n"))
    project.script("hooks/dos.py", "#!/usr/bin/env python3\r\n")
    project.script("top.sh", SH)
    findings = [f for f in review(project, on("BeforeAgent", hook(command))) if f.kind != "warm"]
    finding = only(findings, rule)
    assert finding.severity is severity
    assert said in finding.text


def test_a_script_that_is_no_regular_file_is_to_be_replaced(project: Project) -> None:
    os.mkfifo(project.path / "pipe")
    finding = only(review(project, on("BeforeAgent", hook("./pipe"))), "script-missing")
    assert "./pipe is not a regular file; replace it with a script" in finding.text


def test_a_users_script_needs_its_whole_path(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    for name, remedy in (("own/gone.sh", "write its whole path"), ("/no/gone.sh", "create it")):
        file.write_text(json.dumps(on("BeforeAgent", hook(name))))
        findings = check(checked((file, HookSource.USER), project=project))
        assert remedy in only(findings, "script-missing").text


@pytest.mark.parametrize(
    ("suffix", "program"),
    [("py", "python3"), ("js", "node"), ("mjs", "node"), ("rb", "ruby"), ("pl", "perl")],
)
def test_a_first_line_is_proposed_by_the_name_of_the_script(
    project: Project, suffix: str, program: str
) -> None:
    project.script(f"guard.{suffix}", "x = 1\n")
    finding = only(review(project, on("BeforeAgent", hook(f"./guard.{suffix}"))), "script-shebang")
    assert finding.remedy == f"begin it with #!/usr/bin/env {program}"


@pytest.mark.parametrize(("before", "rules"), [(511, []), (512, ["script-shebang"])])
def test_a_program_is_known_by_a_zero_in_its_beginning(
    project: Project, before: int, rules: list[str]
) -> None:
    file = project.path / "program"
    file.write_bytes(b"(" * before + b"\0\n")
    file.chmod(0o755)
    findings = review(project, on("BeforeAgent", hook("./program", args=[])))
    assert [finding.kind for finding in findings] == rules
    findings = review(project, on("BeforeAgent", hook("./program")))
    assert [finding.kind for finding in findings] == ["script-syntax"] * len(rules)


def test_an_interpreter_on_the_path_of_this_shell_is_there(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = project.script("bin/some-interpreter", SH)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{program.parent}")
    project.script("guard", "#!/usr/bin/env some-interpreter\n")
    assert review(project, on("BeforeAgent", hook("./guard"))) == []


def test_an_interpreter_that_is_missing_may_be_found_on_the_path(project: Project) -> None:
    project.script("hooks/odd.sh", "#!/no/such/zsh\n")
    finding = only(review(project, on("BeforeAgent", hook("hooks/odd.sh"))), "script-interpreter")
    assert finding.text.endswith("install it, or write #!/usr/bin/env zsh")
    assert (finding.file, finding.line, finding.column) == (
        str(project.path / "hooks/odd.sh"),
        1,
        3,
    )


def test_a_script_that_a_shell_reads_must_still_be_executable_for_another_hook(
    project: Project,
) -> None:
    project.write("hooks/plain.sh", SH)
    hooks = [hook("sh hooks/plain.sh"), hook("hooks/plain.sh")]
    only(review(project, on("BeforeAgent", *hooks)), "script-not-executable")


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS splits the line into words")
def test_env_needs_an_option_to_split_what_it_is_given(project: Project) -> None:
    project.script("hooks/x.py", "#!/usr/bin/env python3 -u\n")
    finding = only(review(project, on("BeforeAgent", hook("hooks/x.py"))), "script-interpreter")
    assert finding.text.endswith("write #!/usr/bin/env -S python3 -u")


@pytest.mark.parametrize("command", ["python3 hooks/dos.py", "hooks/dos.py"])
def test_python_does_not_mind_how_lines_end(project: Project, command: str) -> None:
    project.script("hooks/dos.py", "#!/usr/bin/env python3\nimport json\r\n")
    findings = review(project, on("BeforeAgent", hook(command)))
    assert [finding.kind for finding in findings] == ["warm"]


@pytest.mark.parametrize(
    ("command", "args", "rule"),
    [
        ("hooks/ok.sh", ["x"], None),
        (sys.executable, ["-c", "pass"], None),
        ("sh hooks/ok.sh", [], "program-missing"),
        ("hooks/bare.sh", [], "script-shebang"),
        ("sh", ["hooks/gone.sh"], "script-missing"),
        ("$HOOKLINE_PROJECT_DIR/hooks/gone.sh", [], "script-missing"),
    ],
)
def test_with_args_the_command_is_one_program(
    project: Project, command: str, args: list[str], rule: str | None
) -> None:
    project.script("hooks/ok.sh", SH)
    project.script("hooks/bare.sh", "cat > /dev/null\n")
    findings = review(project, on("BeforeAgent", hook(command, args=args)))
    assert [finding.kind for finding in findings] == ([rule] if rule else [])


def test_a_script_is_looked_for_where_a_hook_finds_it(project: Project, tmp_path: Path) -> None:
    project.script("hooks/ok.sh", SH)
    below = project.path / "src"
    below.mkdir()
    file = project.settings(on("BeforeAgent", hook("hooks/ok.sh")))
    assert check(checked((file, HookSource.PROJECT), project=project, cwd=below)) == []
    user = Project(tmp_path / "user")
    user.script("own/ok.sh", SH)
    file = user.settings(on("BeforeAgent", hook("own/ok.sh | cat")), file="settings.json")
    assert check(checked((file, HookSource.USER), project=project, cwd=below)) == []


def test_the_place_of_a_line_end_is_in_the_script(project: Project) -> None:
    script = project.script("hooks/mixed.sh", "#!/bin/sh\necho one\r\n")
    finding = only(review(project, on("BeforeAgent", hook("hooks/mixed.sh"))), "script-crlf")
    assert (finding.file, finding.line, finding.column) == (str(script), 2, 9)
    assert finding.settings.endswith(".hookline/settings.json")


def test_one_script_of_many_hooks_is_told_once(project: Project) -> None:
    project.write("hooks/plain.sh", SH)
    hooks = [hook("hooks/plain.sh", name=str(number)) for number in range(5)]
    settings = {"hooks": {"BeforeTool": [{"matcher": "glob", "hooks": [h]} for h in hooks]}}
    findings = review(project, settings)
    assert [f.kind for f in findings].count("script-not-executable") == 1


def test_a_hook_is_found_at_its_own_place_beside_one_that_is_skipped(project: Project) -> None:
    skipped = {"type": "nonsense", "command": "./gone.sh"}
    hooks = [skipped, hook("true"), skipped, hook("./gone.sh"), hook("true")]
    findings = review(project, on("BeforeAgent", *hooks))
    missing = [finding for finding in findings if finding.kind == "script-missing"]
    assert [finding.path for finding in missing] == [
        ("hooks", "BeforeAgent", 0, "hooks", 3, "command")
    ]


def test_odd_files_are_survived(project: Project) -> None:
    os.mkfifo(project.path / "pipe")
    project.script("empty.sh", "")
    (project.path / "binary").write_bytes(b"\x7fELF\0\0\r\n\xff")
    (project.path / "binary").chmod(0o755)
    (project.path / "loop").symlink_to("loop")
    project.script("env", "#!/usr/bin/env\n")
    hooks = [hook(f"./{name}") for name in ("pipe", "empty.sh", "binary", "loop", "env")]
    findings = review(project, on("BeforeAgent", *hooks))
    assert brief(findings) == [("script-missing", ERROR), ("script-missing", ERROR)]


@pytest.mark.parametrize("name", ["a\0b", "./a\0b", "\ud800", "./\ud800", "sh a\0b", "'\ud800'"])
@pytest.mark.parametrize("args", [None, [], ["./\0", "\ud800"]])
def test_names_that_no_file_can_have_are_survived(
    project: Project, name: str, args: list[str] | None
) -> None:
    config = {} if args is None else {"args": args}
    review(project, on("BeforeAgent", hook(name, warm=True, **config), hook("sh", **config)))


def test_nothing_is_executed(project: Project) -> None:
    script = project.script("touch.sh", "#!/bin/sh\ntouch ran\n")
    python = project.script("touch.py", "#!/usr/bin/env python3\nopen('ran', 'w')\n")
    commands = [str(script), f"python3 {python}", "touch ran", "$(touch ran)", "`touch ran`"]
    hooks = [hook(command, warm=True, name="$(touch ran)") for command in commands]
    review(project, on("SessionStart", *hooks, matcher="$(touch ran)"))
    assert not (project.path / "ran").exists()
    assert not Path("ran").exists()


def test_every_hook_is_looked_at_after_one_that_is_fine_or_wrong(project: Project) -> None:
    wrong = hook("hooks/ok.sh --strict", args=[])
    hooks = hook("true", name="fine"), wrong, hook("no-such-program-here")
    findings = review(project, on("BeforeAgent", *hooks))
    assert [finding.kind for finding in findings] == ["program-missing", "program-missing"]
    assert "no-such-program-here" in findings[1].message
