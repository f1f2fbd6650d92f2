"""The shell finds the hook's variables in its environment; values never become part of the command.

So a command is safe from what a variable holds once every bare ``$NAME`` in it is quoted, and
nothing needs escaping. The exec form has no shell, there the values are put in as text.
"""

import functools
import os
from collections.abc import Collection, Mapping, Sequence

from hookline.wire.hooks import expanded


def shell_argv(command: str, names: Collection[str], env_path: str | None) -> list[str]:
    """The program and arguments that run ``command`` in a shell found on ``env_path``.

    ``names`` are the variables that must each stay one word, whatever they hold.
    """
    if "$" in command:
        from hookline.pipeline.runner.quoting import quote_variables

        command = quote_variables(command, names)
    return [*_shell(env_path), "-c", "--", command]


def exec_argv(command: str, args: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """The exec form: ``$NAME`` and ``${NAME}`` of ``values`` replaced by their text, once."""
    return [expanded(word, values) for word in (command, *args)]


@functools.lru_cache(maxsize=16)
def _shell(env_path: str | None) -> tuple[str, ...]:
    # --norc: a bash that thinks sshd or rshd started it reads ~/.bashrc in spite of -c.
    # -p: it would run the file that BASH_ENV names, and take functions and options from its
    # environment, so that the same hook did different things for different users.
    if bash := _program("bash", env_path):
        return (bash, "--norc", "-p")
    return (_program("sh", env_path) or "/bin/sh",)


def _program(name: str, env_path: str | None) -> str | None:
    # Relative entries are skipped: they would pick a shell out of the project's own files.
    for directory in f"{env_path or ''}{os.pathsep}{os.defpath}".split(os.pathsep):
        path = os.path.join(directory, name)
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None
