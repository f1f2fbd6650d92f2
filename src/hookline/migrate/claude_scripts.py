"""Decides from its text whether a command of Claude Code's may become a native hook unchanged.

It may only if all of the text is understood: every program that it starts is known here or is a
script that is read too, it reads only fields of the event that natively have the same name and
value, and it answers only by its exit code, which means the same. Anything else is refused: a guard
that reads a field that does not exist lets everything pass.
"""

import os
import re
from collections.abc import Mapping, Sequence

import msgspec

from hookline.files import read_bounded
from hookline.shell.arguments import code_in
from hookline.shell.programs import interpreter_in, is_of_shell, shebang_in
from hookline.shell.tokens import REDIRECTIONS, is_readable, read_tokens

_MOST_READ = 1_000_000
# Programs that do not depend on the host: those that read their input and print, those that only
# print, and those that do neither.
_READERS = frozenset(
    {
        *("cat", "jq", "grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "tr", "cut", "head"),
        *("tail", "wc", "sort", "uniq"),
    }
)
_TALKERS = _READERS | {
    *("echo", "printf", "date", "basename", "dirname", "realpath", "readlink", "ls", "stat", "git"),
    *("uname", "hostname", "whoami", "id", "seq", "mktemp", "pwd", "type", "declare", "typeset"),
}
_SILENT = frozenset(
    {
        *("mkdir", "touch", "rm", "mv", "cp", "ln", "chmod", "sleep", "logger", "notify-send"),
        *("osascript", "terminal-notifier", "say", "afplay", "paplay", "aplay"),
    }
)
# Shell builtins that may start or change something that reading the text does not show.
_HIDING = frozenset(
    {
        *("eval", "source", ".", "trap", "alias", "coproc", "enable", "bind", "exec", "command"),
        *("builtin", "time", "function", "select"),
    }
)
_GRAMMAR = frozenset(
    {*("if", "then", "else", "elif", "fi", "do", "done", "esac", "while", "until", "!", "{", "}")}
)
DECIDES_PROGRAMS = frozenset({"PATH", "IFS", "BASH_ENV", "ENV", "PYTHONPATH", "PYTHONSTARTUP"})
# Modules that start programs or load code.
_STARTING_MODULES = frozenset(
    {
        *("subprocess", "importlib", "runpy", "multiprocessing", "pty", "ctypes", "code", "codeop"),
        *("imp", "pkgutil", "zipimport", "atexit", "site", "asyncio", "concurrent", "signal"),
        *("pickle", "marshal", "shelve", "pprint", "builtins", "logging"),
    }
)
_STARTING_CALLS = re.compile(
    r"\b(?:eval|exec|compile|__\w+__(?<!__name__)(?<!__main__)(?<!__file__)|globals|locals|vars|getattr"
    r"|from (?:os|sys) import|modules|os\.(?:write|dup2?|_exit|abort|kill|fork\w*))\b"
    r"|\.(?:system|popen|exec\w*|spawn\w*|posix_spawn\w*)\("
)
_PRINTS_ELSEWHERE = re.compile(
    r"print\(.*, file=(?!sys\.stdout)[\w.]+\)|sys\.stdout\.(?:flush|reconfigure)\(.*\)"
)
# The fields of an event that natively have the same names and values. A script that searches the
# whole event would find other words natively, such as "rm" in permission_mode.
_FIELDS = {
    "PreToolUse": "|tool_input.command",
    "UserPromptSubmit": "|prompt",
    "Stop": "|stop_hook_active",
    "PreCompact": "|trigger",
    "Notification": "|message",
}
_JQ_OPTIONS = frozenset({"-r", "-e", "-re", "-er", "--raw-output", "--exit-status"})
_STDIN = r"\bstdin\b|\binput\(|\bopen\(0|\bfileinput\b|/dev/"
_KEEPS = re.compile(r"""(?m)(?:^|(?<=[;&\s]))(\w+)=(?:\$\(cat\)|"\$\(cat\)")(?=[;\s]|$)""")
_LOADS = r"json\.loads?\(sys\.stdin(?:\.read\(\))?\)"
_HERE = re.compile(r"""<<-?\s*\\?(['"]?)(\w+)\1""")

# Variables that native hooks do not have.
_CLAUDES = re.compile(
    r"\bCLAUDE(?:CODE|_(?!PROJECT_DIR\b|PLUGIN_ROOT\b|PLUGIN_DATA\b)\w+)|user_config"
)
# On these events an exit code means something else natively, or nothing.
_ELSEWHERE = ("SessionStart", "SessionEnd", "PreCompact", "Notification")
_EXITS = re.compile(
    r"\breturn\s+[\"$2]|\bexit\b(?!\W{0,3}[01]\b|\s*(?:\(\s*\))?\s*(?:$|[;&|}]))|SystemExit"
)


class CannotMove(Exception):
    """A hook would not do the same natively; the message says why."""


class _Step(msgspec.Struct):
    """A simple command: its words, where its output goes, and the operator behind it."""

    words: list[str]
    is_known: bool = True
    is_captured: bool = False
    is_redirected: bool = False
    body: str = ""
    end: str = ""


class Judge:
    """Reads one hook: its command, and each script that it starts.

    ``event`` is Claude's; ``values`` are the known variables; ``folder`` is where it runs, "" for a
    hook that runs in any project. ``may_read`` is True if the event's input is the same natively,
    so that the hook may read it.
    """

    def __init__(
        self, event: str, values: Mapping[str, str], *, folder: str, may_read: bool
    ) -> None:
        self._event, self._values, self._folder = event, values, folder
        self._may_read = may_read
        self._fields = f"session_id|cwd{_FIELDS.get(event, '')}".replace(".", r"\.")
        self._text, self._file = "", ""
        self._unread: list[tuple[str, str, str]] = []
        self._found: set[str] = set()
        # Every text that was read, to search for variables in it.
        self.texts: list[str] = []

    def judge(self, command: str, args: Sequence[str] | None) -> None:
        """Raise CannotMove for a command that would do something else natively."""
        if args is None:
            self._unread.append(("sh", command, ""))
        else:
            self._look_for_words(" ".join((command, *args)))
            self._follow([command, *args])
        while self._unread:
            kind, self._text, self._file = self._unread.pop()
            (self._judge_shell if kind == "sh" else self._judge_python)(self._text)

    def _refuse(self, reason: str, word: str = "") -> CannotMove:
        lines = enumerate(self._text.splitlines() if word else (), 1)
        place = next((f":{number}" for number, text in lines if word in text), "")
        subject = f"{os.path.basename(self._file)}{place}" if self._file else "it"
        return CannotMove(f"{subject} {reason}")

    def _look_for_words(self, code: str) -> None:
        self.texts.append(code)
        found = _CLAUDES.search(code)
        if found is None and self._event in _ELSEWHERE:
            found = _EXITS.search(code)
        if found is not None:
            raise self._refuse(f"uses {found[0]}, which means something else natively", found[0])

    def _require_same_input(self, word: str) -> None:
        if not self._may_read:
            raise self._refuse("reads a tool's input, whose fields and paths differ natively", word)

    def _read_script(self, word: str, kind: str) -> None:
        """Queue a script for judging; ``kind`` is its interpreter's, "" if it runs by itself."""
        if not os.path.isabs(word) and not self._folder:
            raise self._refuse(f"starts {word}, which is another file in each project")
        if not os.path.isabs(word) and re.search(r"\b(?:cd|pushd)\b", self._text):
            raise self._refuse(f"starts {word} after changing the folder")
        path = os.path.normpath(os.path.join(self._folder, word))
        try:
            content = read_bounded(path, _MOST_READ)
            text = content.decode()
        except (OSError, ValueError):
            raise self._refuse(f"starts {word}, which cannot be read as text") from None
        if not kind:
            shebang = shebang_in(content)
            found = interpreter_in([*shebang, path]) if shebang else None
            kind = "sh" if shebang is None else found.kind if found else ""
            if not os.access(path, os.X_OK):
                raise self._refuse(f"starts {word}, which is not executable")
        if kind not in ("sh", "python"):
            raise self._refuse(f"starts {word}, which is neither a shell nor a Python script")
        if path not in self._found:
            self._found.add(path)
            self._unread.append((kind, text, path))

    def _follow(self, words: Sequence[str]) -> None:
        """Judge what a command starts."""
        name = os.path.basename(words[0])
        interpreter = interpreter_in(words)
        if interpreter is None and name in _TALKERS | _SILENT:
            return
        if interpreter is None and "/" in words[0]:
            self._read_script(words[0], "")
        elif interpreter is None or interpreter.kind not in ("sh", "python"):
            raise self._refuse(f"starts {name}, which may read the event in an unknown way")
        elif interpreter.script_at is not None:
            self._read_script(words[interpreter.script_at], interpreter.kind)
        else:
            at = max(code_in(words), default=0)
            if not 0 < at < len(words) or "-c" not in dict(interpreter.options):
                raise self._refuse(f"starts {name} without a script or code that can be read")
            self._unread.append((interpreter.kind, words[at], self._file))

    def _judge_shell(self, text: str) -> None:
        code = re.sub(r"(?m)^\s*#.*$", "", text)
        self._look_for_words(code)
        ends = (re.search(rf"(?m)^\t*{word}$", text) for _, word in _HERE.findall(text))
        if not is_readable(text) or not all(ends):
            raise self._refuse("is not a complete shell command")
        steps, functions = self._read_steps(self._hand_over_event(text))
        for at, step in enumerate(steps):
            words, program = step.words, os.path.basename(step.words[0])
            if not step.is_known or program in _HIDING:
                raise self._refuse(f"runs {words[0]}, whose effect only a shell knows", words[0])
            makes = program == "jq" and any(re.match(r"-\w*n|--null", w) for w in words)
            is_fed = bool(step.body) or (at > 0 and steps[at - 1].end == "|")
            if program == "jq" and not makes:
                self._require_same_input(program)
                *options, field = words[1:] or [""]
                known = rf"""\.(?:{self._fields})(?: ?// ?(?:empty|""))?"""
                known += r"""(?: ?\| ?(?:test|startswith|contains)\("[^"\\]*"\))?"""
                if not (_JQ_OPTIONS.issuperset(options) and re.fullmatch(known, field)):
                    raise self._refuse("reads more with jq than one known field", program)
            elif program in _READERS | {"read", "mapfile", "readarray"} and not (makes or is_fed):
                raise self._refuse("reads the whole event, which is different natively", program)
            if program in ("awk", "gawk", "sed", "grep", "rg") and any(
                re.match(r"-\w*f|--f|.*\b(?:system|getline)\b", word, re.DOTALL)
                for word in words[1:]
            ):
                raise self._refuse(f"runs {program} with a file or a command of its own", program)
            if program not in functions and not is_of_shell(words[0]):
                self._follow(words)
            is_quiet = "grep" in program and any(re.match(r"-\w*q|--q|--si", w) for w in words)
            is_heard = not (is_quiet or step.is_captured or step.is_redirected or step.end == "|")
            if program in _TALKERS and is_heard:
                raise self._refuse("prints, which is read in another way natively", program)

    def _hand_over_event(self, text: str) -> str:
        """Rewrite the text so that jq reads the event itself instead of a variable that holds it;
        raises CannotMove if the text uses the variable in another way."""
        if "/dev/stdin" in text or "/dev/fd" in text or "/proc/" in text:
            raise self._refuse("reads the whole event, which is different natively", "/dev")
        for name in set(_KEEPS.findall(text)):
            kept = rf"""(?:"\$\{{?{name}\}}?"|\$\{{?{name}\}}?(?![\w"]))"""
            text = re.sub(rf"(?:echo|printf ['\"]%s(?:\\n)?['\"]) {kept} *\| *(?=jq\b)", "", text)
            text = re.sub(rf"(\bjq\b[^|;&\n]*?) *<<< *{kept}", r"\1", text)
            if re.search(rf"\$\{{?[#!]?{name}\b", text):
                raise self._refuse("reads the whole event, which is different natively", name)
        return _KEEPS.sub(r"\1=", text)

    def _read_steps(self, text: str) -> tuple[list[_Step], set[str]]:
        """Read the simple commands of a text, in order, and the functions that it defines."""
        steps: list[_Step] = []
        functions: set[str] = set()
        opened: list[tuple[int, _Step | None]] = []
        step: _Step | None = None
        arrow = ""
        tokens = [*read_tokens(text), "\n"]
        for token, after in zip(tokens, [*tokens[1:], "\n"], strict=True):
            if isinstance(token, str):
                if token in REDIRECTIONS:
                    arrow = token
                    continue
                if token == "(":
                    if after == ")" and step is not None and len(step.words) == 1:
                        functions.add(steps.pop().words[0])
                    opened.append((len(steps), step))
                if step is not None:
                    step.end = token * 2 if token in "|&" and after == token else token
                step = None
                if token == ")" and opened:
                    # A command substitution comes before its word; after a subshell comes none.
                    start, around = opened.pop()
                    is_captured = not isinstance(after, str)
                    for inner in steps[start:]:
                        inner.is_captured |= is_captured
                    step = around if is_captured and around in steps else None
                if token in ("[[", "case"):
                    steps.append(step := _Step([token]))
                continue
            word = token.fill(self._values)
            if token.assigned in DECIDES_PROGRAMS:
                raise self._refuse(f"sets {token.assigned}", token.assigned)
            if token.is_body:
                for last in steps[-1:]:
                    last.body += word
            elif arrow:
                before = text[: token.place[0]] if token.place else ""
                number = re.search(r"(\d?)[<>&|]+\s*$", before)
                is_output = ">" in arrow and number is not None and number[1] in ("", "1")
                is_elsewhere = word != "1" and not word.startswith(("/dev/std", "/dev/fd", "/proc"))
                if step is not None:
                    step.is_redirected |= is_output and is_elsewhere
                    step.body += word if arrow == "<<<" else ""
                arrow = ""
            elif step is not None and (not token.begins or step.words == ["for"]):
                step.words.append(word)
            else:
                step = None
                if not token.assigned and word not in _GRAMMAR:
                    step = _Step([word], is_known=word == "[" or token.is_known(self._values))
                    steps.append(step)
        return steps, functions

    def _judge_python(self, text: str) -> None:
        import ast
        import sys
        import warnings

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
            for node in ast.walk(tree):
                if isinstance(body := getattr(node, "body", None), list):
                    said = [
                        each
                        for each in body
                        if not isinstance(each, ast.Expr)
                        or not isinstance(each.value, ast.Constant)
                    ]
                    body[:] = said or [ast.Pass()]
            # ast.unparse writes one statement per line, and no comments.
            lines = [line.strip() for line in ast.unparse(tree).splitlines()]
        except (SyntaxError, ValueError, RecursionError):
            raise self._refuse("is not Python that can be parsed here") from None
        code = "\n".join(lines)
        self._look_for_words(code)
        for names in re.findall(r"(?m)^(?:import|from) (.+?)(?: import .*)?$", code):
            for name in (each.split()[0].partition(".")[0] for each in names.split(",")):
                beside = os.path.join(os.path.dirname(self._file) or self._folder, f"{name}.py")
                is_known = name in sys.stdlib_module_names and not os.path.exists(beside)
                if not is_known or name in _STARTING_MODULES:
                    raise self._refuse(f"imports {name or 'its own'}, which is not followed", name)
        if found := _STARTING_CALLS.search(code):
            raise self._refuse(f"uses {found[0]}, whose effect only Python knows", found[0])
        if found := re.search(_STDIN, code):
            self._require_same_input(found[0])
            self._check_fields(code)
        for line in lines:
            prints = re.search(r"\bprint\b|\bstdout\b", line)
            if prints and not _PRINTS_ELSEWHERE.fullmatch(line):
                raise self._refuse("prints, which is read in another way natively", "print")

    def _check_fields(self, code: str) -> None:
        """Raise CannotMove for Python that reads more of the event than known fields."""
        kept = rf"(?m)^(\w+) = {_LOADS}$"
        events, rest = "|".join(re.findall(kept, code)) or "(?!)", re.sub(kept, "", code)
        event = rf"(?:\b(?:{events})|{_LOADS})"

        def get(key: str) -> str:
            return rf"""(?:\['(?:{key})'\]|\.get\('(?:{key})'(?:, (?:''|None|{{}}|False))?\))"""

        given = f"{event}{get('tool_input')}"
        kept = rf"(?m)^(\w+) = {given}$"
        inputs, rest = "|".join(re.findall(kept, rest)) or "(?!)", re.sub(kept, "", rest)
        rest = re.sub(rf"(?:{given}|\b(?:{inputs})){get('command')}", "", rest)
        rest = re.sub(f"{event}{get(self._fields)}", "", rest)
        if re.search(rf"\b(?:{events}|{inputs})\b|{_STDIN}", rest):
            raise self._refuse("reads the whole event, which is different natively", "stdin")
