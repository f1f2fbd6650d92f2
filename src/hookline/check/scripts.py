"""Scripts that are missing or cannot be started, told by looking at the files: nothing is run."""

import functools
import os
import stat
from collections.abc import Iterator

import msgspec

from hookline.check.commands import Started, interpreter_kind, on_path, started_by
from hookline.check.findings import Finding, MakeExecutable, Severity, UnixLineEnds
from hookline.check.reading import Checked, HookSite
from hookline.wire.hooks import HookSource

# Enough for any script; a program that was compiled is recognised by its beginning.
_MOST_READ = 262_144
_LANGUAGES = {".py": "python", ".js": "node", ".mjs": "node", ".rb": "ruby", ".pl": "perl"}


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """A script that is there: its text, and what will read it.

    ``shebang`` is its first line without the sign, None where it has none.
    """

    site: HookSite
    started: Started
    path: str
    content: bytes
    shebang: str | None
    executable: bool

    @property
    def kind(self) -> str | None:
        """The kind of interpreter that reads it; a shell what names no other."""
        if self.started.interpreter is not None:
            return self.started.interpreter
        if self.shebang is None:
            return "sh" if self.started.shell and b"\0" not in self.content[:512] else None
        words = self.shebang.split()
        if words and os.path.basename(words[0]) == "env":
            words = [word for word in words[1:] if not word.startswith("-")]
        return interpreter_kind(words[0]) if words else None


def scripts(checked: Checked) -> Iterator[Finding]:
    """What keeps each hook's script, or program, from being started."""
    seen: set[tuple[str, bool]] = set()
    for site, started, script in found_scripts(checked):
        if script is None and site.hook.args is not None and " " in site.hook.command:
            what = f"with args the command is one program; none is called {site.hook.command!r}"
            remedy = "write the program as the command, and its arguments into args"
            yield site.finding("program-missing", Severity.ERROR, ("command",), what, remedy)
            continue
        if script is not None:
            # Many hooks may share a script, and one remedy serves them all.
            use = script.path, script.started.interpreter is None
            if use not in seen:
                seen.add(use)
                yield from _startable(script, checked)
        elif started is not None and started.script is not None:
            yield from _unusable(site, started, checked)
        if started is not None and started.program != started.script:
            yield from _program(site, started, checked)


@functools.lru_cache(maxsize=1)
def found_scripts(checked: Checked) -> tuple[tuple[HookSite, Started | None, Script | None], ...]:
    """For each hook what it starts, and its script if there is one to read."""
    # Kept for the other rules that look at scripts.
    found = []
    for site in checked.hooks:
        started = started_by(site, checked)
        script = _read_script(site, started) if started is not None else None
        found.append((site, started, script))
    return tuple(found)


def _read_script(site: HookSite, started: Started) -> Script | None:
    """The script of a hook; None where there is none that can be read."""
    path = started.path
    try:
        if path is None or not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as file:
            content = file.read(_MOST_READ)
    except OSError:
        return None
    return Script(
        site=site,
        started=started,
        path=path,
        content=content,
        shebang=_shebang(content),
        executable=os.access(path, os.X_OK),
    )


def _shebang(content: bytes) -> str | None:
    if not content.startswith(b"#!"):
        return None
    end = content.find(b"\n")
    first = content[2:end] if end >= 0 else content[2:]
    return first.decode(errors="replace").strip(" \t")


def _program(site: HookSite, started: Started, checked: Checked) -> Iterator[Finding]:
    """A program that is no script of the hook's own."""
    name, severity = started.program, Severity.ERROR
    if started.program_path is not None:
        if os.access(started.program_path, os.X_OK):
            return
        what, remedy = f"there is no program {name}", "install it, or correct the path"
    elif on_path(name, checked) is not None:
        return
    elif os.path.isfile(os.path.join(checked.cwd, name)):
        what, remedy = f"{name} is a file here, and is not looked for here", f"write ./{name}"
    else:
        # An agent may have another PATH.
        severity = Severity.WARNING
        what = f"{name} is not on the PATH of this shell"
        remedy = "install it, or write its whole path"
    yield site.finding("program-missing", severity, ("command",), what, remedy)


def _unusable(site: HookSite, started: Started, checked: Checked) -> Iterator[Finding]:
    """What makes the script no file that can be read."""
    path, name, severity = started.path or "", started.script or "", Severity.ERROR
    if os.path.isfile(path):
        what, remedy = f"{name} cannot be read", "change its permissions"
    elif os.path.isdir(path):
        what, remedy = f"{name} is a directory", "name the script in it"
    elif not os.path.isabs(name) and os.path.isfile(os.path.join(checked.project_dir, name)):
        # An agent may well be started in the project's directory and nowhere else.
        severity = Severity.WARNING
        what = f"{name} is looked for in the working directory, and is not in this one"
        remedy = f"write $HOOKLINE_PROJECT_DIR/{os.path.normpath(name)}"
    else:
        blocks = ", and python then exits with 2, which blocks"
        what = f"there is no script {name}{blocks if started.interpreter == 'python' else ''}"
        remedy = _remedy(site, started)
    yield site.finding("script-missing", severity, ("command",), what, remedy)


def _remedy(site: HookSite, started: Started) -> str:
    path = started.path or ""
    folder = os.path.dirname(path)
    from hookline.nearest import nearest

    try:
        near = nearest(os.path.basename(path), os.listdir(folder), cutoff=0.75)
    except OSError:
        near = []
    if near:
        return f"did you mean {os.path.join(os.path.dirname(started.script or ''), near[0])}?"
    if site.file.source is HookSource.USER and not os.path.isabs(started.script or ""):
        return "a user's hook runs in any project: write its whole path"
    return "create it, or correct the path"


def _startable(script: Script, checked: Checked) -> Iterator[Finding]:
    by_itself = script.started.interpreter is None
    if by_itself and not script.executable:
        yield script.site.finding(
            "script-not-executable",
            Severity.ERROR,
            ("command",),
            f"{script.started.script} is not executable",
            f"run chmod +x {script.started.script}",
            fixes=(MakeExecutable(script.path),),
        )
    if by_itself and script.shebang is None:
        yield from _without_shebang(script)
    if b"\r\n" in script.content:
        yield from _carriage_returns(script, by_itself=by_itself)
    elif by_itself and script.shebang is not None:
        yield from _interpreter(script, checked)


def _without_shebang(script: Script) -> Iterator[Finding]:
    name = script.started.script or ""
    language = _LANGUAGES.get(os.path.splitext(name)[1])
    if language is not None:
        what = f"{name} does not say what runs it, so a shell would"
        remedy = f"begin it with #!/usr/bin/env {'python3' if language == 'python' else language}"
    elif not script.started.shell and b"\0" not in script.content[:512]:
        what, remedy = f"{name} does not say what runs it", "begin it with #!/bin/sh"
    else:
        return
    yield script.site.finding("script-shebang", Severity.ERROR, ("command",), what, remedy)


def _carriage_returns(script: Script, *, by_itself: bool) -> Iterator[Finding]:
    """They end a shell's lines, and the name of the interpreter; Python does not mind."""
    in_shebang = by_itself and (script.shebang or "").endswith("\r")
    if script.kind != "sh" and not in_shebang:
        return
    offset = script.content.index(b"\r\n")
    line = script.content.count(b"\n", 0, offset) + 1
    column = offset - script.content.rfind(b"\n", 0, offset)
    base = script.site.finding("script-crlf", Severity.ERROR, ("command",), "")
    yield msgspec.structs.replace(
        base,
        file=script.path,
        line=line,
        column=column,
        message="the lines end as on Windows, which the interpreter takes for text",
        remedy="save it with Unix line ends",
        fixes=(UnixLineEnds(script.path),),
    )


def _interpreter(script: Script, checked: Checked) -> Iterator[Finding]:
    words = (script.shebang or "").split()
    if not words:
        return
    program = words[0]
    if os.path.basename(program) == "env":
        asked = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        missing = asked[0] if asked and on_path(asked[0], checked) is None else None
        remedy = "install it, or correct the first line"
    else:
        missing = None if os.path.exists(program) else program
        remedy = f"install it, or write #!/usr/bin/env {os.path.basename(program)}"
    if missing is not None:
        base = script.site.finding("script-interpreter", Severity.ERROR, ("command",), "")
        what = f"the first line names {missing}, which is not there"
        yield msgspec.structs.replace(
            base, file=script.path, line=1, column=3, message=what, remedy=remedy
        )
