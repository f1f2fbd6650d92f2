"""Whether a command of Claude Code's may become a native hook as it is, told from its text alone.

Only a text that is understood in full may: every program that it starts is known here or a script
that is read too, it takes nothing from the event but what natively has the same name and the same
value, and it answers in words that mean the same. Anything else is refused, for a guard that
reads a field that is not there lets everything pass.
"""

import os
import re
from collections.abc import Mapping, Sequence

import msgspec

from hookline.files import read_bounded
from hookline.pipeline.arguments import code_in
from hookline.pipeline.programs import interpreter_in, is_of_shell, shebang_in
from hookline.pipeline.shell import REDIRECTIONS, is_readable, read_tokens

_MOST_READ = 1_000_000
# Programs that know nothing of hooks: those that read what they are given and print, those that
# only print, and those that do neither.
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
# Of the shell itself, and yet able to start or to change what cannot be seen here.
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
_ANSWER = re.compile(r"\b(?:hookSpecificOutput|\w*[dD]ecision)\b|\bcontinue\\?[\"']?\s*:")
# Behind a pipe a group ends itself alone, and behind an exclamation mark success is failure.
_LEAVES_LATER = re.compile(r"(?<!\|)\|\s*(?:[{(]|(?:while|until|for|if|case)\b)|(?:^|[\s;&|({])!\s")
_LOOP = re.compile(r"(?:^|[;&|{(\n]|\b(?:do|then|else)\b)\s*(?:for|while|until)\s")
# What starts programs or loads code.
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
_EXIT = re.compile(r"(?m)\b(?:sys\.exit|exit|quit|SystemExit)\((.*)\)$")
_LEAVES = re.compile(
    r"(?:sys\.exit|exit|quit)\(0?\)|return(?: (?:None|0))?|if __name__ == '__main__':"
)
_PRINTS_ELSEWHERE = re.compile(
    r"print\(.*, file=(?!sys\.stdout)[\w.]+\)|sys\.stdout\.(?:flush|reconfigure)\(.*\)"
)
_PRINTS_ANSWER = re.compile(
    r"""(?:print|sys\.stdout\.write)\((?:json\.dumps\(|f?["']\s*\{)|json\.dump\(.*, sys\.stdout\)"""
)
# All that may be read of an event: fields that natively have the same names and values. Whoever
# looks at the whole of it finds other words there, "rm" in permission_mode for one.
_FIELDS = "session_id|cwd|prompt|message|trigger|stop_hook_active"
_JQ_OPTIONS = frozenset({"-r", "-e", "-re", "-er", "--raw-output", "--exit-status"})
_JQ_FIELD = re.compile(
    rf"""\.(?:tool_input\.command|{_FIELDS})(?: ?// ?(?:empty|""))?"""
    r"""(?: ?\| ?(?:test|startswith|contains)\("[^"\\]*"\))?"""
)
_STDIN = r"\bstdin\b|\binput\(|\bopen\(0|\bfileinput\b|/dev/"
_KEEPS = re.compile(r"""(?m)(?:^|(?<=[;&\s]))(\w+)=(?:\$\(cat\)|"\$\(cat\)")(?=[;\s]|$)""")
_LOADS = re.compile(r"(?m)^(\w+) = json\.loads?\(sys\.stdin(?:\.read\(\))?\)$")
_HERE = re.compile(r"""<<-?\s*\\?(['"]?)(\w+)\1""")

# Words that natively mean something else, or nothing: on any event, and on these.
_CHANGED = re.compile(
    r"""\b(?:tool_(?!input\b)\w*|\w*transcript_path|hook_event_name|permission_\w+|prompt_id
    |agent_id|agent_type|mcp_server|custom_instructions|duration_ms|background_tasks|session_crons
    |session_title|last_assistant_message|notification_type|updated\w+|sessionTitle
    |suppressOriginalPrompt|initialUserMessage|watchPaths|reloadSkills|terminalSequence
    |classifierContext|async\w*|systemMessage|user_config
    |CLAUDE(?:CODE|_(?!PROJECT_DIR\b|PLUGIN_ROOT\b|PLUGIN_DATA\b)\w+))\b
    |["'](?:Bash|Read|Write|Edit|MultiEdit)\\?["']
    # A decision counts if it is the one word that both know.
    |(?<![A-Za-z_])decision\\?["']?\s*[:=](?!\s*\\?["']block\\?["'])
    |permissionDecision(?!Reason)(?!\\?["']?\s*[:=]\s*\\?["'](?:deny|ask)\\?["'])""",
    re.VERBOSE,
)
_INPUT = r"""(?:\.|["'])(?:timeout|run_in_background|dangerouslyDisableSandbox)\b"""
_EXITS = (
    r"""\breturn\s+["$2]|\bexit\b(?!\W{0,3}[01]\b|\s*(?:\(\s*\))?\s*(?:$|[;&|}]))|SystemExit"""
    r"|\b\w*[dD]ecision\b"
)
_ANY_ANSWER = rf"{_EXITS}|\bhookSpecificOutput\b|\bcontinue\\?[\"']?\s*:"
_CHANGED_ON: Mapping[str, str] = {
    "PreToolUse": _INPUT,
    "UserPromptSubmit": r"""(?:\.|["'])source\b""",
    "Stop": r"\badditionalContext\b",
    "SessionStart": r"""\b(?:compact|fork)\b|(?:\.|["'])model\b|\bcontinue\\?["']\s*:""",
    "SessionEnd": rf"\breason\b|{_ANY_ANSWER}",
    "PreCompact": _ANY_ANSWER,
    "Notification": rf"""(?:\.|["'])title\b|{_ANY_ANSWER}""",
}


class CannotMove(Exception):
    """A hook that would not do natively what it did, and why."""


class _Step(msgspec.Struct):
    """A simple command: its words, where its output goes, and the operator behind it."""

    words: list[str]
    is_known: bool = True
    is_captured: bool = False
    is_nested: bool = False
    is_redirected: bool = False
    body: str = ""
    end: str = ""

    @property
    def text(self) -> str:
        """All that it says."""
        return " ".join([*self.words, self.body])


class Judge:
    """Reads one hook: its command, and each script that this leads to.

    ``event`` is Claude's; ``values`` are the variables that are known; ``folder`` is where it runs,
    "" for a hook that runs in any project. ``may_read`` says whether what the event has is natively
    the same, so that the hook may look at it.
    """

    def __init__(
        self, event: str, values: Mapping[str, str], *, folder: str, may_read: bool
    ) -> None:
        self._event, self._values, self._folder = event, values, folder
        self._may_read = may_read
        self._text, self._file = "", ""
        self._unread: list[tuple[str, str, str]] = []
        self._found: set[str] = set()
        # All that was read, to look for words in it.
        self.texts: list[str] = []

    def judge(self, command: str, args: Sequence[str] | None) -> None:
        """Raise CannotMove for a command that natively would do something else."""
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
        found = _CHANGED.search(code) or re.search(_CHANGED_ON[self._event], code)
        if found is not None:
            word = found[0].strip("\"'.\\:= ")
            raise self._refuse(f"says {word}, which means something else natively", word)
        if "hookSpecificOutput" in code:
            if not re.search(rf"hookEventName\W+{self._event}\b", code):
                raise self._refuse(f"answers without the hookEventName {self._event}")
            if re.search(r"(?<![A-Za-z_])decision\b", code):
                raise self._refuse("answers with two decisions, of which natively another counts")

    def _note_reading(self, word: str) -> None:
        if not self._may_read:
            raise self._refuse("reads a tool's input, whose fields and paths differ natively", word)

    def _read(self, word: str, kind: str) -> None:
        """Have a script judged; ``kind`` is its interpreter's, "" for one that is started."""
        if not os.path.isabs(word) and not self._folder:
            raise self._refuse(f"starts {word}, which is another file in each project")
        if not os.path.isabs(word) and re.search(r"\b(?:cd|pushd)\b", self._text):
            raise self._refuse(f"starts {word} from a folder that it goes to first")
        path = os.path.normpath(os.path.join(self._folder, word))
        try:
            content = read_bounded(path, _MOST_READ)
            text = content.decode()
        except (OSError, ValueError):
            raise self._refuse(f"starts {word}, which cannot be read as a text") from None
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

    def _follow(self, words: Sequence[str]) -> bool:
        """Have what a command starts judged; True if that is a script, which may answer."""
        name = os.path.basename(words[0])
        interpreter = interpreter_in(words)
        if interpreter is None and name in _TALKERS | _SILENT:
            return False
        if interpreter is None and "/" in words[0]:
            self._read(words[0], "")
        elif interpreter is None or interpreter.kind not in ("sh", "python"):
            raise self._refuse(f"starts {name}, and what that does with the event is not known")
        elif interpreter.script_at is not None:
            self._read(words[interpreter.script_at], interpreter.kind)
        else:
            at = max(code_in(words), default=0)
            if not 0 < at < len(words) or "-c" not in dict(interpreter.options):
                raise self._refuse(f"is run by {name} from nothing that can be read")
            self._unread.append((interpreter.kind, words[at], self._file))
        return True

    def _judge_shell(self, text: str) -> None:
        code = re.sub(r"(?m)^\s*#.*$", "", text)
        self._look_for_words(code)
        ends = (re.search(rf"(?m)^\t*{word}$", text) for _, word in _HERE.findall(text))
        if not is_readable(text) or not all(ends):
            raise self._refuse("is not a whole shell command")
        steps, functions = self._read_steps(self._hand_over_event(text))
        for at, step in enumerate(steps):
            words, program = step.words, os.path.basename(step.words[0])
            if not step.is_known or program in _HIDING:
                raise self._refuse(f"runs what only a shell can tell, by {words[0]}", words[0])
            makes = program == "jq" and any(re.match(r"-\w*n|--null", w) for w in words)
            is_fed = bool(step.body) or (at > 0 and steps[at - 1].end == "|")
            if program == "jq" and not makes:
                self._note_reading(program)
                *options, field = words[1:] or [""]
                if not (_JQ_OPTIONS.issuperset(options) and _JQ_FIELD.fullmatch(field)):
                    raise self._refuse("has jq read more than one known field", program)
            elif program in _READERS | {"read", "mapfile", "readarray"} and not (makes or is_fed):
                raise self._refuse("looks at the whole event, which natively differs", program)
            if program in ("awk", "gawk", "sed", "grep", "rg") and any(
                re.match(r"-\w*f|--f|.*\b(?:system|getline)\b", word, re.DOTALL)
                for word in words[1:]
            ):
                raise self._refuse(f"has {program} read more than its words", program)
            is_script = False
            if program not in functions and not is_of_shell(words[0]):
                is_script = self._follow(words)
            is_quiet = "grep" in program and any(re.match(r"-\w*q|--q|--si", w) for w in words)
            is_heard = (is_script or program in _TALKERS) and not (
                is_quiet or step.is_captured or step.is_redirected or step.end == "|"
            )
            is_answer = _ANSWER.search(step.text) is not None
            if is_answer and (not is_heard or _LEAVES_LATER.search(code)):
                raise self._refuse("makes its answer in a way that is not followed here", program)
            if is_heard and not is_answer and not is_script:
                raise self._refuse("prints text, which natively the model reads", program)
            if is_heard and (step.is_nested or not _ends_well(step, steps[at + 1 :], code)):
                raise self._refuse("may fail behind its answer, which would then not count")
        if _ANSWER.search(code) and not any(_ANSWER.search(step.text) for step in steps):
            raise self._refuse("makes its answer in a way that is not followed here")

    def _hand_over_event(self, text: str) -> str:
        """The same text with jq reading the event itself where a variable hands it over; raises
        CannotMove for what looks at it in another way."""
        if "/dev/stdin" in text or "/dev/fd" in text or "/proc/" in text:
            raise self._refuse("looks at the whole event, which natively differs", "/dev")
        for name in set(_KEEPS.findall(text)):
            kept = rf"""(?:"\$\{{?{name}\}}?"|\$\{{?{name}\}}?(?![\w"]))"""
            text = re.sub(rf"(?:echo|printf ['\"]%s(?:\\n)?['\"]) {kept} *\| *(?=jq\b)", "", text)
            text = re.sub(rf"(\bjq\b[^|;&\n]*?) *<<< *{kept}", r"\1", text)
            if re.search(rf"\$\{{?[#!]?{name}\b", text):
                raise self._refuse("looks at the whole event, which natively differs", name)
        return _KEEPS.sub(r"\1=", text)

    def _read_steps(self, text: str) -> tuple[list[_Step], set[str]]:
        """The simple commands of a text, in order, and the functions that it defines."""
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
                    # What a word is made of comes before it; behind a subshell stands no word.
                    start, around = opened.pop()
                    is_captured = not isinstance(after, str)
                    for inner in steps[start:]:
                        inner.is_captured |= is_captured
                        inner.is_nested |= not is_captured
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
            # Now it is one statement a line, and no comments.
            lines = [line.strip() for line in ast.unparse(tree).splitlines()]
        except (SyntaxError, ValueError, RecursionError):
            raise self._refuse("is no Python that can be read here") from None
        code = "\n".join(lines)
        self._look_for_words(code)
        for names in re.findall(r"(?m)^(?:import|from) (.+?)(?: import .*)?$", code):
            for name in (each.split()[0].partition(".")[0] for each in names.split(",")):
                beside = os.path.join(os.path.dirname(self._file) or self._folder, f"{name}.py")
                is_known = name in sys.stdlib_module_names and not os.path.exists(beside)
                if not is_known or name in _STARTING_MODULES:
                    raise self._refuse(f"imports {name or 'its own'}, which is not followed", name)
        if found := _STARTING_CALLS.search(code):
            raise self._refuse(f"runs what only Python can tell, by {found[0]}", found[0])
        if found := re.search(_STDIN, code):
            self._note_reading(found[0])
            self._check_fields(code)
        answers: set[bool] = set()
        for line, after in zip(lines, [*lines[1:], "return"], strict=True):
            if not re.search(r"\bprint\b|\bstdout\b", line) or _PRINTS_ELSEWHERE.fullmatch(line):
                continue
            if not _PRINTS_ANSWER.match(line):
                raise self._refuse("prints text, which natively the model reads", "print")
            if not _LEAVES.fullmatch(after):
                raise self._refuse("goes on behind its answer, and may fail", "print")
            answers.add("exit" in after)
        if not answers and _ANSWER.search(code):
            raise self._refuse("makes its answer in a way that is not followed here")
        # An exit that nothing catches is the last that happens.
        is_last = answers == {True} and not re.search(
            r"(?m)^(?:finally|except(?: .*(?:Exit|Base).*)?):", code
        )
        fails = re.search(r"(?m)^(?:raise (?!SystemExit)|assert )", code)
        exits = any(code not in ("", "0", "2") for code in _EXIT.findall(code))
        if answers and not is_last and (fails or exits):
            raise self._refuse("may fail behind its answer, which would then not count")

    def _check_fields(self, code: str) -> None:
        """Raise CannotMove for Python that takes more from the event than known fields."""
        rest, loaded = _LOADS.subn("", code)
        events = "|".join(set(_LOADS.findall(code))) or "(?!)"

        def get(key: str) -> str:
            return rf"""(?:\['(?:{key})'\]|\.get\('(?:{key})'(?:, (?:''|None|{{}}|False))?\))"""

        given = rf"\b(?:{events}){get('tool_input')}"
        inputs = "|".join(re.findall(rf"(?m)^(\w+) = {given}$", rest)) or "(?!)"
        rest = re.sub(rf"(?m)^\w+ = {given}$", "", rest)
        rest = re.sub(rf"(?:{given}|\b(?:{inputs})){get('command')}", "", rest)
        rest = re.sub(rf"\b(?:{events}){get(_FIELDS)}", "", rest)
        left = re.search(
            rf"\b(?:stdin|fileinput|{events}|{inputs})\b|\binput\(|\bopen\(0|/dev/", rest
        )
        if left or not loaded:
            raise self._refuse("looks at the whole event, which natively differs", "stdin")


def _ends_well(step: _Step, rest: Sequence[_Step], code: str) -> bool:
    """Whether nothing can fail behind an answer: natively the exit code of a hook counts first."""
    ends = [each.words for each in rest]
    if ends and ends[0] == ["exit", "0"] and step.end in (";", "\n", "&&"):
        return True
    is_last = all(words in (["true"], [":"], ["exit", "0"]) for words in ends)
    is_again = not ends and _LOOP.search(code) is not None
    return is_last and not is_again and step.end != "&"
