"""Shell completion: real shells, and names from a project that nobody has reviewed."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from hookline._support.places import system_settings_file
from hookline.cli.completion import (
    Value,
    VerbGrammar,
    complete_bash,
    complete_fish,
    complete_zsh,
    read_value,
)
from hookline.cli.options import Option, flag
from tests.cli import shells
from tests.cli.command import EVERY_VERB, command_hook, hookline, on_terminal, settings
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, own, third_party
from tests.harness.scratch import Project

EVIL = "$(touch ran)"
NAMES = [EVIL, "`touch ran`", "a b;touch ran", "it's", 'say "hi"', "lint:fix", "plain", "$HOME"]
# For each line what bash would offer behind it, one a line, and an end.
_COMPLETE = """
eval "$(hookline completion bash)"
for COMP_LINE in "$@"; do
    COMP_POINT=${#COMP_LINE}
    _hookline
    printf '%s\\n' "${COMPREPLY[@]}" "(end)"
done
"""


OFFERED = {
    "hookline un": ["untrust"],
    "hookline list --ev": ["--event"],
    "hookline fire Se": ["SessionStart", "SessionEnd"],
    "hookline fire --tool write_file Pre": ["PreCompress", "PreToolUse", "PreCompact"],
    "hookline fire Notification Pre": [],
    "hookline list --event Pre": ["PreCompress", "PreToolUse", "PreCompact"],
    "hookline list --event=Pre": ["PreCompress", "PreToolUse", "PreCompact"],
    "hookline list --source us": ["user"],
    "hookline migrate --only u": ["user"],
    "hookline completion f": ["fish"],
    "hookline schema h": ["hooktest"],
    "hookline disable pl": ["plain"],
    "hookline disable --json pl": ["plain"],
    "hookline disable plain pl": [],
    "hookline bench pl": ["plain"],
    "hookline trace --hook pl": ["plain"],
    "hookline trace --decision re": ["redacted", "rewritten", "restricted"],
    "hookline trace --decision con": ["context-added"],
    "hookline disable lint:": ["fix"],
    "hookline disable \\$\\(": ["\\$\\(touch\\ ran\\)"],
    "hookline disable '$(": ["$(touch ran)"],
    'hookline disable "$(': ["\\$(touch ran)"],
    "hookline disable 'it": ["it'\\''s"],
    'hookline disable "say': ['say \\"hi\\"'],
    "hookline disable $(touch ran": [],
    "hookline nope ": [],
    "hookline list --settings hook": ["hookline"],
    "hookline list --settings=.hookline/s": [".hookline/settings.json"],
    "hookline list --cwd .hook": [".hookline/"],
    "hookline fire BeforeTool --input @.hookline/s": ["@.hookline/settings.json"],
    "./hookline disable pl": ["plain"],
    "A=1 hookline disable pl": ["plain"],
}


@pytest.fixture
def hostile(project: Project) -> Project:
    hooks = [command_hook("true", name=name) for name in (*NAMES, "two\nlines", "\x1b[2J")]
    project.settings(settings("BeforeTool", *hooks))
    project.script("hookline", "#!/bin/sh\ntouch ran\n")
    return project


def offered(lines: Iterable[str], project: Project, tmp_path: Path) -> list[list[str]]:
    """What bash would offer behind each of some lines."""
    shells.need("bash")
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", _COMPLETE, "bash", *lines],
        cwd=project.path,
        env=shells.environment(tmp_path),
        capture_output=True,
        encoding="utf-8",
        timeout=50,
    )
    assert done.stderr == ""
    each = done.stdout.split("(end)\n")[:-1]
    return [[word for word in words.split("\n") if word] for words in each]


def test_bash_offers_what_fits(hostile: Project, tmp_path: Path) -> None:
    found = offered(OFFERED, hostile, tmp_path)
    assert dict(zip(OFFERED, found, strict=True)) == OFFERED
    assert not (hostile.path / "ran").exists()


def test_bash_offers_every_name_quoted(hostile: Project, tmp_path: Path) -> None:
    (quoted,) = offered(["hookline disable "], hostile, tmp_path)
    script = f"printf '%s\\n' {' '.join(quoted)}"
    env = shells.environment(tmp_path)
    assert shells.run("bash", script, cwd=hostile.path, env=env) == NAMES
    assert not (hostile.path / "ran").exists()


# A shell runs the command for every key, and a machine may take long over each.
@pytest.mark.timeout(180)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_name_that_is_a_command_is_typed_shown_and_stays_inert(
    hostile: Project, tmp_path: Path, shell: str
) -> None:
    with shells.typing(shell, cwd=hostile.path, env=shells.environment(tmp_path)) as typist:
        typist.type("hookline dis\t\t\t")
        typist.wait_for("lint:fix")
        typist.type("\x15hookline disable \\$\\(\t\n")
        typist.wait_for(f"{EVIL} is disabled in every project (BeforeTool)")
    assert not (hostile.path / "ran").exists()


@pytest.mark.timeout(180)
def test_fish_offers_names_that_stay_inert(hostile: Project, tmp_path: Path) -> None:
    def complete(line: str) -> list[str]:
        script = f"hookline completion fish | source; complete --escape -C '{line}'"
        lines = shells.run("fish", script, cwd=hostile.path, env=shells.environment(tmp_path))
        return [each.partition("\t")[0] for each in lines]

    assert "\\$\\(touch\\ ran\\)" in complete("hookline disable ")
    events = {"PreCompress", "PreToolUse", "PreCompact"}
    assert {*complete("hookline fire Pre")} == events
    assert complete("hookline list --ev") == ["--event"]
    assert complete("hookline untr") == ["untrust"]
    assert not (hostile.path / "ran").exists()


def test_each_verb_is_offered_the_names_that_it_is_for(call: Call, project: Project) -> None:
    hooks = [command_hook("true", name=name) for name in ("on", "off", "-x")]
    data = settings("BeforeTool", *hooks)
    data["hooks"]["disabled"] = ["off"]
    project.settings(data)
    system = Path(system_settings_file())
    system.parent.mkdir(parents=True)
    managed = command_hook("true", name="kept", managed=True)
    system.write_text(json.dumps(settings("BeforeTool", managed)))

    def names(*words: str) -> list[str]:
        return call("completion", "--names", "--", *words).out.split()

    there = ("--cwd", str(project.path))
    assert names("enable", *there) == ["off"]
    assert names("disable", *there) == ["on"]
    assert names("bench", *there) == ["on", "off", "kept"]
    assert names("bench", *there, "--") == ["on", "off", "-x", "kept"]
    assert names("enable", f"--settings={project.path}/.hookline/settings.json") == ["off"]
    assert names("enable", "--cwd", "/no/such/place") == []
    assert names() == ["kept"]


def test_broken_settings_are_no_names_and_no_noise(call: Call, project: Project) -> None:
    project.settings('{"hooks": ')
    done = call("completion", "--names", "--", "disable", "--cwd", str(project.path))
    assert (done.status, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_its_shell_can_read(call: Call, tmp_path: Path, shell: str) -> None:
    script = call("completion", shell)
    assert (script.status, script.err) == (0, "")
    assert call("completion", shell, "--json").document == {"shell": shell, "script": script.out}
    shells.need(shell)
    (tmp_path / "script").write_text(script.out)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_on_a_terminal_it_is_said_what_the_script_is_for() -> None:
    done = on_terminal("completion", "fish", NO_COLOR="1")
    assert done.out.startswith("# Completion of hookline for fish.")
    assert done.out.endswith("the shell reads this script; its first lines say how to install it\n")


@pytest.mark.parametrize(
    ("arguments", "unknown"),
    [((), ""), (("tcsh",), "there is no completion for tcsh; "), (("bash", "zsh"), "")],
)
def test_no_shell_or_another_is_an_error_with_a_remedy(
    call: Call, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], unknown: str
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    done = call("completion", *arguments)
    assert (done.status, done.err) == (
        1,
        f"hookline: {unknown}name one shell: yours is zsh, so `hookline completion zsh`\n",
    )
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "`hookline completion bash`, zsh or fish" in call("completion", *arguments).err


def test_the_names_load_no_more_than_the_settings_need(hostile: Project) -> None:
    modules = loaded(hostile, "completion", "--names", "--", "disable")
    assert own(modules) == EVERY_VERB | {"completion"}
    assert third_party(modules) <= {"msgspec", "platformdirs"}
    assert modules.isdisjoint(
        {"hookline.engine.engine", "hookline.settings.edit", "asyncio", "subprocess"}
    )


def test_bash_takes_it_from_an_eval_and_the_help_keeps_to_what_people_use(tmp_path: Path) -> None:
    env = shells.environment(tmp_path)
    script = 'eval "$(hookline completion bash)"; complete -p hookline'
    assert shells.run("bash", script, cwd=tmp_path, env=env) == ["complete -F _hookline hookline"]
    assert hookline("completion", "--help").out.count("--names") == 0


GRAMMAR = (
    VerbGrammar(
        "fire",
        "fire 'it'",
        (
            flag("-h --help", "show [this]: it's help"),
            Option("--cwd", "DIR", "where"),
            Option("--hook", "NAME", "which", again=True),
            Option("--source", "", "whose", choices=("user", "project")),
            Option("--live", "PROMPT", "ask", count="?"),
            Option("--input", "JSON|@FILE|-", "fields"),
        ),
        Value("EVENT", "words", ("A", "B")),
        None,
    ),
    VerbGrammar("test", "run", (Option("--runs", "N", "n"),), None, Value("FILE", "files")),
    VerbGrammar("bench", "take", (), Value("NAME", "hooks"), None),
    VerbGrammar("mcp", "serve", (flag("--json", "j"),), None, Value("SERVER", "other")),
)
IN_BASH = """fire test bench mcp
        fire:options) expected=words:-h,--help,--cwd,--hook,--source,--live,--input ;;
        fire:--cwd) expected=directories ;;
        fire:--hook) expected=hooks ;;
        fire:--source) expected=words:user,project ;;
        fire:--input) expected=input ;;
        fire:0) expected=words:A,B ;;
        test:options) expected=words:--runs ;;
        test:--runs) expected=other ;;
        test:rest) expected=files ;;
        bench:options) expected=words: ;;
        bench:0) expected=hooks ;;
        mcp:options) expected=words:--json ;;
        mcp:rest) expected=other ;;"""
IN_ZSH = r"""        'fire:fire '\''it'\'''
        'test:run'
        'bench:take'
        'mcp:serve'
        fire)
            _arguments -S \
                '(-h --help)-h[show \[this\]\: it'\''s help]' \
                '(-h --help)--help[show \[this\]\: it'\''s help]' \
                '(--cwd)--cwd=[where]:DIR:_files -/' \
                '*--hook=[which]:NAME:_hookline_hooks' \
                '(--source)--source=[whose]:source:(user project)' \
                '(--live)--live[ask]::PROMPT: ' \
                '(--input)--input=[fields]:JSON|@FILE|-:_hookline_input' \
                '1:EVENT:(A B)' ;;
        test)
            _arguments -S \
                '(--runs)--runs=[n]:N: ' \
                '*:FILE:_files' ;;
        bench)
            _arguments -S \
                '1:NAME:_hookline_hooks' ;;
        mcp)
            _arguments -S \
                '(--json)--json[j]' \
                '*:SERVER: ' ;;"""
IN_FISH = r"""
-n __hookline_no_verb -a fire -d 'fire \'it\''
-n '__hookline_verb fire' -s h -l help -d 'show [this]: it\'s help'
-n '__hookline_verb fire' -l cwd -r -f -a '(__fish_complete_directories)' -d 'where'
-n '__hookline_verb fire' -l hook -r -f -a '(__hookline_hooks)' -d 'which'
-n '__hookline_verb fire' -l source -r -f -a 'user project' -d 'whose'
-n '__hookline_verb fire' -l live -d 'ask'
-n '__hookline_verb fire' -l input -r -f -d 'fields'
-n '__hookline_verb fire; and not __fish_seen_subcommand_from A B' -a 'A B'

-n __hookline_no_verb -a test -d 'run'
-n '__hookline_verb test' -l runs -r -f -d 'n'
-n '__hookline_verb test' -F

-n __hookline_no_verb -a bench -d 'take'
-n '__hookline_verb bench' -f -a '(__hookline_hooks)'

-n __hookline_no_verb -a mcp -d 'serve'
-n '__hookline_verb mcp' -l json -d 'j'
"""


def test_each_shell_gets_the_grammar_in_its_own_words() -> None:
    """Also where that shell is not installed."""
    template = "@VERBS@\n@CASES@"
    assert complete_bash(template, GRAMMAR) == IN_BASH
    assert complete_zsh(template, GRAMMAR) == IN_ZSH
    assert complete_fish("", GRAMMAR).replace("complete -c hookline ", "") == IN_FISH


AGENT = Option("--from", "", "f", choices=("a",), attribute="agent")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (flag("--json", "j"), None),
        (Option("--bus", "URL", "u"), Value("URL", "other")),
        (Option("--settings", "FILE", "f"), Value("FILE", "files")),
        (Option("paths", "FILE|DIR", "f"), Value("FILE|DIR", "files")),
        (Option("name", "NAME", "n"), Value("NAME", "hooks")),
        (Option("--name", "NAME", "n"), Value("NAME", "other")),
        (AGENT, Value("agent", "words", ("a",))),
        (Option("shell", "SHELL", "s"), Value("SHELL", "words", ("bash", "zsh", "fish"))),
    ],
)
def test_a_value_is_of_the_kind_that_its_option_says(option: Option, value: Value | None) -> None:
    assert read_value(option) == value
