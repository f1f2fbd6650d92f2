"""What a template was made from, to tell whether it would be made the same way now."""

import os
import time
from collections.abc import Iterable, Mapping

import msgspec

from hookline.files import Signature, signature
from hookline.pipeline.runner.warm.script import PythonScript

# What an interpreter reads from its environment before it runs a script: its own settings, those
# of what it is linked with, and what launchers choose it by.
_STARTUP_PREFIXES = ("PYTHON", "LC_", "LD_", "DYLD_", "MALLOC_", "PYENV_", "ASDF_", "MISE_")
_STARTUP_NAMES = frozenset(
    {
        *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "OPENSSL_CONF", "GLIBC_TUNABLES"),
        *("VIRTUAL_ENV", "__PYVENV_LAUNCHER__"),
    }
)
# Variables that make an interpreter do something else than run its script, or talk about it.
TALKATIVE = ("PYTHONINSPECT", "PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME", "PYTHONDUMPREFS")


class Hello(msgspec.Struct, frozen=True):
    """What a template says when it is ready.

    ``trouble`` is why it cannot go on with what it imported; then come the variables it read
    meanwhile, the directories whose modules take the place of others, the names of the modules it
    has and the files of those that are not of the standard library.
    """

    trouble: tuple[str, ...]
    variables: tuple[str, ...]
    directories: tuple[str, ...]
    names: tuple[str, ...]
    files: tuple[str, ...]


def parse_hello(body: bytes) -> Hello:
    """The sections are lists of texts, each ended by an empty one; raises ValueError."""
    sections: list[tuple[str, ...]] = []
    items: list[str] = []
    for item in body.split(b"\0")[:-1]:
        if item:
            items.append(os.fsdecode(item))
        else:
            sections.append(tuple(items))
            items = []
    if len(sections) != len(Hello.__struct_fields__):
        raise ValueError("a template said something else than how it is")
    return Hello(*sections)


def startup_variables(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The variables that shape an interpreter before it runs anything."""
    return tuple(
        (name, value)
        for name, value in env.items()
        if name in _STARTUP_NAMES or name.startswith(_STARTUP_PREFIXES)
    )


class Facts:
    """The files and variables that a template depends on, as they were when it was made."""

    def __init__(self, script: PythonScript, *, cwd: str, env: Mapping[str, str]) -> None:
        self._began = time.time_ns()
        self._env = env
        self._cwd = cwd
        self._variables: dict[str, str | None] = {}
        self._files = _signatures(self._paths(script))
        self._directories: dict[str, int] = {}
        self._names: frozenset[str] = frozenset()
        self._are_certain = True

    def add(self, hello: Hello) -> None:
        """Take in what the template has found out about itself."""
        self._variables = {name: self._env.get(name) for name in hello.variables}
        self._files |= _signatures(hello.files)
        self._directories = {path: _changed(path) for path in hello.directories}
        self._names = frozenset(hello.names)
        # What was written to meanwhile may have been read before or after.
        now = time.time_ns()
        written = [known[0] for known in self._files.values() if known is not None]
        self._are_certain = not any(self._began <= at <= now for at in written)

    def hold(self, env: Mapping[str, str]) -> bool:
        """Whether all is as it was, for a call with these variables."""
        if not self._are_certain:
            return False
        if any(env.get(name) != value for name, value in self._variables.items()):
            return False
        return all(signature(path) == known for path, known in self._files.items()) and all(
            self._holds(path, known) for path, known in self._directories.items()
        )

    def _paths(self, script: PythonScript) -> list[str]:
        return [
            os.path.join(self._cwd, script.path),
            os.path.join(self._cwd, script.interpreter_program),
        ]

    def _holds(self, directory: str, known: int) -> bool:
        changed = _changed(directory)
        if changed == known:
            return True
        try:
            found = {name.partition(".")[0] for name in os.listdir(directory)}
        except OSError:
            found = set()
        if not self._names.isdisjoint(found):
            return False
        self._directories = {**self._directories, directory: changed}
        return True


def _signatures(paths: Iterable[str]) -> dict[str, Signature | None]:
    return {path: signature(path) for path in paths}


def _changed(directory: str) -> int:
    try:
        return os.stat(directory).st_mtime_ns
    except OSError:
        return 0
