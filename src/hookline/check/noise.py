"""Finds text that a script prints beside its answer, by reading the script, so only as a hint.

hookline ignores a stray line before the JSON, with a warning at every event; it belongs on stderr.
With such a line the answer of a hook that fails closed is malformed.
"""

import re
from collections.abc import Iterator

import msgspec

from hookline.check.findings import Finding, Severity
from hookline.check.material import Checked
from hookline.check.scripts import find_scripts
from hookline.settings.jsonc import line_and_column

# Code that answers with JSON, and code that prints plain words in one line, to stdout.
_SHELL_ANSWER = (
    r"""(?:echo|printf)\b[^\n#]*['"][ \t]*\{|\bjq -\w*n|<<-?[ \t]*['"]?\w+['"]?[ \t]*\n[ \t]*\{"""
)
_SHELL_WORDS = (
    r"""(?m)^[ \t]*(echo|printf)[ \t]+("[^"`\n{\[]*"|'[^'\n{\[]*'|\w[\w .:,!-]*)[ \t]*(?:\#.*)?$"""
)
_PYTHON_ANSWER = r"(?m)^[^#\n]*\bjson\.dumps?\("
_PYTHON_WORDS = (
    r"""(?m)^[ \t]*(print)\([ \t]*f?("[^"\n{\[]*"|'[^'\n{\[]*')[^\n]*\)[ \t]*(?:\#.*)?$"""
)
_TRACE_TO_STDOUT = r"(?m)^[^#\n]*\b(BASH_XTRACEFD)=1\b"
# Output may go elsewhere here: a function or a block may be redirected as a whole.
_MOVED = r"(?m)\bexec\b[^\n]*>|^[ \t]*\}[ \t]*(?:>|\||1>)|\bdone[ \t]*[>|]"
_CONTINUED = ("\\", "|", "$(", "`")
_FUNCTION = r"(?m)^([ \t]*)(?:function[ \t]+)?([\w-]+)[ \t]*(?:\([ \t]*\))?[ \t]*\{[^\n]*\n"
# Search only a limited number of short lines, as nobody has reviewed these scripts yet.
_LONGEST_LINE = 1_000
_MOST_LINES = 5_000
_MOST_FUNCTIONS = 50


def check_noise(checked: Checked) -> Iterator[Finding]:
    """Find the first stray line of each script that answers with JSON."""
    paths: set[str] = set()
    for _, _, script in find_scripts(checked):
        if script is None or script.path in paths or script.kind not in ("sh", "python"):
            continue
        paths.add(script.path)
        text = script.content.decode(errors="replace")
        lines = text.split("\n")
        if len(lines) > _MOST_LINES or max(map(len, lines)) > _LONGEST_LINE:
            continue
        offset, what = None, "this text is printed beside the JSON answer"
        if script.kind == "python":
            is_moved = "redirect_stdout" in text or "sys.stdout =" in text
            code = text
            answer, words, remedy = _PYTHON_ANSWER, _PYTHON_WORDS, "add file=sys.stderr"
        else:
            is_moved = re.search(_MOVED, text) is not None
            code = _blank_captured(text)
            answer, words, remedy = _SHELL_ANSWER, _SHELL_WORDS, "send it to stderr with >&2"
        if script.kind == "sh" and (traced := re.search(_TRACE_TO_STDOUT, text)):
            offset, remedy = traced.start(1), "leave it on stderr"
            what = "set -x goes to stdout here, among the answer"
        elif not is_moved and re.search(answer, text):
            for match in re.finditer(words, code):
                # A line that continues the one before it may be piped elsewhere.
                is_continued = text[: match.start()].rstrip(" \t\n").endswith(_CONTINUED)
                elsewhere = "file=" in match[0] if script.kind == "python" else is_continued
                if not elsewhere:
                    offset = match.start(1)
                    break
        if offset is not None:
            if script.site.hook.on_failure == "block":
                what += ", which is malformed for a hook that fails closed"
            base = script.site.finding("stdout-noise", Severity.HINT, ("command",), what, remedy)
            line, column = line_and_column(text, offset)
            yield msgspec.structs.replace(base, file=script.path, line=line, column=column)


def _blank_captured(text: str) -> str:
    """Return a shell script with blanks for what ``$(…)`` captures, and for the functions that are
    called nowhere else: their output is not the script's."""
    captured = ""
    for start, end in [*_find_substitutions(text)]:
        captured += f"\n{text[start:end]}"
        text = _blank(text, start, end)
    functions = [*_find_functions(text)]
    while functions:
        for place, (name, start, end) in enumerate(functions):
            call = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
            outside = text[:start] + text[end:]
            if re.search(call, captured) and not re.search(call, outside):
                captured += text[start:end]
                text = _blank(text, start, end)
                del functions[place]
                break
        else:
            break
    return text


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def _find_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each function, and its place from its name to its closing brace."""
    for match in list(re.finditer(_FUNCTION, text))[:_MOST_FUNCTIONS]:
        closing = re.compile(rf"(?m)^{match[1]}\}}").search(text, match.end())
        if closing is not None:
            yield match[2], match.start(2), closing.end()


def _find_substitutions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the place of each outermost ``$(…)``; none after one that is never closed."""
    at = text.find("$(")
    while at >= 0:
        end = _find_closing(text, at + 2)
        if end is None:
            return
        yield at, end
        at = text.find("$(", end)


def _find_closing(text: str, at: int) -> int | None:
    """Return the place behind the bracket that closes the one before ``at``, None without one."""
    brackets = ["("]
    while at < len(text):
        char, at = text[at], at + 1
        if char == "\\":
            at += 1
        elif char == '"':
            if brackets[-1] == '"':
                brackets.pop()
            else:
                brackets.append('"')
        elif brackets[-1] == '"':
            if text.startswith("$(", at - 1):
                brackets.append("(")
                at += 1
        elif char == "'":
            at = text.find("'", at) + 1
            if at == 0:
                return None
        elif char == "(":
            brackets.append("(")
        elif char == ")":
            brackets.pop()
            if not brackets:
                return at
    return None
