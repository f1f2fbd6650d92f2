"""Messages whose content is a text or a list of blocks, as most APIs have them.

A *text block* is a bare text, or a block of a type that hooks are shown. When a text changes, what
is known about it (its citations, its tokens) goes with it, since it repeats the text; marks that
belong to the place, as those of a cache, stay.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline.errors import TranslationError
from hookline.translate.values import get, put
from hookline.wire.model import Role

# What a block or message says about its text, and would repeat of it.
ABOUT_THE_TEXT = ("annotations", "citations", "logprobs", "parsed")
_MARK = "cache_control"

MakeText = Callable[[str], Any]


def drop_notes(value: Any) -> dict[str, Any]:
    """The changes that take what is known about a text out of the value that holds it."""
    return {
        name: [] if name == "annotations" else None for name in ABOUT_THE_TEXT if get(value, name)
    }


def read_texts(content: object, types: Mapping[str, str]) -> list[str]:
    """The texts of a content; ``types`` are the types of text blocks, each with the name of the
    field that holds the text. Raises TranslationError for a content of no known shape."""
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list | tuple):
        raise TranslationError(f"content must be a text or a list, not {type(content).__name__}")
    return [text for block in content if (text := text_of_block(block, types)) is not None]


def text_of_block(block: object, types: Mapping[str, str]) -> str | None:
    """The text that hooks are shown of a block, None for a block that is none of text."""
    if isinstance(block, str):
        return block
    kind = get(block, "type")
    if not isinstance(kind, str):
        raise TranslationError(f"content cannot hold {type(block).__name__} without a type")
    name = types.get(kind)
    if name is None:
        return None
    text = get(block, name)
    if text is not None and not isinstance(text, str):
        raise TranslationError(f"a block's {name} must be a string, not {type(text).__name__}")
    return text or ""


def put_texts(content: Any, texts: Sequence[str], types: Mapping[str, str], make: MakeText) -> Any:
    """The content with these texts for the old: each in its place if there are as many, otherwise
    all at the place of the first. ``make`` makes a new text block."""
    if content is None or isinstance(content, str):
        return "".join(texts)
    places = [n for n, block in enumerate(content) if text_of_block(block, types) is not None]
    if len(places) == len(texts):
        same = list(content)
        for place, text in zip(places, texts, strict=True):
            same[place] = with_block_text(content[place], text, types)
        return same
    new = [make(text) for text in texts]
    first = places[0] if places else 0
    if places and new:
        new[0] = with_block_text(content[first], texts[0], types)
    after = [block for n, block in enumerate(content) if n >= first and n not in places]
    # A mark says up to where something holds, which is no matter of the text that it stood on.
    marks = (get(content[n], _MARK) for n in reversed(places) if not isinstance(content[n], str))
    mark = next(filter(None, marks), None)
    if mark is not None and new and not isinstance(new[-1], str):
        new[-1] = put(new[-1], {_MARK: mark})
    return [*content[:first], *new, *after]


def with_block_text(block: Any, text: str, types: Mapping[str, str]) -> Any:
    """A text block with another text; the same block if it is the same text."""
    if text_of_block(block, types) == text:
        return block
    if isinstance(block, str):
        return text
    return put(block, {types[get(block, "type")]: text, **drop_notes(block)})


class BlockForm:
    """``MessageForm`` of messages with a role and a content of blocks.

    ``roles`` are those of messages that hooks are shown, each with the role they are shown;
    ``names`` are the API's for those that hooks may add, ``types`` those of its text blocks.
    """

    def __init__(
        self,
        roles: Mapping[str, Role],
        names: Mapping[Role, str],
        types: Mapping[str, str],
        make_block: Callable[[Role, str], Any],
        make_message: Callable[[str, str], Any] = lambda role, text: {
            "role": role,
            "content": text,
        },
    ) -> None:
        self._roles, self._names, self._types = roles, names, types
        self._make_block, self._make_message = make_block, make_message

    def role(self, message: Any) -> Role:
        return self._roles.get(get(message, "role"), "user")

    def text(self, message: Any) -> str:
        if get(message, "role") not in self._roles:
            return ""
        return "".join(read_texts(get(message, "content"), self._types))

    def with_text(self, message: Any, role: Role, text: str) -> Any:
        changes = {"content": self._put(message, role, [text]), **drop_notes(message)}
        if role != self.role(message):
            changes["role"] = self._names[role]
        return put(message, changes)

    def without_text(self, message: Any) -> Any | None:
        content = get(message, "content")
        left = [] if isinstance(content, str) else self._put(message, self.role(message), [])
        if not left and not self.carries_more(message):
            return None
        return put(message, {"content": left or self._empty(content), **drop_notes(message)})

    def new(self, role: Role, text: str) -> Any:
        return self._make_message(self._names[role], text)

    def carries_more(self, message: Any) -> bool:
        """Whether a message holds something beside its content that must survive."""
        return any(get(message, name) for name in ("tool_calls", "function_call", "audio"))

    def _put(self, message: Any, role: Role, texts: Sequence[str]) -> Any:
        make = lambda text: self._make_block(role, text)  # noqa: E731
        return put_texts(get(message, "content"), texts, self._types, make)

    def _empty(self, content: Any) -> Any:
        return "" if isinstance(content, str) else None
