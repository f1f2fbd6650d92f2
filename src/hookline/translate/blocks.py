"""Messages whose content is a text or a list of blocks, as most APIs have them.

A *text block* is a bare text, or a block of a type that hooks are shown. A block of an unknown type
is refused if it holds text: if it were left out, no guard would see it.

When a text changes, its citations and log probabilities are removed, since they repeat the text;
marks that belong to the place, such as those of a cache, stay.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hookline.errors import TranslationError
from hookline.translate.values import (
    get,
    get_text,
    holds_text,
    is_readable,
    put,
    refuse_text,
)
from hookline.wire.model import Role

# The fields of a block or message that repeat its text.
ABOUT_THE_TEXT = ("annotations", "citations", "logprobs", "parsed", "parsed_output")
# A mark says up to where the API caches; it does not depend on the text of its block.
_MARKS = ("cache_control", "prompt_cache_breakpoint")

MakeText = Callable[[str], Any]


def drop_notes(value: Any) -> dict[str, Any]:
    """The changes that remove the fields of a value which repeat its text."""
    return {
        name: [] if name == "annotations" else None for name in ABOUT_THE_TEXT if get(value, name)
    }


class Blocks:
    """The block types of an API. ``texts`` are the types of text blocks, each with the name of the
    field that holds the text; ``hidden`` are those that hooks are not shown; a new text goes after
    blocks of the types ``leading``."""

    def __init__(
        self,
        texts: Mapping[str, str],
        hidden: Collection[str],
        *,
        leading: Collection[str] = (),
    ) -> None:
        self._texts, self._hidden, self._leading = texts, frozenset(hidden), leading
        self._known = {"type", *texts.values(), *ABOUT_THE_TEXT, *_MARKS}

    def read(self, content: object) -> list[str]:
        """The texts of a content; raises TranslationError for one of unknown shape."""
        if isinstance(content, str):
            return [content]
        if content is None:
            return []
        if not isinstance(content, list | tuple):
            kind = type(content).__name__
            raise TranslationError(f"content must be a text or a list, not {kind}")
        return [text for block in content if (text := self.text(block)) is not None]

    def text(self, block: object) -> str | None:
        """The text that hooks are shown of a block, None if it is not a text block."""
        if isinstance(block, str):
            return block
        kind = get(block, "type") if is_readable(block) else None
        if not isinstance(kind, str):
            raise TranslationError(f"content cannot hold {type(block).__name__} without a type")
        name = self._texts.get(kind)
        if name is not None:
            text = get_text(block, name)
            if not text:
                refuse_text(block, self._known, f"a block of type {kind} has no {name}")
            return text
        if kind not in self._hidden and holds_text(block):
            raise TranslationError(f"content has a block of the unknown type {kind!r:.80}")
        return None

    def put(self, content: Any, texts: Sequence[str], make: MakeText) -> Any:
        """The content with these texts for the old: each in its place if there are as many,
        otherwise all at the place of the first. ``make`` makes a new text block."""
        if content is None or isinstance(content, str):
            return "".join(texts)
        places = [n for n, block in enumerate(content) if self.text(block) is not None]
        if len(places) == len(texts):
            new = [self._with_text(content[n], text) for n, text in zip(places, texts, strict=True)]
            replaced = dict(zip(places, new, strict=True))
            return self._without_empty([replaced.get(n, each) for n, each in enumerate(content)])
        if places:
            first = places[0]
            new = [self._make_like(content[first], text, make) for text in texts]
        else:
            first = next(
                (n for n, each in enumerate(content) if get(each, "type") not in self._leading),
                len(content),
            )
            new = [make(text) for text in texts]
        if places and new:
            new[0] = self._with_text(content[first], texts[0])
            if not isinstance(new[-1], str):
                marks = {name: self._find_last_mark(content, places, name) for name in _MARKS}
                new[-1] = put(new[-1], {name: mark for name, mark in marks.items() if mark})
        after = [block for n, block in enumerate(content) if n >= first and n not in places]
        return self._without_empty([*content[:first], *new, *after])

    def _make_like(self, block: Any, text: str, make: MakeText) -> Any:
        """Make a text block like another one: an SDK's object beside one of its objects."""
        if isinstance(block, str | Mapping):
            return make(text)
        return self._with_text(block, text)

    def _with_text(self, block: Any, text: str) -> Any:
        if self.text(block) == text:
            return block
        if isinstance(block, str):
            return text
        return put(block, {self._texts[get(block, "type")]: text, **drop_notes(block)})

    def _find_last_mark(self, content: Sequence[Any], places: Sequence[int], name: str) -> Any:
        blocks = (content[n] for n in reversed(places) if not isinstance(content[n], str))
        return next(filter(None, (get(block, name) for block in blocks)), None)

    def _without_empty(self, content: list[Any]) -> list[Any]:
        """The content without empty texts, since APIs refuse a block without text."""
        left = [block for block in content if self.text(block) != ""]
        return left or content[:1]


class BlockForm:
    """``MessageForm`` of messages with a role and a content of blocks.

    ``roles`` maps the roles of messages that hooks are shown to the roles they are shown as;
    ``hidden_roles`` are those of messages that hooks are not shown; ``names`` are the API's names
    for the roles that hooks may add. ``beside`` are fields that hold text beside the content,
    ``kept`` those that keep a message alive without text, ``known`` others without conversation.
    """

    def __init__(
        self,
        blocks: Blocks,
        roles: Mapping[str, Role],
        names: Mapping[Role, str],
        make_block: Callable[[Role, str], Any],
        *,
        hidden_roles: Collection[str] = (),
        beside: Collection[str] = (),
        kept: Collection[str] = (),
        known: Collection[str] = (),
    ) -> None:
        self._blocks, self._roles, self._names = blocks, roles, names
        self._make_block, self._hidden_roles = make_block, hidden_roles
        self._beside, self._kept = beside, kept
        self._known = {"role", "content", *beside, *kept, *known, *ABOUT_THE_TEXT}

    def role(self, message: Any) -> Role:
        role = get(message, "role")
        return self._roles.get(role, "user") if isinstance(role, str) else "user"

    def text(self, message: Any) -> str:
        if not is_readable(message):
            raise TranslationError(f"a message cannot be {type(message).__name__}")
        role = get(message, "role")
        if not isinstance(role, str) or role not in self._roles:
            if isinstance(role, str) and role in self._hidden_roles:
                return ""
            words = ", ".join([*self._roles, *self._hidden_roles])
            raise TranslationError(f"role {role!r:.80} is not one of {words}")
        content = get(message, "content")
        text = content if isinstance(content, str) else "".join(self._blocks.read(content))
        for name in self._beside:
            if beside := get_text(message, name):
                text += beside
        if not text:
            refuse_text(message, self._known, "a message has no text in its content")
        return text

    def with_text(self, message: Any, role: Role, text: str) -> Any:
        changes = {"content": self._put_texts(message, role, [text]), **self._drop_more(message)}
        if role != self.role(message):
            changes["role"] = self._names[role]
        return put(message, changes)

    def without_text(self, message: Any) -> Any | None:
        content = get(message, "content")
        left: Any = None
        if not isinstance(content, str):
            blocks = self._put_texts(message, self.role(message), [])
            left = [block for block in blocks or () if self._blocks.text(block) is None] or None
        if left is None and not any(get(message, name) for name in self._kept):
            return None
        changed = put(message, {"content": left, **self._drop_more(message)})
        # In JSON a message without content has a null.
        return {**changed, "content": left} if isinstance(changed, Mapping) else changed

    def new(self, role: Role, text: str) -> Any:
        return {"role": self._names[role], "content": text}

    def _put_texts(self, message: Any, role: Role, texts: Sequence[str]) -> Any:
        def make(text: str) -> Any:
            return self._make_block(role, text)

        return self._blocks.put(get(message, "content"), texts, make)

    def _drop_more(self, message: Any) -> dict[str, Any]:
        return {**drop_notes(message), **{n: None for n in self._beside if get(message, n)}}
