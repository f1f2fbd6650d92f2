"""Every verb on the same small project: what fits, what is plain, what is one document."""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from hookline.cli import VERBS
from tests.cli.command import ESCAPE, Done, hookline, on_terminal
from tests.harness.scratch import Project

pytestmark = pytest.mark.slow

# Verb -> what it is called with, and the status that is documented for it here.
_CALLS: Mapping[str, tuple[str, int]] = {
    "fire": ('BeforeTool --tool write_file --tool-input \'{"content": "AKIA"}\' --trust', 2),
    "list": ("", 0),
    "check": ("", 0),
    "test": ("--trust", 0),
    "bench": ("guard --runs 1 --trust", 0),
    "trace": ("", 0),
    "trust": ("--yes", 0),
    "untrust": ("", 0),
    "disable": ("guard", 0),
    "enable": ("guard", 0),
    "init": ("--name another", 0),
    "schema": ("", 0),
    "migrate": ("", 0),
    "demo": ("", 0),
    "completion": ("bash", 0),
}
# These have no screen: they serve until somebody ends them.
_VERBS = [verb for verb in VERBS if verb not in ("serve", "mcp")]
# What is there for people on stderr; all else is on stdout.
_ON_STDERR = {"fire": r"blocked: .*\n", "trace": r"(warning: tracing is off.*\n)?"}
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n)")


@pytest.fixture
def there(project: Project) -> Path:
    """A project with one hook, its tests, and another agent's settings."""
    assert hookline("init", "--name", "guard", cwd=project.path).status == 0
    project.script(".hookline/hooks/guard.sh", "#!/bin/sh\necho 'no: ' it is not >&2\nexit 2\n")
    project.write(".hookline/tests/guard.hooktest.json", _TEST)
    project.settings(_CLAUDE, file=".claude/settings.json")
    return project.path


_TEST = json.dumps(
    {
        "name": "nothing is written",
        "event": "BeforeTool",
        "tool": "write_file",
        "tool_input": {"content": "text"},
        "expect": {"decision": "deny"},
    }
)
_CLAUDE = {
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "Are the tests green?"}]}],
    }
}


def arguments(verb: str) -> list[str]:
    return [verb, *shlex.split(_CALLS[verb][0])]


def lines(done: Done) -> list[str]:
    """What stands on the screen in the end, without its colours."""
    return ESCAPE.sub("", _OVERWRITTEN.sub("", done.out)).split("\n")


def test_every_verb_is_in_the_table() -> None:
    assert sorted(_CALLS) == sorted(_VERBS)


@pytest.mark.parametrize("verb", _VERBS)
def test_a_screen_fits_and_has_colour_only_where_that_is_wanted(verb: str, there: Path) -> None:
    coloured = on_terminal(*arguments(verb), cwd=there)
    _undo(verb, there)
    plain = on_terminal(*arguments(verb), cwd=there, NO_COLOR="1")
    assert coloured.status == plain.status == _CALLS[verb][1]
    assert "\x1b" not in plain.out
    for line in () if verb in ("completion", "schema") else (*lines(coloured), *lines(plain)):
        assert len(line) <= 80, line
        assert line == line.rstrip(), line


@pytest.mark.parametrize("verb", _VERBS)
def test_piped_it_is_plain_and_stderr_has_only_what_is_for_people(verb: str, there: Path) -> None:
    done = hookline(*arguments(verb), cwd=there)
    assert done.status == _CALLS[verb][1]
    assert re.fullmatch(_ON_STDERR.get(verb, ""), done.err), done.err
    for line in done.out.split("\n"):
        assert "\x1b" not in line
        assert "\r" not in line
        assert line == line.rstrip(), line


@pytest.mark.parametrize("verb", _VERBS)
def test_with_json_there_is_one_document_and_nothing_else(verb: str, there: Path) -> None:
    piped = hookline(*arguments(verb), "--json", cwd=there)
    assert piped.status == _CALLS[verb][1]
    assert isinstance(piped.document, dict)
    assert piped.out.count("\n") == 1
    assert re.fullmatch(_ON_STDERR.get(verb, ""), piped.err), piped.err


@pytest.mark.parametrize("verb", VERBS)
def test_help_reaches_whoever_reads_it_and_fits(verb: str) -> None:
    done = hookline(verb, "--help")
    assert (done.status, done.err) == (0, "")
    told, _, examples = done.out.partition("\nexamples:\n")
    assert told.startswith(f"usage: hookline {verb}")
    assert examples.strip()
    for line in told.split("\n"):
        assert len(line) <= 80, line
        assert line == line.rstrip(), line


@pytest.mark.parametrize("columns", [40, 120])
@pytest.mark.parametrize("verb", ["list", "check", "trust", "migrate", "disable"])
def test_other_widths_fit_too(verb: str, columns: int, there: Path) -> None:
    done = on_terminal(*arguments(verb), cwd=there, columns=columns, NO_COLOR="1")
    assert done.status == _CALLS[verb][1]
    assert max(map(len, lines(done))) <= columns


@pytest.mark.parametrize("verb", ["trust", "migrate", "list", "test", "demo"])
def test_a_terminal_without_unicode_gets_all_of_it(verb: str, there: Path) -> None:
    (there / ".hookline/hooks/guard.sh").write_text("#!/bin/sh\n# … → ✗\nexit 2\n")
    done = on_terminal(
        *arguments(verb),
        cwd=there,
        LC_ALL="C",
        PYTHONCOERCECLOCALE="0",
        PYTHONUTF8="0",
        NO_COLOR="1",
    )
    assert done.status == _CALLS[verb][1], done.out
    assert "internal error" not in done.out
    assert done.out.isascii()


def _undo(verb: str, there: Path) -> None:
    """Make what the verb has done undone, so that it shows the same again."""
    if verb in ("trust", "disable"):
        hookline({"trust": "untrust", "disable": "enable"}[verb], *_name(verb), cwd=there)
    if verb == "init":
        for file in there.glob(".hookline/*/another.*"):
            file.unlink()
        settings = there / ".hookline/settings.json"
        settings.write_text(settings.read_text().replace('"another"', '"other"'))


def _name(verb: str) -> list[str]:
    return ["guard"] if verb == "disable" else []
