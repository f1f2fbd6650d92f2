"""Translates Claude Code's matchers into native ones that pick the same, or refuses them.

Its plain matchers are lists of exact names; the others are regular expressions, searched in the
name. Either stays as it is, with the hosts' names of the tools it matched added: so it still
matches tools of MCP servers and undeclared tools.
"""

import re
from collections.abc import Callable, Iterable

import msgspec

from hookline.pipeline.dialects.tools import CLAUDE_NAMES, TOOLS, claude_names, host_names
from hookline.pipeline.matcher import MatchTimeout, compile_matcher
from hookline.wire.events import EVENTS, HookEventName

_SHELL = "run_shell_command"
# Native trigger -> Claude Code's name of it, if that differs.
_TRIGGERS: dict[HookEventName, dict[str, str]] = {
    HookEventName.SESSION_START: {"compress": "compact"},
    HookEventName.SESSION_END: {"exit": "prompt_input_exit"},
    HookEventName.NOTIFICATION: {"ToolPermission": "permission_prompt"},
}
_LIST = re.compile(r"[A-Za-z0-9_\- ,|]*")
# Syntax that means the same in JavaScript and here.
_SAME_REGEX = re.compile(
    r"(?:[\w.|^$/ ,:@#%&~=!<>\"'-]|\\[bBdDwWsS.|^$/()\[\]{}*+?\\-]|\[\^?(?:[\w. -]|\\[dwsDWS.-])+\]"
    r"|\((?!\?)|\(\?(?::|<?[=!])|\)|[*+?](?![+])|\{\d+(?:,\d*)?\}(?![+]))*"
)
_HOST_NAMES = "MCP tools have the names that your agent gives them; check that the matcher fits"


class Matcher(msgspec.Struct, frozen=True, kw_only=True):
    """A native matcher, None for all; ``refused`` says why there is none; the user reads ``notes``.

    ``same_input`` is True if all that it picks has the same input natively.
    """

    text: str | None = None
    refused: str | None = None
    notes: tuple[str, ...] = ()
    same_input: bool = False


def translate_matcher(event: HookEventName, text: str | None) -> Matcher:
    """Translate a matcher of Claude Code's for a native event."""
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
            return Matcher(refused="it is not a regular expression that means the same natively")
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
        return Matcher(refused=f"natively it would also pick {_join(too_many)}")
    for host, alias in TOOLS.items():
        # Natively these are one tool, so a matcher cannot pick only one of them.
        alone = [each.name for each in alias.variants if picks(each.name) and host not in wanted]
        if alone:
            return Matcher(refused=f"natively {_join(alone)} cannot be told from {alias.name}")
    gone = [name for name in CLAUDE_NAMES if picks(name) and not host_names(name)]
    are_all = set(gone) >= set(words) if words else "mcp" not in text
    if gone and not wanted and are_all:
        return Matcher(refused=f"hosts have no tool like {_join(gone)}")
    added = "|".join(host for host in wanted if not picks(host))
    if words is not None:
        # Anchor the list, so that no name matches inside another.
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
            return Matcher(refused=f"natively it would also pick another {spec.target}")
        # Hosts choose the types freely; Claude Code searches them, we match them whole.
        others = [f".*(?:{text}).*"] if words is None else words
        kept += [word for word in others if word not in renamed.values()]
    if not kept:
        return Matcher(refused=f"no {spec.target} of {event.value} matches it")
    return Matcher(text="|".join(dict.fromkeys(kept)), same_input=True)


def _join(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
