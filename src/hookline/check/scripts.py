"""Finds scripts that are missing or cannot be started, and Python scripts that could be kept warm.

It only reads the files and runs nothing.
"""

import contextlib
import functools
import os
from collections.abc import Iterator

import msgspec

from hookline._support.files import open_regular
from hookline.check.findings import Finding, Fix, MakeExecutable, NewScript, Severity, UnixLineEnds
from hookline.check.material import Checked, CommandSite
from hookline.dialects import ROWS
from hookline.shell.programs import (
    Started,
    argv_of,
    find_program,
    hook_variables,
    interpreter_in,
    own_variables,
    program_at,
    resolve_words,
    shebang_in,
    started_by,
)
from hookline.shell.table import INTERPRETERS_BY_SUFFIX
from hookline.wire.hooks import HookSource

# Enough for any script, and for recognising a compiled program by its beginning.
MOST_READ = 262_144


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A script that exists: its text, and what starts it.

    ``shebang`` are the words of its first line, None without one.
    """

    site: CommandSite
    started: Started
    path: str
    content: bytes
    shebang: tuple[str, ...] | None

    @property
    def is_whole(self) -> bool:
        """True if ``content`` is all of it."""
        return len(self.content) < MOST_READ

    @property
    def kind(self) -> str | None:
        """The kind of interpreter that reads it; a shell if the script names no other."""
        if self.started.interpreter is not None:
            return self.started.interpreter
        if self.shebang is None:
            return "sh" if self.started.by_shell and b"\0" not in self.content[:512] else None
        interpreter = interpreter_in(self.shebang)
        return interpreter.kind if interpreter is not None else None


def check_scripts(checked: Checked) -> Iterator[Finding]:
    """Find what keeps each hook's script or program from starting."""
    uses: set[tuple[str, bool]] = set()
    for site, started, script in find_scripts(checked):
        if script is None and site.hook.args is not None and " " in site.hook.command:
            what = f"with args the command is one program, and there is no {site.hook.command!r}"
            remedy = "write only the program as the command, and its arguments into args"
            yield site.finding("program-missing", Severity.ERROR, ("command",), what, remedy)
            continue
        if script is not None:
            # Report a script once, even if many hooks share it.
            use = script.path, script.started.interpreter is None
            if use not in uses:
                uses.add(use)
                yield from _check_startable(script, checked)
        elif started is not None and started.script is not None:
            yield _report_unusable(site, started, started.script)
        if started is None or started.program == started.script or started.program_file is not None:
            continue
        # A missing program that is not the hook's own script.
        name, severity = started.program, Severity.ERROR
        if "/" in name:
            what, remedy = f"there is no program {name}", "install it, or correct the path"
        elif os.path.isfile(os.path.join(started.cwd, name)):
            what = f"{name} is a file here, but programs are found only on the PATH"
            remedy = f"write ./{name}"
        else:
            # An agent may have another PATH.
            severity = Severity.WARNING
            what = f"{name} is not on the PATH of this shell"
            remedy = "install it, or write its whole path"
        yield site.finding("program-missing", severity, ("command",), what, remedy)


def check_open(checked: Checked) -> Iterator[Finding]:
    """Find hooks of a project that no review vouches for. A guard that names something of the
    project is an error: it could be changed without a review."""
    from hookline.trust.review import TrustError, look_at

    scripts: set[str] = set()
    for site in checked.commands:
        if site.hook.source is not HookSource.PROJECT:
            continue
        try:
            look = look_at(site.entry, project_dir=checked.project_dir, cwd=checked.cwd, states={})
        except TrustError:
            continue
        is_guard = site.hook.on_failure == "block" or any(
            demand.is_met_by(site.entry) for demand in checked.required
        )
        why = look.explain_open(is_guard)
        if not why or look.form.is_missing:
            continue
        names_something = bool(look.form.named or not look.form.open)
        if not (is_guard or names_something):
            continue
        severity = Severity.HINT
        if is_guard:
            severity = Severity.ERROR if names_something else Severity.WARNING
        what = f"no review vouches for what it starts: {why}"
        is_movable = is_guard and not look.form.named
        fixes = _move_into_script(checked, site, scripts) if is_movable else ()
        yield site.finding("open", severity, ("command",), what, look.remedy, fixes)


def _move_into_script(checked: Checked, site: CommandSite, new_names: set[str]) -> tuple[Fix, ...]:
    """Return the edits that move a shell command of one line into a script of the hook folder, for
    a project's settings; none for a command that has to be looked at by a person. ``new_names`` are
    the scripts of other hooks."""
    hook, command = site.hook, site.hook.command
    if hook.args is not None or "\n" in command or hook.plugin_root is not None:
        return ()
    from hookline.shell.programs import plain_words
    from hookline.shell.tokens import quote_variables

    # Only what a shell interprets: a script around `make` would hide that it is open.
    if plain_words(command, {}) is not None:
        return ()
    row = ROWS.get(hook.dialect)
    own = ".hookline/hooks" if row is None else f"{row.folder}/hooks"
    has_folder = row is None and os.path.isdir(os.path.join(checked.project_dir, "hooks"))
    folder = "hooks" if has_folder else own
    stem = "".join(c if c.isascii() and c.isalnum() else "-" for c in hook.name).strip("-")[:40]
    names = (f"{folder}/{stem or 'hook'}{number}.sh" for number in ("", *range(2, 100)))
    free = (name for name in names if not os.path.lexists(f"{checked.project_dir}/{name}"))
    name = next((name for name in free if name not in new_names), None)
    if name is None:
        return ()
    new_names.add(name)
    variables = hook_variables(
        project_dir="", cwd="", session_id="", event=site.event.value, hook=hook
    )
    # Bare in a command each of these is one word; in a script it takes quotes.
    text = f"#!/usr/bin/env bash\n{quote_variables(command, [*variables, *hook.env])}\n"
    new_command = name if row is None else f'"${row.project_variable}"/{name}'
    script = os.path.join(os.path.realpath(checked.project_dir), name)
    replaced = site.file.replace_value((*site.raw.path, "command"), new_command)
    return (NewScript(script, text), *replaced) if replaced else ()


def check_warmth(checked: Checked) -> Iterator[Finding]:
    """Find hooks whose ``warm`` has no effect, and for each file the hooks that could have it."""
    missing: dict[str, list[CommandSite]] = {}
    for site, _, script in find_scripts(checked):
        wish = site.raw.config.get("warm")
        is_python = script is not None and script.kind == "python"
        if wish is True and (why := _why_cold(site, checked)) is not None:
            what = f"the hook cannot start warm, so it runs cold: {why}"
            remedy = 'write it as "python3 SCRIPT", or remove warm'
            yield site.finding("warm", Severity.WARNING, ("warm",), what, remedy)
        elif (
            wish is None
            and is_python
            and site.hook.dialect not in ROWS
            and _why_cold(site, checked) is None
        ):
            missing.setdefault(site.file.path, []).append(site)
    for first, *others in missing.values():
        what = "this Python script would start in a millisecond or two if kept warm"
        remedy = 'add "warm": true'
        if others:
            sites = ((" ".join(s.hook.name.split()), s.entry.line) for s in (first, *others))
            names = ", ".join(f"{name} (line {line})" for name, line in sites)
            what = f"Python scripts that would start in a millisecond or two if kept warm: {names}"
            remedy = 'add "warm": true to each'
        yield first.finding("warm", Severity.HINT, ("command",), what, remedy)


def _why_cold(site: CommandSite, checked: Checked) -> str | None:
    from hookline.runner.warm.script import python_script

    argv = argv_of(site.hook, find_variables(site, checked))
    if argv is None:
        return "its command needs a shell"
    try:
        places = {"cwd": checked.cwd, "project_dir": checked.project_dir}
        argv = resolve_words(argv, site.hook, **places)
        script = python_script(argv, program=argv[0], cwd=checked.cwd)
        return script if isinstance(script, str) else None
    except ValueError:
        return "no program can have such a name"


@functools.lru_cache(maxsize=1)
def find_scripts(
    checked: Checked,
) -> tuple[tuple[CommandSite, Started | None, Script | None], ...]:
    """Find what each hook starts, and its script if it can be read."""
    # Cached, as several rules look at scripts.
    scripts = []
    for site in checked.commands:
        variables = find_variables(site, checked)
        started = started_by(
            site.hook,
            variables,
            cwd=checked.cwd,
            project_dir=checked.project_dir,
            environ=checked.environ,
        )
        script, path = None, None if started is None else started.script_file
        with contextlib.suppress(OSError, ValueError):
            if started is not None and path is not None:
                with open_regular(path) as file:
                    content = file.read(MOST_READ)
                shebang = shebang_in(content)
                script = Script(
                    site=site, started=started, path=path, content=content, shebang=shebang
                )
        scripts.append((site, started, script))
    return tuple(scripts)


def find_variables(site: CommandSite, checked: Checked) -> dict[str, str]:
    """Return the variables that hookline sets for the hook."""
    variables = hook_variables(
        project_dir=checked.project_dir,
        cwd=checked.cwd,
        session_id="session",
        event=site.event.value,
        hook=site.hook,
    )
    return {**variables, **own_variables(site.hook, variables)}


def _report_unusable(site: CommandSite, started: Started, name: str) -> Finding:
    """Report why the script cannot be read."""
    path = started.script_file or ""
    if os.path.isfile(path):
        what, remedy = f"{name} cannot be read", f"run chmod +r {name}"
    elif os.path.isdir(path):
        what, remedy = f"{name} is a directory", "write the path of the script in it"
    elif os.path.exists(path):
        what, remedy = f"{name} is not a regular file", "replace it with a script"
    else:
        blocks = "; Python then exits with 2, which blocks"
        what = f"there is no script {name}{blocks if started.interpreter == 'python' else ''}"
        from hookline._support.nearest import nearest

        try:
            near = nearest(os.path.basename(path), os.listdir(os.path.dirname(path)), cutoff=0.75)
        except (OSError, ValueError):
            near = []
        if near:
            remedy = f"did you mean {os.path.join(os.path.dirname(name), near[0])}?"
        elif site.file.source is HookSource.USER and not os.path.isabs(name):
            remedy = "write its whole path, as a user's hook runs in any project"
        else:
            remedy = "create it, or correct the path"
    return site.finding("script-missing", Severity.ERROR, ("command",), what, remedy)


def _check_startable(script: Script, checked: Checked) -> Iterator[Finding]:
    """Find what is wrong with a script: its permissions, its first line, its line ends."""

    def finding(code: str, what: str, remedy: str, *fixes: Fix) -> Finding:
        where = ("command",)
        return script.site.finding(code, Severity.ERROR, where, what, remedy, fixes=fixes)

    name, content, shebang = script.started.script or "", script.content, script.shebang
    by_itself = script.started.interpreter is None
    if by_itself and not os.access(script.path, os.X_OK):
        what, fix = f"{name} is not executable", MakeExecutable(script.path)
        yield finding("script-not-executable", what, f"run chmod +x {name}", fix)
    if by_itself and shebang is None:
        language = INTERPRETERS_BY_SUFFIX.get(os.path.splitext(name)[1])
        if language is not None:
            what = f"{name} has no #! line, so a shell would run it"
            yield finding("script-shebang", what, f"begin it with #!/usr/bin/env {language}")
        elif not script.started.by_shell and b"\0" not in content[:512]:
            what = f"{name} has no #! line, so it cannot start"
            yield finding("script-shebang", what, "begin it with #!/bin/sh")
    if b"\r\n" in content:
        # A shell reads \r as text, and so does the kernel in the first line; Python ignores it.
        in_shebang = by_itself and shebang is not None and shebang[-1].endswith("\r")
        if script.kind == "sh" or in_shebang:
            offset = content.index(b"\r\n")
            line = content.count(b"\n", 0, offset) + 1
            column = offset - content.rfind(b"\n", 0, offset)
            what = "the script has Windows line ends, which the interpreter reads as text"
            line_ends = UnixLineEnds(script.path)
            finding_there = finding("script-crlf", what, "save it with Unix line ends", line_ends)
            yield msgspec.structs.replace(finding_there, file=script.path, line=line, column=column)
        return
    at = program_at(shebang or ())
    if not by_itself or shebang is None or at is None:
        return
    # An interpreter that the first line names and that does not exist.
    program = shebang[at]
    if at == 0:
        is_there = os.path.exists(program)
        remedy = f"install it, or write #!/usr/bin/env {os.path.basename(program)}"
    elif " " in program:
        # The kernel passes everything after env as one word.
        is_there, remedy = False, f"write #!/usr/bin/env -S {program}"
    else:
        path = checked.environ.get("PATH", os.defpath)
        is_there = find_program(program, path, cwd=checked.cwd) is not None
        remedy = "install it, or correct the first line"
    if not is_there:
        program_text = os.fsencode(program).decode(errors="replace")
        what = f"the first line names {program_text}, which does not exist"
        finding_there = finding("script-interpreter", what, remedy)
        yield msgspec.structs.replace(finding_there, file=script.path, line=1, column=3)
