"""Describes mistakes in settings: values that do not have the type of their key, and unknown keys
that were meant to decide policy, misspelt or in the wrong object.

A guard with ``onfailure`` fails open, as only ``onFailure`` is read, so such keys are reported
wherever settings are read. This module is imported at the first mistake or unknown key.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from hookline._support.nearest import did_you_mean, is_slip, only_one
from hookline.settings.jsonc import Path
from hookline.settings.types import Definition, HooklineSection, HooksConfig, HooksSection, Settings
from hookline.wire.hooks import KINDS, HookConfig, Key, Redaction, keys_of

# Objects in which keys of the others are looked for, and what to do with such a key.
_REMEDIES: Mapping[type[msgspec.Struct], str] = {
    Settings: "write it at the top of the settings",
    HooksSection: 'write it into "hooks"',
    Definition: 'write it in a definition, beside its "hooks"',
    HookConfig: 'write it into each hook that is in "hooks"',
}
_FOREIGN_OBJECTS = (Definition, HookConfig)
_WITH_STRAYS = frozenset({*_REMEDIES, HooksConfig, HooklineSection})
_NO_CONDITION = "native hooks have no condition: look at tool_input in the script"
_SPOKEN: Mapping[type[msgspec.Struct], str] = {
    Settings: "the settings",
    HooksSection: "hooks",
    HooksConfig: "hooksConfig",
    Redaction: "security.environmentVariableRedaction",
    Definition: "a definition",
    HookConfig: "a hook",
}


class Misfit(NamedTuple):
    """A value of the wrong type, by its path below its key: what it must be, what was done about
    it if that is not the usual thing, and the place to show."""

    path: Path
    must: str
    consequence: str = ""
    place: Path = ()


def find_misfits(key: Key, value: Any, *, unit: str) -> tuple[list[Misfit], Any]:
    """Return what is wrong with a value that does not have the type of its key, and what of it can
    be used: the good items of an object or of a list of names, None for nothing. ``unit`` is that
    of times."""
    type_, must = _bare_type(key.type), key.rules.must
    if issubclass(get_origin(type_) or object, Mapping):
        if isinstance(value, Mapping):
            must = must or _speak_type(get_args(type_)[1], unit)
            bad = [
                item
                for item, item_value in value.items()
                if _find_fault({item: item_value}, key.type)
            ]
            good = {item: item_value for item, item_value in value.items() if item not in bad}
            return [Misfit((item,), must, "it was ignored", (item,)) for item in bad], good
        must = ""
    must, place = must or _speak_type(type_, unit), _read_place(_find_fault(value, key.type))
    if key.rules.each and isinstance(value, list | tuple):
        consequence = "values that are not strings were ignored"
        return [Misfit((), must, consequence, place)], [
            each for each in value if isinstance(each, str)
        ]
    return [Misfit((), must, place=place)], None


def _bare_type(type_: Any) -> Any:
    """Return a type without its annotations, and without what stands for a key that is left out."""
    if get_origin(type_) is Annotated:
        return _bare_type(get_args(type_)[0])
    kinds = [each for each in get_args(type_) if each not in (type(None), msgspec.UnsetType)]
    is_optional = len(kinds) == 1 < len(get_args(type_))
    return _bare_type(kinds[0]) if is_optional else type_


def _find_fault(value: Any, type_: Any) -> str:
    """Return msgspec's message about a value, "" if the value has the type."""
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _read_place(fault: str) -> Path:
    """Return the item that a message is about: msgspec ends it with the path."""
    item = fault.rpartition(" - at `$[")[2].removesuffix("]`")
    return (int(item),) if item.isdigit() else ()


def _speak_type(type_: Any, unit: str) -> str:
    type_ = _bare_type(type_)
    kind = get_origin(type_) or type_
    if kind is Literal:
        return " or ".join(f'"{word}"' for word in get_args(type_))
    words: dict[Any, str] = {
        bool: "true or false",
        str: "a string",
        float: f"a number of {unit} above 0",
        list: "a list of strings",
        tuple: "a list of strings",
    }
    return words.get(kind, "an object of strings")


class Slip(NamedTuple):
    """A key that nothing reads but that was probably meant to decide policy: the message, what
    happens without it and what to do. ``target`` is the key that decides policy, ``is_here``
    whether it belongs in the same object."""

    target: str
    is_here: bool
    message: str
    consequence: str
    remedy: str

    @property
    def loses_hooks(self) -> bool:
        """True if it holds hooks, which are lost with it."""
        return self.target == "hooks"


def speak_of(kind: type[msgspec.Struct]) -> str:
    """Return the name of an object in messages."""
    spoken = getattr(kind, "spoken", "") or kind.__name__.lower()
    return _SPOKEN.get(_place_of(kind), spoken)


def find_slip(
    key: str,
    kind: type[msgspec.Struct],
    *,
    is_foreign: bool = False,
    is_registered: bool = False,
) -> Slip | None:
    """Return what an unknown key of an object was meant to be; None if it was not meant to decide
    policy. ``is_foreign`` is for settings of another dialect, ``is_registered`` for a hook of
    code."""
    place = _place_of(kind)
    here = _find_policy(place, is_foreign=is_foreign)
    strays: dict[str, tuple[type[msgspec.Struct], Key]] = {}
    for other in _FOREIGN_OBJECTS if is_foreign else _REMEDIES:
        if place in _WITH_STRAYS and other is not place:
            policy = _find_policy(other, is_foreign=True)
            strays |= {name: (other, each) for name, each in policy.items() if each.rules.stray}
    if place is HookConfig and not is_foreign:
        strays["if"] = (HookConfig, keys_of(HookConfig, is_foreign=True)["if"])
    strays = {name: stray for name, stray in strays.items() if name not in here}
    names = (*here, *strays)
    # An exact match comes before any misspelling.
    target = key if key in strays else next((name for name in names if is_slip(key, name)), None)
    if target is None and not getattr(kind, "is_shared", False):
        target = only_one(key, names)
    if target is None or key in here:
        return None
    message = f"is not a key of {speak_of(kind)}"
    if target in here:
        return Slip(target, True, message, here[target].rules.loss, did_you_mean([target]))
    home, stray = strays[target]
    remedy = _explain_home(target, home, place, is_foreign=is_foreign, is_registered=is_registered)
    if target != key:
        remedy = f"it is spelt {target}: {remedy}"
    return Slip(target, False, message, stray.rules.loss, remedy)


def _explain_home(
    name: str,
    home: type[msgspec.Struct],
    place: type[msgspec.Struct],
    *,
    is_foreign: bool,
    is_registered: bool,
) -> str:
    """Say what to do with a key that belongs in another object."""
    if name == "if" and not is_foreign:
        return _NO_CONDITION
    if is_registered and home is Definition:
        return f"pass {name}=… beside the hook"
    if is_registered and home is Settings:
        return f"pass {name}=True to what loads the hooks"
    if home is HooksSection and place in _FOREIGN_OBJECTS:
        listed = "disabled" if name == "enabled" else name
        return f'name the hook in "hooks": {{"{listed}": […]}}'
    return _REMEDIES[home]


def _place_of(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    return HookConfig if issubclass(kind, HookConfig) else kind


def _find_policy(kind: type[msgspec.Struct], *, is_foreign: bool) -> dict[str, Key]:
    """Return the keys of an object that decide policy; those of hooks of all types."""
    kinds = KINDS.values() if kind is HookConfig else (kind,)
    return {
        name: key
        for each in kinds
        for name, key in keys_of(each, is_foreign=is_foreign).items()
        if key.rules.loss
    }
