"""Finds the program and the script that a command would start, from its words alone."""

import os
import re
from collections.abc import Mapping, Sequence

import msgspec

from hookline.check.reading import Checked, HookSite
from hookline.pipeline.runner.words import plain_words
from hookline.wire.hooks import hook_variables

# Programs that run a script: the options that take a word of their own, and those after which
# there is no script at all.
_INTERPRETERS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "python": (frozenset({"-W", "-X"}), frozenset({"-c", "-m", "-"})),
    "sh": (frozenset({"-o", "-O"}), frozenset({"-c", "-s"})),
    "node": (frozenset({"-r", "--require", "--import"}), frozenset({"-e", "-p", "--eval"})),
    "ruby": (frozenset({"-I", "-r"}), frozenset({"-e"})),
    "perl": (frozenset({"-I"}), frozenset({"-e", "-E"})),
}
_KINDS = (
    (r"python[0-9.]*|pypy3?", "python"),
    (r"(?:ba|da|z|k)?sh", "sh"),
    (r"node|nodejs", "node"),
    (r"ruby", "ruby"),
    (r"perl", "perl"),
)
# Settings that nobody has reviewed must not keep the checking busy.
_LONGEST = 10_000
# Where one simple command ends and the next begins; in a command with quotes or substitutions
# this may be text, so there nothing is split.
_SEPARATOR = r"&&|\|\||[;|\n]"
_NOT_SPLIT = r"[`'\"(){}\\]|<<"
_REDIRECTION = r"\s\d?(?:>>?|<)(?:&\d|\s?[^\s&;|]+)"
# Plain text in double quotes is the same without them.
_NEEDLESSLY_QUOTED = r'"([\w$/.{}-]*)"'
_HOME = r"(?<!\S)~(?=/)"
_ASSIGNMENT = r"[A-Za-z_]\w*=\S*\s+"


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a command starts.

    ``program`` is its first word; ``script`` the word that names a script, which may be the same.
    ``interpreter`` is the kind of program that runs the script, None when it is to run by itself.
    """

    program: str
    script: str | None = None
    interpreter: str | None = None
    base: str = "."
    shell: bool = True

    @property
    def path(self) -> str | None:
        """The script's path."""
        return None if self.script is None else self._at(self.script)

    @property
    def program_path(self) -> str | None:
        """The program's path, None where it is looked for on the PATH."""
        return self._at(self.program) if "/" in self.program else None

    def _at(self, name: str) -> str:
        return os.path.normpath(os.path.join(self.base, name))


def started_by(site: HookSite, checked: Checked) -> Started | None:
    """What the hook starts first; None where that takes a shell to find out."""
    if len(site.hook.command) > _LONGEST:
        return None
    if site.hook.args is not None:
        argv = argv_without_shell(site, checked)
        return _started(argv, base=checked.cwd, shell=False) if argv else None
    values = {**checked.environ, "PWD": checked.cwd, **_own(site, checked)}
    return _in_shell(re.sub(_HOME, "$HOME", site.hook.command), values, checked.cwd)


def argv_without_shell(site: HookSite, checked: Checked) -> list[str] | None:
    """What is executed where no shell is needed; None where one is."""
    hook, values = site.hook, _own(site, checked)
    if hook.args is None:
        return plain_words(hook.command, values)
    from hookline.pipeline.runner.shell import exec_argv

    return exec_argv(hook.command, hook.args, values)


def _own(site: HookSite, checked: Checked) -> dict[str, str]:
    """What the hook finds in its environment, beside what it inherits."""
    variables = hook_variables(
        project_dir=checked.project_dir,
        cwd=checked.cwd,
        session_id="session",
        event=site.event.value,
    )
    return {**variables, **site.hook.env}


def _in_shell(command: str, values: Mapping[str, str], cwd: str) -> Started | None:
    words = plain_words(_without_assignments(command), values)
    if words is not None:
        return _started(words, base=cwd, shell=True)
    base = cwd
    for part in _parts(command):
        if (words := plain_words(_without_assignments(part), values)) is not None:
            return _started(words, base=base, shell=True)
        moved = re.fullmatch(r"cd\s+(\S+)", part)
        target = plain_words(f"to {moved[1]}", values) if moved else None
        if target is None:
            return None
        base = os.path.join(base, target[1])
    return None


def _parts(command: str) -> list[str]:
    """The simple commands in a row that it consists of; none where it may be more than that."""
    text = re.sub(_NEEDLESSLY_QUOTED, r"\1", command)
    text = re.sub(r"\$\{(\w+)\}(?!\w)", r"$\1", text)
    if re.search(_NOT_SPLIT, text):
        return []
    parts = [re.sub(_REDIRECTION, "", part).strip(" &") for part in re.split(_SEPARATOR, text)]
    return [part for part in parts if part]


def _without_assignments(command: str) -> str:
    command = command.strip()
    while found := re.match(_ASSIGNMENT, command):
        command = command[found.end() :]
    return command


def _started(words: Sequence[str], *, base: str, shell: bool) -> Started | None:
    program, rest = words[0], list(words[1:])
    if os.path.basename(program) == "env":
        rest = [word for word in rest if "=" not in word]
        if not rest or rest[0].startswith("-"):
            return Started(program=program, base=base, shell=shell)
        return _started(rest, base=base, shell=False)
    kind = interpreter_kind(program)
    if kind is None:
        script = program if "/" in program else None
        return Started(program=program, script=script, base=base, shell=shell)
    script = _script_of(rest, *_INTERPRETERS[kind])
    return Started(program=program, script=script, interpreter=kind, base=base, shell=shell)


def interpreter_kind(program: str) -> str | None:
    """The kind of interpreter that a program is by its name, None for any other program."""
    name = os.path.basename(program)
    return next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, name)), None)


def _script_of(words: list[str], with_value: frozenset[str], none: frozenset[str]) -> str | None:
    while words:
        word = words.pop(0)
        # Letters may be joined: -ec is -e and -c.
        if word in none or (word[:2] != "--" and word[:1] == "-" and f"-{word[-1]}" in none):
            return None
        if word in with_value:
            del words[:1]
        elif not word.startswith("-"):
            return word
    return None


def on_path(program: str, checked: Checked) -> str | None:
    """The file that a bare name starts."""
    for directory in checked.environ.get("PATH", os.defpath).split(os.pathsep):
        file = os.path.join(checked.cwd, directory, program)
        if os.access(file, os.X_OK) and os.path.isfile(file):
            return file
    return None
