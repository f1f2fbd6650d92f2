"""What is executed for a command hook: a file with its words and variables, or a shell.

A command of plain words needs no shell, and the hook cannot tell the difference. Errors that a
shell would report (not found, not executable, no interpreter's line) are left to the shell: if the
program cannot be executed at once, a shell runs the command after all.

In a shell the hook's variables are in the environment; values never become part of the command.
So no value can inject a command once every bare ``$NAME`` in it is quoted.
"""

import errno
import functools
import os
import re
import stat
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from hookline._support.places import account_home, home_dir, is_inside, user_state_dir
from hookline.shell.programs import argv_of, find_program, read_shebang, resolve_words
from hookline.shell.table import HARMLESS_LOADERS, LOADERS
from hookline.wire.hooks import CommandHook, Redaction, ReviewedStart

_ALWAYS_KEPT = frozenset(
    {
        *("PATH", "SYSTEMROOT", "COMSPEC", "PATHEXT", "WINDIR", "TEMP", "TMP", "USERPROFILE"),
        *("SYSTEMDRIVE", "HOME", "LANG", "SHELL", "TMPDIR", "USER", "LOGNAME", "TERM", "COLORTERM"),
        *("ADDITIONAL_CONTEXT", "AVAILABLE_LABELS", "BRANCH_NAME", "DESCRIPTION", "EVENT_NAME"),
        *("GITHUB_ENV", "IS_PULL_REQUEST", "ISSUES_TO_TRIAGE", "ISSUE_BODY", "ISSUE_NUMBER"),
        *("ISSUE_TITLE", "PULL_REQUEST_NUMBER", "REPOSITORY", "TITLE", "TRIGGERING_ACTOR"),
    }
)
_NEVER_KEPT = frozenset(
    {
        *("CLIENT_ID", "DB_URI", "CONNECTION_STRING", "AWS_DEFAULT_REGION", "AZURE_CLIENT_ID"),
        *("AZURE_TENANT_ID", "SLACK_WEBHOOK_URL", "TWILIO_ACCOUNT_SID", "DATABASE_URL"),
        *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_ACCOUNT", "FIREBASE_PROJECT_ID"),
    }
)
# Every repetition is bounded and ends at a character it cannot contain, so that a value of any
# length is searched in linear time.
_SECRET_VALUES = (
    r"-----begin (?:[a-z0-9]{1,16} ){0,4}private key",
    r"-----begin (?:[a-z0-9]{1,16} ){0,4}certificate-----",
    r"[a-z0-9]://[^\s/:@]{0,1024}:[^\s/@]{1,4096}@",
    r"(?<![a-z0-9])xox[a-z]-[a-z0-9]",
)
# Variables that bash sets itself, whatever it was started with.
_SET_BY_BASH = frozenset(
    {
        *("BASH", "BASHOPTS", "BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_ARGV0"),
        *("BASH_CMDS", "BASH_COMMAND", "BASH_LINENO", "BASH_SOURCE", "BASH_SUBSHELL"),
        *("BASH_VERSINFO", "BASH_VERSION", "COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME"),
        *("EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD", "HOSTNAME", "HOSTTYPE", "IFS"),
        *("LINENO", "MACHTYPE", "OPTERR", "OPTIND", "OSTYPE", "POSIXLY_CORRECT", "PPID", "RANDOM"),
        *("SECONDS", "SHELLOPTS", "SRANDOM", "UID"),
    }
)
# Variables of places that programs read their configuration from.
_PLACES = re.compile(r"HOME|XDG_\w+_HOME|GIT_\w+|CDPATH")
_PARTS = re.compile(r"[\s:;,=]+")
_LONGEST_NAME = 255
# The longest string on Linux, with its final NUL; elsewhere only the sum is bounded.
_LONGEST_STRING = 32 * os.sysconf("SC_PAGE_SIZE") if sys.platform == "linux" else None
# Every system accepts that much in all, half of it in variables.
_SURELY_TAKEN = 128 * 1024
_NAMED_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP})
_REMEDIES: dict[int | None, str] = {
    errno.E2BIG: "the command and its environment are too long for the system; shorten them",
    errno.EMFILE: "this process has too many files open; close some or raise its limit (ulimit -n)",
    errno.ENFILE: "the system has too many files open; close some or raise its limit",
    errno.EAGAIN: "there are too many processes; end some or raise the limit (ulimit -u)",
    errno.ENOMEM: "there is not enough memory; end other programs",
    errno.ETXTBSY: "another process is writing to it; close it there",
    errno.ENOEXEC: "the system cannot execute it; begin a script with a line like #!/bin/sh",
    errno.ENAMETOOLONG: "its name is too long for the system; shorten it",
}


class Environment(dict[str, str]):
    """Variables that no longer change."""

    __slots__ = ("_entries", "_left_out", "_taken_out")

    _entries: list[bytes]
    _left_out: dict[str, str]
    _taken_out: tuple[str, ...]

    @property
    def taken_out(self) -> tuple[str, ...]:
        """The variables that a reviewed hook does not inherit, as they would load code."""
        return getattr(self, "_taken_out", ())

    @property
    def left_out(self) -> Mapping[str, str]:
        """The variables that no process can be given, each with what is wrong with its value."""
        return getattr(self, "_left_out", {})


def encode_entries(variables: Mapping[str, str]) -> list[bytes]:
    """Return ``NAME=value`` for each, as a process gets them; raises ValueError for a name with an
    equals sign. An Environment keeps them for the next call."""
    entries: list[bytes] | None = getattr(variables, "_entries", None)
    if entries is None:
        if any("=" in name for name in variables):
            raise ValueError("illegal environment variable name")
        entries = [os.fsencode(f"{name}={value}") for name, value in variables.items()]
        if isinstance(variables, Environment):
            variables._entries = entries
    return entries


def make_environment(
    redaction: Redaction,
    variables: Mapping[str, str],
    own: Mapping[str, str],
    changed: tuple[tuple[str, str | None], ...] = (),
    shared: Mapping[str, str] = {},
    start: ReviewedStart | None = None,
) -> Environment:
    """Return the environment of one hook, cached: the inherited variables with those that are
    ``changed``, then the ``shared`` ones, the event's and the hook's own. Only inherited variables
    are redacted. A hook that a review vouches for (``start``) inherits nothing that would load the
    project's code.

    Values that no process can be given are left out, except the hook's own: its author must correct
    those.
    """
    # Decoding all variables would take a third of the calls of firing an event. ``_data`` has them
    # undecoded; a Python without it returns a copy.
    now: dict[Any, Any] = getattr(os.environ, "_data", None) or os.environ.copy()
    return _make_environment(
        tuple(now.items()),
        redaction,
        tuple(variables.items()),
        tuple(own.items()),
        changed,
        tuple(shared.items()),
        start if start is not None and start.argv else None,
    )


@functools.lru_cache(maxsize=64)
def _make_environment(
    inherited: tuple[tuple[Any, Any], ...],
    redaction: Redaction,
    variables: tuple[tuple[str, str], ...],
    own: tuple[tuple[str, str], ...],
    changed: tuple[tuple[str, str | None], ...],
    shared: tuple[tuple[str, str], ...],
    start: ReviewedStart | None,
) -> Environment:
    parent = {os.fsdecode(name): os.fsdecode(value) for name, value in inherited}
    for name, value in changed:
        parent.pop(name, None)
        if value is not None:
            parent[name] = value
    taken_out = [] if start is None else _take_out_loaders(parent, start)
    base = {**redact(parent, redaction), **dict(shared), **dict(variables)}
    its_own = dict(own)
    project_dir = base.get("HOOKLINE_PROJECT_DIR", "")
    unfit = {name: _why_unfit(name, value) for name, value in base.items() if name not in its_own}
    left_out = {name: why for name, why in unfit.items() if why}
    env = {name: value for name, value in base.items() if name not in left_out} | its_own
    env |= _choose_bytecode_place(env, project_dir)
    excess = sum(map(_count_bytes, env.items())) - _SURELY_TAKEN // 2
    if excess > 0:
        excess += _SURELY_TAKEN // 2 - find_most_bytes()
        # The hook's input has the event's values, and the caller has the others.
        droppable = [name for name in base if name in env and name not in (*its_own, "PATH")]
        for name in sorted(droppable, key=lambda name: len(env[name]), reverse=True):
            if excess <= 0:
                break
            left_out[name] = "makes all variables together too long for the system"
            excess -= _count_bytes((name, env.pop(name)))
    environment = Environment(env)
    environment._left_out = left_out
    environment._taken_out = tuple(taken_out)
    return environment


def _take_out_loaders(parent: dict[str, str], start: ReviewedStart) -> list[str]:
    """Take the variables out that make interpreters, shells or the system's loader load code: all
    of them for a hook that runs from its copy, for others those that lead into the project. Return
    their names."""

    def leads_inside(part: str) -> bool:
        return not os.path.isabs(part) or _leads_into(part, start.project)

    taken_out = []
    for name in [name for name in parent if LOADERS.fullmatch(name)]:
        parts = [part for part in _PARTS.split(parent[name]) if part]
        if start.from_copy or (name not in HARMLESS_LOADERS and any(map(leads_inside, parts))):
            del parent[name]
            taken_out += [] if name in HARMLESS_LOADERS else [name]
    for name in [name for name in parent if start.from_copy and _PLACES.fullmatch(name)]:
        if leads_inside(parent[name]):
            del parent[name]
            taken_out.append(name)
    if "HOME" in taken_out and (home := account_home()) is not None:
        parent["HOME"] = home
    entries = parent.get("PATH", "").split(os.pathsep)
    outside = [entry for entry in entries if not leads_inside(entry)]
    if start.from_copy and "PATH" in parent and outside != entries:
        parent["PATH"] = os.pathsep.join(outside)
        taken_out += (f"{entry or '.'} in PATH" for entry in entries if leads_inside(entry))
    return taken_out


def _why_unfit(name: str, value: str) -> str:
    """Return why no process can be given a value, "" if one can."""
    if "\0" in value:
        return "contains a NUL character"
    try:
        size = len(os.fsencode(value))
    except UnicodeError:
        return "contains a character that cannot be encoded"
    if _LONGEST_STRING is not None and size + len(name) * 4 + 2 > _LONGEST_STRING:
        return f"is too long for the system ({size} bytes)"
    return ""


def _count_bytes(variable: tuple[str, str]) -> int:
    """Return what a variable takes at most: its text, a NUL, and a pointer to it."""
    name, value = variable
    return len(f"{name}={value}".encode(errors="surrogatepass")) + 9


def find_most_bytes() -> int:
    """Return how many bytes of variables the system accepts, with room left for the arguments."""
    if sys.platform == "linux":
        # The C library may not know: the kernel allows a quarter of the stack, within bounds.
        import resource

        stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
        limit = 6 * 1024 * 1024 if stack == resource.RLIM_INFINITY else stack // 4
        limit = max(_SURELY_TAKEN, min(limit, 6 * 1024 * 1024))
    else:
        limit = os.sysconf("SC_ARG_MAX")
    return limit - min(limit // 2, _SURELY_TAKEN)


def _choose_bytecode_place(env: Mapping[str, str], project_dir: str) -> dict[str, str]:
    """Keep Python's bytecode out of the project: a run must not change reviewed files there, nor
    run bytecode that was planted there in place of a script."""
    chosen = env.get("PYTHONPYCACHEPREFIX", "")
    if os.path.isabs(chosen) and not _leads_into(chosen, project_dir):
        return {}
    state, home = user_state_dir(), home_dir()
    if state is not None and home is not None:
        place = os.path.join(state, "pycache")
        # If the home is in the project, no place of the user's is outside of it.
        if not _leads_into(place, project_dir) or _leads_into(home, project_dir):
            return {"PYTHONPYCACHEPREFIX": place}
    return {
        "PYTHONPYCACHEPREFIX": os.path.join(os.devnull, "pycache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


# Cached: only the user can change where these links lead while the agent runs.
@functools.lru_cache(maxsize=16)
def _leads_into(path: str, directory: str) -> bool:
    """True if a path leads to a directory or into it, through whatever links."""
    try:
        return bool(directory) and is_inside(os.path.realpath(path), os.path.realpath(directory))
    except ValueError:  # a NUL in the path
        return False


def redact(parent: Mapping[str, str], redaction: Redaction) -> dict[str, str]:
    """Copy ``parent`` without what redaction removes; on a CI runner redaction is always on."""
    strict = "GITHUB_SHA" in parent or parent.get("SURFACE") == "Github"
    if not (redaction.enabled or strict):
        return dict(parent)
    from hookline._support.secrets import SECRET_WORDS

    allowed = {name.upper() for name in redaction.allowed}
    blocked = {name.upper() for name in redaction.blocked}
    left = {}
    for name, value in parent.items():
        upper = name.upper()
        if upper.startswith("GEMINI_CLI_"):
            stays = True
        # Nearly all values have none of these, and need no regular expression.
        elif ("://" in value or "-----" in value or "xox" in value.lower()) and (
            re.search("|".join(_SECRET_VALUES), value.lower())
        ):
            stays = False
        elif upper.startswith("GIT_CONFIG_") or upper in allowed:
            stays = True
        elif upper in blocked:
            stays = False
        elif upper in _ALWAYS_KEPT:
            stays = True
        else:
            secret = upper in _NEVER_KEPT or any(word in upper for word in SECRET_WORDS)
            stays = not (secret or strict)
        if stays:
            left[name] = value
    return left


class Executable(msgspec.Struct, frozen=True):
    """A file to execute, with its arguments and environment."""

    file: str
    argv: list[str]
    env: Environment


def reviewed_program(start: ReviewedStart, *, cwd: str, env: Environment) -> Executable:
    """Return what is executed for a hook that a review vouches for: its words, without a shell."""
    argv = list(start.argv)
    return Executable(argv[0], argv, _set_by_shell(env, cwd, argv[0]))


def choose_program(
    hook: CommandHook, values: Mapping[str, str], *, cwd: str, project_dir: str, env: Environment
) -> Executable | None:
    """Return what is executed for a hook without a shell; None if the command needs a shell.

    ``values`` are the variables that each stay one word, whatever they hold.
    """
    argv = argv_of(hook, values)
    if argv is None:
        return None
    argv = resolve_words(argv, hook, cwd=cwd, project_dir=project_dir)
    if hook.args is not None:
        return Executable(argv[0], argv, env)
    path = env.get("PATH", "")
    # A shell without a PATH searches default places of its own.
    if not (path or "/" in argv[0]) or not _SET_BY_BASH.isdisjoint(env):
        return None
    try:
        file = find_program(argv[0], path, cwd=cwd)
        if file is None:
            return None
        return Executable(file, argv, _set_by_shell(env, cwd, file))
    except ValueError:
        # No process can be given such text; starting a shell with it reports which.
        return None


def _set_by_shell(env: Environment, cwd: str, file: str) -> Environment:
    """Return an environment with what a shell would have set by the time it starts a program."""
    shell_env = Environment(env)
    directory = shell_env.get("PWD", "")
    try:
        is_here = directory == cwd or os.path.samefile(directory, cwd)
    except OSError:
        is_here = False
    if not (directory.startswith("/") and is_here):
        shell_env["PWD"] = os.path.realpath(cwd)
    if "OLDPWD" in shell_env and not os.path.isdir(os.path.join(cwd, shell_env["OLDPWD"])):
        del shell_env["OLDPWD"]
    level = shell_env.get("SHLVL", "")
    if not level.isascii() or not level.isdigit():
        shell_env["SHLVL"] = "0"
    shell_env["_"] = file
    return shell_env


def make_shell_argv(
    command: str, names: Collection[str], env_path: str | None, project_dir: str = ""
) -> list[str]:
    """Return the program and arguments that run ``command`` in a shell found on ``env_path``,
    outside of the project.

    ``names`` are the variables that must each stay one word, whatever they hold.
    """
    if "$" in command:
        from hookline.shell.tokens import quote_variables

        command = quote_variables(command, names)
    return [*_find_shell(env_path, project_dir), "-c", "--", command]


@functools.lru_cache(maxsize=16)
def _find_shell(env_path: str | None, project_dir: str) -> tuple[str, ...]:
    # Relative entries would pick a shell out of the project's own files.
    entries = f"{env_path or ''}{os.pathsep}{os.defpath}".split(os.pathsep)
    absolute = [entry for entry in entries if os.path.isabs(entry)]
    outside = [entry for entry in absolute if not _leads_into(entry, project_dir)]
    # Nothing is outside of a project that is the root.
    path = os.pathsep.join(outside or absolute)
    # --norc: a bash that thinks sshd or rshd started it reads ~/.bashrc in spite of -c.
    # -p: without it bash would run the file that BASH_ENV names, and take functions and options
    # from its environment, so that the same hook would do different things for different users.
    if bash := find_program("bash", path, cwd="/"):
        return (bash, "--norc", "-p")
    return (find_program("sh", path, cwd="/") or "/bin/sh",)


def explain_spawn_failure(
    error: Exception, argv: Sequence[str], cwd: str, env: Mapping[str, str]
) -> str:
    """Say why a process did not start, and what to do about it."""
    texts = {"its command": argv, "the working directory": [cwd]}
    texts |= {f"the variable {name!r}": [name, value] for name, value in env.items()}
    for where, values in texts.items():
        if any("\0" in value for value in values):
            return f"{where} contains a NUL character; remove it"
        try:
            os.fsencode("".join(values))
        except UnicodeError:
            return f"{where} contains a character that cannot be encoded; remove it"
    if names := [name for name in env if "=" in name]:
        return f"{names[0]!r} is not a name for a variable; remove the equals sign"
    if not isinstance(error, OSError):
        return f"{error}; correct its command or environment"
    if error.errno in _NAMED_FILE:
        return _explain_not_found(error, argv[0], cwd, env)
    return _REMEDIES.get(error.errno) or f"{error.strerror or error}; correct that"


def _explain_not_found(error: OSError, program: str, cwd: str, env: Mapping[str, str]) -> str:
    """Say what is wrong with the working directory, or else with the program."""
    try:
        if not stat.S_ISDIR(os.stat(cwd).st_mode):
            return f"the working directory {cwd!r} is not a directory; choose another"
    except (FileNotFoundError, NotADirectoryError):
        return f"the working directory {cwd!r} does not exist; create it or choose another"
    except OSError as trouble:
        return f"the working directory {cwd!r} cannot be entered ({trouble.strerror}); correct it"
    if not os.access(cwd, os.X_OK):
        return f"the working directory {cwd!r} may not be entered; change its permissions"
    place = find_program(program, env.get("PATH", os.defpath), cwd=cwd, executable=False)
    file = os.path.join(cwd, place or program)
    if "/" in program and not os.access(file, os.F_OK):
        return f"there is no such file (working directory {cwd!r}); correct the path"
    if place is None and len(os.fsencode(program)) > _LONGEST_NAME:
        return _REMEDIES[errno.ENAMETOOLONG]
    if place is None:
        return "it was not found on the PATH; install it or write its full path"
    if os.path.isdir(file):
        return f"{file!r} is a directory; name the program in it"
    if error.errno == errno.EACCES or not os.access(file, os.X_OK):
        return f"{file!r} is not executable; run chmod +x on it"
    # The file exists, so what was not found is its interpreter.
    if words := read_shebang(file):
        missing = " ".join(words)
        return f"its first line names {missing!r}, which does not exist; install or correct that"
    return f"the loader or interpreter of {file!r} is missing; install it"
