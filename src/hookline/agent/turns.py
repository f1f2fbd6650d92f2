"""A conversation that belongs to no API: turns of texts, tool calls, their results and media.

What only one API understands of a model's turn (thoughts, signatures, encrypted reasoning) is in
``native``, the message as that API gave it. Requests to the same API repeat that message, requests
to any other have the parts. What providers put into turns is JSON, so a history can be stored:
``msgspec.json.encode(history)``, ``msgspec.json.decode(stored, type=list[Turn])``.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.calls.tool import text_of

Role: TypeAlias = Literal["user", "model", "system"]


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Text that a person reads."""

    text: str


class Media(msgspec.Struct, frozen=True, tag="media"):
    """An image, a recording or a document, for any model."""

    mime_type: str
    data: bytes


class Opaque(msgspec.Struct, frozen=True, tag="opaque"):
    """A part in the form of one API, as a tool or a caller gave it."""

    value: Any


class FunctionCall(msgspec.Struct, frozen=True, tag="call"):
    """A tool call that the model asks for. ``problem`` says why it cannot run: its arguments are
    not a JSON object, or were cut off."""

    name: str
    args: dict[str, Any]
    id: str | None = None
    problem: str | None = None


def name_call(call: FunctionCall) -> str:
    """Return the id of a call for hooks and the transcript; made up here if the API gives none."""
    return call.id or f"call_{id(call):x}"


class CallResult(msgspec.Struct, frozen=True, tag="result"):
    """The result of a tool call; ``attached`` is what it holds beside its text."""

    call: FunctionCall
    text: str
    is_error: bool = False
    attached: tuple[Media | Opaque, ...] = ()


class Native(msgspec.Struct, frozen=True):
    """A turn as one API has it: the JSON of its message."""

    api: str
    message: dict[str, Any]


Part: TypeAlias = Text | Media | Opaque | FunctionCall | CallResult


class Turn(msgspec.Struct, frozen=True):
    """One message of a conversation."""

    role: Role
    parts: tuple[Part, ...] = ()
    native: Native | None = None

    @property
    def text(self) -> str:
        """The text that a person reads."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[FunctionCall, ...]:
        """The tool calls it asks for, in order."""
        return tuple(part for part in self.parts if isinstance(part, FunctionCall))

    def message_for(self, api: str) -> dict[str, Any] | None:
        """Return the message as this API gave it; None if the turn is not from this API."""
        return self.native.message if self.native is not None and self.native.api == api else None


def text_turn(role: Role, text: str) -> Turn:
    """Make a turn of one text."""
    return Turn(role, (Text(text),))


def read_part(value: object) -> Text | Media | Opaque:
    """Read a part that a tool returned: a text, a part of this module, or a part of some API."""
    if isinstance(value, Text | Media | Opaque):
        return value
    if isinstance(value, str):
        return Text(value)
    text = value.get("text") if isinstance(value, Mapping) else getattr(value, "text", None)
    return Text(text) if isinstance(text, str) else Opaque(value)


def result_of(call: FunctionCall, content: object, *, is_error: bool) -> CallResult:
    """Make a call's result from what the tool returned: a text or a list of parts."""
    listed = content if isinstance(content, list | tuple) else [content]
    parts = [read_part(value) for value in listed]
    texts = [part.text for part in parts if isinstance(part, Text)]
    attached = tuple(part for part in parts if not isinstance(part, Text))
    return CallResult(call, "\n\n".join(texts), is_error, attached)


def plain_json(value: object) -> Any:
    """Return the JSON of an SDK's object, and anything else as it is."""
    if hasattr(value, "to_dict"):
        # OpenAI's and Anthropic's: all that the API gave, also what their types do not declare.
        return value.to_dict(warnings=False)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value


def as_neutral(part: Media | Opaque) -> Media | Text:
    """Return a part in a form that any API takes: the media it holds in another API's form, else
    its JSON as text."""
    if isinstance(part, Media):
        return part
    value = plain_json(part.value)
    fields = value if isinstance(value, Mapping) else {}
    inline = fields.get("inlineData") or fields.get("inline_data")
    source, image = fields.get("source"), fields.get("image_url")
    mime_type = data = None
    if isinstance(inline, Mapping):
        mime_type, data = inline.get("mimeType") or inline.get("mime_type"), inline.get("data")
    elif isinstance(source, Mapping) and source.get("type") == "base64":
        mime_type, data = source.get("media_type"), source.get("data")
    elif isinstance(image, Mapping):
        found = re.fullmatch(r"data:([^;,]+);base64,(.*)", str(image.get("url")), re.DOTALL)
        mime_type, data = found.groups() if found else (None, None)
    if isinstance(data, str):
        data = _decode_base64(data)
    if isinstance(mime_type, str) and isinstance(data, bytes):
        return Media(mime_type, data)
    return Text(text_of(value))


def describe_media(media: Media) -> str:
    """Describe media in words, for an API that does not take their type."""
    if media.mime_type.startswith("text/"):
        return media.data.decode("utf-8", errors="replace")
    return f"[{media.mime_type}, {len(media.data)} bytes: this model cannot be shown it]"


def encode_base64(data: bytes) -> str:
    """Encode bytes as JSON APIs take them."""
    return base64.b64encode(data).decode("ascii")


def give_ids(turns: Iterable[Turn], *, api: str, accepted: re.Pattern[str]) -> Iterator[Turn]:
    """Yield the turns with an id that the API accepts on each call and its result.

    Another API's calls may have no id, or one of another form; ids that this API gave stay.
    """
    waiting: list[tuple[FunctionCall, FunctionCall]] = []
    for place, turn in enumerate(turns):
        parts: list[Part] = []
        for number, part in enumerate(turn.parts):
            if isinstance(part, FunctionCall):
                is_accepted = part.id is not None and accepted.fullmatch(part.id) is not None
                if is_accepted or turn.message_for(api) is not None:
                    named = part
                else:
                    named = msgspec.structs.replace(part, id=f"call_{place}_{number}")
                waiting.append((part, named))
                parts.append(named)
            elif isinstance(part, CallResult):
                pair = next((pair for pair in waiting if pair[0] == part.call), None)
                if pair is not None:
                    waiting.remove(pair)
                    part = msgspec.structs.replace(part, call=pair[1])
                parts.append(part)
            else:
                parts.append(part)
        yield msgspec.structs.replace(turn, parts=tuple(parts))


def transcribe(turns: Iterable[Turn]) -> list[Turn]:
    """Return the turns with calls and results in words, for a request that declares no tools."""
    return [
        Turn(turn.role, tuple(worded for part in turn.parts for worded in _put_in_words(part)))
        for turn in turns
    ]


def _put_in_words(part: Part) -> Sequence[Part]:
    if isinstance(part, FunctionCall):
        return [Text(f"[called {part.name} with {text_of(part.args)}]")]
    if isinstance(part, CallResult):
        word = "error" if part.is_error else "result"
        return [Text(f"[{word} of {part.call.name}: {part.text}]"), *part.attached]
    return [part]


def _decode_base64(text: str) -> bytes | None:
    standard = text.translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except binascii.Error:
        return None
