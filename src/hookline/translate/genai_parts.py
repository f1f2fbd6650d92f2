"""Which parts of a content hooks may see, and how new text takes their place.

A text part is one with text that is no thought; an empty text counts, so that what hooks are shown
and what they send back can be told apart part by part.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hookline.errors import TranslationError
from hookline.translate.genai_forms import Form, build, build_typed, field, is_typed, with_fields

# What describes a part; anything else in it is something the part carries besides its text.
_ABOUT_THE_TEXT = frozenset({
    "text", "thought", "thoughtSignature", "partMetadata", "speechMetadata",
    "thought_signature", "part_metadata", "speech_metadata",
})  # fmt: skip


def is_part(value: object) -> bool:
    """Whether the SDK takes a value for a part: text, a part, a file or an image."""
    if isinstance(value, str | Mapping) or is_typed(value, "Part", "File"):
        return True
    return any(base.__module__.startswith("PIL.") for base in type(value).__mro__)


def check_parts(parts: Sequence[object]) -> None:
    """Raises TranslationError for a list that holds something other than parts."""
    for part in parts:
        if not is_part(part):
            raise TranslationError(f"a content part cannot be {type(part).__name__}")


def visible_texts(parts: Sequence[object]) -> list[str]:
    """The text of each text part."""
    return [text for part in parts if (text := _visible_text(part)) is not None]


def put_texts(parts: Sequence[Any], texts: Sequence[str], *, form: Form) -> list[Any]:
    """The parts with these texts for the old: each in its place if there are as many, otherwise
    all at the place of the first; new parts are in ``form``."""
    places = [place for place, part in enumerate(parts) if _visible_text(part) is not None]
    if len(places) == len(texts):
        new = dict(zip(places, texts, strict=True))
        return [_with_text(p, new[i]) if i in new else p for i, p in enumerate(parts)]
    first = places[0] if places else _after_thoughts(parts)
    before = list(parts[:first])
    after = [kept for part in parts[first:] if (kept := _without_text(part)) is not None]
    return [*before, *_first_texts(parts, places, texts, form), *after]


def text_part(text: str, *, form: Form) -> Any:
    """A part that holds a text."""
    return build(form, "Part", {"text": text})


def as_part(value: Any, *, form: Form) -> Any:
    """A bare entry in the form that a content's ``parts`` demand."""
    if isinstance(value, str):
        return text_part(value, form=form)
    if isinstance(value, Mapping) or is_typed(value, "Part"):
        return value
    if is_typed(value, "File"):
        file = build_typed("FileData", file_uri=value.uri, mime_type=value.mime_type)
        return build_typed("Part", file_data=file)
    return build_typed("Part", value)


def _visible_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    text = field(part, "text")
    return text if isinstance(text, str) and not field(part, "thought") else None


def _with_text(part: Any, text: str) -> Any:
    if isinstance(part, str):
        return text
    return part if field(part, "text") == text else with_fields(part, {"text": text}, form="camel")


def _first_texts(
    parts: Sequence[Any], places: Sequence[int], texts: Sequence[str], form: Form
) -> list[Any]:
    """The new texts as parts; the first keeps what is known about the text it replaces."""
    new = [text_part(text, form=form) for text in texts]
    if new and places and not _carries_more(parts[places[0]]):
        new[0] = _with_text(parts[places[0]], texts[0])
    return new


def _without_text(part: Any) -> Any | None:
    if _visible_text(part) is None:
        return part
    return with_fields(part, {"text": None}, form="camel") if _carries_more(part) else None


def _carries_more(part: Any) -> bool:
    if isinstance(part, str):
        return False
    names = part if isinstance(part, Mapping) else type(part).model_fields
    return any(name not in _ABOUT_THE_TEXT and field(part, name) is not None for name in names)


def _after_thoughts(parts: Sequence[Any]) -> int:
    """Where text goes in a content that has none: models write it before their calls."""
    places = (place for place, part in enumerate(parts) if not field(part, "thought"))
    return next(places, len(parts))
