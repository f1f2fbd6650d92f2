"""Matchers that do not compile, that mean something else than they look like, or match nothing."""

import re
from collections.abc import Iterator
from itertools import islice

from hookline.check.findings import Finding, Severity
from hookline.check.reading import Checked, CheckedFile, definitions
from hookline.nearest import ask_which, did_you_mean, nearest, only_one
from hookline.pipeline.jsonc import Path
from hookline.pipeline.matcher import Match, MatchTimeout
from hookline.wire.events import EVENTS, EventSpec
from hookline.wire.tools import CLAUDE_TOOLS, NATIVE_TOOLS

# Settings that nobody has reviewed must not keep the checking busy.
_LONGEST = 1_000
_PLAIN = r"[A-Za-z0-9_-]+"
# A star behind a letter or an underscore repeats that character, which nobody wants in a name.
_GLOB = r"(?:^|\|)\^?\*|[A-Za-z0-9_-]\*|(?:^|\|)\{[^{}|]*,[^{}|]*\}"
_SPACED = r"\s*[A-Za-z0-9_-]+(?:\s*[|,]\s*[A-Za-z0-9_-]+)+\s*"
_PERMISSION_RULE = r"([A-Za-z]\w*)\([^|?]*\)"
_OF_FILES = r".*(?:/|\*?\\?\.(?:[a-z]{1,4}|\{[a-z,]+\})\$?$)"


class _Matcher:
    """A matcher with all that is known about it."""

    def __init__(self, file: CheckedFile, path: Path, text: str, spec: EventSpec) -> None:
        self.file = file
        self.path = path
        self.text = text
        self.spec = spec
        self.event = spec.event.value
        self.matches, self.problem = file.dialect.compile_matcher(spec.event, text)

    def finding(
        self,
        rule: str,
        severity: Severity,
        message: str,
        remedy: str,
        *,
        instead: str | None = None,
    ) -> Finding:
        """A finding about it; ``instead`` is what is certainly meant."""
        fixes = self.file.replaced(self.path, instead) if instead is not None else ()
        return self.file.finding(
            rule, severity, self.path, message, remedy, fixes=fixes, event=self.event
        )


def matchers(checked: Checked) -> Iterator[Finding]:
    """What is wrong with each matcher, the surest of it alone."""
    for file in checked.files:
        for key, path, definition in definitions(file):
            event, text = file.dialect.event_for(key), definition.get("matcher")
            if event is None or not isinstance(text, str) or len(text) > _LONGEST:
                continue
            text = text.strip()
            if text not in ("", "*"):
                matcher = _Matcher(file, (*path, "matcher"), text, EVENTS[event])
                found = (finding for test in _TESTS if (finding := test(matcher)))
                yield from islice(found, 1)


def _ignored(matcher: _Matcher) -> Finding | None:
    if matcher.spec.target is not None:
        return None
    return matcher.finding(
        "matcher-ignored",
        Severity.WARNING,
        f"{matcher.event} has nothing to match, so its hooks run every time",
        "remove the matcher, and look at the input in the script",
    )


def _spaced(matcher: _Matcher) -> Finding | None:
    """``a, b`` and ``a | b``: names have neither commas nor spaces."""
    if not re.fullmatch(_SPACED, matcher.text) or not re.search(r"[\s,]", matcher.text):
        return None
    meant = "|".join(word.strip() for word in re.split("[|,]", matcher.text))
    return matcher.finding(
        "matcher-separator",
        Severity.ERROR,
        f"{matcher.text!r} is a regular expression: its commas and spaces stand for themselves",
        f"write {meant}",
        instead=meant,
    )


def _permission_rule(matcher: _Matcher) -> Finding | None:
    found = re.fullmatch(_PERMISSION_RULE, matcher.text)
    if found is None or found[1] not in {*NATIVE_TOOLS, *CLAUDE_TOOLS}:
        return None
    return matcher.finding(
        "matcher-rule",
        Severity.ERROR,
        f"{matcher.text!r} looks like a permission rule; a matcher sees the tool's name alone",
        f"write {found[1]}, and look at tool_input in the script",
    )


def _glob(matcher: _Matcher) -> Finding | None:
    if not re.search(_GLOB, matcher.text):
        return None
    if re.match(_OF_FILES, matcher.text):
        return _files(matcher)
    severity = Severity.ERROR if matcher.problem else Severity.WARNING
    meant = re.sub(r"\{([^{}|]*,[^{}|]*)\}", lambda m: f"({m[1].replace(',', '|')})", matcher.text)
    meant = re.sub(r"(?<![.)\]])[*]", ".*", meant)
    return matcher.finding(
        "matcher-glob",
        severity,
        f"{matcher.text!r} is written as a glob, and is read as a regular expression",
        f"write {meant}",
    )


def _files(matcher: _Matcher) -> Finding:
    return matcher.finding(
        "matcher-file",
        Severity.ERROR if matcher.problem else Severity.WARNING,
        f"{matcher.text!r} looks like the name of files; a matcher sees the name of the "
        f"{'tool' if matcher.spec.search else 'trigger'} alone",
        "look at tool_input in the script" if matcher.spec.search else "remove it",
    )


def _invalid(matcher: _Matcher) -> Finding | None:
    if matcher.problem is None:
        return None
    remedy = "correct it; until then only a name that is equal to it matches"
    return matcher.finding("matcher-regex", Severity.ERROR, matcher.problem.message, remedy)


def _explosive(matcher: _Matcher) -> Finding | None:
    if not re.search(r"[)\]][*+{]", matcher.text):
        return None
    from hookline.check.explosion import exploding_name

    name = exploding_name(matcher.text, search=matcher.spec.search)
    if name is None:
        return None
    return matcher.finding(
        "matcher-explodes",
        Severity.WARNING,
        f"{matcher.text!r} can take for ever on names such as {name[:12]}…",
        "do not repeat what is itself a repetition, or alternatives that overlap",
    )


def _trigger(matcher: _Matcher) -> Finding | None:
    if matcher.spec.trigger is None:
        return None
    known = [member.value for member in matcher.spec.trigger]
    unknown = [word for word in _words(matcher.text) if word not in known]
    if any(_does_match(matcher.matches, name) for name in known):
        # A regular expression may well be wider than the list; a plain word may not.
        if not unknown:
            return None
        severity, what = Severity.WARNING, f"{unknown[0]!r} never happens"
    else:
        severity, what = Severity.ERROR, f"{matcher.text!r} never happens, so these hooks never run"
    one = only_one(unknown[0], known) if len(unknown) == 1 else None
    return matcher.finding(
        "matcher-trigger",
        severity,
        f"{what} on {matcher.event}",
        ask_which(unknown[0] if unknown else matcher.text, known)
        or f"its {matcher.spec.target} is {', '.join(known)}",
        instead=_with(matcher.text, unknown[0], one) if one else None,
    )


def _tool(matcher: _Matcher) -> Finding | None:
    if not matcher.spec.search:
        return None
    if any(_does_match(matcher.matches, name) for name in NATIVE_TOOLS):
        return _slip(matcher)
    claude = [name for name in CLAUDE_TOOLS if _does_match(matcher.matches, name)]
    if not claude:
        return _unknown_tool(matcher)
    if matcher.file.dialect.name != "native":
        return None
    named = [name for name in claude if name in _words(matcher.text)]
    meant = "|".join(sorted({native for name in named for native in CLAUDE_TOOLS[name]}))
    return matcher.finding(
        "matcher-tool",
        Severity.WARNING,
        f"{matcher.text!r} matches Claude Code's names of tools alone",
        f"Gemini CLI and LLxprt Code say {meant}" if meant else "see what your agent calls them",
    )


def _slip(matcher: _Matcher) -> Finding | None:
    """One misspelt name among good ones."""
    for word in _words(matcher.text):
        if any(word in name for name in (*NATIVE_TOOLS, *CLAUDE_TOOLS)):
            continue
        one = only_one(word, NATIVE_TOOLS)
        if one is not None and one.lower() != word.lower():
            return matcher.finding(
                "matcher-tool",
                Severity.WARNING,
                f"no known tool is called {word!r}",
                did_you_mean([one]),
                instead=_with(matcher.text, word, one),
            )
    return None


def _unknown_tool(matcher: _Matcher) -> Finding:
    text = matcher.text
    if re.match(_OF_FILES, text):
        return _files(matcher)
    words = _words(text)
    near = {word: found for word in words if (found := nearest(word, NATIVE_TOOLS, cutoff=0.75))}
    if near and "mcp" not in text:
        word, found = next(iter(near.items()))
        one = only_one(word, NATIVE_TOOLS)
        said = "case counts" if found[0].lower() == word.lower() else "a typing error"
        what = f"{text!r} matches no known tool ({said}?)"
        instead = _with(text, word, one) if one else None
        remedy = did_you_mean([one] if one else found)
        return matcher.finding("matcher-tool", Severity.WARNING, what, remedy, instead=instead)
    whose = "an MCP server" if text.lstrip("^(").startswith("mcp_") else "an agent of your own"
    what = f"{text!r} matches no tool of Gemini CLI, LLxprt Code or Claude Code"
    return matcher.finding("matcher-tool", Severity.HINT, what, f"fine for a tool of {whose}")


def _words(text: str) -> list[str]:
    """The plain names among the alternatives of a matcher, anchors left out."""
    group = re.fullmatch(r"\^?\((?:\?:)?([^()]*)\)\$?", text)
    words = [word.strip("^$") for word in (group[1] if group else text).split("|")]
    return [word for word in words if re.fullmatch(_PLAIN, word)]


def _with(text: str, word: str, instead: str) -> str:
    return re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", instead, text)


def _does_match(matches: Match, name: str) -> bool:
    try:
        return matches(name)
    except MatchTimeout:
        return True


_TESTS = (
    *(_ignored, _spaced, _permission_rule, _glob, _invalid),
    *(_explosive, _trigger, _tool),
)
