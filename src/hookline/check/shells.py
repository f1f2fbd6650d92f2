"""Finds commands and scripts that a shell or Python cannot parse.

A script that a shell cannot parse exits with 2, which blocks. To parse a script, a shell is run
that executes nothing, and never one of the project's own.
"""

import contextlib
import os
import re
import sys
from collections.abc import Iterator

import msgspec

from hookline._support.files import open_regular
from hookline.check.findings import Finding, Severity
from hookline.check.material import Checked, CommandSite
from hookline.check.scripts import MOST_READ, Script, find_scripts, find_variables
from hookline.shell.programs import (
    argv_of,
    find_program,
    program_at,
    shebang_in,
    words_in,
)
from hookline.shell.table import INTERPRETERS_BY_SUFFIX, RESERVED

# Only these are known to execute nothing with -n.
_SHELLS = frozenset({"sh", "bash", "dash"})
_LONGEST_PARSE = 5.0
_BASH_ERROR = re.compile(r"line (\d+): (.*(?:error|unexpected).*)")
_DASH_ERROR = re.compile(r": (\d+): (.*(?:error|unexpected|expecting).*)")
_PLAIN_TEXT = re.compile(r"[\w./:@%+,=\- \t]*", re.ASCII)
_OLD_PYTHON = re.compile(r"python2")


class _ShellScript(msgspec.Struct, frozen=True):
    """A whole shell script, and the name of the shell that reads it."""

    site: CommandSite
    path: str
    content: bytes
    shell: str


def _find_shell_scripts(checked: Checked) -> Iterator[_ShellScript]:
    """Yield each shell script that hooks start, first or anywhere in their commands."""
    paths: set[str] = set()
    for site, _, script in find_scripts(checked):
        if script is not None and script.path not in paths and script.is_whole:
            paths.add(script.path)
            if shell := _name_shell(script):
                yield _ShellScript(site, script.path, script.content, shell)
        variables = {"HOME": os.path.expanduser("~"), **find_variables(site, checked)}
        for word in words_in(site.hook.command if site.hook.args is None else "", variables):
            path = os.path.normpath(os.path.join(checked.cwd, word))
            # Skip the system's programs, which the author cannot correct.
            homes = (os.path.join(home, "") for home in (checked.project_dir, variables["HOME"]))
            if path in paths or "/" not in word or not path.startswith(tuple(homes)):
                continue
            paths.add(path)
            content = b""
            with contextlib.suppress(OSError, ValueError), open_regular(path) as file:
                content = file.read(MOST_READ)
            words = shebang_in(content) or ()
            program = program_at(words)
            shell = "" if program is None else os.path.basename(words[program])
            if shell in _SHELLS and len(content) < MOST_READ:
                yield _ShellScript(site, path, content, shell)


def check_syntax(checked: Checked) -> Iterator[Finding]:
    """Find commands and scripts that cannot be parsed."""
    paths: set[str] = set()
    for site, _, script in find_scripts(checked):
        text = site.hook.command if site.hook.args is None else ""
        # Plain words need no shell to parse them, and there may be hundreds of hooks.
        is_plain = _PLAIN_TEXT.fullmatch(text) and RESERVED.isdisjoint(text.split())
        if not is_plain and argv_of(site.hook, find_variables(site, checked)) is None:
            yield from _parse_command(site, text, checked)
        if script is not None and script.path not in paths and script.is_whole:
            paths.add(script.path)
            if script.kind == "python":
                yield from _parse_python(script)
    for shell_script in _find_shell_scripts(checked):
        if b"\r\n" not in shell_script.content:
            yield from _parse_script(shell_script, checked)


def _name_shell(script: Script) -> str | None:
    """Return the name of the shell that reads a script; None if it is not one of ``_SHELLS``."""
    words = script.shebang or ()
    if script.started.interpreter is not None:
        words = (script.started.program,)
    is_mistaken = not words and os.path.splitext(script.path)[1] in INTERPRETERS_BY_SUFFIX
    if script.kind != "sh" or is_mistaken:
        return None
    at = program_at(words)
    name = "bash" if at is None else os.path.basename(words[at])
    return name if name in _SHELLS else None


def _parse_command(site: CommandSite, text: str, checked: Checked) -> Iterator[Finding]:
    shell = _find_shell("bash", checked) or _find_shell("sh", checked)
    error = shell and _run_parser([shell, "-n", "-c", "--", text], None)
    if error:
        what = f"a shell cannot parse the command, so it exits with 2, which blocks: {error[1]}"
        yield site.finding("script-syntax", Severity.ERROR, ("command",), what, "correct it")


def _parse_script(script: _ShellScript, checked: Checked) -> Iterator[Finding]:
    name, shell = script.shell, _find_shell(script.shell, checked)
    if shell is None:
        return
    options = ["-n"]
    if name == "bash" and re.search(rb"\bextglob\b", script.content):
        # The script turns it on by a command, which -n does not execute.
        options += ["-O", "extglob"]
    error = _run_parser([shell, *options], script.path)
    if error is None:
        return
    line, message = error
    what = f"{name} cannot parse this, so the script exits with 2, which blocks: {message}"
    finding = script.site.finding("script-syntax", Severity.ERROR, ("command",), what, "correct it")
    yield msgspec.structs.replace(finding, file=script.path, line=line, column=1)


def _find_shell(name: str, checked: Checked) -> str | None:
    """Find a shell of the system or the user, not one of the project, whose code must not run."""
    project = os.path.join(os.path.realpath(checked.project_dir), "")
    for entry in f"{checked.environ.get('PATH', '')}{os.pathsep}{os.defpath}".split(os.pathsep):
        file = find_program(name, entry, cwd="/") if os.path.isabs(entry) else None
        if file is not None and not os.path.realpath(file).startswith(project):
            return file
    return None


def _run_parser(argv: list[str], file: str | None) -> tuple[int, str] | None:
    """Run a shell that only parses; return the line and the text of its error, None without one."""
    import subprocess

    # Inherit no variables: BASH_ENV, ENV or exported functions would make it run code.
    variables = {"PATH": os.defpath, "LC_ALL": "C"}
    try:
        with contextlib.ExitStack() as stack:
            process = subprocess.run(
                argv,
                stdin=stack.enter_context(open_regular(file)) if file else subprocess.DEVNULL,
                capture_output=True,
                cwd="/",
                env=variables,
                timeout=_LONGEST_PARSE,
            )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if process.returncode == 0:
        return None
    for line in process.stderr.decode(errors="replace").splitlines():
        if match := _BASH_ERROR.search(line) or _DASH_ERROR.search(line):
            return int(match[1]), match[2]
    return None


def _parse_python(script: Script) -> Iterator[Finding]:
    words = (script.started.program,) if script.started.interpreter else script.shebang or ()
    if any(_OLD_PYTHON.search(word) for word in words):
        return
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(script.content, script.path, "exec", dont_inherit=True)
        return
    except SyntaxError as error:
        message, line, column = error.msg, error.lineno or 1, error.offset or 1
    except (ValueError, RecursionError, MemoryError) as error:
        message, line, column = str(error) or type(error).__name__, 1, 1
    what, severity = f"Python cannot parse this: {message}", Severity.ERROR
    program = script.started.program_file
    if program is None or os.path.realpath(program) != os.path.realpath(sys.executable):
        # A newer Python may be able to parse it.
        version = ".".join(map(str, sys.version_info[:2]))
        what, severity = f"Python {version} cannot parse this: {message}", Severity.WARNING
    finding = script.site.finding("script-syntax", severity, ("command",), what, "correct it")
    yield msgspec.structs.replace(finding, file=script.path, line=line, column=max(column, 1))
