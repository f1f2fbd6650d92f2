"""The subjects of one deployment, made so that an operator can grant each side just its own.

``PREFIX.request.EVENT``  to a worker that is free; ``PREFIX.wait.EVENT``  to any, which queues it;
``PREFIX.inbox.…``  answers to who asked; ``PREFIX.response``  answers nobody asked for;
``PREFIX.stats``  asks every worker how it is.
"""

import re
import uuid
from collections.abc import Iterable

import msgspec

from hookline.bus.nats.options import BusConnectionError
from hookline.wire.events import HookEventName

_NAME = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
# A name that is no event may hold anything; a worker says so under this one.
_OTHER = "other"
_EVENTS = frozenset(event.value for event in HookEventName)


class Subjects(msgspec.Struct, frozen=True):
    """The names of everything under one prefix."""

    prefix: str
    inboxes: str

    def asked(self, event: object) -> tuple[str, str]:
        """Where a request for an event goes first, and where when nobody is free."""
        token = event if isinstance(event, str) and event in _EVENTS else _OTHER
        return f"{self.prefix}.request.{token}", f"{self.prefix}.wait.{token}"

    def served(self, kind: str, events: Iterable[str] | None) -> list[str]:
        """What a worker of these events, or of all, subscribes to."""
        if events is None:
            return [f"{self.prefix}.{kind}.*"]
        return [f"{self.prefix}.{kind}.{event}" for event in sorted(events)]

    def new_inbox(self) -> str:
        """Below it are the answers to one connection."""
        return f"{self.inboxes}.{uuid.uuid4().hex}"

    @property
    def response(self) -> str:
        """Answers that belong to no request in hand."""
        return f"{self.prefix}.response"

    @property
    def stats(self) -> str:
        """Asks every worker how it is."""
        return f"{self.prefix}.stats"


def subjects_of(prefix: str, inbox_prefix: str | None = None) -> Subjects:
    """The subjects under a prefix; raises BusConnectionError for one that is no subject."""
    for given in (prefix, inbox_prefix):
        if given is not None:
            check_name(given, "the prefix of subjects")
    return Subjects(prefix, inbox_prefix or f"{prefix}.inbox")


def is_asked_by(subject: str, event: object) -> bool:
    """Whether a request for an event may come by a subject; one for no event may come by any, as
    nothing is run for it."""
    is_event = isinstance(event, str) and event in _EVENTS
    return not is_event or subject.endswith(f".{event}")


def check_name(given: str, what: str) -> None:
    """Whether NATS can have it for a name, and no wildcard; raises BusConnectionError."""
    if not _NAME.fullmatch(given):
        raise BusConnectionError(
            f"{given!r} cannot be {what}; use letters, digits, _ and -, joined by dots"
        )
