"""Matchers that do not compile, that mean something else than they look like, or match nothing."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hookline.check.findings import Finding, Severity
from hookline.check.reading import Checked, definitions
from hookline.nearest import ask_which, did_you_mean, nearest, only_one
from hookline.pipeline.matcher import Match, MatchTimeout
from hookline.problem import Problem
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


class _Verdict(NamedTuple):
    """What is wrong with a matcher; ``instead`` is what is certainly meant."""

    rule: str
    severity: Severity
    message: str
    remedy: str
    instead: str | None = None


def matchers(checked: Checked) -> Iterator[Finding]:
    """What is wrong with each matcher, the surest of it alone."""
    for file in checked.files:
        for key, path, definition in definitions(file):
            event, text = file.dialect.event_for(key), definition.get("matcher")
            if event is None or not isinstance(text, str) or len(text) > _LONGEST:
                continue
            text = text.strip()
            if text in ("", "*"):
                continue
            spec = EVENTS[event]
            matches, problem = file.dialect.compile_matcher(event, text)
            verdict = _judge_form(text, spec, problem)
            if verdict is None and spec.trigger is not None:
                verdict = _judge_trigger(text, spec, matches)
            elif verdict is None and spec.search:
                verdict = _judge_tool(text, matches, is_native=file.dialect.name == "native")
            if verdict is not None:
                rule, severity, message, remedy, instead = verdict
                at = (*path, "matcher")
                fixes = file.replaced(at, instead) if instead is not None else ()
                yield file.finding(
                    rule, severity, at, message, remedy, fixes=fixes, event=event.value
                )


def _judge_form(text: str, spec: EventSpec, problem: Problem | None) -> _Verdict | None:
    """What is wrong with it whatever the names are that it is for."""
    if spec.target is None:
        what = f"{spec.event.value} has nothing to match, so its hooks run every time"
        remedy = "remove the matcher, and look at the input in the script"
        return _Verdict("matcher-ignored", Severity.WARNING, what, remedy)
    if re.fullmatch(_SPACED, text) and re.search(r"[\s,]", text):
        meant = "|".join(word.strip() for word in re.split("[|,]", text))
        what = f"{text!r} is a regular expression: its commas and spaces stand for themselves"
        return _Verdict("matcher-separator", Severity.ERROR, what, f"write {meant}", meant)
    rule = re.fullmatch(_PERMISSION_RULE, text)
    if rule is not None and rule[1] in {*NATIVE_TOOLS, *CLAUDE_TOOLS}:
        what = f"{text!r} looks like a permission rule; a matcher sees the tool's name alone"
        remedy = f"write {rule[1]}, and look at tool_input in the script"
        return _Verdict("matcher-rule", Severity.ERROR, what, remedy)
    if re.search(_GLOB, text):
        severity = Severity.ERROR if problem else Severity.WARNING
        if re.match(_OF_FILES, text):
            return _name_of_files(text, severity, is_tool=spec.search)
        meant = re.sub(r"\{([^{}|]*,[^{}|]*)\}", lambda m: f"({m[1].replace(',', '|')})", text)
        meant = re.sub(r"(?<![.)\]])[*]", ".*", meant)
        what = f"{text!r} is written as a glob, and is read as a regular expression"
        return _Verdict("matcher-glob", severity, what, f"write {meant}")
    if problem is not None:
        remedy = "correct it; until then only a name that is equal to it matches"
        return _Verdict("matcher-regex", Severity.ERROR, problem.message, remedy)
    if re.search(r"[)\]][*+{]", text):
        from hookline.check.explosion import exploding_name

        name = exploding_name(text, search=spec.search)
        if name is not None:
            what = f"{text!r} can take for ever on names such as {name[:12]}…"
            remedy = "do not repeat what is itself a repetition, or alternatives that overlap"
            return _Verdict("matcher-explodes", Severity.WARNING, what, remedy)
    return None


def _name_of_files(text: str, severity: Severity, *, is_tool: bool) -> _Verdict:
    seen = "tool" if is_tool else "trigger"
    what = f"{text!r} looks like the name of files; a matcher sees the name of the {seen} alone"
    remedy = "look at tool_input in the script" if is_tool else "remove it"
    return _Verdict("matcher-file", severity, what, remedy)


def _judge_trigger(text: str, spec: EventSpec, matches: Match) -> _Verdict | None:
    known = spec.triggers
    unknown = [word for word in _words(text) if word not in known]
    if any(_does_match(matches, name) for name in known):
        # A regular expression may well be wider than the list; a plain word may not.
        if not unknown:
            return None
        severity, what = Severity.WARNING, f"{unknown[0]!r} never happens"
    else:
        severity, what = Severity.ERROR, f"{text!r} never happens, so these hooks never run"
    one = only_one(unknown[0], known) if len(unknown) == 1 else None
    remedy = ask_which(unknown[0] if unknown else text, known)
    return _Verdict(
        "matcher-trigger",
        severity,
        f"{what} on {spec.event.value}",
        remedy or f"its {spec.target} is {', '.join(known)}",
        _with(text, unknown[0], one) if one else None,
    )


def _judge_tool(text: str, matches: Match, *, is_native: bool) -> _Verdict | None:
    words = _words(text)
    if any(_does_match(matches, name) for name in NATIVE_TOOLS):
        # One misspelt name may stand among good ones.
        for word in words:
            if any(word in name for name in (*NATIVE_TOOLS, *CLAUDE_TOOLS)):
                continue
            one = only_one(word, NATIVE_TOOLS)
            if one is not None and one.lower() != word.lower():
                what, remedy = f"no known tool is called {word!r}", did_you_mean([one])
                meant = _with(text, word, one)
                return _Verdict("matcher-tool", Severity.WARNING, what, remedy, meant)
        return None
    claude = [name for name in CLAUDE_TOOLS if _does_match(matches, name)]
    if claude and not is_native:
        return None
    if claude:
        ours = sorted({tool for name in claude if name in words for tool in CLAUDE_TOOLS[name]})
        said = f"Gemini CLI and LLxprt Code say {'|'.join(ours)}"
        remedy = said if ours else "see what your agent calls them"
        what = f"{text!r} matches Claude Code's names of tools alone"
        return _Verdict("matcher-tool", Severity.WARNING, what, remedy)
    if re.match(_OF_FILES, text):
        return _name_of_files(text, Severity.WARNING, is_tool=True)
    near = {word: found for word in words if (found := nearest(word, NATIVE_TOOLS, cutoff=0.75))}
    if near and "mcp" not in text:
        word, found = next(iter(near.items()))
        one = only_one(word, NATIVE_TOOLS)
        slip = "case counts" if found[0].lower() == word.lower() else "a typing error"
        what = f"{text!r} matches no known tool ({slip}?)"
        instead = _with(text, word, one) if one else None
        remedy = did_you_mean([one] if one else found)
        return _Verdict("matcher-tool", Severity.WARNING, what, remedy, instead)
    whose = "an MCP server" if text.lstrip("^(").startswith("mcp_") else "an agent of your own"
    what = f"{text!r} matches no tool of Gemini CLI, LLxprt Code or Claude Code"
    return _Verdict("matcher-tool", Severity.HINT, what, f"fine for a tool of {whose}")


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
