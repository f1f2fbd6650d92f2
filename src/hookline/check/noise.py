"""Text that a script prints beside its answer; read from the script, so no more than a hint.

A stray line before the JSON is survived, with a warning at every event; it belongs on stderr.
"""

import re
from collections.abc import Iterator

import msgspec

from hookline.check.findings import Finding, Severity
from hookline.check.reading import Checked
from hookline.check.scripts import found_scripts
from hookline.pipeline.jsonc import line_and_column

# What answers with JSON, and what prints plain words, in one line and to nowhere else.
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
# In these the output goes elsewhere: a function's or a block's may be redirected as a whole.
_MOVED = r"(?m)\bexec\b[^\n]*>|^[ \t]*\}[ \t]*(?:>|\||1>)|\bdone[ \t]*[>|]"
# Expressions are tried on short lines and not too many of them: nobody has reviewed these yet.
_LONGEST_LINE = 1_000
_MOST_LINES = 5_000


def noise(checked: Checked) -> Iterator[Finding]:
    """The first stray line of each script that answers with JSON."""
    seen: set[str] = set()
    for _, _, script in found_scripts(checked):
        if script is None or script.path in seen or script.kind not in ("sh", "python"):
            continue
        seen.add(script.path)
        text = script.content.decode(errors="replace")
        lines = text.split("\n")
        if len(lines) > _MOST_LINES or max(map(len, lines)) > _LONGEST_LINE:
            continue
        found = _in_shell(text) if script.kind == "sh" else _in_python(text)
        if found is not None:
            offset, message, remedy = found
            base = script.site.finding("stdout-noise", Severity.HINT, ("command",), message, remedy)
            line, column = line_and_column(text, offset)
            yield msgspec.structs.replace(base, file=script.path, line=line, column=column)


def _in_shell(text: str) -> tuple[int, str, str] | None:
    if traced := re.search(_TRACE_TO_STDOUT, text):
        return traced.start(1), "set -x goes to stdout here, among the answer", "leave it on stderr"
    if not re.search(_SHELL_ANSWER, text) or re.search(_MOVED, text):
        return None
    for found in re.finditer(_SHELL_WORDS, text):
        # A line that goes on with one before it may go elsewhere.
        if not text[: found.start()].rstrip(" \t\n").endswith(("\\", "|", "$(", "`")):
            remedy = "send it to stderr with >&2"
            return found.start(1), "this text is printed beside the JSON answer", remedy
    return None


def _in_python(text: str) -> tuple[int, str, str] | None:
    if not re.search(_PYTHON_ANSWER, text) or "redirect_stdout" in text or "sys.stdout =" in text:
        return None
    for found in re.finditer(_PYTHON_WORDS, text):
        if "file=" not in found[0]:
            remedy = "add file=sys.stderr"
            return found.start(1), "this text is printed beside the JSON answer", remedy
    return None
