"""Keeps the secrets of an environment out of what is written down, whoever printed them.

A hook may print its variables, and an agent may be given a token to pass on: it is the values that
must not be kept, wherever they turn up.
"""

from collections.abc import Mapping
from typing import Any

# In the name of a variable, whatever else is.
SECRET_WORDS = (
    *("TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY"),
    *("AUTH", "CREDENTIAL", "CREDS", "PRIVATE", "CERT"),
)
_SECRET_NAMES = frozenset({"CONNECTION_STRING", "DATABASE_URL", "DB_URI", "SLACK_WEBHOOK_URL"})
# A shorter value is found in ordinary text by chance, and is no secret worth the name.
_LEAST = 8


class Secrets:
    """The values to hide, of the environments that were learned so far."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        # The longest first, as one may be part of another.
        self._found: list[tuple[str, str]] = []
        self.learn(environment or {})

    def learn(self, environment: Mapping[str, str]) -> None:
        """Hide what is secret among these variables from now on."""
        new = {
            value: name
            for name, value in environment.items()
            if len(value) >= _LEAST and _is_secret(name.upper(), value)
        }
        if new:
            found = {**dict(self._found), **new}
            self._found = sorted(found.items(), key=lambda pair: -len(pair[0]))

    def hidden(self, value: Any) -> Any:
        """A copy of a JSON value in which the names of the variables stand for their values."""
        if not self._found:
            return value
        if isinstance(value, str):
            for secret, name in self._found:
                if secret in value:
                    value = value.replace(secret, f"[{name} hidden]")
            return value
        if isinstance(value, Mapping):
            return {self.hidden(key): self.hidden(item) for key, item in value.items()}
        return [self.hidden(item) for item in value] if isinstance(value, list | tuple) else value


def _is_secret(name: str, value: str) -> bool:
    if name in _SECRET_NAMES or any(word in name for word in SECRET_WORDS):
        return True
    _, separator, rest = value.partition("://")
    user, at, _ = rest.partition("@")
    return bool(separator and at) and ":" in user and "/" not in user
