"""Rules for native matchers: those that do not compile, do not mean what they look like, match
nothing, or take forever."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from hookline._support.nearest import ask_which, did_you_mean, nearest, only_one
from hookline._support.problem import Problem
from hookline.check.findings import Finding, Severity
from hookline.check.material import Checked, CheckedFile, find_definitions
from hookline.dialects import ROWS, list_foreign
from hookline.dialects.matcher import Match, MatchTimeout, compile_matcher
from hookline.settings.jsonc import Path
from hookline.wire.events import EVENTS, EventSpec
from hookline.wire.tools import NATIVE_TOOLS

# Longer matchers are not checked: settings that nobody has reviewed must not slow the check down.
LONGEST = 1_000
# Name at most this many matchers in one hint.
_MOST_NAMED = 50
_PLAIN = r"[A-Za-z0-9_-]+"
# A star after a letter or an underscore repeats that character, which no tool's name needs.
_GLOB = r"(?:^|\|)\^?\*|[A-Za-z0-9_-]\*|(?:^|\|)\{[^{}|]*,[^{}|]*\}"
_SPACED = r"\s*[A-Za-z0-9_-]+(?:\s*[|,]\s*[A-Za-z0-9_-]+)+\s*"
PERMISSION_RULE = r"([A-Za-z]\w*)\([^|?]*\)"
# A comparison, as other programs have it: tool == "Bash" && tool_input.command matches "rm".
_CONDITION = re.compile(r"[=!]==?|&&|\btool_input\b|\btool(?:_name)?\s+(?:matches|in)\b")
_COMPARED_TOOL = re.compile(r"\btool(?:_name)?\s*(?:[=!]==?|matches)\s*[\"']?(\w+)")
OF_FILES = r".*(?:/|\*?\\?\.(?:[a-z]{1,4}|\{[a-z,]+\})\$?$)"

_MAX_ATTEMPTS = 24
_SAMPLE_LENGTH = 48
# Characters that no expression for names expects after a name; and the end of an expression,
# without which some implementations do not even try.
_TAILS = ("!", "\x01")
_NAME_AT_END = re.compile(r"[A-Za-z0-9_]+(?=\$?$)")

_CLASSES = {"w": "a", "d": "0", "s": " ", "W": "-", "D": "a", "S": "a"}
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)\})(?P<mode>[?+]?)")
_GROUP = re.compile(r"\?(?:P?<[A-Za-z_]\w*>|[:|]|[a-zA-Z]+:)")
_NOT_TAKEN = re.compile(r"\?(?:<?[=!]|#)")
_ATOMIC = re.compile(r"\?>")


class Verdict(NamedTuple):
    """What is wrong with a matcher; ``instead`` is a certain correction."""

    rule: str
    severity: Severity
    message: str
    remedy: str
    instead: str | None = None


def check_matchers(checked: Checked) -> Iterator[Finding]:
    """Find what is wrong with each matcher, only the surest problem of each; one finding names all
    matchers of a file that match no known tool."""
    known = NATIVE_TOOLS | checked.declared
    for file in checked.files:
        strange: list[tuple[Path, str]] = []
        for key, path, definition in find_definitions(file) if not file.is_claude else ():
            event, text = file.dialect.event_for(key), definition.get("matcher")
            if event is None or not isinstance(text, str) or len(text) > LONGEST:
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
                verdict = _judge_tool(text, matches, known)
                if verdict is None and matches_no_tool(text, matches, known):
                    strange.append(((*path, "matcher"), text))
            if verdict is not None:
                rule, severity, message, remedy, instead = verdict
                at = (*path, "matcher")
                fixes = file.replace_value(at, instead) if instead is not None else ()
                yield file.finding(
                    rule, severity, at, message, remedy, fixes=fixes, event=event.value
                )
        if strange:
            yield report_unmatched(file, strange, "tool of Gemini CLI, LLxprt Code or Claude Code")


def matches_no_tool(text: str, matches: Match, known: Iterable[str]) -> bool:
    """True if a matcher matches no known tool. Names that "hookline mcp" and Claude Code give to
    tools of MCP servers are not known here, so they are not judged."""
    if re.match(r"[\^(?:]*mcp__[\w-]+__", text):
        return False
    return not any(does_match(matches, name) for name in known)


def report_unmatched(file: CheckedFile, strange: Sequence[tuple[Path, str]], known: str) -> Finding:
    """Make the hint for all matchers of a file that match no ``known`` tool."""
    texts = list(dict.fromkeys(text for _, text in strange))
    names = ", ".join(repr(text) for text in texts[:_MOST_NAMED])
    names += f" and {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    words = dict.fromkeys(word for text in texts for word in find_words(text))
    example = ", ".join(f'"{word}"' for word in [*words][:_MOST_NAMED]) or '"NAME", …'
    remedy = f'if your agent or an MCP server has them, declare them: "tools": [{example}]'
    what = f"{names} match no {known}"
    if len(texts) == 1:
        what = f"{names} matches no {known}"
        remedy = remedy.replace("has them, declare them", "has it, declare it")
    return file.finding("matcher-tool", Severity.HINT, strange[0][0], what, remedy)


def _judge_form(text: str, spec: EventSpec, problem: Problem | None) -> Verdict | None:
    """Judge a matcher by its text, whatever names it is for."""
    if spec.target is None:
        what = f"{spec.event.value} has nothing to match, so its hooks run every time"
        remedy = "remove the matcher, and look at the input in the script"
        return Verdict("matcher-ignored", Severity.WARNING, what, remedy)
    if re.fullmatch(_SPACED, text) and re.search(r"[\s,]", text):
        correction = "|".join(word.strip() for word in re.split("[|,]", text))
        what = f"{text!r} is a regular expression, so it matches commas and spaces literally"
        return Verdict("matcher-separator", Severity.ERROR, what, f"write {correction}", correction)
    rule = re.fullmatch(PERMISSION_RULE, text)
    if rule is not None and rule[1] in {*NATIVE_TOOLS, *_list_foreign_tools()}:
        what = f"{text!r} looks like a permission rule; a matcher sees only the tool's name"
        remedy = f"write {rule[1]}, and look at tool_input in the script"
        return Verdict("matcher-rule", Severity.ERROR, what, remedy)
    if (condition := judge_condition(text)) is not None:
        return condition
    if re.search(_GLOB, text):
        severity = Severity.ERROR if problem else Severity.WARNING
        if re.match(OF_FILES, text):
            return _judge_file_name(text, severity, is_tool=spec.search)
        correction = re.sub(r"\{([^{}|]*,[^{}|]*)\}", lambda m: f"({m[1].replace(',', '|')})", text)
        correction = re.sub(r"(?<![.)\]])[*]", ".*", correction)
        what = f"{text!r} is written as a glob, but is read as a regular expression"
        return Verdict("matcher-glob", severity, what, f"write {correction}")
    if problem is not None:
        remedy = "correct it; until then it matches only a name equal to it"
        return Verdict("matcher-regex", Severity.ERROR, problem.message, remedy)
    if re.search(r"[)\]][*+{]", text):
        name = find_exploding_name(text, search=spec.search)
        if name is not None:
            what = f"{text!r} can take forever on names such as {name[:12]}…"
            remedy = "do not nest repetitions, or repeat alternatives that overlap"
            return Verdict("matcher-explodes", Severity.WARNING, what, remedy)
    return None


def judge_condition(text: str, *, has_rules: bool = False) -> Verdict | None:
    """Judge a matcher that is written as a condition; with ``has_rules`` hooks may have an
    ``if``."""
    if not _CONDITION.search(text):
        return None
    compared = _COMPARED_TOOL.search(text)
    tool = compared[1] if compared else ""
    rule = f', or write a rule such as "if": "{tool or "Bash"}(git push:*)" in the hook'
    what = f"{text!r} is a condition; a matcher is only compared with the tool's name"
    remedy = f"write {tool or 'the name of the tool'}, and look at tool_input in the script"
    return Verdict("matcher-rule", Severity.ERROR, what, remedy + (rule if has_rules else ""))


def _judge_file_name(text: str, severity: Severity, *, is_tool: bool) -> Verdict:
    subject = "tool" if is_tool else "trigger"
    what = f"{text!r} looks like a file name; a matcher sees only the {subject}'s name"
    remedy = "look at tool_input in the script" if is_tool else "remove it"
    return Verdict("matcher-file", severity, what, remedy)


def _judge_trigger(text: str, spec: EventSpec, matches: Match) -> Verdict | None:
    triggers = spec.triggers
    unknown = [word for word in find_words(text) if word not in triggers]
    if any(does_match(matches, name) for name in triggers):
        # A regular expression may match more than the list; a plain word may not.
        if not unknown:
            return None
        severity, what = Severity.WARNING, f"{unknown[0]!r} never happens"
    else:
        severity, what = Severity.ERROR, f"{text!r} never happens, so these hooks never run"
    one = only_one(unknown[0], triggers) if len(unknown) == 1 else None
    remedy = ask_which(unknown[0] if unknown else text, triggers)
    return Verdict(
        "matcher-trigger",
        severity,
        f"{what} on {spec.event.value}",
        remedy or f"its {spec.target} is {', '.join(triggers)}",
        replace_word(text, unknown[0], one) if one else None,
    )


def _list_foreign_tools() -> list[str]:
    return [name for dialect in list_foreign() for name in dialect.tool_names()]


def _judge_tool(text: str, matches: Match, known: Collection[str]) -> Verdict | None:
    words = find_words(text)
    if any(does_match(matches, name) for name in known):
        # One name may be misspelt beside good ones.
        for word in words:
            if any(word in name for name in (*known, *_list_foreign_tools())):
                continue
            one = only_one(word, known)
            if one is not None and one.lower() != word.lower():
                what, remedy = f"no known tool is called {word!r}", did_you_mean([one])
                correction = replace_word(text, word, one)
                return Verdict("matcher-tool", Severity.WARNING, what, remedy, correction)
        return None
    for dialect in list_foreign():
        foreign = [name for name in dialect.tool_names() if does_match(matches, name)]
        if not foreign:
            continue
        foreign_words = [name for name in foreign if name in words]
        ours = sorted({tool for name in foreign_words for tool in dialect.host_tools(name)})
        advice = f"write {'|'.join(ours)}, as Gemini CLI and LLxprt Code call them"
        remedy = advice if ours else "write the names that your agent has for them"
        what = f"{text!r} matches only {ROWS[dialect.name].title}'s names of tools"
        return Verdict("matcher-tool", Severity.WARNING, what, remedy)
    if re.match(OF_FILES, text):
        return _judge_file_name(text, Severity.WARNING, is_tool=True)
    near = {word: near_names for word in words if (near_names := nearest(word, known, cutoff=0.75))}
    if near and "mcp" not in text:
        word, near_names = next(iter(near.items()))
        one = only_one(word, known)
        slip = "case counts" if near_names[0].lower() == word.lower() else "a typing error"
        what = f"{text!r} matches no known tool ({slip}?)"
        instead = replace_word(text, word, one) if one else None
        remedy = did_you_mean([one] if one else near_names)
        return Verdict("matcher-tool", Severity.WARNING, what, remedy, instead)
    return None


def find_words(text: str) -> list[str]:
    """Return the plain names among the alternatives of a matcher, without anchors."""
    group = re.fullmatch(r"\^?\((?:\?:)?([^()]*)\)\$?", text)
    words = [word.strip("^$") for word in (group[1] if group else text).split("|")]
    return [word for word in words if re.fullmatch(_PLAIN, word)]


def replace_word(text: str, word: str, instead: str) -> str:
    return re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", instead, text)


def does_match(matches: Match, name: str) -> bool:
    try:
        return matches(name)
    except MatchTimeout:
        return True


class _Part(NamedTuple):
    """A part of an expression: a sample of what it matches, whether it is optional or unbounded,
    and whether it is nothing but a repetition."""

    sample: str
    optional: bool = False
    endless: bool = False
    only_repeats: bool = False


def find_exploding_name(text: str, *, search: bool) -> str | None:
    """Make a name from a matcher's structure that may use up its time; None if none was found.

    A repetition of nothing but a repetition can match in exponentially many ways; some hosts try
    them all. Overlapping alternatives may explode or not, so such names are tried, in bounded time.
    """
    reader = _ExpressionReader(text)
    try:
        reader.read_alternatives("")
    except RecursionError:
        return None
    for prefix, unit in reader.nested:
        return prefix + unit * (_SAMPLE_LENGTH // len(unit)) + _TAILS[0]
    matches, _ = compile_matcher(text, search=search)
    end = _NAME_AT_END.search(text)
    tails = (*_TAILS, f"!{end[0]}") if end else _TAILS
    names = (
        prefix + unit * (_SAMPLE_LENGTH // len(unit) + 1) + tail
        for prefix, units in reader.repeated
        for unit in filter(None, units)
        for tail in tails
    )
    for name in islice(names, _MAX_ATTEMPTS):
        try:
            matches(name)
        except MatchTimeout:
            return name
    return None


class _ExpressionReader:
    """Reads an expression. ``nested`` are repetitions of repetitions and ``repeated`` all other
    groups that repeat without a limit, each with the text before it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nested: list[tuple[str, str]] = []
        self.repeated: list[tuple[str, list[str]]] = []

    def read_alternatives(self, prefix: str) -> list[_Part]:
        """Read the alternatives up to the end of the group."""
        parts = [self._read_sequence(prefix)]
        while self._peek() == "|":
            self.at += 1
            parts.append(self._read_sequence(prefix))
        return parts

    def _read_sequence(self, prefix: str) -> _Part:
        parts: list[_Part] = []
        while (character := self._peek()) and character not in "|)":
            leading = prefix + "".join(part.sample for part in parts if not part.optional)
            parts.append(self._read_repetition(leading))
        endless = [p.sample for p in parts if (p.endless or p.only_repeats) and p.sample]
        needed = [part.sample for part in parts if not part.optional and part.sample]
        return _Part(
            "".join(needed) or next(iter(endless), ""),
            optional=not needed,
            only_repeats=bool(endless) and set(needed) <= {endless[0]},
        )

    def _read_repetition(self, prefix: str) -> _Part:
        """Read an atom and its quantifier."""
        units, is_group = self._read_atom(prefix)
        match = _QUANTIFIER.match(self.text, self.at)
        sample = units[0].sample
        if match is None:
            inner = units[0] if is_group and len(units) == 1 else _Part(sample)
            optional = any(unit.optional for unit in units) if is_group else not sample
            return inner._replace(optional=optional)
        self.at = match.end()
        sign, possessive = match[0][0], match["mode"] == "+"
        endless = sign in "*+" or (match["comma"] == "," and not match["most"])
        optional = sign in "*?" or (sign == "{" and match["least"] in ("", "0"))
        if is_group and endless and not possessive:
            self.nested += [(prefix, u.sample) for u in units if u.only_repeats and u.sample]
            if len(units) > 1:
                samples = [unit.sample for unit in units]
                self.repeated.append((prefix, [*samples, "".join(samples)]))
        return _Part(sample, optional=optional, endless=endless and not possessive)

    def _read_atom(self, prefix: str) -> tuple[list[_Part], bool]:
        """Read one atom; return its alternatives, and whether it is a group."""
        character = self._take()
        if character == "(":
            looking = _NOT_TAKEN.match(self.text, self.at)
            atomic = _ATOMIC.match(self.text, self.at)
            opening = _GROUP.match(self.text, self.at) or looking or atomic
            self.at = opening.end() if opening else self.at
            parts = self.read_alternatives(prefix)
            self._take()
            if looking:
                return [_Part("", optional=True)], False
            return ([_Part(parts[0].sample)], False) if atomic else (parts, True)
        if character == "[":
            negated = self._peek() == "^"
            start = self.at + negated
            # A bracket that comes first belongs to the set.
            end = self.text.find("]", start + 1)
            end = len(self.text) if end < 0 else end
            members, self.at = self.text[start:end], end + 1
            sample = members[:1]
            if negated:
                sample = next((c for c in "a0_-x" if c not in members), "\x02")
            elif sample == "\\":
                sample = _CLASSES.get(members[1:2], members[1:2])
        elif character == "\\":
            escaped = self._take()
            sample = "" if escaped in "bBAZzGK" else _CLASSES.get(escaped, escaped)
        else:
            sample = {"^": "", "$": "", ".": "a"}.get(character, character)
        return [_Part(sample)], False

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        character = self._peek()
        self.at += 1
        return character
