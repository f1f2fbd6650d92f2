"""Reads and copies values of model SDKs, whether they are JSON or the SDK's own objects.

Objects are recognised by the module of their class, so that a caller who never loads an SDK never
pays for it. They are copied one level at a time: a request may hold what cannot be copied.
"""

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import Any, TypeVar, cast

import msgspec

from hookline.errors import TranslationError
from hookline.wire.model import Change

C = TypeVar("C", bound=Change)


class JSONCall(dict[str, Any]):
    """The arguments of a model call, which hooks answer with JSON.

    ``api`` names the translator that reads it; the arguments alone do not always tell.
    """

    def __init__(self, api: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self.api = api


class SDKCall(JSONCall):
    """The arguments of a call of an SDK's client, which hooks answer with the SDK's objects."""


def is_object(value: object, package: str, *kinds: str) -> bool:
    """True if the class of a value, or a base of it, is from the package; one of ``kinds``, if any
    are named."""
    names = _list_classes(cast(Any, type(value)), package)
    return not names.isdisjoint(kinds) if kinds else bool(names)


def is_readable(value: object) -> bool:
    """True for values whose fields can be read and copied here: a JSON object, a pydantic model, a
    dataclass."""
    # The check for a Mapping takes longer than all the rest.
    if type(value) is dict or isinstance(value, Mapping):
        return True
    if isinstance(value, type):
        return False
    return hasattr(value, "model_copy") or dataclasses.is_dataclass(value)


def get(value: object, name: str) -> Any:
    """A field of JSON or of an object, None when it is absent or not given."""
    if type(value) is dict or isinstance(value, Mapping):
        found = value.get(name)
    else:
        found = getattr(value, name, None)
    if found is None or type(found) in (str, list, dict):
        return found
    # The SDKs' classes for an argument that is left out.
    return None if type(found).__name__ in ("NotGiven", "Omit") else found


def get_text(value: object, name: str) -> str:
    """A field that must hold a text, empty when absent; raises TranslationError otherwise."""
    found = get(value, name)
    if found is not None and not isinstance(found, str):
        raise TranslationError(f"{name} must be a string, not {type(found).__name__}")
    return found or ""


def get_list(value: object, name: str) -> list[Any]:
    """A field that must hold a list, empty when absent; raises TranslationError otherwise."""
    found = get(value, name)
    if found is not None and not isinstance(found, list | tuple):
        raise TranslationError(f"{name} must be a list, not {type(found).__name__}")
    return list(found or ())


def get_objects(value: object, name: str) -> list[Any]:
    """A field that must hold a list of objects; raises TranslationError otherwise."""
    found = get_list(value, name)
    for item in found:
        if not is_readable(item):
            raise TranslationError(f"{name} cannot hold {type(item).__name__}")
    return found


def get_fields(value: Any) -> Mapping[str, Any]:
    """All fields of a value, including those that an SDK's class does not declare."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name, None) for each in dataclasses.fields(value)}
    return {**getattr(value, "__dict__", {}), **(getattr(value, "model_extra", None) or {})}


def holds_text(value: object) -> bool:
    """True if there is a text anywhere in a value, apart from types and ids."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(holds_text, value))
    if is_readable(value):
        fields = get_fields(value).items()
        return any(
            holds_text(held)
            for name, held in fields
            if name not in ("type", "id") and not str(name).endswith("_id")
        )
    # An object of an unknown class may hold anything.
    return value is not None and not isinstance(value, int | float)


def refuse_text(value: Any, known: Container[str], found: str) -> None:
    """Raise TranslationError if a value of which hooks are shown nothing has a text in a field that
    is not ``known``: it would pass every guard."""
    fields = get_fields(value).items()
    unknown = [str(name) for name, held in fields if name not in known and holds_text(held)]
    if unknown:
        raise TranslationError(f"{found}, but {', '.join(unknown)}")


def put(value: Any, changes: Mapping[str, Any]) -> Any:
    """A copy with some fields changed, all else the identical objects; without changes the value
    itself. None removes a field from JSON."""
    if not changes:
        return value
    if isinstance(value, Mapping):
        kept = {**value, **changes}
        left = {name: kept[name] for name in kept if name not in changes or kept[name] is not None}
        return type(value)(value.api, left) if isinstance(value, JSONCall) else left
    if hasattr(value, "model_copy"):
        return value.model_copy(update=dict(changes))
    return dataclasses.replace(value, **changes)


def read_change(read: Callable[[object], C], name: str, hook: object) -> C:
    """Read a hook's change of a value; raises TranslationError if it is malformed."""
    try:
        return read(hook)
    except ValueError as error:
        raise TranslationError(f"{name} {error}") from None


def are_same(edited: Sequence[Any], before: Sequence[Any]) -> bool:
    """Whether two lists hold the identical objects."""
    return len(edited) == len(before) and all(map(is_, edited, before))


@lru_cache(maxsize=1024)
def _list_classes(kind: type, package: str) -> frozenset[str]:
    inside = (base for base in kind.__mro__ if base.__module__.partition(".")[0] == package)
    return frozenset(base.__name__ for base in inside)
