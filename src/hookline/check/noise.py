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
# Search only a limited number of short lines, as nobody has reviewed these scripts yet.
_LONGEST_LINE = 1_000
_MOST_LINES = 5_000


def check_noise(checked: Checked) -> Iterator[Finding]:
    """Find the first stray line of each script that answers with JSON."""
    seen: set[str] = set()
    for _, _, script in find_scripts(checked):
        if script is None or script.path in seen or script.kind not in ("sh", "python"):
            continue
        seen.add(script.path)
        text = script.content.decode(errors="replace")
        lines = text.split("\n")
        if len(lines) > _MOST_LINES or max(map(len, lines)) > _LONGEST_LINE:
            continue
        offset, what = None, "this text is printed beside the JSON answer"
        if script.kind == "python":
            is_moved = "redirect_stdout" in text or "sys.stdout =" in text
            answer, words, remedy = _PYTHON_ANSWER, _PYTHON_WORDS, "add file=sys.stderr"
        else:
            is_moved = re.search(_MOVED, text) is not None
            answer, words, remedy = _SHELL_ANSWER, _SHELL_WORDS, "send it to stderr with >&2"
        if script.kind == "sh" and (traced := re.search(_TRACE_TO_STDOUT, text)):
            offset, remedy = traced.start(1), "leave it on stderr"
            what = "set -x goes to stdout here, among the answer"
        elif not is_moved and re.search(answer, text):
            for found in re.finditer(words, text):
                # A line that continues the one before it may be piped elsewhere.
                is_continued = text[: found.start()].rstrip(" \t\n").endswith(_CONTINUED)
                elsewhere = "file=" in found[0] if script.kind == "python" else is_continued
                if not elsewhere:
                    offset = found.start(1)
                    break
        if offset is not None:
            if script.site.hook.on_failure == "block":
                what += ", which is malformed for a hook that fails closed"
            base = script.site.finding("stdout-noise", Severity.HINT, ("command",), what, remedy)
            line, column = line_and_column(text, offset)
            yield msgspec.structs.replace(base, file=script.path, line=line, column=column)
