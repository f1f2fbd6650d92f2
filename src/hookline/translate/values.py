"""Values of model SDKs, read and copied alike whether they are JSON or the SDK's own objects.

Objects are known by where their class was defined, so that a caller who never loaded an SDK never
pays for it, and are copied one level at a time: a request may hold what cannot be copied.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from hookline.errors import TranslationError
from hookline.wire.model import Change

C = TypeVar("C", bound=Change)


class JSONCall(dict[str, Any]):
    """The arguments of a call of a model: hooks' answers to it are JSON.

    ``api`` is the name of the translator that reads it; arguments alone do not always tell.
    """

    def __init__(self, api: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self.api = api


class SDKCall(JSONCall):
    """The arguments of a call of an SDK's client: hooks' answers to it are the SDK's own
    objects."""


def is_object(value: object, package: str, *kinds: str) -> bool:
    """Whether a value is an object of a package's class, or of one derived from it; of one of
    these classes, if any are named."""
    names = _classes_in(cast(Any, type(value)), package)
    return not names.isdisjoint(kinds) if kinds else bool(names)


def get(value: object, name: str) -> Any:
    """A field of JSON or of an object, None when it is absent."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def get_list(value: object, name: str) -> list[Any]:
    """A field that must hold a list, empty when absent; raises TranslationError otherwise."""
    found = get(value, name)
    if found is not None and not isinstance(found, list | tuple):
        raise TranslationError(f"{name} must be a list, not {type(found).__name__}")
    return list(found or ())


def put(value: Any, changes: Mapping[str, Any]) -> Any:
    """A copy with some fields changed, all else the identical objects; without changes the value
    itself. None takes a field out of JSON."""
    if not changes:
        return value
    if isinstance(value, Mapping):
        kept = {**value, **changes}
        left = {name: kept[name] for name in kept if name not in changes or kept[name] is not None}
        return type(value)(value.api, left) if isinstance(value, JSONCall) else left
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **changes)
    return value.model_copy(update=dict(changes))


def read_change(read: Callable[[object], C], name: str, hook: object) -> C:
    """What a hook says of a value; raises TranslationError when that is malformed."""
    try:
        return read(hook)
    except ValueError as error:
        raise TranslationError(f"{name} {error}") from None


@lru_cache(maxsize=1024)
def _classes_in(kind: type, package: str) -> frozenset[str]:
    inside = (base for base in kind.__mro__ if base.__module__.partition(".")[0] == package)
    return frozenset(base.__name__ for base in inside)
