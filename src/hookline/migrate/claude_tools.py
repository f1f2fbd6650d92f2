"""Claude Code's matchers as native ones, which pick the same tools and triggers or are refused.

Its plain matchers are lists of exact names; the others are regular expressions, searched in the
name. Either stays as it is, and the names that hosts have for the tools it matched are added: so
tools of MCP servers and tools that nobody has declared are matched as before.
"""

import re
from collections.abc import Callable, Iterable

import msgspec

from hookline.pipeline.dialects.tools import CLAUDE_NAMES, TOOLS, claude_names, host_names
from hookline.pipeline.matcher import MatchTimeout, compile_matcher
from hookline.wire.events import EVENTS, HookEventName

_SHELL = "run_shell_command"
# What a native trigger is called in Claude Code, where that is another word.
_TRIGGERS: dict[HookEventName, dict[str, str]] = {
    HookEventName.SESSION_START: {"compress": "compact"},
    HookEventName.SESSION_END: {"exit": "prompt_input_exit"},
    HookEventName.NOTIFICATION: {"ToolPermission": "permission_prompt"},
}
_LIST = re.compile(r"[A-Za-z0-9_\- ,|]*")
# What means the same in JavaScript and here.
_SAME_REGEX = re.compile(
    r"(?:[\w.|^$/ ,:@#%&~=!<>\"'-]|\\[bBdDwWsS.|^$/()\[\]{}*+?\\-]|\[\^?(?:[\w. -]|\\[dwsDWS.-])+\]"
    r"|\((?!\?)|\(\?(?::|<?[=!])|\)|[*+?](?![+])|\{\d+(?:,\d*)?\}(?![+]))*"
)
_HOST_NAMES = "MCP tools have the names that your agent gives them; look whether the matcher fits"


class Matcher(msgspec.Struct, frozen=True, kw_only=True):
    """A native matcher, None for all; ``refused`` says why there is none, ``notes`` what to know.

    ``same_input`` is True if all that it picks has the same input natively.
    """

    text: str | None = None
    refused: str | None = None
    notes: tuple[str, ...] = ()
    same_input: bool = False


def translate_matcher(event: HookEventName, text: str | None) -> Matcher:
    """What a matcher of Claude Code's is on a native event."""
    text = (text or "").strip()
    spec = EVENTS[event]
    if text in ("", "*") or spec.target is None:
        return Matcher(same_input=not spec.search)
    words: list[str] | None = None
    if _LIST.fullmatch(text):
        words = [word for word in (part.strip() for part in re.split("[|,]", text)) if word]
        if not words:
            return Matcher(refused="it names nothing")
        picks: Callable[[str], bool] = words.__contains__
    else:
        picks, problem = compile_matcher(text, search=True)
        if problem is not None or not _SAME_REGEX.fullmatch(text):
            return Matcher(refused="it is no regular expression that means the same here")
    try:
        if spec.search:
            return _translate_tools(text, words, picks)
        return _translate_triggers(event, text, words, picks)
    except MatchTimeout:
        return Matcher(refused="it takes too long to match")


def _translate_tools(text: str, words: list[str] | None, picks: Callable[[str], bool]) -> Matcher:
    wanted = [host for host in TOOLS if any(map(picks, set(claude_names(host)) - {host}))]
    too_many = [host for host in TOOLS if picks(host) and host not in wanted]
    if too_many:
        return Matcher(refused=f"natively it would pick {_join(too_many)} as well")
    for host, alias in TOOLS.items():
        # Natively they are the same tool as the other, so they cannot be picked alone.
        alone = [each.name for each in alias.variants if picks(each.name) and host not in wanted]
        if alone:
            return Matcher(refused=f"natively {_join(alone)} cannot be told from {alias.name}")
    gone = [name for name in CLAUDE_NAMES if picks(name) and not host_names(name)]
    are_all = set(gone) >= set(words) if words else "mcp" not in text
    if gone and not wanted and are_all:
        return Matcher(refused=f"hosts have no tool like {_join(gone)}")
    added = "|".join(host for host in wanted if not picks(host))
    if words is not None:
        # In a list of exact names none may be found within another.
        text = f"^(?:{'|'.join(dict.fromkeys([*words, *wanted]))})$"
    elif added:
        text = f"{text}|^(?:{added})$"
    notes = (_HOST_NAMES,) if "mcp" in text else ()
    return Matcher(text=text, notes=notes, same_input=set(wanted) <= {_SHELL})


def _translate_triggers(
    event: HookEventName, text: str, words: list[str] | None, picks: Callable[[str], bool]
) -> Matcher:
    renamed, spec = _TRIGGERS.get(event, {}), EVENTS[event]
    known = spec.triggers or list(renamed)
    kept = [name for name in known if picks(renamed.get(name, name))]
    if spec.trigger is None:
        if any(picks(name) and name not in kept for name in known):
            return Matcher(refused=f"natively it would pick another {spec.target} as well")
        # Types are whatever the host says, searched there and matched whole here.
        others = [f".*(?:{text}).*"] if words is None else words
        kept += [word for word in others if word not in renamed.values()]
    if not kept:
        return Matcher(refused=f"no {spec.target} of {event.value} matches it")
    return Matcher(text="|".join(dict.fromkeys(kept)), same_input=True)


def _join(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
