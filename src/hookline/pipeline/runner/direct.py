"""Executes a command that is plain words without a shell, and nobody can tell the difference.

Whatever a shell would have to say about it (not found, not executable, no interpreter's line) is
left to the shell: where the program cannot be executed at once, the command goes there after all.
"""

import os
from collections.abc import Mapping

import msgspec

from hookline.pipeline.runner.environment import Environment
from hookline.pipeline.runner.words import plain_words

# Variables that bash gives a value of its own, whatever it was started with.
_OF_THE_SHELL = frozenset(
    {
        *("BASH", "BASHOPTS", "BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_ARGV0"),
        *("BASH_CMDS", "BASH_COMMAND", "BASH_LINENO", "BASH_SOURCE", "BASH_SUBSHELL"),
        *("BASH_VERSINFO", "BASH_VERSION", "COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME"),
        *("EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD", "HOSTNAME", "HOSTTYPE", "IFS"),
        *("LINENO", "MACHTYPE", "OPTERR", "OPTIND", "OSTYPE", "POSIXLY_CORRECT", "PPID", "RANDOM"),
        *("SECONDS", "SHELLOPTS", "SRANDOM", "UID"),
    }
)


class Program(msgspec.Struct, frozen=True):
    """A file to execute, and with what."""

    file: str
    argv: list[str]
    env: Environment


def program_of(
    command: str, values: Mapping[str, str], *, cwd: str, env: Environment
) -> Program | None:
    """What a shell would execute for a command; None if it is for the shell to see to it."""
    argv = plain_words(command, values)
    if argv is None or not _OF_THE_SHELL.isdisjoint(env):
        return None
    file = _find(argv[0], cwd, env.get("PATH"))
    if file is None:
        return None
    return Program(file, argv, _as_from_a_shell(env, file, cwd))


def _find(name: str, cwd: str, path: str | None) -> str | None:
    """The file of that name which a shell would execute."""
    if "/" in name:
        return name
    if not path:
        return None
    for entry in path.split(os.pathsep):
        file = f"{entry or '.'}/{name}"
        place = os.path.join(cwd, file)
        if os.access(place, os.X_OK) and os.path.isfile(place):
            return file
    return None


def _as_from_a_shell(env: Environment, file: str, cwd: str) -> Environment:
    """The variables that a shell has set by the time it executes a program."""
    said = dict(env)
    if not _is_same(said.get("PWD"), cwd):
        said["PWD"] = os.path.realpath(cwd)
    if "OLDPWD" in said and not os.path.isdir(os.path.join(cwd, said["OLDPWD"])):
        del said["OLDPWD"]
    level = said.get("SHLVL", "")
    if not level.isascii() or not level.isdigit():
        said["SHLVL"] = "0"
    said["_"] = file
    return Environment(said)


def _is_same(directory: str | None, cwd: str) -> bool:
    if directory is None or not directory.startswith("/"):
        return False
    try:
        return directory == cwd or os.path.samefile(directory, cwd)
    except OSError:
        return False
