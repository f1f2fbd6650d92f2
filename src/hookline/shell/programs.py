"""Finds what a command starts: the file on PATH, the interpreter and the script.

The code that runs, reviews, checks or measures hooks asks here, so all of it means the
same program. Nothing is executed.
"""

import errno
import functools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from hookline.dialects import ROWS
from hookline.shell.table import OF_THE_SHELL, find_in_table
from hookline.wire.hooks import CommandHook, HookSource

# Loaded only for commands that are not plain.
if TYPE_CHECKING:
    from hookline.shell.tokens import Word

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,=- \t")
_QUOTING = frozenset("'\"\\$")
_QUOTING_IN_BACKTICKS = frozenset("'\"\\$`")
_STATE = "HOOKLINE_HOOK_STATE"
_PROJECT_VARIABLES = (
    *(f"{host}_PROJECT_DIR" for host in ("HOOKLINE", "LLXPRT", "GEMINI")),
    *(row.project_variable for row in ROWS.values()),
)
_DIRECTORIES = (*_PROJECT_VARIABLES, _STATE)
_DIRECTORIES_OF_EXTENSIONS = ("extensionPath", "workspacePath")
# Linux reads this much of a script to find its interpreter.
_SHEBANG_BYTES = 256
_IS_MACOS = sys.platform == "darwin"


def hook_variables(
    *,
    project_dir: str,
    cwd: str,
    session_id: str,
    event: str,
    hook: CommandHook | None = None,
    hook_state: str | None = None,
) -> dict[str, str]:
    """The variables that every hook gets, under the names of each host its script may come from,
    and those that a ``hook`` of an extension or a plugin gets besides. ``hook_state`` is a folder
    in which hooks may write, if there is one."""
    variables = {
        **dict.fromkeys(_PROJECT_VARIABLES, project_dir),
        "HOOKLINE_CWD": cwd,
        "GEMINI_CWD": cwd,
        "HOOKLINE_SESSION_ID": session_id,
        "GEMINI_SESSION_ID": session_id,
        "HOOKLINE_EVENT": event,
    }
    if hook_state is not None:
        variables[_STATE] = hook_state
    if hook is not None and hook.source is HookSource.EXTENSIONS:
        # Without a directory it stays as written, as a path that no project can provide.
        variables["extensionPath"] = hook.directory or "/${extensionPath}"
        variables["workspacePath"] = project_dir
    if hook is not None and hook.plugin_root is not None:
        folders = (hook.plugin_root, hook.plugin_data)
        pairs = zip(ROWS[hook.dialect].plugin_variables, folders, strict=True)
        variables |= {name: folder for name, folder in pairs if folder is not None}
    return variables


def own_variables(hook: CommandHook, variables: Mapping[str, str]) -> Mapping[str, str]:
    """A hook's own variables; those of an extension may name directories among ``variables``."""
    is_written = any("$" in value for value in hook.env.values())
    if hook.source is not HookSource.EXTENSIONS or not is_written:
        return hook.env
    from hookline.shell.tokens import expand

    directories = {
        name: variables[name] for name in _DIRECTORIES_OF_EXTENSIONS if name in variables
    }
    return {name: expand(value, directories) for name, value in hook.env.items()}


def words_in(command: str, values: Mapping[str, str]) -> list[str]:
    """Every word of a command, also nested ones; a variable without a value stays as written."""
    from hookline.shell.tokens import read_tokens

    return [token.fill(values) for token in read_tokens(command) if not isinstance(token, str)]


def plain_words(command: str, values: Mapping[str, str]) -> list[str] | None:
    """The words that a shell would make of a command; None if it is more than plain words.

    ``values`` are the variables that are never split, whatever their value. A command that begins
    with a word of the shell's grammar or a builtin is more than plain words.
    """
    if _QUOTING.isdisjoint(command):
        # A look at the characters saves loading the reader.
        words = command.split() if _PLAIN.issuperset(command) else []
        return words if words and "=" not in words[0] and words[0] not in OF_THE_SHELL else None
    from hookline.shell.plain import NotPlainError, read_plain

    try:
        plain = read_plain(command)
    except NotPlainError:
        return None
    if not all(name in values for word in plain for name in word.names()):
        return None
    words = [word.fill(values) for word in plain]
    return words if words[0] and words[0] not in OF_THE_SHELL else None


def argv_of(hook: CommandHook, values: Mapping[str, str]) -> list[str] | None:
    """What is executed for a hook without a shell; None if it needs one.

    With ``args``, ``$NAME`` and ``${NAME}`` of directories among ``values`` are replaced by their
    text, except in words that are read as code.
    """
    if hook.args is None:
        return plain_words(hook.command, values)
    words = [hook.command, *hook.args]
    if not any("$" in word for word in words):
        return words
    from hookline.shell.arguments import fill_arguments

    names = [name for name in directory_names(hook) if name in values]
    return fill_arguments(words, {name: values[name] for name in names})


def directory_names(hook: CommandHook) -> tuple[str, ...]:
    """The variables that are replaced in a hook's ``args``: those of directories."""
    names = _DIRECTORIES
    if hook.source is HookSource.EXTENSIONS:
        names += _DIRECTORIES_OF_EXTENSIONS
    return names if hook.plugin_root is None else names + ROWS[hook.dialect].plugin_variables


def find_user_config(hook: CommandHook) -> str | None:
    """The first ``${user_config.NAME}`` in a command: an answer that another agent asks for
    when it installs a plugin, so it has no value here."""
    for text in (hook.command, *(hook.args or ())):
        start = text.find("${user_config.")
        if start >= 0:
            end = text.find("}", start)
            return text[start:] if end < 0 else text[start : end + 1]
    return None


def resolve_relative(
    word: str, hook: CommandHook, *, cwd: str, project_dir: str, endings: Sequence[str] = ("",)
) -> str:
    """Find the file that a relative path in a hook's command names.

    A project's hook finds it in the project first, so that no folder below can replace it; a hook
    of a settings file or an extension beside that file, then in the working directory, then in the
    project. A path to the working directory, or to nothing, stays as written.
    """
    base = _find_base(word, hook, cwd=cwd, project_dir=project_dir, endings=endings)
    return word if base == cwd else os.path.join(base, word.removeprefix("./"))


def _find_base(
    word: str, hook: CommandHook, *, cwd: str, project_dir: str, endings: Sequence[str] = ("",)
) -> str:
    if os.path.isabs(word):
        return cwd
    if hook.source is HookSource.PROJECT:
        bases = [project_dir, cwd]
    else:
        bases = [hook.directory or cwd, cwd, project_dir]
    for base in dict.fromkeys(bases):
        if any(_is_taken(os.path.join(base, word + ending)) for ending in endings):
            return base
    return cwd


def _is_taken(file: str) -> bool:
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        # A file that was made unreadable must not let another one take its place.
        return error.errno != errno.ENAMETOOLONG
    return True


def resolve_words(
    words: Sequence[str], hook: CommandHook, *, cwd: str, project_dir: str
) -> list[str]:
    """A command's words, with relative programs and scripts resolved by ``resolve_relative``."""
    resolved = list(words)
    if len(words) > 1 or not words[0].startswith("/"):
        places = {"cwd": cwd, "project_dir": project_dir}
        for at, endings in _find_files(words):
            if endings is None:
                resolved[at] = resolve_in_command(words[at], {}, hook, **places)
            else:
                resolved[at] = resolve_relative(words[at], hook, endings=endings, **places)
    return resolved


def _find_files(words: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...] | None]]:
    """Which words of a command are paths of what it starts, each with the endings that it may
    lack; None instead of endings for a word that is a command for a shell."""
    at = 0
    while at < len(words):
        # uv runs a program or a script.
        if "/" in words[at] or (at and words[at].endswith(".py")):
            yield at, ("",)
        if os.path.basename(words[at]) in (".", "source"):
            yield from ((at + 1, ("",)) for word in words[at + 1 : at + 2] if "/" in word)
            return
        program = find_in_table(words[at])
        if program is None:
            return
        if program.kind:
            yield from ((at + place, endings) for place, endings in _find_script(words[at:]))
            return
        if not program.has_script and program.operands is None:
            return
        at += 1
        while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
            if words[at].startswith(program.moves):
                return
            at += 1 + (words[at] in program.valued)
        at += program.operands or 0
        at += program.has_script and words[at : at + 1] == ["run"]
        if words[at - 1 : at] == ["run"]:
            while at < len(words) and words[at].startswith("-"):
                if words[at].startswith(program.moves):
                    return
                at += 1 + (words[at] in program.valued)
        if program.has_script:
            if at < len(words):
                yield at, ("",)
            return


def _find_script(words: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...] | None]]:
    """The same for a command that begins with an interpreter."""
    interpreter = interpreter_in(words)
    if interpreter is None:
        return
    if interpreter.script_at is not None:
        # Node adds these endings itself.
        endings = ("", ".js", ".json", ".node") if interpreter.kind == "node" else ("",)
        yield interpreter.script_at, endings
    elif interpreter.kind == "sh":
        from hookline.shell.arguments import code_in

        code = max(code_in(words), default=0)
        if 0 < code < len(words):
            yield code, None


def resolve_in_command(
    command: str, values: Mapping[str, str], hook: CommandHook, *, cwd: str, project_dir: str
) -> str:
    """A command for a shell, with relative programs and scripts resolved by ``resolve_relative``.

    If a relative ``cd`` leads to one, the path behind ``cd`` is resolved. A word stays as written
    if only the shell knows its text, and so does a path that exists nowhere.
    """
    from hookline.shell.commands import split_commands

    edits: dict[tuple[int, int], str] = {}
    # By scope: the relative paths that cd has followed, None if they are unknown.
    trails: dict[tuple[int, ...], list[Word] | None] = {(): []}
    for each in split_commands(command):
        scope, words = each.scope, each.words
        while scope not in trails:
            scope = scope[:-1]
        trail, texts = trails[scope], [word.fill(values) for word in words]
        if trail is None or not texts:
            continue
        if "cd" in texts[:2] or texts[0] in ("pushd", "popd"):
            is_plain = texts[0] == "cd" and len(words) == 2 and not texts[1].startswith(("/", "-"))
            is_followed = is_plain and _is_settled(words[1], command, values)
            trails[each.scope] = [*trail, words[1]] if is_followed and len(trail) < 16 else None
            continue
        for at, endings in _find_files(texts):
            if endings is None:
                place, inner = words[at].place, texts[at]
                if not trail and _is_settled(words[at], command, values):
                    inner = resolve_in_command(inner, {}, hook, cwd=cwd, project_dir=project_dir)
                if place and inner != texts[at]:
                    edits[place] = _quote(inner)
                continue
            path = os.path.join(*(word.fill(values) for word in trail), texts[at])
            base = _find_base(path, hook, cwd=cwd, project_dir=project_dir, endings=endings)
            changed = (trail or words[at:])[0]
            if base != cwd and changed.place and _is_settled(words[at], command, values):
                file = os.path.join(base, changed.fill(values).removeprefix("./"))
                edits.setdefault(changed.place, _quote(file))
    pieces, copied_to = [], 0
    for (start, end), text in sorted(edits.items()):
        if "`" in command and not _QUOTING_IN_BACKTICKS.isdisjoint(text[1:-1]):
            # Inside backticks the shell might read it twice.
            continue
        pieces += [command[copied_to:start], text]
        copied_to = end
    return "".join([*pieces, command[copied_to:]])


def _quote(text: str) -> str:
    """Quote a text for a shell."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _is_settled(word: "Word", command: str, values: Mapping[str, str]) -> bool:
    """Whether a word's text is known, and nothing in the command changes a variable of it."""
    from hookline.shell.tokens import Variable

    names = {piece.name for piece in word.pieces if isinstance(piece, Variable)}
    return word.is_known(values) and all(_is_only_read(name, command) for name in names)


@functools.lru_cache(maxsize=16)
def _is_only_read(name: str, command: str) -> bool:
    return name not in command.replace(f"${{{name}}}", "").replace(f"${name}", "")


def find_program(name: str, path: str, *, cwd: str, executable: bool = True) -> str | None:
    """The file that a name starts: the first on a search path that is executable, or with
    ``executable=False`` just exists.

    A name with a slash is the file itself. Entries may be relative to ``cwd``, and then so is the
    file; entries that this user may not search are skipped.
    """
    if "/" in name:
        return name
    for entry in path.split(os.pathsep):
        file = f"{entry or '.'}/{name}"
        place = os.path.join(cwd, file)
        if _is_executable(place) or (not executable and os.path.exists(place)):
            return file
    return None


def _is_executable(file: str) -> bool:
    # os.access raises for a text that cannot be a file's name; isfile does not.
    return os.path.isfile(file) and os.access(file, os.X_OK)


def read_shebang(file: str) -> tuple[str, ...] | None:
    """The words in a script's first line that run it; None if there are none."""
    from hookline._support.files import open_regular

    try:
        with open_regular(file) as script:
            return shebang_in(script.read(_SHEBANG_BYTES))
    except (OSError, ValueError):
        return None


def shebang_in(content: bytes) -> tuple[str, ...] | None:
    """The same, for a file that begins with ``content``."""
    if not content.startswith(b"#!"):
        return None
    line, newline, _ = content[2:_SHEBANG_BYTES].partition(b"\n")
    text = os.fsdecode(line).replace("\t", " ").strip(" ")
    program, blank, rest = text.partition(" ")
    if not program or not (newline or blank or len(content) < _SHEBANG_BYTES):
        return None
    rest = rest.strip(" ")
    if os.path.basename(program) == "env" and rest.startswith("-S"):
        # env -S has a syntax of its own, which is left as one word.
        return (program, rest) if set(rest) & set("\"'\\$#") else (program, *rest[2:].split())
    # Linux passes the rest as one argument.
    words = rest.split(" ") if _IS_MACOS else [rest]
    return (program, *(word for word in words if word))


def program_at(words: Sequence[str]) -> int | None:
    """The index of the program among the words: the first, or the one that ``env`` starts."""
    if not words or os.path.basename(words[0]) != "env":
        return 0 if words else None
    at = 1
    while at < len(words) and ("=" in words[at] or words[at] == "-i"):
        at += 1
    return at if at < len(words) and not words[at].startswith("-") else None


class Interpreter(msgspec.Struct, frozen=True):
    """An interpreter among the words of a command: its index, its options with their values, and
    the index of its script."""

    kind: str
    at: int
    options: tuple[tuple[str, str], ...]
    script_at: int | None


def interpreter_in(words: Sequence[str]) -> Interpreter | None:
    """The interpreter that a command starts, None if it starts something else."""
    at = program_at(words)
    if at is None:
        return None
    program = find_in_table(words[at])
    if program is None or not program.kind:
        return None
    kind, options = program.kind, list[tuple[str, str]]()
    with_value = program.valued + program.inline
    without_script = program.code + program.scriptless
    signs = ("-", "+") if kind == "sh" else ("-",)
    end = at + 1
    while end < len(words) and words[end].startswith(signs) and words[end] not in ("-", "--"):
        word, end = words[end], end + 1
        # Letters may be joined: -ec is -e and -c.
        is_long = word.startswith("--")
        for place, letter in enumerate(word[1:], 2):
            option, _, value = word.partition("=") if is_long else (f"-{letter}", "", "")
            if option in with_value and not value:
                joined = "" if is_long or kind == "sh" else word[place:]
                value = joined or "".join(words[end : end + 1])
                end += not joined
            options.append((option, value))
            if option in without_script:
                return Interpreter(kind, at, tuple(options), None)
            if is_long or (value and kind != "sh"):
                break
    if end < len(words) and words[end] == "--":
        options.append(("--", ""))
        end += 1
    has_script = end < len(words) and words[end] not in ("", "-")
    return Interpreter(kind, at, tuple(options), end if has_script else None)


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a command starts first, where and on which search path.

    ``script`` is the word that names a script, which may be the program itself; ``interpreter`` is
    the kind of program that runs it, None if it runs by itself. A shell also runs a script whose
    first line names no interpreter.
    """

    program: str
    script: str | None
    interpreter: str | None
    cwd: str
    path: str
    by_shell: bool

    @property
    def script_file(self) -> str | None:
        """Where the script should be."""
        return None if self.script is None else self._locate(self.script)

    @property
    def program_file(self) -> str | None:
        """The file that is executed, None if it is not found."""
        file = find_program(self.program, self.path, cwd=self.cwd)
        place = None if file is None else self._locate(file)
        return place if place is not None and _is_executable(place) else None

    def _locate(self, file: str) -> str:
        return os.path.normpath(os.path.join(self.cwd, file))


def started_by(
    hook: CommandHook,
    variables: Mapping[str, str],
    *,
    cwd: str,
    project_dir: str,
    environ: Mapping[str, str],
) -> Started | None:
    """What a hook starts first; None if only a shell could tell.

    ``variables`` are those that the hook gets besides those of ``environ``.
    """
    from hookline.shell.commands import split_commands

    values = {**environ, "PWD": cwd, **variables}
    if hook.args is not None:
        argv = resolve_words(
            argv_of(hook, variables) or [""], hook, cwd=cwd, project_dir=project_dir
        )
        return _describe_start(argv, values, cwd, by_shell=False)
    command = resolve_in_command(hook.command, variables, hook, cwd=cwd, project_dir=project_dir)
    for each in split_commands(command):
        # Assignments in front of a command do not affect the expansion of its words.
        assigned: dict[str, str] = {}
        for word in each.assignments:
            scope = {**values, **assigned}
            if not word.is_known(scope):
                return None
            assigned[word.assigned] = word.fill(scope).partition("=")[2]
        if each.scope or each.is_grammar or not all(word.is_known(values) for word in each.words):
            return None
        words = [word.fill(values) for word in each.words]
        if not words:
            values |= assigned
        elif words[0] == "cd" and len(words) == 2 and not words[1].startswith("-"):
            cwd = os.path.join(cwd, words[1])
        elif words[0] in OF_THE_SHELL:
            return None
        else:
            return _describe_start(words, values | assigned, cwd, by_shell=True)
    return None


def _describe_start(
    words: Sequence[str], values: Mapping[str, str], cwd: str, *, by_shell: bool
) -> Started | None:
    if not words or not words[0]:
        return None
    at = program_at(words) or 0
    interpreter = interpreter_in(words)
    script_at = (
        interpreter.script_at if interpreter is not None else at if "/" in words[at] else None
    )
    told_env = dict(word.split("=", 1) for word in words[1:at] if "=" in word)
    return Started(
        program=words[at],
        script=None if script_at is None else words[script_at],
        interpreter=interpreter.kind if interpreter is not None else None,
        cwd=cwd,
        path={**values, **told_env}.get("PATH", os.defpath),
        by_shell=by_shell and at == 0,
    )
