"""Claude Code's matchers in our terms: other tool names, other triggers, and another way to match.

Its plain matchers are lists of exact names, ours are searched in the name; so a matcher moves by
its words, and a regular expression is tried on every tool that both sides know.
"""

import re
from collections.abc import Iterable

import msgspec

from hookline.pipeline.matcher import MatchTimeout, compile_matcher
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.tools import CLAUDE_TOOLS

TOOLS = {name: names for name, names in CLAUDE_TOOLS.items() if names}
WITHOUT_COUNTERPART = frozenset(CLAUDE_TOOLS) - TOOLS.keys()
_TRIGGERS: dict[HookEventName, dict[str, str | None]] = {
    HookEventName.SESSION_START: {"compact": "compress", "fork": None},
    HookEventName.SESSION_END: {"resume": None},
}
_LIST = re.compile(r"[A-Za-z0-9_\- ,|]*")
# An escape is one token, so that the b of \bBash is not taken for a letter of the name.
_NAMES = re.compile(r"\\.|[A-Za-z_]\w*", re.DOTALL)
_REPEATED = re.compile(r"\b(\w+)(?:\|\1\b)+")
_HOST_NAMES = "MCP tools have the names that your agent gives them"


class Matcher(msgspec.Struct, frozen=True, kw_only=True):
    """A matcher of ours, None for all; ``lost`` says why there is none, ``notes`` what to know."""

    text: str | None = None
    lost: str | None = None
    notes: tuple[str, ...] = ()


def translated(event: HookEventName, text: str | None) -> Matcher:
    """What a matcher of Claude Code's is on an event of ours."""
    text = (text or "").strip()
    spec = EVENTS[event]
    if text in ("", "*") or spec.target is None:
        return Matcher()
    if _LIST.fullmatch(text):
        return _words(event, [word for each in re.split("[|,]", text) if (word := each.strip())])
    return _tool_expression(text) if spec.search else _trigger_expression(event, text)


def _words(event: HookEventName, words: list[str]) -> Matcher:
    if not words:
        return Matcher(lost="it names nothing")
    kept: list[str] = []
    missing: list[str] = []
    for word in words:
        if EVENTS[event].search:
            names = () if word in WITHOUT_COUNTERPART else TOOLS.get(word, (word,))
        else:
            renamed = _TRIGGERS.get(event, {}).get(word, word)
            names = () if renamed is None else (renamed,)
        kept += [name for name in names if name not in kept]
        missing += [] if names else [word]
    if not kept:
        return Matcher(lost=f"{_no_counterpart(missing)} here")
    notes: list[str] = []
    if any(word.startswith("mcp__") for word in words):
        notes.append(f"{_HOST_NAMES}; look whether it calls them that")
    if missing:
        were = "was" if len(missing) == 1 else "were"
        notes.append(f"{_no_counterpart(missing)} and {were} left out")
    return Matcher(text="|".join(kept), notes=tuple(notes))


def _tool_expression(text: str) -> Matcher:
    """By its names where that comes to the same tools, else by the tools it matches."""
    before, problem = compile_matcher(text, search=True)
    if problem is not None:
        return Matcher(lost="it is not a regular expression that can be read here")

    def rename(word: re.Match[str]) -> str:
        names = TOOLS.get(word[0], (word[0],))
        return names[0] if len(names) == 1 else f"(?:{'|'.join(names)})"

    try:
        wanted = [tool for tool in TOOLS if before(tool)]
        gone = [tool for tool in sorted(WITHOUT_COUNTERPART) if before(tool)]
        new = _REPEATED.sub(r"\1", _NAMES.sub(rename, text))
        after, _ = compile_matcher(new, search=True)
        if gone and not wanted and "mcp__" not in text:
            return Matcher(lost=f"{_no_counterpart(gone)} here")
        if [name for name in _names(TOOLS) if after(name)] == _names(wanted):
            host = (f"{_HOST_NAMES}; look whether the matcher fits",) if "mcp__" in text else ()
            return Matcher(text=new, notes=host)
    except MatchTimeout:
        return Matcher(lost="it takes too long to match")
    if not wanted:
        return Matcher(text=text, notes=("no tool that is known here has such a name",))
    note = f"the matcher is now written by the tools it matched: {', '.join(wanted)}"
    return Matcher(text="|".join(_names(wanted)), notes=(note,))


def _names(tools: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for tool in tools for name in TOOLS[tool]))


def _trigger_expression(event: HookEventName, text: str) -> Matcher:
    """Searched there, matched whole here."""
    before, problem = compile_matcher(text, search=True)
    trigger = EVENTS[event].trigger
    if problem is not None:
        return Matcher(lost="it is not a regular expression that can be read here")
    if trigger is None:
        return Matcher(text=f".*(?:{text}).*")
    back = {new: old for old, new in _TRIGGERS.get(event, {}).items() if new}
    try:
        kept = [member.value for member in trigger if before(back.get(member.value, member.value))]
    except MatchTimeout:
        return Matcher(lost="it takes too long to match")
    if not kept:
        return Matcher(lost=f"no {EVENTS[event].target} of {event.value} matches it")
    return Matcher(text="|".join(kept))


def _no_counterpart(words: list[str]) -> str:
    *most, last = words
    named = f"{', '.join(most)} and {last} have" if most else f"{last} has"
    return f"{named} no counterpart"
