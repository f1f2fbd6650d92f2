"""Points at lines of reviewed texts that lead out of the review, or out of its copy.

A script may go on to start anything, and what it composes at run time no review sees. But a line
that names a file of the project can be read, in any language.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from hookline.trust.coverage import FileState
from hookline.trust.ground import CODE_SUFFIXES, Ground, may_be_code

_MOST_TEXT = 256 * 1024
# A word of a text that may name a file, with what stands in front of it.
_WORD = re.compile(r"[A-Za-z0-9_.@+/-]{2,}")
_VARIABLE = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?")
# What a script finds its own place by, and what leads from there to another folder.
_OWN_PLACE = re.compile(
    r"\$\{?0\b|BASH_SOURCE|__file__|__dirname|__FILE__|\$PROGRAM_NAME|import\.meta|sys\.argv\[0\]|%x"
)
_ELSEWHERE = re.compile(
    r"\.\.(?!\.)|\bparents\b(?!\[0\])|\.parent\b.*\.parent\b"
    r"|\bdirname[\s\"']*\$\(\s*dirname\b|\bdirname\([^()]*dirname\("
)
_FURTHER = re.compile(r"\.\.(?!\.)|\bparents?\b|\bdirname\b")
_WRITES = re.compile(
    r">>?\s*[\"']?\$\(dirname|>>?\s*[\"']?\$\{?(0|BASH_SOURCE)|\bopen\(.*__file__.*[\"'][wax]"
    r"|__file__.*\.(write_text|write_bytes|mkdir|touch)\("
    r"|\b(touch|mkdir|tee|mktemp|truncate)\b.*(\$\(dirname|\$\{?0|BASH_SOURCE)"
)
_ASSIGNMENT = re.compile(r"\s*(?:(?:export|readonly|local|const|let|var|my)\s+)?[$@]?(\w+)\s*=")
# A line that loads or starts what it names.
_STARTS = re.compile(
    r"(^|[\s;&|(`\"'])(\.|source|exec|eval|env|sh|bash|dash|zsh|ksh|python[0-9.]*|node|ruby|perl"
    r"|deno|bun|npx|uv|make|import|require|require_relative|load|do|run|Popen|subprocess|system"
    r"|spawn\w*|exec\w*|call|check_\w+|sys\.path\S*|PYTHONPATH|NODE_PATH|PATH)([\s\"'(=.;]|$)"
)
_COMMENT = re.compile(r"\s*(#(?!!)|//|--|\*)")


class Reference(msgspec.Struct, frozen=True):
    """A line of a covered text that leads out of the review, or out of its copy."""

    file: str
    line: int
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, {self.message}; {self.remedy}"


def find_live(ground: Ground, states: Mapping[str, FileState]) -> Iterator[tuple[Reference, bool]]:
    """Yield the lines of covered texts that name files of the project, each with whether the line
    may start something that the review does not cover."""
    reported: set[tuple[str, str]] = set()
    for name, line, text in _lines_of(states):
        for word in _words_of(text):
            if ("/" not in word and "." not in word) or (name, word) in reported:
                continue
            place = os.path.join(ground.real, word)
            if ".." in word.split("/") or not os.path.exists(place):
                continue
            target = ground.name_of(place)
            if target is None or target == name:
                continue
            reported.add((name, word))
            if target in states:
                continue
            is_code = os.path.isdir(place) or may_be_code(target, os.stat(place), place)
            is_program = bool(os.path.isfile(place) and os.stat(place).st_mode & 0o111)
            starts = is_program or (is_code and _STARTS.search(text) is not None)
            message = f"names {target}: not covered"
            yield Reference(name, line, message, "`covers` adds it"), starts


def _words_of(text: str) -> Iterator[str]:
    """Yield the words of a line that may be paths in the project, without variables in front."""
    for match in _WORD.findall(_VARIABLE.sub(" ", text)):
        word = match.strip("/").removeprefix("./").removesuffix(".")
        if word.strip("./"):
            yield word


def find_detached(states: Mapping[str, FileState]) -> Iterator[Reference]:
    """Yield the lines of a guard's texts that would not do the same in its copy: those that look
    for the project from the script's own place, and those that name a covered file in the live
    project."""
    own_names: dict[str, list[str]] = {}
    folders = {os.path.dirname(name) for name in states} - {""}
    for name, line, text in _lines_of(states):
        names = own_names.setdefault(name, [])
        if _is_elsewhere(text, names):
            yield Reference(
                name,
                line,
                "looks for the project from the script's own place",
                "use HOOKLINE_PROJECT_DIR, and HOOKLINE_HOOK_STATE for what it writes",
            )
            continue
        if _OWN_PLACE.search(text) and (match := _ASSIGNMENT.match(text)):
            names.append(match[1])
        is_own = _OWN_PLACE.search(text) or any(re.search(rf"\b{n}\b", text) for n in names)
        starts = _STARTS.search(text) is not None
        for word in [] if is_own else _words_of(text):
            is_file = "/" in word and word in states and states[word].kind == "file"
            if is_file or (starts and word in folders):
                yield Reference(
                    name,
                    line,
                    f"names {word} in the live project",
                    "name it from the script's own place, which is its copy",
                )
                break


def _is_elsewhere(text: str, own_names: Sequence[str]) -> bool:
    """True if a line leads from the script's own place to another, or writes there."""
    if _OWN_PLACE.search(text) and (_ELSEWHERE.search(text) or _WRITES.search(text)):
        return True
    for name in own_names:
        if re.search(rf"\b{name}\b", text) and (
            _FURTHER.search(text)
            or re.search(rf">>?\s*[\"']?\$\{{?{name}\b", text)
            or re.search(rf"\b(touch|mkdir|tee|mktemp|truncate)\b.*\$\{{?{name}\b", text)
        ):
            return True
    return False


def _is_code_name(name: str, state: FileState) -> bool:
    return state.executable or name.endswith(CODE_SUFFIXES) or state.content[:2] == b"#!"


def _lines_of(states: Mapping[str, FileState]) -> Iterator[tuple[str, int, str]]:
    for name, state in states.items():
        if not 0 < len(state.content) <= _MOST_TEXT or b"\0" in state.content[:1024]:
            continue
        if not _is_code_name(name, state):
            continue
        text = state.content.decode("utf-8", "replace")
        for number, line in enumerate(text.split("\n"), 1):
            if not _COMMENT.match(line):
                yield name, number, line
