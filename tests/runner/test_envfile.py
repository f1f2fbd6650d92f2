"""What hooks export through CLAUDE_ENV_FILE reaches the answer, and no file stays behind."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from hookline.dialects.claude.events import ClaudeEventName
from hookline.runner.envfile import read_exports
from hookline.wire.events import EventName, HookEventName
from tests.eleven import Json, until
from tests.runner.claude_hooks import claude_hook, run_claude
from tests.runner.contained import time_begins_with

ENVIRON = {"HOME": "/home/me", "PATH": "/bin", "TWO": "x  y"}
SESSION_START = HookEventName.SESSION_START
OLD_BASH = pytest.mark.skipif(sys.platform == "darwin", reason="its bash knows less than others")


def left_behind() -> list[str]:
    """What is in the directory for temporary files."""
    return os.listdir(os.environ["TMPDIR"])


def exports_in(output: Json | None) -> Json:
    assert output is not None
    specific: Json = output["hookSpecificOutput"]
    exports: Json = specific["exports"]
    return exports


async def test_what_a_hook_exports_is_in_its_answer() -> None:
    lines = r"""
        echo 'export NODE_ENV=production' >> "$CLAUDE_ENV_FILE"
        echo 'export PATH="$HOME/bin:$PATH"' >> $CLAUDE_ENV_FILE
        printf 'WITH_BLANKS=%q OTHER=1\n' "a  b'c" >> "$CLAUDE_ENV_FILE"
        declare -x DUMPED='quote " dollar $ end'
        export -p | grep DUMPED >> "$CLAUDE_ENV_FILE"
    """
    [result] = await run_claude(claude_hook(lines))
    assert (result.exit_code, result.warnings) == (0, ())
    assert exports_in(result.output) == {
        "NODE_ENV": "production",
        "PATH": f"{os.environ['HOME']}/bin:{os.environ['PATH']}",
        "WITH_BLANKS": "a  b'c",
        "OTHER": "1",
        "DUMPED": 'quote " dollar $ end',
    }
    assert left_behind() == []


async def test_exports_are_added_to_what_the_hook_said() -> None:
    specific = {"hookEventName": "SessionStart", "additionalContext": "hello"}
    said = json.dumps({"hookSpecificOutput": specific})
    command = f"""echo 'export A=1' > "$CLAUDE_ENV_FILE"; echo '{said}'"""
    [result] = await run_claude(claude_hook(command))
    assert exports_in(result.output) == {"A": "1"}
    [silent] = await run_claude(claude_hook(f"echo '{said}'"))
    for output in (result.output, silent.output):
        assert output is not None
        assert output["hookSpecificOutput"]["additionalContext"] == "hello"
        assert ("exports" in output["hookSpecificOutput"]) == (output is result.output)


async def test_values_are_made_of_what_the_hook_itself_had() -> None:
    hook = claude_hook("""echo 'export A=$OWN-$SHARED' > "$CLAUDE_ENV_FILE" """, env={"OWN": "o"})
    [result] = await run_claude(hook, shared_env={"SHARED": "s"})
    assert exports_in(result.output) == {"A": "o-s"}


@pytest.mark.parametrize(
    ("event", "background", "is_there"),
    [
        (SESSION_START, False, True),
        (ClaudeEventName.SETUP, False, True),
        (ClaudeEventName.CWD_CHANGED, False, True),
        (ClaudeEventName.FILE_CHANGED, False, True),
        (HookEventName.BEFORE_TOOL, False, False),
        (HookEventName.SESSION_END, False, False),
        (SESSION_START, True, False),
    ],
)
async def test_the_file_is_there_on_four_events_for_hooks_that_are_waited_for(
    event: EventName, background: bool, is_there: bool
) -> None:
    command = """stat -c '%a %F' "$CLAUDE_ENV_FILE" "${CLAUDE_ENV_FILE%/*}" > seen; exit 0"""
    if os.uname().sysname == "Darwin":
        command = command.replace("-c '%a %F'", "-f '%Lp %HT'")
    hook = claude_hook(f"touch seen; [ -z $CLAUDE_ENV_FILE ] || {command}", background=background)
    [result] = await run_claude(hook, event=event)
    assert result.failed is None
    modes = [line.split()[0] for line in Path("seen").read_text().splitlines()]
    assert modes == (["600", "700"] if is_there else [])
    assert left_behind() == []


async def test_hooks_in_parallel_have_a_file_each(tmp_path: Path) -> None:
    hooks = [claude_hook(f"echo export N{n}=$CLAUDE_ENV_FILE > $CLAUDE_ENV_FILE") for n in range(3)]
    results = await asyncio.gather(*(run_claude(hook, cwd=tmp_path) for hook in hooks))
    files = [exports_in(result.output)[f"N{n}"] for n, [result] in enumerate(results)]
    assert len({*files}) == 3


@pytest.mark.parametrize("code", [1, 2])
async def test_a_hook_that_fails_by_its_exit_code_has_exported_what_it_wrote(code: int) -> None:
    command = f"echo 'export A=1' > $CLAUDE_ENV_FILE; exit {code}"
    [result] = await run_claude(claude_hook(command))
    assert (result.exit_code, exports_in(result.output)) == (code, {"A": "1"})


async def test_of_a_hook_that_crashes_or_runs_too_long_nothing_is_read_and_nothing_stays() -> None:
    begin = "echo 'export A=1' > $CLAUDE_ENV_FILE; touch ${CLAUDE_ENV_FILE%/*}/more; "
    [crashed] = await run_claude(claude_hook(f"{begin} kill -9 $$"))
    assert (crashed.failed, crashed.output, left_behind()) == ("signal", None, [])
    with time_begins_with("begun"):
        [late] = await run_claude(
            claude_hook(f"{begin} echo on > begun; exec sleep 60", timeout=200)
        )
    assert (late.failed, late.output, left_behind()) == ("timeout", None, [])
    [absent] = await run_claude(claude_hook("no-such-program", args=()))
    assert (absent.failed, left_behind()) == ("spawn", [])


async def test_of_a_cancelled_hook_nothing_stays() -> None:
    command = "echo 'export A=1' > $CLAUDE_ENV_FILE; touch begun; exec sleep 60"
    task = asyncio.create_task(run_claude(claude_hook(command)))
    await until(Path("begun").exists)
    assert len(left_behind()) == 1
    task.cancel()
    await asyncio.wait([task], timeout=10)
    assert (task.cancelled(), left_behind()) == (True, [])


@pytest.mark.parametrize(
    ("command", "warning"),
    [
        ("rm $CLAUDE_ENV_FILE", None),
        ("rm -r ${CLAUDE_ENV_FILE%/*}", None),
        ("rm $CLAUDE_ENV_FILE; mkfifo $CLAUDE_ENV_FILE", "it is not a regular file"),
        ("rm $CLAUDE_ENV_FILE; mkdir $CLAUDE_ENV_FILE", "Is a directory"),
        ("head -c 131073 /dev/zero > $CLAUDE_ENV_FILE", "longer than 131072 bytes"),
        ("printf '\\377\\0' > $CLAUDE_ENV_FILE", "line 1: this is not a plain export"),
    ],
)
async def test_what_cannot_be_read_is_told_and_the_hook_has_not_failed(
    command: str, warning: str | None
) -> None:
    [result] = await run_claude(claude_hook(command))
    assert (result.failed, result.output or {}, left_behind()) == (None, {}, [])
    assert len(result.warnings) == (warning is not None)
    assert warning is None or warning in result.warnings[0]


async def test_where_no_file_can_be_made_the_hook_runs_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    [result] = await run_claude(claude_hook("test -z $CLAUDE_ENV_FILE"))
    assert (result.exit_code, result.failed) == (0, None)
    assert "it runs without CLAUDE_ENV_FILE: cannot create the file" in result.warnings[0]


NOT_PLAIN = "this is not a plain export NAME=value"


def test_what_is_no_export_is_not_read_and_named_by_its_line() -> None:
    text = "export A=1\nsource ~/.x\nexport T=$(pass show token) U=2\n./x --key=secret\nB=1\n"
    exports, skipped = read_exports(text, ENVIRON)
    assert exports == {"A": "1", "B": "1"}
    # Nothing of the line is quoted: it may name a secret.
    assert set(skipped.split("; ")) == {f"line {n}: {NOT_PLAIN}" for n in (2, 3, 4)}


@pytest.mark.parametrize(("lines", "more"), [(5, ""), (6, "; and 1 more")])
def test_of_lines_that_were_not_read_five_are_named(lines: int, more: str) -> None:
    _, skipped = read_exports("true\n" * lines, {})
    assert skipped == "; ".join(f"line {n}: {NOT_PLAIN}" for n in range(1, 6)) + more


@pytest.mark.parametrize(
    ("text", "exports"),
    [
        ("export 1A=x\nexport A-B=y\nexport 'C D=z'\nexport GOOD=1", {"GOOD": "1"}),
        ("export B=2\nif true; then\nexport A=1\nfi\nexport C=3", {"B": "2"}),
        ("for i in 1 2; do export A=$i; done; export B=2", {}),
        ("f() {\nexport A=1\n}\nexport B=2", {}),
        ("(export A=1)\nexport B=2", {"B": "2"}),
        ("false && export A=1; export B=2", {"B": "2"}),
        ("false &&\nexport A=1\nexport B=2", {"B": "2"}),
        ("export A=1 | cat", {}),
        ("case a in\na) export A=1 ;;\nesac\nexport B=2", {}),
        ("export A=1\nexport B='never closed\nexport C=3", {}),
        ("export A=(1 2)", {}),
        ("export A+=1", {}),
        ("export A=1 > file", {}),
        ("export -n A=1; export -f g; declare -a A=1; declare A=1; export", {}),
        ("export A=${B:?is needed}; C=${PATH%n}; D=$((1 + 1)); E=$1; F=~root; G=6", {"G": "6"}),
        ("export A=$'\\xff'\nexport B=2", {"B": "2"}),
        ("export A=$NONE", {}),
        ("HOME=$(pwd)\nexport A=$HOME", {}),
        ("export A=1\nA=$(pwd)", {}),
        ("export A=1\nif x\nthen\nA=2\nfi", {}),
    ],
)
def test_what_only_a_shell_knows_is_not_read(text: str, exports: Json) -> None:
    found, skipped = read_exports(text, ENVIRON)
    assert found == exports
    assert skipped


def test_what_a_shell_says_of_itself_is_not_handed_on() -> None:
    dump = 'declare -x OLDPWD="/z"\ndeclare -x PWD="/y"\n'
    dump += 'declare -x SHLVL="2"\ndeclare -x MINE="m"\n'
    assert read_exports(dump, ENVIRON) == ({"MINE": "m"}, "")


def test_a_value_that_doubles_on_every_line_comes_to_an_end() -> None:
    exports, skipped = read_exports("export A=aaaa\n" + "export A=$A$A\n" * 100, ENVIRON)
    assert len(exports["A"]) < 4_194_304
    assert "the values come to more than 4194304 characters" in skipped


# Each is for a shell to source; what only a shell can do in them is not read here.
TEXTS = [
    "#!/bin/bash\n# a comment\n\nexport A=1 # another\n",
    "export A='a b' B=\"c $HOME\" C=$TWO D=a\\ b E=",
    'declare -x A="a\\"b\\$c\\\\d`e"',
    "declare -x A=\"two\nlines\"\nexport B='and\n\nthree'",
    'export PATH="$HOME/bin:$PATH"; export PATH=$PATH:/more',
    "A=1\nB=2 C=3\nexport A B",
    "export A=1; A=2",
    "export A=1 && export B=$A$A && declare -gx C=$B",
    "export A=~/x:~/y B='~/z' C=~ D=~/'a b' E=a~b",
    "export A+=1 A+=2 PATH+=:/x",
    "export \"A=b  c\" B'=d'",
    "export A=$'tab\\tquote\\'\\u00e9' B=$\"text\"",
    'export A=${NONE:-other} B=${HOME:-other} C=${NONE} D="${NONE:-$HOME/x}"',
    "export A=* B=[a] C=a#b D=a=b=c E=-n",
    "typeset -x A=1; export -- B=2; export -p > /dev/null",
    "export A=a\\\nb",
    "export A=1\r\nexport B=2",
    "export A=\u00e9\u4e2d",
    "A=1 true; export A",
    'export A="$(echo x)" B=1; export C=`echo y`; export D=$((1 + 2)); export E=1',
    "if true; then export A=1; else export A=2; fi; export B=$A",
    "{ export A=1; }; [[ a == b ]] && export B=2; true || export C=3",
    "f() { export A=1; }; export B=2; f",
    "case x in x) export A=1 ;; esac; export B=$A",
    "while false; do export A=1; done\nuntil true; do export B=1; done\nexport C=3",
    'export A=1 B="$A" C=$B',
    "cat > /dev/null <<E\nexport A=1\nE\nexport B=2",
    "export A='open\nexport B=2",
]


def check_against_bash(texts: list[str], directory: Path) -> None:
    """What is read is what bash has after it sourced a text; nothing it has is lost in silence."""
    script = []
    for number, text in enumerate(texts):
        (directory / f"{number}").write_text(text)
        script.append(
            f"(set -a; . ./{number}; env -0 > out{number}) >/dev/null 2> err{number} </dev/null"
        )
    (directory / "all").write_text("\n".join(script))
    environ = {**ENVIRON, "PATH": os.environ["PATH"]}
    given = {**environ, "LC_ALL": "C.UTF-8"}
    subprocess.run(["bash", "--norc", "all"], cwd=directory, env=given, check=False)
    for number, text in enumerate(texts):
        exports, skipped = read_exports(text, environ)
        problems = (directory / f"err{number}").read_text(errors="replace")
        if "syntax error" in problems or "unexpected" in problems:
            # Bash reads what is before that, in pieces of its own.
            continue
        out = (directory / f"out{number}").read_bytes().decode().split("\0")[:-1]
        variables = dict(entry.split("=", 1) for entry in out)
        assert exports == {name: variables.get(name) for name in exports}, text
        if not skipped:
            changed = {name for name in variables if variables[name] != environ.get(name)}
            assert changed <= {*exports, "_", "SHLVL", "PWD", "OLDPWD", "LC_ALL"}, text


@OLD_BASH
def test_what_is_read_is_what_bash_makes_of_it(tmp_path: Path) -> None:
    check_against_bash(TEXTS, tmp_path)


PIECES = st.sampled_from(
    [
        *("x", '"a b"', "'c $d'", "$A", '"${B}"', "${C:-d}", "${A:-$B}", "~/", '"~/"', "~", ":"),
        *("\\ ", "*", "\u00e9", "$'\\t'", "`echo q`", "$(echo r)", "#", "$TWO", "=", "{a,b}"),
        *("[x]", '"\\$"', "\\\n", '"l1\nl2"', "!"),
    ]
)
ASSIGNMENTS = st.builds(
    "{}{}{}".format,
    st.sampled_from("ABC"),
    st.sampled_from(["=", "=", "=", "+="]),
    st.lists(PIECES, max_size=4).map("".join),
)
SIMPLE = st.one_of(
    ASSIGNMENTS.map("export {}".format),
    ASSIGNMENTS.map("declare -x {}".format),
    ASSIGNMENTS,
    st.builds("export {} {}".format, ASSIGNMENTS, ASSIGNMENTS),
    st.sampled_from(["export A", "true", "false", "# comment"]),
)
COMMANDS = st.one_of(
    SIMPLE,
    SIMPLE,
    SIMPLE.map("(\n{}\n)".format),
    SIMPLE.map("{{\n{}\n}}".format),
    SIMPLE.map("for i in 1 2; do\n{}\ndone".format),
    st.builds("if {}\nthen\n{}\nfi".format, SIMPLE, SIMPLE),
    st.builds("{} {} {}".format, SIMPLE, st.sampled_from(["&&", "||", "&&\n", "|"]), SIMPLE),
)
SOURCES = st.lists(st.builds("{}{}".format, COMMANDS, st.sampled_from("\n;")), max_size=5)


@OLD_BASH
@settings(max_examples=3, phases=[Phase.generate])
@given(texts=st.lists(SOURCES.map("".join), min_size=40, max_size=40))
def test_any_text_is_read_as_bash_does(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_against_bash(texts, tmp_path_factory.mktemp("sourced"))


@settings(max_examples=50)
@given(text=st.text() | st.lists(PIECES | SIMPLE | st.sampled_from("(){}'\"\n")).map("".join))
@example(text="export A=~\0")
@example(text="(" * 1200)
def test_any_text_is_survived(text: str) -> None:
    exports, _ = read_exports(text, ENVIRON)
    assert all(name.isidentifier() for name in exports)
    "".join(exports.values()).encode()


async def test_a_file_exactly_at_the_limit_is_read() -> None:
    fill = "head -c 131061 /dev/zero | tr '\\0' '#' >> $CLAUDE_ENV_FILE"
    [result] = await run_claude(claude_hook(f"echo 'export A=1' > $CLAUDE_ENV_FILE; {fill}"))
    assert result.warnings == ()
    assert (result.output or {})["hookSpecificOutput"]["exports"] == {"A": "1"}
    [over] = await run_claude(
        claude_hook(f"echo 'export A=1' > $CLAUDE_ENV_FILE; {fill}; echo >> $CLAUDE_ENV_FILE")
    )
    assert over.output is None
