"""One way to read, copy and build Gemini values whether they are JSON, snake_case dicts or typed.

Field names are given as the JSON has them (``maxOutputTokens``). Typed values are known by where
their class was defined, so a caller who never loaded the SDK never pays for it, and are copied one
level at a time, because a config may hold things that cannot be copied (callables, sessions).
"""

import enum
import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec

from hookline.errors import TranslationError
from hookline.translate.genai import GenerateContentParameters
from hookline.wire.model import Change, well_formed

Form: TypeAlias = Literal["camel", "snake", "typed"]

_TYPES_MODULE = "google.genai.types"
_HUMP = re.compile(r"(?=[A-Z])")

E = TypeVar("E", bound=enum.Enum)


def is_typed(value: object, *kinds: str) -> bool:
    """Whether a value is an object of the SDK, of one of these classes if any are given."""
    names = _sdk_classes(cast(Any, type(value)))
    return "BaseModel" in names and (not kinds or not names.isdisjoint(kinds))


def form_of(value: object, otherwise: Form) -> Form:
    """The form a value is in; ``otherwise`` where the value itself does not tell."""
    if is_typed(value):
        return "typed"
    if isinstance(value, GenerateContentParameters):
        # Whoever works with typed objects has loaded their module.
        return "typed" if _TYPES_MODULE in sys.modules else "snake"
    if not isinstance(value, Mapping):
        return otherwise
    if any("_" in str(name) for name in value):
        return "snake"
    if otherwise == "camel" or any(_HUMP.search(str(name)) for name in value):
        return "camel"
    return "snake"


def field(value: object, name: str) -> Any:
    """A field of a value in any form, None when it is absent."""
    if isinstance(value, Mapping):
        return value[name] if name in value else value.get(_snake(name))
    return getattr(value, _snake(name), None)


def object_field(value: object, name: str) -> Any:
    """A field that must hold an object; raises TranslationError for anything else."""
    found = field(value, name)
    if found is not None and not isinstance(found, Mapping) and not is_typed(found):
        raise TranslationError(f"{name} must be an object, not {type(found).__name__}")
    return found


def list_field(value: object, name: str) -> list[Any]:
    """A field that must hold a list, empty when absent; raises TranslationError otherwise."""
    found = field(value, name)
    if found is not None and not isinstance(found, list | tuple):
        raise TranslationError(f"{name} must be a list, not {type(found).__name__}")
    return list(found or ())


def objects_field(value: object, name: str) -> list[Any]:
    """A field that must hold a list of objects; raises TranslationError otherwise."""
    found = list_field(value, name)
    for item in found:
        if not isinstance(item, Mapping) and not is_typed(item):
            raise TranslationError(f"{name} cannot hold {type(item).__name__}")
    return found


def shown(value: object, kind: type[Change], names: Iterable[str] = ()) -> dict[str, Any]:
    """The fields that a hook may change (``names``: only these) and that are set, as plain JSON."""
    found = {name: plain(field(value, name)) for name in names or kind.__struct_encode_fields__}
    return well_formed({name: item for name, item in found.items() if item is not None}, kind)


def plain(value: Any) -> Any:
    """A value without the SDK's enums, and with lists of its own."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def with_fields(value: Any, changes: Mapping[str, Any], *, form: Form) -> Any:
    """A copy with some fields changed (None: gone), all else the identical objects.

    ``form`` is the spelling of new keys in a dict that does not tell by its own.
    """
    if isinstance(value, Mapping):
        return _with_keys(value, changes, form_of(value, form))
    renamed = {_snake(name): item for name, item in changes.items()}
    if isinstance(value, GenerateContentParameters):
        return msgspec.structs.replace(value, **renamed)
    return value.model_copy(update=renamed)


def build(form: Form, kind: str, fields: Mapping[str, Any]) -> Any:
    """A new value of an SDK class in the wanted form; its fields must be in that form already."""
    if form == "camel":
        return dict(fields)
    renamed = {_snake(name): item for name, item in fields.items()}
    return renamed if form == "snake" else build_typed(kind, **renamed)


def build_typed(kind: str, *values: Any, **fields: Any) -> Any:
    """A new object of an SDK class; raises TranslationError for what the class refuses."""
    try:
        return getattr(sdk_types(), kind)(*values, **fields)
    except (TypeError, ValueError) as error:
        raise TranslationError(f"the SDK does not take it for a {kind}: {error}") from None


def enum_word(form: Form, kind: str, word: str) -> Any:
    """A word of one of the SDK's enums: a member in typed form, the word itself otherwise."""
    return _member(getattr(sdk_types(), kind), word) if form == "typed" else word


def sdk_types() -> Any:
    """The SDK's module of types, which has every class that is built here."""
    return importlib.import_module(_TYPES_MODULE)


def _with_keys(value: Mapping[str, Any], changes: Mapping[str, Any], form: Form) -> dict[str, Any]:
    copy = dict(value)
    for name, item in changes.items():
        spelled = _snake(name) if form == "snake" else name
        key = next((key for key in (name, _snake(name)) if key in copy), spelled)
        if item is None:
            copy.pop(key, None)
        else:
            copy[key] = item
    return copy


def _member(kind: type[E], word: str) -> E:
    known = kind.__members__.get(word.upper())
    if known is not None:
        return known
    # As the SDK does with a word that is newer than itself, less the warning: a hook's choice of
    # words must not raise where warnings are errors.
    unknown = str.__new__(kind, word)  # type: ignore[type-var]
    unknown._name_ = word
    unknown._value_ = word
    return unknown


@lru_cache(maxsize=256)
def _sdk_classes(kind: type) -> frozenset[str]:
    sdk = (base for base in kind.__mro__ if base.__module__.startswith("google.genai."))
    return frozenset(base.__name__ for base in sdk)


@lru_cache(maxsize=256)
def _snake(name: str) -> str:
    return _HUMP.sub("_", name).lower()
