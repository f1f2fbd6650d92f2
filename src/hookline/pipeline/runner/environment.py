"""A hook inherits the caller's variables unless redaction is on, or a CI runner turns it on."""

import functools
import os
import re
from collections.abc import Collection, Mapping
from typing import Any

from hookline.debuglog import SECRET_WORDS
from hookline.pipeline.redaction import Redaction

__all__ = ["Environment", "Redaction", "environment_of", "hook_environment"]

_ALWAYS_KEPT = frozenset(
    {
        *("PATH", "SYSTEMROOT", "COMSPEC", "PATHEXT", "WINDIR", "TEMP", "TMP", "USERPROFILE"),
        *("SYSTEMDRIVE", "HOME", "LANG", "SHELL", "TMPDIR", "USER", "LOGNAME", "TERM", "COLORTERM"),
        *("ADDITIONAL_CONTEXT", "AVAILABLE_LABELS", "BRANCH_NAME", "DESCRIPTION", "EVENT_NAME"),
        *("GITHUB_ENV", "IS_PULL_REQUEST", "ISSUES_TO_TRIAGE", "ISSUE_BODY", "ISSUE_NUMBER"),
        *("ISSUE_TITLE", "PULL_REQUEST_NUMBER", "REPOSITORY", "TITLE", "TRIGGERING_ACTOR"),
    }
)
_NEVER_KEPT = frozenset(
    {
        *("CLIENT_ID", "DB_URI", "CONNECTION_STRING", "AWS_DEFAULT_REGION", "AZURE_CLIENT_ID"),
        *("AZURE_TENANT_ID", "SLACK_WEBHOOK_URL", "TWILIO_ACCOUNT_SID", "DATABASE_URL"),
        *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_ACCOUNT", "FIREBASE_PROJECT_ID"),
    }
)
# Every repetition is bounded and ends at a character it cannot contain: a value of any length is
# read in linear time.
_SECRET_VALUES = (
    r"-----begin (?:[a-z0-9]{1,16} ){0,4}private key",
    r"-----begin (?:[a-z0-9]{1,16} ){0,4}certificate-----",
    r"[a-z0-9]://[^\s/:@]{0,1024}:[^\s/@]{1,4096}@",
    r"(?<![a-z0-9])xox[a-z]-[a-z0-9]",
)


class Environment(dict[str, str]):
    """Variables that are not changed any more, and how a process gets them."""

    __slots__ = ("_entries",)

    _entries: list[bytes]

    def entries(self) -> list[bytes]:
        """``NAME=value`` for each; raises ValueError for a name with an equals sign."""
        try:
            return self._entries
        except AttributeError:
            self._entries = encoded(self)
            return self._entries


def encoded(variables: Mapping[str, str]) -> list[bytes]:
    """``NAME=value`` for each; raises ValueError for a name with an equals sign."""
    if any("=" in name for name in variables):
        raise ValueError("illegal environment variable name")
    return [os.fsencode(f"{name}={value}") for name, value in variables.items()]


def environment_of(
    redaction: Redaction, variables: Mapping[str, str], own: Mapping[str, str]
) -> Environment:
    """The environment of one hook as it is now, kept for the next time."""
    return _environment(_inherited(), redaction, tuple(variables.items()), tuple(own.items()))


class _Inherited:
    """What this process has now; one object for as long as it stays the same."""

    def __init__(self, snapshot: Mapping[Any, Any]) -> None:
        self.snapshot = snapshot

    def variables(self) -> dict[str, str]:
        # Of the snapshot: another thread may be changing the environment while it is read.
        return {os.fsdecode(name): os.fsdecode(value) for name, value in self.snapshot.items()}


_last = _Inherited({})


def _inherited() -> _Inherited:
    global _last
    # Reading all variables takes a third of the calls that firing an event does. The dictionary
    # behind them is compared at once; a Python that has none there gives them one by one.
    now: dict[Any, Any] = getattr(os.environ, "_data", None) or os.environ.copy()
    known = _last
    if now != known.snapshot:
        known = _last = _Inherited(now.copy())
    return known


@functools.lru_cache(maxsize=64)
def _environment(
    inherited: _Inherited,
    redaction: Redaction,
    variables: tuple[tuple[str, str], ...],
    own: tuple[tuple[str, str], ...],
) -> Environment:
    parent = inherited.variables()
    return Environment(hook_environment(parent, redaction, dict(variables), dict(own)))


def hook_environment(
    parent: Mapping[str, str],
    redaction: Redaction,
    variables: Mapping[str, str],
    own: Mapping[str, str],
) -> dict[str, str]:
    """The environment of one hook: what it inherits, then the event's variables, then its own."""
    environment = redact(parent, redaction)
    environment.update(variables)
    environment.update(own)
    return environment


def redact(parent: Mapping[str, str], redaction: Redaction) -> dict[str, str]:
    """A copy of ``parent`` without what redaction removes."""
    strict = _is_ci_runner(parent)
    if not (redaction.enabled or strict):
        return dict(parent)
    allowed = {name.upper() for name in redaction.allowed}
    blocked = {name.upper() for name in redaction.blocked}
    return {
        name: value
        for name, value in parent.items()
        if _stays(name.upper(), value, allowed=allowed, blocked=blocked, strict=strict)
    }


def _is_ci_runner(parent: Mapping[str, str]) -> bool:
    return "GITHUB_SHA" in parent or parent.get("SURFACE") == "Github"


def _stays(
    name: str, value: str, *, allowed: Collection[str], blocked: Collection[str], strict: bool
) -> bool:
    if name.startswith("GEMINI_CLI_"):
        return True
    if _looks_secret(value.lower()):
        return False
    if name.startswith("GIT_CONFIG_") or name in allowed:
        return True
    if name in blocked:
        return False
    if name in _ALWAYS_KEPT:
        return True
    if name in _NEVER_KEPT or strict:
        return False
    return not any(word in name for word in SECRET_WORDS)


def _looks_secret(value: str) -> bool:
    # Nearly every value has none of these, and then needs no regular expression.
    if not ("://" in value or "-----" in value or "xox" in value):
        return False
    return _secret_value().search(value) is not None


@functools.cache
def _secret_value() -> re.Pattern[str]:
    return re.compile("|".join(_SECRET_VALUES))
