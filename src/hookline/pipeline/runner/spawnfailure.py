"""Says in one sentence what kept a process from starting, and what to do about it."""

import errno
import os
import stat
from collections.abc import Mapping, Sequence

_NAMED_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP})
_REMEDIES: dict[int | None, str] = {
    errno.E2BIG: "the command and its environment are longer than the system takes; shorten them",
    errno.EMFILE: "this process has too many files open; close some or raise its limit (ulimit -n)",
    errno.ENFILE: "the system has too many files open; close some or raise its limit",
    errno.EAGAIN: "there are too many processes; end some or raise the limit (ulimit -u)",
    errno.ENOMEM: "there is not enough memory; end other programs",
    errno.ETXTBSY: "another process is writing to it; close it there first",
    errno.ENOEXEC: "it is no program this system knows; start a script with a line like #!/bin/sh",
    errno.ENAMETOOLONG: "its name is longer than the system takes; shorten it",
}


def cause(error: Exception, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> str:
    """The cause and the remedy."""
    if isinstance(error, OSError) and error.errno in _NAMED_FILE:
        return _directory_cause(cwd) or _file_cause(error, argv[0], cwd, env)
    if isinstance(error, OSError):
        return _REMEDIES.get(error.errno) or f"{error.strerror or error}; see to that first"
    return _text_cause(argv, cwd, env) or f"{error}; correct its command or environment"


def _directory_cause(cwd: str) -> str | None:
    """What is wrong with the working directory, if it is that."""
    try:
        mode = os.stat(cwd).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return f"the working directory {cwd!r} does not exist; create it or choose another"
    except OSError as error:
        return f"the working directory {cwd!r} cannot be entered ({error.strerror}); correct it"
    if not stat.S_ISDIR(mode):
        return f"the working directory {cwd!r} is not a directory; choose another"
    if not os.access(cwd, os.X_OK):
        return f"the working directory {cwd!r} may not be entered; change its permissions"
    return None


def _file_cause(error: OSError, program: str, cwd: str, env: Mapping[str, str]) -> str:
    file = _file(program, cwd, env)
    if file is None and "/" in program:
        return f"there is no such file (working directory {cwd!r}); correct the path"
    if file is None:
        return "it was not found on the PATH; install it or write its full path"
    if os.path.isdir(file):
        return f"{file!r} is a directory; name the program in it"
    if error.errno == errno.EACCES:
        return f"{file!r} is not executable; run chmod +x on it"
    return _interpreter_cause(file)


def _file(program: str, cwd: str, env: Mapping[str, str]) -> str | None:
    directories = [cwd]
    if "/" not in program:
        directories = [os.path.join(cwd, entry) for entry in os.get_exec_path(env)]
    for directory in directories:
        path = os.path.join(directory, program)
        if os.access(path, os.F_OK):
            return path
    return None


def _interpreter_cause(file: str) -> str:
    """A program that exists and yet is not found: what runs it is missing."""
    try:
        with open(file, "rb") as script:
            first = script.readline(256)
    except OSError:
        first = b""
    if not first.startswith(b"#!"):
        return f"what runs {file!r} is missing; install it for this system"
    interpreter = first[2:].rstrip(b"\n").strip(b" \t").decode(errors="replace")
    return f"its first line names {interpreter!r}, which does not exist; install or correct that"


def _text_cause(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> str | None:
    texts = {"its command": argv, "the working directory": [cwd]}
    texts |= {f"the variable {name!r}": [name, value] for name, value in env.items()}
    for where, values in texts.items():
        if any("\0" in value for value in values):
            return f"{where} contains a NUL character; remove it"
        if not all(_is_encodable(value) for value in values):
            return f"{where} contains a character that cannot be encoded; remove it"
    if names := [name for name in env if "=" in name]:
        return f"{names[0]!r} is no name for a variable; remove the equals sign"
    return None


def _is_encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeError:
        return False
    return True
