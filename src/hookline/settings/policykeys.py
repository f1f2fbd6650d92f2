"""Settings keys that decide policy, and the misspelt or misplaced ones that nothing reads.

A guard with ``onfailure`` fails open, as only ``onFailure`` is read, so such keys are reported
wherever settings are read. This module is imported at the first unknown key.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from hookline._support.nearest import did_you_mean, is_slip, only_one

Place: TypeAlias = Literal[
    "settings",
    "claude",
    "hooks",
    "hooksConfig",
    "hookline",
    "security",
    "redaction",
    "definition",
    "hook",
    "registered",
    "tools",
]

# What happens if nothing reads a key.
_CONSEQUENCES: Mapping[str, str] = {
    "onFailure": "a failure of the hook lets the agent go on",
    "matcher": "the hooks run for every name",
    "sequential": "no hook sees what the one before it changed",
    "if": "the hook runs on every call that it matches",
    "managed": "others can disable the hook",
    "allowedEnvVars": "no header gets a variable",
    "strict": "a hook that cannot answer lets the agent go on",
    "required": "the agent goes on without these hooks",
    "enabled": "it switches nothing",
    "disabled": "it disables no hook",
    "enableHooks": "it switches nothing",
    "hooks": "no hook in it runs",
    "hooksConfig": "it switches nothing",
    "claude": "it switches nothing",
    "plugins": "no hook of a plugin runs",
    "security": "the environment of hooks is not redacted",
    "environmentVariableRedaction": "the environment of hooks is not redacted",
    "privateHookHosts": "a project's hooks reach no private host",
    "allowed": "these variables are redacted",
    "blocked": "these variables are not redacted",
    "disableAllHooks": "the hooks run",
    "allowManagedHooksOnly": "hooks of others run too",
    "allowedHttpHookUrls": "http hooks may call any URL",
    "httpHookAllowedEnvVars": "headers may name any variable",
}
# The keys that decide policy in each object.
_READ_IN: Mapping[Place, tuple[str, ...]] = {
    "settings": (
        *("hooks", "hooksConfig", "enableHooks", "strict", "claude", "plugins", "security"),
    ),
    "claude": (
        *("hooks", "disableAllHooks", "allowManagedHooksOnly", "allowedHttpHookUrls"),
        "httpHookAllowedEnvVars",
    ),
    "hooks": ("enabled", "disabled", "required"),
    "hooksConfig": ("enabled", "disabled"),
    "hookline": (),
    "security": ("environmentVariableRedaction", "privateHookHosts"),
    "redaction": ("enabled", "allowed", "blocked"),
    "definition": ("matcher", "sequential", "hooks"),
    "hook": ("onFailure", "managed", "allowedEnvVars"),
    "registered": ("onFailure", "managed", "allowedEnvVars"),
    "tools": ("enableHooks",),
}
# Keys that belong in another object, and the remedy for each.
_BESIDE_HOOKS = 'write it in a definition, beside its "hooks"'
_IN_EACH_HOOK = 'write it into each hook that is in "hooks"'
_INTO_HOOKS = 'write it into "hooks"'
_TO_THE_TOP = "write it at the top of the settings"
_BY_NAME = {
    name: f'name the hook in "hooks": {{"{list_}": […]}}'
    for name, list_ in (("required", "required"), ("disabled", "disabled"), ("enabled", "disabled"))
}
_CONDITION = "native hooks have no condition: look at tool_input in the script"
_ELSEWHERE: Mapping[Place, Mapping[str, str]] = {
    "settings": {
        **dict.fromkeys(("required", "disabled", "enabled"), _INTO_HOOKS),
        "matcher": _BESIDE_HOOKS,
        "onFailure": _IN_EACH_HOOK,
    },
    "hooks": {"strict": _TO_THE_TOP, "matcher": _BESIDE_HOOKS, "onFailure": _IN_EACH_HOOK},
    "hooksConfig": {"strict": _TO_THE_TOP, "required": _INTO_HOOKS},
    "hookline": {"strict": _TO_THE_TOP, "required": _INTO_HOOKS},
    "definition": {
        **dict.fromkeys(("onFailure", "managed", "allowedEnvVars", "if"), _IN_EACH_HOOK),
        **_BY_NAME,
        "strict": _TO_THE_TOP,
    },
    "hook": {
        **dict.fromkeys(("matcher", "sequential"), _BESIDE_HOOKS),
        "if": _CONDITION,
        "strict": _TO_THE_TOP,
        **_BY_NAME,
    },
    "registered": {
        **{name: f"pass {name}=… beside the hook" for name in ("matcher", "sequential")},
        "if": _CONDITION,
        "strict": "pass strict=True to what loads the hooks",
        **_BY_NAME,
    },
}
# Keys that Claude Code's settings have nowhere.
_NOT_CLAUDES = frozenset({"strict", *_BY_NAME})
# Objects with many keys of other programs: only quick comparisons are made there.
_SHARED: frozenset[Place] = frozenset({"settings", "claude", "security", "tools"})
_SPOKEN: Mapping[Place, str] = {
    "settings": "the settings",
    "claude": "Claude Code's settings",
    "redaction": "security.environmentVariableRedaction",
    "definition": "a definition",
    "hook": "a hook",
    "registered": "a hook",
}


def speak_of(place: Place) -> str:
    """The name of an object in messages."""
    return _SPOKEN.get(place, place)


def decides_policy(key: str, place: Place) -> bool:
    """Whether a key decides policy in an object."""
    return key in _READ_IN[place]


class Misread(NamedTuple):
    """A key that nothing reads but that was probably meant to decide policy: the message, what
    happens without it and what to do. ``meant`` is the key that decides policy, ``is_here`` whether
    it belongs in the same object."""

    meant: str
    is_here: bool
    message: str
    consequence: str
    remedy: str

    @property
    def loses_hooks(self) -> bool:
        """Whether it holds hooks, which are lost with it."""
        return self.meant == "hooks"


def find_misread(key: str, place: Place, *, is_claude: bool = False) -> Misread | None:
    """What an unknown key was meant to be; None if it was not meant to decide policy.
    ``is_claude`` is for Claude Code's settings, whose hooks have an ``if``."""
    here, elsewhere = _READ_IN[place], _ELSEWHERE.get(place, {})
    if is_claude:
        here = (*here, "if") if place == "hook" else here
        elsewhere = {name: elsewhere[name] for name in elsewhere if name not in _NOT_CLAUDES}
    # An exact match comes before any misspelling.
    meant = key if key in elsewhere else None
    meant = meant or next((name for name in (*here, *elsewhere) if is_slip(key, name)), None)
    if meant is None and place not in _SHARED:
        meant = only_one(key, dict.fromkeys((*here, *elsewhere)))
    if meant is None or key in here:
        return None
    is_here = meant in here
    remedy = did_you_mean([meant]) if is_here else elsewhere[meant]
    if not is_here and meant != key:
        remedy = f"it is spelt {meant}: {remedy}"
    message = f"is not a key of {speak_of(place)}"
    return Misread(meant, is_here, message, _CONSEQUENCES[meant], remedy)
