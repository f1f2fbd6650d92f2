"""A request's contents as the messages hooks are shown, and the messages put back into them.

Contents are read as the SDK sends them: a content, or a nested list of parts, is one message, and
so is a run of bare parts; only a bare string is always a message of its own. In a list, bare
entries stay bare when their text changes, since the SDK joins neighbours into one turn and a
content among them would split it. Contents that are no list become a list of contents.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from typing import Any

import msgspec

from hookline.errors import TranslationError
from hookline.translate.genai_forms import Form, build, field, is_typed, list_field, with_fields
from hookline.translate.genai_parts import (
    as_part,
    check_parts,
    is_part,
    put_texts,
    text_part,
    visible_texts,
)
from hookline.wire.model import LLMMessage, MessageChange, Role


class Turn(msgspec.Struct, frozen=True):
    """One message: ``entry`` is the content or nested list it is, None for bare parts."""

    role: Role
    parts: list[Any]
    entry: Any = None

    @property
    def text(self) -> str:
        """What hooks are shown of it; a message without text is not shown at all."""
        return "".join(visible_texts(self.parts))

    @property
    def entries(self) -> list[Any]:
        """What it is in the list of contents."""
        return self.parts if self.entry is None else [self.entry]


def to_messages(contents: object) -> list[LLMMessage]:
    """The messages hooks are shown."""
    return [{"role": turn.role, "content": turn.text} for turn in _visible(contents)]


def edit_contents(contents: Any, messages: Sequence[MessageChange], *, form: Form) -> Any:
    """The contents with the hook's messages in place of those shown; new contents in ``form``."""
    if list(messages) == [_message(turn) for turn in _visible(contents)]:
        return contents
    turns = _read_turns(contents)
    if not isinstance(contents, list | tuple):
        turns = [_as_content(turn, form=form) for turn in turns]
    return _rewrite(turns, messages, form)


def contents_form(contents: object, otherwise: Form) -> Form:
    """The form in which new contents fit the others."""
    entries = contents if isinstance(contents, list | tuple) else [contents]
    for entry in entries:
        if is_typed(entry):
            return "typed"
        if isinstance(entry, Mapping):
            return "camel"
    return otherwise


def _rewrite(turns: list[Turn], wanted: Sequence[MessageChange], form: Form) -> list[Any]:
    changed, added = _align(turns, wanted)
    rewritten: list[Any] = []
    for place, turn in enumerate(turns):
        rewritten += [_new_content(message, form) for message in added.get(place, ())]
        new = _changed_entries(turn, changed[place], form) if place in changed else turn.entries
        rewritten += new
    rewritten += [_new_content(message, form) for message in added.get(len(turns), ())]
    return rewritten


def _align(
    turns: list[Turn], wanted: Sequence[MessageChange]
) -> tuple[dict[int, MessageChange | None], dict[int, list[MessageChange]]]:
    """By place in ``turns``: what each becomes (None: its text goes), and what comes before it."""
    places = [place for place, turn in enumerate(turns) if turn.text]
    changed: dict[int, MessageChange | None] = {}
    added: dict[int, list[MessageChange]] = {}
    for i1, i2, j1, j2 in _differences([_message(turns[place]) for place in places], wanted):
        # Additions go right before the next message shown, never between a hidden call and its
        # hidden answer.
        following = places[i2] if i2 < len(places) else len(turns)
        for place, message in zip_longest(places[i1:i2], wanted[j1:j2]):
            if place is not None:
                changed[place] = message
            elif message is not None:
                added.setdefault(following, []).append(message)
    return changed, added


def _differences(
    before: Sequence[MessageChange], after: Sequence[MessageChange]
) -> Iterator[tuple[int, int, int, int]]:
    """The runs that differ, as difflib sees them before the end that is alike.

    Without setting that end apart, difflib would take one edited message among equal ones for a
    message added and another one removed.
    """
    from difflib import SequenceMatcher

    pairs = zip(reversed(before), reversed(after), strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    old, new = before[: len(before) - alike], after[: len(after) - alike]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield i1, i2, j1, j2


def _changed_entries(turn: Turn, message: MessageChange | None, form: Form) -> list[Any]:
    if message is None:
        parts = put_texts(turn.parts, [], form=form)
        return _with_parts(turn, parts) if parts else []
    parts = put_texts(turn.parts, [message.content], form=form)
    if message.role == turn.role:
        return _with_parts(turn, parts)
    parts = [as_part(part, form=form) for part in parts]
    if isinstance(turn.entry, Mapping):
        return [with_fields(turn.entry, {"role": message.role, "parts": parts}, form=form)]
    # Built anew: the SDK has subclasses of Content that allow one role only.
    form = "typed" if is_typed(turn.entry) else form
    return [build(form, "Content", {"role": message.role, "parts": parts})]


def _with_parts(turn: Turn, parts: list[Any]) -> list[Any]:
    if turn.entry is None:
        return parts
    if isinstance(turn.entry, list | tuple):
        return [parts]
    return [with_fields(turn.entry, {"parts": parts}, form="camel")]


def _new_content(message: MessageChange, form: Form) -> Any:
    parts = [text_part(message.content, form=form)]
    return build(form, "Content", {"role": message.role, "parts": parts})


def _as_content(turn: Turn, *, form: Form) -> Turn:
    if turn.entry is not None:
        return turn
    parts = [as_part(part, form=form) for part in turn.parts]
    content = build(form, "Content", {"role": turn.role, "parts": parts})
    return Turn(turn.role, parts, content)


def _visible(contents: object) -> list[Turn]:
    return [turn for turn in _read_turns(contents) if turn.text]


def _message(turn: Turn) -> MessageChange:
    return MessageChange(turn.text, turn.role)


def _read_turns(contents: object) -> list[Turn]:
    if contents is None:
        return []
    entries = contents if isinstance(contents, list | tuple) else [contents]
    turns: list[Turn] = []
    run: Turn | None = None
    for entry in entries:
        turn = _read_turn(entry)
        if run is not None and _continues(run, entry):
            run.parts.append(entry)
            continue
        turns.append(turn)
        run = turn if turn.entry is None and not isinstance(entry, str) else None
    return turns


def _read_turn(entry: Any) -> Turn:
    if isinstance(entry, list | tuple):
        check_parts(entry)
        return Turn("user", list(entry), entry)
    if _is_content(entry):
        parts = list_field(entry, "parts")
        check_parts(parts)
        return Turn(_shown_role(field(entry, "role")), parts, entry)
    if not is_part(entry):
        raise TranslationError(f"contents cannot hold {type(entry).__name__}")
    return Turn("user", [entry])


def _continues(run: Turn, entry: object) -> bool:
    """Whether the SDK sends a bare part in the same turn: calls are the model's, others not."""
    if isinstance(entry, str | list | tuple) or _is_content(entry):
        return False
    return bool(field(run.parts[0], "functionCall")) == bool(field(entry, "functionCall"))


def _is_content(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return not entry or "parts" in entry or "role" in entry
    return is_typed(entry, "Content")


def _shown_role(role: object) -> Role:
    if role == "model":
        return "model"
    return "system" if role == "system" else "user"
