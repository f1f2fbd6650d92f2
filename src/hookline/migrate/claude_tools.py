"""Claude Code's matchers in our terms: other tool names, other triggers, and another way to match.

Its plain matchers are lists of exact names, ours are searched in the name; so a matcher moves by
its words, and a regular expression is tried on every tool that both sides know.
"""

import re

import msgspec

from hookline.pipeline.matcher import Match, MatchTimeout, compile_matcher
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
        return _translate_words(event, [word.strip() for word in re.split("[|,]", text)])
    before, problem = compile_matcher(text, search=True)
    if problem is not None:
        return Matcher(lost="it is not a regular expression that can be read here")
    try:
        if spec.search:
            return _translate_tools(text, before)
        # It is searched there, and matched whole here.
        if spec.trigger is None:
            return Matcher(text=f".*(?:{text}).*")
        back = {new: old for old, new in _TRIGGERS.get(event, {}).items() if new}
        kept = [name for name in spec.triggers if before(back.get(name, name))]
    except MatchTimeout:
        return Matcher(lost="it takes too long to match")
    if not kept:
        return Matcher(lost=f"no {spec.target} of {event.value} matches it")
    return Matcher(text="|".join(kept))


def _translate_words(event: HookEventName, words: list[str]) -> Matcher:
    kept: list[str] = []
    missing: list[str] = []
    for word in filter(None, words):
        if EVENTS[event].search:
            names = () if word in WITHOUT_COUNTERPART else TOOLS.get(word, (word,))
        else:
            renamed = _TRIGGERS.get(event, {}).get(word, word)
            names = () if renamed is None else (renamed,)
        kept += [name for name in names if name not in kept]
        missing += [] if names else [word]
    if not kept:
        return Matcher(lost=f"{_no_counterpart(missing)} here" if missing else "it names nothing")
    notes: list[str] = []
    if any(word.startswith("mcp__") for word in words):
        notes.append(f"{_HOST_NAMES}; look whether it calls them that")
    if missing:
        were = "was" if len(missing) == 1 else "were"
        notes.append(f"{_no_counterpart(missing)} and {were} left out")
    return Matcher(text="|".join(kept), notes=tuple(notes))


def _translate_tools(text: str, before: Match) -> Matcher:
    """By its names where that comes to the same tools, else by the tools it matches."""

    def rename(word: re.Match[str]) -> str:
        names = TOOLS.get(word[0], (word[0],))
        return names[0] if len(names) == 1 else f"(?:{'|'.join(names)})"

    wanted = [tool for tool in TOOLS if before(tool)]
    gone = [tool for tool in sorted(WITHOUT_COUNTERPART) if before(tool)]
    if gone and not wanted and "mcp__" not in text:
        return Matcher(lost=f"{_no_counterpart(gone)} here")
    new = _REPEATED.sub(r"\1", _NAMES.sub(rename, text))
    after, _ = compile_matcher(new, search=True)
    known = dict.fromkeys(name for names in TOOLS.values() for name in names)
    meant = list(dict.fromkeys(name for tool in wanted for name in TOOLS[tool]))
    if [name for name in known if after(name)] == meant:
        host = (f"{_HOST_NAMES}; look whether the matcher fits",) if "mcp__" in text else ()
        return Matcher(text=new, notes=host)
    if not wanted:
        return Matcher(text=text, notes=("no tool that is known here has such a name",))
    note = f"the matcher is now written by the tools it matched: {', '.join(wanted)}"
    return Matcher(text="|".join(meant), notes=(note,))


def _no_counterpart(words: list[str]) -> str:
    *most, last = words
    named = f"{', '.join(most)} and {last} have" if most else f"{last} has"
    return f"{named} no counterpart"
