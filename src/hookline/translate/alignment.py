"""Finds what a hook did to the messages it was shown, and does the same to the messages of the SDK;
all SDKs share it."""

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile, zip_longest
from typing import Protocol, TypeVar

from hookline.wire.model import LLMMessage, MessageChange, Role

M = TypeVar("M")


class MessageForm(Protocol[M]):
    """Reads and makes the messages of one SDK; never alters a message.

    Hooks are shown the text of a message and nothing else it holds, and no message without text.
    """

    def role(self, message: M) -> Role:
        """The role that hooks are shown."""
        ...

    def text(self, message: M) -> str:
        """The text that hooks are shown."""
        ...

    def with_text(self, message: M, role: Role, text: str) -> M:
        """The message with another text, or in another role, and all else it holds."""
        ...

    def without_text(self, message: M) -> M | None:
        """The message without its text; None if it holds nothing else."""
        ...

    def new(self, role: Role, text: str) -> M:
        """A message of one text."""
        ...


def show_messages(messages: Sequence[M], form: MessageForm[M]) -> list[LLMMessage]:
    """The messages that hooks are shown."""
    shown = ((form.role(message), form.text(message)) for message in messages)
    return [{"role": role, "content": text} for role, text in shown if text]


def edit_messages(
    messages: Sequence[M],
    wanted: Sequence[MessageChange],
    form: MessageForm[M],
    *,
    split_roles: bool = False,
    split_results: Callable[[M], tuple[M, M | None] | None] = lambda _message: None,
) -> list[M]:
    """Return messages of which hooks would be shown ``wanted``. A message that no edit touches is
    the identical object, and what hooks are not shown stays in its place and order. With
    ``split_roles`` it also keeps its role when an edit gives the text another one.

    No other message may stand between a call and its result. So ``split_results`` splits a message
    with results of the calls before it into the part that hooks are not shown and the part that
    they are, None if there is none; it returns None for a message without results."""
    places = [place for place, message in enumerate(messages) if form.text(message)]
    shown = [MessageChange(form.text(messages[p]), form.role(messages[p])) for p in places]
    edited: dict[int, M | None] = {}
    added: dict[int, list[M]] = {}
    for i1, i2, j1, j2 in find_changes(shown, wanted):
        # Additions go right before the next message shown, never between a hidden call and its
        # hidden answer.
        following = places[i2] if i2 < len(places) else len(messages)
        for place, change in zip_longest(places[i1:i2], wanted[j1:j2]):
            if change is None:
                edited[place] = form.without_text(messages[place])
            elif place is None:
                added.setdefault(following, []).append(form.new(change.role, change.content))
            elif (
                split_roles
                and change.role != form.role(messages[place])
                and (left := form.without_text(messages[place])) is not None
            ):
                added.setdefault(place, []).append(form.new(change.role, change.content))
                edited[place] = left
            else:
                edited[place] = form.with_text(messages[place], change.role, change.content)
    result: list[M] = []
    for place, message in enumerate(messages):
        kept = edited.get(place, message)
        if place in added:
            parted = None if kept is None else split_results(kept)
            if parted is not None:
                hidden, kept = parted
                result.append(hidden)
            result += added[place]
        if kept is not None:
            result.append(kept)
    return result + added.get(len(messages), [])


def find_changes(
    shown: Sequence[MessageChange], wanted: Sequence[MessageChange]
) -> list[tuple[int, int, int, int]]:
    """The runs of messages that a hook changed: start and end in ``shown``, then in ``wanted``."""
    if len(shown) == len(wanted):
        # New texts are edits in place. difflib would take minutes for a long conversation of few
        # different texts, many of which are edited.
        changed = [
            n for n, pair in enumerate(zip(shown, wanted, strict=True)) if pair[0] != pair[1]
        ]
        said = {message.content for message in shown}
        if not any(wanted[n].content in said for n in changed):
            return [(n, n + 1, n, n + 1) for n in changed]
    from difflib import SequenceMatcher

    # Equal messages at the end, then at the start, are skipped: difflib would take one edited
    # message among equal ones for one message added and another one removed.
    alike = _count_alike(reversed(shown), reversed(wanted))
    old, new = shown[: len(shown) - alike], wanted[: len(wanted) - alike]
    start = _count_alike(old, new)
    found = SequenceMatcher(None, old[start:], new[start:], autojunk=False).get_opcodes()
    return [
        (start + i1, start + i2, start + j1, start + j2)
        for tag, i1, i2, j1, j2 in found
        if tag != "equal"
    ]


def _count_alike(old: Iterable[MessageChange], new: Iterable[MessageChange]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def set_system_apart(
    shown: Sequence[LLMMessage], wanted: Sequence[MessageChange]
) -> tuple[list[MessageChange], list[str]]:
    """The messages that stay turns, and the texts of the system messages that a hook adds, for APIs
    that take those only beside the conversation. System turns that the request already has, edited
    or not, stay turns."""
    own = [message["content"] for message in shown if message["role"] == "system"]
    added: list[MessageChange] = []
    for message in wanted:
        if message.role == "system":
            if message.content in own:
                own.remove(message.content)
            else:
                added.append(message)
    # The first of them are the request's own system turns with another text.
    apart = {id(message) for message in added[len(own) :]}
    turns = [message for message in wanted if id(message) not in apart]
    return turns, [message.content for message in added[len(own) :] if message.content]
