"""Reads, copies and builds Gemini values, whether they are JSON, snake_case dicts or typed.

Field names are given as in the JSON (``maxOutputTokens``). Typed values are recognised by the
module of their class, so that a caller who never loads the SDK never pays for it. They are copied
one level at a time, because a config may hold things that cannot be copied (callables, sessions).

A text part is a part with text that is not a thought. An empty text counts, so that what hooks are
shown and what they send back can be compared part by part.
"""

import enum
import importlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, cast

import msgspec

from hookline.errors import TranslationError
from hookline.wire.model import Change, well_formed

Form: TypeAlias = Literal["camel", "snake", "typed"]

_TYPES_MODULE = "google.genai.types"
_HUMP = re.compile(r"(?=[A-Z])")
# What a part may carry; JSON with none of these is a part of some other API.
_CARRIED = (
    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"),
    *("codeExecutionResult", "toolCall", "toolResponse", "audioTranscription"),
)
_ABOUT_MEDIA = ("videoMetadata", "mediaResolution", "mediaProcessing")
# What describes a part; anything else in it is something the part carries besides its text.
_ABOUT_THE_TEXT = frozenset({
    "text", "thought", "thoughtSignature", "partMetadata", "speechMetadata",
    "thought_signature", "part_metadata", "speech_metadata",
})  # fmt: skip


class GenerateContentParameters(msgspec.Struct, frozen=True):
    """The arguments of ``generate_content``, for which the SDK has no public type.

    ``contents`` is anything the SDK takes; ``config`` a ``GenerateContentConfig`` or its dict.
    """

    api: ClassVar[str] = "genai"
    model: str = ""
    contents: Any = None
    config: Any = None


def is_typed(value: object, *kinds: str) -> bool:
    """Whether a value is an object of the SDK, of one of these classes if any are given."""
    names = _list_sdk_classes(cast(Any, type(value)))
    return "BaseModel" in names and (not kinds or not names.isdisjoint(kinds))


def form_of(value: object, otherwise: Form) -> Form:
    """The form of a value; ``otherwise`` if it cannot be told from the value."""
    if is_typed(value):
        return "typed"
    if isinstance(value, GenerateContentParameters):
        # A caller that works with typed objects has imported their module.
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
        return value[name] if name in value else value.get(_to_snake(name))
    return getattr(value, _to_snake(name), None)


def check_object(value: Any, name: str) -> Any:
    """The value, which must be an object or None; raises TranslationError for anything else."""
    if value is not None and not isinstance(value, Mapping) and not is_typed(value):
        raise TranslationError(f"{name} must be an object, not {type(value).__name__}")
    return value


def object_field(value: object, name: str) -> Any:
    """A field that must hold an object; raises TranslationError for anything else."""
    return check_object(field(value, name), name)


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


def refuse_unknown(value: Mapping[Any, Any], known: Iterable[str], *, found: str) -> None:
    """Raise TranslationError if JSON without the field that hooks are shown holds something in a
    field that this API does not have: it would be shown as empty."""
    names = spell_both(known)
    unknown = [str(name) for name, held in value.items() if held and name not in names]
    if unknown:
        raise TranslationError(f"{found}, but {', '.join(unknown)}")


def parts_field(content: object) -> list[Any]:
    """The parts of a content, empty when absent; raises TranslationError for anything else."""
    parts = list_field(content, "parts")
    if not parts and isinstance(content, Mapping):
        refuse_unknown(content, ("role", "parts"), found="a content has no parts")
    check_parts(parts)
    return parts


def show_fields(value: object, kind: type[Change], names: Iterable[str] = ()) -> dict[str, Any]:
    """The fields that a hook may change (``names``: only these) and that are set, as plain JSON."""
    found = {name: to_plain(field(value, name)) for name in names or kind.__struct_encode_fields__}
    return well_formed({name: item for name, item in found.items() if item is not None}, kind)


def read_fields(value: object, names: Iterable[str]) -> dict[str, Any]:
    """The fields of these names that are set."""
    return {name: held for name in names if (held := field(value, name)) is not None}


def list_set_fields(value: Any) -> dict[str, str]:
    """The names of the fields that are set, in snake_case -> as the value spells them."""
    names = value if isinstance(value, Mapping) else getattr(type(value), "model_fields", ())
    return {_to_snake(name): name for name in names if field(value, name) is not None}


def spell_both(names: Iterable[str]) -> frozenset[str]:
    """The names in camelCase and in snake_case."""
    return frozenset({*names, *map(_to_snake, names)})


def to_plain(value: Any) -> Any:
    """A value without the SDK's enums, in new lists."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def with_fields(value: Any, changes: Mapping[str, Any], *, form: Form) -> Any:
    """A copy with some fields changed (None: removed), all else the identical objects; without
    changes the value itself.

    ``form`` is the spelling of new keys in a dict whose own keys do not tell.
    """
    if not changes:
        return value
    if not isinstance(value, Mapping):
        renamed = {_to_snake(name): item for name, item in changes.items()}
        if isinstance(value, GenerateContentParameters):
            return msgspec.structs.replace(value, **renamed)
        return value.model_copy(update=renamed)
    copy, form = dict(value), form_of(value, form)
    for name, item in changes.items():
        spelled = _to_snake(name) if form == "snake" else name
        key = next((key for key in (name, _to_snake(name)) if key in copy), spelled)
        if item is None:
            copy.pop(key, None)
        else:
            copy[key] = item
    return copy


def set_fields(value: Any, kind: str, changes: Mapping[str, Any], *, form: Form) -> Any:
    """The value, or a new one for None, with these fields in the types that the SDK's class gives
    them; without changes the value itself."""
    if not changes:
        return value
    new = build(form, kind, changes)
    if value is None:
        return new
    return with_fields(value, {name: field(new, name) for name in changes}, form=form)


def build(form: Form, kind: str, fields: Mapping[str, Any]) -> Any:
    """A new value of an SDK class in the wanted form; its fields must be in that form already."""
    if form == "camel":
        return dict(fields)
    renamed = {_to_snake(name): item for name, item in fields.items()}
    return renamed if form == "snake" else build_typed(kind, **renamed)


def build_typed(kind: str, *values: Any, **fields: Any) -> Any:
    """A new object of an SDK class; raises TranslationError for what the class refuses."""
    try:
        return getattr(importlib.import_module(_TYPES_MODULE), kind)(*values, **fields)
    except (TypeError, ValueError) as error:
        raise TranslationError(f"google-genai cannot make a {kind} of this: {error}") from None


def enum_word(form: Form, kind: str, word: str) -> Any:
    """A word of one of the SDK's enums: a member in typed form, the word itself otherwise."""
    if form != "typed":
        return word
    members = getattr(importlib.import_module(_TYPES_MODULE), kind)
    known = members.__members__.get(word.upper())
    if known is not None:
        return known
    # As the SDK does with a word that is newer than itself, without its warning: a hook's word must
    # not raise if warnings are errors.
    unknown = str.__new__(members, word)
    unknown._name_ = unknown._value_ = word
    return unknown


def is_part(value: object) -> bool:
    """True if the SDK accepts a value as a part: text, a part, a file or an image."""
    if isinstance(value, str | Mapping) or is_typed(value, "Part", "File"):
        return True
    return any(base.__module__.startswith("PIL.") for base in type(value).__mro__)


def check_parts(parts: Sequence[object]) -> None:
    """Raise TranslationError if a list holds something other than parts."""
    for part in parts:
        # The check for a Mapping takes longer than all the rest.
        if type(part) is dict:
            if part.get("text").__class__ is str and part["text"]:
                continue
        elif isinstance(part, str) or is_typed(part, "Part"):
            continue
        if not is_part(part):
            raise TranslationError(f"a content part cannot be {type(part).__name__}")
        if isinstance(part, Mapping):
            text = field(part, "text")
            if text is not None and not isinstance(text, str):
                raise TranslationError(f"a part's text must be a string, not {type(text).__name__}")
            if not text and not any(field(part, name) for name in _CARRIED):
                known = (*_CARRIED, *_ABOUT_MEDIA, *_ABOUT_THE_TEXT)
                refuse_unknown(part, known, found="a part has no field of Gemini's parts")


def text_part(text: str, *, form: Form) -> Any:
    """A part that holds a text."""
    return build(form, "Part", {"text": text})


def as_part(value: Any, *, form: Form) -> Any:
    """A bare entry in the form that the ``parts`` of a content need."""
    if isinstance(value, str):
        return text_part(value, form=form)
    if isinstance(value, Mapping) or is_typed(value, "Part"):
        return value
    if is_typed(value, "File"):
        file = build_typed("FileData", file_uri=value.uri, mime_type=value.mime_type)
        return build_typed("Part", file_data=file)
    return build_typed("Part", value)


def visible_texts(parts: Sequence[object]) -> list[str]:
    """The text of each text part."""
    return [text for part in parts if (text := _read_visible_text(part)) is not None]


def put_texts(parts: Sequence[Any], texts: Sequence[str], *, form: Form) -> list[Any]:
    """The parts with these texts for the old: each in its place if there are as many, otherwise
    all at the place of the first; new parts are in ``form``."""
    places = [place for place, part in enumerate(parts) if _read_visible_text(part) is not None]
    if len(places) == len(texts):
        same = list(parts)
        for place, text in zip(places, texts, strict=True):
            same[place] = _with_text(parts[place], text)
        return same
    new = [text_part(text, form=form) for text in texts]
    if places:
        first = places[0]
        if new and not _carries_more(parts[first]):
            # The first keeps the other fields of the part, such as its signature.
            new[0] = _with_text(parts[first], texts[0])
    else:
        # Models write text after their thoughts and before their calls.
        spoken = (place for place, part in enumerate(parts) if not field(part, "thought"))
        first = next(spoken, len(parts))
    after = []
    for part in parts[first:]:
        if _read_visible_text(part) is None:
            after.append(part)
        elif _carries_more(part):
            after.append(with_fields(part, {"text": None}, form="camel"))
    return [*parts[:first], *new, *after]


def _read_visible_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    text = field(part, "text")
    return text if isinstance(text, str) and not field(part, "thought") else None


def _with_text(part: Any, text: str) -> Any:
    if isinstance(part, str):
        return text
    return part if field(part, "text") == text else with_fields(part, {"text": text}, form="camel")


def _carries_more(part: Any) -> bool:
    if isinstance(part, str):
        return False
    names = part if isinstance(part, Mapping) else type(part).model_fields
    return any(name not in _ABOUT_THE_TEXT and field(part, name) is not None for name in names)


@lru_cache(maxsize=256)
def _list_sdk_classes(kind: type) -> frozenset[str]:
    sdk = (base for base in kind.__mro__ if base.__module__.startswith("google.genai."))
    return frozenset(base.__name__ for base in sdk)


@lru_cache(maxsize=256)
def _to_snake(name: str) -> str:
    return _HUMP.sub("_", name).lower()
