"""Which commands and scripts of Claude Code's may move as they are, from their text alone."""

from pathlib import Path

import pytest

from hookline.migrate.claude_scripts import CannotMove, Judge

PYTHON = """#!/usr/bin/env python3
'''Reads no CLAUDE_ENV_FILE, prints nothing.'''
import json, sys
event = json.load(sys.stdin)  # not CLAUDE_ENV_FILE
if "rm -rf" in event["tool_input"]["command"]:
    print("no", file=sys.stderr)
    sys.exit(2)
"""
BASH = """#!/usr/bin/env bash
# CLAUDE_ENV_FILE is not read
set -euo pipefail
input=$(cat)
cmd=$(echo "$input" | jq -r '.tool_input.command // empty')
if [[ "$cmd" =~ rm\\ -rf ]] || echo "$cmd" | grep -qE 'sudo'; then
  echo "never" >&2
  exit 2
fi
case "$cmd" in *mkfs*) echo "not that" >&2; exit 2 ;; esac
exit 0
"""


def judge(
    command: str,
    folder: Path,
    *,
    event: str = "PreToolUse",
    args: list[str] | None = None,
    may_read: bool = True,
) -> str:
    """Why a command may not move, "" if it may."""
    values = {"CLAUDE_PROJECT_DIR": str(folder)}
    try:
        Judge(event, values, folder=str(folder), may_read=may_read).judge(command, args)
    except CannotMove as error:
        return str(error)
    return ""


def judge_script(folder: Path, name: str, text: str, event: str = "PreToolUse") -> str:
    script = folder / name
    script.write_text(text)
    script.chmod(0o755)
    return judge(f"$CLAUDE_PROJECT_DIR/{name}", folder, event=event)


@pytest.mark.parametrize(
    ("event", "command"),
    [
        ("PreToolUse", "exit 2"),
        ("PreToolUse", "echo no >&2; exit 2"),
        ("PreToolUse", "bash -c 'exit 2'"),
        ("PreToolUse", "python3 -c 'import sys; sys.exit(2)'"),
        ("PreToolUse", "jq -r .tool_input.command | grep -q rm && { echo no >&2; exit 2; } || :"),
        ("PreToolUse", """jq -e '.tool_input.command | test("rm")' >/dev/null && exit 2 || true"""),
        ("PreToolUse", "cat <<E >&2\nno\nE\nexit 2"),
        ("PreToolUse", "e=$(cat); [[ $(jq -r .tool_input.command <<< $e) == *rm* ]] && exit 2"),
        ("Notification", "jq -r .message | cut -d: -f1 | grep -q x && date > log; exit 0"),
        ("PreToolUse", "deny() { echo no >&2; exit 2; }; [ -f lock ] && deny; exit 0"),
        ("UserPromptSubmit", "jq -r .prompt | grep -q secret && exit 2; exit 0"),
        ("Stop", "[ -f done ] || { echo go on >&2; exit 2; }"),
        ("PreToolUse", "grep -q rm <<< $USER && exit 2; exit 0"),
        ("PreToolUse", "x=$(date); date | wc -l > n; echo y 1> log; exit 2"),
        ("PreToolUse", "for f in a b; do touch $f; done; exit 2"),
        ("PreToolUse", "/usr/bin/touch ran; cd / && /bin/mkdir ran"),
        ("Stop", "jq -e .stop_hook_active > /dev/null && exit 0; exit 2"),
        ("PreCompact", "jq -r .trigger | grep -q auto && touch x"),
        ("SessionStart", "mkdir -p .cache"),
        ("SessionEnd", "date >> ended.log"),
        ("Notification", "notify-send waiting"),
    ],
)
def test_what_means_the_same_natively_may_move(event: str, command: str, tmp_path: Path) -> None:
    assert judge(command, tmp_path, event=event) == ""


def test_scripts_are_read_whatever_starts_them(tmp_path: Path) -> None:
    assert judge_script(tmp_path, "guard.py", PYTHON) == ""
    assert judge_script(tmp_path, "guard.sh", BASH) == ""
    bad = tmp_path / "bad.py"
    bad.write_text("import os, sys\nif 'CLAUDE_ENV_FILE' in os.environ: sys.exit(2)\n")
    (tmp_path / "outer.sh").write_text(f"bash -c 'python3 {bad}'\n")
    for command, args in (
        ("python3 bad.py", None),
        ("/usr/bin/env python3 bad.py", None),
        ("python3", [str(bad)]),
        ("bash outer.sh", None),
        ("bash -c 'bash outer.sh'", None),
    ):
        reason = judge(command, tmp_path, args=args)
        assert reason == "bad.py:2 uses CLAUDE_ENV_FILE, which means something else natively"


@pytest.mark.parametrize(
    ("event", "command", "reason"),
    [
        ("PreToolUse", "[ -n $CLAUDE_CODE_REMOTE ] || exit 2", "it uses CLAUDE_CODE_REMOTE"),
        ("SessionStart", "echo X=1 >> $CLAUDE_ENV_FILE", "it uses CLAUDE_ENV_FILE"),
        *(
            ("PreToolUse", says, "it prints, which is read in another way natively")
            for says in (
                *("echo checked", "(echo checked)", "echo checked 2>/dev/null", "cat <<E\nx\nE"),
                *("echo checked >/dev/stderr >&1", "jq -n '{decision: \"block\"}'"),
                """echo '{"decision": "block"}'; exit 0""",
                """A='{"decision": "block"}'; echo "$A" """,
                """[ -f x ] && echo '{"decision": "block"}' || true""",
                """deny() { echo '{"decision": "block"}'; }; deny""",
                """ls . | while read x; do echo '{"decision": "block"}'; done""",
            )
        ),
        ("SessionStart", "git status", "it prints"),
        ("UserPromptSubmit", "echo be brief", "it prints"),
        *(
            ("PreToolUse", f"{looks} && exit 2; exit 0", "it reads the whole event")
            for looks in (
                *("grep -q Bash", "[[ $(cat) == *rm* ]]", "cat | grep -q rm", "read -r x"),
                *('e=$(cat); [[ "$e" == *rm* ]]', 'e=$(cat); echo "${e}" | grep -q rm'),
                *("e=$(cat); echo ${#e} | grep -q 9", "grep -q rm /dev/stdin"),
                "e=$(cat); echo $e | jq -r .prompt | grep -q x || echo $e | grep -q rm",
            )
        ),
        *(
            ("PreToolUse", f"[ -s {file} ] && exit 2; exit 0", "it reads the whole event")
            for file in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
        ),
        ("Stop", "cat >> events.jsonl", "it reads the whole event"),
        ("Stop", "jq -c . >> events.jsonl", "it reads more with jq"),
        ("PreToolUse", "jq -e 'keys | length > 6' && exit 2", "it reads more with jq"),
        ("PreToolUse", "jq | grep -q x && exit 2", "it reads more with jq"),
        ("PreToolUse", "jq -c .tool_input.command | grep -q x", "it reads more with jq"),
        ("PreToolUse", "read -r x\ncat <<E >&2\nno\nE\nexit 2", "it reads the whole event"),
        ("PreToolUse", "echo x < file; exit 2", "it prints"),
        ("PreToolUse", "grep rm <<< $USER && exit 2", "it prints"),
        ("PreToolUse", "date | sed -f x | grep -q y && exit 2", "it runs sed with a file"),
        ("PreToolUse", "date | awk '{system(x)}' > log; exit 2", "it runs awk with a file"),
        ("PreToolUse", 'cat <<E\n{"decision": "block"}\nE | cat', "it is not a complete"),
        *(
            (event, f"jq -r .{field} | grep -q x && touch x", "it reads more with jq")
            for event, field in (
                *(("PreToolUse", "tool_name"), ("PreToolUse", "tool_input.timeout")),
                *(("PreToolUse", "transcript_path"), ("PreToolUse", "prompt")),
                *(("Stop", "last_assistant_message"), ("Stop", "prompt")),
                *(("SessionStart", "source"), ("SessionEnd", "reason")),
                ("Notification", "notification_type"),
            )
        ),
        ("PreCompact", "exit 2", "it uses exit"),
        ("SessionStart", "exit 2", "it uses exit"),
        ("PreToolUse", "node guard.js", "it starts node"),
        ("PreToolUse", "npx guard", "it starts npx"),
        ("PreToolUse", "guard", "it starts guard"),
        ("PreToolUse", "./missing.sh", "it starts ./missing.sh, which cannot be read"),
        ("PreToolUse", "python3 -m guard", "it starts python3 without a script"),
        ("PreToolUse", "date | python3 -", "it starts python3 without a script"),
        ("PreToolUse", "cd tools && ./guard.sh", "it starts ./guard.sh after changing"),
        ("PreToolUse", "eval exit 2", "it runs eval, whose effect"),
        ("PreToolUse", ". ./guard.sh", "it runs ., whose effect"),
        ("PreToolUse", "command ./guard.sh", "it runs command, whose effect"),
        ("PreToolUse", "$GUARD", "it runs $GUARD, whose effect"),
        ("PreToolUse", "PATH=tools jq .x", "it sets PATH"),
        ("PreToolUse", "export PATH=tools; jq .x", "it sets PATH"),
        ("PreToolUse", "trap 'exit 1' EXIT; exit 0", "it runs trap, whose effect"),
        ("PreToolUse", "echo 'no", "it is not a complete shell command"),
    ],
)
def test_a_command_that_would_do_something_else_is_refused(
    event: str, command: str, reason: str, tmp_path: Path
) -> None:
    assert judge(command, tmp_path, event=event).startswith(reason)


@pytest.mark.parametrize(
    ("event", "script", "reason"),
    [
        ("PreToolUse", "import guardlib", "imports guardlib"),
        ("PreToolUse", "from . import rules", "imports its own"),
        ("PreToolUse", "import subprocess", "imports subprocess"),
        ("PreToolUse", "import os\nos.system('guard')", "uses .system("),
        ("PreToolUse", "exec('x')", "uses exec, whose effect"),
        ("PreToolUse", "print('checked')", "prints"),
        ("PreToolUse", "say = print", "prints"),
        ("PreToolUse", "sys.stdout.buffer.write(b'x')", "prints"),
        ("PreToolUse", "import json\nprint(json.dumps({'decision': 'block'}))", "prints"),
        ("PreToolUse", "def (", "is not Python that can be parsed"),
        *(
            ("PreToolUse", f"import json, sys\n{looks}: sys.exit(2)", "reads the whole event")
            for looks in (
                *("if 'rm' in sys.stdin.read()", "if len(json.load(sys.stdin)) > 7"),
                *("e = json.load(sys.stdin)\nif 'x' in str(e)", "if 'rm' in input()"),
                "e = json.load(sys.stdin)\ni = e['tool_input']\nif 'dir' in i",
                "e = json.load(sys.stdin)\nif 'x' in e.get('tool_input')",
                "e = json.load(sys.stdin)\nf = e\nif 'x' in f.get('cwd')",
                *(f"e = json.load(sys.stdin)\nif e['tool_'{x}'name'] == 'x'" for x in (" ", " + ")),
                "e = json.load(sys.stdin)\nif e['tool_name'] == 'x'",
            )
        ),
    ],
)
def test_a_script_that_would_do_something_else_is_refused(
    event: str, script: str, reason: str, tmp_path: Path
) -> None:
    refused = judge_script(tmp_path, "guard.py", f"#!/usr/bin/env python3\n{script}\n", event)
    assert refused.partition(" ")[2].startswith(reason)


def test_what_args_name_is_looked_for_too(tmp_path: Path) -> None:
    assert judge("touch", tmp_path, args=["x"]) == ""
    refused = judge("touch", tmp_path, args=["$CLAUDE_ENV_FILE"])
    assert refused == "it uses CLAUDE_ENV_FILE, which means something else natively"


def test_an_absolute_path_may_follow_a_change_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "guard.sh").write_text("exit 2\n")
    assert judge(f"cd tools && bash {tmp_path}/guard.sh", tmp_path) == ""
    assert "after changing the folder" in judge("pushd x && bash guard.sh", tmp_path)


def test_a_script_without_a_first_line_is_for_a_shell(tmp_path: Path) -> None:
    assert judge_script(tmp_path, "guard", "exit 2\n") == ""
    refused = judge_script(tmp_path, "guard.sh", "echo 'no\n")
    assert refused == "guard.sh is not a complete shell command"


def test_modules_of_the_standard_library_may_be_imported_in_any_form(tmp_path: Path) -> None:
    code = "import os.path as p, sys\nfrom collections.abc import Mapping\nsys.exit(2)"
    assert judge_script(tmp_path, "guard.py", f"#!/usr/bin/env python3\n{code}\n") == ""
    (tmp_path / "os.py").write_text("")
    assert "it imports os" in judge(f"python3 -c '{code}'", tmp_path)


def test_a_module_beside_the_script_takes_the_place_of_the_standard_one(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    assert "imports json" in judge_script(tmp_path, "guard.py", PYTHON)


def test_scripts_in_other_languages_and_without_permission_are_refused(tmp_path: Path) -> None:
    refused = judge_script(tmp_path, "guard.rb", "#!/usr/bin/env ruby\nexit 2\n")
    assert "neither a shell nor a Python script" in refused
    (tmp_path / "guard.rb").chmod(0o644)
    assert "not executable" in judge("./guard.rb", tmp_path)


def test_a_hook_for_tools_whose_input_differs_may_not_read_it(tmp_path: Path) -> None:
    (tmp_path / "guard.py").write_text(PYTHON)
    for command in ("jq -r .tool_input.content | grep -q x && exit 2", "python3 guard.py"):
        assert "reads a tool's input" in judge(command, tmp_path, may_read=False)
    assert judge("echo no >&2; exit 2", tmp_path, may_read=False) == ""


def test_scripts_that_start_each_other_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("bash b.sh\n")
    (tmp_path / "b.sh").write_text("bash a.sh\n")
    assert judge("bash a.sh", tmp_path) == ""
